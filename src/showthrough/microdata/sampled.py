"""Sampled publication (sampling, perturbing, scaling): a group reveals no more than its trials.

Every group is represented by a number of trials, drawn from its records, perturbed, and scaled back to the
size of the group. The trials hold all there is to learn: scaling adds copies, not trials. The groups, not
the records, are held in memory, after public values were merged.

Scaling is rounded systematically, with one random start for each group: every number is its expectation
rounded up or down, the expectations are exact, and so is the size of the group.

**What the number of trials reveals.** Copies are visible: with τ' = |g|/trials, counts are close to
multiples of τ', so a reader can infer how many trials a group had. Hence three ways to choose the number:

``independent``
    The largest number with which the promise holds at *every* frequency, drawn with replacement
    (:mod:`showthrough.microdata.trials`). It follows from the size of the group and reveals nothing. The
    default, and the only way that keeps the promise.
``banded``
    The limit s_g of the group's largest frequency f, taken at the upper end of a band of frequencies: ends
    1, 1/R, 1/R², … with R = (1 + λ)/(1 − λ), where λ is the error of the promise. It tells the band of f, and
    (1 + λ) times the lower end of such a band is *always* within λ of f, whatever was drawn.
``printed``
    The paper's s_g of f itself. It would tell f still better, so it is not published; a reader who infers it
    from the copies learns f.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from types import NoneType
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from showthrough.engine.backend import Batch, Tally
from showthrough.engine.keys import Column, KeyCodec, Keys
from showthrough.errors import InputError, check_type
from showthrough.microdata.generalize import Generalization, Merging, generalize
from showthrough.microdata.groups import Block, Groups, block_size, cut
from showthrough.microdata.parameters import check_domain, check_retention
from showthrough.microdata.plan import (
    PERTURB,
    Plan,
    SubTable,
    free_name,
    generator,
    key_groups,
    promise_facts,
)
from showthrough.microdata.printed_sample import printed_counts
from showthrough.microdata.reconstruction_privacy import (
    ReconstructionPrivacy,
    every_count,
    largest_counts,
)
from showthrough.microdata.trials import IndependentTrials, TrialPlan, plan_trials
from showthrough.microdata.uniform import Cells, perturb_counts
from showthrough.microdata.violations import Bound, ReconstructionCheck
from showthrough.text import percent

__all__ = [
    "Rounding",
    "SampleDesign",
    "Sampled",
    "Trials",
    "check_design",
    "default_band",
    "draw_counts",
    "n_trials",
    "sample",
    "sample_counts",
    "trials_for",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: How the number of trials of a group is chosen.
Trials = Literal["independent", "banded", "printed"]

#: How samples and copies become whole numbers: with fixed totals, or each number by itself.
Rounding = Literal["systematic", "separate"]


@dataclass(frozen=True)
class Sampled:
    """Public values are merged, groups sampled, and everything perturbed with one retention.

    Parameters
    ----------
    promise : ReconstructionPrivacy
        What is promised about each personal group.
    retention : float, optional
        The largest probability with which a sampled record may keep its value, between 0 and 1. With
        independent trials the best one up to it is used; the others take it as it is and need it.
    bound : {"exact", "chernoff"}
        Which bound the numbers of trials follow; independent ones follow exact tails.
    band : float, optional
        The width of the bands of frequencies that banded trials reveal, as a ratio; 1 for none.
    significance : float or None
        The level of the test that merges public values; None leaves them as they are.
    trials : {"independent", "banded", "printed"}
        How many trials a group has: as many as keep the promise at every frequency, so that the number
        reveals nothing; or by the largest frequency of the group, in bands or as the paper prints it.
    merging : {"conditional", "components", "none"}
        How public values are merged: see :func:`~showthrough.microdata.generalize.generalize`.
    rounding : {"systematic", "separate"}
        How samples and copies become whole numbers. "separate" is the paper's way, for comparison only and
        with printed trials: each number is rounded by itself, so every second sample exceeds its limit and
        groups change their sizes.

    Examples
    --------
    >>> Sampled(ReconstructionPrivacy(0.3, 0.3)).name
    'sampled'
    """

    promise: ReconstructionPrivacy
    retention: float | None = None
    bound: Bound = "exact"
    band: float | None = None
    significance: float | None = 0.05
    trials: Trials = "independent"
    merging: Merging = "conditional"
    rounding: Rounding = "systematic"

    def __post_init__(self) -> None:
        kind = ReconstructionPrivacy
        check_type(self.promise, kind, name="promise", remedy="write ReconstructionPrivacy(0.3, 0.3)")
        check_type(self.retention, (Real, NoneType), name="retention", remedy="for example 0.5")
        if self.retention is not None:
            check_retention(self.retention)
        check_type(self.bound, str, name="bound", remedy="choose exact or chernoff")
        for name, number in (("band", self.band), ("significance", self.significance)):
            check_type(number, (Real, NoneType), name=name)
        for name, chosen, kinds in (
            ("trials", self.trials, Trials),
            ("merging", self.merging, Merging),
            ("rounding", self.rounding, Rounding),
        ):
            if chosen not in get_args(kinds):
                raise InputError(
                    f"unknown {name}", found=str(chosen), remedy=f"choose {_or(get_args(kinds))}"
                )
        if self.trials != "independent" and self.retention is None:
            raise InputError(f"{self.trials} trials need a retention", remedy="for example 0.5")
        if self.rounding == "separate" and self.trials != "printed":
            raise InputError(
                "separate rounding goes with printed trials",
                found=f"{self.trials} trials",
                remedy="leave it out: systematic rounding keeps sizes",
            )
        if self.trials == "independent" and self.bound != "exact":
            raise InputError(
                "independent trials follow exact tails",
                found=f"the bound {self.bound}",
                remedy="choose banded or printed trials to see what the paper's bound gives",
            )

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "sampled"

    def merge(self, groups: Groups) -> Generalization | None:
        """The groups over merged public values; None if values are left as they are."""
        if self.significance is None or self.merging == "none" or not groups.public.column_names:
            return None
        return generalize(groups, significance=self.significance, merging=self.merging)

    def design(self, groups: Groups) -> SampleDesign:
        """The retention and the number of trials of each group."""
        n_values, n = check_domain(len(groups.totals)), groups.sizes
        if self.trials == "independent":
            found = plan_trials(n, self.promise, n_values=n_values, retention=self.retention)
            return SampleDesign("independent", found.retention, found.trials, found)
        kept, band = self.retention or 0.0, 1.0 if self.trials == "printed" else self.band
        trials = n_trials(groups.counts, self.promise, retention=kept, bound=self.bound, band=band)
        return SampleDesign(self.trials, kept, trials, TrialPlan(kept, trials, n, n_values), self.rounding)

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Merge public values, and fix the number of trials for each group."""
        check_domain(tally.codec.n_values)
        if self.rounding == "separate":
            raise InputError(
                "separate rounding is for comparison only and is not published",
                remedy="leave it out: systematic rounding keeps sizes",
            )
        groups = Groups.of_tally(tally)
        merged = self.merge(groups)
        groups = merged.groups if merged else groups
        design = self.design(groups)
        if not design.trials.any():
            raise _nothing_left(self, groups)
        used = np.flatnonzero(design.trials)
        kept = replace(groups, public=groups.public.take(used), counts=groups.counts[used])
        trials = design.trials[used]
        extra = list[Column]()
        if self.trials != "printed":
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
            "trials": self.trials,
            "band": self._band,
            "copies": extra[0].name if extra else None,
            "merged": merged.facts if merged else {},
            **_published_price(self.trials, design.price),
        }
        return _SampledPlan(codec, kept, keys, trials, design, facts, seed)

    @property
    def _band(self) -> float | None:
        """The ratio of bands as the manifest states it."""
        if self.trials == "independent":
            return None
        return (
            1.0
            if self.trials == "printed"
            else default_band(self.promise)
            if self.band is None
            else self.band
        )


