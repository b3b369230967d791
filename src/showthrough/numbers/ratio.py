"""The ratio attack: two noisy counts tell a share, however well each hides a single person.

x people have somebody's public values, y of them also a sensitive value. The answers X = x + ξ1 and
Y = y + ξ2 carry noise of mean 0 and variance V, and Y/X tells y/x, the confidence of "who has these
public values has the sensitive one". To second order (EQUATIONS 1.1)

    E[Y/X] ≈ (y/x)(1 + V/x²),    Var[Y/X] ≈ (V/x²)(1 + y²/x²).

With Laplace noise of scale b, V = 2b²: the bias is at most 2(b/x)², the variance at most 4(b/x)².
These are formal expansions: X has positive density at 0, so Y/X has no mean. Quantiles exist, and
are what is computed here.

Which of many groups two noisy answers would give away, and under how much noise.

By the rule of 1/20 (:data:`showthrough.numbers.ratio.RULE`) a group leaks if the noise's scale is at most
a twentieth of its size: the same noise hides small groups and leaves large ones bare.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy import special

from showthrough.errors import InputError
from showthrough.numbers.interquantile import Interval, check_confidence
from showthrough.numbers.noise import Floats, GaussianNoise, LaplaceNoise
from showthrough.text import html_summary

__all__ = [
    "RULE",
    "LeakingGroups",
    "RatioAttack",
    "answer_noise",
    "error_curve",
    "leaking_groups",
    "leaks_by_noise",
    "ratio_attack",
    "ratio_interval",
    "safe_epsilon",
    "simulate_ratios",
]

#: The rule of thumb: a group whose size is at least 20 times the noise's scale leaks its shares.
RULE = 1 / 20

#: Noise beyond this many scales has no weight in the numerical integral.
FAR = 40

#: Nodes and weights of the quadrature on [−1, 1], used on every panel.
NODES, WEIGHTS = (np.asarray(part, np.float64) for part in np.polynomial.legendre.leggauss(24))

AnswerNoise = LaplaceNoise | GaussianNoise


@dataclass(frozen=True)
class RatioAttack:
    """What Y/X tells about y/x when both counts get independent noise of this law.

    >>> attack = ratio_attack(501, 420, LaplaceNoise(20))
    >>> round(attack.confidence, 4), attack.leaks, round(attack.scale_ratio, 4)
    (0.8383, True, 0.0399)
    >>> [round(float(share), 3) for share in attack.quantiles([0.025, 0.5, 0.975])]
    [0.697, 0.838, 1.003]
    """

    group: float
    matching: float
    noise: AnswerNoise

    @property
    def confidence(self) -> float:
        """The true share y/x, which the attack is after."""
        return self.matching / self.group

    @property
    def scale_ratio(self) -> float:
        """b/x; for other laws than Laplace's with the b of the same variance."""
        return math.sqrt(self.noise.variance / 2) / self.group

    @property
    def leaks(self) -> bool:
        """Whether b/x is at most 1/20."""
        return self.scale_ratio <= RULE

    @property
    def bias(self) -> float:
        """How far the mean is from y/x, to second order."""
        return self.confidence * self.noise.variance / self.group**2

    @property
    def bias_bound(self) -> float:
        """2(b/x)², the most that the bias can be for any y ≤ x."""
        return 2 * self.scale_ratio**2

    @property
    def sd(self) -> float:
        """The standard deviation of Y/X, to second order."""
        return math.sqrt(self.noise.variance * (1 + self.confidence**2)) / self.group

    @property
    def no_answer(self) -> float:
        """The probability of X ≤ 0, where the attack learns nothing."""
        return float(self.noise.cumulative(-self.group))

    def probability(self, share: float) -> float:
        """The probability that Y/X is at most ``share``, given X > 0.

        ∫ f(u − x) F(share·u − y) du over u > 0, on panels between the points where f or F bend.
        """
        scale = math.sqrt(self.noise.variance / 2)
        low, high = max(0.0, self.group - FAR * scale), self.group + FAR * scale
        bends = [self.group, self.matching / share if share else math.inf]
        ends = np.array([low, *sorted(bend for bend in bends if low < bend < high), high])
        edges = np.unique(np.concatenate([ends, np.arange(low, high, 2 * scale)]))
        half = np.diff(edges)[:, None] / 2
        at = edges[:-1, None] + half * (1 + NODES)
        inner = self.noise.density(at - self.group) * self.noise.cumulative(share * at - self.matching)
        return float((inner * WEIGHTS * half).sum()) / (1 - self.no_answer)

    def quantiles(self, shares: ArrayLike) -> Floats:
        """Quantiles of Y/X given X > 0; they exist where means do not."""
        wanted = np.atleast_1d(np.asarray(shares, np.float64))
        if not ((wanted > 0) & (wanted < 1)).all():
            raise InputError("a quantile is asked for a share between 0 and 1", found=str(shares))
        return np.array([self._quantile(float(share)) for share in wanted])

    def _quantile(self, share: float) -> float:
        low, high, step = self.confidence, self.confidence, max(self.sd, 1e-9)
        while self.probability(low) > share:
            low, step = low - step, 2 * step
        step = max(self.sd, 1e-9)
        while self.probability(high) < share:
            high, step = high + step, 2 * step
        return _crossing(lambda at: self.probability(at) < share, low, high)

    def within(self, tolerance: float) -> float:
        """The probability that Y/X comes within ``tolerance`` of the true share."""
        if not tolerance > 0:
            raise InputError("a tolerance is a positive number", found=str(tolerance))
        above = self.probability(self.confidence + tolerance)
        below = self.probability(self.confidence - tolerance)
        return (above - below) * (1 - self.no_answer)

    def error(self, level: float = 0.95) -> float:
        """How far Y/X is at most from the true share with this probability.

        Infinite where the probability of X ≤ 0 leaves less than that.

        >>> attack = ratio_attack(501, 420, LaplaceNoise(20))
        >>> round(attack.error(0.5), 3), round(attack.error(0.95), 3)
        (0.042, 0.153)
        """
        check_confidence(level)
        if 1 - self.no_answer <= level:
            return math.inf
        high = self.sd
        while self.within(high) < level:
            high *= 2
        return _crossing(lambda reach: self.within(reach) < level, 0.0, high, precision=1e-6)

    def simulate(self, trials: int, *, seed: int) -> Floats:
        """So many draws of the two answers, one row each."""
        noise = self.noise.sample((trials, 2), seed=seed)
        return noise + np.array([self.group, self.matching])

    def _repr_html_(self) -> str:
        """The attack in figures, for notebooks."""
        low, middle, high = (f"{100 * float(share):.1f} %" for share in self.quantiles([0.025, 0.5, 0.975]))
        rows = [
            ("noise on both counts", self.noise),
            ("true share", f"{100 * self.confidence:.1f} %"),
            ("median read by an attacker", middle),
            ("95 % of readings", f"{low} to {high}"),
            ("scale of the noise beside the group", f"{100 * self.scale_ratio:.2g} %"),
        ]
        verdict = "gives the share away" if self.leaks else "hides the share"
        title = f"The noise {verdict}: {self.matching:,.0f} of {self.group:,.0f}"
        return html_summary(title, [("what", ""), *rows])


