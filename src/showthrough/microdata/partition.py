"""Perturbation partitioning: small sub-tables with small domains, so that more records keep their value.

Three phases: balance the values into groups, arrange the groups so that neighbours share values, and
merge neighbours while the bound on the error falls.

The balancing phase: few values in each group, and no protected value more frequent than in the whole.

The rearranging and merging phases: which order of groups, and where to cut it into sub-tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise, permutations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from showthrough.errors import InputError, RecordsError
from showthrough.microdata.parameters import check_domain
from showthrough.microdata.promises import RhoPrivacy, posterior

__all__ = [
    "Merging",
    "Partition",
    "balance",
    "best_merging",
    "merge_runs",
    "orders",
    "partition",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Partition:
    """How many records of each sensitive value go to each sub-table, and what that allows.

    Which records of a value go where is left to chance. Each sub-table is perturbed within its own
    domain, with its own retention, and estimates from sub-tables add up.
    """

    promise: RhoPrivacy
    #: One row for each sub-table, one column for each sensitive value; columns add up to the totals.
    allotment: Whole
    #: With which probability each single bound holds.
    confidence: float
    #: Groups the balancing phase made.
    n_groups: int

    def __len__(self) -> int:
        return len(self.allotment)

    @property
    def sizes(self) -> Whole:
        """How many records each sub-table has."""
        return self.allotment.sum(axis=1)

    @property
    def domains(self) -> tuple[Whole, ...]:
        """For each sub-table the values that occur in it; records are perturbed among these."""
        return tuple(np.flatnonzero(row) for row in self.allotment)

    @property
    def protected(self) -> Flags:
        """The values the promise is about (SA')."""
        return self.promise.protects(self.allotment.sum(axis=0))

    @property
    def largest(self) -> Floats:
        """ρ1_i, the largest share of a protected value in each sub-table (9)."""
        return self.allotment[:, self.protected].max(axis=1) / self.sizes

    @property
    def amplification(self) -> Floats:
        """γ_i of each sub-table (10)."""
        return self.promise.amplification_at(self.largest)

    @property
    def retention(self) -> Floats:
        """The largest retention each sub-table allows."""
        return self.promise.retention_at(self.largest, (self.allotment > 0).sum(axis=1))

    @property
    def posterior(self) -> Floats:
        """How sure a reader can become of a protected value in each sub-table, exactly."""
        n_values = (self.allotment > 0).sum(axis=1)
        return posterior(self.largest[:, None], self.retention[:, None], n_values=n_values[:, None])[:, 0]

    @property
    def mean_retention(self) -> float:
        """The share of records that keep their value."""
        return float(np.average(self.retention, weights=self.sizes))

    @property
    def error_bounds(self) -> Floats:
        """ε_i: how far a frequency read off each sub-table may be off, with the confidence (12).

        The tail bound behind it is meant for sub-tables that are not tiny: it asks that ε_i p_i be no
        more than 4.4 times a value's expected share, which the paper does not say.
        """
        return self._factor * self._costs(self.allotment) / self.sizes

    @property
    def error_bound(self) -> float:
        """ε of the partition, the mean of ε_i by size (12)."""
        return float(self._factor * self._costs(self.allotment).sum() / self.sizes.sum())

    @property
    def uniform_error_bound(self) -> float:
        """ε without partitioning, for the largest share of a protected value as it is (11)."""
        whole = self.allotment.sum(axis=0, keepdims=True)
        return float(self._factor * self._costs(whole)[0] / whole.sum())

    @property
    def _factor(self) -> float:
        # a = 2 √ln(2/β), β = 1 − confidence.
        return 2 * math.sqrt(math.log(2 / (1 - self.confidence)))

    def _costs(self, tables: Whole) -> Floats:
        largest = tables[:, self.protected].max(axis=1)
        return run_cost(tables.sum(axis=1), (tables > 0).sum(axis=1), largest, promise=self.promise)


def partition(totals: ArrayLike, promise: RhoPrivacy, *, confidence: float = 0.95) -> Partition:
    """Split records into sub-tables that keep a promise with a small bound on the error.

    ``totals`` says how many records have each sensitive value. The same totals always give the same
    partition. Values more frequent than the promise's prior are not protected by it; they are spread
    over the sub-tables and perturbed with the others.

    >>> found = partition([12, 8, 6, 5, 4, 3, 1, 1, 1, 1], RhoPrivacy(1 / 3, 2 / 3))
    >>> found.sizes.tolist(), found.amplification.round(6).tolist()
    ([36, 6], [4.0, 10.0])
    """
    counts = _check_totals(totals, promise)
    if not 0 < confidence < 1:
        raise InputError(
            "a confidence level must be between 0 and 1", found=str(confidence), remedy="for example 0.95"
        )
    protected = promise.protects(counts)
    groups = balance(counts, protected)
    # There is always a merging: no protected value of the whole table exceeds the prior, which is
    # under the posterior, so the run of all groups keeps the promise.
    of = best_merging(groups, protected, promise).labels()
    allotment = np.zeros((int(of.max()) + 1, len(counts)), np.int64)
    cells = groups.tocoo()
    np.add.at(allotment, (of[cells.row], cells.col), cells.data)
    return Partition(promise, allotment, confidence, groups.shape[0])


def _check_totals(totals: ArrayLike, promise: RhoPrivacy) -> Whole:
    counts = np.asarray(totals, np.int64)
    if counts.ndim != 1 or (counts < 0).any():
        raise RecordsError("totals must be one number of at least 0 for each sensitive value")
    check_domain(int((counts > 0).sum()))
    if not promise.protects(counts).any():
        rarest = counts[counts > 0].min() / counts.sum()
        raise InputError(
            "every sensitive value is more frequent than the prior, so the promise protects none",
            found=str(promise.prior),
            remedy=f"choose a prior of at least {rarest:.3g}, the share of the rarest value",
        )
    return counts


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
