"""Counting on a Spark cluster; the same keys in the same order as on one machine."""

from __future__ import annotations

import re
import secrets
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.engine.keys import Column, Layout, in_order
from showthrough.engine.plane import MOST_VALUES, Batch, Tally, check_missing, check_tally
from showthrough.engine.protocol import Work
from showthrough.engine.source import Source, choose_columns
from showthrough.engine.spark import SparkEngine
from showthrough.errors import RecordsError, ShowthroughError

__all__ = ["SparkPlane"]

#: Rows handed over at a time.
ROWS = 2**20

#: Types that are no categories.
REFUSED = ("array", "map", "struct", "binary", "variant", "interval")


@dataclass(frozen=True, eq=False)
class SparkPlane:
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
        with _explained(source):
            frame = self._read(source)
            chosen = choose_columns(frame.columns, public=public, sensitive=sensitive, file=source.name)
            found = self._tally(frame, source, *chosen, scratch)
        yield check_tally(found, file=source.name)

    def recount(self, source: Source, layout: Layout, *, scratch: Path) -> Iterator[Batch]:
        """Count the records of each kind, where columns and values are known."""
        from pyspark.sql import functions as sql

        with _explained(source):
            frame = self._plain(self._read(source), source, layout.names)
            grouped = frame.groupBy(*frame.columns).agg(sql.count("*").alias("number"))
            path = self._store(self._keyed(grouped, layout, _places(layout)), scratch)
        yield from _batches(path, layout)

    def _read(self, source: Source) -> Any:
        session = self.engine.session
        if source.table is not None:
            return session.createDataFrame(source.table)
        files = [_literal(file) for file in source.files]
        if source.format == "parquet":
            return session.read.parquet(*files)
        reader: Any = session.read.option("header", "true").option("sep", source.separator)
        reader = reader.option("quote", '"').option("escape", '"').option("multiLine", "true")
        return reader.option("mode", "FAILFAST").csv(files)

    def _plain(self, frame: Any, source: Source, names: Sequence[str]) -> Any:
        """The columns wanted, as ``column_0``, ``column_1``, …; what is no value is missing."""
        from pyspark.sql import functions as sql

        kinds, columns = dict(frame.dtypes), list[Any]()
        for at, name in enumerate(names):
            column = sql.col("`" + name.replace("`", "``") + "`")
            if kinds[name].startswith(REFUSED):
                raise RecordsError(
                    "the column holds no categories",
                    file=source.name,
                    column=name,
                    found=kinds[name],
                    remedy="turn it into text or numbers first, or leave it out",
                )
            if kinds[name] in ("float", "double"):
                # Minus zero is zero; Spark's own grouping sees to that, but which one is kept is open.
                column = sql.when(~sql.isnan(column), (column + sql.lit(0)).cast(kinds[name]))
            elif source.is_text:
                column = sql.nullif(column, sql.lit(""))
            columns.append(column.alias(f"column_{at}"))
        return frame.select(*columns)

    def _tally(
        self, frame: Any, source: Source, public: Sequence[str], sensitive: Sequence[str], scratch: Path
    ) -> Tally:
        from pyspark.sql import functions as sql

        names = [*public, *sensitive]
        plain = self._plain(frame, source, names)
        counted = plain.groupBy(*plain.columns).agg(sql.count("*").alias("number"))
        grouped = self.engine.session.read.parquet(_literal(str(self._store(counted, scratch))))
        columns = list[Column]()
        for at, name in enumerate(names):
            found = grouped.select(f"column_{at}").distinct().limit(MOST_VALUES + 1).toArrow()
            columns.append(Column(name, in_order(_whole(found.column(0)))))
            if name in sensitive and columns[-1].has_missing:
                missing = grouped.where(f"column_{at} IS NULL").agg(sql.sum("number")).collect()[0][0]
                check_missing(int(missing), name, file=source.name)
        hidden = tuple(columns[len(public) :])
        layout = Layout(tuple(columns[: len(public)]), hidden, np.arange(len(hidden[0].values)))
        keyed = self._keyed(grouped, layout, _places(layout)).orderBy(*_words(layout))
        path = self._store(keyed, scratch)
        if len(hidden) > 1:
            layout = Layout(layout.public, hidden, _codes(path, layout))
        total = sum(int(counts.sum()) for _, counts in _batches(path, layout))
        return Tally(layout, total, lambda: _batches(path, layout))

    def _keyed(self, grouped: Any, layout: Layout, places: Sequence[tuple[int, int]]) -> Any:
        """Counts by keys from counts by columns; a key is missing where a value is not known."""
        from pyspark.sql import functions as sql

        words: list[Any] = [sql.lit(0).cast("long") for _ in range(layout.n_words)]
        for at, (column, (word, shift)) in enumerate(zip(layout.columns, places, strict=True)):
            known = pa.table(
                {f"value_{at}": column.values, f"code_{at}": pa.array(np.arange(len(column.values)))}
            )
            values = self.engine.session.createDataFrame(known)
            match = grouped[f"column_{at}"].eqNullSafe(values[f"value_{at}"])
            grouped = grouped.join(sql.broadcast(values), match, "left")
            words[word] = words[word].bitwiseOR(sql.shiftleft(sql.col(f"code_{at}").cast("long"), shift))
        named = [word.alias(f"word_{at}") for at, word in enumerate(words)]
        return grouped.select(*named, sql.col("number"))

    def _store(self, frame: Any, scratch: Path) -> Path:
        path = scratch / secrets.token_hex(8)
        frame.write.parquet(_literal(str(path)))
        return path


def _places(layout: Layout) -> list[tuple[int, int]]:
    return [(place.word, place.shift) for place in layout.places]


def _words(layout: Layout) -> list[str]:
    return [f"word_{at}" for at in range(layout.n_words)]


def _batches(path: Path, layout: Layout) -> Iterator[Batch]:
    """Stored keys and their numbers, file by file: an ordered table is stored in order."""
    for part in sorted(path.glob("part-*.parquet")):
        with pq.ParquetFile(part) as file:
            for batch in file.iter_batches(ROWS):
                words = list[Any]()
                for name in _words(layout):
                    column: Any = batch.column(name)
                    numbers = column.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
                    words.append(numbers.view(np.uint64))
                number: Any = batch.column("number")
                yield np.column_stack(words), number.to_numpy(zero_copy_only=False).astype(np.int64)


def _codes(path: Path, layout: Layout) -> np.ndarray[Any, Any]:
    """The combinations of sensitive columns that occur."""
    mask = np.uint64((1 << layout.width) - 1)
    found = np.zeros(0, np.uint64)
    for keys, _ in _batches(path, layout):
        found = np.union1d(found, keys[:, -1] & mask)
    return found.astype(np.int64)


def _whole(column: Any) -> pa.Array:
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def _literal(path: str) -> str:
    """A path of a shared file system as Spark reads it: without patterns."""
    return "file://" + re.sub(r"([\[\]{}*?\\])", r"\\\1", path)


@contextmanager
def _explained(source: Source) -> Generator[None]:
    try:
        yield
    except ShowthroughError:
        raise
    except Exception as problem:  # noqa: BLE001  (whatever Java and the network come up with)
        lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
        raise RecordsError(
            f"Spark cannot count the records: {lines[0] if lines else type(problem).__name__}",
            file=source.name,
            remedy="check the files, and that all machines can read them",
        ) from None
