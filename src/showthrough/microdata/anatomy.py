"""Anatomy, the rival: true public rows and true sensitive values, joined only by small buckets.

Every bucket has at least l records, all with different sensitive values, so a reader who knows somebody's
bucket is left with at least l values. The groups, not the records, are held in memory.

Buckets as the method was described (``dealing="fullest"``): while l sensitive values have records left, a
bucket takes one record at random from each of the l values with the most left. The records that remain,
fewer than l, join random buckets without their value. By default records are dealt out in turn instead:
such buckets keep the same promise, and making them takes no loop over buckets.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

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
    "ASSUMPTION",
    "Anatomized",
    "Anatomy",
    "Dealing",
    "anatomize",
    "described_buckets",
    "kept_totals",
    "matched",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Positions of groups, values and buckets: there are fewer than 2³¹ of each, and a record has one of each.
Small = NDArray[np.int32]

#: How records come into buckets: dealt out in turn, or from the fullest lists, as the method was described.
Dealing = Literal["turns", "fullest"]

#: Rows of an anatomy handled at a time.
ROWS = 2**20

#: Records of a bucket up to which comparing them row by row sorts all buckets fastest.
TALL = 24


@dataclass(frozen=True)
class Anatomized:
    """Anatomy: public rows and sensitive values in two tables, joined by buckets of l values.

    Parameters
    ----------
    promise : LDiversity
        No value has more than 1/l of a bucket.
    dealing : {"turns", "fullest"}
        How records come into buckets: see :func:`anatomize`.

    Examples
    --------
    >>> Anatomized(LDiversity(4)).name
    'anatomy'
    """

    promise: LDiversity
    dealing: Dealing = "turns"

    def __post_init__(self) -> None:
        check_type(self.promise, LDiversity, name="promise", remedy="write LDiversity(4)")
        if self.dealing not in get_args(Dealing):
            raise InputError("unknown way to deal", found=str(self.dealing), remedy="choose turns or fullest")

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "anatomy"

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Put the records into buckets."""
        groups = Groups.of_tally(tally)
        found = anatomize(groups, self.promise, seed=seed, dealing=self.dealing)
        number = int(found.bucket.max()) + 1
        bucket = Column(free_name("bucket", tally.codec.names), pa.array(np.arange(1, number + 1)))
        codec, keys = key_groups(
            groups, replace(tally.codec, sensitive=(), codes=np.zeros(1, np.int64)), [bucket]
        )
        # Their counts are not needed any more, and are as large as the records.
        found = replace(
            found, groups=replace(groups, public=groups.public.slice(0, 0), counts=groups.counts[:0])
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
        return {
            "promise": promise_facts(self.anatomy.promise),
            "label": self.codec.public[-1].name,
            "suppressed": int(self.anatomy.suppressed.sum()),
        }

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

    def second_table(self) -> tuple[KeyCodec, Iterator[Keys]]:
        """The second table: which values each bucket holds, and how often; its columns, and its rows."""
        bucket, taken = self.codec.public[-1], [self.codec.public[-1].name]
        taken += [column.name for column in self.original.sensitive]
        most = 1 if self.anatomy.are_different else int(self.anatomy.sizes.max())
        number = Column(free_name("number", taken), pa.array(np.arange(1, most + 1)))
        columns = (bucket, *self.original.sensitive, number)
        return (codec := KeyCodec(columns, (), np.zeros(1, np.int64))), self._second_rows(codec)

    def _second_rows(self, codec: KeyCodec) -> Iterator[Keys]:
        keys = np.zeros((self.original.n_values, self.original.n_words), np.uint64)
        keys[:, -1] = np.asarray(self.original.codes).astype(np.uint64)
        first = len(self.original.public)
        of_value = [self.original.unpack(keys, first + at) for at in range(len(self.original.sensitive))]
        bucket, value = self.anatomy.bucket, self.anatomy.value
        at = 0
        while at < len(bucket):
            # Whole buckets, so that no number is cut in two.
            end = int(np.searchsorted(bucket, bucket[min(at + ROWS, len(bucket) - 1)], side="right"))
            held, shown = bucket[at:end], value[at:end]
            new = np.concatenate([[True], (held[1:] != held[:-1]) | (shown[1:] != shown[:-1])])
            starts = np.flatnonzero(new)
            counts = np.diff(starts, append=len(held))
            codes = [codes[shown[starts]] for codes in of_value]
            yield codec.pack([held[starts].astype(np.int64), *codes, counts - 1])
            at = end

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
    bucket: Small
    #: The group (a row of ``groups.public``) of every published row.
    group: Small
    #: Every published sensitive value (a row of ``groups.domain``).
    value: Small
    #: How many records of each value were left out, because their value is too frequent.
    suppressed: Whole

    @property
    def sizes(self) -> Whole:
        """How many records each bucket has."""
        return np.bincount(self.bucket)

    @property
    def are_different(self) -> bool:
        """Whether all values of every bucket are different, as they are by the way they are dealt."""
        same = (self.bucket[1:] == self.bucket[:-1]) & (self.value[1:] == self.value[:-1])
        return not same.any()

    def count(self, groups: ArrayLike, values: ArrayLike) -> Estimate:
        """How many records are in the chosen groups and have one of the chosen values.

        Both choices are flags, one for each group and one for each value. The bounds of :func:`matched` are
        for published records; the interval allows for those that were left out.
        """
        in_groups = _flags(groups, len(self.groups), "group")
        in_values = _flags(values, len(self.groups.totals), "value")
        sizes = self.sizes
        rows = np.bincount(self.bucket[in_groups[self.group]], minlength=len(sizes))
        held = np.bincount(self.bucket[in_values[self.value]], minlength=len(sizes))
        missing = int(self.suppressed[in_values].sum())
        least = missing if in_groups.all() else 0
        return replace(matched(rows, held, sizes=sizes), left_out=(least, missing))

    def distribution(self, groups: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """For every single value estimates, and the least and the most, of published records."""
        in_groups = _flags(groups, len(self.groups), "group")
        sizes = self.sizes
        rows = np.bincount(self.bucket[in_groups[self.group]], minlength=len(sizes))[self.bucket]
        number = len(self.groups.totals)
        share = rows / sizes[self.bucket]
        # A bucket holds a value once, so it is in it for certain only if every row matches.
        ends = (share, share == 1, share > 0)
        value, low, high = (np.asarray(np.bincount(self.value, end, number), np.float64) for end in ends)
        return value, low, high


#: What the estimates of an anatomy take for granted.
ASSUMPTION = "public and sensitive values are independent within buckets"


def matched(rows: ArrayLike, values: ArrayLike, *, sizes: ArrayLike) -> Estimate:
    """How many records match, from how many rows and how many values match in each bucket.

    Of c rows and k values of a bucket of n, at least max(0, c + k − n) and at most min(c, k) belong
    together. The sums of these over buckets bound the number whatever the pairing within buckets is, and
    each bound is reached by some pairing. The value Σ c k/n takes rows and values for independent within
    buckets. How far it is off if they are not, no chance says: there is no standard error.

    >>> matched([1, 2], [1, 1], sizes=[2, 4])  # doctest: +NORMALIZE_WHITESPACE
    Estimate(value=1.0, error=None, records=3, bounds=(0.0, 2.0), left_out=(0, 0),
             assumption='public and sensitive values are independent within buckets')
    """
    c, k, n = (np.asarray(numbers, np.float64) for numbers in (rows, values, sizes))
    bounds = float(np.maximum(0, c + k - n).sum()), float(np.minimum(c, k).sum())
    if bounds[0] == bounds[1]:
        return Estimate(bounds[0], 0.0, int(c.sum()), bounds)
    return Estimate(float((k * c / n).sum()), None, int(c.sum()), bounds, assumption=ASSUMPTION)


def anatomize(groups: Groups, promise: LDiversity, *, seed: int, dealing: Dealing = "turns") -> Anatomy:
    """Put records into buckets of at least l different values; suppress what cannot be placed.

    The result depends on the counts and the seed alone, not on the order of rows. By the ``dealing``
    "fullest" each bucket takes its records from the l values with the most left, as Anatomy was
    described. That takes several times as long, and where sensitive and public values hang together its
    answers are off by somewhat less.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["cold", "flu", "gout"]}, [[3, 1, 2], [1, 3, 2]])
    >>> found = anatomize(groups, LDiversity(3), seed=1)
    >>> found.sizes.tolist(), found.value.tolist()
    ([3, 3, 3, 3], [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2])
    """
    totals = groups.totals
    kept = kept_totals(totals, promise)
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
    group, value = _records_by_value(groups, kept, rng)
    if dealing == "fullest":
        bucket, group, value = _as_described(group, value, kept, promise.l, rng)
        return Anatomy(promise, groups, bucket, group, value, totals - kept)
    # With b = ⌊n/l⌋ buckets, b records after b are dealt out, one to each bucket, each time in another
    # random order. A value has at most n/l records, and so at most b; they stand next to each other, so at
    # most two rounds have some, and the second gives them to other buckets than the first. A bucket gets a
    # record in each of the first ⌊n/b⌋ ≥ l rounds: at least l, of different values. Which buckets are
    # dealt to follows from the totals and chance, and so tells nothing about rows.
    turns = _turns(value, len(value) // promise.l, rng)
    bucket, dealt_group = _deal(group, turns)
    _, dealt_value = _deal(value, turns)
    return Anatomy(promise, groups, bucket, dealt_group, dealt_value, totals - kept)


def _turns(value: Small, number: int, rng: np.random.Generator) -> list[Small]:
    """For each round the buckets in the order in which they get their records.

    In one fixed order a value would meet the same few others in all of its buckets, and estimates would
    take their public values for its own.
    """
    rounds = [rng.permutation(number).astype(np.int32)]
    for first in range(number, len(value), number):
        order = rng.permutation(number).astype(np.int32)
        last = value[first - 1]
        more = int(np.count_nonzero(value[first : first + number] == last))
        if more:
            # The buckets that already have this value come after the rest of its records.
            had = np.zeros(number, bool)
            had[rounds[-1][value[first - number : first] == last]] = True
            free = order[~had[order]]
            order = np.concatenate(
                [free[:more], rng.permutation(np.concatenate([free[more:], order[had[order]]]))]
            )
        rounds.append(order)
    return rounds


def _as_described(
    group: Small,
    value: Small,
    kept: Whole,
    l: int,  # noqa: E741
    rng: np.random.Generator,
) -> tuple[Small, Small, Small]:
    """Buckets from the fullest lists: buckets, groups and values, ascending within each bucket."""
    buckets = described_buckets(kept, l, rng)
    order = dict.fromkeys(value.tolist())
    bucket = np.concatenate([buckets[one] for one in order])
    rows, values = np.lexsort((group, bucket)), np.lexsort((value, bucket))
    return bucket[rows], group[rows], value[values]


def _deal(cards: Small, turns: list[Small]) -> tuple[Small, Small]:
    """Deal cards out in turns; the bucket and the card of each, the cards of a bucket in ascending order."""
    last, number = np.iinfo(cards.dtype).max, len(turns[0])
    hands = np.full((len(turns), number), last, cards.dtype)
    for row, order in enumerate(turns):
        part = cards[row * number : (row + 1) * number]
        hands[row, order[: len(part)]] = part
    sizes = (hands != last).sum(axis=0)
    _sort_columns(hands)
    dealt = hands.T.ravel()
    of = np.arange(number, dtype=cards.dtype)
    return np.repeat(of, sizes), dealt[dealt != last] if (sizes < len(turns)).any() else dealt


def _sort_columns(hands: Small) -> None:
    """Sort every column in place; a few long rows are compared row by row (odd-even transposition)."""
    height = len(hands)
    if height > TALL:
        hands.sort(axis=0)
        return
    for step in range(height):
        for at in range(step % 2, height - 1, 2):
            low = np.minimum(hands[at], hands[at + 1])
            np.maximum(hands[at], hands[at + 1], out=hands[at + 1])
            hands[at] = low


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


def _records_by_value(groups: Groups, kept: Whole, rng: np.random.Generator) -> tuple[Small, Small]:
    """The group and the value of each record kept, values one after the other in a random order.

    The records of a value are in a random order too, and the first of them are kept.
    """
    cells = groups.counts.astype(np.int32).tocsc()  # NumPy's shuffles take fewer than 2³¹ records anyway
    order = rng.permutation(len(kept))
    chosen, at = np.empty(int(kept.sum()), np.int32), 0
    for value in order.tolist():
        entries = slice(cells.indptr[value], cells.indptr[value + 1])
        records = np.repeat(cells.indices[entries].astype(np.int32), cells.data[entries])
        rng.shuffle(records)
        chosen[at : at + kept[value]] = records[: kept[value]]
        at += int(kept[value])
    return chosen, np.repeat(order.astype(np.int32), kept[order])


def _flags(chosen: ArrayLike, number: int, what: str) -> Flags:
    flags = np.asarray(chosen)
    if flags.dtype != np.bool_ or flags.shape != (number,):
        raise InputError(f"a choice is one flag for each {what}", found=f"{flags.dtype} {flags.shape}")
    return flags


def described_buckets(totals: Whole, l: int, rng: np.random.Generator) -> list[Small]:  # noqa: E741
    """For each value the buckets its records go to, one for each record, in the order they are filled.

    The totals must allow buckets of l different values: no value has more than 1/l of the records.

    >>> [bucket.tolist() for bucket in described_buckets(np.array([2, 2, 1]), 2, np.random.default_rng(1))]
    [[0, 1], [0, 1], [0]]
    """
    heap = [(-int(total), value) for value, total in enumerate(totals.tolist()) if total]
    heapq.heapify(heap)
    held: list[list[int]] = [[] for _ in totals]
    number = 0
    while len(heap) >= l:
        taken = [heapq.heappop(heap) for _ in range(l)]
        for size, value in taken:
            held[value].append(number)
            if size < -1:
                heapq.heappush(heap, (size + 1, value))
        number += 1
    for size, value in heap:
        free = np.setdiff1d(np.arange(number), held[value])
        held[value] += rng.choice(free, -size, replace=False).tolist()
    return [np.asarray(buckets, np.int32) for buckets in held]
