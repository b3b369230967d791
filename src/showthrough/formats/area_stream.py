"""Areas one by one from a file of any size: microdata, or published counts.

A first pass finds what must be known of the whole (the schema, where it is inferred; how many areas
there are; any error, unless areas with errors are to be noted and left out). A second pass yields
the areas sorted by name, exactly as if the whole file had been read at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from showthrough.engine.rows import (
    ROWS,
    find_places,
    groups,
    join_padded,
    pack_cells,
    read_by_halves,
    rows_after,
    rows_in_order,
    unpack_cells,
)
from showthrough.errors import InputError, RecordsError, ReleaseError, SchemaError
from showthrough.formats.counts_file import read_counts
from showthrough.formats.design import Design
from showthrough.formats.schema_file import MOST_VALUES, infer_schema
from showthrough.frames import Chunk, Source, distinct_values, iter_tables
from showthrough.records import Records, area_labels, as_text, code_dtype, encode_column
from showthrough.release import UNBOUNDED, Release
from showthrough.schema import Schema

__all__ = [
    "AreaStream",
    "CountStream",
    "RecordStream",
    "open_counts",
    "open_records",
]


class AreaStream(Protocol):
    """Areas that are read when they are asked for, sorted by name."""

    @property
    def n_areas(self) -> int:
        """How many there are."""
        ...

    def areas(self, scratch: Path) -> Iterator[tuple[str, Records | Release | InputError]]:
        """Each area's name with its records or its release, or why these cannot be used.

        What does not fit in memory while it is sorted goes to the folder ``scratch``.
        """
        ...


@dataclass(frozen=True, eq=False)
class RecordStream:
    """Microdata of many areas.

    The column ``by`` names the area, or where ``joined`` maps columns to widths, these columns
    together do, each filled up with zeros.
    """

    source: Source
    schema: Schema
    by: str
    whole: frozenset[str]
    n_areas: int
    ascending: bool
    tolerant: bool
    joined: Mapping[str, int] = field(default_factory=dict[str, int])

    def areas(self, scratch: Path) -> Iterator[tuple[str, Records | InputError]]:
        """Each area's records, or why they cannot be used."""
        rows = rows_in_order(self._rows(), ascending=self.ascending, scratch=scratch)
        for area, mine in groups(rows):
            problem = _first(mine["why"])
            if problem is not None:
                yield area, RecordsError(problem)
                continue
            data: list[Any] = mine["data"].to_pylist()
            codes = np.frombuffer(b"".join(data), code_dtype(self.schema))
            yield area, Records(self.schema, codes.reshape(mine.num_rows, -1))

    def _rows(self) -> Iterator[pa.RecordBatch]:
        for chunk in self.chunks():
            yield _coded(chunk, self)

    def chunks(self) -> Iterator[Chunk]:
        """The rows in chunks."""
        columns = list(dict.fromkeys((*self.schema.names, self.by, *self.joined)))
        return iter_tables(self.source, columns, error=RecordsError, whole=self.whole)


def open_records(
    data: object,
    schema: Schema | None,
    *,
    by: str,
    columns: Sequence[str] | None,
    tolerant: bool,
    joined: Mapping[str, int] | None = None,
) -> RecordStream:
    """Microdata in a file, ``by`` naming the column of the area (or ``joined`` several of them).

    Without a schema one is inferred from ``columns``, or from all but ``by``. If ``tolerant``,
    records outside the schema cost their area; else they are an error at once.
    """
    source = Source.of(data)
    known = schema.names if schema else columns if columns is not None else source.names
    names = [name for name in known if schema or name != by]
    looked_at = list(dict.fromkeys((*names, by, *(joined or ()))))
    values, whole = distinct_values(
        source, looked_at, error=RecordsError, decimals_only=schema is not None, most=2 * MOST_VALUES
    )
    schema = schema or _inferred({name: values[name] for name in names}, source.name)
    draft = RecordStream(source, schema, by, whole, 0, True, tolerant, joined or {})
    n_areas, ascending = find_places(
        (_checked_areas(chunk, draft) for chunk in draft.chunks()),
        (_areas(chunk, draft) for chunk in draft.chunks()),
    )
    return replace(draft, n_areas=n_areas, ascending=ascending)


