"""Counting on a Spark cluster; the same keys in the same order as on one machine.

Tasks read pieces of the files with the reader that all commands have, so that a cluster accepts and
refuses the same rows. Spark sees keys and their numbers only, and no path ever passes through it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.engine.backend import Batch, Tally, check_tally, choose_columns, make_codec, with_codes
from showthrough.engine.coding import FoundValues, found_values, pack_rows
from showthrough.engine.engine import Work
from showthrough.engine.keys import KeyCodec, Keys
from showthrough.engine.shared_folder import SharedFolder
from showthrough.engine.spark import SparkEngine
from showthrough.engine.spark_failure import explain_failure
from showthrough.engine.spark_watch import watch_for_resources
from showthrough.errors import RecordsError, ShowthroughError
from showthrough.frames import Source

__all__ = [
    "SparkBackend",
]

#: Rows handed over at a time.
ROWS = 2**20

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class SparkBackend:
    """A Spark cluster whose machines share the storage that is read and written."""

    engine: SparkEngine

    @property
    def is_shared(self) -> bool:
        """Whether work runs on several machines."""
        return True

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Every item with what ``work`` returned for it, as they finish."""
        return self.engine.run(work, items)

    @contextmanager
    def tally(
        self, source: Source, *, public: Sequence[str] | None, sensitive: Sequence[str], scratch: Path
    ) -> Generator[Tally]:
        """Count the records of each kind."""
        chosen, hidden = choose_columns(source.names, public=public, sensitive=sensitive, file=source.name)
        with _explained(source):
            pieces = _pieces(source, scratch)
            found = self._values(pieces, [*chosen, *hidden], scratch)
            codec = make_codec(found, chosen, hidden, file=source.name)
            path = self._count(pieces, codec, scratch, sort=True)
            if len(hidden) > 1:
                codec = with_codes(codec, _batches(path, codec))
            total = sum(int(counts.sum()) for _, counts in _batches(path, codec))
        yield check_tally(
            Tally(codec, total, lambda: _batches(path, codec)), records=found.records, file=source.name
        )

    def recount(self, source: Source, codec: KeyCodec, *, scratch: Path) -> Iterator[Batch]:
        """Count the records of each kind, where columns and values are known."""
        with _explained(source):
            path = self._count(_pieces(source, scratch), codec, scratch, sort=False)
        yield from _batches(path, codec)

    def _values(self, pieces: Sequence[Source], names: Sequence[str], scratch: Path) -> FoundValues:
        """The different values of columns, each piece looked through by a task."""
        folder = scratch / secrets.token_hex(8)
        folder.mkdir()
        work, found = _FindValues(tuple(pieces), tuple(names), folder), FoundValues(names)
        for number, records in self.engine.run(work, range(len(pieces))):
            found.add(work.found(number, records))
        return found

    def _count(self, pieces: Sequence[Source], codec: KeyCodec, scratch: Path, *, sort: bool) -> Path:
        """Count the keys and store them; the folder with what was found, in order if ``sort``."""
        from pyspark.sql import functions as sql

        session, words = self.engine.session, _words(codec)
        rows = session.sparkContext.parallelize([(at,) for at in range(len(pieces))], len(pieces))
        numbered = session.createDataFrame(rows, "piece long", verifySchema=False)
        columns = ", ".join(f"{name} long" for name in (*words, "number"))
        keyed: Any = numbered.mapInArrow(_keyed(tuple(pieces), codec), columns)
        counted = keyed.groupBy(*words).agg(sql.sum("number").alias("number"))
        folder = scratch / secrets.token_hex(8)
        folder.mkdir()
        ordered = counted.orderBy(*words) if sort else counted
        shared = SharedFolder.mark(folder)
        with watch_for_resources(session, self.engine.notice):
            stored = ordered.mapInArrow(_stored(shared), "part long, cells long").collect()
        parts = [row for row in stored if row["cells"]]
        if sum(row["cells"] for row in parts) != sum(map(_n_rows, _parts(folder))):
            raise ShowthroughError(
                f"{folder}: not every machine of the cluster wrote to this folder; "
                "use a folder that all of them share"
            )
        return folder


