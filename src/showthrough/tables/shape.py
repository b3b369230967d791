"""The shape in which a table is printed: rows and columns of cells, and the part of it that is shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from showthrough.cell import describe_terms
from showthrough.release import Layout, Table
from showthrough.schema import Schema
from showthrough.tally import CellTerms, only_selection

__all__ = [
    "GAP",
    "ShapeRow",
    "TableOutline",
    "cut",
    "shape_of",
]

#: Where rows or columns are left out.
GAP = -1

#: The most rows and columns that are shown whole, and values of one attribute that stand side by side.
MOST_ROWS, MOST_COLUMNS, MOST_ABREAST = 12, 9, 8

#: A table with fewer cells than one in this many places is printed as a list.
SPARSE = 1.5

#: A level of an attribute: its values, None for a margin over all of them.
Level = tuple[str, ...] | None


@dataclass(frozen=True)
class ShapeRow:
    """A row: the group it belongs to, its own head, and its cells by position (−1: none)."""

    group: str
    head: str
    cells: tuple[int, ...]


@dataclass(frozen=True)
class TableOutline:
    """A table as it is printed.

    Attributes
    ----------
    name, label
        What the table is called, and what it says of itself.
    across, down
        What the heads of the columns and of the rows are values of.
    columns, rows
        The heads of the columns, and the rows.
    """

    name: str
    label: str
    across: str
    down: str
    columns: tuple[str, ...]
    rows: tuple[ShapeRow, ...]


@lru_cache(maxsize=256)
def shape_of(layout: Layout, number: int) -> TableOutline:
    """The shape of a table: two attributes are rows and columns, a third one makes groups of rows.

    >>> from showthrough.release import make_table
    >>> schema = Schema.of({"age": ["young", "old"], "sex": ["f", "m"]})
    >>> shape = shape_of(Layout(schema, (make_table(schema, "age*sex"),)), 0)
    >>> shape.columns, [(row.head, row.cells) for row in shape.rows]
    (('f', 'm'), [('young', (0, 1)), ('old', (2, 3))])
    """
    table = layout.tables[number]
    start = sum(len(one.cells) for one in layout.tables[:number])
    counted = layout.terms[start : start + len(table.cells)]
    if any(only_selection(one) is None for one in counted):
        return _listed(layout, table, counted, start)
    selections = [one[0][1] for one in counted]
    names = [name for name in layout.schema.names if any(name in one for one in selections)]
    values = layout.schema.index
    terms = [
        {name: tuple(v for v in layout.schema[name].values if v in one[name]) for name in one.attributes}
        for one in selections
    ]
    levels = {name: list(dict.fromkeys(one.get(name) for one in terms)) for name in names}
    varying = [name for name in names if len(levels[name]) > 1]
    varying.sort(key=lambda name: (_changes([one.get(name) for one in terms]), values[name]))
    places = [tuple(levels[name].index(one.get(name)) for name in varying) for one in terms]
    size = math.prod(len(levels[name]) for name in varying)
    if len(set(places)) < len(places) or size > SPARSE * len(places):
        return _listed(layout, table, counted, start)
    titles = {name: [_head(layout.schema, name, level) for level in levels[name]] for name in varying}
    at = {place: start + number for number, place in enumerate(places)}
    return _grid(table.name, table.label, layout.schema, titles, at)


def _listed(layout: Layout, table: Table, counted: Sequence[CellTerms], start: int) -> TableOutline:
    """A table as a list of its cells."""
    heads = [_named(layout.schema, cell.name, one) for cell, one in zip(table.cells, counted, strict=True)]
    cells = [ShapeRow("", head, (start + at,)) for at, head in enumerate(heads)]
    return TableOutline(table.name, table.label, "", "", ("count",), tuple(cells))


def _grid(
    name: str, label: str, schema: Schema, heads: dict[str, list[str]], at: dict[tuple[int, ...], int]
) -> TableOutline:
    """Cells by the places of their levels, as rows and columns."""
    titles = {one: schema[one].label or one for one in heads}
    order = list(heads)
    if len(order) == 1 and len(heads[order[0]]) > MOST_ABREAST:
        only = order[0]
        rows = [ShapeRow("", head, (at.get((i,), GAP),)) for i, head in enumerate(heads[only])]
        return TableOutline(name, label, "", titles[only], ("count",), tuple(rows))
    *groups, across = order or [""]
    columns = heads.get(across, ["count"])
    inner = [] if across == "" else [*range(len(columns))]
    rows = list[ShapeRow]()
    for place in _product([len(heads[one]) for one in groups]):
        said = [heads[one][i] for one, i in zip(groups, place, strict=True)]
        cells = tuple(at.get((*place, i), GAP) for i in inner) if inner else (at.get((), GAP),)
        rows.append(ShapeRow(", ".join(said[:-1]), said[-1] if said else "", cells))
    down = " × ".join(titles[one] for one in groups)
    return TableOutline(name, label, titles.get(across, ""), down, tuple(columns), tuple(rows))


def cut(shape: TableOutline, marked: Iterable[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The rows and columns that are shown: all, or those with marked cells and their neighbours.

    Where some are left out in between there is a :data:`GAP`.
    """
    wanted = set(marked)
    rows = [at for at, row in enumerate(shape.rows) if wanted & {*row.cells}]
    columns = [at for at in range(len(shape.columns)) if any(row.cells[at] in wanted for row in shape.rows)]
    reach = 0 if len(shape.columns) == 1 else 1  # in a list, neighbours say little
    return _kept(rows, len(shape.rows), MOST_ROWS, reach), _kept(columns, len(shape.columns), MOST_COLUMNS, 1)


def _kept(used: Sequence[int], size: int, most: int, reach: int) -> tuple[int, ...]:
    if size <= most:
        return tuple(range(size))
    near = sorted({at for one in used for at in range(one - reach, one + reach + 1) if 0 <= at < size})
    found = list[int]()
    before = -1
    for at in near:
        found += [GAP, at] if at > before + 1 else [at]
        before = at
    return (*found, GAP) if before < size - 1 else tuple(found)


def _product(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for size in sizes:
        found = [(*place, at) for place in found for at in range(size)]
    return found


def _named(schema: Schema, name: str, terms: CellTerms) -> str:
    """A cell's name; with what it counts if it is a mere code."""
    said = describe_terms(schema, terms) if name.isidentifier() and any(len(one) for _, one in terms) else ""
    return f"{name}: {said}" if said else name


def _changes(levels: Sequence[Level]) -> int:
    """How often the level changes from one cell to the next: rarely for what is on the outside."""
    return sum(one != other for one, other in pairwise(levels))


def _head(schema: Schema, name: str, level: Level) -> str:
    if level is None:
        return "all"
    labels = [schema[name].labels.get(value, value) for value in level]
    return " or ".join(labels) if len(labels) <= 3 else f"{labels[0]}, …, {labels[-1]} ({len(labels)} values)"
