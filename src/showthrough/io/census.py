"""What the Census Bureau publishes, as its API and its website hand it out.

Columns are variables such as ``P16_001N`` or ``H4A_002N``; each names a cell of a block table.

* API: JSON, a list of rows, the first of which names the columns; the place is in ``state``,
  ``county``, ``tract`` and ``block``, or in ``GEO_ID``.
* data.census.gov: CSV whose second row repeats the columns in words; the place is in ``GEO_ID``.
* Wide files of one's own (CSV, Parquet, Arrow): one row per block, the block in ``block``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from showthrough.datasets.census import census_labels, census_layout
from showthrough.errors import ReleaseError, closest
from showthrough.io.cells import first_duplicate
from showthrough.io.files import check_file, replacing, unreadable
from showthrough.io.frames import is_path, read_table
from showthrough.io.releases import Releases
from showthrough.io.values import Notation, parse_values
from showthrough.records import as_text
from showthrough.release import UNBOUNDED, Layout, Release

__all__ = ["CensusCounts", "read_census", "write_census"]

Whole = NDArray[np.int64]

#: The parts of a block's 15-digit code and their widths.
PARTS = {"state": 2, "county": 3, "tract": 6, "block": 4}

#: Columns that say where or what a row is, and hold no counts.
PLACES = {*PARTS, "GEO_ID", "GEOID", "NAME", "area", "block group", "ucgid", "SUMLEVEL", ""}

#: What the second row of a data.census.gov file says in the column of places.
_IN_WORDS = {"geography", "id", "geo_id"}

_VARIABLE = re.compile(r"([A-Z]+[0-9]+[A-Z]*)_([0-9]{3})([A-Z]+)")
_GEO_ID = re.compile(r"(?:[0-9A-Z]*US)?([0-9]+)")

#: Areas written at a time.
_BATCH = 2_000


@dataclass(frozen=True, eq=False)
class CensusCounts:
    """What was read: the releases by area, and the columns that are of no table asked for."""

    releases: Releases
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Part:
    """The values of one source: areas, and per value its area, cell and bounds."""

    areas: list[str]
    codes: Whole
    cells: Whole
    low: Whole
    high: Whole
    ignored: tuple[str, ...]
    file: str | None


def read_census(sources: object, layout: Layout | None = None) -> CensusCounts:
    """Published census counts from one or several files (or tables in memory).

    Several files may hold different tables of the same blocks, or different blocks. Cells without a
    column or without a value are not published. Annotations (``P16_001NA``) are passed over;
    variables of other tables are left out and listed; an unknown variable of a known table is an
    error. The default layout has the column ``children``, without which table H15 of real data
    can contradict the others.
    """
    layout = layout or census_layout(children=True)
    listed: Sequence[object] = sources if isinstance(sources, list | tuple) else (sources,)
    if not listed:
        raise ReleaseError("there is nothing to read", remedy="name at least one file")
    parts = [_read(source, layout) for source in listed]
    areas = sorted({area for part in parts for area in part.areas})
    position = {area: at for at, area in enumerate(areas)}
    codes = [np.array([position[a] for a in p.areas], np.int64)[p.codes] for p in parts]
    _check_once(parts, codes, layout)
    releases = Releases.arrange(
        layout,
        areas,
        codes=np.concatenate(codes),
        cells=np.concatenate([part.cells for part in parts]),
        low=np.concatenate([part.low for part in parts]),
        high=np.concatenate([part.high for part in parts]),
    )
    return CensusCounts(releases, tuple(dict.fromkeys(name for part in parts for name in part.ignored)))


def _check_once(parts: Sequence[_Part], codes: Sequence[Whole], layout: Layout) -> None:
    keys = [c * len(layout.names) + p.cells for c, p in zip(codes, parts, strict=True)]
    again = first_duplicate(np.concatenate(keys))
    if again is None:
        return
    ends = np.cumsum([len(part.cells) for part in parts])
    number = int(np.searchsorted(ends, again, side="right"))
    part = parts[number]
    at = again - int(ends[number]) + len(part.cells)
    raise ReleaseError(
        f"a value of area {part.areas[int(part.codes[at])]} is given twice",
        file=part.file,
        column=layout.names[int(part.cells[at])][1],
        remedy="read every table of a block from one file only",
    )


def _read(source: object, layout: Layout) -> _Part:
    table, file = _table(source)
    chosen, ignored = _variables(table.column_names, layout, file)
    if not chosen:
        raise ReleaseError(
            "no column is a variable of the block tables",
            file=file,
            found=", ".join(table.column_names),
            remedy="columns are called like P16_001N",
        )
    places, table = _places(table, file)
    twice = first_duplicate(np.unique(places, return_inverse=True)[1].astype(np.int64))
    if twice is not None:
        raise ReleaseError(
            "an area has two rows", file=file, row=twice + 1, found=places[twice], remedy="keep one"
        )
    found = [_column(table[name], name, cell, file) for name, cell in chosen.items()]
    rows, cells, low, high = (np.concatenate(part) for part in zip(*found, strict=True))
    return _Part(places, rows, cells, low, high, ignored, file)


def _column(
    column: pa.ChunkedArray, name: str, cell: int, file: str | None
) -> tuple[Whole, Whole, Whole, Whole]:
    """Row, cell, low and high of every value that is there."""
    texts = as_text(column)
    filled: Any = pc.coalesce(pc.utf8_trim_whitespace(texts), pa.scalar("", pa.string()))
    there = pc.greater(pc.utf8_length(filled), pa.scalar(0, pa.int32())).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(there).astype(np.int64)
    kept = texts if len(rows) == len(texts) else texts.take(pa.array(rows, pa.int64()))
    low, high = parse_values(kept, Notation(), file=file, name=name, rows=rows + 1)
    return rows, np.full(len(rows), cell, np.int64), low, high


def _variables(
    names: Sequence[str], layout: Layout, file: str | None
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Column → cell, and the columns that are left out."""
    cells = {cell: at for at, (_, cell) in enumerate(layout.names)}
    tables, census = {table.name for table in layout.tables}, census_labels()
    chosen: dict[str, int] = {}
    ignored: list[str] = []
    for name in names:
        if name in cells:
            chosen[name] = cells[name]
            continue
        match = _VARIABLE.fullmatch(name)
        known = match is not None and match[1] in tables
        if match is not None and known and name not in census and match[3] != "NA":
            raise ReleaseError(
                f"table {match[1]} has no such variable",
                file=file,
                column=name,
                found=name,
                remedy=closest(name, [cell for table, cell in layout.names if table == match[1]]),
            )
        if name not in PLACES and not (known and name not in census):
            ignored.append(name)
    return chosen, tuple(ignored)


