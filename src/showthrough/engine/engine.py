"""Where work runs: an engine runs one function over numbered items, on this machine or on a cluster."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from showthrough.errors import InputError, ShowthroughError, check_type

if TYPE_CHECKING:
    from showthrough.engine.processes import Workers

__all__ = [
    "Engine",
    "LocalEngine",
    "Work",
    "check_engine",
    "check_workers",
    "in_flight",
    "in_order",
    "open_engine",
]

Item = TypeVar("Item")
Found = TypeVar("Found")

#: Items handed out for each process: one to work on, and one so that it need not wait.
PER_WORKER = 2

#: What Spark accepts as a master. A bare "local" is ours.
_SPARK = re.compile(r"(spark|k8s)://.+|yarn|local\[[^\]]+\]|local-cluster\[[0-9]+,[0-9]+,[0-9]+\]")


#: Does the work with a number and returns how much it was. It can be pickled, and it leaves its
#: result where all machines can read it, so that doing it twice does no harm. If it (or the object whose
#: method it is) has a ``folder``, machines check that they share it.
Work = Callable[[int], int]


class Engine(Protocol):
    """Runs work somewhere: on this machine (:class:`LocalEngine`) or a cluster (:class:`SparkEngine`).

    Attributes
    ----------
    run
        The one method that an engine must have.
    """

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Call ``work`` on every item; each item with what was returned, as they finish.

        Items are taken one by one as there is room for them, in the calling thread, so whoever
        makes them may prepare something for each. They finish in any order, and an item may be
        worked on more than once. What ``work`` raises on purpose
        (:class:`~showthrough.errors.ShowthroughError`) is raised here.
        """
        ...


@dataclass(frozen=True)
class LocalEngine:
    """Runs work on this machine.

    Parameters
    ----------
    workers
        The number of processes; with 1, the work is done in the calling process.

    Examples
    --------
    >>> sorted(LocalEngine().run(abs, [3, -2]))
    [(-2, 2), (3, 3)]
    """

    workers: int = 1

    def __post_init__(self) -> None:
        check_workers(self.workers)

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Every item with what ``work`` returned for it, as they finish."""
        if not callable(work):
            raise InputError(f"work must be a function, not {type(work).__name__}")
        check_type(items, Iterable, name="items", remedy="list whole numbers")
        if self.workers == 1:
            yield from (_numbered(item, work=work) for item in items)
            return
        each = partial(_numbered, work=work)
        with _workers(each, self.workers) as pool:
            yield from in_flight(items, pool.submit, lambda: PER_WORKER * self.workers)


@contextmanager
def open_engine(
    name: str,
    *,
    workers: int,
    notice: Callable[[str], None] | None = None,
    scratch: str | PathLike[str] | None = None,
) -> Generator[Engine]:
    """An engine to run work on, closed at the end of the ``with`` block.

    Parameters
    ----------
    name
        ``local``, or a Spark master such as ``spark://host:7077``.
    workers
        The number of processes on this machine.
    notice
        Called with a sentence when a cluster keeps this program waiting; by default it is printed to the
        error stream.
    scratch
        A folder for private temporary files that all machines of a cluster share; by default what
        SHOWTHROUGH_SCRATCH names.

    Yields
    ------
    Engine
        The engine.

    Raises
    ------
    InputError
        If the name is unknown, or Spark cannot be used.

    Examples
    --------
    >>> with open_engine("local", workers=2) as engine:
    ...     engine
    LocalEngine(workers=2)
    >>> with open_engine("sparks", workers=2) as engine:
    ...     engine
    Traceback (most recent call last):
        ...
    showthrough.errors.InputError: unknown engine (found 'sparks'); use local, or a Spark master: \
spark://host:7077, yarn, k8s://…, local[2], local-cluster[2,1,1024]
    """
    check_type(name, str, name="name", remedy="use local, or a Spark master such as spark://host:7077")
    if name == "local":
        yield LocalEngine(workers)
        return
    if name.startswith("sc://"):
        raise InputError(
            "Spark Connect cannot run this work: it shows neither the tasks of the cluster nor the storage "
            "that they share with this program",
            found=name,
            remedy="run this program where the Spark driver runs, with its master: spark://host:7077, yarn, k8s://…",
        )
    if not _SPARK.fullmatch(name):
        raise InputError(
            "unknown engine",
            found=name,
            remedy="use local, or a Spark master: "
            "spark://host:7077, yarn, k8s://…, local[2], local-cluster[2,1,1024]",
        )
    from showthrough.engine.spark import SparkEngine
    from showthrough.engine.spark_watch import print_notice

    engine = SparkEngine.open(name, notice=notice or print_notice, scratch=scratch)
    try:
        yield engine
    finally:
        engine.close()


def check_workers(workers: int) -> None:
    """Raise unless this is a number of processes."""
    check_type(workers, int, name="workers", remedy="give a number of processes, such as 2")
    if workers < 1:
        raise InputError("there must be at least one worker", found=str(workers), remedy="use 1 or more")


def check_engine(engine: object, workers: int) -> None:
    """Raise unless this is an engine, or none, and a number of processes to do without."""
    if engine is not None and not hasattr(engine, "run"):
        raise InputError(f"engine must be an engine, not {type(engine).__name__}", remedy="use open_engine")
    check_workers(workers)


def in_order(work: Callable[[Item], Found], items: Iterable[Item], *, workers: int) -> Iterator[Found]:
    """What ``work`` returns for each item, in the order of the items, by this many processes.

    >>> list(in_order(abs, [3, -2], workers=1))
    [3, 2]
    """
    if workers == 1:
        yield from map(work, items)
        return
    with _workers(work, workers) as pool:
        waiting, left = deque[Future[Found]](), iter(items)
        while True:
            waiting.extend(pool.submit(item) for item in islice(left, PER_WORKER * workers - len(waiting)))
            if not waiting:
                return
            yield waiting.popleft().result()


@contextmanager
def _workers(work: Callable[[Any], Any], n_workers: int) -> Generator[Workers]:
    """Processes that do the work; an error with a remedy if one of them dies."""
    from showthrough.engine.processes import WorkerDied, open_workers

    try:
        with open_workers(work, n_workers) as workers:
            yield workers
    except WorkerDied as problem:
        raise ShowthroughError(
            f"a worker process died ({problem}); run the same command again, with fewer --workers if memory "
            "was short"
        ) from None


def _numbered(item: int, *, work: Work) -> tuple[int, int]:
    return item, work(item)


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
