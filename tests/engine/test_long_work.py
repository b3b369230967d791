"""All long work on an engine: the same results as on this machine, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import showthrough as st
import small_run
from elsewhere import Elsewhere
from showthrough.tables.run import verify as verifying


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long") / "run"
    small_run.run(folder)
    return folder


@pytest.fixture(autouse=True)
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "_PORTION", 1)


def test_a_run_is_verified_elsewhere(run: Path) -> None:
    engine, told = Elsewhere(), list[int]()
    found = st.verify(run, engine=engine, progress=told.append)
    assert found.holds
    assert found == st.verify(run)
    assert len(engine.done) == small_run.N_AREAS == sum(told) == found.areas


def test_what_does_not_hold_is_found_elsewhere(tmp_path: Path) -> None:
    """The same problems, in the same order."""
    small_run.run(tmp_path / "run")
    path = tmp_path / "run" / "claims.parquet"
    table = pq.read_table(path)
    at = table.column_names.index("multiplicity")
    numbers = [number + 1 for number in table["multiplicity"].to_pylist()]
    pq.write_table(table.set_column(at, "multiplicity", [numbers]).cast(table.schema), path)
    found = st.verify(tmp_path / "run", engine=Elsewhere(), page=False)
    assert len(found.problems) > small_run.N_AREAS
    assert found == st.verify(tmp_path / "run", page=False)
