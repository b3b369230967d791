"""Clauses as sums of moves: of every fact of a clause one set is chosen; one of all chosen moves is needed.

If none of these moves is made, every fact has a set of which no move is made, so no fact is gone. So each
choice of sets gives an inequality, and a plan that meets the clause meets it too. There are too many choices
to list; those are made that a point breaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.master import ClauseColumns

__all__ = [
    "ClauseSums",
]

#: Up to this many choices all are tried.
_MOST_CHOICES = 256

#: What counts as broken.
_BROKEN = 1e-6

Vector = NDArray[np.float64]


class ClauseSums:
    """The sums of some clauses.

    >>> sums = ClauseSums()
    >>> sums.add([ClauseColumns((0,), (((1,), (2, 3)),))])
    >>> [sorted(one) for one in sums.broken(np.array([0.2, 0.9, 0.1, 0.2]))]
    [[0, 2, 3]]
    """

    def __init__(self) -> None:
        self._sets: dict[tuple[int, ...], int] = {}
        self._clauses: list[ClauseColumns] = []
        self._options: list[list[NDArray[np.int64]]] = []
        self._choices: dict[int, list[list[int]]] = {}
        self._flat: _Flat | None = None

    def __len__(self) -> int:
        return len(self._clauses)

    def add(self, clauses: Iterable[ClauseColumns]) -> None:
        """Add clauses."""
        self._flat = None
        for clause in clauses:
            alone = frozenset(clause.single)
            dearer = [sets for sets in clause.options if not any(alone.issuperset(one) for one in sets)]
            self._clauses.append(clause)
            self._options.append(
                [np.array([self._number(one) for one in sets]) for sets in sorted(dearer, key=len)]
            )

    def _number(self, one: tuple[int, ...]) -> int:
        return self._sets.setdefault(one, len(self._sets))

    def broken(self, point: Vector) -> Iterator[frozenset[int]]:
        """For each clause that a point breaks, the columns of a sum that is below 1."""
        if self._flat is None:
            self._flat = _Flat.of(list(self._sets), self._clauses, self._options)
        flat = self._flat
        shares = _sums(point[flat.set_columns], flat.set_starts)
        for at in np.flatnonzero(flat.at_least(point, shares) < 1 - _BROKEN).tolist():
            clause, options = self._clauses[at], self._options[at]
            chosen = {*clause.single}.union(*(flat.sets[number] for number in _cheap(options, shares)))
            if point[list(chosen)].sum() >= 1 - _BROKEN:
                if prod(map(len, options)) > _MOST_CHOICES:
                    continue
                chosen = self._lightest(at, point)
                if point[list(chosen)].sum() >= 1 - _BROKEN:
                    continue
            yield frozenset(chosen)

    def _lightest(self, clause: int, point: Vector) -> list[int]:
        """The columns of the choice of which a point takes least."""
        if clause not in self._choices:
            names, single = list(self._sets), self._clauses[clause].single
            every = product(*(one.tolist() for one in self._options[clause]))
            made = ({at for number in numbers for at in names[number]}.union(single) for numbers in every)
            self._choices[clause] = [sorted(one) for one in made]
        choices = self._choices[clause]
        flat = np.array([at for one in choices for at in one], np.int64)
        taken = np.add.reduceat(point[flat], np.cumsum([0, *map(len, choices)])[:-1])
        return choices[int(taken.argmin())]


@dataclass(frozen=True, eq=False)
class _Flat:
    """All clauses in a few arrays, made once for as long as none are added.

    ``set_columns`` are the columns of all sets one after the other, and those of a set begin at its entry of
    ``set_starts``; likewise the single columns of the clauses, and the sets of their options.
    """

    sets: list[tuple[int, ...]]
    set_columns: NDArray[np.int64]
    set_starts: NDArray[np.int64]
    single_columns: NDArray[np.int64]
    single_starts: NDArray[np.int64]
    options: NDArray[np.int64]
    option_starts: NDArray[np.int64]
    clause_of_option: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        sets: list[tuple[int, ...]],
        clauses: Sequence[ClauseColumns],
        options: Sequence[Sequence[NDArray[np.int64]]],
    ) -> _Flat:
        """The arrays of some clauses, each with the numbers of the sets of its options."""
        every = [one.tolist() for own in options for one in own]
        owner = np.repeat(np.arange(len(clauses)), [len(own) for own in options])
        singles = [clause.single for clause in clauses]
        return cls(sets, *_laid_out(sets), *_laid_out(singles), *_laid_out(every), owner)

    def at_least(self, point: Vector, shares: Vector) -> Vector:
        """What each sum of a clause has at least: the single moves, or the least of the costliest fact."""
        found = _sums(point[self.single_columns], self.single_starts)
        if len(self.option_starts):
            least = np.minimum.reduceat(shares[self.options], self.option_starts)
            np.maximum.at(found, self.clause_of_option, least)
        return found


def _laid_out(parts: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Parts one after the other, and where each begins."""
    flat = np.array([one for part in parts for one in part], np.int64)
    return flat, np.cumsum([0, *map(len, parts)])[:-1]


def _sums(values: Vector, starts: NDArray[np.int64]) -> Vector:
    """The sums of values from each start to the next; 0 where there are none."""
    ends = np.append(starts[1:], len(values))
    found = np.zeros(len(starts))
    some = np.flatnonzero(ends > starts)
    if len(some):
        found[some] = np.add.reduceat(values, starts[some])
    return found


def _cheap(options: list[NDArray[np.int64]], shares: Vector) -> set[int]:
    """One set of each, the cheapest unless one is chosen already."""
    chosen = set[int]()
    for one in options:
        if chosen.isdisjoint(one.tolist()):
            chosen.add(int(one[shares[one].argmin()]))
    return chosen
