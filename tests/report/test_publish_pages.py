"""The pages of publications, checks and comparisons: their numbers, their secrets, and in a browser."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from report.browser import Tab
from report.runs import HOSTILE
from showthrough.cli import main
from showthrough.errors import RunError
from showthrough.microdata.check import check
from showthrough.microdata.check_published import (
    CheckedGroups,
    check_diversity,
    check_reconstruction,
    check_rho,
)
from showthrough.microdata.comparison_tables import MOST_ANSWERS, answers_table, violations_table
from showthrough.microdata.groups import Groups
from showthrough.microdata.methods import Setting, settings
from showthrough.microdata.promises import LDiversity, RhoPrivacy
from showthrough.microdata.publication import Publication
from showthrough.microdata.queries import single_queries
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.microdata.utility import measure_settings
from showthrough.report import publication_page
from showthrough.report.charts import Chart
from showthrough.report.group_charts import EXACT_LIMIT, MOST_POINTS, S_G, group_charts
from showthrough.report.page import Section, render
from showthrough.report.plots import plot_check, plot_comparison, plot_publication
from showthrough.report.write import page_of, write_report
from showthrough.text import percent

PROMISE = ReconstructionPrivacy(0.3, 0.3)
#: A seed with which no estimate happens to be the true number.
SEED = 2**90 + 6
#: How many records have each value. No page of a publication may hold one of these numbers.
COUNTS = {"none": 1471, "flu": 1013, "cold": 829, "gout": 613, "mumps": 397, "measles": 173}


def people(*, seed: int = 3) -> pa.Table:
    """Records with exactly these counts."""
    rng = np.random.default_rng(seed)
    n = sum(COUNTS.values())
    disease = rng.permutation(np.repeat(list(COUNTS), list(COUNTS.values())))
    age = np.where(
        (disease == "none") & (rng.random(n) < 0.5), "20-39", rng.choice(["20-39", "40-59", "60+"], n)
    )
    return pa.table({"age": age, "town": rng.choice(["Aldea", "Brook"], n), "disease": disease})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publications by every method, checks of records and of publications, and comparisons."""
    here = tmp_path_factory.mktemp("pages")
    pq.write_table(people(), here / "people.parquet")
    base = [str(here / "people.parquet"), "--sensitive", "disease"]
    seed = ["--seed", str(SEED)]
    for name, options in {
        "uniform": ["--rho", "0.25:0.5"],
        "given": ["--rho", "0.25:0.5", "--given", "public"],
        "parts": ["--rho", "0.34:0.4", "--method", "partitioned"],
        "sampled": ["--reconstruction", "0.3:0.3", "--retention", "0.5"],
        "anatomy": ["--diversity", "3"],
        "plain": ["--retention", "0.3", "--format", "csv"],
    }.items():
        assert main(["publish", *base, *options, *seed, "--quiet", "--out", str(here / name)]) == 0
    all_three = ["--reconstruction", "0.3:0.3", "--rho", "0.25:0.5", "--diversity", "3", "--retention", "0.5"]
    checks = {
        "raw": [*base, *all_three, "--merge", "none"],
        "of-sampled": [str(here / "sampled"), "--reconstruction", "0.3:0.3"],
        "of-parts": [str(here / "parts"), "--rho", "0.34:0.4"],
        "of-anatomy": [str(here / "anatomy"), "--diversity", "4"],
    }
    for name, options in checks.items():
        assert main(["check", *options, "--quiet", "--out", str(here / name)]) in (0, 1, 3)
    asked = ["compare", *base, "--quiet", "--queries", "30", "--runs", "2", "--retention", "0.5"]
    promised = ["--reconstruction", "0.3:0.3"]
    every = ["--methods", "uniform,sampled,anatomy", "--diversity", "2"]
    assert main([*asked, *promised, *every, "--out", str(here / "errors")]) == 0
    sweeps = ["--methods", "uniform,sampled", "--sweep", "retention=0.2,0.5,0.8", "--sweep", "error=0.2,0.4"]
    assert main([*asked, *promised, *sweeps, "--out", str(here / "sweep")]) == 0
    return here


