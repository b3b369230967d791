"""Linear programs over the classes of an area, and how they deal with very large counts."""

from __future__ import annotations

from collections import deque
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.release import UNBOUNDED
from showthrough.tables.search.solver.highs import DUAL, INFINITY, PRIMAL, loaded
from showthrough.tables.search.solver.solution import Solution, integral
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import exact_dot

__all__ = [
    "Program",
    "has_large_counts",
    "refined",
    "violations",
]

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]

#: Solutions that are remembered, and what counts as no record in them.
_MOST_POINTS, _NOBODY = 200, 1e-9


class Program:
    """One LP per area, kept warm: minimise a goal over the relaxed system.

    Bounds of single classes can be changed for branching. HiGHS runs with presolve off; the number
    of simplex iterations is limited so that effort does not depend on the clock.

    Floating point cannot tell large counts apart. So where there are any, the variables are changes from
    the counts of a known world, the origin: they stay small however many records there are. Far from
    the origin they are counted in units, rounded so that whole numbers of units are allowed changes.
    """

    def __init__(
        self,
        system: System,
        *,
        iterations: int,
        budget: float = np.inf,
        origin: Counts | None = None,
        unit: int = 1,
    ) -> None:
        self.system = system
        self.origin = origin if origin is not None and has_large_counts(system) else None
        self.iterations = 0
        self.budget = budget
        self._bound: set[int] = set()
        self._points: deque[NDArray[np.uint8]] = deque(maxlen=_MOST_POINTS)  # as bits
        self.size = system.n_classes + len(system.rows)
        cost = np.zeros(system.n_classes)
        options = {"solver": "simplex", "simplex_strategy": PRIMAL, "simplex_iteration_limit": iterations}
        low, high, self._least = _shifted(system, self.origin, unit)
        self._highs = loaded(system.sparse, low, high, cost, **options)
        self._columns = np.arange(system.n_classes, dtype=np.int32)
        if self.origin is not None:
            self._bound_all(np.full(system.n_classes, INFINITY))

    def unbind(self) -> None:
        """Lift all restrictions of single classes."""
        for at in sorted(self._bound):
            self._highs.changeColBounds(at, float(self._least[at]), INFINITY)
        self._bound.clear()

    def bound(self, at: int, low: int, high: int | None) -> None:
        """Restrict one class's count."""
        self._bound.add(at)
        start = 0 if self.origin is None else int(self.origin[at])
        least = max(float(low - start), float(self._least[at]))
        self._highs.changeColBounds(at, least, INFINITY if high is None else float(high - start))

    def _bound_all(self, most: Vector) -> None:
        """Set the largest count of every class."""
        highest = np.minimum(most if self.origin is None else most - self.origin, INFINITY)
        self._highs.changeColsBounds(len(self._columns), self._columns, self._least, highest)

    def cool(self) -> None:
        """Forget the last basis, so that the next multipliers do not depend on what came before."""
        self._highs.clearSolver()

    def minimise(self, goal: Counts) -> Solution | str | None:
        """The minimum of Σ goal·y; ``"infeasible"``, ``"unbounded"`` or None if the effort ran out."""
        if self.spent:
            return None
        self._highs.changeColsCost(len(self._columns), self._columns, goal.astype(float))
        status = self._run()
        if status == highspy.HighsModelStatus.kInfeasible:
            return "infeasible"
        if status in (
            highspy.HighsModelStatus.kUnbounded,
            highspy.HighsModelStatus.kUnboundedOrInfeasible,
        ):
            return "unbounded"
        if status != highspy.HighsModelStatus.kOptimal:
            return None
        found = self._solution(goal)
        if not self._bound and self.origin is None:
            self._points.append(np.packbits(found.point > _NOBODY))
        return found

    def minimise_afresh(self, goal: Counts) -> Solution | str | None:
        """The same for a goal that is nowhere negative, whatever came before.

        Nobody at all is then the best point but for the rows, and the dual simplex method starts there.
        """
        self.cool()
        self._highs.setOptionValue("simplex_strategy", DUAL)
        try:
            return self.minimise(goal)
        finally:
            self._highs.setOptionValue("simplex_strategy", PRIMAL)

    def has_seen_nobody(self, goal: Counts) -> bool:
        """Whether a solution of late has no records where a goal of 0 and 1 asks for some.

        Then no multipliers prove that there is one: they would hold for that solution, too.
        """
        wanted = np.packbits(goal > 0)
        return any(not (point & wanted).any() for point in reversed(self._points))

    def cheapest(self, price: Vector, most: Vector, goal: Counts, limit: int) -> Vector | None:
        """The point y ≤ most with Σ goal ≤ limit and the least Σ price; None if none was found.

        Where no price is negative, nobody at all is the best point but for the rows. The dual simplex
        method starts there, and takes a tenth of the time that the primal one takes from any basis.
        """
        if self.spent:
            return None
        highs, n = self._highs, len(self._columns)
        highs.clearSolver()
        highs.setOptionValue("simplex_strategy", DUAL)
        used = np.flatnonzero(goal).astype(np.int32)
        most_left = float(limit - self._base(goal))
        highs.addRow(-INFINITY, most_left, len(used), used, goal[used].astype(float))
        highs.changeColsCost(n, self._columns, price)
        self._bound_all(most)
        status = self._run()
        found = self._solution(goal).counts() if status == highspy.HighsModelStatus.kOptimal else None
        highs.deleteRows(1, np.array([len(self.system.rows)], np.int32))
        highs.setOptionValue("simplex_strategy", PRIMAL)
        return found

    def centre(self) -> Vector | None:
        """A point inside the relaxed system: as many classes as possible are positive at once.

        An interior-point method without crossover ends near the centre of the polytope, so a class
        that is (nearly) 0 there is 0 everywhere, which the caller has still to prove.
        """
        inner = Program(self.system, iterations=1, origin=self.origin)
        inner._highs.setOptionValue("solver", "ipm")
        inner._highs.setOptionValue("run_crossover", "off")
        inner._highs.run()
        if inner._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return inner._solution(np.zeros(len(self._columns), np.int64)).counts()

    def integers_below(
        self, goal: Counts, limit: int, *, nodes: int, among: Counts | None = None
    ) -> Counts | None:
        """Class counts with Σ goal ≤ limit by HiGHS's own branch and bound, re-checked; or None.

        None says nothing: only worlds are taken from it, never that there are none. ``among`` names the
        classes that may have records, all if it is not given: what the search takes grows with them.
        """
        system = self.system
        chosen = np.arange(system.n_classes) if among is None else among
        options = {"mip_max_nodes": nodes, "objective_target": float(limit)}
        columns = csr_array(system.sparse[:, chosen])
        highs = loaded(columns, system.low, system.high, goal[chosen].astype(float), **options)
        highs.setOptionValue("presolve", "on")
        kinds = np.full(len(chosen), int(highspy.HighsVarType.kInteger), np.uint8)
        highs.changeColsIntegrality(len(chosen), np.arange(len(chosen), dtype=np.int32), kinds)
        highs.run()
        point = np.array(highs.getSolution().col_value)
        if len(point) != len(chosen):
            return None
        whole = np.zeros(system.n_classes)
        whole[chosen] = point
        found = integral(system, whole)
        return found if found is not None and int(goal @ found) <= limit else None

    @property
    def spent(self) -> bool:
        """Whether all iterations together, times the LP's size, exceed the budget."""
        return self.iterations * self.size > self.budget

    def _base(self, goal: Counts) -> int:
        return 0 if self.origin is None else exact_dot(goal, self.origin)

    def _solution(self, goal: Counts) -> Solution:
        found = self._highs.getSolution()
        return Solution(
            value=float(self._highs.getInfo().objective_function_value),
            multipliers=np.array(found.row_dual),
            reduced=np.array(found.col_dual),
            point=np.array(found.col_value),
            origin=self.origin,
            base=self._base(goal),
        )

    def _run(self) -> Any:
        """Solve. HiGHS may end without an answer ("unknown"), from the last basis or from scratch.

        A cold start then has it, or the dual simplex method.
        """
        status = self._attempt()
        named = highspy.HighsModelStatus
        doubtful = [named.kUnknown, named.kNotset]
        if self.origin is not None:  # large steps are taken for endless ones, or for errors
            doubtful += [named.kUnbounded, named.kUnboundedOrInfeasible, named.kSolveError]
        if status in doubtful:
            self.cool()
            status = self._attempt()
        if status in doubtful:  # the dual simplex method takes no such steps
            self._highs.setOptionValue("simplex_strategy", DUAL)
            self.cool()
            status = self._attempt()
            self._highs.setOptionValue("simplex_strategy", PRIMAL)
        return status

    def _attempt(self) -> Any:
        self._highs.run()
        self.iterations += max(0, int(self._highs.getInfo().simplex_iteration_count))
        return self._highs.getModelStatus()