def ratio_attack(group: float, matching: float, noise: AnswerNoise) -> RatioAttack:
    """The attack on two counts: x people in the group, y of them with the sensitive value."""
    if not (math.isfinite(group) and group > 0):
        raise InputError("a group has at least one person", found=f"{group:g}")
    if not 0 <= matching <= group:
        raise InputError(
            "those with the sensitive value are part of the group",
            found=f"{matching:g} of {group:g}",
            remedy="write the larger count first, for example 501:420",
        )
    if not isinstance(noise, LaplaceNoise | GaussianNoise):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            "noisy answers carry Laplace or Gaussian noise", found=str(noise), remedy="choose one of them"
        )
    return RatioAttack(float(group), float(matching), noise)


def answer_noise(
    epsilon: float, *, sensitivity: float | None = None, delta: float | None = None
) -> AnswerNoise:
    """The noise that gives ε-differential privacy (Laplace) or (ε, δ) (Gaussian) to both answers.

    One person changes both counts by 1. So ``sensitivity`` is 2 for Laplace noise (in sum, so that
    b = 2/ε) and √2 for Gaussian (in Euclidean length), unless given. The Gaussian scale is the
    smallest that is enough for δ, not the usual bound on it.

    >>> answer_noise(0.1)
    LaplaceNoise(scale=20.0)
    >>> round(answer_noise(0.1, delta=1e-5).sd, 1)
    43.5
    """
    reach = sensitivity if sensitivity is not None else 2.0 if delta is None else math.sqrt(2)
    for name, value in (("epsilon", epsilon), ("sensitivity", reach)):
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"{name} is a positive number", found=str(value))
    if delta is None:
        return LaplaceNoise(reach / epsilon)
    if not 0 < delta < 1:
        raise InputError("delta lies between 0 and 1", found=str(delta), remedy="for example 1e-5")
    low, high = 1e-6 * reach, reach
    while _spent(high, epsilon, reach) > delta:
        high *= 2
    return GaussianNoise(sd=_crossing(lambda sd: _spent(sd, epsilon, reach) > delta, low, high))


