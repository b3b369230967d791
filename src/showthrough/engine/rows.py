"""Rows on their way to their areas: sorted out of core, and grouped."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from showthrough.engine.pieces import cluster_of, each_piece, pieces_of
from showthrough.errors import InputError, ReleaseError
from showthrough.frames import Chunk, Position, Source

__all__ = [
    "ROWS",
    "Places",
    "count_areas",
    "find_places",
    "first_reason",
    "groups",
    "join_padded",
    "pack_cells",
    "read_by_halves",
    "rows_after",
    "rows_in_order",
    "unpack_cells",
]

#: What sorting may take before it goes to disk (the process then holds about twice as much).
SORT_MEMORY = "256MB"

#: A row on its way to its area: where it stood in the file, what it holds, or why it cannot be used.
ROWS = pa.schema([("area", pa.string()), ("row", pa.int64()), ("data", pa.binary()), ("why", pa.string())])


class Places:
    """How the areas lie in a file: how many rows and areas there are, and whether these are in order."""

    def __init__(self) -> None:
        self.n_rows = self.n_runs = 0
        self.ascending = True
        self._first: str | None = None
        self._last: str | None = None

    def see(self, areas: pa.ChunkedArray | pa.Array) -> None:
        """Look at the areas of the next rows."""
        column = areas.combine_chunks() if isinstance(areas, pa.ChunkedArray) else areas
        if not len(column):
            return
        before, after = column.slice(0, len(column) - 1), column.slice(1)
        mine = Places()
        mine.n_rows, mine.n_runs = len(column), 1 + len(pc.indices_nonzero(pc.not_equal(before, after)))
        mine.ascending = bool(pc.all(pc.less_equal(before, after), min_count=0).as_py())
        mine._first, mine._last = column[0].as_py(), column[-1].as_py()
        self.go_on(mine)

    def go_on(self, following: Places) -> None:
        """Take in what was seen in the rows after these."""
        if following._first is None:
            return
        if self._last is None:
            self._first = following._first
        else:
            self.ascending &= self._last <= following._first
        self.ascending &= following.ascending
        self.n_rows += following.n_rows
        self.n_runs += following.n_runs - int(self._last == following._first)
        self._last = following._last


def find_places(
    source: Source,
    look: Callable[[Source], Places],
    names: Callable[[Source], Iterator[Any]],
    engine: object = None,
) -> tuple[Places, int]:
    """How areas lie in a source, and their number; ``names`` gives the area of every row once more."""
    places = Places()
    for piece in each_piece(source, look, engine):
        places.go_on(piece)
    if places.ascending:
        return places, places.n_runs
    cluster, pieces = cluster_of(engine), pieces_of(source)
    if cluster is None or not pieces:
        return places, count_areas(names(source))
    from showthrough.engine.spark_rows import count_names

    return places, count_names(cluster, pieces, names)


def count_areas(names: Iterator[Any]) -> int:
    """How many different names there are; out of core where need be."""
    batches = (pa.record_batch({"area": chunk}) for part in names for chunk in _arrays(part))
    with TemporaryDirectory() as scratch:
        what, schema = "count(DISTINCT area) AS n", pa.schema([("area", pa.string())])
        (counted,) = _query(batches, schema, what, Path(scratch))
    return int(counted["n"][0].as_py())


def _arrays(part: Any) -> list[pa.Array]:
    return part.chunks if isinstance(part, pa.ChunkedArray) else [part]


def join_padded(parts: Sequence[Any], widths: Iterable[int]) -> Any:
    """Columns of text joined row by row, each filled up with zeros to its width.

    >>> join_padded([pa.array(["1", "12"]), pa.array(["7", "003"])], (2, 3)).to_pylist()
    ['01007', '12003']
    """
    padded = [pc.utf8_lpad(part, width, "0") for part, width in zip(parts, widths, strict=True)]
    return pc.binary_join_element_wise(*padded, pa.scalar(""))


@contextmanager
def rows_after(place: Position) -> Generator[None]:
    """Errors name the file, and count rows from its start, not from that of the chunk."""
    try:
        yield
    except InputError as error:
        raise type(error)(
            error.problem,
            file=error.file or place.file,
            row=None if error.row is None else error.row + place.row,
            column=error.column,
            found=error.found,
            remedy=error.remedy,
        ) from None


def read_by_halves(
    chunk: Chunk,
    read: Callable[[Chunk], pa.RecordBatch],
    *,
    area: Callable[[pa.Table], str],
    by: str | None = None,
) -> Iterator[pa.RecordBatch]:
    """What ``read`` makes of the rows; bad rows are singled out by halving and kept as reasons.

    Errors without a row, or about the column ``by`` that names the area, are raised: there is no
    area to note them with. ``area`` tells the area of a single row.
    """
    table = chunk.table
    try:
        yield read(chunk)
        return
    except ReleaseError as error:
        if error.row is None or (by is not None and error.column == by):
            raise
        problem = str(error)
    if table.num_rows == 1:
        row = {"area": area(table), "row": chunk.before, "data": None, "why": problem}
        yield pa.RecordBatch.from_pylist([row], ROWS)
        return
    half = table.num_rows // 2
    yield from read_by_halves(chunk.slice(0, half), read, area=area, by=by)
    yield from read_by_halves(chunk.slice(half), read, area=area, by=by)


def pack_cells(cells: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> bytes:
    """The published cells of one row, on their way to their area."""
    return zlib.compress(np.stack([cells, low, high]).tobytes(), 1)


def unpack_cells(data: bytes) -> NDArray[np.int64]:
    """Rows of cells, lower and upper bounds: the inverse of :func:`pack_cells`."""
    return np.frombuffer(zlib.decompress(data), np.int64).reshape(3, -1)


def rows_in_order(
    batches: Iterator[pa.RecordBatch], *, ascending: bool, scratch: Path
) -> Iterator[pa.RecordBatch]:
    """Rows sorted by area, and within an area as in the file; out of core where need be."""
    return batches if ascending else _query(batches, ROWS, "*", scratch, "ORDER BY area, row")


def _query(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, what: str, scratch: Path, end: str = ""
) -> Iterator[pa.RecordBatch]:
    from showthrough.engine.duck import connect, query_batches  # takes a while, and files are mostly in order

    with connect(scratch, memory=SORT_MEMORY, threads=2) as database:
        query = f"SELECT {what} FROM rows {end}"  # noqa: S608
        yield from query_batches(database, batches, schema, query, rows=2**14)


def groups(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.Table]]:
    """Each area with its rows, from rows sorted by area."""
    held: list[pa.RecordBatch] = []
    for batch in chain(batches, [None]):
        if batch is None or (held and batch.num_rows and batch["area"][0] != held[0]["area"][0]):
            if held:
                yield held[0]["area"][0].as_py(), pa.Table.from_batches(held)
            held = []
        if batch is None or not batch.num_rows:
            continue
        areas = batch["area"]
        changes = pc.not_equal(areas.slice(1), areas.slice(0, len(areas) - 1))
        ends: list[int] = (pc.indices_nonzero(changes).to_numpy() + 1).tolist()
        starts = [0, *ends]
        for start, end in zip(starts, ends, strict=False):
            held.append(batch.slice(start, end - start))
            yield areas[start].as_py(), pa.Table.from_batches(held)
            held = []
        held.append(batch.slice(starts[-1]))


def first_reason(rows: pa.Table) -> str | None:
    """Why the rows of an area cannot be used; None if they can."""
    reasons = rows["why"].drop_null()
    return str(reasons[0].as_py()) if len(reasons) else None
