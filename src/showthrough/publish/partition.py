"""Perturbation partitioning: small sub-tables with small domains, so that more records keep their value.

Three phases: balance the values into groups, arrange the groups so that neighbours share values, and
merge neighbours while the bound on the error falls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError, RecordsError
from showthrough.publish.balance import balance
from showthrough.publish.merge import best_merging, run_cost
from showthrough.publish.parameters import check_domain
from showthrough.publish.promise import RhoPrivacy, posterior

__all__ = ["Partition", "partition"]

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
            "a confidence lies between 0 and 1", found=str(confidence), remedy="for example 0.95"
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
        raise RecordsError("totals are one number from 0 for each sensitive value")
    check_domain(int((counts > 0).sum()))
    if not promise.protects(counts).any():
        rarest = counts[counts > 0].min() / counts.sum()
        raise InputError(
            "every sensitive value is more frequent than the prior, so the promise protects none",
            found=str(promise.prior),
            remedy=f"choose a prior of at least {rarest:.3g}, the share of the rarest value",
        )
    return counts
