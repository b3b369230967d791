"""Releases one after the other on the command line: --after, --ledger, and what verify says of a ledger."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.command import Run, runner
from tests.tampering import rewrite_hashes

from showthrough.formats.ledger import LEDGER, Ledger
from showthrough.formats.read_subject import read_subject
from showthrough.report.verify import verify_ledger
from showthrough.tables.after import NEW_FINDINGS

PEOPLE = """town,sex,age,job
A,f,young,nurse
A,f,old,nurse
A,m,old,cook
A,m,young,clerk
A,f,old,cook
B,f,young,nurse
B,m,old,cook
B,m,young,clerk
B,f,old,nurse
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, words=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("after")
    (folder / "people.csv").write_text(PEOPLE, "utf-8")
    return folder


@pytest.fixture
def people(place: Path) -> str:
    return f"{place / 'people.csv'} --by town --no-report"


@pytest.fixture
def first(run: Run, place: Path, people: str) -> Path:
    folder = place / "first"
    if not folder.exists():
        assert run(f"audit {people} --tables sex*age --out {folder}").code == 0
    return folder


def test_exit_code_one_stands_for_new_findings(run: Run, first: Path, people: str, tmp_path: Path) -> None:
    found = run(f"audit {people} --tables sex*job --after {first} --out {tmp_path / 'b'} --json")
    assert found.code == 1
    assert found.json["after"]["new"] == found.json["findings"] > 0
    again = run(f"audit {people} --tables sex --after {tmp_path / 'b'} --out {tmp_path / 'c'}")
    assert again.code == 0, again.out
    assert f"add no finding to {found.json['findings']} that were already out" in again.text
    inputs = json.loads((tmp_path / "c" / "run.json").read_text("utf-8"))["inputs"]
    assert str(tmp_path / "b" / "run.json") in inputs
    assert all("schema.toml" not in name for name in inputs)


def test_new_findings_name_their_cells(run: Run, first: Path, people: str, tmp_path: Path) -> None:
    found = run(f"audit {people} --tables sex*job --after {first} --out {tmp_path / 'b'}")
    assert "New because of job=" in found.text
    assert "of table sex*job" in found.text
    whole = run(f"audit {people} --tables sex*age --tables sex*job --out {tmp_path / 'w'} --json")
    assert f"With the new tables, {whole.json['findings']} findings are new" in found.text
    assert run(f"verify {tmp_path / 'b'}").code == 0


def test_the_run_has_all_tables(run: Run, first: Path, people: str, tmp_path: Path) -> None:
    run(f"audit {people} --tables sex*age --after {first} --out {tmp_path / 'b'}")
    names = [table.name for table in read_subject(tmp_path / "b").layout.tables]
    assert names == ["sex*age (earlier)", "sex*age"]


def test_data_without_a_column_are_used_to_count_only(run: Run, first: Path, tmp_path: Path) -> None:
    lines = [line.rpartition(",")[0].split(",") for line in PEOPLE.splitlines()]
    jobs = [line.rpartition(",")[2] for line in PEOPLE.splitlines()]
    text = "\n".join(",".join((town, sex, job)) for (town, sex, _), job in zip(lines, jobs, strict=True))
    (tmp_path / "jobs.csv").write_text(text + "\n", "utf-8")
    given = f"{tmp_path / 'jobs.csv'} --by town --no-report --tables sex*job"
    found = run(f"audit {given} --after {first} --out {tmp_path / 'b'}")
    assert "used to count the new tables only: they lack age" in " ".join(found.err.split())
    assert found.code == 1


