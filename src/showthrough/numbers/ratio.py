"""The ratio attack: two noisy counts reveal a share, however well each hides a single person.

x people have somebody's public values, y of them also a sensitive value. The answers X = x + ξ1 and
Y = y + ξ2 carry noise of mean 0 and variance V, and Y/X estimates y/x, the confidence of "who has these
public values has the sensitive one". To second order (EQUATIONS 1.1)

    E[Y/X] ≈ (y/x)(1 + V/x²),    Var[Y/X] ≈ (V/x²)(1 + y²/x²).

With Laplace noise of scale b, V = 2b²: the bias is at most 2(b/x)², the variance at most 4(b/x)².
These are formal expansions: X has positive density at 0, so Y/X has no mean. Quantiles exist, and
are what is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from showthrough.errors import InputError, check_type
from showthrough.numbers.interquantile import Interval, check_confidence
from showthrough.numbers.noise import Floats, GaussianNoise, LaplaceNoise, parse_noise
from showthrough.text import html_summary, percent

__all__ = [
    "RULE",
    "AnswerNoise",
    "PrivacyBudget",
    "RatioAttack",
    "RatioSummary",
    "answer_noise",
    "as_answer_noise",
    "laplace_scale",
    "ratio_attack",
    "ratio_interval",
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
    """What Y/X reveals about y/x when both counts get independent noise of this law.

    Parameters
    ----------
    group
        x, how many people have the public values in question.
    matching
        y, how many of them have the sensitive value.
    noise
        The noise on both counts.

    Examples
    --------
    >>> attack = ratio_attack(501, 420, LaplaceNoise(20))
    >>> round(attack.confidence, 4), attack.leaks, round(attack.scale_ratio, 4)
    (0.8383, True, 0.0399)
    >>> [round(float(share), 3) for share in attack.quantiles([0.025, 0.5, 0.975])]
    [0.697, 0.838, 1.003]
    """

    group: float
    matching: float
    noise: AnswerNoise

    def __post_init__(self) -> None:
        check_type(self.group, Real, name="the size of a group")
        check_type(self.matching, Real, name="the matching count")
        check_type(
            self.noise, (LaplaceNoise, GaussianNoise), name="noise", remedy="use ratio_attack for text"
        )

    @property
    def confidence(self) -> float:
        """The true share y/x, which the attack is after."""
        return self.matching / self.group

    @property
    def scale_ratio(self) -> float:
        """b/x; for other laws than Laplace's with the b of the same variance."""
        return laplace_scale(self.noise) / self.group

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
        scale = laplace_scale(self.noise)
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
        """Draws of the two answers, one row each."""
        noise = self.noise.sample((trials, 2), seed=seed)
        return noise + np.array([self.group, self.matching])

    def read(self, level: float = 0.95) -> Interval:
        """What somebody learns about the share if these two counts were the noisy answers."""
        return ratio_interval(self.group, self.matching, self.noise, confidence=level)

    def summary(self, level: float = 0.95) -> RatioSummary:
        """All figures, with the quantiles at this level."""
        check_confidence(level)
        low, middle, high = self.quantiles([(1 - level) / 2, 0.5, (1 + level) / 2]).tolist()
        seen = self.read(level)
        return RatioSummary(
            self.group,
            self.matching,
            str(self.noise),
            self.confidence,
            self.scale_ratio,
            RULE,
            self.leaks,
            self.bias,
            self.bias_bound,
            self.sd,
            level,
            (low, middle, high),
            (float(seen.low), float(seen.high)),
            self.within(0.05),
            self.no_answer,
        )

    def __repr__(self) -> str:
        return (
            f"RatioAttack({self.matching:,.0f} of {self.group:,.0f}, noise {self.noise}: "
            f"{'leaks' if self.leaks else 'does not leak'})"
        )

    def _repr_html_(self) -> str:
        """The attack in figures, for notebooks."""
        low, middle, high = (percent(share, 1) for share in self.quantiles([0.025, 0.5, 0.975]).tolist())
        rows = [
            ("noise on both counts", self.noise),
            ("true share", percent(self.confidence, 1)),
            ("median read by an attacker", middle),
            (f"{percent(0.95)} of readings", f"{low} to {high}"),
            ("scale of the noise relative to the group", percent(self.scale_ratio, 1)),
        ]
        verdict = "gives the share away" if self.leaks else "hides the share"
        title = f"The noise {verdict}: {self.matching:,.0f} of {self.group:,.0f}"
        return html_summary(title, [("what", ""), *rows])


