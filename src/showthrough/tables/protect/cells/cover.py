"""A plan in the making: changes of the dataset that together change every primary cell."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.certificate import CellCertificate
from showthrough.tables.protect.cells.problem import CellProblem

__all__ = [
    "CellChange",
    "Cover",
    "Target",
]

Flags = NDArray[np.bool_]

#: A direction (1: up, −1: down), and how far from the true count a change reaches at least.
Target = tuple[int, int]


@dataclass(frozen=True, eq=False)
class CellChange:
    """A change of the dataset: the cells that change, and by how much."""

    cells: NDArray[np.int64]
    values: NDArray[np.int64]

    def at(self, cell: int) -> int:
        """By how much one of its cells changes."""
        return int(self.values[self.cells == cell].sum())

    def certificate(self, problem: CellProblem) -> CellCertificate:
        """It as a certificate: the atoms among its cells."""
        mine = problem.is_atom[self.cells]
        return CellCertificate(tuple(self.cells[mine].tolist()), tuple(self.values[mine].tolist()))


class Cover:
    """Changes, the cells they need, and the primary cells they change.

    A cell is suppressed if it is primary or some change needs it. Each change is a certificate for the
    primary cells among its cells, so that a cover that meets what each primary cell needs is safe.
    """

    def __init__(self, problem: CellProblem) -> None:
        self.problem = problem
        self.price = np.where(problem.hidden, 0, problem.cost)
        self.users = problem.primary.astype(np.int64)
        self.covered = np.zeros(len(problem.counts), np.int64)
        #: By how much each change changes the primary cells that need wide intervals.
        self.reach: dict[int, dict[int, int]] = {at: {} for at in np.flatnonzero(problem.wide).tolist()}
        self.unmet: Flags = problem.wide.copy()
        self.changes: dict[int, CellChange] = {}
        self.cost = int(self.price[self.users > 0].sum())
        self.numbered = 0

    def copy(self) -> Cover:
        """Another cover that is the same until one of them changes."""
        other = copy(self)
        other.users, other.covered, other.unmet = self.users.copy(), self.covered.copy(), self.unmet.copy()
        other.changes = dict(self.changes)
        other.reach = {cell: dict(mine) for cell, mine in self.reach.items()}
        return other

    @property
    def suppressed(self) -> Flags:
        """The published cells that the plan suppresses."""
        return (self.users > 0) & ~self.problem.hidden

    @property
    def uncovered(self) -> NDArray[np.intp]:
        """The primary cells that no change changes, or not as far as they need."""
        return np.flatnonzero(self.problem.primary & ((self.covered == 0) | self.unmet))

    @property
    def secondary(self) -> NDArray[np.intp]:
        """The suppressed cells that are not primary and cost something."""
        return np.flatnonzero((self.users > 0) & ~self.problem.primary & (self.price > 0))

    def is_open(self, cell: int) -> bool:
        """Whether a primary cell needs a change, or one that reaches farther."""
        return not self.covered[cell] or bool(self.unmet[cell])

    def targets(self, cell: int) -> list[list[Target]]:
        """Changes that a primary cell lacks, of which one is looked for: the later ones if no other is found.

        None are left where the cell has all it needs.
        """
        if not self.is_open(cell):
            return []
        if not self.problem.wide[cell]:
            return [[(1, 1), (-1, 1)]]
        (below, above), (down, up, width) = self._ends(cell), self.problem.required[cell].tolist()
        found: list[Target] = [(1, up)] if above < up else []
        found += [(-1, down)] if below < down else []
        if found:
            return [found]
        count, lack = self.problem.counts[cell], width - above - below
        rounds = [[(1, above + part), (-1, below + part)] for part in _halves(lack)]
        return [[one for one in both if one[0] > 0 or one[1] <= count] for both in rounds]

    def price_of(self, cells: NDArray[np.integer]) -> int:
        """What the cells would cost that are not suppressed yet."""
        return int(self.price[cells[self.users[cells] == 0]].sum())

    def add(self, change: CellChange) -> None:
        """One more change."""
        key = self.numbered
        self.changes[key] = change
        self.numbered += 1
        self.cost += self.price_of(change.cells)
        self.users[change.cells] += 1
        self.covered[change.cells] += 1
        for cell in self._wide(change):
            self.reach[cell][key] = change.at(cell)
            self.unmet[cell] = self._lacks(cell)

    def remove(self, key: int) -> CellChange:
        """One change less."""
        change = self.changes.pop(key)
        self.users[change.cells] -= 1
        self.covered[change.cells] -= 1
        self.cost -= self.price_of(change.cells)
        for cell in self._wide(change):
            del self.reach[cell][key]
            self.unmet[cell] = self._lacks(cell)
        return change

    def _wide(self, change: CellChange) -> list[int]:
        return change.cells[self.problem.wide[change.cells]].tolist() if self.reach else []

    def _ends(self, cell: int, without: int | None = None) -> tuple[int, int]:
        """How far below and above its count the changes reach, of a cell that needs a wide interval."""
        mine = [by for key, by in self.reach[cell].items() if key != without]
        return max(0, -min(mine, default=0)), max(0, max(mine, default=0))

    def _lacks(self, cell: int, without: int | None = None) -> bool:
        (below, above), (down, up, width) = self._ends(cell, without), self.problem.required[cell].tolist()
        return below < down or above < up or below + above < width

    def using(self, cell: int) -> list[int]:
        """The changes that need a cell."""
        return [key for key, change in self.changes.items() if (change.cells == cell).any()]

    def thin(self, keys: Iterable[int]) -> None:
        """Take changes back that no primary cell needs."""
        primary = self.problem.primary
        for key in keys:
            change = self.changes[key]
            enough = (self.covered[change.cells[primary[change.cells]]] > 1).all()
            if enough and not any(self._lacks(cell, key) for cell in self._wide(change)):
                self.remove(key)

    def certificates(self) -> tuple[CellCertificate, ...]:
        """The changes as certificates."""
        return tuple(change.certificate(self.problem) for change in self.changes.values())


def _halves(most: int) -> list[int]:
    """A distance, half of it, a quarter, and so on down to one."""
    return [most >> by for by in range(most.bit_length())]
