"""Folders of results: complete or not there, one writer at a time, whatever happens to the writer."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import platform
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from kills import every_moment, killed_at
from showthrough import locks
from showthrough.errors import InputError, RunError
from showthrough.files import check_new, file_digest, replacing, write_text
from showthrough.folders import Description, Draft, check_place, result_folder
from showthrough.locks import hold, short_name
from showthrough.scratch import private_scratch

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
NOT_ROOT = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is flushed matters when the power fails, which it does not here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def what(text: str = "x", kind: str = "k") -> Description:
    return Description(kind, {"text": text}, {"in": "hash"})


def page(folder: Path) -> None:
    """A page that lists what the folder holds without it."""
    others = sorted(path.name for path in folder.iterdir() if path.name != "report.html")
    write_text(folder / "report.html", f"{others} {(folder / 'run.json').exists()}")


def fill(draft: Draft, text: str) -> None:
    (draft.path / "a.txt").write_text(text)
    (draft.path / "inner").mkdir()
    (draft.path / "inner" / "b.txt").write_text(2 * text)
    draft.facts["found"] = len(text)


def make(path: Path, text: str = "x", *, kind: str = "k", overwrite: bool = False) -> None:
    with hold(path):
        with result_folder(path, what(text, kind), overwrite=overwrite, page=page) as draft:
            fill(draft, text)
        assert (path / "run.json").exists()  # all is said


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestFinished:
    def test_every_file_is_listed_with_its_hash(self, tmp_path: Path) -> None:
        make(tmp_path / "deep" / "run")
        run = json.loads((tmp_path / "deep/run/run.json").read_text())
        listed = ("a.txt", "inner/b.txt", "report.html")
        assert run["outputs"] == {name: file_digest(tmp_path / "deep/run" / name) for name in listed}
        assert (run["kind"], run["parameters"], run["inputs"]) == ("k", {"text": "x"}, {"in": "hash"})
        assert run["found"] == 1
        assert "showthrough" in run["versions"]
        assert names(tmp_path / "deep") == ["run"]

    def test_nothing_is_left_of_a_failure(self, tmp_path: Path) -> None:
        def fail() -> None:
            with result_folder(tmp_path / "deep/run", what()) as draft:
                (draft.path / "a.txt").write_text("x")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert names(tmp_path) == []

    def test_what_is_there_stays_unless_asked_for(self, tmp_path: Path) -> None:
        make(tmp_path / "run", "old")
        with pytest.raises(RunError, match=r"already holds a finished run.*--overwrite"):
            make(tmp_path / "run", "new")
        with pytest.raises(RunError, match=r"already holds a finished run.*--overwrite"):
            check_place(tmp_path / "run", what("new"))
        assert (tmp_path / "run/a.txt").read_text() == "old"
        make(tmp_path / "run", "new", overwrite=True)
        assert (tmp_path / "run/a.txt").read_text() == "new"
        assert names(tmp_path) == ["run"]

    def test_a_failure_keeps_what_was_there(self, tmp_path: Path) -> None:
        make(tmp_path / "run", "old")
        before = contents(tmp_path)
        with (
            pytest.raises(ZeroDivisionError),
            result_folder(tmp_path / "run", what("new"), overwrite=True),
        ):
            raise ZeroDivisionError
        assert contents(tmp_path) == before

    def test_foreign_folders_are_never_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        make(tmp_path / "mine")  # empty: fine
        with pytest.raises(RunError, match="the output folder is not empty"):
            make(tmp_path / "mine", kind="other", overwrite=True)
        (tmp_path / "full").mkdir()
        (tmp_path / "full/thesis.txt").write_text("x")
        with pytest.raises(RunError, match="the output folder is not empty"):
            make(tmp_path / "full", overwrite=True)
        with pytest.raises(RunError, match="a file, not a folder"):
            make(tmp_path / "full/thesis.txt", overwrite=True)
        for text in ("", "[1]", "{", "\xff", "[" * 200_000, "null", '{"kind": ["k"]}'):
            (tmp_path / "full/run.json").write_text(text, "latin-1")
            with pytest.raises(RunError, match="the output folder is not empty"):
                make(tmp_path / "full", overwrite=True)
        assert (tmp_path / "full/thesis.txt").read_text() == "x"
        assert names(tmp_path) == ["full", "mine"]

    def test_files_of_the_user_are_not_removed_with_a_result(self, tmp_path: Path) -> None:
        make(tmp_path / "run")
        (tmp_path / "run/inner/notes.txt").write_text("mine")
        with pytest.raises(RunError, match=r"did not write \(found 'inner/notes.txt'\); move them"):
            make(tmp_path / "run", overwrite=True)
        assert (tmp_path / "run/inner/notes.txt").read_text() == "mine"

    def test_drafts_of_the_dead_are_no_files_of_the_user(self, tmp_path: Path) -> None:
        make(tmp_path / "run")
        (tmp_path / "run/.report.html.999999999.0123456789abcdef.draft").write_text("half a page")
        make(tmp_path / "run", "new", overwrite=True)
        assert names(tmp_path / "run") == ["a.txt", "inner", "report.html", "run.json"]

    def test_a_link_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        make(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real" / "run.json").exists()
        assert names(tmp_path) == ["link", "real"]

    def test_long_names(self, tmp_path: Path) -> None:
        for name in ("x" * 255, "é" * 120):
            make(tmp_path / name)
            make(tmp_path / name, "y", overwrite=True)
            assert len(os.fsencode(f".{short_name(Path(name))}.0123456789abcdef.draft")) < 256
        assert names(tmp_path) == sorted(["x" * 255, "é" * 120])
        with pytest.raises(RunError, match="a folder cannot be made here"):
            make(Path("/"))


class TestKilled:
    """The core: whenever the writer is killed, the same call again ends as if nothing had happened."""

    def test_a_new_folder(self, tmp_path: Path) -> None:
        make(tmp_path / "whole/run")
        expected, moments = contents(tmp_path / "whole"), 0
        (tmp_path / "here").mkdir()
        place = tmp_path / "here"
        for moments in every_moment(lambda: make(place / "run"), place):
            make(place / "run")
            assert contents(place) == expected, moments
            shutil.rmtree(place / "run")
        assert moments > 30

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        make(tmp_path / "whole/run")
        expected, place = contents(tmp_path / "whole"), tmp_path / "here"
        (place / "run").mkdir(parents=True)
        for moment in every_moment(lambda: make(place / "run"), place):
            make(place / "run")
            assert contents(place) == expected, moment
            shutil.rmtree(place / "run")
            (place / "run").mkdir()

    def test_in_place_of_another(self, tmp_path: Path) -> None:
        """At every moment the old folder or the new one is there, whole, or comes back."""
        make(tmp_path / "whole/run", "new")
        new, place = contents(tmp_path / "whole"), tmp_path / "here"
        make(place / "run", "old")
        old = contents(place)
        seen = set[str]()
        for moment in every_moment(lambda: make(place / "run", "new", overwrite=True), place):
            left = place.parent / "copy"
            shutil.copytree(place, left)
            with pytest.raises(RunError, match="finished run"):  # another command puts right what is left
                make(left / "run", "third")
            found = {name: text for name, text in contents(left).items() if name != ".run.lock"}
            assert found in (old, new), moment
            seen.add("old" if found == old else "new")
            make(place / "run", "new", overwrite=True)
            assert contents(place) == new, moment
            shutil.rmtree(left)
            shutil.rmtree(place / "run")
            make(place / "run", "old")
        assert seen == {"old", "new"}

    def test_killed_twice(self, tmp_path: Path) -> None:
        """The second kill hits what puts the first one right."""
        make(tmp_path / "whole/run")
        expected, place = contents(tmp_path / "whole"), tmp_path / "here"
        place.mkdir()
        for first in range(1, 60, 3):
            with killed_at(first, place) as was:
                make(place / "run")
            if not was():
                break
            for second in every_moment(lambda: make(place / "run"), place):
                if second % 5 == first % 5:
                    break
            make(place / "run")
            assert contents(place) == expected
            shutil.rmtree(place / "run")

    def test_a_finished_folder_is_only_told_again_to_the_same_command(self, tmp_path: Path) -> None:
        def stopped() -> None:
            with hold(tmp_path / "run"):
                with result_folder(tmp_path / "run", what(), page=page) as draft:
                    fill(draft, "x")
                with killed_at(1, tmp_path):  # before anything was printed
                    (tmp_path / "printed").mkdir()
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            stopped()
        assert names(tmp_path) == [".run.lock", "run"]
        before = contents(tmp_path / "run")
        for _ in range(2):  # others do not take the note away
            with pytest.raises(RunError, match="finished run"):
                make(tmp_path / "run", "other")
        make(tmp_path / "run")
        assert contents(tmp_path / "run") == before
        assert names(tmp_path) == ["run"]
        with pytest.raises(RunError, match="finished run"):
            make(tmp_path / "run")

    def test_the_same_plan_with_another_result_is_refused(self, tmp_path: Path) -> None:
        """A publication with another seed: what is there is not replaced by it."""
        with suppress(KeyboardInterrupt), hold(tmp_path / "run"):
            make(tmp_path / "run")
            raise KeyboardInterrupt
        with (
            pytest.raises(RunError, match="finished run"),
            result_folder(tmp_path / "run", what(), page=page) as draft,
        ):
            fill(draft, "another")
        assert (tmp_path / "run" / "a.txt").read_text() == "x"

    @pytest.mark.parametrize("left", [b"", b"{", b"[1]", b"\xff", b"[" * 5000, b'{"pid": "x", "plan": 3}'])
    def test_damaged_locks(self, tmp_path: Path, left: bytes) -> None:
        (tmp_path / ".run.lock").write_bytes(left)
        make(tmp_path / "run")
        assert names(tmp_path) == ["run"]


def write_slowly(path: Path, pipe: Any) -> None:
    """A writer in a process of its own that waits in the middle."""
    with hold(path), result_folder(path, what("slow"), page=page, overwrite=True) as draft:
        fill(draft, "slow")
        pipe.send("started")
        pipe.recv()


@contextmanager
def a_writer(path: Path) -> Generator[tuple[multiprocessing.process.BaseProcess, Any]]:
    context = multiprocessing.get_context("spawn")
    mine, other = context.Pipe()
    process = context.Process(target=write_slowly, args=(path, other))
    process.start()
    try:
        assert mine.poll(60)
        yield process, mine
    finally:
        process.kill()
        process.join()


class TestTwoWriters:
    def test_the_second_is_refused_and_harms_nothing(self, tmp_path: Path) -> None:
        make(tmp_path / "run", "old")
        with a_writer(tmp_path / "run") as (process, pipe):
            before = contents(tmp_path)
            for overwrite in (False, True):
                with pytest.raises(RunError, match=rf"another showthrough process \(pid {process.pid}\) is"):
                    make(tmp_path / "run", "new", overwrite=overwrite)
            assert contents(tmp_path) == before
            pipe.send("go on")
            process.join()
            assert process.exitcode == 0
        assert (tmp_path / "run/a.txt").read_text() == "slow"
        assert names(tmp_path) == ["run"]

    def test_a_killed_one_is_no_hindrance(self, tmp_path: Path) -> None:
        with a_writer(tmp_path / "run") as (process, _):
            assert len(names(tmp_path)) == 2
            process.kill()
            process.join()
        make(tmp_path / "run")
        assert names(tmp_path) == ["run"]

    def test_threads_are_writers_too(self, tmp_path: Path) -> None:
        refused = list[str]()

        def other() -> None:
            try:
                make(tmp_path / "run", "new")
            except RunError as error:
                refused.append(str(error))

        with hold(tmp_path / "run"):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        assert f"pid {os.getpid()}" in refused[0]
        assert names(tmp_path) == []

    def test_a_lock_that_goes_away_while_it_is_taken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its last owner removes the file between our opening and our locking it."""
        taken, try_lock = list[int](), locks.try_lock

        def late(handle: int, left: dict[str, Any] | None = None) -> bool:
            if len(taken) < 3:
                (tmp_path / ".run.lock").unlink()
            taken.append(handle)
            return try_lock(handle, left)

        monkeypatch.setattr(locks, "try_lock", late)
        with hold(tmp_path / "run") as lock:
            assert len(taken) == 4
            assert os.fstat(lock.handle).st_ino == (tmp_path / ".run.lock").stat().st_ino
        assert names(tmp_path) == []

    def test_where_the_system_has_no_locks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(locks, "fcntl", None)
        waiting = [sys.executable, "-c", "input()"]
        with subprocess.Popen(waiting, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as sleeper:
            about = {"pid": sleeper.pid, "host": platform.node()}
            (tmp_path / ".run.lock").write_text(json.dumps(about))
            with pytest.raises(RunError, match=f"pid {sleeper.pid}"):
                make(tmp_path / "run")
        make(tmp_path / "run")
        assert names(tmp_path) == ["run"]

    def test_what_is_no_lock(self, tmp_path: Path) -> None:
        (tmp_path / "target").write_text("mine")
        (tmp_path / ".run.lock").symlink_to("target")
        with pytest.raises(RunError, match="cannot write here"):
            make(tmp_path / "run")
        assert (tmp_path / "target").read_text() == "mine"
        (tmp_path / ".run.lock").unlink()
        os.mkfifo(tmp_path / ".run.lock")
        with pytest.raises(RunError, match="cannot write here"):
            make(tmp_path / "run")


class TestPrivate:
    def test_nobody_else_can_read_what_is_not_finished(self, tmp_path: Path) -> None:
        before = os.umask(0o022)
        try:
            with hold(tmp_path / "run") as lock, result_folder(tmp_path / "run", what()) as draft:
                fill(draft, "x")
                assert draft.path.parent == tmp_path
                for path in (draft.path, lock.path):
                    assert not stat.S_IMODE(path.stat().st_mode) & 0o077
            assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o755
            assert stat.S_IMODE((tmp_path / "run/a.txt").stat().st_mode) == 0o644
            assert stat.S_IMODE((tmp_path / "run/run.json").stat().st_mode) == 0o644
        finally:
            os.umask(before)

    def test_a_folder_keeps_its_permissions(self, tmp_path: Path) -> None:
        (tmp_path / "run").mkdir(mode=0o700)
        for overwrite in (False, True):
            make(tmp_path / "run", overwrite=overwrite)
            assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700


@contextmanager
def small_disk(place: Path) -> Generator[Path]:
    """A disk of 64 kilobytes."""
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place]
    if subprocess.run(mounting, check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("cannot mount here")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def long_page(folder: Path) -> None:
    write_text(folder / "report.html", "x" * 2**16)


class TestTrouble:
    @NOT_ROOT
    def test_read_only(self, tmp_path: Path) -> None:
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(RunError, match=r"closed/run: cannot write here: Permission denied"):
            make(tmp_path / "closed/run")
        assert names(tmp_path / "closed") == []

    @pytest.mark.parametrize("name", ["fsync", "rename", "mkdir", "write", "replace", "chmod"])
    def test_no_room_left(self, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whichever call it is that fails: one clear error, and what was there is there."""
        make(tmp_path / "run", "old")
        before, real = contents(tmp_path), getattr(os, name)
        for at in range(40):
            calls = list[int]()

            def failing(*arguments: Any, at: int = at, calls: list[int] = calls, **more: Any) -> Any:
                calls.append(1)
                if len(calls) == at + 1:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return real(*arguments, **more)

            said = "No space left on device"
            with monkeypatch.context() as patched:
                patched.setattr(os, name, failing)
                try:
                    make(tmp_path / "run", "new", overwrite=True)
                except InputError as error:
                    said = str(error)
            assert "No space left on device" in said
            if len(calls) <= at:
                assert (tmp_path / "run/a.txt").read_text() == "new"
                return
            if contents(tmp_path) != before:  # it failed when all was done
                assert (tmp_path / "run/a.txt").read_text() == "new"
                make(tmp_path / "run", "old", overwrite=True)
            assert contents(tmp_path) == before, at
        pytest.fail("there is no end to it")

    @ROOT_ONLY
    def test_a_full_disk(self, tmp_path: Path) -> None:
        with small_disk(tmp_path / "disk") as disk:
            make(disk / "run")
            before = contents(disk)
            for size in (2**17, 2**15):  # too much at once; too much with the page
                with (
                    pytest.raises(RunError, match=r"run: cannot write here: No space left on device"),
                    result_folder(disk / "run", what("new"), overwrite=True, page=long_page) as draft,
                ):
                    (draft.path / "big").write_bytes(bytes(size))
                assert contents(disk) == before
            with (
                pytest.raises(RunError, match=r"disk: scratch files cannot be written: no space left"),
                private_scratch(disk) as scratch,
            ):
                (scratch / "big").write_bytes(bytes(2**17))
            assert contents(disk) == before

    def test_the_clock_is_set_back(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        make(tmp_path / "run", "old")
        with killed_at(12, tmp_path):
            make(tmp_path / "run", "new", overwrite=True)
        monkeypatch.setattr(time, "time", lambda: 0.0)
        monkeypatch.setattr(time, "strftime", lambda _: "1970-01-01 00:00:00")
        for path in (tmp_path / "run").rglob("*"):
            os.utime(path, (4e9, 4e9))
        make(tmp_path / "run", "new", overwrite=True)
        assert names(tmp_path) == ["run"]
        assert (tmp_path / "run/a.txt").read_text() == "new"


class TestScratch:
    def test_it_is_private_and_gone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SHOWTHROUGH_SCRATCH", str(tmp_path))
        with private_scratch() as one, private_scratch() as other:
            (one / "secret").write_text("x")
            assert one != other
            for path in (*tmp_path.iterdir(), one):
                assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert names(tmp_path) == []

    def test_of_the_dead_nothing_stays(self, tmp_path: Path) -> None:
        def work() -> None:
            with private_scratch(tmp_path) as scratch:
                (scratch / "secret").write_text("x")

        moment = 0
        for moment in every_moment(work, tmp_path):
            work()
            assert names(tmp_path) == [], moment
        assert moment > 5

    def test_of_the_living_all_stays(self, tmp_path: Path) -> None:
        with private_scratch(tmp_path) as one:
            (one / "secret").write_text("x")
            with private_scratch(tmp_path):
                pass
            assert (one / "secret").exists()
        (tmp_path / f"showthrough-{os.getuid()}-mine").mkdir()
        with private_scratch(tmp_path):
            pass
        assert names(tmp_path) == [f"showthrough-{os.getuid()}-mine"]

    def test_nowhere(self, tmp_path: Path) -> None:
        with pytest.raises(RunError, match=r"scratch files cannot be written.*SHOWTHROUGH_SCRATCH"):
            private_scratch(tmp_path / "nowhere").__enter__()


class TestSingleFiles:
    def test_killed_at_any_moment(self, tmp_path: Path) -> None:
        path = tmp_path / "data.csv"
        path.write_text("old")
        for _ in every_moment(lambda: write_text(path, "new"), tmp_path):
            assert path.read_text() in ("old", "new")
            # The draft of a process that lives stays: this one plays to be dead.
            for draft in tmp_path.glob(".data.csv.*"):
                draft.rename(draft.with_name(draft.name.replace(f".{os.getpid()}.", ".999999999.")))
            write_text(path, "new")
            assert names(tmp_path) == ["data.csv"]
            path.write_text("old")

    def test_permissions(self, tmp_path: Path) -> None:
        before = os.umask(0o022)
        try:
            path = tmp_path / "data.csv"
            for mode in (0o644, 0o640):
                with replacing(path) as draft:
                    draft.write_text("secret")
                    assert stat.S_IMODE(draft.stat().st_mode) == 0o600
                assert stat.S_IMODE(path.stat().st_mode) == mode
                path.chmod(0o640)
        finally:
            os.umask(before)

    def test_drafts_of_the_living_stay(self, tmp_path: Path) -> None:
        path = tmp_path / "data.csv"
        with replacing(path) as draft:
            draft.write_text("first")
            write_text(path, "second")
            assert draft.exists()
        assert path.read_text() == "first"
        mine = tmp_path / ".data.csv.notes.draft"
        mine.write_text("x")
        write_text(path, "third")
        assert mine.exists()

    @pytest.mark.parametrize("make_it", [os.mkdir, os.mkfifo])
    def test_what_is_no_file_is_not_replaced(self, tmp_path: Path, make_it: Callable[[Path], None]) -> None:
        make_it(tmp_path / "x")
        (tmp_path / "link").symlink_to("x")
        for name in ("x", "link"):
            with pytest.raises(InputError, match="not"):
                write_text(tmp_path / name, "text")
        assert names(tmp_path) == ["link", "x"]

    def test_a_device_is_not_replaced(self) -> None:
        with pytest.raises(InputError, match=r"not a regular file \(found 'a device'\)"):
            write_text("/dev/null", "text")
        assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)

    def test_what_exists_is_not_replaced_unasked(self, tmp_path: Path) -> None:
        check_new(tmp_path / "x", overwrite=False)
        (tmp_path / "x").write_text("mine")
        check_new(tmp_path / "x", overwrite=True)
        with pytest.raises(
            RunError, match=r"the file already exists; choose another name or add --overwrite"
        ):
            check_new(tmp_path / "x", overwrite=False)