def _or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _published_price(trials: Trials, price: TrialPlan) -> dict[str, Any]:
    """What the manifest says about the cost: only what independent trials make public anyway."""
    if trials != "independent":
        return {}
    left = {"suppressed": price.suppressed} if price.suppressed else {}
    return {"drawn": int(price.trials.sum()), "effective": price.effective, **left}


def _nothing_left(method: Sampled, groups: Groups) -> InputError:
    """No group can be published; with promises that would leave something."""
    promise, n = method.promise, len(groups.totals)
    named = f"{promise.error:g}:{promise.chance:g}"
    weaker = [
        (promise.error / by, promise.chance / over)
        for by, over in ((1, 2), (1, 5), (2, 5), (1, 10), (5, 10), (1, 50), (1, 200))
    ]
    for error, chance in weaker:
        found = plan_trials(
            groups.sizes, ReconstructionPrivacy(error, chance), n_values=n, retention=method.retention
        )
        if found.trials.any():
            kept = percent(1 - found.suppressed / groups.records, 1)
            remedy = (
                f"{error:.3g}:{chance:.3g} would leave {kept} of the records; so may fewer public columns"
            )
            break
    else:
        remedy = "take fewer public columns, or fewer sensitive values"
    return InputError(
        "with this promise no group can be published: whatever the number of trials, some frequency could be "
        "estimated too precisely",
        found=named,
        remedy=remedy,
    )


