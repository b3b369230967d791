"""What must hold for every release, whatever its size: Hypothesis looks for exceptions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import showthrough as st
from brute_force import has_world
from comparison import verified_claims
from needs import SLOW
from strategies import (
    Case,
    cases,
    permuted,
    random_selection,
    release_of,
    seeds,
    with_copy,
    with_totals,
    with_true_table,
    with_wrong_total,
)

# Deterministic: a failure seen once is seen again by everybody.
thorough = settings(
    max_examples=60 if SLOW else 20,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def claims(case: Case, *, with_truth: bool = False) -> set[tuple[st.Selection, int]]:
    return verified_claims(st.audit(case.release, truth=case.records if with_truth else None))


@thorough
@given(cases())
def test_the_truth_satisfies_every_verified_claim(case: Case) -> None:
    found = claims(case)
    assert all(case.records.count(selection) == m for selection, m in found)
    assert found == claims(case, with_truth=True)


@thorough
@given(cases(), seeds())
def test_the_truth_lies_within_all_bounds(case: Case, seed: int) -> None:
    selection = random_selection(np.random.default_rng(seed), case.schema, 3)
    bounds = st.bounds(case.release, selection)
    assert bounds.low <= case.records.count(selection)
    assert bounds.high is None or case.records.count(selection) <= bounds.high


@thorough
@given(cases(), seeds())
def test_one_more_true_table_never_hides_anything(case: Case, seed: int) -> None:
    assert claims(case) <= claims(with_true_table(case, seed))


@thorough
@given(cases(), seeds())
def test_the_order_of_everything_is_irrelevant(case: Case, seed: int) -> None:
    assert claims(permuted(case, seed)) == claims(case)


@thorough
@given(cases())
def test_redundant_totals_change_nothing(case: Case) -> None:
    assert claims(with_totals(case)) == claims(case)


@thorough
@given(cases(), seeds())
def test_a_table_published_twice_changes_nothing(case: Case, seed: int) -> None:
    assert claims(with_copy(case, seed)) == claims(case)


@thorough
@given(cases(), seeds())
def test_the_seed_is_irrelevant_to_what_is_verified(case: Case, seed: int) -> None:
    assert verified_claims(st.audit(case.release, seed=seed)) == claims(case)


@thorough
@given(cases(), seeds())
def test_a_contradiction_names_a_smallest_conflict(case: Case, seed: int) -> None:
    wrong = with_wrong_total(case, seed)
    assume(wrong is not None)
    assert not has_world(wrong)
    with pytest.raises(st.Contradiction) as caught:
        st.audit(wrong)
    named = set(caught.value.cells)
    cells = [cell for cell in wrong.cells if (cell.table, cell.name, cell.value()) in named]
    assert len(cells) == len(named) > 0
    assert not has_world(release_of(wrong.schema, cells))
    for left_out in cells:
        rest = [cell for cell in cells if cell is not left_out]
        assert not rest or has_world(release_of(wrong.schema, rest))
