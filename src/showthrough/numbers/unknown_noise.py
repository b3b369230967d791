"""Noise whose law is not known: which laws agree with what is published, where that can be told.

One column of published values alone never tells: noise is divisible, so less of it with values that
already carry the rest explains the same publication. Something must be known about the true values:
that they are whole multiples of a step, that many of them are exactly one value, that they vary in few
directions only, or what they are. Then every law of three families is tested against the published
values, and those that are not refuted are kept: with 95 % confidence the true one is among them, if it
is uniform, Gaussian or Laplace and what is known is true.

Where the true values are at hand, the noise itself (published minus true) is tested against the law that
was declared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from showthrough.errors import InputError, check_type
from showthrough.numbers.noise import (
    Floats,
    GaussianNoise,
    LaplaceNoise,
    Noise,
    UniformNoise,
    as_floats,
    check_matrix,
)
from showthrough.text import percent

__all__ = [
    "LEVEL",
    "KnownOfTruth",
    "NoiseCheck",
    "NoiseEstimate",
    "check_noise",
    "estimate_noise",
    "short",
]

#: The confidence with which the true law is among those kept.
CONFIDENCE = 0.95

#: Neighbouring scales tried differ by this factor.
GRID = 1.05

#: Places at which distribution functions are compared, at most.
MOST_PLACES = 400

#: The families, by the law that has a standard deviation.
FAMILIES: Mapping[str, Callable[[float], Noise]] = {
    "uniform": lambda sd: UniformNoise(math.sqrt(3) * sd),
    "gaussian": lambda sd: GaussianNoise(sd=sd),
    "laplace": lambda sd: LaplaceNoise(sd / math.sqrt(2)),
}

#: Whether a law agrees with what is published.
Agrees = Callable[[Noise], bool]

#: How rarely noise that does follow the law is said not to.
LEVEL = 0.001

#: How near a square must be to be taken for it.
NEAR = 0.1


@dataclass(frozen=True)
class KnownOfTruth:
    """What is known about the true values, whatever the noise is; one of these.

    Parameters
    ----------
    step
        They are whole multiples of this.
    atom
        A value, and the smallest share of people who hold exactly this value.
    components
        They vary in at most this many directions, fewer than there are columns.
    """

    step: float | None = None
    atom: tuple[float, float] | None = None
    components: int | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("step", "atom", "components") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InputError("give one thing that is known about the true values", found=", ".join(given))
        if self.step is not None:
            check_type(self.step, Real, name="the step")
            if not (math.isfinite(self.step) and self.step > 0):
                raise InputError("a step is a positive number", found=f"{self.step:g}", remedy="such as 1")
        if self.atom is not None:
            _check_atom(self.atom)
        if self.components is not None:
            check_type(self.components, Integral, name="the number of directions")
            if self.components < 0:
                raise InputError("there are at least 0 directions", found=str(self.components))

    @property
    def sentence(self) -> str:
        """What is known, as a clause; empty for nothing."""
        if self.step is not None:
            return f"the true values are whole multiples of {self.step:g}"
        if self.atom is not None:
            return f"at least {percent(self.atom[1])} of the true values are exactly {self.atom[0]:g}"
        if self.components is not None:
            return f"the true values vary in at most {self.components} directions"
        return ""


@dataclass(frozen=True)
class NoiseEstimate:
    """The laws that agree with one column: for each family the least and the largest standard deviation.

    Attributes
    ----------
    ranges
        The ends by family; a family that is refuted altogether is missing.
    known
        What it rests on, as a clause.
    confidence
        How often the true law is among them, if it belongs to a family and what is known is true.
    """

    ranges: Mapping[str, tuple[float, float]]
    known: str
    confidence: float = CONFIDENCE

    @property
    def laws(self) -> tuple[Noise, ...]:
        """Laws from end to end of each range, to try attacks with."""
        return tuple(
            FAMILIES[family](sd)
            for family, (low, high) in self.ranges.items()
            for sd in dict.fromkeys((low, math.sqrt(low * high), high))
        )

    @property
    def sentence(self) -> str:
        """Which laws agree, for people."""
        shown = [
            f"{short(FAMILIES[name](low))} to {short(FAMILIES[name](high))}"
            for name, (low, high) in self.ranges.items()
        ]
        gone = [name for name in FAMILIES if name not in self.ranges]
        refuted = f"; {' and '.join(gone)} noise is refuted" if gone else ""
        return (
            f"as {self.known}, the noise is {', or '.join(shown)} with {percent(self.confidence)} "
            f"confidence, if it belongs to one of these families{refuted}"
        )


def estimate_noise(
    noisy: ArrayLike, known: KnownOfTruth | None = None, *, truth: ArrayLike | None = None
) -> tuple[NoiseEstimate, ...]:
    """Which laws of noise agree with published values, column by column.

    Parameters
    ----------
    noisy
        The published values: a list, or a matrix with one row for each person.
    known
        What is known about the true values.
    truth
        The true values themselves, for a publisher who has lost the law.

    Returns
    -------
    tuple of NoiseEstimate
        One for each column.

    Raises
    ------
    InputError
        If the noise cannot be identified, or no law agrees.

    Examples
    --------
    >>> ages = np.random.default_rng(1).integers(18, 90, 2000)
    >>> noisy = ages + np.random.default_rng(2).normal(0, 0.2, 2000)
    >>> found, = estimate_noise(noisy, KnownOfTruth(step=1))
    >>> low, high = found.ranges["gaussian"]
    >>> low < 0.2 < high < 0.25
    True
    """
    if known is not None:
        check_type(known, KnownOfTruth, name="known", remedy="such as KnownOfTruth(step=1)")
    matrix, given = check_matrix(noisy), known or KnownOfTruth()
    if given.components is not None:
        return _from_spectrum(matrix, given.components, given.sentence)
    if given.sentence:
        agrees = [_agrees(column, given) for column in matrix.T]
        return tuple(_kept(*one, given.sentence, at) for at, one in enumerate(agrees))
    if truth is not None:
        added = matrix - check_matrix(truth)
        tests = [(_by_sample(column), _spread(column)) for column in added.T]
        return tuple(_kept(*one, "the true values are known", at) for at, one in enumerate(tests))
    raise InputError(
        "unknown noise cannot be identified from published values alone: with any smaller amount of noise, "
        "true values that already carry the rest explain them just as well",
        remedy="state what is known about the true values (--true-step, --true-atom, --true-components), or "
        "give --truth",
    )


def _check_atom(atom: Any) -> None:
    """A value and a share of people."""
    if not isinstance(atom, tuple) or len(atom) != 2:
        raise InputError("an atom is a value and a share of people", remedy="such as (0, 0.3)")
    for part, name in zip(atom, ("the value", "the share of people with it"), strict=True):
        check_type(part, Real, name=name)
    if not (math.isfinite(atom[0]) and 0 < atom[1] <= 1):
        raise InputError(
            "the share of people with one value is above 0 and at most 1",
            found=f"{atom[0]:g}:{atom[1]:g}",
            remedy="write 0:0.3 for at least 30\xa0% zeros",
        )


def _agrees(column: Floats, known: KnownOfTruth) -> tuple[Agrees, tuple[float, float]]:
    """The test of a law for one column, and the standard deviations to try."""
    if known.step is not None:
        rest = column - known.step * np.round(column / known.step)
        return _by_sample(rest, known.step), (known.step / 200, 4 * known.step)
    value, share = known.atom or (0.0, 0.0)
    return _by_atom(column, value, share), _spread(column)


def _by_sample(sample: Floats, period: float | None = None) -> Agrees:
    """Kolmogorov and Smirnov's test of a sample of the noise, wrapped around a period if there is one."""
    values = np.sort(sample)
    n = len(values)
    ranks = np.unique(np.linspace(0, n - 1, min(n, MOST_PLACES)).astype(np.int64))
    at, most = values[ranks], float(stats.kstwo.isf(1 - CONFIDENCE, n))

    def agrees(law: Noise) -> bool:
        share = law.cumulative(at) if period is None else _wrapped(law, at, period)
        distance = max(float(((ranks + 1) / n - share).max()), float((share - ranks / n).max()), 0.0)
        return distance <= most

    return agrees