def _table(source: object) -> tuple[pa.Table, str | None]:
    """All columns of a source, and the name of the file."""
    if not is_path(source):
        return read_table(source, error=ReleaseError), None
    file = str(source)
    if file.lower().endswith(".json"):
        return _read_json(check_file(source, error=ReleaseError)), file
    return read_table(source, error=ReleaseError), file


def _read_json(path: Path) -> pa.Table:
    """The API's answer: a list of rows, the first of which names the columns."""
    file = str(path)
    try:
        rows: Any = json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as problem:
        raise unreadable(file, problem, error=ReleaseError) from None
    if not (isinstance(rows, list) and rows and all(isinstance(row, list) for row in rows)):
        raise ReleaseError(
            "this is not an answer of the Census API",
            file=file,
            remedy="it should be a list of rows, the first of which names the columns",
        )
    header, *values = rows
    if not all(isinstance(name, str) for name in header) or len(set(header)) < len(header):
        raise ReleaseError("the first row does not name the columns, each once", file=file)
    for number, row in enumerate(values, 1):
        if len(row) != len(header):
            raise ReleaseError(
                f"the row has {len(row)} fields, the header {len(header)}", file=file, row=number
            )
    if not values:
        raise ReleaseError("there are no areas", file=file, remedy="ask the API for another place")
    columns = [
        pa.array([None if value is None else str(value) for value in column], pa.string())
        for column in zip(*values, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=header)


def _places(table: pa.Table, file: str | None) -> tuple[list[str], pa.Table]:
    """Each row's area, and the table without the row that repeats the header in words."""
    names = table.column_names
    for column in ("GEO_ID", "GEOID", "ucgid"):
        if column in names:
            table = _without_words(table, column, file)
            return [_geo_id(text, row, column, file) for row, text in _texts(table, column, file)], table
    if "block" in names:
        blocks = [text for _, text in _texts(table, "block", file)]
        if all(part in names for part in PARTS) and max(map(len, blocks)) <= PARTS["block"]:
            columns = [[t.zfill(w) for _, t in _texts(table, part, file)] for part, w in PARTS.items()]
            return ["".join(parts) for parts in zip(*columns, strict=True)], table
        return blocks, table
    if "area" in names:
        return [text for _, text in _texts(table, "area", file)], table
    raise ReleaseError(
        "no column says which area a row is about",
        file=file,
        found=", ".join(names),
        remedy="there should be GEO_ID, or state, county, tract and block, or area",
    )


def _without_words(table: pa.Table, column: str, file: str | None) -> pa.Table:
    first = as_text(table[column].slice(0, 1))[0].as_py()
    if first is None or str(first).strip().lower() not in _IN_WORDS:
        return table
    if table.num_rows == 1:
        raise ReleaseError("there are no areas", file=file, remedy="download the table again")
    return table.slice(1)


def _texts(table: pa.Table, column: str, file: str | None) -> Iterator[tuple[int, str]]:
    for row, text in enumerate(as_text(table[column]).to_pylist(), 1):
        if text is None or not str(text).strip():
            raise ReleaseError("a row has no area", file=file, row=row, column=column)
        yield row, str(text).strip()


def _geo_id(text: str, row: int, column: str, file: str | None) -> str:
    match = _GEO_ID.fullmatch(text)
    if match is None:
        raise ReleaseError(
            "this is no code of a place",
            file=file,
            row=row,
            column=column,
            found=text,
            remedy="codes look like 1000000US010010201001000",
        )
    return match[1]


def write_census(releases: Iterable[Release], path: str | os.PathLike[str]) -> int:
    """Write counts as a wide CSV or Parquet file: ``block``, then a column per cell.

    Cells that are not published stay empty. Intervals do not fit this form. Returns the number of
    areas, which are written some at a time.
    """
    kind = Path(path).suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise ReleaseError(
            "counts are written as CSV or Parquet",
            file=str(path),
            found=kind,
            remedy="end the name in .csv or .parquet",
        )
    parts = [releases] if isinstance(releases, Releases) else _parts(releases)
    writer, schema, n_areas = None, pa.schema([]), 0
    with replacing(path) as draft, ExitStack() as stack:
        for part in parts:
            _check_exact(part, path)
            if writer is None:
                cells = [(cell, pa.int64()) for _, cell in part.layout.names]
                schema = pa.schema([("block", pa.string()), *cells])
                made: Any = arrow_csv.CSVWriter if kind == ".csv" else pq.ParquetWriter
                writer = stack.enter_context(made(draft, schema))
            for start in range(0, len(part), _BATCH):
                writer.write_table(_wide(part, range(start, min(start + _BATCH, len(part))), schema))
            n_areas += len(part)
        if writer is None:
            raise ReleaseError("there is no release to write", file=str(path))
    return n_areas


def _parts(releases: Iterable[Release]) -> Iterator[Releases]:
    waiting = iter(releases)
    while batch := list(islice(waiting, _BATCH)):
        yield Releases.of(batch)


def _check_exact(releases: Releases, path: str | os.PathLike[str]) -> None:
    if ((releases.low != releases.high) & ((releases.low > 0) | (releases.high < UNBOUNDED))).any():
        raise ReleaseError(
            "a wide file holds counts, not intervals", file=str(path), remedy="use write_counts"
        )


def _wide(releases: Releases, which: range, schema: pa.Schema) -> pa.Table:
    counts = np.full((len(which), len(schema) - 1), -1, np.int64)
    first, last = int(releases.starts[which.start]), int(releases.starts[which.stop])
    row = np.repeat(np.arange(len(which)), np.diff(releases.starts[which.start : which.stop + 1]))
    exact = releases.low[first:last] == releases.high[first:last]
    counts[row[exact], releases.cells[first:last][exact]] = releases.low[first:last][exact]
    columns = [pa.array(column, mask=column < 0) for column in counts.T]
    names = pa.array(list(releases.areas[which.start : which.stop]), pa.string())
    return pa.Table.from_arrays([names, *columns], schema=schema)
