"""The household and housing tables of the 2020 Census for blocks: 79 tables, 861 cells.

The tables themselves are in ``dhc_2020.toml``, cell by cell.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, get_args

from showthrough.census.additivity import Sums, check_sums
from showthrough.census.homes import census_schema
from showthrough.errors import InputError, check_type, closest
from showthrough.release import Cell, Layout, Release, Table
from showthrough.schema import Schema
from showthrough.selection import Selection

__all__ = [
    "Cells",
    "CensusCell",
    "CensusTable",
    "Renter",
    "census_catalogue",
    "census_cells",
    "census_labels",
    "census_layout",
    "census_tables",
    "check_additivity",
]

#: Which cells: all, those without parts, or the 621 different ones that say something.
Cells = Literal["all", "bottom", "621"]

#: Which homes count as rented: also those occupied without rent, as published, or only rented ones.
Renter = Literal["published", "paper"]

PUBLISHER = "US Census Bureau"


@dataclass(frozen=True)
class _Line:
    """One cell of a table before iteration: number from 1, conditions, labels, its parts."""

    number: int
    terms: Selection
    path: tuple[str, ...]
    parts: tuple[int, ...]


def census_layout(
    *,
    children: bool = False,
    edits: bool = False,
    cells: Cells = "all",
    renter: Renter = "published",
) -> Layout:
    """The census columns and the block tables together, as audits need them.

    Parameters
    ----------
    children, edits
        As for :func:`census_schema`.
    cells, renter
        As for :func:`census_tables`.

    Returns
    -------
    Layout
    """
    _check_options(cells, renter)
    check_type(children, bool, name="children")
    check_type(edits, bool, name="edits")
    return _layout(children, edits, cells, renter)


def _check_options(cells: object, renter: object) -> None:
    """Raise unless these are ways to count that there are."""
    for name, given, known in (("cells", cells, get_args(Cells)), ("renter", renter, get_args(Renter))):
        check_type(given, str, name=name, remedy=f"choose from {', '.join(known)}")
        if given not in known:
            raise InputError(f"{name} must be {' or '.join(known)}", found=str(given))


@lru_cache(maxsize=8)
def _layout(children: bool, edits: bool, cells: Cells, renter: Renter) -> Layout:
    schema = census_schema(children=children, edits=edits)
    return Layout(schema, census_tables(schema, cells=cells, renter=renter))


def census_tables(schema: Schema, *, cells: Cells = "all", renter: Renter = "published") -> tuple[Table, ...]:
    """The block tables over a census schema.

    Table H15 is about ``children``, or about ``under18`` where the schema has no such column.

    Parameters
    ----------
    schema
        What :func:`census_schema` gives.
    cells
        ``"all"``; ``"bottom"`` without the cells that have parts; or ``"621"``, the queries of the
        paper: the bottom cells and the two "living alone" cells whose parts do not add up, each
        condition once, without the total of all homes.
    renter
        In the ``"published"`` tables, renters are *rented* and *occupied without rent* together.
        ``"paper"`` counts the rented homes only, which seems to be what the paper did.

    Returns
    -------
    tuple of Table

    Examples
    --------
    >>> tables = census_tables(census_schema())
    >>> len(tables), sum(len(table.cells) for table in tables)
    (79, 861)
    >>> tables[0].cells[4]
    Cell(name='P16_005N', selection=Selection.parse('type=male family'))
    """
    check_type(schema, Schema, name="schema", remedy="use census_schema()")
    _check_options(cells, renter)
    made = tuple(_made(schema, renter))
    wanted = _wanted(made, cells)
    kept = [Table(t.name, tuple(c for c in t.cells if c.name in wanted), t.publisher, t.label) for t in made]
    return tuple(table for table in kept if table.cells)


@dataclass(frozen=True)
class CensusTable:
    """A block table: what it counts and, if it is iterated, for which householders only."""

    name: str
    title: str
    universe: str
    householders: str
    n_cells: int

    def to_plain(self) -> dict[str, str | bool | int]:
        """As ``census tables --json`` prints it."""
        return {
            "table": self.name,
            "title": self.title,
            "counts": self.universe,
            "householders": self.householders or "all",
            "iterated": bool(self.householders),
            "cells": self.n_cells,
        }


@dataclass(frozen=True)
class CensusCell:
    """A cell of a block table: its variable, its label, and the homes that it counts."""

    cell: str
    label: str
    where: str


def census_catalogue() -> tuple[CensusTable, ...]:
    """All tables in order, each followed by its iterations.

    >>> tables = census_catalogue()
    >>> len(tables), sum(table.n_cells for table in tables)
    (79, 861)
    >>> tables[1].name, tables[1].universe, tables[1].householders
    ('P16A', 'households', 'White alone householder')
    """
    universes = {"": "homes", "occupied": "households", "vacant": "vacant homes"}
    return tuple(
        CensusTable(
            name,
            table["title"],
            universes[table["universe"]],
            "" if name == table["name"] else _facts()["iterations"][name[-1]]["title"],
            len(_lines(table["name"])),
        )
        for table in _facts()["tables"]
        for name, _, _ in _names(table)
    )


def census_cells(name: str, layout: Layout) -> tuple[CensusTable, tuple[CensusCell, ...]]:
    """One table of the catalogue with those of its cells that a layout has.

    >>> table, cells = census_cells("H4", census_layout())
    >>> table.title, cells[2]
    ('Tenure', CensusCell(cell='H4_003N', label='Total > Owned free and clear', where='tenure=owned'))
    """
    table = next((one for one in layout.tables if one.name == name.upper()), None)
    if table is None:
        known = [one.name for one in layout.tables]
        raise InputError("there is no such block table", found=name, remedy=closest(name.upper(), known))
    entry, labels = next(one for one in census_catalogue() if one.name == table.name), census_labels()
    cells = (CensusCell(one.name, labels[one.name], str(one.selection)) for one in table.cells)
    return entry, tuple(cells)


def census_labels() -> Mapping[str, str]:
    """The labels of all cells, as the Census Bureau writes them.

    Returns
    -------
    Mapping
        Variable → label.

    Examples
    --------
    >>> census_labels()["H4B_003N"]
    'Total > Owned free and clear'
    """
    return {
        f"{name}_{line.number:03d}N": " > ".join(line.path)
        for table in _facts()["tables"]
        for name, _, _ in _names(table)
        for line in _lines(table["name"])
    }


def check_additivity(release: Release) -> None:
    """Raise if totals and subtotals of census tables do not add up.

    Checks parts within tables, sums over race and ethnicity, and cells of different tables about the
    same homes, wherever all cells involved are published as exact counts. The noise that protects
    the 2020 Census leaves these sums intact.

    Parameters
    ----------
    release
        Census tables about one block.

    Raises
    ------
    ReleaseError
        Names the first total that is not the sum of its parts.
    """
    check_type(release, Release, name="release", remedy="give the release of one block")
    check_sums(release, _sums_over(release.layout))


@lru_cache(maxsize=8)
def _sums_over(layout: Layout) -> Sums:
    """The sums whose cells are all in a layout."""
    selections = {cell.name: cell.selection for table in layout.tables for cell in table.cells}
    found = (
        (total, parts)
        for total, parts in (*_sums(), *_equal(layout))
        if all(name in selections for name in (total, *parts)) and not _left_open(total, parts, selections)
    )
    return Sums.of(found, layout)


@lru_cache(maxsize=1)
def _facts() -> dict[str, Any]:
    return tomllib.loads(files("showthrough.census").joinpath("dhc_2020.toml").read_text("utf-8"))


def _names(table: Mapping[str, Any]) -> Iterator[tuple[str, Selection, str]]:
    """A table's name, restriction and label, then those of its iterations."""
    yield table["name"], Selection(), table["title"]
    for letter in table.get("iterations", ""):
        one = _facts()["iterations"][letter]
        yield f"{table['name']}{letter}", Selection.parse(one["where"]), f"{table['title']} ({one['title']})"


