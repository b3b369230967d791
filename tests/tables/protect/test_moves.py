"""What moves do: every one of them only loosens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import showthrough as st
from exhaustive_plans import random_plan, random_policy
from needs import examples
from showthrough.release import UNBOUNDED
from showthrough.tables.protect.menu import Menu
from showthrough.tables.protect.moves import Drop, Mark, Merge, Round, Suppress, apply_moves, rounded
from strategies import Case, cases, seeds

SCHEMA = st.Schema.of({"sex": ["f", "m"], "age": ["0", "1", "2", "3"]})


def values(release: st.Release) -> dict[str, str]:
    return {cell.name: cell.value() for cell in release.cells}


@settings(
    max_examples=examples(150), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(cases(), seeds())
def test_what_agreed_before_agrees_after(case: Case, seed: int) -> None:
    policy = random_policy(case, seed)
    plan = random_plan(np.random.default_rng([seed, 7]), Menu(case.release, policy))
    for blank in (False, True):
        after, members = apply_moves(case.release, plan, mark=policy.change.mark, blank=blank)
        assert len(members) == len(after.cells)
        counts = case.worlds.counts[:50]
        for at, cell in enumerate(after.cells):
            sums = counts[:, case.worlds.mask(cell.selection)].sum(axis=1)
            assert ((cell.low <= sums) & (sums <= cell.high)).all()
            parts = [counts[:, case.worlds.mask(case.release.cells[m].selection)] for m in members[at]]
            if cell.high < UNBOUNDED or cell.low:
                assert (sum(part.sum(axis=1) for part in parts) == sums).all()


def test_merging_sums_parts_of_a_group_and_keeps_whole_ones() -> None:
    table = st.make_table(SCHEMA, "age*sex", totals=True, name="t")
    release = st.Release.of(SCHEMA, {table: [1, 2, 3, 4, 5, 6, 7, 8, 3, 7, 11, 15, 16, 20, 36]})
    after, _ = apply_moves(release, [Merge("t", "age", (("0", "1"), ("2", "3")))])
    assert values(after) == {
        "age=0|1,sex=f": "4",
        "age=0|1,sex=m": "6",
        "age=2|3,sex=f": "12",
        "age=2|3,sex=m": "14",
        "age=0|1": "10",
        "age=2|3": "26",
        "sex=f": "16",
        "sex=m": "20",
        "total": "36",
    }


def test_cells_that_overlap_or_reach_into_another_group_are_gone() -> None:
    def cell(name: str, *ages: str) -> st.Cell:
        return st.Cell(name, st.Selection.of(age=list(ages)))

    table = st.Table("t", (cell("a", "0", "1"), cell("b", "1", "2"), cell("c", "2", "3"), cell("d", "3")))
    release = st.Release.of(SCHEMA, {table: [1, 2, 3, 4], st.make_table(SCHEMA, "sex"): [5, 6]})
    after, members = apply_moves(release, [Merge("t", "age", (("0", "1", "2"),))])
    assert values(after) == {"d": "4", "sex=f": "5", "sex=m": "6"}
    assert members == ((3,), (4,), (5,))


def test_marks() -> None:
    release = st.Release.of(SCHEMA, {st.make_table(SCHEMA, "age"): [0, 3, 4, 9]})
    names = ["age=1", "age=3"]
    after, _ = apply_moves(release, [Suppress("age", name) for name in names], mark=Mark(1, 4))
    assert values(after) == {"age=0": "0", "age=1": "1-4", "age=2": "4", "age=3": ">=5"}
    with pytest.raises(st.InputError, match="below the interval of the mark"):
        apply_moves(release, [Suppress("age", "age=0")], mark=Mark(1, 4))


@pytest.mark.parametrize("base", [2, 3, 5, 10])
def test_rounding_is_that_of_the_reader(base: int) -> None:
    from showthrough.notation import Rounding

    for count in range(40):
        shown = (count + base // 2) // base * base
        assert rounded(count, base) == Rounding(base).bounds(shown)


def test_a_table_is_treated_in_one_way() -> None:
    release = st.Release.of(SCHEMA, {st.make_table(SCHEMA, "age"): [0, 3, 4, 9]})
    with pytest.raises(st.InputError, match="exclude each other"):
        apply_moves(release, [Drop("age"), Suppress("age", "age=1")])
    with pytest.raises(st.InputError, match="exclude each other"):
        apply_moves(release, [Round("age", 3), Round("age", 5)])
    with pytest.raises(st.InputError, match="no such table"):
        apply_moves(release, [Drop("agee")])
    with pytest.raises(st.InputError, match="no such cell"):
        apply_moves(release, [Suppress("age", "age=7")])


def test_when_all_is_dropped_a_table_without_values_stays() -> None:
    release = st.Release.of(SCHEMA, {st.make_table(SCHEMA, "sex"): [1, 2]})
    after, _ = apply_moves(release, [Drop("sex")])
    assert values(after) == {"sex=f": "unknown", "sex=m": "unknown"}


def test_values_can_be_merged_to_the_levels_above() -> None:
    """Towns to districts and to regions; the cheapest level that hides what must be hidden is taken."""
    inside = {"t1": "d1", "t2": "d1", "t3": "d2", "t4": "d2", "d1": "r", "d2": "r"}
    place = st.Hierarchy.of("place", ["region", "district", "town"], inside)
    schema = st.Schema.of({"town": ["t1", "t2", "t3", "t4"]}, hierarchies=[place])
    release = st.Release.of(schema, {"town": [1, 5, 2, 4]})
    found = st.protect(release, "multiplicity<=2,k>=1", moves="merge")
    assert [str(step.move) for step in found.steps] == ["merge town in town (district)"]
    assert [(cell.name, cell.low) for cell in found.release.cells] == [("town=t1|t2", 6), ("town=t3|t4", 6)]
    coarse = st.protect(release, "multiplicity<=6", moves="merge")
    assert [str(step.move) for step in coarse.steps] == ["merge town in town (all)"]
    assert coarse.release.low.tolist() == [12]
