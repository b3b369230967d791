"""The cheapest plan that meets all clauses: a weighted hitting set, by HiGHS.

One 0/1 variable per move. A fact that several sources state gets a variable of its own, which can
be 1 only if one move of each of its sets is chosen; a clause asks for one of its facts. What the
solver proposes is checked again in exact arithmetic. That nothing is cheaper is only the solver's
word: the lower bound rests on it, safety never does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from showthrough.errors import Undecided
from showthrough.tables.protect.clauses import Clause, Ways
from showthrough.tables.protect.moves import Move, Suppress
from showthrough.tables.search.solver import cheapest_choice

__all__ = [
    "cheapest_plan",
    "cost_of",
]

#: Branch-and-bound nodes for one plan.
_MOST_NODES = 200_000


def cost_of(plan: Iterable[Move], costs: Mapping[Move, Fraction]) -> Fraction:
    """What a plan costs.

    >>> cost_of([], {})
    Fraction(0, 1)
    """
    return sum((costs[move] for move in plan), Fraction(0))


def cheapest_plan(
    clauses: Sequence[Clause], costs: Mapping[Move, Fraction], *, given: frozenset[Move] = frozenset()
) -> frozenset[Move] | None:
    """The cheapest plan of moves with a cost that meets all clauses and contains ``given``; None if
    there is none.

    >>> from showthrough.tables.protect.moves import Drop
    >>> a, b, c = Drop("a"), Drop("b"), Drop("c")
    >>> def either(*moves):
    ...     return Clause(frozenset({frozenset({frozenset(moves)})}))
    >>> costs = {a: Fraction(2), b: Fraction(3), c: Fraction(2)}
    >>> sorted(map(str, cheapest_plan([either(a, b), either(b, c)], costs)))
    ['drop b']
    """
    clauses = [_within(clause, costs) for clause in clauses]
    if any(not clause.facts for clause in clauses):
        return None
    if all(clause.met_by(given) for clause in clauses):
        return given
    program = _Program(clauses, costs, given)
    chosen = program.solve()
    if chosen is None:
        return None
    if not (given <= chosen and all(clause.met_by(chosen) for clause in clauses) and _compatible(chosen)):
        raise Undecided(
            "the solver returned a plan that does not meet all conditions; nothing was concluded from it"
        )
    return _without_idle(chosen, clauses, given)


def _within(clause: Clause, costs: Mapping[Move, Fraction]) -> Clause:
    """The clause for plans made of moves that have a cost."""
    allowed = costs.keys()
    cut = [frozenset(frozenset(moves & allowed) for moves in ways) for ways in clause.facts]
    return Clause(frozenset(ways for ways in cut if frozenset() not in ways))


def _compatible(plan: frozenset[Move]) -> bool:
    """Whether every table is treated in one way."""
    whole = [move.table for move in plan if not isinstance(move, Suppress)]
    partly = {move.table for move in plan if isinstance(move, Suppress)}
    return len(set(whole)) == len(whole) and not partly & set(whole)


def _without_idle(
    plan: frozenset[Move], clauses: Sequence[Clause], given: frozenset[Move]
) -> frozenset[Move]:
    """Without moves that no clause needs (they cost nothing, or the solver would have left them)."""
    for move in sorted(plan - given, key=repr):
        if all(clause.met_by(plan - {move}) for clause in clauses):
            plan = plan - {move}
    return plan


class _Program:
    """The integer program, row by row."""

    def __init__(
        self, clauses: Sequence[Clause], costs: Mapping[Move, Fraction], given: frozenset[Move]
    ) -> None:
        used = {m for clause in clauses for ways in clause.facts for moves in ways for m in moves} | given
        self.moves = sorted(used, key=repr)
        self.column = {move: at for at, move in enumerate(self.moves)}
        scale = lcm(*(costs[move].denominator for move in self.moves))
        self.cost = [int(costs[move] * scale) for move in self.moves]
        self.given = given
        self.rows: list[tuple[float, float, dict[int, float]]] = []
        self._of_fact: dict[Ways, int] = {}
        for clause in dict.fromkeys(clauses):
            self._add_clause(clause)
        self._add_exclusions()

    def _add_clause(self, clause: Clause) -> None:
        row: dict[int, float] = {}
        for ways in sorted(clause.facts, key=_spelled):
            if len(ways) == 1:
                (moves,) = ways
                row |= {self.column[move]: 1.0 for move in moves}
            else:
                row[self._fact(ways)] = 1.0
        self.rows.append((1.0, np.inf, row))

    def _fact(self, ways: Ways) -> int:
        """The column that may be 1 only if one move of each set is chosen."""
        if ways not in self._of_fact:
            at = len(self.moves) + len(self._of_fact)
            self._of_fact[ways] = at
            for moves in ways:
                row = {self.column[move]: 1.0 for move in moves}
                self.rows.append((0.0, np.inf, {**row, at: -1.0}))
        return self._of_fact[ways]

    def _add_exclusions(self) -> None:
        """A table is treated as a whole by one move at most, and then no cell is suppressed."""
        tables: dict[str, list[Move]] = {}
        for move in self.moves:
            tables.setdefault(move.table, []).append(move)
        for moves in tables.values():
            whole = {self.column[move]: 1.0 for move in moves if not isinstance(move, Suppress)}
            partly = [self.column[move] for move in moves if isinstance(move, Suppress)]
            if len(whole) > 1 and not partly:
                self.rows.append((-np.inf, 1.0, whole))
            for at in partly if whole else ():
                self.rows.append((-np.inf, 1.0, {**whole, at: 1.0}))

    def solve(self) -> frozenset[Move] | None:
        """The moves chosen; None if no choice meets all rows."""
        n_moves, n_columns = len(self.moves), len(self.moves) + len(self._of_fact)
        lower = np.zeros(n_columns)
        lower[[self.column[move] for move in self.given]] = 1.0
        cost = np.zeros(n_columns)
        cost[:n_moves] = self.cost
        whole = np.arange(n_columns) < n_moves
        values = cheapest_choice(cost, lower, whole, self.rows, nodes=_MOST_NODES)
        if values is None:
            return None
        chosen = zip(self.moves, values[:n_moves], strict=True)
        return frozenset(move for move, value in chosen if value > 0.5)


def _spelled(ways: Ways) -> list[list[str]]:
    """Something to sort by, so that the program is the same in every run."""
    return sorted(sorted(map(repr, moves)) for moves in ways)
