"""Only so much in flight: jobs are started as others finish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TypeVar

__all__ = ["in_flight"]

Job = TypeVar("Job")
Result = TypeVar("Result")


def in_flight(
    jobs: Iterable[Job], start: Callable[[Job], Future[Result]], most: Callable[[], int]
) -> Iterator[Result]:
    """Start every job, never more than ``most()`` at a time; the results as they come.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     sorted(in_flight(range(5), lambda n: pool.submit(pow, n, 2), lambda: 3))
    [0, 1, 4, 9, 16]
    """
    waiting: set[Future[Result]] = set()
    try:
        for job in jobs:
            waiting.add(start(job))
            while len(waiting) >= most():
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        for future in waiting:
            future.cancel()
