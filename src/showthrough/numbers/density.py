"""A distribution as a binned density: what reconstruction returns and disclosure is measured on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from showthrough.errors import InputError, check_type
from showthrough.export import Tabular
from showthrough.numbers.interquantile import check_confidence
from showthrough.numbers.noise import Floats, as_floats

__all__ = [
    "Distribution",
    "Grid",
]

#: Half the width of the bin that stands for a single point, as a share of its distance from 0.
_POINT = 1e-9


@dataclass(frozen=True)
class Grid:
    """Bins of equal width, the first from ``low`` to ``low + width``.

    Parameters
    ----------
    low
        The lower end of the first bin.
    width
        The width of each bin, above 0.
    bins
        How many bins.

    Examples
    --------
    >>> Grid(0.0, 2.5, 4).edges.tolist(), Grid.over(0, 10, bins=4) == Grid(0.0, 2.5, 4)
    ([0.0, 2.5, 5.0, 7.5, 10.0], True)
    """

    low: float
    width: float
    bins: int

    def __post_init__(self) -> None:
        check_type(self.low, Real, name="the lower end of a grid")
        check_type(self.width, Real, name="the width of a bin")
        check_type(self.bins, Integral, name="the number of bins")
        if not (np.isfinite(self.low) and np.isfinite(self.width) and self.width > 0):
            raise InputError(
                "a grid needs finite ends and a positive width", found=f"{self.low}, {self.width}"
            )
        if self.bins < 1:
            raise InputError("a grid needs one bin or more", found=str(self.bins))
        if not self.low + self.width > self.low or not self.high - self.width < self.high:
            raise InputError(
                "the bins are too narrow to be told apart at this distance from 0",
                found=f"width {self.width:g} at {self.low:g}",
                remedy="use fewer bins, or subtract a constant from the values",
            )

    @classmethod
    def over(cls, low: float, high: float, *, bins: int) -> Grid:
        """Bins of equal width from ``low`` to ``high``."""
        check_type(low, Real, name="the lower end of a grid")
        check_type(high, Real, name="the upper end of a grid")
        check_type(bins, Integral, name="the number of bins")
        if bins < 1:
            raise InputError("a grid needs one bin or more", found=str(bins))
        return cls(float(low), (float(high) - float(low)) / bins, bins)

    @property
    def high(self) -> float:
        """The upper end."""
        return self.low + self.width * self.bins

    @property
    def edges(self) -> Floats:
        """The ends of the bins, one more than there are bins."""
        return self.low + self.width * np.arange(self.bins + 1, dtype=np.float64)

    @property
    def midpoints(self) -> Floats:
        """The middle of each bin."""
        return self.low + self.width * (np.arange(self.bins, dtype=np.float64) + 0.5)


@dataclass(frozen=True, eq=False)
class Distribution(Tabular):
    """Probability mass in bins, spread evenly within each.

    Parameters
    ----------
    edges
        The ends of the bins, increasing, one more than there are bins.
    mass
        The probability of each bin; divided by its sum.

    Examples
    --------
    >>> half = Distribution([0, 1, 2], [0.25, 0.75])
    >>> half.mean, half.quantile(0.25), half.cumulative([0.5, 5]).tolist()
    (1.25, 1.0, [0.125, 1.0])
    >>> half.interval(0.5)[0], half.loss(Distribution([0, 2], [1]))
    (1.0, 0.25)
    """

    edges: Floats
    mass: Floats

    def __post_init__(self) -> None:
        edges = np.array(as_floats(self.edges, "the edges"))
        mass = np.array(as_floats(self.mass, "the masses"))
        if edges.ndim != 1 or mass.ndim != 1 or len(edges) != len(mass) + 1 or not len(mass):
            raise InputError(
                "a distribution needs one edge more than bins", found=f"{edges.shape}, {mass.shape}"
            )
        if not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            raise InputError("the edges of a distribution must be finite and increase")
        if not (np.isfinite(mass).all() and (mass >= 0).all() and mass.sum() > 0):
            raise InputError("the masses of a distribution must be finite, not negative, and not all 0")
        mass = mass / mass.sum()
        edges.setflags(write=False)
        mass.setflags(write=False)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "mass", mass)

    @classmethod
    def of(
        cls, values: ArrayLike, grid: Grid | None = None, *, weights: ArrayLike | None = None
    ) -> Distribution:
        """The histogram of known values; what lies outside the grid gets one further bin on its side.

        >>> Distribution.of([0.5, 1.5, 1.6, 9.0], Grid(0.0, 1.0, 2)).mass.tolist()
        [0.25, 0.5, 0.25]
        """
        if grid is not None:
            check_type(grid, Grid, name="grid", remedy="write Grid(0, 2.5, 40)")
        found = as_floats(values).ravel()
        if not len(found) or not np.isfinite(found).all():
            raise InputError("a distribution needs values, all of them finite", found=f"{len(found)} values")
        edges = grid.edges if grid is not None else _automatic_edges(found)
        below, above = found.min(), found.max()
        if below < edges[0]:
            edges = np.concatenate([[below], edges])
        if above > edges[-1]:
            edges = np.concatenate([edges, [above]])
        given = None if weights is None else as_floats(weights, "the weights").ravel()
        if given is not None and given.shape != found.shape:
            raise InputError("give one weight for each value", found=f"{len(given)} for {len(found)} values")
        return cls(edges, np.histogram(found, edges, weights=given)[0].astype(float))

    @property
    def widths(self) -> Floats:
        """The width of each bin."""
        return np.diff(self.edges)

    @property
    def midpoints(self) -> Floats:
        """The middle of each bin."""
        return (self.edges[1:] + self.edges[:-1]) / 2

    @cached_property
    def _shares(self) -> Floats:
        """The cumulative probability at every edge."""
        shares = np.concatenate([[0.0], np.cumsum(self.mass)])
        return shares / shares[-1]

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.mass @ self.midpoints)

    @property
    def variance(self) -> float:
        """The variance, the spread within bins included."""
        return float(self.mass @ ((self.midpoints - self.mean) ** 2 + self.widths**2 / 12))

    def density(self, x: ArrayLike) -> Floats:
        """The probability density at x; 0 outside."""
        at = np.asarray(x, float)
        # The upper end belongs to the last bin.
        bins = np.minimum(np.searchsorted(self.edges, at, side="right") - 1, len(self.mass) - 1)
        inside = (at >= self.edges[0]) & (at <= self.edges[-1])
        return np.where(inside, self.mass[bins] / self.widths[bins], 0.0)

    def cumulative(self, x: ArrayLike) -> Floats:
        """The probability of at most x."""
        return np.interp(np.asarray(x, float), self.edges, self._shares)

    def quantiles(self, shares: ArrayLike) -> Floats:
        """The least values with at least these probabilities below them."""
        wanted = np.asarray(shares, float)
        if not ((wanted >= 0) & (wanted <= 1)).all():
            raise InputError("a quantile is asked for a share from 0 to 1", found=str(shares))
        # Share 0 is the left end of the first bin that has mass; a bin in which shares rise has some.
        first = int(np.flatnonzero(self.mass)[0])
        bins = np.maximum(np.searchsorted(self._shares, wanted) - 1, first)
        part = (wanted - self._shares[bins]) / self.mass[bins]
        return self.edges[bins] + np.minimum(part, 1) * self.widths[bins]

    def quantile(self, share: float) -> float:
        """The least value with at least this probability below it."""
        return float(self.quantiles(share))

    def interval(self, confidence: float) -> tuple[float, float]:
        """The inter-quantile interval: ``confidence`` between its ends, half the rest on either side."""
        check_confidence(confidence)
        return self.quantile((1 - confidence) / 2), self.quantile((1 + confidence) / 2)

    def loss(self, other: Distribution) -> float:
        """The information loss ½∫|f − g|, exact on the common refinement of the bins; 0 to 1."""
        check_type(other, Distribution, name="other", remedy="use Distribution.of for values")
        edges = np.union1d(self.edges, other.edges)
        mine, theirs = np.diff(self.cumulative(edges)), np.diff(other.cumulative(edges))
        return float(np.abs(mine - theirs).sum() / 2)

    def to_arrow(self) -> pa.Table:
        """One row for each bin: its ends, its mass and its density."""
        return pa.table(
            {
                "low": pa.array(self.edges[:-1], pa.float64()),
                "high": pa.array(self.edges[1:], pa.float64()),
                "mass": pa.array(self.mass, pa.float64()),
                "density": pa.array(self.mass / self.widths, pa.float64()),
            }
        )

    def __repr__(self) -> str:
        ends = f"{self.edges[0]:.6g} to {self.edges[-1]:.6g}"
        sd = float(np.sqrt(self.variance))
        return f"Distribution({len(self.mass):,} bins from {ends}, mean {self.mean:.5g}, sd {sd:.4g})"

    def sample(self, size: int, *, seed: int | np.random.Generator) -> Floats:
        """Independent draws."""
        return self.quantiles(np.random.default_rng(seed).uniform(size=size))


def _automatic_edges(values: Floats) -> Floats:
    """A histogram's bins: Freedman and Diaconis' number or Sturges', at most 1,000."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        # As good as a point, in whatever unit: next to anything that varies all information is lost.
        reach = _POINT * (abs(low) or 1.0)
        return np.array([low - reach, low + reach])
    bins = min(1_000, len(np.histogram_bin_edges(values[:100_000], "auto")) - 1)
    return np.histogram_bin_edges(values, bins)
