"""The commands about records with a sensitive column, as a user meets them."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from command import Run, runner
from needs import SLOW
from showthrough.microdata.publication import Publication
from showthrough.selection import Selection

VALUES = ("cold", "flu", "gout", "mumps")


@cache
def people(n: int = 6000, *, seed: int = 1) -> pa.Table:
    """Records whose disease goes with age and sex."""
    rng = np.random.default_rng(seed)
    age, sex, town = rng.integers(0, 4, n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    ill = rng.choice(4, n, p=[0.45, 0.25, 0.18, 0.12])
    ill = (ill + (age > 1) * (rng.random(n) < 0.2) + sex * (rng.random(n) < 0.2)) % 4
    return pa.table(
        {
            "age": [("0-19", "20-39", "40-59", "60+")[at] for at in age],
            "sex": [("f", "m")[at] for at in sex],
            "town": [("Aldea", "Brook", "Corm")[at] for at in town],
            "disease": [VALUES[at] for at in ill],
        }
    )


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files of the same records."""
    folder = tmp_path_factory.mktemp("records")
    pq.write_table(people(), folder / "people.parquet")
    arrow_csv.write_csv(people(), folder / "people.csv")
    return list(folder.iterdir())


@pytest.fixture
def run(
    records: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Run a command in a folder that holds records."""
    monkeypatch.chdir(tmp_path)
    for file in records:
        shutil.copy(file, tmp_path)

    return runner(capsys)


def names(folder: str = ".") -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


BASE = ("people.parquet", "--sensitive", "disease")

#: options → (method, retentions where they are known)
PUBLICATIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "uniform by retention": (("--retention", "0.3"), "uniform"),
    "uniform by promise": (("--rho", "0.3:0.5"), "uniform"),
    "partitioned": (("--rho", "0.3:0.5", "--method", "partitioned"), "partitioned"),
    "sampled": (("--reconstruction", "0.3:0.3", "--retention", "0.5"), "sampled"),
    "sampled exactly": (
        ("--reconstruction", "0.3:0.3", "--retention", "0.5", "--bound", "exact"),
        "sampled",
    ),
    "anatomy": (("--diversity", "3"), "anatomy"),
}


class TestPublish:
    @pytest.mark.parametrize("name", PUBLICATIONS)
    @pytest.mark.parametrize("form", ["parquet", "csv"])
    def test_a_publication_can_be_opened_and_counted(self, run: Run, name: str, form: str) -> None:
        options, method = PUBLICATIONS[name]
        ran = run("publish", *BASE, *options, "--out", "public", "--format", form)
        assert ran.code == 0, ran.err
        assert ran.out.startswith("Published ")
        found = Publication.open("public")
        assert found.manifest.method == method
        assert found.manifest.format == form
        total = found.count(Selection())
        assert total.value == pytest.approx(found.manifest.records)
        left_out, counted = 6000 - found.manifest.records, run("count", "public").text
        if left_out:
            both = (
                f"of the published records, and all {left_out:,} records that were left out: exactly 6,000."
            )
            assert counted == f"{found.manifest.records:,} {both}"
        else:
            assert counted == "Exactly 6,000 records."
        counted = run("count", "public", "--where", "disease=flu", "--json")
        assert counted.code == 0
        answer = counted.json
        truth = people()["disease"].to_pylist().count("flu")
        assert answer["kind"] == ("exact" if method == "anatomy" else "confidence")
        assert abs(answer["value"] - truth) < 6 * max(answer["error"], 1) + left_out

    def test_the_seed_is_drawn_and_left_nowhere(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        drawn = list[int]()

        def bits(number: int) -> int:
            drawn.append(2**127 + 12345)
            assert number == 128
            return drawn[-1]

        monkeypatch.setattr("showthrough.microdata.publish.secrets.randbits", bits)
        ran = run("publish", *BASE, "--retention", "0.3", "--out", "public", "--json")
        assert ran.code == 0
        assert len(drawn) == 1
        assert "seed" not in ran.json
        for shape in (str(drawn[0]), f"{drawn[0]:x}"):
            assert shape not in ran.out + ran.err
            assert all(shape.encode() not in path.read_bytes() for path in Path("public").iterdir())

    def test_a_seed_repeats_the_result_and_a_small_one_is_warned_of(self, run: Run) -> None:
        large = str(2**80 + 3)
        for out, seed in (("one", large), ("two", large), ("three", str(2**80 + 4)), ("four", "7")):
            ran = run("publish", *BASE, "--retention", "0.3", "--seed", seed, "--out", out)
            assert ran.code == 0
            assert ("can be found by trying" in ran.err) == (out == "four")
        read = {name: (Path(name) / "data.parquet").read_bytes() for name in ("one", "two", "three")}
        assert read["one"] == read["two"] != read["three"]

    def test_help_says_what_a_guessable_seed_does(self, run: Run) -> None:
        shown = re.sub(r"[│\s]+", " ", run("publish", "--help").out)
        assert "a seed that somebody can guess undoes the protection" in shown

    def test_several_sensitive_columns_are_one(self, run: Run) -> None:
        ran = run("publish", *BASE, "--sensitive", "town", "--rho", "0.2:0.5", "--out", "public", "--json")
        assert ran.code == 0
        assert ran.json["sensitive"] == ["disease", "town"]
        assert ran.json["n_values"] == 12
        counted = run("count", "public", "--where", "town=Brook,disease=flu")
        assert counted.out.startswith("About ")

    def test_public_columns_are_chosen(self, run: Run) -> None:
        ran = run("publish", *BASE, "--public", "age,sex", "--retention", "0.5", "--out", "public", "--json")
        assert ran.json["public"] == ["age", "sex"]
        assert pq.read_table("public/data.parquet").column_names == ["age", "sex", "disease"]

    def test_csv_and_parquet_give_the_same_publication(self, run: Run) -> None:
        for name in ("people.parquet", "people.csv"):
            out = name.partition(".")[2]
            options = ("--retention", "0.3", "--seed", str(2**80), "--format", "csv", "--out", out)
            assert run("publish", name, "--sensitive", "disease", *options).code == 0
        assert Path("parquet/data.csv").read_bytes() == Path("csv/data.csv").read_bytes()

    def test_overwriting_replaces_publications_only(self, run: Run) -> None:
        options = (*BASE, "--retention", "0.3", "--out", "public")
        assert run("publish", *options).code == 0
        before = (Path("public") / "data.parquet").read_bytes()
        again = run("publish", *options)
        assert again.code == 2
        assert "the output folder already holds a finished publication" in again.err
        assert (Path("public") / "data.parquet").read_bytes() == before
        assert run("publish", *options, "--overwrite").code == 0
        assert (Path("public") / "data.parquet").read_bytes() != before
        Path("mine").mkdir()
        Path("mine/letter.txt").write_text("dear", "utf-8")
        refused = run("publish", *BASE, "--retention", "0.3", "--out", "mine", "--overwrite")
        assert refused.code == 2
        assert "the output folder is not empty" in refused.err
        assert names("mine") == {"letter.txt"}
        assert names() == {"people.parquet", "people.csv", "public", "mine"}

    def test_a_page_goes_with_it_and_stands_in_nobodys_way(self, run: Run) -> None:
        options = (*BASE, "--retention", "0.3", "--out", "public")
        ran = run("publish", *options, "--json")
        assert ran.json["report"] == str(Path("public/report.html"))
        assert names("public") == {"data.parquet", "publication.json", "report.html"}
        before = Path("public/report.html").read_bytes()
        assert run("report", "public").code == 0
        assert Path("public/report.html").read_bytes() == before
        assert run("count", "public", "--where", "disease=flu").code == 0
        assert run("check", "public", "--rho", "0.3:0.5").code in (0, 1, 3)
        replaced = run("publish", *options, "--overwrite", "--no-report", "--json")
        assert replaced.json["report"] is None
        assert names("public") == {"data.parquet", "publication.json"}
        assert "report.html" not in run("publish", *options, "--overwrite", "--no-report").out
        assert "report.html" in run("publish", *options, "--overwrite").out

    def test_records_left_out_are_told(self, run: Run) -> None:
        table = pa.table({"sex": ["f", "m"] * 50, "disease": ["flu"] * 80 + ["cold", "gout"] * 10})
        pq.write_table(table, "skewed.parquet")
        ran = run(
            "publish", "skewed.parquet", "--sensitive", "disease", "--diversity", "2", "--out", "public"
        )
        assert ran.code == 0
        assert "60 records were left out" in ran.text

    @pytest.mark.slow
    def test_ten_thousand_sensitive_values(self, run: Run) -> None:
        rng = np.random.default_rng(1)
        values = np.concatenate([np.arange(10_000), rng.integers(0, 10_000, 20_000)])
        pq.write_table(pa.table({"sex": rng.integers(0, 2, 30_000), "code": values}), "codes.parquet")
        base = ("codes.parquet", "--sensitive", "code")
        for out, options in {
            "u": ("--rho", "0.01:0.1"),
            "p": ("--rho", "0.01:0.1", "--method", "partitioned"),
            "s": ("--reconstruction", "0.3:0.3", "--retention", "0.5", "--trials", "banded"),
            "a": ("--diversity", "5"),
        }.items():
            page = () if SLOW or out == "u" else ("--no-report",)  # which takes as long as the rest
            ran = run("publish", *base, *options, "--out", out, "--json", *page)
            assert ran.code == 0
            assert ran.json["n_values"] == 10_000
            assert run("count", out, "--where", "code=17|18", "--json").code == 0


#: name → (files, arguments, what the message says)
BAD: dict[str, tuple[Mapping[str, str], tuple[str, ...], tuple[str, ...]]] = {
    "sensitive column missing": (
        {},
        ("people.parquet", "--sensitive", "diseases", "--retention", "0.3"),
        ("people.parquet, column diseases: no such column", "did you mean 'disease'?"),
    ),
    "no sensitive column": ({}, ("people.parquet", "--retention", "0.3"), ("no sensitive column given",)),
    "public column missing": (
        {},
        (*BASE, "--public", "age,sexx", "--retention", "0.3"),
        ("column sexx: no such column", "did you mean 'sex'?"),
    ),
    "a column both public and sensitive": (
        {},
        (*BASE, "--public", "age,disease", "--retention", "0.3"),
        ("column disease: a column is named twice",),
    ),
    "retention 0": ({}, (*BASE, "--retention", "0"), ("--retention: a retention must be between 0 and 1",)),
    "retention 1": ({}, (*BASE, "--retention", "1"), ("--retention", "(found '1.0')", "for example 0.5")),
    "retention under 0": (
        {},
        (*BASE, "--retention=-0.5"),
        ("--retention: a retention must be between 0 and 1",),
    ),
    "no number": ({}, (*BASE, "--retention", "nan"), ("--retention: a retention must be between 0 and 1",)),
    "prior over posterior": (
        {},
        (*BASE, "--rho", "0.5:0.1"),
        ("--rho: the prior must be between 0 and the posterior", "(found '0.5:0.1')", "for example 0.1:0.5"),
    ),
    "prior equal to posterior": ({}, (*BASE, "--rho", "0.5:0.5"), ("--rho: the prior must be between 0",)),
    "half a promise": (
        {},
        (*BASE, "--rho", "0.5"),
        ("--rho: expected a prior and a posterior, separated by a colon",),
    ),
    "an error of 0": (
        {},
        (*BASE, "--reconstruction", "0:0.3", "--retention", "0.5"),
        ("--reconstruction: the relative error must be above 0", "(found '0.0')"),
    ),
    "an infinite error": (
        {},
        (*BASE, "--reconstruction", "inf:0.3", "--retention", "0.5"),
        ("--reconstruction: the relative error must be above 0",),
    ),
    "a chance of 1": (
        {},
        (*BASE, "--reconstruction", "0.3:1", "--retention", "0.5"),
        ("--reconstruction: the chance must be between 0 and 1",),
    ),
    "banded trials without retention": (
        {},
        (*BASE, "--reconstruction", "0.3:0.3", "--trials", "banded"),
        ("banded trials need a retention; for example 0.5",),
    ),
    "a bound that independent trials do not have": (
        {},
        (*BASE, "--reconstruction", "0.3:0.3", "--bound", "chernoff"),
        ("independent trials follow exact tails", "choose banded or printed trials"),
    ),
    "a promise that leaves nothing": (
        {},
        (*BASE, "--reconstruction", "0.3:0.49", "--merge", "none"),
        ("with this promise no group can be published", "of the records"),
    ),
    "diversity of 1": (
        {},
        (*BASE, "--diversity", "1"),
        ("--diversity: l must be a whole number of at least 2",),
    ),
    "more diverse than the values": (
        {},
        (*BASE, "--diversity", "5"),
        ("buckets of 5 different values need at least 5 sensitive values", "choose a smaller l"),
    ),
    "two promises": (
        {},
        (*BASE, "--rho", "0.1:0.5", "--diversity", "3"),
        ("a publication keeps one promise",),
    ),
    "a promise and a retention": (
        {},
        (*BASE, "--rho", "0.1:0.5", "--retention", "0.3"),
        ("the retention follows from the promise",),
    ),
    "a method that keeps another promise": (
        {},
        (*BASE, "--diversity", "3", "--retention", "0.3", "--method", "uniform"),
        ("the method uniform cannot keep this promise (found 'diversity')",),
    ),
    "nothing promised": ({}, BASE, ("no promise given", "--rho 0.1:0.5")),
    "a promise that protects no value": (
        {},
        (*BASE, "--rho", "0.01:0.5", "--method", "partitioned"),
        ("every sensitive value is more frequent than the prior", "choose a prior of at least"),
    ),
    "a single sensitive value": (
        {"one.csv": "sex,ill\nf,no\nm,no\n"},
        ("one.csv", "--sensitive", "ill", "--retention", "0.3"),
        ("the sensitive column needs at least two values (found '1')",),
    ),
    "a missing sensitive value": (
        {"gap.csv": "sex,ill\nf,no\nm,\n"},
        ("gap.csv", "--sensitive", "ill", "--retention", "0.3"),
        ("gap.csv, column ill: the sensitive value is missing in 1 records",),
    ),
    "no records": (
        {"none.csv": "sex,ill\n"},
        ("none.csv", "--sensitive", "ill", "--retention", "0.3"),
        ("none.csv: there are no records",),
    ),
    "an empty file": (
        {"empty.csv": ""},
        ("empty.csv", "--sensitive", "ill", "--retention", "0.3"),
        ("empty.csv: the file is empty; the first line must name the columns",),
    ),
    "a missing file": (
        {},
        ("nobody.csv", "--sensitive", "ill", "--retention", "0.3"),
        ("nobody.csv: no such file",),
    ),
    "not a Parquet file": (
        {"odd.parquet": "hello"},
        ("odd.parquet", "--sensitive", "ill", "--retention", "0.3"),
        ("odd.parquet",),
    ),
    "a seed below 0": (
        {},
        (*BASE, "--retention", "0.3", "--seed=-1"),
        ("a seed must be a whole number of at least 0",),
    ),
    "an unknown engine": (
        {},
        (*BASE, "--retention", "0.3", "--engine", "sparks"),
        ("unknown engine (found 'sparks')",),
    ),
    "an unknown method": ({}, (*BASE, "--retention", "0.3", "--method", "best"), ("--method",)),
}


class TestWhatAPromiseCovers:
    """The paper's example: ten jobs, of which four have one record each."""

    HOW = ("jobs.parquet", "--sensitive", "job", "--rho", "1/3:2/3", "--seed", "1", "--out", "public")

    @pytest.fixture(autouse=True)
    def jobs(self, run: Run) -> None:  # noqa: ARG002 - it is run in an empty folder
        totals = (12, 8, 6, 5, 4, 3, 1, 1, 1, 1)
        jobs = [f"job {at}" for at, number in enumerate(totals) for _ in range(20 * number)]
        pq.write_table(pa.table({"sex": ["f", "m"] * (len(jobs) // 2), "job": jobs}), "jobs.parquet")

    def test_what_it_does_not_cover_is_said(self, run: Run) -> None:
        """Notes about tiny sub-tables said that larger ones are safe from readers who know the totals."""
        ran = run("publish", *self.HOW, "--method", "partitioned")
        assert ran.code == 0, ran.err
        assert "so a reader can become surer of a set of values." in ran.text
        assert "A reader who knows the exact totals and combines all rows can become surer." in ran.text
        assert "note: of 2 values together a reader can become surer: up to 83.3" in ran.err
        # What follows from true totals is not in the folder.
        assert not any("83.3" in Path("public", name).read_text("utf-8") for name in ("publication.json",))
        uniform = run("publish", *self.HOW, "--method", "uniform", "--overwrite")
        assert "a set of values" not in uniform.text
        assert "all rows can become surer, up to 88.89" in uniform.text

    @pytest.mark.parametrize("method", ["uniform", "partitioned"])
    def test_known_totals(self, run: Run, method: str) -> None:
        run("publish", *self.HOW, "--method", method)
        usual = Publication.open("public").manifest
        ran = run("publish", *self.HOW, "--method", method, "--known-totals", "--overwrite", "--json")
        assert ran.code == 0, ran.err
        assert ran.json["promise"]["known_totals"] is True
        assert max(ran.json["retention"]) < min(table.retention for table in usual.tables)
        said = run("publish", *self.HOW, "--method", method, "--known-totals", "--overwrite")
        assert "knows the exact totals and combines" not in said.text
        checked = run("check", "public", "--rho", "1/3:2/3", "--known-totals")
        assert "even one who knows the exact totals" in checked.text

    def test_sets(self, run: Run) -> None:
        pairs = run("publish", *self.HOW, "--method", "partitioned", "--sets", "2")
        assert pairs.code == 0, pairs.err
        assert "of 2 values together" not in pairs.err
        assert "surer of a set of values" not in pairs.text
        named = ("--sets", "job 6|job 7", "--sets", "job 8 | job 9")
        ran = run("publish", *self.HOW, "--method", "partitioned", *named, "--overwrite", "--json")
        assert ran.json["promise"]["sets"] == [["job 6", "job 7"], ["job 8", "job 9"]]
        checked = run(
            "check", "public", "--rho", "1/3:2/3", "--sets", "job 6|job 7", "--truth", "jobs.parquet"
        )
        assert "of one of the sets {job 6, job 7}" in checked.text

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--rho", "0.1:0.5", "--sets", "0"), "a set has at least one value"),
            (
                ("--rho", "0.3:0.5", "--sets", "job 6|job x", "--method", "partitioned"),
                "no record has (found 'job x')",
            ),
            (("--retention", "0.5", "--sets", "2"), "--sets: this extends --rho"),
            (("--diversity", "2", "--known-totals"), "--known-totals: this extends --rho"),
        ],
    )
    def test_what_cannot_be_promised(self, run: Run, options: tuple[str, ...], said: str) -> None:
        before = names()
        ran = run("publish", "jobs.parquet", "--sensitive", "job", *options, "--out", "public")
        assert ran.code == 2
        assert said in ran.err
        assert len(ran.err.splitlines()) == 1
        assert names() == before


class TestBadInput:
    @pytest.mark.parametrize("name", BAD)
    def test_publish_refuses_and_writes_nothing(self, run: Run, name: str) -> None:
        files, arguments, said = BAD[name]
        for file, content in files.items():
            Path(file).write_text(content, "utf-8")
        before = names()
        ran = run("publish", *arguments, "--out", "public")
        assert ran.code == 2
        assert ran.out == ""
        assert len(ran.err.splitlines()) == 1
        assert ran.err.startswith("error: ")
        for part in said:
            assert part in ran.err
        assert names() == before

    @pytest.mark.parametrize("out", ["people.csv/public", "people.csv"])
    def test_an_output_that_cannot_be_written(self, run: Run, out: str) -> None:
        before = names()
        for command, options in {
            "publish": ("--retention", "0.3"),
            "compare": ("--retention", "0.3", "--methods", "uniform", "--runs", "2"),
        }.items():
            ran = run(command, *BASE, *options, "--out", out)
            assert ran.code == 2
            assert len(ran.err.splitlines()) == 1
            assert out in ran.err
        assert names() == before
        assert Path("people.csv").stat().st_size > 1000

    def test_errors_for_machines(self, run: Run) -> None:
        ran = run("publish", *BASE, "--rho", "0.5:0.1", "--out", "public", "--json")
        assert ran.code == 2
        assert set(ran.json) == {"error"}

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("people.parquet",), "no promise to check"),
            (("people.parquet", "--rho", "0.1:0.5"), "no sensitive column given"),
            ((*BASE, "--reconstruction", "0.3:0.3", "--retention", "2"), "--retention: a retention must be"),
            ((*BASE, "--reconstruction", "0:0.3"), "--reconstruction: the relative error must be above 0"),
            ((*BASE, "--rho", "0.5:0.1"), "--rho: the prior must be"),
            ((*BASE, "--diversity", "0"), "--diversity: l must be a whole number"),
            (
                ("public", "--rho", "0.1:0.5", "--retention", "0.5"),
                "a publication states its sensitive columns",
            ),
            (("public", "--diversity", "2"), "diversity does not apply"),
        ],
    )
    def test_check_refuses(self, run: Run, arguments: tuple[str, ...], said: str) -> None:
        run("publish", *BASE, "--retention", "0.3", "--out", "public")
        ran = run("check", *arguments)
        assert ran.code == 2
        assert said in ran.err

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("people.parquet",), "this is not a publication"),
            (("nowhere",), "this is not a publication"),
            (("public", "--where", "ages=1"), "--where"),
            (("public", "--where", "age=20-29"), "did you mean '20-39'?"),
            (("public", "--where", "age"), "--where: cannot read this condition"),
            (("public", "--by", "ages"), "there is no such public column (found 'ages')"),
            (("public", "--level", "1"), "the level must be between 0 and 1"),
        ],
    )
    def test_count_refuses(self, run: Run, arguments: tuple[str, ...], said: str) -> None:
        run("publish", *BASE, "--retention", "0.3", "--out", "public")
        ran = run("count", *arguments)
        assert ran.code == 2
        assert said in ran.err
        assert len(ran.err.splitlines()) == 1

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--methods", "unifrom", "--retention", "0.3"), "did you mean 'uniform'?"),
            (("--methods", "uniform"), "the method uniform needs more"),
            (("--methods", ",", "--retention", "0.3"), "--methods: no method given"),
            (("--methods", "uniform", "--retention", "0.3", "--sweep", "retention"), "--sweep: cannot read"),
            (
                ("--methods", "uniform", "--retention", "0.3", "--sweep", "retention=a"),
                "--sweep: cannot read",
            ),
            (
                ("--methods", "uniform", "--retention", "0.3", "--sweep", "retention=0.5,2"),
                "a retention must be",
            ),
            (
                ("--methods", "uniform", "--retention", "0.3", "--sweep", "l=2"),
                "none of the compared methods has this",
            ),
            (("--methods", "uniform", "--retention", "0.3", "--selectivity", "100"), "--selectivity"),
            (
                ("--methods", "uniform", "--retention", "0.3", "--selectivity", "99"),
                "none of the drawn queries counts",
            ),
            (("--methods", "anatomy", "--diversity", "9"), "anatomy, l 9: buckets of 9 different values"),
        ],
    )
    def test_compare_refuses(self, run: Run, options: tuple[str, ...], said: str) -> None:
        ran = run("compare", *BASE, *options, "--out", "errors")
        assert ran.code == 2
        assert said in ran.err
        assert not Path("errors").exists()


