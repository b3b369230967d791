"""The parts of a nest as integer systems that only the cells of the whole tie together.

Each part has rows of its own. Record types that its own cells do not tell apart but those of the whole do
are different classes, so that a cell of the whole is a row over the classes of all parts.

What a part can have in each cell of the whole is bounded by its own cells (:class:`PartBoxes`). A lower end
is a cell of the part that lies within the whole's cell, or several of one table that do and do not overlap.
An upper end is a cell that holds all of it, or several of one table that do together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.release import UNBOUNDED, Release
from showthrough.tables.linked.nest import Nest
from showthrough.tables.search.system import Conflict, System, build_system, row_bytes, unique_rows
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.universe import Frame

__all__ = [
    "Box",
    "LinkedParts",
    "NestPart",
    "PartBoxes",
    "box_of",
    "link",
]

Counts = NDArray[np.int64]

Flags = NDArray[np.bool_]

#: More than this counts as no limit, so that sums over all parts do not overflow.
ENDLESS = 2**40


@dataclass(frozen=True, eq=False)
class NestPart:
    """One part: its own rows over its classes, and ``above``: how the whole's cells count these."""

    number: int
    system: System
    above: NDArray[np.uint8]

    def class_counts(self, world: TypeCounts) -> Counts:
        """How many records of a world are in each class."""
        return world.added_up(self.system.group, self.system.n_classes)

    def counted_above(self, world: TypeCounts) -> Counts:
        """What the records of a world add to the cells of the whole."""
        return self.counted(self.class_counts(world))

    def counted(self, counts: Counts) -> Counts:
        """What this many records of each class add to the cells of the whole."""
        occupied = np.flatnonzero(counts)
        return self._columns[occupied].T @ counts[occupied]

    def most_by(self, cells: Counts) -> Counts:
        """How many records of each class there can be where the cells of the whole have at most this many."""
        most = np.full(self.system.n_classes, UNBOUNDED, np.int64)
        for row, high in zip(self.above, cells.tolist(), strict=True):
            inside = np.flatnonzero(row)
            if high < UNBOUNDED and len(inside):
                most[inside] = np.minimum(most[inside], high // row[inside].astype(np.int64))
        return most

    @cached_property
    def _columns(self) -> Any:
        """The cells of the whole class by class, without their zeros."""
        return csr_array(self.above.T, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LinkedParts:
    """A nest as systems: the parts, and the cells of the whole with their bounds."""

    nest: Nest
    parts: tuple[NestPart, ...]
    cells: Counts
    low: Counts
    high: Counts

    @cached_property
    def size(self) -> int:
        """Rows times classes of the whole as one system."""
        n_rows = sum(len(part.system.rows) for part in self.parts) + len(self.cells)
        return n_rows * sum(part.system.n_classes for part in self.parts)


def link(nest: Nest, frame: Frame, *, most_types: int) -> LinkedParts:
    """The systems of a nest; raises Conflict, by positions among all cells, where those cannot all hold."""
    whole = nest.whole
    cells = np.flatnonzero(((whole.low > 0) | (whole.high < UNBOUNDED)) & (whole.high > 0))
    cells = cells[frame.cells_inside[cells]]
    parts: list[NestPart] = []
    for number, own in enumerate(nest.parts):
        try:
            parts.append(_part(nest, number, own, frame, cells, most_types))
        except Conflict as conflict:
            first = nest.first_cell(number)
            zeros = np.flatnonzero(whole.high == 0).tolist()
            raise Conflict((*(first + at for at in conflict.cells), *zeros)) from None
    return LinkedParts(nest, tuple(parts), cells, whole.low[cells], whole.high[cells])


def _part(nest: Nest, number: int, own: Release, frame: Frame, above: Counts, most: int) -> NestPart:
    """One part; what a cell of the whole published as zero excludes does not exist in it."""
    whole = nest.whole
    clash = np.flatnonzero((own.low > 0) & (whole.high == 0))
    if len(clash):
        raise Conflict((int(clash[0]),))
    high = np.where(whole.high == 0, 0, own.high)
    system = build_system(frame, Release(own.layout, own.low, high, own.area), most_types=most)
    times = system.universe.times_counted(above)
    return _refined(number, replace(system, release=own), times)


def _refined(number: int, system: System, times: NDArray[np.uint8]) -> NestPart:
    """The part with classes that the cells of the whole tell apart too."""
    every = np.hstack([system.columns[system.group], times])  # as bytes, or as whole numbers
    if not every.size:
        first, group = np.arange(min(1, len(every))), np.zeros(len(every), np.int64)
    else:
        _, found, inverse = unique_rows(row_bytes(every))
        rank = np.argsort(np.argsort(found, kind="stable"), kind="stable")
        first, group = np.sort(found), rank[inverse]
    rows = np.ascontiguousarray(system.rows[:, system.group[first]])
    refined = replace(system, rows=rows, group=group.astype(np.int64), n_classes=len(first))
    return NestPart(number, refined, np.ascontiguousarray(times[first].T))


@dataclass(frozen=True, eq=False)
class Box:
    """Per cell of the whole the least and the most that one part has in it, and which rows say so."""

    low: Counts
    high: Counts
    low_rows: Flags
    high_rows: Flags


def box_of(part: NestPart) -> Box:
    """The box of one part."""
    system, counted = part.system, np.asarray(part.above.any(axis=1))
    above, n_rows = part.above[counted], len(system.rows)
    shape = len(above), n_rows
    low, high = np.zeros(len(above), np.int64), np.full(len(above), UNBOUNDED, np.int64)
    box = Box(low, high, np.zeros(shape, bool), np.zeros(shape, bool))
    if n_rows and len(above):
        plain = above.max(axis=1) <= 1
        for rows in _row_sets(system):
            _raise(box, system, above, plain, rows)
            _lower(box, system, above, plain, rows)
    return _spread(box, counted)


def _spread(box: Box, counted: Flags) -> Box:
    """The box of some cells as one of all; in the others the part has nobody."""
    n_rows = box.low_rows.shape[1]
    low, high = np.zeros(len(counted), np.int64), np.zeros(len(counted), np.int64)
    low_rows, high_rows = np.zeros((len(counted), n_rows), bool), np.zeros((len(counted), n_rows), bool)
    low[counted], high[counted] = box.low, box.high
    low_rows[counted], high_rows[counted] = box.low_rows, box.high_rows
    return Box(low, high, low_rows, high_rows)


def _row_sets(system: System) -> list[Counts]:
    """The rows one by one, and the finest rows of each table together."""
    found: list[Counts] = []
    start = 0
    for table in system.release.layout.tables:
        rows = system.row_of_cell[start : start + len(table.cells)]
        start += len(table.cells)
        rows = np.unique(rows[rows >= 0])
        rows = rows[system.plain[rows]]
        if len(rows) > 1:
            size, flags = system.row_sizes[rows], system.rows[rows].astype(np.float32)
            holds = (flags @ flags.T == size[None, :]) & (size[:, None] > size[None, :])
            rows = rows[~holds.any(axis=1)]
        found.append(rows)
    return [np.flatnonzero(system.plain)[:, None], *found]  # the first one by one


def _raise(box: Box, system: System, above: NDArray[np.uint8], plain: Flags, rows: Counts) -> None:
    """Better lower ends, by rows that lie within."""
    single, rows = rows.ndim == 2, rows.ravel()
    flags = system.rows[rows].astype(np.float32)
    if not single and flags.sum(axis=0).max(initial=0) > 1:
        return
    inside = (flags @ (above == 0).T.astype(np.float32) == 0).T  # cell × row
    ends = np.where(inside, np.minimum(system.low[rows], ENDLESS), 0)
    _keep(box.low, box.low_rows, ends, rows, inside & plain[:, None], single=single, sign=1)


def _lower(box: Box, system: System, above: NDArray[np.uint8], plain: Flags, rows: Counts) -> None:
    """Better upper ends, by rows that hold all of it."""
    single, rows = rows.ndim == 2, rows.ravel()
    flags, wanted = system.rows[rows].astype(np.float32), (above > 0).astype(np.float32)
    if single:
        used = (1 - flags) @ wanted.T == 0
        useful = used.T & plain[:, None]
    else:
        covered = (flags.sum(axis=0) == 0).astype(np.float32) @ wanted.T == 0
        useful = (flags @ wanted.T > 0).T & (covered & plain)[:, None]
    ends = np.where(useful, np.minimum(system.high[rows], ENDLESS), UNBOUNDED if single else 0)
    if not single:
        endless = (useful & (system.high[rows] >= ENDLESS)[None, :]).any(axis=1)
        useful = useful & ~endless[:, None]
    _keep(box.high, box.high_rows, ends, rows, useful, single=single, sign=-1)


def _keep(
    ends: Counts, used: Flags, found: Counts, rows: Counts, useful: Flags, *, single: bool, sign: int
) -> None:
    """Keep what is better than before, with the rows that say so."""
    if not len(rows):
        return
    at = np.arange(len(found))
    if single:
        best = np.argmax(sign * np.where(useful, found, UNBOUNDED if sign < 0 else 0), axis=1)
        value, chosen = found[at, best], np.zeros_like(useful)
        chosen[at, best] = True
        chosen &= useful
    else:
        value, chosen = np.where(useful, found, 0).sum(axis=1), useful
    better = chosen.any(axis=1) & (sign * value > sign * ends)
    if sign < 0:
        better &= value < ENDLESS
    ends[better] = value[better]
    used[better] = False
    used[np.ix_(np.flatnonzero(better), rows)] = chosen[better]


class PartBoxes:
    """The boxes of all parts, and what they leave for some parts."""

    def __init__(self, linked: LinkedParts) -> None:
        self.linked = linked
        self.boxes = [box_of(part) for part in linked.parts]
        self.low = np.array([box.low for box in self.boxes], np.int64)
        self.high = np.array([box.high for box in self.boxes], np.int64)

    def left_for(self, chosen: list[int]) -> tuple[Counts, Counts]:
        """The least and the most that some parts together have in each cell of the whole."""
        others = np.ones(len(self.low), bool)
        others[chosen] = False
        endless = (self.high[others] >= ENDLESS).any(axis=0)
        most = np.where(self.high >= ENDLESS, 0, self.high)[others].sum(axis=0)
        low = np.where(endless, 0, np.maximum(0, self.linked.low - most))
        high = np.where(
            self.linked.high >= ENDLESS, UNBOUNDED, self.linked.high - self.low[others].sum(axis=0)
        )
        return low, high

    def own(self, chosen: list[int]) -> tuple[Counts, Counts]:
        """The least and the most by the cells of these parts alone."""
        endless = (self.high[chosen] >= ENDLESS).any(axis=0)
        high = np.where(self.high >= ENDLESS, 0, self.high)[chosen].sum(axis=0)
        return self.low[chosen].sum(axis=0), np.where(endless, UNBOUNDED, high)

    def cells_below(self, part: int, at: int) -> list[int]:
        """The cells of a part, among all cells, that say how many it has at least in a cell of the whole."""
        first, system = self.linked.nest.first_cell(part), self.linked.parts[part].system
        rows = np.flatnonzero(self.boxes[part].low_rows[at])
        return (first + system.low_cell[rows]).tolist()

    def cells_over(self, part: int, at: int) -> list[int]:
        """The cells of a part that say how many it has at most in a cell of the whole."""
        first, system = self.linked.nest.first_cell(part), self.linked.parts[part].system
        rows = np.flatnonzero(self.boxes[part].high_rows[at])
        return (first + system.high_cell[rows]).tolist()
