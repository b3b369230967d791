"""Which groups of a partition become one sub-table: an order of the groups, and where to cut it.

Neighbours in the order share values. Runs of neighbours are merged as long as that makes the error of the
estimates smaller: the exact variance of all of them, or the paper's bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, permutations, product
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from showthrough.microdata.promises import STEP, RhoPrivacy
from showthrough.microdata.sets import SINGLE, Family, equivalent_share

__all__ = [
    "Cost",
    "Goal",
    "MergedGroups",
    "best_merging",
    "error_cost",
    "merge_runs",
    "orders",
    "variance_cost",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: What a partition makes small: the variance of all estimates together, or the paper's bound (12).
Cost = Literal["variance", "bound"]


#: Numbers held at once for the runs that start in one block of groups.
_BLOCK = 10_000_000
#: Orders tried at most, and the work (groups × entries) spent on them together.
_MOST_ORDERS = 64
_MOST_WORK = 200_000_000
#: Pairs of groups that share a value, counted once for each value.
_MOST_PAIRS: Final = 20_000_000
#: Numbers among which the largest few of each run are looked for.
_MOST_SORTED: Final = 1_000_000


@dataclass(frozen=True, eq=False)
class MergedGroups:
    """Groups in an order, cut into runs, and what they cost together."""

    order: Whole
    #: Where each run ends in the order (the first position after it).
    ends: Whole
    cost: float

    def labels(self) -> Whole:
        """For each group the run it belongs to."""
        of = np.empty(len(self.order), np.int64)
        of[self.order] = np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))
        return of


@dataclass(frozen=True, eq=False)
class Goal:
    """What a merging keeps and what it makes small."""

    promise: RhoPrivacy
    totals: Whole
    cost: Cost = "variance"
    family: Family = SINGLE
    step: float = STEP

    @cached_property
    def protected(self) -> Flags:
        """The values the promise is about."""
        return self.promise.protects(self.totals)

    @cached_property
    def sets(self) -> list[Whole]:
        """The named sets that are rare enough to be protected."""
        most = self.promise.most_protected(self.totals)
        return [np.array(one) for one in self.family.named if 0 < self.totals[list(one)].sum() <= most]

    def share(self, size: Whole, largest: Whole, inside: Any) -> Floats:
        """The share of the worst protected value or set in runs (columns), or a little more."""
        share = largest / size
        for members in self.sets:
            held = inside[members]
            worst = equivalent_share(held.max(axis=0) / size, held.sum(axis=0) / size, self.promise)
            share = np.maximum(share, worst)
        if self.family.size > 1:
            together = np.minimum(self._heaviest(largest, inside), self.promise.most_protected(self.totals))
            worst = equivalent_share(largest / size, np.minimum(together / size, 1), self.promise)
            share = np.maximum(share, worst)
        return share

    def _heaviest(self, largest: Whole, inside: Any) -> Whole:
        """The most records that a set of protected values has in each run, or more."""
        rows = int(self.protected.sum())
        number = min(self.family.size, rows)
        if inside.size > _MOST_SORTED:
            return number * largest
        return np.partition(inside[self.protected], rows - number, axis=0)[rows - number :].sum(axis=0)

    def run_cost(self, size: Whole, domain: Whole, share: Floats) -> Floats:
        """What runs of this many records and values cost; infinite where a value reaches the posterior."""
        rounded = self.promise.rounded(share, step=self.step)
        gain = self.promise.amplification_at(np.minimum(rounded, self.promise.posterior))
        allowed = (rounded < self.promise.posterior) & (gain > 1)
        gain = np.where(allowed, gain, 2.0)
        if self.cost == "bound":
            found = error_cost(size, domain, gain) / self.totals.sum()
        else:
            found = variance_cost(size, domain, 1 / (1 + domain / (gain - 1)))
        return np.where(allowed, found, math.inf)


def error_cost(size: Whole, domain: Whole, gamma: Floats) -> Floats:
    """|T_i| ε_i/a = √|T_i| (1 + m_i/(γ_i − 1)) (12)."""
    return np.sqrt(size) * (1 + domain / (gamma - 1))


def variance_cost(size: Whole, domain: Whole, retention: Floats) -> Floats:
    """The variances of the estimates for all values of sub-tables, added up.

    A record shows its own value with probability a = p + (1 − p)/m and each other with b = (1 − p)/m; the
    estimate of a value is its number, less n b, by p. So all that matters is how many records there are.
    """
    other = (1 - retention) / domain
    own = retention + other
    return size / retention**2 * (own * (1 - own) + (domain - 1) * other * (1 - other))


def best_merging(groups: Any, goal: Goal) -> MergedGroups:
    """The best merging over the orders tried; the first among equals."""
    limit = int(np.clip(_MOST_WORK // (groups.shape[0] * groups.nnz), 2, _MOST_ORDERS))
    tried = (merge_runs(groups, order, goal) for order in orders(groups))
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


def merge_runs(groups: Any, order: Whole, goal: Goal) -> MergedGroups:
    """The cheapest way to cut one order into runs that keep the promise, by dynamic programming (14)."""
    rows = groups[order]
    number = len(order)
    best, back = np.full(number + 1, np.inf), np.zeros(number + 1, np.int64)
    best[0] = 0
    block = max(1, _BLOCK // rows.shape[1])
    for first in range(0, number, block):
        costs = _run_costs(rows, first, min(number, first + block), goal)
        for start, cost in enumerate(costs, start=first):
            reached = best[start] + cost[start:]
            better = reached < best[start + 1 :]
            best[start + 1 :][better] = reached[better]
            back[start + 1 :][better] = start
    return MergedGroups(order, _cuts(back), float(best[-1]))


def _cuts(back: Whole) -> Whole:
    ends = [len(back) - 1]
    while back[ends[-1]]:
        ends.append(int(back[ends[-1]]))
    return np.array(ends[::-1], np.int64)


def _run_costs(rows: Any, first: int, last: int, goal: Goal) -> Floats:
    """The cost of every run of groups that starts in ``first`` … ``last`` − 1, by start and end.

    All starts grow together: a run's numbers follow from those of the run one group shorter.
    """
    starts, number, protected = last - first, rows.shape[0], goal.protected
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
        share = goal.share(size[open_], largest[open_], inside[:, open_])
        costs[open_, end] = goal.run_cost(size[open_], domain[open_], share)
    return costs
