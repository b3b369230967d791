"""The shape of printed tables: where each cell of a release stands, in which table, row and column.

An import keeps it, so that what is protected can be handed back as it was printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import RunError
from showthrough.files import read_json, write_json
from showthrough.formats.meaning.categories import find_totals
from showthrough.formats.meaning.ranges import parse_range, range_name
from showthrough.formats.printed.table import Category, Dimension, PrintedTable
from showthrough.notation import Notation
from showthrough.release import Layout, Table
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.stored import read_rows

__all__ = [
    "PrintedShape",
    "Printing",
    "joined_label",
    "read_shapes",
    "shapes_of_layout",
    "write_shapes",
]

#: The files of an import that hold the shapes of its tables.
HEADS, CELLS = "printed.json", "printed.parquet"

CELL_COLUMNS = pa.schema(
    [
        ("table", pa.int32()),
        ("codes", pa.list_(pa.int32())),
        *((name, pa.string()) for name in ("value", "flag", "area", "cell", "text")),
    ]
)

#: The label of a sum over all values of an attribute, where no file names it.
TOTAL = "Total"


@dataclass(frozen=True, eq=False)
class PrintedShape:
    """A printed table, and for each of its cells what that is in a release.

    Parameters
    ----------
    table
        The table as printed.
    name
        The name of the table in the release.
    attributes
        For each dimension the attribute that it is; empty for areas, and for what is always the same.
    area_dimensions
        The dimensions that name the area.
    areas, cells
        For each cell its area, and its name in the release's table.
    texts
        For each cell its value as a counts file writes it; empty where none is published.
    n_printed
        How many cells the file has; those that follow are left out there and stand for one value.
    format
        The format of the file; empty if the table was not read from one.
    """

    table: PrintedTable
    name: str
    attributes: tuple[str, ...]
    area_dimensions: tuple[int, ...]
    areas: Sequence[str]
    cells: Sequence[str]
    texts: Sequence[str]
    n_printed: int
    format: str = ""

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.cells)

    def linked_by(self) -> str:
        """The dimension that names the area and has a total over areas; empty if there is none.

        What is suppressed in one area then follows from that total and the other areas.
        """
        for at in self.area_dimensions:
            one = self.table.dimensions[at]
            if len(one.categories) > 1 and (
                any(find_totals(one)) or any(category.parent for category in one.categories)
            ):
                return one.name or "the area"
        return self._sum_of_others()

    def _sum_of_others(self) -> str:
        """The area whose counts are the sums of those of all others, though nothing names it a total."""
        counts: dict[str, dict[str, int]] = {}
        for area, cell, text in zip(self.areas, self.cells, self.texts, strict=True):
            if text.isascii() and text.isdigit():
                counts.setdefault(area, {})[cell] = int(text)
        if len(counts) < 3:
            return ""
        shared = set[str].intersection(*(set(one) for one in counts.values()))
        largest = max(counts, key=lambda area: sum(counts[area][cell] for cell in shared))
        sums = {cell: sum(one[cell] for one in counts.values()) for cell in shared}
        told = [cell for cell in shared if counts[largest][cell]]
        linked = len(told) > 1 and all(2 * counts[largest][cell] == sums[cell] for cell in shared)
        return f"areas ({largest})" if linked else ""


@dataclass(frozen=True, eq=False)
class Printing:
    """How the tables of a release are printed.

    Parameters
    ----------
    shapes
        The tables as printed.
    notations
        How the values of each table are written, by its name in the release.
    """

    shapes: tuple[PrintedShape, ...]
    notations: Mapping[str, Notation]


def write_shapes(shapes: Sequence[PrintedShape], folder: Path) -> None:
    """Write shapes into the folder of an import."""
    write_json(folder / HEADS, {"tables": [_head(shape) for shape in shapes]})
    parts: list[pa.Table] = []
    for at, shape in enumerate(shapes):
        table, more = shape.table, [""] * (shape.n_cells - shape.n_printed)
        columns = [
            [at] * shape.n_cells,
            table.codes.tolist(),
            [*table.values[: shape.n_printed], *more],
            [*(table.flags or [""] * shape.n_printed)[: shape.n_printed], *more],
            list(shape.areas),
            list(shape.cells),
            list(shape.texts),
        ]
        arrays = [pa.array(column, kind.type) for column, kind in zip(columns, CELL_COLUMNS, strict=True)]
        parts.append(pa.Table.from_arrays(arrays, schema=CELL_COLUMNS))
    pq.write_table(pa.concat_tables(parts), folder / CELLS, compression="zstd")


def read_shapes(folder: Path) -> tuple[PrintedShape, ...]:
    """The shapes that an import kept; none if it kept none."""
    if not (folder / HEADS).exists() or not (folder / CELLS).exists():
        return ()
    plain: dict[str, Any] = read_json(folder / HEADS, error=RunError)
    held = pa.concat_tables([CELL_COLUMNS.empty_table(), *read_rows(folder / CELLS, CELL_COLUMNS)])
    of = held["table"].to_numpy()
    try:
        heads: list[dict[str, Any]] = plain["tables"]
        return tuple(_shape(head, held.filter(pa.array(of == at))) for at, head in enumerate(heads))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise RunError(
            "the printed tables of the import cannot be read",
            file=str(folder / HEADS),
            found=str(error),
            remedy="import the tables again",
        ) from None


def _head(shape: PrintedShape) -> dict[str, Any]:
    table = shape.table
    return {
        "name": shape.name,
        "title": table.title,
        "notes": list(table.notes),
        "file": Path(table.file).name,
        "sheet": table.sheet,
        "across": table.across,
        "measure": table.measure,
        "format": shape.format,
        "attributes": list(shape.attributes),
        "area_dimensions": list(shape.area_dimensions),
        "n_printed": shape.n_printed,
        "dimensions": [
            {
                "name": one.name,
                "label": one.label,
                "role": one.role,
                "categories": [[c.code, c.label, c.parent] for c in one.categories],
            }
            for one in table.dimensions
        ],
    }


def _shape(head: Mapping[str, Any], held: pa.Table) -> PrintedShape:
    columns: dict[str, list[Any]] = {name: held[name].to_pylist() for name in held.column_names}
    dimensions = tuple(
        Dimension(
            one["name"], tuple(Category(*parts) for parts in one["categories"]), one["label"], one["role"]
        )
        for one in head["dimensions"]
    )
    codes = np.array(columns["codes"], np.int32).reshape(held.num_rows, len(dimensions))
    sizes = [len(one.categories) for one in dimensions]
    if (codes < 0).any() or (codes >= np.array(sizes)).any():
        raise ValueError("a cell has a category that its table does not have")
    table = PrintedTable(
        head["name"],
        dimensions,
        codes,
        columns["value"],
        flags=columns["flag"],
        title=head["title"],
        notes=tuple(head["notes"]),
        file=head["file"],
        sheet=head["sheet"],
        across=int(head["across"]),
        measure=head["measure"],
    )
    return PrintedShape(
        table,
        head["name"],
        tuple(head["attributes"]),
        tuple(head["area_dimensions"]),
        columns["area"],
        columns["cell"],
        columns["text"],
        int(head["n_printed"]),
        head["format"],
    )


def shapes_of_layout(layout: Layout, areas: Sequence[str]) -> tuple[PrintedShape, ...]:
    """Shapes for tables that nobody has printed: areas and attributes in rows, the last one across."""
    return tuple(
        shape for table in layout.tables if (shape := _of_table(layout.schema, table, areas)) is not None
    )


def _of_table(schema: Schema, table: Table, areas: Sequence[str]) -> PrintedShape | None:
    """The shape of a table; None if two of its cells have the same categories."""
    selections = [schema.check_selection(cell.selection) for cell in table.cells]
    used = [name for name in schema.names if any(name in one for one in selections)] or [schema.names[0]]
    sets = [[_values(schema, name, one) for one in selections] for name in used]
    ordered = [_ordered(schema, name, found) for name, found in zip(used, sets, strict=True)]
    places = [{values: at for at, values in enumerate(known)} for known in ordered]
    dimensions = [
        Dimension(name, tuple(Category(text) for text in _labels(known)))
        for name, known in zip(used, ordered, strict=True)
    ]
    codes = np.array(
        [
            [known[values] for known, values in zip(places, row, strict=True)]
            for row in zip(*sets, strict=True)
        ],
        np.int32,
    )
    if len(np.unique(codes, axis=0)) < len(codes):
        return None
    named = any(areas)
    if named:
        place = np.repeat(np.arange(len(areas), dtype=np.int32), len(codes))[:, None]
        codes = np.hstack([place, np.tile(codes, (len(areas), 1))])
        dimensions = [Dimension("area", tuple(map(Category, areas)), role="area"), *dimensions]
    many = len(areas) * len(table.cells)
    printed = PrintedTable(
        table.name, tuple(dimensions), codes.astype(np.int32), [""] * many, title=table.label, file="tables"
    )
    return PrintedShape(
        printed,
        table.name,
        (*([""] if named else []), *used),
        (0,) if named else (),
        [area for area in areas for _ in table.cells],
        [cell.name for _ in areas for cell in table.cells],
        [""] * many,
        many,
    )


def _values(schema: Schema, name: str, selection: Selection) -> tuple[str, ...]:
    """The values that a selection has of an attribute, in order; none if it leaves the attribute free."""
    if name not in selection:
        return ()
    return tuple(value for value in schema[name].values if value in selection[name])


def _ordered(schema: Schema, name: str, found: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Different sets of values in the schema's order, the sum of all (no set) last."""
    place = {value: at for at, value in enumerate(schema[name].values)}
    distinct = dict.fromkeys(found)
    known = sorted((one for one in distinct if one), key=lambda one: [place[value] for value in one])
    return [*known, *([()] if () in distinct else [])]


def _labels(sets: Sequence[tuple[str, ...]]) -> list[str]:
    """What sets of values are called; no two are called the same."""
    taken, labels = set[str](), list[str]()
    for values in sets:
        label = joined_label(values) if values else TOTAL
        while label in taken:
            label += "'"
        taken.add(label)
        labels.append(label)
    return labels


def joined_label(labels: Sequence[str]) -> str:
    """What several categories together are called: one range where they are ranges side by side.

    >>> joined_label(["15-24", "0-14"]), joined_label(["single", "widowed"]), joined_label(["75-84", "85+"])
    ('0-24', 'single or widowed', '75+')
    """
    if len(labels) == 1:
        return labels[0]
    ranges = sorted((one for one in map(parse_range, labels) if one is not None), key=lambda ends: ends[0])
    beside = all(before[1] is not None and before[1] + 1 == after[0] for before, after in pairwise(ranges))
    if len(ranges) == len(labels) and beside:
        return range_name((ranges[0][0], ranges[-1][1]))
    return " or ".join(labels)
