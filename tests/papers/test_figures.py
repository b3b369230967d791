"""The figures of the papers: how they are judged, written and drawn, and what follows from their data."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.interquantile_draws import TABLE_1 as IQR_TABLE_1
from benchmarks.paper import small_domain_tables, sps_cost
from benchmarks.paper.data import Asked, merge, queries, resized
from benchmarks.paper.figure import Curve, Figure, Said, load, save, say
from benchmarks.paper.generate_verify import claims_in, left_by
from benchmarks.paper.interquantile_shapes import figure_3
from benchmarks.paper.page import charts, figures_written, papers_page
from benchmarks.paper.ratios import correlated_answers, table_1, table_2
from benchmarks.paper.reconstruction_privacy import figure_1
from benchmarks.papers import MODULES, main, replaced

from showthrough.microdata.groups import Groups

QUICK = Asked(quick=True, runs=2, queries=200, draws=2, blocks=2)


@pytest.fixture(scope="module")
def groups() -> Groups:
    """Six groups of very different sizes, with three values."""
    counts = [[900, 60, 40], [300, 200, 100], [30, 20, 10], [5, 4, 1], [700, 700, 600], [12, 3, 5]]
    public = {"job": ["a", "a", "b", "b", "c", "c"], "sex": ["f", "m"] * 3}
    return Groups.of(public, {"ill": ["no", "cold", "flu"]}, counts)


@pytest.fixture
def figure() -> Figure:
    """A figure with a spread, a print that came out and one that did not."""
    curve = Curve.of("UP", (1, 2), [[0.1, 0.2], [0.3, 0.2]], [0.2, None])
    said = (Said("it falls", "it does not", holds=False), Said.near(curve, 0.05, "%"))
    return Figure(
        "001", "Figure 9", "A test <b>", "L", "error", (curve,), said, "Because.", ("A note.",), unit="%"
    )


class TestFigure:
    """Judging, writing and reading."""

    def test_a_curve_is_its_mean_with_the_spread_of_draws(self, figure: Figure) -> None:
        (curve,) = figure.curves
        assert curve.mean == pytest.approx([0.2, 0.2])
        assert curve.spread == pytest.approx([np.sqrt(0.02), 0])
        assert curve.off() == pytest.approx(0)
        assert Curve.of("once", "ab", [1, 2]).spread is None

    def test_verdicts(self, figure: Figure) -> None:
        yes, no = figure.said[1], figure.said[0]
        assert figure.verdict == "in part"
        for said, verdict in (((yes,), "reproduced"), ((no,), "not reproduced"), ((), "comparison")):
            plain = figure.to_plain() | {"said": [vars(one) for one in said]}
            assert Figure.from_plain(plain).verdict == verdict

    def test_a_print_too_far_away_is_not_near(self) -> None:
        curve = Curve.of("UP", (1, 2), [0.1, 0.2], [0.1, 0.3])
        assert not Said.near(curve, 0.09).holds
        assert Said.near(curve, 0.11).holds

    def test_files_hold_all_of_it_and_runs_replace_what_they_ran(
        self, figure: Figure, tmp_path: Path
    ) -> None:
        save([figure], tmp_path / "new" / "001.json")
        assert load(tmp_path / "new" / "001.json") == [figure]
        assert load(tmp_path / "none.json") == []
        other = Figure.from_plain(figure.to_plain() | {"place": "Figure 8", "why": "Else."})
        newer = Figure.from_plain(figure.to_plain() | {"why": "Newer."})
        assert [one.why for one in replaced([figure, other], [newer])] == ["Newer.", "Else."]

    def test_it_is_printed_with_its_verdict(self, figure: Figure, capsys: pytest.CaptureFixture[str]) -> None:
        say(figure)
        text = capsys.readouterr().out.replace("\xa0", " ")
        assert "20 % ± 14.1 % (20 %)" in text
        assert "here: it does not: NO" in text
        assert text.endswith("→ in part: Because.\n")

    def test_the_page_shows_every_figure_offline(self, figure: Figure, tmp_path: Path) -> None:
        pytest.importorskip("vl_convert")
        page = figures_written([figure], {"seed": 1}, tmp_path / "papers.html").read_text("utf-8")
        assert "A test &lt;b&gt;" in page
        assert "UP, printed" in page
        assert not re.search(r"https?://(?!www\.w3\.org|vega\.github\.io)", page)
        assert papers_page([figure], {}).content["facts"][1] == ("1", "reproduced in part")

    def test_a_chart_for_each_set_of_places(self, figure: Figure) -> None:
        more = Curve.of("PP", ("x", "y", "z"), [1, 0, 2])
        two = charts(Figure("001", "Figure 9", "t", "L", "e", (*figure.curves, more), log=True))
        assert [len(chart.rows) for chart in two] == [3, 3]
        assert two[1].rows[1]["value"] is None  # nothing has no logarithm


class TestRun:
    """The command."""

    def test_every_paper_has_figures_under_names(self) -> None:
        assert list(MODULES) == ["000", "001", "002", "003"]

    def test_data_that_are_missing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--only", "003", "--data", str(tmp_path)]) == 2
        assert "there is no adult.parquet" in capsys.readouterr().err

    def test_one_figure_of_one_paper(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("vl_convert")
        assert main(["--only", "002", "--figure", "figure 3", "--quick", "--out", str(tmp_path)]) == 0
        assert "002 Figure 3" in capsys.readouterr().out
        assert (tmp_path / "papers.html").is_file()


class TestFindings:
    """What the figures say that need no data."""

    def test_the_printed_errors_of_answers_do_not_follow_from_their_noise(self) -> None:
        at_4 = [one.holds for one in table_1(QUICK).said if one.text.startswith("b = 4,")]
        assert at_4 == [False, False]

    def test_the_second_table_the_first_figure_and_retentions_are_reproduced(self) -> None:
        assert table_2(QUICK).verdict == "reproduced"
        assert figure_1(QUICK).verdict == "reproduced"
        assert small_domain_tables.table_1(QUICK).verdict == "reproduced"

    def test_the_printed_signs_and_areas_are_wrong(self) -> None:
        assert correlated_answers(QUICK).verdict == "not reproduced"
        assert figure_3(QUICK).verdict == "not reproduced"

    def test_theorem_2_holds_though_its_proof_does_not(self) -> None:
        theorem = small_domain_tables.theorem_2(QUICK)
        assert [one.holds for one in theorem.said] == [True, False]
        paper, hoeffding, theta = (np.array(curve.mean) for curve in theorem.curves)
        assert (paper <= hoeffding).all()
        assert (hoeffding <= 0.05).all()
        assert (theta > 1).any()

    def test_the_third_table_of_small_domains_is_within_its_draws(self) -> None:
        assert small_domain_tables.table_3(Asked(draws=3)).verdict == "reproduced"

    def test_prints_are_complete(self) -> None:
        assert {len(row) for row in IQR_TABLE_1.values()} == {10}


class TestCostOfSampling:
    """The derivation, against the publications and against a simulation of its own."""

    def test_three_ways_agree(self, groups: Groups) -> None:
        pool = queries(groups, None, Asked(queries=100))
        expected = sps_cost.derived(pool, 0.5, sampled=True) / sps_cost.derived(pool, 0.5, sampled=False)
        for way in (sps_cost.published_errors, sps_cost.simulated_errors):
            uniform, sampled = way(pool, 0.5, 100)
            ratio = sampled.mean() / uniform.mean()
            error = ratio * np.hypot(
                sampled.std(ddof=1) / sampled.mean(), uniform.std(ddof=1) / uniform.mean()
            )
            assert abs(ratio - expected) < 4 * error / np.sqrt(100) + 0.05

    def test_sampling_costs_nothing_where_groups_are_within_their_limits(self) -> None:
        small = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6, 4], [4, 6]])
        pool = queries(small, None, Asked(queries=20))
        assert sps_cost.derived(pool, 0.5, sampled=True) == sps_cost.derived(pool, 0.5, sampled=False)


class TestData:
    """Data of other sizes."""

    def test_smaller_is_a_sample_and_larger_takes_records_again(self, groups: Groups) -> None:
        less, more = (resized(groups, size, seed=1) for size in (100, 2 * groups.records + 7))
        assert (less.records, more.records) == (100, 2 * groups.records + 7)
        assert len(less) <= len(groups) == len(more)
        extra = (more.counts - 2 * groups.counts).toarray()
        assert extra.min() >= 0
        assert extra.sum() == 7
        assert merge(more).groups.records == more.records


class TestGenerated:
    """Claims of datasets, and what several have in common."""

    def test_by_hand(self) -> None:
        one, two = np.array([[0, 1], [0, 0]]), np.array([[0, 1], [0, 1]])
        claims = claims_in(one)
        assert ((0,), b"\x00", 2) in claims
        assert ((0, 1), b"\x00\x01", 1) in claims
        assert len(claims) == 5
        common, sizes = left_by([one, two], (1, 2, 5))
        assert common == {((0,), b"\x00", 2)}
        assert sizes == {1: 5, 2: 1, 5: 1}
