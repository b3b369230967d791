"""Values and noise on bins: exact counts in one pass, and convolution with the noise by FFT.

Counting needs bounded memory, and the order of the values does not matter. A value in bin p
of the hidden grid is published in bin s with probability A[s, p], which depends on s − p alone. So
folding a distribution with the noise, and the transposed product the update needs, are convolutions:
they cost bins × log bins, whatever the number of records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from showthrough.errors import InputError, closest
from showthrough.numbers.noise import Floats, Noise, as_floats

__all__ = [
    "BinCounts",
    "Kernel",
    "Method",
    "as_array",
    "check_method",
    "chunks_of",
    "count_in_bins",
    "make_taps",
    "n_taps_beside",
]

Counts = NDArray[np.int64]

#: The most bins that a tally keeps.
MOST_BINS = 2**17

#: Closer to 0 than this is 0, so that no quotient by a width underflows.
_TINY = 1e-150

#: Values of a list that are counted at a time.
_CHUNK = 2**20


class BinCounts:
    """Counts of values in bins whose width is a power of two, as fine as a fixed number of bins allows.

    The bins depend on the least and the largest value only, so neither the order of the values nor
    how they were cut into chunks changes the outcome: whenever a value falls outside, neighbouring
    bins are merged, which is exact because every edge is a multiple of the width.

    >>> tally = BinCounts(most_bins=8)
    >>> tally.add([1.0, 2.0]); tally.add([13.0])
    >>> tally.total, tally.width, tally.low, tally.counts.tolist()
    (3, 2.0, 0.0, [1, 1, 0, 0, 0, 0, 1])
    """

    def __init__(self, most_bins: int = MOST_BINS) -> None:
        self.most_bins = most_bins
        self.total = 0
        self.least, self.largest = math.inf, -math.inf
        self.counts: Counts = np.zeros(0, np.int64)
        self._exponent, self._first = -1_000, 0

    @classmethod
    def of(cls, values: ArrayLike | Iterable[ArrayLike], most_bins: int = MOST_BINS) -> BinCounts:
        """All values of a list, or of an iterator over chunks."""
        tally = cls(most_bins)
        for chunk in chunks_of(values):
            tally.add(chunk)
        if not tally.total:
            raise InputError("there are no values", remedy="give at least one")
        return tally

    def add(self, values: ArrayLike) -> None:
        """Count more values."""
        chunk = np.asarray(values, float).ravel()
        if not len(chunk):
            return
        low, high = check_finite(chunk, self.total)
        if (tiny := np.abs(chunk) < _TINY).any():
            chunk = np.where(tiny, 0.0, chunk)
            low, high = float(chunk.min()), float(chunk.max())
        self.total += len(chunk)
        self.least, self.largest = min(self.least, low), max(self.largest, high)
        self._widen()
        bins = np.floor(np.ldexp(chunk, -self._exponent)).astype(np.int64) - self._first
        self.counts += np.bincount(bins, minlength=len(self.counts))

    def _widen(self) -> None:
        """Make the bins reach from the least to the largest value so far."""
        size, span = max(abs(self.least), abs(self.largest)), self.largest - self.least
        # 2**50 bins from 0 at most: well within exact floats.
        exponent = max(self._exponent, math.frexp(size)[1] - 50)
        if span > 0:
            exponent = max(exponent, math.frexp(span / self.most_bins)[1] - 2)
        while self._place(self.largest, exponent) - self._place(self.least, exponent) >= self.most_bins:
            exponent += 1
        first, last = self._place(self.least, exponent), self._place(self.largest, exponent)
        old = self._first + np.arange(len(self.counts))
        moved = (old >> (exponent - self._exponent)) - first if len(old) else old
        counts = np.zeros(last - first + 1, np.int64)
        np.add.at(counts, moved, self.counts)
        self.counts, self._exponent, self._first = counts, exponent, first

    @staticmethod
    def _place(value: float, exponent: int) -> int:
        return math.floor(math.ldexp(value, -exponent))

    @property
    def width(self) -> float:
        """The width of a bin."""
        return math.ldexp(1.0, self._exponent)

    @property
    def low(self) -> float:
        """The lower end of the first bin."""
        return math.ldexp(float(self._first), self._exponent)

    @property
    def midpoints(self) -> Floats:
        """The middle of each bin."""
        return self.low + self.width * (np.arange(len(self.counts), dtype=np.float64) + 0.5)

    def moments(self) -> tuple[float, float, float]:
        """Mean, variance and fourth central moment, to the precision of the bins."""
        share = self.counts / self.total
        mean = float(share @ self.midpoints)
        apart = (self.midpoints - mean) ** 2
        return mean, float(share @ apart), float(share @ apart**2)

    def merged(self, low: float, width: float, bins: int) -> Counts:
        """Counts in coarser bins that start at a multiple of :attr:`width` and are multiples of it wide."""
        start, factor = round(low / self.width), round(width / self.width)
        places = (self._first + np.arange(len(self.counts)) - start) // factor
        inside = (places >= 0) & (places < bins)
        counts = np.zeros(bins, np.int64)
        if inside.any():
            places = places[inside]  # in order, so that those of one coarser bin lie side by side
            firsts = np.flatnonzero(np.diff(places, prepend=-1))
            counts[places[firsts]] = np.add.reduceat(self.counts[inside], firsts)
        return counts


def check_finite(chunk: Floats, before: int = 0) -> tuple[float, float]:
    """The least and largest of some values; ``before`` says how many came earlier."""
    low, high = float(chunk.min()), float(chunk.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        bad = int(np.flatnonzero(~np.isfinite(chunk))[0])
        raise InputError(
            "a value is missing or infinite",
            row=before + bad + 1,
            found=str(chunk[bad]),
            remedy="remove such rows first",
        )
    if high - low > 1e300 or max(-low, high) > 1e150:
        raise InputError("a value is too large to compute with", found=f"{max(low, high, key=abs):g}")
    return low, high


def check_method(method: object) -> None:
    """Raise an InputError unless this is a method that rebuilds distributions."""
    if not isinstance(method, str) or method not in ("as", "em"):
        raise InputError("unknown method", found=str(method), remedy=closest(str(method), ("as", "em")))


def as_array(values: ArrayLike | Iterable[ArrayLike]) -> NDArray[Any]:
    """The values as an array of whatever type they are of."""
    try:
        return np.asarray(values)
    except ValueError:
        return as_floats(values)  # rows of different lengths: the error says so


def chunks_of(values: ArrayLike | Iterable[ArrayLike]) -> Iterator[Floats]:
    """Values piece by piece: slices of a list or array, or what an iterator yields."""
    if isinstance(values, Iterator):
        for chunk in values:
            yield as_floats(chunk).ravel()
        return
    whole = as_array(values)
    if whole.ndim != 1:
        raise InputError("values must be a list, not a table or a single number", found=str(whole.shape))
    if whole.dtype.kind not in "fiub":
        raise InputError("values must be numbers", found=str(whole.dtype), remedy="convert them first")
    for start in range(0, len(whole), _CHUNK):
        yield whole[start : start + _CHUNK].astype(float, copy=False)


def count_in_bins(
    values: ArrayLike | Iterable[ArrayLike],
    *,
    low: float,
    width: float,
    bins: int,
    upper: float | None = None,
) -> tuple[Counts, int]:
    """Counts of values in given bins, and how many lie outside all of them.

    A value at the upper end belongs to the last bin, as in any histogram; ``upper`` is that end if
    there are further bins above it.

    >>> counts, outside = count_in_bins([0.5, 1.0, 7.0], low=0.0, width=1.0, bins=2)
    >>> counts.tolist(), outside
    ([1, 1], 1)
    """
    counts, outside, seen = np.zeros(bins, np.int64), 0, 0
    for chunk in chunks_of(values):
        if not len(chunk):
            continue
        check_finite(chunk, seen)
        seen += len(chunk)
        places = np.floor((chunk - low) / width)
        places[chunk == low + width * bins] = bins - 1
        if upper is not None:
            places[chunk == upper] = round((upper - low) / width) - 1
        inside = (places >= 0) & (places < bins)
        outside += len(chunk) - int(inside.sum())
        counts += np.bincount(places[inside].astype(np.int64), minlength=bins)
    if not seen:
        raise InputError("there are no values", remedy="give at least one")
    return counts, outside


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

    >>> from showthrough.numbers.noise import UniformNoise
    >>> make_taps(UniformNoise(1), 1.0, 2, "em").tolist(), make_taps(UniformNoise(1), 1.0, 2, "as").tolist()
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
