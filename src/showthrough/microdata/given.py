"""(ρ1, ρ2)-privacy for readers who see the public values: uniform perturbation with ``given="public"``.

To a reader who sees the public values, the prior of a value is its share among the people who have them. So
public values are merged, and each group of people with the same published values gets a retention that keeps
the promise for its own shares. Nothing is decided for a single group: merging, withholding or changing
just the group that needs it would tell what is in it.

* **A ladder of coarser public values** follows from public numbers alone. Step by step the smallest group is
  taken and, in the column with the most values, its value is merged with a neighbour: the next number, or
  else the least frequent other value. Where a column has many values, several are merged in a step.
* **One level for the whole table**, drawn with noise. A level that followed from the values exactly could
  tell one: of a group of one person and a group of six, the first is merged with the second if and only if
  that person has the rare value. So the finest level is taken at which every group can spare some people:
  the sparse vector technique, with noise that makes any level at most e^ε times likelier if two people
  swap their values (``EPSILON``). Retentions leave room for that factor.
* **A retention per class.** The largest share of a protected value in a group is rounded *up* to a fixed
  grid between ρ1 and ρ2. Groups with the same rounded share are a class, published as a sub-table.

What this gives away on purpose: the level, one number for the whole table, and each group's class, which is
an interval for its largest share. The promise holds for readers who know the shares in all published groups,
so classes make nobody surer of a person than promised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.engine.backend import Batch, Tally
from showthrough.engine.keys import Column, KeyCodec, Keys
from showthrough.errors import InputError, check_type
from showthrough.microdata.generalize import Generalization, ranked, relabel
from showthrough.microdata.groups import Block, Groups, block_size, cut
from showthrough.microdata.parameters import check_domain
from showthrough.microdata.people import ReaderUnits
from showthrough.microdata.plan import (
    LEVEL,
    PERTURB,
    Plan,
    SubTable,
    free_name,
    generator,
    key_groups,
    promise_facts,
)
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.uniform import Cells, perturb_counts
from showthrough.records import number_rows

__all__ = [
    "Classes",
    "Ladder",
    "UniformGivenPublic",
    "classify",
    "margin",
    "perturb_classes",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Steps of the grid between ρ1 and ρ2 to which largest shares are rounded up.
STEPS: Final = 8

#: How much likelier a level may become, as the logarithm of a factor, if two people swap their values; and
#: with which probability more may happen.
EPSILON: Final = 0.2
FAILURE: Final = 1e-6

#: The part of it that is for the threshold, the rest being for levels.
THRESHOLD: Final = EPSILON / (1 + 2 ** (2 / 3))

#: A class has at least this part of the retention that ρ1 allows; less would only add noise.
LEAST: Final = 0.25

#: The part of a column's values that is merged in one step, where it has many.
MERGED_AT_ONCE: Final = 1 / 16

_EQUAL: Final = 1 + 1e-12


@dataclass(frozen=True)
class UniformGivenPublic:
    """Uniform perturbation that keeps (ρ1, ρ2)-privacy for readers who see the public values.

    Parameters
    ----------
    promise : RhoPrivacy
        What is promised about each person.

    Examples
    --------
    >>> UniformGivenPublic(RhoPrivacy(0.3, 0.6)).name
    'uniform'
    """

    promise: RhoPrivacy

    def __post_init__(self) -> None:
        check_type(self.promise, RhoPrivacy, name="promise", remedy="write RhoPrivacy(0.1, 0.5)")
        if self.promise.sets != 1:
            raise InputError(
                "sets of values are not protected given the public values", remedy="leave out sets, or given"
            )

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "uniform"

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Merge public values, and fix the class of each group."""
        check_domain(tally.codec.n_values)
        found = classify(Groups.of_tally(tally), self.promise, seed=seed)
        groups = found.groups
        extra = list[Column]()
        if len(found.retention) > 1:
            name = free_name("part", [*groups.public.column_names, *tally.codec.names])
            extra = [Column(name, pa.array(np.arange(1, len(found.retention) + 1)))]
        codec, keys = key_groups(groups, tally.codec, extra)
        if extra:
            place = codec.places[len(codec.public) - 1]
            keys[:, place.word] |= found.part.astype(np.uint64) << np.uint64(place.shift)
        facts = {
            "promise": promise_facts(self.promise),
            "given": "public",
            "label": extra[0].name if extra else None,
            "merged": found.merged.facts,
        }
        return _GivenPlan(codec, found, keys, facts, seed)


