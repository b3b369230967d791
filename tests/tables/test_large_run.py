"""A run beyond the size of a part: the same rows, in parts, whoever writes them and whoever is killed."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import showthrough as st
import small_run
from kills import STEP, every_moment
from showthrough.engine.engine import Work
from showthrough.folders import remove
from showthrough.tables.headline import verdict_rows
from showthrough.tables.proof.whole import check_run
from showthrough.tables.run import agenda, parts, writer
from showthrough.tables.run import batch as batches
from showthrough.tables.run.agenda import Agenda, Batch, in_batches, weight
from showthrough.tables.run.batch import BatchStore, LostResults
from showthrough.tables.run.exact_counts import may_differ
from showthrough.tables.run.inputs import names_of
from showthrough.tables.run.parts import PartCut, PartStore, SealedPart
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.totals import RunTotals
from showthrough.tables.stored import TABLES

#: Bytes that two batches of the small run have, about.
TINY = 30_000


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of two or three batches, nothing flushed, and every batch decided once."""
    monkeypatch.setattr(parts, "PART_BYTES", TINY)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    decide = batches.decide_batch

    def remembered(batch: list[st.Area], settings: st.Settings) -> object:
        key = (tuple(area.release.area for area in batch), settings)
        if key not in DECIDED:
            DECIDED[key] = decide(batch, settings)
        return DECIDED[key]

    monkeypatch.setattr(batches, "decide_batch", remembered)


DECIDED: dict[object, object] = {}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    """The run with one file for each table."""
    folder = tmp_path_factory.mktemp("one") / "run"
    small_run.run(folder)
    return AuditRun(folder)


def bare(folder: Path) -> dict[str, bytes]:
    """Every file of a run whose content does not depend on the machine."""
    found = small_run.contents(folder)
    return {name: text for name, text in found.items() if not name.startswith("timing")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parts, "PART_BYTES", TINY)
        small_run.run(folder)
    return folder


def test_the_same_run_in_parts(one: AuditRun, whole: Path) -> None:
    run = AuditRun(whole)
    assert run.files.n_parts > 1
    assert not one.files.n_parts
    for name in TABLES:
        if name != "timing":
            assert run.table(name).equals(one.table(name)), name
    assert run.table("timing")["area"].equals(one.table("timing")["area"])
    plain = run.summary.to_plain()
    counted = plain.pop("stored_by_verdict")
    assert plain == one.summary.to_plain()
    assert sum(counted.values()) == run.table("claims").num_rows
    assert verdict_rows(run) == verdict_rows(one)
    assert run.manifest["not_hashed"] == list(run.files.places("timing"))
    assert not (whole / "wholes").exists() or not list((whole / "wholes").iterdir())
    assert st.verify(whole).to_plain() == st.verify(one.folder).to_plain()
    assert check_run(whole) == check_run(one.folder)
    assert not (whole / ".partial").exists()


class Backwards:
    """An engine that does what it was given last first, each item twice."""

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        for item in reversed(list(items)):
            work(item)
            yield item, work(item)


def test_the_order_of_work_changes_nothing(tmp_path: Path, whole: Path) -> None:
    """Several machines are in tests/engine/test_spark.py."""
    small_run.run(tmp_path / "run", engine=Backwards())
    assert bare(tmp_path / "run") == bare(whole)


def test_killed_at_every_moment(tmp_path: Path, whole: Path) -> None:
    expected, place, moment = bare(whole), tmp_path / "here", 0
    place.mkdir()
    for moment in every_moment(lambda: small_run.run(place / "run"), place, step=20 * STEP):
        if not (place / "run/run.json").exists() or (place / "run/.partial").exists():
            small_run.run(place / "run")
        assert bare(place / "run") == expected, moment
        shutil.rmtree(place / "run")
    assert moment > 100


class Stop(Exception):
    """An interruption."""


class StopsLate:
    """An engine that is interrupted once a part is joined."""

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        for item in items:
            yield item, work(item)
            if item < 0:
                raise Stop


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    with pytest.raises(Stop):
        small_run.run(tmp_path / "run", engine=StopsLate())
    return tmp_path / "run"


def times(folder: Path) -> dict[str, int]:
    """When the files of the first part were written."""
    found = folder.rglob("part-00000.parquet")
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in found}


def test_a_part_that_is_joined_stays(interrupted: Path, whole: Path) -> None:
    joined = times(next((interrupted / ".partial").glob("final-*")))
    assert joined
    assert "00000000" not in {path.name for path in (interrupted / ".partial").iterdir()}
    small_run.run(interrupted)
    now = times(interrupted)
    assert now.items() >= {name: time for name, time in joined.items() if name in now}.items()
    assert len(now) > 5
    assert bare(interrupted) == bare(whole)