class TestCheck:
    def test_raw_data_with_a_planned_retention(self, run: Run) -> None:
        options = ("--reconstruction", "0.3:0.3", "--retention", "0.5", "--merge", "none")
        ran = run("check", *BASE, *options)
        assert ran.code == 1
        assert "by the paper's bound" in ran.text
        assert "By exact tails" in ran.text
        assert "age=0-19, sex=f, town=Aldea" in ran.text or "The worst groups" in ran.text
        facts = run("check", *BASE, *options, "--json", "--worst", "3").json
        (check,) = facts["checks"]
        assert facts["exit_code"] == 1
        assert check["groups"] == 24
        assert check["records"] == 6000
        for bound in ("chernoff", "exact"):
            assert check[bound]["group_rate"] == check[bound]["groups"] / 24
            assert check[bound]["record_rate"] == pytest.approx(check[bound]["records"] / 6000)
        assert check["exact"]["groups"] >= check["chernoff"]["groups"] > 0
        assert len(check["worst"]) == 3
        assert set(check["worst"][0]["group"]) == {"age", "sex", "town"}
        over = [row["records"] / row["limit"] for row in check["worst"]]
        assert over == sorted(over, reverse=True)

    def test_values_are_merged_unless_told_otherwise(self, run: Run) -> None:
        ran = run("check", *BASE, "--reconstruction", "0.3:0.3", "--retention", "0.5")
        assert "town: 3 values are merged into 1." in ran.out

    def test_a_promise_that_holds(self, run: Run) -> None:
        table = pa.table({"sex": ["f"] * 6 + ["m"] * 6, "ill": ["no", "yes"] * 6})
        pq.write_table(table, "small.parquet")
        options = ("--sensitive", "ill", "--reconstruction", "0.3:0.3", "--retention", "0.5")
        ran = run("check", "small.parquet", *options, "--merge", "none")
        assert ran.code == 0
        assert "No group violates the promise" in ran.text

    def test_raw_data_as_they_are(self, run: Run) -> None:
        options = ("--reconstruction", "0.3:0.3", "--rho", "0.4:0.6", "--diversity", "2", "--json")
        facts = run("check", *BASE, *options).json
        reconstruction, rho, diversity = facts["checks"]
        assert facts["exit_code"] == 1
        assert reconstruction["retention"] == rho["retention"] == 1
        assert reconstruction["exact"]["group_rate"] == 1
        assert rho["posterior"] == 1
        assert diversity["left_out_by_anatomy"] == 0

    def test_rho_for_a_planned_retention(self, run: Run) -> None:
        kept = run("check", *BASE, "--rho", "0.4:0.6", "--retention", "0.1")
        assert kept.code == 0
        assert "As these records are, a reader who sees the public values becomes at most" in kept.text
        broken = run("check", *BASE, "--rho", "0.4:0.6", "--retention", "0.7", "--json")
        assert broken.code == 1
        assert broken.json["checks"][0]["posterior"] > 0.6
        none = run("check", *BASE, "--rho", "0.01:0.6", "--retention", "0.7")
        assert "the promise protects nobody" in none.text

    def test_a_finished_publication(self, run: Run) -> None:
        promise = ("--reconstruction", "0.3:0.3")
        run("publish", *BASE, "--retention", "0.5", "--out", "uniform")
        run("publish", *BASE, *promise, "--retention", "0.5", "--out", "sampled")
        uniform = run("check", "uniform", *promise, "--json")
        sampled = run("check", "sampled", *promise, "--json")
        assert uniform.code == 1
        assert uniform.json["checks"][0]["chernoff"]["record_rate"] > 0.4
        assert uniform.json["checks"][0]["surely_violated"] > 0
        assert sampled.code == 0
        assert sampled.json["checks"][0]["chernoff"]["groups"] == 0
        assert sampled.json["checks"][0]["records"] == 6000
        assert "sampled" in run("check", "sampled", *promise).out
        text = run("check", "uniform", *promise).text
        assert "break the promise, whatever the records are" in text
        assert "These frequencies are estimates" in text

    def test_a_publication_s_rho_and_diversity(self, run: Run) -> None:
        run("publish", *BASE, "--rho", "0.4:0.6", "--out", "uniform")
        run("publish", *BASE, "--rho", "0.4:0.6", "--method", "partitioned", "--out", "partitioned")
        run("publish", *BASE, "--retention", "0.9", "--out", "loose")
        run("publish", *BASE, "--diversity", "3", "--out", "anatomy")
        for name, code in {"uniform": 3, "partitioned": 3, "loose": 1}.items():
            assert run("check", name, "--rho", "0.4:0.6").code == code
        assert run("check", "anatomy", "--diversity", "3").code == 0
        assert run("check", "anatomy", "--diversity", "4").code == 1


