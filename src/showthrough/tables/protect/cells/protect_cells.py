"""The fast road: a cheap safe plan for given cells, with certificates and a lower bound.

The bound comes from rows that every safe plan satisfies. Plans come from circuits, linear programs and
elimination, and are improved by giving up one suppressed cell after the other. Safety rests on none of
them: each plan carries changes of the true counts, recounted in whole numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.bound import LowerBound, lower_bound
from showthrough.tables.protect.cells.cover import Cover
from showthrough.tables.protect.cells.elimination import eliminate
from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.protect.cells.neighbourhood import Neighbourhood
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.cells.result import CellPlan, CellPlanStep
from showthrough.tables.protect.cells.ways import Ways

__all__ = [
    "Progress",
    "protect_cells",
]

Vector = NDArray[np.float64]

#: Takes a plan's cost, the lower bound, and the seconds since the start.
Progress = Callable[[int, int, float], None]

#: First plans, in large tables too, and rounds of improvement at an effort of 1.
_PLANS, _LARGE_PLANS, _ROUNDS = 5, 2, 24

#: How many first plans are improved, and for how many rounds, before the search goes on with the best.
_STARTS, _TRIAL = 3, 4

#: Steps in each round: at most this many times the number of secondary cells in small plans, and in large
#: plans one for this many secondary cells.
_STEPS, _TIMES, _CELLS_PER_STEP = 60, 2, 8

#: Rounds in a row without a better plan, after which the search ends.
_IDLE = 5

#: Simplex iterations at an effort of 1, after which no further round begins.
_ITERATIONS = 1_000_000

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
    gap: float | None = None,
    progress: Progress | None = None,
) -> CellPlan:
    """Find a cheap plan under which every primary cell has the interval it needs, and show that.

    Parameters
    ----------
    problem
        The cells, what must be hidden and what hiding costs.
    effort
        A factor on the rounds of improvement.
    seed
        The seed of all random choices.
    seconds
        Stop improving after this many seconds. The result then depends on the clock. The first plan comes
        before the lower bound then; if there is no time left, the bound is what the primary cells cost.
    gap
        Stop as soon as a plan costs at most so much more than the lower bound, as a fraction of it.
    progress
        Called with each better plan's cost, the lower bound, and the seconds since the start.

    Returns
    -------
    CellPlan
        The best plan found. It need not be safe: see :attr:`CellPlan.safe`. Ctrl-C ends the search with
        the best plan so far, if there is one.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C before the first plan.

    Examples
    --------
    >>> import numpy as np
    >>> found = protect_cells(CellProblem.with_margins(np.array([[5, 1, 4], [3, 6, 2]])))
    >>> found.safe, found.cost, found.lower_bound
    (True, 4, 4)
    """
    return _Search(problem, effort, seed, seconds, gap, progress).run()


class _Search:
    """One search in progress."""

    def __init__(
        self,
        problem: CellProblem,
        effort: float,
        seed: int,
        seconds: float | None,
        gap: float | None,
        progress: Progress | None,
    ) -> None:
        self.started, self.seconds = time.monotonic(), seconds
        self.problem, self.effort, self.progress = problem, effort, progress
        self.equations, self.gap = Equations.of(problem), gap or 0.0
        least = problem.cost_of(problem.primary)
        self.bound = LowerBound(least, "checked", least, problem.primary.astype(float))
        self.ways = Ways(self.equations, seed=seed)
        self.rng = np.random.default_rng(seed)
        stop = None if seconds is None else self._late
        self.near = Neighbourhood(self.ways, self.bound.point, self.rng, stop)
        self.best: Cover | None = None
        self.starts = list[Cover]()
        self.steps = list[CellPlanStep]()
        self.n_rounds = 0
        self.interrupted = False

    def run(self) -> CellPlan:
        """First plans, then improvements until the goal is met or the effort is spent."""
        try:
            if self.seconds is not None:
                self._first(1)  # before the bound, which may take long
            if not self._done():
                self._find_bound()
                self._first(self._n_first)
                self._guided()
                self._better()
        except KeyboardInterrupt:
            if self.best is None:
                raise
            self.interrupted = True
        return self._result()

    @property
    def _is_small(self) -> bool:
        return int(self.problem.primary.sum()) <= _MOST_SPLIT

    @property
    def _n_first(self) -> int:
        if self._is_small:
            return _PLANS
        prices = self.problem.cost[self.problem.candidates]
        if (prices == prices[:1]).all():
            # Where they may be wide, programs are better spent on improvements.
            return 1 if self.ways.widely else _LARGE_PLANS
        return _LARGE_PLANS if self._guide is None else 1  # a plan with a guide is better

    @cached_property
    def _guide(self) -> NDArray[np.bool_] | None:
        """What elimination suppresses; None in tables so large that programs do not see all of it."""
        return eliminate(self.problem) if self._is_small or self.ways.widely else None

    @property
    def _goal(self) -> int:
        return self.bound.value + int(self.gap * self.bound.value)

    def _better(self) -> None:
        if self.best is None or self._done():
            return
        small = self._is_small
        starts = sorted(self.starts, key=lambda one: one.cost)[: _STARTS if small else 1]
        tried = [self._rounds(self._split(one) if small else one, _TRIAL) for one in starts]
        self._rounds(min(tried, key=lambda one: one.cost), _ROUNDS)

    def _split(self, cover: Cover) -> Cover:
        split = cover.copy()
        self.ways.split(split, self.rng)
        return split

    def _rounds(self, cover: Cover, most: int) -> Cover:
        """Improve a plan for some rounds, or until it no longer gets better."""
        idle = 0
        for _ in range(int(np.ceil(most * self.effort))):
            if self._done() or idle == _IDLE or self.ways.effort > _ITERATIONS * self.effort:
                break
            before = cover.cost
            cover = self._improved(cover)
            self._keep(cover)
            idle = idle + 1 if cover.cost == before else 0
        return cover

    def _find_bound(self) -> None:
        nodes = _NODES if len(self.problem.counts) <= _MOST_CELLS else 0
        stop = None if self.seconds is None else self._late
        self.bound = lower_bound(self.equations, nodes=nodes, stop=stop) or self.bound
        self.near.hint = self.bound.point

    def _first(self, most: int) -> None:
        """The cheapest of a few first plans: one by circuits wherever there are, the others by LPs too."""
        for at in range(most):
            if self._done() or (self.problem.primary & self.problem.fixed).any():
                return
            cover = Cover(self.problem)
            if self.near.first(cover, programs=at > 0, widely=at % 2 == 0 or not self._is_small):
                self.starts.append(cover)
                self._keep(cover)

    def _guided(self) -> None:
        """One more first plan, of the cells that elimination suppresses wherever they are enough."""
        if self.best is None or self._done() or self._guide is None:
            return
        cover = Cover(self.problem)
        if self.near.first(cover, programs=True, widely=True, guide=self._guide):
            self.starts.append(cover)
            self._keep(cover)

    def _improved(self, cover: Cover) -> Cover:
        cells = len(cover.secondary)
        steps = max(min(_STEPS, _TIMES * cells), cells // _CELLS_PER_STEP)
        return self.near.improve(cover, steps=steps, goal=self._goal)

    def _done(self) -> bool:
        return self.best is not None and (self.best.cost <= self._goal or self._late())

    def _late(self) -> bool:
        return self.seconds is not None and time.monotonic() - self.started > self.seconds

    def _keep(self, cover: Cover) -> None:
        """Go on with a plan that costs no more than the best one."""
        self.n_rounds += 1
        if self.best is not None and cover.cost > self.best.cost:
            return
        better = self.best is None or cover.cost < self.best.cost
        self.best = cover
        if better:
            self.steps.append(CellPlanStep(self.n_rounds, cover.cost))
            if self.progress is not None:
                self.progress(cover.cost, self.bound.value, time.monotonic() - self.started)

    def _result(self) -> CellPlan:
        cover = self.best or Cover(self.problem)
        return CellPlan(
            self.problem,
            tuple(np.flatnonzero(cover.suppressed).tolist()),
            cover.cost,
            self.bound.value,
            self.bound.kind,
            cover.certificates(),
            tuple(self.steps),
            self.interrupted,
        )
