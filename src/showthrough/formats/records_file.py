"""Microdata from a file or a data frame, with a schema or an inferred one: whole, or area by area.

Area by area, files may be of any size. A first pass finds what must be known of the whole: the
schema, where it is inferred; how many areas there are; any error, unless areas with errors are to be
noted and left out. A second pass yields the areas sorted by name, exactly as if the whole file had
been read at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from showthrough.engine.pieces import checked_rows, each_piece, pieces_of
from showthrough.engine.rows import (
    ROWS,
    Places,
    find_places,
    first_reason,
    groups,
    join_padded,
    rows_after,
    rows_in_order,
)
from showthrough.errors import InputError, RecordsError, SchemaError
from showthrough.formats.schema_file import MOST_VALUES, infer_schema, read_schema
from showthrough.frames import Chunk, Source, distinct_values, iter_tables, join_values
from showthrough.frames.counts_as_people import refuse_counts
from showthrough.records import (
    LevelFault,
    Records,
    area_labels,
    as_text,
    code_dtype,
    encode_column,
    fill_levels,
    needed,
)
from showthrough.schema import Schema

__all__ = [
    "SLASH",
    "RecordStream",
    "open_records",
    "read_records",
]

#: What stands between the name of an area and that of a part.
SLASH = "/"

#: A file with more columns is only read when somebody says which of them matter.
MOST_COLUMNS = 64

#: A column is followed until it has more values than this.
_FOLLOWED = 2 * MOST_VALUES

#: Bits of a row's number within its piece; the number of the piece is above them.
_ROW_BITS = 40


def read_records(
    source: object,
    schema: Schema | str | os.PathLike[str] | None = None,
    *,
    by: str | None = None,
    columns: Sequence[str] | None = None,
    records: bool = False,
) -> Records:
    """Read records from a file or a data frame.

    Parameters
    ----------
    source
        A path (CSV, TSV, Parquet, Arrow, Feather), an Arrow table, or a pandas, polars or
        Spark data frame.
    schema
        The schema, or the path of a schema file; without one it is inferred from the values.
    by
        The column that names the area.
    columns
        The columns to infer a schema from; all but ``by`` if none are given.
    records
        Every row is a record, even if the file looks like published counts.

    Returns
    -------
    Records
        The records, coded by the schema.

    Raises
    ------
    RecordsError
        If the data cannot be read, look like published counts, or a value does not fit the schema;
        the message names file, row and column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> records = read_records(pa.table({"block": ["1", "1"], "age": ["5-9", "10-14"]}), by="block")
    >>> records.schema["age"].values, records.areas.tolist()
    (('5-9', '10-14'), ['1', '1'])
    """
    if schema is not None and columns is not None:
        raise InputError(
            "both a schema and columns are given",
            remedy="the schema names the columns: leave one out",
        )
    opened = Source.of(source)
    refuse_counts(opened, records=records)
    file = opened.name
    known = schema if isinstance(schema, Schema) or schema is None else read_schema(Path(schema))
    names = needed(known, opened.names) if known else _attribute_columns(opened, columns, by)
    table = opened.table([*names, *([by] if by and by not in names else [])])
    with opened.locating():
        return Records.from_arrow(table, known or infer_schema(table, names, file=file), by=by, file=file)


def _attribute_columns(source: Source, columns: Sequence[str] | None, by: str | None) -> tuple[str, ...]:
    """The columns to infer a schema from."""
    if columns is not None:
        return tuple(name for name in dict.fromkeys(columns) if name != by)
    found = [name for name in source.names if name != by]
    if len(found) > MOST_COLUMNS:
        raise RecordsError(
            f"there are {len(found)} columns: choose those to use",
            file=source.name,
            remedy="list them with --columns, or in a schema with --schema",
        )
    return tuple(found)


@dataclass(frozen=True, eq=False)
class RecordStream:
    """Microdata of many areas.

    The column ``by`` names the area, or where ``joined`` maps columns to widths, these columns
    together do, each filled up with zeros. If the area is part of a larger one, the column ``within``
    names that, and the area is called by both.
    """

    source: Source
    schema: Schema
    by: str
    whole: frozenset[str]
    tolerant: bool
    n_areas: int = 0
    n_rows: int = 0
    ascending: bool = True
    joined: Mapping[str, int] = field(default_factory=dict[str, int])
    within: str | None = None
    shown: Schema | None = None

    def over(self, schema: Schema) -> RecordStream:
        """The same records over some of their attributes."""
        return replace(self, shown=schema)

    def areas(self, scratch: Path) -> Iterator[tuple[str, Records | InputError]]:
        """Each area's records, or why they cannot be used."""
        rows = (_coded(chunk, self) for chunk in self.chunks())
        return self.from_rows(rows_in_order(rows, ascending=self.ascending, scratch=scratch))

    def from_rows(self, rows: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, Records | InputError]]:
        """The areas of rows that are in order."""
        for area, mine in groups(rows):
            problem = first_reason(mine)
            if problem is not None:
                yield area, RecordsError(problem)
                continue
            data: list[Any] = mine["data"].to_pylist()
            codes = np.frombuffer(b"".join(data), code_dtype(self.schema))
            whole = Records(self.schema, codes.reshape(mine.num_rows, -1))
            yield area, whole if self.shown is None else whole.over(self.shown)

    @property
    def places(self) -> tuple[str, ...]:
        """The columns that name the area."""
        return tuple(self.joined) or ((self.by,) if self.within is None else (self.within, self.by))

    @property
    def pieces(self) -> list[Source]:
        """The source in pieces, if it has several."""
        return pieces_of(self.source)

    def rows(self, number: int, piece: Source) -> Iterator[pa.RecordBatch]:
        """The rows of a piece; those of a later piece have larger numbers."""
        part, n_rows = replace(self, source=piece), 0
        for chunk in part.chunks():
            n_rows += chunk.table.num_rows
            yield _coded(chunk._replace(before=(number << _ROW_BITS) + chunk.before), part)
        checked_rows(piece, n_rows)

    def look(self, piece: Source) -> Places:
        """How areas lie in a piece, whose rows can be used."""
        places = Places()
        for chunk in replace(self, source=piece).chunks():
            places.see(_checked_areas(chunk, self))
        checked_rows(piece, places.n_rows)
        return places

    def names(self, piece: Source) -> Iterator[Any]:
        """The areas of the rows of a piece."""
        return (_areas(chunk, self) for chunk in replace(self, source=piece).chunks())

    def chunks(self) -> Iterator[Chunk]:
        """The rows in chunks."""
        names = needed(self.schema, self.source.names)
        columns = list(dict.fromkeys((*names, *self.places)))
        return iter_tables(self.source, columns, error=RecordsError, whole=self.whole)


