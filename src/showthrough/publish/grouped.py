"""Methods that look at all groups at once: sampled publications, and anatomy.

They hold the groups in memory (not the records), sampled ones after public values were merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.engine.keys import Column, Keys, Layout, in_order
from showthrough.engine.plane import Batch, Tally
from showthrough.publish.anatomy import Anatomy, anatomize
from showthrough.publish.blocks import Block, block_size
from showthrough.publish.draws import PERTURB, generator
from showthrough.publish.generalize import Generalization, generalize
from showthrough.publish.groups import Groups
from showthrough.publish.method import Plan, free_name, promise_facts
from showthrough.publish.parameters import check_domain, check_retention
from showthrough.publish.promise import LDiversity
from showthrough.publish.reconstruction import ReconstructionPrivacy
from showthrough.publish.sample import default_band, n_trials, sample_counts
from showthrough.publish.table import SubTable
from showthrough.publish.text import texts
from showthrough.publish.violations import Bound

__all__ = ["Anatomized", "Sampled"]

Whole = NDArray[np.int64]

pc: Any = pyarrow.compute

#: Rows of an anatomy handled at a time.
ROWS = 2**21


@dataclass(frozen=True)
class Sampled:
    """Public values are merged, large groups sampled, and everything perturbed with one retention.

    ``band`` is explained in :mod:`showthrough.publish.sample`; with ``significance=None`` public
    values stay as they are.
    """

    promise: ReconstructionPrivacy
    retention: float
    bound: Bound = "chernoff"
    band: float | None = None
    significance: float | None = 0.05

    def __post_init__(self) -> None:
        check_retention(self.retention)

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "sampled"

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Merge public values, and fix the number of trials for each group."""
        check_domain(tally.layout.n_values)
        groups = Groups.of_tally(tally)
        merged = None if self.significance is None else generalize(groups, significance=self.significance)
        kept = merged.groups if merged else groups
        trials = n_trials(
            kept.counts, self.promise, retention=self.retention, bound=self.bound, band=self.band
        )
        band = default_band(self.promise) if self.band is None else self.band
        extra = list[Column]()
        if band > 1:
            copies = pa.array(np.unique(kept.sizes / trials))
            extra = [Column(free_name("copies", [*kept.public.column_names, *tally.layout.names]), copies)]
        layout, keys = _keyed(kept, tally.layout, extra)
        if extra:
            code = np.searchsorted(extra[0].values.to_numpy(), kept.sizes / trials).astype(np.uint64)
            place = layout.places[len(layout.public) - 1]
            keys[:, place.word] |= code << np.uint64(place.shift)
        facts = {
            "promise": promise_facts(self.promise),
            "bound": self.bound,
            "band": band,
            "copies": extra[0].name if extra else None,
            "merged": _merged_facts(merged) if merged else {},
        }
        return _SampledPlan(layout, kept, keys, trials, self.retention, facts, seed)


@dataclass(frozen=True, eq=False)
class _SampledPlan:
    layout: Layout
    groups: Groups
    keys: Keys
    trials: Whole
    retention: float
    facts: dict[str, Any]
    seed: int

    @property
    def records(self) -> int:
        return self.groups.records

    @property
    def tables(self) -> tuple[SubTable, ...]:
        return (SubTable(self.retention, tuple(range(self.layout.n_values))),)

    def blocks(self, tally: Tally) -> Iterator[Block]:
        del tally
        size = block_size(self.groups.counts.shape[1])
        for number, first in enumerate(range(0, len(self.groups), size)):
            rows = slice(first, first + size)
            yield Block(number, self.keys[rows], self.groups.counts[rows], self.trials[rows])

    def draw(self, block: Block) -> Batch:
        chance = generator(self.seed, PERTURB, block.number)
        trials = block.more if block.more is not None else np.zeros(0, np.int64)
        cells = sample_counts(block.counts, trials, self.retention, chance=chance)
        return self.layout.join(block.public[cells.group], cells.value), cells.count

    def __getstate__(self) -> dict[str, Any]:
        # Blocks carry what drawing needs.
        empty = replace(self.groups, public=self.groups.public.slice(0, 0), counts=self.groups.counts[:0])
        return {**vars(self), "groups": empty, "keys": self.keys[:0], "trials": self.trials[:0]}


