"""Protection against exhaustive search over plans and datasets."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import showthrough as st
from brute_force import TooManyWorlds, all_worlds
from exhaustive_plans import MOST_WORLDS, cheapest, forbidden, n_plans, random_policy
from needs import SLOW
from showthrough.errors import Undecided
from showthrough.tables.protect import area_search
from showthrough.tables.protect.area_search import AreaSearch
from showthrough.tables.protect.clauses import Clause
from showthrough.tables.protect.judge import Judge, Leak, Leaks
from showthrough.tables.protect.limits import Clock
from showthrough.tables.protect.menu import Menu
from showthrough.tables.protect.moves import Move
from showthrough.tables.protect.plan_search import PlanSearch
from showthrough.tables.protect.policy import Policy
from showthrough.tables.protect.protect import protect
from showthrough.tables.protect.protection import Protection
from showthrough.tables.run.batch import Area
from showthrough.tables.search.decider import Effort
from strategies import Case, cases, seeds

thorough = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

MOST_PLANS = 300 if SLOW else 100


def check_safe(case: Case, policy: Policy, found: Protection) -> None:
    """What is called safe is safe, by enumeration, and the evidence for it holds."""
    (area,) = found.areas
    worlds = all_worlds(area.release, most=MOST_WORLDS)
    assert forbidden(worlds, policy, case.schema) == set()
    for selection, m in area.hidden():
        pair = area.disagreement(selection)
        assert {world.count(selection) for world in pair} > {m}
        assert all(area.release.agrees_with(world.records()) for world in pair)


@pytest.mark.slow
@settings(thorough, max_examples=100 if SLOW else 25)
@given(cases(), seeds())
def test_the_cost_is_that_of_the_cheapest_safe_plan(case: Case, seed: int) -> None:
    policy = random_policy(case, seed)
    menu = Menu(case.release, policy)
    assume(n_plans(menu) <= MOST_PLANS)
    try:
        wanted = cheapest(case.release, policy, most=MOST_WORLDS)
    except TooManyWorlds:
        assume(False)
    found = protect(case.release, policy, truth=case.records if seed % 2 else None)
    if wanted is None:
        assert found.status == "impossible"
        assert found.remains
        return
    assert found.status == "safe"
    assert found.cost == found.lower_bound == wanted
    check_safe(case, policy, found)


@pytest.mark.slow
@settings(thorough, max_examples=80 if SLOW else 20)
@given(cases(), seeds())
def test_group_disclosure_too(case: Case, seed: int) -> None:
    """Audits look for groups of unknown size by two known columns at most, so there are three."""
    assume(len(case.schema.names) <= 3)
    policy = Policy.of("groups", moves=["suppress", "drop", "round:3,drop"][seed % 3])
    assume(n_plans(Menu(case.release, policy)) <= (100 if SLOW else 40))
    try:
        wanted = cheapest(case.release, policy, most=MOST_WORLDS)
    except TooManyWorlds:
        assume(False)
    found = protect(case.release, policy, truth=case.records if seed % 2 else None)
    assert (found.status == "impossible") is (wanted is None)
    if wanted is not None:
        assert found.cost == found.lower_bound == wanted
        check_safe(case, policy, found)


def test_what_is_not_decided_is_never_called_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit that decides nothing: the search ends, and says so."""
    schema = st.Schema.of({"sex": ["f", "m"]})
    release = st.Release.of(schema, {st.make_table(schema, "sex"): [1, 4]})
    unsure = Leaks((), 0, ("Not decided: whether.",))
    monkeypatch.setattr(Judge, "leaks", lambda *_, **__: unsure)
    found = protect(release, Policy.of("singletons"))
    assert found.status == "undecided"
    assert not found.optimal
    assert found.remains == ("Not decided: whether.",)


def test_little_effort_gives_a_safe_plan_and_a_lower_bound() -> None:
    rng = np.random.default_rng(3)
    schema = st.Schema.of({name: ["0", "1", "2"] for name in "abc"})
    people = st.Records(schema, rng.integers(0, 3, (14, 3)).astype(np.uint8))
    release = st.tabulate(people, ["a*b", "b*c", "a*c", "a*b*c"])
    policy = Policy.of("singletons", moves="suppress,drop")
    hasty = protect(release, policy, truth=people, effort=0.02)
    best = protect(release, policy, truth=people)
    assert hasty.safe
    assert best.safe
    assert hasty.areas[0].left.clean
    assert hasty.lower_bound <= best.lower_bound <= best.cost <= hasty.cost


def small_search() -> tuple[st.Release, st.Records]:
    schema = st.Schema.of({"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1"]})
    codes = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [2, 1, 1], [2, 1, 1]], np.uint8)
    records = st.Records(schema, codes)
    release = st.tabulate(records, ["a*b", "b*c"])
    assert isinstance(release, st.Release)
    return release, records


def test_when_the_time_is_over_the_loosest_plan_is_tried() -> None:
    release, records = small_search()
    policy = Policy.of("singletons", moves="suppress")
    hasty, found = (protect(release, policy, truth=records, seconds=seconds) for seconds in (0, None))
    assert hasty.safe
    assert hasty.lower_bound <= found.cost <= hasty.cost
    (area,) = hasty.areas
    assert forbidden(all_worlds(area.release, most=MOST_WORLDS), policy, release.schema) == set()


def test_many_changes_to_areas_with_too_many_record_types_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release, records = small_search()
    usual = Effort.of.__func__  # pyright: ignore[reportFunctionMemberAccess]

    def limited(cls: type[Effort], scale: float) -> Effort:
        return dataclasses.replace(usual(cls, scale), types=4)

    monkeypatch.setattr(Effort, "of", classmethod(limited))
    monkeypatch.setattr(area_search, "_MOST_WIDE", 5)
    with pytest.raises(Undecided, match="more than 4 record types are possible, and 10 changes"):
        protect(release, "singletons", moves="suppress", truth=records)
    policy = Policy.of("singletons", moves="drop")
    found = protect(release, policy, truth=records)
    (area,) = found.areas
    assert found.status != "impossible"
    if found.safe:
        assert forbidden(all_worlds(area.release, most=MOST_WORLDS), policy, release.schema) == set()


@pytest.mark.parametrize("seed", range(5))
def test_clauses_as_numbers_are_met_by_the_same_plans(seed: int) -> None:
    release, records = small_search()
    policy = Policy.of("singletons", moves="suppress")
    state = PlanSearch(
        [AreaSearch(Area(release, records), policy, effort=1.0, seed=0)], 1.0, None, Clock(None, None, None)
    )
    chance, moves = random.Random(seed), sorted(state.costs, key=repr)  # noqa: S311 - nothing secret

    def some(most: int) -> frozenset[Move]:
        return frozenset(chance.sample(moves, chance.randint(1, most)))

    for _ in range(20):
        facts = frozenset(frozenset(some(3) for _ in range(2)) for _ in range(2))
        state.clauses[Clause(facts)] = Leak("", (), st.Selection.of({}))
        plans = [some(len(moves)) for _ in range(10)]
        for plan in plans:
            expected = all(clause.met_by(plan) for clause in state.clauses)
            assert state._may_be_safe(plan) == expected  # pyright: ignore[reportPrivateUsage]
