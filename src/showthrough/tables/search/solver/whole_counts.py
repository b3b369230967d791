"""Whole counts that satisfy a system, by CP-SAT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED
from showthrough.tables.search.solver.program import has_large_counts
from showthrough.tables.search.system import System

__all__ = [
    "every_counts",
    "find_counts",
    "find_pinned",
]

Counts = NDArray[np.int64]

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
