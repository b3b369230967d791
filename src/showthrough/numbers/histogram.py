"""Values counted for a picture: equal bins over the middle, and how many lie beyond it on either side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from showthrough.errors import InputError
from showthrough.numbers.noise import Floats

__all__ = [
    "Histogram",
    "HistogramCounts",
]

#: Bins of a picture.
BINS = 60

#: The share of the values on either side that is counted, but not drawn: tails can be very long.
TAIL = 0.001


@dataclass(frozen=True)
class HistogramCounts:
    """How many values lie in each bin, below all bins and above them."""

    counts: tuple[int, ...]
    below: int
    above: int

    @property
    def beyond(self) -> int:
        """How many values lie outside the bins."""
        return self.below + self.above


@dataclass(frozen=True)
class Histogram:
    """Several lists of values, by name, counted in the same bins.

    >>> shown = Histogram.of({"noisy": [0.0, 1.0, 2.0, 3.0]}, bins=3)
    >>> shown.edges, shown.values["noisy"]
    ((0.0, 1.0, 2.0, 3.0), HistogramCounts(counts=(1, 1, 2), below=0, above=0))
    """

    edges: tuple[float, ...]
    values: dict[str, HistogramCounts]

    @classmethod
    def of(cls, values: Mapping[str, ArrayLike], *, bins: int = BINS) -> Histogram:
        """From lists of values by name; the bins span the middle 99.8 % of each."""
        lists = {name: np.asarray(given, np.float64).ravel() for name, given in values.items()}
        if not lists or not all(len(given) for given in lists.values()):
            raise InputError("a histogram needs values")
        ends = [_middle(given) for given in lists.values()]
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        if not high > low:
            reach = 0.5 * (abs(low) or 1.0)
            low, high = low - reach, high + reach
        edges = np.linspace(low, high, bins + 1)
        counted = {
            name: HistogramCounts(
                tuple(np.histogram(given, edges)[0].tolist()),
                int((given < low).sum()),
                int((given > high).sum()),
            )
            for name, given in lists.items()
        }
        return cls(tuple(edges.tolist()), counted)

    @property
    def midpoints(self) -> Floats:
        """The middle of each bin."""
        edges = np.asarray(self.edges)
        return (edges[:-1] + edges[1:]) / 2

    def density(self, name: str) -> Floats:
        """The density of one list of values in each bin."""
        found = self.values[name]
        return np.asarray(found.counts) / (sum(found.counts) + found.beyond) / np.diff(self.edges)


def _middle(values: Floats) -> tuple[float, float]:
    """The ends of the middle; all of it where values are few."""
    if len(values) * TAIL < 1:
        return float(values.min()), float(values.max())
    low, high = np.quantile(values, [TAIL, 1 - TAIL]).tolist()
    return low, high
