"""Tables as offices lay them out: labels on the left, headers above, values in between.

One logic for sheets and for CSV files with several header rows: a grid of texts becomes tables. Nothing is
asked; where a layout can be read in two ways that count people differently, it is refused.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path as FilePath

import numpy as np

from showthrough.errors import ReleaseError
from showthrough.files import current_limits, unreadable
from showthrough.formats.printed.axes import TOTAL, Axis, Path, UnclearHeadings, arrange
from showthrough.formats.printed.grid import TextGrid, in_thousands, is_measure, split_flag, unguarded, whole
from showthrough.formats.printed.regions import Region, find_regions
from showthrough.formats.printed.table import Category, Dimension, PrintedTable
from showthrough.formats.printed.table_labels import (
    Labels,
    RegionColumns,
    clean_labels,
    column_paths,
    find_columns,
    label_names,
    read_labels,
)
from showthrough.frames.content import DAMAGED, Content
from showthrough.frames.marks import is_total_label

__all__ = [
    "MOST_BYTES",
    "MOST_CELLS",
    "check_size",
    "read_cross_tables",
    "read_csv_grid",
    "read_grid",
]

#: Cells of a grid, and bytes of a file, beyond which it is refused.
MOST_CELLS, MOST_BYTES = 4_000_000, 2**26

#: Sums of numbers that are all multiples of one of these may differ by rounding.
_BASES = (100, 10, 5, 3)

Numbers = list[list[int | None]]


def read_cross_tables(path: str | os.PathLike[str]) -> list[PrintedTable]:
    """Read the tables of a CSV file with labels on the left and headers above.

    Parameters
    ----------
    path
        A CSV or TSV file, also compressed; fields may be separated by semicolons.

    Returns
    -------
    list of PrintedTable
        One per table, from top to bottom.

    Raises
    ------
    ReleaseError
        If there is no table, or one that can be read in several ways.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> text = ",Males,,Females,\\nArea,0-15,16+,0-15,16+\\nNorth,3,c,4,9\\nSouth,8,7,c,5\\n"
    >>> with NamedTemporaryFile("w+", suffix=".csv") as file:
    ...     _ = file.write(text), file.flush()
    ...     [table] = read_cross_tables(file.name)
    >>> [(dimension.name, [category.code for category in dimension.categories])
    ...  for dimension in table.dimensions]
    [('Area', ['North', 'South']), ('', ['Males', 'Females']), ('', ['0-15', '16+'])]
    >>> list(table.values)
    ['3', 'c', '4', '9', '8', '7', 'c', '5']
    """
    grid = read_csv_grid(path)
    tables = read_grid(grid)
    if not tables:
        raise ReleaseError(
            "no table was found",
            file=grid.file,
            remedy="a table has a row of headers above rows that begin with a label and go on with counts",
        )
    return tables


def read_csv_grid(path: str | os.PathLike[str]) -> TextGrid:
    """The fields of a CSV file as a grid of texts."""
    name = os.fspath(path)
    content = Content(FilePath(path), name, ReleaseError)
    limited = current_limits().cell is not None
    try:
        with content.open() as stream:
            held = stream.read(MOST_BYTES + 1) if limited else stream.read()
    except DAMAGED as problem:
        raise unreadable(name, problem, error=ReleaseError) from None
    if limited and len(held) > MOST_BYTES:
        raise ReleaseError(
            f"the file has more than {MOST_BYTES:,} bytes",
            file=name,
            remedy="write it as a tidy file, with a row per count, or read it anyway with --no-limits",
        )
    try:
        text = held.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = held.count(b"\n", 0, problem.start) + 1
        raise ReleaseError("the text is not UTF-8", file=name, row=line, remedy="save as UTF-8") from None
    rows, lines = _fields(text, _separator(text), name)
    grid = TextGrid(rows, FilePath(path).name.partition(".")[0], None, name, lines=lines)
    check_size(grid)
    return grid


def _fields(text: str, separator: str, name: str) -> tuple[list[list[str]], list[int]]:
    longest = current_limits().cell
    before = csv.field_size_limit(2**31 - 1 if longest is None else longest)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            rows.append([unguarded(text) for text in row])
            lines.append(reader.line_num)
    except csv.Error as problem:
        raise ReleaseError(
            f"the row cannot be split into fields: {problem}",
            file=name,
            row=reader.line_num,
            remedy="put fields with separators or quotes in double quotes, and double the quotes in them",
        ) from None
    finally:
        csv.field_size_limit(before)
    return rows, lines


def _separator(text: str) -> str:
    """The character that separates fields in most of the first lines."""
    lines = [line for line in text[: 2**16].splitlines()[:200] if line.strip()]
    counts = {mark: sum(mark in line for line in lines) for mark in (",", ";", "\t")}
    return max(counts, key=lambda mark: (counts[mark], sum(line.count(mark) for line in lines)))


def check_size(grid: TextGrid) -> None:
    """Raise if a grid is larger than any table that people print."""
    cells = sum(len(row) for row in grid.rows)
    if cells > MOST_CELLS and current_limits().cell is not None:
        raise ReleaseError(
            f"the table has more than {MOST_CELLS:,} cells",
            file=f"{grid.file}, sheet {grid.sheet}" if grid.sheet else grid.file,
            found=f"{cells:,}",
            remedy="write it as a tidy file, with a row per count, or read it anyway with --no-limits",
        )


def read_grid(grid: TextGrid) -> list[PrintedTable]:
    """The tables of a grid, with names that differ."""
    found = [table for region in find_regions(grid) for table in _read_region(grid, region)]
    if len(found) < 2:
        return found
    return [replace(table, name=f"{grid.name} {at}") for at, table in enumerate(found, 1)]


def _read_region(grid: TextGrid, region: Region) -> list[PrintedTable]:
    _check_unit(grid, region)
    columns = find_columns(grid, region)
    labels = read_labels(grid, region, columns)
    while _has_duplicates(labels):  # a column of numbers that are labels
        more = find_columns(grid, region, n_labels=len(columns.labels) + 1)
        if len(more.labels) <= len(columns.labels) or not more.values or not _repeats(grid, labels, more):
            break
        columns, labels = more, read_labels(grid, region, more)
    if not columns.values or not labels.rows:
        return []
    numbers: Numbers = [[whole(grid.text(row, column)) for column in columns.values] for row in labels.rows]
    remarks = [
        f"column {name!r} holds no counts and was left out"
        for name in label_names(grid, region, replace(columns, labels=columns.left_out))
    ]
    remarks += [
        f"row {grid.line(row)} holds no counts and was left out"
        for row in sorted({*region.body} - {*labels.rows})
    ]
    row_axes = _row_axes(grid, labels, numbers, remarks)
    column_axes = _column_axes(grid, region, columns, numbers, remarks)
    return [
        _table(grid, region, columns, labels, rows, across, remarks)
        for rows, across in product(row_axes, column_axes)
    ]


def _check_unit(grid: TextGrid, region: Region) -> None:
    """Raise if the title or the header says that values are thousands: they are rounded, and no counts."""
    heads = [(grid.text(row, column), row) for row in region.header for column in range(len(grid.rows[row]))]
    for text, row in [*((title, region.header[0]) for title in region.title), *heads]:
        if in_thousands(text):
            raise grid.error(
                "the values are not counts but thousands or more",
                row=row,
                found=text,
                remedy="ask for the counts; what was rounded to thousands cannot be audited as exact",
            )


def _repeats(grid: TextGrid, labels: Labels, columns: RegionColumns) -> bool:
    """Whether the numbers in the last column of labels return, as labels do."""
    texts = [grid.text(row, columns.labels[-1]) for row in labels.rows]
    return 2 * len(set(texts)) <= len(texts)


def _has_duplicates(labels: Labels) -> bool:
    keys = list(zip(labels.paths, *labels.others, strict=True))
    return len(set(keys)) < len(keys)


def _row_axes(grid: TextGrid, labels: Labels, numbers: Numbers, remarks: list[str]) -> list[Axis]:
    """The dimensions of the rows."""
    paths = _clean_paths(labels.paths, remarks)
    unique = list(dict.fromkeys(paths))
    rows_of: dict[Path, list[int]] = {path: [] for path in unique}
    for at, path in enumerate(paths):
        rows_of[path].append(at)

    def agree(first: Sequence[int], second: Sequence[int]) -> int:
        one = [numbers[row] for at in first for row in rows_of[unique[at]]]
        two = [numbers[row] for at in second for row in rows_of[unique[at]]]
        return _agree(list(zip(*one, strict=True)), list(zip(*two, strict=True)))

    try:
        outer = [""] * (max(map(len, unique)) - 1)
        tree = arrange(unique, [*outer, labels.names[0]], agree)
    except UnclearHeadings as problem:
        row = labels.rows[rows_of[unique[problem.positions[0]]][0]]
        raise _unclear(grid, problem, row=row) from None
    others = [_flat_labels(found, remarks) for found in labels.others]
    return [_joined(axis, unique, rows_of, others, labels) for axis in tree]


def _joined(
    axis: Axis,
    unique: Sequence[Path],
    rows_of: dict[Path, list[int]],
    others: Sequence[tuple[list[str], list[int]]],
    labels: Labels,
) -> Axis:
    """The first columns' dimensions and those of the other columns, for all rows."""
    pairs = [(row, axis.codes[at]) for at, p in enumerate(axis.positions) for row in rows_of[unique[p]]]
    pairs.sort(key=lambda pair: pair[0])
    flat = [
        Dimension(name, tuple(_coded(label, codes) for label in known))
        for name, codes, (known, _) in zip(labels.names[1:], labels.codes[1:], others, strict=True)
    ]
    inner = axis.dimensions[-1]
    coded = replace(inner, categories=_with_codes(inner.categories, labels.codes[0]))
    codes = np.array([[*own, *(places[row] for _, places in others)] for row, own in pairs], np.int32)
    return Axis(tuple(row for row, _ in pairs), (*axis.dimensions[:-1], coded, *flat), codes)


