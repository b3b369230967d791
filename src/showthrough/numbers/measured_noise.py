"""Whether noise follows the law that was declared: published minus true values against that law."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from showthrough.errors import InputError
from showthrough.numbers.noise import Floats, Noise, as_floats

__all__ = [
    "LEVEL",
    "NoiseCheck",
    "check_noise",
]

#: How rarely noise that does follow the law is said not to.
LEVEL = 0.001

#: How near a square must be to be taken for it.
NEAR = 0.1


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
