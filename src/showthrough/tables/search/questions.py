"""Questions: which claims one world suggests, which of them ask the same, and what becomes of each.

A claim that holds in every world holds in the first one, so the candidates are the partial
assignments of its records, with their counts there. Claims whose masks (the surviving types that
match) are equal ask the same question. A question is open until it is proved or refuted.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError
from showthrough.release import pack
from showthrough.tables.proof import Node
from showthrough.tables.search.type_counts import TypeCounts, add_times
from showthrough.tables.search.universe import Universe

__all__ = [
    "Answers",
    "Asked",
    "Candidates",
    "Lattice",
    "candidates_of",
    "group_by_mask",
]

#: Column subsets × distinct records one area may have.
MOST_CANDIDATES = 40_000_000


@dataclass(frozen=True, eq=False)
class Lattice:
    """All subsets of some columns within a range of sizes, and exact keys for assignments.

    An assignment's key is the sum over its columns of (code + 1)·stride, with strides such that
    distinct assignments have distinct keys. Where 64 bits do not suffice the strides are random
    and keys are hashes: whoever uses them re-counts what matters.
    """

    sizes: tuple[int, ...]
    smallest: int
    largest: int

    @cached_property
    def subsets(self) -> NDArray[np.int64]:
        """The subsets as bit masks over columns, ascending."""
        columns = range(len(self.sizes))
        if self.whole:
            return np.arange(1, 1 << len(columns), dtype=np.int64)
        sizes = range(self.smallest, self.largest + 1)
        chosen = (c for size in sizes for c in itertools.combinations(columns, size))
        return np.array(sorted(sum(1 << at for at in c) for c in chosen), np.int64)

    @property
    def whole(self) -> bool:
        """Whether every non-empty subset is in it."""
        return self.smallest <= 1 and self.largest >= len(self.sizes)

    @cached_property
    def exact(self) -> bool:
        """Whether keys are injective."""
        return math.prod(size + 1 for size in self.sizes) < 2**62

    @cached_property
    def parts(self) -> tuple[NDArray[np.uint64], ...]:
        """Per column the key contribution of each code."""
        if self.exact:
            strides = np.cumprod([1, *(size + 1 for size in self.sizes)])
            return tuple(
                (np.arange(1, size + 1) * int(stride)).astype(np.uint64)
                for size, stride in zip(self.sizes, strides, strict=False)
            )
        rng = np.random.default_rng(20_240_607)
        return tuple(rng.integers(0, 2**64, size, dtype=np.uint64) for size in self.sizes)

    def keys(self, codes: NDArray[np.integer]) -> NDArray[np.uint64]:
        """Subset × record: the key of each record's assignment to each subset."""
        if self.whole:
            table = np.zeros((1 << len(self.sizes), len(codes)), np.uint64)
            for column, part in enumerate(self.parts):
                half = 1 << column
                np.add(table[:half], part[codes[:, column]], out=table[half : 2 * half])
            return table[1:]
        table = np.zeros((len(self.subsets), len(codes)), np.uint64)
        for column, part in enumerate(self.parts):
            table[(self.subsets >> column & 1).astype(bool)] += part[codes[:, column]]
        return table


def make_lattice(sizes: tuple[int, ...], n_records: int, smallest: int, largest: int) -> Lattice:
    """The lattice over these columns, or an error if it is out of all proportion."""
    largest = min(largest, len(sizes))
    n_subsets = sum(math.comb(len(sizes), size) for size in range(smallest, largest + 1))
    if n_subsets * max(n_records, 1) > MOST_CANDIDATES or len(sizes) > 62:
        raise InputError(
            f"{len(sizes)} columns have {n_subsets:,} combinations to make claims about",
            remedy="take fewer columns (--columns, or a schema with fewer attributes), "
            "or in an audit lower --max-columns",
        )
    return Lattice(sizes, smallest, largest)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Claims of one world: for each the subset, a type that has the assignment, and the count."""

    lattice: Lattice
    keys: NDArray[np.uint64]
    subset: NDArray[np.int64]
    type: NDArray[np.int64]
    count: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Candidates:
        """Some of the candidates, in order."""
        return Candidates(
            self.lattice, self.keys[which], self.subset[which], self.type[which], self.count[which]
        )

    def counts_in(
        self, codes: NDArray[np.integer], times: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Every candidate's count in another world, given by the codes of different records and how often
        each of them occurs: once, unless it is said.
        """
        found, counts = _count_keys(self.lattice.keys(codes), times)
        if not len(found):
            return np.zeros(len(self), np.int64)
        at = np.minimum(np.searchsorted(found, self.keys), len(found) - 1)
        return np.where(found[at] == self.keys, counts[at], 0)


