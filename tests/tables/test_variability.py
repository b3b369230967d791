"""How different two datasets can be, held against all pairs of datasets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brute_force import Worlds
from needs import SLOW
from showthrough.errors import ProofError
from showthrough.release import Release
from showthrough.schema import Schema
from showthrough.tables.proof import Checker, Leaf
from showthrough.tables.proof.differ import Difference
from showthrough.tables.variability import variability
from strategies import random_case

SEEDS = range(1000 if SLOW else 90)


def largest_difference(worlds: Worlds) -> int | None:
    """By all pairs; None where datasets have different numbers of records."""
    sizes = worlds.counts.sum(axis=1)
    if len(np.unique(sizes)) > 1 or worlds.free.any():
        return None
    common = [int(np.minimum(one, worlds.counts).sum(axis=1).min()) for one in worlds.counts]
    return int(sizes[0]) - min(common)


@pytest.mark.parametrize("first", range(0, len(SEEDS), 30))
def test_the_largest_difference_lies_between_the_ends(first: int) -> None:
    n_tight = n_all = 0
    for seed in SEEDS[first : first + 30]:
        case = random_case(seed)
        if len(case.worlds) > 300:
            continue
        found, expected = variability(case.release), largest_difference(case.worlds)
        assert (found is None) == (expected is None)
        if found is None or expected is None:
            continue
        assert found.low <= expected <= found.high
        assert found.high or len(case.worlds) == 1
        one, other = ({tuple(r.items()): n for r, n in world.rows()} for world in found.worlds)
        common = sum(min(n, other.get(record, 0)) for record, n in one.items())
        assert found.records - common == found.low
        n_all += 1
        n_tight += found.low == found.high
    assert n_tight >= 0.8 * n_all


def test_the_checker_accepts_no_smaller_difference() -> None:
    schema = Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    release = Release.of(schema, {"sex": [1, 5], "ill": [5, 1]})
    found = variability(release)
    assert found is not None
    assert (found.low, found.high, found.records) == (2, 2, 6)
    checker, proof = Checker(schema, release), found.proof
    assert proof.leaf is not None
    proof.check(checker)
    assert Difference.from_json(proof.to_json()) == proof
    with pytest.raises(ProofError, match="at most 2 differ, not 1"):
        replace(proof, most=1).check(checker)
    with pytest.raises(ProofError, match="at most 4 differ, not 1"):
        replace(proof, most=1, leaf=None).check(checker, settled=2)
    replace(proof, leaf=None).check(checker, settled=4)
    with pytest.raises(ProofError, match="exceed"):
        replace(proof, most=1, leaf=Leaf(((1, 9),), (), 1, 45)).check(checker)
    with pytest.raises(ProofError, match="not proved"):
        replace(proof, total=replace(proof.total, at_most=None)).check(checker)
    with pytest.raises(ProofError, match="leaves out"):
        replace(proof, most=1, over=("sex",)).check(checker)


def test_an_attribute_in_no_table_can_differ_everywhere() -> None:
    schema = Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    found = variability(Release.of(schema, {"sex": [1, 2]}))
    assert found is not None
    assert (found.low, found.high) == (3, 3)
