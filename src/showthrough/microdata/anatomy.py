"""Anatomy, the rival: true public rows and true sensitive values, joined only by small buckets.

Every bucket has at least l records, all with different sensitive values, so a reader who knows somebody's
bucket is left with at least l values. The groups, not the records, are held in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from showthrough.engine.backend import Batch, Tally
from showthrough.engine.keys import Column, KeyCodec, Keys
from showthrough.errors import InputError, RecordsError, check_type
from showthrough.estimate import Estimate
from showthrough.microdata.groups import Block, Groups
from showthrough.microdata.plan import Plan, SubTable, free_name, key_groups, promise_facts
from showthrough.microdata.promises import LDiversity

__all__ = [
    "Anatomized",
    "Anatomy",
    "anatomize",
    "kept_totals",
    "matched",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Rows of an anatomy handled at a time.
ROWS = 2**21


@dataclass(frozen=True)
class Anatomized:
    """Anatomy: public rows and sensitive values in two tables, joined by buckets of l values.

    Parameters
    ----------
    promise : LDiversity
        No value has more than 1/l of a bucket.

    Examples
    --------
    >>> Anatomized(LDiversity(4)).name
    'anatomy'
    """

    promise: LDiversity

    def __post_init__(self) -> None:
        check_type(self.promise, LDiversity, name="promise", remedy="write LDiversity(4)")

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "anatomy"

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Put the records into buckets."""
        groups = Groups.of_tally(tally)
        found = anatomize(groups, self.promise, seed=seed)
        number = int(found.bucket.max()) + 1
        bucket = Column(free_name("bucket", tally.codec.names), pa.array(np.arange(1, number + 1)))
        codec, keys = key_groups(
            groups, replace(tally.codec, sensitive=(), codes=np.zeros(1, np.int64)), [bucket]
        )
        return _AnatomyPlan(codec, found, keys, tally.codec)


@dataclass(frozen=True, eq=False)
class _AnatomyPlan:
    codec: KeyCodec
    anatomy: Anatomy
    keys: Keys
    original: KeyCodec

    @property
    def records(self) -> int:
        return len(self.anatomy.group)

    @property
    def tables(self) -> tuple[SubTable, ...]:
        return ()

    @property
    def facts(self) -> dict[str, Any]:
        return {"promise": promise_facts(self.anatomy.promise), "label": self.codec.public[-1].name}

    def blocks(self, tally: Tally) -> Iterator[Block]:
        del tally
        place = self.codec.places[len(self.codec.public) - 1]
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
        taken = [self.codec.public[-1].name, *table.column_names]
        table = table.add_column(0, taken[0], pa.array(bucket + 1))
        return table.append_column(free_name("number", taken), pa.array(number))

    def __getstate__(self) -> dict[str, Any]:
        return {"codec": self.codec, "anatomy": None, "keys": self.keys[:0], "original": self.original}


@dataclass(frozen=True, eq=False)
class Anatomy:
    """Records in buckets: who is in a bucket, and which values are in it, but not whose they are.

    Rows of both tables are in ascending order by bucket, then by group or value, so their order says
    nothing that the tables themselves do not.
    """

    promise: LDiversity
    groups: Groups
    #: The bucket of every published row and value; each bucket has as many rows as values.
    bucket: Whole
    #: The group (a row of ``groups.public``) of every published row.
    group: Whole
    #: Every published sensitive value (a row of ``groups.domain``).
    value: Whole
    #: How many records of each value were left out, because their value is too frequent.
    suppressed: Whole

    @property
    def sizes(self) -> Whole:
        """How many records each bucket has."""
        return np.bincount(self.bucket)

    def count(self, groups: ArrayLike, values: ArrayLike) -> Estimate:
        """About how many published records are in the chosen groups and have one of the chosen values.

        Both choices are flags, one for each group and one for each value. See :func:`matched` for what
        the standard error covers; suppressed records are not counted.
        """
        in_groups = _flags(groups, len(self.groups), "group")
        in_values = _flags(values, len(self.groups.totals), "value")
        sizes = self.sizes
        rows = np.bincount(self.bucket[in_groups[self.group]], minlength=len(sizes))
        held = np.bincount(self.bucket[in_values[self.value]], minlength=len(sizes))
        return matched(rows, held, sizes=sizes)

    def distribution(self, groups: ArrayLike) -> tuple[Floats, Floats]:
        """The same for every single value at once: estimates and standard errors."""
        in_groups = _flags(groups, len(self.groups), "group")
        sizes = self.sizes
        rows = np.bincount(self.bucket[in_groups[self.group]], minlength=len(sizes))
        share = (rows / sizes)[self.bucket]
        number = len(self.groups.totals)
        spread = np.bincount(self.value, share * (1 - share), number)
        value = np.asarray(np.bincount(self.value, share, number), np.float64)
        return value, np.sqrt(spread)


