"""Partitioned publication: sub-tables with few values, each perturbed with its own retention.

Each record draws its sub-table, with probabilities in proportion to the numbers of a partition
(:mod:`showthrough.microdata.partition`). So the rows are independent, the sizes of sub-tables are random,
and among the records of a sub-table the values have exactly the shares that its retention was chosen for.

If the promise is to hold for readers who know the totals, the numbers are kept as they are and only chance
decides which records they are: such a reader knows these numbers anyway, and for known numbers there is a
bound on what all rows together say, whereas by chance a sub-table could hold far more of a rare value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from showthrough.engine.backend import Batch, Tally
from showthrough.engine.keys import Column, KeyCodec, Keys
from showthrough.errors import InputError, RecordsError, check_type
from showthrough.microdata.groups import Block, Groups, cut, iter_blocks
from showthrough.microdata.merging import Cost
from showthrough.microdata.partition import Partition, partition
from showthrough.microdata.plan import ALLOT, PERTURB, Plan, SubTable, free_name, generator, promise_facts
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.sets import Family, value_names
from showthrough.microdata.uniform import Cells, perturb_counts

__all__ = [
    "Allotter",
    "Partitioned",
    "Sorter",
    "divide",
    "divide_exactly",
    "perturb_partition",
    "recover",
]

Whole = NDArray[np.int64]

#: NumPy draws hypergeometric numbers for fewer records than this.
MOST = 10**9


@dataclass(frozen=True)
class Partitioned:
    """Sub-tables with few values, each perturbed with a retention of its own that the promise allows.

    Parameters
    ----------
    promise : RhoPrivacy
        What is promised about each person.
    confidence : float
        The confidence level of the paper's bound on the error.
    cost : {"variance", "bound"}
        What the partition makes small: the exact variance of all estimates, or the paper's bound.

    Examples
    --------
    >>> Partitioned(RhoPrivacy(0.1, 0.5)).name
    'partitioned'
    """

    promise: RhoPrivacy
    confidence: float = 0.95
    cost: Cost = "variance"

    def __post_init__(self) -> None:
        check_type(self.promise, RhoPrivacy, name="promise", remedy="write RhoPrivacy(0.1, 0.5)")
        check_type(self.confidence, Real, name="confidence", remedy="for example 0.95")
        check_type(self.cost, str, name="cost", remedy="choose variance or bound")

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
        found = self.partition(totals, tally.codec.domain)
        label = Column(free_name("part", tally.codec.names), pa.array(np.arange(1, len(found) + 1)))
        codec = replace(tally.codec, public=(*tally.codec.public, label))
        return _PartitionedPlan(codec, tally.codec, found, seed)

    def partition(self, totals: ArrayLike, domain: pa.Table) -> Partition:
        """The sub-tables for these totals of the values of a domain."""
        family = Family.of(self.promise, value_names(domain))
        return partition(totals, self.promise, confidence=self.confidence, cost=self.cost, family=family)


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

    @cached_property
    def sorter(self) -> Sorter:
        """Draws which records go where."""
        return Sorter.of(self.partition.allotment)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the publisher should know about sets of values; it follows from the true totals."""
        return self.partition.describe_worst_sets(value_names(self.original.domain))

    def blocks(self, tally: Tally) -> Iterator[Block]:
        allotter = Allotter.of(self.partition.allotment, seed=self.seed)
        for block in iter_blocks(tally):
            known = self.partition.promise.known_totals
            yield replace(block, more=allotter.take(block.counts.sum(axis=0))) if known else block

    def draw(self, block: Block) -> Batch:
        chance = generator(self.seed, ALLOT, block.number)
        if block.more is None:
            tables = self.sorter.divide(block.counts, chance=chance)
        else:
            tables = divide_exactly(block.counts, block.more, chance=chance)
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