@dataclass(frozen=True, eq=False)
class Classes:
    """Groups over merged public values, and the class of each."""

    merged: Generalization
    #: For each original group the published one it is in.
    of: Whole
    #: For each published group the number of its class, from 0.
    part: Whole
    #: For each class the largest share of a protected value it stands for, and its retention.
    share: Floats
    retention: Floats
    #: How many steps of the ladder were taken.
    level: int

    @property
    def groups(self) -> Groups:
        """The published groups, with their true counts."""
        return self.merged.groups

    @property
    def mean_retention(self) -> float:
        """The share of all records that keep their value."""
        sizes = self.groups.sizes
        return float((self.retention[self.part] * sizes).sum() / max(1, sizes.sum()))

    @property
    def tables(self) -> tuple[SubTable, ...]:
        """One sub-table for each class, with the whole domain."""
        values = tuple(range(len(self.groups.totals)))
        return tuple(SubTable(kept, values) for kept in self.retention.tolist())

    @property
    def units(self) -> ReaderUnits:
        """The published groups as readers see them."""
        made = ReaderUnits.of(self.groups, 0.5)
        return replace(made, table=self.part, tables=self.tables)


@dataclass(frozen=True, eq=False)
class LadderStep:
    """One level of the ladder."""

    number: int
    #: For each original group the number of the merged one it is in, and how many people these have.
    of: Whole
    sizes: Whole
    #: For each column the number of each value's merged value.
    merged: tuple[Whole, ...]

    @property
    def n_groups(self) -> int:
        """How many groups are left."""
        return len(self.sizes)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Ever coarser public values, which follow from how many people have which public values, and no more.

    >>> groups = Groups.of({"job": ["a", "b", "c"]}, {"ill": ["no", "yes"]}, [[5, 1], [1, 2], [4, 5]])
    >>> [[numbers.tolist() for numbers in step.merged] for step in Ladder.of(groups).steps()]
    [[[0, 1, 2]], [[0, 0, 2]], [[0, 0, 0]]]
    """

    #: For each group and column the position of its value.
    codes: Whole
    sizes: Whole
    n_values: tuple[int, ...]
    #: Which columns have an order, so that neighbours are merged.
    ordered: tuple[bool, ...]

    @classmethod
    def of(cls, groups: Groups) -> Ladder:
        """For the public values of groups."""
        codes, n_values, ordered = list[Whole](), list[int](), list[bool]()
        for name in groups.public.column_names:
            values, found = ranked(groups.public[name])
            codes.append(found)
            n_values.append(len(values))
            kind = values.type
            ordered.append(
                bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))
                and not pa.types.is_boolean(kind)
            )
        matrix = np.column_stack(codes) if codes else np.zeros((len(groups), 0), np.int64)
        return cls(matrix, groups.sizes, tuple(n_values), tuple(ordered))

    def steps(self) -> Iterator[LadderStep]:
        """From the values as they are to one group."""
        merged = [np.arange(n) for n in self.n_values]
        codes, of = self.codes, np.arange(len(self.codes))
        codes, of, sizes = _regroup(codes, of, self.sizes)
        number = 0
        yield LadderStep(number, of, sizes, tuple(merged))
        while len(sizes) > 1:
            left = [len(np.unique(codes[:, at])) for at in range(codes.shape[1])]
            at = int(np.argmax(left))
            to = self._merge(codes[:, at], sizes, self.n_values[at], ordered=self.ordered[at])
            merged[at] = to[merged[at]]
            codes = codes.copy()
            codes[:, at] = to[codes[:, at]]
            codes, of, sizes = _regroup(codes, of, sizes)
            number += 1
            yield LadderStep(number, of, sizes, tuple(merged))

    @staticmethod
    def _merge(codes: Whole, sizes: Whole, n_values: int, *, ordered: bool) -> Whole:
        """What each value of a column becomes in the next step, beginning with the smallest groups."""
        totals = np.bincount(codes, sizes, n_values).astype(np.int64)
        values, first = np.unique(codes[np.argsort(sizes, kind="stable")], return_index=True)
        turn = values[np.argsort(first, kind="stable")]
        by_number = iter(values[np.argsort(totals[values], kind="stable")].tolist())
        place = {value: at for at, value in enumerate(values.tolist())}
        to, used, waiting = np.arange(n_values), set[int](), list[int]()
        for value in turn[: max(1, int(len(values) * MERGED_AT_ONCE))].tolist():
            if value in used:
                continue
            if ordered:
                near = [place[value] - 1, place[value] + 1]
                beside = [int(values[at]) for at in near if 0 <= at < len(values)]
                free = sorted((int(totals[other]), other) for other in beside if other not in used)
                partner = free[0][1] if free else None
            else:
                waiting = [other for other in waiting if other not in used]
                partner = next((other for other in waiting if other != value), None)
                while partner is None and (other := next(by_number, None)) is not None:
                    if other in used:
                        continue
                    waiting.append(other)
                    partner = other if other != value else None
            if partner is None:
                continue
            used |= {value, partner}
            to[max(value, partner)] = min(value, partner)
        return to


def _regroup(codes: Whole, of: Whole, sizes: Whole) -> tuple[Whole, Whole, Whole]:
    """Groups with the same values become one."""
    place = number_rows(codes.T, len(codes))
    first = np.unique(place, return_index=True)[1]
    return codes[first], place[of], np.bincount(place, sizes, len(first)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _GivenPlan:
    codec: KeyCodec
    classes: Classes
    keys: Keys
    facts: dict[str, Any]
    seed: int

    @property
    def records(self) -> int:
        return self.classes.groups.records

    @property
    def tables(self) -> tuple[SubTable, ...]:
        return self.classes.tables

    def blocks(self, tally: Tally) -> Iterator[Block]:
        del tally
        counts, part = self.classes.groups.counts, self.classes.part
        size = block_size(counts.shape[1])
        for number, first in enumerate(range(0, counts.shape[0], size)):
            rows = slice(first, first + size)
            yield Block(number, self.keys[rows], counts[rows], part[rows])

    def draw(self, block: Block) -> Batch:
        part = block.more if block.more is not None else np.zeros(block.counts.shape[0], np.int64)
        chance = generator(self.seed, PERTURB, block.number)
        cells = _perturb_block(block.counts, part, self.classes.retention, chance)
        return self.codec.join(block.public[cells.group], cells.value), cells.count

    def __getstate__(self) -> dict[str, Any]:
        # Blocks carry what drawing needs.
        groups = self.classes.groups
        empty = replace(groups, public=groups.public.slice(0, 0), counts=groups.counts[:0])
        none = np.zeros(0, np.int64)
        light = replace(self.classes, merged=Generalization((), empty), of=none, part=none)
        return {**vars(self), "classes": light, "keys": self.keys[:0]}


def perturb_classes(classes: Classes, *, seed: int) -> Groups:
    """The published groups, each perturbed with the retention of its class."""
    parts, first = list[Any](), 0
    for number, counts in cut(classes.groups.counts):
        part = classes.part[first : first + counts.shape[0]]
        chance = generator(seed, PERTURB, number)
        parts.append(_perturb_block(counts, part, classes.retention, chance).matrix(counts.shape))
        first += counts.shape[0]
    return classes.groups.with_counts(parts)


def _perturb_block(counts: Any, part: Whole, retention: Floats, chance: np.random.Generator) -> Cells:
    """Some groups, class by class."""
    found = list[Cells]()
    for number in np.unique(part).tolist():
        rows = np.flatnonzero(part == number)
        cells = perturb_counts(csr_array(counts[rows]), float(retention[number]), chance=chance)
        found.append(Cells(rows[cells.group], cells.value, cells.count))
    return Cells(
        np.concatenate([cells.group for cells in found]),
        np.concatenate([cells.value for cells in found]),
        np.concatenate([cells.count for cells in found]),
    )


def classify(groups: Groups, promise: RhoPrivacy, *, seed: int) -> Classes:
    """Merge public values and give each group a class, so that no group breaks the promise.

    >>> public = {"town": ["a", "b", "c"], "sex": ["f", "f", "f"]}
    >>> groups = Groups.of(public, {"ill": ["no", "yes"]}, [[9000, 1000], [5500, 4500], [3, 4]])
    >>> found = classify(groups, RhoPrivacy(0.3, 0.7), seed=1)
    >>> found.groups.public["town"].to_pylist(), found.part.tolist(), found.share.round(4).tolist()
    (['a | c', 'b'], [0, 1], [0.3, 0.45])
    """
    protected = np.flatnonzero(promise.protects(groups.totals))
    ladder = Ladder.of(groups)
    share, retention = _grid(promise, check_domain(len(groups.totals)), is_drawn=len(ladder.sizes) > 1)
    held = csr_array(groups.counts[:, protected])
    chosen = _choose(ladder, held, float(share[-1]), seed)
    merged = relabel(groups, chosen.merged)
    largest = _largest(csr_array(merged.groups.counts[:, protected]), merged.groups.sizes)
    used, part = np.unique(np.searchsorted(share * _EQUAL, largest), return_inverse=True)
    of = _numbering(groups, merged)
    return Classes(merged, of, part.astype(np.int64), share[used], retention[used], chosen.number)


def _grid(promise: RhoPrivacy, n_values: int, *, is_drawn: bool) -> tuple[Floats, Floats]:
    """The largest shares that classes stand for, and their retentions, as long as these are worth it."""
    share = promise.prior + (promise.posterior - promise.prior) * np.arange(STEPS) / STEPS
    # A reader who combines all rows weighs the level once and the rows twice.
    room = np.exp(-EPSILON * (0.5 if promise.known_totals else 1.0)) if is_drawn else 1.0
    amplification = promise.amplification_at(share) * room
    if amplification[0] <= 1:
        raise InputError(
            "the prior is too close to the posterior to be kept given the public values",
            found=f"{promise.prior:.4g}:{promise.posterior:.4g}",
            remedy="choose a smaller prior or a larger posterior",
        )
    retention = (amplification - 1) / (n_values - 1 + amplification)
    kept = retention >= LEAST * retention[0]
    return share[kept], retention[kept]


def _choose(ladder: Ladder, held: Any, most: float, seed: int) -> LadderStep:
    """The finest level at which every group can spare people, as far as noise lets that be seen.

    A group in which k of n people have a value can spare ``most`` · n − k of them: this many more could have
    it. Two people who swap their values change that by one at most, at every level.
    """
    chance = generator(seed, LEVEL)
    threshold = margin(sum(ladder.n_values)) + chance.laplace(scale=1 / THRESHOLD)
    for step in ladder.steps():
        if step.n_groups == 1:  # protected values have at most the prior
            return step
        counts = _added(held, step.of, step.n_groups)
        seen = _spare(counts, step.sizes, most) + chance.laplace(scale=2 / (EPSILON - THRESHOLD))
        if seen >= threshold and _largest(counts, step.sizes).max() <= most * _EQUAL:
            return step
    raise AssertionError("the last level has one group")


def margin(n_levels: int) -> float:
    """So many people a group must be able to spare that noise hides an infeasible level next to never.

    The noise of a level minus that of the threshold, with scales a > b, exceeds t with a probability of
    (a² e^(−t/a) − b² e^(−t/b))/(2(a² − b²)); the larger term alone is taken, for all levels together.

    >>> round(margin(37))
    289
    """
    level, threshold = 2 / (EPSILON - THRESHOLD), 1 / THRESHOLD
    factor = level**2 / (2 * (level**2 - threshold**2))
    return level * float(np.log(max(2, n_levels) * factor / FAILURE))


def _spare(held: Any, sizes: Whole, most: float) -> float:
    """How many more people of a group could have a protected value, in the group with the fewest."""
    if not held.shape[1]:
        return np.inf
    return float((most * sizes - held.max(axis=1).toarray().ravel()).min())


def _numbering(groups: Groups, merged: Generalization) -> Whole:
    """For each group the number of the published group it is in, in their order."""
    columns = list[Whole]()
    for column in merged.columns:
        codes = ranked(groups.public[column.name])[1]
        if column.merged:
            labels = pa.chunked_array([pa.array(column.labels, pa.string()).take(codes)])
            codes = ranked(labels)[1]
        columns.append(codes)
    return number_rows(columns, len(groups))


def _largest(held: Any, sizes: Whole) -> Floats:
    """Each group's largest share of a protected value."""
    if not held.shape[1]:
        return np.zeros(held.shape[0])
    return held.max(axis=1).toarray().ravel() / np.maximum(sizes, 1)


def _added(counts: Any, of: Whole, number: int) -> Any:
    """Rows of a matrix of counts, added up by the number each belongs to."""
    chosen = csr_array((np.ones(len(of), np.int64), (of, np.arange(len(of)))), shape=(number, len(of)))
    return csr_array(chosen @ counts)
