"""A plan in the making: changes of the dataset that together change every primary cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.certificate import Certificate
from showthrough.tables.protect.cells.problem import CellProblem

__all__ = [
    "Change",
    "Cover",
]

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Change:
    """A change of the dataset: the cells that change, and by how much."""

    cells: NDArray[np.int64]
    values: NDArray[np.int64]

    def certificate(self, problem: CellProblem) -> Certificate:
        """It as a certificate: the atoms among its cells."""
        mine = problem.is_atom[self.cells]
        return Certificate(tuple(self.cells[mine].tolist()), tuple(self.values[mine].tolist()))


class Cover:
    """Changes, the cells they need, and the primary cells they change.

    A cell is suppressed if it is primary or some change needs it. Each change is a certificate for the
    primary cells among its cells, so that a cover in which each primary cell has one is safe.
    """

    def __init__(self, problem: CellProblem) -> None:
        self.problem = problem
        self.price = np.where(problem.hidden, 0, problem.cost)
        self.users = problem.primary.astype(np.int64)
        self.covered = np.zeros(len(problem.counts), np.int64)
        self.changes: dict[int, Change] = {}
        self.cost = int(self.price[self.users > 0].sum())
        self.numbered = 0

    @property
    def suppressed(self) -> Flags:
        """The published cells that the plan suppresses."""
        return (self.users > 0) & ~self.problem.hidden

    @property
    def uncovered(self) -> NDArray[np.intp]:
        """The primary cells that no change changes."""
        return np.flatnonzero(self.problem.primary & (self.covered == 0))

    @property
    def secondary(self) -> NDArray[np.intp]:
        """The suppressed cells that are not primary and cost something."""
        return np.flatnonzero((self.users > 0) & ~self.problem.primary & (self.price > 0))

    def price_of(self, cells: NDArray[np.integer]) -> int:
        """What the cells would cost that are not suppressed yet."""
        return int(self.price[cells[self.users[cells] == 0]].sum())

    def add(self, change: Change) -> None:
        """One more change."""
        self.changes[self.numbered] = change
        self.numbered += 1
        self.cost += self.price_of(change.cells)
        self.users[change.cells] += 1
        self.covered[change.cells] += 1

    def remove(self, key: int) -> Change:
        """One change less."""
        change = self.changes.pop(key)
        self.users[change.cells] -= 1
        self.covered[change.cells] -= 1
        self.cost -= self.price_of(change.cells)
        return change

    def using(self, cell: int) -> list[int]:
        """The changes that need a cell."""
        return [key for key, change in self.changes.items() if (change.cells == cell).any()]

    def thin(self, keys: Iterable[int]) -> None:
        """Take changes back that no primary cell needs."""
        primary = self.problem.primary
        for key in keys:
            cells = self.changes[key].cells
            if (self.covered[cells[primary[cells]]] > 1).all():
                self.remove(key)

    def certificates(self) -> tuple[Certificate, ...]:
        """The changes as certificates."""
        return tuple(change.certificate(self.problem) for change in self.changes.values())
