"""Clauses as sums of moves: of every fact of a clause one set is chosen; one of all chosen moves is needed.

If none of these moves is made, every fact has a set of which no move is made, so no fact is gone. So each
choice of sets gives an inequality, and a plan that meets the clause meets it too. There are too many choices
to list; those are made that a point breaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

    def __len__(self) -> int:
        return len(self._clauses)

    def add(self, clauses: Iterable[ClauseColumns]) -> None:
        """Add clauses."""
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
        shares, names = self._shares(point), list(self._sets)
        for at in np.flatnonzero(self._at_least(point, shares) < 1 - _BROKEN).tolist():
            clause, options = self._clauses[at], self._options[at]
            chosen = {*clause.single}.union(*(names[number] for number in _cheap(options, shares)))
            if point[list(chosen)].sum() >= 1 - _BROKEN and prod(map(len, options)) <= _MOST_CHOICES:
                chosen = self._lightest(at, point)
            if point[list(chosen)].sum() < 1 - _BROKEN:
                yield frozenset(chosen)

    def _at_least(self, point: Vector, shares: Vector) -> Vector:
        """What each sum of a clause has at least: the single moves, or the least of the costliest fact."""
        sizes = [len(one) for options in self._options for one in options]
        found = np.array([point[list(clause.single)].sum() for clause in self._clauses])
        if sizes:
            flat = np.concatenate([one for options in self._options for one in options])
            least = np.minimum.reduceat(shares[flat], np.cumsum([0, *sizes])[:-1])
            of_clause = np.repeat(np.arange(len(found)), [len(options) for options in self._options])
            np.maximum.at(found, of_clause, least)
        return found

    def _shares(self, point: Vector) -> Vector:
        """What a point takes of each set."""
        sizes = [len(one) for one in self._sets]
        if not sizes:
            return np.zeros(0)
        columns = np.array([at for one in self._sets for at in one], np.int64)
        return np.add.reduceat(point[columns], np.cumsum([0, *sizes])[:-1])

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


def _cheap(options: list[NDArray[np.int64]], shares: Vector) -> set[int]:
    """One set of each, the cheapest unless one is chosen already."""
    chosen = set[int]()
    for one in options:
        if chosen.isdisjoint(one.tolist()):
            chosen.add(int(one[shares[one].argmin()]))
    return chosen