class TestCheckFolder:
    RAW = (*BASE, "--reconstruction", "0.3:0.3", "--retention", "0.5", "--merge", "none")

    def test_all_numbers_are_written(self, run: Run) -> None:
        said = run("check", *self.RAW)
        ran = run("check", *self.RAW, "--out", "checked")
        assert ran.code == said.code == 1
        assert ran.out.startswith(said.out)
        assert names("checked") == {"checks.json", "groups.parquet", "run.json", "report.html"}
        files = "checks.json, groups.parquet, run.json, report.html"
        assert f"Wrote {files} to checked/." in ran.text
        facts = run("check", *self.RAW, "--json").json
        content = json.loads(Path("checked/checks.json").read_text("utf-8"))
        assert content["checks"] == facts["checks"]
        assert content["exit_code"] == 1
        manifest = json.loads(Path("checked/run.json").read_text("utf-8"))
        assert manifest["kind"] == "check"
        assert manifest["parameters"]["reconstruction"] == "0.3:0.3"
        assert set(manifest["inputs"]) == {"people.parquet"}
        table = pq.read_table("checked/groups.parquet")
        assert table.num_rows == facts["checks"][0]["groups"] == 24
        assert sum(table["exact_violated"].to_pylist()) == facts["checks"][0]["exact"]["groups"]

    def test_json_names_the_folder_and_the_page(self, run: Run) -> None:
        facts = run("check", *self.RAW, "--out", "checked", "--json").json
        assert (facts["folder"], facts["report"]) == ("checked", str(Path("checked/report.html")))
        facts = run("check", *self.RAW, "--out", "bare", "--no-report", "--json").json
        assert (facts["folder"], facts["report"]) == ("bare", None)
        assert "report.html" not in names("bare")
        facts = run("check", *self.RAW, "--json").json
        assert (facts["folder"], facts["report"]) == (None, None)

    def test_only_a_check_is_replaced(self, run: Run) -> None:
        assert run("check", *self.RAW, "--out", "checked").code == 1
        again = run("check", *self.RAW, "--out", "checked")
        assert again.code == 2
        assert "add --overwrite" in again.err
        replaced = run("check", *BASE, "--diversity", "3", "--out", "checked", "--overwrite")
        assert replaced.code == 1
        assert names("checked") == {"checks.json", "diversity.parquet", "run.json", "report.html"}
        Path("mine").mkdir()
        Path("mine/letter.txt").write_text("dear", "utf-8")
        for out in ("mine", "people.csv", "people.csv/checked"):
            refused = run("check", *self.RAW, "--out", out, "--overwrite")
            assert refused.code == 2
            assert out in refused.err
            assert len(refused.err.splitlines()) == 1
        assert names("mine") == {"letter.txt"}
        assert names() == {"people.parquet", "people.csv", "checked", "mine"}

    def test_bad_input_leaves_no_folder(self, run: Run) -> None:
        for options in (("--rho", "0.5:0.1"), ("--diversity", "0"), ()):
            assert run("check", *BASE, *options, "--out", "checked").code == 2
            assert names() == {"people.parquet", "people.csv"}

    @pytest.mark.parametrize(
        ("options", "promise", "code", "files"),
        [
            (("--rho", "0.4:0.6"), ("--rho", "0.4:0.6"), 3, set[str]()),
            (("--rho", "0.4:0.6", "--method", "partitioned"), ("--rho", "0.4:0.6"), 3, set[str]()),
            (("--retention", "0.9", "--format", "csv"), ("--rho", "0.4:0.6"), 1, set[str]()),
            (("--diversity", "3"), ("--diversity", "3"), 0, {"diversity.parquet"}),
        ],
    )
    def test_exit_codes_of_publications_stay(
        self, run: Run, options: tuple[str, ...], promise: tuple[str, ...], code: int, files: set[str]
    ) -> None:
        run("publish", *BASE, *options, "--out", "public")
        ran = run("check", "public", *promise, "--out", "checked")
        assert ran.code == code
        assert names("checked") == {"checks.json", "run.json", "report.html", *files}
        manifest = json.loads(Path("checked/run.json").read_text("utf-8"))
        assert "publication.json" in manifest["inputs"]
        assert len(manifest["inputs"]) == 2


