"""From published counts to true ones: unbiased, with standard errors, or consistent.

A record of a sub-table with domain size m shows its own value with probability p + (1 − p)/m and each
other one with (1 − p)/m. Given the data, a published count is a sum of independent draws of 0 or 1, so
its variance is known up to the true count, for which the estimate stands in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["invert", "likeliest", "variance"]

Floats = NDArray[np.float64]


def invert(
    observed: ArrayLike,
    sizes: ArrayLike,
    *,
    retention: ArrayLike,
    n_values: ArrayLike,
    n_chosen: ArrayLike = 1,
) -> Floats:
    """How many records have one of ``n_chosen`` values, from how many show one: (O − s (1 − p) n/m)/p.

    Unbiased; may be negative, or larger than the number of records, ``sizes``.

    >>> float(invert(60, 100, retention=0.5, n_values=2))
    70.0
    """
    shown, n, p = (np.asarray(numbers, np.float64) for numbers in (observed, sizes, retention))
    return (shown - np.asarray(n_chosen) * (1 - p) / np.asarray(n_values) * n) / p


def variance(
    estimates: ArrayLike,
    sizes: ArrayLike,
    *,
    retention: ArrayLike,
    n_values: ArrayLike,
    n_chosen: ArrayLike = 1,
    copies: ArrayLike = 1.0,
    within: ArrayLike | None = None,
    n_sums: int = 1,
) -> Floats:
    """The variance of a sum of such estimates, one for each unit (a sub-table, or a group) it is from.

    ``within`` says to which of several sums each unit belongs, ``n_sums`` how many there are at least.
    The variance is linear in the true count, so estimates stand in for it as they are, and only their
    sum is kept within its bounds.

    In a sampled publication the n records of a group are ``copies`` of trials, and copies of one trial
    are fully dependent: with c copies of each the variance of O is c times that of n independent
    records. Sampling and scaling are rounded, which moves each chosen value (or each other one, since
    totals are exact) by a number with a variance of at most ¼: times c² for the sample.

    >>> variance([70], [100], retention=0.5, n_values=2).round(9).tolist()
    [75.0]
    """
    f, n, p, m, s, c = np.broadcast_arrays(
        *(
            np.atleast_1d(np.asarray(x, np.float64))
            for x in (estimates, sizes, retention, n_values, n_chosen, copies)
        )
    )
    own, other = p + s * (1 - p) / m, s * (1 - p) / m
    scale, with_, without = c / p**2, own * (1 - own), other * (1 - other)
    rounded = np.minimum(s, m - s) / 4 * (c**2 + 1 / p**2) * (c > 1)
    sums = np.zeros(f.shape, np.int64) if within is None else np.asarray(within)
    drawn, least, most, extra = (
        np.bincount(sums, term, n_sums)
        for term in (
            scale * (f * with_ + (n - f) * without),
            scale * n * np.minimum(with_, without),
            scale * n * np.maximum(with_, without),
            rounded,
        )
    )
    return np.maximum(0, np.clip(drawn, least, most) + extra)


def likeliest(observed: ArrayLike, *, retention: float, n_values: int | None = None) -> Floats:
    """The numbers of records by value that make the observed ones likeliest; each row for itself.

    They are never negative and add up to the number of records. This is where the EM iteration ends
    (EQUATIONS 1.6), found at once: where Σ O_v log(p f_v + b), b = (1 − p)/m, is largest over f ≥ 0
    with Σ f = 1, every positive f_v is O_v/ν − b/p with one and the same ν. The r most frequent values
    are positive, for the largest r with O_(r)/ν_r > b/p, and ν_r = Σ_{i ≤ r} O_(i)/(1 + r b/p) makes
    them add up.

    >>> likeliest([60, 30, 10, 0], retention=0.5).tolist()
    [75.0, 25.0, 0.0, 0.0]
    """
    counts = np.atleast_2d(np.asarray(observed, np.float64))
    m = counts.shape[1] if n_values is None else n_values
    level = (1 - retention) / m / retention
    order = np.argsort(-counts, axis=1)
    ranked = np.take_along_axis(counts, order, axis=1)
    scale = np.cumsum(ranked, axis=1) / (1 + np.arange(1, counts.shape[1] + 1) * level)
    last = np.maximum((ranked > level * scale).sum(axis=1) - 1, 0)[:, None]
    chosen = np.take_along_axis(scale, last, axis=1)
    share = np.maximum(0, ranked / np.where(chosen > 0, chosen, 1) - level)
    found = np.zeros_like(counts)
    np.put_along_axis(found, order, share * counts.sum(axis=1, keepdims=True), axis=1)
    return found.reshape(np.shape(observed))