#: Above this number counts are too large for the tolerances of solvers.
_SMALL_COUNTS = 2**31


#: A change that counts as any: with larger numbers, tolerances are smaller than rounding errors.
_FAR = 2**26


def has_large_counts(system: System) -> bool:
    """Whether a row has so many records that floating point does not do."""
    return bool(system.low.max(initial=0) > _SMALL_COUNTS)


def _shifted(system: System, origin: Counts | None, unit: int) -> tuple[Counts, Counts, Vector]:
    """Bounds of rows and least values of classes for changes from an origin, in units of this many records.

    None is farther away than any change should be: nearer bounds forbid changes, they allow none.
    """
    if origin is None:
        return system.low, system.high, np.zeros(system.n_classes)
    there = system.sums(origin)
    below, above = (there - system.low) // unit, np.minimum((system.high - there) // unit, _FAR)
    high = np.where(system.high >= UNBOUNDED, UNBOUNDED, above)
    return -np.minimum(below, _FAR), high, -np.minimum(origin // unit, _FAR).astype(float)


def refined(system: System, *, iterations: int) -> Counts | None:
    """Class counts that satisfy the system exactly, however large its numbers, or None.

    A solution in floating point is rounded; what is still missing in each row is a smaller problem of
    the same kind, and so on until nothing is missing.
    """
    counts = np.zeros(system.n_classes, np.int64)
    for _ in range(_MOST_REFINEMENTS):
        there = system.sums(counts)
        high = np.where(system.high >= UNBOUNDED, UNBOUNDED, system.high - there)
        highs = loaded(
            system.sparse,
            system.low - there,
            high,
            np.zeros(system.n_classes),
            solver="simplex",
            simplex_iteration_limit=iterations,
        )
        columns = np.arange(system.n_classes, dtype=np.int32)
        highs.changeColsBounds(len(columns), columns, -counts.astype(float), np.full(len(columns), INFINITY))
        highs.run()
        change = np.rint(np.array(highs.getSolution().col_value))
        if np.abs(change).max(initial=0) >= UNBOUNDED or len(change) != len(counts):
            return None
        counts = np.maximum(counts + change.astype(np.int64), 0)
        if counts.sum(dtype=float) >= UNBOUNDED:
            return None
        if system.allows(counts):
            return counts
    return None


#: Times that a solution in floating point is corrected.
_MOST_REFINEMENTS = 6


def violations(matrix: NDArray[np.uint8], low: Counts, high: Counts) -> Vector | None:
    """Multipliers that show that no point satisfies all rows; None if one does (or effort ran out).

    Phase one as its own LP: pay 1 per unit of violation. Its duals are the multipliers, so no
    unbounded ray has to be asked of the solver.
    """
    n_rows, n_classes = matrix.shape
    whole = np.hstack([matrix, np.eye(n_rows), -np.eye(n_rows)])
    cost = np.concatenate([np.zeros(n_classes), np.ones(2 * n_rows)])
    highs = loaded(csr_array(whole), low, high, cost, simplex_iteration_limit=200_000)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    if highs.getInfo().objective_function_value < 1e-7:
        return None
    return np.array(highs.getSolution().row_dual)