def _crossing(before: Callable[[float], bool], low: float, high: float, *, precision: float = 1e-12) -> float:
    """Where a condition that holds at first ceases to, rounded up; by halving."""
    while (middle := (low + high) / 2) not in (low, high) and high - low > precision * abs(high):
        low, high = (middle, high) if before(middle) else (low, middle)
    return high


def _spent(sd: float, epsilon: float, reach: float) -> float:
    """The δ of Gaussian noise: Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ)."""
    half, tilt = reach / (2 * sd), epsilon * sd / reach
    return float(special.ndtr(half - tilt) - math.exp(epsilon + float(special.log_ndtr(-half - tilt))))


def ratio_interval(
    group: float, matching: float, noise: AnswerNoise, *, confidence: float = 0.95
) -> Interval:
    """What somebody who sees two *noisy* answers can say about the true share y/x.

    All shares t for which Y − tX is no further from 0 than noise of this law takes it at this
    confidence: ξ2 − tξ1 has a known law, so this holds however small the group is. The ends are
    rounded outwards to 1/10,000; the whole of [0, 1] means that nothing can be said.

    >>> print(ratio_interval(501, 420, LaplaceNoise(20)))
    0.6965 to 1
    """
    check_confidence(confidence)
    shares = np.linspace(0, 1, 10_001)
    gap = np.abs(matching - shares * group)
    if isinstance(noise, LaplaceNoise):
        beyond = _laplace_tail(gap, noise.scale, shares * noise.scale)
    else:
        beyond = 2 * special.ndtr(-gap / (noise.sd * np.sqrt(1 + shares**2)))
    possible = np.flatnonzero(beyond >= 1 - confidence)
    if not len(possible):
        return Interval(np.asarray(0.0), np.asarray(1.0))
    low, high = max(0, int(possible[0]) - 1), min(len(shares) - 1, int(possible[-1]) + 1)
    return Interval(np.asarray(shares[low]), np.asarray(shares[high]))


def _laplace_tail(gap: Floats, scale: float, other: Floats) -> Floats:
    """The probability that the sum of two Laplace variables of these scales exceeds the gap."""
    equal = (1 + gap / (2 * scale)) * np.exp(-gap / scale)
    apart = np.abs(other - scale) > 1e-5 * scale
    second = np.where(other > 0, other, 1.0)
    parts = scale**2 * np.exp(-gap / scale) - other**2 * np.exp(-gap / second)
    return np.where(apart, parts / np.where(apart, scale**2 - other**2, 1.0), equal)


@dataclass(frozen=True, eq=False)
class LeakingGroups:
    """For each group whether its shares leak, how sure the attacker gets, and how blurred it is."""

    leaks: NDArray[np.bool_]
    confidence: Floats
    scale_ratio: Floats
    bias_bound: Floats
    sd: Floats

    @property
    def count(self) -> int:
        """How many groups leak."""
        return int(self.leaks.sum())

    def _repr_html_(self) -> str:
        """How many leak, for notebooks."""
        title = f"{self.count:,} of {len(self.leaks):,} groups leak"
        rows = [
            (at + 1, f"{self.scale_ratio[at]:.2%}", f"{self.confidence[at]:.1%}", f"{self.sd[at]:.1%}")
            for at in np.argsort(self.scale_ratio, kind="stable")[:5].tolist()
        ]
        return html_summary(title, [("largest groups", "noise / size", "share", "sd of the reading"), *rows])


