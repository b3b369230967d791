"""What still follows from a pattern of suppressed cells, whoever made it: certificates, and proofs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from statistics import median

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.ends import ProvedEnds
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.cells.shown import plan_at_hand

#: Primary cells that are looked at, at random where there are more, and those whose intervals are measured.
MOST, MEASURED = 150, 25

#: An interval that is narrower is a point but for rounding.
POINT = 1e-3


@dataclass(frozen=True)
class PatternAudit:
    """What certificates and proofs say about primary cells.

    Parameters
    ----------
    cost
        What the pattern costs.
    primary, looked_at
        How many primary cells there are, and how many of them were looked at.
    certified
        Those with two datasets that publish the same.
    in_fractions, in_whole_numbers
        Those proved to follow: even if counts could be fractions, and because they are whole numbers.
    width
        The median width of the intervals that readers derive at most, of some of them.
    """

    cost: int
    primary: int
    looked_at: int
    certified: int
    in_fractions: int
    in_whole_numbers: int
    width: float

    def __str__(self) -> str:
        """All figures in one cell of a table."""
        some = "" if self.looked_at == self.primary else f" of {self.looked_at} looked at"
        follow = self.in_fractions + self.in_whole_numbers
        left = self.looked_at - self.certified - follow
        parts = [f"certified {self.certified:,}{some}"]
        if follow:
            parts.append(f"still follow {follow:,} ({self.in_whole_numbers:,} only in whole numbers)")
        if left:
            parts.append(f"open {left:,}")
        return ", ".join([*parts, f"width {self.width:g}"])


def audit_pattern(problem: CellProblem, suppressed: NDArray[np.bool_]) -> PatternAudit:
    """Look for certificates in a pattern, and for proofs where there are none."""
    primary = np.flatnonzero(problem.primary)
    looked = np.sort(np.random.default_rng(0).permutation(primary)[:MOST])
    some = replace(problem, primary=np.isin(np.arange(len(problem.counts)), looked))
    left = plan_at_hand(some, suppressed).open
    ends = ProvedEnds(problem, suppressed)
    follow = [cell for cell in left if ends.determined(cell)]
    points = sum(_width(ends, cell, whole=False) < POINT for cell in follow)
    chosen = np.random.default_rng(1).permutation(looked)[:MEASURED]
    width = median(_width(ends, cell, whole=True) for cell in chosen.tolist()) if len(chosen) else 0.0
    return PatternAudit(
        problem.cost_of(suppressed),
        len(primary),
        len(looked),
        len(looked) - len(left),
        points,
        len(follow) - points,
        width,
    )


def _width(ends: ProvedEnds, cell: int, *, whole: bool) -> float:
    low, high = ends.of(cell) if whole else ends.real(cell)
    return inf if low is None or high is None else float(high - low)
