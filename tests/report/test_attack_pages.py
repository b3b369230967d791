"""The pages of attacks on several columns, of the ratio attack and of advice: numbers, and in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import showthrough as st
from report.browser import Tab
from report.runs import HOSTILE
from showthrough.cli import main
from showthrough.errors import RunError
from showthrough.numbers.noise import LaplaceNoise
from showthrough.numbers.ratio import ratio_attack
from showthrough.report import plots
from showthrough.report.charts import Chart
from showthrough.report.page import Section, Sheet
from showthrough.report.write import page_of, write_report

NAMES = ("income", "debt", "age")


def _write(path: Path, names: tuple[str, ...], matrix: np.ndarray) -> str:
    pq.write_table(pa.table(dict(zip(names, matrix.T, strict=True))), path)
    return str(path)


def _columns(names: tuple[str, ...]) -> list[str]:
    return [word for name in names for word in ("--column", name)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An attack on three columns with and without the truth, a ratio attack, and advice."""
    here = tmp_path_factory.mktemp("attacks")
    rng = np.random.default_rng(4)
    common = rng.normal(0, 1, (700, 1))
    true = 100 + common * [10.0, 20.0, 0.0] + rng.normal(0, 1, (700, 3)) * [3.0, 5.0, 8.0]
    noisy = true + rng.normal(0, 8, (700, 3))
    truth = _write(here / "true.parquet", NAMES, true)
    command = ["attack", _write(here / "noisy.parquet", NAMES, noisy), *_columns(NAMES)]
    command += ["--noise", "gaussian:sd=8", "--privacy", "10,20", "--quiet"]
    assert main([*command, "--truth", truth, "--out", str(here / "attack")]) == 1
    assert main([*command, "--out", str(here / "blind")]) == 3
    people: dict[str, Any] = {
        "town": np.repeat(["Aldea", "Brook", "Cove"], [1500, 480, 20]),
        "job": np.tile(["clerk", "nurse"], 1000),
        "ill": rng.choice(["no", "yes"], 2000, p=[0.8, 0.2]),
    }
    pq.write_table(pa.table(people), here / "people.parquet")
    ratio = ["attack", str(here / "people.parquet"), "--sensitive", "ill", "--quiet"]
    assert main([*ratio, "--epsilon", "0.1", "--out", str(here / "ratio")]) == 1
    assert main([*ratio, "--gaussian", "300", "--out", str(here / "hidden")]) == 0
    advise = ["advise", truth, "--column", "income", "--share", "0.1", "--privacy", "10", "--quiet"]
    assert main([*advise, "--draws", "1", "--confirmations", "4", "--out", str(here / "advice")]) == 0
    return here


def _sections(folder: Path) -> list[Section]:
    return page_of(folder).content["sections"]


def _charts(folder: Path) -> dict[str, Chart]:
    return {chart.name: chart for section in _sections(folder) for chart in section.charts}


def _tables(folder: Path) -> list[Sheet]:
    return [table for section in _sections(folder) for table in section.tables]


def _summary(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text("utf-8"))


