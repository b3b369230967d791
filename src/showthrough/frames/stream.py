"""Tables too large for memory: read chunk by chunk as if at once, and written so, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from showthrough.errors import InputError
from showthrough.files import replacing
from showthrough.frames.source import Chunk, Source

__all__ = [
    "distinct_values",
    "iter_tables",
    "join_values",
    "writing_tables",
]

#: Values in a chunk, all its columns together.
CHUNK = 2**18


def iter_tables(
    source: object, columns: Sequence[str], *, error: type[InputError], whole: frozenset[str] | None = None
) -> Iterator[Chunk]:
    """The rows in chunks; no rows are an error, but for a piece of them.

    Columns are as :func:`~showthrough.frames.read_table` gives them; but where ``whole`` names
    the columns of decimals that hold whole numbers only, all of them come as text, because one
    chunk cannot tell how the others are to be written.
    """
    opened, empty = Source.of(source, error=error), True
    for chunk in opened.chunks(columns, rows=max(1, CHUNK // max(1, len(columns)))):
        empty = False
        yield chunk if whole is None else chunk._replace(table=_written(chunk.table, whole))
    if empty and not opened.is_piece:
        raise opened.no_records()


def _written(table: pa.Table, whole: frozenset[str]) -> pa.Table:
    for at, name in enumerate(table.column_names):
        column: Any = table[name]
        if pa.types.is_floating(column.type):
            column = column.cast(pa.int64()) if name in whole else column
            table = table.set_column(at, name, column.cast(pa.string()))
    return table


#: Each column's different values, and which columns of decimals hold whole numbers only.
Distinct = tuple[dict[str, pa.Array], frozenset[str]]


def distinct_values(
    source: object, columns: Sequence[str], *, error: type[InputError], decimals_only: bool, most: int
) -> Distinct:
    """Each column's different values, and which columns of decimals hold whole numbers only.

    With ``decimals_only`` nothing but the latter is found out, without a pass where no column is
    of decimals. A column is followed until it has more than ``most`` values.
    """
    opened = Source.of(source, error=error)
    found: dict[str, Any] = {}
    whole = {name: True for name in columns if pa.types.is_floating(opened.types[name])}
    for chunk in iter_tables(opened, columns, error=error):
        if decimals_only and not whole:
            break
        for name in columns:
            column: Any = chunk.table[name]
            if name in whole:
                whole[name] = whole[name] and _is_whole(column)
            if not decimals_only and len(found.get(name, ())) <= most:
                values = column.unique()
                if pa.types.is_dictionary(values.type):
                    values = values.cast(values.type.value_type)
                seen: list[Any] = [found[name]] if name in found else []
                found[name] = pc.unique(pa.chunked_array([*seen, values]))
    return found, frozenset(name for name, all_whole in whole.items() if all_whole)


def join_values(pieces: Sequence[Distinct], *, most: int) -> Distinct:
    """What was found in pieces of a source, as if it had been looked through at once."""
    found: dict[str, Any] = {}
    for values, _ in pieces:
        for name, mine in values.items():
            if name not in found:
                found[name] = mine
            elif len(found[name]) <= most:
                found[name] = pc.unique(pa.chunked_array([found[name], mine]))
    return found, frozenset.intersection(*(whole for _, whole in pieces))


def _is_whole(column: Any) -> bool:
    """Whether decimals are written without a point: as ``as_text`` in the records module has it."""
    exact = pc.less(pc.abs(column), pa.scalar(2.0**53))
    same: Any = pc.and_(exact, pc.equal(column, pc.floor(column)))
    return bool(pc.all(pc.fill_null(same, pa.scalar(True))).as_py())


@contextmanager
def writing_tables(
    path: str | os.PathLike[str], *, what: str, error: type[InputError] = InputError
) -> Generator[Callable[[pa.Table], None]]:
    """A function that appends tables of one schema to a file, which appears once all went well.

    ``what`` is what the file holds, for errors.
    """
    kind = Path(path).suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise error(
            f"{what} can be written as CSV or Parquet only",
            file=str(path),
            found=kind,
            remedy="use the extension .csv or .parquet",
        )
    with replacing(path) as draft, ExitStack() as stack:
        writers: list[arrow_csv.CSVWriter | pq.ParquetWriter] = []

        def write(table: pa.Table) -> None:
            if not writers and kind == ".csv":
                writers.append(stack.enter_context(arrow_csv.CSVWriter(draft, table.schema)))
            elif not writers:
                made = pq.ParquetWriter(draft, table.schema, compression="zstd")
                writers.append(stack.enter_context(made))
            writers[0].write_table(table)

        yield write
        if not writers:
            raise error(f"there are no {what} to write", file=str(path))
