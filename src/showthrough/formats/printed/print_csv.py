"""Printed tables as CSV files: laid out as an office prints them, or tidy with a row per value."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence

from showthrough.errors import ReleaseError
from showthrough.files import write_text
from showthrough.formats.printed.cross_table import read_grid
from showthrough.formats.printed.grid import TextGrid, guarded
from showthrough.formats.printed.print_grid import flags_of, print_grid, same_cells
from showthrough.formats.printed.table import Dimension, PrintedTable, check_printed

__all__ = [
    "write_cross_csv",
    "write_tidy",
]

#: The columns of a tidy file beside the dimensions.
TABLE, COUNT, FLAG = "table", "count", "flag"


def write_cross_csv(tables: Sequence[PrintedTable], path: str | os.PathLike[str]) -> None:
    """Write tables below each other as a CSV file with header rows, from which the same tables are read.

    A label that a spreadsheet would take for a formula gets an apostrophe in front, which is taken off again
    when the file is read.

    Parameters
    ----------
    tables
        At least one.
    path
        The file.

    Raises
    ------
    ReleaseError
        If labels of a table would be read as values.
    """
    _check(tables, path)
    rows: list[list[str]] = []
    for table in tables:
        rows += [[], [], *print_grid(table).rows] if rows else print_grid(table).rows
    found = read_grid(TextGrid(rows, "tables"))
    if len(found) != len(tables) or not all(map(same_cells, found, tables)):
        raise ReleaseError(
            "the tables would not be told apart in one file",
            file=os.fspath(path),
            remedy="write each to a file of its own",
        )
    write_text(path, _csv(rows))


def write_tidy(tables: Sequence[PrintedTable], path: str | os.PathLike[str]) -> None:
    """Write tables as a tidy CSV file: a column per dimension, then ``count``, and ``flag`` if needed.

    Several tables are told apart by the column ``table``; dimensions that one does not have are empty there.

    Parameters
    ----------
    tables
        At least one.
    path
        The file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from showthrough.formats.printed.table import Category
    >>> sexes = Dimension("sex", (Category("m"), Category("f"), Category("Total")))
    >>> table = PrintedTable("T1", (sexes,), np.array([[0], [1], [2]], np.int32), ["3", "c", "12"])
    >>> with TemporaryDirectory() as folder:
    ...     write_tidy([table], f"{folder}/counts.csv")
    ...     print(Path(f"{folder}/counts.csv").read_text(), end="")
    sex,count
    m,3
    f,c
    Total,12
    """
    _check(tables, path)
    names = [dimension_names(table.dimensions) for table in tables]
    columns = list(dict.fromkeys(name for found in names for name in found))
    flagged = any(any(table.flags) for table in tables)
    head = [*([TABLE] if len(tables) > 1 else []), *columns, COUNT, *([FLAG] if flagged else [])]
    rows = [head]
    for table, own in zip(tables, names, strict=True):
        texts = [[one.label or one.code for one in dimension.categories] for dimension in table.dimensions]
        flags = flags_of(table)
        for at, key in enumerate(table.codes.tolist()):
            found = {name: texts[k][code] for k, (name, code) in enumerate(zip(own, key, strict=True))}
            cells = [found.get(name, "") for name in columns]
            last = [table.values[at], *([flags[at]] if flagged else [])]
            rows.append([*([table.name] if len(tables) > 1 else []), *cells, *last])
    write_text(path, _csv(rows))


def _check(tables: Sequence[PrintedTable], path: str | os.PathLike[str]) -> None:
    check_printed(tables, path)


def dimension_names(dimensions: Sequence[Dimension]) -> list[str]:
    """Names that differ from each other and from other columns; a dimension without a name gets one.

    >>> dimension_names([Dimension("sex", ()), Dimension("", ()), Dimension("sex", ())])
    ['sex', 'dimension 2', 'sex 3']
    """
    names: list[str] = []
    for at, dimension in enumerate(dimensions, 1):
        name = dimension.name or f"dimension {at}"
        names.append(name if name not in (*names, TABLE, COUNT, FLAG) else f"{name} {at}")
    return names


def _csv(rows: Iterable[Sequence[str]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([guarded(text) for text in row] for row in rows)
    return stream.getvalue()
