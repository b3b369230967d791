"""Anatomy by counts (with the counting) against a plain bucket implementation, in one run.

The plain one is what the method's description says, row by row: a list of rows for each sensitive
value; while l values have rows left, a bucket takes one row at random from each of the l fullest
lists; rows left over join a random bucket that does not have their value yet.
"""

from __future__ import annotations

import argparse
import heapq
import random
import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from showthrough.microdata.anatomy import anatomize
from showthrough.microdata.groups import Groups
from showthrough.microdata.promises import LDiversity


def plain_anatomy(values: list[int], l: int, seed: int) -> list[list[int]]:  # noqa: E741
    """Buckets of row numbers in which all values differ."""
    chance = random.Random(seed)  # noqa: S311 - the plain way
    rows: dict[int, list[int]] = defaultdict(list)
    for row, value in enumerate(values):
        rows[value].append(row)
    for same in rows.values():
        chance.shuffle(same)
    heap = [(-len(same), value) for value, same in rows.items()]
    heapq.heapify(heap)
    buckets: list[list[int]] = []
    while len(heap) >= l:
        taken = [heapq.heappop(heap) for _ in range(l)]
        buckets.append([rows[value].pop() for _, value in taken])
        for size, value in taken:
            if size < -1:
                heapq.heappush(heap, (size + 1, value))
    for _, value in heap:
        for row in rows[value]:
            fitting = [b for b in buckets if value not in {values[other] for other in b}]
            chance.choice(fitting).append(row)
    return buckets


def by_counts(group: np.ndarray, value: np.ndarray, options: argparse.Namespace) -> None:
    """Count the rows, then deal them out."""
    shape = options.groups, options.values
    counts = csr_array((np.ones(len(value), np.int64), (group, value)), shape=shape)
    public, domain = (pa.table({"at": np.arange(number)}) for number in shape)
    anatomize(Groups(public, domain, counts), LDiversity(options.l), seed=options.seed)


def timed(work: Callable[[], object]) -> float:
    """Seconds one run takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main(arguments: list[str]) -> int:
    """Time both and print the ratio."""
    parser = argparse.ArgumentParser(prog="benchmarks plain_anatomy", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=5_000)
    parser.add_argument("--values", type=int, default=50)
    parser.add_argument("--l", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    group = rng.integers(0, options.groups, options.rows)
    weights = 0.95 ** np.arange(options.values)
    value = rng.choice(options.values, options.rows, p=weights / weights.sum())
    rows = value.tolist()
    ours = min(timed(lambda: by_counts(group, value, options)) for _ in range(3))
    plain = min(timed(lambda: plain_anatomy(rows, options.l, options.seed)) for _ in range(2))
    print(f"{options.rows:,} rows, {options.values} values, l = {options.l}")
    print(f"by counts {ours:.2f} s, plain buckets {plain:.2f} s, ratio {plain / ours:.1f}")
    return 0
