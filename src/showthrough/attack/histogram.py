"""Values counted for a picture: equal bins over the middle, and how many lie beyond it on either side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from showthrough.attack.noise import Floats
from showthrough.errors import InputError

__all__ = ["Histogram"]

#: Bins of a picture.
BINS = 60

#: The share of the values on either side that is counted, but not drawn: tails can be very long.
TAIL = 0.001


@dataclass(frozen=True, eq=False)
class Histogram:
    """Several lists of values in the same bins; ``beyond`` counts those below and above all bins.

    >>> shown = Histogram.of({"noisy": [0.0, 1.0, 2.0, 3.0]}, bins=3)
    >>> shown.edges.tolist(), shown.counts["noisy"].tolist(), shown.beyond["noisy"]
    ([0.0, 1.0, 2.0, 3.0], [1, 1, 2], (0, 0))
    """

    edges: Floats
    counts: Mapping[str, NDArray[np.int64]]
    beyond: Mapping[str, tuple[int, int]]

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
        return cls(
            edges,
            {name: np.histogram(given, edges)[0].astype(np.int64) for name, given in lists.items()},
            {name: (int((given < low).sum()), int((given > high).sum())) for name, given in lists.items()},
        )

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Histogram:
        """As :meth:`to_dict` wrote it."""
        counts = {name: np.asarray(found["counts"], np.int64) for name, found in content["values"].items()}
        beyond = {name: (found["below"], found["above"]) for name, found in content["values"].items()}
        return cls(np.asarray(content["edges"], np.float64), counts, beyond)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        values = {
            name: {"counts": found.tolist(), "below": self.beyond[name][0], "above": self.beyond[name][1]}
            for name, found in self.counts.items()
        }
        return {"edges": self.edges.tolist(), "values": values}

    def density(self, name: str) -> Floats:
        """The density of one list of values in each bin."""
        counts = self.counts[name]
        return counts / (int(counts.sum()) + sum(self.beyond[name])) / np.diff(self.edges)


def _middle(values: Floats) -> tuple[float, float]:
    """The ends of the middle; all of it where values are few."""
    if len(values) * TAIL < 1:
        return float(values.min()), float(values.max())
    low, high = np.quantile(values, [TAIL, 1 - TAIL]).tolist()
    return low, high