@dataclass(frozen=True)
class RatioSummary:
    """All figures of a ratio attack on two answers, as ``--json`` prints them.

    ``quantiles`` are the ends and the median of what an attacker reads at ``level``;
    ``read_from_answers`` is the interval for the share if these counts were the noisy ones.
    """

    group: float
    matching: float
    noise: str
    confidence: float
    scale_ratio: float
    rule: float
    leaks: bool
    bias: float
    bias_bound: float
    sd: float
    level: float
    quantiles: tuple[float, float, float]
    read_from_answers: tuple[float, float]
    within_5_points: float
    no_answer: float


def ratio_attack(group: float, matching: float, noise: AnswerNoise | str) -> RatioAttack:
    """The ratio attack on two noisy counts.

    Parameters
    ----------
    group
        How many people have the public values in question.
    matching
        How many of them have the sensitive value.
    noise
        The noise on both counts, Laplace or Gaussian, or its text: ``"laplace:20"``.

    Returns
    -------
    RatioAttack
        What an attacker who divides the two answers reads, and whether that gives the share away.

    Raises
    ------
    InputError
        If the counts are not those of a group and a part of it, or the noise is of another law.

    Examples
    --------
    >>> ratio_attack(501, 420, "laplace:20")
    RatioAttack(420 of 501, noise laplace:20: leaks)
    """
    law = as_answer_noise(noise)
    try:
        size, part = float(group), float(matching)
    except (TypeError, ValueError):
        raise InputError("the two counts must be numbers", found=f"{group!r} and {matching!r}") from None
    if not (math.isfinite(size) and size > 0):
        raise InputError("a group has at least one person", found=f"{size:g}")
    if not 0 <= part <= size:
        raise InputError(
            "more people have the sensitive value than are in the group",
            found=f"{part:g} of {size:g}",
            remedy="write the larger count first, for example 501:420",
        )
    return RatioAttack(size, part, law)


def as_answer_noise(noise: object) -> AnswerNoise:
    """The noise on answers: as it is, or from its text."""
    law = parse_noise(noise) if isinstance(noise, str) else noise
    if not isinstance(law, LaplaceNoise | GaussianNoise):
        raise InputError(
            "noisy answers carry Laplace or Gaussian noise",
            found=f"{law}"[:60],
            remedy="for example laplace:20 or gaussian:sd=30",
        )
    return law


def laplace_scale(noise: AnswerNoise) -> float:
    """The scale b of Laplace noise with the variance of this noise: √(V/2)."""
    return math.sqrt(noise.variance / 2)


@dataclass(frozen=True)
class PrivacyBudget:
    """The ε (and δ) of differential privacy for both answers together, from which noise follows.

    Parameters
    ----------
    epsilon
        ε, above 0.
    sensitivity
        How much one person changes both answers; by default 2 for Laplace noise and √2 for Gaussian.
    delta
        δ, between 0 and 1, for Gaussian noise; without it the noise is Laplace's.
    """

    epsilon: float
    sensitivity: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        check_type(self.epsilon, Real, name="epsilon")
        for name, value in (("sensitivity", self.sensitivity), ("delta", self.delta)):
            if value is not None:
                check_type(value, Real, name=name)

    @property
    def noise(self) -> AnswerNoise:
        """The noise on each answer."""
        return answer_noise(self.epsilon, sensitivity=self.sensitivity, delta=self.delta)


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
    group: float, matching: float, noise: AnswerNoise | str, *, confidence: float = 0.95
) -> Interval:
    """What somebody who sees two *noisy* answers learns about the true share y/x.

    These are all shares t for which Y − tX is no further from 0 than noise of this law takes it at this
    confidence: ξ2 − tξ1 has a known law, so this holds however small the group is. The ends are
    rounded outwards to 1/10,000; the whole of [0, 1] means that nothing is learnt.

    Parameters
    ----------
    group, matching
        The two noisy answers.
    noise
        The noise on both, Laplace or Gaussian, or its text.
    confidence
        How often the interval holds the true share.

    Returns
    -------
    Interval
        Within [0, 1].

    Examples
    --------
    >>> print(ratio_interval(501, 420, "laplace:20"))
    0.6965 to 1
    """
    check_confidence(confidence)
    check_type(group, Real, name="the first answer")
    check_type(matching, Real, name="the second answer")
    law = as_answer_noise(noise)
    shares = np.linspace(0, 1, 10_001)
    gap = np.abs(matching - shares * group)
    if isinstance(law, LaplaceNoise):
        beyond = _laplace_tail(gap, law.scale, shares * law.scale)
    else:
        beyond = 2 * special.ndtr(-gap / (law.sd * np.sqrt(1 + shares**2)))
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
