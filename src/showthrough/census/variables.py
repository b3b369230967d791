"""One file of census counts: which columns are cells, and which area each row is about.

Columns are variables such as ``P16_001N`` or ``H4A_002N``, of 2010 ``P012A001`` or (in files)
``P0120001``; each names a cell of a table.

* Census API: JSON, a list of rows, the first with the column names; the place is in ``state``,
  ``county``, ``tract`` and ``block``, or in ``GEO_ID``.
* data.census.gov: CSV whose second row explains the columns in words; the place is in ``GEO_ID``.
* Wide files (CSV, Parquet, Arrow): one row per block, with the block's code in ``block``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from showthrough.census.people_tables import people_labels
from showthrough.census.places import PARTS, TRACT_PARTS, join_parts, numbered_in_parts, place_code
from showthrough.census.tables_2020 import census_labels
from showthrough.engine.rows import ROWS, pack_cells, read_by_halves
from showthrough.errors import ReleaseError, closest
from showthrough.files import open_file, unreadable
from showthrough.frames import Chunk, Position, Source, distinct_values, is_path, iter_tables
from showthrough.notation import Notation, parse_values
from showthrough.records import as_text
from showthrough.release import Layout

__all__ = [
    "CensusFile",
    "open_census_file",
]

#: Columns that name the place of a row, and hold no counts.
_PLACE_COLUMNS = {*PARTS, "GEO_ID", "GEOID", "NAME", "area", "block group", "ucgid", "SUMLEVEL", ""}

#: Columns of codes with a prefix for the kind of place.
_CODED = ("GEO_ID", "GEOID", "ucgid")

#: What the second row of a data.census.gov file says in the column of places.
_IN_WORDS = {"geography", "id", "geo_id"}

#: Variables of 2010 in files of the Census Bureau, which have one more digit than those of its API.
_LONG = re.compile(r"([A-Z]+[0-9]{3})0([0-9]{3})")

_OF_2010 = re.compile(r"([A-Z]+)([0-9]{3})([A-Z]?)0?[0-9]{3}")

_VARIABLE = re.compile(r"([A-Z]+[0-9]+[A-Z]*)_([0-9]{3})([A-Z]+)")

#: Rows of a table in memory that are taken together.
_ROWS_AT_A_TIME = 300


@dataclass(frozen=True, eq=False)
class CensusFile:
    """A source of counts, called ``file`` in errors.

    ``cells`` maps columns to positions in the layout, ``where`` names the columns of the place,
    ``ignored`` those that belong to no table of the layout.
    """

    file: str | None
    source: Source
    cells: Mapping[str, int]
    where: tuple[str, ...]
    whole: frozenset[str]
    ignored: tuple[str, ...]

    def areas(self) -> Iterator[pa.Array]:
        """The area of every row, chunk by chunk, from the columns of the place alone."""
        for chunk in self._chunks(self.where):
            yield pa.array(self._places(chunk.table, chunk.place), pa.string())

    def rows(self, first: int, *, tolerant: bool) -> Iterator[pa.RecordBatch]:
        """The rows as areas with packed cells, numbered from ``first``; bad ones as reasons."""

        for chunk in self._chunks((*self.where, *self.cells)):
            numbered = chunk._replace(before=first + chunk.before)
            if not tolerant:
                yield self._coded(numbered)
                continue
            yield from read_by_halves(
                numbered, self._coded, area=lambda row: self._places(row, Position(self.file))[0]
            )

    def _chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """The rows in chunks, without the row that repeats the header in words."""
        skipped = here = n_rows = 0
        for chunk in self.chunks(columns):
            if not chunk.place.row:
                here = int(self.where[0] in _CODED and _is_words(chunk.table[self.where[0]]))
                chunk, skipped = chunk.slice(here), skipped + here
            n_rows += chunk.table.num_rows
            if chunk.table.num_rows:
                place = Position(chunk.place.file or self.file, chunk.place.row - here)
                yield Chunk(chunk.before - skipped, chunk.table, place)
        if not n_rows:
            raise ReleaseError("the file has no areas", file=self.file, remedy="download another place")

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Some columns of the rows, as they stand in the file."""
        for chunk in iter_tables(self.source, columns, error=ReleaseError, whole=self.whole):
            for start in range(0, chunk.table.num_rows, _ROWS_AT_A_TIME):
                yield chunk.slice(start, _ROWS_AT_A_TIME)

    def _places(self, table: pa.Table, place: Position) -> list[str]:
        """Each row's area."""
        columns = [_texts(table, column, place.row, self.file) for column in self.where]
        if len(columns) > 1:
            return join_parts(pa.array(texts, pa.string()) for texts in columns).to_pylist()
        if self.where[0] not in _CODED:
            return columns[0]
        rows = enumerate(columns[0], place.row + 1)
        return [_geo_id(text, row, self.where[0], self.file) for row, text in rows]

    def _coded(self, chunk: Chunk) -> pa.RecordBatch:
        low, high = self._bounds(chunk.table, chunk.place.row)
        cells = np.array(list(self.cells.values()), np.int64)
        data = [
            pack_cells(cells[there], low[row][there], high[row][there]) for row, there in enumerate(low >= 0)
        ]
        numbers = np.arange(chunk.before, chunk.before + len(data))
        columns = [
            pa.array(self._places(chunk.table, chunk.place), pa.string()),
            pa.array(numbers, pa.int64()),
            pa.array(data, pa.binary()),
            pa.nulls(len(data), pa.string()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=ROWS)

    def _bounds(self, table: pa.Table, before: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Row × cell: the least and the largest count; −1 where nothing is published."""
        names, n_rows = list(self.cells), table.num_rows
        texts: Any = pa.chunked_array([_whole(as_text(table[name])) for name in names], pa.string())
        filled: Any = pc.coalesce(pc.utf8_trim_whitespace(texts), pa.scalar("", pa.string()))
        there = pc.greater(pc.utf8_length(filled), pa.scalar(0, pa.int32())).to_numpy()
        at = np.flatnonzero(there)
        low = np.full(len(names) * n_rows, -1, np.int64)
        high = low.copy()
        try:  # all columns in one go, one after the other
            low[at], high[at] = parse_values(texts.filter(pa.array(there)), Notation(), rows=at + 1)
        except ReleaseError as error:
            column, row = divmod((error.row or 1) - 1, n_rows)
            raise ReleaseError(
                error.problem,
                file=self.file,
                row=before + row + 1,
                column=names[column],
                found=error.found,
                remedy=error.remedy,
            ) from None
        shape = len(names), n_rows
        return low.reshape(shape).T, high.reshape(shape).T


def open_census_file(source: object, layout: Layout) -> CensusFile:
    """Find out what a file (or a table in memory) holds, without reading its counts."""
    file = os.fspath(source) if is_path(source) else None
    is_json = file is not None and file.lower().endswith(".json")
    opened = Source.of(_read_json(Path(file)) if file and is_json else source, error=ReleaseError)
    names = opened.names
    cells, ignored = _variables(names, layout, file)
    if not cells:
        raise ReleaseError(
            "no column is a variable of the block tables",
            file=file,
            found=", ".join(names),
            remedy=f"name the columns after variables, such as {layout.names[0][1]}",
        )
    _, whole = distinct_values(opened, list(cells), error=ReleaseError, decimals_only=True, most=0)
    found = CensusFile(file, opened, cells, _where(names, file), whole, ignored)
    for where, parts in ((("block",), PARTS), (("tract",), TRACT_PARTS)):
        if found.where == where and set(parts) <= set(names):
            chunks = (chunk.table for chunk in found.chunks(list(parts)))
            if numbered_in_parts(chunks, parts):
                return replace(found, where=tuple(parts))
    return found


def _where(names: Sequence[str], file: str | None) -> tuple[str, ...]:
    """The column that says which area a row is about."""
    for column in (*_CODED, "block", "area", "tract"):
        if column in names:
            return (column,)
    raise ReleaseError(
        "no column names the area",
        file=file,
        found=", ".join(names),
        remedy="add GEO_ID, or state, county, tract and block, or area",
    )


def _variables(
    names: Sequence[str], layout: Layout, file: str | None
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Column → cell, and the columns that are left out."""
    cells = {cell: at for at, (_, cell) in enumerate(layout.names)}
    tables, census = {table.name for table in layout.tables}, _labels(layout)
    chosen: dict[str, int] = {}
    ignored: list[str] = []
    for name in names:
        code = _LONG.sub(r"\1\2", name)
        if code in cells:
            if cells[code] in chosen.values():
                raise ReleaseError(
                    "a variable has two columns", file=file, column=name, found=code, remedy="keep one"
                )
            chosen[name] = cells[code]
            continue
        table, is_note = _table_of(name)
        known = table in tables
        if known and name not in census and not is_note:
            raise ReleaseError(
                f"table {table} has no such variable",
                file=file,
                column=name,
                found=name,
                remedy=closest(name, [cell for one, cell in layout.names if one == table]),
            )
        if name not in _PLACE_COLUMNS and not (known and name not in census):
            ignored.append(name)
    return chosen, tuple(ignored)


def _table_of(name: str) -> tuple[str, bool]:
    """The table of a variable, and whether it is an annotation; no table if it is no variable."""
    match = _VARIABLE.fullmatch(name)
    if match is not None:
        return match[1], match[3] == "NA"
    match = _OF_2010.fullmatch(name)
    return ("", False) if match is None else (f"{match[1]}{int(match[2])}{match[3]}", False)


def _labels(layout: Layout) -> Mapping[str, str]:
    """The labels of all variables of tables of homes, or of people."""
    return census_labels() if "vacancy" in layout.schema.index else people_labels("2020")


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column as one array."""
    if isinstance(column, pa.Array):
        return column
    parts: list[Any] = column.chunks
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _read_json(path: Path) -> pa.Table:
    """The API's answer: a list of rows, the first of which names the columns."""
    file = str(path)
    try:
        with open_file(path, error=ReleaseError) as stream:
            rows: Any = json.loads(stream.read().decode("utf-8-sig"))
    except RecursionError:
        rows = None
    except (OSError, ValueError) as problem:
        raise unreadable(file, problem, error=ReleaseError) from None
    if not (isinstance(rows, list) and rows and all(isinstance(row, list) for row in rows)):
        raise ReleaseError(
            "this file is not a response of the Census API",
            file=file,
            remedy="expected a list of rows, the first with the column names",
        )
    header, *values = rows
    is_named = header and all(isinstance(name, str) for name in header)
    if not is_named or len(set(header)) < len(header):
        raise ReleaseError("the first row must give every column a different name", file=file)
    for number, row in enumerate(values, 1):
        if len(row) != len(header):
            raise ReleaseError(
                f"the row has {len(row)} fields, the header has {len(header)}", file=file, row=number
            )
    if not values:
        raise ReleaseError("the file has no areas", file=file, remedy="query the API for another place")
    try:
        columns = [
            pa.array([None if value is None else str(value) for value in column], pa.string())
            for column in zip(*values, strict=True)
        ]
        return pa.Table.from_arrays(columns, names=header)
    except (UnicodeEncodeError, RecursionError):  # half a character, or lists without end
        raise ReleaseError(
            "a value cannot be read as text",
            file=file,
            remedy="query the API again and save the response unchanged",
        ) from None


def _is_words(column: pa.ChunkedArray) -> bool:
    first = as_text(column.slice(0, 1))[0].as_py()
    return first is not None and str(first).strip().lower() in _IN_WORDS


def _texts(table: pa.Table, column: str, before: int, file: str | None) -> list[str]:
    texts = [str(text or "").strip() for text in as_text(table[column]).to_pylist()]
    if "" in texts:
        row = before + texts.index("") + 1
        raise ReleaseError("a row has no area", file=file, row=row, column=column, remedy="fill the column")
    return texts


def _geo_id(text: str, row: int, column: str, file: str | None) -> str:
    code = place_code(text)
    if code is None:
        raise ReleaseError(
            "invalid geographic code",
            file=file,
            row=row,
            column=column,
            found=text,
            remedy="codes look like 1000000US010010201001000",
        )
    return code
