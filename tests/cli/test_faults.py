"""Whatever goes wrong is one line and an exit code; what nobody foresaw has a code of its own."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from command import Run, runner
from showthrough import __version__
from showthrough.cli import main
from showthrough.cli.interrupts import Interrupts
from showthrough.cli.main import explain
from showthrough.cli.options import PrintOptions
from showthrough.errors import InputError, Undecided

CALL = ["census", "tables"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Have every command fail, where it asks what to print with."""

    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr(PrintOptions, "terminal", fail)


@pytest.mark.parametrize(
    "error",
    [
        AssertionError("no"),
        ImportError("no module"),
        KeyError("low"),
        OSError("?"),
        RecursionError("deep"),
        RuntimeError("a\nb\x1b[31m"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        ZeroDivisionError(),
    ],
    ids=lambda error: type(error).__name__,
)
class TestFaults:
    def test_one_line_asks_for_a_report(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        failing(monkeypatch, error)
        ran = run(*CALL)
        assert ran.code == 70
        assert ran.out == ""
        assert ran.err.startswith(f"error: this is a fault in showthrough: {type(error).__name__}: ")
        assert "report it with the command and the version" in ran.err
        assert __version__ in ran.err
        assert ran.err.count("\n") == 1
        assert "\x1b" not in ran.err

    def test_as_json(self, run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
        failing(monkeypatch, error)
        ran = run(*CALL, "--json")
        assert ran.code == 70
        assert type(error).__name__ in ran.json["error"]

    def test_verbose_shows_where(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        error: Exception,
    ) -> None:
        failing(monkeypatch, error)
        assert main([*CALL, "--verbose"]) == 70
        err = capsys.readouterr().err
        assert err.startswith("Traceback (most recent call last):\n")
        assert "in fail" in err
        assert err.splitlines()[-1].startswith("error: this is a fault in showthrough")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "not enough memory (MemoryError); use fewer --workers"),
        (pa.ArrowMemoryError("malloc of size 9 failed"), "not enough memory (malloc of size 9 failed)"),
        (duckdb.OutOfMemoryException("failed to pin block"), "not enough memory (failed to pin block)"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "not enough memory"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError(errno.EROFS, "Read-only file system", "out"), "out: Read-only file system"),
        (FileNotFoundError(errno.ENOENT, "No such file", "people.csv"), "people.csv: No such file"),
        (duckdb.IOException("Could not write file: No space left"), "Could not write file: No space left"),
        (InputError("bad", file="x.csv", found="1"), "x.csv: bad (found '1')"),
    ],
)
def test_what_is_wrong_with_the_input_or_the_machine(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    failing(monkeypatch, error)
    ran = run(*CALL)
    assert ran.code == 2
    assert ran.err.startswith(f"error: {said}")
    assert ran.err.count("\n") == 1
    assert run(*CALL, "--json").json["error"].startswith(said)


def test_undecided(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, Undecided("too large"))
    assert (run(*CALL).code, run(*CALL).err) == (3, "error: undecided: too large\n")


def test_not_enough_memory_says_what_to_do() -> None:
    text, code = explain(MemoryError("Unable to allocate 9 GiB"))
    assert code == 2
    assert text.endswith("use fewer --workers or fewer columns, or a machine with more memory")


@pytest.mark.parametrize("code", ["0 nothing found", "70 a fault", "130 interrupted", "143 terminated"])
def test_the_help_lists_exit_codes(run: Run, code: str) -> None:
    assert code in " ".join(run("--help").out.split())


def test_a_reader_that_goes_away() -> None:
    """As ``showthrough census tables | head -1``."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "showthrough.cli", *CALL]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """As in a terminal: a shell starts what runs in the background with interruptions ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
class TestInterruptions:
    def test_the_first_ends_a_command(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        failing(monkeypatch, KeyboardInterrupt())
        ran = run(*CALL, "--json")
        assert ran.code == 130
        assert ran.err == "error: interrupted\n"
        assert json.loads(ran.out) == {"error": "interrupted"}

    @pytest.mark.parametrize(
        ("call", "advice"),
        [
            ("audit people.csv --tables sex --out run", "; the same command resumes"),
            ("demo", "; the same command resumes"),
            ("publish people.csv --sensitive ill --rho 0.3:0.6 --out public", "; run the command again"),
            ("protect people.csv --tables sex --forbid singletons --out safe", "; run the command again"),
            ("verify run", ""),
        ],
    )
    def test_what_to_do_next(self, run: Run, monkeypatch: pytest.MonkeyPatch, call: str, advice: str) -> None:
        def stop(*_: object, **__: object) -> int:
            signal.raise_signal(signal.SIGTERM)
            return 0

        monkeypatch.setattr(PrintOptions, "terminal", stop)
        ran = run(*call.split())
        assert (ran.code, ran.err) == (143, f"error: terminated{advice}\n")

    def test_what_a_library_makes_of_one(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """Some catch the interruption and raise an error of their own."""

        def fail(*_: object) -> int:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise RuntimeError("query interrupted") from None
            return 0

        monkeypatch.setattr(PrintOptions, "terminal", fail)
        assert (run(*CALL).code, run(*CALL).err) == (130, "error: interrupted\n")

    def test_one_that_is_lost_comes_again(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """In a finaliser errors cannot be passed on: Python would print the interruption, and go on."""

        class Last:
            def __del__(self) -> None:
                signal.raise_signal(signal.SIGINT)

        def linger(*_: object) -> int:
            last = Last()
            del last
            time.sleep(120)
            return 0

        monkeypatch.setattr(PrintOptions, "terminal", linger)
        assert (run(*CALL).code, run(*CALL).err) == (130, "error: interrupted\n")

    def test_one_that_is_lost_does_not_come_when_all_is_over(self) -> None:
        """A command that ends before it comes again leaves a process behind that nobody wants to end."""
        script = (
            "import signal, sys, threading\n"
            "from types import SimpleNamespace\n"
            "from showthrough.cli import interrupts\n"
            "for _ in range(20):\n"
            "    pauses, stopped = threading.Event(), threading.Event()\n"
            "    interrupts.time = SimpleNamespace(sleep=lambda _: [pauses.set(), stopped.wait()])\n"
            "    ours = interrupts.Interrupts()\n"
            "    ours.listen()\n"
            "    ours.first = signal.SIGTERM\n"
            "    sys.unraisablehook(SimpleNamespace(exc_value=KeyboardInterrupt()))\n"
            "    pauses.wait()\n"
            "    ours.stop(last=False)\n"
            "    stopped.set()\n"
            "    for thread in set(threading.enumerate()) - {threading.main_thread()}:\n"
            "        thread.join()\n"
            "print('alive')\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "alive\n", "")

    def test_everything_is_as_before(self, run: Run) -> None:
        before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), sys.unraisablehook
        threads = set(threading.enumerate())
        assert run(*CALL).code == 0
        assert (
            signal.getsignal(signal.SIGINT),
            signal.getsignal(signal.SIGTERM),
            sys.unraisablehook,
        ) == before
        for thread in set(threading.enumerate()) - threads:
            thread.join(60)
        assert set(threading.enumerate()) <= threads

    def test_signals_that_are_ignored_stay_so(self) -> None:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            interrupts = Interrupts()
            interrupts.listen()
            signal.raise_signal(signal.SIGINT)
            interrupts.stop(last=False)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            assert not interrupts.came
        finally:
            signal.signal(signal.SIGINT, before)

    def test_not_in_the_main_thread(self, run: Run) -> None:
        codes: list[int] = []
        thread = threading.Thread(target=lambda: codes.append(run(*CALL).code))
        thread.start()
        thread.join()
        assert codes == [0]

    def test_the_second_ends_the_process_at_once(self) -> None:
        """Even while the first is being dealt with, and even if that takes for ever."""
        script = (
            "import sys, time\n"
            "from showthrough.cli import main\n"
            "from showthrough.cli.options import PrintOptions\n"
            "def stuck(*_):\n"
            "    try:\n"
            "        print('ready', flush=True); time.sleep(600)\n"
            "    finally:\n"
            "        print('tidying up', flush=True); time.sleep(600)\n"
            "PrintOptions.terminal = stuck\n"
            "sys.exit(main(['census', 'tables']))\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        assert process.stdout is not None
        for words in ("ready\n", "tidying up\n"):
            assert process.stdout.readline() == words
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
        assert (process.returncode, err) == (130, "error: interrupted\n")
