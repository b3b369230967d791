"""The engine against exhaustion: on small releases it must be exactly right, and say why.

All cases are tried with ``SHOWTHROUGH_SLOW=1``, some otherwise; ``SHOWTHROUGH_CASES`` says how many the
main comparison tries.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import brute_force
import showthrough as st
from brute_force import attributes_in_use, projected
from comparison import compare, compare_seed, count_in, gaps, world_problems
from needs import SLOW
from showthrough.tables.proof import Checker
from strategies import Case, equal_pairs, random_case, random_selection, with_true_table

CASES = int(os.environ.get("SHOWTHROUGH_CASES", "2000" if SLOW else "500"))
CHUNK = 100


def in_chunks(first: int, count: int) -> list[range]:
    """Seeds in chunks, one test each, so that several processes can share them."""
    last = first + count
    return [range(at, min(at + CHUNK, last)) for at in range(first, last, CHUNK)]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", in_chunks(0, CASES), ids=str)
def test_verdicts_are_those_of_brute_force(seeds: range) -> None:
    problems = [problem for seed in seeds for problem in compare_seed(seed).problems]
    assert problems == []


@pytest.mark.slow
@pytest.mark.parametrize("seeds", in_chunks(10_000_000, 300 if SLOW else 100), ids=str)
def test_absence_and_gaps_are_those_of_brute_force(seeds: range) -> None:
    for seed in seeds:
        compare_absence_and_gaps(random_case(seed), seed)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gaps_where_counts_are_even(n: int) -> None:
    case = equal_pairs(n)
    assert gaps(case, st.Selection.of(paired="yes")) == set(range(1, 2 * n, 2))
    compare_absence_and_gaps(case, n)
    for seed in range(30):
        compare_absence_and_gaps(with_true_table(case, seed), seed)


def compare_absence_and_gaps(case: Case, seed: int) -> None:
    """Audit with everything on and compare all that is said."""
    assert compare(case, with_truth=seed % 2 == 0, name=f"seed {seed}").problems == []


@pytest.mark.slow
@pytest.mark.parametrize("seeds", in_chunks(20_000_000, 200 if SLOW else 100), ids=str)
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
@pytest.mark.parametrize("seeds", in_chunks(30_000_000, 200 if SLOW else 100), ids=str)
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
