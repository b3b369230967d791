"""Sums of few rows: all that prove a goal are found, and nothing else is; hulls; the outermost claims."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from numpy.typing import NDArray

import showthrough as st
from showthrough.release import UNBOUNDED, Layout, Release, make_table
from showthrough.tables import recheck
from showthrough.tables.audit import start_decider
from showthrough.tables.recheck import outermost
from showthrough.tables.search import sums as sums_module
from showthrough.tables.search.implied import Closures
from showthrough.tables.search.questions import VERIFIED
from showthrough.tables.search.sums import RowSums
from showthrough.tables.search.system import System
from strategies import random_case

Numbers = NDArray[np.int64]


def proving(system: System, goal: Numbers, target: int, size: int) -> set[tuple[tuple[int, int], ...]]:
    """All sums of so many rows, none of them undone, that prove a goal, as pairs of row and sign."""
    low, high = np.flatnonzero(system.low > 0).tolist(), np.flatnonzero(system.high < UNBOUNDED).tolist()
    signed = [(row, 1) for row in low] + [(row, -1) for row in high]
    found = set[tuple[tuple[int, int], ...]]()
    for chosen in combinations_with_replacement(signed, size):
        if any((row, -sign) in chosen for row, sign in chosen):
            continue
        total = sum(int(system.low[row] if sign > 0 else -system.high[row]) for row, sign in chosen)
        sums = sum((sign * system.rows[row].astype(np.int64) for row, sign in chosen), start=0 * goal)
        if total >= target and (sums <= goal).all():
            found.add(tuple(sorted(chosen)))
    return found


@pytest.mark.parametrize("seed", [88, 99, 136, 150, 261])
def test_all_sums_that_prove_a_goal_are_found(seed: int) -> None:
    """If the goal is exactly the target in the worlds given, nothing that proves it is missed."""
    case, rng = random_case(seed), np.random.default_rng(seed)
    decider = start_decider(case.release, truth=case.records, effort=1.0, seed=0)
    system, world = decider.system, decider.pool[0].mapped(decider.system.group)
    assert len(world)
    sums, price = RowSums(system, (world,)), np.ones(len(system.rows))
    masks = [(rng.random(system.n_classes) < 0.5).astype(np.int64) for _ in range(3)]
    masks += [system.rows[row].astype(np.int64) for row in rng.permutation(len(system.rows))[:3].tolist()]
    for mask, sign, size in product(masks, (1, -1), (1, 2, 3)):
        goal = sign * mask
        target = int(goal[world.types] @ world.times)
        proofs = sums.proving(goal, target, size, price)
        few, more, made = proofs.first(1), proofs.first(3), proofs.first()
        assert np.array_equal(few, made[:1])
        assert np.array_equal(more, made[:3])
        rows, signs = sums.rows[made], sums.signs[made]
        found = {
            tuple(sorted(zip(*line, strict=True))) for line in zip(rows.tolist(), signs.tolist(), strict=True)
        }
        assert found == proving(system, goal, target, size)
        assert sums.proving(goal, target + 1, size, price).first().size == 0


def tabulated(people: st.Records, *formulas: str) -> Release:
    """The tables of some people."""
    tables = tuple(make_table(people.schema, formula) for formula in formulas)
    return Layout(people.schema, tables).tabulate(people)


def test_four_rows_are_found_as_well() -> None:
    """A total less three parts of it."""
    schema = st.Schema.of({"age": ["1", "2", "3", "4"]})
    people = st.Records.of([{"age": age} for age in "1223334444"], schema)
    release = tabulated(people, "total", "age")
    decider = start_decider(release, truth=people, effort=1.0, seed=0)
    world = decider.pool[0].mapped(decider.system.group)
    rows = decider.system.row_of_cell
    goal = np.zeros(decider.system.n_classes, np.int64)
    goal[decider.system.group[decider.system.mask((("age", ("4",)),))]] = 1
    sums = RowSums(decider.system, (world,))
    made = sums.proving(goal, 4, 4, np.ones(len(decider.system.rows))).first()
    found = [sorted(zip(sums.rows[line].tolist(), sums.signs[line].tolist(), strict=True)) for line in made]
    assert sorted([(int(rows[0]), 1), *((int(rows[at]), -1) for at in (1, 2, 3))]) in found


@pytest.mark.parametrize("seed", range(12))
def test_the_outermost_claims_stand_for_all(seed: int) -> None:
    """Every claim has the values of one of the smallest, and one of the largest has its values."""
    case = random_case(seed)
    claims = st.audit(case.release, truth=case.records).claim_table
    verified = np.flatnonzero(claims.state == VERIFIED)
    for question in np.unique(claims.question[verified]).tolist():
        group = verified[claims.question[verified] == question]
        terms = {at: set(claims.selection(at).terms) for at in group.tolist()}
        few = outermost(claims, group).tolist()
        for mine in terms.values():
            assert any(terms[at] <= mine for at in few)
            assert any(terms[at] >= mine for at in few)


def test_claims_with_different_values_all_count() -> None:
    schema = st.Schema.of({"sex": ["f", "m"], "age": ["1", "2"]})
    people = st.Records.of([{"sex": s, "age": a} for s in "fm" for a in "12"], schema)
    claims = st.audit(tabulated(people, "sex*age"), truth=people).claim_table
    group = np.arange(len(claims.candidates))
    assert outermost(claims, group).tolist() == group.tolist()


@pytest.mark.parametrize("seed", range(30))
def test_a_hull_is_what_the_records_that_rules_allow_have(seed: int) -> None:
    schema, rng = random_case(seed).schema, np.random.default_rng(seed)
    closures = Closures(schema)
    sizes = [len(attribute.values) for attribute in schema.attributes]
    for _ in range(6):
        allowed = [int(rng.integers(1, 1 << size)) for size in sizes]
        every = [
            codes
            for codes in product(*map(range, sizes))
            if all(bits >> code & 1 for bits, code in zip(allowed, codes, strict=True))
            and not any(
                all(bits >> codes[at] & 1 for at, bits in box.items()) for box in schema.closure.boxes
            )
        ]
        wanted = tuple(sum(1 << code for code in {*column}) for column in zip(*every, strict=True)) or None
        assert closures.close(allowed) == wanted


def test_sets_of_columns_that_hold_no_other_or_are_in_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those tabulated are those that comparing every two of them gives."""
    rng = np.random.default_rng(0)
    for n_columns in (1, 3, 6):
        for _ in range(20):
            subsets = rng.permutation(1 << n_columns)[: rng.integers(1, 20)].astype(np.int64)
            compared = recheck.extreme(subsets, n_columns)
            with monkeypatch.context() as patched:
                patched.setattr(recheck, "FEW_SETS", 0)
                assert np.array_equal(recheck.extreme(subsets, n_columns), compared)


