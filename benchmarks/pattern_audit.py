"""What still follows from a pattern of suppressed cells, whoever made it: certificates, and proofs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from statistics import median

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.certificate import certified
from showthrough.tables.protect.cells.ends import ProvedEnds
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.cells.shown import show_inside

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
    by_search
        Those that branch and bound finds no other count for: that they follow is the solver's word.
    width
        The median width of the intervals that readers derive at most, of some of them.
    """

    cost: int
    primary: int
    looked_at: int
    certified: int
    in_fractions: int
    in_whole_numbers: int
    by_search: int
    width: float

    def __str__(self) -> str:
        """All figures in one cell of a table."""
        some = "" if self.looked_at == self.primary else f" of {self.looked_at} looked at"
        follow = self.in_fractions + self.in_whole_numbers
        left = self.looked_at - self.certified - follow - self.by_search
        parts = [f"certified {self.certified:,}{some}"]
        if follow:
            parts.append(f"proved to follow {follow:,} ({self.in_whole_numbers:,} only in whole numbers)")
        if self.by_search:
            parts.append(f"follow by branch and bound {self.by_search:,}")
        if left:
            parts.append(f"not decided {left:,}")
        return ", ".join([*parts, f"width {self.width:g}"])


def audit_pattern(
    problem: CellProblem, suppressed: NDArray[np.bool_], *, most: int | None = MOST
) -> PatternAudit:
    """Look for certificates in a pattern, and for proofs where there are none; ``most`` None looks at all."""
    primary = np.flatnonzero(problem.primary)
    looked = np.sort(np.random.default_rng(0).permutation(primary)[:most])
    some = replace(problem, primary=np.isin(np.arange(len(problem.counts)), looked))
    found = show_inside(some, suppressed)
    ends = ProvedEnds(problem, suppressed)
    points = sum(_width(ends, cell, whole=False) < POINT for cell in found.determined)
    chosen = np.random.default_rng(1).permutation(looked)[:MEASURED]
    width = median(_width(ends, cell, whole=True) for cell in chosen.tolist()) if len(chosen) else 0.0
    return PatternAudit(
        cost=problem.cost_of(suppressed),
        primary=len(primary),
        looked_at=len(looked),
        certified=int(certified(some, suppressed, found.certificates).sum()),
        in_fractions=points,
        in_whole_numbers=len(found.determined) - points,
        by_search=len(found.excluded),
        width=width,
    )


def _width(ends: ProvedEnds, cell: int, *, whole: bool) -> float:
    low, high = ends.of(cell) if whole else ends.real(cell)
    return inf if low is None or high is None else float(high - low)