class TestCount:
    def test_with_error_bars(self, run: Run) -> None:
        run("publish", *BASE, "--retention", "0.5", "--out", "public")
        ran = run("count", "public", "--where", "age=20-39|40-59,disease=flu")
        shape = r"About [\d,]+ records, between [\d,]+ and [\d,]+ \(95\xa0% confidence\)\.\n"
        assert re.fullmatch(shape, ran.out)
        wide, narrow = (
            run("count", "public", "--where", "disease=flu", "--level", level, "--json").json
            for level in ("0.99", "0.5")
        )
        assert wide["low"] < narrow["low"] < wide["value"] < narrow["high"] < wide["high"]
        exact = run("count", "public", "--where", "sex=f")
        number = people()["sex"].to_pylist().count("f")
        assert exact.out == f"Exactly {number:,} records.\n"

    def test_by_columns(self, run: Run) -> None:
        run("publish", *BASE, "--retention", "0.5", "--out", "public")
        ran = run("count", "public", "--by", "age,sex", "--where", "disease=flu")
        assert len(ran.out.splitlines()) == 1 + 8
        assert ran.out.splitlines()[0].split()[:4] == ["age", "sex", "disease", "about"]
        rows = run("count", "public", "--by", "sex", "--consistent", "--json").json["rows"]
        assert len(rows) == 2 * len(VALUES)
        assert all(row["value"] >= 0 and row["low"] <= row["value"] <= row["high"] for row in rows)
        women = sum(row["value"] for row in rows if row["sex"] == "f")
        assert women == pytest.approx(people()["sex"].to_pylist().count("f"))
        by_value = run("count", "public", "--by", "disease", "--json").json["rows"]
        assert [row["disease"] for row in by_value] == list(VALUES)

    def test_an_anatomy_claims_no_confidence(self, run: Run) -> None:
        table = pa.table({"sex": ["f", "m"] * 50, "disease": ["flu"] * 80 + ["cold", "gout"] * 10})
        pq.write_table(table, "skewed.parquet")
        run("publish", "skewed.parquet", "--sensitive", "disease", "--diversity", "2", "--out", "public")
        ran = run("count", "public", "--by", "sex")
        assert "confidence" not in ran.text
        assert "whatever the pairing" in ran.text
        assert "60 records were left out of the publication; upper ends allow for them." in ran.text
        facts = run("count", "public", "--by", "sex", "--json").json
        assert (facts["level"], facts["left_out"]) == (None, 60)
        truth = Counter(zip(table["sex"].to_pylist(), table["disease"].to_pylist(), strict=True))
        for row in facts["rows"]:
            assert row["error"] is None
            assert row["low"] <= truth[row["sex"], row["disease"]] <= row["high"]
        women = run("count", "public", "--where", "sex=f")
        assert "60 records were left out, so between" in women.text
        assert "xactly" not in women.text

    def test_no_number_is_negative_but_in_json(self, run: Run) -> None:
        """Ten values that nobody has: their unbiased estimates are as often below 0 as above."""
        rare = [f"rare {at}" for at in range(10)]
        table = pa.table({"sex": ["f", "m"] * 1005, "disease": ["none"] * 2000 + rare})
        pq.write_table(table, "rare.parquet")
        options = ("--retention", "0.2", "--seed", str(2**80 + 3), "--out", "public")
        run("publish", "rare.parquet", "--sensitive", "disease", *options)
        rows = run("count", "public", "--by", "disease", "--json").json["rows"]
        assert min(row["value"] for row in rows) < 0
        assert all(0 <= row["low"] <= row["high"] <= 2010 for row in rows)
        shown = run("count", "public", "--by", "disease").out
        assert not re.search(r"[-−]\d", shown)
        lowest = min(rows, key=lambda row: row["value"])["disease"]
        assert run("count", "public", "--where", f"disease={lowest}").out.startswith(
            "About 0 records, between 0"
        )

    def test_merged_values_are_told(self, run: Run) -> None:
        run("publish", *BASE, "--reconstruction", "0.3:0.3", "--retention", "0.5", "--out", "public")
        ran = run("count", "public", "--where", "town=Brook,disease=flu")
        assert ran.code == 0
        assert "public values were merged" in ran.err
        assert "answered for disease=flu" in ran.err

    def test_foreign_text_stays_text(self, run: Run) -> None:
        hostile = "\x1b[31m[red]\u202eevil"
        table = pa.table({"sex": ["f", hostile] * 200, "ill": ["no", "yes", "yes", hostile] * 100})
        pq.write_table(table, "odd.parquet")
        options = ("odd.parquet", "--sensitive", "ill")
        for ran in (
            run("publish", *options, "--reconstruction", "0.3:0.3", "--retention", "0.5", "--out", "public"),
            run("count", "public", "--by", "sex"),
            run("count", "public", "--where", f"sex={hostile}x"),
            run("check", *options, "--reconstruction", "0.3:0.3", "--retention", "0.5", "--merge", "none"),
            run("check", "public", "--reconstruction", "0.3:0.3", "--json"),
        ):
            assert "\x1b" not in ran.out + ran.err
            assert "\u202e" not in ran.out + ran.err


