"""A Spark cluster: every item a task.

PySpark (the extra ``spark``) and Java are needed only here. Items go out one by one, each as a job of its
own, as soon as another is done; the cluster always has more than it has cores, so that none waits for the
slowest. Where there are very many cores, a job is a few items.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from secrets import token_hex
from types import NoneType
from typing import TYPE_CHECKING

from showthrough.engine.checked_work import CheckedWork
from showthrough.engine.engine import Work, in_flight
from showthrough.engine.spark_failure import explain_failure
from showthrough.engine.spark_session import check_session, open_session
from showthrough.engine.spark_watch import Notice, print_notice, watch_for_resources
from showthrough.errors import ShowthroughError, check_function, check_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


__all__ = [
    "SparkEngine",
]

#: Tasks under way for each core of the cluster, and jobs of one or more tasks at a time, at most.
TASKS_PER_CORE, MOST_JOBS = 2, 128


@dataclass(frozen=True, eq=False)
class SparkEngine:
    """Runs work on a Spark cluster whose machines share the storage that the work writes to.

    Parameters
    ----------
    session
        A Spark session: one of a notebook, of Databricks, EMR or Kubernetes, or your own.
    own
        Whether to stop the session at the end.
    notice
        Called with a sentence when the cluster keeps this program waiting; by default it is printed to the
        error stream.
    scratch
        A folder for private temporary files that all machines share and nobody else can read; by default
        what SHOWTHROUGH_SCRATCH names. Not every work needs it.

    Raises
    ------
    InputError
        If it is not a Spark session, or one of Spark Connect.

    Notes
    -----
    All machines need this package and its dependencies in the same versions, which is checked; a task
    that fails is tried again elsewhere, as often as ``spark.task.maxFailures`` says. Every task checks
    that it sees the folder that results are left in.

    Examples
    --------
    >>> SparkEngine("spark://host:7077")
    Traceback (most recent call last):
        ...
    showthrough.errors.InputError: session must be a Spark session, not str; use SparkEngine.open, or \
open_engine
    """

    session: SparkSession
    own: bool = False
    notice: Notice = print_notice
    scratch: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        check_session(self.session)
        check_function(self.notice, name="notice")
        check_type(
            self.scratch, (str, os.PathLike, NoneType), name="scratch", remedy="give the path of a folder"
        )

    @classmethod
    def open(
        cls, master: str, *, notice: Notice = print_notice, scratch: str | os.PathLike[str] | None = None
    ) -> SparkEngine:
        """Connect to a master (``spark://host:7077``, ``yarn``, ``local[2]``, …)."""
        check_type(master, str, name="master", remedy="for example spark://host:7077")
        session, own = open_session(master)
        return cls(session, own, notice, scratch)

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Every item with what ``work`` returned for it, as they finish."""
        finished, group = False, f"showthrough-{token_hex(8)}"
        task = CheckedWork.of(work)
        pool = ThreadPoolExecutor(MOST_JOBS, thread_name_prefix="showthrough-spark")

        def start(job: list[int]) -> Future[list[tuple[int, int, bytes | None]]]:
            return pool.submit(self._job, task, group, job)

        try:
            with watch_for_resources(self.session, self.notice):
                jobs = self._jobs(iter(items))
                for rows in in_flight(jobs, start, self._most_jobs):
                    yield from (_unpacked(*row) for row in rows)
            finished = True
        finally:
            if not finished:
                self.session.sparkContext.cancelJobGroup(group)  # others of the session go on
            pool.shutdown(wait=True, cancel_futures=True)
            task.close()

    def close(self) -> None:
        """Leave the cluster, if it was entered here."""
        if self.own:
            self.session.stop()

    @property
    def _n_tasks(self) -> int:
        """How many tasks are to be under way; machines may come and go."""
        return TASKS_PER_CORE * self.session.sparkContext.defaultParallelism

    def _most_jobs(self) -> int:
        return min(self._n_tasks, MOST_JOBS)

    def _jobs(self, items: Iterator[int]) -> Iterator[list[int]]:
        while job := list(islice(items, -(-self._n_tasks // MOST_JOBS))):
            yield job

    def _job(self, task: CheckedWork, group: str, items: list[int]) -> list[tuple[int, int, bytes | None]]:
        try:
            self.session.sparkContext.setJobGroup(group, "showthrough")
            tasks = self.session.sparkContext.parallelize(items, len(items))
            found = tasks.mapPartitions(partial(_each, task)).collect()
        except Exception as problem:  # noqa: BLE001  (whatever Java and the network come up with)
            raise ShowthroughError(
                f"Spark failed: {explain_failure(problem)}; run the same command again, on any engine"
            ) from None
        if sorted(item for item, _, _ in found) != sorted(items):
            raise ShowthroughError(
                f"Spark failed: it was given {len(items)} items and returned {len(found)}; "
                "run the same command again, on any engine"
            )
        return found


def _each(task: CheckedWork, items: Iterable[int]) -> Iterator[tuple[int, int, bytes | None]]:
    """What is done in a task. Errors on purpose are results: trying again cannot help."""
    for item in items:
        try:
            yield item, task(item), None
        except ShowthroughError as error:
            yield item, 0, pickle.dumps(error)


def _unpacked(item: int, done: int, error: bytes | None) -> tuple[int, int]:
    if error is not None:
        raise pickle.loads(error)  # noqa: S301  (pickled by our own tasks)
    return item, done
