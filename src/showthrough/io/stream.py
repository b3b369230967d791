"""Files too large for memory: their rows in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from showthrough.errors import InputError
from showthrough.io.delimited import BLOCK_SIZES, csv_options, read_delimited
from showthrough.io.frames import DELIMITED, check_columns, read_column_names, read_table
from showthrough.io.infer import MOST_VALUES

__all__ = ["distinct_values", "iter_tables"]

#: Values in a chunk, all its columns together.
CHUNK = 2**18


def iter_tables(
    path: Path, columns: Sequence[str], *, error: type[InputError], whole: frozenset[str] | None = None
) -> Iterator[tuple[int, pa.Table]]:
    """The file's rows in chunks, each with the number of rows before it.

    Columns are as :func:`~showthrough.io.frames.read_table` gives them; but where ``whole`` names
    the columns of decimals that hold whole numbers only, all of them come as text, because one
    chunk cannot tell how the others are to be written.
    """
    names = read_column_names(path, error=error)
    check_columns(names, columns, file=str(path), error=error)
    before = 0
    for table in _chunks(path, names, columns, error):
        if table.num_rows:
            try:
                table = read_table(table, columns=columns, error=error)
            except InputError as problem:
                raise problem.at(file=str(path)) from None
            yield before, table if whole is None else _written(table, whole)
        before += table.num_rows
    if not before:
        raise error("there are no records", file=str(path), remedy="one row per record is needed")


def _chunks(
    path: Path, names: Sequence[str], columns: Sequence[str], error: type[InputError]
) -> Iterator[pa.Table]:
    rows = max(1, CHUNK // max(1, len(columns)))
    if path.name.lower().endswith(".parquet"):
        yield from _parquet(path, columns, rows, error)
    elif path.name.lower().endswith(DELIMITED):
        yield from _delimited(path, names, columns, error)
    else:
        table = read_table(path, columns=columns, error=error)
        yield from (table.slice(at, rows) for at in range(0, table.num_rows, rows))


def _parquet(path: Path, columns: Sequence[str], rows: int, error: type[InputError]) -> Iterator[pa.Table]:
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(rows, columns=list(columns)):
                table = pa.Table.from_batches([batch])
                table.validate(full=True)
                yield table
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        read_table(path, columns=columns, error=error)  # says what is wrong
        raise


def _delimited(
    path: Path, names: Sequence[str], columns: Sequence[str], error: type[InputError]
) -> Iterator[pa.Table]:
    """Blocks of the file as text. What cannot be read this way is read as a whole, to say why."""
    parsing, converting = csv_options(path, names, columns=columns)
    n_rows = 0
    try:
        reading = arrow_csv.ReadOptions(block_size=BLOCK_SIZES[0], use_threads=False)
        with arrow_csv.open_csv(path, reading, parsing, converting) as reader:
            if reader.schema.names != list(columns) or set(reader.schema.types) != {pa.string()}:
                raise pa.ArrowInvalid("another header")
            for batch in reader:
                yield pa.Table.from_batches([batch])
                n_rows += batch.num_rows
    except (pa.ArrowInvalid, OSError, EOFError):
        yield read_delimited(path, names, columns=columns, error=error).slice(n_rows)


def _written(table: pa.Table, whole: frozenset[str]) -> pa.Table:
    for at, name in enumerate(table.column_names):
        if _is_decimal(table[name]):
            column = _values(table[name])
            column = column.cast(pa.int64()) if name in whole else column
            table = table.set_column(at, name, column.cast(pa.string()))
    return table


def _is_decimal(column: pa.ChunkedArray) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return pa.types.is_floating(kind)


def _values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def distinct_values(
    path: Path, columns: Sequence[str], *, error: type[InputError], decimals_only: bool
) -> tuple[dict[str, pa.Array], frozenset[str]]:
    """Each column's different values, and which columns of decimals hold whole numbers only.

    With ``decimals_only`` nothing but the latter is found out, without a pass where no column is
    of decimals. A column with far too many values for a category is not followed to its end.
    """
    found: dict[str, Any] = {}
    whole: dict[str, bool] = {}
    for _, table in iter_tables(path, columns, error=error):
        for name in columns:
            column: Any = _values(table[name])
            if pa.types.is_floating(column.type):
                whole[name] = whole.get(name, True) and _is_whole(column)
            if not decimals_only and len(found.get(name, ())) <= 2 * MOST_VALUES:
                seen: list[Any] = [found[name]] if name in found else []
                found[name] = pc.unique(pa.chunked_array([*seen, column.unique()]))
        if decimals_only and not whole:
            break
    return found, frozenset(name for name, all_whole in whole.items() if all_whole)


def _is_whole(column: Any) -> bool:
    """Whether decimals are written without a point: as ``as_text`` in the records module has it."""
    exact = pc.less(pc.abs(column), pa.scalar(2.0**53))
    same: Any = pc.and_(exact, pc.equal(column, pc.floor(column)))
    return bool(pc.all(pc.fill_null(same, pa.scalar(True))).as_py())
