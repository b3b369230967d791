"""Sampled publication (sampling, perturbing, scaling): a large group reveals no more than its sample.

A group that is larger than its limit s_g is represented by a sample of that many records, drawn in
proportion to its sensitive values; the sample is perturbed, and the result is scaled back to the size
of the group. The perturbed sample holds all there is to learn: scaling adds copies, not trials. The
groups, not the records, are held in memory, after public values were merged.

Sampling and scaling are rounded systematically, with one random start for each group: every number is
its expectation rounded up or down, the expectations are exact, and so are the totals, at the number of
trials and at the size of the group.

**What the number of trials reveals.** Copies are visible: with τ' = |g|/trials, counts are close to
multiples of τ', so a reader can infer how many trials a group had. The paper's s_g depends on the group's
largest frequency f, so exact trials would reveal f far better than the promise allows. Trials are
therefore taken for the upper end of a band of frequencies, by default as wide as the promised error:
ends 1, 1/R, 1/R², … with R = (1 + λ)/(1 − λ), where λ is the error of the promise. They never exceed s_g,
reveal f only as one of these bands, and can be published, so that error bars are right. ``band=1`` takes
the paper's numbers, and then they are not published.

With ``bound="exact"`` trials follow the exact limit instead. Exact tails jump from count to count, so
even such a sample may fall short of the promise for the counts it happens to have; a check shows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from showthrough.engine.backend import Batch, Tally
from showthrough.engine.keys import Column, KeyCodec, Keys
from showthrough.errors import InputError, check_type
from showthrough.frames.columns import texts
from showthrough.microdata.draws import PERTURB, generator
from showthrough.microdata.generalize import Generalization, generalize
from showthrough.microdata.groups import Block, Groups, block_size, cut
from showthrough.microdata.parameters import check_domain, check_retention
from showthrough.microdata.plan import Plan, SubTable, free_name, key_groups, promise_facts
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.uniform import Cells, perturb_counts
from showthrough.microdata.violations import Bound

__all__ = [
    "Sampled",
    "default_band",
    "n_trials",
    "sample",
    "sample_counts",
    "trials_for",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Sampled:
    """Public values are merged, large groups sampled, and everything perturbed with one retention.

    Parameters
    ----------
    promise : ReconstructionPrivacy
        What is promised about each personal group.
    retention : float
        The probability with which a sampled record keeps its value, between 0 and 1.
    bound : {"chernoff", "exact"}
        Which bound the sample sizes follow.
    band : float, optional
        The width of the bands of frequencies that sample sizes reveal, as a ratio; 1 for none.
    significance : float or None
        The level of the χ² test that merges public values; None leaves them as they are.

    Examples
    --------
    >>> Sampled(ReconstructionPrivacy(0.3, 0.3), 0.5).name
    'sampled'
    """

    promise: ReconstructionPrivacy
    retention: float
    bound: Bound = "chernoff"
    band: float | None = None
    significance: float | None = 0.05

    def __post_init__(self) -> None:
        kind = ReconstructionPrivacy
        check_type(self.promise, kind, name="promise", remedy="write ReconstructionPrivacy(0.3, 0.3)")
        check_type(self.retention, Real, name="retention", remedy="for example 0.5")
        check_retention(self.retention)
        check_type(self.bound, str, name="bound", remedy="choose chernoff or exact")
        for name, number in (("band", self.band), ("significance", self.significance)):
            check_type(number, (Real, NoneType), name=name)

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "sampled"

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Merge public values, and fix the number of trials for each group."""
        check_domain(tally.codec.n_values)
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
            extra = [Column(free_name("copies", [*kept.public.column_names, *tally.codec.names]), copies)]
        codec, keys = key_groups(kept, tally.codec, extra)
        if extra:
            code = np.searchsorted(extra[0].values.to_numpy(), kept.sizes / trials).astype(np.uint64)
            place = codec.places[len(codec.public) - 1]
            keys[:, place.word] |= code << np.uint64(place.shift)
        facts = {
            "promise": promise_facts(self.promise),
            "bound": self.bound,
            "band": band,
            "copies": extra[0].name if extra else None,
            "merged": _merged_facts(merged) if merged else {},
        }
        return _SampledPlan(codec, kept, keys, trials, self.retention, facts, seed)


@dataclass(frozen=True, eq=False)
class _SampledPlan:
    codec: KeyCodec
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
        return (SubTable(self.retention, tuple(range(self.codec.n_values))),)

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
        return self.codec.join(block.public[cells.group], cells.value), cells.count

    def __getstate__(self) -> dict[str, Any]:
        # Blocks carry what drawing needs.
        empty = replace(self.groups, public=self.groups.public.slice(0, 0), counts=self.groups.counts[:0])
        return {**vars(self), "groups": empty, "keys": self.keys[:0], "trials": self.trials[:0]}


def _merged_facts(found: Generalization) -> dict[str, dict[str, list[str]]]:
    """For each attribute with merged values, each label's original values as text."""
    merged: dict[str, dict[str, list[str]]] = {}
    for column in found.columns:
        if column.merged:
            members = merged.setdefault(column.name, {})
            for label, text in zip(column.labels, texts(column.values), strict=True):
                members.setdefault(label, []).append(text)
    return merged