def open_records(
    data: object,
    schema: Schema | None,
    *,
    by: str,
    columns: Sequence[str] | None,
    tolerant: bool,
    joined: Mapping[str, int] | None = None,
    within: str | None = None,
    records: bool = False,
    engine: object = None,
) -> RecordStream:
    """Microdata in a file, ``by`` naming the column of the area (or ``joined`` several of them).

    ``within`` names the column of the larger area, if areas are parts of larger ones.

    Without a schema one is inferred from ``columns``, or from all but ``by``. If ``tolerant``,
    records outside the schema cost their area; else they are an error at once. Pieces of a large source
    are looked through by the tasks of ``engine``, if it is a cluster.
    """
    source = Source.of(data)
    refuse_counts(source, records=records)
    names = needed(schema, source.names) if schema else _attribute_columns(source, columns, by)
    looked_at = list(dict.fromkeys((*names, by, *(joined or ()), *([within] if within else ()))))
    find = partial(
        distinct_values,
        columns=looked_at,
        error=RecordsError,
        decimals_only=schema is not None,
        most=_FOLLOWED,
    )
    values, whole = join_values(each_piece(source, find, engine), most=_FOLLOWED)
    if not schema and not values:
        raise source.no_records()
    schema = schema or _inferred({name: values[name] for name in names}, source.name)
    draft = RecordStream(source, schema, by, whole, tolerant, joined=joined or {}, within=within)
    places, n_areas = find_places(source, draft.look, draft.names, engine)
    if not n_areas:
        raise source.no_records()
    return replace(draft, n_areas=n_areas, n_rows=places.n_rows, ascending=places.ascending)


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
    for column in stream.places:
        text: Any = as_text(chunk.table[column])
        if text.null_count:
            with rows_after(chunk.place):
                area_labels(chunk.table[column], column)
        parts.append(text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text)
    if stream.within is not None:
        return _inside(*parts, chunk=chunk, column=stream.within)
    return join_padded(parts, stream.joined.values()) if stream.joined else parts[0]


def _inside(above: Any, below: Any, *, chunk: Chunk, column: str) -> pa.Array:
    """The names of areas that are parts of larger ones, so that those of one area stand together."""
    slashes: Any = pc.match_substring(above, SLASH)
    for text, bad, problem in (
        (above, slashes, f"the name of an area with parts has a {SLASH}"),
        (above, pc.equal(above, pa.scalar("")), "a record has no area"),
        (below, pc.equal(below, pa.scalar("")), "a record has no part of its area"),
    ):
        if pc.any(bad).as_py():
            row = int(pc.index(bad, pa.scalar(True)).as_py())
            with rows_after(chunk.place):
                raise RecordsError(
                    problem,
                    row=row + 1,
                    column=column,
                    found=str(text[row].as_py()),
                    remedy=f"rename it: a part is called by its area, {SLASH!r}, and its own name",
                )
    return pc.binary_join_element_wise(above, below, pa.scalar(SLASH))


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
    for attribute in (schema[name] for name in needed(schema, table.column_names)):
        text = as_text(table[attribute.name])
        if attribute.missing is not None:
            text = pc.fill_null(text, pa.scalar(attribute.missing))
        known: Any = pc.is_in(text, value_set=pa.array(attribute.values, pa.string()))
        good &= np.asarray(known)
    codes, faults = _codes(table.filter(pa.array(good)), schema)
    records = Records(schema, codes)
    legal = np.ones(len(records), bool)
    for fault in faults:
        legal[fault.rows] = False
    for box in schema.own_forbidden:
        legal &= ~records.matching(box)
    good[good] = legal
    return good


def _codes(table: pa.Table, schema: Schema) -> tuple[NDArray[np.integer], list[LevelFault]]:
    """All attributes as codes, and which rows contradict a hierarchy."""
    codes = np.empty((table.num_rows, len(schema.attributes)), code_dtype(schema))
    given = needed(schema, table.column_names)
    for name in given:
        codes[:, schema.index[name]] = encode_column(table[name], schema[name])
    return codes, fill_levels(codes, schema, given)


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
