"""The cheapest plan that meets all clauses: a weighted hitting set, by HiGHS.

What the solver proposes is checked again in exact arithmetic. That nothing is cheaper is only the solver's
word: the lower bound rests on it, safety never does. The program is that of
:mod:`showthrough.tables.protect.master`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from showthrough.errors import Undecided
from showthrough.tables.protect.clauses import Clause
from showthrough.tables.protect.company import Company
from showthrough.tables.protect.master import Master
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
    clauses: Sequence[Clause],
    costs: Mapping[Move, Fraction],
    *,
    given: frozenset[Move] = frozenset(),
    company: Company | None = None,
    nodes: int = _MOST_NODES,
) -> frozenset[Move] | None:
    """The cheapest plan of moves with a cost that meets all clauses and contains ``given``; None if
    there is none.

    With ``company`` it is the cheapest of those from which no move can be taken back without loss.

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
    master = Master(costs, company)
    master.add(clauses)
    lower = np.zeros(master.n_columns)
    lower[[master.column[move] for move in given]] = 1.0
    cost = np.concatenate([master.cost.astype(float), np.zeros(len(lower) - len(master.moves))])
    whole = np.arange(len(lower)) < len(master.moves)
    values = cheapest_choice(cost, lower, whole, master.rows, nodes=nodes)
    if values is None:
        return None
    chosen = master.plan(values, 0.5)
    if not (given <= chosen and all(clause.met_by(chosen) for clause in clauses) and _compatible(chosen)):
        raise Undecided(
            "the solver returned a plan that does not meet all conditions; nothing was concluded from it"
        )
    return _without_idle(chosen, clauses, given, costs if company is None else _free(costs))


def _free(costs: Mapping[Move, Fraction]) -> list[Move]:
    """The moves that cost nothing."""
    return [move for move, cost in costs.items() if not cost]


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
    plan: frozenset[Move], clauses: Sequence[Clause], given: frozenset[Move], among: Iterable[Move]
) -> frozenset[Move]:
    """Without moves that no clause needs (they cost nothing, or the solver would have left them)."""
    for move in sorted((plan - given).intersection(among), key=repr):
        if all(clause.met_by(plan - {move}) for clause in clauses):
            plan = plan - {move}
    return plan
