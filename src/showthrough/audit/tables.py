"""The tables of a run as they must be: every column there, of its type, with no value missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import InputError, RunError
from showthrough.files import check_file, unreadable

__all__ = ["DAMAGED", "MALFORMED", "read_rows"]

#: What to do about a run that is not as it was.
DAMAGED = "the run is damaged, or another version wrote it: run the audit again"

#: What may be raised by values that are not what they should be.
MALFORMED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, InputError)

#: Columns with values that may be unknown.
OPTIONAL = {"records", "unique"}


def read_rows(
    path: Path, schema: pa.Schema, columns: Sequence[str] | None = None, *, rows: int = 2**14
) -> Iterator[pa.Table]:
    """Some columns of a Parquet file (default: all of the schema), some rows at a time."""
    wanted = pa.schema([schema.field(name) for name in columns or schema.names])
    check_file(path, error=RunError)
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            _check_columns(path, file.schema_arrow, wanted)
            for batch in file.iter_batches(rows, columns=list(wanted.names)):
                table = pa.Table.from_batches([batch]).select(wanted.names).cast(wanted)
                _check_values(path, table)
                yield table
    except (OSError, pa.ArrowException) as problem:
        raise unreadable(str(path), problem, error=RunError) from None


def _check_columns(path: Path, found: pa.Schema, wanted: pa.Schema) -> None:
    for field in wanted:
        if (n_found := len(found.get_all_field_indices(field.name))) != 1:
            raise RunError(
                "there is no such column" if not n_found else "there are several columns of this name",
                file=str(path),
                column=field.name,
                remedy=DAMAGED,
            )
        kind = found.field(field.name).type
        if not _is_same(kind, field.type):
            raise RunError(
                "the column has another type",
                file=str(path),
                column=field.name,
                found=str(kind),
                remedy=DAMAGED,
            )


def _is_same(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether two types are the same; what the values of a list are called does not matter."""
    if pa.types.is_list(kind) and pa.types.is_list(wanted):
        return kind.value_type == wanted.value_type
    return kind == wanted


def _check_values(path: Path, table: pa.Table) -> None:
    for name in table.column_names:
        column: Any = table[name]
        inner = column.combine_chunks().flatten().null_count if pa.types.is_list(column.type) else 0
        if name not in OPTIONAL and column.null_count + inner:
            raise RunError("a value is missing", file=str(path), column=name, remedy=DAMAGED)
