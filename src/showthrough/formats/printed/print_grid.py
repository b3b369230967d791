"""A printed table laid out as a grid of cells again: title, headers, rows, footnotes.

As CSV, the grid itself, or tidy with a row per value.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from showthrough.errors import ReleaseError
from showthrough.files import write_text
from showthrough.formats.printed.axes import containing_rows
from showthrough.formats.printed.cross_table import read_grid
from showthrough.formats.printed.grid import Merged, TextGrid, guarded, is_measure
from showthrough.formats.printed.table import Category, Dimension, PrintedTable, check_printed
from showthrough.formats.printed.values import read_printed

__all__ = [
    "PrintedGrid",
    "draw_grid",
    "flags_of",
    "plain_values",
    "print_grid",
    "printed_text",
    "same_cells",
    "write_cross_csv",
    "write_tidy",
]

#: What heads the column of values where no dimension stands in columns.
COUNT = "Count"

#: The columns of a tidy file beside the dimensions.
TABLE, COUNT_COLUMN, FLAG = "table", "count", "flag"


@dataclass(frozen=True)
class PrintedGrid:
    """A table as a grid.

    Parameters
    ----------
    rows
        The texts; labels that are contained in others are indented.
    merged
        The cells of headers that are one.
    header
        The first row of headers, and the first of values.
    labels
        How many columns hold labels.
    dimensions
        How many dimensions stand in rows.
    """

    rows: list[list[str]]
    merged: list[Merged]
    header: tuple[int, int]
    labels: int
    dimensions: int


def draw_grid(table: PrintedTable) -> PrintedGrid:
    """The table as a grid for people to look at, as in the file that it comes from."""
    return _print_grid(table, _rows_of(table))


def print_grid(table: PrintedTable) -> PrintedGrid:
    """The table as a grid from which the same table is read; otherwise an error.

    Dimensions stand in rows and columns as in the file that the table comes from. If that could be read in
    another way, all of them stand in rows.
    """
    rows_only = len(table.dimensions)
    first = _rows_of(table)
    for n_rows in (first, rows_only) if first < rows_only else (first,):
        laid = _print_grid(table, n_rows)
        try:
            found = read_grid(TextGrid(laid.rows, table.name, laid.merged))
        except ReleaseError:
            continue
        if len(found) == 1 and same_cells(found[0], table):
            return laid
    raise ReleaseError(
        f"table {table.name} has labels that would be read as values, or the other way round",
        file=table.file or None,
        remedy="write it as JSON-stat or SDMX-CSV, where labels and values cannot be mistaken",
    )


def _rows_of(table: PrintedTable) -> int:
    """How many dimensions stand in rows: one at least, and all up to one with a single category."""
    n_rows = max(1, len(table.dimensions) - table.across)
    for at in range(n_rows, len(table.dimensions) - 1):
        if len(table.dimensions[at].categories) == 1:
            n_rows = at + 1
    return n_rows


def _print_grid(table: PrintedTable, n_rows: int) -> PrintedGrid:
    in_rows, in_columns = table.dimensions[:n_rows], table.dimensions[n_rows:]
    keys = [tuple(key) for key in table.codes.tolist()]
    row_keys = list(dict.fromkeys(key[:n_rows] for key in keys))
    column_keys = list(dict.fromkeys(key[n_rows:] for key in keys))
    flags = flags_of(table)
    texts = {key: printed_text(table.values[at], flags[at]) for at, key in enumerate(keys)}
    columns = [_label_columns(table, dimension, at) for at, dimension in enumerate(in_rows)]
    names = [name for names, _ in columns for name in names]
    rows: list[list[str]] = [[table.title], []] if table.title else []
    start = len(rows)
    headers, merged = _headers(in_columns, column_keys, names, start)
    rows += headers
    for row_key in row_keys:
        labels = [text for (_, known), code in zip(columns, row_key, strict=True) for text in known[code]]
        rows.append([*labels, *(texts.get((*row_key, *key), "") for key in column_keys)])
    if table.notes:
        rows += [[], *([note] for note in table.notes)]
    return PrintedGrid(rows, merged, (start, start + len(headers)), len(names), n_rows)


def _label_columns(table: PrintedTable, dimension: Dimension, at: int) -> tuple[list[str], list[list[str]]]:
    """The names of one or two columns, and what stands there for each category: its code, its label."""
    indents = _indents(table, dimension) if at == 0 else [0] * len(dimension.categories)
    labels = [
        "  " * indent + _text(category)
        for indent, category in zip(indents, dimension.categories, strict=True)
    ]
    name = dimension.label or dimension.name
    if not any(category.label for category in dimension.categories):
        return [name], [[label] for label in labels]
    codes = [category.code for category in dimension.categories]
    return [f"{name} code".strip(), name], [[code, label] for code, label in zip(codes, labels, strict=True)]


def _indents(table: PrintedTable, dimension: Dimension) -> list[int]:
    """How far categories are indented; not at all if that would show other parents than theirs."""
    categories = dimension.categories
    used = dict.fromkeys(table.codes[:, 0].tolist())
    places = {categories[code].code: at for at, code in enumerate(used)}
    depths = {categories[code].code: _depth(categories[code], categories, places) for code in used}
    parents = [places.get(categories[code].parent or "", -1) for code in used]
    if containing_rows([depths[categories[code].code] for code in used]) != parents:
        return [0] * len(categories)
    return [depths.get(category.code, 0) for category in categories]


def _depth(category: Category, categories: Sequence[Category], shown: dict[str, int]) -> int:
    known = {other.code: other for other in categories}
    depth, at = 0, category
    while at.parent in shown and depth <= len(categories):
        depth, at = depth + 1, known[at.parent]
    return depth


def _headers(
    dimensions: Sequence[Dimension], keys: Sequence[tuple[int, ...]], names: Sequence[str], start: int
) -> tuple[list[list[str]], list[Merged]]:
    """Header rows: over the labels of each dimension its name, over all columns."""
    blank = [""] * len(names)
    rows: list[list[str]] = []
    merged: list[Merged] = []
    for at, dimension in enumerate(dimensions):
        name = dimension.label or dimension.name
        last = at + 1 == len(dimensions)
        if name:
            rows.append([*blank, name, *[""] * (len(keys) - 1)])
            merged += _spans([0] * len(keys), start + len(rows) - 1, len(names))
        codes = [key[: at + 1] for key in keys]
        shown = [
            "" if not last and k and codes[k] == codes[k - 1] else _text(dimension.categories[code[-1]])
            for k, code in enumerate(codes)
        ]
        rows.append([*(names if last else blank), *shown])
        if not last:
            merged += _spans(codes, start + len(rows) - 1, len(names))
    return rows or [[*names, COUNT]], merged


def _spans(codes: Sequence[object], row: int, offset: int) -> list[Merged]:
    spans: list[Merged] = []
    first = 0
    for at in range(1, len(codes) + 1):
        if at == len(codes) or codes[at] != codes[first]:
            if at - first > 1:
                spans.append((row, offset + first, row, offset + at - 1))
            first = at
    return spans


def _text(category: Category) -> str:
    return category.label or category.code


def flags_of(table: PrintedTable) -> Sequence[str]:
    """The flag of every cell."""
    return table.flags or [""] * len(table.values)


def plain_values(table: PrintedTable) -> Sequence[str]:
    """The values, whole numbers without what stands between thousands; all as printed if one is no count."""
    try:
        texts = read_printed(table).texts
    except ReleaseError:
        return table.values
    return [new if new.isdigit() else old for new, old in zip(texts, table.values, strict=True)]


def printed_text(value: str, flag: str) -> str:
    """A value with its flag, as it is printed.

    >>> [printed_text(*cell) for cell in (("5", ""), ("5", "p"), ("12", "ᵃ"), ("", "c"))]
    ['5', '5 p', '12ᵃ', 'c']
    """
    raised = flag[:1].isalnum() and not flag[:1].isascii()
    return f"{value}{'' if raised or not value or not flag else ' '}{flag}"


def same_cells(first: PrintedTable, second: PrintedTable) -> bool:
    """Whether two tables have the same values under the same labels in the same order of dimensions.

    Cells with nothing printed are as good as none, and so is a dimension that only names what is counted.
    """
    return _cells(first) == _cells(second)


def _cells(table: PrintedTable) -> dict[tuple[str, ...], str]:
    kept = [
        at
        for at, dimension in enumerate(table.dimensions)
        if len(dimension.categories) != 1 or not is_measure(_text(dimension.categories[0]))
    ]
    texts = [[_text(category) for category in dimension.categories] for dimension in table.dimensions]
    flags = flags_of(table)
    return {
        tuple(texts[at][key[at]] for at in kept): printed_text(table.values[row], flags[row])
        for row, key in enumerate(table.codes.tolist())
        if table.values[row] or flags[row]
    }


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
    head = [*([TABLE] if len(tables) > 1 else []), *columns, COUNT_COLUMN, *([FLAG] if flagged else [])]
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
        names.append(name if name not in (*names, TABLE, COUNT_COLUMN, FLAG) else f"{name} {at}")
    return names


def _csv(rows: Iterable[Sequence[str]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([guarded(text) for text in row] for row in rows)
    return stream.getvalue()
