"""Published counts from a file: tidy (one row per value), or wide (one row per area).

A file of any size can be read area by area, in two passes like microdata (``records_file``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from showthrough.engine.rows import (
    ROWS,
    Places,
    find_places,
    first_reason,
    groups,
    pack_cells,
    read_by_halves,
    rows_after,
    rows_in_order,
    unpack_cells,
)
from showthrough.errors import InputError, ReleaseError, check_type, closest
from showthrough.formats.cell_names import AMBIGUOUS, UNKNOWN, CellNames
from showthrough.formats.design import Design
from showthrough.frames import Chunk, Source, distinct, distinct_values, iter_tables
from showthrough.noise_law import NoiseLaw, laws_by_cell
from showthrough.notation import noisy_values, parse_values
from showthrough.records import as_text
from showthrough.release import UNBOUNDED, Layout, Release
from showthrough.releases import Releases
from showthrough.selection import canonical

__all__ = [
    "CountStream",
    "area_codes",
    "cell_positions",
    "first_duplicate",
    "named_codes",
    "open_counts",
    "read_counts",
    "read_wide",
]

Whole = NDArray[np.int64]


def read_counts(source: object, design: Design, *, by: str | None = None) -> Releases:
    """Read the published values of every area from a file or a data frame.

    Tidy counts have the columns ``table``, ``cell`` and ``value``; ``table`` may be left out if cell
    names are unique. Wide counts have a column per cell, called ``table:cell`` if cell names are not
    unique. Cells that do not occur are not published.

    Parameters
    ----------
    source
        A path, an Arrow table, or a pandas or polars data frame.
    design
        The tables, and how their values are written.
    by
        The column that names the area; without it the one the design names, or ``area``, or else
        there is one unnamed area.

    Returns
    -------
    Releases
        One release per area.

    Raises
    ------
    ReleaseError
        If a value or a name does not fit the design; the message names file, row and column.
    """
    check_type(design, Design, name="design", remedy="read one with read_design, or make one: Design(layout)")
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
        raise ReleaseError("no such column", file=file, column=asked, remedy=remedy)
    return asked


def _is_tidy(names: Sequence[str], layout: Layout, area: str | None) -> bool:
    """Whether columns are called as in a tidy file and these are not the names of cells."""
    cells = {cell for _, cell in layout.names}
    return any(word in names and word not in cells and word != area for word in ("table", "cell"))


def _read_tidy(table: pa.Table, design: Design, area: str | None, file: str | None) -> Releases:
    cells = cell_positions(table, design.layout, file)
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
    values = None
    if any(notation.law for notation in design.notations):
        values = low.copy()
        owner = _owners(design.layout)[cells]
        for number, notation in enumerate(design.notations):
            at = np.flatnonzero(owner == number)
            if notation.law is not None and len(at):
                values[at] = noisy_values(table["value"].take(pa.array(at, pa.int64())), notation)
    return Releases.arrange(
        design.layout, areas, codes=codes, cells=cells, low=low, high=high, values=values, laws=_laws(design)
    )


def _owners(layout: Layout) -> Whole:
    """The number of each cell's table."""
    sizes = [len(one.cells) for one in layout.tables]
    return np.repeat(np.arange(len(sizes)), sizes)


def _laws(design: Design) -> tuple[tuple[NoiseLaw, ...], Whole]:
    """The laws of noise, and the law of each cell."""
    sizes = [len(one.cells) for one in design.layout.tables]
    return laws_by_cell([notation.law for notation in design.notations], sizes)


