"""Changes of a dataset by linear programs over its atoms, where those are not published.

Cells that are suppressed already need no row, since atoms alone say which counts are possible. Only cells
that would cost something have one, and cells that must stay.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, kron

from showthrough.tables.protect.cells.cover import Target
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.search.solver import Inequalities

__all__ = [
    "AtomChanges",
]

Flags = NDArray[np.bool_]
Vector = NDArray[np.float64]

#: A cell changes by at most this many times what is asked for.
_MOST = 2

#: The price of changing an atom, in parts of the usual price of a cell, and how many times what is asked for
#: the cell changes at least: the next ones if the change by the first ones is not whole. The more atoms cost,
#: the fewer change, and the likelier whole numbers are; what is in halves is whole at twice as far.
_TRIES = ((0.03, 1), (0.03, 2), (0.3, 1), (0.3, 2))


class AtomChanges:
    """The LPs of all changes of the atoms that leave no count negative.

    Solutions are proposals: they are checked in whole numbers.

    Parameters
    ----------
    problem
        The cells.
    """

    def __init__(self, problem: CellProblem) -> None:
        self.problem = problem
        own = problem.movable[problem.atoms]
        self.atoms = problem.atoms[own]
        members = [csr_array(axis.members.astype(np.int64)) for axis in problem.axes]
        every = csr_array(reduce(lambda one, other: csr_array(kron(one, other, "csr")), members))
        #: Cells × atoms: which atoms each cell consists of.
        self.parts = csr_array(every[problem.cells @ np.array(problem.strides)][:, own])
        self.counts = problem.counts[self.atoms].astype(float)
        self._taken = np.arange(len(self.atoms))
        self.effort = 0

    def cheapest(
        self,
        cell: int,
        weight: Vector,
        *,
        target: Target,
        usable: Flags,
        most: float = np.inf,
        nodes: int = 0,
    ) -> NDArray[np.int64] | None:
        """The cheapest change of all cells that changes one cell as far as a target; None if none is found.

        ``weight`` is the cost of changing each cell by one; those of infinite weight, and published ones that
        are not ``usable``, do not change. The search ends where all together would cost more than ``most``.
        """
        sign, far = target
        for price, times in _TRIES:
            if sign < 0 and self.problem.counts[cell] < far * times:
                continue
            program = self._program(cell, weight, (sign, far * times), usable, price)
            solved = program.solve(most=most * times)
            self.effort += program.iterations
            if solved is None:
                return None
            found = self._whole(solved.point)
            if found is not None:
                return found
        return self._by_branching(cell, weight, target, usable, nodes) if nodes else None

    def _by_branching(
        self, cell: int, weight: Vector, target: Target, usable: Flags, nodes: int
    ) -> NDArray[np.int64] | None:
        program = self._program(cell, weight, target, usable, _TRIES[-1][0])
        n = len(self._taken) + int((self.counts[self._taken] > 0).sum())
        point, _ = program.solve_whole(np.arange(program.n_columns) < n, nodes=nodes)
        return None if point is None else self._whole(point)

    def _program(
        self, cell: int, weight: Vector, target: Target, usable: Flags, price: float
    ) -> Inequalities:
        """Columns: atoms that gain, those that lose, and cells that gain or lose and cost something."""
        (sign, far), problem = target, self.problem
        parts, counts, some = self._near(weight, usable)
        published = (np.diff(parts.indptr) > 0) & ~problem.hidden
        stays = published & (problem.fixed | ~usable | np.isinf(weight))
        priced = published & ~stays & (weight > 0)
        priced[cell] = stays[cell] = False
        rows, fixed, most = np.flatnonzero(priced), np.flatnonzero(stays), float(_MOST * far)
        unit = price * (float(np.median(weight[rows])) if len(rows) else 1.0)
        upper = [np.full(len(counts), most), np.minimum(counts[some], most)]
        upper += [np.full(len(rows), most), np.minimum(problem.counts[rows], most)]
        cost = np.concatenate([np.full(len(counts) + len(some), unit), weight[rows], weight[rows]])
        made = Inequalities(cost, np.zeros(len(cost)), np.concatenate(upper), presolve=False)
        place, zeros = np.arange(len(rows)), np.zeros(len(rows) + len(fixed))
        paid = csr_array((np.ones(len(rows)), (place, place)), shape=(len(zeros), len(rows)))
        gains, losses = (csr_array(one[np.append(rows, fixed)]) for one in (parts, parts[:, some]))
        made.add(csr_array(hstack([gains, -losses, -paid, paid], format="csr")), zeros, zeros)
        ends, nothing = np.sort([sign * float(far), sign * most]), csr_array((1, 2 * len(rows)))
        gains, losses = (csr_array(one[[cell]]) for one in (parts, parts[:, some]))
        made.add(csr_array(hstack([gains, -losses, nothing], format="csr")), ends[:1], ends[1:])
        return made

    def _near(self, weight: Vector, usable: Flags) -> tuple[csr_array, Vector, NDArray[np.intp]]:
        """The atoms that may change, as columns of the cells, their counts, and which have records."""
        self._taken = np.flatnonzero(usable[self.atoms] & np.isfinite(weight[self.atoms]))
        counts = self.counts[self._taken]
        return csr_array(self.parts[:, self._taken]), counts, np.flatnonzero(counts > 0)

    def _whole(self, point: Vector) -> NDArray[np.int64] | None:
        """The change of all cells, if it is whole and no count becomes negative."""
        n, some = len(self._taken), np.flatnonzero(self.counts[self._taken] > 0)
        mine = np.zeros(len(self.atoms))
        mine[self._taken] = point[:n]
        mine[self._taken[some]] -= point[n : n + len(some)]
        whole = np.rint(mine)
        if np.abs(mine - whole).max(initial=0) > 1e-6:
            return None
        change = self.parts @ whole.astype(np.int64)
        return change if (self.problem.counts + change >= 0).all() else None
