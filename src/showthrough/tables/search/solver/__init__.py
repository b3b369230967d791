"""The only package that knows solvers: HiGHS for linear programs, CP-SAT for whole numbers.

They only propose. What a solver says is used after exact checks, and its word never proves anything:
not that a world does not exist, not that a claim holds.
"""

from __future__ import annotations

from showthrough.tables.search.solver.inequalities import Inequalities, cheapest_choice
from showthrough.tables.search.solver.multipliers import Multipliers
from showthrough.tables.search.solver.program import Program, has_large_counts, refined, violations
from showthrough.tables.search.solver.solution import Solution, integral
from showthrough.tables.search.solver.whole_counts import every_counts, find_counts, find_pinned

__all__ = [
    "Inequalities",
    "Multipliers",
    "Program",
    "Solution",
    "cheapest_choice",
    "every_counts",
    "find_counts",
    "find_pinned",
    "has_large_counts",
    "integral",
    "refined",
    "violations",
]
