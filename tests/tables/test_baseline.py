"""Baseline probabilities against counting by hand."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import showthrough as st
from showthrough.tables.stored import code_claims
from showthrough.tables.surprise import (
    IndependentValues,
    ReferenceDistribution,
    baseline,
    joint_keys,
    log_binomial,
)

SCHEMA = st.Schema.of({"a": ["x", "y", "z"], "b": ["0", "1"], "c": ["p", "q", "r", "s"]})


def random_records(n: int, seed: int) -> st.Records:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, len(a.values), n) for a in SCHEMA.attributes])
    areas = rng.choice(["t1", "t2", "t3"], n).astype(object)
    return st.Records(SCHEMA, codes, areas)


def all_claims(areas: list[str]) -> pa.Table:
    """Claims over every column subset, with multiplicities that vary."""
    rows = []
    for area in areas:
        for size in (1, 2, 3):
            for names in combinations(SCHEMA.names, size):
                for number in range(5):
                    terms = {n: SCHEMA[n].values[number % len(SCHEMA[n].values)] for n in names}
                    selection = st.Selection.of(terms).to_json()
                    rows.append({"area": area, "selection": selection, "multiplicity": number})
    return pa.Table.from_pylist(rows)


def test_shares_and_probabilities_are_those_counted_one_by_one() -> None:
    records = random_records(300, 1)
    claims = all_claims(["t1-7", "t3-2"])
    reference = ReferenceDistribution.of(records, records.areas)
    sizes = {"t1-7": 6, "t3-2": 11}
    found = baseline(claims, reference, schema=SCHEMA, n_records=sizes, group=lambda area: area[:2])
    by_group = dict(records.by_area())
    for row, got in zip(claims.to_pylist(), found.to_pylist(), strict=True):
        group, n, m = by_group[row["area"][:2]], sizes[row["area"]], row["multiplicity"]
        p = group.count(st.Selection.from_json(row["selection"])) / len(group)
        expected = math.comb(n, m) * p**m * (1 - p) ** (n - m)
        assert got["share"] == pytest.approx(p)
        assert got["probability"] == pytest.approx(expected, abs=1e-15)
        if expected:
            assert got["log_probability"] == pytest.approx(math.log(expected))


def test_one_unnamed_group() -> None:
    records = random_records(100, 2)
    claims = all_claims(["here"])
    found = baseline(claims, ReferenceDistribution.of(records), schema=SCHEMA, n_records={"here": 5})
    first = st.Selection.from_json(claims["selection"][0].as_py())
    assert found["share"][0].as_py() == records.count(first) / 100


def test_probabilities_add_up_to_one() -> None:
    for p in (0.0, 1e-9, 0.3, 1.0):
        total = np.exp(log_binomial(np.arange(51), np.full(51, 50), np.full(51, p))).sum()
        assert total == pytest.approx(1)


def test_tiny_probabilities_survive_as_logarithms() -> None:
    log = log_binomial(np.array([400]), np.array([400]), np.array([1e-3]))
    assert log[0] == pytest.approx(400 * math.log(1e-3))
    assert np.exp(log_binomial(np.array([3]), np.array([2]), np.array([0.5])))[0] == 0


def test_unknown_number_of_records_leaves_no_probability() -> None:
    claims = all_claims(["here"]).slice(0, 2)
    found = baseline(
        claims, ReferenceDistribution.of(random_records(9, 3)), schema=SCHEMA, n_records={"here": None}
    )
    assert found["probability"].null_count == 2
    assert found["share"].null_count == 0


def test_independent_marginals() -> None:
    marginals = {"g": {"a": {"x": 2, "y": 1, "z": 1}, "b": {"1": 1.0}, "c": dict.fromkeys("pqrs", 0.25)}}
    claims = pa.table(
        {
            "area": ["k", "k", "k"],
            "selection": ['{"a": "x"}', '{"a": "y", "b": "1", "c": "q"}', '{"b": "0"}'],
            "multiplicity": [1, 1, 1],
        }
    )
    reference = IndependentValues(SCHEMA, marginals)
    found = baseline(claims, reference, schema=SCHEMA, n_records={"k": 2}, group=lambda _: "g")
    assert found["share"].to_pylist() == pytest.approx([0.5, 0.0625, 0])
    assert found["probability"].to_pylist() == pytest.approx([0.5, 2 * 0.0625 * 0.9375, 0])


@pytest.mark.parametrize(
    ("marginals", "problem"),
    [
        ({}, "no shares given for an attribute"),
        ({"": {"a": {"w": 1.0}}}, "unknown value"),
        ({"": {"a": {"x": -1.0}}}, "shares must be finite"),
        ({"": {"a": {"x": 0.0}}}, "shares must be finite"),
        ({"": {"a": {"x": math.nan}}}, "shares must be finite"),
    ],
)
def test_unusable_marginals(marginals: dict[str, dict[str, dict[str, float]]], problem: str) -> None:
    claims = pa.table({"area": ["k"], "selection": ['{"a": "x"}'], "multiplicity": [1]})
    with pytest.raises(st.InputError, match=problem):
        baseline(claims, IndependentValues(SCHEMA, marginals), schema=SCHEMA, n_records={"k": 1})


def test_a_group_without_reference_records() -> None:
    records = random_records(10, 4)
    claims = pa.table({"area": ["k"], "selection": ['{"a": "x"}'], "multiplicity": [1]})
    reference = ReferenceDistribution.of(records, records.areas)
    with pytest.raises(st.RecordsError, match=r"no records of this group.*'t9'"):
        baseline(claims, reference, schema=SCHEMA, n_records={"k": 1}, group=lambda _: "t9")
    with pytest.raises(st.RecordsError, match="one group per record"):
        ReferenceDistribution.of(records, ["t1"])


def test_claims_with_several_values_are_refused() -> None:
    with pytest.raises(st.SchemaError, match="several values"):
        code_claims(pa.array(['{"a": ["x", "y"]}']), SCHEMA)


def test_keys_of_many_columns_are_equal_only_for_equal_rows() -> None:
    """Twelve columns of a million values do not fit into 62 bits."""
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 10**6, (200, 12))
    again = rows[rng.permutation(200)].copy()
    again[:100, 11] += 1
    one, other = joint_keys(rows, again)
    same = (rows[:, None, :] == again[None, :, :]).all(axis=2)
    assert np.array_equal(one[:, None] == other[None, :], same)


def test_many_claims_at_once() -> None:
    claims = pa.concat_tables([all_claims(["t1", "t2", "t3"])] * 1_000)
    records = random_records(5_000, 6)
    reference = ReferenceDistribution.of(records, records.areas)
    sizes = dict.fromkeys(["t1", "t2", "t3"], 10)
    found = baseline(claims, reference, schema=SCHEMA, n_records=sizes, group=str)
    assert found.num_rows == claims.num_rows == 105_000
