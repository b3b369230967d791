"""Printed tables as tables of a release: each value in its cell and area."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import ReleaseError
from showthrough.formats.meaning.areas import AreaColumns
from showthrough.formats.meaning.bounds import ReadTable
from showthrough.formats.meaning.categories import Meaning, ReadAttribute
from showthrough.formats.printed.values import printed_place
from showthrough.notation import Notation, parse_value
from showthrough.release import Cell, Layout, Table
from showthrough.releases import Releases
from showthrough.selection import Selection

__all__ = [
    "Entries",
    "LaidTable",
]

Whole = NDArray[np.int64]

#: Cells that a table may have once those are filled in that it leaves out.
MOST_FILLED = 1_000_000


@dataclass(frozen=True, eq=False)
class LaidTable:
    """A table of the release, with the cell and the area's categories of every value."""

    read: ReadTable
    table: Table
    cells: Whole
    codes: NDArray[np.int32]
    area_codes: NDArray[np.int32]
    texts: tuple[str, ...]
    low: Whole
    high: Whole

    @classmethod
    def of(
        cls,
        number: int,
        read: ReadTable,
        kept: Sequence[ReadAttribute],
        areas: Sequence[int],
        missing: str,
    ) -> LaidTable:
        printed = read.table
        named = {
            at: (attribute, attribute.meanings[number, at])
            for attribute in kept
            for at in range(len(printed.dimensions))
            if (number, at) in attribute.meanings
        }
        codes, texts, low, high = printed.codes, read.values.texts, read.low, read.high
        if missing:
            codes, texts, low, high = _filled(read, missing)
        rows, of = _distinct_rows(codes[:, sorted(named)])
        combinations = [_as_cell(dict(zip(sorted(named), row, strict=True)), named) for row in rows.tolist()]
        known = {cell: at for at, cell in enumerate(dict.fromkeys(combinations))}
        cells = np.array([known[cell] for cell in combinations], np.int64)[of]
        table = Table(
            read.name, _with_own_names(known), label=printed.title if printed.title != read.name else ""
        )
        return cls(read, table, cells, codes, codes[:, list(areas)], tuple(texts), low, high)


def _filled(read: ReadTable, missing: str) -> tuple[NDArray[np.int32], tuple[str, ...], Whole, Whole]:
    """The cells of a table and those that it leaves out, with their value."""
    printed = read.table
    sizes = [len(dimension.categories) for dimension in printed.dimensions]
    total = float(np.prod([float(size) for size in sizes]))
    if total > MOST_FILLED:
        raise ReleaseError(
            f"with all combinations, table {read.name} would have more than {MOST_FILLED:,} cells",
            file="--missing",
            remedy="leave out --missing, or import fewer dimensions",
        )
    flat = np.ravel_multi_index(tuple(printed.codes.T), sizes)
    absent = np.setdiff1d(np.arange(int(total)), flat)
    more = np.column_stack(np.unravel_index(absent, sizes)).astype(np.int32)
    ends = parse_value(missing, Notation())
    return (
        np.concatenate([printed.codes, more]),
        (*read.values.texts, *([missing] * len(absent))),
        np.concatenate([read.low, np.full(len(absent), ends[0], np.int64)]),
        np.concatenate([read.high, np.full(len(absent), ends[1], np.int64)]),
    )


Named = Mapping[int, tuple[ReadAttribute, tuple[Meaning, ...]]]


def _distinct_rows(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], Whole]:
    """The different rows in the order in which they come, and which of them each row is."""
    if not codes.shape[1]:
        return codes[:1], np.zeros(len(codes), np.int64)
    rows, first, of = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rows[order], rank[of.ravel()]


def _as_cell(row: Mapping[int, int], named: Named) -> Cell:
    return Cell(_cell_name(row, named), _selection(row, named))


