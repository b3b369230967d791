"""Delimited text (CSV, TSV): every field as text, and errors that name the row."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.csv as arrow_csv

from showthrough.errors import InputError
from showthrough.files import unreadable

__all__ = ["csv_options", "read_delimited", "read_header"]

#: Bytes parsed at a time; a single row may be longer, then the next size is tried.
BLOCK_SIZES = (1 << 22, 1 << 26, 1 << 30)


def read_header(path: Path, *, error: type[InputError]) -> list[str]:
    """The column names of a delimited file."""
    file = str(path)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as raw:
            text = io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape", newline="")
            rows = csv.reader(text, delimiter=_delimiter(path))
            names = next((row for row in rows if row), [])
    except (OSError, EOFError, zlib.error, csv.Error) as problem:
        raise unreadable(file, problem, error=error) from None
    if not any(names):
        raise error(
            "the file is empty" if not names else "the header names no column",
            file=file,
            remedy="the first line names the columns",
        )
    if any(not _is_text(name) for name in names):
        raise error("the header is not UTF-8", file=file, remedy="save as UTF-8")
    return names


def read_delimited(
    path: Path, names: Sequence[str], *, columns: Sequence[str] | None, error: type[InputError]
) -> pa.Table:
    """The file's rows as strings; empty fields are missing.

    ``names`` is the whole header, ``columns`` what to keep of it.
    """
    kept = list(columns if columns is not None else names)
    try:
        table = _parse(path, names, columns=columns)
    except (pa.ArrowInvalid, OSError, EOFError) as problem:
        if "Empty CSV" not in str(problem):
            raise _explain(path, names, problem, error) from None
        table = pa.schema([(name, pa.string()) for name in kept]).empty_table()
    if table.column_names != kept or any(kind != pa.string() for kind in table.schema.types):
        raise error(
            "the header cannot be read",
            file=str(path),
            found=", ".join(table.column_names),
            remedy="write the column names on the first line, each in double quotes",
        )
    return table


def csv_options(
    path: Path, names: Sequence[str], *, columns: Sequence[str] | None, kind: pa.DataType | None = None
) -> tuple[arrow_csv.ParseOptions, arrow_csv.ConvertOptions]:
    """How a file with this header is parsed and converted: every field as text, empty ones missing."""
    # A blank line in a file of one column is a record with a missing value, not decoration.
    parsing = arrow_csv.ParseOptions(
        delimiter=_delimiter(path),
        newlines_in_values=True,
        ignore_empty_lines=len(names) > 1,
    )
    converting = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, kind or pa.string()),
        include_columns=list(columns) if columns is not None else None,
        null_values=[""],
        strings_can_be_null=True,
    )
    return parsing, converting


def _parse(
    path: Path,
    names: Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    kind: pa.DataType | None = None,
    on_bad_row: Callable[[arrow_csv.InvalidRow], Literal["error", "skip"]] | None = None,
) -> pa.Table:
    parsing, converting = csv_options(path, names, columns=columns, kind=kind)
    if on_bad_row is not None:
        parsing.invalid_row_handler = on_bad_row
    for size in BLOCK_SIZES:
        try:
            reading = arrow_csv.ReadOptions(block_size=size, use_threads=on_bad_row is None)
            return arrow_csv.read_csv(path, reading, parsing, converting)
        except pa.ArrowInvalid as problem:
            if "straddl" not in str(problem) or size == BLOCK_SIZES[-1]:
                raise
    raise AssertionError("unreachable: the last size returns or raises")


def _explain(path: Path, names: Sequence[str], problem: Exception, error: type[InputError]) -> InputError:
    """What is wrong with a file that does not parse: read it again, slowly, to find the place."""
    if "UTF8" in str(problem):
        return _bad_encoding(path, names, error)
    ragged: list[tuple[int, int, str]] = []

    def note(row: arrow_csv.InvalidRow) -> Literal["error"]:
        ragged.append((row.number or 0, row.actual_columns, row.text))
        return "error"

    try:
        _parse(path, names, on_bad_row=note)
    except (pa.ArrowInvalid, OSError, EOFError):
        if ragged:
            number, fields, text = ragged[0]
            return error(
                f"the row has {fields} fields, the header {len(names)}",
                file=str(path),
                row=number - 1,
                found=text,
                remedy="put fields that hold the separator or a quote in double quotes",
            )
    return unreadable(str(path), problem, error=error)


def _bad_encoding(path: Path, names: Sequence[str], error: type[InputError]) -> InputError:
    """The first row with a field that is not UTF-8."""
    table = _parse(path, names, kind=pa.binary())
    found = [(row, name, field) for name in names for row, field in [_first_not_text(table[name])] if row]
    row, name, field = min(found, key=lambda place: place[0])
    return error(
        "the text is not UTF-8",
        file=str(path),
        row=row,
        column=name,
        found=field.decode("latin-1"),
        remedy="save as UTF-8",
    )


def _first_not_text(column: pa.ChunkedArray) -> tuple[int, bytes]:
    """The row (from 1) of the first field that is not UTF-8, and the field; row 0 if none."""
    before = 0
    for chunk in column.chunks:
        try:
            chunk.cast(pa.string())
        except pa.ArrowInvalid:
            for at, field in enumerate(chunk.to_pylist(), 1):
                if field is not None and not _is_text(field.decode("utf-8", "surrogateescape")):
                    return before + at, field
        before += len(chunk)
    return 0, b""


def _is_text(text: str) -> bool:
    """Whether every character stands for itself rather than for a byte that is not UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in path.name.lower()[-7:] else ","
