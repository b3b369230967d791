"""Numbers in bins: the same from anything, exact at the ends, for every method."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import showthrough as st
from crowd import METHODS, SEED
from needs import examples
from showthrough.engine.duck import DuckBackend
from showthrough.errors import InputError, RecordsError
from showthrough.frames import Source
from showthrough.frames.bins import Bins
from showthrough.microdata.bins import BinRule, find_bins, read_bin_rule, read_bin_rules
from showthrough.microdata.columns import Columns


def workers(n_rows: int = 1500, *, seed: int = 3) -> pa.Table:
    """People with an age (a tenth of them missing), an income and an illness."""
    chance = np.random.default_rng(seed)
    age = chance.integers(0, 100, n_rows)
    return pa.table(
        {
            "age": pa.array(age, mask=chance.random(n_rows) < 0.1),
            "income": pa.array(np.rint(chance.lognormal(10, 0.8, n_rows))),
            "ill": pa.array(np.array(["cold", "flu", "gout", "none"])[chance.integers(0, 4, n_rows)]),
        }
    )


def found(numbers: Any, rule: BinRule, tmp_path: Path, *, sensitive: Sequence[str] = ()) -> Bins:
    source = Source.of(pa.table({"x": numbers}))
    return find_bins(source, {"x": rule}, sensitive=sensitive, scratch=tmp_path).bins["x"]


def slowly(number: float | None, ends: Sequence[float]) -> int | None:
    """In which bin a number is, one end after the other."""
    if number is None:
        return None
    return sum(1 for end in ends if number >= end)


class TestBins:
    @settings(max_examples=examples(60), deadline=None)
    @given(
        numbers=some.lists(some.none() | some.integers(-(2**60), 2**60), min_size=1, max_size=20),
        ends=some.sets(some.integers(-(2**60), 2**60), min_size=1, max_size=6),
    )
    def test_whole_numbers_are_compared_exactly(self, numbers: list[int | None], ends: set[int]) -> None:
        bins = Bins.of(ends, whole=True)
        shown = bins.recode(pa.chunked_array([pa.array(numbers, pa.int64())])).to_pylist()
        where = [slowly(number, [int(end) for end in bins.ends]) for number in numbers]
        assert shown == [None if at is None else bins.labels[at] for at in where]

    def test_names(self) -> None:
        assert Bins.of([0, 18, 30, 31, 65], whole=True).labels == (
            "under 0", "0–17", "18–29", "30", "31–64", "65 and over",
        )  # fmt: skip
        assert Bins.of([-10, 0, 10], whole=True).labels == ("under -10", "-10 to -1", "0–9", "10 and over")
        assert Bins.of([0.25, 1], whole=False).labels == ("under 0.25", "0.25 to under 1", "1 and over")
        # Between whole numbers, 0.5 and 1 are the same end.
        assert Bins.of([0.5, 1, 1.5], whole=True).labels == ("under 1", "1", "2 and over")

    def test_no_two_bins_have_one_name(self) -> None:
        chance = np.random.default_rng(5)
        for whole in (True, False):
            for _ in range(50):
                bins = Bins.of(chance.normal(0, 30, chance.integers(1, 12)).round(1), whole=whole)
                assert len(set(bins.labels)) == len(bins.labels) == len(bins.ends) + 1


class TestRules:
    def test_a_width(self, tmp_path: Path) -> None:
        bins = found([3, 17, 20, None, 39], BinRule(width=10), tmp_path)
        assert bins.ends == (0, 10, 20, 30, 40)
        assert found([-3], BinRule(width=10), tmp_path).ends == (-10, 0)
        # 3 · 0.1 is not 0.3 in floating-point numbers; the value 0.3 begins a bin all the same.
        tenths = found([0.3, 0.05], BinRule(width=0.1), tmp_path)
        assert tenths.ends == (0, 0.1, 0.2, 0.3, 0.4)
        assert tenths.recode(pa.chunked_array([[0.3]])).to_pylist() == ["0.3 to under 0.4"]

    @settings(max_examples=examples(40), deadline=None)
    @given(numbers=some.lists(some.integers(0, 12), min_size=2, max_size=40), number=some.integers(2, 6))
    def test_quantiles_end_where_most_nearly_enough_are_below(
        self, numbers: list[int], number: int, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        folder = tmp_path_factory.getbasetemp()
        different = sorted(set(numbers))
        if len(different) == 1:
            with pytest.raises(InputError, match="too few different numbers"):
                found(numbers, BinRule(quantiles=number), folder)
            return
        below = {end: sum(one < end for one in numbers) for end in different[1:]}
        ends = found(numbers, BinRule(quantiles=number), folder).ends
        for at in range(1, number):
            wanted = at * len(numbers) / number
            least = min(abs(count - wanted) for count in below.values())
            assert any(abs(below[int(end)] - wanted) == least for end in ends)
        assert set(ends) <= set(below)
        assert len(ends) < number

    def test_quantiles_of_a_sensitive_column_are_rounded(self, tmp_path: Path) -> None:
        """The exact median is somebody's income; two digits of it are not."""
        incomes = np.sort(np.random.default_rng(1).integers(10_000, 99_999, 401)).tolist()
        assert found(incomes, BinRule(quantiles=2), tmp_path).ends == (incomes[200],)
        rounded = found(incomes, BinRule(quantiles=2), tmp_path, sensitive=["x"]).ends
        assert rounded == (round(incomes[200], -3),)
        assert rounded[0] != incomes[200]

    def test_ends_that_were_given_are_not_rounded(self, tmp_path: Path) -> None:
        assert found([1, 5], BinRule(ends=(1234.5,)), tmp_path, sensitive=["x"]).ends == (1235,)

    def test_counts_in_several_chunks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        numbers = np.random.default_rng(2).integers(0, 500, 5000)
        whole = found(numbers, BinRule(quantiles=7), tmp_path)
        monkeypatch.setattr("showthrough.frames.source.ROWS", 100)
        assert found(numbers, BinRule(quantiles=7), tmp_path) == whole
        per_bin = np.bincount(np.searchsorted(whole.ends, numbers, side="right"))
        assert per_bin.min() > 600
        assert per_bin.max() < 830

    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            ("10", BinRule(width=10)),
            ("quantiles:5", BinRule(quantiles=5)),
            ("0,18,30", BinRule(ends=(0, 18, 30))),
            ("18,", BinRule(ends=(18,))),
            ("-5,5", BinRule(ends=(-5, 5))),
        ],
    )
    def test_texts(self, text: str, rule: BinRule) -> None:
        assert read_bin_rule(text) == rule
        assert read_bin_rules([f"a=b={text}"]) == {"a=b": rule}

    @pytest.mark.parametrize(
        "wrong",
        ["", "ten", "0", "-3", "5,4", "5,5", "quantiles:1", "quantiles:x", "nan", "1,inf", "quantiles:20000"],
    )
    def test_texts_that_are_no_rule(self, wrong: str) -> None:
        with pytest.raises(InputError):
            read_bin_rule(wrong)

    @pytest.mark.parametrize("wrong", [True, [1, "2"], [], None, {"a": 1}, math.nan])
    def test_arguments_that_are_no_rule(self, wrong: Any) -> None:
        with pytest.raises(InputError):
            read_bin_rules({"age": wrong})

    def test_too_many_bins(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="make 1,000,001 bins of this width"):
            found([0, 10**6], BinRule(width=1), tmp_path)


