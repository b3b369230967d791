"""Datasets over all attributes, put together from datasets over some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.records import Records
from showthrough.release import Release
from showthrough.schema import Schema
from showthrough.tables.claims import MOST_ROWS, World

__all__ = [
    "Beside",
    "Dataset",
    "side_by_side",
]

Counts = NDArray[np.int64]

#: For some attributes, by position in the schema, the codes that are wanted.
Wanted = Mapping[int, frozenset[int]]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Records as rows of codes, one column per attribute of the schema, and how often each row occurs."""

    codes: NDArray[np.uint16]
    times: Counts

    @classmethod
    def of_records(cls, records: Records) -> Dataset:
        """The different records, and how often each occurs."""
        codes, times = np.unique(records.codes.astype(np.uint16), axis=0, return_counts=True)
        return cls(codes, times.astype(np.int64))

    @classmethod
    def of_world(cls, world: World) -> Dataset:
        """A world as a dataset."""
        times = np.ones(len(world.codes), np.int64) if world.times is None else world.times.astype(np.int64)
        return cls(world.codes.astype(np.uint16), times).distinct()

    def __len__(self) -> int:
        return int(self.times.sum())

    def distinct(self) -> Dataset:
        """The same records, each row once."""
        codes, number = np.unique(self.codes, axis=0, return_inverse=True)
        times = np.zeros(len(codes), np.int64)
        np.add.at(times, number.ravel(), self.times)
        return Dataset(codes[times > 0], times[times > 0])

    def same_as(self, other: Dataset) -> bool:
        """Whether both have the same records; rows must be distinct."""
        return np.array_equal(self.codes, other.codes) and np.array_equal(self.times, other.times)

    def counts(self, release: Release) -> Counts:
        """How often every cell of a release counts its records."""
        layout = release.layout
        found = np.zeros(len(release.low), np.int64)
        for start in range(0, len(self.codes), 1024):
            some = slice(start, start + 1024)
            words = _matched(layout.bits, self.codes[some])
            found += self.times[some] @ layout.times_counted(words).astype(np.int64)
        return found

    def agrees_with(self, release: Release) -> bool:
        """Whether every count is as published, and no rule is broken."""
        counts = self.counts(release)
        if not bool(((release.low <= counts) & (counts <= release.high)).all()):
            return False
        return not any(
            Records(release.schema, self.codes).matching(box).any() for box in release.schema.forbidden
        )

    def world(self, schema: Schema) -> World:
        """As a world; a row for every record unless these are very many."""
        if len(self) > MOST_ROWS:
            return World(schema, self.codes, self.times)
        return World(schema, np.repeat(self.codes, self.times, axis=0))


def _matched(bits: Sequence[NDArray[np.uint64]], codes: NDArray[np.uint16]) -> NDArray[np.uint64]:
    words = bits[0][codes[:, 0]]
    for at in range(1, len(bits)):
        words = words & bits[at][codes[:, at]]
    return words


@dataclass(frozen=True, eq=False)
class Beside:
    """The columns of one part: rows of codes in an order, and how often each occurs."""

    columns: tuple[int, ...]
    codes: NDArray[np.uint16]
    times: Counts

    @classmethod
    def of(cls, dataset: Dataset, columns: tuple[int, ...]) -> Beside:
        """Some columns of a dataset."""
        return cls(columns, dataset.codes[:, list(columns)], dataset.times)

    def __len__(self) -> int:
        return int(self.times.sum())

    def matching(self, wanted: Wanted) -> NDArray[np.bool_]:
        """Which rows have one of the codes wanted, of attributes that are all among the columns."""
        found = np.ones(len(self.codes), bool)
        for at, codes in wanted.items():
            found &= np.isin(self.codes[:, self.columns.index(at)], sorted(codes))
        return found

    def with_gap(self, matching: NDArray[np.bool_], start: int) -> Beside:
        """The rows in an order in which those that do not match follow ``start`` records that do."""
        first, rest, left = list[tuple[int, int]](), list[tuple[int, int]](), start
        for row in np.flatnonzero(matching & (self.times > 0)).tolist():
            n = int(self.times[row])
            taken = min(n, left)
            left -= taken
            first += [(row, taken)] if taken else []
            rest += [(row, n - taken)] if n > taken else []
        between = [
            (row, int(self.times[row])) for row in np.flatnonzero(~matching & (self.times > 0)).tolist()
        ]
        order = [*first, *between, *rest]
        rows = np.array([row for row, _ in order], np.int64)
        return Beside(self.columns, self.codes[rows], np.array([n for _, n in order], np.int64))


def side_by_side(parts: Sequence[Beside], n_attributes: int) -> Dataset:
    """Datasets of parts put side by side in their orders; all have equally many records.

    >>> one = Beside((0,), np.array([[0], [1]], np.uint16), np.array([2, 1]))
    >>> two = Beside((1,), np.array([[0], [1]], np.uint16), np.array([1, 2]))
    >>> made = side_by_side([one, two], 2)
    >>> made.codes.tolist(), made.times.tolist()
    ([[0, 0], [0, 1], [1, 1]], [1, 1, 1])
    """
    ends = [np.cumsum(part.times) for part in parts]
    if len({int(end[-1]) if len(end) else 0 for end in ends}) > 1:
        raise AssertionError("parts with different numbers of records do not fit together")
    every = np.unique(np.concatenate(ends)) if ends else np.zeros(0, np.int64)
    codes = np.zeros((len(every), n_attributes), np.uint16)
    for part, end in zip(parts, ends, strict=True):
        codes[:, list(part.columns)] = part.codes[np.searchsorted(end, every, "left")]
    return Dataset(codes, np.diff(every, prepend=0)).distinct()


def least_together(parts: Sequence[Beside], wanted: Sequence[Wanted], n_attributes: int) -> Dataset:
    """Side by side such that as few records as possible match all that is wanted, one mapping per part."""
    total = len(parts[0]) if parts else 0
    placed, used = list[Beside](), 0
    for part, mine in zip(parts, wanted, strict=True):
        matching = part.matching(mine)
        lacking = int(part.times[~matching].sum())
        placed.append(part.with_gap(matching, min(used, total - lacking)))
        used = min(total, used + lacking)
    return side_by_side(placed, n_attributes)


def most_together(parts: Sequence[Beside], wanted: Sequence[Wanted], n_attributes: int) -> Dataset:
    """Side by side such that as many records as possible match all that is wanted."""
    placed = [part.with_gap(part.matching(mine), len(part)) for part, mine in zip(parts, wanted, strict=True)]
    return side_by_side(placed, n_attributes)
