"""When a search for a plan stops, and how it came down to its result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from numbers import Real
from types import NoneType

from showthrough.errors import InputError, check_function, check_type

__all__ = [
    "Clock",
    "Improvement",
    "gap_between",
]


@dataclass(frozen=True)
class Improvement:
    """A safe plan, or a higher lower bound, that a search came to.

    Parameters
    ----------
    cost
        What the best safe plan costs; None before there is one.
    lower_bound
        What every safe plan costs at least.
    seconds
        When that was known, from the start of the search.
    """

    cost: Fraction | None
    lower_bound: Fraction
    seconds: float

    @property
    def gap(self) -> Fraction | None:
        """How much more the plan costs than the lower bound, as a share of the bound."""
        return None if self.cost is None else gap_between(self.cost, self.lower_bound)


def gap_between(cost: Fraction, lower_bound: Fraction) -> Fraction | None:
    """How much more a plan costs than a lower bound, as a share of the bound; None if the bound is 0.

    >>> gap_between(Fraction(11), Fraction(10)), gap_between(Fraction(0), Fraction(0))
    (Fraction(1, 10), Fraction(0, 1))
    """
    if cost <= lower_bound:
        return Fraction(0)
    return (cost - lower_bound) / lower_bound if lower_bound else None


class Clock:
    """The limits of one search in time and quality, and its improvements.

    Parameters
    ----------
    seconds
        Stop after this many seconds, with the best safe plan so far. What is found then depends on the clock.
    gap
        Stop once a safe plan costs at most this share more than the lower bound.
    watch
        Called with each improvement.
    """

    def __init__(
        self,
        seconds: float | None = None,
        gap: float | None = None,
        watch: Callable[[Improvement], None] | None = None,
    ) -> None:
        check_function(watch, name="watch")
        for name, value in (("seconds", seconds), ("gap", gap)):
            check_type(value, (Real, NoneType), name=name)
            if value is not None and not (isfinite(value) and value >= 0):
                raise InputError(
                    f"{name} must be 0 or more", found=str(value), remedy=f"for example {name} 10"
                )
        self.seconds, self.gap, self.watch = seconds, gap, watch
        self.started = time.monotonic()
        self.improvements: list[Improvement] = []

    @property
    def passed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def left(self) -> float | None:
        """Seconds until the search must stop; None without a limit."""
        return None if self.seconds is None else max(0.0, self.seconds - self.passed)

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self.seconds is not None and self.passed > self.seconds

    def is_near_enough(self, cost: Fraction, lower_bound: Fraction) -> bool:
        """Whether a plan of this cost need not be improved."""
        gap = gap_between(cost, lower_bound)
        return gap is not None and gap <= Fraction(self.gap or 0)

    def note(self, cost: Fraction | None, lower_bound: Fraction) -> None:
        """Something better is known."""
        last = self.improvements[-1] if self.improvements else None
        if last is None or (last.cost, last.lower_bound) != (cost, lower_bound):
            self.improvements.append(Improvement(cost, lower_bound, self.passed))
            if self.watch is not None:
                self.watch(self.improvements[-1])