@dataclass(frozen=True)
class Anatomized:
    """Anatomy: public rows and sensitive values in two tables, joined by buckets of l values."""

    promise: LDiversity

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "anatomy"

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Put the records into buckets."""
        groups = Groups.of_tally(tally)
        found = anatomize(groups, self.promise, seed=seed)
        number = int(found.bucket.max()) + 1
        bucket = Column(free_name("bucket", tally.layout.names), pa.array(np.arange(1, number + 1)))
        layout, keys = _keyed(
            groups, replace(tally.layout, sensitive=(), codes=np.zeros(1, np.int64)), [bucket]
        )
        return _AnatomyPlan(layout, found, keys, tally.layout)


@dataclass(frozen=True, eq=False)
class _AnatomyPlan:
    layout: Layout
    anatomy: Anatomy
    keys: Keys
    original: Layout

    @property
    def records(self) -> int:
        return len(self.anatomy.group)

    @property
    def tables(self) -> tuple[SubTable, ...]:
        return ()

    @property
    def facts(self) -> dict[str, Any]:
        return {"promise": promise_facts(self.anatomy.promise), "label": self.layout.public[-1].name}

    def blocks(self, tally: Tally) -> Iterator[Block]:
        del tally
        place = self.layout.places[len(self.layout.public) - 1]
        for number, first in enumerate(range(0, self.records, ROWS)):
            rows = slice(first, first + ROWS)
            keys = self.keys[self.anatomy.group[rows]]
            keys[:, place.word] |= self.anatomy.bucket[rows].astype(np.uint64) << np.uint64(place.shift)
            yield Block(number, keys, None)

    def draw(self, block: Block) -> Batch:
        return block.public, np.ones(len(block.public), np.int64)

    def sensitive_table(self) -> pa.Table:
        """The second table: which values each bucket holds, and how often."""
        key = self.anatomy.bucket * self.original.n_values + self.anatomy.value
        cells, number = np.unique(key, return_counts=True)
        bucket, value = np.divmod(cells, self.original.n_values)
        table = self.original.domain.take(value)
        taken = [self.layout.public[-1].name, *table.column_names]
        table = table.add_column(0, taken[0], pa.array(bucket + 1))
        return table.append_column(free_name("number", taken), pa.array(number))

    def __getstate__(self) -> dict[str, Any]:
        return {"layout": self.layout, "anatomy": None, "keys": self.keys[:0], "original": self.original}


def _keyed(groups: Groups, layout: Layout, extra: Sequence[Column]) -> tuple[Layout, Keys]:
    """A layout with the public columns of groups in memory and more, and each group's key in it."""
    columns, codes = list[Column](), list[Whole]()
    for name in groups.public.column_names:
        column = Column(name, in_order(groups.public[name].unique()))
        columns.append(column)
        codes.append(pc.index_in(groups.public[name], value_set=column.values).to_numpy().astype(np.int64))
    made = replace(layout, public=(*columns, *extra))
    zeros = np.zeros(len(groups), np.int64)
    return made, made.pack([*codes, *[zeros] * (len(extra) + len(made.sensitive))])


def _merged_facts(found: Generalization) -> dict[str, dict[str, list[str]]]:
    """For each attribute with merged values, each label's original values as text."""
    merged: dict[str, dict[str, list[str]]] = {}
    for column in found.columns:
        if column.merged:
            members = merged.setdefault(column.name, {})
            for label, text in zip(column.labels, texts(column.values), strict=True):
                members.setdefault(label, []).append(text)
    return merged
