"""The verbs about microdata at the root: what a newcomer types, and what comes back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import showthrough as st
from odd_arguments import check_refused, each_odd
from showthrough.microdata.check_summary import read_summary
from showthrough.microdata.methods import MethodOptions, choose_method, choose_methods
from showthrough.microdata.promises import read_promise

VALUES = ("cold", "flu", "gout", "mumps")


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "age": rng.choice(["old", "young"], 3000),
            "town": rng.choice(["Aldea", "Brook", "Corm"], 3000),
            "disease": rng.choice(VALUES, 3000, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


class TestPublish:
    @pytest.mark.parametrize(
        ("options", "method"),
        [
            ({"method": "partitioned", "promise": "0.3:0.5"}, "partitioned"),
            ({"promise": "rho=0.3:0.5"}, "uniform"),
            ({"promise": st.RhoPrivacy(0.3, 0.5)}, "uniform"),
            ({"retention": 0.4}, "uniform"),
            ({"promise": "reconstruction 0.3:0.3", "retention": 0.5}, "sampled"),
            ({"promise": 3}, "anatomy"),
            ({"method": "anatomy", "promise": "3"}, "anatomy"),
            ({"method": st.UniformPerturbation(0.5)}, "uniform"),
        ],
    )
    def test_by_words(self, people: pa.Table, tmp_path: Path, options: dict[str, Any], method: str) -> None:
        found = st.publish(people, tmp_path / "public", sensitive="disease", seed=2**80, **options)
        assert found.manifest.method == method
        assert found.left_out == 3000 - found.manifest.records
        assert st.Publication.open(found.folder).left_out is None
        assert st.count(found.folder, "disease=flu") == found.count({"disease": "flu"})
        assert len(found.to_arrow()) == found.manifest.records
        assert repr(found).startswith(f"Publication of {found.manifest.records:,} records, {method}, in ")

    def test_a_seed_is_drawn_if_none_is_given(self, people: pa.Table, tmp_path: Path) -> None:
        one, two = (
            st.publish(people, tmp_path / name, sensitive="disease", retention=0.5) for name in ("a", "b")
        )
        assert not one.to_arrow().equals(two.to_arrow())

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({}, "no promise given; give retention=0.3 or rho=0.1:0.5"),
            ({"promise": "0.3:0.5"}, "cannot tell which promise this is"),
            ({"promise": 0.5}, "a promise must be text or a promise, not float"),
            ({"method": "unifrom", "retention": 0.5}, "unknown method .*did you mean 'uniform'"),
            ({"method": 7}, "method must be a name or a method, not int"),
            ({"method": st.UniformPerturbation(0.5), "retention": 0.5}, "has its promise and its retention"),
            ({"method": "uniform", "promise": 3}, "the method uniform needs more than was given"),
            ({"method": "uniform", "promise": "rho=0.1:0.5", "retention": 0.3}, "follows from the promise"),
        ],
    )
    def test_what_cannot_be_meant(
        self, people: pa.Table, tmp_path: Path, options: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(st.InputError, match=said):
            st.publish(people, tmp_path / "public", sensitive="disease", seed=1, **options)
        assert not (tmp_path / "public").exists()

    def test_counting_in_something_else(self, tmp_path: Path) -> None:
        with pytest.raises(st.InputError, match="publication must be Publication, str or PathLike"):
            st.count(7, "age=old")  # pyright: ignore[reportArgumentType]
        with pytest.raises(st.InputError, match="this is not a publication"):
            st.count(tmp_path, "age=old")


class TestCheck:
    @pytest.mark.parametrize(
        ("promise", "verdict", "columns"),
        [
            ("rho=0.45:0.8", "holds", ["retention", "n_values", "posterior"]),
            ("reconstruction=0.3:0.3", "violated", ["age", "town", "records"]),
            ("diversity=4", "violated", ["age", "town", "records", "largest", "violated"]),
            (st.LDiversity(2), "holds", ["age", "town", "records", "largest", "violated"]),
        ],
    )
    def test_records(self, people: pa.Table, promise: Any, verdict: str, columns: list[str]) -> None:
        found = st.check(people, promise, sensitive="disease", retention=0.5, merging="none")
        assert (found.verdict, found.holds) == (verdict, verdict == "holds")
        assert found.to_arrow().column_names[: len(columns)] == columns
        assert found.to_pandas().shape[0] == found.table.num_rows
        assert found.promise == read_promise(promise)
        assert repr(found).splitlines()[0] == f"CheckResult: {verdict}"
        assert len(repr(found).splitlines()) == 3
        assert "<table>" in found._repr_html_()

    def test_a_publication(self, people: pa.Table, tmp_path: Path) -> None:
        found = st.publish(people, tmp_path / "public", sensitive="disease", promise="rho=0.45:0.8", seed=1)
        for given in (found, found.folder, str(found.folder)):
            assert st.check(given, "rho=0.45:0.8").verdict == "undecided"
            assert st.check(given, "rho=0.45:0.8", truth=people).holds
        with pytest.raises(st.InputError, match="leave out sensitive, public, drop, bins and retention"):
            st.check(found, "rho=0.45:0.8", sensitive="disease")
        parts = st.publish(
            people, tmp_path / "parts", sensitive="disease", method="partitioned", promise="0.45:0.8", seed=1
        )
        checked = st.check(parts, "rho=0.45:0.8")
        assert checked.verdict in ("undecided", "violated")
        assert checked.to_arrow().num_rows == len(parts.manifest.tables)

    @pytest.mark.parametrize(
        "promise", ["rho=0.45:0.8", "rho=0.01:0.8", "reconstruction=0.3:0.3", "diversity=4", "diversity=9"]
    )
    def test_a_summary_reads_back(self, people: pa.Table, promise: str) -> None:
        for merging in ("none", "components", "conditional"):
            found = st.check(people, promise, sensitive="disease", retention=0.5, merging=merging)
            plain = json.loads(json.dumps(found.to_plain()))
            assert read_summary(plain) == found.summary
            assert all(text.endswith(".") for text in (found.summary.promised, found.summary.headline))

    def test_a_damaged_summary_is_refused(self, people: pa.Table) -> None:
        plain = st.check(people, "reconstruction=0.3:0.3", sensitive="disease", retention=0.5).to_plain()
        with pytest.raises(ValueError, match="groups"):
            read_summary({**plain, "groups": "many"})


class TestCompare:
    def test_methods_by_name(self, people: pa.Table) -> None:
        found = st.compare(
            people,
            "uniform, sampled",
            sensitive="disease",
            promise="reconstruction=0.3:0.3",
            retention=0.5,
            queries=20,
            runs=2,
            sweeps={"retention": [0.3, 0.5]},
        )
        assert found.to_arrow().num_rows == 2 * 2 * 3
        assert found.to_arrow()["value"].unique().to_pylist() == [0.3, 0.5]
        assert found.violations is not None
        assert found.violations.num_rows == 2 * 2 * 2
        assert len(found.answers) > 0
        assert repr(found).splitlines()[0].startswith("Comparison of 4 settings on ")
        assert found.summary().records == 3000
        assert found.to_pandas().shape[0] == found.to_arrow().num_rows
        alone = st.compare(people, [st.UniformPerturbation(0.5)], sensitive="disease", queries=20, runs=2)
        assert alone.violations is None

    def test_uniform_with_a_retention_and_a_promise_is_compared_twice(self) -> None:
        found = choose_methods(
            "uniform,anatomy", ["rho=0.1:0.5", "diversity=3"], MethodOptions(retention=0.3)
        )
        assert found == [
            st.UniformPerturbation(0.3),
            st.UniformPerturbation(promise=st.RhoPrivacy(0.1, 0.5)),
            st.Anatomized(st.LDiversity(3)),
        ]
        assert choose_method("sampled", "0.3:0.3", MethodOptions(retention=0.5, bound="exact")) == st.Sampled(
            st.ReconstructionPrivacy(0.3, 0.3), 0.5, "exact"
        )


def test_groups_print_a_few_lines(people: pa.Table) -> None:
    groups = st.Groups.read(people, sensitive="disease")
    assert repr(groups) == (
        "Groups: 3,000 records in 6 groups, 4 sensitive values\n  public: age, town; sensitive: disease"
    )
    table = groups.to_arrow()
    assert table.column_names == ["age", "town", "disease", "records"]
    assert sum(table["records"].to_pylist()) == 3000


THREE: Any = 3
FEW = pa.table({"sex": ["f", "m"] * 50, "ill": ["no", "no", "yes", "no"] * 25})
RHO, REBUILT = st.RhoPrivacy(0.3, 0.6), st.ReconstructionPrivacy(0.3, 0.3)


def publish_few(out: Any = "public", **options: Any) -> st.Publication:
    given: dict[str, Any] = {"sensitive": "ill", "retention": 0.5, "seed": 2**80, **options}
    return st.publish(FEW, out, **given)


def compare_few(methods: Any = "uniform", **options: Any) -> st.Comparison:
    given: dict[str, Any] = {"sensitive": "ill", "retention": 0.5, "queries": 5, "runs": 1, **options}
    return st.compare(FEW, methods, **given)


#: a call with one argument, and which of the odd ones it takes
ODD_CALLS: dict[str, tuple[Callable[[Any], object], tuple[int, ...]]] = {
    "check": (lambda odd: st.check(odd, "rho=0.3:0.6", sensitive="ill"), ()),
    "promise": (lambda odd: st.check(FEW, odd, sensitive="ill"), (1,)),
    "sensitive": (lambda odd: st.check(FEW, "diversity=2", sensitive=odd), ()),
    "public": (lambda odd: st.check(FEW, "diversity=2", sensitive="ill", public=odd), (0,)),
    "retention": (lambda odd: st.check(FEW, RHO, sensitive="ill", retention=odd), (0,)),
    "worst": (lambda odd: st.check(FEW, REBUILT, sensitive="ill", worst=odd), (1,)),
    "count": (st.count, ()),
    "Publication.open": (st.Publication.open, ()),
    "publish": (lambda odd: st.publish(odd, "public", sensitive="ill", retention=0.5), ()),
    "out": (publish_few, ()),
    "sensitive to publish": (lambda odd: publish_few(sensitive=odd), ()),
    "public to publish": (lambda odd: publish_few(public=odd or THREE), ()),
    "method": (lambda odd: publish_few(method=odd or THREE), ()),
    "file_format": (lambda odd: publish_few(file_format=odd), ()),
    "engine": (lambda odd: publish_few(engine=odd or THREE), ()),
    "scratch": (lambda odd: publish_few(scratch=odd or THREE), ()),
    "page": (lambda odd: publish_few(page=odd or THREE), ()),
    "compare": (lambda odd: st.compare(odd, "uniform", sensitive="ill", retention=0.5), ()),
    "methods": (compare_few, ()),
    "sensitive to compare": (lambda odd: compare_few(sensitive=odd), ()),
    "sweeps": (lambda odd: compare_few(sweeps=odd), (0,)),
    "swept values": (lambda odd: compare_few(sweeps={"retention": odd}), ()),
    "pool": (lambda odd: compare_few(pool=odd), ()),
    "queries": (lambda odd: compare_few(queries=odd), (0, 1)),
    "selectivities": (lambda odd: compare_few(selectivities=odd), ()),
    "runs": (lambda odd: compare_few(runs=odd), (1,)),
    "seed": (lambda odd: compare_few(seed=odd), (1,)),
    "progress": (lambda odd: compare_few(progress=odd or THREE), ()),
    "RhoPrivacy": (lambda odd: st.RhoPrivacy(odd, 0.5), ()),
    "RhoPrivacy.parse": (st.RhoPrivacy.parse, ()),
    "RhoPrivacy.retention": (RHO.retention, (1,)),
    "RhoPrivacy.check": (lambda odd: RHO.check([[1, 1]], retention=odd), ()),
    "tables": (lambda odd: RHO.check([odd or object()], retention=0.5), (1,)),
    "ReconstructionPrivacy": (lambda odd: st.ReconstructionPrivacy(0.3, odd), ()),
    "ReconstructionPrivacy.check": (lambda odd: REBUILT.check(odd, retention=0.5), ()),
    "LDiversity": (st.LDiversity, (1,)),
    "LDiversity.parse": (st.LDiversity.parse, ()),
    "LDiversity.check": (lambda odd: st.LDiversity(3).check(odd), (1,)),
    "UniformPerturbation": (st.UniformPerturbation, ()),
    "promise of uniform": (lambda odd: st.UniformPerturbation(promise=odd), ()),
    "Partitioned": (st.Partitioned, ()),
    "Sampled": (lambda odd: st.Sampled(odd, 0.5), ()),
    "retention of sampled": (lambda odd: st.Sampled(REBUILT, odd), (0,)),
    "Anatomized": (st.Anatomized, ()),
    "Groups": (lambda odd: st.Groups(FEW, FEW, odd), ()),
    "Groups.of": (lambda odd: st.Groups.of(odd, {"ill": ["no"]}, [[1]]), ()),
    "counts": (lambda odd: st.Groups.of({"sex": ["f"]}, {"ill": ["no"]}, odd), ()),
    "Groups.read": (lambda odd: st.Groups.read(odd, sensitive="ill"), ()),
}


@pytest.mark.parametrize("name", ODD_CALLS)
@each_odd
def test_odd_arguments_are_named_errors(
    name: str, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, fine = ODD_CALLS[name]
    check_refused(call, at, fine=fine, place=tmp_path, patch=monkeypatch)
