"""Totals of sensitive values to partition, and partitions as paper 003 prints them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.microdata.merging import Goal, merge_runs, orders
from showthrough.microdata.partition import Partition, balance
from showthrough.microdata.promises import RhoPrivacy

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: The largest share of a value in the paper's OCC.
LARGEST = 0.0757


def decay(number: int, largest: float) -> float:
    """The ratio of a geometric series of so many shares that begins with the largest."""
    low, high = 0.5, 1 - 1e-9
    for _ in range(100):
        middle = (low + high) / 2
        first = (1 - middle) / (1 - middle**number)
        low, high = (middle, high) if first > largest else (low, middle)
    return low


def totals(weights: NDArray[np.floating[Any]], records: int = 300_000) -> Whole:
    """Records divided in proportion, what is left over to the first value."""
    found = np.floor(records * weights / weights.sum()).astype(np.int64)
    found[0] += records - found.sum()
    return found


def geometric(records: int, *, seed: int) -> Whole:
    """Totals of 50 values drawn in geometric decay."""
    shares = decay(50, LARGEST) ** np.arange(50)
    return np.random.default_rng(seed).multinomial(records, shares / shares.sum()).astype(np.int64)


def as_printed(found: Whole, promise: RhoPrivacy) -> Partition:
    """A partition by the bound, with SciPy's reverse Cuthill–McKee order alone and shares as they are."""
    groups = balance(found, promise.protects(found))
    merged = merge_runs(groups, next(orders(groups)), Goal(promise, found, cost="bound", step=1))
    labels, dense = merged.labels(), groups.toarray()
    parts = np.array([dense[labels == label].sum(axis=0) for label in range(len(merged.ends))])
    return Partition(promise, parts, 0.95, groups.shape[0], step=1)


def errors_of_totals(found: Partition) -> tuple[float, float]:
    """The root of the mean variance of estimated totals, and their mean relative error."""
    whole, spread = found.allotment.sum(axis=0), np.zeros(found.allotment.shape[1])
    for row, domain, kept in zip(found.allotment, found.domains, found.retention, strict=True):
        other = (1 - kept) / len(domain)
        own = kept + other
        mine = row[domain]
        spread[domain] += (mine * own * (1 - own) + (row.sum() - mine) * other * (1 - other)) / kept**2
    return float(np.sqrt(spread.mean())), float(np.sqrt(2 / np.pi) * (np.sqrt(spread) / whole).mean())
