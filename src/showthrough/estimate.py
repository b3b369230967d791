"""A number that is known up to chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from statistics import NormalDist
from types import NoneType

from showthrough.errors import InputError, check_type

__all__ = [
    "Estimate",
]


@dataclass(frozen=True)
class Estimate:
    """A number that is known up to chance.

    Parameters
    ----------
    value
        The estimated number.
    error
        Its standard error; 0 for a number that is known exactly.
    records
        How many published records it was estimated from, if that is known.

    Raises
    ------
    InputError
        If the value is not finite or the error is negative.

    Examples
    --------
    >>> low, high = Estimate(120.0, 10.0).interval(0.95)
    >>> round(low, 2), round(high, 2)
    (100.4, 139.6)
    >>> print(Estimate(120.0, 10.0))
    120 ± 20
    """

    value: float
    error: float
    records: int | None = None

    def __post_init__(self) -> None:
        for name, number in (("value", self.value), ("error", self.error)):
            check_type(number, Real, name=name)
        check_type(self.records, (Integral, NoneType), name="records")
        if not (math.isfinite(self.value) and self.error >= 0):
            raise InputError("an estimate needs a finite value and a standard error of at least 0")

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the true number lies with probability ``level``, by the normal approximation."""
        check_type(level, Real, name="level", remedy="for example 0.95")
        if not 0 < level < 1:
            raise InputError("the level must be between 0 and 1", found=str(level), remedy="for example 0.95")
        reach = NormalDist().inv_cdf((1 + level) / 2) * self.error
        return self.value - reach, self.value + reach

    def __str__(self) -> str:
        low, high = self.interval()
        return f"{self.value:,.0f} ± {(high - low) / 2:,.0f}"
