"""Sampling, perturbing and scaling with every number rounded by itself, as the method was printed.

Of the records of a value ⌊τ |g_sa|⌋ are drawn and one more with the fractional probability; every perturbed
record gets ⌊τ'⌋ copies and one more with the fractional probability. So the sample exceeds its limit in
about half of all draws, and the published group has another size than the group. For comparison only:
:func:`showthrough.microdata.sampled.sample_counts` rounds systematically and keeps both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from showthrough.microdata.uniform import Cells, perturb_counts

__all__ = ["printed_counts", "printed_sample"]

Whole = NDArray[np.int64]


def printed_sample(counts: Whole, trials: ArrayLike, *, chance: np.random.Generator) -> Whole:
    """How many records of each value are drawn from each group, rounded one by one.

    >>> counts, chance = np.array([[900, 100], [2, 1]]), np.random.default_rng(1)
    >>> printed_sample(counts, [92, 3], chance=chance).tolist()
    [[83, 9], [2, 1]]
    """
    sizes = counts.sum(axis=1, keepdims=True)
    return _rounded(counts * (np.asarray(trials)[:, None] / np.maximum(sizes, 1)), chance)


def printed_counts(counts: Any, trials: ArrayLike, retention: float, *, chance: np.random.Generator) -> Cells:
    """A matrix of counts, sampled, perturbed and scaled, with each number rounded by itself."""
    dense = counts.toarray()
    sizes = dense.sum(axis=1)
    drawn = np.where(
        (np.asarray(trials) < sizes)[:, None], printed_sample(dense, trials, chance=chance), dense
    )
    shown = perturb_counts(csr_array(drawn), retention, chance=chance).matrix(counts.shape).toarray()
    copies = sizes / np.maximum(shown.sum(axis=1), 1)
    whole = np.floor(copies).astype(np.int64)[:, None]
    scaled = shown * whole + chance.binomial(shown, (copies - whole[:, 0])[:, None])
    group, value = np.nonzero(scaled)
    return Cells(group, value, scaled[group, value])


def _rounded(numbers: NDArray[np.float64], chance: np.random.Generator) -> Whole:
    low = np.floor(numbers)
    return (low + (chance.random(numbers.shape) < numbers - low)).astype(np.int64)
