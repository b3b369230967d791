"""Columns of numbers from files: every value finite, and errors that name the row."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from showthrough.errors import InputError, RecordsError, check_each, check_type
from showthrough.export import Tabular
from showthrough.files import replacing
from showthrough.frames import Source
from showthrough.numbers.joint_noise import CorrelatedNoise
from showthrough.numbers.noise import Floats, check_matrix

__all__ = [
    "Numbers",
    "as_numbers",
    "read_covariance",
    "read_numbers",
    "write_table",
]

#: How to name columns.
_NAMES = 'write ["income"]'

#: What a field cannot hold without quotes.
SPECIAL = re.compile('[",\r\n\t]|^$')

#: File extensions that a table can be written to.
WRITTEN = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True, eq=False)
class Numbers(Tabular):
    """Some numeric columns of a file, and the whole table if it was asked for.

    Parameters
    ----------
    file
        What to call them in messages.
    columns
        The names of the columns.
    matrix
        One row for each record and one column for each name.
    source
        Where they were read; None for numbers that were given as an array.
    table
        The whole table, if it was asked for.
    """

    file: str
    columns: tuple[str, ...]
    matrix: Floats
    source: Source | None = None
    table: pa.Table | None = None

    def __post_init__(self) -> None:
        check_type(self.file, str, name="file")
        check_type(self.columns, Sequence, name="columns", remedy=_NAMES)
        check_each(self.columns, str, name="columns", remedy=_NAMES)
        check_type(
            self.matrix, np.ndarray, name="matrix", remedy="use read_numbers for files and data frames"
        )

    def __len__(self) -> int:
        return len(self.matrix)

    def __repr__(self) -> str:
        return f"Numbers({self.file}: {len(self):,} records, {', '.join(self.columns)})"

    def to_arrow(self) -> pa.Table:
        """The columns by name."""
        return pa.table(dict(zip(self.columns, np.ascontiguousarray(self.matrix.T), strict=True)))

    def named(self, error: InputError) -> InputError:
        """An error about these numbers, with the file, and with the column's name for its number."""
        column = error.column
        if column is not None and column.isdigit() and 0 < int(column) <= len(self.columns):
            error.column = self.columns[int(column) - 1]
        return error.at(file=None if self.source is None else self.file)

    def replaced(self, matrix: Floats) -> pa.Table:
        """The whole table with other numbers in these columns; all else as it was."""
        if self.table is None:
            raise InputError("only some columns of the file were read", file=self.file)
        table = self.table
        for at, name in enumerate(self.columns):
            table = table.set_column(
                table.column_names.index(name), name, pa.array(np.ascontiguousarray(matrix[:, at]))
            )
        # What other programs noted about the true numbers must not travel on.
        bare = [field.remove_metadata() for field in table.schema]
        return table.cast(pa.schema(bare)).replace_schema_metadata(None)


def read_numbers(source: object, columns: Sequence[str], *, whole: bool = False, least: int = 2) -> Numbers:
    """Read columns of numbers.

    Parameters
    ----------
    source
        A CSV, TSV or Parquet file, or a table of Arrow, pandas or polars.
    columns
        The names of the columns.
    whole
        Whether to keep all other columns too, for :meth:`Numbers.replaced`.
    least
        How many records there must be.

    Returns
    -------
    Numbers
        The columns as a matrix of finite numbers.

    Raises
    ------
    RecordsError
        If a column does not exist, or a value is missing, infinite or not a number; the message
        gives the file, the row and the column.

    Examples
    --------
    >>> read_numbers(pa.table({"income": [20.0, 35.0], "town": ["a", "b"]}), ["income"])
    Numbers(data: 2 records, income)
    """
    check_each(columns, str, name="columns", remedy=_NAMES)
    check_type(least, Integral, name="the least number of records")
    columns = tuple(columns)
    opened = Source.of(source)
    file = opened.name
    if not columns:
        raise RecordsError("no column was named", file=file, remedy="name one with --column")
    twice = next((name for at, name in enumerate(columns) if name in columns[:at]), None)
    if twice is not None:
        raise RecordsError("the column is named twice", file=file, column=twice)
    table = opened.table(columns)
    if table.num_rows < least:
        raise RecordsError(
            f"at least {least} {'record is' if least == 1 else 'records are'} needed",
            file=file,
            found=f"{table.num_rows}",
        )
    matrix = np.column_stack([_floats(table[name], name, opened) for name in columns])
    return Numbers(file or "data", tuple(columns), matrix, opened, opened.table() if whole else None)


