"""Tables in several files are read as tables in one are, by everybody."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import showthrough as st
import small_run
from showthrough.files import file_digest, write_json
from showthrough.report.write import rendered
from showthrough.tables.headline import rank_findings
from showthrough.tables.proof.failure import Unreadable
from showthrough.tables.proof.whole import check_run
from showthrough.tables.run.files import place_of_part
from showthrough.tables.run.one_area import area_of_run
from showthrough.tables.run.read import AuditRun, PartOfRun
from showthrough.tables.run.totals import add_up
from showthrough.tables.stored import PLACES, TABLES


def cut(run: AuditRun, folder: Path, n_areas: int) -> AuditRun:
    """The same run with so many areas in each part."""
    shutil.copytree(run.folder, folder)
    areas = run.table("areas")["area"].to_pylist()
    portions = [areas[at : at + n_areas] for at in range(0, len(areas), n_areas)]
    for name, place in PLACES.items():
        table = run.table(name)
        for at, portion in enumerate(portions):
            mine = [one in portion for one in table["area"].to_pylist()]
            path = folder / place_of_part(name, at)
            path.parent.mkdir(exist_ok=True)
            pq.write_table(table.filter(pa.array(mine, pa.bool_())), path, compression="gzip")
        (folder / place).unlink()
    totals = add_up(AuditRun(folder), without_findings=run.without_findings)
    write_json(folder / "summary.json", totals.to_plain())
    said = json.loads((folder / "run.json").read_text())
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    said["not_hashed"] = [name for name in files if name.startswith("timing")]
    listed = set(files) - {"run.json", *said["not_hashed"]}
    said["outputs"] = {name: file_digest(folder / name) for name in sorted(listed)}
    (folder / "run.json").write_text(json.dumps(said))
    return AuditRun(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    folder = tmp_path_factory.mktemp("whole") / "run"
    small_run.run(folder)
    return AuditRun(folder)


@pytest.fixture(scope="module")
def several(whole: AuditRun, tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    return cut(whole, tmp_path_factory.mktemp("several") / "run", 4)


def test_tables_are_the_same(whole: AuditRun, several: AuditRun) -> None:
    for name in TABLES:
        assert several.table(name).equals(whole.table(name))
    assert replace(several.summary, stored_by_verdict={}) == whole.summary
    assert several.has_intervals == whole.has_intervals
    assert "block 0" in rendered(several.folder, None)


def test_a_part_is_a_run(whole: AuditRun, several: AuditRun) -> None:
    assert whole.parts == (whole,)
    assert [part.table("areas").num_rows for part in several.parts] == [4, 4, 3]
    for name in TABLES:
        parts = [part.table(name) for part in several.parts]
        assert pa.concat_tables(parts).equals(whole.table(name))
    last = several.parts[-1]
    assert isinstance(last, PartOfRun)
    assert (last.parts, last.all_areas) == ((last,), several)
    assert last.summary.areas == 3
    assert sum(part.summary.verified for part in several.parts) == whole.summary.verified
    mine = area_of_run(several, "block 07")
    assert replace(mine.summary, stored_by_verdict={}) == area_of_run(whole, "block 07").summary
    assert rank_findings(mine) == [one for one in rank_findings(whole) if one.area == "block 07"]


def test_verified_and_checked(whole: AuditRun, several: AuditRun) -> None:
    assert st.verify(several.folder).to_plain() == st.verify(whole.folder).to_plain()
    assert check_run(several.folder) == check_run(whole.folder)


def _remove(folder: Path) -> None:
    (folder / place_of_part("proofs", 1)).unlink()


def _remove_the_last(folder: Path) -> None:
    (folder / place_of_part("claims", 2)).unlink()


def _add(folder: Path) -> None:
    shutil.copy(folder / place_of_part("areas", 2), folder / place_of_part("areas", 3))
    for name in PLACES:
        empty = TABLES[name].empty_table()
        if name != "areas":
            pq.write_table(empty, folder / place_of_part(name, 3))


def _both(folder: Path) -> None:
    pq.write_table(TABLES["claims"].empty_table(), folder / PLACES["claims"])


def _exchange(folder: Path) -> None:
    first, second = (folder / place_of_part("proofs", at) for at in (0, 1))
    aside = first.rename(folder / "aside")
    second.rename(first)
    aside.rename(second)


@pytest.mark.parametrize("spoil", [_remove, _remove_the_last, _add, _both, _exchange])
def test_parts_that_do_not_fit_are_problems(
    several: AuditRun, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    shutil.copytree(several.folder, tmp_path / "run")
    spoil(tmp_path / "run")
    assert not st.verify(tmp_path / "run").holds
    with suppress(Unreadable):  # which is a verdict as well
        assert check_run(tmp_path / "run").problems


def test_some_rows_are_read_without_the_others(several: AuditRun, whole: AuditRun, tmp_path: Path) -> None:
    """Rows by their places, and near some areas, from files with several row groups."""
    folder = tmp_path / "run"
    shutil.copytree(several.folder, folder)
    for path in folder.glob("claims/*.parquet"):
        pq.write_table(pq.read_table(path), path, row_group_size=7)
    run, table = AuditRun(folder), whole.table("claims")
    rng = np.random.default_rng(4)
    for size in (0, 1, 5, 40, table.num_rows):
        places = np.sort(rng.permutation(table.num_rows)[:size])
        assert run.rows_at("claims", places).equals(table.take(pa.array(places, pa.int64())))
    for names in (["block 01"], ["block 03", "block 09"], ["nowhere"], []):
        near = pa.concat_tables([TABLES["claims"].empty_table(), *run.batches("claims", near=names)])
        wanted = pa.array(names, pa.string())
        expected = table.filter(pc.is_in(table["area"], wanted))
        assert near.filter(pc.is_in(near["area"], wanted)).equals(expected)
        assert near.num_rows <= expected.num_rows + 14 * len(names)


@pytest.mark.parametrize("most", [1, 3, 10, 1000])
def test_findings_are_ranked_the_same_however_many(whole: AuditRun, several: AuditRun, most: int) -> None:
    keys = [("kind", "descending"), ("k", "descending"), ("n_tables_added", "ascending")]
    table = whole.table("findings")
    expected = table.take(pc.sort_indices(table, sort_keys=keys)[:most])["sentence"].to_pylist()
    for run in (whole, several):
        assert sorted(one.sentence for one in rank_findings(run, most=most)) == sorted(expected)