def candidates_of(lattice: Lattice, universe: Universe, world: TypeCounts | NDArray[np.int64]) -> Candidates:
    """Every claim that a world satisfies."""
    made = TypeCounts.of(world)
    keys = lattice.keys(universe.codes[made.types])
    found, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    counts = add_times(inverse.ravel(), np.broadcast_to(made.times, keys.shape).ravel(), len(found))
    row, column = np.unravel_index(first, keys.shape) if keys.size else (first, first)
    return Candidates(lattice, found, lattice.subsets[row], made.types[column], counts)


def _count_keys(
    keys: NDArray[np.uint64], times: NDArray[np.int64] | None
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The distinct keys, ascending, and how often each occurs, the records of a column this many times."""
    if times is None or (times == 1).all():
        return np.unique(keys, return_counts=True)
    flat = keys.ravel()
    order = np.argsort(flat)
    ascending = flat[order]
    starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(flat)])
    counts = np.add.reduceat(times[order % len(times)], starts) if len(flat) else times[:0]
    return ascending[starts], counts


def value_words(universe: Universe) -> tuple[NDArray[np.uint64], ...]:
    """Per column, value × words: the types that have the value."""
    return tuple(
        pack(universe.codes[:, column][None, :] == np.arange(size)[:, None])
        for column, size in enumerate(universe.frame.sizes)
    )


def mask_words(
    words: tuple[NDArray[np.uint64], ...],
    universe: Universe,
    subset: NDArray[np.int64],
    types: NDArray[np.int64],
) -> NDArray[np.uint64]:
    """Packed masks of the assignments of these types to these subsets."""
    masks = np.full((len(subset), max(1, -(-len(universe) // 64))), ~np.uint64(0), np.uint64)
    for column, bits in enumerate(words):
        has = np.flatnonzero(subset >> column & 1)
        masks[has] &= bits[universe.codes[types[has], column]]
    return masks


@dataclass(frozen=True, eq=False)
class Questions:
    """Distinct masks (packed), each with the count it should have; ``of[i]`` is candidate i's."""

    words: NDArray[np.uint64]
    count: NDArray[np.int64]
    of: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.words)


