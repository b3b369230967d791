"""The page of one area of a run, and what pages of large runs read of their areas."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from report.runs import county
from showthrough.cli import main
from showthrough.errors import RunError
from showthrough.report import audit_page as pages
from showthrough.report.audit_page import audit_page
from showthrough.report.evidence import collect_evidence
from showthrough.report.write import area_file, write_report
from showthrough.tables.headline import rank_findings
from showthrough.tables.run.one_area import area_of_run
from showthrough.tables.run.read import AuditRun, iter_areas
from showthrough.tables.run.totals import add_up


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    folder = tmp_path_factory.mktemp("county") / "run"
    county(folder)
    return AuditRun.open(folder)


def names(run: AuditRun) -> list[str]:
    return [str(name) for name in run.table("areas")["area"].to_pylist()]


def test_an_area_is_read_as_a_run_of_its_own(run: AuditRun) -> None:
    """All areas together have every row of the run, and their totals add up to the run's."""
    parts = [area_of_run(run, name) for name in names(run)]
    for table in ("claims", "findings", "proofs", "counts", "areas"):
        assert pa.concat_tables([part.table(table) for part in parts]) == run.table(table)
    for total in ("areas", "records", "verified", "findings", "singletons", "direct"):
        assert sum(getattr(part.summary, total) for part in parts) == getattr(run.summary, total)
    assert parts[0].all_areas.summary == run.summary == add_up(run)


def test_the_page_of_an_area_has_its_findings_alone(run: AuditRun, tmp_path: Path) -> None:
    first, second = names(run)[:2]
    page = audit_page(run.folder, area=second)
    assert page.content["title"] == f"What shows through in {second}"
    assert {finding.area for finding in page.content["findings"]} == {second}
    assert len(page.content["findings"]) == area_of_run(run, second).summary.findings
    written = write_report(run.folder, tmp_path / "one.html", area=second)
    text = written.read_text("utf-8")
    assert second in text
    assert first not in text


def test_the_command_writes_it_here(
    run: AuditRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = names(run)[0]
    before = (run.folder / "run.json").read_bytes()
    assert main(["report", str(run.folder), "--area", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(area_file(name))
    assert (tmp_path / area_file(name)).is_file()
    assert (run.folder / "run.json").read_bytes() == before
    assert main(["report", str(run.folder), "--area", name]) == 2  # it is there already
    assert main(["report", str(run.folder), "--area", "nowhere"]) == 2
    assert "the run has no such area (found 'nowhere')" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../../etc/passwd", "", ".hidden", "a\x1b[31m\nb", "x" * 500])
def test_no_name_of_an_area_leads_elsewhere(name: str) -> None:
    file = area_file(name)
    assert file.name == str(file)
    assert not file.name.startswith(".")
    assert file.name.isprintable()
    assert len(file.name) < 120


def test_only_audits_have_areas(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"kind": "attack"}')
    with pytest.raises(RunError, match="only audits have pages of single areas"):
        write_report(tmp_path, tmp_path / "page.html", area="Aldea")


def test_wanted_areas_are_read_with_all_their_rows(run: AuditRun) -> None:
    wanted = set(names(run)[1::2])
    found = dict(iter_areas(run, {"claims": ("selection",), "findings": ("sentence",)}, wanted))
    assert list(found) == [name for name in names(run) if name in wanted]
    for name, rows in found.items():
        for table, column in (("claims", "selection"), ("findings", "sentence")):
            whole = area_of_run(run, name).table(table)
            assert rows[table][column].to_pylist() == whole[column].to_pylist()


def test_a_large_page_lists_the_areas_that_give_away_most(
    run: AuditRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = run.table("areas").to_pylist()
    best = sorted(rows, key=lambda row: (-row["singletons"], -row["findings"]))[:2]
    monkeypatch.setattr(pages, "MOST_AREAS", 2)
    monkeypatch.setattr(pages, "MOST_FINDINGS", 5)
    page = audit_page(run.folder)
    assert [row["area"] for row in pages.first_areas(run)] == [row["area"] for row in best]
    assert len(page.content["findings"]) == 5
    assert page.content["findings"] == rank_findings(run, most=5)


def test_evidence_is_of_areas_with_few_claims_where_there_are_many(
    run: AuditRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = rank_findings(run)
    areas = run.table("areas")
    size: dict[str, int] = {row["area"]: row["verified"] for row in areas.to_pylist()}
    monkeypatch.setattr(pages, "STATIC", 1)
    assert pages.explained(run, findings) == list(range(len(findings)))
    for most in (0, max(size.values()), sum(size.values()) - 1):
        monkeypatch.setattr(pages, "MOST_READ", most)
        chosen = pages.explained(run, findings)
        read = {findings[at].area for at in chosen}
        assert 0 in chosen
        assert chosen == [at for at, finding in enumerate(findings) if finding.area in read]
        assert len(read) == 1 or sum(size[area] for area in read) <= most
        assert read < set(size)
        explained = {at for area in collect_evidence(run, findings, chosen) for at in area.positions}
        assert explained == set(chosen)