@lru_cache(maxsize=64)
def _lines(name: str, renter: Renter = "published") -> tuple[_Line, ...]:
    """The cells of a table in order."""
    table = next(t for t in _facts()["tables"] if t["name"] == name)
    groups = dict(_facts()["groups"])
    if renter == "paper":
        groups["renter"] = "tenure=rented"
    terms: list[Selection] = []
    paths: list[tuple[str, ...]] = []
    parts: list[list[int]] = []
    above: list[int] = []
    for number, line in enumerate(table["cells"].strip().splitlines(), 1):
        depth = (len(line) - len(line.lstrip())) // 2
        label, _, condition = line.strip().partition(" :: ")
        del above[depth:]
        own = Selection.parse(groups.get(condition, condition))
        terms.append(terms[above[-1] - 1] & own if above else own)
        paths.append((*paths[above[-1] - 1], label) if above else (label,))
        parts.append([])
        if above:
            parts[above[-1] - 1].append(number)
        above.append(number)
    return tuple(_Line(at + 1, terms[at], paths[at], tuple(parts[at])) for at in range(len(terms)))


def _made(schema: Schema, renter: Renter) -> Iterator[Table]:
    """All tables with all cells."""
    for table in _facts()["tables"]:
        universe = Selection.parse(_facts()["groups"].get(table["universe"], ""))
        for name, restriction, label in _names(table):
            cells = tuple(
                Cell(f"{name}_{line.number:03d}N", _over(schema, line.terms & restriction, universe))
                for line in _lines(table["name"], renter)
            )
            yield Table(name, cells, PUBLISHER, label)


