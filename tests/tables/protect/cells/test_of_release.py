"""Releases and policies as problems about cells, and protecting them that way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import showthrough as st
from brute_force import TooManyWorlds, all_worlds
from exhaustive_plans import MOST_WORLDS, cheapest, forbidden, n_plans
from needs import SLOW
from showthrough.tables.protect import plan_search as module
from showthrough.tables.protect.cells.of_release import ReleaseCells, cells_of_release
from showthrough.tables.protect.cells.protect_cells import protect_cells
from showthrough.tables.protect.menu import Menu
from showthrough.tables.protect.policy import Policy
from strategies import Case, cases, seeds


def tables_of(people: st.Records, tables: Sequence[str | st.Table]) -> st.Release:
    made = st.tabulate(people, tables)
    assert isinstance(made, st.Release)
    return made


def read(people: st.Records, tables: list[str], policy: Policy) -> ReleaseCells | None:
    release = tables_of(people, tables)
    return cells_of_release(release, policy, people, Menu(release, policy).moves)


@pytest.fixture(scope="module")
def people() -> st.Records:
    rng = np.random.default_rng(4)
    schema = st.Schema.of({"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1"]})
    return st.Records(schema, np.stack([rng.integers(0, n, 30) for n in (3, 2, 2)], axis=1).astype(np.uint8))


def test_cells_of_two_tables_that_are_one_cell(people: st.Records) -> None:
    """The margin a is shown in two tables: hiding a cell of it means hiding it twice, at twice the cost."""
    found = read(people, ["a", "a*b", "b*c", "b"], Policy.of("singletons", moves="suppress"))
    assert found is not None
    assert int((~found.problem.hidden).sum()) == 3 + 6 + 4 + 2
    twice = tables_of(people, [st.make_table(people.schema, "a", name=name) for name in ("one", "two")])
    policy = Policy.of("singletons", moves="suppress")
    again = cells_of_release(twice, policy, people, Menu(twice, policy).moves)
    assert again is not None
    assert sorted(map(len, again.moves.values())) == [2, 2, 2]
    assert set(again.problem.cost[~again.problem.hidden].tolist()) == {2}


@pytest.mark.parametrize(
    "policy",
    [
        Policy.of("groups", moves="suppress"),
        Policy.of("singletons,sensitive=b", moves="suppress"),
        Policy.of("singletons,hidden", moves="suppress"),
        Policy.of("k>=2", moves="suppress"),
        Policy.of("singletons", moves="suppress,round:5"),
        Policy.of("singletons", moves="drop"),
    ],
)
def test_other_policies_are_not_about_cells(people: st.Records, policy: Policy) -> None:
    assert read(people, ["a*b"], policy) is None


def test_levels_of_a_hierarchy_are_sets_of_leaves() -> None:
    place = st.Hierarchy.of("place", ["region", "town"], {"t1": "r", "t2": "r", "t3": "s", "t4": "s"})
    schema = st.Schema.of({"town": ["t1", "t2", "t3", "t4"], "sex": ["f", "m"]}, hierarchies=[place])
    rows = [
        {"region": "r" if t < "t3" else "s", "town": t, "sex": s} for t in ("t1", "t2", "t4") for s in "fmm"
    ]
    people = st.Records.of(rows, schema)
    found = read(people, ["town*sex", "region*sex", "region"], Policy.of("singletons", moves="suppress"))
    assert found is not None
    assert sorted(axis.sizes.max() for axis in found.problem.axes) == [2, 4]
    assert protect_cells(found.problem, effort=0.1).safe


@settings(
    max_examples=80 if SLOW else 12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(cases(), seeds())
def test_the_plan_is_safe_and_the_bound_holds_by_enumeration(case: Case, seed: int) -> None:
    policy = Policy.of(["singletons", "multiplicity<=2", "singletons,k>=2"][seed % 3], moves="suppress")
    menu = Menu(case.release, policy)
    assume(n_plans(menu) <= (300 if SLOW else 100))
    found = cells_of_release(case.release, policy, case.records, menu.moves)
    assume(found is not None)
    assert found is not None
    try:
        wanted = cheapest(case.release, policy, most=MOST_WORLDS)
        plan = protect_cells(found.problem, effort=0.1)
        after, _ = st.apply_moves(case.release, found.plan(plan.suppressed))
        worlds = all_worlds(after, most=MOST_WORLDS)
    except TooManyWorlds:
        assume(False)
    if wanted is None:
        assert not plan.safe
        return
    assert plan.lower_bound * found.unit <= wanted
    assert plan.safe
    assert forbidden(worlds, policy, case.schema) == set()
    assert plan.cost * found.unit >= wanted


def test_protect_takes_the_fast_road(people: st.Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MANY_CELLS", 0)
    release = tables_of(people, ["a*b*c", "a*b", "a*c", "b*c", "a", "b", "c"])
    found = st.protect(release, "multiplicity<=2", moves="suppress", truth=people, effort=0.1)
    assert found.safe
    assert found.lower_bound <= found.cost
    assert found.areas[0].left.clean
    assert found.rounds == 1