def test_errors_are_clear(run: Run, first: Path, people: str, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text(PEOPLE.replace("young", "child"), "utf-8")
    odd = run(f"audit {tmp_path / 'other.csv'} --by town --tables age --after {first} --out {tmp_path / 'x'}")
    assert odd.code == 2
    assert "other values in the new tables" in " ".join(odd.err.split())
    (tmp_path / "changed.csv").write_text(PEOPLE.replace("A,f,old,cook", "A,f,young,cook"), "utf-8")
    odd = run(
        f"audit {tmp_path / 'changed.csv'} --by town --tables job --after {first} --out {tmp_path / 'x'}"
    )
    assert odd.code == 2
    assert "do not have the counts of an earlier release" in " ".join(odd.err.split())
    for options in (
        "",
        f"--out {tmp_path / 'x'} --ledger {tmp_path / 'l'}",
        f"--after {tmp_path} --out {tmp_path / 'x'}",
    ):
        assert run(f"audit {people} --tables job {options}").code == 2
    assert not (tmp_path / "x").exists()


def test_protecting_after_a_release(run: Run, first: Path, people: str, tmp_path: Path) -> None:
    out = tmp_path / "safe"
    found = run(f"protect {people} --tables sex*job --after {first} --forbid singletons --out {out}")
    assert found.code == 0, found.err
    assert "Already out:" in found.text
    text = (out / "counts.csv").read_text("utf-8")
    assert "sex*job" in text
    assert "sex*age" not in text
    assert run(f"audit {out / 'release.toml'} --no-report --after {first} --out {tmp_path / 'b'}").code in (
        0,
        1,
    )


# --- ledgers --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ledger") / "ledger"


@pytest.fixture
def ledger(run: Run, people: str, kept: Path) -> Path:
    """A ledger of two releases."""
    if not kept.exists():
        assert run(f"audit {people} --tables sex*age --ledger {kept}").code == 0
        grown = run(f"audit {people} --tables sex*job --ledger {kept}")
        assert grown.code == 1
        assert "0002-people sex*job" in grown.text
    return kept


def test_a_ledger_grows(ledger: Path) -> None:
    entries = Ledger.open(ledger).entries
    assert [entry.folder for entry in entries] == ["0001-people", "0002-people"]
    assert [entry.tables for entry in entries] == [("sex*age",), ("sex*job",)]
    assert (entries[0].new, entries[1].new) == (0, entries[1].findings)
    assert list(Ledger.open(ledger).check()) == []


def test_a_ledger_is_verified(run: Run, ledger: Path) -> None:
    found = run(f"verify {ledger}")
    assert found.code == 0, found.out
    assert "whether there were releases after the last one" in found.text
    assert "from the earlier tables alone" not in found.text  # they are at hand here


def tampered(ledger: Path, folder: Path) -> Path:
    shutil.copytree(ledger, folder)
    return folder


def test_a_release_that_is_left_out_is_noticed(ledger: Path, tmp_path: Path) -> None:
    folder = tampered(ledger, tmp_path / "ledger")
    plain = json.loads((folder / LEDGER).read_text("utf-8"))
    (folder / LEDGER).write_text(json.dumps({**plain, "entries": plain["entries"][1:]}), "utf-8")
    problems = list(Ledger.open(folder).check())
    assert any("the chain is broken" in text for text in problems)
    assert any("0001-people: not listed" in text for text in problems)


def test_a_changed_run_is_noticed(run: Run, ledger: Path, people: str, tmp_path: Path) -> None:
    folder = tampered(ledger, tmp_path / "ledger")
    manifest = folder / "0001-people" / "run.json"
    manifest.write_text(manifest.read_text("utf-8") + "\n", "utf-8")
    assert any("not the run that" in text for text in Ledger.open(folder).check())
    assert run(f"verify {folder}").code == 1
    refused = run(f"audit {people} --tables age --ledger {folder}")
    assert refused.code == 2
    assert "the ledger failed its check" in " ".join(refused.err.split())


def test_a_new_finding_that_is_called_old_is_noticed(ledger: Path, tmp_path: Path) -> None:
    """Even where all numbers and hashes are made to fit."""
    folder = tampered(ledger, tmp_path / "ledger")
    last = folder / "0002-people"
    table = pq.read_table(last / NEW_FINDINGS)
    rows = [{**row, "status": "already out", "because": []} for row in table.to_pylist()]
    pq.write_table(table.from_pylist(rows, table.schema), last / NEW_FINDINGS)
    plain = json.loads((last / "after.json").read_text("utf-8"))
    plain["findings"] = {**dict.fromkeys(plain["findings"], 0), "already out": len(rows)}
    (last / "after.json").write_text(json.dumps(plain), "utf-8")
    rewrite_hashes(last)
    start = Ledger(folder, Ledger.open(folder).entries[:1])
    assert list(start.with_run(last).check()) == []
    assert any("other findings are new" in text for text in verify_ledger(folder).problems)


@pytest.mark.parametrize(
    "text",
    ["{}", '{"kind": "ledger", "entries": [3]}', '{"kind": "ledger", "entries": [{"folder": "../x"}]}'],
)
def test_a_damaged_ledger_is_refused(run: Run, people: str, tmp_path: Path, text: str) -> None:
    whole = text if text == "{}" else f'{{"kind": "ledger", "entries": {text}}}'
    (tmp_path / LEDGER).write_text(whole, "utf-8")
    assert run(f"verify {tmp_path}").code == 2
    assert run(f"audit {people} --tables age --ledger {tmp_path}").code == 2


def test_other_folders_are_no_ledgers(run: Run, first: Path, people: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    for folder in (tmp_path, first):
        refused = run(f"audit {people} --tables age --ledger {folder}")
        assert refused.code == 2
        assert "not a ledger" in refused.err