class TestEllipses:
    def test_the_shapes_are_those_of_the_data(self, place: Path) -> None:
        """Means and covariances, recomputed from the files that were attacked."""
        summary = _summary(place / "attack")
        assert summary["pairs"][0]["columns"] == ["income", "debt"]
        assert len(summary["pairs"]) == 3
        for pair in summary["pairs"]:
            assert list(pair["shapes"]) == ["noisy", "noise", "sf", "pca", "be", "true"]
            for name in ("noisy", "true"):
                table = pq.read_table(place / f"{name}.parquet")
                values = np.column_stack([table[column] for column in pair["columns"]])
                shape = pair["shapes"][name]
                assert shape["mean"] == pytest.approx(values.mean(axis=0))
                assert np.array(shape["covariance"]) == pytest.approx(np.cov(values, rowvar=False))
            assert np.array(pair["shapes"]["noise"]["covariance"]) == pytest.approx(np.diag([64.0, 64.0]))

    def test_the_chart_holds_the_summary_and_draws_what_it_says(self, place: Path) -> None:
        (pair, *_) = _summary(place / "attack")["pairs"]
        chart = _charts(place / "attack")["ellipses-income-debt"]
        for row in chart.rows:
            shape = pair["shapes"][row["values"]]
            assert [row["mean_first"], row["mean_second"]] == shape["mean"]
            assert row["sd_first"] ** 2 == pytest.approx(shape["covariance"][0][0])
            assert row["correlation"] == pytest.approx(shape["correlation"])
        correlation = pair["shapes"]["true"]["correlation"]
        assert chart.says.startswith(f"A correlation of {correlation:.2f} becomes ")
        points, thin, thick = chart.spec["layer"]
        assert 300 < len(points["data"]["values"]) <= 400
        for layer, radius in ((thin, 2.279), (thick, 5.991)):
            for name in ("noisy", "true", "be"):
                shape = pair["shapes"][name]
                line = [row for row in layer["data"]["values"] if row["values"] == name]
                away = np.array([[row["x"], row["y"]] for row in line]) - shape["mean"]
                inside = np.einsum("ij,jk,ik->i", away, np.linalg.inv(shape["covariance"]), away)
                assert inside == pytest.approx(np.full(len(line), radius), rel=0.01)

    def test_points_are_published_or_rebuilt_never_true(self, place: Path) -> None:
        points = pq.read_table(place / "attack" / "points.parquet").to_pylist()
        assert {row["values"] for row in points} == {"noisy", "sf", "pca", "be"}
        noisy = pq.read_table(place / "noisy.parquet")
        pairs = _summary(place / "attack")["pairs"]
        for row in points:
            if row["values"] == "noisy":
                first, second = pairs[row["pair"] - 1]["columns"]
                assert row["first"] == noisy[first][row["row"] - 1].as_py()
                assert row["second"] == noisy[second][row["row"] - 1].as_py()

    def test_without_the_truth(self, place: Path) -> None:
        (pair, *_) = _summary(place / "blind")["pairs"]
        assert "true" not in pair["shapes"]
        page = page_of(place / "blind").content
        assert page["warning"] == ""
        assert _charts(place / "blind")["ellipses-income-debt"].says.startswith("As published")

    def test_the_page_made_with_the_truth_says_whom_it_is_for(self, place: Path) -> None:
        assert "for the publisher only" in page_of(place / "attack").content["warning"]


def test_a_spike_does_not_flatten_the_densities(tmp_path: Path) -> None:
    """Under huge noise, principal components put everybody on one point."""
    rng = np.random.default_rng(1)
    true = rng.normal(100, 5, (500, 2))
    noisy = true + rng.normal(0, 500, (500, 2))
    names = ("a", "b")
    command = ["attack", _write(tmp_path / "noisy.parquet", names, noisy), *_columns(names)]
    truth = _write(tmp_path / "true.parquet", names, true)
    main(
        [*command, "--noise", "gaussian:sd=500", "--truth", truth, "--quiet", "--out", str(tmp_path / "run")]
    )
    chart = _charts(tmp_path / "run")["densities-a"]
    peaks = {row["values"]: 0.0 for row in chart.rows}
    for row in chart.rows:
        peaks[row["values"]] = max(peaks[row["values"]], row["density"])
    top = chart.spec["encoding"]["y"]["scale"]["domain"][1]
    assert peaks["rebuilt (pca)"] > 1000 * peaks["true"]
    assert top == pytest.approx(3 * peaks["true"])
    assert "rebuilt (pca) (up to" in chart.note
    column = _summary(tmp_path / "run")["columns"][0]
    assert sum("no spread is recoverable" in doubt for doubt in column["doubts"]) == 1
    (section, *_) = _sections(tmp_path / "run")
    assert section.lede.count("no spread is recoverable") == 1
    exposure = _charts(tmp_path / "run")["exposure-a"]
    assert "not counted: sf, pca" in exposure.note
    assert "by sf" not in exposure.says
    assert "by pca" not in exposure.says


