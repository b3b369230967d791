"""What a part can have in each cell of the whole, by its own cells: simple bounds, each with its cells.

A lower end is a cell of the part that lies within the whole's cell, or several of one table that do and
do not overlap. An upper end is a cell that holds all of it, or several of one table that do together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED
from showthrough.tables.linked.parts import LinkedParts, NestPart
from showthrough.tables.search.system import System

__all__ = [
    "Box",
    "PartBoxes",
    "box_of",
]

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: More than this counts as no limit, so that sums over all parts do not overflow.
ENDLESS = 2**40


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