def _wrapped(law: Noise, at: Floats, period: float) -> Floats:
    """The distribution function, on ±half a period, of noise taken modulo the period."""
    turns = np.arange(-1, 2) if law.reach() < period / 2 else np.arange(*_turns(law, period))
    starts = turns * period
    return (law.cumulative(at[:, None] + starts) - law.cumulative(starts - period / 2)).sum(axis=1)


def _turns(law: Noise, period: float) -> tuple[int, int]:
    most = math.ceil(law.reach() / period) + 1
    return -most, most + 1


def _by_atom(column: Floats, value: float, share: float) -> Agrees:
    """Two limits that hold together, where empirical shares are near all true ones (Massart's bound).

    Around the atom at least ``share`` · Pr[|R| ≤ a] of the published values are within *a* (too narrow
    noise would show there), and nowhere can an interval of length 2a hold more than Pr[|R| ≤ a] of them,
    as the three laws are symmetric and unimodal (too wide noise would not allow the crowd there is).
    """
    seen = np.sort(column)
    n = len(seen)
    slack = 2 * math.sqrt(math.log(2 / (1 - CONFIDENCE)) / (2 * n))
    spread = float(seen[-1] - seen[0]) or 1.0
    reaches = np.geomspace(spread / 1_000, spread, 80)
    near = (_below(seen, value + reaches) - np.searchsorted(seen, value - reaches)) / n + slack
    crowded = np.array([(_below(seen, seen + 2 * a) - np.arange(n)).max() for a in reaches]) / n - slack

    def agrees(law: Noise) -> bool:
        inside = 2 * law.cumulative(reaches) - 1
        return bool((share * inside <= near).all() and (crowded <= inside).all())

    return agrees


