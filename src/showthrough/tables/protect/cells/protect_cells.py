"""The fast road: a cheap safe plan for given cells, with certificates and a lower bound.

The bound comes from rows that every safe plan satisfies. Plans come from circuits and linear programs,
and are improved by giving up one suppressed cell after the other. Safety rests on neither: each plan
carries changes of the true counts, recounted in whole numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.bound import LowerBound, lower_bound
from showthrough.tables.protect.cells.cover import Cover
from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.protect.cells.neighbourhood import first_cover, improve
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.cells.result import CellPlan, Step
from showthrough.tables.protect.cells.ways import Ways

__all__ = [
    "protect_cells",
]

Vector = NDArray[np.float64]

#: First plans, rounds of improvement and steps in each, at an effort of 1.
_PLANS, _ROUNDS, _STEPS = 3, 8, 30

#: Rounds in a row without a better plan, after which the search ends.
_IDLE = 3

#: Nodes of the branch and bound for the bound, and up to how many cells there is one.
_NODES, _MOST_CELLS = 50, 1_500

#: Up to how many primary cells the changes of a plan are split, and first plans are made by LPs again.
_MOST_SPLIT = 400


def protect_cells(
    problem: CellProblem,
    *,
    effort: float = 1.0,
    seed: int = 0,
    seconds: float | None = None,
    progress: Callable[[CellPlan], None] | None = None,
) -> CellPlan:
    """Find a cheap plan under which no primary cell is determined, and show that it is safe.

    Parameters
    ----------
    problem
        The cells, what must be hidden and what hiding costs.
    effort
        A factor on the rounds of improvement.
    seed
        The seed of all random choices.
    seconds
        Stop improving after so many seconds. The result then depends on the clock.
    progress
        Called with each better plan.

    Returns
    -------
    CellPlan
        The best plan found. It need not be safe: see :attr:`CellPlan.safe`.

    Examples
    --------
    >>> import numpy as np
    >>> found = protect_cells(CellProblem.with_margins(np.array([[5, 1, 4], [3, 6, 2]])))
    >>> found.safe, found.cost, found.lower_bound
    (True, 4, 4)
    """
    search = _Search(problem, effort, seed, seconds, progress)
    return search.run()


class _Search:
    """One search in progress."""

    def __init__(
        self,
        problem: CellProblem,
        effort: float,
        seed: int,
        seconds: float | None,
        progress: Callable[[CellPlan], None] | None,
    ) -> None:
        self.started, self.seconds = time.monotonic(), seconds
        self.problem, self.effort, self.progress = problem, effort, progress
        self.equations = Equations.of(problem)
        self.bound = self._bounded()
        self.ways = Ways(self.equations, seed=seed)
        self.rng = np.random.default_rng(seed)
        self.best: Cover | None = None
        self.steps = list[Step]()
        self.n_rounds = 0

    def run(self) -> CellPlan:
        """First plans, then improvements until the bound is met or the effort is spent."""
        self._first()
        best, small = self.best, int(self.problem.primary.sum()) <= _MOST_SPLIT
        if best is None:
            return self._result(Cover(self.problem))
        if small and best.cost > self.bound.value:
            self.ways.split(best, self.rng)
            self._note(best)
        idle = 0
        for _ in range(int(np.ceil(_ROUNDS * self.effort))):
            if best.cost <= self.bound.value or self._late() or idle == _IDLE:
                break
            before = best.cost
            self._improve(best, programs=True)
            idle = idle + 1 if best.cost == before else 0
        return self._result(best)

    def _bounded(self) -> LowerBound:
        problem = self.problem
        nodes = _NODES if len(problem.counts) <= _MOST_CELLS else 0
        found = lower_bound(self.equations, nodes=nodes)
        least = problem.cost_of(problem.primary)
        return found or LowerBound(least, "checked", least, problem.primary.astype(float))

    def _first(self) -> None:
        """The cheapest of a few first plans: one by circuits alone, the others by LPs too."""
        large = int(self.problem.primary.sum()) > _MOST_SPLIT
        for at in range(2 if large else _PLANS):
            done = self.best is not None and (self.best.cost <= self.bound.value or self._late())
            if done or ((self.problem.primary & self.problem.fixed).any()):
                return
            cover = Cover(self.problem)
            stop = None if self.seconds is None else self._late
            filled = first_cover(cover, self.ways, self.bound.point, rng=self.rng, programs=at > 0, stop=stop)
            if filled and (self.best is None or cover.cost < self.best.cost):
                self.best = cover
            if self.best is not None:
                self._note(self.best)

    def _improve(self, best: Cover, *, programs: bool) -> None:
        improve(
            best,
            self.ways,
            self.bound.point,
            steps=_STEPS,
            goal=self.bound.value,
            rng=self.rng,
            programs=programs,
            stop=None if self.seconds is None else self._late,
        )
        self._note(best)

    def _late(self) -> bool:
        return self.seconds is not None and time.monotonic() - self.started > self.seconds

    def _note(self, cover: Cover) -> None:
        self.n_rounds += 1
        if not self.steps or cover.cost < self.steps[-1].cost:
            self.steps.append(Step(self.n_rounds, cover.cost))
            if self.progress is not None:
                self.progress(self._result(cover))

    def _result(self, cover: Cover) -> CellPlan:
        return CellPlan(
            self.problem,
            tuple(np.flatnonzero(cover.suppressed).tolist()),
            cover.cost,
            self.bound.value,
            self.bound.kind,
            cover.certificates(),
            tuple(self.steps),
        )
