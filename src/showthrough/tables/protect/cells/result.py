"""The result of protecting cells: the plan, why it is safe, and how far from the cheapest it can be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from showthrough.tables.protect.cells.certificate import CellCertificate, certified
from showthrough.tables.protect.cells.problem import CellProblem

__all__ = [
    "CellPlan",
    "CellPlanStep",
]


@dataclass(frozen=True)
class CellPlanStep:
    """One improvement: the cost of the best plan after a number of rounds of work."""

    round: int
    cost: int


@dataclass(frozen=True, eq=False)
class CellPlan:
    """Cells to suppress, with certificates.

    Parameters
    ----------
    problem
        The cells.
    suppressed
        The published cells that are suppressed, by position; primary cells included.
    cost
        What they cost.
    lower_bound
        What every safe plan costs at least.
    bound_kind
        Whether the lower bound was checked exactly, or only reported by a solver.
    certificates
        Two datasets each: the true counts, and those counts changed.
    steps
        How the cost came down.
    interrupted
        Whether Ctrl-C ended the search.
    """

    problem: CellProblem
    suppressed: tuple[int, ...]
    cost: int
    lower_bound: int
    bound_kind: Literal["checked", "solver"]
    certificates: tuple[CellCertificate, ...]
    steps: tuple[CellPlanStep, ...] = ()
    interrupted: bool = False

    @cached_property
    def open(self) -> tuple[int, ...]:
        """The primary cells that lack certificates for what they need, recounted in whole numbers."""
        flags = np.zeros(len(self.problem.counts), bool)
        flags[list(self.suppressed)] = True
        shown = certified(self.problem, flags, self.certificates)
        return tuple(np.flatnonzero(self.problem.primary & ~shown).tolist())

    @property
    def safe(self) -> bool:
        """Whether certificates that hold show for every primary cell what it needs."""
        return not self.open

    @property
    def gap(self) -> Fraction | None:
        """How much more the plan costs than the lower bound, as a fraction; None if it is not safe."""
        if not self.safe:
            return None
        return Fraction(self.cost - self.lower_bound, self.lower_bound) if self.lower_bound else Fraction(0)

    @property
    def optimal(self) -> bool:
        """Whether no safe plan costs less (by the lower bound, of whichever kind)."""
        return self.safe and self.cost <= self.lower_bound
