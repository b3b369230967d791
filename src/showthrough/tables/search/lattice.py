"""The cells of a release as sets of record types, and which cells are the sum of others.

Types in the same cells are one class, as in :mod:`showthrough.tables.search.system`; but cells of which
nothing is published are rows here, too, and everything is sparse, so that a table of ten thousand cells
is no burden.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.release import Release, pack, unpack
from showthrough.tables.search.system import row_bytes, unique_rows
from showthrough.tables.search.universe import Frame, Universe, grow

__all__ = [
    "CellLattice",
    "Equation",
    "build_lattice",
]

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Groups of cells between which sums are looked for.
_MOST_GROUPS = 48


@dataclass(frozen=True)
class Equation:
    """A row that is the sum of other rows: record type by record type."""

    parent: int
    children: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CellLattice:
    """Distinct sets of classes (rows), each with the best published bounds and the cells that give them.

    ``member[r, c]`` says how often class c counts in row r, mostly 0 or 1; ``row_of_cell`` is −1 for
    cells that are left out, of which nothing is known or which hold no possible type.
    """

    release: Release
    universe: Universe
    group: Counts
    member: Any
    low: Counts
    high: Counts
    low_cell: Counts
    high_cell: Counts
    row_of_cell: Counts

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.member.shape[1])

    @cached_property
    def sizes(self) -> Counts:
        """How many classes each row has."""
        return np.diff(self.member.indptr).astype(np.int64)

    @cached_property
    def plain(self) -> Flags:
        """Which rows count no record more than once."""
        if not self.release.layout.sums or not self.member.shape[1]:
            return np.ones(len(self.low), bool)
        return np.asarray(self.member.max(axis=1).toarray().ravel() <= 1)

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        """Rows that are sums of disjoint other rows, each time of cells of one kind in one table."""
        layers = list(self._layers())[:_MOST_GROUPS]
        everything = np.flatnonzero(self.plain)
        found = [
            equation
            for layer in layers
            for equation in self._sums(np.setdiff1d(everything, layer, assume_unique=True), layer)
        ]
        return tuple(dict.fromkeys(found))

    def _layers(self) -> Iterator[Counts]:
        """Disjoint rows of one table whose cells restrict the same attributes, the smallest first."""
        groups: dict[tuple[str, tuple[str, ...]], dict[int, None]] = {}
        layout = self.release.layout
        for at, ((table, _), names) in enumerate(zip(layout.names, layout.attributes, strict=True)):
            row = int(self.row_of_cell[at])
            if row >= 0 and self.sizes[row] and self.plain[row]:
                groups.setdefault((table, names), {})[row] = None
        for rows in groups.values():
            left = np.array(sorted(rows), np.int64)
            while len(left) > 1:
                part = self.member[left]
                common = (part @ part.T).tocoo()
                holds = (common.data == self.sizes[left][common.col]) & (common.row != common.col)
                outer = np.zeros(len(left), bool)
                outer[common.row[holds]] = True
                inner = left[~outer]
                if not len(inner):
                    break
                if int(self.member[inner].sum(axis=0).max(initial=0)) <= 1:
                    yield inner
                left = left[outer]

    def _sums(self, parents: Counts, layer: Counts) -> Iterator[Equation]:
        """The parents that are made up of rows of a layer, each of them wholly inside."""
        common = (self.member[parents] @ self.member[layer].T).tocoo()
        whole = common.data == self.sizes[layer][common.col]
        at, child, count = common.row[whole], layer[common.col[whole]], common.data[whole]
        covered = np.bincount(at, weights=count, minlength=len(parents))
        full = (covered == self.sizes[parents]) & (np.bincount(at, minlength=len(parents)) > 1)
        order = np.argsort(at, kind="stable")
        at, child = at[order], child[order]
        starts = np.searchsorted(at, np.arange(len(parents) + 1))
        for number in np.flatnonzero(full):
            children = np.sort(child[starts[number] : starts[number + 1]])
            yield Equation(int(parents[number]), tuple(children.tolist()))

    def recount(self, counts: Counts) -> bool:
        """Whether class counts agree with all that is published, in integers."""
        sums = self.member @ counts
        return bool((counts >= 0).all() and (self.low <= sums).all() and (sums <= self.high).all())


def build_lattice(frame: Frame, release: Release, targets: Flags, *, most_types: int) -> CellLattice:
    """The cells that say something, and the targets, over the record types that can exist.

    Cells published as 0 exclude types and become no rows. Rows without types have bounds of 0.
    """
    universe = grow(frame, release, most=most_types)
    known = (release.low > 0) | (release.high < 2**62) | targets
    cells = np.flatnonzero(known & (release.high > 0) & frame.cells_inside)
    if release.layout.sums:
        times = universe.times_counted(cells)
        group, first = _classes(row_bytes(times) if len(cells) else np.zeros((len(times), 1), np.uint8))
        member = csr_array(times[first].T.astype(np.int64))
        member.sort_indices()
    else:
        mask = np.zeros(len(frame.inside), bool)
        mask[cells] = True
        words = universe.words & pack(mask[None, :])
        group, first = _classes(np.ascontiguousarray(words).view(np.uint8))
        member = _sparse(words[first], len(release.low), cells)
    row_of, low, high, low_cell, high_cell, kept = _rows(member, release, cells)
    row_of_cell = np.full(len(release.low), -1, np.int64)
    row_of_cell[cells] = row_of
    rows = member[kept] if len(kept) else csr_array((0, len(first)), dtype=np.int64)
    return CellLattice(release, universe, group, rows, low, high, low_cell, high_cell, row_of_cell)


def _classes(rows: NDArray[np.uint8]) -> tuple[Counts, Counts]:
    """The class of every type, and the first type of every class; types with the same bytes are one."""
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    _, first, inverse = unique_rows(rows)
    rank = np.argsort(np.argsort(first, kind="stable"), kind="stable")
    return rank[inverse], np.sort(first)


def _sparse(words: NDArray[np.uint64], n_cells: int, cells: Counts) -> Any:
    """Cell × class, without zeros: few words of a class have any bit."""
    row, word = np.nonzero(words)
    at, bit = np.nonzero(unpack(words[row, word][:, None], 64))
    cell, column = word[at] * 64 + bit, row[at]
    place = np.full(words.shape[1] * 64, -1, np.int64)
    place[:n_cells][cells] = np.arange(len(cells))
    kept = place[cell] >= 0
    cell, column = place[cell[kept]], column[kept]
    found = csr_array((np.ones(len(cell), np.int64), (cell, column)), shape=(len(cells), len(words)))
    found.sort_indices()
    return found


def _rows(member: Any, release: Release, cells: Counts) -> tuple[Counts, ...]:
    """Each cell's row; each row's bounds, the cells that give them, and one cell's position."""
    number: dict[bytes, int] = {}
    kept: list[int] = []
    row_of = np.zeros(len(cells), np.int64)
    low_at, high_at = list[int](), list[int]()
    low, high = release.low[cells].tolist(), release.high[cells].tolist()
    for at in range(len(cells)):
        mine = slice(member.indptr[at], member.indptr[at + 1])
        key = member.indices[mine].tobytes() + member.data[mine].tobytes()
        row = number.setdefault(key, len(kept))
        row_of[at] = row
        if row == len(kept):
            kept.append(at)
            low_at.append(at)
            high_at.append(at)
        low_at[row] = at if low[at] > low[low_at[row]] else low_at[row]
        high_at[row] = at if high[at] < high[high_at[row]] else high_at[row]
    lows, highs = np.array(low_at, np.int64), np.array(high_at, np.int64)
    ends = release.low[cells[lows]], release.high[cells[highs]], cells[lows], cells[highs]
    return row_of, *ends, np.array(kept, np.int64)
