"""The yardstick itself, against something plainer still."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import brute_force
from brute_force import all_worlds, count_range, has_world, legal_types, possible_counts
from showthrough.release import UNBOUNDED, Release, make_table
from showthrough.schema import Rule, Schema
from showthrough.selection import Selection
from strategies import as_rows, permuted, random_case, with_copy, with_totals, with_true_table


def every_vector(release: Release, cap: int) -> set[tuple[int, ...]]:
    """Counts per type up to a cap that agree with the release: no pruning at all."""
    types = legal_types(release.schema)
    inside = brute_force.membership(release, types)
    return {
        vector
        for vector in itertools.product(range(cap + 1), repeat=len(types))
        if all(
            cell.low <= int(member @ np.array(vector, np.int64)) <= cell.high
            for cell, member in zip(release.cells, inside, strict=True)
        )
    }


SMALL = Schema.of({"a": ["0", "1"], "b": ["0", "1"]})
RULED = Schema.of(
    {"a": ["0", "1", "2"], "b": ["0", "1"]},
    rules=[Rule(Selection.of(a="0"), Selection.of(b="1"), both_ways=True)],
)


def a_then_b(schema: Schema, a: list, b: list, *more: object) -> Release:
    tables = {make_table(schema, "a"): a, make_table(schema, "b"): b}
    if more:
        tables[make_table(schema, "total")] = list(more)
    return Release.of(schema, tables)


BOUNDED = [
    a_then_b(SMALL, [1, 1], [1, 1]),
    a_then_b(SMALL, [2, 1], [(1, 4), (0, 2)]),
    a_then_b(SMALL, [None, 1], [None, None], 3),
    a_then_b(SMALL, [(0, 2), (1, 3)], [None, (2, UNBOUNDED)]),
    a_then_b(RULED, [1, 1, (0, 2)], [None, (0, 3)], 4),
    a_then_b(RULED, [1, 1, 0], [1, 1], (0, 4)),
    a_then_b(SMALL, [1, 1], [1, 0]),
]


@pytest.mark.parametrize("release", BOUNDED, ids=range(len(BOUNDED)))
def test_all_worlds_of_bounded_releases(release: Release) -> None:
    worlds = all_worlds(release)
    listed = [tuple(row) for row in worlds.counts.tolist()]
    assert len(set(listed)) == len(listed)
    assert not worlds.free.any()
    assert set(listed) == every_vector(release, cap=5)
    assert has_world(release) == bool(listed)


UNBOUNDED_RELEASES = [
    a_then_b(SMALL, [1, None], [None, None]),
    a_then_b(SMALL, [None, (1, UNBOUNDED)], [(2, UNBOUNDED), None]),
    a_then_b(SMALL, [0, (1, UNBOUNDED)], [(1, 2), (1, UNBOUNDED)]),
    a_then_b(SMALL, [None, None], [None, (1, 1)]),
]


@pytest.mark.parametrize("release", UNBOUNDED_RELEASES, ids=range(len(UNBOUNDED_RELEASES)))
def test_a_few_free_records_show_every_count(release: Release) -> None:
    worlds = all_worlds(release)
    assert worlds.free.any()
    vectors = np.array(sorted(every_vector(release, cap=7)))
    assert {tuple(row) for row in worlds.counts.tolist()} <= {tuple(row) for row in vectors.tolist()}
    for selection in brute_force.selections(release.schema):
        counts = set(vectors[:, worlds.mask(selection)].sum(axis=1).tolist())
        least, most = count_range(worlds, selection)
        assert least == min(counts)
        assert possible_counts(worlds, selection, up_to=4) == {c for c in counts if c <= 4}
        assert (most is None) == (max(counts) >= 7)
        if most is not None:
            assert most == max(counts)


def test_known_answers() -> None:
    worlds = all_worlds(a_then_b(SMALL, [2, 0], [1, 1]))
    assert brute_force.is_unique(worlds)
    assert brute_force.verified_claims(worlds, SMALL) == {
        (Selection.of(a="0"), 2),
        (Selection.of(b="0"), 1),
        (Selection.of(b="1"), 1),
        (Selection.of(a="0", b="0"), 1),
        (Selection.of(a="0", b="1"), 1),
    }
    assert brute_force.absent_minimal(worlds, SMALL) == {Selection.of(a="1")}
    loose = all_worlds(a_then_b(SMALL, [1, 1], [1, 1]))
    assert len(loose) == 2
    assert all(len(s) == 1 for s, _ in brute_force.verified_claims(loose, SMALL))


def test_attributes_out_of_use() -> None:
    schema = Schema.of({"a": ["0", "1"], "unused": ["0", "1", "2"], "single": ["0"]})
    release = Release.of(schema, {make_table(schema, "a"): [2, 1]})
    worlds = all_worlds(release)
    assert len(worlds) == 6 * 3
    assert brute_force.attributes_in_use(release) == ("a", "single")
    assert brute_force.projected(worlds, ["a", "single"]).counts.tolist() == [[2, 1]]
    assert not brute_force.is_unique(worlds)
    assert brute_force.verified_claims(worlds, schema) == {
        (Selection.of(a="0"), 2),
        (Selection.of(a="1"), 1),
        (Selection.of(single="0"), 3),
        (Selection.of(a="0", single="0"), 2),
        (Selection.of(a="1", single="0"), 1),
    }


@pytest.mark.parametrize("seed", range(25))
def test_random_cases_agree_with_their_truth(seed: int) -> None:
    case = random_case(seed)
    types = list(case.worlds.types)
    truth = np.zeros(len(types), np.int64)
    for row in as_rows(case.records):
        truth[types.index(row)] += 1
    assert case.release.agrees_with(case.records)
    if not truth[case.worlds.free].any():
        assert (case.worlds.counts == truth).all(axis=1).any()
    claims = brute_force.verified_claims(case.worlds, case.schema)
    assert all(case.records.count(selection) == m for selection, m in claims)


@pytest.mark.parametrize("seed", range(15))
def test_changed_cases_have_the_effect_they_promise(seed: int) -> None:
    case = random_case(seed)
    claims = brute_force.verified_claims(case.worlds, case.schema)
    for changed in (permuted(case, seed), with_copy(case, seed), with_totals(case)):
        assert changed.release.agrees_with(changed.records)
        assert brute_force.verified_claims(changed.worlds, changed.schema) == claims
        assert len(changed.worlds) == len(case.worlds) or case.worlds.free.any()
    more = with_true_table(case, seed)
    assert more.release.agrees_with(more.records)
    assert claims <= brute_force.verified_claims(more.worlds, more.schema)


def test_random_cases_are_varied() -> None:
    cases = [random_case(seed) for seed in range(100, 250)]
    assert sum(bool(case.schema.rules) for case in cases) > 30
    assert sum(len(case.worlds) > 1 for case in cases) > 75
    assert sum(bool(case.worlds.free.any()) for case in cases) > 5
    assert sum(bool((case.release.low < case.release.high).any()) for case in cases) > 30
    assert sum(1 in [len(a.values) for a in case.schema.attributes] for case in cases) > 5