def _inferred(values: dict[str, pa.Array], file: str | None) -> Schema:
    try:
        return Schema(
            tuple(
                infer_schema(pa.table({name: found}), [name], file=file).attributes[0]
                for name, found in values.items()
            )
        )
    except SchemaError as error:
        raise error.at(file=file) from None


def _checked_areas(chunk: Chunk, stream: RecordStream) -> pa.Array:
    """The area of every row, once it is clear that the rows can be used."""
    if not stream.tolerant:
        _encode(chunk, stream.schema)
    return _areas(chunk, stream)


def _areas(chunk: Chunk, stream: RecordStream) -> pa.Array:
    parts: list[Any] = []
    for column in stream.joined or (stream.by,):
        text: Any = as_text(chunk.table[column])
        if text.null_count:
            with rows_after(chunk.place):
                area_labels(chunk.table[column], column)
        parts.append(text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text)
    return join_padded(parts, stream.joined.values()) if stream.joined else parts[0]


def _coded(chunk: Chunk, stream: RecordStream) -> pa.RecordBatch:
    """Rows as codes; in tolerant reading those outside the schema with the reason instead."""
    table, schema, n_rows = chunk.table, stream.schema, chunk.table.num_rows
    good = _usable(table, schema) if stream.tolerant else np.ones(n_rows, bool)
    kept = table if good.all() else table.filter(pa.array(good))
    codes = np.zeros((n_rows, len(schema.attributes)), code_dtype(schema))
    codes[good] = _encode(chunk._replace(table=kept), schema)
    areas = _areas(chunk, stream)
    width = codes.dtype.itemsize * codes.shape[1]
    data = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), n_rows, [None, pa.py_buffer(codes.tobytes())]
    )
    numbers = pa.array(np.arange(chunk.before, chunk.before + n_rows), pa.int64())
    reasons = _reasons(chunk, schema, areas=areas, bad=np.flatnonzero(~good))
    return pa.RecordBatch.from_arrays([areas, numbers, data.cast(pa.binary()), reasons], schema=ROWS)


def _usable(table: pa.Table, schema: Schema) -> NDArray[np.bool_]:
    """Which records are within the schema."""
    good = np.ones(table.num_rows, bool)
    for attribute in schema.attributes:
        text = as_text(table[attribute.name])
        if attribute.missing is not None:
            text = pc.fill_null(text, pa.scalar(attribute.missing))
        known: Any = pc.is_in(text, value_set=pa.array(attribute.values, pa.string()))
        good &= np.asarray(known)
    kept = table.filter(pa.array(good))
    records = Records(schema, _codes(kept, schema))
    legal = np.ones(len(records), bool)
    for box in schema.forbidden:
        legal &= ~records.matching(box)
    good[good] = legal
    return good


def _codes(table: pa.Table, schema: Schema) -> NDArray[np.integer]:
    codes = np.empty((table.num_rows, len(schema.attributes)), code_dtype(schema))
    for at, attribute in enumerate(schema.attributes):
        codes[:, at] = encode_column(table[attribute.name], attribute)
    return codes


def _encode(chunk: Chunk, schema: Schema) -> NDArray[np.integer]:
    with rows_after(chunk.place):
        return Records.from_arrow(chunk.table, schema).codes


def _reasons(chunk: Chunk, schema: Schema, *, areas: pa.Array, bad: NDArray[np.int64]) -> pa.Array:
    """For the first bad row of each area what is wrong with it."""
    reasons: list[str | None] = [None] * chunk.table.num_rows
    seen: set[str] = set()
    for at in bad.tolist():
        area = areas[at].as_py()
        if area in seen:
            continue
        seen.add(area)
        try:
            _encode(chunk.slice(at, 1), schema)
        except InputError as error:
            reasons[at] = str(error)
    return pa.array(reasons, pa.string())