def test_a_damaged_part_is_made_again(interrupted: Path, whole: Path) -> None:
    path = next(interrupted.rglob("claims/part-00000.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    small_run.run(interrupted)
    assert bare(interrupted) == bare(whole)


def test_parts_about_other_areas_are_refused(interrupted: Path) -> None:
    with pytest.raises(st.RunError, match="about other areas"):
        small_run.run(interrupted, others=list(small_run.areas())[::-1])


def test_parts_of_another_size_are_refused(interrupted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 1)
    with pytest.raises(st.RunError, match="parts of another size"):
        small_run.run(interrupted)


def test_a_part_that_is_not_to_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Path) -> None:
    """As on a cluster whose machines have folders of the same name, but not the same folder."""
    with monkeypatch.context() as patched:
        patched.setattr(PartStore, "join", lambda _, number: number + 1)
        with pytest.raises(st.RunError, match="part 0 is not in the folder"):
            small_run.run(tmp_path / "run")
    small_run.run(tmp_path / "run")
    assert bare(tmp_path / "run") == bare(whole)


def test_a_straggler_leaves_nothing_in_a_finished_run(interrupted: Path, whole: Path) -> None:
    """A process that joins a part for the second time when the run is over already."""
    store = BatchStore(str(interrupted / ".partial"), st.Settings(), "0" * 64)
    joins = PartStore(store)
    small_run.run(interrupted)
    with pytest.raises((OSError, st.InputError)):
        joins.join(0)
    draft = interrupted.parent / "draft"
    (draft / "proofs").mkdir(parents=True)
    with pytest.raises((OSError, st.InputError)):
        joins._written(0, (0, 0), draft)
    assert bare(interrupted) == bare(whole)
    assert not (interrupted / ".partial").exists()


def decided(folder: Path, key: str, n: int = 2) -> BatchStore:
    """A working folder with some decided batches, as a run with this key has it."""
    folder.mkdir(exist_ok=True)
    store, areas = BatchStore(str(folder), st.Settings(), key), list(small_run.areas())
    store.prepare(small_run.LAYOUT)
    for number in range(n):
        batch = Batch([*areas[2 * number : 2 * number + 2]])
        store.write_input(number, partial(batch.write, layout=small_run.LAYOUT))
        assert store(number) == 2
    return store


def test_a_batch_of_another_run_is_neither_taken_nor_kept(tmp_path: Path) -> None:
    """A worker that outlived a run with other settings in the same folder has left it there."""
    decided(tmp_path / "work", "a" * 64, n=1)
    mine = BatchStore(str(tmp_path / "work"), st.Settings(), "b" * 64)
    with pytest.raises(LostResults, match="that of another run"):
        mine.decided(0)
    assert mine.intact(0) is None
    assert mine(0) == 2
    assert mine.decided(0) == mine.intact(0)


def test_a_worker_that_outlived_a_run_leaves_the_next_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it joins batches, its run is given up, and another one begins in the same folder."""
    work, written = tmp_path / "work", PartStore._written
    old = PartStore(decided(work, "a" * 64))
    old.plan(0, (0, 2))
    begun = list[PartStore]()

    def given_up(self: PartStore, number: int, span: tuple[int, int], draft: Path) -> SealedPart:
        found = written(self, number, span, draft)
        if not begun:
            shutil.rmtree(work)
            begun.append(PartStore(decided(work, "b" * 64)))
            begun[0].plan(0, (0, 2))
        return found

    monkeypatch.setattr(PartStore, "_written", given_up)
    with pytest.raises(OSError, match="No such file"):
        old.join(0)
    assert begun[0].sealed(0) is None
    assert [begun[0].store.intact(number) is not None for number in (0, 1)] == [True, True]
    assert begun[0].join(0) == 4
    with pytest.raises((OSError, st.InputError)):
        old.join(0)
    assert begun[0].sealed(0) is not None


def test_a_worker_that_writes_while_its_folder_is_emptied_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Path
) -> None:
    left = [3]

    def disturbed(path: Path) -> None:
        if left[0] and path.name == ".partial" and path.exists():
            left[0] -= 1
            (path / "draft").mkdir()
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
        remove(path)

    monkeypatch.setattr(writer, "remove", disturbed)
    small_run.run(tmp_path / "run")
    assert left == [0]
    assert bare(tmp_path / "run") == bare(whole)


def test_a_full_disk_is_said_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Path
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(parts, "flush_file", full)
        with pytest.raises(st.RunError, match="No space left on device"):
            small_run.run(tmp_path / "run")
    assert (tmp_path / "run/.partial/00000000").exists()
    small_run.run(tmp_path / "run")
    assert bare(tmp_path / "run") == bare(whole)


def test_a_run_in_parts_replaces_another_and_is_replaced(tmp_path: Path, one: AuditRun, whole: Path) -> None:
    def again(n_bytes: int) -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(parts, "PART_BYTES", n_bytes)
            st.run_audit(
                small_run.areas(),
                small_run.LAYOUT,
                tmp_path / "run",
                settings=st.Settings(effort=small_run.EFFORT, keep_going=True),
                batch=small_run.BATCH,
                overwrite=True,
            )

    again(2**30)
    assert bare(tmp_path / "run") == bare(one.folder)
    again(TINY)
    assert bare(tmp_path / "run") == bare(whole)
    again(2**30)
    assert bare(tmp_path / "run") == bare(one.folder)
    assert [path.name for path in (tmp_path / "run").iterdir() if path.is_dir()] == ["proofs"]


def test_the_cut_does_not_depend_on_the_order() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, TINY, 40).tolist()
    found = set[tuple[tuple[int, int], ...]]()
    for _ in range(5):
        cut = PartCut()
        for number in rng.permutation(40).tolist():
            list(cut.add(number, sizes[number]))
        list(cut.end())
        found.add(tuple(cut.spans))
    (spans,) = found
    assert [number for span in spans for number in range(*span)] == list(range(40))
    assert all(sum(sizes[first:end]) >= TINY for first, end in spans[:-1])
    assert all(sum(sizes[first : end - 1]) < TINY for first, end in spans)


def sized(number: int, n_records: int) -> st.Area:
    records = st.Records(small_run.SCHEMA, np.zeros((n_records, 3), np.uint8))
    return st.Area(small_run.LAYOUT.tabulate(records, area=str(number)), records)


def names(batch: Batch) -> list[str]:
    return [name for area in batch.areas for name in names_of(area)]


def test_heavy_areas_are_alone_and_first(tmp_path: Path) -> None:
    sizes = [1, 1, 500, 1, 1, 1, 900, 1]
    areas = [sized(number, size) for number, size in enumerate(sizes)]
    found = list(in_batches(areas, 3))
    assert [names(batch) for batch in found] == [["0", "1"], ["2"], ["3", "4", "5"], ["6"], ["7"]]
    assert [batch.heavy > 0 for batch in found] == [False, True, False, True, False]
    assert [weight(area) > 3 for area in areas] == [size > 100 for size in sizes]
    blind = [st.Area(area.release) for area in areas]
    assert [names(batch) for batch in in_batches(blind, 3)] == [names(batch) for batch in found]
    store = BatchStore(str(tmp_path), st.Settings(), "key")
    store.prepare(small_run.LAYOUT)
    assert list(Agenda(found, store, small_run.LAYOUT, lambda _: None)) == [3, 1, 0, 2, 4]


def test_batches_grow_with_the_run() -> None:
    areas = [sized(0, 1)] * 3_000
    sizes = [len(batch.areas) for batch in in_batches(areas, 2)]
    assert sizes[0] == 2
    assert max(sizes) == agenda.MOST_TIMES * 2
    assert sum(sizes) == 3_000


def test_reading_ahead_begins_small(tmp_path: Path) -> None:
    read = list[int]()

    def listed() -> Iterator[agenda.Batch]:
        for number in range(1000):
            read.append(number)
            yield agenda.Batch([sized(number, 1)])

    store = BatchStore(str(tmp_path), st.Settings(), "key")
    store.prepare(small_run.LAYOUT)
    items = iter(Agenda(listed(), store, small_run.LAYOUT, lambda _: None))
    assert next(items) == 0
    assert len(read) == agenda.FIRST_AHEAD
    assert next(items) == 1
    assert len(read) < 20


def test_totals_of_parts_are_totals(one: AuditRun, whole: Path) -> None:
    found = RunTotals.sum_of(part.summary for part in AuditRun(whole).parts)
    bare_one = replace(found, stored_by_verdict={})
    assert json.dumps(bare_one.to_plain()) == json.dumps(one.summary.to_plain())
    ten = RunTotals(hidden_by_columns={"10": 1, "2": 1})
    assert list(RunTotals.sum_of([ten, ten]).hidden_by_columns) == ["2", "10"]


def test_intervals_are_seen_wherever_they_are(tmp_path: Path) -> None:
    """Exact counts are told by the bytes of the file alone; one interval among many is found."""
    n_cells = len(small_run.LAYOUT.names)
    for at in (None, 0, 700, 1999):
        low = np.random.default_rng(2).integers(0, 50, (2000, n_cells))
        high = low.copy()
        if at is not None:
            high[at, -1] += 1
        rows = [{"area": str(n), "low": low[n], "high": high[n]} for n in range(len(low))]
        table = pa.Table.from_pylist(rows, TABLES["counts"])
        path = tmp_path / f"{at}" / "counts.parquet"
        path.parent.mkdir()
        pq.write_table(table, path, compression="gzip", row_group_size=500)
        assert may_differ(path) == (at is not None)
        assert AuditRun(path.parent).has_intervals == (at is not None)
    assert may_differ(tmp_path / "nowhere.parquet")
