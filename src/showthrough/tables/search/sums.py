"""A few rows, added and subtracted, that prove a goal: looked up rather than searched for.

Rows prove Σ goal ≥ target if they add up to at most the goal on every class, and their ends to the target.
In a world in which the goal is exactly the target nothing is left over: the rows add up to the goal on every
class that has records, and each row has the count that its end says. These are equations. So every row gets
a random number per class (a linear hash), sums of two rows are sorted by theirs, and of up to four rows those
that fit are looked up. They are then tried on all classes, so a chance agreement proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import TypeCounts

__all__ = [
    "LARGEST",
    "Proving",
    "RowSums",
]

Counts = NDArray[np.int64]

#: Rows of a sum that is looked up.
LARGEST = 4

#: Rows, taken with a sign, whose pairs are sorted; of more only sums of two are looked up.
_MOST_ROWS = 1_500

#: Sums that fit on the classes with records, and that are tried on all classes.
_MOST_FITTING, _MOST_TRIED = 100_000, 600

#: Sums that are tried together at least.
_FEW_TRIED = 16

#: First bits of a hash that are looked at before the whole: more than it takes to number all, and at most.
_MORE_BITS, _MOST_BITS = 4, 23

#: Classes that sums are tried on before all, where there are many.
_FEW_CLASSES = 64

#: Sums × classes tried at once, and signed rows × classes that are kept.
_MOST_ENTRIES, _MOST_SIGNED = 2_000_000, 2_000_000


@dataclass(frozen=True, eq=False)
class _ByHash:
    """Lines of numbers by their hash: the distinct hashes, ascending, and which of the lines have each.

    Lines with the same hash are in no particular order.
    """

    hashes: NDArray[np.uint64]
    starts: Counts
    lines: Counts

    @classmethod
    def of(cls, hashes: NDArray[np.uint64], lines: Counts) -> _ByHash:
        """Lines, with the hash of each."""
        order = np.argsort(hashes)
        found = hashes[order]
        new = np.ones(len(found), bool)
        new[1:] = found[1:] != found[:-1]
        starts = np.flatnonzero(new)
        return cls(found[starts], np.append(starts, len(found)), lines[order])

    @cached_property
    def _shift(self) -> np.uint64:
        """What leaves the first bits of a hash, so many that few of all possible ones occur."""
        return np.uint64(64 - min(_MOST_BITS, len(self.hashes).bit_length() + _MORE_BITS))

    @cached_property
    def _may_be(self) -> NDArray[np.bool_]:
        """Which first bits a hash can have: what has others need not be looked up."""
        found = np.zeros(2 ** (64 - int(self._shift)), bool)
        found[self.hashes >> self._shift] = True
        return found

    def having(self, wanted: NDArray[np.uint64]) -> tuple[Counts, Counts]:
        """The lines with hashes that are wanted, not too many, and for each the position of its hash."""
        at = np.flatnonzero(self._may_be[wanted >> self._shift])
        hashes = wanted[at]
        number = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        hit = self.hashes[number] == hashes if len(self.hashes) else np.zeros(len(at), bool)
        at, number = at[hit], number[hit]
        many = self.starts[number + 1] - self.starts[number]
        ends = np.cumsum(many)
        few = int(np.searchsorted(ends, _MOST_FITTING, "right"))
        at, number, many, ends = at[:few], number[:few], many[:few], ends[:few]
        offset = np.arange(int(many.sum())) - np.repeat(ends - many, many)
        return np.repeat(at, many), self.lines[np.repeat(self.starts[number], many) + offset]


class Proving:
    """Sums of signed rows that add up to a goal where there are records: which of them do so everywhere?

    They are tried in order, and no further than it is asked for.

    Parameters
    ----------
    sums
        What the signed rows are.
    goal
        What no sum may exceed on any class.
    made
        The sums, one line each, of as many signed rows.
    """

    def __init__(self, sums: RowSums, goal: Counts, made: Counts) -> None:
        self._sums = sums
        self._goal = goal
        self._made = made
        self._tried = 0
        self._found = made[:0]

    def first(self, many: int = _MOST_TRIED) -> Counts:
        """The first sums that do, at most this many."""
        while len(self._found) < many and self._tried < len(self._made):
            part = self._made[self._tried : self._tried + max(many, _FEW_TRIED)]
            self._tried += len(part)
            self._found = np.concatenate([self._found, part[self._sums.holds(part, self._goal)]])
        return self._found[:many]


@dataclass(frozen=True, eq=False)
class RowSums:
    """The sums of few rows of a system, for goals that are exactly the target in some worlds.

    Parameters
    ----------
    system
        The system whose rows are added and subtracted.
    worlds
        Some worlds, each with its records by class.
    """

    system: System
    worlds: tuple[TypeCounts, ...]

    @cached_property
    def _classes(self) -> Counts:
        """The classes with records in any of the worlds."""
        there = [world.types for world in self.worlds]
        return np.unique(np.concatenate(there)) if there else np.zeros(0, np.int64)

    @cached_property
    def _random(self) -> NDArray[np.uint64]:
        """A number for the ends, and one per class with records."""
        n = len(self._classes) + 1
        return _random_numbers(1 << n.bit_length())[:n]

    @cached_property
    def _signed(self) -> tuple[Counts, NDArray[np.int8], Counts]:
        """Rows, signs and ends: each row from below and from above, where it has its end in all worlds."""
        system = self.system
        low, high = system.low > 0, system.high < UNBOUNDED
        for world in self.worlds:
            counts = world.times @ system.columns[world.types].astype(np.int64)
            low, high = low & (counts == system.low), high & (counts == system.high)
        below, above = np.flatnonzero(low), np.flatnonzero(high)
        signs = np.repeat(np.array([1, -1], np.int8), [len(below), len(above)])
        ends = np.concatenate([system.low[below], -system.high[above]])
        return np.concatenate([below, above]), signs, ends

    @cached_property
    def rows(self) -> Counts:
        """The row of every signed row."""
        return self._signed[0]

    @cached_property
    def signs(self) -> NDArray[np.int8]:
        """1 for a row from below, −1 for one from above."""
        return self._signed[1]

    @cached_property
    def _hashes(self) -> NDArray[np.uint64]:
        rows, signs, ends = self._signed
        flags = self.system.columns[self._classes].astype(np.uint64)
        per_row = (flags * self._random[1:, None]).sum(axis=0, dtype=np.uint64)[rows]
        return np.where(signs > 0, per_row, -per_row) + self._random[:1] * ends.astype(np.uint64)

    @cached_property
    def _ascending(self) -> Counts:
        """The signed rows in the order of their hashes: what is looked up in order is near."""
        return np.argsort(self._hashes, kind="stable")

    @cached_property
    def _singles(self) -> dict[int, list[int]]:
        """Signed rows by their hash."""
        found: dict[int, list[int]] = {}
        for at, number in enumerate(self._hashes.tolist()):
            found.setdefault(number, []).append(at)
        return found

    @cached_property
    def _alone(self) -> _ByHash:
        """Single rows."""
        return _ByHash.of(self._hashes, np.arange(len(self._hashes))[:, None])

    @cached_property
    def _pairs(self) -> _ByHash:
        """Two rows, the first not after the second, the same one twice among them."""
        first, second = np.triu_indices(len(self._hashes))
        fits = (self.rows[first] != self.rows[second]) | (first == second)
        first, second = first[fits], second[fits]
        return _ByHash.of(self._hashes[first] + self._hashes[second], np.column_stack([first, second]))

    def proving(self, goal: Counts, target: int, size: int, price: NDArray[np.float64]) -> Proving:
        """Sums of this many rows that prove the goal, the cheapest first."""
        if not self.worlds or not 1 <= size <= LARGEST or (size > 2 and len(self.rows) > _MOST_ROWS):
            return Proving(self, goal, np.zeros((0, max(size, 1)), np.int64))
        made = self._fitting(goal, target, size)
        if len(made) > 1:
            order = np.argsort(price[self.rows[made]].sum(axis=1), kind="stable")
            made = made[order[:_MOST_TRIED]]
        return Proving(self, goal, made)

    @cached_property
    def _looked_up(self) -> dict[tuple[int, int], Counts]:
        """What was found for a hash and a size: all claims about the same records ask for the same."""
        return {}

    @cached_property
    def _opposite(self) -> Counts | None:
        """The signed row that is the same row from the other side, if every one has it."""
        below = np.flatnonzero(self.signs > 0)
        above = np.flatnonzero(self.signs < 0)
        if not np.array_equal(self.rows[below], self.rows[above]):
            return None
        return np.concatenate([above, below])

    def _fitting(self, goal: Counts, target: int, size: int) -> Counts:
        """Sums that add up to the goal on the classes with records; its opposite is turned round."""
        wanted = self._hash(goal, target)
        known = self._looked_up.get((wanted, size))
        if known is None:
            turned = self._looked_up.get((-wanted % 2**64, size))
            if turned is not None and self._opposite is not None:
                known = np.sort(self._opposite[turned], axis=1)
            elif size == 1:
                known = np.array(self._singles.get(wanted, []), np.int64).reshape(-1, 1)
            else:
                known = self._completed(self._leading(goal), wanted, size)
            self._looked_up[wanted, size] = known
        return known

    def _hash(self, goal: Counts, target: int) -> int:
        """The hash that the rows of a sum must have together."""
        known = self._hashed.get(id(goal))
        if known is None:
            here = np.dot(goal[self._classes].astype(np.uint64), self._random[1:])
            known = self._hashed[id(goal)] = goal, int(here)
        return (known[1] + target * int(self._random[0])) % 2**64

    @cached_property
    def _hashed(self) -> dict[int, tuple[Counts, int]]:
        """What goals add up to, by identity; they are kept too, so that it is not given to others."""
        return {}

    def _leading(self, goal: Counts) -> Counts:
        """Rows of which every sum has one, as its rows may stand in any order.

        They are those that hold a class of the goal, the class that the fewest rows hold.
        """
        inside = np.flatnonzero(goal[self._classes])
        if not len(inside):
            return np.arange(len(self.rows))
        return np.flatnonzero(self._holding[inside[self._n_holding[inside].argmin()]])

    @cached_property
    def _holding(self) -> NDArray[np.bool_]:
        """Class with records × signed row: whether the row holds the class."""
        return self.system.columns[self._classes][:, self.rows] > 0

    @cached_property
    def _n_holding(self) -> Counts:
        """How many signed rows hold each class with records."""
        return self._holding.sum(axis=1)

    def _completed(self, leading: Counts, wanted: int, size: int) -> Counts:
        """Sums with a hash that have one of the leading rows, by the rows that are looked up for it.

        Of four rows the second is tried, too: it is the least of the three that are not leading, so that
        each sum is found once for every leading row in it.
        """
        needed = np.uint64(wanted) - self._hashes[leading]
        if size < LARGEST:
            which, last = (self._alone if size == 2 else self._pairs).having(needed)
            beginning = leading[which][:, None]
        else:
            order = self._ascending[::-1]
            which, last = self._pairs.having((needed[:, None] - self._hashes[order]).ravel())
            first, second = np.divmod(which, len(order))
            second = order[second]
            least = second <= last[:, 0]
            beginning, last = np.column_stack([leading[first], second])[least], last[least]
        made = _once(np.hstack([beginning, last]), len(self.rows))
        return made[~self._undone(made)]

    def _undone(self, made: Counts) -> NDArray[np.bool_]:
        """Which sums add a row and subtract it again."""
        rows, found = self.rows[made], np.zeros(len(made), bool)
        for one, two in combinations(range(made.shape[1]), 2):
            found |= (rows[:, one] == rows[:, two]) & (made[:, one] != made[:, two])
        return found

    def holds(self, made: Counts, goal: Counts) -> NDArray[np.bool_]:
        """Which sums are at most the goal on every class; first it is tried on a few classes."""
        limit = goal.astype(self._flags.dtype)
        if self.system.n_classes < 4 * _FEW_CLASSES or len(made) < _FEW_TRIED:
            return self._at_most(made, limit)
        holds = _nowhere_above(limit[self._few], *(self._few_signed[column] for column in made.T))
        left = np.flatnonzero(holds)
        holds[left] = self._at_most(made[left], limit)
        return holds

    @cached_property
    def _flags(self) -> NDArray[Any]:
        """The rows as numbers with a sign, small ones where the sum of four rows fits."""
        rows = self.system.rows
        if not self.system.plain.all():
            return rows.astype(np.int64)
        return rows.view(np.int8) if rows.dtype == np.uint8 else rows.astype(np.int8)

    @cached_property
    def _few(self) -> Counts:
        """A few classes, all over."""
        return np.linspace(0, self.system.n_classes - 1, _FEW_CLASSES).astype(np.int64)

    @cached_property
    def _few_signed(self) -> NDArray[Any]:
        """All signed rows with their signs, on these classes."""
        return self._flags[:, self._few][self.rows] * self.signs[:, None]

    def _at_most(self, made: Counts, limit: NDArray[Any]) -> NDArray[np.bool_]:
        """Which sums of rows are nowhere above a limit."""
        holds = np.zeros(len(made), bool)
        step = max(1, _MOST_ENTRIES // max(1, self.system.n_classes))
        for start in range(0, len(made), step):
            part = made[start : start + step]
            holds[start : start + step] = _nowhere_above(limit, *map(self._times_sign, part.T))
        return holds

    def _times_sign(self, which: Counts) -> NDArray[Any]:
        """Some signed rows, with their signs."""
        if self._signed_flags is not None:
            return self._signed_flags[which]
        return self._flags[self.rows[which]] * self.signs[which][:, None]

    @cached_property
    def _signed_flags(self) -> NDArray[Any] | None:
        """All signed rows with their signs, if they are few: they are asked for again and again."""
        if len(self.rows) * self.system.n_classes > _MOST_SIGNED:
            return None
        return self._flags[self.rows] * self.signs[:, None]


@lru_cache(maxsize=64)
def _random_numbers(n: int) -> NDArray[np.uint64]:
    """The same random numbers always; fewer are the first of more."""
    return np.random.default_rng(0).integers(0, 2**64, n, np.uint64)


def _nowhere_above(limit: NDArray[Any], first: NDArray[Any], *others: NDArray[Any]) -> NDArray[np.bool_]:
    """Which sums of lines, one of each matrix, are nowhere above a limit; the first matrix is overwritten."""
    for other in others:
        first += other
    return np.asarray((first <= limit).all(axis=1))


def _once(lines: Counts, n: int) -> Counts:
    """Lines of numbers below n, each in ascending order and without those that occur again."""
    places = n ** np.arange(lines.shape[1] - 1, -1, -1)
    numbers = np.unique(np.sort(lines, axis=1) @ places)
    return numbers[:, None] // places % n
