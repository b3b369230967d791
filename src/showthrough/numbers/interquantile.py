"""The inter-quantile attack: an interval that holds most of the population says much about each.

The attack's interval is [x_((1−c)/2), x_((1+c)/2)] of the reconstructed distribution. Whoever's
privacy interval contains it is *fully disclosed*; the degree of disclosure d_i is 1 for them and
|intersection| / |union|, in lengths, for everybody else (equations 2.2 and 2.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError, check_type
from showthrough.numbers.noise import Floats, as_floats

__all__ = [
    "DegreeRule",
    "Disclosure",
    "Interval",
    "PrivacyIntervals",
    "Quantiles",
    "check_confidence",
    "disclose",
    "interquantile",
]

#: How far somebody counts as disclosed who is not fully so, or is: see :func:`disclose`.
DegreeRule = Literal["full", "overlap"]

#: The label of privacy intervals that everybody chose themselves.
OWN = "given"


class Quantiles(Protocol):
    """A distribution whose quantiles can be asked for."""

    def interval(self, confidence: float) -> tuple[float, float]:
        """The interval between the quantiles (1 − c)/2 and (1 + c)/2."""
        ...


@dataclass(frozen=True, eq=False)
class Interval:
    """What an attacker says about people: one interval for all of them, or one for each."""

    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        low, high = as_floats(self.low, "the lower ends"), as_floats(self.high, "the upper ends")
        if low.shape != high.shape or low.ndim > 1:
            raise InputError("an interval needs one upper end for each lower end")
        if not (low <= high).all():  # also catches what is no number
            at = int(np.flatnonzero(~np.atleast_1d(low <= high))[0])
            ends = f"{np.atleast_1d(low)[at]:g} to {np.atleast_1d(high)[at]:g}"
            raise InputError("an interval ends before it starts", found=ends)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def mean_length(self) -> float:
        """The length, or the mean of the lengths."""
        return float(np.mean(self.high - self.low))

    def contains(self, values: ArrayLike) -> NDArray[np.bool_]:
        """Whether each person's value lies in their interval."""
        given = np.asarray(values, np.float64)
        return (self.low <= given) & (given <= self.high)

    def __str__(self) -> str:
        if self.low.ndim:
            return f"{len(self.low):,} intervals of mean length {self.mean_length:.6g}"
        return f"{float(self.low):.6g} to {float(self.high):.6g}"


