"""The engine on this machine: everything once, in any order, only so much at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from showthrough.engine.engine import PER_WORKER, LocalEngine, open_engine
from showthrough.errors import InputError, RecordsError


@pytest.mark.parametrize("workers", [1, 2])
class TestRun:
    def test_every_item_once(self, workers: int) -> None:
        found = list(LocalEngine(workers).run(abs, range(25)))
        assert sorted(found) == [(item, item) for item in range(25)]

    def test_items_are_taken_as_there_is_room(self, workers: int) -> None:
        taken: list[int] = []

        def items() -> Iterator[int]:
            for item in range(40):
                taken.append(item)
                yield item

        for n_done, _ in enumerate(LocalEngine(workers).run(abs, items())):
            assert len(taken) <= n_done + PER_WORKER * workers
        assert len(taken) == 40

    def test_nothing_to_do(self, workers: int) -> None:
        assert list(LocalEngine(workers).run(abs, [])) == []

    def test_whoever_makes_the_items_may_fail(self, workers: int) -> None:
        def items() -> Iterator[int]:
            yield 1
            raise RecordsError("broken", row=7)

        with pytest.raises(RecordsError, match="row 7: broken"):
            list(LocalEngine(workers).run(abs, items()))


SCRIPT = """
import sys, time
sys.path.insert(0, {folder!r})
import work
from showthrough.engine.engine import LocalEngine
from showthrough.errors import ShowthroughError
try:
    for item, _ in LocalEngine(2).run(work.{name}, range(6)):
        print(item, flush=True)
except ShowthroughError as error:
    print(type(error).__name__, error)
"""

WORK = """
import os, time
from pathlib import Path
from showthrough.errors import RecordsError
def refuse(item): raise RecordsError("refused", row=1)
def die(item): os._exit(3)
def linger(item):
    Path({folder!r}, f"pid-{{os.getpid()}}").touch()
    time.sleep(300 if item else 0)
    return item
"""


def started(tmp_path: Path, name: str) -> subprocess.Popen[str]:
    """A process whose workers do something that only they can import."""
    (tmp_path / "work.py").write_text(WORK.format(folder=str(tmp_path)), "utf-8")
    script = SCRIPT.format(folder=str(tmp_path), name=name)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    return subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    )


def test_an_error_on_purpose_comes_back_as_it_was(tmp_path: Path) -> None:
    out, _ = started(tmp_path, "refuse").communicate(timeout=120)
    assert out == "RecordsError row 1: refused\n"


def test_a_worker_that_dies_is_reported(tmp_path: Path) -> None:
    out, _ = started(tmp_path, "die").communicate(timeout=120)
    assert out.startswith("ShowthroughError a worker process died")
    assert "run the same command again" in out


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to look at processes")
def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    process = started(tmp_path, "linger")
    deadline = time.monotonic() + 120
    while len(pids := list(tmp_path.glob("pid-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    numbers = [int(path.name.removeprefix("pid-")) for path in pids]
    assert len(numbers) == 2
    while any(map(is_alive, numbers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(is_alive, numbers))


@pytest.mark.parametrize("name", ["", "Local", "local[", "spark:/", "dask"])
def test_unknown_engines(name: str) -> None:
    with (
        pytest.raises(InputError, match=r"unknown engine \(found '.*'\); use local, or a Spark"),
        open_engine(name, workers=1),
    ):
        pass
