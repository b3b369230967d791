"""The rearranging and merging phases: which order of groups, and where to cut it into sub-tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from showthrough.publish.promise import RhoPrivacy

__all__ = ["Merging", "best_merging", "merge_runs", "orders"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Numbers held at once for the runs that start in one block of groups.
_BLOCK = 10_000_000
#: Orders tried at most, and the work (groups × entries) spent on them together.
_MOST_ORDERS = 64
_MOST_WORK = 200_000_000
#: Pairs of groups that share a value, counted once for each value.
_MOST_PAIRS = 20_000_000


@dataclass(frozen=True, eq=False)
class Merging:
    """Groups in an order, cut into runs; ``cost`` is the bound on the error without the factor a."""

    order: Whole
    #: Where each run ends in the order (the first position after it).
    ends: Whole
    cost: float

    def labels(self) -> Whole:
        """For each group the run it belongs to."""
        of = np.empty(len(self.order), np.int64)
        of[self.order] = np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))
        return of


def best_merging(groups: Any, protected: Flags, promise: RhoPrivacy) -> Merging:
    """The best merging over the orders tried; the first among equals."""
    limit = int(np.clip(_MOST_WORK // (groups.shape[0] * groups.nnz), 2, _MOST_ORDERS))
    tried = (merge_runs(groups, order, protected=protected, promise=promise) for order in orders(groups))
    return min(islice(tried, limit), key=lambda found: found.cost)


def orders(groups: Any) -> Iterator[Whole]:
    """Orders in which neighbours share values: reverse Cuthill–McKee, as made, and variations.

    The paper's order is one of many that tie. Groups that share no value, even through others, are
    separate components; turning one of them round, or moving it, keeps the bandwidth and may allow a
    better merging. An order and its mirror image allow the same mergings, so one of them is left out.
    """
    telling = groups[:, _telling_values(groups)]
    shared = (telling @ telling.T).tocsr()
    banded = np.asarray(reverse_cuthill_mckee(shared, symmetric_mode=True), np.int64)
    yield banded
    yield np.arange(groups.shape[0])
    _, of = connected_components(shared, directed=False)
    members = [banded[of[banded] == label] for label in dict.fromkeys(of[banded].tolist())]
    for arrangement in permutations(members):
        if len(members) > 1 and arrangement[0][0] > arrangement[-1][0]:
            continue
        for turned in product((1, -1), repeat=len(members)):
            yield np.concatenate([part[::way] for part, way in zip(arrangement, turned, strict=True)])


def _telling_values(groups: Any) -> Whole:
    """All values, or the rarer ones if the pairs of groups that share one would not fit into memory.

    A value that most groups share says little about which of them are neighbours.
    """
    owners = np.bincount(groups.indices, minlength=groups.shape[1])
    order = np.argsort(owners, kind="stable")
    return np.sort(order[np.cumsum(owners[order].astype(np.float64) ** 2) <= _MOST_PAIRS])


def merge_runs(groups: Any, order: Whole, *, protected: Flags, promise: RhoPrivacy) -> Merging:
    """The cheapest way to cut one order into runs that keep the promise, by dynamic programming (14)."""
    rows = groups[order]
    number = len(order)
    best, back = np.full(number + 1, np.inf), np.zeros(number + 1, np.int64)
    best[0] = 0
    block = max(1, _BLOCK // rows.shape[1])
    for first in range(0, number, block):
        costs = _run_costs(rows, first, min(number, first + block), protected=protected, promise=promise)
        for start, cost in enumerate(costs, start=first):
            reached = best[start] + cost[start:]
            better = reached < best[start + 1 :]
            best[start + 1 :][better] = reached[better]
            back[start + 1 :][better] = start
    return Merging(order, _cuts(back), float(best[-1]))


def _cuts(back: Whole) -> Whole:
    ends = [len(back) - 1]
    while back[ends[-1]]:
        ends.append(int(back[ends[-1]]))
    return np.array(ends[::-1], np.int64)


def _run_costs(rows: Any, first: int, last: int, *, protected: Flags, promise: RhoPrivacy) -> Floats:
    """The cost of every run of groups that starts in ``first`` … ``last`` − 1, by start and end.

    All starts grow together: a run's numbers follow from those of the run one group shorter.
    """
    starts, number, total = last - first, rows.shape[0], float(rows.sum())
    inside = np.zeros((rows.shape[1], starts), np.int64)
    size, domain, largest = np.zeros((3, starts), np.int64)
    costs = np.full((starts, number), np.inf)
    for end in range(first, number):
        open_ = slice(0, min(end + 1, last) - first)
        entries = slice(rows.indptr[end], rows.indptr[end + 1])
        values, counts = rows.indices[entries], rows.data[entries]
        held = inside[values, open_]
        domain[open_] += (held == 0).sum(axis=0)
        held += counts[:, None]
        inside[values, open_] = held
        size[open_] += counts.sum()
        largest[open_] = np.maximum(largest[open_], held[protected[values]].max(axis=0, initial=0))
        costs[open_, end] = run_cost(size[open_], domain[open_], largest[open_], promise=promise) / total
    return costs


def run_cost(size: Whole, domain: Whole, largest: Whole, *, promise: RhoPrivacy) -> Floats:
    """|T_i| ε_i/a = √|T_i| (1 + m_i/(γ_i − 1)) (12); infinite where a value reaches the posterior."""
    share = largest / size
    allowed = share < promise.posterior
    gain = np.where(allowed, promise.amplification_at(share) - 1, 1.0)
    return np.where(allowed & (gain > 0), np.sqrt(size) * (1 + domain / np.maximum(gain, 1e-300)), math.inf)