def leaking_groups(sizes: ArrayLike, matching: ArrayLike, noise: AnswerNoise) -> LeakingGroups:
    """Which of many groups leak how many of their members have a value, by the rule of 1/20.

    ``sizes`` are the numbers of people with equal public values, ``matching`` how many of each have
    the sensitive value in question (their commonest, say).

    >>> from showthrough.numbers.noise import LaplaceNoise
    >>> leaking_groups([501, 399], [420, 10], LaplaceNoise(20)).leaks.tolist()
    [True, False]
    """
    x, y = np.asarray(sizes, np.float64), np.asarray(matching, np.float64)
    if x.shape != y.shape or not ((x > 0) & (y >= 0) & (y <= x)).all():
        raise InputError("every group needs a size of at least 1 and a count between 0 and its size")
    share, ratio = y / x, math.sqrt(noise.variance / 2) / x
    spread = np.sqrt(noise.variance * (1 + share**2)) / x
    return LeakingGroups(np.asarray(ratio <= RULE), share, ratio, 2 * ratio**2, spread)


def safe_epsilon(largest: float, *, sensitivity: float = 2.0) -> float:
    """Below this ε (Laplace noise) not even a group of the largest size leaks by the rule of 1/20.

    >>> round(safe_epsilon(501), 4)
    0.0798
    """
    return sensitivity / (RULE * largest)


def leaks_by_noise(sizes: ArrayLike, noises: Iterable[AnswerNoise]) -> pa.Table:
    """For each law of noise the shares of groups, and of the people in them, that leak.

    >>> from showthrough.numbers.noise import LaplaceNoise
    >>> leaks_by_noise([501, 100], [LaplaceNoise(20), LaplaceNoise(2)]).to_pylist()[0]
    {'noise': 'laplace:20', 'scale': 20.0, 'groups': 0.5, 'people': 0.8336106489184693}
    """
    x = _sizes(sizes)
    given = list(noises)
    scales = [math.sqrt(noise.variance / 2) for noise in given]
    leaks = [scale / x <= RULE for scale in scales]
    return pa.table(
        {
            "noise": pa.array([str(noise) for noise in given], pa.string()),
            "scale": pa.array(scales, pa.float64()),
            "groups": pa.array([float(one.mean()) for one in leaks], pa.float64()),
            "people": pa.array([float(x[one].sum() / x.sum()) for one in leaks], pa.float64()),
        }
    )


def simulate_ratios(sizes: ArrayLike, matching: ArrayLike, noise: AnswerNoise, *, seed: int) -> Floats:
    """Each group's Y/X under one draw of the noise; not a number where X ≤ 0 and nothing is learnt.

    >>> from showthrough.numbers.noise import LaplaceNoise
    >>> simulate_ratios([1000, 1], [500, 1], LaplaceNoise(10), seed=6).round(2).tolist()
    [0.5, nan]
    """
    x, y = _sizes(sizes), np.asarray(matching, np.float64)
    drawn = noise.sample((2, len(x)), seed=seed)
    group, count = x + drawn[0], y + drawn[1]
    return np.where(group > 0, count / np.where(group > 0, group, 1.0), np.nan)


def error_curve(
    sizes: Iterable[float], share: float, noise: AnswerNoise, *, level: float
) -> list[float | None]:
    """For groups of these sizes, how far Y/X is at most from this share at this level.

    None stands for any distance: X ≤ 0, where nothing is learnt, is too likely.

    >>> from showthrough.numbers.noise import LaplaceNoise
    >>> small, large = error_curve([10, 500], 0.8, LaplaceNoise(20), level=0.95)
    >>> small, round(large, 3)
    (None, 0.15)
    """
    errors = [ratio_attack(size, share * size, noise).error(level) for size in sizes]
    return [error if math.isfinite(error) else None for error in errors]


def _sizes(sizes: ArrayLike) -> Floats:
    x = np.asarray(sizes, np.float64)
    if x.ndim != 1 or not len(x) or not (x > 0).all():
        raise InputError("every group needs a size of at least 1")
    return x