def cell_positions(table: pa.Table, layout: Layout, file: str | None) -> Whole:
    """The position in the layout of every row's cell."""
    if "table" in table.column_names:
        return _cells_of_tables(table, layout, file)
    known = CellNames(layout)
    codes, names = named_codes(table["cell"])
    found = np.array([known.find(name) for name in names], np.int64)[codes]
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        name = names[int(codes[row])]
        if found[row] == AMBIGUOUS:
            raise _several(name, layout, row, file)
        raise _unknown("cell", name, row=row, known=known.known, file=file)
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
    known = CellNames(layout)
    positions = {pair: at for at, pair in enumerate(layout.names)}
    both: NDArray[np.int64] = table_codes * len(cells) + cell_codes
    pairs = pa.array(both, pa.int64()).dictionary_encode()
    named = [(tables[pair // len(cells)], cells[pair % len(cells)]) for pair in _whole(pairs.dictionary)]
    looked_up = [positions[pair] if pair in positions else known.find_in(*pair) for pair in named]
    found = np.array(looked_up, np.int64)[pairs.indices.to_numpy()]
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        inside = layout.tables[numbers[tables[int(table_codes[row])]]]
        cell = cells[int(cell_codes[row])]
        raise _unknown("cell", cell, row=row, known=inside.positions, file=file, of=inside.name)
    return found


def _whole(column: pa.Array) -> list[int]:
    return column.to_numpy().tolist()


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
    holders = ", ".join(name for name, inside in layout.names if canonical(inside) == canonical(cell))
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


def read_wide(table: pa.Table, design: Design, *, area: str | None, file: str | None) -> Releases:
    """The releases in a table with a row per area and a column per cell."""
    columns = [name for name in table.column_names if name != area]
    cells = _wide_cells(columns, design, file)
    areas, codes = area_codes(table, area, file=file)
    again = first_duplicate(codes)
    if again is not None:
        raise ReleaseError(
            "an area has two rows" if area else "there are several rows but no column for the area",
            file=file,
            row=again + 1,
            column=area,
            found=areas[int(codes[again])] if area else None,
            remedy="keep one row per area" if area else "name the area column with --by",
        )
    shape = (len(codes), len(columns))
    low, high = np.empty(shape, np.int64), np.empty(shape, np.int64)
    values = np.empty(shape, np.int64) if any(notation.law for notation in design.notations) else None
    owner = _owners(design.layout)
    for at, (name, cell) in enumerate(zip(columns, cells, strict=True)):
        notation = design.notations[int(owner[cell])]
        low[:, at], high[:, at] = parse_values(table[name], notation, file=file, name=name)
        if values is not None:
            values[:, at] = low[:, at] if notation.law is None else noisy_values(table[name], notation)
    return Releases.arrange(
        design.layout,
        areas,
        codes=np.repeat(codes, len(columns)),
        cells=np.tile(np.array(cells, np.int64), len(codes)),
        low=low.ravel(),
        high=high.ravel(),
        values=None if values is None else values.ravel(),
        laws=_laws(design),
    )


def _wide_cells(columns: list[str], design: Design, file: str | None) -> list[int]:
    """The cell that each column holds, every cell at most once."""
    known = CellNames(design.layout)
    cells = [_cell(name, known, file) for name in columns]
    twice = first_duplicate(np.array(cells, np.int64))
    if twice is not None:
        raise ReleaseError(
            "two columns are the same cell",
            file=file,
            column=columns[twice],
            found=columns[twice],
            remedy="keep one of them",
        )
    return cells


def _cell(name: str, known: CellNames, file: str | None) -> int:
    at = known.find(name)
    if at == AMBIGUOUS:
        raise ReleaseError(
            "several cells have this name",
            file=file,
            column=name,
            found=name,
            remedy="write table:cell as the column's name, or use a tidy file with a column table",
        )
    if at == UNKNOWN:
        raise ReleaseError(
            "the column is not a cell of the release",
            file=file,
            column=name,
            found=name,
            remedy=f"{closest(name, known.known)}; name the area column with --by, "
            "and remove columns that are not cells",
        )
    return at


def named_codes(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], list[str]]:
    """Each row's position among the distinct names, and these; a missing name is empty.

    >>> codes, names = named_codes(pa.chunked_array([["a", None, "a"]]))
    >>> codes.tolist(), names
    ([0, 1, 0], ['a', ''])
    """
    codes, texts = distinct(column)
    return codes, [str(text or "") for text in texts.to_pylist()]


def area_codes(table: pa.Table, area: str | None, *, file: str | None) -> tuple[list[str], NDArray[np.int64]]:
    """The areas' names, and each row's position among them; one unnamed area without a column."""
    if area is None:
        return [""], np.zeros(table.num_rows, np.int64)
    codes, names = named_codes(table[area])
    empty = np.array([not name for name in names], bool)
    if empty.any():
        raise ReleaseError(
            "a row has no area",
            file=file,
            row=int(np.argmax(empty[codes])) + 1,
            column=area,
            remedy="fill the column, or leave it out where there is one area",
        )
    return names, codes


def first_duplicate(keys: NDArray[np.int64]) -> int | None:
    """The position of the first key that occurred before.

    >>> first_duplicate(np.array([4, 2, 3, 2, 4])), first_duplicate(np.array([1, 2]))
    (3, None)
    """
    order = np.argsort(keys, kind="stable")
    again = order[1:][keys[order][1:] == keys[order][:-1]]
    return int(again.min()) if len(again) else None


@dataclass(frozen=True, eq=False)
class CountStream:
    """Published counts of many areas."""

    source: Source
    design: Design
    by: str
    columns: tuple[str, ...]
    whole: frozenset[str]
    n_areas: int
    ascending: bool
    tolerant: bool

    def areas(self, scratch: Path) -> Iterator[tuple[str, Release | InputError]]:
        """Each area's release, or why it cannot be used."""
        rows = rows_in_order(self._rows(), ascending=self.ascending, scratch=scratch)
        for area, mine in groups(rows):
            problem = first_reason(mine)
            if problem is not None:
                yield area, ReleaseError(problem)
                continue
            try:
                yield area, self._release(area, mine)
            except ReleaseError as error:
                if not self.tolerant:
                    raise
                yield area, error

    def _release(self, area: str, rows: pa.Table) -> Release:
        layout = self.design.layout
        held: list[Any] = rows["data"].to_pylist()
        parts = [unpack_cells(data) for data in held]
        cells, lows, highs = (np.concatenate(column) for column in zip(*parts, strict=True))
        if len(np.unique(cells)) < len(cells):
            counted = np.bincount(cells)
            table, cell = layout.names[int(np.argmax(counted > 1))]
            place = self.source.place(int(rows["row"][rows.num_rows - 1].as_py()) + 1)
            raise ReleaseError(
                f"cell {cell} of table {table} occurs twice in area {area}",
                file=place.file,
                row=place.row,
                remedy="keep one value per area, table and cell",
            )
        low = np.zeros(len(layout.names), np.int64)
        high = np.full(len(low), UNBOUNDED, np.int64)
        low[cells], high[cells] = lows, highs
        return Release(layout, low, high, area)

    def _rows(self) -> Iterator[pa.RecordBatch]:
        for chunk in self.chunks():
            yield from self._parsed(chunk)

    def chunks(self) -> Iterator[Chunk]:
        """The rows in chunks."""
        return iter_tables(self.source, self.columns, error=ReleaseError, whole=self.whole)

    def look(self, source: Source) -> Places:
        """How areas lie in the source, whose rows can be used."""
        places = Places()
        for chunk in replace(self, source=source).chunks():
            places.see(_checked(self, chunk))
        return places

    def names(self, source: Source) -> Iterator[pa.ChunkedArray | pa.Array]:
        """The area of every row."""
        return (as_text(chunk.table[self.by]) for chunk in replace(self, source=source).chunks())

    def _parsed(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        """The rows of each area as one."""

        def read(part: Chunk) -> pa.RecordBatch:
            with rows_after(part.place):
                found = read_counts(part.table, self.design, by=self.by)
            ends = zip(found.starts[:-1].tolist(), found.starts[1:].tolist(), strict=True)
            data = [pack_cells(found.cells[a:b], found.low[a:b], found.high[a:b]) for a, b in ends]
            areas, rows = pa.array(found.areas, pa.string()), pa.array([part.before] * len(data), pa.int64())
            columns = [areas, rows, pa.array(data, pa.binary()), pa.nulls(len(data), pa.string())]
            return pa.RecordBatch.from_arrays(columns, schema=ROWS)

        if not self.tolerant:
            yield read(chunk)
            return
        yield from read_by_halves(
            chunk, read, area=lambda row: str(as_text(row[self.by])[0].as_py()), by=self.by
        )


def open_counts(data: object, design: Design, *, by: str | None, tolerant: bool) -> CountStream | None:
    """Published counts in a file; None if it has no column of areas."""
    source = Source.of(data, error=ReleaseError)
    names = source.names
    area = _area_column(names, by or design.area, source.name)
    if area is None:
        return None
    tidy = [name for name in (area, "table", "cell", "value") if name in names]
    columns = tuple(tidy if _is_tidy(names, design.layout, area) else names)
    _, whole = distinct_values(source, [area], error=ReleaseError, decimals_only=True, most=0)
    draft = CountStream(source, design, area, columns, whole, 0, True, tolerant)
    places, n_areas = find_places(source, draft.look, draft.names)
    return replace(draft, n_areas=n_areas, ascending=places.ascending)


def _checked(stream: CountStream, chunk: Chunk) -> pa.ChunkedArray | pa.Array:
    """The area of every row, once it is clear that the rows can be used."""
    areas: Any = pc.fill_null(as_text(chunk.table[stream.by]), pa.scalar(""))
    unnamed = int(pc.index(areas, "").as_py())
    if unnamed >= 0:
        chunk = chunk.slice(unnamed, 1)
    if unnamed >= 0 or not stream.tolerant:
        with rows_after(chunk.place):
            read_counts(chunk.table, stream.design, by=stream.by)
    return areas
