"""Uniform perturbation by counts: each record keeps its value or draws one from the whole domain.

Records of one group with one value are interchangeable, so how many of them keep their value is a
binomial draw, and where the others go is a multinomial one: exactly what drawing row by row gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.publish.blocks import cut
from showthrough.publish.draws import PERTURB, generator
from showthrough.publish.groups import Groups
from showthrough.publish.parameters import check_domain, check_retention

__all__ = ["Cells", "perturb", "perturb_counts"]

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """So many records of a group with a value; a pair of both may occur more than once."""

    group: Whole
    value: Whole
    count: Whole

    def matrix(self, shape: tuple[int, int]) -> Any:
        """The same as a sparse matrix of counts, in which each pair occurs once."""
        return csr_array((self.count, (self.group, self.value)), shape=shape)


def perturb(groups: Groups, retention: float, *, seed: int) -> Groups:
    """Every record keeps its sensitive value with probability ``retention``, else draws any value.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[60, 40], [0, 50]])
    >>> perturbed = perturb(groups, 0.5, seed=1)
    >>> perturbed.sizes.tolist()
    [100, 50]
    """
    check_retention(retention)
    check_domain(len(groups.totals))
    parts = [
        perturb_counts(counts, retention, chance=generator(seed, PERTURB, number)).matrix(counts.shape)
        for number, counts in cut(groups.counts)
    ]
    return groups.with_counts(parts)


def perturb_counts(counts: Any, retention: float, *, chance: np.random.Generator) -> Cells:
    """The same for a sparse matrix of counts, one row for each group."""
    n_groups, n_values = counts.shape
    row = np.repeat(np.arange(n_groups), np.diff(counts.indptr))
    column = counts.indices.astype(np.int64)
    kept = chance.binomial(counts.data, retention)
    redrawn = np.asarray(counts.sum(axis=1)) - np.bincount(row, kept, n_groups).astype(np.int64)
    spread = _spread(redrawn, n_values, chance)
    stayed = np.flatnonzero(kept)
    return Cells(
        np.concatenate([row[stayed], spread.group]),
        np.concatenate([column[stayed], spread.value]),
        np.concatenate([kept[stayed], spread.count]),
    )


def _spread(records: Whole, n_values: int, chance: np.random.Generator) -> Cells:
    """So many records of each group, each with any value: by cell, or by record where these are fewer."""
    total = int(records.sum())
    if total < 2 * len(records) * n_values:
        group = np.repeat(np.arange(len(records)), records)
        return Cells(group, chance.integers(n_values, size=total), np.ones(total, np.int64))
    drawn = chance.multinomial(records, np.full(n_values, 1 / n_values))
    group, value = np.nonzero(drawn)
    return Cells(group, value, drawn[group, value])
