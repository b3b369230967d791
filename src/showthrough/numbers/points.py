"""Values that many people hold exactly, such as 0, and the attack that names them.

A rebuilt density has no place for such a value: its intervals are never a single point, so an attacker
who only reads densities would seem harmless to everybody whose privacy interval is narrow. Whoever
knows that many people hold exactly 0 says "exactly 0" instead, wherever that is likely enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from showthrough.errors import InputError, check_each
from showthrough.numbers.density import Distribution
from showthrough.numbers.interquantile import Interval
from showthrough.numbers.noise import Floats, Noise, as_floats
from showthrough.numbers.posterior import posterior_intervals

__all__ = [
    "Mixed",
    "Point",
    "find_points",
    "fit_beside",
    "point_intervals",
    "whose",
]

#: The least share and number of people who hold a value that counts, and the most such values.
LEAST_SHARE, LEAST_PEOPLE, MOST_POINTS = 0.02, 5, 50

#: How many times more people hold it than hold another value of the column (0 always counts).
HEAP = 10

#: Published values and bins of the density that the shares are fitted with, and steps of the fit.
MOST_SEEN, MOST_BINS, STEPS = 2_048, 256, 200

#: Published values around a point at which the density of all others is computed.
NODES = 2_001

#: Half the width of the bin that stands for a point, as a share of the spread of all bins.
NARROW = 1e-10


@dataclass(frozen=True)
class Point:
    """A value that a share of the people hold exactly."""

    value: float
    share: float

    def __str__(self) -> str:
        return f"exactly {self.value:g}"


def find_points(values: ArrayLike) -> tuple[Point, ...]:
    """The values that stand out by how many people hold them exactly, in order.

    >>> zeros = np.concatenate([np.zeros(80), np.linspace(1, 9, 20)])
    >>> find_points(zeros), find_points(np.arange(100) % 10)
    ((Point(value=0.0, share=0.8),), (Point(value=0.0, share=0.1),))
    """
    given = as_floats(values).ravel()
    held, counts = np.unique(given, return_counts=True)
    if not len(held):
        return ()
    least = max(LEAST_PEOPLE, LEAST_SHARE * len(given))
    usual = float(np.median(counts))
    chosen = (counts >= least) & ((counts >= HEAP * usual) | (held == 0))
    most = np.sort(np.argsort(-np.where(chosen, counts, 0), kind="stable")[:MOST_POINTS])
    return tuple(Point(float(held[at]), float(counts[at] / len(given))) for at in most if chosen[at])


def whose(points: Sequence[Point], *, at: bool = True) -> str:
    """The people at these points, or (not ``at``) all others, as a clause.

    >>> whose([Point(0.0, 0.5)]), whose([Point(0.0, 0.5), Point(100.0, 0.1)], at=False)
    ('whose value is exactly 0', 'whose value is neither 0 nor 100')
    """
    values = [f"{point.value:g}" for point in points]
    if len(values) > 4:
        values = [*values[:3], "one of the other common values"]
    if at:
        return f"whose value is exactly {' or '.join(values)}"
    return f"whose value is {'not exactly' if len(values) == 1 else 'neither'} {' nor '.join(values)}"


def point_intervals(
    values: ArrayLike,
    noise: Noise,
    distribution: Distribution,
    points: Sequence[Point],
    *,
    confidence: float = 0.95,
) -> Interval:
    """For each published value the shortest interval that holds the true one at this confidence.

    Where a point alone is likely enough, the interval is that point.

    Parameters
    ----------
    values
        The noisy values of one column.
    noise
        The law of the noise.
    distribution
        The distribution of the hidden values, rebuilt without points.
    points
        The values that many people hold, and how many, which the attacker knows.
    confidence
        The posterior probability of each interval.

    Returns
    -------
    Interval
        One interval for each value.

    Examples
    --------
    >>> from showthrough.numbers.noise import UniformNoise
    >>> flat = Distribution(np.linspace(0, 100, 101), np.ones(100))
    >>> found = point_intervals([0.5, 60.0], UniformNoise(10), flat, [Point(0.0, 0.8)])
    >>> found.low.round(2).tolist(), found.high.round(2).tolist()
    ([0.0, 50.0], [0.0, 69.0])
    """
    mixed = fit_beside(values, noise, distribution, points)
    found = posterior_intervals(
        values, noise, mixed.as_distribution(), confidence=confidence, shape="shortest"
    )
    low, high = found.low.copy(), found.high.copy()
    for point, likely in zip(points, mixed.probabilities(as_floats(values), noise), strict=True):
        low[likely >= confidence] = high[likely >= confidence] = point.value
    return Interval(low, high)


@dataclass(frozen=True, eq=False)
class Mixed:
    """Points of known shares, and a density for everybody else."""

    density: Distribution
    points: tuple[Point, ...]

    @property
    def rest(self) -> float:
        """The share of the people who hold none of the points."""
        return max(0.0, 1 - sum(point.share for point in self.points))

    def probabilities(self, seen: Floats, noise: Noise) -> Iterator[Floats]:
        """For each point the probability that a person holds it, given each published value."""
        at_points = [point.share * noise.density(seen - point.value) for point in self.points]
        reach = noise.reach(tail=1e-12)
        for point, own in zip(self.points, at_points, strict=True):
            # The published density of all others is smooth: known at some values, it is known between.
            nodes = np.linspace(point.value - reach, point.value + reach, NODES)
            whole = self.rest * np.interp(seen, nodes, _blurred(nodes, noise, self.density))
            whole += sum(at_points, np.zeros(len(seen)))
            yield np.divide(own, whole, out=np.zeros_like(own), where=own > 0)

    def as_distribution(self) -> Distribution:
        """All in bins: each point in one that is as narrow as can be."""
        edges, reach = self.density.edges, _reach(self.density)
        cuts = np.concatenate([[point.value - reach, point.value + reach] for point in self.points])
        outer = np.unique(np.concatenate([edges, [cuts.min(), cuts.max()]]))
        refined = np.unique(np.concatenate([outer, cuts]))
        masses = self.rest * np.diff(self.density.cumulative(refined))
        for point in self.points:
            masses[int(np.searchsorted(refined, point.value, side="right")) - 1] += point.share
        return Distribution(refined, masses)


def fit_beside(values: ArrayLike, noise: Noise, distribution: Distribution, points: Sequence[Point]) -> Mixed:
    """Fit the density of those who hold none of the points, beside points of known shares."""
    check_each(points, Point, name="points", remedy="find them with find_points")
    total = sum(point.share for point in points)
    if not points or not 0 < total <= 1 + 1e-9:
        raise InputError("the shares of points lie between 0 and 1 together", found=f"{total:g}")
    start = _merged(distribution)
    nodes, counts = _counted(as_floats(values))
    likely = _over_bins(nodes, noise, start)
    fixed = sum((point.share * noise.density(nodes - point.value) for point in points), np.zeros(len(nodes)))
    mass = np.full(len(start.mass), max(0.0, 1 - total) / len(start.mass))
    for _ in range(STEPS):
        whole = likely @ mass + fixed
        found = mass * (np.divide(counts, whole, out=np.zeros_like(whole), where=whole > 0) @ likely)
        if not found.sum() > 0:  # the points explain everything that was seen
            break
        mass = found * (max(0.0, 1 - total) / found.sum())
    return Mixed(Distribution(start.edges, mass if mass.sum() > 0 else start.mass), tuple(points))


def _over_bins(seen: Floats, noise: Noise, distribution: Distribution) -> Floats:
    """The density of each published value (rows) given each bin (columns)."""
    from_edges = noise.cumulative(seen[:, None] - distribution.edges[None, :])
    return (from_edges[:, :-1] - from_edges[:, 1:]) / distribution.widths


def _blurred(seen: Floats, noise: Noise, distribution: Distribution) -> Floats:
    """The density of published values."""
    return _over_bins(seen, noise, distribution) @ distribution.mass


def _reach(distribution: Distribution) -> float:
    ends = distribution.edges
    return NARROW * float(max(ends[-1] - ends[0], abs(ends[0]), abs(ends[-1])))


def _merged(distribution: Distribution) -> Distribution:
    """The same distribution in at most this many bins."""
    step = -(-len(distribution.mass) // MOST_BINS)
    starts = np.arange(0, len(distribution.mass), step)
    edges = distribution.edges[np.append(starts, len(distribution.mass))]
    return Distribution(edges, np.add.reduceat(distribution.mass, starts))


def _counted(seen: Floats) -> tuple[Floats, Floats]:
    """Published values with how often they occur; in bins where they are many."""
    if len(seen) <= MOST_SEEN:
        return seen, np.ones(len(seen))
    counts, edges = np.histogram(seen, MOST_SEEN)
    middle = (edges[1:] + edges[:-1]) / 2
    return middle[counts > 0], counts[counts > 0].astype(np.float64)
