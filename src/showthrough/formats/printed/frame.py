"""Cross-tables in memory: pandas and polars pivots, and results of grouping."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from showthrough.errors import ReleaseError
from showthrough.formats.printed.cross_table import read_grid
from showthrough.formats.printed.grid import TextGrid, decimal_text, is_measure, split_flag
from showthrough.formats.printed.table import Category, Dimension, PrintedTable
from showthrough.frames.columns import text
from showthrough.frames.marks import is_total_label

__all__ = [
    "read_frame",
]

#: The category of people whose value is missing.
_MISSING = "(missing)"


def read_frame(frame: object, *, name: str = "table") -> list[PrintedTable]:
    """Read a cross-table from a data frame.

    In pandas the levels of index and columns are the dimensions, as ``crosstab``, ``pivot_table`` and
    ``groupby`` make them; margins become categories. A frame without an index of its own, and one of
    polars or Arrow, is read as a sheet would be: labels on the left, headers above.

    Parameters
    ----------
    frame
        A pandas data frame or series, a polars data frame, or an Arrow table.
    name
        What to call the table.

    Returns
    -------
    list of PrintedTable
        One table, or several where columns are several classifications.

    Raises
    ------
    ReleaseError
        If it is no cross-table.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"area": ["n", "n", "s"], "sex": ["m", "f", "f"]})
    >>> [table] = read_frame(pd.crosstab(people.area, people.sex, margins=True))
    >>> [(dimension.name, [category.code for category in dimension.categories])
    ...  for dimension in table.dimensions]
    [('area', ['n', 's', 'All']), ('sex', ['f', 'm', 'All'])]
    >>> table.values
    ('1', '1', '2', '1', '0', '1', '2', '1', '3')
    """
    found: Any = frame
    if type(frame).__module__.partition(".")[0] == "pandas":
        if hasattr(found, "to_frame") and not hasattr(found, "columns"):
            return _indexed(found.to_frame(found.name or "count"), name)
        if _has_index(found):
            return _indexed(found, name)
        return _sheet(
            [_texts(column) for column in found.columns], found.to_numpy(dtype=object).tolist(), name
        )
    if hasattr(found, "to_arrow"):
        found = found.to_arrow()
    if not hasattr(found, "column_names") or not hasattr(found, "to_pylist"):
        raise ReleaseError(
            "not a data frame",
            found=type(frame).__name__,
            remedy="pass a pandas or polars data frame, or an Arrow table",
        )
    rows = [list(column.to_pylist()) for column in found.columns]
    return _sheet([_pivoted(column) for column in found.column_names], list(zip(*rows, strict=True)), name)


def _has_index(frame: Any) -> bool:
    """Whether rows have labels, and not only numbers."""
    index = frame.index
    return index.nlevels > 1 or index.name is not None or type(index).__name__ != "RangeIndex"


def _texts(label: object) -> list[str]:
    """The texts of a label of one level or several."""
    parts: Sequence[object] = list(label) if isinstance(label, tuple) else [label]
    return [_MISSING if _is_missing(part) else _text(part) for part in parts]


def _is_missing(value: Any) -> bool:
    nothing = value is None or type(value).__name__ in ("NAType", "NaTType")
    return nothing or (isinstance(value, float | np.floating) and math.isnan(value))


def _text(value: Any) -> str:
    """A value as text; a missing one is empty."""
    if _is_missing(value):
        return ""
    plain = value.item() if isinstance(value, np.generic) else value
    return decimal_text(plain) if isinstance(plain, float) else text(plain).strip()


def _pivoted(column: str) -> list[str]:
    """A column's labels; polars joins several into one name.

    >>> _pivoted('{"m","0-15"}'), _pivoted("m")
    (['m', '0-15'], ['m'])
    """
    if column.startswith('{"') and column.endswith("}"):
        try:
            return [str(part) for part in json.loads(f"[{column[1:-1]}]")]
        except ValueError:
            return [column]
    return [column]


def _sheet(columns: Sequence[Sequence[str]], rows: Sequence[Sequence[Any]], name: str) -> list[PrintedTable]:
    """Read columns and rows as a sheet; labels of columns fill header rows from the bottom."""
    depth = max((len(labels) for labels in columns), default=1)
    headers = [
        ["" if depth - level > len(labels) else labels[level - depth] for labels in columns]
        for level in range(depth)
    ]
    words = [any(isinstance(row[at], str) for row in rows) for at in range(len(columns))]
    filled = [
        [
            _MISSING if word and _is_missing(value) else _text(value)
            for value, word in zip(row, words, strict=True)
        ]
        for row in rows
    ]
    tables = read_grid(TextGrid([*headers, *filled], name, lines=range(1 - depth, len(rows) + 1)))
    if not tables:
        raise ReleaseError(
            "the data frame is not a cross-table",
            found=", ".join(" ".join(labels) for labels in columns)[:200],
            remedy="put labels in the first columns or in the index, and counts in the others",
        )
    return tables


def _indexed(frame: Any, name: str) -> list[PrintedTable]:
    """Read levels of index and columns as dimensions."""
    rows = _levels([_texts(label) for label in frame.index], frame.index.names)
    across = _levels([_texts(label) for label in frame.columns], frame.columns.names)
    across = [level for level in across if not _is_measure(level)]
    levels = [*rows, *across]
    n_rows, n_columns = frame.shape
    places = [(row, column) for row in range(n_rows) for column in range(n_columns)]
    codes = np.array(
        [
            [*(level[1][row] for level in rows), *(level[1][column] for level in across)]
            for row, column in places
        ],
        np.int32,
    ).reshape(len(places), len(levels))
    _check_once(codes, places)
    found = frame.to_numpy(dtype=object)
    split = [split_flag(_text(found[row, column])) for row, column in places]
    table = PrintedTable(
        name=name,
        dimensions=tuple(level[0] for level in levels),
        codes=codes,
        values=tuple(value for value, _ in split),
        flags=tuple(flag for _, flag in split) if any(flag for _, flag in split) else (),
        rows=tuple(row + 1 for row, _ in places),
        columns=tuple(column + 1 for _, column in places),
        across=len(across),
    )
    return [table]


def _levels(labels: Sequence[Sequence[str]], names: Sequence[Any]) -> list[tuple[Dimension, list[int]]]:
    """Each level as a dimension with the place of every row's category."""
    found: list[tuple[Dimension, list[int]]] = []
    for level, name in enumerate(names):
        texts = [label[level] or _unlabelled(label) for label in labels]
        places = {label: at for at, label in enumerate(dict.fromkeys(texts))}
        dimension = Dimension(_text(name), tuple(Category(label) for label in places))
        found.append((dimension, [places[label] for label in texts]))
    return found


def _unlabelled(label: Sequence[str]) -> str:
    """What an empty label stands for: a total beside a total, as margins are, and else a missing value."""
    return next((part for part in label if is_total_label(part)), _MISSING)


def _is_measure(level: tuple[Dimension, list[int]]) -> bool:
    """Whether a level only names what is counted."""
    dimension = level[0]
    return len(dimension.categories) == 1 and not dimension.name and is_measure(dimension.categories[0].code)


def _check_once(codes: np.ndarray, places: Sequence[tuple[int, int]]) -> None:
    seen: set[tuple[int, ...]] = set()
    for (row, column), key in zip(places, map(tuple, codes.tolist()), strict=True):
        if key in seen:
            raise ReleaseError(
                "two cells of the data frame have the same labels",
                row=row + 1,
                column=str(column + 1),
                remedy="label all rows and columns differently; a missing label counts as a total",
            )
        seen.add(key)
