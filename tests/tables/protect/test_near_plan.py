"""Plans from datasets near the true one: what is said about these, by counting; and whole searches."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

import showthrough as st
from brute_force import all_worlds, count_range
from exhaustive_plans import MOST_WORLDS, cheapest, forbidden
from needs import SLOW
from showthrough.tables.protect import plan_search as module
from showthrough.tables.protect.area_search import AreaSearch
from showthrough.tables.protect.cover_search import CoverSearch
from showthrough.tables.protect.dataset_pool import DatasetPool
from showthrough.tables.protect.exchanges import exchange_pool, moves_of_cells
from showthrough.tables.protect.moves import Drop, Move, Suppress, apply_moves
from showthrough.tables.protect.near_plan import near_plan
from showthrough.tables.protect.policy import Policy
from showthrough.tables.protect.protect import protect, protect_alike
from showthrough.tables.run.batch import Area

SCHEMA = st.Schema.of({"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1"]})


def people(seed: int, n: int = 5) -> st.Records:
    rng = np.random.default_rng(seed)
    return st.Records(SCHEMA, (rng.integers(0, 6, (n, 3)) % [3, 2, 2]).astype(np.uint8))


def planned(records: st.Records, tables: list[str]) -> st.Release:
    release = st.tabulate(records, tables)
    assert isinstance(release, st.Release)
    return release


def nothing(*_: object, **__: object) -> None:
    """What a road says that is closed."""


def search_of(seed: int, moves: str = "suppress", n: int = 5) -> AreaSearch:
    records = people(seed, n)
    release = planned(records, ["a*b", "b*c", "a"])
    return AreaSearch(Area(release, records), Policy.of("singletons", moves=moves), effort=1.0, seed=0)


def pool_of(search: AreaSearch, moves: list[Move]) -> DatasetPool:
    assert search.before is not None
    pool = exchange_pool(
        search.planned,
        search.world,
        search.before.claim_table,
        search.forbidden,
        moves,
        most=5_000,
        seed=0,
    )
    assert pool is not None
    return pool


def random_choice(rng: np.random.Generator, n: int) -> NDArray[np.bool_]:
    return rng.random(n) < rng.uniform(0.2, 0.9)


@pytest.mark.parametrize("kinds", ["suppress", "drop"])
@pytest.mark.parametrize("seed", range(4))
def test_what_near_datasets_refute_is_refuted_by_enumeration(seed: int, kinds: str) -> None:
    search = search_of(seed, kinds)
    assert search.before is not None
    moves, facts = list(search.menu.moves), search.before.claim_table
    pool, rng, seen = pool_of(search, moves), np.random.default_rng(seed), 0
    for _ in range(4):
        chosen = random_choice(rng, len(moves))
        plan = [move for move, yes in zip(moves, chosen.tolist(), strict=True) if yes]
        after, _ = apply_moves(search.planned, plan)
        worlds = all_worlds(after, most=MOST_WORLDS)
        for at, refuted in zip(search.forbidden.tolist(), pool.refuted(chosen).tolist(), strict=True):
            low, high = count_range(worlds, facts.selection(at))
            assert not refuted or low != high, (plan, facts.selection(at))
            seen += refuted
    assert seen


def test_a_cell_is_hidden_by_its_own_move_or_by_that_of_its_table() -> None:
    search = search_of(0)
    names = search.planned.layout.names
    own = moves_of_cells(search.planned, [Suppress(*names[2]), None, Drop("a")])
    assert own[2] == 0
    assert {int(number) for number, (table, _) in zip(own, names, strict=True) if table == "a"} == {2}
    assert {int(own[at]) for at in (0, 1, 3)} == {-1}


@pytest.mark.parametrize("seed", range(3))
def test_plans_stay_covered_and_only_get_cheaper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = DatasetPool(rng.random((60, 12)) < 0.3, rng.random((60, 9)) < 0.2)
    assert pool.condensed.refutes.shape[1] <= 9
    cost = rng.integers(1, 5, 12)
    cover = CoverSearch([pool.condensed], cost, seed=seed)
    cover.start()
    before = cover.total
    assert pool.safe(cover.plan)
    cover.improve(30)
    assert pool.safe(cover.plan)
    assert cover.total == int(cost[cover.plan].sum()) <= before
    again = CoverSearch([pool.condensed], cost, seed=seed)
    again.start()
    again.improve(30)
    assert (again.plan == cover.plan).all()


@pytest.mark.parametrize("seed", range(3))
def test_one_plan_for_several_areas_covers_each_of_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pools = [DatasetPool(rng.random((n, 12)) < 0.3, rng.random((n, n // 4)) < 0.3) for n in (40, 8, 24)]
    pools = [DatasetPool(pool.needs, pool.refutes[:, pool.refutes.any(axis=0)]) for pool in pools]
    cost = rng.integers(1, 5, 12)
    cover = CoverSearch(pools, cost, seed=seed)
    cover.start()
    before = cover.total
    cover.improve(30)
    assert cover.total == int(cost[cover.plan].sum()) <= before
    for area, pool in enumerate(pools):
        assert pool.safe(cover.plan)
        admitted = np.logical_not((pool.needs & ~cover.plan).any(axis=1))
        assert (cover.times[area] == pool.refutes[admitted].sum(axis=0)).all()
    for move in np.flatnonzero(cover.plan):
        rest = cover.plan.copy()
        rest[move] = False
        assert not all(pool.safe(rest) for pool in pools)


def test_where_nothing_is_to_be_refuted_a_plan_is_empty() -> None:
    nothing_forbidden = DatasetPool(np.ones((2, 3), bool), np.zeros((2, 0), bool))
    for pool in (nothing_forbidden, nothing_forbidden.condensed):
        cover = CoverSearch([pool], np.ones(3, np.int64), seed=0)
        cover.start(np.array([True, False, False]))
        assert not cover.plan.any()


def test_claims_that_fall_with_others_are_left_out_without_harm() -> None:
    rng = np.random.default_rng(7)
    pool = DatasetPool(rng.random((12, 8)) < 0.3, rng.random((12, 30)) < 0.2)
    pool = DatasetPool(pool.needs, pool.refutes[:, pool.refutes.any(axis=0)])
    small = pool.condensed
    assert small.refutes.shape[1] < pool.refutes.shape[1]
    for _ in range(50):
        plan = random_choice(rng, 8)
        assert small.safe(plan) == pool.safe(plan)


@pytest.mark.parametrize("seed", range(3 if SLOW else 1))
def test_a_search_from_datasets_is_safe_and_bounded_by_enumeration(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MANY_CELLS", 0)
    monkeypatch.setattr(module, "cells_of_release", nothing)
    records = people(seed, 4)
    release = planned(records, ["a*b", "b*c"])
    policy = Policy.of("singletons", moves="suppress,drop")
    found = protect(release, policy, truth=records)
    (area,) = found.areas
    assert found.safe
    assert forbidden(all_worlds(area.release, most=MOST_WORLDS), policy, SCHEMA) == set()
    least = cheapest(release, Policy.of("singletons", moves="suppress"), most=MOST_WORLDS)
    assert least is not None
    assert found.lower_bound <= least <= found.cost
    assert protect(release, policy, truth=records).plan == found.plan


def test_areas_that_are_treated_alike_share_a_plan_from_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MANY_CELLS", 0)
    monkeypatch.setattr(module, "plan_alike", nothing)
    both = [people(seed, 4) for seed in (1, 2)]
    layout = planned(both[0], ["a*b", "b*c"]).layout
    areas = [Area(layout.tabulate(records, area=str(at)), records) for at, records in enumerate(both)]
    policy = Policy.of("singletons", moves="suppress")
    found = protect_alike(areas, policy)
    assert found.safe
    assert found.lower_bound <= found.cost

    def leaks(moves: list[Move]) -> bool:
        changed = [apply_moves(area.release, moves, mark=policy.change.mark)[0] for area in areas]
        return any(forbidden(all_worlds(one, most=MOST_WORLDS), policy, SCHEMA) for one in changed)

    assert not leaks(list(found.plan))
    for move in found.plan:  # none of which can be taken back
        assert leaks([other for other in found.plan if other != move])


def test_policies_about_more_than_claims_have_no_near_plan() -> None:
    search = search_of(0)
    costs = search.menu.moves
    assert near_plan([search], costs, effort=1.0, goal=Fraction(0), stop=lambda: False) is not None
    search.policy = Policy.of("groups", moves="suppress")
    assert near_plan([search], costs, effort=1.0, goal=Fraction(0), stop=lambda: False) is None
