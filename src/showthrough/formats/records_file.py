"""Microdata from a file or a data frame, with a schema or an inferred one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from showthrough.errors import InputError, RecordsError
from showthrough.formats.schema_file import infer_schema, read_schema
from showthrough.frames import Source
from showthrough.records import Records
from showthrough.schema import Schema

__all__ = [
    "read_records",
]

#: A file with more columns is only read when somebody says which of them matter.
MOST_COLUMNS = 64


def read_records(
    source: object,
    schema: Schema | str | os.PathLike[str] | None = None,
    *,
    by: str | None = None,
    columns: Sequence[str] | None = None,
) -> Records:
    """Read records from a file or a data frame.

    Parameters
    ----------
    source
        A path (CSV, TSV, Parquet, Arrow, Feather), an Arrow table, or a pandas or polars data frame.
    schema
        The schema, or the path of a schema file; without one it is inferred from the values.
    by
        The column that names the area.
    columns
        The columns to infer a schema from; all but ``by`` if none are given.

    Returns
    -------
    Records
        The records, coded by the schema.

    Raises
    ------
    RecordsError
        If the data cannot be read, or a value does not fit the schema; the message names file, row
        and column.

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
    file = opened.name
    known = schema if isinstance(schema, Schema) or schema is None else read_schema(Path(schema))
    names = known.names if known else _attribute_columns(opened, columns, by)
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
