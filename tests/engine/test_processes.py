"""Worker processes: they end with their parent, whenever and however that ends, and leave nothing behind."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import small_run
from showthrough.cli import main
from showthrough.engine import worker
from showthrough.engine.engine import LocalEngine, Work, in_order
from showthrough.engine.processes import n_processors, open_workers
from showthrough.errors import ShowthroughError
from working_time import worked

SLOW = os.environ.get("SHOWTHROUGH_SLOW") == "1"

#: Kills and interruptions of each command.
TRIES = 20 if SLOW else 1

#: Seconds of work after which everything must be gone, and of waiting, however busy the machine is.
GONE, PATIENCE = 2, 300

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see processes")

#: Commands with workers that are busy for several seconds; ``OUT`` is a new folder.
TABLES = "people.csv --tables sex*age*job --tables age*ill*job --tables sex*ill --by town --no-report"
CALLS = {
    "audit": f"audit {TABLES} --workers 2 --out OUT",
    "protect": f"protect {TABLES} --forbid singletons --workers 2 --out OUT",
    "verify": "verify run --workers 2",
    "census audit": "census audit homes.parquet --no-report --workers 2 --out OUT",
}

#: What the error advises after an interruption.
ADVICE = {"protect": "; run the command again", "verify": ""}

#: Seconds within which a command is ended after it has come to its work.
MOMENTS = 1 if SLOW else 0.4


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with people, and if all is tried a run about them that takes a while to check, and homes."""
    folder = tmp_path_factory.mktemp("things")
    before = Path.cwd()
    os.chdir(folder)
    draw = random.Random(1)  # noqa: S311  (made-up people)
    values = ("fm", ("young", "middle", "old"), ("clerk", "nurse", "baker", "none"), ("no", "yes"))
    rows = [
        ",".join([f"t{town:03d}", *map(draw.choice, values)])  # type: ignore[arg-type]
        for town in range(250 if SLOW else 150)
        for _ in range(12)
    ]
    Path("people.csv").write_text("\n".join(["town,sex,age,job,ill", *rows, ""]), "utf-8")
    if SLOW:
        for call in ("simulate --blocks 60 --seed 1 --out homes.parquet", f"audit {TABLES} --out run"):
            assert main([*call.split(), "--quiet"]) in (0, 1)
    yield folder
    os.chdir(before)


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Processes started here hear of interruptions, even if these tests run where nobody does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Started:
    """A command in a session of its own."""

    def __init__(self, call: str, out: Path) -> None:
        words = [str(out) if word == "OUT" else word for word in call.split()]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "showthrough.cli", *words, "--quiet"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.seen: set[int] = set()
        self.others: set[int] = set()

    def members(self) -> list[int]:
        """The processes of the session that are alive."""
        found: list[int] = []
        # Nobody joins a session later, so that processes of others are looked at once.
        there = {int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()}
        for pid in there - self.others:
            try:
                stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
            except OSError:  # gone meanwhile
                continue
            state, _, _, session = stat.rsplit(")", 1)[1].split()[:4]
            if int(session) != self.process.pid:
                self.others.add(pid)
            elif state != "Z":
                found.append(pid)
        self.seen |= set(found)
        return found

    def children(self) -> list[int]:
        return [pid for pid in self.members() if pid != self.process.pid]

    def await_workers(self, n_workers: int = 1) -> None:
        """Wait until so many workers are there."""
        deadline = time.monotonic() + PATIENCE
        while len(self.children()) < n_workers:
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def check_gone(self) -> None:
        """Soon there is nothing left of it: nobody goes on working, and nobody stays."""
        before = {pid: worked(pid) for pid in self.members()}
        deadline = time.monotonic() + PATIENCE
        while left := self.members():
            if time.monotonic() > deadline or any(worked(pid) > before.get(pid, 0) + GONE for pid in left):
                break
            time.sleep(0.02)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert not left
        assert not self.left_behind()

    def left_behind(self) -> list[str]:
        """What its processes left in shared memory and among temporary files; others use these too."""
        pattern = re.compile(rf"(loky|joblib|pymp).*-({'|'.join(map(str, self.seen))})-")
        places = [Path("/dev/shm"), Path(tempfile.gettempdir())]  # noqa: S108  (looked at only)
        return [
            path.name
            for place in places
            if place.is_dir()
            for path in place.glob("*")
            if pattern.search(path.name)
        ]


def commands(*usual: str) -> pytest.MarkDecorator:
    """Those that are tried every time, in turn where all end alike; or all."""
    return pytest.mark.parametrize("command", CALLS if SLOW else usual)


#: Commands and how often they are interrupted.
INTERRUPTED = [(name, n) for name in CALLS for n in (1, 2)] if SLOW else [("audit", 1), ("protect", 2)]


