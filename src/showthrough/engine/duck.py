"""Counting on this machine, with DuckDB; more than memory holds goes to disk."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.engine.codes import Coder
from showthrough.engine.keys import Column, Keys, Layout, in_order
from showthrough.engine.plane import MOST_VALUES, Batch, Tally, check_missing, check_tally
from showthrough.engine.protocol import Work
from showthrough.engine.source import Source, choose_columns
from showthrough.engine.window import in_flight
from showthrough.errors import RecordsError

__all__ = ["DuckPlane", "identifier"]

#: Rows handed over at a time.
ROWS = 2**20

#: Keys of so many bits are counted in an array, which is faster than hashing them.
DENSE = 22

#: Columns with more values than this among the first rows are asked for their values one by one.
FEW, FIRST = 1_000, 100_000

#: Types that are categories of some kind.
CATEGORIES = ("VARCHAR", "BOOLEAN", "DATE", "TIME", "TIMESTAMP", "DECIMAL", "UUID", "ENUM", "INTERVAL")
NUMBERS = ("FLOAT", "DOUBLE", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")


@dataclass(frozen=True)
class DuckPlane:
    """This machine: DuckDB counts within so much memory, threads do the rest.

    >>> from tempfile import TemporaryDirectory
    >>> people = Source.of(pa.table({"sex": ["m", "f", "m"], "ill": ["no", "no", "no"]}))
    >>> with TemporaryDirectory() as scratch, DuckPlane().tally(
    ...     people, public=None, sensitive=["ill"], scratch=Path(scratch)
    ... ) as tally:
    ...     tally.records, [counts.tolist() for _, counts in tally.cells()]
    (3, [[1, 2]])
    """

    memory: str = "1GB"
    threads: int | None = None

    @property
    def is_shared(self) -> bool:
        """Whether work runs on several machines."""
        return False

    @property
    def n_threads(self) -> int:
        """How many threads there are to be."""
        if self.threads is not None:
            return self.threads
        # Not every system says which processors this process may use.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    @contextmanager
    def tally(
        self, source: Source, *, public: Sequence[str] | None, sensitive: Sequence[str], scratch: Path
    ) -> Generator[Tally]:
        """Count the records of each kind."""
        with self._open(source, scratch) as reader:
            chosen = choose_columns(list(reader.types), public=public, sensitive=sensitive, file=source.name)
            yield check_tally(reader.tally(*chosen), file=source.name)

    def recount(self, source: Source, layout: Layout, *, scratch: Path) -> Iterator[Batch]:
        """Count the records of each kind, where columns and values are known."""
        with self._open(source, scratch) as reader:
            reader.count(layout)
            yield from reader.cells(layout, sort=False)

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Every item with what ``work`` returned for it, as they finish."""
        with ThreadPoolExecutor(self.n_threads, thread_name_prefix="showthrough") as pool:

            def start(item: int) -> Future[tuple[int, int]]:
                return pool.submit(lambda: (item, work(item)))

            yield from in_flight(items, start, lambda: self.n_threads + 1)

    @contextmanager
    def _open(self, source: Source, scratch: Path) -> Generator[_Reader]:
        config: dict[str, Any] = {
            "memory_limit": self.memory,
            "threads": self.n_threads,
            "temp_directory": str(scratch),
            "preserve_insertion_order": False,
            # Nothing but the files named by the caller is read, and nothing is fetched.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        try:
            with duckdb.connect(":memory:", config=config) as connection:
                yield _Reader(connection, source)
        except duckdb.Error as problem:
            raise RecordsError(
                f"the records cannot be counted: {_gist(problem)}",
                file=source.name,
                remedy="check that every row has the columns of the first line, as UTF-8"
                if source.is_text
                else "check that the files are complete and have the same columns",
            ) from None


class _Reader:
    """One source, open in one connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, source: Source) -> None:
        self.connection = connection
        self.source = source
        self.parameters: dict[str, Any] = {}
        self.dense: NDArray[np.int64] | None = None
        self.relation = self._relation()
        found = self._run(f"DESCRIBE SELECT * FROM {self.relation}").fetchall()  # noqa: S608
        self.types: dict[str, str] = {row[0]: row[1] for row in found}

    def _relation(self) -> str:
        if self.source.table is not None:
            self.connection.register("records", self.source.table)
            return "records"
        self.parameters["files"] = list(self.source.files)
        if self.source.format == "parquet":
            return "read_parquet($files)"
        self.parameters["separator"] = self.source.separator
        self.parameters["columns"] = dict.fromkeys(self.source.header, "VARCHAR")
        return (
            "read_csv($files, delim = $separator, quote = '\"', escape = '\"', header = true, "
            "columns = $columns, auto_detect = false)"
        )

    def _run(self, query: str, **more: object) -> duckdb.DuckDBPyConnection:
        return self.connection.execute(query, {**self.parameters, **more})

    def value(self, name: str) -> str:
        """A column's value in SQL; what is no value is missing."""
        quoted, kind = identifier(name), self.types[name]
        if self.source.is_text:
            return f"nullif({quoted}, '')"
        if kind in ("FLOAT", "DOUBLE"):
            # Minus zero is zero, and one of them would be published, whichever came first.
            return f"CASE WHEN isnan({quoted}) THEN NULL ELSE {quoted} + 0 END"
        if kind.startswith("ENUM"):
            return f"CAST({quoted} AS VARCHAR)"
        if not kind.lstrip("U").startswith((*CATEGORIES, *NUMBERS)) or kind.endswith("]"):
            raise RecordsError(
                "the column holds no categories",
                file=self.source.name,
                column=name,
                found=kind,
                remedy="turn it into text or numbers first, or leave it out",
            )
        return quoted

    def tally(self, public: Sequence[str], sensitive: Sequence[str]) -> Tally:
        values = self._values([*public, *sensitive])
        columns = {name: Column(name, in_order(found)) for name, found in values.items()}
        for name in sensitive:
            if columns[name].has_missing:
                query = f"SELECT count(*) FROM {self.relation} WHERE {self.value(name)} IS NULL"  # noqa: S608
                check_missing(self._run(query).fetchall()[0][0], name, file=self.source.name)
        hidden = tuple(columns[name] for name in sensitive)
        layout = Layout(tuple(columns[name] for name in public), hidden, np.arange(len(hidden[0].values)))
        self.count(layout)
        if len(hidden) > 1:
            layout = Layout(layout.public, hidden, self._codes(layout))
        return Tally(layout, self._total(), lambda: self.cells(layout, sort=True))

    def _total(self) -> int:
        if self.dense is not None:
            return int(self.dense.sum())
        return int(self.connection.execute("SELECT coalesce(sum(number), 0) FROM cells").fetchall()[0][0])

    def _codes(self, layout: Layout) -> NDArray[np.int64]:
        """The combinations of sensitive columns that occur."""
        mask, found = np.uint64((1 << layout.width) - 1), np.zeros(0, np.uint64)
        for keys, _ in self.cells(layout, sort=False):
            found = np.union1d(found, keys[:, -1] & mask)
        return found.astype(np.int64)

    def _values(self, names: Sequence[str]) -> dict[str, pa.Array]:
        """Each column's different values: those with few of them in one pass, the others one by one."""
        listed = ", ".join(f"count(DISTINCT {self.value(name)})" for name in names)
        first = f"SELECT {listed} FROM (SELECT * FROM {self.relation} LIMIT {FIRST})"  # noqa: S608
        numbers = self._run(first).fetchall()[0]
        few = [name for name, number in zip(names, numbers, strict=True) if number <= FEW]
        found: dict[str, pa.Array] = {}
        if few:
            lists = ", ".join(f"list(DISTINCT {self.value(name)})" for name in few)
            row = self._run(f"SELECT {lists} FROM {self.relation}").to_arrow_table()  # noqa: S608
            found = {name: _flat(row.column(at)) for at, name in enumerate(few)}
        for name in names:
            if name not in found:
                query = f"SELECT DISTINCT {self.value(name)} FROM {self.relation} LIMIT {MOST_VALUES + 1}"  # noqa: S608
                column: Any = self._run(query).to_arrow_table().column(0).combine_chunks()
                found[name] = column
        return {name: found[name] for name in names}

    def count(self, layout: Layout) -> None:
        """Count the keys: in an array where few are possible, else in the table ``cells``."""
        coder = Coder(self.connection, is_dictionary=self.source.format == "parquet")
        words = [list[str]() for _ in range(layout.n_words)]
        for column, place in zip(layout.columns, layout.places, strict=True):
            code = coder.code(column, self.value(column.name), kind=self.types[column.name])
            words[place.word].append(f"({code} << {place.shift})" if place.shift else code)
        keys = [" | ".join(parts) or "0" for parts in words]
        if layout.n_words == 1 and layout.n_bits <= DENSE:
            query = f"SELECT CAST({keys[0]} AS UINTEGER) FROM {self.relation}"  # noqa: S608
            self.dense = _histogram(self._run(query, **coder.parameters), 1 << layout.n_bits)
            return
        named = ", ".join(f"CAST({key} AS BIGINT) AS word_{at}" for at, key in enumerate(keys))
        self._run(
            f"CREATE OR REPLACE TABLE cells AS SELECT {named}, count(*) AS number "  # noqa: S608
            f"FROM {self.relation} GROUP BY ALL",
            **coder.parameters,
        )

    def cells(self, layout: Layout, *, sort: bool) -> Iterator[Batch]:
        """The keys that occur and their numbers of records."""
        if self.dense is not None:
            yield from _occurring(self.dense)
            return
        words = ", ".join(f"word_{at}" for at in range(layout.n_words))
        order = f" ORDER BY {words}" if sort else ""
        query = f"SELECT {words}, number FROM cells{order}"  # noqa: S608
        with self.connection.cursor() as cursor:
            for batch in cursor.execute(query).to_arrow_reader(ROWS):
                arrays = [batch.column(at) for at in range(batch.num_columns)]
                yield _keys(arrays[:-1]), arrays[-1].to_numpy(zero_copy_only=False).astype(np.int64)


def _histogram(result: duckdb.DuckDBPyConnection, number: int) -> NDArray[np.int64]:
    """How often each key below ``number`` occurs, and at the end how many rows have none."""
    counts = np.zeros(number + 1, np.int64)
    for batch in result.to_arrow_reader(ROWS):
        keys: Any = batch.column(0)
        counts += np.bincount(keys.fill_null(number).to_numpy(zero_copy_only=False), minlength=number + 1)
    return counts


def _occurring(counts: NDArray[np.int64]) -> Iterator[Batch]:
    found = np.flatnonzero(counts)
    for first in range(0, len(found), ROWS):
        at = found[first : first + ROWS]
        keys = at.astype(np.uint64)
        keys[at == len(counts) - 1] = np.iinfo(np.uint64).max
        yield keys[:, None], counts[at]


def identifier(name: str) -> str:
    """A name as SQL writes it.

    >>> identifier('my "age"')
    '"my ""age\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def _flat(lists: Any) -> pa.Array:
    flat = lists.combine_chunks().flatten()
    return flat.combine_chunks() if isinstance(flat, pa.ChunkedArray) else flat


def _keys(words: Sequence[Any]) -> Keys:
    """Words as one array; all bits set where a word is missing."""
    columns = list[Any]()
    for word in words:
        numbers = word.fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64)
        if word.null_count:
            numbers[word.is_null().to_numpy(zero_copy_only=False)] = np.iinfo(np.uint64).max
        columns.append(numbers)
    return np.column_stack(columns)


def _gist(problem: Exception) -> str:
    lines = str(problem).split("\nPossible ")[0].split("\n\n")[0].splitlines()
    return "; ".join(line.strip() for line in lines[:3] if line.strip()) or "no reason given"
