"""Rules about cells: what an attacker's true interval is, by enumeration of all datasets."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import showthrough as st
from brute_force import TooManyWorlds, Worlds, all_worlds, count_range
from exhaustive_plans import MOST_WORLDS, n_plans, plans
from needs import SLOW
from showthrough.tables.protect import plan_search
from showthrough.tables.protect.cell_rules import (
    CellOrder,
    CellRule,
    Distance,
    parse_cell_rule,
    parse_distance,
)
from showthrough.tables.protect.cells.certificate import CellCertificate
from showthrough.tables.protect.cells.evidence import CellEvidence
from showthrough.tables.protect.cells.of_release import cells_of_release
from showthrough.tables.protect.intervals import intervals_of
from showthrough.tables.protect.limits import Improvement
from showthrough.tables.protect.menu import Menu
from showthrough.tables.protect.moves import Mark, Suppress
from showthrough.tables.protect.needs import needs_of
from showthrough.tables.protect.policy import Policy
from showthrough.tables.protect.protect import protect, protect_alike
from showthrough.tables.run.batch import Area
from strategies import Case, cases, seeds

tiny = settings(
    max_examples=150 if SLOW else 10,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

RULES = (
    "count<=2",
    "count<=1,zeros",
    "count<=3,width>=3",
    "count<=3,below>=1",
    "count<=4,above>=2",
    "count<=4,below>=50%,above>=50%",
    "zeros,above>=1",
    "suppressed",
)


def wanted(rule: CellRule, count: int, *, shown: bool) -> tuple[int, int, int] | None:
    """How far down, up and from end to end a count must stay unknown, by the plain meaning of a rule."""
    if rule.suppressed and shown:
        return None
    if count == 0 and not (rule.zeros or rule.suppressed):
        return None
    if rule.most is not None and count > rule.most:
        return None
    down, up, wide = (
        ceil(end.amount * count / 100) if end.percent else int(end.amount)
        for end in (rule.below, rule.above, rule.width)
    )
    return min(count, down), up, max(1, wide)


def known_too_well(worlds: Worlds, policy: Policy, planned: st.Release, truth: st.Records) -> set[str]:
    """The planned cells whose true interval is narrower than a rule or an order allows."""
    found, counts = set[str](), [truth.count(cell.selection) for cell in planned.cells]
    waived = {
        planned.schema.check_selection(cell.selection)
        for cell in planned.cells
        for order in policy.orders
        if order.order == "waive" and (order.table, order.cell) == (cell.table, cell.name)
    }
    for cell, count in zip(planned.cells, counts, strict=True):
        asked = [wanted(rule, count, shown=cell.low == cell.high) for rule in policy.cells]
        asked += [
            (0, 0, 1)
            for order in policy.orders
            if order.order == "hide" and (order.table, order.cell) == (cell.table, cell.name)
        ]
        low, high = count_range(worlds, cell.selection)
        for ends in asked:
            if ends is None or planned.schema.check_selection(cell.selection) in waived:
                continue
            down, up, wide = ends
            above = np.inf if high is None else high
            if low > count - down or above < count + up or above - low < wide:
                found.add(f"{cell.name} of {cell.table}")
    return found


def cheapest(planned: st.Release, policy: Policy, truth: st.Records) -> Fraction | None:
    """What the cheapest safe plan costs; None if no plan is safe."""
    for cost, plan in plans(Menu(planned, policy)):
        after, _ = st.apply_moves(planned, plan, mark=policy.change.mark)
        if not known_too_well(all_worlds(after, most=MOST_WORLDS), policy, planned, truth):
            return cost
    return None


def some_policy(case: Case, seed: int) -> Policy:
    """Rules, orders and costs at random."""
    rng = np.random.default_rng([seed, 17])
    names = case.release.layout.names
    orders = list[CellOrder]()
    for at in rng.permutation(len(names))[: int(rng.integers(0, 4))].tolist():
        order = (("hide", "keep", "waive", "") * 2)[int(rng.integers(8))]
        cost = Fraction(int(rng.integers(0, 5))) if rng.random() < 0.5 or not order else None
        orders.append(CellOrder(*names[at], order=order, cost=cost, reason="out already"))
    change = st.Change(keep_zeros=bool(rng.random() < 0.3))
    return Policy.of(
        RULES[int(rng.integers(len(RULES)))],
        moves=("suppress", "suppress,drop", "suppress,round:3", "merge,drop")[int(rng.integers(4))],
        change=change,
        cost=st.Cost(totals=Fraction(2), records=Fraction(int(rng.integers(0, 2)))),
        orders=orders,
    )


@tiny
@given(cases(), seeds())
def test_the_cheapest_plan_under_which_no_cell_is_known_too_well(case: Case, seed: int) -> None:
    policy = some_policy(case, seed)
    assume(n_plans(Menu(case.release, policy)) <= (300 if SLOW else 60))
    try:
        best = cheapest(case.release, policy, case.records)
        found = protect(case.release, policy, truth=case.records)
        worlds = all_worlds(found.release, most=MOST_WORLDS)
    except TooManyWorlds:
        assume(False)
    if best is None:
        assert found.status == "impossible"
        assert found.remains
        return
    assert found.status == "safe"
    assert found.cost == found.lower_bound == best
    (area,) = found.areas
    assert known_too_well(worlds, policy, case.release, case.records) == set()
    for row in intervals_of(area, effort=1.0, seed=0).to_pylist():
        (cell,) = (c for c in area.release.cells if (c.table, c.name) == (row["table"], row["cell"]))
        low, high = count_range(worlds, cell.selection)
        assert row["low"] == low if row["low_attained"] else row["low"] <= low
        assert row["high"] == high if row["high_attained"] else row["high"] >= (high or row["high"])
    for selection, _ in area.hidden():
        pair = area.disagreement(selection)
        assert len({world.count(selection) for world in pair}) == 2
        assert all(area.release.agrees_with(world.records()) for world in pair)


@settings(tiny, max_examples=200 if SLOW else 12)
@given(cases(), seeds())
def test_many_cells_get_a_plan_from_the_relaxation(case: Case, seed: int) -> None:
    """Where plans cannot be made in table space, with a mark for instance: safe, never below the bound."""
    change = st.Change(mark=Mark(0, 4)) if seed % 2 else st.Change()
    policy = Policy.of(RULES[seed % len(RULES)], moves="suppress", change=change)
    assume(n_plans(Menu(case.release, policy)) <= (200 if SLOW else 60))
    try:
        best = cheapest(case.release, policy, case.records)
        with (
            mock.patch.object(plan_search, "_MANY_CELLS", 0),
            mock.patch.object(plan_search, "cells_of_release", return_value=None),
        ):
            found = protect(case.release, policy, truth=case.records)
        worlds = all_worlds(found.release, most=MOST_WORLDS)
    except TooManyWorlds:
        assume(False)
    assert found.safe == (best is not None)
    if best is not None:
        assert found.lower_bound <= best <= found.cost
        assert known_too_well(worlds, policy, case.release, case.records) == set()


@settings(tiny, max_examples=60 if SLOW else 8)
@given(cases(), seeds())
def test_one_pattern_for_two_periods(case: Case, seed: int) -> None:
    """The same tables about other records: the plan is safe in both, and none is below the bound."""
    layout, rng = case.release.layout, np.random.default_rng(seed)
    kept = case.records.codes[rng.random(len(case.records)) < 0.7]
    people = [case.records, st.Records(case.schema, kept)]
    areas = [Area(layout.tabulate(one, area=name), one) for one, name in zip(people, "ab", strict=True)]
    policy = Policy.of(RULES[seed % 6], moves="suppress")
    assume(n_plans(Menu(areas[0].release, policy)) <= (100 if SLOW else 50))
    try:
        found = protect_alike(areas, policy)
        for area, truth in zip(areas, people, strict=True):
            after, _ = st.apply_moves(area.release, found.plan)
            worlds = all_worlds(after, most=MOST_WORLDS)
            assert not found.safe or not known_too_well(worlds, policy, area.release, truth)
            best = cheapest(area.release, policy, truth)
            assert best is None or 2 * best <= found.cost or not found.safe
            assert best is not None or not found.safe
    except TooManyWorlds:
        assume(False)


def released() -> st.Release:
    schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    return st.Release.of(schema, {"sex*ill": [7, 1, 5, 2], "sex": [8, 7], "ill": [12, 3], "total": [15]})


def test_what_cannot_be_hidden_is_named() -> None:
    """The cell itself must stay; and where all others must, it follows from them."""
    kept = CellOrder("sex*ill", "ill=yes,sex=f", "keep")
    found = protect(released(), Policy.of("count<=1", moves="suppress", orders=[kept]))
    assert found.status == "impossible"
    assert found.remains == ("The number of records with ill=yes,sex=f is 1.",)
    others = [
        CellOrder(table, cell, "keep") for table, cell in released().layout.names if "yes,sex=f" not in cell
    ]
    found = protect(released(), Policy.of("count<=1", moves="suppress", orders=others))
    assert found.status == "impossible"
    assert found.remains == ("The number of records with ill=yes,sex=f is 1.",)


def test_a_waiver_lifts_the_rule_for_its_cell_alone() -> None:
    waiver = CellOrder("sex*ill", "ill=yes,sex=f", "waive", reason="published last year")
    for rule in ("count<=1", "singletons"):
        found = protect(released(), Policy.of(rule, moves="suppress", orders=[waiver]))
        assert (found.status, found.cost) == ("safe", 0)
    found = protect(released(), Policy.of("count<=2", moves="suppress", orders=[waiver]))
    assert found.status == "safe"
    assert Suppress("sex*ill", "ill=yes,sex=m") in found.plan
    assert Suppress("sex*ill", "ill=yes,sex=f") not in found.plan


def test_a_cell_that_may_not_be_published_is_not_and_counts() -> None:
    order = CellOrder("sex", "sex=f", "withhold", cost=Fraction(4), reason="unreliable")
    found = protect(released(), Policy.of("zeros", moves="suppress", orders=[order]))
    assert (found.status, found.cost, found.lower_bound) == ("safe", 4, 4)
    assert [(step.move, step.reasons) for step in found.steps] == [
        (Suppress("sex", "sex=f"), ("unreliable",))
    ]
    assert found.release.low[4] == 0


def test_orders_for_one_area_leave_the_others_alone() -> None:
    order = CellOrder("sex", "sex=f", area="North")
    policy = Policy.of("zeros", moves="suppress", orders=[order])
    made = released()
    north, south = (st.Release(made.layout, made.low, made.high, area) for area in ("North", "South"))
    assert protect(north, policy).steps
    assert not protect(south, policy).steps


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("count<=2,singletons", "cannot have this condition"),
        ("count<=2,count<=3", "given twice"),
        ("count>=2", "cannot have this condition"),
        ("count<=2%", "cannot have this condition"),
        ("width>=1.5", "cannot have this condition"),
        ("count<0", "must be 0 or more"),
    ],
)
def test_what_is_no_rule(text: str, problem: str) -> None:
    with pytest.raises(st.InputError, match=problem):
        parse_cell_rule(text)


def test_what_is_no_order_and_no_distance() -> None:
    with pytest.raises(st.InputError, match="a waiver has no reason"):
        CellOrder("sex", "sex=f", "waive")
    with pytest.raises(st.InputError, match="whole number or a percentage"):
        parse_distance("1.5")
    with pytest.raises(st.InputError, match="whole number or a percentage"):
        Distance(Fraction(-1))
    clash = [CellOrder("sex", "sex=f", "hide"), CellOrder("sex", "sex=f", "keep")]
    with pytest.raises(st.InputError, match="two different orders"):
        protect(released(), Policy.of("zeros", orders=clash))
    with pytest.raises(st.InputError, match="unknown cell"):
        protect(released(), Policy.of("zeros", orders=[CellOrder("sex", "sex=x")]))
    with pytest.raises(st.InputError, match="unknown table"):
        protect(released(), Policy.of("count<=2,table=seks"))


@pytest.fixture(scope="module")
def people() -> st.Records:
    """Some 200 records in a table of 5 × 4 × 4 cells."""
    rng = np.random.default_rng(2)
    schema = st.Schema.of({"a": list("01234"), "b": list("0123"), "c": list("0123")})
    columns = [rng.choice(n, 200, p=rng.dirichlet(np.full(n, 1.5))) for n in (5, 4, 4)]
    return st.Records(schema, np.stack(columns, axis=1).astype(np.uint8))


@pytest.fixture(scope="module")
def tables(people: st.Records) -> st.Release:
    return st.tabulate(people, ["a*b*c", "a*b", "a*c", "b*c", "a", "b", "c", "total"], pool=True)


def test_a_large_table_is_protected_by_datasets_that_its_own_tables_count(
    people: st.Records, tables: st.Release
) -> None:
    seen = list[Improvement]()
    policy = Policy.of("count<=2,width>=2", moves="suppress", change=st.Change(keep_zeros=True))
    found = protect(tables, policy, truth=people, effort=0.1, watch=seen.append)
    (area,) = found.areas
    assert found.safe
    assert area.before is None
    zeros = {Suppress(cell.table, cell.name) for cell in tables.cells if cell.low == 0}
    assert not zeros & found.plan
    assert len(area.counts) == len({c.selection for c in tables.cells if 1 <= c.low <= 2})
    for one in area.counts:
        low, high = sorted(world.count(one.need.where) for world in one.worlds)
        assert high - low >= 2
    for world in {id(world): world for one in area.counts for world in one.worlds}.values():
        assert area.release.agrees_with(world.records())
    assert seen[-1].cost == found.cost
    assert found.gap == (found.cost - found.lower_bound) / found.lower_bound
    rows = intervals_of(area, effort=1.0, seed=0).to_pylist()
    assert {(row["table"], row["cell"]) for row in rows} == {
        (step.move.table, step.move.cell) for step in found.steps if isinstance(step.move, Suppress)
    }
    assert all(row["low"] <= row["count"] <= row["high"] for row in rows)
    assert all(row["high"] - row["low"] >= 2 for row in rows if row["protected"])


def test_a_certificate_that_does_not_hold_shows_nothing(people: st.Records, tables: st.Release) -> None:
    """Records that are not there are not taken out, and published counts must not change."""
    policy = Policy.of("count<=1", moves="suppress")
    menu = Menu(tables, policy)
    needs = needs_of(policy, tables, people, known=True)
    cells = cells_of_release(tables, policy, people, menu.moves, needs)
    assert cells is not None
    atoms, counts = cells.problem.atoms.tolist(), cells.problem.counts
    empty, full = (next(at for at in atoms if bool(counts[at] > 0) is some) for some in (False, True))
    for lie in (
        CellCertificate((empty,), (-1,)),
        CellCertificate((full,), (-1,)),
        CellCertificate((full, empty), (-1, 1)),
    ):
        assert CellEvidence(cells, [lie], people, tables).variants == ()
    free = st.Release(tables.layout, np.zeros_like(tables.low), np.full_like(tables.high, 2**62))
    (held,) = CellEvidence(cells, [CellCertificate((full, empty), (-1, 1))], people, free).variants
    assert len(held.world) == len(people)
    wrong = st.Records(people.schema, people.codes[1:])
    assert CellEvidence(cells, [], wrong, tables).shown(needs) == {}


def test_a_large_table_with_cells_that_cannot_be_hidden(people: st.Records, tables: st.Release) -> None:
    """A line of a table with its total, or the whole table, so that few cells can be suppressed at all."""
    one = next(cell for cell in tables.cells if cell.table == "a*b*c" and cell.low == 1)
    line = {name: one.selection[name] for name in ("a", "b")}
    for table, total in (("a*b", line), ("total", {})):
        others = [cell for cell in tables.cells if cell.table == "a*b*c" and cell != one]
        kept = [cell for cell in others if all(cell.selection[name] == line[name] for name in total)]
        kept += [
            cell for cell in tables.cells if cell.table == table and cell.selection == st.Selection.of(total)
        ]
        orders = [CellOrder(cell.table, cell.name, "keep") for cell in kept]
        hide = CellOrder(one.table, one.name, "hide")
        found = protect(tables, Policy(orders=(*orders, hide)), truth=people)
        assert found.status == "impossible"
        assert found.remains == (f"The number of records with {one.selection} is 1.",)


def test_records_that_are_not_those_of_the_tables_are_refused(people: st.Records, tables: st.Release) -> None:
    wrong = st.Records(people.schema, people.codes[1:])
    with pytest.raises(st.InputError, match="do not have the published counts"):
        protect(tables, "count<=1", truth=wrong)


def test_one_pattern_for_periods_of_a_large_table(people: st.Records, tables: st.Release) -> None:
    rng = np.random.default_rng(8)
    periods = [st.Records(people.schema, people.codes[rng.random(len(people)) < 0.8]) for _ in range(3)]
    areas = [Area(tables.layout.tabulate(one, area=str(at)), one) for at, one in enumerate(periods)]
    found = protect_alike(areas, Policy.of("count<=1", moves="suppress"), effort=0.1)
    assert found.safe
    assert found.lower_bound <= found.cost
    for area in found.areas:
        assert area.counts
        for world in {id(world): world for one in area.counts for world in one.worlds}.values():
            assert area.release.agrees_with(world.records())


def test_searches_stop_when_they_are_told(people: st.Records, tables: st.Release) -> None:
    hasty = protect(tables, "count<=1", moves="suppress", truth=people, seconds=0)
    near = protect(tables, "count<=1", moves="suppress", truth=people, gap=10.0)
    for found in (hasty, near):
        assert found.safe
        assert found.lower_bound <= found.cost
    assert len(near.improvements) == 1

    def interrupt(_: Improvement) -> None:
        raise KeyboardInterrupt

    kept = protect(tables, "count<=1", moves="suppress", truth=people, watch=interrupt)
    assert kept.safe
    assert kept.interrupted
    assert kept.areas[0].counts


def test_the_proofs_of_intervals_are_held_against_what_is_called_safe() -> None:
    """A release that gives a protected cell away: the proof is found, and nothing is written."""
    found = protect(released(), Policy.of("count<=1", moves="suppress"))
    (area,) = found.areas
    low, high = released().low.copy(), released().high.copy()
    low[1], high[1] = 0, 2**62
    with pytest.raises(AssertionError, match="called protected"):
        intervals_of(replace(area, release=st.Release(released().layout, low, high)), effort=1.0, seed=0)


def test_new_tables_do_not_narrow_what_earlier_ones_left_open() -> None:
    """The totals bound the cell to 0 to 3 already: narrower than the rule wants, and not to be narrowed."""
    schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    planned = st.Release.of(schema, {"sex": [8, 7], "ill": [12, 3], "sex*ill": [7, 1, 5, 2]})
    change = st.Change(kinds=("suppress",), earlier=("sex", "ill"))
    for rule in ("count<=1,width>=5", "count<=1"):
        found = protect(planned, Policy.of(rule, change=change))
        assert found.safe
        low, high = count_range(all_worlds(found.release), st.Selection.of("sex=f,ill=yes"))
        assert high is not None
        assert high - low >= (3 if "width" in rule else 1)
    assert found.areas[0].judge.settled.n_forbidden == 0


def test_moves_found_in_table_space_say_what_they_are_for() -> None:
    found = protect(released(), Policy.of("count<=1", moves="suppress"))
    own = [step.move for step in found.steps if step.reasons == ("Its count, which must stay unknown.",)]
    assert own == [Suppress("sex*ill", "ill=yes,sex=f")]
    others = {step.reasons for step in found.steps if step.move not in own}
    assert others == {("Perhaps counts that must stay unknown.",)}
