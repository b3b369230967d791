"""The only file that knows solvers: HiGHS for linear programs, CP-SAT for whole numbers.

They only propose. What a solver says is used after exact checks, and its word never proves anything:
not that a world does not exist, not that a claim holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.errors import Undecided
from showthrough.release import UNBOUNDED
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import exact_dot

__all__ = [
    "Inequalities",
    "Multipliers",
    "Program",
    "Solution",
    "cheapest_choice",
    "every_counts",
    "find_counts",
    "find_pinned",
    "integral",
    "violations",
]

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]

_INFINITY = 1e30

#: HiGHS's numbers of simplex methods.
_DUAL, _PRIMAL = 1, 4


@dataclass(frozen=True)
class Solution:
    """What the LP says: a value, multipliers per row and reduced costs, and a point.

    Value and point are those of the change from an origin, if there is one, which has the value ``base``.
    """

    value: float
    multipliers: Vector
    reduced: Vector
    point: Vector
    origin: Counts | None = None
    base: int = 0

    def promises(self, target: int) -> bool:
        """Whether the value, rounded up as a sum of counts may be, reaches the target."""
        return self.value > target - self.base - 1 + 1e-6

    def rounded_up(self) -> int:
        """The least whole number that is not below the value, but for rounding errors."""
        return self.base + int(np.ceil(self.value - 1e-6))

    def integral(self, system: System) -> Counts | None:
        """The point as class counts, if it is one and they satisfy the system exactly."""
        return integral(system, self.point, self.origin)

    def floor(self, at: int) -> int:
        """The count of a class, rounded down."""
        below = int(np.floor(self.point[at]))
        return below if self.origin is None else int(self.origin[at]) + below

    def counts(self) -> Vector:
        """The point as class counts, as far as floating point goes."""
        return self.point if self.origin is None else self.origin + self.point


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
        options = {"solver": "simplex", "simplex_strategy": _PRIMAL, "simplex_iteration_limit": iterations}
        low, high, self._least = _shifted(system, self.origin, unit)
        self._highs = _loaded(system.sparse, low, high, cost, **options)
        self._columns = np.arange(system.n_classes, dtype=np.int32)
        if self.origin is not None:
            self._bound_all(np.full(system.n_classes, _INFINITY))

    def unbind(self) -> None:
        """Lift all restrictions of single classes."""
        for at in sorted(self._bound):
            self._highs.changeColBounds(at, float(self._least[at]), _INFINITY)
        self._bound.clear()

    def bound(self, at: int, low: int, high: int | None) -> None:
        """Restrict one class's count."""
        self._bound.add(at)
        start = 0 if self.origin is None else int(self.origin[at])
        least = max(float(low - start), float(self._least[at]))
        self._highs.changeColBounds(at, least, _INFINITY if high is None else float(high - start))

    def _bound_all(self, most: Vector) -> None:
        """Set the largest count of every class."""
        highest = np.minimum(most if self.origin is None else most - self.origin, _INFINITY)
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
        self._highs.setOptionValue("simplex_strategy", _DUAL)
        try:
            return self.minimise(goal)
        finally:
            self._highs.setOptionValue("simplex_strategy", _PRIMAL)

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
        highs.setOptionValue("simplex_strategy", _DUAL)
        used = np.flatnonzero(goal).astype(np.int32)
        most_left = float(limit - self._base(goal))
        highs.addRow(-_INFINITY, most_left, len(used), used, goal[used].astype(float))
        highs.changeColsCost(n, self._columns, price)
        self._bound_all(most)
        status = self._run()
        found = self._solution(goal).counts() if status == highspy.HighsModelStatus.kOptimal else None
        highs.deleteRows(1, np.array([len(self.system.rows)], np.int32))
        highs.setOptionValue("simplex_strategy", _PRIMAL)
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
        highs = _loaded(columns, system.low, system.high, goal[chosen].astype(float), **options)
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
            self._highs.setOptionValue("simplex_strategy", _DUAL)
            self.cool()
            status = self._attempt()
            self._highs.setOptionValue("simplex_strategy", _PRIMAL)
        return status

    def _attempt(self) -> Any:
        self._highs.run()
        self.iterations += max(0, int(self._highs.getInfo().simplex_iteration_count))
        return self._highs.getModelStatus()