class TestAdvice:
    def test_the_page_holds_the_files(self, place: Path) -> None:
        folder = place / "advice"
        rows = pq.read_table(folder / "scales.parquet").to_pylist()
        summary = _summary(folder)
        scale = summary["trial"]["scale"]
        chart = _charts(folder)["advice"]
        assert sorted((row["scale"], row["share"], row["low"], row["high"]) for row in chart.rows) == sorted(
            (row["scale"], row["share"], row["low"], row["high"]) for row in rows
        )
        curve = [row for row in rows if row["role"] == "curve"]
        assert len(curve) == len(summary["curve"]) == 9
        assert curve[4]["scale"] == scale
        assert [row["share"] for row in curve] == [one["disclosed"] for one in summary["curve"]]
        assert all(row["low"] <= row["share"] <= row["high"] for row in rows)
        assert [row["disclosed"] / row["people"] for row in rows] == [row["share"] for row in rows]
        headline = page_of(folder).content["headline"]
        assert f"Noise {scale:.3g} times as wide" in headline
        assert "10\u00a0% of 700 people" in headline
        methods = _charts(folder)["advice-methods"]
        for row in methods.rows:
            (mine,) = [one for one in curve if one["scale"] == row["scale"]]
            assert row["share"] == mine[f"by {row['method']}"]
        (lost, tried) = _tables(folder)
        assert len(tried.rows) == len(rows)
        assert lost.rows[0][0] == "information loss of the rebuilt distribution"

    def test_the_folder_describes_itself(self, place: Path) -> None:
        manifest = json.loads((place / "advice" / "run.json").read_text("utf-8"))
        assert manifest["kind"] == "advice"
        assert manifest["parameters"]["share"] == 0.1
        assert set(manifest["outputs"]) == {"scales.parquet", "summary.json", "report.html"}

    def test_a_curve_that_rises_again_is_warned_about(self, place: Path, tmp_path: Path) -> None:
        folder = _copy(place / "advice", tmp_path)
        summary = _summary(folder)
        assert page_of(folder).content["warning"] == ""
        last = max(summary["curve"], key=lambda trial: trial["scale"])
        last |= {"disclosed": 0.5, "low": 0.45, "high": 0.55}
        (folder / "summary.json").write_text(json.dumps(summary), "utf-8")
        assert "does not fall steadily" in page_of(folder).content["warning"]


class TestRatio:
    def test_the_page_holds_the_groups(self, place: Path) -> None:
        folder = place / "ratio"
        groups = pq.read_table(folder / "groups.parquet").to_pylist()
        summary = _summary(folder)
        chart = _charts(folder)["readings"]
        known = {(row["size"], row["confidence"]): row for row in groups}
        assert len(chart.rows) == sum(row["reading"] is not None for row in groups)
        for row in chart.rows:
            group = known[row["size"], row["share"]]
            assert row["error"] == abs(group["reading"] - group["confidence"])
            assert row["leaks"] == group["leaks"] == (20 / row["size"] <= 1 / 20)
        leaking = [row for row in groups if row["leaks"]]
        assert summary["leaking_groups"] == len(leaking) == 2
        headline = page_of(folder).content["headline"]
        assert headline == "2 of 6 groups leak a share, with 1,500 of 2,000 people in them."
        by_size = summary["by_size"]
        assert [row["from"] for row in by_size] == [1, 10, 100]
        assert sum(row["records"] for row in by_size) == 2000
        assert sum(row["leaking_groups"] for row in by_size) == 2

    def test_the_worst_are_told_as_the_library_has_them(self, place: Path) -> None:
        summary = _summary(place / "ratio")
        assert len(summary["worst"]) == 2
        for row in summary["worst"]:
            theory = ratio_attack(row["size"], row["matching"], LaplaceNoise(20))
            assert [row["low"], row["high"]] == pytest.approx(theory.quantiles([0.025, 0.975]).tolist())
        (worst, _) = _tables(place / "ratio")
        first = summary["worst"][0]
        assert worst.rows[0][:3] == [*first["public"].values(), first["value"]]
        assert worst.rows[0][3] == f"{first['size']:,}"
        assert f"of {first['size']:,} people" in page_of(place / "ratio").content["standfirst"][0]

    def test_shares_by_epsilon(self, place: Path) -> None:
        rows = _summary(place / "ratio")["by_noise"]
        sizes = [row["size"] for row in pq.read_table(place / "ratio" / "groups.parquet").to_pylist()]
        for row in rows:
            leaks = [2 / row["epsilon"] / size <= 1 / 20 for size in sizes]
            assert row["groups"] == pytest.approx(sum(leaks) / len(sizes))
        (here,) = [row for row in rows if row["noise"] == "laplace:20"]
        assert (here["epsilon"], here["people"]) == (0.1, 0.75)
        assert rows[0]["groups"] == 0
        assert (
            "At ε 0.1, 33.3\u00a0% of the groups and 75\u00a0%"
            in _charts(place / "ratio")["leaks-by-noise"].says
        )

    def test_the_curve_is_the_theory(self, place: Path) -> None:
        errors = _summary(place / "ratio")["errors"]
        assert errors["least_size"] == pytest.approx(400)
        last = errors["curve"][-1]
        theory = ratio_attack(last["size"], errors["share"] * last["size"], LaplaceNoise(20))
        assert theory.within(last["median"]) == pytest.approx(0.5, abs=1e-4)
        assert theory.within(last["most"]) == pytest.approx(0.95, abs=1e-4)

    def test_none_leaks(self, place: Path) -> None:
        page = page_of(place / "hidden").content
        assert page["headline"] == "None of 6 groups leaks a share."
        assert "nearest" in page["standfirst"][0]
        assert "sd" in _summary(place / "hidden")["by_noise"][0]

    def test_many_groups_are_thinned(self, place: Path, tmp_path: Path) -> None:
        folder = _copy(place / "ratio", tmp_path)
        table = pq.read_table(folder / "groups.parquet")
        pq.write_table(pa.concat_tables([table] * 1000), folder / "groups.parquet")
        rows = _charts(folder)["readings"].rows
        assert len(rows) == 2000
        assert {row["size"] for row in rows} == {
            row["size"] for row in table.to_pylist() if row["reading"] is not None
        }
        assert rows == _charts(folder)["readings"].rows