def _coded(label: str, codes: dict[str, str]) -> Category:
    return Category(codes[label], label) if label in codes else Category(label)


def _with_codes(categories: Sequence[Category], codes: dict[str, str]) -> tuple[Category, ...]:
    """Categories under the codes that stand beside their labels."""
    known = {category.code: codes.get(category.label or category.code) for category in categories}
    if not codes or None in known.values() or len(set(known.values())) < len(known):
        return tuple(categories)
    return tuple(
        Category(
            known[category.code] or "",
            category.label or category.code,
            None if category.parent is None else known[category.parent],
        )
        for category in categories
    )


def _flat_labels(labels: Sequence[str], remarks: list[str]) -> tuple[list[str], list[int]]:
    """The different labels of a column, and the place of every row's; an empty one is the total."""
    clean, said = clean_labels([label for label in labels if label])
    remarks += said
    total = next((label for label in clean.values() if is_total_label(label)), TOTAL)
    found = [clean[label] if label else total for label in labels]
    known = list(dict.fromkeys(found))
    places = {label: at for at, label in enumerate(known)}
    return known, [places[label] for label in found]


def _clean_paths(paths: Sequence[Path], remarks: list[str]) -> list[Path]:
    """Paths without markers of footnotes, unless these tell labels apart."""
    clean, said = clean_labels([label for path in paths for label in path if label])
    found = [tuple(clean.get(label, label) for label in path) for path in paths]
    if len(set(found)) < len(set(paths)):
        return list(paths)
    remarks += said
    return found


