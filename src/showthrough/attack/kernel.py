"""The noise on a grid: probabilities from bin to bin, and convolution with them by FFT.

A value in bin p of the hidden grid is published in bin s with probability A[s, p], which depends on
s − p alone. So folding a distribution with the noise, and the transposed product the update needs,
are convolutions: they cost bins × log bins, whatever the number of records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import fft

from showthrough.attack.noise import Floats, Noise
from showthrough.errors import InputError

__all__ = ["Kernel", "Method", "make_taps", "n_taps_beside"]

#: ``as`` takes the density of the noise at midpoints, ``em`` integrates it over whole bins.
Method = Literal["as", "em"]

#: No more bins than this on either side of a value.
_MOST_TAPS = 2**18


def n_taps_beside(noise: Noise, width: float, *, tail: float) -> int:
    """How many bins the noise reaches on either side, but for a ``tail``."""
    beside = math.ceil(noise.reach(tail=tail) / width) + 1
    if beside > _MOST_TAPS:
        raise InputError(
            "the noise is too wide for bins so narrow",
            found=f"{beside:,} bins on either side",
            remedy="use wider bins, or give no grid: then one is chosen",
        )
    return beside


def make_taps(noise: Noise, width: float, beside: int, method: Method) -> Floats:
    """Probabilities to be published −``beside`` to ``beside`` bins away from the own bin.

    >>> from showthrough.attack.noise import Uniform
    >>> make_taps(Uniform(1), 1.0, 2, "em").tolist(), make_taps(Uniform(1), 1.0, 2, "as").tolist()
    ([0.0, 0.25, 0.5, 0.25, 0.0], [0.0, 0.5, 0.5, 0.5, 0.0])
    """
    apart = width * np.arange(-beside, beside + 1)
    if method == "as":
        taps = width * noise.density(apart)
    else:
        # P(Z in s | U even over p) is a second difference of ∫F, exactly.
        folded = noise.cumulative_integral(width * np.arange(-beside - 1, beside + 2))
        taps = np.diff(folded, 2) / width
        # Differences of numbers as large as `reach` leave rounding where there is no noise at all.
        taps[taps < 1e-15 * (beside + 1)] = 0
    if not taps.sum() > 0:
        raise InputError(
            "no bin's midpoint is reached by the noise",
            found=f"bins of width {width:g}",
            remedy="use narrower bins, or the method em",
        )
    return taps


@dataclass(frozen=True, eq=False)
class Kernel:
    """Convolution with taps along the last axes; all axes before them run side by side.

    >>> Kernel.of(np.array([0.25, 0.5, 0.25]), bins=(2,)).fold(np.array([1.0, 0.0])).round(6).tolist()
    [0.25, 0.5, 0.25, 0.0]
    """

    bins: tuple[int, ...]
    published: tuple[int, ...]
    lengths: tuple[int, ...]
    transform: np.ndarray

    @classmethod
    def of(cls, taps: Floats, *, bins: tuple[int, ...]) -> Kernel:
        """From taps whose last axes are as many as the grid has."""
        extent = taps.shape[-len(bins) :]
        published = tuple(b + t - 1 for b, t in zip(bins, extent, strict=True))
        lengths = tuple(int(fft.next_fast_len(size, real=True) or size) for size in published)
        transform = np.asarray(fft.rfftn(taps, lengths))
        return cls(bins, published, lengths, transform)

    def __getitem__(self, columns: np.ndarray) -> Kernel:
        """The same for some of the columns."""
        return Kernel(self.bins, self.published, self.lengths, self.transform[columns])

    def fold(self, mass: Floats) -> Floats:
        """The distribution that is published when this one is hidden."""
        return self._apply(mass, self.transform, self.published)

    def unfold(self, ratio: Floats) -> Floats:
        """The transposed product: what every published bin says, collected at the hidden bins."""
        return self._apply(ratio, self.transform.conj(), self.bins)

    def _apply(self, values: Floats, transform: np.ndarray, keep: tuple[int, ...]) -> Floats:
        # SciPy transforms as many of the last axes as there are lengths.
        spectrum = np.asarray(fft.rfftn(values, self.lengths))
        spectrum *= transform
        whole = np.asarray(fft.irfftn(spectrum, self.lengths, overwrite_x=True))
        return whole[(..., *(slice(size) for size in keep))]