def recover(
    tables: Sequence[SubTable], totals: Whole, promise: RhoPrivacy, names: Sequence[str]
) -> Partition | None:
    """The partition that these sub-tables were published from, by whoever knows the totals; None if unknown.

    Equal totals give equal partitions, so the publisher can make it again.
    """
    for cost in get_args(Cost):
        try:
            found = partition(totals, promise, cost=cost, family=Family.of(promise, names))
        except InputError:
            continue
        domains = [tuple(domain.tolist()) for domain in found.domains]
        kept = [table.retention for table in tables]
        if domains == [table.values for table in tables] and np.allclose(found.retention, kept, rtol=1e-9):
            return found
    return None


@dataclass(frozen=True, eq=False)
class Sorter:
    """Has each record draw its sub-table, with probabilities in proportion to an allotment.

    The allotment is a row of places, value after value and sub-table after sub-table: a record draws one
    of the places of its value.
    """

    #: For each value where its sub-tables begin in the row, how many there are, and its first place.
    begins: Whole
    number: Whole
    first: Whole
    totals: Whole
    #: For each value and sub-table that has it: the sub-table, its places, and where they end.
    table: Whole
    places: Whole
    ends: Whole
    n_tables: int

    @classmethod
    def of(cls, allotment: ArrayLike) -> Sorter:
        """For an allotment with one row for each sub-table and one column for each value."""
        by_value = np.asarray(allotment, np.int64).T
        value, table = np.nonzero(by_value)
        places, totals = by_value[value, table], by_value.sum(axis=1)
        number = np.bincount(value, minlength=len(by_value))
        starts = np.cumsum(number) - number, np.cumsum(totals) - totals
        return cls(starts[0], number, starts[1], totals, table, places, np.cumsum(places), by_value.shape[1])

    def divide(self, counts: Any, *, chance: np.random.Generator) -> list[Any]:
        """A block's matrix of counts as one matrix for each sub-table."""
        cells = counts.tocoo()
        group, value = cells.row.astype(np.int64), cells.col.astype(np.int64)
        count = cells.data.astype(np.int64)
        # Record by record where there are few of them, and by numbers of records where there are many.
        few = np.flatnonzero(count <= self.number[value])
        many = np.flatnonzero(count > self.number[value])
        cell = np.repeat(few, count[few])
        place = self.first[value[cell]] + chance.integers(self.totals[value[cell]])
        found = [(cell, self.table[np.searchsorted(self.ends, place, side="right")], np.ones_like(cell))]
        left: Whole = count[many]
        rest: Whole = self.totals[value[many]]
        for at in range(int(self.number[value[many]].max(initial=0))):
            going = self.number[value[many]] > at
            many, left, rest = many[going], left[going], rest[going]
            entry = self.begins[value[many]] + at
            taken: Whole = chance.binomial(left, self.places[entry] / rest)
            found.append((many, self.table[entry], taken))
            left, rest = left - taken, rest - self.places[entry]
        cell, table, number = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(table, kind="stable")
        ends = np.searchsorted(table[order], np.arange(self.n_tables + 1))
        parts = (order[low:high] for low, high in pairwise(ends.tolist()))
        made = ((number[at], (group[cell[at]], value[cell[at]])) for at in parts)
        tables = [csr_array(entries, shape=counts.shape, dtype=np.int64) for entries in made]
        for one in tables:
            one.eliminate_zeros()
        return tables


@dataclass
class Allotter:
    """Shares a partition's allotment out to blocks that come one after the other, number for number.

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
    >>> sum(table.totals for table in tables).tolist() == groups.totals.tolist()
    True
    """
    sorter = Sorter.of(partition.allotment)
    allotter = Allotter.of(partition.allotment, seed=seed)
    parts: list[list[Any]] = [[] for _ in range(len(partition))]
    for number, counts in cut(groups.counts):
        chance = generator(seed, ALLOT, number)
        if partition.promise.known_totals:
            split = divide_exactly(counts, allotter.take(counts.sum(axis=0)), chance=chance)
        else:
            split = sorter.divide(counts, chance=chance)
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


def divide_exactly(counts: Any, taken: Whole, *, chance: np.random.Generator) -> list[Any]:
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
