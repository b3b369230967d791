"""The cheapest plan that meets all clauses, against all plans."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from showthrough.tables.protect.clauses import Clause
from showthrough.tables.protect.hitting import cheapest_plan, cost_of
from showthrough.tables.protect.moves import Drop, Move, Round, Suppress

MOVES: list[Move] = [
    *(Suppress(table, cell) for table in "ab" for cell in "xyz"),
    *(Drop(table) for table in "abc"),
    Round("a", 3),
    Round("c", 5),
]


def fits(plan: frozenset[Move]) -> bool:
    for table in "abc":
        mine = [move for move in plan if move.table == table]
        whole = [move for move in mine if not isinstance(move, Suppress)]
        if len(whole) > 1 or (whole and len(mine) > 1):
            return False
    return True


PLANS = [
    frozenset(chosen)
    for size in range(len(MOVES) + 1)
    for chosen in itertools.combinations(MOVES, size)
    if fits(frozenset(chosen))
]


def random_clause(rng: np.random.Generator) -> Clause:
    def some(most: int) -> frozenset[Move]:
        return frozenset(MOVES[at] for at in rng.choice(len(MOVES), rng.integers(1, most + 1)))

    facts = [frozenset(some(3) for _ in range(rng.integers(1, 4))) for _ in range(rng.integers(1, 4))]
    return Clause(frozenset(facts))


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_cheaper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clauses = [random_clause(rng) for _ in range(rng.integers(1, 9))]
    costs = {move: Fraction(int(rng.integers(1, 9)), int(rng.integers(1, 4))) for move in MOVES}
    met = [cost_of(plan, costs) for plan in PLANS if all(clause.met_by(plan) for clause in clauses)]
    found = cheapest_plan(clauses, costs)
    if not met:
        assert found is None
    else:
        assert found is not None
        assert fits(found)
        assert all(clause.met_by(found) for clause in clauses)
        assert cost_of(found, costs) == min(met)


def test_some_of_the_moves_can_be_given_or_left_out() -> None:
    a, b = Drop("a"), Drop("b")
    clause = Clause(frozenset({frozenset({frozenset({a, b})})}))
    costs = {a: Fraction(1), b: Fraction(5)}
    assert cheapest_plan([clause], costs) == {a}
    assert cheapest_plan([clause], costs, given=frozenset({b})) == {b}
    assert cheapest_plan([clause], {b: Fraction(5)}) == {b}
    assert cheapest_plan([clause], {Drop("c"): Fraction(1)}) is None
    assert cheapest_plan([Clause(frozenset())], costs) is None


def test_a_fact_that_two_tables_state_goes_only_with_both() -> None:
    a, b, c = Drop("a"), Drop("b"), Drop("c")
    both = frozenset({frozenset({a}), frozenset({b})})
    clause = Clause(frozenset({both, frozenset({frozenset({c})})}))
    assert cheapest_plan([clause], {a: Fraction(1), b: Fraction(1), c: Fraction(3)}) == {a, b}
    assert cheapest_plan([clause], {a: Fraction(2), b: Fraction(2), c: Fraction(3)}) == {c}
