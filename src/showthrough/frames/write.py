"""Arrow tables written one after the other to a CSV or Parquet file: all of it or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from showthrough.errors import InputError
from showthrough.files import replacing

__all__ = [
    "writing_tables",
]


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
