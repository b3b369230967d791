"""A Spark DataFrame as records: its own tasks write them to Parquet files, which are read as others are.

No row passes through the driver, and no path through Spark. The files lie in a private folder that all
machines share, and are gone with the last who reads them.
"""

from __future__ import annotations

import os
import secrets
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import InputError
from showthrough.scratch import private_scratch, shared_place

__all__ = [
    "KeptFolder",
    "is_spark_frame",
    "store_frame",
]

Batches = Iterator[pa.RecordBatch]

#: Rows of a row group: what a machine reads at a time.
_ROWS = 2**18


def is_spark_frame(source: object) -> bool:
    """Whether this is a DataFrame of Spark."""
    return type(source).__module__.startswith("pyspark.sql.") and hasattr(source, "mapInArrow")


class KeptFolder:
    """A private folder that is there as long as somebody holds this."""

    def __init__(self, place: str | os.PathLike[str] | None = None) -> None:
        stack = ExitStack()
        self.path = stack.enter_context(private_scratch(place))
        weakref.finalize(self, stack.close)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()  # on another machine it is only read from


def store_frame(
    frame: Any, place: str | os.PathLike[str] | None = None, *, error: type[InputError]
) -> KeptFolder:
    """Have the tasks of a DataFrame write its rows to files; the folder with the files, one for each task."""
    _check_columns(frame, error)
    master = str(frame.sparkSession.sparkContext.master)
    kept = KeptFolder(shared_place(master, place))
    try:
        done = frame.mapInArrow(_writing(kept.path), "part long, rows long").collect()
    except Exception as problem:  # noqa: BLE001  (whatever Java and the network come up with)
        raise error(
            "the Spark data frame cannot be read",
            found=_gist(problem),
            remedy="check that its query runs, and that its columns are texts, numbers or dates",
        ) from None
    rows = {row["part"]: row["rows"] for row in done if row["rows"]}
    for part, number in rows.items():
        _check_written(kept.path / _name(part), number, master, error)
    if not rows:
        _write_nothing(frame, kept.path / _name(0), error)
    return kept


def _check_columns(frame: Any, error: type[InputError]) -> None:
    """Raise for what Spark allows and a table does not have."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        raise error(
            "a data frame of Spark Connect cannot be read: it does not show which storage its machines share "
            "with this program",
            remedy="write it to Parquet files and give their path",
        )
    names = list(frame.columns)
    if twice := [name for name in names if names.count(name) > 1]:
        raise error("two columns have the same name", column=twice[0], remedy="rename one of them")


def _writing(folder: Path) -> Callable[[Batches], Batches]:
    """What a task does: it leaves its rows in a file, and says how many there are."""

    def write(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        part, rows = int(context.partitionId()), 0
        draft = folder / f"{part}.{secrets.token_hex(8)}.draft"
        writer = None
        for table in _gathered(batches):
            writer = writer or pq.ParquetWriter(draft, table.schema, compression="zstd")
            writer.write_table(table)
            rows += table.num_rows
        if writer is not None:
            writer.close()
            draft.replace(folder / _name(part))
        yield pa.RecordBatch.from_pydict({"part": [part], "rows": [rows]})

    return write


def _gathered(batches: Batches) -> Iterator[pa.Table]:
    """Some batches together: Spark hands over few rows at a time."""
    held, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


def _name(part: int) -> str:
    return f"part-{part:08d}.parquet"


def _check_written(path: Path, rows: int, master: str, error: type[InputError]) -> None:
    """Raise unless a task's rows are here: a folder of the same name on its own disk would swallow them."""
    found = pq.read_metadata(path).num_rows if path.is_file() else 0
    if found != rows:
        raise error(
            f"a machine of the cluster has written {rows:,} rows, and {found:,} of them are here",
            file=str(path.parent),
            found=master,
            remedy="set SHOWTHROUGH_SCRATCH to a folder that all machines share",
        )


def _write_nothing(frame: Any, path: Path, error: type[InputError]) -> None:
    """A file with the columns of a DataFrame that has no rows."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        pq.write_table(to_arrow_schema(frame.schema).empty_table(), path)
    except PySparkException as problem:
        raise error("the Spark data frame cannot be read", found=_gist(problem)) from None


def _gist(problem: BaseException) -> str:
    """The line of a long trace that says what happened."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    named = [line for line in lines if "rror" in line or "xception" in line]
    return (named or lines or [type(problem).__name__])[0][:300]
