"""A run that is killed, at any moment and as often as you like, ends as if nothing had happened."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import showthrough as st
import small_run
from showthrough.engine.engine import Engine, LocalEngine, Work
from showthrough.tables.run import batch
from showthrough.tables.run import writer as run_module
from showthrough.tables.run.batch import SEAL, BatchStore, decide_batch
from showthrough.tables.run.inputs import Area, Broken, Nested, Settings
from working_time import await_work

N_KILLS = 50 if os.environ.get("SHOWTHROUGH_SLOW") == "1" else 12


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run, uninterrupted."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    small_run.run(folder)
    return folder


def start(folder: Path, workers: int) -> multiprocessing.process.BaseProcess:
    """The run in a process of its own, forked from one that has imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["small_run"])
    process = context.Process(target=small_run.run, args=(folder,), kwargs={"workers": workers})
    process.start()
    return process


def check(folder: Path, whole: Path) -> None:
    assert small_run.contents(folder) == small_run.contents(whole)
    assert not (folder / ".partial").exists()
    names = pq.read_table(folder / "areas.parquet")["area"].to_pylist()
    assert names == [f"block {number:02d}" for number in range(1, small_run.N_AREAS + 1)]


def test_killed_at_random_moments(tmp_path: Path, whole: Path) -> None:
    """Whatever a kill leaves behind, the next call goes on from there; kills may follow each other."""
    process = start(tmp_path / "timed", 1)
    lasts = await_work(process.pid or 0)
    process.join()
    check(tmp_path / "timed", whole)
    rng, at_work = np.random.default_rng(5), 0
    for number in range(N_KILLS):
        folder = tmp_path / f"run-{number // 2}"  # every other kill hits a run that was killed before
        process = start(folder, workers=1)
        await_work(process.pid or 0, rng.uniform(0, lasts))
        at_work += process.is_alive()
        process.kill()
        process.join()
        process.close()
        if number % 2:
            if not (folder / "run.json").exists() or (folder / ".partial").exists():
                small_run.run(folder)
            check(folder, whole)
    assert at_work >= N_KILLS // 2


def test_killed_with_workers(tmp_path: Path, whole: Path) -> None:
    folder = tmp_path / "run"
    process = start(folder, workers=2)
    while process.is_alive() and not any((folder / ".partial").glob("0*")):
        time.sleep(0.005)
    process.kill()
    process.join()
    if not (folder / "run.json").exists():  # which a process could write that was not looked at for long
        small_run.run(folder, workers=2)
    check(folder, whole)


class Stop(Exception):
    """An interruption."""


class Stopping:
    """An engine that is interrupted after some items, having done them back to front."""

    def __init__(self, n_items: int) -> None:
        self.n_items = n_items

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        listed = list(items)
        for item in reversed(listed[-self.n_items :]):
            yield item, work(item)
        raise Stop


def test_the_order_and_the_engine_change_nothing(tmp_path: Path, whole: Path) -> None:
    """Begun back to front on one engine, gone on with on another."""
    folder = tmp_path / "run"
    for n_items in (1, 2):
        engine: Engine = Stopping(n_items)
        with pytest.raises(Stop):
            small_run.run(folder, engine=engine)
    assert {path.name for path in (folder / ".partial").glob("0*")} == {"00000003", "00000004", "00000005"}
    small_run.run(folder, engine=LocalEngine(2))
    check(folder, whole)


class Doubling:
    """An engine that does everything twice, as a cluster may that suspects a machine to be slow."""

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        for item in items:
            assert isinstance(work, BatchStore)
            with ThreadPoolExecutor(2) as both:
                first, second = both.map(work, [item, item])
            assert first == second
            yield item, work(item)


def test_work_done_twice_is_there_once(tmp_path: Path, whole: Path) -> None:
    small_run.run(tmp_path / "run", engine=Doubling())
    check(tmp_path / "run", whole)