def _with_own_names(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells; where several have the same name, others get a number."""
    made: dict[str, Cell] = {}
    for cell in cells:
        name, number = cell.name, 2
        while name in made:
            name, number = f"{cell.name} ({number})", number + 1
        made[name] = Cell(name, cell.selection)
    return tuple(made.values())


def _selection(row: Mapping[int, int], named: Named) -> Selection:
    return Selection.of(
        {
            attribute.name: meanings[row[at]].values
            for at, (attribute, meanings) in named.items()
            if len(meanings[row[at]].values) < len(attribute.values)
        }
    )


def _cell_name(row: Mapping[int, int], named: Named) -> str:
    shown = {
        attribute.name: meanings[row[at]].text
        for at, (attribute, meanings) in named.items()
        if not meanings[row[at]].is_total
    }
    return str(Selection.of(shown)) or "total"


@dataclass(frozen=True, eq=False)
class Entries:
    """All published values: area, table, cell and text."""

    areas: tuple[str, ...]
    codes: Whole
    cells: Whole
    texts: tuple[str, ...]
    low: Whole
    high: Whole

    @classmethod
    def of(cls, laid: Sequence[LaidTable], areas: AreaColumns) -> Entries:
        names: dict[str, int] = {}
        parts: dict[str, list[Any]] = {name: [] for name in ("codes", "cells", "texts", "low", "high")}
        before = 0
        for number, one in enumerate(laid):
            labels = areas.labels(number, one.area_codes)
            codes = np.array([names.setdefault(label, len(names)) for label in labels], np.int64)
            published = np.array([bool(text) for text in one.texts], bool)
            kept = np.flatnonzero(published & _first_of_each(one, codes, areas.names))
            parts["codes"].append(codes[kept])
            parts["cells"].append(one.cells[kept] + before)
            parts["texts"] += [one.texts[at] for at in kept.tolist()]
            parts["low"].append(one.low[kept])
            parts["high"].append(one.high[kept])
            before += len(one.table.cells)
        joined = {name: np.concatenate(parts[name]) for name in ("codes", "cells", "low", "high")}
        return cls(tuple(names), texts=tuple(parts["texts"]), **joined)

    def table(self, layout: Layout, *, with_area: bool) -> pa.Table:
        """The columns of a tidy counts file."""
        names = [layout.names[at] for at in self.cells.tolist()]
        columns = {
            "area": [self.areas[at] for at in self.codes.tolist()],
            "table": [table for table, _ in names],
            "cell": [cell for _, cell in names],
            "value": list(self.texts),
        }
        if not with_area:
            del columns["area"]
        return pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})

    def releases(self, layout: Layout) -> Releases:
        """The release of every area."""
        return Releases.arrange(
            layout, self.areas, codes=self.codes, cells=self.cells, low=self.low, high=self.high
        )


def _first_of_each(laid: LaidTable, codes: Whole, area_names: Sequence[str]) -> NDArray[np.bool_]:
    """Which values are the first of their cell and area; an error if another value follows."""
    first, seen = np.ones(len(codes), bool), dict[tuple[int, int], int]()
    for at, key in enumerate(zip(codes.tolist(), laid.cells.tolist(), strict=True)):
        before = seen.setdefault(key, at)
        if before == at:
            continue
        first[at] = False
        if laid.texts[before] != laid.texts[at]:
            raise _twice(laid, before, at, area_names)
    return first


def _twice(laid: LaidTable, before: int, at: int, area_names: Sequence[str]) -> ReleaseError:
    place, other = (printed_place(laid.read.table, one) for one in (at, before))
    again = f" (row {other['row']})" if other["row"] else ""
    name = laid.table.cells[int(laid.cells[at])].name
    known = ", ".join([*area_names, *(one.name for one in laid.read.table.dimensions)])
    return ReleaseError(
        f"the cell {name} has another value already{again}: {laid.texts[before]}",
        found=laid.texts[at],
        remedy='keep one value per cell, or say what to take with --only "COLUMN=VALUE"; '
        f"dimensions: {known}",
        **place,
    )
