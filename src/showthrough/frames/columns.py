"""Columns in types that the rest of the package can read, and their different values.

Values as people write them, so that a selection can name them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.errors import InputError, RecordsError, closest
from showthrough.records import as_text

__all__ = [
    "check_columns",
    "check_texts",
    "distinct",
    "from_memory",
    "readable",
    "readable_type",
    "text",
    "texts",
]

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute

#: Types that hold text, or bytes that may be text, in a form that not every function takes.
TEXT_LIKE = (
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.large_string(),
)


def readable(
    column: pa.ChunkedArray,
    name: str,
    *,
    file: str | None,
    error: type[InputError],
    longest: int | None = None,
) -> pa.ChunkedArray:
    """The column in a type that can be written as text; not-a-number is missing, minus zero is zero.

    Texts may be in a dictionary. ``longest`` is how many bytes a text may have.
    """
    found: Any = column
    try:
        if pa.types.is_dictionary(found.type) and not pa.types.is_string(found.type.value_type):
            kind = found.type.value_type
            if kind == pa.string_view():  # not every function takes it
                kind = pa.string()
            found = pa.chunked_array([_decoded(chunk, kind) for chunk in found.chunks], kind)
        if found.type in TEXT_LIKE or pa.types.is_fixed_size_binary(found.type):
            found = found.cast(pa.string())
        if found.type == pa.float16():
            found = found.cast(pa.float32())
        if pa.types.is_floating(found.type):
            found = pc.if_else(pc.is_nan(found), pa.scalar(None, found.type), found)
            found = pc.add(found, pa.scalar(0.0, found.type))
        as_text(found.slice(0, 0))
    except (pa.ArrowException, UnicodeDecodeError):
        raise error(
            "the column cannot be read as text",
            file=file,
            column=name,
            found=str(column.type),
            remedy="convert it to text or whole numbers first, or leave it out",
        ) from None
    if longest is not None and len(found) and found.nbytes > longest and _longest(found) > longest:
        raise error(
            f"a value is longer than {longest:,} bytes",
            file=file,
            column=name,
            remedy="leave the column out, or read it anyway with --no-limits",
        )
    return found


def readable_type(kind: pa.DataType, name: str, *, file: str | None, error: type[InputError]) -> pa.DataType:
    """The type that :func:`readable` makes of another; texts as plain texts."""
    empty: Any = pa.schema([(name, kind)]).empty_table()[name]
    made = readable(empty, name, file=file, error=error).type
    return made.value_type if pa.types.is_dictionary(made) else made


def _longest(column: Any) -> int:
    """How many bytes the longest text has."""
    if pa.types.is_dictionary(column.type):
        column = pa.chunked_array([chunk.dictionary for chunk in column.chunks])
    return (pc.max(pc.binary_length(column)).as_py() or 0) if pa.types.is_string(column.type) else 0


def _decoded(chunk: Any, kind: pa.DataType) -> pa.Array:
    return chunk.dictionary.cast(kind).take(chunk.indices)


def distinct(column: pa.ChunkedArray | pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Each row's position among the distinct values, and these as text (one may be missing).

    >>> codes, texts = distinct(pa.array([7, None, 7]))
    >>> codes.tolist(), texts.to_pylist()
    ([0, 1, 0], ['7', None])
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    texts = as_text(pa.chunked_array(chunks, column.type))
    encoded: Any = pc.dictionary_encode(texts)
    if not encoded.num_chunks:
        return np.zeros(0, np.int64), pa.array([], pa.string())
    # Dictionaries with a missing value in them could not be unified.
    encoded = encoded.unify_dictionaries()
    found: Any = encoded.chunk(0).dictionary
    missing = pa.scalar(len(found), encoded.type.index_type)
    codes = np.concatenate([pc.fill_null(chunk.indices, missing).to_numpy() for chunk in encoded.chunks])
    if encoded.null_count:
        found = pa.concat_arrays([found, pa.nulls(1, found.type)])
    return codes.astype(np.int64), found


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
            raise error("no such column", file=file, column=name, remedy=closest(name, names))


def from_memory(source: Any, error: type[InputError]) -> pa.Table:
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
        remedy="pass a path, an Arrow table, or a pandas, polars or Spark data frame",
    )


def text(value: object) -> str:
    """One value as text: 3 for 3.0, true for True, nothing for a missing value.

    >>> [text(value) for value in (3.0, 2.5, True, None, "x")]
    ['3', '2.5', 'true', '', 'x']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def texts(values: pa.Array | pa.ChunkedArray) -> list[str]:
    """Each value as text."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        plain: Iterable[Any] = values.to_pylist()
        return ["" if value is None else str(value) for value in plain]
    return [text(value) for value in values.to_pylist()]


def check_texts(values: pa.Array | pa.ChunkedArray, column: str, *, file: str | None = None) -> list[str]:
    """Each value as text, if that tells all of them apart."""
    found = texts(values)
    if len(set(found)) < len(found):
        raise RecordsError(
            "two values of the column look the same as text",
            file=file,
            column=column,
            found=next(one for one in found if found.count(one) > 1),
            remedy="fill missing values, or give empty texts another value",
        )
    return found
