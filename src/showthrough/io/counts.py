"""Published counts from a file: tidy (one row per value), or wide (one row per area)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import ReleaseError, closest
from showthrough.frames import Source
from showthrough.io.cells import (
    AMBIGUOUS,
    UNKNOWN,
    area_codes,
    cell_names,
    first_duplicate,
    named_codes,
)
from showthrough.io.design import Design
from showthrough.io.releases import Releases
from showthrough.io.values import parse_values
from showthrough.io.wide import read_wide
from showthrough.release import Layout

__all__ = ["read_counts"]

Whole = NDArray[np.int64]


def read_counts(source: object, design: Design, *, by: str | None = None) -> Releases:
    """The published values in a file or data frame, about every area in it.

    Tidy: columns ``table``, ``cell``, ``value``; ``table`` may be left out where cell names are
    unique. Wide: a column per cell, ``table:cell`` where names are not unique. The areas are in
    the column ``by``, or the one the design names, or ``area``, or it is one unnamed area.
    Cells that do not occur are not published.
    """
    opened = Source.of(source, error=ReleaseError)
    names, file = opened.names, opened.name
    area = _area_column(names, by or design.area, file)
    if not _is_tidy(names, design.layout, area):
        with opened.locating():
            return read_wide(opened.table(), design, area=area, file=file)
    for needed in ("cell", "value"):
        if needed not in names:
            raise ReleaseError(
                f"the column {needed} is missing",
                file=file,
                column=needed,
                remedy=f"a tidy file has the columns cell and value; {closest(needed, names)}",
            )
    wanted = [*([area] if area else []), *(["table"] if "table" in names else []), "cell", "value"]
    with opened.locating():
        return _read_tidy(opened.table(wanted), design, area, file)


def _area_column(names: Sequence[str], asked: str | None, file: str | None) -> str | None:
    if asked is None:
        return "area" if "area" in names else None
    if asked not in names:
        remedy = f"name the column that holds the area; {closest(asked, names)}"
        raise ReleaseError("there is no such column", file=file, column=asked, remedy=remedy)
    return asked


def _is_tidy(names: Sequence[str], layout: Layout, area: str | None) -> bool:
    """Whether columns are called as in a tidy file and these are not the names of cells."""
    cells = {cell for _, cell in layout.names}
    return any(word in names and word not in cells and word != area for word in ("table", "cell"))


def _read_tidy(table: pa.Table, design: Design, area: str | None, file: str | None) -> Releases:
    cells = _cells(table, design.layout, file)
    areas, codes = area_codes(table, area, file=file)
    twice = first_duplicate(codes * len(design.layout.names) + cells)
    if twice is not None:
        name, cell = design.layout.names[int(cells[twice])]
        where = f" in area {areas[int(codes[twice])]}" if area else ""
        raise ReleaseError(
            f"cell {cell} of table {name} occurs twice{where}",
            file=file,
            row=twice + 1,
            column="cell",
            found=cell,
            remedy="keep one value per area, table and cell",
        )
    low, high = _values(table["value"], cells, design=design, file=file)
    return Releases.arrange(design.layout, areas, codes=codes, cells=cells, low=low, high=high)


def _cells(table: pa.Table, layout: Layout, file: str | None) -> Whole:
    """The position in the layout of every row's cell."""
    if "table" in table.column_names:
        return _cells_of_tables(table, layout, file)
    known = cell_names(layout)
    codes, names = named_codes(table["cell"])
    found = np.array([known.get(name, UNKNOWN) for name in names], np.int64)[codes]
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        name = names[int(codes[row])]
        if found[row] == AMBIGUOUS:
            raise _several(name, layout, row, file)
        raise _unknown("cell", name, row=row, known=known, file=file)
    return found


def _cells_of_tables(table: pa.Table, layout: Layout, file: str | None) -> Whole:
    """The same where a column names the table; each (table, cell) pair is looked up once."""
    numbers = {one.name: number for number, one in enumerate(layout.tables)}
    table_codes, tables = named_codes(table["table"])
    cell_codes, cells = named_codes(table["cell"])
    unknown = np.array([name not in numbers for name in tables], bool)[table_codes]
    if unknown.any():
        row = int(np.argmax(unknown))
        raise _unknown("table", tables[int(table_codes[row])], row=row, known=numbers, file=file)
    positions = {pair: at for at, pair in enumerate(layout.names)}
    pairs = pa.array(table_codes * len(cells) + cell_codes, pa.int64()).dictionary_encode()
    found = np.array(
        [
            positions.get((tables[pair // len(cells)], cells[pair % len(cells)]), UNKNOWN)
            for pair in pairs.dictionary.to_numpy().tolist()
        ],
        np.int64,
    )[pairs.indices.to_numpy()]
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        inside = layout.tables[numbers[tables[int(table_codes[row])]]]
        cell = cells[int(cell_codes[row])]
        raise _unknown("cell", cell, row=row, known=inside.positions, file=file, of=inside.name)
    return found


def _unknown(
    what: str, name: str, *, row: int, known: Iterable[str], file: str | None, of: str = ""
) -> ReleaseError:
    return ReleaseError(
        f"table {of} has no such {what}" if of else f"the release has no such {what}",
        file=file,
        row=row + 1,
        column=what,
        found=name,
        remedy=closest(name, known),
    )


def _several(cell: str, layout: Layout, row: int, file: str | None) -> ReleaseError:
    holders = ", ".join(name for name, inside in layout.names if inside == cell)
    return ReleaseError(
        f"the cell could be one of several tables: {holders}",
        file=file,
        row=row + 1,
        column="cell",
        found=cell,
        remedy="add a column table to the file",
    )


def _values(
    column: pa.ChunkedArray, cells: Whole, *, design: Design, file: str | None
) -> tuple[Whole, Whole]:
    """Every row's bounds; rows of tables with the same notation are read together."""
    sizes = [len(table.cells) for table in design.layout.tables]
    kinds = [design.notations.index(notation) for notation in design.notations]
    kind = np.repeat(np.array(kinds, np.int64), sizes)[cells]
    low, high = np.empty(len(cells), np.int64), np.empty(len(cells), np.int64)
    for number in np.unique(kind).tolist():
        at = np.flatnonzero(kind == number)
        mine = column if len(at) == len(cells) else column.take(pa.array(at, pa.int64()))
        low[at], high[at] = parse_values(mine, design.notations[number], file=file, name="value", rows=at + 1)
    return low, high