@pytest.mark.parametrize("seed", range(5))
def test_a_few_classes_looked_at_first_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether sums are tried on a few classes before all, and whether signed rows are kept."""
    case, rng = random_case(seed), np.random.default_rng(seed)
    decider = start_decider(case.release, truth=case.records, effort=1.0, seed=0)
    system, worlds = decider.system, (decider.pool[0].mapped(decider.system.group),)
    at_once = RowSums(system, worlds)
    made = rng.integers(0, len(at_once.rows), (100, 3))
    goals = [rng.integers(-1, 2, system.n_classes) for _ in range(5)] + [np.full(system.n_classes, 100)]
    expected = [at_once.holds(made, goal) for goal in goals]
    assert expected[-1].all()
    monkeypatch.setattr(sums_module, "_FEW_CLASSES", 1)
    monkeypatch.setattr(sums_module, "_MOST_SIGNED", 0)
    one_by_one = RowSums(system, worlds)
    assert all(
        np.array_equal(one_by_one.holds(made, goal), one) for goal, one in zip(goals, expected, strict=True)
    )


@pytest.mark.parametrize("seed", range(5))
def test_rows_within_a_goal_and_around_it(seed: int) -> None:
    """The bits of rows say the same as their numbers, class by class."""
    case, rng = random_case(seed), np.random.default_rng(seed)
    system = start_decider(case.release, truth=case.records, effort=1.0, seed=0).system
    some = [system.rows[row] > 0 for row in range(len(system.rows))]
    for goal in [rng.random(system.n_classes) < share for share in (0, 0.3, 0.7, 1)] + some:
        counted = goal.astype(np.int64)
        assert system.within(counted).tolist() == (system.rows <= counted).all(axis=1).tolist()
        assert system.covering(counted).tolist() == (system.rows >= counted).all(axis=1).tolist()
