"""Candidate claims: the subset lattice over the records of one world, and their masks.

A claim that holds in every world holds in the first one, so the candidates are the partial
assignments of its records, with their counts there. Claims whose masks (the surviving types that
match) are equal ask the same question; they form one class of claims.
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
from showthrough.tables.search.universe import Universe

__all__ = [
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
            remedy="audit fewer columns (--columns, or a schema with fewer attributes) "
            "or lower --max-columns",
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

    def counts_in(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Every candidate's count in another world, given by its records' codes."""
        found, counts = np.unique(self.lattice.keys(codes), return_counts=True)
        if not len(found):
            return np.zeros(len(self), np.int64)
        at = np.minimum(np.searchsorted(found, self.keys), len(found) - 1)
        return np.where(found[at] == self.keys, counts[at], 0)


def candidates_of(lattice: Lattice, universe: Universe, types: NDArray[np.int64]) -> Candidates:
    """Every claim that the world made of these types satisfies."""
    distinct, times = np.unique(types, return_counts=True)
    keys = lattice.keys(universe.codes[distinct])
    found, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    weights = np.broadcast_to(times, keys.shape).ravel()
    counts = np.bincount(inverse.ravel(), weights, len(found)).astype(np.int64)
    row, column = np.unravel_index(first, keys.shape) if keys.size else (first, first)
    return Candidates(lattice, found, lattice.subsets[row], distinct[column], counts)


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
