"""A release as a small integer system: rows of whole numbers with bounds over classes of record types.

Types that lie in exactly the same cells are interchangeable: no published count tells them apart.
They form one class with one variable, the number of records in it. Cells that hold the same types
become one row, which keeps for each of its two bounds the cell that gives it. A row is 0 or 1 on every
class (whether its records count), unless a cell counts a record several times: then it says how many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.release import UNBOUNDED, Release, pack
from showthrough.tables.proof import Terms
from showthrough.tables.search.type_counts import MOST_RECORDS
from showthrough.tables.search.universe import Frame, Universe, grow

__all__ = [
    "Conflict",
    "System",
    "build_system",
    "sub_system",
    "with_row",
]

Counts = NDArray[np.int64]


class Conflict(Exception):
    """Cells that cannot all be true, by position in the release; zero cells may be part of it."""

    def __init__(self, cells: tuple[int, ...]) -> None:
        self.cells = cells
        super().__init__(cells)


@dataclass(frozen=True, eq=False)
class Lemma:
    """Classes taken out because no world has a record in them, and multipliers that show it.

    With ``rows[i, f]`` saying how often removed class f counts in row i: Σ numerators·rows ≤ −denominator
    on every removed class and ≤ 0 on every other, and the multipliers' total is 0.
    """

    rows: NDArray[np.uint8]
    numerators: NDArray[np.int64]
    denominator: int

    def most(self, numerators: NDArray[np.int64]) -> int:
        """The most that multipliers of rows add up to on a removed class."""
        return int(_combined(self.rows, numerators).max(initial=0))

    def with_row(self) -> Lemma:
        """The lemma of a system with one more row, whatever removed types that row holds.

        Which of them match the new row is not known any more, so every removed class is there
        twice: once in the row and once not.
        """
        n = self.rows.shape[1]
        own = np.repeat(np.array([[0, 1]], np.uint8), n, axis=1)
        rows = np.vstack([np.hstack([self.rows, self.rows]), own])
        return Lemma(rows, np.append(self.numerators, 0), self.denominator)


@dataclass(frozen=True, eq=False)
class System:
    """Find integers y ≥ 0 with low ≤ rows·y ≤ high; ``group[t]`` is the class of type t.

    ``rows`` is large and dense products with it are slow; :meth:`sums`, :meth:`combined` and
    :meth:`touched` make use of the few records of a world and the few rows of a proof.
    """

    release: Release
    universe: Universe
    rows: NDArray[np.uint8]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    low_cell: NDArray[np.int64]
    high_cell: NDArray[np.int64]
    group: NDArray[np.int64]
    n_classes: int
    row_of_cell: NDArray[np.int64]
    lemma: Lemma | None = None

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Types sorted by class."""
        return np.argsort(self.group, kind="stable")

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each class starts in :attr:`order` (one entry more than classes)."""
        return np.searchsorted(self.group[self.order], np.arange(self.n_classes + 1))

    @cached_property
    def columns(self) -> NDArray[np.uint8]:
        """The rows class by class."""
        return np.ascontiguousarray(self.rows.T)

    @cached_property
    def sparse(self) -> Any:
        """The rows without their zeros."""
        return csr_array(self.rows, dtype=np.int64)

    @cached_property
    def sparse_columns(self) -> Any:
        """The rows class by class, without their zeros, as floating-point numbers."""
        return csr_array(self.columns, dtype=np.float64)

    @cached_property
    def _words(self) -> NDArray[np.uint64]:
        """Per class its rows as bits."""
        return pack(self.columns.astype(bool))

    @cached_property
    def row_sizes(self) -> NDArray[np.int64]:
        """How many classes each row has, each as often as it counts."""
        return self.rows.sum(axis=1, dtype=np.int64)

    @cached_property
    def plain(self) -> NDArray[np.bool_]:
        """Which rows count no record more than once."""
        return np.asarray(self.rows.max(axis=1, initial=0) <= 1)

    def sums(self, y: NDArray[np.int64]) -> NDArray[np.int64]:
        """rows·y."""
        occupied = np.flatnonzero(y)
        if 8 * len(occupied) > len(y):
            return self.sparse @ y
        return y[occupied] @ self.columns[occupied]

    def combined(self, multipliers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Σ multiplier·row, class by class."""
        if 8 * np.count_nonzero(multipliers) > len(multipliers):
            return multipliers @ self.sparse
        return _combined(self.rows, multipliers)

    def touched(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which classes lie in any of some rows."""
        common: NDArray[np.uint64] = self._words & pack(rows[None, :])
        return np.asarray(common.any(axis=1))

    @cached_property
    def row_words(self) -> NDArray[np.uint64]:
        """Per row its classes as bits."""
        return pack(self.rows.astype(bool))

    def within(self, goal: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows are nowhere above a goal of 0 and 1: they count only its classes, and once."""
        outside = self.row_words & ~pack(goal[None, :] > 0)
        return ~outside.any(axis=1) & self.plain

    def covering(self, goal: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows are nowhere below a goal of 0 and 1: they count all of its classes."""
        missing = pack(goal[None, :] > 0) & ~self.row_words
        return np.asarray(~missing.any(axis=1))

    @cached_property
    def _heaviest(self) -> int:
        """The most that one record adds to a row."""
        return int(self.rows.max(initial=1))

    @cached_property
    def exact(self) -> NDArray[np.bool_]:
        """Which rows have a published count rather than an interval."""
        return self.low == self.high

    @cached_property
    def exact_rows_by_table(self) -> list[NDArray[np.int64]]:
        """Per table its distinct exact rows, without totals of others of its rows."""
        found: list[NDArray[np.int64]] = []
        start = 0
        for table in self.release.layout.tables:
            rows = self.row_of_cell[start : start + len(table.cells)]
            start += len(table.cells)
            rows = np.unique(rows[rows >= 0])
            rows = rows[self.exact[rows]]
            size = self.row_sizes[rows]
            size = np.where(self.plain[rows], size, (self.rows[rows] > 0).sum(axis=1))
            flags = (self.rows[rows] > 0).astype(np.float32)
            common = flags @ flags.T
            contains = (common == size[None, :]) & (size[:, None] > size[None, :])
            found.append(rows[~contains.any(axis=1)])
        return found

    @cached_property
    def most(self) -> NDArray[np.int64]:
        """Per class the largest count its rows allow, UNBOUNDED if none limits it."""
        limits = np.full(self.n_classes, UNBOUNDED, np.int64)
        for row, high, plain in zip(self.rows, self.high, self.plain, strict=True):
            if high < UNBOUNDED:
                most = high if plain else high // np.maximum(row.astype(np.int64), 1)
                np.minimum(limits, most, out=limits, where=row.astype(bool))
        return limits

    def mask(self, terms: Terms) -> NDArray[np.bool_]:
        """Which types match a selection over the frame's attributes."""
        frame = self.universe.frame
        mask = np.ones(len(self.universe), bool)
        for name, values in terms:
            attribute = frame.layout.schema[name]
            allowed = np.zeros(len(attribute.values), bool)
            allowed[[attribute.code(value) for value in values]] = True
            mask &= allowed[self.universe.codes[:, frame.names.index(name)]]
        return mask

    def without(self, classes: NDArray[np.bool_], lemma: Lemma) -> tuple[System, NDArray[np.int64]]:
        """The system without some classes, and for every type its new number (−1: gone)."""
        stays = ~classes[self.group]
        number = np.where(stays, np.cumsum(stays) - 1, -1)
        new_class = np.cumsum(~classes) - 1
        universe = self.universe
        kept = Universe(universe.frame, universe.codes[stays], universe.words[stays])
        reduced = replace(
            self,
            universe=kept,
            rows=np.ascontiguousarray(self.rows[:, ~classes]),
            group=new_class[self.group[stays]],
            n_classes=int((~classes).sum()),
            lemma=lemma,
        )
        return reduced, number

    def only(self, rows: NDArray[np.bool_]) -> System:
        """The system with some of its rows; cells no longer know theirs."""
        return replace(
            self,
            rows=self.rows[rows],
            low=self.low[rows],
            high=self.high[rows],
            low_cell=self.low_cell[rows],
            high_cell=self.high_cell[rows],
            row_of_cell=np.full_like(self.row_of_cell, -1),
        )

    def members(self, at: int) -> NDArray[np.int64]:
        """The types of a class."""
        return self.order[self.starts[at] : self.starts[at + 1]]

    def allows(self, y: NDArray[np.int64]) -> bool:
        """Whether class counts satisfy every row, in integers; never if their sums exceed 64 bits."""
        if y.sum(dtype=float) * self._heaviest >= MOST_RECORDS:
            return False
        sums = self.sums(y)
        return bool((y >= 0).all() and (self.low <= sums).all() and (sums <= self.high).all())

    def spread(self, masks: NDArray[np.bool_]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Masks over types as (all of the class, any of the class) over classes."""
        if self.n_classes == 0:
            empty = np.zeros((len(masks), 0), np.uint8)
            return empty, empty
        if self.n_classes == len(self.group):
            whole = np.empty(masks.shape, np.uint8)
            whole[:, self.group] = masks
            return whole, whole
        lowest = masks[:, self.order[self.starts[:-1]]].astype(np.uint8)
        highest = lowest.copy()
        many, members, starts = self.larger_classes
        inner = masks[:, members].astype(np.uint8)
        lowest[:, many] = np.minimum.reduceat(inner, starts, axis=1)
        highest[:, many] = np.maximum.reduceat(inner, starts, axis=1)
        return lowest, highest

    @cached_property
    def larger_classes(self) -> tuple[Counts, Counts, Counts]:
        """Classes of more than one type, the types of all of them, and where each class starts."""
        sizes = np.diff(self.starts)
        many = np.flatnonzero(sizes > 1)
        members = self.order[np.repeat(sizes > 1, sizes)]
        return many, members, np.cumsum(sizes[many]) - sizes[many]


def build_system(frame: Frame, release: Release, *, most_types: int) -> System:
    """Grow the universe and turn the cells that say something into rows.

    Raises :class:`Conflict` when a cell with records has no possible type, or when two cells that
    hold the same types disagree.
    """
    universe = grow(frame, release, most=most_types)
    informative = (release.low > 0) | (release.high < UNBOUNDED)
    usable = informative & (release.high > 0) & frame.cells_inside
    cells = np.flatnonzero(usable)
    member = universe.times_counted(cells)  # type × usable cell
    group, first = _classes(member)
    rows, low, high, low_cell, high_cell, row_of = _distinct_rows(member[first].T, release, cells)
    row_of_cell = np.full(len(release.low), -1, np.int64)
    row_of_cell[cells] = row_of
    return System(release, universe, rows, low, high, low_cell, high_cell, group, len(first), row_of_cell)


@dataclass(frozen=True, eq=False)
class Part:
    """A smaller system over some classes of another one."""

    system: System
    classes: NDArray[np.int64]


def sub_system(system: System, fixed: NDArray[np.int64]) -> Part:
    """What is left to decide when some class counts are fixed: the rest must fill up every row.

    Rows that are full already rule out their classes, so that few are left.
    """
    taken = system.sums(fixed)
    low = np.maximum(system.low - taken, 0)
    high = np.where(system.high >= UNBOUNDED, UNBOUNDED, system.high - taken)
    classes = np.flatnonzero(~system.touched(high == 0))
    rows = system.columns[classes].T
    useful = (high > 0) & rows.any(axis=1)
    smaller = replace(
        system,
        rows=np.ascontiguousarray(rows[useful]),
        low=low[useful],
        high=high[useful],
        low_cell=system.low_cell[useful],
        high_cell=system.high_cell[useful],
        n_classes=len(classes),
        lemma=None,
    )
    return Part(smaller, classes)


def with_row(system: System, mask: NDArray[np.bool_], low: int, high: int) -> System:
    """The system with one more row, over a mask of types; its cell is −1.

    Classes that the mask splits become two.
    """
    pairs = system.group * 2 + mask[:]
    _, first, group = np.unique(pairs, return_index=True, return_inverse=True)
    rows = np.vstack([system.rows[:, system.group[first]], mask[first].astype(system.rows.dtype)])
    own = np.array([-1])
    return replace(
        system,
        rows=rows,
        low=np.append(system.low, low),
        high=np.append(system.high, high),
        low_cell=np.append(system.low_cell, own),
        high_cell=np.append(system.high_cell, own),
        group=group,
        n_classes=len(first),
        lemma=None if system.lemma is None else system.lemma.with_row(),
    )


def _combined(rows: NDArray[np.uint8], multipliers: NDArray[np.int64]) -> NDArray[np.int64]:
    used = np.flatnonzero(multipliers)
    return multipliers[used] @ rows[used]


def _classes(member: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Class of every type and the first type of every class; equal rows are one class."""
    if not len(member):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    packed = row_bytes(member) if member.shape[1] else np.zeros((len(member), 1), np.uint8)
    _, first, group = unique_rows(packed)
    rank = np.argsort(np.argsort(first, kind="stable"), kind="stable")  # classes in type order
    return rank[group], np.sort(first)


def row_bytes(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rows as bytes that are equal where the rows are; bits where all numbers are 0 or 1."""
    if rows.max(initial=0) <= 1:
        return np.packbits(rows.astype(bool), axis=1)
    return np.ascontiguousarray(rows).view(np.uint8)


def unique_rows(
    rows: NDArray[np.uint8],
) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.int64]]:
    """Distinct rows (as opaque bytes), the first occurrence of each, and each row's number."""
    opaque = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()
    found, first, inverse = np.unique(opaque, return_index=True, return_inverse=True)
    return found, first, inverse


def _distinct_rows(
    rows: NDArray[np.uint8], release: Release, cells: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], Counts, Counts, Counts, Counts, Counts]:
    """One row per distinct set of classes, with the tightest bounds and the cells they come from."""
    low, high = release.low[cells], release.high[cells]
    empty = np.flatnonzero(~rows.any(axis=1) & (low > 0)) if rows.shape[1] else np.flatnonzero(low > 0)
    if len(empty):
        raise Conflict((int(cells[empty[0]]),))
    if not len(rows) or not rows.shape[1]:
        none = np.zeros(0, np.int64)
        return np.zeros((0, rows.shape[1]), np.uint8), none, none, none, none, np.full(len(cells), -1)
    _, first, inverse = unique_rows(row_bytes(rows))
    low_at = _best_per_group(inverse, -low)
    high_at = _best_per_group(inverse, high)
    clash = np.flatnonzero(low[low_at] > high[high_at])
    if len(clash):
        at = clash[0]
        raise Conflict((int(cells[low_at[at]]), int(cells[high_at[at]])))
    keep = rows[first].any(axis=1)
    order = np.argsort(first[keep], kind="stable")
    picked = np.flatnonzero(keep)[order]
    number = np.full(len(first), -1, np.int64)
    number[picked] = np.arange(len(picked))
    return (
        np.ascontiguousarray(rows[first[picked]]),
        low[low_at[picked]],
        high[high_at[picked]],
        cells[low_at[picked]],
        cells[high_at[picked]],
        number[inverse],
    )


def _best_per_group(group: NDArray[np.int64], cost: NDArray[np.int64]) -> NDArray[np.int64]:
    """Per group the position of the least cost, the first one among equals."""
    order = np.lexsort((np.arange(len(group)), cost, group))
    return order[np.searchsorted(group[order], np.arange(group.max() + 1))]
