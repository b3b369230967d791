"""Runs without findings: nothing that reads them takes their absence for a comfort."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

import showthrough as st
import small_run
from command import runner
from showthrough.report.audit_page import audit_page
from showthrough.tables.headline import exit_code
from showthrough.tables.run.read import AuditRun
from tampering import drop_all, recount, rewrite_hashes

SAID = "Findings were not asked for; "


def audited(folder: Path, *, findings: bool) -> AuditRun:
    settings = st.Settings(effort=small_run.EFFORT, findings=findings)
    return st.run_audit(islice(small_run.areas(), 3), small_run.LAYOUT, folder, settings=settings)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[AuditRun, AuditRun]:
    """The same areas with findings and without."""
    folder = tmp_path_factory.mktemp("runs")
    return audited(folder / "with", findings=True), audited(folder / "without", findings=False)


def test_the_same_claims_have_the_same_verdicts(both: tuple[AuditRun, AuditRun]) -> None:
    asked, alone = both
    assert asked.summary.findings > 0
    assert alone.summary.findings == 0
    columns = ["area", "selection", "multiplicity", "verdict", "direct"]
    assert asked.table("claims").select(columns).equals(alone.table("claims").select(columns))


def test_nothing_is_said_to_show_nothing(both: tuple[AuditRun, AuditRun]) -> None:
    run = both[1]
    assert exit_code(run) == 1
    said = run.summary.headline(small_run.SCHEMA)
    assert said == f"{SAID}{run.summary.hidden} claims that no cell states are proved in 3 areas."
    page = audit_page(run.folder)
    assert page.content["headline"] == said
    told = json.dumps([page.content["facts"], [chart.title for chart in page.content["charts"]]])
    assert "finding" not in told
    assert "How large the areas are" not in told  # which says where nothing shows through


def test_a_run_without_hidden_claims_may_still_be_undecided(both: tuple[AuditRun, AuditRun]) -> None:
    totals = replace(both[1].summary, hidden_by_columns={}, undecided=2, areas=1)
    assert totals.headline(small_run.SCHEMA) == (
        f"{SAID}0 claims that no cell states are proved, and 2 claims are undecided."
    )


def test_such_a_run_verifies_and_says_what_was_not_covered(both: tuple[AuditRun, AuditRun]) -> None:
    asked, alone = (st.verify(run.folder) for run in both)
    assert asked.holds
    assert alone.holds
    assert not any("findings were not asked for" in one for one in asked.not_covered)
    assert "what the claims mean together: findings were not asked for (3 areas)" in alone.not_covered


def test_findings_that_vanish_are_missed(tmp_path: Path) -> None:
    """A run with findings does not become one without by emptying a table or one entry."""
    folder = audited(tmp_path / "run", findings=True).folder
    drop_all("findings")(folder)
    recount(folder)
    rewrite_hashes(folder)
    assert any("a finding is missing" in problem for problem in st.verify(folder).problems)


def test_what_needs_findings_says_so(
    both: tuple[AuditRun, AuditRun], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(both[1].folder)
    with pytest.raises(st.RunError, match=r"findings were not asked for.*--all"):
        st.export_vipr(folder, tmp_path / "certificates")
    next_ = str(tmp_path / "next")
    ran = runner(capsys)("audit", "x.csv", "--after", folder, "--no-findings", "--out", next_)
    assert ran.code == 2
    assert "--no-findings leaves nothing to compare" in ran.err


def test_the_command_takes_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = tmp_path / "people.csv"
    people.write_text("sex,age,ill\nf,young,yes\nm,young,no\nm,old,no\nf,old,no\n")
    out = tmp_path / "run"
    asked = ["audit", str(people), "--tables", "sex*age", "--tables", "age*ill", "--no-report"]
    ran = runner(capsys)(*asked, "--no-findings", "--out", str(out))
    assert SAID in ran.text
    assert ran.code == 1
    assert json.loads((out / "summary.json").read_text())["without_findings"] is True


def test_an_audit_says_so_too() -> None:
    area = next(small_run.areas())
    assert "findings not asked for; " in repr(st.audit(area.release, findings=False))