def _column_axes(
    grid: TextGrid, region: Region, columns: RegionColumns, numbers: Numbers, remarks: list[str]
) -> list[Axis]:
    """The dimensions of the columns; none where the only column says what is counted."""
    paths, names = column_paths(grid, region, columns)
    paths = _clean_paths(paths, remarks)
    _check_columns(grid, region, columns, paths)

    def agree(first: Sequence[int], second: Sequence[int]) -> int:
        return _agree(
            [[row[at] for at in first] for row in numbers], [[row[at] for at in second] for row in numbers]
        )

    try:
        axes = arrange(paths, names, agree)
    except UnclearHeadings as problem:
        row, column = region.header[0], columns.values[problem.positions[0]]
        raise _unclear(grid, problem, row=row, column=column) from None
    return [_without_measure(axis) for axis in axes]


def _check_columns(grid: TextGrid, region: Region, columns: RegionColumns, paths: Sequence[Path]) -> None:
    row = region.header[-1]
    seen: set[Path] = set()
    for column, path in zip(columns.values, paths, strict=True):
        if not any(path):
            raise grid.error(
                "a column of values has no header",
                row=row,
                column=column,
                found=", ".join(grid.text(row, other) for other in range(len(grid.rows[row]))),
                remedy="name every column in the row above the values",
            )
        if path in seen:
            raise grid.error(
                "two columns have the same header",
                row=row,
                column=column,
                found=" ".join(filter(None, path)),
                remedy="name them differently, or put the tables one below the other",
            )
        seen.add(path)


