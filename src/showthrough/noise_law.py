"""Laws of noise: how likely a count is published as a value, and counts as they were published.

A law that has bounds also says which counts a value leaves possible. One that has none proves nothing; it
makes some counts likelier than others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from showthrough.cell import UNBOUNDED
from showthrough.errors import ReleaseError, check_type, closest

__all__ = [
    "UNKNOWN",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "NoiseLaw",
    "NoisyCounts",
    "RandomRounding",
    "parse_law",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Stands for a value that was not published, or not as a number.
UNKNOWN = -(2**63)

#: The largest scale of noise, and the largest base of rounding.
LARGEST = 10**6

#: How many standard deviations or scales away a change is not considered any more.
_FAR = 40


@runtime_checkable
class NoiseLaw(Protocol):
    """How likely a count is published as a value."""

    @property
    def text(self) -> str:
        """As it is declared."""
        ...

    @property
    def signed(self) -> bool:
        """Whether published values may be negative."""
        ...

    @property
    def keyed(self) -> bool:
        """Whether the same records get the same noise in every table."""
        ...

    def bounds(self, value: int) -> tuple[int, int]:
        """The smallest and the largest count that may be published as this value."""
        ...

    def log_chances(self, value: int, most: int) -> Floats:
        """For counts from 0 to ``most`` the logarithm of the chance of this value."""
        ...

    def draw(self, counts: Whole, rng: np.random.Generator) -> Whole:
        """Values as they might be published."""
        ...


@dataclass(frozen=True)
class _Unbounded:
    """Noise without bounds: a value proves nothing about its count."""

    scale: float

    def __post_init__(self) -> None:
        check_type(self.scale, (int, float), name="scale")
        if not 0 < self.scale <= LARGEST:
            raise ReleaseError(
                "impossible size of noise",
                found=str(self.scale),
                remedy=f"use a number above 0 and up to {LARGEST:,}",
            )

    @property
    def signed(self) -> bool:
        """Published values may be negative."""
        return True

    @property
    def keyed(self) -> bool:
        """Every cell gets noise of its own."""
        return False

    @property
    def reach(self) -> tuple[int, int]:
        """There is no bound."""
        return UNBOUNDED, UNBOUNDED

    def bounds(self, value: int) -> tuple[int, int]:  # noqa: ARG002
        """The counts that are possible: all."""
        return 0, UNBOUNDED

    def value(self, low: int, high: int) -> int | None:  # noqa: ARG002
        """No value says what an interval says."""
        return None

    def _log_weight(self, change: Floats) -> Floats:
        raise NotImplementedError

    def _log_total(self) -> float:
        far = math.ceil(_FAR * self.scale) + 1
        weights = np.exp(self._log_weight(np.arange(-far, far + 1).astype(float)))
        return float(np.log(weights.sum()))

    def log_chances(self, value: int, most: int) -> Floats:
        """For counts from 0 to ``most`` the logarithm of the chance of this value."""
        return self._log_weight(value - np.arange(most + 1).astype(float)) - self._log_total()

    def draw(self, counts: Whole, rng: np.random.Generator) -> Whole:
        """Counts with noise."""
        far = math.ceil(_FAR * self.scale) + 1
        changes = np.arange(-far, far + 1)
        chances = np.exp(self._log_weight(changes.astype(float)) - self._log_total())
        return counts + rng.choice(changes, counts.shape, p=chances / chances.sum())


@dataclass(frozen=True)
class DiscreteGaussian(_Unbounded):
    """Whole-numbered noise whose chances fall like a normal distribution: exp(−k²/2σ²).

    Parameters
    ----------
    scale
        σ, which is nearly the standard deviation.

    Examples
    --------
    >>> law = DiscreteGaussian(2)
    >>> np.round(np.exp(law.log_chances(3, 6)), 3).tolist()
    [0.065, 0.121, 0.176, 0.199, 0.176, 0.121, 0.065]
    >>> law.bounds(3) == (0, UNBOUNDED)
    True
    """

    @property
    def text(self) -> str:
        """As it is declared."""
        return f"discrete-gaussian:{self.scale:g}"

    def _log_weight(self, change: Floats) -> Floats:
        return -0.5 * (change / self.scale) ** 2

    def sentence(self) -> str:
        """What is declared."""
        return f"discrete Gaussian noise of scale {self.scale:g}, without bounds: no count follows from them"


@dataclass(frozen=True)
class DiscreteLaplace(_Unbounded):
    """Whole-numbered noise whose chances fall like exp(−|k|/b), also called two-sided geometric.

    Parameters
    ----------
    scale
        b; for a count that one record changes by 1, the privacy loss is 1/b.

    Examples
    --------
    >>> np.round(np.exp(DiscreteLaplace(1).log_chances(1, 3)), 3).tolist()
    [0.17, 0.462, 0.17, 0.063]
    """

    @property
    def text(self) -> str:
        """As it is declared."""
        return f"discrete-laplace:{self.scale:g}"

    def _log_weight(self, change: Floats) -> Floats:
        return -abs(change) / self.scale

    def sentence(self) -> str:
        """What is declared."""
        return f"discrete Laplace noise of scale {self.scale:g}, without bounds: no count follows from them"


@dataclass(frozen=True)
class RandomRounding:
    """Counts rounded at random to a multiple below or above, so that they stay right on average.

    Parameters
    ----------
    base
        Published values are multiples of this number.

    Examples
    --------
    >>> law = RandomRounding(3)
    >>> law.bounds(3), np.round(np.exp(law.log_chances(3, 6)), 2).tolist()
    ((1, 5), [0.0, 0.33, 0.67, 1.0, 0.67, 0.33, 0.0])
    """

    base: int

    def __post_init__(self) -> None:
        check_type(self.base, int, name="base")
        if not 2 <= self.base <= LARGEST:
            raise ReleaseError(
                "impossible rounding base",
                found=str(self.base),
                remedy=f"use a whole number from 2 to {LARGEST:,}",
            )

    @property
    def text(self) -> str:
        """As it is declared."""
        return f"random-rounding:{self.base}"

    @property
    def signed(self) -> bool:
        """Published values are never negative."""
        return False

    @property
    def keyed(self) -> bool:
        """Every cell is rounded on its own."""
        return False

    @property
    def reach(self) -> tuple[int, int]:
        """How far the count may lie below and above the published value."""
        return self.base - 1, self.base - 1

    def bounds(self, value: int) -> tuple[int, int]:
        """The smallest and the largest count that may be published as this value."""
        if value % self.base:
            raise ReleaseError(
                f"not a multiple of the rounding base {self.base}",
                found=str(value),
                remedy="correct the value or the base, or switch noise off for this table (noise = false)",
            )
        return max(0, value - self.base + 1), min(UNBOUNDED, value + self.base - 1)

    def value(self, low: int, high: int) -> int | None:
        """The published value that stands for exactly this interval; None if there is none."""
        value = high - self.base + 1
        return value if value >= 0 and value % self.base == 0 and self.bounds(value) == (low, high) else None

    def log_chances(self, value: int, most: int) -> Floats:
        """For counts from 0 to ``most`` the logarithm of the chance of this value."""
        chance = np.clip(1 - abs(value - np.arange(most + 1)) / self.base, 0, 1) * (value % self.base == 0)
        with np.errstate(divide="ignore"):
            return np.log(chance)

    def draw(self, counts: Whole, rng: np.random.Generator) -> Whole:
        """Counts as they are rounded."""
        rest = counts % self.base
        up = rng.random(counts.shape) * self.base < rest
        return counts - rest + self.base * up

    def sentence(self) -> str:
        """What is declared, with an example."""
        low, high = self.bounds(2 * self.base)
        return (
            f"random rounding to multiples of {self.base:,}: {2 * self.base:,} stands for {low:,} to {high:,}"
        )


LAWS = {
    "discrete-gaussian": DiscreteGaussian,
    "discrete-laplace": DiscreteLaplace,
    "geometric": DiscreteLaplace,
    "random-rounding": RandomRounding,
}


def parse_law(text: str) -> DiscreteGaussian | DiscreteLaplace | RandomRounding:
    """A law of noise as a release file declares it.

    Parameters
    ----------
    text
        ``discrete-gaussian:2`` (σ), ``discrete-laplace:1.5`` (scale b), ``geometric:0.5`` (the same, given
        by how much less likely each further step is) or ``random-rounding:3`` (base).

    Returns
    -------
    DiscreteGaussian, DiscreteLaplace or RandomRounding
        The law.

    Raises
    ------
    ReleaseError
        If the law is unknown or its number impossible.

    Examples
    --------
    >>> parse_law("discrete-gaussian:2"), parse_law("geometric:0.5").scale
    (DiscreteGaussian(scale=2.0), 1.4426950408889634)
    """
    check_type(text, str, name="law", remedy='write law = "discrete-gaussian:2"')
    name, _, amount = text.partition(":")
    if name not in LAWS:
        raise ReleaseError("unknown law of noise", found=text, remedy=closest(name, LAWS))
    try:
        number = float(amount)
    except ValueError:
        number = math.nan
    if name == "geometric" and 0 < number < 1:
        return DiscreteLaplace(-1 / math.log(number))
    if name == "random-rounding" and number == round(number or 0.5):
        return RandomRounding(int(number))
    if name in ("geometric", "random-rounding") or not math.isfinite(number):
        raise ReleaseError(
            "the law of noise lacks its number, or has an impossible one",
            found=text,
            remedy=f"write {name}:{'0.5' if name == 'geometric' else '3'}",
        )
    return DiscreteGaussian(number) if name == "discrete-gaussian" else DiscreteLaplace(number)


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """The values of a release as they were published, and the law of each cell's noise.

    Attributes
    ----------
    values
        For each cell the published value; :data:`UNKNOWN` where there is none, or where a law says
        nothing.
    laws
        The laws that occur.
    law_of
        For each cell the position of its law; −1 where it has none.
    """

    values: Whole
    laws: tuple[NoiseLaw, ...]
    law_of: Whole

    def __post_init__(self) -> None:
        if len(self.values) != len(self.law_of):
            raise ReleaseError("there are not as many laws of noise as values")

    def joined(self, other: NoisyCounts) -> NoisyCounts:
        """These and the cells of another release."""
        after = np.where(other.law_of >= 0, other.law_of + len(self.laws), -1)
        return NoisyCounts(
            np.concatenate([self.values, other.values]),
            (*self.laws, *other.laws),
            np.concatenate([self.law_of, after]),
        )

    def describe(self) -> str:
        """The laws, in short."""
        return ", ".join(dict.fromkeys(law.text for law in self.laws))


def laws_by_cell(laws: Sequence[object], sizes: Sequence[int]) -> tuple[tuple[NoiseLaw, ...], Whole]:
    """The distinct laws of tables, and for each cell the position of its law (−1: none)."""
    found: list[NoiseLaw] = []
    numbers: list[int] = []
    for law in laws:
        if not isinstance(law, NoiseLaw):
            numbers.append(-1)
            continue
        if law not in found:
            found.append(law)
        numbers.append(found.index(law))
    return tuple(found), np.repeat(np.array(numbers, np.int64), sizes)