def _over(schema: Schema, terms: Selection, universe: Selection) -> Selection:
    """The condition of a cell. Any condition on households implies that the home is occupied."""
    if not terms.terms:
        return universe
    if "children" in terms and "children" not in schema.index:
        named = [("under18" if name == "children" else name, values) for name, values in terms.terms]
        return Selection(tuple(named))
    return terms


def _wanted(tables: tuple[Table, ...], cells: Cells) -> set[str]:
    if cells == "all":
        return {cell.name for table in tables for cell in table.cells}
    bottom = {
        f"{name}_{line.number:03d}N"
        for table in _facts()["tables"]
        for name, _, _ in _names(table)
        for line in _lines(table["name"])
        if not line.parts
    }
    if cells == "bottom":
        return bottom
    different: dict[Selection, str] = {}
    for table in tables:
        for cell in table.cells:
            if cell.selection.terms and cell.name in bottom | set(_facts()["open"]):
                different.setdefault(cell.selection, cell.name)
    return set(different.values())


@lru_cache(maxsize=1)
def _sums() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Every total with its parts: within tables, over iterations, and between tables."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for table in _facts()["tables"]:
        lines = _lines(table["name"])
        for name, _, _ in _names(table):
            cells = [f"{name}_{line.number:03d}N" for line in lines]
            found += [
                (cell, tuple(cells[part - 1] for part in line.parts))
                for cell, line in zip(cells, lines, strict=True)
                if line.parts and cell not in _facts()["open"]
            ]
        found += _over_iterations(table["name"], table.get("iterations", ""), len(lines))
    for text in _facts()["sums"]:
        total, _, parts = text.partition(" = ")
        found.append((total, tuple(parts.split(" + "))))
    return tuple(found)


def _over_iterations(name: str, letters: str, n_cells: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """All = A to G; H = P to V; A = I and P, B = J and Q, …"""
    sums = {"": "ABCDEFG", "H": "PQRSTUV"}
    sums |= {chr(ord("A") + at): chr(ord("I") + at) + chr(ord("P") + at) for at in range(7)}
    for total, parts in sums.items():
        if letters and set(total + parts) <= set(letters):
            for number in range(1, n_cells + 1):
                cells = tuple(f"{name}{part}_{number:03d}N" for part in parts)
                yield f"{name}{total}_{number:03d}N", cells


def _equal(layout: Layout) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Cells of different tables with one and the same condition."""
    first: dict[Selection, str] = {}
    for (_, cell), selection in zip(layout.names, layout.selections, strict=True):
        before = first.setdefault(selection, cell)
        if before != cell:
            yield before, (cell,)


def _left_open(total: str, parts: tuple[str, ...], selections: Mapping[str, Selection]) -> bool:
    """Whether the parts leave out homes occupied without rent, as the paper's coding does."""
    if "tenure" in selections[total]:
        return False
    tenures = [selections[part]["tenure"] for part in parts if "tenure" in selections[part]]
    return bool(tenures) and not any("no rent" in values for values in tenures)
