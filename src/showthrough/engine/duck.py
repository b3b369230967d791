"""Counting on this machine; DuckDB groups what memory does not hold, and goes to disk for it.

DuckDB is handed rows, never paths: what it would read is not always what a path says.
"""

from __future__ import annotations

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

from showthrough.engine.backend import Batch, Tally, check_tally, choose_columns, make_codec, with_codes
from showthrough.engine.coding import UNKNOWN, coded, found_values
from showthrough.engine.engine import Work, in_flight
from showthrough.engine.keys import KeyCodec, Keys
from showthrough.engine.processes import n_processors
from showthrough.errors import RecordsError, ShowthroughError
from showthrough.frames import Source

__all__ = [
    "DuckBackend",
    "connect",
    "identifier",
    "query_batches",
]

#: Rows handed over at a time.
ROWS = 2**20

#: Keys of this many bits are counted in an array, which is faster than hashing them.
DENSE = 22

#: So many keys are sorted in memory, which is faster than hashing them too.
SORTED = 2**25


@dataclass(frozen=True)
class DuckBackend:
    """This machine: DuckDB counts within so much memory, threads do the rest.

    >>> from tempfile import TemporaryDirectory
    >>> people = Source.of(pa.table({"sex": ["m", "f", "m"], "ill": ["no", "no", "no"]}))
    >>> with TemporaryDirectory() as scratch, DuckBackend().tally(
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
        """How many threads to use."""
        return self.threads or n_processors()

    @contextmanager
    def tally(
        self, source: Source, *, public: Sequence[str] | None, sensitive: Sequence[str], scratch: Path
    ) -> Generator[Tally]:
        """Count the records of each kind."""
        chosen, hidden = choose_columns(source.names, public=public, sensitive=sensitive, file=source.name)
        found = found_values(source, [*chosen, *hidden])
        codec = make_codec(found, chosen, hidden, file=source.name)
        with self._count(source, codec, scratch, records=found.records) as counted:
            if len(hidden) > 1:
                codec = with_codes(codec, counted.cells(sort=False))
            tally = Tally(codec, counted.total(), lambda: counted.cells(sort=True))
            yield check_tally(tally, records=found.records, file=source.name)

    def recount(self, source: Source, codec: KeyCodec, *, scratch: Path) -> Iterator[Batch]:
        """Every record whose columns and values are known, counted once, as it comes."""
        del scratch
        for keys in coded(source.chunks(codec.names, rows=ROWS), codec, threads=self.n_threads):
            yield keys, np.ones(len(keys), np.int64)

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Every item with what ``work`` returned for it, as they finish."""
        with ThreadPoolExecutor(self.n_threads, thread_name_prefix="showthrough") as pool:

            def start(item: int) -> Future[tuple[int, int]]:
                return pool.submit(lambda: (item, work(item)))

            yield from in_flight(items, start, lambda: self.n_threads + 1)

    @contextmanager
    def _count(self, source: Source, codec: KeyCodec, scratch: Path, *, records: int) -> Generator[_Counted]:
        """Count the keys: in an array where few are possible, sorted where few come, else by DuckDB."""
        keys = coded(source.chunks(codec.names, rows=ROWS), codec, threads=self.n_threads)
        if codec.n_words == 1 and codec.n_bits <= DENSE:
            yield _Counted(codec, _occurring(_histogram(keys, 1 << codec.n_bits)), None)
            return
        if codec.n_words == 1 and records <= SORTED:
            yield _Counted(codec, _runs(keys, records, short=codec.is_short), None)
            return
        with connect(scratch, memory=self.memory, threads=self.n_threads) as connection:
            batches = (_batch(part) for part in keys)
            words = ", ".join(f"word_{at}" for at in range(codec.n_words))
            query = f"CREATE TABLE cells AS SELECT {words}, count(*) AS number FROM rows GROUP BY ALL"  # noqa: S608
            for _ in query_batches(connection, batches, _words(codec), query, file=source.name):
                pass
            yield _Counted(codec, None, connection)


@dataclass(frozen=True, eq=False)
class _Counted:
    """How many records have each key: keys in ascending order in memory, or a table ``cells``."""

    codec: KeyCodec
    held: tuple[NDArray[np.unsignedinteger[Any]], NDArray[np.signedinteger[Any]]] | None
    connection: duckdb.DuckDBPyConnection | None

    def total(self) -> int:
        """How many records there are."""
        if self.connection is None:
            return 0 if self.held is None else int(self.held[1].sum())
        return int(self.connection.execute("SELECT coalesce(sum(number), 0) FROM cells").fetchall()[0][0])

    def cells(self, *, sort: bool) -> Iterator[Batch]:
        """The keys that occur and their numbers of records."""
        if self.held is not None:
            keys, counts = self.held
            for first in range(0, len(keys), ROWS):
                part = keys[first : first + ROWS].astype(np.uint64)
                yield part[:, None], counts[first : first + ROWS].astype(np.int64)
        if self.connection is None:
            return
        words = ", ".join(f"word_{at}" for at in range(self.codec.n_words))
        order = f" ORDER BY {words}" if sort else ""
        with self.connection.cursor() as cursor, _explained(None):
            for batch in cursor.execute(f"SELECT {words}, number FROM cells{order}").to_arrow_reader(ROWS):  # noqa: S608
                columns: list[Any] = [batch.column(at).to_numpy() for at in range(batch.num_columns)]
                yield np.column_stack(columns[:-1]).view(np.uint64), columns[-1].astype(np.int64)


