"""What noisy values say about the spread of the hidden ones, before any shape is believed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from showthrough.attack.kernel import Kernel
from showthrough.attack.noise import Floats

__all__ = ["Spread", "best_constant", "explain_spread"]

#: A log-likelihood ratio of 5 has a probability of about 1 in 150 when two free numbers fit noise.
_CLEAR_GAIN = 5.0

_NO_CHANCE = 1e-6

#: A probability that stands for none where logarithms are taken.
_IMPOSSIBLE = 1e-300

#: How far between two bins a constant is tried.
_PARTS = tuple(part / 16 for part in range(1, 16))


@dataclass(frozen=True)
class Spread:
    """Variances, and whether the hidden values can be told from a single constant.

    ``gain`` is by how much the log-likelihood of all values is higher for the rebuilt distribution
    than for the best constant. ``chance`` is about the probability that noise alone varies as little
    as the published values do.
    """

    published: float
    noise: float
    gain: float
    chance: float

    @classmethod
    def of(cls, counts: NDArray[np.int64], width: float, *, noise: float, gain: float) -> Spread:
        """From counts in bins of this width and the variance of the noise."""
        total = int(counts.sum())
        share, at = counts / total, width * np.arange(len(counts))
        apart = (at - share @ at) ** 2
        binned = float(share @ apart)
        # Sheppard: binning adds width²/12.
        variance = max(binned - width**2 / 12, 0.0)
        # A variance's degrees of freedom shrink with heavy tails: Var(s²) = σ⁴(κ − 1)/n.
        kurtosis = float(share @ apart**2) / binned**2 if binned > 0 else 3.0
        freedom = (total - 1) / max(1.0, (kurtosis - 1) / 2)
        chance = float(special.chdtr(freedom, freedom * variance / noise)) if total > 1 else 1.0
        return cls(variance, noise, gain, chance)

    @property
    def hidden(self) -> float:
        """The estimated variance of the hidden values; chance can make it negative."""
        return self.published - self.noise

    @property
    def is_seen(self) -> bool:
        """Whether the hidden values can be told from a single constant."""
        return self.gain > _CLEAR_GAIN

    @property
    def is_impossible(self) -> bool:
        """Whether the published values vary less than the noise alone could."""
        return self.chance < _NO_CHANCE


def best_constant(counts: NDArray[np.int64], taps: Floats) -> tuple[float, float]:
    """Where the one hidden value lies under which the counts are likeliest, and their log-likelihood.

    The place is counted in bins, 0 being the middle of the first. Between two middles a constant is a
    mixture of both bins; without that, many values would tell it from every single bin.

    >>> place, fit = best_constant(np.array([0, 1, 2, 1, 0]), np.array([0.25, 0.5, 0.25]))
    >>> place, round(fit, 6) == round(2 * math.log(0.25) + 2 * math.log(0.5), 6)
    (1.0, True)
    """
    one = taps / taps.sum()
    n_places = len(counts) - len(taps) + 1
    logs = np.log(np.maximum(one, _IMPOSSIBLE))
    # Beyond the taps every value is impossible too, so logarithms are counted from there.
    least = math.log(_IMPOSSIBLE)
    fits = Kernel.of(logs - least, bins=(n_places,)).unfold(counts.astype(float))
    best = int(fits.argmax())
    place, most = float(best), float(fits[best]) + least * int(counts.sum())
    for first in (best - 1, best):
        if not 0 <= first < n_places - 1:
            continue
        near = counts[first : first + len(taps) + 1]
        beyond = least * int(counts.sum() - near.sum())
        for part in _PARTS:
            mixed = (1 - part) * np.append(one, 0.0) + part * np.append(0.0, one)
            fit = float(near @ np.log(np.maximum(mixed, _IMPOSSIBLE))) + beyond
            if fit > most:
                place, most = first + part, fit
    return place, most


def explain_spread(spread: Spread, *, constant: float, n_values: int) -> str:
    """What the result is worth, in a sentence."""
    noise, published = math.sqrt(spread.noise), math.sqrt(spread.published)
    if n_values == 1:
        return "one value says where it may lie, nothing about a distribution"
    if spread.is_impossible:
        return (
            f"the published values vary less (sd {published:.4g}) than the noise alone would "
            f"(sd {noise:.4g}): the noise is not what was said, and the result is not to be trusted"
        )
    if not spread.is_seen:
        return (
            f"no spread is recoverable: under noise of sd {noise:.4g}, {n_values:,} values cannot be told "
            f"from the single value {constant:.5g}; the shape of the result means nothing"
        )
    return f"the hidden values' sd is about {math.sqrt(max(spread.hidden, 0)):.4g}, the noise's {noise:.4g}"
