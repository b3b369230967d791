"""One pattern of suppressed cells for several areas or periods, made in table space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from showthrough.tables.protect.area_search import AreaSearch
from showthrough.tables.protect.cells.bound import lower_bound
from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.protect.cells.of_release import ReleaseCells, cells_of_release
from showthrough.tables.protect.cells.protect_cells import protect_cells
from showthrough.tables.protect.cells.result import CellPlan
from showthrough.tables.protect.hitting import cost_of
from showthrough.tables.protect.limits import Clock
from showthrough.tables.protect.moves import Move

__all__ = [
    "Alike",
    "plan_alike",
]

#: How often the areas are gone through. Each time an area's cells are chosen anew, beside those of others.
_SWEEPS = 2


@dataclass(frozen=True, eq=False)
class Alike:
    """One plan for all areas.

    Parameters
    ----------
    plan
        The cells that are suppressed in all areas, or nothing where some area has no safe plan.
    lower_bound
        What every plan for all areas costs at least: no less than for any one of them.
    parts
        Per area its problem, and its own plan with certificates, which hold under the common plan, too: it
        publishes less. None for an area that has nothing to hide.
    interrupted
        Whether Ctrl-C ended the search.
    """

    plan: frozenset[Move] | None
    lower_bound: Fraction
    parts: tuple[tuple[ReleaseCells, CellPlan] | None, ...] = ()
    interrupted: bool = False


def plan_alike(
    searches: Sequence[AreaSearch], costs: Mapping[Move, Fraction], *, effort: float, clock: Clock
) -> Alike | None:
    """One plan for several areas, if the policy is about cells in each of them; else None.

    The areas are protected one after the other. What others suppress already costs nothing.
    """
    problems = [
        cells_of_release(search.start, search.policy, search.world, costs, search.judge.needs)
        for search in searches
    ]
    if any(made is None and search.judge.needs for made, search in zip(problems, searches, strict=True)):
        return None
    return _Areas(searches, problems, costs, effort, clock).run()


class _Areas:
    """The areas, with the plan of each."""

    def __init__(
        self,
        searches: Sequence[AreaSearch],
        problems: Sequence[ReleaseCells | None],
        costs: Mapping[Move, Fraction],
        effort: float,
        clock: Clock,
    ) -> None:
        self.searches, self.problems, self.costs = searches, problems, costs
        self.effort, self.clock = effort, clock
        self.found: list[CellPlan | None] = [None] * len(problems)
        self.interrupted = False
        self.lower = max((self._bound(one) for one in problems if one), default=Fraction(0))

    def run(self) -> Alike:
        """The cheapest of the plans after each time the areas were gone through."""
        best: Alike | None = None
        for _ in range(_SWEEPS):
            for at in range(len(self.problems)):
                if not self._protect(at):
                    return best or Alike(None, self.lower, interrupted=self.interrupted)
            made = self._together()
            if best is None or self._cost(made) < self._cost(best):
                best = made
                self.clock.note(self._cost(best), self.lower)
            if self.interrupted or self.clock.late or self.clock.is_near_enough(self._cost(best), self.lower):
                break
        return replace(best, interrupted=self.interrupted) if best else Alike(None, self.lower)

    def _bound(self, cells: ReleaseCells) -> Fraction:
        """What a plan costs at least that is safe in one area; all costs are those of all areas."""
        found = lower_bound(Equations.of(cells.problem))
        least = cells.problem.cost_of(cells.problem.primary)
        return (least if found is None else found.checked) * cells.unit

    def _protect(self, at: int) -> bool:
        """A plan for one area beside those of the others; whether it is safe."""
        cells = self.problems[at]
        if cells is None:
            return True
        others = frozenset[Move]().union(*(self._plan(j) for j in range(len(self.problems)) if j != at))
        free = np.zeros(len(cells.problem.counts), bool)
        free[[cell for cell, moves in cells.moves.items() if others.issuperset(moves)]] = True
        problem = replace(cells.problem, cost=np.where(free, 0, cells.problem.cost))
        found = protect_cells(
            problem,
            effort=self.effort,
            seed=self.searches[at].seed,
            seconds=0.0 if self.interrupted else self.clock.left,
            gap=self.clock.gap,
        )
        self.interrupted |= found.interrupted
        self.found[at] = found if found.safe else None
        return found.safe

    def _plan(self, at: int) -> frozenset[Move]:
        cells, found = self.problems[at], self.found[at]
        return frozenset() if cells is None or found is None else cells.plan(found.suppressed)

    def _together(self) -> Alike:
        plan = frozenset[Move]().union(*(self._plan(at) for at in range(len(self.problems))))
        pairs = zip(self.problems, self.found, strict=True)
        parts = ((cells, found) if cells and found else None for cells, found in pairs)
        return Alike(plan, self.lower, tuple(parts))

    def _cost(self, found: Alike) -> Fraction:
        return cost_of(found.plan or (), self.costs)
