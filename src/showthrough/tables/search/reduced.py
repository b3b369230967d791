"""A release without the classes whose count is published: what is left to be found out.

Where all attributes are in one table, most classes are cells of it that are published. They are constants,
and the programs about the rest are a fraction of the size. Proofs about the rest become proofs about the
release by adding the constants' own cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.packing import narrowed
from showthrough.release import UNBOUNDED
from showthrough.tables.proof import Leaf, Node
from showthrough.tables.search.lattice import CellLattice
from showthrough.tables.search.system import System
from showthrough.tables.search.universe import Universe

__all__ = [
    "Reduced",
    "TooLarge",
    "reduce_lattice",
]

Counts = NDArray[np.int64]

#: Rows × classes of the system that is left.
MOST_ENTRIES = 400_000_000


class TooLarge(Exception):
    """More rows and classes than fit into memory."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """The system of the classes whose count is not published, and the others as constants."""

    lattice: CellLattice
    system: System
    free: Counts
    fixed: Counts
    value: Counts
    row: Counts

    @cached_property
    def _fixed_member(self) -> Any:
        return csr_array(self.lattice.member[:, self.fixed])

    def goals(self, rows: Counts) -> tuple[Any, Counts]:
        """For rows of the lattice: rows × free classes, and the sum of the constants in each."""
        chosen = self.lattice.member[rows]
        return csr_array(chosen[:, self.free]), csr_array(chosen[:, self.fixed]) @ self.value

    def whole(self, counts: Counts) -> Counts:
        """Counts of all classes, from those of the free ones."""
        found = np.zeros(self.lattice.n_classes, np.int64)
        found[self.free], found[self.fixed] = counts, self.value
        return found

    def lift(self, node: Node, row: int, sign: int) -> Node:
        """The proof about ± a row's free classes as one about all of them."""
        if isinstance(node, Leaf):
            return self._leaf(node, row, sign)
        below, above = self.lift(node.below, row, sign), self.lift(node.above, row, sign)
        return replace(node, below=below, above=above)

    def _leaf(self, leaf: Leaf, row: int, sign: int) -> Leaf:
        """Every constant gets the multiplier that makes its class come out as the goal."""
        lattice = self.lattice
        rest = np.zeros(len(self.fixed), object)
        mine = self._fixed_member
        here = slice(mine.indptr[row], mine.indptr[row + 1])
        rest[mine.indices[here]] += sign * leaf.denominator * mine.data[here].astype(object)
        for cell, u in leaf.cells:
            at = int(lattice.row_of_cell[cell])
            here = slice(mine.indptr[at], mine.indptr[at + 1])
            rest[mine.indices[here]] -= u * mine.data[here].astype(object)
        cells = dict(leaf.cells)
        for at in np.flatnonzero(rest):
            ends = lattice.low_cell if rest[at] > 0 else lattice.high_cell
            cell = int(ends[self.row[at]])
            cells[cell] = cells.get(cell, 0) + int(rest[at])
        named = tuple(sorted((cell, u) for cell, u in cells.items() if u))
        constants = sum(int(rest[at]) * int(self.value[at]) for at in np.flatnonzero(rest))
        return replace(leaf, cells=named, total=leaf.total + self._taken(leaf) + constants)

    def _taken(self, leaf: Leaf) -> int:
        """What a leaf's cells add up to, as published, beyond what is left of them."""
        rows = [(int(self.lattice.row_of_cell[cell]), u) for cell, u in leaf.cells]
        lower, upper = self.taken
        return sum(u * int(lower[row] if u > 0 else upper[row]) for row, u in rows)

    @cached_property
    def taken(self) -> tuple[Counts, Counts]:
        """Per row what the constants take from its lower and from its upper end."""
        taken = self._fixed_member @ self.value
        return np.minimum(taken, self.lattice.low), taken

    @property
    def possible(self) -> bool:
        """Whether the constants alone leave every row a count."""
        taken = self.taken[1]
        rest = self.lattice.sizes > np.diff(self._fixed_member.indptr)
        return bool(((taken <= self.lattice.high) & (rest | (taken >= self.lattice.low))).all())


def reduce_lattice(lattice: CellLattice) -> Reduced:
    """Take out the classes that make up a row of their own with a published count."""
    single = np.flatnonzero((lattice.sizes == 1) & (lattice.low == lattice.high) & lattice.plain)
    fixed = lattice.member.indices[lattice.member.indptr[single]].astype(np.int64)
    order = np.argsort(fixed, kind="stable")
    single, fixed = single[order], fixed[order]
    stays = np.ones(lattice.n_classes, bool)
    stays[fixed] = False
    free = np.flatnonzero(stays)
    value = lattice.low[single]
    system = _system(lattice, free, fixed, value)
    return Reduced(lattice, system, free, fixed, value, single)


def _system(lattice: CellLattice, free: Counts, fixed: Counts, value: Counts) -> System:
    taken = csr_array(lattice.member[:, fixed]) @ value
    rest = csr_array(lattice.member[:, free])
    low = np.maximum(lattice.low - taken, 0)
    high = np.where(lattice.high >= UNBOUNDED, UNBOUNDED, lattice.high - taken)
    useful = np.flatnonzero((np.diff(rest.indptr) > 0) & ((low > 0) | (high < UNBOUNDED)))
    if len(useful) * len(free) > MOST_ENTRIES:
        raise TooLarge
    types = np.flatnonzero(np.isin(lattice.group, free))
    universe = lattice.universe
    kept = Universe(universe.frame, universe.codes[types], universe.words[types])
    row_of_cell = np.full(len(lattice.row_of_cell), -1, np.int64)
    return System(
        lattice.release,
        kept,
        narrowed(rest[useful].toarray()),
        low[useful],
        high[useful],
        lattice.low_cell[useful],
        lattice.high_cell[useful],
        np.searchsorted(free, lattice.group[types]),
        len(free),
        row_of_cell,
    )
