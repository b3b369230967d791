"""Counts published with bounded noise, as by the cell-key method, and which counts a value leaves possible.

A published value stands for every count that could have led to it. Nothing is concluded from how likely
each of them is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import ReleaseError, check_each, check_type, closest
from showthrough.noise_law import DiscreteGaussian, DiscreteLaplace, RandomRounding
from showthrough.release import UNBOUNDED
from showthrough.text import several

__all__ = [
    "BoundedNoise",
    "Perturbation",
    "PerturbationTable",
    "TransitionTable",
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
        What happens to zeros. ``changed``: no rule, so that a count of 0 may be published as 1, and a count
        of 1 as 0. ``kept``: a count of 0 is always published as 0, but a positive count may be published as
        0, too. ``exact``: 0 is published where the count is 0, and nowhere else.

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
        """The published value that stands for exactly this interval; None if there is none.

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
        """The published value that stands for exactly this interval; None if there is none.

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


@dataclass(frozen=True)
class TransitionTable(PerturbationTable):
    """A perturbation table with the probability of each change.

    Parameters
    ----------
    changes
        As in a :class:`PerturbationTable`.
    chances
        The probability of each change, in the order of the changes.

    Examples
    --------
    >>> table = TransitionTable([[0], [-1, 0, 1]], [[1.0], [0.25, 0.5, 0.25]])
    >>> np.exp(table.log_chances(1, 3)).tolist()
    [0.0, 0.5, 0.25, 0.0]
    """

    chances: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        check_each(self.chances, Iterable, name="chances")
        given = [tuple(map(float, one)) for one in self.chances]
        pairs = [sorted(zip(one, p, strict=False)) for one, p in zip(self.changes, given, strict=False)]
        for count, p in enumerate(given):
            if count >= len(self.changes) or len(p) != len(self.changes[count]):
                raise ReleaseError(
                    f"a count of {count} has not as many probabilities as changes", found=str(len(p))
                )
            if any(one <= 0 for one in p) or abs(sum(p) - 1) > _TOLERANCE:
                raise ReleaseError(
                    f"the probabilities for a count of {count} do not add up to 1", found=f"{sum(p):.6g}"
                )
        if len(given) != len(self.changes):
            raise ReleaseError("a perturbation table needs probabilities for every count")
        super().__post_init__()
        object.__setattr__(self, "chances", tuple(tuple(p for _, p in one) for one in pairs))

    @property
    def text(self) -> str:
        """What it is."""
        return "perturbation table"

    @property
    def signed(self) -> bool:
        """Published values are never negative."""
        return False

    @property
    def keyed(self) -> bool:
        """The same records have the same cell key, and so the same noise."""
        return True

    def log_chances(self, value: int, most: int) -> NDArray[np.float64]:
        """For counts from 0 to ``most`` the logarithm of the chance of this value."""
        last = len(self.changes) - 1
        found = np.zeros(most + 1)
        for count in range(most + 1):
            own = min(count, last)
            if value - count in self.changes[own]:
                found[count] = self.chances[own][self.changes[own].index(value - count)]
        with np.errstate(divide="ignore"):
            return np.log(found)

    def draw(self, counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Counts as they might be published, each with a key of its own."""
        last = len(self.changes) - 1
        found = counts.copy()
        for own in np.unique(np.minimum(counts, last)).tolist():
            mine = np.minimum(counts, last) == own
            p = np.array(self.chances[own])
            found[mine] += rng.choice(np.array(self.changes[own]), int(mine.sum()), p=p / p.sum())
        return found


#: What may be declared as noise.
Perturbation = BoundedNoise | PerturbationTable | DiscreteGaussian | DiscreteLaplace | RandomRounding

#: How far the probabilities of a count may be from adding up to 1.
_TOLERANCE = 1e-6


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