def as_numbers(values: object, columns: Sequence[str] | None = None) -> Numbers:
    """Numbers as they are, from an array, or (with the names of columns) from a file or a data frame.

    >>> as_numbers([[1.0, 2.0], [3.0, 5.0]])
    Numbers(data: 2 records, column 1, column 2)
    """
    if isinstance(values, Numbers):
        return values
    if columns is not None and not isinstance(values, np.ndarray | list | tuple):
        return read_numbers(values, columns)
    if isinstance(values, str | os.PathLike):
        raise InputError(
            "no column was named", file=str(values), remedy='name the columns: columns=["income"]'
        )
    if columns is not None:
        check_each(columns, str, name="columns", remedy=_NAMES)
    matrix = check_matrix(cast("ArrayLike", values))
    names = tuple(columns or (f"column {at + 1}" for at in range(matrix.shape[1])))
    if len(names) != matrix.shape[1]:
        raise InputError("give one name for each column", found=f"{len(names)} for {matrix.shape[1]} columns")
    return Numbers("data", names, matrix)


def read_covariance(source: object, columns: Sequence[str]) -> CorrelatedNoise:
    """Correlated noise from a file with its covariance: one row and one column for each column."""
    found = read_numbers(source, columns, least=1)
    if len(found) != len(columns):
        raise RecordsError(
            "a covariance needs one row for each column",
            file=found.file,
            found=f"{len(found)} rows for {len(columns)} columns",
        )
    try:
        return CorrelatedNoise(found.matrix)
    except InputError as error:
        raise error.at(file=found.file) from None


def write_table(path: str | os.PathLike[str], table: pa.Table) -> None:
    """Write a table as CSV, TSV or Parquet, all of it or nothing."""
    kind = Path(path).suffix.lower()
    if kind not in WRITTEN:
        raise InputError(
            "unsupported file extension",
            file=str(path),
            found=kind,
            remedy=f"use {', '.join(WRITTEN[:-1])} or {WRITTEN[-1]}",
        )
    with replacing(path) as draft:
        if kind == ".parquet":
            pq.write_table(table, draft, compression="zstd")
            return
        try:
            _write_text(table, draft, "\t" if kind == ".tsv" else ",")
        except pa.ArrowException as problem:
            raise InputError(
                "the table cannot be written as text",
                file=str(path),
                found=" ".join(str(problem).split()),
                remedy="use .parquet",
            ) from None


def _write_text(table: pa.Table, path: Path, delimiter: str) -> None:
    """Delimited text with quotes only where they are needed (Arrow would put them around all texts)."""
    texts = pa.table([column.cast(pa.string()) for column in table.columns], names=list(table.column_names))
    with path.open("wb") as stream:
        head = io.TextIOWrapper(stream, "utf-8", newline="", write_through=True)
        csv.writer(head, delimiter=delimiter, lineterminator="\n").writerow(texts.column_names)
        if not any(_needs_quotes(column) for column in texts.columns):
            bare = arrow_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
            arrow_csv.write_csv(texts, stream, bare)
        else:
            writer = csv.writer(head, delimiter=delimiter, lineterminator="\n")
            for batch in texts.to_batches(max_chunksize=2**16):
                writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        head.detach()


def _needs_quotes(column: Any) -> bool:
    return bool(pc.any(pc.match_substring_regex(column, SPECIAL.pattern)).as_py())


def _floats(column: pa.ChunkedArray, name: str, source: Source) -> Floats:
    """One column as floats; the first value that is none is an error."""
    given: Any = column
    if pa.types.is_dictionary(given.type):
        given = given.cast(given.type.value_type)
    if given.null_count:
        row = _first(pc.is_null(given))
        raise _error("the value is missing", name, source, row, None)
    if pa.types.is_string(given.type) or pa.types.is_large_string(given.type):
        given = _parsed(pc.utf8_trim_whitespace(given), name, source)
    try:
        floats = given.cast(pa.float64()).to_numpy()
    except pa.ArrowException:
        raise RecordsError(
            "the column is not numeric", file=source.name, column=name, found=str(given.type)
        ) from None
    wrong = np.flatnonzero(~np.isfinite(floats))
    if len(wrong):
        row = int(wrong[0]) + 1
        raise _error("the value is not finite", name, source, row, str(column[row - 1].as_py()))
    return np.asarray(floats, np.float64)


def _parsed(texts: Any, name: str, source: Source) -> Any:
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        for row, text in enumerate(texts.to_pylist(), 1):
            if not _is_number(text):
                raise _error("the value is not a number", name, source, row, text) from None
        raise


def _is_number(text: str) -> bool:
    try:
        pa.scalar(text).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _error(problem: str, name: str, source: Source, row: int, found: str | None) -> RecordsError:
    place = source.place(row)
    return RecordsError(
        problem,
        file=place.file,
        row=place.row,
        column=name,
        found=found,
        remedy="correct it or leave the record out",
    )


def _first(mask: Any) -> int:
    """The row (from 1) of the first true entry."""
    return int(pc.index(mask, pa.scalar(True)).as_py()) + 1
