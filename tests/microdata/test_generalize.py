"""Merging of public values against the statistic written out, and on ADULT."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs
from scipy import stats

from needs import examples
from showthrough.errors import InputError
from showthrough.microdata.generalize import generalize, merge_values
from showthrough.microdata.groups import Groups
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy


def told_apart(one: np.ndarray, other: np.ndarray, significance: float) -> bool:
    """Equation 4 of the paper, term by term, with one degree of freedom fewer than kept columns."""
    kept = one + other > 0
    if kept.sum() < 2:
        return False
    ratio = np.sqrt(other.sum() / one.sum())
    terms = (ratio * one[kept] - other[kept] / ratio) ** 2 / (one + other)[kept]
    return bool(terms.sum() > stats.chi2.isf(significance, kept.sum() - 1))


def merged_by_hand(table: np.ndarray, significance: float) -> list[int]:
    label = list(range(len(table)))
    for one, other in combinations(range(len(table)), 2):
        if table[one].any() and table[other].any() and not told_apart(table[one], table[other], significance):
            old, new = max(label[one], label[other]), min(label[one], label[other])
            label = [new if at == old else at for at in label]
    first = {at: number for number, at in enumerate(dict.fromkeys(label))}
    return [first[at] for at in label]


@given(hs.integers(1, 9), hs.integers(1, 6), hs.integers(0, 10**6), hs.sampled_from([0.01, 0.05, 0.5]))
@settings(max_examples=examples(200), deadline=None)
def test_values_are_merged_as_by_the_statistic_written_out(
    n_values: int, m: int, seed: int, significance: float
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(m, 0.7), n_values)
    table = np.array([rng.multinomial(rng.integers(0, 60), row) for row in weights])
    found = merge_values(table, significance=significance)
    assert found.tolist() == merged_by_hand(table, significance)


def test_what_is_connected_through_a_third_is_merged() -> None:
    table = [[60, 40], [50, 50], [40, 60]]
    assert told_apart(np.array(table[0]), np.array(table[2]), 0.05)
    assert merge_values(table).tolist() == [0, 0, 0]
    assert merge_values([table[0], table[2]]).tolist() == [0, 1]


def test_a_value_without_records_connects_nothing() -> None:
    assert merge_values([[90, 10], [0, 0], [10, 90]]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("significance", [0, 1, -0.1, 2])
def test_a_level_lies_between_0_and_1(significance: float) -> None:
    with pytest.raises(InputError, match="significance"):
        merge_values([[1, 2], [2, 1]], significance=significance)


def test_memory_is_bounded_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    table = rng.poisson(5 * rng.dirichlet(np.ones(7), 40) * 20)
    whole = merge_values(table)
    monkeypatch.setattr("showthrough.microdata.generalize._BLOCK", 11)
    assert merge_values(table).tolist() == whole.tolist()
    assert 1 < len(set(whole.tolist())) < 40


def example() -> Groups:
    public = {
        "age": [20, 20, 21, 21, 40, 40, None],
        "job": ["cook", "judge", "cook", "nurse", "judge", "nurse", "judge"],
    }
    counts = [[50, 50], [90, 10], [48, 52], [45, 55], [92, 8], [91, 9], [88, 12]]
    return Groups.of(public, {"ill": ["no", "yes"]}, counts)


def test_merged_groups_keep_every_record() -> None:
    groups = example()
    found = generalize(groups, merging="components")
    assert found.groups.totals.tolist() == groups.totals.tolist()
    assert found.sizes == {"age": (4, 3), "job": (3, 3)}
    age, job = found.columns
    assert age.mapping == {20: "20", 21: "21", 40: "40 | (missing)", None: "40 | (missing)"}
    assert not job.merged
    rows = found.groups.public.to_pylist()
    assert rows == sorted(rows, key=lambda row: (row["age"], row["job"]))
    expected: dict[tuple[str, str], np.ndarray] = {}
    for row, counts in zip(groups.public.to_pylist(), groups.counts.toarray(), strict=True):
        key = age.mapping[row["age"]], row["job"]
        expected[key] = expected.get(key, np.zeros(2, int)) + counts
    got = {(row["age"], row["job"]): c for row, c in zip(rows, found.groups.counts.toarray(), strict=True)}
    assert {key: counts.tolist() for key, counts in got.items()} == {
        key: counts.tolist() for key, counts in expected.items()
    }


def test_the_order_of_groups_changes_nothing() -> None:
    groups = example()
    order = np.random.default_rng(1).permutation(len(groups))
    turned = Groups(groups.public.take(order), groups.domain, groups.counts[order])
    one, other = generalize(groups).groups, generalize(turned).groups
    assert one.public.equals(other.public)
    assert one.counts.toarray().tolist() == other.counts.toarray().tolist()


def test_labels_are_short_and_different_whatever_the_values() -> None:
    names = ["a | b", "a", "b", *(f"{'x' * 80}{number}" for number in range(30))]
    counts = [[100, 0], *[[50, 50]] * 2, *[[0, 10]] * 30]
    groups = Groups.of({"v": names}, {"s": ["0", "1"]}, counts)
    column = generalize(groups).columns[0]
    assert column.n_labels == 3
    assert column.mapping["a"] == column.mapping["b"] != column.mapping["a | b"]
    assert max(len(label) for label in column.labels) <= 64
    assert "29 more" in column.mapping[names[-1]]


def test_numbers_next_to_each_other_become_a_range() -> None:
    ages = list(range(18, 30))
    counts = [[50, 50] if age not in (22, 23) else [95, 5] for age in ages]
    column = generalize(Groups.of({"age": ages}, {"s": ["0", "1"]}, counts)).columns[0]
    assert column.mapping[18] == "18–21 | 24–29"
    assert column.mapping[22] == "22–23"


def adult() -> Groups:
    folder = os.environ.get("SHOWTHROUGH_DATA")
    if not folder or not (Path(folder) / "adult.parquet").exists():
        pytest.skip("needs adult.parquet in the folder SHOWTHROUGH_DATA names")
    table = pq.read_table(Path(folder) / "adult.parquet").drop_null()
    names = ["education", "occupation", "race", "sex"]
    counted = table.group_by([*names, "income"]).aggregate([([], "count_all")]).to_pylist()
    keys = sorted({tuple(row[name] for name in names) for row in counted})
    incomes = sorted({row["income"] for row in counted})
    counts = np.zeros((len(keys), len(incomes)), np.int64)
    for row in counted:
        at = keys.index(tuple(row[name] for name in names)), incomes.index(row["income"])
        counts[at] = row["count_all"]
    public = {name: [key[at] for key in keys] for at, name in enumerate(names)}
    return Groups.of(public, {"income": incomes}, counts)


def test_adult_merges_to_the_domains_of_the_paper_and_violates_as_recomputed() -> None:
    groups = adult()
    assert groups.records == 45_222
    found = generalize(groups, merging="components")
    assert list(found.sizes.values()) == [(16, 7), (14, 4), (5, 2), (2, 2)]
    assert len(found.groups) == 89
    check = ReconstructionPrivacy(0.3, 0.3).check(found.groups, retention=0.5)
    assert round(check.group_rate("chernoff"), 3) == 0.494
    assert round(check.record_rate("chernoff"), 3) == 0.978
    assert check.group_rate("exact") > 0.9


def test_a_column_of_any_type_is_merged() -> None:
    for values in ([True, False], [1.5, 2.5], [b"x", b"y"]):
        groups = Groups.of({"v": values}, {"s": ["0", "1"]}, [[5, 5], [5, 5]])
        assert generalize(groups).sizes == {"v": (2, 1)}
    empty = Groups(
        pa.table({"v": pa.array([], pa.string())}), pa.table({"s": ["0", "1"]}), example().counts[:0]
    )
    assert generalize(empty).sizes == {"v": (0, 0)}
