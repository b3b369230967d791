"""This machine: processes of one thread each."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from joblib.externals.loky import ProcessPoolExecutor

from showthrough.engine.protocol import Work
from showthrough.engine.window import in_flight
from showthrough.errors import ShowthroughError

__all__ = ["LocalEngine", "in_order"]

Item = TypeVar("Item")
Found = TypeVar("Found")

#: Items handed out for each process: one to work on, and one so that it need not wait.
PER_WORKER = 2

#: Numerical libraries take one thread each: areas run side by side, not their arithmetic.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class LocalEngine:
    """So many processes; with one, the work is done in the calling process.

    >>> sorted(LocalEngine().run(abs, [3, -2]))
    [(-2, 2), (3, 3)]
    """

    workers: int = 1

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Every item with what ``work`` returned for it, as they finish."""
        if self.workers == 1:
            yield from (_numbered(work, item) for item in items)
            return
        with _pool(self.workers, "the same command resumes: with fewer") as pool:

            def start(item: int) -> Future[tuple[int, int]]:
                return pool.submit(_numbered, work, item)

            yield from in_flight(items, start, lambda: PER_WORKER * self.workers)


def in_order(work: Callable[[Item], Found], items: Iterable[Item], *, workers: int) -> Iterator[Found]:
    """What ``work`` returns for each item, in the order of the items, by so many processes.

    >>> list(in_order(abs, [3, -2], workers=1))
    [3, 2]
    """
    if workers == 1:
        yield from map(work, items)
        return
    with _pool(workers, "run the command again with fewer") as pool:
        waiting, left = deque[Future[Found]](), iter(items)
        while True:
            waiting.extend(
                pool.submit(work, item) for item in islice(left, PER_WORKER * workers - len(waiting))
            )
            if not waiting:
                return
            yield waiting.popleft().result()


@contextmanager
def _pool(workers: int, remedy: str) -> Generator[Any]:
    """Processes that are gone when the work is done, or is given up."""
    pool: Any = ProcessPoolExecutor(workers, initializer=_settle, env=ONE_THREAD)
    finished = False
    try:
        yield pool
        finished = True
    except BrokenProcessPool as problem:
        raise ShowthroughError(
            f"a worker process died ({' '.join(str(problem).split())}); "
            f"{remedy} --workers, if memory was short"
        ) from None
    finally:
        pool.shutdown(wait=True, kill_workers=not finished)


def _numbered(work: Work, item: int) -> tuple[int, int]:
    return item, work(item)


def _settle() -> None:
    """A worker leaves interruptions to its parent to report, and does not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()


def _follow(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