@pytest.mark.slow
@pytest.mark.usefixtures("things")
class TestEnds:
    @commands("audit", "protect")
    def test_killed(self, tmp_path: Path, command: str) -> None:
        """Workers do not outlive a parent that is killed, from their first moment on."""
        rng = random.Random(f"kill {command}")  # noqa: S311
        moments = [0, *(rng.uniform(0, MOMENTS) for _ in range(TRIES))]
        # Both end alike: each is killed at one of the two moments if not all are tried.
        for number, moment in enumerate(moments if SLOW else moments[command == "audit" :][:1]):
            started = Started(CALLS[command], tmp_path / f"{number}")
            started.await_workers(1)
            time.sleep(moment)
            started.process.kill()
            started.process.communicate()
            started.check_gone()

    @pytest.mark.parametrize(("command", "n_signals"), INTERRUPTED)
    def test_interrupted(self, tmp_path: Path, command: str, n_signals: int) -> None:
        """One line, no traceback, nothing left; a second interruption changes nothing but the haste."""
        rng = random.Random(f"interrupt {command} {n_signals}")  # noqa: S311
        for number in range(TRIES):
            started = Started(CALLS[command], tmp_path / f"{number}")
            started.await_workers(1)
            time.sleep(rng.uniform(0, MOMENTS))
            for again in range(n_signals):
                time.sleep(0.05 * again)
                if started.process.poll() is None:
                    os.killpg(started.process.pid, signal.SIGINT)
            out, err = started.process.communicate(timeout=PATIENCE)
            more = ADVICE.get(command, "; the same command resumes")
            assert (started.process.returncode, out, err) == (130, "", f"error: interrupted{more}\n")
            started.check_gone()

    @commands("protect")
    def test_terminated(self, tmp_path: Path, command: str) -> None:
        started = Started(CALLS[command], tmp_path / "made")
        started.await_workers(2)
        time.sleep(MOMENTS / 2)
        started.process.terminate()
        _, err = started.process.communicate(timeout=PATIENCE)
        more = ADVICE.get(command, "; the same command resumes")
        assert (started.process.returncode, err) == (143, f"error: terminated{more}\n")
        started.check_gone()

    @commands("audit")
    def test_a_killed_worker_is_named(self, tmp_path: Path, command: str) -> None:
        started = Started(CALLS[command], tmp_path / "made")
        started.await_workers(2)
        time.sleep(MOMENTS / 2)
        killed = started.children()[0]
        os.kill(killed, signal.SIGKILL)
        _, err = started.process.communicate(timeout=PATIENCE)
        assert started.process.returncode == 2
        assert err.startswith(f"error: a worker process died (process {killed} was killed by SIGKILL); ")
        assert len(err.splitlines()) == 1
        started.check_gone()


class Killing:
    """An engine whose processes are killed when they have done one item, and more have to be sent to them."""

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        for number, done in enumerate(LocalEngine(2).run(work, items)):
            if number == 0:
                self.kill()
            yield done

    def kill(self) -> None:
        for path in Path("/proc/self/task").glob("*/children"):
            for pid in map(int, path.read_text("utf-8").split()):
                if worker.__file__.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                    os.kill(pid, signal.SIGKILL)


def test_a_run_goes_on_where_workers_were_killed(tmp_path: Path) -> None:
    made = tmp_path / "made"
    with pytest.raises(ShowthroughError, match="was killed by SIGKILL"):
        small_run.run(made, engine=Killing())
    assert any((made / ".partial").glob("0*"))
    for folder in (made, tmp_path / "whole"):
        small_run.run(folder)
    assert small_run.contents(made) == small_run.contents(tmp_path / "whole")


def test_an_error_that_cannot_be_sent_is_sent_in_words() -> None:
    with pytest.raises(RuntimeError, match=r"Unsendable: odd") as caught, open_workers(_fail, 1) as workers:
        workers.submit(1).result()
    assert "in a worker process" in caught.value.__notes__[0]


def test_what_cannot_be_sent_is_an_error() -> None:
    with pytest.raises((AttributeError, TypeError, ValueError)), open_workers(lambda item: item, 1):
        pass
    with open_workers(abs, 1) as workers:
        with pytest.raises(TypeError, match="pickle"):
            workers.submit(sys.stdout).result()
        assert workers.submit(-3).result() == 3


def test_printing_in_a_worker_does_no_harm(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(in_order(_chatter, [1, 2], workers=2)) == [1, 2]
    assert capfd.readouterr().out == ""


def test_large_items_and_results() -> None:
    large = [bytes([number]) * 3_000_000 for number in range(6)]
    assert list(in_order(_twice, large, workers=2)) == [item * 2 for item in large]


def test_given_up_before_the_end() -> None:
    run = LocalEngine(2).run(abs, range(1000))
    next(run)
    run.close()


def test_a_dead_worker_is_an_error_of_the_run() -> None:
    with pytest.raises(ShowthroughError, match=r"process \d+ ended with exit code 3"):
        list(LocalEngine(2).run(os._exit, [3]))


def test_processors() -> None:
    assert 1 <= n_processors() <= (os.cpu_count() or 1)


class Unsendable(Exception):
    """An error that holds what cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("odd")
        self.held = sys.stdout


def _fail(_: int) -> int:
    raise Unsendable


def _chatter(item: int) -> int:
    print("hello")  # noqa: T201
    return item


def _twice(item: bytes) -> bytes:
    return item * 2
