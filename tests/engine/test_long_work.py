"""All long work on an engine: the same results as on this machine, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import showthrough as st
import small_run
from elsewhere import Elsewhere
from showthrough.tables.protect.areas import protect_areas
from showthrough.tables.protect.policy import Policy
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


def test_areas_are_protected_elsewhere() -> None:
    """The same plans, and of errors the first in the order of the areas."""
    areas, policy, engine = list(small_run.areas()), Policy.of("singletons", moves="drop"), Elsewhere()
    here, there = (protect_areas(areas[:2], policy, effort=0.01, engine=one) for one in (None, engine))
    assert engine.done == [0, 1]
    assert [plan.to_plain() for plan in there.plans] == [plan.to_plain() for plan in here.plans]
    for one, other in zip(there.results, here.results, strict=True):
        assert one.comparison.equals(other.comparison)
        assert one.intervals.equals(other.intervals)
        assert one.worlds == other.worlds
        assert [list(r.low) for r in one.releases] == [list(r.low) for r in other.releases]
    with pytest.raises(st.Contradiction, match="block 11"):
        protect_areas(areas[-1:], policy, engine=Elsewhere())
