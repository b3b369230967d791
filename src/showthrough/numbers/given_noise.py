"""Noise known by a density on a list of points, or by a sample of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PPoly

from showthrough.errors import InputError
from showthrough.numbers.noise import Floats, as_floats

__all__ = [
    "SampledNoise",
    "TabulatedNoise",
]

#: A sample's density is a histogram of at most this many bins.
_MOST_BINS = 2_048


def _numbers(values: ArrayLike, what: str, least: int) -> Floats:
    """A list of finite numbers."""
    found = np.array(as_floats(values, f"the {what}", remedy="give a list of numbers"))
    if found.ndim != 1 or len(found) < least:
        raise InputError(f"the {what} must be a list of {least} numbers or more", found=str(found.shape))
    if not np.isfinite(found).all():
        bad = int(np.flatnonzero(~np.isfinite(found))[0])
        raise InputError(f"the {what} must be finite", row=bad + 1, found=str(found[bad]))
    found.setflags(write=False)
    return found


def _least_reach(low: float, high: float) -> float:
    return max(abs(low), abs(high))


@dataclass(frozen=True, eq=False)
class TabulatedNoise:
    """Noise with a density given at increasing points, linear in between and 0 outside.

    Parameters
    ----------
    grid
        The points, increasing.
    density
        The density at each of them; it integrates to 1 but for a hundredth.

    Examples
    --------
    >>> triangle = TabulatedNoise([-1, 0, 1], [0, 1, 0])
    >>> triangle.cumulative([-1, 0, 0.5]).tolist(), round(triangle.variance, 6)
    ([0.0, 0.5, 0.875], 0.166667)
    """

    grid: Floats
    values: Floats
    _density: PPoly = field(init=False, repr=False)
    _cumulative: PPoly = field(init=False, repr=False)
    _integral: PPoly = field(init=False, repr=False)

    def __init__(self, grid: ArrayLike, density: ArrayLike) -> None:
        at, height = _numbers(grid, "points of the density", 2), _numbers(density, "density", 2)
        if len(at) != len(height):
            raise InputError("there must be one density per point", found=f"{len(height)} for {len(at)}")
        if not (np.diff(at) > 0).all():
            raise InputError("the points of the density must increase", remedy="sort them, without repeats")
        if height.min() < 0:
            raise InputError("a density is never negative", found=f"{height.min():g}")
        total = float(np.trapezoid(height, at))
        if not abs(total - 1) < 0.01:
            raise InputError("the density does not integrate to 1", found=f"{total:g}", remedy="divide by it")
        height = height / total
        pieces = PPoly(np.array([np.diff(height) / np.diff(at), height[:-1]]), at)
        object.__setattr__(self, "grid", at)
        object.__setattr__(self, "values", height)
        object.__setattr__(self, "_density", pieces)
        object.__setattr__(self, "_cumulative", pieces.antiderivative())
        object.__setattr__(self, "_integral", pieces.antiderivative(2))

    @property
    def mean(self) -> float:
        """The mean."""
        # ∫F = E[(top − R)⁺] = top − E[R] at the upper end.
        return float(self.grid[-1] - self._integral(self.grid[-1]))

    @property
    def variance(self) -> float:
        """The variance."""
        # ∫∫F = E[(top − R)²]/2 at the upper end.
        second = float(self._cumulative.antiderivative(2)(self.grid[-1]))
        return float(2 * second - (self.grid[-1] - self.mean) ** 2)

    def sample(self, size: int | tuple[int, ...], *, seed: int | np.random.Generator) -> Floats:
        """Independent draws, by inverting the cumulative probability piece by piece."""
        rng = np.random.default_rng(seed)
        share = self._cumulative(self.grid)
        wanted = rng.uniform(0, share[-1], size)
        piece = np.clip(np.searchsorted(share, wanted, side="right") - 1, 0, len(self.grid) - 2)
        rest = wanted - share[piece]
        slope, base = self._density.c[0, piece], self._density.c[1, piece]
        # rest = base·t + slope·t²/2, in the form that is stable for small slopes.
        step = 2 * rest / np.maximum(base + np.sqrt(np.maximum(base**2 + 2 * slope * rest, 0)), 1e-300)
        return np.clip(self.grid[piece] + step, self.grid[piece], self.grid[piece + 1])

    def density(self, x: ArrayLike) -> Floats:
        """The probability density at x."""
        at = np.asarray(x, float)
        inside = (at >= self.grid[0]) & (at <= self.grid[-1])
        return np.where(inside, self._density(np.clip(at, self.grid[0], self.grid[-1])), 0.0)

    def cumulative(self, x: ArrayLike) -> Floats:
        """The probability of at most x."""
        return np.clip(self._cumulative(np.clip(np.asarray(x, float), self.grid[0], self.grid[-1])), 0, 1)

    def cumulative_integral(self, x: ArrayLike) -> Floats:
        """∫ of the cumulative probability."""
        at = np.asarray(x, float)
        beyond = np.maximum(at - self.grid[-1], 0)
        return self._integral(np.clip(at, self.grid[0], self.grid[-1])) + beyond

    def reach(self, *, tail: float = 1e-9) -> float:
        """The half-width outside which there is at most ``tail``, to the next given point."""
        share = self.cumulative(self.grid)
        low = np.searchsorted(share, tail / 2, side="right") - 1
        high = np.searchsorted(share, 1 - tail / 2, side="left")
        last = len(self.grid) - 1
        return _least_reach(float(self.grid[max(low, 0)]), float(self.grid[min(high, last)]))

    def __str__(self) -> str:
        return f"a density given at {len(self.grid):,} points"


@dataclass(frozen=True, eq=False)
class SampledNoise:
    """Noise known by a sample; its density is the sample's histogram.

    Parameters
    ----------
    values
        Draws of the noise, two or more that differ.

    Examples
    --------
    >>> noise = SampledNoise([-1.0, 0.0, 0.0, 1.0])
    >>> noise.variance, noise.cumulative([-1, 0]).tolist()
    (0.5, [0.25, 0.75])
    """

    values: Floats
    _edges: Floats = field(init=False, repr=False)
    _heights: Floats = field(init=False, repr=False)
    _sums: Floats = field(init=False, repr=False)

    def __init__(self, values: ArrayLike) -> None:
        found = np.sort(_numbers(values, "sample of the noise", 2))
        if found[0] == found[-1]:
            raise InputError("the sample of the noise does not vary", found=f"{found[0]:g}")
        bins = min(_MOST_BINS, len(np.histogram_bin_edges(found, "auto")) - 1)
        heights, edges = np.histogram(found, bins, density=True)
        object.__setattr__(self, "values", found)
        object.__setattr__(self, "_edges", edges)
        object.__setattr__(self, "_heights", heights)
        object.__setattr__(self, "_sums", np.concatenate([[0.0], np.cumsum(found)]))

    @property
    def mean(self) -> float:
        """The sample's mean."""
        return float(self.values.mean())

    @property
    def variance(self) -> float:
        """The sample's variance."""
        return float(self.values.var())

    def sample(self, size: int | tuple[int, ...], *, seed: int | np.random.Generator) -> Floats:
        """Independent draws, with replacement."""
        return np.random.default_rng(seed).choice(self.values, size)

    def density(self, x: ArrayLike) -> Floats:
        """The sample's histogram at x."""
        at = np.asarray(x, float)
        bins = np.clip(np.searchsorted(self._edges, at, side="right") - 1, 0, len(self._heights) - 1)
        inside = (at >= self._edges[0]) & (at <= self._edges[-1])
        return np.where(inside, self._heights[bins], 0.0)

    def cumulative(self, x: ArrayLike) -> Floats:
        """The share of the sample that is at most x."""
        return np.searchsorted(self.values, np.asarray(x, float), side="right") / len(self.values)

    def cumulative_integral(self, x: ArrayLike) -> Floats:
        """∫ of the cumulative share: the mean of (x − r)⁺."""
        at = np.asarray(x, float)
        below = np.searchsorted(self.values, at, side="right")
        return (at * below - self._sums[below]) / len(self.values)

    def reach(self, *, tail: float = 1e-9) -> float:
        """The half-width outside which there is at most ``tail`` of the sample."""
        apart = np.sort(np.abs(self.values))
        return float(apart[max(0, len(apart) - 1 - int(tail * len(apart)))])

    def __str__(self) -> str:
        return f"a sample of {len(self.values):,} values of the noise"
