"""The program of all conditions known so far: clauses, company, and that a table is treated in one way.

One 0/1 variable per move (moves that go together share one). A fact that several sources state gets a
variable of its own, which can be 1 only if one move of each of its sets is chosen; a clause asks for one
of its facts. Each clause has variables of its own for its facts: as one of them is enough, those that
need a move of the same set can together be no more than the moves of this set.

Its relaxation bounds the cost of every safe plan from below: the multipliers are rounded to fractions, and
the bound is computed from them in whole numbers, so that it does not rest on the solver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.tables.protect.clauses import Clause, Ways
from showthrough.tables.protect.company import Company
from showthrough.tables.protect.moves import Move, Suppress
from showthrough.tables.search.solver import Inequalities

__all__ = [
    "Master",
    "Relaxed",
]

#: What multipliers are rounded to.
_UNIT = 2**24

Vector = NDArray[np.float64]
Row = dict[int, int]


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The solution of the relaxation.

    Parameters
    ----------
    shares
        How much of each move it takes, where that is anything.
    bound
        A checked lower bound on the cost of every safe plan.
    """

    shares: Mapping[Move, float]
    bound: Fraction


class Master:
    """The conditions as rows over columns: first the moves, then facts."""

    def __init__(self, costs: Mapping[Move, Fraction], company: Company | None = None) -> None:
        twins = {} if company is None else company.twins
        groups = dict.fromkeys(twins.get(move, (move,)) for move in costs)
        self.moves = [tuple(move for move in group if move in costs) for group in groups]
        self.column = {move: at for at, group in enumerate(self.moves) for move in group}
        self.scale = lcm(1, *(cost.denominator for cost in costs.values()))
        self.cost = np.array([int(sum(costs[m] for m in group) * self.scale) for group in self.moves], object)
        self.rows: list[tuple[float, float, Row]] = []
        self.n_columns = len(self.moves)
        self._of_fact: dict[frozenset[frozenset[int]], int] = {}
        self._columns: dict[Ways, frozenset[frozenset[int]]] = {}
        self._sent = 0
        self._matrix: list[tuple[csr_array, int, int]] = []
        self._exclude()
        for condition in () if company is None else company.conditions:
            if condition.move in self.column:
                self._need(self.column[condition.move], condition.hidden)

    def add(self, clauses: Iterable[Clause]) -> None:
        """Add clauses."""
        for clause in clauses:
            self._add(clause)

    def _add(self, clause: Clause) -> None:
        """One of the facts must be gone, and what it needs is not shared with the others."""
        row: Row = {}
        needing: dict[frozenset[int], list[int]] = {}
        for sets in self._in_order(clause.facts):
            if len(sets) == 1:
                row |= dict.fromkeys(sorted(next(iter(sets))), 1)
                continue
            for one in sets:
                needing.setdefault(one, []).append(self.n_columns)
            row[self.n_columns] = 1
            self.n_columns += 1
        for one in sorted(needing, key=sorted):
            self.rows.append(
                (0.0, np.inf, {**dict.fromkeys(sorted(one), 1), **dict.fromkeys(needing[one], -1)})
            )
        self.rows.append((1.0, np.inf, row))

    def _in_order(self, facts: Iterable[Ways]) -> list[frozenset[frozenset[int]]]:
        """The facts that can be taken away, as sets of columns."""
        found = {sets for sets in map(self._sets, facts) if frozenset() not in sets}
        return sorted(found, key=lambda sets: sorted(map(sorted, sets)))

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
            self._columns[ways] = frozenset(one for one in sets if not any(other < one for other in sets))
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

    def relaxed(self) -> tuple[Vector, Relaxed] | None:
        """The cheapest fractional choice; None if there is none, or if the solver gives up."""
        self._send()
        found = self._program.solve()
        if found is None:
            return None
        bound = Fraction(self._checked(found.multipliers), self.scale)
        point = np.asarray(found.point[: len(self.moves)])
        shares = {m: float(x) for group, x in zip(self.moves, point, strict=True) if x > 1e-9 for m in group}
        return point, Relaxed(shares, bound)

    def word(self, nodes: int) -> Fraction | None:
        """The bound that branch and bound reports; None if it says that there is no plan.

        The relaxation is not solved afterwards.
        """
        self._send()
        whole = np.arange(self.n_columns) < len(self.moves)
        bound = self._program.solve_whole(whole, nodes=nodes)[1]
        return None if np.isposinf(bound) else Fraction(int(np.ceil(max(bound, 0.0) - 1e-6)), self.scale)

    def _send(self) -> None:
        """Give the solver the rows and columns that are new."""
        if not self._sent:
            cost = self.cost.astype(float)
            self._program = Inequalities(cost, np.zeros(len(cost)), np.ones(len(cost)))
            self._width = len(cost)
        more, self._width = self.n_columns - self._width, self.n_columns
        if more:
            self._program.extend(np.zeros(more), np.ones(more))
        new = self.rows[self._sent :]
        self._sent = len(self.rows)
        if new:
            starts = np.cumsum([0, *(len(row) for _, _, row in new)])
            columns = np.array([at for _, _, row in new for at in row], np.int64)
            values = np.array([value for _, _, row in new for value in row.values()], np.int64)
            matrix = csr_array((values, columns, starts), shape=(len(new), self.n_columns))
            self._matrix.append((matrix, len(new), self.n_columns))
            ends = np.array([(low, high) for low, high, _ in new])
            self._program.add(matrix, ends[:, 0], ends[:, 1])

    def _checked(self, multipliers: Vector) -> int:
        """The bound by the multipliers, in whole numbers: the rows' ends, and what is left of costs."""
        unit, largest = _UNIT, max(float(np.abs(multipliers).sum()), float(max(self.cost, default=0)))
        while unit > 1 and unit * largest >= 2**60:
            unit //= 2  # nothing may overflow; with huge costs the bound is coarser
        if unit * largest >= 2**60 or not self._matrix:
            return 0
        low = np.array([row[0] for row in self.rows])
        high = np.array([row[1] for row in self.rows])
        weights = np.rint(multipliers * unit).astype(np.int64)
        usable = np.where(weights > 0, np.isfinite(low), np.isfinite(high))
        weights = np.where(usable, weights, 0)
        ends = np.where(weights > 0, low, high)
        total = sum(w * int(end) for w, end in zip(weights.tolist(), ends.tolist(), strict=True) if w)
        left = np.zeros(self.n_columns, np.int64)
        left[: len(self.moves)] = self.cost.astype(np.int64) * unit
        start = 0
        for part, n_rows, width in self._matrix:
            left[:width] -= part.T @ weights[start : start + n_rows]
            start += n_rows
        total += int(left[left < 0].sum())
        return max(0, -(-total // unit))
