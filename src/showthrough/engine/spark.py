"""A Spark cluster: every item a row, every row a task.

PySpark (the extra ``spark``) and Java are needed only here. Items go out in waves, so that whoever
prepares them and the cluster work at the same time; the next wave is there before one ends.
"""

from __future__ import annotations

import os
import pickle
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from showthrough.engine.engine import Work, in_flight
from showthrough.errors import InputError, ShowthroughError, check_type

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
        A Spark session.
    own
        Whether to stop the session at the end.

    Notes
    -----
    All machines need this package, under the same version; a task that fails is tried again
    elsewhere, as often as ``spark.task.maxFailures`` says.
    """

    session: SparkSession
    own: bool = False

    def __post_init__(self) -> None:
        if not hasattr(self.session, "createDataFrame"):
            raise InputError(
                f"session must be a Spark session, not {type(self.session).__name__}",
                remedy="use SparkEngine.open, or open_engine",
            )

    @classmethod
    def open(cls, master: str) -> SparkEngine:
        """Connect to a master (``spark://host:7077``, ``yarn``, ``local[2]``, …)."""
        check_type(master, str, name="master", remedy="for example spark://host:7077")
        spark = _pyspark()
        _check_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        running = spark.getActiveSession() is not None
        try:
            builder: Any = spark.builder
            session = (
                builder.master(master)
                .appName("showthrough")
                .config("spark.ui.showConsoleProgress", "false")
                .config("spark.log.level", "ERROR")
                .getOrCreate()
            )
        except Exception as problem:  # noqa: BLE001  (whatever Java and the network come up with)
            raise InputError(
                f"Spark does not start: {_gist(problem)}",
                found=master,
                remedy="check the address of the master, and that Java 17 or later is installed",
            ) from None
        return cls(session, own=not running)

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Every item with what ``work`` returned for it, as waves finish."""
        finished = False
        pool = ThreadPoolExecutor(WAVES, thread_name_prefix="showthrough-spark")
        try:
            waves = self._waves(iter(items))
            results = in_flight(waves, lambda wave: pool.submit(self._wave, work, wave), lambda: WAVES)
            for rows in results:
                yield from (_unpacked(*row) for row in rows)
            finished = True
        finally:
            if not finished:
                self.session.sparkContext.cancelAllJobs()
            pool.shutdown(wait=True, cancel_futures=True)

    def close(self) -> None:
        """Leave the cluster, if it was entered here."""
        if self.own:
            self.session.stop()

    def _waves(self, items: Iterator[int]) -> Iterator[list[int]]:
        while wave := list(islice(items, TASKS_PER_CORE * self.session.sparkContext.defaultParallelism)):
            yield wave

    def _wave(self, work: Work, items: list[int]) -> list[tuple[int, int, bytes | None]]:
        context = self.session.sparkContext
        rows = context.parallelize([(item,) for item in items], len(items))
        frame = self.session.createDataFrame(rows, _ITEM, verifySchema=False)
        try:
            found = frame.mapInArrow(_task(work), _RESULT).collect()
        except Exception as problem:  # noqa: BLE001  (as above)
            raise ShowthroughError(
                f"Spark failed: {_gist(problem)}; run the same command again, on any engine"
            ) from None
        return [(row["item"], row["done"], row["error"]) for row in found]


def _task(work: Work) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with its rows. Errors on purpose are results: trying again cannot help."""

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            items: list[Any] = batch.column("item").to_pylist()
            for item in items:
                try:
                    row = {"item": item, "done": work(item), "error": None}
                except ShowthroughError as error:
                    row = {"item": item, "done": 0, "error": pickle.dumps(error)}
                yield pa.RecordBatch.from_pylist([row], _COLUMNS)

    return each


def _unpacked(item: int, done: int, error: bytes | None) -> tuple[int, int]:
    if error is not None:
        raise pickle.loads(error)  # noqa: S301  (pickled by our own tasks)
    return item, done


def _pyspark() -> type[SparkSession]:
    try:
        from pyspark.sql import SparkSession

        import_module("pandas")  # mapInArrow asks for it
    except ImportError as problem:
        raise InputError(
            "this engine needs PySpark and pandas",
            found=problem.name,
            remedy='install it with: pip install "showthrough[spark]", or use --engine local',
        ) from None
    return SparkSession


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and Path(home, "bin", "java").is_file()):
        raise InputError(
            "this engine needs Java, and none was found",
            remedy="install Java 17 or later, or set JAVA_HOME; or use --engine local",
        )


def _gist(problem: Exception) -> str:
    """The line that says what happened, of a long trace: the Python error in it, or the first."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[A-Za-z_.]*(Error|Exception|Interrupt)\b:", line)]
    return (named or lines or [type(problem).__name__])[-1 if named else 0]
