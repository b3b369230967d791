"""A number that is known up to chance, or only between bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from statistics import NormalDist
from types import NoneType
from typing import Any, Literal

from showthrough.errors import InputError, check_type
from showthrough.text import percent

__all__ = [
    "Estimate",
    "check_level",
    "whole",
]

#: What an interval is: one number that is known, bounds that hold for certain, or with a confidence.
IntervalKind = Literal["exact", "bounds", "confidence"]


@dataclass(frozen=True)
class Estimate:
    """A number that is known up to chance, or only between bounds.

    Parameters
    ----------
    value
        The estimated number. If it is unbiased it may be an impossible number, such as −3 records; ``shown``
        is what people see.
    error
        Its standard error; 0 for a number that is known exactly, and None if its uncertainty does not come
        from chance: then there is no confidence level either, and only the bounds hold.
    records
        How many published records it was estimated from, if that is known.
    bounds
        Where the number lies for certain, if that is known.
    left_out
        Of the records that were left out of a publication, how many belong to the number as well: at least
        and at most. The value and the bounds are without them, intervals allow for them.
    assumption
        What the value assumes; empty if nothing.
    law
        The interval for a confidence level; without it, that of the normal distribution.

    Raises
    ------
    InputError
        If the value is not finite, the error is negative, or there are neither an error nor bounds.

    Examples
    --------
    >>> low, high = Estimate(120.0, 10.0).interval(0.95)
    >>> round(low, 2), round(high, 2)
    (100.4, 139.6)
    >>> print(Estimate(120.0, 10.0))
    120 (100 to 140)
    >>> print(Estimate(175.5, None, bounds=(0, 702), assumption="they are independent").sentence())
    Between 0 and 702 records, whatever the pairing in the buckets; about 176 if they are independent.
    """

    value: float
    error: float | None
    records: int | None = None
    bounds: tuple[float, float] | None = None
    left_out: tuple[float, float] = (0, 0)
    assumption: str = ""
    law: Callable[[float], tuple[float, float]] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_type(self.value, Real, name="value")
        check_type(self.error, (Real, NoneType), name="error")
        check_type(self.records, (Integral, NoneType), name="records")
        if not (math.isfinite(self.value) and (self.error is None or self.error >= 0)):
            raise InputError("an estimate needs a finite value and a standard error of at least 0")
        if self.error is None and self.bounds is None:
            raise InputError("an estimate without a standard error needs bounds")

    @property
    def shown(self) -> float:
        """The value as people see it: the nearest possible number."""
        if self.bounds is None:
            return self.value
        return min(max(self.value, self.bounds[0]), self.bounds[1])

    @property
    def kind(self) -> IntervalKind:
        """What the interval is: one number, bounds that hold for certain, or with a confidence."""
        low, high = (self.value, self.value) if self.bounds is None else self.bounds
        if self.error is None and low < high:
            return "bounds"
        if self.error:
            return "confidence"
        return "exact" if self.left_out[0] == self.left_out[1] else "bounds"

    @property
    def of_published(self) -> Estimate:
        """The same for the published records alone."""
        return replace(self, left_out=(0, 0))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the true number lies: with probability ``level``, or for certain, as ``kind`` says."""
        check_level(level)
        low, high = self._published(level)
        return low + self.left_out[0], high + self.left_out[1]

    def _published(self, level: float) -> tuple[float, float]:
        if self.error is None and self.bounds is not None:
            return self.bounds
        if not self.error:
            return self.value, self.value
        if self.law is not None:
            low, high = self.law(level)
        else:
            reach = NormalDist().inv_cdf((1 + level) / 2) * self.error
            low, high = self.value - reach, self.value + reach
        if self.bounds is not None:
            low, high = max(low, self.bounds[0]), min(high, self.bounds[1])
        return min(low, self.shown), max(high, self.shown)

    def __str__(self) -> str:
        low, high = self.interval()
        if self.kind == "exact":
            return whole(low)
        return f"{whole(self.shown)} ({whole(low)} to {whole(high)})"

    def sentence(self, level: float = 0.95) -> str:
        """How many records there are, in words.

        >>> print(Estimate(2832, 0.0, left_out=(0, 11503)).sentence())
        2,832 of the published records; 11,503 records were left out, so between 2,832 and 14,335.
        """
        least, most = self.left_out
        low, high = (whole(end) for end in self.interval(level))
        if not most:
            return f"{self._part('records', level)}."
        if not math.isfinite(most):
            how = "the publication does not state how many records were left out"
            return f"{self._part('of the published records', level)}; {how}."
        if least == most:
            together = f"exactly {high}" if self.kind == "exact" else f"between {low} and {high}"
            part = self._part("of the published records", level)
            return f"{part}, and all {whole(most)} records that were left out: {together}."
        part = self._part("of the published records", level)
        return f"{part}; {whole(most)} records were left out, so between {low} and {high}."

    def _part(self, of: str, level: float) -> str:
        part = self.of_published
        low, high = (whole(end) for end in part.interval(level))
        about = whole(part.shown)
        match part.kind:
            case "exact":
                return f"Exactly {about} {of}" if of == "records" else f"{about} {of}"
            case "bounds":
                between = f"Between {low} and {high} {of}, whatever the pairing in the buckets"
                return f"{between}; about {about} if {self.assumption}" if self.assumption else between
            case "confidence":
                return f"About {about} {of}, between {low} and {high} ({percent(level)} confidence)"

    def to_plain(self, level: float = 0.95) -> dict[str, Any]:
        """As plain data.

        ``value`` is the unbiased number and ``shown`` what people see; ``low`` and ``high`` allow for the
        records that were left out, ``low_published`` and ``high_published`` do not; what is not known is
        None. ``level`` is None if no confidence is claimed.
        """
        low, high = self.interval(level)
        published = self.of_published.interval(level)
        return {
            "value": self.value,
            "shown": self.shown,
            "error": self.error,
            "low": low,
            "high": _known(high),
            "kind": self.kind,
            "level": level if self.kind == "confidence" else None,
            "assumption": self.assumption or None,
            "published": self.records,
            "low_published": published[0],
            "high_published": published[1],
            "left_out": _known(self.left_out[1]),
        }


def check_level(level: float) -> None:
    """Refuse a confidence level that is none."""
    check_type(level, Real, name="level", remedy="for example 0.95")
    if not 0 < level < 1:
        raise InputError("the level must be between 0 and 1", found=str(level), remedy="for example 0.95")


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None


def whole(number: float) -> str:
    """Rounded to a whole number, zero without a sign; a dash for what is not known.

    >>> whole(-0.3), whole(1234.6), whole(math.inf)
    ('0', '1,235', '?')
    """
    if not math.isfinite(number):
        return "?"
    return f"{number:,.0f}".replace("-0", "0", 1) if -0.5 <= number < 0 else f"{number:,.0f}"