def _words(codec: KeyCodec) -> pa.Schema:
    # Signed, because not every engine has unsigned numbers; the sign is set in unknown keys only.
    return pa.schema([(f"word_{at}", pa.int64()) for at in range(codec.n_words)])


def _batch(keys: Keys) -> pa.RecordBatch:
    words = [np.ascontiguousarray(keys[:, at]).view(np.int64) for at in range(keys.shape[1])]
    names = [f"word_{at}" for at in range(keys.shape[1])]
    return pa.RecordBatch.from_arrays([pa.array(word) for word in words], names=names)


def _histogram(parts: Iterable[Keys], number: int) -> NDArray[np.int64]:
    """How often each key below ``number`` occurs, and at the end how many rows have none."""
    counts = np.zeros(number + 1, np.int64)
    for keys in parts:
        known = np.minimum(keys[:, 0], np.uint64(number)).astype(np.int64)
        counts += np.bincount(known, minlength=number + 1)
    return counts


def _occurring(counts: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The keys of a histogram that occur; the last place is that of no key."""
    found = np.flatnonzero(counts)
    keys = found.astype(np.uint64)
    keys[found == len(counts) - 1] = UNKNOWN
    return keys, counts[found]


def _runs(
    parts: Iterable[Keys], records: int, *, short: bool
) -> tuple[NDArray[np.unsignedinteger[Any]], NDArray[np.int32]]:
    """The keys of about this many records (the data may change meanwhile), counted by sorting."""
    rows, at = np.empty(records, np.uint32 if short else np.uint64), 0
    unknown = 0
    for part in parts:
        keys = part[:, 0]
        known = keys[keys != UNKNOWN]
        unknown += len(keys) - len(known)
        if at + len(known) > len(rows):
            rows = np.concatenate([rows[:at], np.empty(len(known), rows.dtype)])
        rows[at : at + len(known)] = known
        at += len(known)
    rows = rows[:at]
    rows.sort()
    starts = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]])) if at else np.zeros(0, np.int64)
    keys, counts = rows[starts], np.diff(starts, append=at).astype(np.int32)  # at most SORTED records
    if unknown:
        return np.append(keys.astype(np.uint64), UNKNOWN), np.append(counts, unknown)
    return keys, counts


@contextmanager
def connect(
    scratch: Path | None = None, *, memory: str | None = None, threads: int | None = None
) -> Generator[duckdb.DuckDBPyConnection]:
    """A database in memory that reads no file and fetches nothing; what is too large goes to ``scratch``."""
    config: dict[str, Any] = {
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if memory is not None:
        config["memory_limit"] = memory
    if threads is not None:
        config["threads"] = threads
    with duckdb.connect(":memory:", config=config) as connection:
        if scratch is not None:
            connection.execute("SET temp_directory = $1", [str(scratch)])
        yield connection


def query_batches(
    connection: duckdb.DuckDBPyConnection,
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    query: str,
    *,
    file: str | None = None,
    parameters: dict[str, object] | None = None,
    rows: int = ROWS,
) -> Iterator[pa.RecordBatch]:
    """What a query about ``rows`` finds in batches that come one after the other."""
    problems: list[BaseException] = []
    reader = pa.RecordBatchReader.from_batches(schema, _noting(batches, problems))
    connection.register("rows", reader)
    try:
        with _explained(file):
            yield from connection.execute(query, parameters or {}).to_arrow_reader(rows)
    except ShowthroughError:
        if problems:
            raise problems[0] from None
        raise
    finally:
        connection.unregister("rows")


def _noting(batches: Iterable[pa.RecordBatch], problems: list[BaseException]) -> Iterator[pa.RecordBatch]:
    """The same, remembering what goes wrong: the database would only pass on a text."""
    try:
        yield from batches
    except BaseException as problem:
        problems.append(problem)
        raise


@contextmanager
def _explained(file: str | None) -> Generator[None]:
    try:
        yield
    except duckdb.Error as problem:
        raise RecordsError(
            f"the records cannot be counted: {_gist(problem)}",
            file=file,
            remedy="check that the disk has room for scratch files",
        ) from None


def identifier(name: str) -> str:
    """A name as SQL writes it.

    >>> identifier('my "age"')
    '"my ""age\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def _gist(problem: Exception) -> str:
    lines = str(problem).split("\nPossible ")[0].split("\n\n")[0].splitlines()
    return "; ".join(line.strip() for line in lines[:3] if line.strip()) or "no reason given"