def _below(seen: Floats, at: Floats) -> np.ndarray:
    return np.searchsorted(seen, at, side="right")


def _spread(column: Floats) -> tuple[float, float]:
    sd = float(column.std()) or 1.0
    return sd / 1_000, 2.5 * sd


def _kept(agrees: Agrees, tried: tuple[float, float], known: str, column: int) -> NoiseEstimate:
    """The ends of the scales that agree, one step of the grid further out on either side."""
    scales = np.geomspace(*tried, 1 + math.ceil(math.log(tried[1] / tried[0]) / math.log(GRID)))
    ranges = dict[str, tuple[float, float]]()
    for family, law in FAMILIES.items():
        kept = np.flatnonzero([agrees(law(float(sd))) for sd in scales])
        if not len(kept):
            continue
        if kept[0] == 0 or kept[-1] == len(scales) - 1:
            raise InputError(
                f"unknown noise cannot be identified: as {known}, {family} noise "
                + ("of any smaller amount" if kept[0] == 0 else "of any larger amount")
                + " agrees with the published values too",
                column=str(column + 1),
                remedy="more people, or more knowledge about the true values, would help",
            )
        ranges[family] = (float(scales[kept[0] - 1]), float(scales[kept[-1] + 1]))
    if not ranges:
        raise InputError(
            f"no uniform, Gaussian or Laplace noise agrees with the published values if {known}",
            column=str(column + 1),
            remedy="check what is known about the true values",
        )
    return NoiseEstimate(ranges, known)


def _from_spectrum(matrix: Floats, components: int, known: str) -> tuple[NoiseEstimate, ...]:
    """The same noise on every column, from the directions in which the true values do not vary."""
    n, d = matrix.shape
    rest, rows = d - components, n - 1 - components
    if rest < 1 or rows < 1:
        raise InputError(
            "unknown noise cannot be identified: the true values may vary in every direction",
            found=f"{components} directions, {d} columns, {n} people",
            remedy="give more columns than directions",
        )
    scatter = np.linalg.eigvalsh(np.atleast_2d(np.cov(matrix, rowvar=False)) * (n - 1))
    small = float(np.maximum(scatter[:rest], 0).sum())
    if small <= 1e-12 * max(float(scatter[-1]), 1e-300):
        raise InputError("the columns carry no noise: they are dependent as published")
    ranges = dict[str, tuple[float, float]]()
    for family, excess in (("uniform", 0.0), ("gaussian", 0.0), ("laplace", 3.0)):
        # Heavy tails make sums of squares vary more: as if there were fewer of them.
        fewer = 1 + excess / 2
        most, least = (n - 1) * rest / fewer, rows * rest / fewer
        alpha = (1 - CONFIDENCE) / 2
        low = small / fewer / stats.chi2.ppf(1 - alpha, most)
        high = small / fewer / stats.chi2.ppf(alpha, least)
        ranges[family] = (math.sqrt(low), math.sqrt(high))
    estimate = NoiseEstimate(ranges, f"{known} and all columns have the same noise")
    return (estimate,) * d


