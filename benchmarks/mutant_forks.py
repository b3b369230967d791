"""Running tests against mutants, each in a fork of its own.

The process that decides never imports what it mutates. For each target one fork collects the tests
and, in a fork of its own, notes which lines each of them reaches. Then every mutant of a function's
body is a fork of the first that gets the mutated code and runs the tests that reach it until one
fails. Where the fault is in what runs at import, the fork starts from nothing.

A fork has so much processor time for each test, and so much memory; what ends it early has noticed.
"""

from __future__ import annotations

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NoReturn, TextIO

import pytest
from _pytest.runner import runtestprotocol
from benchmarks.mutations import Mutant, mutants_of, mutated

__all__ = ["KILLED", "SURVIVED", "TIMED_OUT", "Case", "Target", "cases_of", "run_target"]

#: A test may take so many times its own processor time, and so many seconds more.
PATIENCE, GRACE = 10, 3

#: Memory a fork may take.
MEMORY = 8 * 2**30

KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"


@dataclass(frozen=True)
class Target:
    """Files to be mutated, and what is to notice; doctests of the files are among it.

    ``without`` names tests that take too long to meet every mutant, ``apart`` the classes, functions and
    constants of the files that are not mutated.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    without: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A mutant of a file."""

    file: str
    mutant: Mutant

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a declaration must name."""
        return self.file, self.mutant.within, self.mutant.line, self.mutant.becomes


@dataclass(frozen=True)
class Timed:
    """A test that passes: its processor seconds, and the lines of the target it reaches."""

    name: str
    seconds: float
    shared: bool
    lines: frozenset[tuple[str, int]]

    @property
    def plain(self) -> list[Any]:
        """As what JSON can hold."""
        return [self.name, self.seconds, self.shared, sorted(self.lines)]

    @classmethod
    def from_plain(cls, plain: list[Any]) -> Timed:
        """The inverse."""
        name, seconds, shared, lines = plain
        return cls(name, seconds, shared, frozenset(map(tuple, lines)))


@cache
def text_of(path: Path) -> str:
    """A file as it was when first read: forks inherit it, and edits meanwhile do not matter."""
    return path.read_text("utf-8")


def cases_of(target: Target, root: Path) -> list[Case]:
    """All mutants of a target's files, but for what is left apart."""
    return [
        Case(file, mutant)
        for file in target.files
        for mutant in mutants_of(text_of(root / file))
        if (mutant.within.split(".")[0] or mutant.line.split(" ")[0]) not in target.apart
    ]


def run_target(
    target: Target, root: Path, cases: Sequence[Case], workers: int
) -> Iterator[tuple[Case, str, str]]:
    """The fate of every mutant, and the test that noticed it."""
    said = said_by(fork(lambda pipe: serve(target, root, cases, workers, pipe)))
    tests = [Timed.from_plain(plain) for plain in next(said, [])]
    done: set[int] = set()
    for at, what, by in said:
        done.add(at)
        yield cases[at], what, by
    rest = [case for at, case in enumerate(cases) if at not in done]
    for _, what, by in run_forks(rest[:1], lambda case: fresh(case, None, target, root, tests), 1):
        if what != SURVIVED:
            raise SystemExit(f"{by} fails without a mutant: {what}")
    yield from run_forks(rest, lambda case: fresh(case, case.mutant.number, target, root, tests), workers)


# Tests.


class Collected:
    """A pytest plugin that collects tests and hands them to ``use`` instead of running them."""

    def __init__(self, use: Callable[[pytest.Session], None], finder: MutatedFinder | None) -> None:
        self.use, self.finder = use, finder

    def pytest_configure(self, config: pytest.Config) -> None:
        """Before anything is collected."""
        if config.pluginmanager.has_plugin("hypothesispytest"):
            settle_hypothesis()
        if self.finder is not None:  # before pytest's own, which also takes files that it is given
            sys.meta_path.insert(0, self.finder)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Called when all are collected."""
        self.use(session)
        return True


def settle_hypothesis() -> None:
    """Let Hypothesis find the same examples each time, and not look for simpler ones."""
    from hypothesis import HealthCheck, Phase, settings  # not before pytest has loaded it

    settings.register_profile(
        "mutants",
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutants")


def collect(
    target: Target,
    root: Path,
    use: Callable[[pytest.Session], None],
    finder: MutatedFinder | None = None,
) -> None:
    """Let pytest collect a target's tests and ``use`` them; where it does not come to that, it says why."""
    names = dict.fromkeys(str(root / name) for name in (*target.tests, *target.files))
    options = ["-q", "--tb=native", "-p", "no:cacheprovider", "--doctest-modules", f"--rootdir={root}"]
    options += [f"--deselect={name}" for name in target.without]
    if code := pytest.main([*options, *names], plugins=[Collected(use, finder)]):
        raise SystemExit(int(code))