def group_by_mask(universe: Universe, candidates: Candidates) -> Questions:
    """Masks of all candidates, equal ones merged."""
    words = value_words(universe)
    n_words = max(1, -(-len(universe) // 64))
    chunk = max(1, 4_000_000 // n_words)
    table: dict[bytes, int] = {}
    kept: list[NDArray[np.uint64]] = []
    of = np.empty(len(candidates), np.int64)
    counts: list[NDArray[np.int64]] = []
    for start in range(0, len(candidates), chunk):
        stop = min(start + chunk, len(candidates))
        masks = mask_words(words, universe, candidates.subset[start:stop], candidates.type[start:stop])
        first, inverse = _distinct(masks)
        numbers = np.empty(len(first), np.int64)
        for at, row in enumerate(first):
            numbers[at] = table.setdefault(masks[row].tobytes(), len(table))
        fresh = numbers >= sum(len(part) for part in kept)
        kept.append(masks[first[fresh]])
        counts.append(candidates.count[start:stop][first[fresh]])
        of[start:stop] = numbers[inverse]
    if not kept:
        return Questions(np.zeros((0, n_words), np.uint64), np.zeros(0, np.int64), of)
    return Questions(np.concatenate(kept), np.concatenate(counts), of)


def _distinct(masks: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First occurrence of each distinct row (in order of occurrence) and each row's number."""
    opaque = np.ascontiguousarray(masks).view(np.dtype((np.void, masks.shape[1] * 8))).ravel()
    _, first, inverse = np.unique(opaque, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.ravel()]


Counts = NDArray[np.int64]

UNDECIDED, VERIFIED, REFUTED = 0, 1, 2

#: What became of a question whose proof the independent checker rejects.
REJECTED = "rejected"


@dataclass(eq=False)
class Answers:
    """Per question a state, proofs of both ends, the world that refutes it, and what decided."""

    words: NDArray[np.uint64]
    count: Counts
    state: NDArray[np.int8]
    stage: list[str]
    at_least: list[Node | None]
    at_most: list[Node | None]
    witness: NDArray[np.int64]

    @classmethod
    def open(cls, words: NDArray[np.uint64], count: Counts) -> Answers:
        """Nothing decided yet."""
        n = len(words)
        return cls(
            words,
            count,
            np.zeros(n, np.int8),
            [""] * n,
            [None] * n,
            [None] * n,
            np.full(n, -1, np.int64),
        )

    def reject(self, at: int) -> None:
        """Undo a proof that does not hold."""
        self.state[at], self.stage[at] = UNDECIDED, REJECTED
        self.at_least[at] = self.at_most[at] = None

    def part(self, start: int, stop: int) -> Answers:
        """Some of the answers, in order."""
        return Answers(
            self.words[start:stop],
            self.count[start:stop],
            self.state[start:stop],
            self.stage[start:stop],
            self.at_least[start:stop],
            self.at_most[start:stop],
            self.witness[start:stop],
        )

    def put(self, which: Counts, part: Answers) -> None:
        """Take over the answers to some of the questions."""
        self.state[which], self.witness[which] = part.state, part.witness
        for number, at in enumerate(which.tolist()):
            self.stage[at] = part.stage[number]
            self.at_least[at], self.at_most[at] = part.at_least[number], part.at_most[number]

    def refute(self, which: Counts, number: int) -> None:
        """These questions fall to the world of this number."""
        self.state[which], self.witness[which] = REFUTED, number
        for at in which.tolist():
            self.stage[at] = "worlds"


@dataclass(eq=False)
class Asked:
    """Questions at the level of classes: ``low`` is 1 where all types of a class match, ``high``
    where any does. Where they differ, a record of that class can be moved in and out of the mask.
    """

    answers: Answers
    low: NDArray[np.uint8]
    high: NDArray[np.uint8]

    def __post_init__(self) -> None:
        self.open = np.ones(len(self.low), bool)
        self.whole = (self.low == self.high).all(axis=1)
        self._compact()

    def _compact(self) -> None:
        """Class × open question, so that looking up a move's classes touches whole rows."""
        self._kept = np.flatnonzero(self.open)
        nobody = np.zeros((1, len(self._kept)), np.int8)
        self._by_class = np.vstack([self.low[self._kept].T, nobody]).astype(np.int8)
        split = (self.low[self._kept] != self.high[self._kept]).T
        self._torn = np.flatnonzero(split.any(axis=0))
        self._split = np.vstack([split[:, self._torn], nobody[:, self._torn].astype(bool)])

    def goal(self, at: int, side: int) -> tuple[Counts, int]:
        """What to minimise to prove one end: Σ goal ≥ target."""
        m = int(self.answers.count[at])
        if side > 0:
            return self.low[at].astype(np.int64), m
        return -self.high[at].astype(np.int64), -m

    def has(self, at: int, side: int) -> bool:
        """Whether one end is proved already."""
        return (self.answers.at_least if side > 0 else self.answers.at_most)[at] is not None

    def try_world(self, counts: Counts, number: int) -> bool:
        """Refute every open question on which a world with these class counts can differ."""
        which = np.flatnonzero(self.open)
        if not len(which):
            return False
        occupied = np.flatnonzero(counts)
        low = self.low[np.ix_(which, occupied)]
        split = (low != self.high[np.ix_(which, occupied)]).any(axis=1)
        here = counts[occupied]
        kind = np.float64 if here.sum(dtype=float) < 2**52 else np.int64  # both exact, one of them fast
        fallen = split | (low.astype(kind) @ here.astype(kind) != self.answers.count[which])
        self.refute(which[fallen], number)
        return bool(fallen.any())

    def hits(
        self, old: NDArray[np.int64], new: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Open questions, and move × question: whether the world after the move refutes it."""
        if self.open[self._kept].sum() < len(self._kept) * 0.7:
            self._compact()
        low, split = self._by_class, self._split
        change = np.zeros((len(new), len(self._kept)), np.int8)
        torn = np.zeros((len(new), len(self._torn)), bool)
        for into, out in zip(new.T, old.T, strict=True):
            change += low[into]
            change -= low[out]
            torn |= split[into]
        hit = change != 0
        hit[:, self._torn] |= torn
        hit &= self.open[self._kept]
        return self._kept, hit

    def refute(self, which: NDArray[np.int64], number: int) -> None:
        """These questions fall to the world of this number."""
        self.open[which] = False
        self.answers.refute(which, number)

    def prove(self, at: int, lower: Node, upper: Node, stage: str) -> None:
        """Both ends at once."""
        self.prove_side(at, 1, lower, stage)
        self.prove_side(at, -1, upper, stage)

    def prove_side(self, at: int, side: int, node: Node, stage: str) -> None:
        """One end; the question is settled when both are."""
        (self.answers.at_least if side > 0 else self.answers.at_most)[at] = node
        self.answers.stage[at] = max(self.answers.stage[at], stage, key=_STAGES.index)
        if self.answers.at_least[at] is not None and self.answers.at_most[at] is not None:
            self.answers.state[at] = VERIFIED
            self.open[at] = False


#: What can settle a question, the strongest means last.
_STAGES = ["", "cell", "algebra", "linear", "branching", "solver only", "worlds"]