class Overtaken:
    """An engine whose first attempt at everything ends after a second one that began later."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.patched = patched

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        for item in items:
            assert isinstance(work, BatchStore)
            written = list[int]()

            def overtaken(
                areas: Sequence[Area | Broken | Nested],
                settings: Settings,
                item: int = item,
                work: BatchStore = work,
                written: list[int] = written,
            ) -> dict[str, pa.Table]:
                if not written:
                    written.append(0)
                    work(item)
                    written[0] = (work.part(item) / SEAL).stat().st_mtime_ns
                return decide_batch(areas, settings)

            self.patched.setattr(batch, "decide_batch", overtaken)
            yield item, work(item)
            assert item < 0 or (work.part(item) / SEAL).stat().st_mtime_ns == written[0]


def test_a_slow_attempt_leaves_what_a_faster_one_has_written(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_run.run(tmp_path / "run", engine=Overtaken(monkeypatch))
    check(tmp_path / "run", whole)


def test_killed_between_the_last_file_and_tidying_up(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"

    def kill(_: Path, *, ignore_errors: bool = False) -> None:
        if not ignore_errors:
            raise Stop

    with monkeypatch.context() as patched:
        patched.setattr(run_module.shutil, "rmtree", kill)
        with pytest.raises(Stop):
            small_run.run(folder)
    assert (folder / "run.json").exists()
    assert (folder / ".partial").exists()
    small_run.run(folder)
    check(folder, whole)
    with pytest.raises(st.RunError, match="the output folder already holds a finished run"):
        small_run.run(folder)


def interrupted(folder: Path) -> None:
    with pytest.raises(Stop):
        small_run.run(folder, engine=Stopping(2))


def test_parts_without_a_plan_are_nobodys(tmp_path: Path, whole: Path) -> None:
    """Left by a kill while another run was being cleared away."""
    folder = tmp_path / "run"
    interrupted(folder)
    (folder / ".partial" / "plan.json").unlink()
    table = pq.read_table(folder / ".partial" / "00000005" / "areas.parquet")
    pq.write_table(table.slice(0, 0), folder / ".partial" / "00000005" / "areas.parquet")
    small_run.run(folder)
    check(folder, whole)


def test_parts_about_other_areas_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    interrupted(folder)
    others = list(small_run.areas())[::-1]
    with pytest.raises(st.RunError, match="about other areas"):
        small_run.run(folder, others=others)


@pytest.mark.parametrize("of", ["records", "counts"])
def test_parts_about_other_data_are_refused(tmp_path: Path, of: str) -> None:
    """Areas of the same names, of which one that was decided has other records or other counts now."""
    folder = tmp_path / "run"
    interrupted(folder)
    others = list(small_run.areas())
    old = others[9].release
    if of == "counts":
        others[9] = st.Area(st.Release(old.layout, old.low, old.high + 1, old.area), others[9].truth)
    else:
        records = st.Records(small_run.SCHEMA, np.zeros((5, 3), np.uint8))
        others[9] = st.Area(old, records)
    with pytest.raises(st.RunError, match="or other data about them"):
        small_run.run(folder, others=others)


def test_other_settings_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    interrupted(folder)
    plan = json.loads((folder / ".partial" / "plan.json").read_text("utf-8"))
    assert plan["batch"] == small_run.BATCH
    with pytest.raises(st.RunError, match="an unfinished run with other settings"):
        st.run_audit(small_run.areas(), small_run.LAYOUT, folder, batch=small_run.BATCH)


def test_a_contradiction_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(st.Contradiction, match="area block 11"):
        small_run.run(folder, keep_going=False)
    assert not folder.exists()


def test_progress_counts_every_area_once(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    interrupted(folder)
    seen: list[int] = []
    small_run.run(folder, progress=seen.append)
    assert sum(seen) == small_run.N_AREAS
    assert len(seen) == 6


def test_a_straggler_finds_no_folder_while_one_is_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, emptied, removed = tmp_path / "run", list[bool](), shutil.rmtree

    def straggle(place: Path, *, ignore_errors: bool = False) -> None:
        emptied.append((folder / ".partial").exists())
        removed(place, ignore_errors=ignore_errors)

    monkeypatch.setattr(run_module.shutil, "rmtree", straggle)
    with pytest.raises(st.Contradiction, match="area block 11"):
        small_run.run(folder, keep_going=False)
    assert emptied[-2:] == [False, False]
    assert not folder.exists()
