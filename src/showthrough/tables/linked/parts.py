"""The parts of a nest as integer systems that only the cells of the whole tie together.

Each part has rows of its own. Record types that its own cells do not tell apart but those of the whole do
are different classes, so that a cell of the whole is a row over the classes of all parts.
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
    "LinkedParts",
    "NestPart",
    "link",
]

Counts = NDArray[np.int64]


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
