"""The engine against exhaustion: on small releases it must be exactly right, and say why.

A few seconds' worth is tried here; ``SHOWTHROUGH_SLOW=1`` tries more, ``SHOWTHROUGH_CASES`` says how many
larger releases are compared, and ``scripts/bench soundness`` goes on for as long as one likes.
"""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest

import brute_force
import showthrough as st
from brute_force import attributes_in_use, projected
from comparison import compare, compare_seed, count_in, gaps, world_problems
from needs import SLOW
from showthrough.tables.proof import Checker
from strategies import equal_pairs, random_case, random_selection, with_true_table
from tiny_asked import Asked, Found, Totals
from tiny_cases import random_plan, random_tiny
from tiny_comparison import compare_plan, compare_tiny
from tiny_forms import EXACT, FORMS, NEARLY
from tiny_runs import compare_stored

CASES = int(os.environ.get("SHOWTHROUGH_CASES", "2000" if SLOW else "40"))
CHUNK = 100

#: Tiny layouts, 24 releases each, that together have every kind.
SEEDS = (4, 5, 13, 20, 21, 29, 57, 78)

#: Kinds of release and of question that the seeds below must reach, besides the forms of counts.
KINDS = (
    "a cell changed",
    "absences",
    "attribute in no table",
    "attribute of one value",
    "bounds",
    "cells one by one",
    "counts that jump",
    "datasets",
    "empty area",
    "everything on",
    "evidence read",
    "filter",
    "findings",
    "gaps",
    "groupings",
    "levels",
    "little effort",
    "max_columns",
    "min_columns",
    "multiplicity",
    "no dataset",
    "no upper end",
    "number of records unknown",
    "one dataset",
    "overlapping cells",
    "records all alike",
    "rules",
    "rules with iff",
    "several publishers",
    "totals",
    "truth at hand",
)


def in_chunks(first: int, count: int) -> list[range]:
    """Seeds in chunks, one test each, so that several processes can share them."""
    last = first + count
    return [range(at, min(at + CHUNK, last)) for at in range(first, last, CHUNK)]


@pytest.fixture(scope="module")
def totals() -> Totals:
    """What was compared and what was wrong, for seeds that together have every kind."""
    more = range(1000, 1100) if SLOW else ()
    return sum((compare_plan(seed) for seed in (*SEEDS, *more)), start=Totals())


def test_tiny_releases_of_every_kind(totals: Totals) -> None:
    assert totals.problems == []
    assert {*KINDS, *(form.kind for form in (EXACT, NEARLY, *FORMS))} <= {*totals.cases}


@pytest.mark.parametrize(
    "what", ["verified", "refuted", "absences", "gaps", "bounds", "learnt", "contradictions"]
)
def test_something_is_said_of_tiny_releases(totals: Totals, what: str) -> None:
    assert totals.said[what] > 3


def test_a_false_or_missing_claim_is_noticed() -> None:
    """The comparison itself: of a release with one cell changed, the answers are those of another."""
    plan = random_plan(4)
    noticed = Totals()
    for draw in range(6):
        case, other = random_tiny(plan, 4, draw), random_tiny(plan, 4, draw + 6)
        asked = Asked.of(case, np.random.default_rng(draw))
        found = Found()
        compare_tiny(dataclasses.replace(case, counts=other.counts, free=other.free), asked, found)
        noticed.add([], found, str(draw))
    assert noticed.false["all"] + noticed.missed["all"] >= 4


@pytest.mark.parametrize("seed", range(100 if SLOW else 4))
def test_what_is_written_is_what_verifying_accepts(seed: int) -> None:
    assert compare_stored(seed).rejected == []


@pytest.mark.slow
@pytest.mark.parametrize("seeds", in_chunks(0, CASES), ids=str)
def test_verdicts_are_those_of_brute_force(seeds: range) -> None:
    problems = [problem for seed in seeds for problem in compare_seed(seed).problems]
    assert problems == []


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gaps_where_counts_are_even(n: int) -> None:
    case = equal_pairs(n)
    assert gaps(case, st.Selection.of(paired="yes")) == set(range(1, 2 * n, 2))
    for seed in range(30 if SLOW else 3):
        more = with_true_table(case, seed) if seed else case
        assert compare(more, with_truth=seed % 2 == 0, name=f"seed {seed}").problems == []


@pytest.mark.slow
@pytest.mark.parametrize("seeds", in_chunks(20_000_000, 200 if SLOW else 20), ids=str)
def test_bounds_are_those_of_brute_force(seeds: range) -> None:
    for seed in seeds:
        case = random_case(seed)
        rng = np.random.default_rng(seed)
        checker = Checker(case.schema, case.release)
        for _ in range(3):
            selection = random_selection(rng, case.schema, 4)
            where = f"seed {seed}: {selection}"
            bounds = st.bounds(case.release, selection)
            expected = brute_force.count_range(case.worlds, selection)
            assert (bounds.low, bounds.high) == expected, where
            check_end(case, checker, bounds.low_world, bounds.low, selection)
            if bounds.low > 0:
                assert bounds.low_proof is not None, where
                assert bounds.low_proof.multiplicity == bounds.low, where
                assert bounds.low_proof.at_least is not None, where
                checker.check(bounds.low_proof)
            if bounds.high is not None:
                check_end(case, checker, bounds.high_world, bounds.high, selection)
                assert bounds.high_proof is not None, where
                assert bounds.high_proof.multiplicity == bounds.high, where
                assert bounds.high_proof.at_most is not None, where
                checker.check(bounds.high_proof)


def check_end(case, checker, world, count, selection) -> None:
    """A dataset that attains one end of a range."""
    assert world is not None
    checker.check_world(world.rows())
    assert world_problems(case.release, world.rows()) == []
    assert count_in(world.rows(), selection) == count


@pytest.mark.slow
@pytest.mark.parametrize("seeds", in_chunks(30_000_000, 200 if SLOW else 20), ids=str)
def test_worlds_are_distinct_and_as_many_as_there_are(seeds: range) -> None:
    for seed in seeds:
        case = random_case(seed)
        found = st.worlds(case.release, 12, seed=seed)
        distinct = {frozenset((frozenset(r.items()), n) for r, n in w.rows()) for w in found}
        assert len(distinct) == len(found), f"seed {seed}"
        for world in found:
            assert world_problems(case.release, world.rows()) == [], f"seed {seed}"
        if case.worlds.free.any():
            assert len(found) == 12, f"seed {seed}"
        else:
            all_worlds = projected(case.worlds, attributes_in_use(case.release))
            assert len(found) == min(12, len(all_worlds)), f"seed {seed}"