def _copy(source: Path, place: Path) -> Path:
    folder = place / source.name
    folder.mkdir()
    for file in source.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


@pytest.mark.parametrize("name", ["attack", "blind", "ratio", "hidden", "advice"])
def test_colours_are_known_to_the_style_sheet(place: Path, name: str) -> None:
    css = (Path(__file__).parents[2] / "src/showthrough/report/assets/page.css").read_text("utf-8")
    for chart in _charts(place / name).values():
        for colour in (key.colour for key in chart.legend):
            assert f'[fill="{colour}"]' in css
            assert f'[stroke="{colour}"]' in css
        for svg in chart.pictures().values():
            assert "NaN" not in svg
            assert "<path" in svg


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("name", ["attack", "ratio", "advice"])
def test_in_a_browser(browser: Any, place: Path, name: str, width: int, scheme: str) -> None:
    tab = Tab(browser, place / name / "report.html", width=width, scheme=scheme)
    tab.check_figures(4)
    tab.check_accessible()
    tab.close()


def test_hostile_columns_are_text(browser: Any, tmp_path: Path) -> None:
    """Through the command, into every chart and table of an attack and of advice."""
    rng = np.random.default_rng(2)
    names = (HOSTILE, f"{HOSTILE}2")
    true = rng.normal(100, 5, (300, 1)) * [1.0, 2.0] + rng.normal(0, 1, (300, 2))
    truth = _write(tmp_path / "true.parquet", names, true)
    noisy = _write(tmp_path / "noisy.parquet", names, true + rng.normal(0, 9, (300, 2)))
    command = ["attack", noisy, *_columns(names), "--noise", "gaussian:sd=9", "--truth", truth, "--quiet"]
    assert main([*command, "--out", str(tmp_path / "attack")]) == 1
    advise = [
        "advise",
        truth,
        "--column",
        names[0],
        "--share",
        "0.2",
        "--absolute",
        "5",
        "--draws",
        "1",
        "--confirmations",
        "4",
    ]
    assert main([*advise, "--quiet", "--out", str(tmp_path / "advice")]) == 0
    for folder, title in (("attack", "Attack on noisy numbers"), ("advice", "Advice on noise")):
        _shows_as_text(browser, tmp_path / folder / "report.html", f"{title} – showthrough")


def test_hostile_groups_are_text(browser: Any, tmp_path: Path) -> None:
    people: dict[str, Any] = {
        HOSTILE: [HOSTILE] * 600 + [None] * 200,
        "confidence": ["size"] * 800,
        f"{HOSTILE}2": [HOSTILE] * 500 + ["no"] * 300,
    }
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    command = ["attack", str(tmp_path / "people.parquet"), "--sensitive", f"{HOSTILE}2", "--epsilon", "1"]
    assert main([*command, "--quiet", "--out", str(tmp_path / "ratio")]) == 1
    _shows_as_text(browser, tmp_path / "ratio" / "report.html", "Ratio attack on noisy answers – showthrough")