PUBLICATIONS = ("uniform", "given", "parts", "sampled", "anatomy", "plain")
CHECKS = ("raw", "of-sampled", "of-parts", "of-anatomy")
COMPARISONS = ("errors", "sweep")


def _charts(folder: Path) -> dict[str, Chart]:
    sections: list[Section] = page_of(folder).content["sections"]  # type: ignore[assignment]
    return {chart.name: chart for section in sections for chart in section.charts}


class TestPublication:
    @pytest.mark.parametrize("name", PUBLICATIONS)
    def test_it_follows_from_the_published_files(self, place: Path, tmp_path: Path, name: str) -> None:
        """Made again elsewhere, without the records, and with another name, it is the same to the byte."""
        first = (place / name / "report.html").read_bytes()
        copy = tmp_path / "another place"
        shutil.copytree(place / name, copy)
        (copy / "report.html").unlink()
        assert main(["report", str(copy), "--quiet"]) == 0
        assert (copy / "report.html").read_bytes() == first

    @pytest.mark.parametrize("name", PUBLICATIONS)
    def test_it_holds_no_true_count_and_nothing_about_the_input(self, place: Path, name: str) -> None:
        text = (place / name / "report.html").read_text("utf-8")
        found = {m[0].replace(",", "") for m in re.finditer(r"(?<![\w.,])\d[\d,]*(?![\w.])", text)}
        published = {str(n) for n in COUNTS.values()} & found
        if name == "anatomy":
            # Values are published as they are here, and so is the number of records that were left out.
            said = Publication.open(place / name).manifest
            assert said.suppressed == sum(COUNTS.values()) - said.records
        else:
            assert not published
        digest = json.loads((place / "raw" / "run.json").read_text("utf-8"))["inputs"]["people.parquet"]
        for secret in (digest, "people.parquet", str(SEED), f"{SEED:x}", "seed", str(place)):
            assert secret not in text

    @pytest.mark.parametrize("name", PUBLICATIONS)
    def test_the_distribution_is_what_a_reader_estimates(self, place: Path, name: str) -> None:
        chart = _charts(place / name)["distribution"]
        table = Publication.open(place / name).distribution()
        expected = {row["disease"]: row for row in table.to_pylist()}
        assert [row["value"] for row in chart.rows] == sorted(expected, key=lambda v: -expected[v]["value"])
        for row in chart.rows:
            own = expected[row["value"]]
            about = min(max(own["value"], own["low"]), own["high"])
            assert (row["records"], row["low"], row["high"]) == (about, own["low"], own["high"])

    def test_sub_tables_show_what_they_keep(self, place: Path) -> None:
        chart = _charts(place / "parts")["retention"]
        said = Publication.open(place / "parts").manifest
        assert len(chart.rows) == len(said.tables) > 1
        assert [row["retention"] for row in chart.rows] == [table.retention for table in said.tables]
        assert sum(row["records"] for row in chart.rows) == said.records
        assert "retention" not in _charts(place / "uniform")

    @pytest.mark.parametrize("name", ["sampled", "anatomy", "uniform"])
    def test_a_large_one_is_not_held_in_memory(
        self, place: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(publication_page, "MOST_CHECKED", 10)
        page = page_of(place / name)
        assert "Does the promise hold?" not in {section.title for section in page.content["sections"]}
        unchecked = [text for text in page.content["standfirst"] if "was not checked for this page" in text]
        assert len(unchecked) == (name != "uniform")

    def test_a_sampled_one_says_what_its_promise_is_worth(self, place: Path) -> None:
        publication = Publication.open(place / "sampled")
        checked = check_reconstruction(publication, PROMISE)
        charts = _charts(place / "sampled")
        # No group violates it, so there is nothing to draw of those that do.
        assert checked.found.group_rate("exact") == checked.found.record_rate("chernoff") == 0
        assert "violations" not in charts
        points = [row for row in charts["groups"].rows if row["groups"]]
        assert sum(row["groups"] for row in points) == len(checked.trials)
        assert {row["size"] for row in points} == set(checked.trials.tolist())
        worth = page_of(place / "sampled").content["standfirst"][1]
        assert worth.startswith("It holds in every published group, whatever the records are")
        assert "pooled" in worth

    def test_an_anatomy_shows_its_buckets(self, place: Path) -> None:
        found = check_diversity(Publication.open(place / "anatomy"), LDiversity(3))
        chart = _charts(place / "anatomy")["buckets"]
        assert sum(row["buckets"] for row in chart.rows) == len(found.sizes)
        assert sum(row["buckets"] * row["size"] for row in chart.rows) == found.sizes.sum()
        assert "all keep the promise" in chart.says

    def test_headlines_say_what_is_promised(self, place: Path) -> None:
        said = {name: str(page_of(place / name).content["headline"]) for name in PUBLICATIONS}
        assert (
            "more than 50\xa0% sure of a single value that at most 25\xa0% of the people with the same public"
            in said["uniform"]
        )
        assert "no value has more than 1/3 of a bucket" in said["anatomy"]
        assert "nothing more is promised" in said["plain"]
        for name, text in said.items():
            assert text.startswith(f"{Publication.open(place / name).manifest.records:,} records")

    def test_many_values(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(1)
        values = [f"code {at:03}" for at in rng.geometric(0.05, 5000)]
        table = pa.table({"sex": rng.choice(["f", "m"], 5000), "code": values})
        pq.write_table(table, tmp_path / "codes.parquet")
        options = ["--sensitive", "code", "--retention", "0.4", "--quiet", "--out", str(tmp_path / "public")]
        assert main(["publish", str(tmp_path / "codes.parquet"), *options]) == 0
        chart = _charts(tmp_path / "public")["distribution"]
        assert len(chart.rows) == 25
        assert "The 25 largest of" in chart.note

    def test_a_damaged_one_is_refused(self, place: Path, tmp_path: Path) -> None:
        shutil.copytree(place / "uniform", tmp_path / "public")
        (tmp_path / "public" / "publication.json").write_text("{}", "utf-8")
        assert main(["report", str(tmp_path / "public"), "--quiet"]) == 2


class TestCheck:
    def test_the_groups_are_those_of_the_library(self, place: Path) -> None:
        groups = Groups.read(people(), sensitive="disease")
        found = PROMISE.check(groups, retention=0.5)
        table = pq.read_table(place / "raw" / "groups.parquet")
        assert table.column_names[:2] == ["age", "town"]
        assert table["records"].to_pylist() == table["sampled"].to_pylist() == found.sizes.tolist()
        assert table["frequency"].to_pylist() == found.frequency.tolist()
        assert table["limit"].to_pylist() == found.chernoff_limit.tolist()
        assert table["exact_limit"].to_pylist() == found.exact_limit.tolist()
        assert table["chernoff_violated"].to_pylist() == found.chernoff_violated.tolist()
        assert table["exact_violated"].to_pylist() == found.exact_violated.tolist()

    def test_the_page_has_the_numbers_of_the_folder(self, place: Path) -> None:
        facts = json.loads((place / "raw" / "checks.json").read_text("utf-8"))["checks"]
        charts = _charts(place / "raw")
        shares = {(row["by"], row["share_of"]): row["share"] for row in charts["violations"].rows}
        for bound, name in {"chernoff": "the paper's bound", "exact": "exact tails"}.items():
            assert shares[name, "groups"] == facts[0][bound]["group_rate"]
            assert shares[name, "records"] == pytest.approx(facts[0][bound]["record_rate"])
        broken = sum(row["records"] for row in charts["sizes"].rows if row["what"] != "keeps the promise")
        assert broken == facts[0]["exact"]["records"]
        assert sum(row["groups"] for row in charts["sizes"].rows) == facts[0]["groups"]
        planned = [row for row in charts["posterior"].rows if row["planned"]]
        assert [(row["retention"], row["posterior"]) for row in planned] == [(0.5, facts[1]["posterior"])]
        (of_groups, _) = charts["diversity"].rows
        assert of_groups["share"] == facts[2]["group_rate"] > 0

    def test_only_checks_of_records_are_for_the_publisher_alone(self, place: Path) -> None:
        for name in CHECKS:
            warned = "For the publisher only" in (place / name / "report.html").read_text("utf-8")
            assert warned == (name == "raw")

    def test_sub_tables_with_what_is_left_open(self, place: Path) -> None:
        found = check_rho(Publication.open(place / "parts"), RhoPrivacy(0.34, 0.4))
        rows = _charts(place / "of-parts")["posterior"].rows
        assert [row["posterior"] for row in rows] == found.posterior.tolist()
        assert [(row["low"], row["high"]) for row in rows] == list(
            zip(found.low.tolist(), found.high.tolist(), strict=True)
        )
        assert {row["promised"] for row in rows} == {0.4}
        assert len(rows) > 1

    def test_an_anatomy_that_is_asked_for_more(self, place: Path) -> None:
        found = check_diversity(Publication.open(place / "anatomy"), LDiversity(4))
        table = pq.read_table(place / "of-anatomy" / "diversity.parquet")
        assert table["violated"].to_pylist() == found.violated.tolist()
        assert found.group_rate > 0
        headline = str(page_of(place / "of-anatomy").content["headline"])
        assert "one value has more than 1/4" in headline

    def test_a_public_column_named_like_a_number(self, tmp_path: Path) -> None:
        table = pa.table({"records": ["a", "b"] * 40, "ill": ["no", "yes", "yes", "no"] * 20})
        pq.write_table(table, tmp_path / "odd.parquet")
        options = [
            "--sensitive",
            "ill",
            "--reconstruction",
            "0.3:0.3",
            "--retention",
            "0.5",
            "--merge",
            "none",
        ]
        check = [
            "check",
            str(tmp_path / "odd.parquet"),
            *options,
            "--quiet",
            "--out",
            str(tmp_path / "checked"),
        ]
        assert main(check) == 1
        written = pq.read_table(tmp_path / "checked" / "groups.parquet")
        assert written["records"].to_pylist() == ["a", "b"]
        assert written["records_"].to_pylist() == [40, 40]
        sizes = [row["records"] for row in _charts(tmp_path / "checked")["sizes"].rows]
        assert sum(sizes) == 80

    def test_where_nothing_is_violated_no_empty_chart_is_drawn(self, tmp_path: Path) -> None:
        table = pa.table({"sex": ["f"] * 6 + ["m"] * 6, "ill": ["no", "yes"] * 6})
        pq.write_table(table, tmp_path / "small.parquet")
        check = ["check", str(tmp_path / "small.parquet"), "--sensitive", "ill", "--merge", "none", "--quiet"]
        promises = ["--reconstruction", "0.3:0.3", "--retention", "0.5", "--diversity", "2"]
        assert main([*check, *promises, "--out", str(tmp_path / "checked")]) == 0
        assert set(_charts(tmp_path / "checked")) == {"groups", "sizes", "diversity-sizes"}
        assert page_of(tmp_path / "checked").content["headline"] == (
            "No group violates the promise, neither by exact tails nor by the paper's bound."
        )

    def test_too_many_points_are_thinned_the_same_way_each_time(self) -> None:
        rng = np.random.default_rng(7)
        sizes = rng.integers(1, 4000, 6000)
        largest = np.maximum(1, (sizes * rng.uniform(0.3, 1, len(sizes))).astype(int))
        counts = np.column_stack([largest, sizes - largest])
        groups = Groups.of({"at": list(range(len(sizes)))}, {"ill": ["no", "yes"]}, counts)
        checked = CheckedGroups.of(groups, PROMISE, retention=0.5)
        known = {"retention": 0.5, "n_values": 2, "where": ", but all are in groups.parquet"}
        once, again = (group_charts(checked.to_arrow(), PROMISE, **known)[1] for _ in range(2))
        points = [row for row in once.rows if row["groups"]]
        assert len(points) == MOST_POINTS
        assert once.rows == again.rows
        left = len(sizes) - sum(row["groups"] for row in points)
        assert f"{left:,} of 6,000 groups are not drawn, but all are in groups.parquet" in once.note
        for group in checked.found.worst(50, bound="chernoff").tolist():
            size, frequency = int(sizes[group]), float(checked.found.frequency[group])
            assert any((row["size"], row["frequency"]) == (size, frequency) for row in points)

    def test_curves_are_the_limits(self, place: Path) -> None:
        rows = _charts(place / "raw")["groups"].rows
        drawn = {name: [row for row in rows if row["what"] == name] for name in (S_G, EXACT_LIMIT)}
        at = np.array([row["frequency"] for row in drawn[S_G]])
        paper = PROMISE.largest_group(at, 0.5, len(COUNTS), bound="chernoff")
        assert [row["size"] for row in drawn[S_G]] == pytest.approx(paper.tolist(), rel=1e-3)
        # Exact limits jump with the frequency, so they are asked about where they were drawn.
        low, high = (end(row["frequency"] for row in rows if row["groups"]) for end in (min, max))
        grid = np.geomspace(0.9 * low, min(1, 1.1 * high), len(at))
        exact = PROMISE.largest_group(grid, 0.5, len(COUNTS), bound="exact")
        assert [row["size"] for row in drawn[EXACT_LIMIT]] == exact[exact > 0].tolist()

    def test_a_broken_folder_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "run.json").write_text(json.dumps({"kind": "check"}), "utf-8")
        with pytest.raises(RunError, match="the check cannot be read"):
            page_of(tmp_path)
        (tmp_path / "checks.json").write_text('{"published": false, "checks": []}', "utf-8")
        with pytest.raises(RunError, match="the check cannot be read"):
            page_of(tmp_path)


class TestComparison:
    def test_the_answers_are_those_of_the_first_run(self) -> None:
        groups = Groups.read(people(), sensitive="disease")
        pool = single_queries(groups, seed=1, number=2000)
        found = measure_settings(
            [Setting(UniformPerturbation(0.5)), Setting(UniformPerturbation(0.9))], pool, seed=4, runs=3
        )
        table = answers_table(found, pool, number=40)
        assert table.num_rows == 80
        for at, (_, utility) in enumerate(found):
            off = np.abs(utility.estimates - pool.answers) / pool.answers
            assert off.mean() == pytest.approx(utility.errors[0, 0])
            pairs = set(zip(pool.answers.tolist(), utility.estimates.tolist(), strict=True))
            part = table.slice(40 * at, 40)
            shown = list(zip(part["truth"].to_pylist(), part["estimate"].to_pylist(), strict=True))
            assert set(shown) <= pairs
            assert part["truth"].to_pylist() == sorted(part["truth"].to_pylist())
            assert part["truth"][0].as_py() == pool.answers.min()
            assert part["truth"][-1].as_py() == pool.answers.max()
        assert table["selectivity"].to_pylist() == [n / groups.records for n in table["truth"].to_pylist()]

    def test_the_folder_and_the_page_agree(self, place: Path) -> None:
        answers = pq.read_table(place / "errors" / "answers.parquet").to_pylist()
        charts = {name: chart for name, chart in _charts(place / "errors").items() if "answers" in name}
        assert len(charts) == 3
        for chart in charts.values():
            method = chart.rows[0]["method"]
            mine = [row for row in answers if row["method"] == method]
            assert [row["estimate"] for row in chart.rows] == [row["estimate"] for row in mine]
            assert len(mine) <= MOST_ANSWERS
            off = np.median([abs(row["estimate"] - row["truth"]) / row["truth"] for row in mine])
            assert f"within {float(f'{off:.2g}') * 100:.4g}\xa0%" in chart.says
        text = (place / "errors" / "report.html").read_text("utf-8")
        assert "For the publisher only" in text

    def test_violations_are_those_of_a_check(self) -> None:
        groups = Groups.read(people(), sensitive="disease")
        pool = single_queries(groups, seed=1, number=50)
        methods = [
            UniformPerturbation(0.5),
            UniformPerturbation(promise=RhoPrivacy(0.25, 0.5)),
            Sampled(PROMISE, 0.5),
        ]
        found = measure_settings(settings(methods), pool, seed=1, runs=1)
        rows = violations_table(found, groups, PROMISE).to_pylist()
        assert len(rows) == 6
        for row in rows[:4]:
            checked = PROMISE.check(groups, retention=row["retention"])
            assert row["group_rate"] == checked.group_rate(row["bound"])
            assert row["record_rate"] == checked.record_rate(row["bound"])
            assert row["groups"] == checked.violated(row["bound"]).sum()
        assert {row["retention"] for row in rows[2:4]} == {RhoPrivacy(0.25, 0.5).retention(6)}
        assert [row["groups"] for row in rows[4:] if row["bound"] == "chernoff"] == [0]

    def test_a_swept_error_changes_the_promise_for_all(self) -> None:
        groups = Groups.read(people(), sensitive="disease")
        pool = single_queries(groups, seed=1, number=50)
        chosen = settings([UniformPerturbation(0.5), Sampled(PROMISE, 0.5)], {"error": [0.2, 0.4]})
        rows = violations_table(measure_settings(chosen, pool, seed=1, runs=1), groups, PROMISE).to_pylist()
        assert {(row["method"], row["value"]) for row in rows} == {
            (method, value) for method in ("uniform", "sampled") for value in (0.2, 0.4)
        }
        for row in rows:
            assert (row["error"], row["chance"]) == (row["value"], 0.3)
        uniform = [row for row in rows if row["method"] == "uniform" and row["bound"] == "exact"]
        for row in uniform:
            checked = ReconstructionPrivacy(row["value"], 0.3).check(groups, retention=0.5)
            assert row["group_rate"] == checked.group_rate()

    def test_along_a_sweep(self, place: Path) -> None:
        charts = _charts(place / "sweep")
        kept = {"violations-groups-retention", "violations-records-retention", "violations-groups-error"}
        assert kept <= set(charts)
        rows = pq.read_table(place / "sweep" / "violations.parquet").to_pylist()
        shown = charts["violations-groups-retention"].rows
        assert [row["group_rate"] for row in shown] == [
            row["group_rate"] for row in rows if row["parameter"] == "retention"
        ]
        scatter = charts["answers-retention-uniform"]
        assert [key.name for key in scatter.legend] == ["retention 0.2", "retention 0.8", "exact answer"]
        assert {row["value"] for row in scatter.rows} == {0.2, 0.8}

    def test_a_folder_of_an_older_version_has_a_page_too(self, place: Path, tmp_path: Path) -> None:
        folder = tmp_path / "errors"
        shutil.copytree(place / "errors", folder)
        for name in ("answers", "violations"):
            (folder / f"{name}.parquet").unlink()
        assert set(_charts(folder)) == {"errors"}
        assert "For the publisher only" not in render(page_of(folder))

    def test_without_a_promise_nothing_is_said_about_groups(self, place: Path, tmp_path: Path) -> None:
        compare_ = ["compare", str(place / "people.parquet"), "--sensitive", "disease", "--quiet"]
        options = ["--methods", "uniform", "--retention", "0.5", "--queries", "10", "--runs", "1"]
        assert main([*compare_, *options, "--out", str(tmp_path / "errors")]) == 0
        assert not (tmp_path / "errors" / "violations.parquet").exists()
        assert not any("violations" in name for name in _charts(tmp_path / "errors"))


def test_results_in_notebooks(place: Path) -> None:
    publication = Publication.open(place / "sampled")
    checked = check_reconstruction(publication, PROMISE)
    names = [chart.name for chart in plot_publication(publication)]
    assert names == ["distribution", "groups", "sizes"]
    assert [chart.name for chart in plot_check(checked)] == ["groups", "sizes"]
    diversity = check_diversity(Publication.open(place / "anatomy"), LDiversity(4))
    assert len(plot_check(diversity)) == 2
    tables = {name: pq.read_table(place / "errors" / f"{name}.parquet") for name in ("answers", "violations")}
    comparison = plot_comparison(pq.read_table(place / "errors" / "comparison.parquet"), **tables)
    assert len(comparison) == 1 + 3 + 2
    for chart in (*plot_check(checked), *comparison):
        assert "<svg" in chart._repr_html_()
    assert percent(checked.found.group_rate(), 1) in checked._repr_html_()
    assert percent(checked.found.record_rate("exact"), 1) in checked.found._repr_html_()
    assert "groups that violate it" in diversity._repr_html_()
    tables_ = check_rho(Publication.open(place / "parts"), RhoPrivacy(0.34, 0.4))
    assert tables_._repr_html_().count("<tr>") == 1 + len(tables_.retention)
    results = [check(place / "parts", "rho=0.34:0.4"), check(place / "sampled", PROMISE)]
    assert [len(plot_check(one)) for one in results] == [1, 2]
    groups = Groups.of({"sex": [HOSTILE]}, {"ill": ["no", "yes"]}, [[800, 100]])
    shown = CheckedGroups.of(groups, PROMISE, retention=0.5)._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "kept" in RhoPrivacy(0.3, 0.5).check(groups, retention=0.1)._repr_html_()
    found = measure_settings(
        [Setting(UniformPerturbation(0.5))], single_queries(groups, seed=1, number=5), seed=1, runs=2
    )
    assert percent(float(found[0][1].mean[0]), 2) in found[0][1]._repr_html_()


@pytest.mark.parametrize("name", [*PUBLICATIONS, *CHECKS, *COMPARISONS])
def test_every_chart_has_its_numbers_and_colours_of_the_page(place: Path, name: str) -> None:
    css = (Path(__file__).parents[2] / "src/showthrough/report/assets/page.css").read_text("utf-8")
    sections: list[Section] = page_of(place / name).content["sections"]  # type: ignore[assignment]
    charts = [chart for section in sections for chart in section.charts]
    assert charts
    for chart in charts:
        content = base64.b64decode(chart.download().partition(",")[2]).decode()
        assert len(list(csv.DictReader(io.StringIO(content)))) == len(chart.rows) > 0
        for svg in chart.pictures().values():
            assert "NaN" not in svg
            for what, colour in re.findall(r'(fill|stroke)="(#[0-9a-f]+)"', svg):
                assert f'[{what}="{colour}"]' in css, (chart.name, what, colour)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("name", ["parts", "sampled", "anatomy", "raw", "errors"])
def test_in_a_browser(browser: Any, place: Path, name: str, width: int, scheme: str) -> None:
    tab = Tab(browser, place / name / "report.html", width=width, scheme=scheme)
    tab.check_figures(2)
    ids = tab.page.locator("[id]").evaluate_all("all => all.map(one => one.id)")
    assert len(ids) == len(set(ids))
    tab.check_accessible()
    tab.close()


def test_hostile_names_and_values_are_text(browser: Any, tmp_path: Path) -> None:
    evil, column = f"x{HOSTILE}", HOSTILE.replace("\x1b", "").replace("\n", " ")
    table = pa.table({column: ["f", evil] * 300, f"ill{column}": ["no", "yes", "yes", evil] * 150})
    pq.write_table(table, tmp_path / "odd.parquet")
    data = [str(tmp_path / "odd.parquet"), "--sensitive", f"ill{column}", "--quiet"]
    promise = ["--reconstruction", "0.3:0.3", "--retention", "0.5"]
    public, checked, errors = (str(tmp_path / name) for name in ("public", "checked", "errors"))
    assert main(["publish", *data, *promise, "--out", public]) == 0
    assert main(["check", *data, *promise, "--merge", "none", "--out", checked]) == 1
    compare_ = ["compare", *data, *promise, "--methods", "uniform,sampled", "--queries", "5", "--runs", "1"]
    assert main([*compare_, "--merge", "none", "--out", errors]) == 0
    for folder in (public, checked, errors):
        tab = Tab(browser, write_report(folder), width=390)
        assert "owned" not in tab.page.title()
        assert tab.page.locator("img").count() == 0
        tab.check_width()
        if folder != errors:
            assert "<script>document" in tab.page.locator("main").inner_text()
        tab.close()