class Inequalities:
    """An LP that grows: minimise a cost over variables between bounds, under inequalities added as needed.

    Each solution starts from the last one unless it is forgotten; the same calls give the same answers.
    """

    def __init__(
        self,
        cost: Vector,
        lower: Vector,
        upper: Vector,
        *,
        iterations: int = 2**31 - 1,
        presolve: bool = True,
        primal: bool = False,
    ) -> None:
        self._highs = _new_highs(
            random_seed=0, simplex_iteration_limit=iterations, presolve="choose" if presolve else "off"
        )
        if primal:  # which goes on from the last point, if only costs change
            self._highs.setOptionValue("simplex_strategy", _PRIMAL)
        self._n, self._columns = len(cost), np.arange(len(cost), dtype=np.int32)
        self._highs.addVars(self._n, lower, np.minimum(upper, _INFINITY))
        self.price(cost)

    def extend(self, lower: Vector, upper: Vector) -> None:
        """Add variables that cost nothing."""
        self._highs.addVars(len(lower), lower, np.minimum(upper, _INFINITY))
        self._n += len(lower)
        self._columns = np.arange(self._n, dtype=np.int32)

    @property
    def n_columns(self) -> int:
        """How many variables there are."""
        return self._n

    @property
    def iterations(self) -> int:
        """The simplex iterations of the last solution: what it took, on whatever machine."""
        return max(0, int(self._highs.getInfo().simplex_iteration_count))

    def price(self, cost: Vector) -> None:
        """Set all costs."""
        self._highs.changeColsCost(self._n, self._columns, cost)

    def bound(self, lower: Vector, upper: Vector) -> None:
        """Set the bounds of all variables."""
        self._highs.changeColsBounds(self._n, self._columns, lower, np.minimum(upper, _INFINITY))

    def fix(self, column: int, value: float) -> None:
        """Fix one variable."""
        self._highs.changeColBounds(column, value, value)

    def cool(self) -> None:
        """Forget the last solution, so that the next one is found from scratch, with presolve if any."""
        self._highs.clearSolver()

    def add(self, rows: csr_array, low: Vector, high: Vector) -> None:
        """Add inequalities low ≤ rows·x ≤ high."""
        low, high = np.maximum(low, -_INFINITY), np.minimum(high, _INFINITY)
        starts, columns = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
        self._highs.addRows(len(low), low, high, rows.nnz, starts, columns, rows.data.astype(float))

    def solve(self, *, most: float = np.inf) -> Solution | None:
        """The cheapest point; None if there is none, it costs more than ``most``, or the effort ran out."""
        self._highs.setOptionValue("objective_bound", float(most))
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        found, value = self._highs.getSolution(), self._highs.getInfo().objective_function_value
        point, dual = np.array(found.col_value), np.array(found.row_dual)
        return Solution(float(value), dual, np.array(found.col_dual), point)

    def solve_whole(self, whole: NDArray[np.bool_], *, nodes: int) -> tuple[Vector | None, float]:
        """The best point found with whole numbers where asked for, and a lower bound: the solver's word.

        Nothing is solved with this object afterwards.
        """
        kinds = np.where(whole, int(highspy.HighsVarType.kInteger), int(highspy.HighsVarType.kContinuous))
        self._highs.changeColsIntegrality(self._n, self._columns, kinds.astype(np.uint8))
        for name, value in {"mip_max_nodes": nodes, "mip_rel_gap": 0.0, "mip_max_stall_nodes": nodes}.items():
            self._highs.setOptionValue(name, value)
        self._highs.run()
        info, point = self._highs.getInfo(), np.array(self._highs.getSolution().col_value)
        found = info.primal_solution_status == 2 and len(point) == self._n
        infeasible = self._highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible
        return (point if found else None), np.inf if infeasible else float(info.mip_dual_bound)


