"""Results as DataFrames of Spark: its tasks read their files, and no row passes through the driver."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.engine.spark_session import check_session
from showthrough.frames import Source, plain_texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "files_to_spark",
    "source_to_spark",
]

Batches = Iterator[pa.RecordBatch]


def files_to_spark(paths: Sequence[Path], schema: pa.Schema, session: SparkSession) -> DataFrame:
    """Parquet files with these columns as a DataFrame; a task reads a row group."""
    groups = [(path.absolute(), at) for path in paths for at in range(pq.read_metadata(path).num_row_groups)]
    return _frame(groups, partial(_row_group, schema=schema), schema, session)


def source_to_spark(source: Source, session: SparkSession) -> DataFrame:
    """The rows of a source as a DataFrame, in the types in which all commands read them."""
    schema = pa.schema([(name, source.types[name]) for name in source.names])
    return _frame(source.pieces(), partial(_rows, schema=schema), schema, session)


def _frame(
    pieces: Sequence[object], read: Callable[[Any], Batches], schema: pa.Schema, session: SparkSession
) -> DataFrame:
    """Pieces of something, each read by a task; no path passes through Spark, which looks for patterns."""
    check_session(session)
    from pyspark.sql.pandas.types import from_arrow_schema

    rows = [(pickle.dumps(piece),) for piece in pieces]
    listed = session.sparkContext.parallelize(rows, max(1, len(rows)))
    frame = session.createDataFrame(listed, "piece binary", verifySchema=False)
    return frame.mapInArrow(partial(_read_each, read=read), from_arrow_schema(schema))


def _read_each(batches: Batches, read: Callable[[Any], Batches]) -> Batches:
    for batch in batches:
        packed: list[Any] = batch.column("piece").to_pylist()
        for piece in packed:
            yield from read(pickle.loads(piece))  # noqa: S301  (our own)


def _row_group(piece: tuple[Path, int], schema: pa.Schema) -> Batches:
    path, group = piece
    with path.open("rb") as stream, pq.ParquetFile(stream) as file:
        yield from (
            file.read_row_group(group, columns=schema.names).select(schema.names).cast(schema).to_batches()
        )


def _rows(piece: Source, schema: pa.Schema) -> Batches:
    for chunk in piece.chunks(schema.names):
        yield from plain_texts(chunk.table).cast(schema).to_batches()
