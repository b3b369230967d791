"""The ratio attack on two answers whose noise is correlated.

With noise of variance V on both answers and correlation ρ between them, to second order

    E[Y/X] ≈ y/x + (V/x²)(y/x − ρ),    Var[Y/X] ≈ (V/x²)(1 + y²/x² − 2ρ y/x).

The covariance enters the mean with a minus: noise that moves both answers together cancels in their ratio,
so it gives the share away sooner. Only Gaussian noise can be correlated here: two Laplace variables have no
single joint law with a given correlation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy import special

from showthrough.errors import InputError, check_type
from showthrough.numbers.interquantile import Interval, check_confidence
from showthrough.numbers.noise import Floats, GaussianNoise
from showthrough.numbers.ratio import (
    FAR,
    NODES,
    WEIGHTS,
    AnswerNoise,
    RatioAttack,
    laplace_scale,
    ratio_attack,
)

__all__ = ["CorrelatedRatioAttack", "correlated_ratio_attack"]

#: Panels of the quadrature on either side of where the inner probability turns, by its width.
_TURN = np.array([-8.0, -4.0, -2.0, -1.0, 1.0, 2.0, 4.0, 8.0])


@dataclass(frozen=True, repr=False)
class CorrelatedRatioAttack(RatioAttack):
    """What Y/X reveals about y/x when the Gaussian noise on both counts is correlated.

    ``correlation`` lies between −1 and 1. ``scale_ratio`` is that of independent noise which leaves as much
    uncertainty about the share.

    Examples
    --------
    >>> apart = correlated_ratio_attack(501, 420, "gaussian:sd=30", correlation=0.0)
    >>> alike = correlated_ratio_attack(501, 420, "gaussian:sd=30", correlation=0.9)
    >>> round(apart.sd, 3), round(alike.sd, 3)
    (0.078, 0.026)
    >>> [round(float(share), 3) for share in alike.quantiles([0.025, 0.5, 0.975])]
    [0.785, 0.838, 0.889]
    """

    correlation: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type(self.correlation, Real, name="the correlation")
        if not isinstance(self.noise, GaussianNoise):
            raise InputError(
                "only Gaussian noise can be correlated here",
                found=str(self.noise),
                remedy="for example gaussian:sd=30",
            )
        if not -1 < self.correlation < 1:
            raise InputError("a correlation lies between -1 and 1", found=str(self.correlation))

    @property
    def _spread(self) -> float:
        """1 + c² − 2ρc: the variance of ξ2 − cξ1, in units of V."""
        return 1 + self.confidence**2 - 2 * self.correlation * self.confidence

    @property
    def scale_ratio(self) -> float:
        """b/x of independent noise with which Y/X varies as much."""
        alike = math.sqrt(self._spread / (1 + self.confidence**2))
        return laplace_scale(self.noise) / self.group * alike

    @property
    def bias(self) -> float:
        """How far the mean is from y/x, to second order: (V/x²)(y/x − ρ)."""
        return self.noise.variance / self.group**2 * (self.confidence - self.correlation)

    @property
    def bias_bound(self) -> float:
        """The most that the bias can be for any y ≤ x: V/x² times the larger of |ρ| and 1 − ρ."""
        return self.noise.variance / self.group**2 * max(abs(self.correlation), 1 - self.correlation)

    @property
    def sd(self) -> float:
        """The standard deviation of Y/X, to second order."""
        return math.sqrt(self.noise.variance * self._spread) / self.group

    def probability(self, share: float) -> float:
        """The probability that Y/X is at most ``share``, given X > 0.

        Given X = u, Y is normal with mean y + ρ(u − x) and variance V(1 − ρ²).
        """
        sd, rho = math.sqrt(self.noise.variance), self.correlation
        left = sd * math.sqrt(1 - rho**2)
        low, high = max(0.0, self.group - FAR * sd), self.group + FAR * sd
        slope = share - rho
        turn = (self.matching - rho * self.group) / slope if slope else math.inf
        width = left / abs(slope) if slope else math.inf
        near = turn + width * _TURN if math.isfinite(turn) and math.isfinite(width) else np.zeros(0)
        inside = near[(near > low) & (near < high)]
        edges = np.unique(np.concatenate([[low, high], inside, np.arange(low, high, sd)]))
        half = np.diff(edges)[:, None] / 2
        at = edges[:-1, None] + half * (1 + NODES)
        mean = self.matching + rho * (at - self.group)
        inner = self.noise.density(at - self.group) * special.ndtr((share * at - mean) / left)
        return float((inner * WEIGHTS * half).sum()) / (1 - self.no_answer)

    def simulate(self, trials: int, *, seed: int) -> Floats:
        """Draws of the two answers, one row each."""
        noise = self.noise.sample((trials, 2), seed=seed)
        own = math.sqrt(1 - self.correlation**2)
        both = np.column_stack([noise[:, 0], self.correlation * noise[:, 0] + own * noise[:, 1]])
        return both + np.array([self.group, self.matching])

    def read(self, level: float = 0.95) -> Interval:
        """What somebody learns about the share if these two counts were the noisy answers."""
        shares = np.linspace(0, 1, 10_001)
        wide = math.sqrt(self.noise.variance) * np.sqrt(1 + shares**2 - 2 * self.correlation * shares)
        reach = math.sqrt(2) * float(special.erfinv(check_confidence(level)))
        possible = np.flatnonzero(np.abs(self.matching - shares * self.group) <= reach * wide)
        if not len(possible):
            return Interval(np.asarray(0.0), np.asarray(1.0))
        low, high = max(0, int(possible[0]) - 1), min(len(shares) - 1, int(possible[-1]) + 1)
        return Interval(np.asarray(shares[low]), np.asarray(shares[high]))


def correlated_ratio_attack(
    group: float, matching: float, noise: AnswerNoise | str, *, correlation: float
) -> CorrelatedRatioAttack:
    """The ratio attack on two counts with correlated Gaussian noise.

    Parameters
    ----------
    group, matching
        As for :func:`~showthrough.numbers.ratio.ratio_attack`.
    noise
        The Gaussian noise on both counts, or its text: ``"gaussian:sd=30"``.
    correlation
        The correlation of the noise on the two counts, between −1 and 1.

    Returns
    -------
    CorrelatedRatioAttack
        What an attacker who divides the two answers reads, and whether that gives the share away.

    Raises
    ------
    InputError
        If the noise is not Gaussian, or the correlation is none.

    Examples
    --------
    >>> correlated_ratio_attack(501, 420, "gaussian:sd=60", correlation=0.0).leaks
    False
    >>> correlated_ratio_attack(501, 420, "gaussian:sd=60", correlation=0.9).leaks
    True
    """
    plain = ratio_attack(group, matching, noise)
    return CorrelatedRatioAttack(plain.group, plain.matching, plain.noise, correlation)
