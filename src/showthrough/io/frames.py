"""Tables from files and from memory, as Arrow tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from showthrough.errors import InputError, RecordsError, closest
from showthrough.files import check_file
from showthrough.io.delimited import read_delimited, read_header
from showthrough.records import as_text

__all__ = ["distinct", "is_path", "read_column_names", "read_table"]

DELIMITED = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
ARROW = (".arrow", ".feather")

#: Types that hold text, or bytes that may be text, in a form that not every function takes.
TEXT_LIKE = (pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())


def read_table(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    error: type[InputError] = RecordsError,
) -> pa.Table:
    """The table in a file (CSV, TSV, Parquet, Arrow, Feather), or one that is in memory.

    In memory it may be an Arrow table or reader, or a pandas or polars data frame. Delimited files
    come as text throughout, so that ``01`` stays ``01``. ``columns`` are kept in the order given.

    >>> read_table(pa.table({"a": [1], "b": ["x"]}), columns=["b"]).column_names
    ['b']
    """
    if not is_path(source):
        return _checked(_from_memory(source, error), columns, None, error)
    path = check_file(source, error=error)
    names = _file_columns(path, error)
    check_columns(names, columns or (), file=str(path), error=error)
    if path.name.lower().endswith(DELIMITED):
        table = read_delimited(path, names, columns=columns, error=error)
    else:
        table = _read_binary(path, columns, error)
    return _checked(table, columns, str(path), error)


def read_column_names(source: object, *, error: type[InputError] = RecordsError) -> list[str]:
    """The names of the columns, without reading the rows of a file."""
    if not is_path(source):
        return list(_from_memory(source, error).column_names)
    path = check_file(source, error=error)
    names = _file_columns(path, error)
    check_columns(names, (), file=str(path), error=error)
    return names


def is_path(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether the source is a file rather than a table in memory."""
    return isinstance(source, str | os.PathLike)


def distinct(column: pa.ChunkedArray | pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Each row's position among the distinct values, and these as text (one may be missing).

    >>> codes, texts = distinct(pa.array([7, None, 7]))
    >>> codes.tolist(), texts.to_pylist()
    ([0, 1, 0], ['7', None])
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    texts = as_text(pa.chunked_array(chunks, column.type))
    encoded: Any = pc.dictionary_encode(texts, null_encoding="encode")
    encoded = encoded.unify_dictionaries()
    if not encoded.num_chunks:
        return np.empty(0, np.int64), pa.array([], pa.string())
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in encoded.chunks])
    return codes.astype(np.int64), encoded.chunk(0).dictionary


def check_columns(
    names: Sequence[str], wanted: Sequence[str], *, file: str | None, error: type[InputError]
) -> None:
    """Raise if a name occurs twice or a wanted column is not there."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise error("two columns have the same name", file=file, column=name, remedy="rename one")
        seen.add(name)
    for name in wanted:
        if name not in seen:
            raise error("there is no such column", file=file, column=name, remedy=closest(name, names))


def _checked(
    table: pa.Table, columns: Sequence[str] | None, file: str | None, error: type[InputError]
) -> pa.Table:
    """The wanted columns in types that the rest of the package can read, if there are rows."""
    check_columns(table.column_names, columns or (), file=file, error=error)
    if not table.num_rows:
        raise error("there are no records", file=file, remedy="one row per record is needed")
    if columns is None:
        return table
    kept = {name: _plain(table[name], name, file, error) for name in columns}
    return pa.Table.from_arrays(list(kept.values()), names=list(kept))


def _plain(column: pa.ChunkedArray, name: str, file: str | None, error: type[InputError]) -> pa.ChunkedArray:
    """The column in a type that can be written as text; not-a-number is missing."""
    try:
        if pa.types.is_dictionary(column.type) and column.type.value_type == pa.string_view():
            column = pa.chunked_array([_decoded(chunk) for chunk in column.chunks], pa.string())
        if column.type in TEXT_LIKE or pa.types.is_fixed_size_binary(column.type):
            column = column.cast(pa.string())
        if pa.types.is_floating(column.type):
            column = column.cast(pa.float64())
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)
        as_text(column.slice(0, 0))
    except pa.ArrowException:
        raise error(
            "the column cannot be read as text",
            file=file,
            column=name,
            found=str(column.type),
            remedy="turn it into text or whole numbers first",
        ) from None
    return column


def _decoded(chunk: Any) -> pa.Array:
    return chunk.dictionary.cast(pa.string()).take(chunk.indices)


def _file_columns(path: Path, error: type[InputError]) -> list[str]:
    name = path.name.lower()
    if name.endswith(DELIMITED):
        return read_header(path, error=error)
    try:
        if name.endswith(".parquet"):
            return list(pq.read_schema(path).names)
        if name.endswith(ARROW):
            with pa.OSFile(str(path), "rb") as file:
                return list(_arrow_reader(file).schema.names)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
        raise _broken(path, problem, error) from None
    raise error(
        "the file's ending is none that can be read",
        file=str(path),
        found=path.suffix,
        remedy=f"use one of {', '.join((*DELIMITED, '.parquet', *ARROW))}",
    )


def _read_binary(path: Path, columns: Sequence[str] | None, error: type[InputError]) -> pa.Table:
    try:
        if path.suffix.lower() == ".parquet":
            table = pq.ParquetFile(path).read(columns=None if columns is None else list(columns))
        else:
            with pa.OSFile(str(path), "rb") as file:
                table = _arrow_reader(file).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
        raise _broken(path, problem, error) from None
    return table


def _arrow_reader(file: pa.NativeFile) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file)


def _broken(path: Path, problem: Exception, error: type[InputError]) -> InputError:
    return error(
        f"the file is broken or no {path.suffix[1:]} file",
        file=str(path),
        found=" ".join(str(problem).split()),
        remedy="write it again, or convert it to CSV",
    )


def _from_memory(source: Any, error: type[InputError]) -> pa.Table:
    """An Arrow table from anything that can hand one over."""
    try:
        if type(source).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(source, preserve_index=False)
        if isinstance(source, pa.Table):
            return source
        if isinstance(source, pa.RecordBatchReader):
            return source.read_all()
        if hasattr(source, "__arrow_c_stream__") or isinstance(source, pa.RecordBatch):
            return pa.table(source)
    except (pa.ArrowException, ValueError, TypeError) as problem:
        raise error(
            "the data frame cannot be read",
            found=" ".join(str(problem).split()),
            remedy="give every column its own name and one type",
        ) from None
    raise error(
        "this is neither a path nor a table",
        found=type(source).__name__,
        remedy="pass a path, an Arrow table, or a pandas or polars data frame",
    )
