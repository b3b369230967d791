"""Light proofs: whoever does not meet their clauses leaves the claim provable, by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import showthrough as st
from brute_force import TooManyWorlds, all_worlds, count_range
from exhaustive_plans import MOST_WORLDS, random_plan, random_policy
from needs import SLOW
from showthrough.tables.protect.area_search import AreaSearch
from showthrough.tables.protect.clause_sums import ClauseSums
from showthrough.tables.protect.master import ClauseColumns
from showthrough.tables.protect.moves import Move, Suppress, apply_moves
from showthrough.tables.protect.policy import Policy
from showthrough.tables.run.batch import Area
from strategies import Case, cases, seeds


@pytest.mark.slow
@settings(
    max_examples=150 if SLOW else 30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(cases(), seeds())
def test_who_does_not_meet_the_clause_of_a_light_proof_leaves_the_claim(case: Case, seed: int) -> None:
    policy = random_policy(case, seed)
    assume(not policy.narrow and not policy.only_cells)
    rng = np.random.default_rng([seed, 8])
    search = AreaSearch(Area(case.release, case.records), policy, effort=1.0, seed=0)
    shares = {move: float(rng.random()) * 0.6 for move in search.menu.moves if rng.random() < 0.5}
    clauses = list(search.light_clauses(shares, most=12, seed=seed))
    assume(clauses)
    checked = 0
    for _ in range(6):
        other = random_plan(rng, search.menu)
        after, _ = apply_moves(case.release, other, mark=policy.change.mark)
        try:
            worlds = all_worlds(after, most=MOST_WORLDS)
        except TooManyWorlds:
            continue
        for clause, leak in clauses:
            if not clause.met_by(other):
                checked += 1
                assert count_range(worlds, leak.selection) == (leak.multiplicity, leak.multiplicity)
    assume(checked)


def test_a_light_proof_leaves_out_what_the_relaxation_takes_much_of() -> None:
    """The single woman who is ill follows from her cell, and from the row and its other cell."""
    schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    release = st.Release.of(
        schema, {st.make_table(schema, "sex*ill"): [5, 1, 3, 2], st.make_table(schema, "sex"): [6, 5]}
    )
    search = AreaSearch(Area(release), Policy.of("singletons", moves="suppress"), effort=1.0, seed=0)
    rest, own, *_, row, _ = (Suppress(*named) for named in release.layout.names)
    nothing: dict[Move, float] = {}
    much: dict[Move, float] = {own: 1.0}
    needed = [
        {frozenset(move for ways in clause.facts for moves in ways for move in moves) for clause, _ in found}
        for found in (search.light_clauses(shares, most=9, seed=0) for shares in (nothing, much))
    ]
    assert needed == [{frozenset({own})}, {frozenset({rest, row})}]
    assert not list(search.light_clauses({own: 1.0, rest: 0.5, row: 0.5}, most=9, seed=0))
    tighter: dict[Move, float] = {own: 0.6, rest: 0.3, row: 0.3}
    assert list(search.light_clauses(tighter, most=9, seed=0))
    assert not list(search.light_clauses(tighter, most=9, seed=0, looser=1.8))


@pytest.mark.parametrize("seed", range(20))
def test_sums_of_clauses_hold_for_every_choice_that_meets_them(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def some(n: int) -> tuple[int, ...]:
        return tuple(np.unique(rng.integers(0, 6, n)).tolist())

    options = tuple(tuple(some(2) for _ in range(rng.integers(2, 4))) for _ in range(rng.integers(0, 4)))
    clause = ClauseColumns(some(1) if rng.random() < 0.5 or not options else (), options)
    sums = ClauseSums()
    sums.add([clause])
    for number in range(64):
        point = np.array([number >> at & 1 for at in range(6)], float)
        whole = any(all(any(point[at] for at in one) for one in option) for option in options)
        met = bool(point[list(clause.single)].any()) or whole
        broken = list(sums.broken(point))
        assert bool(broken) != met
        assert all(point[list(one)].sum() < 1 for one in broken)
