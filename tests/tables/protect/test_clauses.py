"""A plan that does not meet a clause leaves what the clause is about provable: by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import showthrough as st
from brute_force import TooManyWorlds, all_worlds, count_range
from exhaustive_plans import MOST_WORLDS, random_plan, random_policy
from needs import SLOW
from showthrough.release import pack
from showthrough.tables.protect.area_search import AreaSearch
from showthrough.tables.protect.moves import Drop, Merge, apply_moves
from showthrough.tables.protect.statements import ruled_out
from showthrough.tables.run.batch import Area
from strategies import Case, cases, seeds


@pytest.mark.slow
@settings(
    max_examples=120 if SLOW else 25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(cases(), seeds())
def test_who_does_not_meet_a_clause_leaves_the_leak(case: Case, seed: int) -> None:
    policy = random_policy(case, seed)
    assume(not policy.narrow)
    rng = np.random.default_rng([seed, 6])
    search = AreaSearch(Area(case.release, case.records), policy, effort=1.0, seed=0)
    plan = random_plan(rng, search.menu)
    clauses = list(search.clauses(search.audit_plan(plan)))
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
            assert not clause.met_by(plan)
            if not clause.met_by(other):
                checked += 1
                m = leak.multiplicity
                assert count_range(worlds, leak.selection) == (m, m)
    assume(checked)


def test_zeros_of_a_merged_table_rule_out_what_its_cells_did() -> None:
    """A sum of 0 is about fewer attributes than its cells: the proof rests on these."""
    schema = st.Schema.of({"age": ["0", "1"], "size": ["0", "1"], "sex": ["f", "m"]})
    fine, sex = st.make_table(schema, "age*size*sex"), st.make_table(schema, "sex")
    release = st.Release.of(schema, {fine: [0, 0, 3, 1, 0, 0, 0, 0], sex: [3, 1]})
    policy = st.Policy.of("count<=1", moves="merge,drop")
    search = AreaSearch(Area(release), policy, effort=1.0, seed=0)
    merged = Merge("age*size*sex", "age", (("0", "1"),), "all")
    plan = frozenset({Drop("sex"), merged})
    clauses = [clause for clause, _ in search.clauses(search.audit_plan(plan))]
    assert clauses
    assert not any(clause.met_by(plan) for clause in clauses)
    gone = frozenset({Drop("sex"), Drop("age*size*sex")})
    assert all(clause.met_by(gone) for clause in clauses)


def test_of_many_types_that_are_ruled_out_some_share_what_rules_them_out() -> None:
    """Fewer sets of cells: each type has one of them, and the plan leaves a cell of each."""
    rng = np.random.default_rng(4)
    for n_types, share in ((2000, 0.1), (600, 0.3), (60, 0.05)):
        zeros = rng.random((n_types, 100)) < share
        zeros[:, :30] |= np.eye(30, dtype=bool)[rng.integers(0, 30, n_types)]
        zeros = np.concatenate([zeros, zeros[:10]])  # sets may come twice
        left = np.arange(100) < 30
        found = ruled_out(pack(zeros), pack(left[None, :]), 100)
        sets = np.array([[at in cells for at in range(100)] for cells in found])
        assert len(sets) <= 48
        assert (sets & left).any(axis=1).all()
        contained = np.asarray(np.all(sets[None, :, :] <= zeros[:, None, :], axis=2))
        assert contained.any(axis=1).all()
        assert contained.any(axis=0).all()
