"""The attack on single people: each person's own noisy value, and Bayes' rule.

An attacker who has rebuilt the distribution f̂ and sees somebody's published value z knows
f(x | z) ∝ f̂(x) f_R(z − x). An interval that holds most of *that* is about this person, not about the
population.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError, RecordsError, check_type
from showthrough.numbers.density import Distribution
from showthrough.numbers.interquantile import Interval, check_confidence
from showthrough.numbers.joint_noise import as_column_noise
from showthrough.numbers.noise import Floats, Noise, as_floats

__all__ = [
    "Shape",
    "posterior_intervals",
    "posterior_masses",
]

#: Which of the intervals with this probability: half the rest on either side, or the shortest.
Shape = Literal["equal-tailed", "shortest"]

#: The most published values that intervals are computed at; in between they are interpolated.
MOST_NODES = 4_096

#: Published values that are worked on together.
NEIGHBOURS = 64

#: Below this share of the largest density a published value counts as far out in a tail.
UNLIKELY = 1e-9

#: Published values less likely than this are taken for impossible, and the prior says nothing.
IMPOSSIBLE = 1e-280


def posterior_intervals(
    values: ArrayLike,
    noise: Noise | str,
    distribution: Distribution,
    *,
    confidence: float = 0.95,
    shape: Shape = "equal-tailed",
) -> Interval:
    """For each published value the interval that holds the true one at this confidence.

    Memory and time depend on the number of bins and of different values (up to a few thousand, then
    neighbours share their interval up to a fraction of a bin), not on records × bins. A value that
    no true one could have led to gets the interval of the noise around it.

    Parameters
    ----------
    values
        The noisy values of one column.
    noise
        The law of the noise, or its text.
    distribution
        The distribution of the hidden values, rebuilt or known.
    confidence
        The posterior probability of each interval.
    shape
        ``"equal-tailed"`` leaves as much on either side; ``"shortest"`` is as short as possible.

    Returns
    -------
    Interval
        One interval for each value.

    Raises
    ------
    InputError
        If a value is missing or infinite, or the noise is for several columns.

    Examples
    --------
    >>> flat = Distribution(np.linspace(0, 100, 101), np.ones(100))
    >>> found = posterior_intervals([50.0, 105.0], "uniform:10", flat, confidence=0.9)
    >>> found.low.tolist(), found.high.tolist()
    ([41.0, 95.25], [59.0, 99.75])
    """
    check_confidence(confidence)
    law = as_column_noise(noise)
    if shape not in ("equal-tailed", "shortest"):
        raise InputError("unknown shape of interval", found=str(shape), remedy="equal-tailed or shortest")
    check_type(distribution, Distribution, name="distribution", remedy="use Distribution.of, or reconstruct")
    seen = as_floats(values)
    if seen.ndim != 1 or not len(seen) or not np.isfinite(seen).all():
        raise RecordsError("published values are a list of finite numbers", found=f"{seen.shape}")
    nodes = _nodes(seen, distribution)
    choose = _equal_tailed if shape == "equal-tailed" else _shortest
    low, high = _at_nodes(nodes, law, distribution, confidence=confidence, choose=choose)
    return Interval(np.interp(seen, nodes, low), np.interp(seen, nodes, high))


def posterior_masses(values: ArrayLike, noise: Noise, distribution: Distribution) -> Floats:
    """For each published value (rows) the probability of each bin (columns); rows of 0 if impossible.

    The noise is integrated over each bin, so that its edges may lie anywhere.
    """
    seen = np.asarray(values, np.float64)
    found = _weights(seen, noise, distribution, slice(0, len(distribution.mass)))
    # Far out in a tail differences of probabilities cancel; densities do not.
    far = np.flatnonzero(found.sum(axis=1) < UNLIKELY * float(_heights(distribution).max()))
    if len(far):
        found[far] = noise.density(seen[far, None] - distribution.midpoints) * distribution.mass
    total = found.sum(axis=1)
    possible = total > IMPOSSIBLE
    found[~possible] = 0
    found[possible] /= total[possible, None]
    return found


def _weights(seen: Floats, noise: Noise, distribution: Distribution, bins: slice) -> Floats:
    """f̂ times the noise's probability over each of these bins."""
    edges = distribution.edges[bins.start : bins.stop + 1]
    from_edges = noise.cumulative(seen[:, None] - edges[None, :])
    return (from_edges[:, :-1] - from_edges[:, 1:]) * _heights(distribution)[bins]