def first_failure(items: Sequence[pytest.Item], limits: Mapping[str, float]) -> str | None:
    """Run tests until one fails, and say which. A test over its limit ends the process."""
    for at, item in enumerate(items):
        limit = limits[item.nodeid]
        signal.setitimer(signal.ITIMER_PROF, limit)
        signal.setitimer(signal.ITIMER_REAL, 20 * limit)  # for one that waits and uses no time
        if any(report.failed for report in _reports(items, at)):
            return item.nodeid
    return None


def time_tests(items: Sequence[pytest.Item], files: Iterable[Path]) -> list[Timed]:
    """Run every test once and note what it reaches; one that fails is the end."""
    paths = {str(file) for file in files}
    reached: set[tuple[str, int]] = set()

    def on_line(frame: FrameType, _event: str, _argument: object) -> Any:
        reached.add((frame.f_code.co_filename, frame.f_lineno))
        return on_line

    def on_call(frame: FrameType, event: str, argument: object) -> Any:
        return on_line(frame, event, argument) if frame.f_code.co_filename in paths else None

    found: list[Timed] = []
    for at, item in enumerate(items):
        reached.clear()
        started = time.process_time()
        sys.settrace(on_call)
        reports = _reports(items, at)
        sys.settrace(None)
        if failed := [report for report in reports if report.failed]:
            raise SystemExit(f"{item.nodeid} fails without a mutant:\n{failed[0].longrepr}")
        seconds = time.process_time() - started
        found.append(Timed(item.nodeid, seconds, _shares_fixtures(item), frozenset(reached)))
    return _with_shared_lines(found)


def _reports(items: Sequence[pytest.Item], at: int) -> list[pytest.TestReport]:
    after = items[at + 1] if at + 1 < len(items) else None
    return runtestprotocol(items[at], log=False, nextitem=after)


def _shares_fixtures(item: pytest.Item) -> bool:
    """Whether a test uses what another test of its file may have set up."""
    known: Mapping[str, Any] = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return any(one.scope in ("module", "class") for all_ in known.values() for one in all_)


def _with_shared_lines(tests: list[Timed]) -> list[Timed]:
    """Tests that share fixtures reach what any of them reaches: the first one ran the fixtures."""
    by_file: dict[str, set[tuple[str, int]]] = {}
    for test in tests:
        if test.shared:
            by_file.setdefault(test.name.partition("::")[0], set()).update(test.lines)
    return [
        replace(test, lines=frozenset(by_file[test.name.partition("::")[0]])) if test.shared else test
        for test in tests
    ]


def tests_for(case: Case, root: Path, tests: Sequence[Timed], kills: Mapping[str, int]) -> list[str]:
    """The tests that reach a mutant: quick ones, and those that killed others, first."""
    path, (first, last) = str(root / case.file), case.mutant.lines
    lines = {(path, line) for line in range(first, last + 1)}
    reached = [test for test in tests if case.mutant.body_of is None or not lines.isdisjoint(test.lines)]
    return [t.name for t in sorted(reached, key=lambda t: (t.shared, t.seconds / (1 + kills[t.name])))]


def limits_of(tests: Iterable[Timed]) -> dict[str, float]:
    """The processor time of each test under a mutant."""
    return {test.name: GRACE + PATIENCE * test.seconds for test in tests}


# Forks.

Fork = tuple[int, int]


def fork(work: Callable[[TextIO], None], *, quiet: bool = False) -> Fork:
    """Start a fork that does some work and writes to a pipe: its process and the pipe.

    Of what it prints nothing is seen but errors, and of a ``quiet`` one not even these.
    """
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if not process:
        os.close(reader)
        _work_and_exit(work, writer, quiet=quiet)
    os.close(writer)
    return process, reader


def _work_and_exit(work: Callable[[TextIO], None], writer: int, *, quiet: bool) -> NoReturn:
    code = 2
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2) if quiet else (1,):
        os.dup2(nowhere, output)
    try:
        for alarm in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(alarm, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        with os.fdopen(writer, "w", buffering=1) as pipe:
            work(pipe)
        code = 0
    except BaseException:  # noqa: BLE001 (the fork ends here, whatever it was)
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def said_by(fork: Fork) -> Iterator[Any]:
    """What a fork writes, line by line, until its end; a fork that fails is an error here too."""
    process, reader = fork
    with os.fdopen(reader) as pipe:
        for line in pipe:
            yield json.loads(line)
    if os.waitpid(process, 0)[1]:
        raise SystemExit("the tests cannot be run")


def say(pipe: TextIO, something: object) -> None:
    """One line for :func:`said_by`."""
    pipe.write(json.dumps(something) + "\n")


def run_forks(
    cases: Sequence[Case], start: Callable[[Case], Fork], workers: int
) -> Iterator[tuple[Case, str, str]]:
    """Start a fork for each case, so many at a time: the fate of each, and the test that noticed."""
    waiting = list(reversed(cases))
    running: dict[int, tuple[Case, int]] = {}
    while waiting or running:
        while waiting and len(running) < workers:
            case = waiting.pop()
            process, reader = start(case)
            running[process] = case, reader
        process, status = os.wait()
        case, reader = running.pop(process)
        with os.fdopen(reader) as pipe:
            yield case, *fate(status, pipe.read().splitlines())


def fate(status: int, said: Sequence[str]) -> tuple[str, str]:
    """What a mutant's end means, and the test that noticed. A mutant writes when it starts and ends."""
    if not said:
        raise SystemExit("a mutant cannot be made")
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM):
        return TIMED_OUT, ""
    failed = json.loads(said[-1]) if len(said) > 1 else ""
    return (SURVIVED, "") if failed is None else (KILLED, failed)