def short(law: Noise) -> str:
    """A law as text, with three digits.

    >>> short(UniformNoise(13.9083679848)), short(GaussianNoise(sd=2 / 3))
    ('uniform:13.9', 'gaussian:sd=0.667')
    """
    text = str(law)
    at = max(text.rfind(":"), text.rfind("=")) + 1
    return f"{text[:at]}{float(text[at:]):.3g}"


@dataclass(frozen=True)
class NoiseCheck:
    """How published minus true values compare with the law declared.

    ``chance`` is the probability of values that differ so much from the law although they follow it
    (Kolmogorov and Smirnov's test; rounding of the published values is allowed for).
    """

    declared: str
    chance: float
    mean: float
    sd: float
    declared_mean: float
    declared_sd: float

    @property
    def holds(self) -> bool:
        """Whether the law is not refuted."""
        return self.chance >= LEVEL

    @property
    def sentence(self) -> str:
        """What was found, for people."""
        if self.holds:
            return f"published minus true values are as noise {self.declared} would be"
        found = (
            f"the noise does not follow the law given: published minus true values have mean {self.mean:.4g} "
            f"and standard deviation {self.sd:.4g}, where {self.declared} has {self.declared_mean:.4g} and "
            f"{self.declared_sd:.4g} (a difference this large arises by "
            f"chance less than once in {round(1 / LEVEL):,} times)"
        )
        return f"{found}{self._suspicion}"

    @property
    def _suspicion(self) -> str:
        if _near(self.sd**2, self.declared_sd):
            return "; was a variance given as a standard deviation?"
        if _near(self.sd, self.declared_sd**2):
            return "; was a standard deviation given as a variance?"
        return ""


def check_noise(noisy: ArrayLike, truth: ArrayLike, noise: Noise) -> NoiseCheck:
    """Compare published minus true values of one column with the law of the noise.

    Parameters
    ----------
    noisy, truth
        The published and the true values of the same people in the same order.
    noise
        The law declared.

    Returns
    -------
    NoiseCheck

    Examples
    --------
    >>> from showthrough.numbers.noise import GaussianNoise, UniformNoise
    >>> truth = np.random.default_rng(1).gamma(9, 5, 500)
    >>> noisy = truth + UniformNoise(40).sample(500, seed=2)
    >>> check_noise(noisy, truth, UniformNoise(40)).holds, check_noise(noisy, truth, UniformNoise(20)).holds
    (True, False)
    """
    seen, true = as_floats(noisy, "the noisy values"), as_floats(truth, "the true values")
    if seen.shape != true.shape or seen.ndim != 1 or not len(seen):
        raise InputError(
            "the truth and the noisy values differ in the number of people",
            found=f"{true.shape} and {seen.shape}",
        )
    added = np.sort(seen - true)
    n = len(added)
    # What rounding the published values moves is allowed for on either side.
    slack = _step(seen) / 2 + 1e-9 * float(np.abs(np.concatenate([seen, true])).max())
    above = np.arange(1, n + 1) / n - noise.cumulative(added + slack)
    below = noise.cumulative(added - slack) - np.arange(n) / n
    distance = max(0.0, float(above.max()), float(below.max()))
    chance = float(stats.kstwo.sf(distance, n)) if distance > 0 else 1.0
    if noise.cumulative(added[0] + slack) <= 0 or noise.cumulative(added[-1] - slack) >= 1:
        chance = 0.0  # a value that the law rules out
    sd = float(added.std(ddof=1)) if n > 1 else math.nan
    return NoiseCheck(
        str(noise), chance, float(added.mean()), sd, float(noise.mean), math.sqrt(noise.variance)
    )


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= NEAR * abs(other)


def _step(values: Floats) -> float:
    """The power of ten that all values are multiples of; 0 if they are not rounded."""
    for places in range(-6, 7):
        if np.array_equal(np.round(values, places), values):
            return 10.0**-places
    return 0.0