@dataclass(frozen=True, eq=False)
class _FindValues:
    """Finds the different values in pieces of a source, and leaves them in files."""

    pieces: tuple[Source, ...]
    names: tuple[str, ...]
    folder: Path

    def __call__(self, number: int) -> int:
        """Look through a piece; how many records it has."""
        found = found_values(self.pieces[number], self.names)
        for at, name in enumerate(self.names if found.records else ()):
            draft = self.folder / f"{number}-{at}.{secrets.token_hex(8)}.draft"
            table = pa.table({"value": found.column(name).values})
            pq.write_table(table.replace_schema_metadata({"missing": str(found.missing[name])}), draft)
            draft.replace(self._file(number, at))
        return found.records

    def found(self, number: int, records: int) -> FoundValues:
        """What was found in a piece."""
        found = FoundValues(self.names)
        if records:
            found.records = records
            for at, name in enumerate(self.names):
                with self._file(number, at).open("rb") as stream:
                    table = pq.ParquetFile(stream).read()
                found.know(name, table["value"], missing=int((table.schema.metadata or {})[b"missing"]))
        return found

    def _file(self, number: int, column: int) -> Path:
        return self.folder / f"{number}-{column}.parquet"


def _pieces(source: Source, scratch: Path) -> list[Source]:
    """The source in pieces that tasks can read; a table in memory is written to a file first."""
    if source.held is None:
        return source.pieces()
    path = scratch / f"{secrets.token_hex(8)}.parquet"
    tables = (chunk.table for chunk in source.chunks())
    schema = pa.schema([(name, source.types[name]) for name in source.names])
    with pq.ParquetWriter(path, schema) as writer:
        for table in tables:
            writer.write_table(table.cast(schema))
    return Source.of(path, error=source.error).pieces()


def _keyed(pieces: tuple[Source, ...], codec: KeyCodec) -> Callable[[Batches], Batches]:
    """What a task does: the keys of its pieces, those of a chunk counted together."""

    def each(batches: Batches) -> Batches:
        for batch in batches:
            numbers: list[Any] = batch.column("piece").to_pylist()
            for number in numbers:
                for chunk in pieces[number].chunks(codec.names, rows=ROWS):
                    keys, counts = _counted(pack_rows(chunk.table, codec))
                    words = [pa.array(np.ascontiguousarray(word).view(np.int64)) for word in keys.T]
                    arrays = [*words, pa.array(counts.astype(np.int64))]
                    yield pa.RecordBatch.from_arrays(arrays, names=[*_words(codec), "number"])

    return each


def _counted(keys: Keys) -> Batch:
    """Different keys, and how many rows have each."""
    if keys.shape[1] > 1:
        return np.unique(keys, axis=0, return_counts=True)
    flat, counts = np.unique(keys[:, 0], return_counts=True)
    return flat[:, None], counts


def _stored(shared: SharedFolder) -> Callable[[Batches], Batches]:
    """What a task does: it leaves its rows in a file, whose name sorts as the tasks are numbered."""

    def write(batches: Batches) -> Batches:
        from pyspark import TaskContext

        shared.check()
        folder = shared.path
        context: Any = TaskContext.get()
        number, cells = int(context.partitionId()), 0
        draft = folder / f"{number}.{secrets.token_hex(8)}.draft"
        writer = None
        for batch in batches:
            writer = writer or pq.ParquetWriter(draft, batch.schema)
            writer.write_batch(batch)
            cells += batch.num_rows
        if writer is not None:
            writer.close()
            draft.replace(folder / f"part-{number:08}.parquet")
        yield pa.RecordBatch.from_pydict({"part": [number], "cells": [cells]})

    return write


def _words(codec: KeyCodec) -> list[str]:
    return [f"word_{at}" for at in range(codec.n_words)]


def _n_rows(path: Path) -> int:
    with path.open("rb") as stream, pq.ParquetFile(stream) as file:
        return file.metadata.num_rows


def _parts(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.startswith("part-"))


def _batches(folder: Path, codec: KeyCodec) -> Iterator[Batch]:
    """Stored keys and their numbers, file by file: an ordered table is stored in order."""
    for part in _parts(folder):
        with part.open("rb") as stream, pq.ParquetFile(stream) as file:
            for batch in file.iter_batches(ROWS):
                words: list[Any] = [batch.column(name).to_numpy() for name in _words(codec)]
                number: Any = batch.column("number")
                yield np.column_stack(words).view(np.uint64), number.to_numpy().astype(np.int64)


@contextmanager
def _explained(source: Source) -> Generator[None]:
    try:
        yield
    except ShowthroughError:
        raise
    except Exception as problem:  # noqa: BLE001  (whatever Java and the network come up with)
        raise RecordsError(
            f"Spark cannot count the records: {explain_failure(problem)}",
            file=source.name,
            remedy="check the files, and that all machines can read them",
        ) from None
