"""Perturbation partitioning: small sub-tables with small domains, so that more records keep their value.

Three phases: balance the values into groups (few values in each, and no protected value more frequent than
in the whole), arrange the groups so that neighbours share values, and merge neighbours while the error
falls: the exact variance of all estimates by default, or the paper's bound on the error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from showthrough.errors import InputError, RecordsError
from showthrough.microdata.merging import Cost, Goal, best_merging, error_cost, variance_cost
from showthrough.microdata.parameters import check_domain
from showthrough.microdata.promises import STEP, RhoPrivacy, posterior
from showthrough.microdata.sets import SINGLE, Family, SetBelief, describe_sets, largest_shares, worst_set

__all__ = [
    "Partition",
    "balance",
    "partition",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Partition:
    """How many records of each sensitive value are expected in each sub-table, and what that allows.

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
    #: The sets of values that are protected like single ones.
    family: Family = SINGLE
    #: The ratio of neighbouring shares on the grid that retentions follow; 1 for shares as they are.
    step: float = STEP

    def __len__(self) -> int:
        return len(self.allotment)

    @property
    def sizes(self) -> Whole:
        """How many records each sub-table is expected to have."""
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

    @cached_property
    def rounded(self) -> Floats:
        """The share each retention follows: of the worst protected value or set, rounded up to the grid."""
        shares = largest_shares(self.allotment, self.promise, self.family)
        return self.promise.rounded(shares, step=self.step)

    @property
    def amplification(self) -> Floats:
        """γ_i of each sub-table (10)."""
        return self.promise.amplification_at(self.rounded)

    @property
    def retention(self) -> Floats:
        """The retention of each sub-table: the largest that the rounded share allows."""
        return self.promise.retention_at(self.rounded, (self.allotment > 0).sum(axis=1))

    @property
    def posterior(self) -> Floats:
        """How sure a reader can become of a single protected value in each sub-table, exactly."""
        n_values = (self.allotment > 0).sum(axis=1)
        return posterior(self.largest[:, None], self.retention[:, None], n_values=n_values[:, None])[:, 0]

    @property
    def mean_retention(self) -> float:
        """The share of records that keep their value."""
        return float(np.average(self.retention, weights=self.sizes))

    def worst_set(self, size: int | None = None) -> SetBelief | None:
        """The set of values, of this size at most, that a reader becomes surest of."""
        return worst_set(self.allotment, self.retention, self.promise, size=size)

    def describe_worst_sets(self, names: Sequence[str]) -> tuple[str, ...]:
        """What a reader learns about two values, and about any number of them, where it is too much."""
        found = [self.worst_set(2), self.worst_set()]
        over = [one for one in found if one and one.posterior > self.promise.posterior * (1 + 1e-9)]
        return tuple(dict.fromkeys(describe_sets(one, names, self.promise) for one in over))

    @property
    def variance(self) -> float:
        """The variance of the estimates of how many records have each value, added up over the values."""
        n_values = (self.allotment > 0).sum(axis=1)
        return float(variance_cost(self.sizes, n_values, self.retention).sum())

    @property
    def error_bounds(self) -> Floats:
        """ε_i: how far a frequency read off each sub-table may be off, with the confidence (12).

        The tail bound behind it is meant for sub-tables that are not tiny: it asks that ε_i p_i be no
        more than 4.4 times a value's expected share, which the paper does not say.
        """
        n_values = (self.allotment > 0).sum(axis=1)
        return self._factor * error_cost(self.sizes, n_values, self.amplification) / self.sizes

    @property
    def error_bound(self) -> float:
        """ε of the partition, the mean of ε_i by size (12)."""
        return float(self.error_bounds @ self.sizes / self.sizes.sum())

    @property
    def unpartitioned(self) -> Partition:
        """All records in one sub-table, under the same promise."""
        return replace(self, allotment=self.allotment.sum(axis=0, keepdims=True))

    @property
    def _factor(self) -> float:
        # a = 2 √ln(2/β), β = 1 − confidence.
        return 2 * math.sqrt(math.log(2 / (1 - self.confidence)))


def partition(
    totals: ArrayLike,
    promise: RhoPrivacy,
    *,
    confidence: float = 0.95,
    cost: Cost = "variance",
    family: Family | None = None,
    step: float = STEP,
) -> Partition:
    """Split records into sub-tables that keep a promise, so that estimates are off by little.

    ``totals`` says how many records have each sensitive value. The same totals always give the same
    partition. Values more frequent than the promise's prior are not protected by it; they are spread
    over the sub-tables and perturbed with the others. ``cost`` is what is made small. The ``family`` of
    protected sets is needed if the promise names sets. The paper's own partitions have the cost ``bound``
    and a ``step`` of 1, which leaves shares as they are.

    >>> found = partition([12, 8, 6, 5, 4, 3, 1, 1, 1, 1], RhoPrivacy(1 / 3, 2 / 3), cost="bound", step=1)
    >>> found.sizes.tolist(), found.amplification.round(6).tolist()
    ([36, 6], [4.0, 10.0])
    """
    counts = _check_totals(totals, promise)
    if not 0 < confidence < 1:
        raise InputError(
            "a confidence level must be between 0 and 1", found=str(confidence), remedy="for example 0.95"
        )
    if cost not in get_args(Cost):
        raise InputError("unknown cost of a partition", found=str(cost), remedy="choose variance or bound")
    protected = promise.protects(counts)
    groups = balance(counts, protected)
    goal = Goal(promise, cost=cost, step=step, family=family or Family.of(promise), totals=counts)
    # There is always a merging: no protected value or set of the whole table exceeds the prior, which is
    # on the grid and under the posterior, so the run of all groups keeps the promise.
    of = best_merging(groups, goal).labels()
    allotment = np.zeros((int(of.max()) + 1, len(counts)), np.int64)
    cells = groups.tocoo()
    np.add.at(allotment, (of[cells.row], cells.col), cells.data)
    return Partition(promise, allotment, confidence, groups.shape[0], goal.family, step)


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
