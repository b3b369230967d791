"""Rows on their way to their areas, on a cluster: its tasks read them, sort them, and leave them in files.

No row passes through this process. What the tasks read, sorted and wrote is counted at every step, and
compared with what the source holds.
"""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.engine.rows import ROWS
from showthrough.engine.shared_folder import SharedFolder
from showthrough.engine.spark_failure import explain_failure
from showthrough.engine.spark_watch import watch_for_resources
from showthrough.errors import ShowthroughError
from showthrough.frames import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from showthrough.engine.spark import SparkEngine

__all__ = [
    "ROW_GROUP",
    "count_names",
    "sort_rows",
    "sorted_file",
]

Batches = Iterator[pa.RecordBatch]

#: Rows of a sorted file, about, and of a row group: what is read for a batch of areas, at least.
FILE_ROWS, ROW_GROUP = 2**20, 2**13

#: How Spark calls the columns of rows on their way.
_COLUMNS = "area string, row long, data binary, why string"


def count_names(
    cluster: SparkEngine, pieces: Sequence[Source], names: Callable[[Source], Iterator[Any]]
) -> int:
    """How many different names there are in all pieces; ``names`` gives those of one."""
    frame = _listed(cluster, pieces).mapInArrow(partial(_names, names=names), "area string")
    with _watched(cluster):
        counted = frame.distinct().count()
    return int(counted)


def _names(batches: Batches, names: Callable[[Source], Iterator[Any]]) -> Batches:
    for piece in _unpacked(batches):
        for part in names(piece):
            yield pa.RecordBatch.from_arrays([part.unique()], names=["area"])


def sort_rows(
    cluster: SparkEngine,
    pieces: Sequence[Source],
    read: Callable[[int, Source], Batches],
    folder: Path,
    look: Callable[[Path], int],
    *,
    n_rows: int,
) -> list[int]:
    """Have all rows sorted by area, and within an area as in the source; the numbers of the files.

    Parameters
    ----------
    cluster
        Who sorts.
    pieces
        The source in pieces.
    read
        The rows of a piece (:data:`showthrough.engine.rows.ROWS`), given its number.
    folder
        Where files are left, called as :func:`sorted_file` does: in order, and an area in one file only.
    look
        Called by the task that has written a file; it may leave another file beside it, and returns the
        number of rows that it has read.
    n_rows
        The number of rows of the source, which must be that of the files.
    """
    n_files = max(1, -(-n_rows // FILE_ROWS))
    rows = _listed(cluster, pieces).mapInArrow(partial(_rows, read=read), _COLUMNS)
    ordered = rows.repartitionByRange(n_files, "area").sortWithinPartitions("area", "row")
    task = partial(_written, shared=SharedFolder.mark(folder), look=look)
    with _watched(cluster):
        done = ordered.mapInArrow(task, "file long, rows long, first string, last string").collect()
    found = {int(row["file"]): int(row["rows"]) for row in done}
    here = {at: _n_rows(sorted_file(folder, at)) for at in found}
    if found != here or sum(here.values()) != n_rows:
        raise ShowthroughError(
            f"{folder}: the source has {n_rows:,} rows; tasks have sorted {sum(found.values()):,}, of which "
            f"{sum(here.values()):,} are here; use a folder that all machines share, and run it again"
        )
    _check_order(done, folder)
    return sorted(found)


def _check_order(done: Sequence[Any], folder: Path) -> None:
    """Raise unless the areas of each file come after those of the file before."""
    ends = [(row["first"], row["last"]) for row in sorted(done, key=itemgetter("file")) if row["rows"]]
    if any(last >= first for (_, last), (first, _) in pairwise(ends)):
        raise ShowthroughError(f"{folder}: Spark has not sorted the areas; run the same command again")


def sorted_file(folder: Path, number: int) -> Path:
    """The file of sorted rows with this number."""
    return folder / f"rows-{number:08d}.parquet"


def _n_rows(path: Path) -> int:
    return pq.read_metadata(path).num_rows if path.is_file() else -1


def _listed(cluster: SparkEngine, pieces: Sequence[Source]) -> DataFrame:
    """Pieces, numbered, each for a task; no path passes through Spark, which looks for patterns."""
    rows = [(at, pickle.dumps(piece)) for at, piece in enumerate(pieces)]
    listed = cluster.session.sparkContext.parallelize(rows, len(rows))
    return cluster.session.createDataFrame(listed, "number long, piece binary", verifySchema=False)


@contextmanager
def _watched(cluster: SparkEngine) -> Generator[None]:
    """Waiting is said, and failures are explained."""
    try:
        with watch_for_resources(cluster.session, cluster.notice):
            yield
    except ShowthroughError:
        raise
    except Exception as problem:  # noqa: BLE001  (whatever Java and the network come up with)
        raise ShowthroughError(
            f"Spark failed to sort the input by area: {explain_failure(problem)}; run the same command again"
        ) from None


def _numbered(batches: Batches) -> Iterator[tuple[int, Source]]:
    for batch in batches:
        numbers: list[Any] = batch.column("number").to_pylist()
        packed: list[Any] = batch.column("piece").to_pylist()
        yield from zip(numbers, map(pickle.loads, packed), strict=True)


def _unpacked(batches: Batches) -> Iterator[Source]:
    return (piece for _, piece in _numbered(batches))


def _rows(batches: Batches, read: Callable[[int, Source], Batches]) -> Batches:
    for number, piece in _numbered(batches):
        yield from read(number, piece)


def _written(batches: Batches, shared: SharedFolder, look: Callable[[Path], int]) -> Batches:
    """What a task does: it leaves sorted rows in a file that appears completely or not at all."""
    from pyspark import TaskContext

    shared.check()
    context: Any = TaskContext.get()
    number, rows, ends = int(context.partitionId()), 0, list[Any]()
    target = sorted_file(shared.path, number)
    draft = target.with_name(f"draft-{target.name}-{secrets.token_hex(8)}")
    with pq.ParquetWriter(draft, ROWS, compression="zstd") as writer:
        for batch in filter(len, batches):
            writer.write_batch(batch.cast(ROWS), row_group_size=ROW_GROUP)
            rows += batch.num_rows
            ends = [*ends[:1], *(batch["area"][at].as_py() for at in (0, -1))]
    draft.replace(target)
    if look(target) != rows:
        raise ShowthroughError(f"{target}: {rows:,} rows were written, but others were read")
    first, last = (ends[0], ends[-1]) if ends else ("", "")
    yield pa.RecordBatch.from_pydict({"file": [number], "rows": [rows], "first": [first], "last": [last]})
