"""Partitioned publication: sub-tables with few values, each perturbed with its own retention.

Which records go to which sub-table is left to chance, with the numbers that a partition prescribes
(:mod:`showthrough.microdata.partition`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from showthrough.engine.backend import Batch, Tally
from showthrough.engine.keys import Column, KeyCodec, Keys
from showthrough.errors import RecordsError, check_type
from showthrough.microdata.draws import ALLOT, PERTURB, generator
from showthrough.microdata.groups import Block, Groups, cut, iter_blocks
from showthrough.microdata.partition import Partition, partition
from showthrough.microdata.plan import Plan, SubTable, free_name, promise_facts
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.uniform import Cells, perturb_counts

__all__ = [
    "Allotter",
    "Partitioned",
    "divide",
    "divide_counts",
    "perturb_partition",
]

Whole = NDArray[np.int64]

#: NumPy draws hypergeometric numbers for fewer records than this.
MOST = 10**9


@dataclass(frozen=True)
class Partitioned:
    """Sub-tables with few values, each perturbed with the largest retention that the promise allows.

    Parameters
    ----------
    promise : RhoPrivacy
        What is promised about each person.
    confidence : float
        The confidence level of the errors that the partition minimises.

    Examples
    --------
    >>> Partitioned(RhoPrivacy(0.1, 0.5)).name
    'partitioned'
    """

    promise: RhoPrivacy
    confidence: float = 0.95

    def __post_init__(self) -> None:
        check_type(self.promise, RhoPrivacy, name="promise", remedy="write RhoPrivacy(0.1, 0.5)")
        check_type(self.confidence, Real, name="confidence", remedy="for example 0.95")

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "partitioned"

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Partition the totals of the sensitive values."""
        totals = np.zeros(tally.codec.n_values, np.int64)
        for keys, counts in tally.cells():
            value = tally.codec.split(keys)[1]
            totals += np.bincount(value, counts, len(totals)).astype(np.int64)
        found = partition(totals, self.promise, confidence=self.confidence)
        label = Column(free_name("part", tally.codec.names), pa.array(np.arange(1, len(found) + 1)))
        codec = replace(tally.codec, public=(*tally.codec.public, label))
        return _PartitionedPlan(codec, tally.codec, found, seed)


@dataclass(frozen=True, eq=False)
class _PartitionedPlan:
    codec: KeyCodec
    original: KeyCodec
    partition: Partition
    seed: int

    @property
    def records(self) -> int:
        return int(self.partition.allotment.sum())

    @property
    def tables(self) -> tuple[SubTable, ...]:
        found = zip(self.partition.retention.tolist(), self.partition.domains, strict=True)
        return tuple(SubTable(kept, tuple(domain.tolist())) for kept, domain in found)

    @property
    def facts(self) -> dict[str, Any]:
        label = self.codec.public[-1].name
        return {"promise": promise_facts(self.partition.promise), "label": label}

    def blocks(self, tally: Tally) -> Iterator[Block]:
        allotter = Allotter.of(self.partition.allotment, seed=self.seed)
        for block in iter_blocks(tally):
            yield replace(block, more=allotter.take(block.counts.sum(axis=0)))

    def draw(self, block: Block) -> Batch:
        taken = block.more if block.more is not None else self.partition.allotment
        tables = divide_counts(block.counts, taken, chance=generator(self.seed, ALLOT, block.number))
        chance = generator(self.seed, PERTURB, block.number)
        drawn = list(perturb_tables(tables, self.partition, chance=chance))
        public = _relaid(block.public, self.original, self.codec)
        place = self.codec.places[len(self.codec.public) - 1]
        keys, counts = list[Keys](), list[Whole]()
        for at, cells in enumerate(drawn):
            found = self.codec.join(public[cells.group], cells.value)
            found[:, place.word] |= np.uint64(at << place.shift)
            keys.append(found)
            counts.append(cells.count)
        return np.concatenate(keys), np.concatenate(counts)


def _relaid(public: Keys, old: KeyCodec, new: KeyCodec) -> Keys:
    """Public keys in a codec that has more public columns at its end; those are left at zero."""
    codes = [old.unpack(public, at) for at in range(len(old.public))]
    added = len(new.columns) - len(codes)
    return new.pack([*codes, *[np.zeros(len(public), np.uint64)] * added])


