"""Suppressed cells on a page: each table as it is published, with the numbers that follow filled in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from showthrough.report.page import Page, provenance
from showthrough.tables.drawn_html import corner
from showthrough.tables.recover import (
    Outcome,
    RecoveredCell,
    Recovery,
    area_rows,
    given_away,
    interval,
    most_exposed,
    sentence,
)
from showthrough.tables.shape import GAP, ShapeRow, TableOutline, cut, shape_of

__all__ = [
    "RecoveredSection",
    "recover_page",
    "recovered_section",
]

#: Areas and tables that are drawn, rows and columns of each, cells whose sums are listed, and areas listed.
MOST_AREAS, MOST_TABLES, MOST_ROWS, MOST_COLUMNS, MOST_SUMS, MOST_LISTED = 4, 8, 60, 16, 60, 200

#: The sign of each outcome, so that colour is not all that tells them apart.
SIGNS: dict[Outcome, str] = {"exact": "=", "close": "≈", "narrowed": "…", "hidden": "?", "undecided": "??"}

#: What the signs stand for.
LEGEND: dict[Outcome, str] = {
    "exact": "follows exactly from what is published",
    "close": "follows to within ±1",
    "narrowed": "lies in a narrower interval than published",
    "hidden": "nothing follows beyond what is published",
    "undecided": "lies in this interval; whether more follows was not decided",
}


@dataclass(frozen=True)
class DrawnCell:
    """A cell: what is published, what follows (nothing for counts as published), and how it is called."""

    published: str = ""
    follows: str = ""
    sign: str = ""
    kind: str = "cell"


@dataclass(frozen=True)
class DrawnRow:
    """A row, with the group that begins with it."""

    group: str
    head: str
    cells: tuple[DrawnCell, ...]


@dataclass(frozen=True)
class RecoveredTable:
    """A published table with what follows about its cells."""

    area: str
    name: str
    label: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[DrawnRow, ...]
    left_out: str


@dataclass(frozen=True)
class CellArithmetic:
    """A cell that follows, and the arithmetic that shows it."""

    where: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class RecoveredSection:
    """All that a page says about suppressed cells."""

    sentence: str
    whole: str
    tables: tuple[RecoveredTable, ...]
    n_tables: int
    legend: tuple[tuple[str, str, str], ...]
    areas: Sequence[Sequence[str]]
    n_areas: int
    sums: tuple[CellArithmetic, ...]
    n_sums: int
    together: bool


def recovered_section(found: Sequence[Recovery]) -> RecoveredSection | None:
    """What a page says about suppressed cells; None if there are none."""
    exposed = most_exposed(found)
    if not exposed:
        return None
    drawn = [pair for one in exposed[:MOST_AREAS] for pair in _numbered(one)]
    outcomes = {cell.outcome for one in exposed for cell in one.cells}
    legend = tuple((kind, SIGNS[kind], LEGEND[kind]) for kind in SIGNS if kind in outcomes)
    telling = [
        (one, cell)
        for kind in ("exact", "close")
        for one in exposed
        for cell in one.cells
        if cell.outcome == kind
    ]
    rows = area_rows(exposed)
    return RecoveredSection(
        sentence(exposed),
        given_away(exposed),
        tuple(_table(one, number) for one, number in drawn[:MOST_TABLES]),
        sum(len(list(_numbered(one))) for one in exposed),
        legend,
        rows[: MOST_LISTED + 1] if len(exposed) > 1 else [],
        len(exposed),
        tuple(_sums(one, cell) for one, cell in telling[:MOST_SUMS]),
        len(telling),
        all(one.whole for one in exposed),
    )


def recover_page(
    found: Sequence[Recovery],
    *,
    inputs: Mapping[str, str] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Page:
    """The page of ``showthrough recover``."""
    content = {
        "title": "Suppressed cells",
        "kind": "What follows about suppressed cells",
        "headline": sentence(found),
        "facts": (),
        "stressed": False,
        "recovered": recovered_section(found),
        "provenance": provenance({"inputs": inputs or {}, "parameters": parameters or {}}),
    }
    return Page("recover.html", content)


def _numbered(one: Recovery) -> Iterator[tuple[Recovery, int]]:
    """The tables with cells that are not published."""
    names = {cell.published.table for cell in one.cells}
    return ((one, number) for number, table in enumerate(one.release.tables) if table.name in names)


def _table(one: Recovery, number: int) -> RecoveredTable:
    shape = shape_of(one.release.layout, number)
    known = {cell.at: cell for cell in one.cells}
    marked = [at for row in shape.rows for at in row.cells if at in known]
    rows, columns = cut(shape, marked)
    shown, across = rows[:MOST_ROWS], columns[:MOST_COLUMNS]
    heads = tuple("…" if at == GAP else shape.columns[at] for at in across)
    made = tuple(_rows(one, shape, shown, across, known))
    note = _left_out(shape, shown, across)
    return RecoveredTable(one.release.area, shape.name, shape.label, corner(shape), heads, made, note)


def _rows(
    one: Recovery,
    shape: TableOutline,
    shown: Iterable[int],
    across: Sequence[int],
    known: Mapping[int, RecoveredCell],
) -> Iterator[DrawnRow]:
    group = ""
    for at in shown:
        row = ShapeRow("", "⋮", ()) if at == GAP else shape.rows[at]
        begins = row.group if row.group != group else ""
        group = row.group if at != GAP else group
        places = () if at == GAP else tuple(GAP if c == GAP else row.cells[c] for c in across)
        yield DrawnRow(begins, row.head or "count", tuple(_cell(one, place, known) for place in places))


def _cell(one: Recovery, at: int, known: Mapping[int, RecoveredCell]) -> DrawnCell:
    if at == GAP:
        return DrawnCell()
    cell, published = known.get(at), one.release.cells[at].value()
    if cell is None:
        return DrawnCell(published)
    kind = cell.outcome
    return DrawnCell(published, interval(cell.low, cell.high), SIGNS[kind], kind)


def _left_out(shape: TableOutline, shown: Sequence[int], across: Sequence[int]) -> str:
    rows = len(shape.rows) - sum(at != GAP for at in shown)
    columns = len(shape.columns) - sum(at != GAP for at in across)
    parts = [f"{n:,} of its {what}" for n, what in ((rows, "rows"), (columns, "columns")) if n]
    return f"Not shown: {' and '.join(parts)}." if parts else ""


def _sums(one: Recovery, cell: RecoveredCell) -> CellArithmetic:
    area = f"{one.release.area}: " if one.release.area else ""
    where = f"{area}{cell.published.name} of {cell.published.table}: {interval(cell.low, cell.high)}"
    return CellArithmetic(where, tuple(cell.arithmetic(one.release)))