def _without_measure(axis: Axis) -> Axis:
    """The axis without dimensions that only name what is counted."""
    kept = [
        at
        for at, one in enumerate(axis.dimensions)
        if len(one.categories) != 1 or not is_measure(one.categories[0].code)
    ]
    return Axis(axis.positions, tuple(axis.dimensions[at] for at in kept), axis.codes[:, kept])


def _agree(first: Sequence[Sequence[int | None]], second: Sequence[Sequence[int | None]]) -> int:
    """On how many lines two sums are known, more than nothing, and the same; -1 if they differ on one.

    Numbers that are all multiples of a base may be rounded, and then sums may differ a little.
    """
    known: list[tuple[list[int], list[int]]] = []
    for one, two in zip(first, second, strict=True):
        left, right = [x for x in one if x is not None], [x for x in two if x is not None]
        if len(left) == len(one) and len(right) == len(two):
            known.append((left, right))
    every = [number for left, right in known for number in (*left, *right)]
    base = next((base for base in _BASES if all(number % base == 0 for number in every)), 0)
    if any(abs(sum(left) - sum(right)) > base * (len(left) + len(right)) for left, right in known):
        return -1
    return sum(sum(left) > 0 for left, _ in known)


def _unclear(
    grid: TextGrid, problem: UnclearHeadings, *, row: int, column: int | None = None
) -> ReleaseError:
    return grid.error(
        "the headings may be parts of one classification or several classifications of the same people",
        row=row,
        column=column,
        found=", ".join(problem.headings),
        remedy="give each classification a table of its own, or print the total",
    )


def _table(
    grid: TextGrid,
    region: Region,
    columns: RegionColumns,
    labels: Labels,
    rows: Axis,
    across: Axis,
    remarks: Sequence[str],
) -> PrintedTable:
    """The cells of some rows and columns."""
    places = [(at, k) for at in range(len(rows.positions)) for k in range(len(across.positions))]
    codes = np.array([[*rows.codes[at], *across.codes[k]] for at, k in places], np.int32)
    where = [(labels.rows[rows.positions[at]], columns.values[across.positions[k]]) for at, k in places]
    texts = [grid.text(row, column) for row, column in where]
    split = [split_flag(text) for text in texts]
    beside = [
        grid.text(row, columns.flags[column]) if column in columns.flags else "" for row, column in where
    ]
    flags = [" ".join(filter(None, (flag, more))) for (_, flag), more in zip(split, beside, strict=True)]
    _check_unique(grid, codes, where)
    return PrintedTable(
        name=grid.name,
        dimensions=(*rows.dimensions, *across.dimensions),
        codes=codes.reshape(len(texts), len(rows.dimensions) + len(across.dimensions)),
        values=tuple(value for value, _ in split),
        flags=tuple(flags) if any(flags) else (),
        rows=tuple(grid.line(row) for row, _ in where),
        columns=tuple(column + 1 for _, column in where),
        title=" ".join(region.title),
        notes=tuple(region.notes),
        file=grid.file,
        sheet=grid.sheet,
        across=len(across.dimensions),
        measure=grid.text(region.header[-1], where[0][1]) if not across.dimensions and where else "",
        remarks=tuple(dict.fromkeys(remarks)),
    )


def _check_unique(grid: TextGrid, codes: np.ndarray, where: Sequence[tuple[int, int]]) -> None:
    seen: dict[tuple[int, ...], tuple[int, int]] = {}
    for key, place in zip(map(tuple, codes.tolist()), where, strict=True):
        if key in seen:
            row, column = place
            first = grid.line(seen[key][0])
            raise grid.error(
                f"the value has the same labels as the one in row {first}",
                row=row,
                column=column,
                found=grid.text(row, column),
                remedy="label all rows and columns differently",
            )
        seen[key] = place