@dataclass
class Allotter:
    """Shares a partition's allotment out to blocks that come one after the other.

    A block's records of a value are a random part of all records of that value, so their numbers by
    sub-table are multivariate hypergeometric, given what is left.
    """

    left: Whole
    chance: np.random.Generator

    @classmethod
    def of(cls, allotment: ArrayLike, *, seed: int) -> Allotter:
        """For an allotment with one row for each sub-table and one column for each value."""
        return cls(np.array(allotment, np.int64), generator(seed, ALLOT))

    def take(self, totals: ArrayLike) -> Whole:
        """How many of the next block's records of each value go to each sub-table."""
        taken = np.zeros_like(self.left)
        for value in np.flatnonzero(np.asarray(totals)):
            taken[:, value] = _draw(self.left[:, value], int(np.asarray(totals)[value]), self.chance)
        self.left -= taken
        return taken


def divide(groups: Groups, partition: Partition, *, seed: int) -> list[Groups]:
    """The records of each sub-table, before they are perturbed.

    >>> from showthrough.microdata.partition import partition
    >>> from showthrough.microdata.promises import RhoPrivacy
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["a", "b", "c"]}, [[6, 5, 1], [2, 4, 1]])
    >>> plan = partition(groups.totals, RhoPrivacy(1 / 2, 2 / 3))
    >>> tables = divide(groups, plan, seed=1)
    >>> [table.totals.tolist() for table in tables] == plan.allotment.tolist()
    True
    """
    allotter = Allotter.of(partition.allotment, seed=seed)
    parts: list[list[Any]] = [[] for _ in range(len(partition))]
    for number, counts in cut(groups.counts):
        taken = allotter.take(counts.sum(axis=0))
        split = divide_counts(counts, taken, chance=generator(seed, ALLOT, number))
        for part, table in zip(parts, split, strict=True):
            part.append(table)
    return [groups.with_counts(part) for part in parts]


def perturb_partition(groups: Groups, partition: Partition, *, seed: int) -> list[Groups]:
    """Every sub-table, perturbed within its own domain and with its own retention."""
    tables = divide(groups, partition, seed=seed)
    parts: list[list[Any]] = [[] for _ in tables]
    blocks = [list(cut(table.counts)) for table in tables]
    for number, _ in cut(groups.counts):
        chance = generator(seed, PERTURB, number)
        drawn = perturb_tables([block[number][1] for block in blocks], partition, chance=chance)
        for part, cells, block in zip(parts, drawn, blocks, strict=True):
            part.append(cells.matrix(block[number][1].shape))
    return [groups.with_counts(part) for part in parts]


def perturb_tables(
    tables: list[Any], partition: Partition, *, chance: np.random.Generator
) -> Iterator[Cells]:
    """One block of every sub-table, perturbed."""
    for counts, domain, retention in zip(tables, partition.domains, partition.retention, strict=True):
        cells = perturb_counts(csr_array(counts[:, domain]), float(retention), chance=chance)
        yield Cells(cells.group, domain[cells.value], cells.count)


def divide_counts(counts: Any, taken: Whole, *, chance: np.random.Generator) -> list[Any]:
    """A block's matrix of counts as one matrix for each sub-table, whose columns add up to ``taken``."""
    by_value = counts.tocsc()
    split = np.zeros((len(taken), by_value.nnz), np.int64)
    for value in range(counts.shape[1]):
        cells = slice(by_value.indptr[value], by_value.indptr[value + 1])
        tables = np.flatnonzero(taken[:, value])
        if len(tables):
            split[tables, cells] = _assign(by_value.data[cells], taken[tables, value], chance)
    found = list[Any]()
    for numbers in split:
        table = by_value.copy()
        table.data = numbers
        table.eliminate_zeros()
        found.append(csr_array(table.tocsr()))
    return found


def _assign(counts: Whole, sizes: Whole, chance: np.random.Generator) -> Whole:
    """How many records of each cell go to each table of these sizes; rows are tables."""
    if len(sizes) == 1:
        return counts[None, :]
    if int(counts.sum()) <= 4 * len(counts) * len(sizes):
        labels = np.repeat(np.arange(len(sizes)), sizes)
        chance.shuffle(labels)
        cell = np.repeat(np.arange(len(counts)), counts)
        found = np.bincount(labels * len(counts) + cell, minlength=len(sizes) * len(counts))
        return found.reshape(len(sizes), len(counts))
    drawn, left = np.zeros((len(sizes), len(counts)), np.int64), counts.copy()
    for at, size in enumerate(sizes[:-1].tolist()):
        drawn[at] = _draw(left, size, chance)
        left -= drawn[at]
    drawn[-1] = left
    return drawn


def _draw(counts: Whole, size: int, chance: np.random.Generator) -> Whole:
    """How many of each kind there are among ``size`` records drawn without replacement."""
    total = int(counts.sum())
    if total >= MOST:
        raise RecordsError(
            "too many records share one sensitive value to be divided among sub-tables",
            found=f"{total:,}",
            remedy=f"publish the data in parts of under {MOST:,} records",
        )
    return chance.multivariate_hypergeometric(counts, size, method="marginals")
