"""Which dimensions of printed tables name the area: each area is audited by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import ReleaseError, closest
from showthrough.formats.meaning.categories import find_totals, texts_of
from showthrough.formats.printed.table import Dimension, PrintedTable
from showthrough.frames.marks import AREA_NAMES, TIME_NAMES, plain_name
from showthrough.text import several

__all__ = [
    "AreaColumns",
    "find_areas",
]

#: Areas with a common total are audited together if they are no more than this.
MOST_TOGETHER = 60

#: The area of tables that name none while others do.
WHOLE = "Total"

Bounds = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class AreaColumns:
    """The dimensions that name the area.

    Parameters
    ----------
    names
        Their names.
    of
        For each table the positions of those it has.
    texts
        For each table and each of these positions what the categories are called.
    """

    names: tuple[str, ...]
    of: tuple[tuple[int, ...], ...]
    texts: tuple[tuple[tuple[str, ...], ...], ...]

    def labels(self, table: int, codes: NDArray[np.int32]) -> list[str]:
        """The name of the area of each row, given the positions of its categories."""
        if not self.of[table]:
            return [WHOLE if self.names else ""] * len(codes)
        known = self.texts[table]
        return [", ".join(known[at][code] for at, code in enumerate(row)) for row in codes.tolist()]


def find_areas(
    tables: Sequence[PrintedTable], bounds: Sequence[Bounds], *, asked: Sequence[str], totals: Iterable[str]
) -> tuple[AreaColumns, list[str]]:
    """The dimensions that name the area, and what was decided about them.

    By default these are places, known by name or role, and times where there are several. A place that
    has a total is an attribute like others where counts are suppressed: a suppressed count may follow
    from the total and the other areas.
    """
    notes, declared = list[str](), tuple(totals)
    chosen = {plain_name(name) for name in asked} if asked else _by_name(tables, bounds, declared, notes)
    if chosen == {"none"}:
        chosen = set()
    _check(asked, tables, chosen)
    of = tuple(
        tuple(at for at, one in enumerate(table.dimensions) if plain_name(one.name) in chosen)
        for table in tables
    )
    texts = tuple(
        tuple(tuple(texts_of(table.dimensions[at])) for at in mine)
        for table, mine in zip(tables, of, strict=True)
    )
    found: dict[str, Dimension] = {}
    for table, mine in zip(tables, of, strict=True):
        for at in mine:
            found.setdefault(plain_name(table.dimensions[at].name), table.dimensions[at])
    notes += _said(found, tables, of, bounds, declared)
    return AreaColumns(tuple(one.name for one in found.values()), of, texts), notes


def _check(asked: Sequence[str], tables: Sequence[PrintedTable], chosen: set[str]) -> None:
    known = list(dict.fromkeys(one.name for table in tables for one in table.dimensions))
    for name in asked:
        if plain_name(name) in chosen and plain_name(name) not in {plain_name(one) for one in known}:
            raise ReleaseError("no such dimension", file="--area", found=name, remedy=closest(name, known))


def _by_name(
    tables: Sequence[PrintedTable], bounds: Sequence[Bounds], declared: Sequence[str], notes: list[str]
) -> set[str]:
    chosen = set[str]()
    for table in tables:
        for one in table.dimensions:
            name = plain_name(one.name)
            is_place = one.role == "area" or name in AREA_NAMES
            is_time = (one.role == "time" or name in TIME_NAMES) and _n_categories(name, tables) > 1
            if is_place or is_time:
                chosen.add(name)
    hidden = any(bool((low != high).any()) for low, high in bounds)
    for name in sorted(chosen):
        linked = any(_has_total(table, name, declared) for table in tables)
        partly = any(name not in {plain_name(one.name) for one in table.dimensions} for table in tables)
        if hidden and (linked or partly) and 1 < _n_categories(name, tables) <= MOST_TOGETHER:
            chosen.discard(name)
            shown = next(
                one.name for table in tables for one in table.dimensions if plain_name(one.name) == name
            )
            notes.append(
                f"{shown} is an attribute and not the area, because suppressed counts may follow from totals "
                f'over it; to audit each of its categories by itself: --area "{shown}"'
            )
    return chosen


def _n_categories(name: str, tables: Sequence[PrintedTable]) -> int:
    return len(
        {
            text
            for table in tables
            for one in table.dimensions
            if plain_name(one.name) == name
            for text in texts_of(one)
        }
    )


def _has_total(table: PrintedTable, name: str, declared: Sequence[str]) -> bool:
    return any(any(find_totals(one, declared)) for one in table.dimensions if plain_name(one.name) == name)


def _said(
    found: dict[str, Dimension],
    tables: Sequence[PrintedTable],
    of: Sequence[Sequence[int]],
    bounds: Sequence[Bounds],
    declared: Sequence[str],
) -> list[str]:
    notes = [
        f"{one.name} names the area ({several(_n_categories(name, tables), 'area')}, audited one by one); "
        "to take it as an attribute: --area none"
        for name, one in found.items()
    ]
    if found and any(not mine for mine in of):
        notes.append(f"tables without {' and '.join(one.name for one in found.values())} are about {WHOLE}")
    hidden = any(bool((low != high).any()) for low, high in bounds)
    for name, one in found.items():
        if hidden and any(_has_total(table, name, declared) for table in tables):
            notes.append(
                f"there are totals over {one.name}: suppressed counts that follow from them and the other "
                "areas are NOT found, because areas are audited one by one"
            )
    return notes
