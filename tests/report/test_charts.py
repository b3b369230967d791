"""Charts: pictures that fit into a page, with their numbers."""

from __future__ import annotations

import base64
import csv
import io
import itertools
import json
import re
from pathlib import Path

import pytest

import showthrough as st
from report.runs import county
from showthrough.report.audit_charts import audit_charts, claims_chart
from showthrough.report.charts import COLOURS, Chart, count_axis, draw, row_height, wrapped_labels
from showthrough.tables.coverage import Background, evaluate
from showthrough.tables.run.totals import RunTotals
from showthrough.text import escape_html


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory) -> list[Chart]:
    folder = tmp_path_factory.mktemp("county") / "run"
    records = county(folder, refuted=False)
    background = Background.whole(records, "county")
    summary = evaluate(folder, records, references=background.references)
    return audit_charts(st.AuditRun(folder), records.schema, summary)


def test_a_run_of_several_areas_with_records_has_all_of_them(charts: list[Chart]) -> None:
    assert [c.name for c in charts] == ["areas-by-k", "records-by-k", "baseline-county", "sizes"]


def test_pictures_need_no_style_and_share_no_names(charts: list[Chart]) -> None:
    drawn = [svg for chart in charts for svg in chart.pictures().values()]
    assert len(drawn) == 8
    for svg in drawn:
        assert svg.startswith('<svg aria-hidden="true"')
        assert "viewBox" in svg
        assert not re.search(r"\s(style|role|on\w+)=", svg)
        assert "<path" in svg or "<rect" in svg
    names = [name for svg in drawn for name in set(re.findall(r'id="([^"]+)"', svg))]
    assert len(names) == len(set(names))


def test_all_colours_are_known_to_the_style_sheet(charts: list[Chart]) -> None:
    """Or the dark page would have marks of the light one."""
    css = (Path(__file__).parents[2] / "src/showthrough/report/assets/page.css").read_text("utf-8")
    for chart in charts:
        for svg in chart.pictures().values():
            for what, colour in re.findall(r'(fill|stroke)="(#[0-9a-f]+)"', svg):
                assert f'[{what}="{colour}"]' in css, (chart.name, what, colour)
        for colour in (key.colour for key in chart.legend):
            assert colour in COLOURS


def test_the_download_holds_the_rows(charts: list[Chart]) -> None:
    for chart in charts:
        head, _, content = chart.download().partition(",")
        assert head == "data:text/csv;charset=utf-8;base64"
        rows = list(csv.DictReader(io.StringIO(base64.b64decode(content).decode())))
        assert len(rows) == len(chart.rows)
        assert len(chart.table()) == len(rows) + 1
        for row, own in zip(rows, chart.rows, strict=True):
            assert row == {name: str(own[name]) for name in chart.columns}


def test_areas_by_size_add_up(charts: list[Chart]) -> None:
    (sizes,) = (c for c in charts if c.name == "sizes")
    assert sum(row["areas"] for row in sizes.rows) == 4


def test_a_chart_is_an_altair_chart_in_a_notebook(charts: list[Chart]) -> None:
    for chart in charts:
        assert chart.plot().to_dict()["data"] or chart.plot().to_dict()["datasets"]


def test_one_area_has_no_charts_of_areas(tmp_path: Path) -> None:
    records = county(tmp_path / "run", areas=1, refuted=False)
    run = st.AuditRun(tmp_path / "run")
    names = [c.name for c in audit_charts(run, records.schema, evaluate(tmp_path / "run"))]
    assert names == ["records-by-k"]
    assert [c.name for c in audit_charts(run, records.schema, None)] == ["claims-by-k"]


def test_a_chart_does_not_depend_on_those_drawn_before() -> None:
    """Vega numbers clip paths through all charts of a process."""
    mark = {"type": "bar", "clip": True}
    encoding = {"x": {"field": "k", "type": "ordinal"}, "y": {"field": "n", "type": "quantitative"}}
    text = json.dumps({"mark": mark, "encoding": encoding, "data": {"values": [{"k": 1, "n": 2}]}})
    first = draw(text, "one")
    draw.cache_clear()
    assert draw(text, "one") == first
    assert 'id="one-0"' in first


@pytest.mark.parametrize("top", [0, 0.4, 1, 2, 3, 7, 11, 99, 1e6, 123_456_789])
def test_axes_of_counts_have_whole_numbers_from_zero(top: float) -> None:
    axis = count_axis("claims", "claims", top)
    values = axis["axis"]["values"]
    assert values[0] == 0
    assert all(isinstance(value, int) for value in values)
    assert len({after - value for value, after in itertools.pairwise(values)}) == 1
    assert values[-1] == axis["scale"]["domain"][1] >= top
    assert 2 <= len(values) <= 6


def test_one_or_two_claims_are_drawn_without_halves(charts: list[Chart]) -> None:
    """Whole numbers in the pictures themselves, for the charts that count things."""
    claims = claims_chart(RunTotals(hidden_by_columns={"2": 1}), st.Schema.of({"sex": ["f", "m"]}))
    (sizes,) = [chart for chart in charts if chart.name == "sizes"]
    for chart in (claims, sizes):
        for svg in chart.pictures().values():
            assert not re.findall(r">\d+\.\d+<", svg)


def test_long_labels_are_wrapped_and_not_cut() -> None:
    labels = ["Diseases of the circulatory system, not hypertension", "none"]
    axis = {"field": "value", "type": "nominal", "title": None, "axis": wrapped_labels()}
    spec = {"mark": "bar", "encoding": {"y": axis, "x": count_axis("n", "records", 2)}}
    rows = tuple({"value": label, "n": at + 1} for at, label in enumerate(labels))
    chart = Chart(
        "long", "Long", "Long labels.", rows, {"value": "v", "n": "n"}, spec, 2 * row_height(labels)
    )
    for svg in chart.pictures().values():
        shown = re.sub(r"<[^>]*>", " ", svg)
        assert "…" not in shown
        assert all(word in shown for label in labels for word in label.split())


def test_a_picture_in_a_notebook_has_a_name(charts: list[Chart]) -> None:
    for chart in charts:
        shown = chart._repr_html_()  # pyright: ignore[reportPrivateUsage]
        assert shown.count('role="img"') == 1
        assert f'aria-label="{escape_html(chart.title)}. {escape_html(chart.says)}"' in shown
