"""Linear programs of any variables, that grow by inequalities; and choices among 0 and 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.errors import Undecided
from showthrough.tables.search.solver.highs import INFINITY, PRIMAL, new_highs
from showthrough.tables.search.solver.solution import Solution

__all__ = [
    "Inequalities",
    "cheapest_choice",
]

Vector = NDArray[np.float64]


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
        self._highs = new_highs(
            random_seed=0, simplex_iteration_limit=iterations, presolve="choose" if presolve else "off"
        )
        if primal:  # which goes on from the last point, if only costs change
            self._highs.setOptionValue("simplex_strategy", PRIMAL)
        self._n, self._columns = len(cost), np.arange(len(cost), dtype=np.int32)
        self._highs.addVars(self._n, lower, np.minimum(upper, INFINITY))
        self.price(cost)

    def extend(self, lower: Vector, upper: Vector) -> None:
        """Add variables that cost nothing."""
        self._highs.addVars(len(lower), lower, np.minimum(upper, INFINITY))
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
        self._highs.changeColsBounds(self._n, self._columns, lower, np.minimum(upper, INFINITY))

    def fix(self, column: int, value: float) -> None:
        """Fix one variable."""
        self._highs.changeColBounds(column, value, value)

    def cool(self) -> None:
        """Forget the last solution, so that the next one is found from scratch, with presolve if any."""
        self._highs.clearSolver()

    def add(self, rows: csr_array, low: Vector, high: Vector) -> None:
        """Add inequalities low ≤ rows·x ≤ high."""
        low, high = np.maximum(low, -INFINITY), np.minimum(high, INFINITY)
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
        """The best point found with whole numbers where asked for, and a lower bound, as reported by the
        solver.

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


def cheapest_choice(
    cost: Vector,
    lower: Vector,
    whole: NDArray[np.bool_],
    rows: Iterable[tuple[float, float, Mapping[int, float]]],
    *,
    nodes: int,
) -> Vector | None:
    """The cheapest point between ``lower`` and 1 that keeps all rows (low, high, coefficients).

    ``whole`` marks the variables that must be 0 or 1; costs are whole numbers. None if no point keeps the
    rows, which is only reported by the solver.
    """
    highs = new_highs(random_seed=1, mip_rel_gap=0.0, mip_abs_gap=0.5, mip_max_nodes=nodes)
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
