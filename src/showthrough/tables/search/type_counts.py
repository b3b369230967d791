"""A world as counts: the record types in it and how many records of each, whatever their number.

Records have positions, as if they were listed type by type, so that a walk can draw any of them. The list
is made only where it is short.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MOST_RECORDS",
    "TypeCounts",
    "add_times",
    "exact_dot",
]

Counts = NDArray[np.int64]

#: Worlds have fewer records than this, so that sums over all of them fit into 64 bits.
MOST_RECORDS = 2**62

#: Up to this number of records a list of them is kept.
_FEW = 100_000

#: Whole numbers below this have exact sums in floating point.
_EXACT = 2**52


@dataclass(frozen=True, eq=False)
class TypeCounts:
    """Different types, ascending, and how many records of each there are: at least one.

    >>> world = TypeCounts.of_records(np.array([4, 2, 4]))
    >>> len(world), world.types.tolist(), world.times.tolist(), world.at(np.array([0, 2, -1])).tolist()
    (3, [2, 4], [1, 2], [2, 4, -1])
    >>> world.exchanged(np.array([0, 1]), np.array([7, 7])).records().tolist()
    [4, 7, 7]
    """

    types: Counts
    times: Counts

    @classmethod
    def of(cls, world: Counts | TypeCounts) -> TypeCounts:
        """A world as it is, or from the type of every record."""
        return world if isinstance(world, TypeCounts) else cls.of_records(world)

    @classmethod
    def of_records(cls, types: Counts) -> TypeCounts:
        """From the type of every record."""
        found, times = np.unique(types, return_counts=True)
        return cls(found.astype(np.int64), times.astype(np.int64))

    @classmethod
    def of_counts(cls, types: Counts, times: Counts) -> TypeCounts:
        """From types, none of them twice unless their counts are to be added, and counts of them."""
        found, number = np.unique(types, return_inverse=True)
        added = np.zeros(len(found), np.int64)
        np.add.at(added, number.ravel(), times)
        there = added > 0
        return cls(found[there].astype(np.int64), added[there])

    @cached_property
    def size(self) -> int:
        """How many records there are."""
        return int(self.times.sum())

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TypeCounts)
            and np.array_equal(self.types, other.types)
            and np.array_equal(self.times, other.times)
        )

    def __hash__(self) -> int:
        return hash((self.types.tobytes(), self.times.tobytes()))

    @cached_property
    def starts(self) -> Counts:
        """The position of the first record of each type."""
        return np.cumsum(self.times) - self.times

    @cached_property
    def _listed(self) -> Counts | None:
        """The type of every record, and at last −1 for nobody; None if there are too many."""
        return np.append(np.repeat(self.types, self.times), -1) if self.size <= _FEW else None

    def at(self, positions: Counts) -> Counts:
        """The types of the records at these positions; −1 at −1, where nobody is."""
        if self._listed is not None:
            return self._listed[positions]
        which = np.searchsorted(self.starts, positions, "right") - 1
        return np.where(positions < 0, -1, self.types[which])

    @cached_property
    def _numbers(self) -> Counts | None:
        """Which of the different types every record has; None if there are too many records."""
        return np.repeat(np.arange(len(self.types)), self.times) if self.size <= _FEW else None

    def number_at(self, positions: Counts) -> Counts:
        """Which of the different types the records at these positions have."""
        if self._numbers is not None:
            return self._numbers[positions]
        return np.searchsorted(self.starts, positions, "right") - 1

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """As a list of records, where an array is needed."""
        return self.records() if dtype is None else self.records().astype(dtype)

    def records(self) -> Counts:
        """The type of every record, in order."""
        return np.repeat(self.types, self.times)

    def exchanged(self, out: Counts, into: Counts) -> TypeCounts:
        """The world without the records at some positions, and with one record more of each type given."""
        gone = self.at(out)
        change = np.concatenate([np.full(len(gone), -1), np.full(len(into), 1)])
        return TypeCounts.of_counts(
            np.concatenate([self.types, gone, into]), np.concatenate([self.times, change])
        )

    def mapped(self, number: Counts) -> TypeCounts:
        """The same records with other numbers for their types, or with the numbers of their classes."""
        return TypeCounts.of_counts(number[self.types], self.times)

    def counted(self, flags: NDArray[np.uint8]) -> Counts:
        """How many records each column of flags, with one row for every type there can be, marks.

        >>> flags = np.array([[1, 0], [0, 1], [1, 1]], np.uint8)
        >>> TypeCounts.of_records(np.array([2, 1, 2])).counted(flags).tolist()
        [2, 3]
        """
        if self.size < 2**16:
            return np.add.reduce(flags[self.records()], axis=0, dtype=np.uint16).astype(np.int64)
        kind = np.float64 if self.size < _EXACT else np.int64  # both exact, one of them fast
        return (self.times.astype(kind) @ flags[self.types].astype(kind)).astype(np.int64)

    def added_up(self, group: Counts, n: int) -> Counts:
        """How many records are in each of n classes."""
        return add_times(group[self.types], self.times, n)


def add_times(number: Counts, times: Counts, n: int) -> Counts:
    """The sum of the times of each of n numbers, exactly."""
    if times.sum(dtype=float) < _EXACT:
        return np.bincount(number, times, n).astype(np.int64)
    found = np.zeros(n, np.int64)
    np.add.at(found, number, times)
    return found


def exact_dot(multipliers: Counts, counts: Counts) -> int:
    """Σ multiplier·count in Python integers, which have no largest one."""
    used = np.flatnonzero(multipliers)
    pairs = zip(multipliers[used].tolist(), counts[used].tolist(), strict=True)
    return sum(one * other for one, other in pairs)