def sample(
    groups: Groups,
    retention: float,
    *,
    promise: ReconstructionPrivacy,
    seed: int,
    bound: Bound = "chernoff",
    band: float | None = None,
) -> Groups:
    """Groups of the same sizes, in which nobody learns frequencies better than promised.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[900, 100], [3, 5]])
    >>> sample(groups, 0.5, promise=ReconstructionPrivacy(0.3, 0.3), seed=1).sizes.tolist()
    [1000, 8]
    """
    check_retention(retention)
    m = check_domain(len(groups.totals))
    parts = list[Any]()
    for number, counts in cut(groups.counts):
        trials = n_trials(counts, promise, retention=retention, bound=bound, band=band)
        chance = generator(seed, PERTURB, number)
        parts.append(sample_counts(counts, trials, retention, chance=chance).matrix((counts.shape[0], m)))
    return groups.with_counts(parts)


def default_band(promise: ReconstructionPrivacy) -> float:
    """R = (1 + λ)/(1 − λ); 10 where the promised error is nearly 100 % or more."""
    return min(10.0, (1 + promise.error) / (1 - promise.error)) if promise.error < 1 else 10.0


def n_trials(
    counts: Any,
    promise: ReconstructionPrivacy,
    *,
    retention: float,
    bound: Bound = "chernoff",
    band: float | None = None,
) -> Whole:
    """How many records of each group are perturbed: at least one, at most s_g and all of them.

    >>> promise = ReconstructionPrivacy(0.3, 0.3)
    >>> counts = csr_array([[900, 100], [2, 1]])
    >>> n_trials(counts, promise, retention=0.5).tolist()
    [80, 3]
    >>> n_trials(counts, promise, retention=0.5, band=1).tolist()
    [92, 3]
    """
    sizes = np.asarray(counts.sum(axis=1), np.int64)
    largest = np.asarray(counts.max(axis=1).toarray(), np.int64).ravel()
    return trials_for(
        largest / np.maximum(sizes, 1),
        sizes,
        promise=promise,
        retention=retention,
        n_values=counts.shape[1],
        bound=bound,
        band=band,
    )


def trials_for(
    frequency: ArrayLike,
    sizes: ArrayLike,
    *,
    promise: ReconstructionPrivacy,
    retention: float,
    n_values: int,
    bound: Bound = "chernoff",
    band: float | None = None,
) -> Whole:
    """How many trials groups get, by their largest frequencies and their sizes."""
    ratio = default_band(promise) if band is None else band
    if not ratio >= 1:
        raise InputError(
            "the ratio of a band must be at least 1", found=str(band), remedy="1 for exact limits"
        )
    f, n = np.asarray(frequency, np.float64), np.asarray(sizes, np.int64)
    end, of = np.unique(_band_end(np.clip(f, 1 / n_values, 1), ratio), return_inverse=True)
    # Exact limits jump up and down with the frequency, so the least of a band is taken.
    inside = end if bound == "chernoff" or ratio == 1 else end * np.linspace(1 / ratio, 1, 33)[:, None]
    limit = np.atleast_2d(promise.largest_group(inside, retention, n_values, bound=bound)).min(axis=0)
    return np.minimum(n, np.maximum(1, np.floor(np.minimum(limit, 2.0**40))).astype(np.int64)[of])


def _band_end(frequency: Floats, ratio: float) -> Floats:
    """The upper end of the band a frequency is in: R⁻ʲ with j as large as R⁻ʲ ≥ f allows."""
    if ratio == 1:
        return frequency
    return ratio ** -np.floor(-np.log(frequency) / math.log(ratio) + 1e-12)


def sample_counts(counts: Any, trials: ArrayLike, retention: float, *, chance: np.random.Generator) -> Cells:
    """A matrix of counts, sampled, perturbed and scaled; one number of trials for each group."""
    n_values = counts.shape[1]
    sizes, tried = np.asarray(counts.sum(axis=1), np.int64), np.asarray(trials, np.int64)
    # In a random order of the values, two values that are not neighbours are rounded almost
    # independently; in a fixed one they could always go up and down together.
    order = chance.permutation(n_values)
    dense = counts.toarray()[:, order]
    sampled = _rescaled(dense, sizes, tried, chance)
    perturbed = perturb_counts(csr_array(sampled), retention, chance=chance).matrix(counts.shape).toarray()
    scaled = _rescaled(perturbed, tried, sizes, chance)
    group, value = np.nonzero(scaled)
    return Cells(group, order[value], scaled[group, value])


def _rescaled(counts: Whole, old: Whole, new: Whole, chance: np.random.Generator) -> Whole:
    """Rows with total ``old`` scaled to total ``new``, each number rounded up or down.

    With C the running total, ⌊(C·new + u)/old⌋ for a random u from 0 to old − 1 has the expectation
    C·new/old (systematic sampling), in whole numbers throughout.
    """
    changed = np.flatnonzero(old != new)
    start = chance.integers(0, old[changed])[:, None]
    running = (np.cumsum(counts[changed], axis=1) * new[changed, None] + start) // old[changed, None]
    scaled = counts.copy()
    scaled[changed] = np.diff(running, axis=1, prepend=0)
    return scaled
