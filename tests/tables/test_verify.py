"""Re-checking a run area by area: nothing may be missing, nothing may be left over."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import showthrough as st
import small_run
from showthrough.tables.run import read as reading
from showthrough.tables.run import verify


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run, read a few rows at a time, so that areas lie across batches."""
    monkeypatch.setattr(reading, "_ROWS", 3)
    small_run.run(tmp_path / "run")
    return tmp_path / "run"


def change(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path)


def test_everything_is_checked(folder: Path) -> None:
    done = st.verify(folder)
    run = st.AuditRun(folder)
    verified = run.table("claims").filter(pc.field("verdict") == "verified")
    assert done.holds
    assert done.areas == small_run.N_AREAS
    assert done.claims == verified.num_rows > 100
    assert done.proofs == run.table("proofs").num_rows > 50


def test_claims_without_their_proofs(folder: Path) -> None:
    path = folder / "proofs" / "proofs.parquet"
    change(path, pq.read_table(path).filter(pc.field("area") != "block 03"))
    problems = st.verify(folder).problems
    assert problems[0] == "proofs/proofs.parquet: changed since the run"
    assert {problem.partition(": ")[0] for problem in problems[1:]} == {"area block 03"}
    assert len(problems) > 2


def test_rows_about_an_area_that_is_not_there(folder: Path) -> None:
    path = folder / "claims.parquet"
    claims = pq.read_table(path)
    stray = claims.slice(0, 1).set_column(0, "area", pa.array(["block 99"]))
    change(path, pa.concat_tables([claims, stray]))
    assert st.verify(folder).problems == [
        "claims.parquet: changed since the run",
        "claims: unexpected rows about area block 99",
        "summary.json: figures differ from those of the tables",
    ]


def test_areas_in_another_order(folder: Path) -> None:
    path = folder / "claims.parquet"
    claims = pq.read_table(path)
    first = pc.field("area") == "block 01"
    change(path, pa.concat_tables([claims.filter(~first), claims.filter(first)]))
    assert "claims: unexpected rows about area block 01" in st.verify(folder).problems


def test_a_table_that_cannot_be_read(folder: Path) -> None:
    (folder / "claims.parquet").write_bytes(b"PAR1, but not for long")
    problems = st.verify(folder).problems
    assert problems[0] == "claims.parquet: changed since the run"
    assert "claims.parquet: the file cannot be read: " in problems[-1]


def test_several_processes_find_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_PORTION", 40)
    path = folder / "proofs" / "proofs.parquet"
    proofs = pq.read_table(path)
    torn = [text.replace('"total":', '"total":1') for text in proofs["proof"].to_pylist()]
    change(path, proofs.set_column(1, "proof", pa.array(torn)))
    seen: list[int] = []
    alone, together = st.verify(folder), st.verify(folder, workers=2, progress=seen.append)
    assert len(alone.problems) > 20
    assert together == alone
    assert sum(seen) == small_run.N_AREAS
    assert len(seen) > 2