class TestPublishing:
    @pytest.mark.parametrize("method", METHODS)
    def test_every_method_publishes_bins(self, tmp_path: Path, method: str) -> None:
        table, ends = workers(), [18, 30, 65]
        rules = {"age": ends, "income": "quantiles:3"}
        made = st.publish(
            table, tmp_path / "p", sensitive="ill", method=METHODS[method], bins=rules, seed=SEED
        )
        assert made.manifest.bins is not None
        assert made.manifest.bins["age"].ends == (18, 30, 65)
        if made.manifest.merged or made.manifest.method == "sampled" or made.manifest.method == "anatomy":
            return
        ages = [age for age in table["age"].to_pylist() if age is not None]
        assert made.count("age=18–29").value == sum(18 <= age < 30 for age in ages)
        assert made.count("age=65 and over").value == sum(age >= 65 for age in ages)
        assert made.count('age=""').value == table["age"].null_count

    def test_the_same_from_every_kind_of_file(self, tmp_path: Path) -> None:
        table, rules = workers(), {"age": 10, "income": "quantiles:4"}
        arrow_csv.write_csv(table, tmp_path / "workers.csv")
        pq.write_table(table, tmp_path / "workers.parquet", row_group_size=100)
        decimals = pa.array(
            [Decimal(int(one or 0)) for one in table["income"].to_pylist()], pa.decimal128(20, 2)
        )
        other = table.set_column(1, "income", decimals)
        groups = [
            Columns.of("ill", bins=rules).read(one)
            for one in (table, tmp_path / "workers.csv", tmp_path / "workers.parquet", other)
        ]
        for one in groups[1:]:
            assert one.public.equals(groups[0].public)
            assert (one.counts != groups[0].counts).nnz == 0
        assert len(groups[0]) < 60

    def test_bins_by_themselves_are_the_same(self, tmp_path: Path) -> None:
        """Publishing with bins is publishing what somebody put into these bins before."""
        table, bins = workers(), Bins.of([20, 40], whole=True)
        before = table.set_column(0, "age", bins.recode(table["age"].cast(pa.int64())).cast(pa.string()))
        known: dict[str, Any] = {"sensitive": "ill", "retention": 0.4, "drop": "income", "seed": SEED}
        one = st.publish(table, tmp_path / "a", bins={"age": [20, 40]}, **known)
        other = st.publish(before, tmp_path / "b", **known)
        assert one.to_arrow().equals(other.to_arrow())

    def test_a_sensitive_column(self, tmp_path: Path) -> None:
        table = workers()
        rules = {"age": 20, "income": "quantiles:5"}
        made = st.publish(table, tmp_path / "p", sensitive="income", bins=rules, retention=0.5, seed=SEED)
        assert len(made.manifest.domain) == 5
        (note,) = made.notes
        assert "rounded to 2 digits" in note
        assert st.check(
            table, "diversity=2", sensitive="income", bins={"age": 20, "income": 10_000}, drop="ill"
        )

    def test_tables_are_in_the_order_of_bins(self, tmp_path: Path) -> None:
        """By their names, "100 and over" would come before "20–39"."""
        table = pa.table(
            {"age": pa.array(list(range(0, 120, 5)) * 5 + [None] * 5), "ill": ["a", "b", "c", "d", "e"] * 25}
        )
        made = st.publish(
            table, tmp_path / "p", sensitive="ill", bins={"age": [20, 100]}, retention=0.5, seed=SEED
        )
        found = made.distribution("age")
        assert list(dict.fromkeys(found["age"].to_pylist())) == [None, "under 20", "20–99", "100 and over"]
        assert found["ill"].to_pylist()[:5] == ["a", "b", "c", "d", "e"]
        other = table.filter(table["age"].is_valid())
        rules: dict[str, Any] = {"age": [20, 100]}
        made = st.publish(other, tmp_path / "q", sensitive="age", bins=rules, retention=0.5, seed=SEED)
        assert made.distribution()["age"].to_pylist() == ["under 20", "20–99", "100 and over"]

    def test_a_merged_column_of_bins_can_be_counted(self, tmp_path: Path) -> None:
        made = st.publish(
            workers(),
            tmp_path / "p",
            sensitive="ill",
            method=METHODS["sampled"],
            bins={"age": 10},
            drop="income",
            seed=SEED,
        )
        assert made.distribution("age").num_rows >= 4

    def test_the_truth_is_put_into_the_same_bins(self, tmp_path: Path) -> None:
        table, rules = workers(), {"age": 20, "income": "quantiles:4"}
        known: dict[str, Any] = {"sensitive": "income", "bins": rules, "promise": "rho=0.3:0.6", "seed": SEED}
        for method in ("uniform", "ordinal"):
            made = st.publish(table, tmp_path / method, method=method, drop="ill", **known)
            found = st.check(made, "rho=0.3:0.6", truth=table).to_plain()["people"]
            assert found["exact"]
            assert found["people"] == 1500

    def test_pieces_for_other_machines(self, tmp_path: Path) -> None:
        pq.write_table(workers(), tmp_path / "workers.parquet", row_group_size=500)
        opened = Source.of(tmp_path / "workers.parquet")
        rules = Columns.of("ill", bins={"age": 10})
        binned = replace(opened, bins=rules.find_bins(opened, scratch=tmp_path).bins)
        pieces = pickle.loads(pickle.dumps(binned.pieces()))  # noqa: S301
        assert len(pieces) == 3
        assert pa.concat_tables([piece.table() for piece in pieces]).equals(binned.table())

    @pytest.mark.parametrize(
        ("rules", "why"),
        [
            ({"agge": 10}, "no such public or sensitive column"),
            ({"ill": 10}, "row 1, column ill: not a number"),
            ({"age": "x"}, "column age: cannot read these bins"),
            ({"age": 0}, "above 0"),
        ],
    )
    def test_what_cannot_be(self, tmp_path: Path, rules: dict[str, Any], why: str) -> None:
        with pytest.raises(InputError, match=why):
            st.publish(workers(), tmp_path / "p", sensitive="income", bins=rules, retention=0.4, seed=SEED)
        assert not (tmp_path / "p").exists()

    def test_a_text_that_is_no_number_is_named_with_its_row(self, tmp_path: Path) -> None:
        path = tmp_path / "people.csv"
        path.write_text("age,ill\n3,a\n,b\n 41 ,a\nold,b\n")
        with pytest.raises(RecordsError, match=r"row 4, column age: not a number.*found 'old'"):
            Columns.of("ill", bins={"age": 10}).read(path)
        path.write_text("age,ill\n3,a\nnan,b\n")
        with pytest.raises(RecordsError, match=r"row 2, column age: not a number"):
            Columns.of("ill", bins={"age": 10}).read(path)

    def test_a_date_has_no_bins(self) -> None:
        table = pa.table({"day": pa.array([1, 2], pa.date32()), "ill": ["a", "b"]})
        with pytest.raises(RecordsError, match="the column has no numbers"):
            Columns.of("ill", bins={"day": 10}).read(table)

    def test_a_damaged_manifest(self, tmp_path: Path) -> None:
        rules = {"age": 10, "income": 5_000}
        made = st.publish(workers(), tmp_path / "p", sensitive="ill", bins=rules, retention=0.4, seed=SEED)
        path = made.folder / "publication.json"
        path.write_text(path.read_text().replace('"bins": {"age"', '"bins": {"aage"'))
        with pytest.raises(InputError, match="a column has bins but is not published"):
            st.Publication.open(made.folder)


def test_every_backend_counts_the_same_bins(tmp_path: Path) -> None:
    """The rows that a backend gets are in bins already, whatever it does with them."""
    source = Source.of(workers())
    rules = Columns.of("ill", drop=["income"], bins={"age": 10})
    binned = replace(source, bins=rules.find_bins(source, scratch=tmp_path).bins)
    with DuckBackend().tally(binned, public=["age"], sensitive=["ill"], scratch=tmp_path) as tally:
        assert tally.codec.public[0].values.to_pylist()[:3] == [None, "0–9", "10–19"]
