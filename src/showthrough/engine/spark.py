"""A Spark cluster: every item a row, every row a task.

PySpark (the extra ``spark``) and Java are needed only here. Items go out in waves, so that whoever
prepares them and the cluster work at the same time; the next wave is there before one ends.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from types import NoneType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

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

#: Waves under way at a time, and tasks of a wave for each core of the cluster.
WAVES, TASKS_PER_CORE = 3, 2

_ITEM = "item long"
_RESULT = "item long, done long, error binary"
_COLUMNS = pa.schema([("item", pa.int64()), ("done", pa.int64()), ("error", pa.binary())])


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
        Called with a sentence when the cluster lets this program wait; by default it is printed to the
        error stream.
    scratch
        A folder for private temporary files that all machines share and nobody else can read; by default
        what SHOWTHROUGH_SCRATCH names. Not every work needs it.

    Raises
    ------
    InputError
        If it is no Spark session, or one of Spark Connect.

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
        """Every item with what ``work`` returned for it, as waves finish."""
        finished = False
        task = CheckedWork.of(work)
        pool = ThreadPoolExecutor(WAVES, thread_name_prefix="showthrough-spark")
        try:
            with watch_for_resources(self.session, self.notice):
                waves = self._waves(iter(items))
                results = in_flight(waves, lambda wave: pool.submit(self._wave, task, wave), lambda: WAVES)
                for rows in results:
                    yield from (_unpacked(*row) for row in rows)
            finished = True
        finally:
            if not finished:
                self.session.sparkContext.cancelAllJobs()
            pool.shutdown(wait=True, cancel_futures=True)
            task.close()

    def close(self) -> None:
        """Leave the cluster, if it was entered here."""
        if self.own:
            self.session.stop()

    def _waves(self, items: Iterator[int]) -> Iterator[list[int]]:
        while wave := list(islice(items, TASKS_PER_CORE * self.session.sparkContext.defaultParallelism)):
            yield wave

    def _wave(self, task: CheckedWork, items: list[int]) -> list[tuple[int, int, bytes | None]]:
        context = self.session.sparkContext
        rows = context.parallelize([(item,) for item in items], len(items))
        frame = self.session.createDataFrame(rows, _ITEM, verifySchema=False)
        try:
            found = frame.mapInArrow(_by_rows(task), _RESULT).collect()
        except Exception as problem:  # noqa: BLE001  (whatever Java and the network come up with)
            raise ShowthroughError(
                f"Spark failed: {explain_failure(problem)}; run the same command again, on any engine"
            ) from None
        if sorted(row["item"] for row in found) != sorted(items):
            raise ShowthroughError(
                f"Spark failed: it was given {len(items)} items and returned {len(found)}; "
                "run the same command again, on any engine"
            )
        return [(row["item"], row["done"], row["error"]) for row in found]


def _by_rows(task: CheckedWork) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A task for rows of items. Errors on purpose are results: trying again cannot help."""

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            items: list[Any] = batch.column("item").to_pylist()
            for item in items:
                try:
                    row = {"item": item, "done": task(item), "error": None}
                except ShowthroughError as error:
                    row = {"item": item, "done": 0, "error": pickle.dumps(error)}
                yield pa.RecordBatch.from_pylist([row], _COLUMNS)

    return each


def _unpacked(item: int, done: int, error: bytes | None) -> tuple[int, int]:
    if error is not None:
        raise pickle.loads(error)  # noqa: S301  (pickled by our own tasks)
    return item, done