@dataclass(frozen=True, eq=False)
class PrivacyIntervals:
    """For each person the interval in which nobody may place them with confidence.

    Parameters
    ----------
    low, high
        The ends, one of each for every person.
    label
        What the intervals are called in results.
    width
        The share or half-width that they were made with.

    Examples
    --------
    >>> PrivacyIntervals.relative([10.0, -10.0], 0.5).low.tolist()
    [5.0, -15.0]
    >>> PrivacyIntervals.absolute([10.0], 3.0).high.tolist()
    [13.0]
    """

    low: Floats
    high: Floats
    label: str = OWN
    width: float | None = None

    def __post_init__(self) -> None:
        low = np.atleast_1d(as_floats(self.low, "the lower ends"))
        high = np.atleast_1d(as_floats(self.high, "the upper ends"))
        check_type(self.label, str, name="label")
        if self.width is not None:
            check_type(self.width, Real, name="the width")
        if low.shape != high.shape or low.ndim != 1:
            raise InputError("privacy intervals need one lower and one upper end for each person")
        wrong = np.flatnonzero(~(low <= high))
        if len(wrong):
            at = int(wrong[0])
            raise InputError(
                "a privacy interval ends before it starts",
                row=at + 1,
                found=f"{low[at]:g} to {high[at]:g}",
                remedy="put the lower end first",
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @classmethod
    def relative(cls, values: ArrayLike, share: float, *, floor: float = 0.0) -> PrivacyIntervals:
        """[u(1 − P), u(1 + P)], the ends in order also where u is negative; never narrower than ±floor.

        >>> PrivacyIntervals.relative([0.0, 10.0, 100.0], 0.5, floor=20).high.tolist()
        [20.0, 30.0, 150.0]
        """
        _check_width(share, "a privacy interval's share")
        check_type(floor, Real, name="the floor of privacy intervals")
        if not (np.isfinite(floor) and floor >= 0):
            raise InputError("the floor of privacy intervals is a number from 0", found=str(floor))
        given = as_floats(values)
        reach = np.maximum(np.abs(given) * share, floor)
        least = f", at least ±{floor:g}" if floor else ""
        return cls(given - reach, given + reach, f"±{100 * share:g} %{least}", share)

    @classmethod
    def absolute(cls, values: ArrayLike, width: float) -> PrivacyIntervals:
        """[u − w, u + w]."""
        _check_width(width, "a privacy interval's half-width")
        given = as_floats(values)
        return cls(given - width, given + width, f"±{width:g}", width)

    def __len__(self) -> int:
        return len(self.low)


@dataclass(frozen=True, eq=False)
class Disclosure:
    """For each person whether they are fully disclosed, and to which degree (d_i).

    ``covered`` marks the people whose true value the attack's interval holds, where the truth is known.
    """

    full: NDArray[np.bool_]
    degree: Floats
    covered: NDArray[np.bool_] | None = None


def interquantile(source: Quantiles | ArrayLike, confidence: float = 0.95) -> Interval:
    """The interval between the quantiles (1 − c)/2 and (1 + c)/2 of a distribution or of a sample.

    >>> print(interquantile(range(1001), 0.9))
    50 to 950
    """
    check_confidence(confidence)
    if hasattr(source, "interval"):
        low, high = source.interval(confidence)  # pyright: ignore[reportAttributeAccessIssue]
    else:
        sample = np.asarray(source, np.float64)
        if not sample.size or not np.isfinite(sample).all():
            raise InputError("a sample needs at least one value, all of them finite")
        low, high = np.quantile(sample, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(np.asarray(low), np.asarray(high))


def disclose(
    privacy: PrivacyIntervals,
    attack: Interval,
    *,
    truth: ArrayLike | None = None,
    rule: DegreeRule = "full",
) -> Disclosure:
    """Who is fully disclosed by an attack, and to which degree everybody is.

    By the ``rule`` "overlap" the degree is |intersection| / |union| for everybody, as the formula was
    printed: a narrow interval well inside a privacy interval then counts as little, so the better an attack
    is, the less it seems to disclose.

    >>> wide = disclose(PrivacyIntervals.relative([10.0, 100.0], 0.5), Interval(8, 12))
    >>> wide.full.tolist(), wide.degree.tolist()
    ([True, False], [1.0, 0.0])
    >>> disclose(PrivacyIntervals.relative([10.0], 0.5), Interval(8, 12), rule="overlap").degree.tolist()
    [0.4]
    """
    if rule not in get_args(DegreeRule):
        raise InputError("unknown rule for degrees", found=str(rule), remedy="choose full or overlap")
    if attack.low.ndim and len(attack.low) != len(privacy):
        raise InputError(
            "the attack is about another number of people than the privacy intervals",
            found=f"{len(attack.low)} and {len(privacy)}",
        )
    full: NDArray[np.bool_] = (privacy.low <= attack.low) & (attack.high <= privacy.high)
    both = np.minimum(privacy.high, attack.high) - np.maximum(privacy.low, attack.low)
    both = np.maximum(both, 0)
    either = (privacy.high - privacy.low) + (attack.high - attack.low) - both
    # Two single points that differ have an empty union of length 0: nothing is disclosed.
    overlap = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    covered = None if truth is None else attack.contains(truth)
    return Disclosure(full, np.where(full, 1.0, overlap) if rule == "full" else overlap, covered)


def check_confidence(confidence: float) -> float:
    """The confidence, if it lies between 0 and 1."""
    check_type(confidence, Real, name="the confidence")
    if not 0 < confidence < 1:
        raise InputError(
            "a confidence lies between 0 and 1", found=str(confidence), remedy="for example 0.95"
        )
    return confidence


def _check_width(width: float, what: str) -> None:
    check_type(width, Real, name=what)
    if not (np.isfinite(width) and width > 0):
        raise InputError(f"{what} is a positive number", found=str(width))
