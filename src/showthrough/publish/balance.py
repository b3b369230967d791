"""The balancing phase: few values in each group, and no protected value more frequent than in the whole."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["balance"]

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


def balance(totals: Whole, protected: Flags) -> Any:
    """Initial groups as a sparse matrix: how many records of each value each group takes.

    >>> totals = np.array([12, 8, 6, 5, 4, 3, 1, 1, 1, 1])
    >>> balance(totals, totals > 0).toarray()[:2].tolist()
    [[6, 6, 6, 0, 0, 0, 0, 0, 0, 0], [4, 0, 0, 4, 4, 0, 0, 0, 0, 0]]
    """
    groups = _balanced(np.where(protected, totals, 0))
    values = np.concatenate([values for values, _ in groups])
    counts = np.concatenate([counts for _, counts in groups])
    of = np.repeat(np.arange(len(groups)), [len(values) for values, _ in groups])
    sizes = np.bincount(of, counts, len(groups)).astype(np.int64)
    more_of, more_values, more_counts = _spread(sizes, np.where(protected, 0, totals))
    cells = np.concatenate([of, more_of]), np.concatenate([values, more_values])
    shape = len(groups), len(totals)
    return csr_array((np.concatenate([counts, more_counts]), cells), shape=shape, dtype=np.int64)


def _balanced(frequency: Whole) -> list[tuple[Whole, Whole]]:
    """Groups of θ values with h records each, θ = ⌊n / largest frequency⌋; the last takes what is left."""
    left, total = frequency.copy(), int(frequency.sum())
    width = total // int(frequency.max())
    groups: list[tuple[Whole, Whole]] = []
    while total:
        # Equal frequencies in the order of the values, so the result is always the same.
        order = np.argsort(-left, kind="stable")[: width + 1]
        number = _number_taken(left[order], total, width)
        if number:
            values, counts = order[:width], np.full(width, number)
        else:
            values = np.flatnonzero(left)
            counts = left[values]
        groups.append((values, counts))
        left[values] -= counts
        total = int(left.sum())
    return groups


def _number_taken(most: Whole, total: int, width: int) -> int:
    """h, the most records of each that leave the rest balanced (13)."""
    first, last = int(most[0]), int(most[width - 1])
    following = int(most[width]) if len(most) > width else 0
    if total >= width * (last + max(first - last, following)):
        return last
    return total // width - following


def _spread(sizes: Whole, rest: Whole) -> tuple[Whole, Whole, Whole]:
    """Unprotected records over the groups in proportion to their sizes, frequent values first."""
    total, all_rest = int(sizes.sum()), int(rest.sum())
    # Whole numbers of any size: the products may exceed 64 bits.
    room = [size * all_rest // total for size in sizes.tolist()]
    room[-1] += all_rest - sum(room)
    order = np.argsort(-rest, kind="stable")
    group_ends, value_ends = np.cumsum(np.array(room, np.int64)), np.cumsum(rest[order])
    edges = np.unique(np.concatenate([[0], group_ends, value_ends]))
    pieces = np.array([(low, high - low) for low, high in pairwise(edges)], np.int64).reshape(-1, 2)
    of = np.searchsorted(group_ends, pieces[:, 0], side="right")
    return of, order[np.searchsorted(value_ends, pieces[:, 0], side="right")], pieces[:, 1]