@dataclass(frozen=True, eq=False)
class SampleDesign:
    """How groups are sampled: the retention, and the trials of each group (0: it is left out)."""

    kind: Trials
    retention: float
    trials: Whole
    price: TrialPlan
    rounding: Rounding = "systematic"

    def draw(self, counts: Any, trials: Whole, *, chance: np.random.Generator) -> Cells:
        """Published counts of some groups."""
        if self.kind == "independent":
            return draw_counts(counts, trials, self.retention, chance=chance)
        if self.rounding == "separate":
            return printed_counts(counts, trials, self.retention, chance=chance)
        return sample_counts(counts, trials, self.retention, chance=chance)

    def sample(self, groups: Groups, *, seed: int) -> Groups:
        """The groups as they would be published; those that are left out have no records."""
        parts, at = list[Any](), 0
        for number, counts in cut(groups.counts):
            trials = self.trials[at : at + counts.shape[0]]
            at += counts.shape[0]
            cells = self.draw(counts, trials, chance=generator(seed, PERTURB, number))
            parts.append(cells.matrix(counts.shape))
        return groups.with_counts(parts)


def check_design(groups: Groups, design: SampleDesign, promise: ReconstructionPrivacy) -> ReconstructionCheck:
    """Which groups would violate a promise, sampled like this: for every value of the domain, exactly.

    Groups that are left out violate nothing. Banded and printed samples have the counts that rounding makes
    likeliest.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[900, 100], [3, 5]])
    >>> promise = ReconstructionPrivacy(0.3, 0.3)
    >>> check_design(groups, Sampled(promise).design(groups), promise).holds()
    True
    """
    n_values, n, trials = len(groups.totals), groups.sizes, design.trials
    group, count = every_count(groups)
    group, count = group[trials[group] > 0], count[trials[group] > 0]
    frequency = count / n[group]
    exact_limit = None
    if design.kind == "independent":
        limits = IndependentTrials(promise, design.retention, n_values)
        held, exact_limit = limits.hold(frequency, trials[group], n[group]), limits.largest(n)
    else:
        sampled = np.rint(frequency * trials[group]).astype(np.int64)
        held = promise.holds(sampled, trials[group], retention=design.retention, n_values=n_values)
    failed = np.zeros(len(groups), bool)
    failed[group[~held]] = True
    largest = largest_counts(groups) / np.maximum(n, 1)
    known: dict[str, Any] = {"retention": design.retention, "n_values": n_values, "exact_limit": exact_limit}
    return replace(promise.result(trials, largest, failed, **known), sizes=n)


