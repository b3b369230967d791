"""Counts published with bounded noise, as by the cell-key method, and which counts a value leaves possible.

A published value stands for every count that could have led to it. Nothing is concluded from how likely
each of them is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from showthrough.errors import ReleaseError, check_each, check_type, closest
from showthrough.release import UNBOUNDED
from showthrough.text import several

__all__ = [
    "BoundedNoise",
    "PerturbationTable",
]

LARGEST_NOISE = 10**9

ZEROS = ("changed", "kept", "exact")

#: Classes of a perturbation table, and the largest change in it; real ones have a few dozen.
MOST_CLASSES, LARGEST_CHANGE = 10_000, 10_000


@dataclass(frozen=True)
class BoundedNoise:
    """Counts published with noise of at most a given size; published values are never negative.

    Parameters
    ----------
    at_most
        How far a published value may lie from the count, either way.
    zeros
        What holds of zeros. ``changed``: nothing, so that a count of 0 may be published as 1, and a
        count of 1 as 0. ``kept``: a count of 0 is always published as 0, but a positive count may be
        published as 0, too. ``exact``: 0 is published where the count is 0, and nowhere else.

    Raises
    ------
    ReleaseError
        If the noise is not a positive whole number, or ``zeros`` is none of the three.

    Examples
    --------
    >>> [BoundedNoise(2, zeros).bounds(0) for zeros in ("changed", "kept", "exact")]
    [(0, 2), (0, 2), (0, 0)]
    >>> [BoundedNoise(2, zeros).bounds(1) for zeros in ("changed", "kept", "exact")]
    [(0, 3), (1, 3), (1, 3)]
    """

    at_most: int
    zeros: str = "changed"

    def __post_init__(self) -> None:
        check_type(self.at_most, int, name="at_most", remedy="write BoundedNoise(2)")
        if not 1 <= self.at_most <= LARGEST_NOISE:
            raise ReleaseError(
                "impossible size of noise",
                found=str(self.at_most) if abs(self.at_most) < 10**20 else "a number of over 20 digits",
                remedy=f"use a whole number from 1 to {LARGEST_NOISE:,}, "
                "or noise = false for tables without noise",
            )
        if self.zeros not in ZEROS:
            raise ReleaseError(
                "unknown treatment of zeros", found=str(self.zeros), remedy=closest(str(self.zeros), ZEROS)
            )

    @property
    def reach(self) -> tuple[int, int]:
        """How far the count may lie below and above the published value."""
        return self.at_most, self.at_most

    def bounds(self, value: int) -> tuple[int, int]:
        """The smallest and the largest count that may be published as this value."""
        if value == 0 and self.zeros == "exact":
            return 0, 0
        least = 0 if value == 0 or self.zeros == "changed" else 1
        return max(least, value - self.at_most), min(UNBOUNDED, value + self.at_most)

    def value(self, low: int, high: int) -> int | None:
        """The value that says just this; None if there is none.

        >>> BoundedNoise(2).value(3, 7), BoundedNoise(2).value(3, 6)
        (5, None)
        """
        tried = (0, high - self.at_most)
        return next((one for one in tried if one >= 0 and self.bounds(one) == (low, high)), None)

    def sentence(self) -> str:
        """What is declared, with an example."""
        low, high = self.bounds(10)
        said = {
            "changed": "zeros included",
            "kept": "and a count of 0 is published as 0",
            "exact": "and 0 is published where the count is 0 and nowhere else",
        }[self.zeros]
        return f"noise of at most {self.at_most:,}, {said}: 10 stands for {low:,} to {high:,}"


@dataclass(frozen=True)
class PerturbationTable:
    """Counts published with the changes that a perturbation table (ptable) allows.

    Parameters
    ----------
    changes
        The possible changes of a count of 0, of 1, of 2, and so on; the last ones are also those of
        all larger counts.

    Raises
    ------
    ReleaseError
        If there are no changes for a count, or a published value would be negative.

    Examples
    --------
    Zeros stay, 1 becomes 0 or 3, and everything else changes by at most one.

    >>> table = PerturbationTable([[0], [-1, 2], [-1, 0, 1]])
    >>> [table.bounds(value) for value in (0, 1, 3, 7)]
    [(0, 1), (2, 2), (1, 4), (6, 8)]
    """

    changes: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        remedy = "write PerturbationTable([[0], [-1, 0, 1]])"
        check_each(self.changes, Iterable, name="changes", remedy=remedy)
        for one in self.changes:
            check_each(one, int, name="changes", remedy=remedy)
        tidy = tuple(tuple(sorted(set(one))) for one in self.changes)
        object.__setattr__(self, "changes", tidy)
        if not 1 <= len(tidy) <= MOST_CLASSES:
            raise ReleaseError(
                "a perturbation table needs changes for the counts from 0 upwards",
                found=several(len(tidy), "count"),
                remedy=f"give the changes of at least one and at most {MOST_CLASSES:,} counts",
            )
        for count, one in enumerate(tidy):
            _check_changes(count, one)

    @property
    def reach(self) -> tuple[int, int]:
        """How far the count may lie below and above the published value."""
        every = [change for one in self.changes for change in one]
        return max(0, *every), max(0, *(-change for change in every))

    def bounds(self, value: int) -> tuple[int, int]:
        """The smallest and the largest count that may be published as this value."""
        last, below, above = len(self.changes) - 1, *self.reach
        tried = range(max(0, value - below), min(value + above, last - 1) + 1)
        found = [count for count in tried if value - count in self.changes[count]]
        found += [c for change in self.changes[last] if (c := value - change) >= last]
        if not found:
            raise ReleaseError(
                "the perturbation table publishes no count as this value",
                found=str(value),
                remedy="correct the value or the perturbation table, or switch noise off for this table "
                "(noise = false)",
            )
        return min(found), min(UNBOUNDED, max(found))

    def value(self, low: int, high: int) -> int | None:
        """The value that says just this; None if there is none.

        >>> PerturbationTable([[0], [-1, 0, 1]]).value(1, 3)
        2
        """
        for change in self.changes[min(low, len(self.changes) - 1)]:
            if self.bounds(low + change) == (low, high):
                return low + change
        return None

    def sentence(self) -> str:
        """What is declared, in short."""
        below, above = self.reach
        return (
            f"noise by a perturbation table of {several(len(self.changes), 'count')}: "
            f"a count lies at most {below:,} below and {above:,} above the published value"
        )


def _check_changes(count: int, changes: tuple[int, ...]) -> None:
    """Raise unless a count can be published with these changes."""
    if not changes:
        raise ReleaseError(
            f"the perturbation table has no changes for a count of {count}",
            remedy="write [0] for a count that is never changed",
        )
    if changes[0] < -count:
        raise ReleaseError(
            f"the perturbation table makes a count of {count} negative",
            found=str(changes[0]),
            remedy="published values start at 0",
        )
    if max(-changes[0], changes[-1]) > LARGEST_CHANGE:
        raise ReleaseError(
            f"the perturbation table changes a count of {count} by too much",
            found=str(max(changes, key=abs)),
            remedy=f"changes may be at most {LARGEST_CHANGE:,}; are these published values instead?",
        )
