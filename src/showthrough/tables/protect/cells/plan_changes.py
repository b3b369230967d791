"""Changes inside a plan: whole numbers for the finest cells that leave every published cell as it is.

A linear program looks for a change of few atoms. If that is not whole, branch and bound looks for any change
that is, which is easier than to find a small one. Where it ends without one, the solver holds that there is
none: that is its word and no proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from showthrough.tables.protect.cells.cover import CellChange, Target
from showthrough.tables.protect.cells.plan_atoms import PlanAtoms
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.search.solver import Inequalities

__all__ = [
    "PlanChanges",
    "SoughtChange",
]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class SoughtChange:
    """What a search found.

    Parameters
    ----------
    change
        The change, if there is one: whole, no count becomes negative, and published cells stay.
    excluded
        Whether there is none, as reported by a solver, not proved.
    """

    change: CellChange | None
    excluded: bool = False


class PlanChanges:
    """The changes that are possible under a plan.

    Parameters
    ----------
    problem
        The cells.
    suppressed
        The cells that the plan suppresses.

    Examples
    --------
    >>> problem = CellProblem.with_margins(np.array([[5, 1], [3, 6]]))
    >>> inside = PlanChanges(problem, problem.is_atom)
    >>> inside.find(1, (-1, 1), nodes=0).change.at(1)
    -1
    >>> inside.find(1, (-1, 2), nodes=10).excluded
    True
    """

    def __init__(self, problem: CellProblem, suppressed: NDArray[np.bool_]) -> None:
        self.problem = problem
        self._within = PlanAtoms.of(problem, suppressed)
        self._above: Vector = np.where(self._within.room < 0, np.inf, self._within.room)

    def find(self, cell: int, target: Target, *, nodes: int) -> SoughtChange:
        """A change that changes a cell as far as a target, by branch and bound with so many ``nodes``."""
        (sign, far), mine = target, self._within.parts[[cell]]
        if not mine.nnz or (sign < 0 and self.problem.counts[cell] < far):
            return SoughtChange(None, excluded=True)
        found = self._small(mine, target)
        if found.change is not None or found.excluded or not nodes:
            return found
        return self._any(mine, target, nodes)

    def _small(self, mine: csr_array, target: Target) -> SoughtChange:
        """As few atoms as fractions allow: one variable for what an atom gains, one for what it loses."""
        within, n = self._within, len(self._above)
        upper: Vector = np.concatenate([self._above, within.counts.astype(np.float64)])
        program = Inequalities(np.ones(2 * n), np.zeros(2 * n), upper)
        _keep(program, _doubled(within.rows), _doubled(mine), target)
        solved = program.solve()
        return SoughtChange(None) if solved is None else self._whole(solved.point[:n] - solved.point[n:])

    def _any(self, mine: csr_array, target: Target, nodes: int) -> SoughtChange:
        """Any change: without a cost, the first one ends the search."""
        within, n = self._within, len(self._above)
        program = Inequalities(np.zeros(n), -within.counts.astype(float), self._above)
        _keep(program, within.rows, mine, target)
        point, bound = program.solve_whole(np.ones(n, bool), nodes=nodes)
        return SoughtChange(None, excluded=bool(np.isinf(bound))) if point is None else self._whole(point)

    def _whole(self, point: Vector) -> SoughtChange:
        """The change of all cells, if it is whole, no count becomes negative, and published cells stay."""
        whole = np.rint(point).astype(np.int64)
        if np.abs(point - whole).max(initial=0) > 1e-6 or (self._within.rows @ whole).any():
            return SoughtChange(None)
        change = self._within.parts @ whole
        cells = np.flatnonzero(change)
        holds = bool((self.problem.counts + change >= 0).all())
        return SoughtChange(CellChange(cells, change[cells]) if holds else None)


def _keep(program: Inequalities, rows: csr_array, mine: csr_array, target: Target) -> None:
    """Published cells stay, and one cell changes at least as far as a target."""
    zeros, (sign, far) = np.zeros(rows.shape[0]), target
    program.add(rows, zeros, zeros)
    ends = np.sort([sign * float(far), sign * np.inf])
    program.add(mine, ends[:1], ends[1:])


def _doubled(rows: csr_array) -> csr_array:
    return csr_array(hstack([rows, -rows], format="csr"))