def _shows_as_text(browser: Any, path: Path, title: str) -> None:
    tab = Tab(browser, path, width=390)
    assert tab.page.title() == title
    assert tab.page.locator("img").count() == 0
    assert "<script>document" in tab.page.locator("main").inner_text()
    tab.check_width()
    tab.close()


def test_broken_folders_are_refused(place: Path, tmp_path: Path) -> None:
    for kind in ("advice", "attack", "ratio attack"):
        (tmp_path / "run.json").write_text(json.dumps({"kind": kind}), "utf-8")
        with pytest.raises(RunError, match="cannot be read"):
            page_of(tmp_path)
    for name in ("advice", "attack", "ratio"):
        folder = _copy(place / name, tmp_path)
        (folder / "summary.json").write_text("{}", "utf-8")
        with pytest.raises(RunError, match="cannot be read"):
            write_report(folder)


def test_results_in_notebooks() -> None:
    """Every result has a summary, every picture a chart, and foreign names are text."""
    rng = np.random.default_rng(1)
    truth = rng.normal(100, 5, (150, 1)) * [1.0, 2.0] + rng.normal(0, 1, (150, 2))
    noisy = truth + rng.normal(0, 6, (150, 2))
    noise = st.GaussianNoise(sd=6)
    attack = st.attack(noisy, "gaussian:sd=6", truth, privacy=0.05)
    found = [column.attacked for column in attack.columns]
    (pair,) = attack.pairs
    advice = st.advise(truth[:, 0], share=0.2, privacy=0.05, draws=1, confirmations=1, seed=1)
    curve = st.try_scales(truth[:, 0], [advice.trial.scale], privacy=0.05, draws=1, seed=1)
    ratio = st.ratio_attack(501, 420, LaplaceNoise(20))
    leaks = st.leaking_groups([501, 100], [420, 50], LaplaceNoise(20))
    charts = [
        plots.plot_reconstruction(found[0], noisy[:, 0], truth=truth[:, 0], column=HOSTILE),
        plots.plot_reconstruction(found[0], noisy[:, 0]),
        plots.plot_ellipses(pair, (HOSTILE, "debt")),
        plots.plot_ellipses(pair),
        *plots.plot_advice(advice, curve, columns=[HOSTILE]),
        *plots.plot_advice(advice),
        plots.plot_ratio(ratio),
        plots.plot_leaks([501, 100], [420, 50], LaplaceNoise(20), seed=1),
    ]
    for chart in charts:
        shown = chart._repr_html_()
        assert "<svg" in shown
        assert "<script>" not in shown
        assert "\u202e" not in shown
    # Altair validates row by row: once for every kind of chart.
    kinds = {chart.name.partition("-")[0]: chart for chart in reversed(charts)}
    assert len(kinds) >= 4
    for chart in kinds.values():
        assert chart.plot().to_dict()["$schema"]
    joint = st.reconstruct_joint(noisy[:80], noise, stop=5)
    results = [attack, attack.columns[0].exposure, found[0], pair, advice, ratio, leaks, joint]
    results += [*found[0].reconstructions.values(), *found[0].rebuilt.values()]
    for result in results:
        assert result._repr_html_().startswith("<div><p><strong>")
        assert "<td>" in result._repr_html_()
    assert "420 of 501" in ratio._repr_html_()
    assert f"{pair.shapes['true'].correlation:.2f}" in pair._repr_html_()
    assert str(advice.noise) in advice._repr_html_()


def test_the_chart_of_one_share_is_its_distribution() -> None:
    ratio = st.ratio_attack(501, 420, LaplaceNoise(20))
    rows = plots.plot_ratio(ratio).rows
    at, density = np.array([[row["at"], row["density"]] for row in rows]).T
    width = at[1] - at[0]
    inside = ratio.probability(at[-1] + width / 2) - ratio.probability(at[0] - width / 2)
    assert np.sum(density) * width == pytest.approx(inside, rel=1e-3)
    assert at[density.argmax()] == pytest.approx(ratio.confidence, abs=0.02)
