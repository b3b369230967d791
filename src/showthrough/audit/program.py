"""One LP per area, by HiGHS. It only proposes: what it says is used after exact checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.audit.system import System
from showthrough.release import UNBOUNDED

__all__ = ["Program", "Solution", "integral", "violations"]

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]

_INFINITY = 1e30


@dataclass(frozen=True)
class Solution:
    """What the LP says: a value, multipliers per row and reduced costs, and a point."""

    value: float
    multipliers: Vector
    reduced: Vector
    point: Vector

    def promises(self, target: int) -> bool:
        """Whether the value, rounded up as a sum of counts may be, reaches the target."""
        return self.value > target - 1 + 1e-6


class Program:
    """One LP per area, kept warm: minimise a goal over the relaxed system.

    Bounds of single classes can be changed for branching. HiGHS runs with presolve off; the number
    of simplex iterations is limited so that effort does not depend on the clock.
    """

    def __init__(self, system: System, *, iterations: int, budget: float = np.inf) -> None:
        self.system = system
        self.iterations = 0
        self.budget = budget
        self._bound: set[int] = set()
        self.size = system.n_classes + len(system.rows)
        cost = np.zeros(system.n_classes)
        options = {"solver": "simplex", "simplex_strategy": 4, "simplex_iteration_limit": iterations}
        self._highs = _loaded(system.sparse, system.low, system.high, cost, **options)
        self._columns = np.arange(system.n_classes, dtype=np.int32)

    def unbind(self) -> None:
        """Lift all restrictions of single classes."""
        for at in sorted(self._bound):
            self._highs.changeColBounds(at, 0.0, _INFINITY)
        self._bound.clear()

    def bound(self, at: int, low: int, high: int | None) -> None:
        """Restrict one class's count."""
        self._bound.add(at)
        self._highs.changeColBounds(at, float(low), _INFINITY if high is None else float(high))

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
        return self._solution()

    def cheapest(self, price: Vector, most: Vector, goal: Counts, limit: int) -> Vector | None:
        """The point y ≤ most with Σ goal ≤ limit and the least Σ price; None if none was found."""
        if self.spent:
            return None
        highs, n = self._highs, len(self._columns)
        used = np.flatnonzero(goal).astype(np.int32)
        highs.addRow(-_INFINITY, float(limit), len(used), used, goal[used].astype(float))
        highs.changeColsCost(n, self._columns, price)
        highs.changeColsBounds(n, self._columns, np.zeros(n), np.minimum(most, _INFINITY))
        status = self._run()
        found = self._solution().point if status == highspy.HighsModelStatus.kOptimal else None
        highs.deleteRows(1, np.array([len(self.system.rows)], np.int32))
        return found

    def centre(self) -> Vector | None:
        """A point inside the relaxed system: as many classes as possible are positive at once.

        An interior-point method without crossover ends near the centre of the polytope, so a class
        that is (nearly) 0 there is 0 everywhere, which the caller has still to prove.
        """
        inner = Program(self.system, iterations=1)
        inner._highs.setOptionValue("solver", "ipm")
        inner._highs.setOptionValue("run_crossover", "off")
        inner._highs.run()
        if inner._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return np.array(inner._highs.getSolution().col_value)

    def integers_below(self, goal: Counts, limit: int, *, nodes: int) -> Counts | None:
        """Class counts with Σ goal ≤ limit by HiGHS's own branch and bound, re-checked; or None.

        None says nothing: only worlds are taken from it, never that there are none.
        """
        inner = Program(self.system, iterations=2**31 - 1)
        highs, n = inner._highs, self.system.n_classes
        kinds = np.full(n, int(highspy.HighsVarType.kInteger), np.uint8)
        options = {
            "presolve": "on",
            "solver": "choose",
            "mip_max_nodes": nodes,
            "objective_target": float(limit),
        }
        for name, value in options.items():
            highs.setOptionValue(name, value)
        highs.changeColsIntegrality(n, inner._columns, kinds)
        highs.changeColsCost(n, inner._columns, goal.astype(float))
        highs.run()
        point = np.array(highs.getSolution().col_value)
        found = integral(self.system, point) if len(point) == n else None
        return found if found is not None and int(goal @ found) <= limit else None

    @property
    def spent(self) -> bool:
        """Whether all iterations together, times the LP's size, exceed the budget."""
        return self.iterations * self.size > self.budget

    def _solution(self) -> Solution:
        found = self._highs.getSolution()
        return Solution(
            value=float(self._highs.getInfo().objective_function_value),
            multipliers=np.array(found.row_dual),
            reduced=np.array(found.col_dual),
            point=np.array(found.col_value),
        )

    def _run(self) -> Any:
        """Solve. A warm start can leave HiGHS without an answer ("unknown"); a cold one then has it."""
        status = self._attempt()
        if status in (highspy.HighsModelStatus.kUnknown, highspy.HighsModelStatus.kNotset):
            self.cool()
            status = self._attempt()
        return status

    def _attempt(self) -> Any:
        self._highs.run()
        self.iterations += max(0, int(self._highs.getInfo().simplex_iteration_count))
        return self._highs.getModelStatus()


def integral(system: System, point: Vector) -> Counts | None:
    """The point as integers if it is (nearly) integral and satisfies the system exactly."""
    rounded = np.rint(point)
    if np.abs(point - rounded).max(initial=0) > 1e-5:
        return None
    counts = rounded.astype(np.int64)
    return counts if system.allows(counts) else None


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


def _loaded(matrix: Any, low: Counts, high: Counts, cost: Vector, **options: str | int) -> Any:
    """HiGHS with one model: minimise cost·y, low ≤ matrix·y ≤ high (matrix sparse by rows), y ≥ 0."""
    highs: Any = highspy.Highs()
    fixed = {"output_flag": False, "presolve": "off", "threads": 1, "random_seed": 0}
    for name, value in {**fixed, **options}.items():
        highs.setOptionValue(name, value)
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
