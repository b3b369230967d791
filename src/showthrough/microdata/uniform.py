"""Uniform perturbation: each record keeps its value or draws one from the whole domain.

Records of one group with one value are interchangeable, so the number of them that keep their value is
a binomial draw, and the values of the others are a multinomial one: exactly what drawing row by row gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.engine.backend import Batch, Tally
from showthrough.engine.keys import KeyCodec
from showthrough.errors import InputError, check_type
from showthrough.microdata.groups import Block, Groups, cut, iter_blocks
from showthrough.microdata.parameters import check_domain, check_retention
from showthrough.microdata.plan import PERTURB, Plan, SubTable, generator, promise_facts
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.sets import Family, value_names

__all__ = [
    "Cells",
    "UniformPerturbation",
    "perturb",
    "perturb_counts",
]

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class UniformPerturbation:
    """Every record keeps its sensitive value with a retention, or draws one of all values.

    The retention is given, or is the largest that keeps a promise.

    Parameters
    ----------
    retention : float, optional
        The probability with which a record keeps its value, between 0 and 1.
    promise : RhoPrivacy, optional
        What is promised about each person.

    Raises
    ------
    InputError
        If neither or both are given.

    Examples
    --------
    >>> UniformPerturbation(0.5).name
    'uniform'
    >>> UniformPerturbation()
    Traceback (most recent call last):
        ...
    showthrough.errors.InputError: uniform perturbation needs a retention or a promise, not both; \
for example UniformPerturbation(0.5) or UniformPerturbation(promise=RhoPrivacy(0.1, 0.5))
    """

    retention: float | None = None
    promise: RhoPrivacy | None = None

    def __post_init__(self) -> None:
        if (self.retention is None) == (self.promise is None):
            raise InputError(
                "uniform perturbation needs a retention or a promise, not both",
                remedy="for example UniformPerturbation(0.5) or "
                "UniformPerturbation(promise=RhoPrivacy(0.1, 0.5))",
            )
        if self.retention is not None:
            check_type(self.retention, Real, name="retention", remedy="for example 0.5")
            check_retention(self.retention)
        check_type(self.promise, (RhoPrivacy, NoneType), name="promise", remedy="write RhoPrivacy(0.1, 0.5)")

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "uniform"

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Fix the retention."""
        m = check_domain(tally.codec.n_values)
        if self.promise and self.promise.sets != 1:
            # One domain covers all sets; a set may only name values that there are.
            Family.of(self.promise, value_names(tally.codec.domain))
        kept = self.promise.retention(m) if self.promise else self.retention
        facts = {"promise": promise_facts(self.promise)} if self.promise else {}
        return _UniformPlan(tally.codec, tally.records, float(kept or 0), facts, seed)


@dataclass(frozen=True, eq=False)
class _UniformPlan:
    codec: KeyCodec
    records: int
    retention: float
    facts: dict[str, Any]
    seed: int

    @property
    def tables(self) -> tuple[SubTable, ...]:
        return (SubTable(self.retention, tuple(range(self.codec.n_values))),)

    def blocks(self, tally: Tally) -> Iterator[Block]:
        return iter_blocks(tally)

    def draw(self, block: Block) -> Batch:
        chance = generator(self.seed, PERTURB, block.number)
        cells = perturb_counts(block.counts, self.retention, chance=chance)
        return self.codec.join(block.public[cells.group], cells.value), cells.count


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
