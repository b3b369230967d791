"""Cheap evidence that counts are open, by enumeration; and what audits leave behind for other plans."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import showthrough as st
from brute_force import all_worlds, count_range
from exhaustive_plans import MOST_WORLDS
from showthrough.tables.protect.area_search import AreaSearch
from showthrough.tables.protect.judge import Judge
from showthrough.tables.protect.moves import apply_moves
from showthrough.tables.protect.near_counts import near_counts
from showthrough.tables.protect.near_plan import better_plan, near_plan
from showthrough.tables.protect.needs import Need
from showthrough.tables.protect.policy import Policy
from showthrough.tables.run.batch import Area

SCHEMA = st.Schema.of({"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1"]})


def people(seed: int, n: int = 5) -> st.Records:
    rng = np.random.default_rng(seed)
    return st.Records(SCHEMA, (rng.integers(0, 6, (n, 3)) % [3, 2, 2]).astype(np.uint8))


def planned(records: st.Records, tables: list[str]) -> st.Release:
    release = st.tabulate(records, tables)
    assert isinstance(release, st.Release)
    return release


def loosened(records: st.Records, seed: int) -> st.Release:
    """Counts as intervals, some of them exact, none unbounded."""
    rng = np.random.default_rng([seed, 3])
    exact = planned(records, ["a*b", "b*c", "a"])
    less, more = (rng.integers(0, 3, len(exact.low)) * (rng.random(len(exact.low)) < 0.6) for _ in range(2))
    return st.Release(exact.layout, np.maximum(exact.low - less, 0), exact.high + more)


@pytest.mark.parametrize("seed", range(12))
def test_counts_that_near_datasets_show_to_be_open_are_open(seed: int) -> None:
    records = people(seed)
    release = loosened(records, seed)
    worlds = all_worlds(release, most=200_000)
    needs = [Need(one, width) for one in dict.fromkeys(release.layout.selections) for width in (1, 2)]
    found = near_counts(release, records, needs)
    for need, shown in found.items():
        counts = [world.count(need.where) for world in shown]
        assert all(release.agrees_with(world.records()) for world in shown)
        assert need.shown_by(counts)
        low, high = count_range(worlds, need.where)
        assert high is not None
        assert low <= min(counts) < max(counts) <= high
    known = [need for need in needs if len({*count_range(worlds, need.where)}) == 1]
    assert not found.keys() & {*known}


def test_most_counts_of_loose_tables_are_shown_to_be_open() -> None:
    records = people(1, 12)
    exact = planned(records, ["a*b", "b*c", "a"])
    release = st.Release(exact.layout, np.maximum(exact.low - 2, 0), exact.high + 2)
    needs = [Need(one) for one in dict.fromkeys(release.layout.selections)]
    assert len(near_counts(release, records, needs)) == len(needs)
    assert near_counts(exact, records, needs) == {}


def test_a_cell_that_states_a_count_is_the_proof_that_it_is_known() -> None:
    records = people(2)
    release = planned(records, ["a*b", "a"])
    selection = release.layout.selections[0]
    judge = Judge(Policy.of("count<=9,zeros"), SCHEMA, records, needs=(Need(selection),))
    (leak,) = judge.leaks(release, None, effort=1.0, seed=0).leaks
    assert leak.proofs
    for proof in leak.proofs:
        proof.check(SCHEMA, release)
        assert proof.multiplicity == records.count(selection)


@pytest.mark.parametrize("seed", range(2))
def test_what_audits_leave_behind_refutes_under_other_plans(seed: int) -> None:
    records = people(seed)
    release = planned(records, ["a*b", "b*c", "a"])
    search = AreaSearch(Area(release, records), Policy.of("singletons", moves="suppress"), effort=1.0, seed=0)
    costs = search.menu.moves
    plan = near_plan([search], costs, effort=1.0, goal=Fraction(0), stop=lambda: False)
    assert plan is not None
    assert search.near is not None
    assert search.before is not None
    before, facts = len(search.near.pool), search.before.claim_table
    rng, moves = np.random.default_rng(seed), list(costs)
    for _ in range(5):
        search.audit_plan(frozenset(move for move in moves if rng.random() < 0.7))
    assert len(search.near.pool) >= before
    for _ in range(2):
        chosen = frozenset(move for move in moves if rng.random() < 0.7)
        worlds = all_worlds(apply_moves(release, chosen)[0], most=MOST_WORLDS)
        for at, refuted in zip(search.forbidden.tolist(), search.near.refuted(chosen).tolist(), strict=True):
            low, high = count_range(worlds, facts.selection(at))
            assert not refuted or low != high
    again = better_plan([search], costs, plan, effort=1.0, goal=Fraction(0), stop=lambda: False)
    assert again is not None
    assert search.near.refuted(again).sum() >= search.near.refuted(plan).sum()
