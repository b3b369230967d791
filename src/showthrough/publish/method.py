"""The methods, behind one seam: see the counts, make a plan, draw block by block.

What a plan publishes beside the rows is all a reader needs to invert them. It is public by the
methods' own analysis: the domain and the retention of each sub-table. The retention of a sub-table
follows from its largest frequency, which is a statistic of the whole sub-table, not of a person; the
allotment, the totals and the trials of single groups stay with the publisher (:mod:`.sample` says what
the number of copies tells).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.engine.keys import Column, Keys, Layout
from showthrough.engine.plane import Batch, Tally
from showthrough.errors import InputError
from showthrough.publish.blocks import Block, iter_blocks
from showthrough.publish.divide import Allotter, divide_counts, perturb_tables
from showthrough.publish.draws import ALLOT, PERTURB, generator
from showthrough.publish.parameters import check_domain, check_retention
from showthrough.publish.partition import Partition, partition
from showthrough.publish.perturb import perturb_counts
from showthrough.publish.promise import RhoPrivacy
from showthrough.publish.table import SubTable

__all__ = ["Method", "Partitioned", "Plan", "Uniform", "free_name", "promise_facts"]

Whole = NDArray[np.int64]


class Plan(Protocol):
    """What is going to be published. It can be pickled, and drawing a block twice gives the same."""

    @property
    def layout(self) -> Layout:
        """The columns of the publication and their values."""
        ...

    @property
    def tables(self) -> tuple[SubTable, ...]:
        """The sub-tables a reader inverts, one for each label; none where nothing is perturbed."""
        ...

    @property
    def records(self) -> int:
        """How many records are published."""
        ...

    @property
    def facts(self) -> dict[str, Any]:
        """What else goes into the manifest."""
        ...

    def blocks(self, tally: Tally) -> Iterator[Block]:
        """The blocks to draw, prepared one after the other."""
        ...

    def draw(self, block: Block) -> Batch:
        """The keys of published records and their numbers."""
        ...


class Method(Protocol):
    """A way to publish."""

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        ...

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Look at the counts and decide."""
        ...


@dataclass(frozen=True)
class Uniform:
    """Every record keeps its sensitive value with a retention, or draws one of all values.

    The retention is given, or is the largest that keeps a promise.

    >>> Uniform(0.5).name
    'uniform'
    >>> Uniform()
    Traceback (most recent call last):
        ...
    showthrough.errors.InputError: uniform perturbation needs a retention or a promise, not both; \
for example Uniform(0.5) or Uniform(promise=RhoPrivacy(0.1, 0.5))
    """

    retention: float | None = None
    promise: RhoPrivacy | None = None

    def __post_init__(self) -> None:
        if (self.retention is None) == (self.promise is None):
            raise InputError(
                "uniform perturbation needs a retention or a promise, not both",
                remedy="for example Uniform(0.5) or Uniform(promise=RhoPrivacy(0.1, 0.5))",
            )
        if self.retention is not None:
            check_retention(self.retention)

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "uniform"

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Fix the retention."""
        m = check_domain(tally.layout.n_values)
        kept = self.promise.retention(m) if self.promise else self.retention
        facts = {"promise": promise_facts(self.promise)} if self.promise else {}
        return _UniformPlan(tally.layout, tally.records, float(kept or 0), facts, seed)


@dataclass(frozen=True, eq=False)
class _UniformPlan:
    layout: Layout
    records: int
    retention: float
    facts: dict[str, Any]
    seed: int

    @property
    def tables(self) -> tuple[SubTable, ...]:
        return (SubTable(self.retention, tuple(range(self.layout.n_values))),)

    def blocks(self, tally: Tally) -> Iterator[Block]:
        return iter_blocks(tally)

    def draw(self, block: Block) -> Batch:
        chance = generator(self.seed, PERTURB, block.number)
        cells = perturb_counts(block.counts, self.retention, chance=chance)
        return self.layout.join(block.public[cells.group], cells.value), cells.count


@dataclass(frozen=True)
class Partitioned:
    """Sub-tables with small domains, each perturbed with the largest retention the promise allows."""

    promise: RhoPrivacy
    confidence: float = 0.95

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "partitioned"

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Partition the totals of the sensitive values."""
        totals = np.zeros(tally.layout.n_values, np.int64)
        for keys, counts in tally.cells():
            value = tally.layout.split(keys)[1]
            totals += np.bincount(value, counts, len(totals)).astype(np.int64)
        found = partition(totals, self.promise, confidence=self.confidence)
        label = Column(free_name("part", tally.layout.names), pa.array(np.arange(1, len(found) + 1)))
        layout = replace(tally.layout, public=(*tally.layout.public, label))
        return _PartitionedPlan(layout, tally.layout, found, seed)


@dataclass(frozen=True, eq=False)
class _PartitionedPlan:
    layout: Layout
    original: Layout
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
        label = self.layout.public[-1].name
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
        public = _relaid(block.public, self.original, self.layout)
        place = self.layout.places[len(self.layout.public) - 1]
        keys, counts = list[Keys](), list[Whole]()
        for at, cells in enumerate(drawn):
            found = self.layout.join(public[cells.group], cells.value)
            found[:, place.word] |= np.uint64(at << place.shift)
            keys.append(found)
            counts.append(cells.count)
        return np.concatenate(keys), np.concatenate(counts)


def promise_facts(promise: Any) -> dict[str, Any]:
    """A promise as plain data."""
    return {"kind": type(promise).__name__, **vars(promise)}


def free_name(name: str, taken: Sequence[str]) -> str:
    """The name, with underscores after it until no column has it.

    >>> free_name("part", ["part", "age"])
    'part_'
    """
    while name in taken:
        name += "_"
    return name


def _relaid(public: Keys, old: Layout, new: Layout) -> Keys:
    """Public keys in a layout that has more public columns at its end; those are left at zero."""
    codes = [old.unpack(public, at) for at in range(len(old.public))]
    added = len(new.columns) - len(codes)
    return new.pack([*codes, *[np.zeros(len(public), np.uint64)] * added])