# Mutants of loaded functions.

Functions = dict[tuple[str, str | None], list[FunctionType]]


def serve(target: Target, root: Path, cases: Sequence[Case], workers: int, pipe: TextIO) -> None:
    """Collect the tests once and run them for every mutant of a function that is loaded."""

    def use(session: pytest.Session) -> None:
        if session.testsfailed:
            raise SystemExit(f"the tests cannot be collected: {', '.join(target.tests)}")
        items = {item.nodeid: item for item in session.items}
        files = [root / file for file in target.files]
        (timed,) = said_by(fork(lambda out: say(out, [t.plain for t in time_tests(session.items, files)])))
        say(pipe, timed)
        tests = [Timed.from_plain(plain) for plain in timed]
        functions, limits, kills = functions_in(root, target.files), limits_of(tests), Counter[str]()

        def start(case: Case) -> Fork:
            chosen = [items[name] for name in tests_for(case, root, tests, kills)]

            def work(out: TextIO) -> None:
                put(case, root, functions)
                say(out, "started")
                say(out, first_failure(chosen, limits))

            return fork(work, quiet=True)

        places = {case: at for at, case in enumerate(cases)}
        loaded = [case for case in cases if (case.file, case.mutant.body_of) in functions]
        for case, what, by in run_forks(loaded, start, workers):
            kills[by] += 1
            say(pipe, (places[case], what, by))

    collect(target, root, use)


def functions_in(root: Path, files: Iterable[str]) -> Functions:
    """All functions that were loaded from some files."""
    paths = {str(root / file): file for file in files}
    found: Functions = {}
    gc.unfreeze()  # tests may have put aside what was loaded
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename in paths:
            key = paths[one.__code__.co_filename], one.__code__.co_qualname
            found.setdefault(key, []).append(one)
    return found


def put(case: Case, root: Path, functions: Functions) -> None:
    """Give the function around a mutant the mutated code."""
    code = compiled(root / case.file, case.mutant.number)
    new = {part.co_qualname: part for part in _codes(code)}
    for function in functions[case.file, case.mutant.body_of]:
        function.__code__ = new[function.__code__.co_qualname]


def compiled(path: Path, number: int | None) -> CodeType:
    """A file's code with one mutant."""
    return compile(mutated(text_of(path), number), str(path), "exec")


def _codes(code: CodeType) -> Iterator[CodeType]:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from _codes(part)


# Mutants of what import runs.


class MutatedLoader(importlib.machinery.SourceFileLoader):
    """Loads one module from its mutated text."""

    number: int | None = None

    def get_code(self, fullname: str) -> CodeType:
        """Instead of what the file says."""
        return compiled(Path(self.get_filename(fullname)), self.number)


class MutatedFinder(importlib.abc.MetaPathFinder):
    """Finds one file's module mutated, and leaves all others to others."""

    def __init__(self, path: Path, number: int | None) -> None:
        self.path, self.number = path, number

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """As import asks."""
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or Path(spec.origin) != self.path:
            return None
        loader = MutatedLoader(fullname, spec.origin)
        loader.number = self.number
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


def fresh(case: Case, number: int | None, target: Target, root: Path, tests: Sequence[Timed]) -> Fork:
    """Start a fork that loads the mutated module as if for the first time; with None as it is."""

    def work(out: TextIO) -> None:
        def use(session: pytest.Session) -> None:
            items = {item.nodeid: item for item in session.items}
            names = tests_for(case, root, tests, Counter())
            missing = session.testsfailed or not items.keys() >= set(names)
            order = [items[name] for name in names if name in items]
            say(out, "collecting the tests" if missing else first_failure(order, limits_of(tests)))

        say(out, "started")
        signal.setitimer(signal.ITIMER_PROF, 60)
        collect(target, root, use, MutatedFinder(root / case.file, number))

    return fork(work, quiet=True)