#: Classes that a search for multipliers adds at a time, and how often it does.
_MOST_ADDED, _MOST_ROUNDS = 1_000, 60


class Multipliers:
    """The LP of the multipliers that prove Σ goal ≥ target: as few and as small as they can be.

    Its columns are the rows of a system, from below and from above; its rows are the classes, of which
    few matter, so that they are added as they are broken. It starts cold and empty, so that the
    multipliers depend on nothing but the question.
    """

    def __init__(self, system: System, goal: Counts, target: float, *, iterations: int) -> None:
        self.system = system
        self.goal = goal
        low, high = np.flatnonzero(system.low > 0), np.flatnonzero(system.high < UNBOUNDED)
        self._row = np.concatenate([low, high])
        self._sign = np.concatenate([np.ones(len(low)), -np.ones(len(high))])
        self._columns = np.arange(len(self._row), dtype=np.int32)
        ends = np.concatenate([system.low[low], -system.high[high]]).astype(float)
        options = {"solver": "simplex", "simplex_iteration_limit": iterations}
        self._highs = _new_highs(presolve="off", random_seed=0, **options)
        self._highs.addVars(len(ends), np.zeros(len(ends)), np.full(len(ends), _INFINITY))
        used = np.flatnonzero(ends).astype(np.int32)
        self._highs.addRow(target, _INFINITY, len(used), used, ends[used])

    def lightest(self, weight: Vector, allowed: NDArray[np.bool_] | None = None) -> Vector | None:
        """The multipliers with the least Σ weight·|multiplier|; None if none were found.

        ``allowed`` says which rows may be used.
        """
        highs, n = self._highs, len(self._columns)
        most = np.full(n, _INFINITY)
        if allowed is not None:
            most[~allowed[self._row]] = 0.0
        highs.changeColsCost(n, self._columns, weight[self._row])
        highs.changeColsBounds(n, self._columns, np.zeros(n), most)
        for _ in range(_MOST_ROUNDS):
            highs.run()
            if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return None
            found = np.zeros(len(self.system.rows))
            np.add.at(found, self._row, self._sign * np.array(highs.getSolution().col_value))
            excess = self.system.sparse_columns @ found - self.goal
            broken = np.flatnonzero(excess > 1e-7)
            if not len(broken):
                return found
            self._add(broken[np.argsort(-excess[broken], kind="stable")][:_MOST_ADDED])
        return None

    def _add(self, classes: Counts) -> None:
        flags = self.system.columns[classes][:, self._row]
        rows, columns = np.nonzero(flags)
        starts = np.searchsorted(rows, np.arange(len(classes))).astype(np.int32)
        low, high = np.full(len(classes), -_INFINITY), self.goal[classes].astype(float)
        self._highs.addRows(
            len(classes),
            low,
            high,
            len(columns),
            starts,
            columns.astype(np.int32),
            self._sign[columns] * flags[rows, columns],
        )


def cheapest_choice(
    cost: Vector,
    lower: Vector,
    whole: NDArray[np.bool_],
    rows: Iterable[tuple[float, float, Mapping[int, float]]],
    *,
    nodes: int,
) -> Vector | None:
    """The cheapest point between ``lower`` and 1 that keeps all rows (low, high, coefficients).

    ``whole`` marks the variables that must be 0 or 1; costs are whole numbers. None if no point keeps
    the rows, which is the solver's word alone.
    """
    highs = _new_highs(random_seed=1, mip_rel_gap=0.0, mip_abs_gap=0.5, mip_max_nodes=nodes)
    highs.addVars(len(cost), lower, np.ones(len(cost)))
    for at in range(len(cost)):
        highs.changeColCost(at, float(cost[at]))
        if whole[at]:
            highs.changeColIntegrality(at, highspy.HighsVarType.kInteger)
    for low, high, row in rows:
        highs.addRow(low, high, len(row), np.array(list(row), np.int32), np.array(list(row.values())))
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if status != highspy.HighsModelStatus.kOptimal:
        raise Undecided("no cheapest plan was found within the effort")
    return np.asarray(highs.getSolution().col_value)