@dataclass(frozen=True, eq=False)
class CountStream:
    """Published counts of many areas."""

    source: Source
    design: Design
    by: str
    columns: tuple[str, ...]
    whole: frozenset[str]
    n_areas: int
    ascending: bool
    tolerant: bool

    def areas(self, scratch: Path) -> Iterator[tuple[str, Release | InputError]]:
        """Each area's release, or why it cannot be used."""
        rows = rows_in_order(self._rows(), ascending=self.ascending, scratch=scratch)
        for area, mine in groups(rows):
            problem = _first(mine["why"])
            if problem is not None:
                yield area, ReleaseError(problem)
                continue
            try:
                yield area, self._release(area, mine)
            except ReleaseError as error:
                if not self.tolerant:
                    raise
                yield area, error

    def _release(self, area: str, rows: pa.Table) -> Release:
        layout = self.design.layout
        held: list[Any] = rows["data"].to_pylist()
        parts = [unpack_cells(data) for data in held]
        cells, lows, highs = (np.concatenate(column) for column in zip(*parts, strict=True))
        if len(np.unique(cells)) < len(cells):
            counted = np.bincount(cells)
            table, cell = layout.names[int(np.argmax(counted > 1))]
            place = self.source.place(int(rows["row"][rows.num_rows - 1].as_py()) + 1)
            raise ReleaseError(
                f"cell {cell} of table {table} occurs twice in area {area}",
                file=place.file,
                row=place.row,
                remedy="keep one value per area, table and cell",
            )
        low = np.zeros(len(layout.names), np.int64)
        high = np.full(len(low), UNBOUNDED, np.int64)
        low[cells], high[cells] = lows, highs
        return Release(layout, low, high, area)

    def _rows(self) -> Iterator[pa.RecordBatch]:
        for chunk in self.chunks():
            yield from self._parsed(chunk)

    def chunks(self) -> Iterator[Chunk]:
        """The rows in chunks."""
        return iter_tables(self.source, self.columns, error=ReleaseError, whole=self.whole)

    def _parsed(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        """The rows of each area as one."""

        def read(part: Chunk) -> pa.RecordBatch:
            with rows_after(part.place):
                found = read_counts(part.table, self.design, by=self.by)
            ends = zip(found.starts[:-1].tolist(), found.starts[1:].tolist(), strict=True)
            data = [pack_cells(found.cells[a:b], found.low[a:b], found.high[a:b]) for a, b in ends]
            areas, rows = pa.array(found.areas, pa.string()), pa.array([part.before] * len(data), pa.int64())
            columns = [areas, rows, pa.array(data, pa.binary()), pa.nulls(len(data), pa.string())]
            return pa.RecordBatch.from_arrays(columns, schema=ROWS)

        if not self.tolerant:
            yield read(chunk)
            return
        yield from read_by_halves(
            chunk, read, area=lambda row: str(as_text(row[self.by])[0].as_py()), by=self.by
        )


def open_counts(data: object, design: Design, *, by: str | None, tolerant: bool) -> CountStream | None:
    """Published counts in a file; None if it has no column of areas."""
    source = Source.of(data, error=ReleaseError)
    names = source.names
    area = by or design.area or ("area" if "area" in names else None)
    if area is None or area not in names:
        return None
    tidy = [name for name in (area, "table", "cell", "value") if name in names]
    cells = {cell for _, cell in design.layout.names}
    is_tidy = any(word in names and word not in cells and word != area for word in ("table", "cell"))
    columns = tuple(tidy if is_tidy else names)
    _, whole = distinct_values(source, [area], error=ReleaseError, decimals_only=True, most=0)
    draft = CountStream(source, design, area, columns, whole, 0, True, tolerant)
    n_areas, ascending = find_places(
        (_checked(draft, chunk) for chunk in draft.chunks()),
        (as_text(chunk.table[area]) for chunk in draft.chunks()),
    )
    return replace(draft, n_areas=n_areas, ascending=ascending)


def _checked(stream: CountStream, chunk: Chunk) -> pa.ChunkedArray | pa.Array:
    """The area of every row, once it is clear that the rows can be used."""
    areas: Any = pc.fill_null(as_text(chunk.table[stream.by]), pa.scalar(""))
    unnamed = int(pc.index(areas, "").as_py())
    if unnamed >= 0:
        chunk = chunk.slice(unnamed, 1)
    if unnamed >= 0 or not stream.tolerant:
        with rows_after(chunk.place):
            read_counts(chunk.table, stream.design, by=stream.by)
    return areas


def _first(reasons: pa.ChunkedArray) -> str | None:
    if reasons.null_count == len(reasons):
        return None
    return str(reasons.drop_null()[0].as_py())
