"""The parts of printed tables that somebody wants: some tables, some categories, without some dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from showthrough.errors import ReleaseError, closest
from showthrough.formats.meaning.categories import find_totals, texts_of
from showthrough.formats.printed.table import PrintedTable
from showthrough.frames.marks import plain_name
from showthrough.selection import Selection

__all__ = [
    "pick_tables",
]


def pick_tables(
    tables: Iterable[PrintedTable],
    *,
    sheet: Sequence[str] = (),
    only: Sequence[str] = (),
    drop: Sequence[str] = (),
    totals: Sequence[str] = (),
) -> tuple[list[PrintedTable], list[str]]:
    """The tables, categories and dimensions that are asked for, and what was left out."""
    picked, notes = list(tables), list[str]()
    if sheet:
        picked = _named(picked, sheet)
    for text in only:
        picked = _only(picked, text)
    for name in drop:
        picked = _without(picked, name, totals, notes)
    if not picked:
        raise ReleaseError("there are no tables", remedy="check the file: it should hold tables of counts")
    return picked, notes


def _named(tables: Sequence[PrintedTable], wanted: Sequence[str]) -> list[PrintedTable]:
    known = {table.name for table in tables} | {table.sheet for table in tables if table.sheet}
    for name in wanted:
        if name not in known:
            raise ReleaseError(
                "no such table", file="--sheet", found=name, remedy=closest(name, sorted(known))
            )
    return [table for table in tables if table.name in wanted or table.sheet in wanted]


def _only(tables: Sequence[PrintedTable], text: str) -> list[PrintedTable]:
    """The cells of some categories; tables without the dimension are left as they are."""
    found, seen = list[PrintedTable](), set[str]()
    wanted = Selection.parse(text)
    for table in tables:
        keep = np.ones(len(table.values), bool)
        for at, dimension in enumerate(table.dimensions):
            asked = next(
                (name for name in wanted.attributes if plain_name(name) == plain_name(dimension.name)), None
            )
            if asked is None:
                continue
            seen.add(asked)
            texts = texts_of(dimension)
            codes = [one.code for one in dimension.categories]
            for value in wanted[asked]:
                if value not in (*texts, *codes):
                    raise ReleaseError(
                        "no such category", file="--only", found=value, remedy=closest(value, texts)
                    )
            inside = [
                text in wanted[asked] or code in wanted[asked]
                for text, code in zip(texts, codes, strict=True)
            ]
            keep &= np.array(inside, bool)[table.codes[:, at]]
        if keep.any():
            found.append(table if keep.all() else _cut(table, keep))
    for name in wanted.attributes:
        if name not in seen:
            known = list(dict.fromkeys(one.name for table in tables for one in table.dimensions))
            raise ReleaseError("no such dimension", file="--only", found=name, remedy=closest(name, known))
    return found


def _cut(table: PrintedTable, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> PrintedTable:
    """Some cells of a table, and the categories that they have."""
    at = np.flatnonzero(keep).tolist()
    codes = table.codes[at].copy()
    dimensions = list(table.dimensions)
    for number, dimension in enumerate(dimensions):
        used = np.unique(codes[:, number])
        codes[:, number] = np.searchsorted(used, codes[:, number])
        dimensions[number] = replace(
            dimension, categories=tuple(dimension.categories[one] for one in used.tolist())
        )
    return replace(
        table,
        dimensions=tuple(dimensions),
        codes=codes,
        values=[table.values[one] for one in at],
        flags=[table.flags[one] for one in at] if table.flags else (),
        rows=[table.rows[one] for one in at] if table.rows else (),
        columns=[table.columns[one] for one in at] if table.columns else (),
    )


def _without(
    tables: Sequence[PrintedTable], name: str, totals: Sequence[str], notes: list[str]
) -> list[PrintedTable]:
    """The tables without a dimension: its total where it has one, else all its cells."""
    found, known = list[PrintedTable](), list[str]()
    for table in tables:
        known += [one.name for one in table.dimensions]
        at = next(
            (at for at, one in enumerate(table.dimensions) if plain_name(one.name) == plain_name(name)), None
        )
        if at is None:
            found.append(table)
            continue
        total = np.array(find_totals(table.dimensions[at], totals), bool)
        if total.any():
            table = _cut(table, total[table.codes[:, at]])
            notes.append(f"{table.name}: only the total of {table.dimensions[at].name} is taken")
        rest = [number for number in range(len(table.dimensions)) if number != at]
        found.append(
            replace(
                table,
                dimensions=tuple(table.dimensions[number] for number in rest),
                codes=np.ascontiguousarray(table.codes[:, rest]),
                across=min(table.across, len(rest)),
            )
        )
    if plain_name(name) not in {plain_name(one) for one in known}:
        raise ReleaseError("no such dimension", file="--drop", found=name, remedy=closest(name, known))
    return found
