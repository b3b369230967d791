"""What the page says about areas and their parts, held against the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from showthrough.release import UNBOUNDED, Layout, Release, make_table
from showthrough.report.audit_page import audit_page
from showthrough.report.nest_section import ZEROS, NestSection, nest_sections
from showthrough.report.write import write_report
from showthrough.schema import Schema
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.folder import run_audit
from showthrough.tables.run.inputs import Area, Nested
from showthrough.tables.run.read import AuditRun
from tiny_nests import random_nest

SCHEMA = Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]}, record="person")
LAYOUT = Layout(SCHEMA, (make_table(SCHEMA, "sex"), make_table(SCHEMA, "ill"), make_table(SCHEMA, "sex*ill")))

#: What is not published.
OPEN = None


def about(area: str, *counts: int | None) -> Release:
    low = np.array([0 if n is None else n for n in counts], np.int64)
    high = np.array([UNBOUNDED if n is None else n for n in counts], np.int64)
    return Release(LAYOUT, low, high, area)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    """In one town a sum of cells tells who is ill, in the other cells published as 0 do."""
    open_ = (OPEN,) * 4
    areas = [
        Nested(
            about("<b>A</b>", OPEN, OPEN, OPEN, OPEN, 2, 1, 1, 0),
            (
                Area(about("<b>A</b>/1", 2, 1, 2, 1, *open_)),
                Area(about("<b>A</b>/2", 1, 0, 1, 0, *open_)),
            ),
        ),
        Nested(
            about("B", OPEN, OPEN, OPEN, OPEN, 0, 1, 2, 0),
            (Area(about("B/1", 1, 1, OPEN, OPEN, *open_)), Area(about("B/2", 0, 1, OPEN, OPEN, *open_))),
        ),
    ]
    folder = tmp_path_factory.mktemp("nests") / "run"
    return run_audit(areas, LAYOUT, folder, settings=Settings(variability=True))


def section(run: AuditRun, name: str) -> NestSection:
    return next(one for one in nest_sections(run) if one.area == name)


def test_parts_and_who_is_proved(run: AuditRun) -> None:
    found = section(run, "B")
    rows = {one.area: one for one in found.parts}
    assert (rows["B/1"].records, rows["B/1"].proved, rows["B/1"].alone) == (2, 2, 0)
    assert (rows["B/2"].proved, rows["B/2"].unique, rows["B/2"].differ_high) == (1, True, 0)
    said = " ".join(found.sentences())
    assert "3 of 3 persons (100 %) are proved in every column" in said.replace("\xa0", " ")
    assert "3 of them by proofs that use the tables of B" in said


def test_tables_that_proofs_need_are_named(run: AuditRun) -> None:
    zeros, sums = section(run, "B"), section(run, "<b>A</b>")
    assert f"{ZEROS} (in" in " ".join(zeros.sentences())
    assert f"By {ZEROS} in table sex*ill of B" in zeros.examples[0].tables
    assert "sex*ill (in" in " ".join(sums.sentences()) or f"{ZEROS} (in" in " ".join(sums.sentences())
    for one in (*zeros.examples, *sums.examples):
        assert one.lines
        assert one.area.split("/")[0] in one.tables


def test_names_are_escaped(run: AuditRun) -> None:
    write_report(run.folder)
    page = (run.folder / "report.html").read_text("utf-8")
    assert "Areas and their parts" in page
    assert "&lt;b&gt;A&lt;/b&gt;" in page
    assert "<bdi><b>A" not in page
    assert "Two datasets with these counts differ" in page or "Only one dataset has these counts" in page


def test_the_page_of_a_larger_area_is_about_its_parts(run: AuditRun) -> None:
    page = audit_page(run.folder, area="B")
    assert [one.area for one in page.content["nests"]] == ["B"]
    assert {one.area for one in page.content["findings"]} == {"B/1", "B/2"}
    assert page.content["summary"].areas == 2
    assert not audit_page(run.folder, area="B/1").content["nests"]


@pytest.mark.parametrize("seed", range(8))
def test_no_proof_needs_the_tables_of_the_area_only_if_none_does(seed: int, tmp_path: Path) -> None:
    """Parts audited without the area prove as much, wherever the page says so."""
    case = random_nest(seed)
    whole, parts = case.nest.whole, tuple(Area(part) for part in case.nest.parts)
    linked = run_audit([Nested(whole, parts)], case.nest.layout, tmp_path / "linked")
    (found,) = nest_sections(linked)
    if "No proof needs the tables of" in " ".join(found.sentences()):
        apart = run_audit(list(parts), case.nest.layout, tmp_path / "apart")
        assert apart.summary.verified == linked.summary.verified
    else:
        assert linked.summary.verified_by_evidence["nested"]
