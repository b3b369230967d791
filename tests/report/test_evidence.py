"""What stands behind a finding is what the run says, no less and nothing else."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import showthrough as st
from report.runs import county
from showthrough.report.evidence import Evidence, collect_evidence
from showthrough.tables.headline import rank_findings
from showthrough.tables.run.read import AuditRun, StoredFinding


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, st.Records]:
    folder = tmp_path_factory.mktemp("county") / "run"
    return folder, county(folder)


@cache
def _all(folder: Path) -> list[tuple[StoredFinding, list[list[str]], Evidence]]:
    run = AuditRun.open(folder)
    findings = rank_findings(run)
    return [
        (findings[at], list(area.words), one)
        for area in collect_evidence(run, findings)
        for at, one in zip(area.positions, area.evidence, strict=True)
    ]


def test_every_finding_has_all_its_steps_with_a_proof(made: tuple[Path, st.Records]) -> None:
    rows = _all(made[0])
    assert len(rows) == AuditRun(made[0]).summary.findings > 50
    for row, words, one in rows:
        assert one.steps
        for step in one.steps:
            assert step.proof is not None, (row, step)
            assert words[step.proof]
        if row.kind == "group of unknown size":
            assert len(one.steps) == 1 + len(row.learns)
        else:
            assert len(one.steps) == (2 if len(row.knows) else 1)


def test_the_arithmetic_ends_in_the_count(made: tuple[Path, st.Records]) -> None:
    for row, words, one in _all(made[0]):
        if row.kind == "group of unknown size":
            continue
        for step in one.steps:
            ends = {int(line.rsplit(" ", 1)[1]) for line in words[step.proof or 0] if line[0] == "c"}
            assert ends == {row.multiplicity}


def test_the_claims_are_those_counted_and_hold_in_the_records(made: tuple[Path, st.Records]) -> None:
    folder, records = made
    assert records.areas is not None
    for row, _, one in _all(folder):
        if row.kind == "group of unknown size":
            assert not one.claims
            continue
        assert len(one.claims) == min(row.n_claims, 250)
        here = st.Records(records.schema, records.codes[records.areas == row.area])
        for terms, _, proof in one.claims:
            assert proof is not None
            pairs = dict(one.terms[at].split("=", 1) for at in terms)
            assert here.count(st.Selection.of(pairs)) == row.multiplicity


def test_neighbours_are_refuted_by_two_datasets_that_disagree(made: tuple[Path, st.Records]) -> None:
    found = [near for _, _, one in _all(made[0]) for near in one.neighbours]
    assert found
    for near in found:
        assert near.counts[0] != near.counts[1]
        assert near.says.startswith("Does not follow")
    spread = [near for near in found if near.values]
    assert spread
    for near in spread:  # the finding's records are as many in both datasets
        assert sum(row[1] for row in near.values) == sum(row[2] for row in near.values)


def test_without_witnesses_there_are_no_neighbours(tmp_path: Path) -> None:
    county(tmp_path / "run", areas=1, refuted=False)
    assert not any(one.neighbours for _, _, one in _all(tmp_path / "run"))


def test_the_tables_of_a_finding_are_those_it_is_said_to_rest_on(made: tuple[Path, st.Records]) -> None:
    run = AuditRun.open(made[0])
    findings = rank_findings(run)
    some = 0
    for area in collect_evidence(run, findings):
        for at, n_tables in area.tables_shown():
            stored = findings[at].n_tables
            assert stored is None or findings[at].n_tables_added <= n_tables <= stored
            some += stored is not None
    assert some > 8