class TestCompare:
    ALL = (
        *("--methods", "uniform,partitioned,sampled,anatomy", "--rho", "0.4:0.6", "--diversity", "2"),
        *("--reconstruction", "0.3:0.3", "--retention", "0.5", "--runs", "3"),
    )

    def test_prints_a_table_and_writes_the_numbers(self, run: Run) -> None:
        ran = run("compare", *BASE, *self.ALL, "--out", "errors")
        assert ran.code == 0, ran.err
        tables = {"comparison.parquet", "comparison.csv", "answers.parquet", "violations.parquet"}
        assert names("errors") == {*tables, "run.json", "report.html"}
        table = pq.read_table("errors/comparison.parquet")
        assert table.num_rows == 5 * 3
        assert table["method"].unique().to_pylist() == ["uniform", "partitioned", "sampled", "anatomy"]
        # A wide table goes on below, so only its first part is read here.
        first = ran.out.split("\n\n")[1].splitlines()
        lines = [line.split() for line in first if line.startswith(("uniform", "sampled"))]
        assert len(lines) == 3
        shown = f"{100 * table['error'][0].as_py():.2f}"
        assert shown in lines[0]
        with Path("errors/comparison.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [float(row["error"]) for row in rows] == pytest.approx(table["error"].to_pylist())
        facts = json.loads(Path("errors/run.json").read_text("utf-8"))
        assert facts["headline"].replace("\xa0", " ") in ran.text
        assert "Not to be ranked with them, for another promise" in facts["headline"]
        assert facts["records"] == 6000
        assert facts["groups_after_merging"] < facts["groups"] == 24
        assert set(facts["inputs"]) == {"people.parquet"}

    def test_sweeps(self, run: Run) -> None:
        options = ("--methods", "uniform,sampled", "--reconstruction", "0.3:0.3", "--retention", "0.5")
        sweeps = ("--sweep", "retention=0.2,0.8", "--sweep", "error=0.1")
        facts = run("compare", *BASE, *options, *sweeps, "--runs", "2", "--pool", "single", "--json").json
        found = {(row["method"], row["parameter"], row["value"]): row["error"] for row in facts["rows"]}
        assert len(facts["rows"]) == 3 * len(found) == 3 * 6
        assert found["uniform", "retention", 0.8] < found["uniform", "retention", 0.2]
        assert facts["queries"] == 5000

    def test_the_same_seed_gives_the_same_numbers(self, run: Run) -> None:
        for out in ("one", "two"):
            assert run("compare", *BASE, *self.ALL, "--out", out).code == 0
        one, two = (Path(out, "comparison.csv").read_bytes() for out in ("one", "two"))
        assert one == two

    def test_only_a_comparison_is_replaced(self, run: Run) -> None:
        options = (*BASE, "--methods", "uniform", "--retention", "0.5", "--runs", "2")
        assert run("compare", *options, "--out", "errors").code == 0
        again = run("compare", *options, "--out", "errors")
        assert again.code == 2
        assert "add --overwrite" in again.err
        assert run("compare", *options, "--out", "errors", "--overwrite").code == 0
        Path("mine").mkdir()
        Path("mine/run.json").write_text("{}", "utf-8")
        assert run("compare", *options, "--out", "mine", "--overwrite").code == 2
        assert names("mine") == {"run.json"}

    def test_json_names_the_folder_and_the_page(self, run: Run) -> None:
        options = (*BASE, "--methods", "uniform", "--retention", "0.5", "--runs", "1", "--json")
        promised = run("compare", *options, "--reconstruction", "0.3:0.3", "--out", "errors").json
        assert (promised["folder"], promised["report"]) == ("errors", str(Path("errors/report.html")))
        assert {row["bound"] for row in promised["violations"]} == {"chernoff", "exact"}
        bare = run("compare", *options, "--out", "bare", "--no-report").json
        assert bare["report"] is None
        assert "violations" not in bare
        assert names("bare") == {"comparison.parquet", "comparison.csv", "answers.parquet", "run.json"}
        manifest = json.loads(Path("bare/run.json").read_text("utf-8"))
        assert manifest["outputs"].keys() == names("bare") - {"run.json"}


def test_help(run: Run) -> None:
    shown = run("--help").out
    for command in ("publish", "check", "count", "compare"):
        assert command in shown
        assert run(command, "--help").out.startswith(f"Usage: showthrough {command}")
