"""Worker processes that never outlive their parent and leave nothing behind.

Each is a fresh Python (:mod:`showthrough.engine.worker`) at the end of two pipes, with a thread here
that hands it one item after the other. There are no semaphores, no helper processes and no files, so
nothing can be left behind, whoever is killed.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, cast

from showthrough.engine import worker
from showthrough.errors import ShowthroughError

__all__ = [
    "WorkerDied",
    "Workers",
    "n_processors",
    "open_workers",
]

#: Numerical libraries take one thread each: areas run side by side, not their arithmetic.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)

#: Seconds that a worker with nothing to do may take to end before it is killed.
_PATIENCE = 1

_Job = tuple[Any, Future[Any]]


class WorkerDied(ShowthroughError):
    """A worker process ended in the middle of its work."""


@dataclass(frozen=True)
class Workers:
    """Some processes that all do the same work, on different items."""

    queue: SimpleQueue[_Job | None]

    def submit(self, item: Any) -> Future[Any]:
        """Have one of them work on an item, as soon as there is one with nothing to do."""
        future: Future[Any] = Future()
        self.queue.put((item, future))
        return future


@contextmanager
def open_workers(work: Callable[[Any], Any], n_workers: int) -> Generator[Workers]:
    """So many processes, which are gone when the work is done, or is given up."""
    queue: SimpleQueue[_Job | None] = SimpleQueue()
    started: list[tuple[subprocess.Popen[bytes], threading.Thread]] = []
    finished = False
    try:
        packed = worker.pack(work)
        with _uninterrupted():
            for _ in range(n_workers):
                process = _start()
                thread = threading.Thread(target=_serve, args=(process, packed, queue), daemon=True)
                started.append((process, thread))
                thread.start()
        yield Workers(queue)
        finished = True
    finally:
        _end(started, queue, kill=not finished)


def n_processors() -> int:
    """How many processors this process may use."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(own, _quota(own)))


def _quota(otherwise: int) -> int:
    """How many a container may use at a time."""
    control = Path("/sys/fs/cgroup")
    old = [control / "cpu" / f"cpu.cfs_{name}_us" for name in ("quota", "period")]
    try:
        newer = (control / "cpu.max").read_text("ascii") if (control / "cpu.max").exists() else ""
        quota, period = newer.split() if newer else (file.read_text("ascii") for file in old)
        return -(-int(quota) // int(period)) if int(quota) > 0 else otherwise
    except (OSError, ValueError, ZeroDivisionError):  # no limit, or no such system
        return otherwise


def _start() -> subprocess.Popen[bytes]:
    tied = threading.current_thread() is threading.main_thread()
    return subprocess.Popen(  # noqa: S603  (our own script)
        [sys.executable, "-P", worker.__file__, str(os.getpid()), "tied" if tied else "free"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **ONE_THREAD},
    )


@contextmanager
def _uninterrupted() -> Generator[None]:
    """What is started here never hears of interruptions: those are for its parent to report."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(process: subprocess.Popen[bytes], work: bytes, queue: SimpleQueue[_Job | None]) -> None:
    """Hand items to a process and take its answers, until there are no more."""
    given, told = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
    begun = False
    while (job := queue.get()) is not None:
        item, future = job
        if not future.set_running_or_notify_cancel():
            continue
        try:
            if not begun:
                worker.send(given, worker.pack(sys.path))
                worker.send(given, work)
                begun = True
            worker.send(given, worker.pack(item))
            found, error, where = pickle.loads(worker.receive(told))  # noqa: S301  (our own process)
        except (EOFError, OSError):
            future.set_exception(WorkerDied(_death(process)))
            return
        except Exception as problem:  # noqa: BLE001  (what cannot be sent; raised where it is waited for)
            future.set_exception(problem)
            continue
        if error is None:
            future.set_result(found)
        else:
            error.add_note(f"in a worker process:\n{where}")
            future.set_exception(error)


def _death(process: subprocess.Popen[bytes]) -> str:
    with suppress(subprocess.TimeoutExpired):
        code = process.wait(_PATIENCE)
        if code < 0:
            return f"process {process.pid} was killed by {signal.Signals(-code).name}"
        return f"process {process.pid} ended with exit code {code}"
    return f"process {process.pid} does not answer"


def _end(
    started: list[tuple[subprocess.Popen[bytes], threading.Thread]],
    queue: SimpleQueue[_Job | None],
    *,
    kill: bool,
) -> None:
    if kill:
        for process, _ in started:
            process.kill()
    for _ in started:
        queue.put(None)
    for process, thread in started:
        thread.join(_PATIENCE)
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):  # what is still on its way to a process that is gone
                cast(IO[bytes], stream).close()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