def _heights(distribution: Distribution) -> Floats:
    return distribution.mass / distribution.widths


def _nodes(seen: Floats, distribution: Distribution) -> Floats:
    """Where intervals are computed: at all values if they are few, else at equal steps."""
    if len(seen) <= MOST_NODES:
        return np.unique(seen)
    low, high = float(seen.min()), float(seen.max())
    step = float(distribution.widths.min()) / 4
    n = int(min(MOST_NODES, max(2, (high - low) / step + 2)))
    return np.linspace(low, high, n) if high > low else np.array([low])


def _at_nodes(
    nodes: Floats,
    noise: Noise,
    distribution: Distribution,
    *,
    confidence: float,
    choose: Callable[[Floats, Floats, float], tuple[float, float]],
) -> tuple[Floats, Floats]:
    furthest, usual = _support(noise), noise.reach(tail=1 - confidence)
    ends = np.stack([nodes - usual, nodes + usual])
    for places, edges, masses in _posteriors(nodes, noise, distribution):
        shares = np.zeros((len(masses), len(edges)))
        np.cumsum(masses, axis=1, out=shares[:, 1:])
        possible = masses.any(axis=1)
        for at, row in zip(places[possible].tolist(), shares[possible], strict=True):
            ends[:, at] = choose(row / row[-1], edges, confidence)
    # A bin may stick out of what the noise can do.
    low, high = np.clip(ends, nodes - furthest, nodes + furthest)
    return low, high


def _support(noise: Noise) -> float:
    """How far the noise can go at all; infinity where its tails have no end."""
    reach = noise.reach(tail=1e-12) * (1 + 1e-9)
    bounded = float(noise.cumulative(-reach)) == 0 and float(noise.cumulative(reach)) == 1
    return reach if bounded else np.inf


def _posteriors(
    nodes: Floats, noise: Noise, distribution: Distribution
) -> Iterator[tuple[NDArray[np.intp], Floats, Floats]]:
    """For some nodes at a time the edges of the bins that matter, and a row of weights for each node.

    Neighbouring nodes share their bins: those within reach of the noise, and all of them for nodes
    that the nearby ones hardly explain.
    """
    edges, reach = distribution.edges, noise.reach(tail=1e-15)
    least = UNLIKELY * float(_heights(distribution).max())
    for start in range(0, len(nodes), NEIGHBOURS):
        part = nodes[start : start + NEIGHBOURS]
        first = int(np.searchsorted(edges, part[0] - reach, side="right")) - 1
        last = int(np.searchsorted(edges, part[-1] + reach, side="left"))
        bins = slice(max(0, first), min(len(distribution.mass), max(last, first + 1, 1)))
        weights = _weights(part, noise, distribution, bins)
        explained = weights.sum(axis=1) > least
        yield start + np.flatnonzero(explained), edges[bins.start : bins.stop + 1], weights[explained]
        for at in np.flatnonzero(~explained).tolist():
            yield np.array([start + at], np.intp), edges, posterior_masses(part[[at]], noise, distribution)


def _equal_tailed(shares: Floats, edges: Floats, confidence: float) -> tuple[float, float]:
    low, high = np.interp([(1 - confidence) / 2, (1 + confidence) / 2], shares, edges)
    return float(low), float(high)


def _shortest(shares: Floats, edges: Floats, confidence: float) -> tuple[float, float]:
    """The length is linear between edges, so the shortest interval starts or ends at one."""
    starts = np.flatnonzero(shares <= 1 - confidence)
    ends = np.flatnonzero(shares >= confidence)
    low = np.concatenate([edges[starts], np.interp(shares[ends] - confidence, shares, edges)])
    high = np.concatenate([np.interp(shares[starts] + confidence, shares, edges), edges[ends]])
    best = int(np.argmin(high - low))
    return float(low[best]), float(high[best])