#: Above this number counts are too large for the tolerances of solvers.
_SMALL_COUNTS = 2**31


#: A change that counts as any: with larger numbers, tolerances are smaller than rounding errors.
_FAR = 2**26


def has_large_counts(system: System) -> bool:
    """Whether a row has so many records that floating point does not do."""
    return bool(system.low.max(initial=0) > _SMALL_COUNTS)


def _shifted(system: System, origin: Counts | None, unit: int) -> tuple[Counts, Counts, Vector]:
    """Bounds of rows and least values of classes for changes from an origin, in units of so many records.

    None is farther away than any change should be: nearer bounds forbid changes, they allow none.
    """
    if origin is None:
        return system.low, system.high, np.zeros(system.n_classes)
    there = system.sums(origin)
    below, above = (there - system.low) // unit, np.minimum((system.high - there) // unit, _FAR)
    high = np.where(system.high >= UNBOUNDED, UNBOUNDED, above)
    return -np.minimum(below, _FAR), high, -np.minimum(origin // unit, _FAR).astype(float)


def integral(system: System, point: Vector, origin: Counts | None = None) -> Counts | None:
    """The point as integers if it is (nearly) integral and satisfies the system exactly."""
    rounded = np.rint(point)
    if np.abs(point - rounded).max(initial=0) > 1e-5 or np.abs(rounded).max(initial=0) >= UNBOUNDED:
        return None
    counts = rounded.astype(np.int64) if origin is None else origin + rounded.astype(np.int64)
    return counts if system.allows(counts) else None


def refined(system: System, *, iterations: int) -> Counts | None:
    """Class counts that satisfy the system exactly, however large its numbers, or None.

    A solution in floating point is rounded; what is still missing in each row is a smaller problem of
    the same kind, and so on until nothing is missing.
    """
    counts = np.zeros(system.n_classes, np.int64)
    for _ in range(_MOST_REFINEMENTS):
        there = system.sums(counts)
        high = np.where(system.high >= UNBOUNDED, UNBOUNDED, system.high - there)
        highs = _loaded(
            system.sparse,
            system.low - there,
            high,
            np.zeros(system.n_classes),
            solver="simplex",
            simplex_iteration_limit=iterations,
        )
        columns = np.arange(system.n_classes, dtype=np.int32)
        highs.changeColsBounds(len(columns), columns, -counts.astype(float), np.full(len(columns), _INFINITY))
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
    highs = _loaded(csr_array(whole), low, high, cost, simplex_iteration_limit=200_000)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    if highs.getInfo().objective_function_value < 1e-7:
        return None
    return np.array(highs.getSolution().row_dual)


def _new_highs(**options: str | float) -> Any:
    """HiGHS, silent and on one thread, so that the same model always takes the same way."""
    highs: Any = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        highs.setOptionValue(name, value)
    return highs


def _loaded(matrix: Any, low: Counts, high: Counts, cost: Vector, **options: str | float) -> Any:
    """HiGHS with one model: minimise cost·y, low ≤ matrix·y ≤ high (matrix sparse by rows), y ≥ 0."""
    highs = _new_highs(presolve="off", random_seed=0, **options)
    n_rows, n_columns = matrix.shape
    # Arrays as they are: filling a HighsLp field by field takes ten times as long.
    highs.passModel(
        n_columns,
        n_rows,
        matrix.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        cost,
        np.zeros(n_columns),
        np.full(n_columns, _INFINITY),
        low.astype(float),
        np.where(high >= UNBOUNDED, _INFINITY, high.astype(float)),
        matrix.indptr.astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data.astype(float),
        np.zeros(n_columns, np.int32),
    )
    return highs


#: Where nothing bounds a class, counts up to this many are searched.
_LARGE = 1_000_000


def find_counts(
    system: System,
    *,
    goal: Counts | None = None,
    hint: Counts | None = None,
    low: int = 0,
    high: int | None = None,
    seed: int,
    effort: float,
) -> Counts | Literal["infeasible"] | None:
    """Class counts that satisfy the system with low ≤ Σ goal ≤ high, re-checked in integers.

    ``"infeasible"`` is only the solver's opinion; None means that the (deterministic) effort ran
    out. One worker and no presolve: reproducible, and clear of most reported wrong answers.
    """
    if has_large_counts(system):
        return None  # its numbers have to stay small, too
    cp, model, variables = _model(system, _LARGE)
    if goal is not None:
        used = np.flatnonzero(goal)
        weighted = cp.LinearExpr.weighted_sum([variables[at] for at in used], [int(goal[at]) for at in used])
        model.add_linear_constraint(weighted, low, cp.INT32_MAX if high is None else high)
    for variable, count in zip(variables, hint, strict=True) if hint is not None else ():
        model.add_hint(variable, int(count))
    solver = _solver(cp, seed, effort)
    status = solver.solve(model)
    if status == cp.INFEASIBLE:
        return "infeasible"
    if status not in (cp.OPTIMAL, cp.FEASIBLE):
        return None
    counts = np.array([solver.value(variable) for variable in variables], np.int64)
    reached = 0 if goal is None else int(goal @ counts)
    inside = goal is None or low <= reached <= (UNBOUNDED if high is None else high)
    return counts if system.allows(counts) and inside else None


def find_pinned(
    system: System, goals: Iterable[tuple[Counts, int]], hint: Counts | None, *, seed: int, effort: float
) -> Counts | None:
    """Class counts in which every goal (classes, their sum) is met, re-checked; None says nothing."""
    cp, model, variables = _model(system, _LARGE)
    wanted = list(goals)
    for classes, total in wanted:
        model.add_linear_constraint(cp.LinearExpr.sum([variables[at] for at in classes]), total, total)
    for variable, count in zip(variables, hint, strict=True) if hint is not None else ():
        model.add_hint(variable, int(count))
    solver = _solver(cp, seed, effort)
    solver.parameters.cp_model_presolve = True
    solver.parameters.linearization_level = 2
    if solver.solve(model) not in (cp.OPTIMAL, cp.FEASIBLE):
        return None
    counts = np.array([solver.value(variable) for variable in variables], np.int64)
    met = all(int(counts[classes].sum()) == total for classes, total in wanted)
    return counts if met and system.allows(counts) else None


def every_counts(system: System, *, most: int, seed: int) -> Iterator[Counts]:
    """Different class counts that satisfy the system, up to ``most``.

    Unlimited classes are searched up to what reaches ``most`` solutions.
    """
    cp, model, variables = _model(system, int(system.low.sum()) + most)

    class Collector(cp.CpSolverSolutionCallback):
        def __init__(self) -> None:
            super().__init__()
            self.found: list[Counts] = []

        def on_solution_callback(self) -> None:
            self.found.append(np.array([self.value(v) for v in variables], np.int64))
            if len(self.found) >= most:
                self.stop_search()

    collector = Collector()
    solver = _solver(cp, seed, 60.0)
    solver.parameters.enumerate_all_solutions = True
    solver.solve(model, collector)
    return (counts for counts in collector.found if system.allows(counts))


def _model(system: System, largest: int) -> tuple[Any, Any, list[Any]]:
    from ortools.sat.python import cp_model  # late: importing it takes a second

    model: Any = cp_model.CpModel()
    most = np.minimum(system.most, max(largest, 2 * int(system.low.max(initial=0))))
    variables = [model.new_int_var(0, int(limit), f"y{at}") for at, limit in enumerate(most)]
    for row, low, high in zip(system.rows, system.low, system.high, strict=True):
        used = np.flatnonzero(row)
        chosen = cp_model.LinearExpr.weighted_sum([variables[at] for at in used], row[used].tolist())
        upper = cp_model.INT32_MAX if high >= UNBOUNDED else int(high)
        model.add_linear_constraint(chosen, int(low), upper)
    return cp_model, model, variables


def _solver(cp: Any, seed: int, effort: float) -> Any:
    solver = cp.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.cp_model_presolve = False
    solver.parameters.random_seed = seed % 2**31
    solver.parameters.max_deterministic_time = effort
    return solver
