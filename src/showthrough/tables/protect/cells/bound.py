"""The least that any safe plan costs: whoever is suppressed in a sum has company.

If exactly one cell of a true equation is not published, it follows from the others. So every plan
that suppresses a cell suppresses another one in each of its equations; for cells that are not
primary this holds of some cheapest plan, because a determined cell may as well be published. The LP
over these rows bounds the cost from below. Its multipliers are rounded to fractions and the bound is
computed from them in whole numbers, so that it does not rest on the solver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.search.solver import Inequalities

__all__ = [
    "LowerBound",
    "lower_bound",
]

Vector = NDArray[np.float64]

#: Rounds of rows, and rows added in one round.
_MOST_ROUNDS, _MOST_ROWS = 60, 4_000

#: Multipliers are rounded to multiples of one in this many.
_UNIT = 2**20


@dataclass(frozen=True, eq=False)
class LowerBound:
    """What every safe plan costs at least.

    Parameters
    ----------
    value
        The bound, rounded up to a whole number.
    kind
        ``"checked"`` if it was computed exactly from inequalities that hold; ``"solver"`` if it
        is reported by a solver, not proved.
    checked
        The bound that was checked, whatever the kind.
    point
        The LP's solution: how much each cell is suppressed. A hint for plans, nothing more.
    """

    value: int
    kind: Literal["checked", "solver"]
    checked: int
    point: Vector


def lower_bound(
    equations: Equations, *, nodes: int = 0, stop: Callable[[], bool] | None = None
) -> LowerBound | None:
    """Bound the cost of every safe plan from below; None if no plan can be safe (reported by a solver, not
    proved).

    ``nodes`` limits the branch and bound that may improve on the LP; with 0 there is none. When ``stop``
    says so, no more rows are added: the bound is lower then, and holds.
    """
    master = _Master(equations)
    point = master.run(stop)
    if point is None:
        return None
    checked = master.checked()
    if nodes and not (stop is not None and stop()):
        word = master.word(nodes)
        if word is None:
            return None
        if word > checked:
            return LowerBound(word, "solver", checked, point)
    return LowerBound(checked, "checked", checked, point)


class _Master:
    """Minimise Σ cost·x under x(E without j) ≥ x(j), for equations E and cells j added as they are broken."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        problem = equations.problem
        self.cost = np.where(problem.hidden, 0, problem.cost)
        #: What lies in a published cell of 0 that stays is as good as published.
        self.lower = (problem.primary | (problem.hidden & problem.movable)).astype(np.int64)
        self.upper = (problem.primary | problem.movable).astype(np.int64)
        #: Cells whose count may be determined without harm need no company.
        self.needy = problem.primary | ~problem.hidden
        self.rows = list[csr_array]()
        self.added = set[tuple[int, int]]()
        self.multipliers: Vector = np.zeros(0)
        self.program = Inequalities(*(one.astype(float) for one in (self.cost, self.lower, self.upper)))

    def run(self, stop: Callable[[], bool] | None = None) -> Vector | None:
        """Add rows until none is broken, or ``stop`` says so; the last point."""
        point = self.lower.astype(float)
        for _ in range(_MOST_ROUNDS):
            broken = self._broken(point)
            if not broken or (stop is not None and stop()):
                break
            self._add(broken)
            found = self.program.solve()
            if found is None:
                return None
            point, self.multipliers = found.point, found.multipliers
        return point

    def _broken(self, point: Vector) -> list[tuple[int, int]]:
        """Equations with a cell that is suppressed more than all others together, and that cell."""
        equations = self.equations
        if not len(equations):
            return []
        values = point[equations.members]
        needy = np.where(self.needy[equations.members], values, -1.0)
        sums = np.add.reduceat(values, equations.starts[:-1])
        most = np.maximum.reduceat(needy, equations.starts[:-1])
        lack = 2 * most - sums
        chosen = np.flatnonzero(lack > 1e-6)
        chosen = chosen[np.argsort(-lack[chosen], kind="stable")][:_MOST_ROWS]
        found = list[tuple[int, int]]()
        for at in chosen.tolist():
            mine = slice(equations.starts[at], equations.starts[at + 1])
            cell = int(equations.members[mine][np.argmax(needy[mine])])
            if (at, cell) not in self.added:
                found.append((at, cell))
        return found

    def _add(self, broken: list[tuple[int, int]]) -> None:
        equations = self.equations
        self.added.update(broken)
        parts = [equations.members[equations.starts[at] : equations.starts[at + 1]] for at, _ in broken]
        starts = np.concatenate([[0], np.cumsum([len(one) for one in parts])])
        columns = np.concatenate(parts)
        cells = np.repeat(np.array([cell for _, cell in broken]), np.diff(starts))
        signs = np.where(columns == cells, -1, 1).astype(np.int64)
        rows = csr_array((signs, columns, starts), shape=(len(parts), len(self.cost)))
        self.rows.append(rows)
        self.program.add(rows, np.zeros(len(parts)), np.full(len(parts), np.inf))

    def checked(self) -> int:
        """The bound by the multipliers, in whole numbers: Σ min (cost − multipliers·rows)·x over the box."""
        if not self.rows:
            return int(self.cost[self.lower == 1].sum())
        unit, least = _UNIT, int(self.cost[self.lower == 1].sum())
        multipliers = np.maximum(self.multipliers, 0.0)
        while unit * max(float(multipliers.sum()), float(self.cost.max())) >= 2.0**60:
            unit //= 2  # nothing may overflow; with huge costs the bound is coarser
        if not unit:
            return least
        weights = np.rint(multipliers * unit).astype(np.int64)
        reduced = self.cost * unit - vstack(self.rows, format="csr").T @ weights
        ends = np.where(reduced >= 0, reduced * self.lower, reduced * self.upper)
        return max(-(-sum(ends.tolist()) // unit), least)

    def word(self, nodes: int) -> int | None:
        """The bound that branch and bound reports; None if it says that there is no plan."""
        whole = (self.lower < self.upper) & (self.cost > 0)
        bound = self.program.solve_whole(whole, nodes=nodes)[1]
        return None if np.isposinf(bound) else int(np.ceil(max(bound, 0.0) - 1e-6))
