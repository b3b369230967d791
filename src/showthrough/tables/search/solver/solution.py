"""The result of a linear program: a value, multipliers, a point, none of which is trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED
from showthrough.tables.search.system import System

__all__ = [
    "Solution",
    "integral",
]

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]


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


def integral(system: System, point: Vector, origin: Counts | None = None) -> Counts | None:
    """The point as integers if it is (nearly) integral and satisfies the system exactly."""
    rounded = np.rint(point)
    if np.abs(point - rounded).max(initial=0) > 1e-5 or np.abs(rounded).max(initial=0) >= UNBOUNDED:
        return None
    counts = rounded.astype(np.int64) if origin is None else origin + rounded.astype(np.int64)
    return counts if system.allows(counts) else None
