"""The program of all conditions known so far: clauses, company, and that a table is treated in one way.

One 0/1 variable per move (moves that go together share one). A fact that several sources state gets a
variable of its own, which can be 1 only if one move of each of its sets is chosen; a clause asks for one
of its facts. Each clause has variables of its own for its facts: as one of them is enough, those that
need a move of the same set can together be no more than the moves of this set.

Its relaxation (:mod:`showthrough.tables.protect.relaxation`) bounds the cost of every safe plan from below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.clauses import Clause, Ways
from showthrough.tables.protect.company import Company
from showthrough.tables.protect.moves import Move, Suppress

__all__ = [
    "ClauseColumns",
    "Master",
    "Row",
]

Vector = NDArray[np.float64]
Row = dict[int, int]


@dataclass(frozen=True)
class ClauseColumns:
    """A clause as columns: one of ``single`` is enough, or one of each set of one of ``options``."""

    single: tuple[int, ...]
    options: tuple[tuple[tuple[int, ...], ...], ...]


class Master:
    """The conditions as rows over columns: first the moves, then facts."""

    def __init__(self, costs: Mapping[Move, Fraction], company: Company | None = None) -> None:
        twins = {} if company is None else company.twins
        groups = dict.fromkeys(twins.get(move, (move,)) for move in costs)
        self.moves = [tuple(move for move in group if move in costs) for group in groups]
        self.column = {move: at for at, group in enumerate(self.moves) for move in group}
        self.scale = lcm(1, *(cost.denominator for cost in costs.values()))
        self.cost = np.array([int(sum(costs[m] for m in group) * self.scale) for group in self.moves], object)
        #: Every plan costs a multiple of this (or nothing at all costs anything).
        self.step = gcd(*self.cost.tolist()) or 1
        self.rows: list[tuple[float, float, Row]] = []
        self.n_columns = len(self.moves)
        self._of_fact: dict[frozenset[frozenset[int]], int] = {}
        self._columns: dict[Ways, frozenset[frozenset[int]]] = {}
        self._order: dict[frozenset[frozenset[int]], list[list[int]]] = {}
        self._exclude()
        for condition in () if company is None else company.conditions:
            if condition.move in self.column:
                self._need(self.column[condition.move], condition.hidden)
        #: The rows and columns before those of clauses.
        self.n_base, self.n_base_columns = len(self.rows), self.n_columns

    def add(self, clauses: Iterable[Clause]) -> None:
        """Add clauses."""
        for clause in clauses:
            self._add(clause)

    def columns(self, clause: Clause) -> ClauseColumns:
        """A clause as columns of moves."""
        single, options = dict[int, None](), list[tuple[tuple[int, ...], ...]]()
        for sets in self._in_order(clause.facts):
            if len(sets) == 1:
                single |= dict.fromkeys(sorted(next(iter(sets))))
            else:
                options.append(tuple(sorted(tuple(sorted(one)) for one in sets)))
        return ClauseColumns(tuple(single), tuple(options))

    def _add(self, clause: Clause) -> None:
        """One of the facts must be gone, and what it needs is not shared with the others."""
        found = self.columns(clause)
        row: Row = dict.fromkeys(found.single, 1)
        needing: dict[tuple[int, ...], list[int]] = {}
        for option in found.options:
            for one in option:
                needing.setdefault(one, []).append(self.n_columns)
            row[self.n_columns] = 1
            self.n_columns += 1
        for one in sorted(needing):
            self.rows.append((0.0, np.inf, {**dict.fromkeys(one, 1), **dict.fromkeys(needing[one], -1)}))
        self.rows.append((1.0, np.inf, row))

    def _in_order(self, facts: Iterable[Ways]) -> list[frozenset[frozenset[int]]]:
        """The facts that can be taken away, as sets of columns."""
        found = {sets for sets in map(self._sets, facts) if frozenset() not in sets}
        return sorted(found, key=self._order.__getitem__)

    def plan(self, point: Vector, least: float) -> frozenset[Move]:
        """The moves of which a point takes more than some share."""
        return frozenset(
            move for group, share in zip(self.moves, point, strict=False) if share > least for move in group
        )

    def _need(self, column: int, hidden: Iterable[Ways]) -> None:
        row = self._one_of(hidden)
        if column not in row:
            self.rows.append((0.0, np.inf, {**row, column: -1}))

    def _one_of(self, facts: Iterable[Ways]) -> Row:
        """A row that is 1 at least if one of these facts is gone."""
        row: Row = {}
        for sets in self._in_order(facts):
            if len(sets) == 1:
                row |= dict.fromkeys(sorted(next(iter(sets))), 1)
            else:
                row |= self._fact(sets)
        return row

    def _sets(self, ways: Ways) -> frozenset[frozenset[int]]:
        """The columns of each set of moves, without sets that contain another."""
        if ways not in self._columns:
            sets = frozenset(frozenset(self.column[m] for m in moves if m in self.column) for moves in ways)
            found = frozenset(one for one in sets if not any(other < one for other in sets))
            self._columns[ways] = found
            self._order[found] = sorted(map(sorted, found))
        return self._columns[ways]

    def _fact(self, sets: frozenset[frozenset[int]]) -> Row:
        """The column that may be 1 only if one move of each set is chosen."""
        if sets not in self._of_fact:
            at = self._of_fact[sets] = self.n_columns
            self.n_columns += 1
            for one in sorted(sets, key=sorted):
                self.rows.append((0.0, np.inf, {**dict.fromkeys(sorted(one), 1), at: -1}))
        return {self._of_fact[sets]: 1}

    def _exclude(self) -> None:
        """A table is treated as a whole by one move at most, and then no cell is suppressed."""
        tables: dict[str, list[Move]] = {}
        for move in self.column:
            tables.setdefault(move.table, []).append(move)
        for moves in tables.values():
            whole = {self.column[move]: 1 for move in moves if not isinstance(move, Suppress)}
            partly = [self.column[move] for move in moves if isinstance(move, Suppress)]
            if len(whole) > 1 and not partly:
                self.rows.append((-np.inf, 1.0, whole))
            for at in partly if whole else ():
                self.rows.append((-np.inf, 1.0, {**whole, at: 1}))
