"""Counts of areas and of their parts, from files to runs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import runner
from showthrough.errors import InputError, ReleaseError, RunError
from showthrough.formats.read_subject import read_subject
from showthrough.formats.release_file import read_release
from showthrough.formats.vipr.vipr_folder import export_vipr
from showthrough.report.verify import verify
from showthrough.tables.earlier import EarlierRun
from showthrough.tables.proof.whole import check_run
from showthrough.tables.run import parts
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.folder import run_audit
from showthrough.tables.run.read import AuditRun

RELEASE = """
area = ["town", "district"]
counts = "counts.csv"
record = "person"

[attributes.sex]
values = ["f", "m"]
[attributes.ill]
values = ["no", "yes"]

[[tables]]
formula = "sex"
[[tables]]
formula = "sex*ill"
"""

COUNTS = """town,district,table,cell,value
Aford,North,sex,sex=f,2
Aford,North,sex,sex=m,1
Aford,South,sex,sex=f,1
Aford,South,sex,sex=m,3
Aford,,sex*ill,"sex=f,ill=no",0
Aford,,sex*ill,"sex=f,ill=yes",3
Aford,,sex*ill,"sex=m,ill=no",3
Aford,,sex*ill,"sex=m,ill=yes",1
Beham,North,sex,sex=f,0
Beham,North,sex,sex=m,1
Beham,,sex*ill,"sex=m,ill=no",1
Beham,,sex*ill,"sex=m,ill=yes",0
"""


@pytest.fixture
def release(tmp_path: Path) -> Path:
    (tmp_path / "counts.csv").write_text(COUNTS, "utf-8")
    (tmp_path / "release.toml").write_text(RELEASE, "utf-8")
    return tmp_path / "release.toml"


def audited(release: Path, folder: Path, *, workers: int = 1, batch: int = 50) -> AuditRun:
    subject = read_subject(release, streaming=True)
    settings = Settings(refuted=True)
    return run_audit(subject.stream, subject.layout, folder, settings=settings, workers=workers, batch=batch)


def test_parts_are_audited_with_the_tables_of_their_area(release: Path) -> None:
    run = audited(release, release.parent / "run")
    assert run.table("areas")["area"].to_pylist() == ["Aford/North", "Aford/South", "Beham/North"]
    assert run.table("wholes").select(["area", "parts"]).to_pylist() == [
        {"area": "Aford", "parts": ["Aford/North", "Aford/South"]},
        {"area": "Beham", "parts": ["Beham/North"]},
    ]
    said = dict(zip(*(run.table("findings")[name].to_pylist() for name in ("area", "sentence")), strict=True))
    assert "learns that ill is yes (exactly two such persons)" in said["Aford/North"]
    assert "learns that ill is yes (exactly one such person)" in said["Aford/South"]
    assert "nested" in run.summary.verified_by_evidence


def test_a_run_about_nested_areas_is_checked_by_both_checkers(release: Path) -> None:
    run = audited(release, release.parent / "run")
    assert verify(run).holds
    assert check_run(run.folder).holds


def test_proofs_do_not_hold_for_other_counts_of_the_whole(release: Path) -> None:
    run = audited(release, release.parent / "run")
    path = run.folder / "wholes.parquet"
    rows = pq.read_table(path).to_pylist()
    rows[0]["high"] = [high + 1 for high in rows[0]["high"]]
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(path)), path, compression="gzip")
    assert any("record type" in problem for problem in check_run(run.folder).problems)
    path.unlink()
    assert any("(part)" in problem for problem in check_run(run.folder).problems)


def test_parts_that_are_left_out_are_noticed(release: Path) -> None:
    run = audited(release, release.parent / "run")
    path = run.folder / "wholes.parquet"
    rows = pq.read_table(path).to_pylist()
    rows[0]["parts"] = rows[0]["parts"][:1]
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(path)), path, compression="gzip")
    assert not check_run(run.folder).holds
    assert not verify(run).holds


def test_workers_and_batches_change_nothing(release: Path) -> None:
    one = audited(release, release.parent / "one", batch=1)
    two = audited(release, release.parent / "two", batch=1, workers=2)
    for name in ("areas", "claims", "findings", "proofs", "witnesses", "counts", "wholes"):
        assert one.table(name) == two.table(name), name


def test_in_parts_they_are_the_same_and_checked_by_both(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = audited(release, release.parent / "one", batch=1)
    monkeypatch.setattr(parts, "PART_BYTES", 1)
    several = audited(release, release.parent / "several", batch=1)
    assert several.files.n_parts == 2
    assert several.is_nested
    for name in ("areas", "claims", "findings", "proofs", "witnesses", "counts", "wholes"):
        assert several.table(name) == one.table(name), name
    assert verify(several).to_plain() == verify(one).to_plain()
    assert check_run(several.folder) == check_run(one.folder)


def test_bounds_and_worlds_use_the_tables_of_the_area(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runner(capsys)
    found = run("bounds", str(release), "--where", "ill=yes", "--json").json
    bounds = {one["area"]: (one["low"], one["high"]) for one in found["areas"]}
    assert bounds == {"Aford/North": (2, 3), "Aford/South": (1, 2), "Beham/North": (0, 0)}
    out = tmp_path / "worlds.csv"
    found = run("worlds", str(release), "--n", "5", "--out", str(out), "--json").json
    assert found["found"] == {"Aford": 2, "Beham": 1}


def test_a_run_about_nested_areas_is_a_subject_too(release: Path) -> None:
    run = audited(release, release.parent / "run")
    again = read_subject(run.folder)
    assert again.names == ("Aford/North", "Aford/South", "Beham/North")
    with pytest.raises(InputError, match="does not take nested areas"):
        list(again.areas())


def test_what_would_forget_the_tables_of_the_area_is_refused(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = audited(release, release.parent / "run")
    with pytest.raises(RunError, match="nested areas cannot be an earlier one"):
        EarlierRun.open(run.folder)
    with pytest.raises(RunError, match="nested areas cannot be exported"):
        export_vipr(run, tmp_path / "certificates")
    with pytest.raises(ReleaseError, match="nested areas"):
        read_release(release)
    for command in (["protect", "--forbid", "singletons", "--out", str(tmp_path / "safe")], ["recover"]):
        found = runner(capsys)(*command, str(release))
        assert found.code == 2, found
        assert "does not take nested areas" in found.err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Aford,,sex*ill", ",,sex*ill", "a row has no area"),
        ("Beham,North", "Aford/North,", "same name|has no parts"),
        ("Beham,North", "Beham,", "has no parts"),
        ("town,district", "city,district", "no such column"),
        ("Aford,South,sex,sex=m,3", "Aford,South,sex,sex=m,many", "many"),
    ],
)
def test_bad_counts_are_refused(release: Path, old: str, new: str, message: str) -> None:
    path = release.parent / "counts.csv"
    path.write_text(COUNTS.replace(old, new), "utf-8")
    with pytest.raises(ReleaseError, match=message) as caught:
        read_subject(release)
    assert "counts.csv" in str(caught.value)


def test_at_most_two_levels_are_nested(release: Path) -> None:
    release.write_text(RELEASE.replace('["town", "district"]', '["state", "town", "district"]'), "utf-8")
    with pytest.raises(ReleaseError, match="areas are nested in two levels") as caught:
        read_subject(release)
    assert "release.toml" in str(caught.value)
    assert 'area = ["tract", "block"]' in str(caught.value)