@dataclass(frozen=True, eq=False)
class _SampledPlan:
    codec: KeyCodec
    groups: Groups
    keys: Keys
    trials: Whole
    design: SampleDesign
    facts: dict[str, Any]
    seed: int

    @property
    def records(self) -> int:
        return self.groups.records

    @property
    def tables(self) -> tuple[SubTable, ...]:
        return (SubTable(self.design.retention, tuple(range(self.codec.n_values))),)

    def blocks(self, tally: Tally) -> Iterator[Block]:
        del tally
        size = block_size(self.groups.counts.shape[1])
        for number, first in enumerate(range(0, len(self.groups), size)):
            rows = slice(first, first + size)
            yield Block(number, self.keys[rows], self.groups.counts[rows], self.trials[rows])

    def draw(self, block: Block) -> Batch:
        chance = generator(self.seed, PERTURB, block.number)
        trials = block.more if block.more is not None else np.zeros(0, np.int64)
        cells = self.design.draw(block.counts, trials, chance=chance)
        return self.codec.join(block.public[cells.group], cells.value), cells.count

    def __getstate__(self) -> dict[str, Any]:
        # Blocks carry what drawing needs.
        empty = replace(self.groups, public=self.groups.public.slice(0, 0), counts=self.groups.counts[:0])
        none = np.zeros(0, np.int64)
        price = replace(self.design.price, trials=none, sizes=none)
        design = replace(self.design, trials=none, price=price)
        return {**vars(self), "groups": empty, "keys": self.keys[:0], "trials": none, "design": design}


def sample(groups: Groups, method: Sampled, *, seed: int) -> Groups:
    """The groups as a method publishes them, without merging; groups that are left out have no records.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[900, 100], [3, 5]])
    >>> sample(groups, Sampled(ReconstructionPrivacy(0.3, 0.3)), seed=1).sizes.tolist()
    [1000, 8]
    """
    return method.design(groups).sample(groups, seed=seed)


def draw_counts(counts: Any, trials: ArrayLike, retention: float, *, chance: np.random.Generator) -> Cells:
    """Independent trials of each group, drawn with replacement, perturbed, and scaled to its size.

    A trial shows a value of frequency f with probability p f + (1 − p)/m, so all trials of a group are one
    multinomial draw.
    """
    n_values = counts.shape[1]
    tried = np.asarray(trials, np.int64)
    sizes = np.where(tried > 0, np.asarray(counts.sum(axis=1), np.int64), 0)
    order = chance.permutation(n_values)  # see sample_counts
    shares = counts.toarray()[:, order] / np.maximum(counts.sum(axis=1), 1)[:, None]
    shown = chance.multinomial(tried, retention * shares + (1 - retention) / n_values)
    scaled = _rescaled(shown, tried, sizes, chance)
    group, value = np.nonzero(scaled)
    return Cells(group, order[value], scaled[group, value])


def default_band(promise: ReconstructionPrivacy) -> float:
    """R = (1 + λ)/(1 − λ); 10 where the promised error is nearly 100 % or more."""
    return min(10.0, (1 + promise.error) / (1 - promise.error)) if promise.error < 1 else 10.0


def n_trials(
    counts: Any,
    promise: ReconstructionPrivacy,
    *,
    retention: float,
    bound: Bound = "exact",
    band: float | None = None,
) -> Whole:
    """How many records of each group are perturbed by its largest frequency: from one to s_g, or all.

    >>> promise = ReconstructionPrivacy(0.3, 0.3)
    >>> counts = csr_array([[900, 100], [2, 1]])
    >>> n_trials(counts, promise, retention=0.5, bound="chernoff").tolist()
    [80, 3]
    >>> n_trials(counts, promise, retention=0.5, bound="chernoff", band=1).tolist()
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
    bound: Bound = "exact",
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
