"""Changes of a dataset by linear programs: the cheapest that changes a cell, if it comes out whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from showthrough.tables.protect.cells.cover import Target
from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.search.solver import Inequalities, Solution

__all__ = [
    "Changes",
]

Vector = NDArray[np.float64]

#: A cell changes by at most this many times what is asked for, or by this many with branch and bound; and
#: the factors that a fractional change may be multiplied by.
_MOST, _FARTHEST, _FACTORS = 2, 30, (1, 2, 3)

#: Cells that are rounded, one after the other, until a change is whole.
_MOST_DIVES = 12


class Changes:
    """The LP of all changes that keep the true equations and leave no count negative.

    One variable per cell and direction. Solutions are proposals: they are checked in whole numbers.

    Parameters
    ----------
    equations
        The equations.
    usable
        The cells that may change; all others stay.
    """

    def __init__(self, equations: Equations, usable: NDArray[np.bool_]) -> None:
        self.problem = problem = equations.problem
        self.cells = np.flatnonzero(usable)
        columns = equations.spanning_columns[:, self.cells]
        used = np.unique(columns.indices)
        rows = csr_array(columns.tocsr()[used])
        n = len(self.cells)
        self.counts = problem.counts[self.cells].astype(float)
        self.place = np.full(len(problem.counts), -1, np.int64)
        self.place[self.cells] = np.arange(n)
        self._rows = rows
        self._program = self._made()
        #: Simplex iterations so far.
        self.effort = 0

    def _made(self) -> Inequalities:
        n = len(self.cells)
        made = Inequalities(np.ones(2 * n), np.zeros(2 * n), np.ones(2 * n), presolve=False)
        zeros = np.zeros(len(self._rows.indptr) - 1)
        made.add(_doubled(self._rows), zeros, zeros)
        return made

    def cheapest(
        self, cell: int, weight: Vector, *, target: Target, most: float = np.inf, nodes: int = 0
    ) -> NDArray[np.int64] | None:
        """The cheapest change of all cells that changes one cell as far as a target; None if none is found.

        ``weight`` is the cost of changing each cell by one; those of infinite weight must not change, and
        the search ends where all together would cost more than ``most``. A
        solution that is not whole is made so by diving; if that fails, by branch and bound with this many
        ``nodes``.
        """
        (sign, far), at, n = target, int(self.place[cell]), len(self.cells)
        if at < 0 or (sign < 0 and self.counts[at] < far):
            return None
        mine = weight[self.cells]
        free, farthest = np.isfinite(mine), float((_FARTHEST if nodes else _MOST) * far)
        upper = np.concatenate([farthest * free, np.minimum(self.counts, farthest) * free])
        lower = np.zeros(2 * n)
        lower[at if sign > 0 else n + at], upper[at if sign < 0 else n + at] = far, 0.0
        upper[at if sign > 0 else n + at] = farthest if sign > 0 else min(farthest, self.counts[at])
        price = np.tile(np.where(free, mine, 0.0), 2) + 1e-4
        self._program.bound(lower, upper)
        self._program.price(price)
        self._program.cool()  # what is found depends on the question alone
        solved = self._solved(most)
        if solved is None:
            return None
        found = self._by_diving(solved.point, most)
        if found is None and nodes:
            found = self._by_branching(price, lower, upper, nodes)
        return found

    def _by_diving(self, point: Vector, most: float) -> NDArray[np.int64] | None:
        """Round the cell that is nearest to its next whole number away from 0, solve again, and so on."""
        n = len(self.cells)
        for _ in range(_MOST_DIVES):
            found = self._whole(point)
            if found is not None:
                return found
            mine = point[:n] - point[n:]
            part = np.abs(mine) % 1.0
            part[(part < 1e-6) | (part > 1 - 1e-6)] = -1.0
            at = int(np.argmax(part))
            if part[at] < 0:
                return None  # whole, but it does not hold
            to = np.sign(mine[at]) * np.ceil(abs(mine[at]))
            to = to if to >= -self.counts[at] else np.trunc(mine[at])
            self._program.fix(at, max(to, 0.0))
            self._program.fix(n + at, max(-to, 0.0))
            solved = self._solved(most)
            if solved is None:
                return None
            point = solved.point
        return None

    def _solved(self, most: float) -> Solution | None:
        solved = self._program.solve(most=most)
        self.effort += self._program.iterations
        if solved is None:
            self._program = self._made()
        return solved if solved is not None and solved.value <= most else None

    def many(self, weight: Vector) -> NDArray[np.int64] | None:
        """A change of as many cells as possible at once: the largest Σ weight·change; None if not whole.

        No cell changes by more than one. Nothing changes where nothing can.
        """
        n, mine = len(self.cells), weight[self.cells]
        self._program.bound(np.zeros(2 * n), np.concatenate([np.ones(n), np.minimum(self.counts, 1.0)]))
        self._program.price(np.concatenate([1e-3 - mine, 1e-3 + mine]))
        self._program.cool()
        solved = self._program.solve()
        return None if solved is None else self._whole(solved.point)

    def _by_branching(
        self, price: Vector, lower: Vector, upper: Vector, nodes: int
    ) -> NDArray[np.int64] | None:
        program = self._made()
        program.bound(lower, upper)
        program.price(price)
        point, _ = program.solve_whole(np.ones(len(price), bool), nodes=nodes)
        return None if point is None else self._whole(point)

    def _whole(self, point: Vector) -> NDArray[np.int64] | None:
        """The change of all cells, multiplied until it is whole, if no count becomes negative."""
        n, counts = len(self.cells), self.problem.counts
        mine = point[:n] - point[n:]
        for factor in _FACTORS:
            whole = np.rint(mine * factor)
            if np.abs(mine * factor - whole).max(initial=0) < 1e-6:
                change = np.zeros(len(counts), np.int64)
                change[self.cells] = whole.astype(np.int64)
                return change if (counts + change >= 0).all() else None
        return None


def _doubled(rows: csr_array) -> csr_array:
    return csr_array(hstack([rows, -rows], format="csr"))