def matched(rows: ArrayLike, values: ArrayLike, *, sizes: ArrayLike) -> Estimate:
    """How many records match, from how many rows and how many values match in each bucket.

    The value is Σ rows · values/size. The standard error takes every way to match rows with values
    within a bucket as equally likely, which makes the number in a bucket hypergeometric. That is what
    the publication itself says: the chance of a bucketing is the same for all of them (which record
    of a value goes to which bucket is random). It is no more than that: where public attributes go
    with the sensitive value, the estimate is drawn towards independence by more than this error.

    >>> matched([1, 2], [1, 1], sizes=[2, 4])
    Estimate(value=1.0, error=0.7071067811865476, records=3)
    """
    c, k, n = (np.asarray(numbers, np.float64) for numbers in (rows, values, sizes))
    share = c / n
    spread = k * share * (1 - share) * (n - k) / np.maximum(n - 1, 1)
    return Estimate(float((k * share).sum()), float(np.sqrt(spread.sum())), int(c.sum()))


def anatomize(groups: Groups, promise: LDiversity, *, seed: int) -> Anatomy:
    """Put records into buckets of at least l different values; suppress what cannot be placed.

    The result depends on the counts and the seed alone, not on the order of rows.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["cold", "flu", "gout"]}, [[3, 1, 2], [1, 3, 2]])
    >>> found = anatomize(groups, LDiversity(3), seed=1)
    >>> found.sizes.tolist(), found.value.tolist()
    ([3, 3, 3, 3], [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2])
    """
    totals = groups.totals
    kept = kept_totals(totals, promise)
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
    group, value = _records_by_value(groups, kept, rng)
    # With b = ⌊n/l⌋ buckets, the record at position i goes to bucket i mod b. A value has at most n/l
    # records, and so at most b; they stand next to each other, and b or fewer neighbours all go to
    # different buckets. A bucket gets every b-th of n ≥ l b records: at least l, of different values.
    # A bucket's number follows from its values and the totals, and so tells nothing about its rows.
    number = len(value) // promise.l
    bucket, dealt_group = _deal(group, number)
    _, dealt_value = _deal(value, number)
    return Anatomy(promise, groups, bucket, dealt_group, dealt_value, totals - kept)


def _deal(cards: Whole, number: int) -> tuple[Whole, Whole]:
    """Deal cards out in turn; the bucket and the card of each, the cards of a bucket in ascending order."""
    last = np.iinfo(np.int64).max
    height = -(-len(cards) // number)
    padded = np.full(height * number, last)
    padded[: len(cards)] = cards
    hands = np.sort(padded.reshape(height, number), axis=0).T.ravel()
    rounds, rest = divmod(len(cards), number)
    return np.repeat(np.arange(number), rounds + (np.arange(number) < rest)), hands[hands != last]


def kept_totals(totals: ArrayLike, promise: LDiversity) -> Whole:
    """How many records of each value can be published; the fewest are suppressed.

    >>> kept_totals([10, 2, 1], LDiversity(2)).tolist()
    [3, 2, 1]
    """
    counts = np.asarray(totals, np.int64)
    if (counts > 0).sum() < promise.l:
        raise RecordsError(
            f"buckets of {promise.l} different values need at least {promise.l} sensitive values",
            found=str((counts > 0).sum()),
            remedy="choose a smaller l",
        )
    # Whatever is kept, with c records of its most frequent value, has l c ≤ n' ≤ S(c) = Σ min(count, c)
    # records. S is concave with S(0) = 0, so l c ≤ S(c) holds up to some largest c, and as S grows with
    # c, cutting every value down to that c keeps the most.
    low, high = 1, int(counts.max())
    while low < high:
        middle = (low + high + 1) // 2
        if promise.l * middle <= int(np.minimum(counts, middle).sum()):
            low = middle
        else:
            high = middle - 1
    return np.minimum(counts, low)


def _records_by_value(groups: Groups, kept: Whole, rng: np.random.Generator) -> tuple[Whole, Whole]:
    """The group and the value of each record kept, values one after the other in a random order.

    The records of a value are in a random order too, and the first of them are kept.
    """
    cells = groups.counts.tocsc()
    chosen: list[Whole] = []
    order = rng.permutation(len(kept))
    for value in order.tolist():
        entries = slice(cells.indptr[value], cells.indptr[value + 1])
        records = np.repeat(cells.indices[entries].astype(np.int64), cells.data[entries])
        rng.shuffle(records)
        chosen.append(records[: kept[value]])
    return np.concatenate(chosen), np.repeat(order, kept[order])


def _flags(chosen: ArrayLike, number: int, what: str) -> Flags:
    flags = np.asarray(chosen)
    if flags.dtype != np.bool_ or flags.shape != (number,):
        raise InputError(f"a choice is one flag for each {what}", found=f"{flags.dtype} {flags.shape}")
    return flags
