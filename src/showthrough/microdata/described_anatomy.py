"""Anatomy's buckets as the method was described: l records at a time, from the l fullest lists.

While l sensitive values have records left, a bucket takes one record at random from each of the l values
with the most left. The records that remain, fewer than l, join random buckets without their value.
:func:`showthrough.microdata.anatomy.anatomize` deals the records out in turn instead: its buckets keep the
same promise, and making them takes no loop over buckets.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

__all__ = ["described_buckets"]

Small = NDArray[np.int32]
Whole = NDArray[np.int64]


def described_buckets(totals: Whole, l: int, rng: np.random.Generator) -> list[Small]:  # noqa: E741
    """For each value the buckets its records go to, one for each record, in the order they are filled.

    The totals must allow buckets of l different values: no value has more than 1/l of the records.

    >>> [bucket.tolist() for bucket in described_buckets(np.array([2, 2, 1]), 2, np.random.default_rng(1))]
    [[0, 1], [0, 1], [0]]
    """
    heap = [(-int(total), value) for value, total in enumerate(totals.tolist()) if total]
    heapq.heapify(heap)
    held: list[list[int]] = [[] for _ in totals]
    number = 0
    while len(heap) >= l:
        taken = [heapq.heappop(heap) for _ in range(l)]
        for size, value in taken:
            held[value].append(number)
            if size < -1:
                heapq.heappush(heap, (size + 1, value))
        number += 1
    for size, value in heap:
        free = np.setdiff1d(np.arange(number), held[value])
        held[value] += rng.choice(free, -size, replace=False).tolist()
    return [np.asarray(buckets, np.int32) for buckets in held]
