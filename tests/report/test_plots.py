"""Results in notebooks: summaries as HTML, charts as pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import showthrough as st
from report.runs import HOSTILE, county, hostile
from showthrough.cli import main
from showthrough.microdata.publication import Publication
from showthrough.numbers.exposure import expose
from showthrough.numbers.interquantile import Interval, PrivacyIntervals
from showthrough.report.plots import plot_audit, plot_comparison, plot_exposure, plot_protection, plot_run
from showthrough.tables.protect.policy import Policy
from showthrough.tables.protect.protect import protect


def test_a_run_and_an_audit_say_what_they_found(tmp_path: Path) -> None:
    county(tmp_path / "run", areas=2, refuted=False)
    run = st.AuditRun(tmp_path / "run")
    text = run._repr_html_()
    assert f"{run.summary.findings:,} findings" in text
    assert text.count("<tr>") == 11
    assert [chart.name for chart in plot_run(run)] == ["areas-by-k", "records-by-k", "sizes"]
    schema = st.Schema.of({"sex": ["f", "m"], HOSTILE: ["no", "yes"], "age": ["young", "old"]})
    people = st.Records(schema, np.array([[0, 1, 1], [1, 0, 1], [1, 0, 0]], np.uint16))
    audit = st.audit(st.tabulate(people, ["sex*age", f"sex*{HOSTILE}"]), truth=people)
    shown = audit._repr_html_()
    assert f"{len(audit.findings)} findings" in shown
    assert "<script>" not in shown
    assert "\u202e" not in shown


def test_a_hostile_run_is_text(tmp_path: Path) -> None:
    hostile(tmp_path / "run")
    text = st.AuditRun(tmp_path / "run")._repr_html_()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_an_exposure() -> None:
    truth = np.linspace(90, 110, 101)
    noisy = truth + np.where(np.arange(101) % 2, 60, -60)
    privacy = [PrivacyIntervals.relative(truth, share) for share in (0.1, 0.3)]
    found = expose(truth, noisy, attacks={"<guess>": Interval(85, 115)}, privacy=privacy)
    assert "&lt;guess&gt;" in found._repr_html_()
    assert "100\xa0%" in found._repr_html_()
    chart = plot_exposure(found, "income")
    assert "<guess>" not in chart._repr_html_()
    assert "<svg" in chart._repr_html_()
    assert chart.plot().to_dict()["layer"]


def test_a_publication_and_a_comparison(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    values = {
        "sex": rng.choice(["f", "m"], 400),
        "ill": rng.choice(["no", "flu", "cold"], 400, p=[0.6, 0.3, 0.1]),
    }
    data = str(tmp_path / "people.parquet")
    pq.write_table(pa.table(values), data)
    assert (
        main(["publish", data, "--sensitive", "ill", "--rho", "0.2:0.5", "--out", str(tmp_path / "public")])
        == 0
    )
    text = Publication.open(tmp_path / "public")._repr_html_()
    assert "400 records" in text
    compare = ["compare", data, "--sensitive", "ill", "--methods", "uniform", "--rho", "0.2:0.5"]
    assert main([*compare, "--queries", "10", "--runs", "2", "--out", str(tmp_path / "errors")]) == 0
    (chart,) = plot_comparison(pq.read_table(tmp_path / "errors" / "comparison.parquet"))
    assert "<svg" in chart._repr_html_()


def test_an_audit_and_a_protection() -> None:
    schema = st.Schema.of({"sex": ["f", "m"], "<ill>": ["no", "yes"]})
    cells = {st.make_table(schema, "sex*<ill>"): [5, 1, 3, 2], st.make_table(schema, "sex"): [6, 5]}
    release = st.Release.of(schema, cells)
    audit = st.audit(release)
    chart = plot_audit(audit)
    hidden = audit.table().filter([not direct for direct in audit.table()["direct"].to_pylist()])
    assert sum(row["number"] for row in chart.rows) == len(hidden)
    found = protect(release, Policy.of("singletons", moves="suppress"))
    text = found._repr_html_()
    assert "2 moves at a cost of 2; no safe plan costs less" in text
    assert "<ill>" not in text
    forbidden, _ = plot_protection(found)
    assert {row["when"]: row["claims"] for row in forbidden.rows} == {"before": 1, "after": 0}


def test_bounds_and_datasets() -> None:
    schema = st.Schema.of({"sex": ["f", "m"], "<ill>": ["no", "yes"]})
    release = st.Release.of(
        schema, {st.make_table(schema, "sex"): [3, 2], st.make_table(schema, "<ill>"): [4, 1]}
    )
    bounds = st.bounds(release, st.Selection.parse("sex=f,<ill>=no"))
    assert bounds._repr_html_().startswith("<div><p><strong>&lt;ill&gt;=no,sex=f: 2 to 3</strong>")
    for world in st.worlds(release, 2):
        text = world._repr_html_()
        assert "A dataset of 5 records" in text
        assert "<th>&lt;ill&gt;</th>" in text
    free = st.bounds(st.Release.of(schema, {st.make_table(schema, "sex"): [3, None]}), st.Selection.of({}))
    assert "All records: at least 3" in free._repr_html_()
