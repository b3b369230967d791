"""The pages of attacks, comparisons and protected releases: their numbers, and in a browser."""

from __future__ import annotations

import base64
import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from report.browser import Tab
from report.runs import HOSTILE, PEOPLE
from showthrough.cli import main
from showthrough.errors import RunError
from showthrough.report.charts import Chart
from showthrough.report.page import Section
from showthrough.report.write import page_of, write_report


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An attack, a comparison, a sweep and a protected release."""
    here = tmp_path_factory.mktemp("figures")
    rng = np.random.default_rng(8)
    income = rng.gamma(9.0, 10.0, 800).round(1)
    arrow_csv.write_csv(pa.table({"income": income}), here / "true.csv")
    arrow_csv.write_csv(pa.table({"income": income + rng.uniform(-60, 60, 800)}), here / "noisy.csv")
    noisy = ["attack", str(here / "noisy.csv"), "--column", "income", "--noise", "uniform:60"]
    truth = ["--truth", str(here / "true.csv"), "--privacy", "30,60,90"]
    assert main([*noisy, *truth, "--quiet", "--out", str(here / "attack")]) == 1
    assert main([*noisy, "--quiet", "--out", str(here / "blind")]) == 3
    values = {
        "sex": rng.choice(["f", "m"], 900),
        "ill": rng.choice(["no", "flu", "heart"], 900, p=[0.6, 0.3, 0.1]),
    }
    pq.write_table(pa.table(values), here / "people.parquet")
    compare = [
        "compare",
        str(here / "people.parquet"),
        "--sensitive",
        "ill",
        "--methods",
        "uniform,partitioned",
    ]
    compare += ["--rho", "0.2:0.5", "--queries", "20", "--runs", "2"]
    assert main([*compare, "--out", str(here / "errors")]) == 0
    assert main([*compare, "--sweep", "posterior=0.4,0.5,0.6", "--out", str(here / "sweep")]) == 0
    (here / "people.csv").write_text(PEOPLE, "utf-8")
    protect = [
        "protect",
        str(here / "people.csv"),
        "--tables",
        "age*sex",
        "--tables",
        "sex*job",
        "--by",
        "town",
    ]
    assert main([*protect, "--forbid", "singletons,k>=2", "--compare", "--out", str(here / "safe")]) == 0
    return here


def _charts(folder: Path) -> dict[str, Chart]:
    sections: list[Section] = page_of(folder).content["sections"]  # type: ignore[assignment]
    return {chart.name: chart for section in sections for chart in section.charts}


def test_an_attack_shows_the_true_the_noisy_and_the_rebuilt_values(place: Path) -> None:
    chart = _charts(place / "attack")["densities-income"]
    shapes: dict[str, list[tuple[float, float]]] = {}
    for row in chart.rows:
        shapes.setdefault(row["values"], []).append((row["at"], row["density"]))
    assert {"true", "noisy", "rebuilt (em)"} <= set(shapes)
    spread = {}
    for name, points in shapes.items():
        at, density = np.array(points).T
        assert np.sum(density) * (at[1] - at[0]) == pytest.approx(1, rel=0.03)
        mean = np.average(at, weights=density)
        spread[name] = float(np.sqrt(np.average((at - mean) ** 2, weights=density)))
    assert spread["true"] < spread["noisy"]
    assert abs(spread["rebuilt (em)"] - spread["true"]) < abs(spread["noisy"] - spread["true"])


def test_the_exposure_is_that_of_the_run(place: Path) -> None:
    chart = _charts(place / "attack")["exposure-income"]
    table = pq.read_table(place / "attack" / "exposure.parquet").to_pylist()
    assert [(r["method"], r["privacy"], r["share"]) for r in chart.rows] == [
        (r["method"], r["privacy"], r["share"]) for r in table
    ]
    headline = page_of(place / "attack").content["headline"]
    column = json.loads((place / "attack" / "summary.json").read_text("utf-8"))["columns"][0]
    strongest = column["strongest"]["±60 %"]
    (row,) = (r for r in table if (r["method"], r["privacy"]) == (strongest, "±60 %"))
    share = f"{100 * row['share']:.1f}\u00a0%"
    assert headline == f"{share} of 800 people can be placed within ±60 % of the truth."


def test_without_the_truth_it_says_that_nobody_can_tell(place: Path) -> None:
    page = page_of(place / "blind")
    assert set(_charts(place / "blind")) == {"densities-income"}
    assert "cannot be determined without their true values" in page.content["standfirst"][0]


def test_a_comparison_shows_every_error_with_its_spread(place: Path) -> None:
    chart = _charts(place / "errors")["errors"]
    rows = pq.read_table(place / "errors" / "comparison.parquet").to_pylist()
    assert [row["error"] for row in chart.rows] == [row["error"] for row in rows]
    for row in chart.rows:
        assert row["high"] - row["error"] == pytest.approx(row["standard_error"])
    # The headline, the chart and run.json say the same, with the promise and the confidence.
    headline = page_of(place / "errors").content["headline"]
    assert headline.startswith("Under ρ 0.2:0.5")
    assert "confidence, paired over" in headline
    assert (
        chart.says == headline == json.loads((place / "errors" / "run.json").read_text("utf-8"))["headline"]
    )


def test_a_sweep_runs_along_its_parameter(place: Path) -> None:
    charts = {name: chart for name, chart in _charts(place / "sweep").items() if "answers" not in name}
    assert [name.partition("-")[0] for name in charts] == ["errors", "errors", "retention"]
    for chart in charts.values():
        assert sorted({row["value"] for row in chart.rows}) == [0.4, 0.5, 0.6]
    kept = [row for row in charts["retention-posterior"].rows if row["method"] == "uniform"]
    assert [row["retention"] for row in kept] == sorted(row["retention"] for row in kept)
    headline = page_of(place / "sweep").content["headline"]
    assert "of 3 settings" in headline
    assert charts[next(iter(charts))].says == headline


def test_a_protected_release_shows_before_and_after(place: Path) -> None:
    charts = _charts(place / "safe")
    plans = json.loads((place / "safe" / "moves.json").read_text("utf-8"))["plans"]
    total = [row for plan in plans for row in plan["claims"]]
    forbidden = charts["claims-forbidden"].rows
    for when, name in (("before", "forbidden_before"), ("after", "forbidden_after")):
        assert sum(r["claims"] for r in forbidden if r["when"] == when) == sum(row[name] for row in total)
    text = (place / "safe" / "report.html").read_text("utf-8")
    assert "For the publisher only" in text
    assert "Classical rules" in text


@pytest.mark.parametrize("name", ["attack", "errors", "sweep", "safe"])
def test_every_chart_has_its_numbers_and_colours_of_the_page(place: Path, name: str) -> None:
    css = (Path(__file__).parents[2] / "src/showthrough/report/assets/page.css").read_text("utf-8")
    for chart in _charts(place / name).values():
        content = base64.b64decode(chart.download().partition(",")[2]).decode()
        assert len(list(csv.DictReader(io.StringIO(content)))) == len(chart.rows) > 0
        for colour in (key.colour for key in chart.legend):
            assert f'[fill="{colour}"]' in css
            assert f'[stroke="{colour}"]' in css


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("name", ["attack", "sweep", "safe"])
def test_in_a_browser(browser: Any, place: Path, name: str, width: int, scheme: str) -> None:
    tab = Tab(browser, place / name / "report.html", width=width, scheme=scheme)
    tab.check_figures(4)
    paper = "getComputedStyle(document.body).backgroundColor"
    before = tab.page.evaluate(paper)
    tab.page.locator("#theme").click()
    assert tab.page.evaluate(paper) != before
    tab.check_accessible()
    tab.close()


def test_a_hostile_column_is_text(browser: Any, place: Path, tmp_path: Path) -> None:
    """Names of columns go into charts, their names and their downloads."""
    folder = tmp_path / "attack"
    folder.mkdir()
    for name in ("run.json", "densities.parquet"):
        (folder / name).write_bytes((place / "attack" / name).read_bytes())
    summary = json.loads((place / "attack" / "summary.json").read_text("utf-8"))
    summary["columns"][0]["column"] = HOSTILE
    (folder / "summary.json").write_text(json.dumps(summary), "utf-8")
    table = pq.read_table(folder / "densities.parquet")
    names = pa.array([HOSTILE] * len(table), pa.string())
    pq.write_table(table.set_column(0, "column", names), folder / "densities.parquet")
    tab = Tab(browser, write_report(folder), width=390)
    assert tab.page.title() == "Attack on noisy numbers – showthrough"
    assert tab.page.locator("img").count() == 0
    assert "<script>document" in tab.page.locator("h2").first.inner_text()
    tab.check_width()
    tab.close()


def test_a_broken_folder_is_refused(tmp_path: Path) -> None:
    for kind in ("attack", "showthrough comparison", "protected release"):
        (tmp_path / "run.json").write_text(json.dumps({"kind": kind}), "utf-8")
        with pytest.raises(RunError, match=r"cannot be read|\.json: no such file"):
            page_of(tmp_path)


@pytest.mark.parametrize(
    ("name", "file"), [("safe", "moves.json"), ("errors", "run.json"), ("attack", "summary.json")]
)
def test_a_folder_of_another_version_is_refused_in_a_line(
    place: Path, tmp_path: Path, name: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has the files, but not all that is looked for in them."""
    folder = tmp_path / "old"
    shutil.copytree(place / name, folder)
    kind = json.loads((folder / "run.json").read_text("utf-8"))["kind"]
    (folder / file).write_text(json.dumps({"kind": kind, "plans": [{"claims": [{"area": "a"}]}]}), "utf-8")
    assert main(["report", str(folder)]) == 2
    said = capsys.readouterr().err
    assert "cannot be read" in said
    assert said.count("\n") == 1
