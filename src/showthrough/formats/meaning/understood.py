"""What was understood of printed tables: the release, what was decided, and what is to be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from showthrough.formats.design import Design
from showthrough.formats.meaning.categories import Meaning
from showthrough.formats.meaning.shapes import PrintedShape, Printing
from showthrough.notation import Rounding
from showthrough.releases import Releases
from showthrough.text import several

__all__ = [
    "Corrections",
    "MarkMeaning",
    "Understood",
    "UnderstoodTable",
]


@dataclass(frozen=True)
class Corrections:
    """What only people know about printed tables.

    Parameters
    ----------
    area
        The dimensions that name the area; ``none`` if none does.
    total
        Labels of totals.
    mark
        Mark → what it means: ``1-4``, ``0`` or ``unknown``.
    drop
        Dimensions to leave out: their total is taken, if they have one.
    only
        What to take, as selections: ``unit=persons``.
    sheet
        The tables to take, by name.
    rest
        Dimensions whose categories do not add up to their total because some are left out.
    same
        Dimensions that are one attribute though tables have different categories: all of these exclude
        each other.
    complete
        Assume that categories leave nobody out and that all tables count the same records.
    rounding
        How all counts are rounded; base 1 if they are not.
    missing
        What combinations are that a table leaves out: ``0``, for example.
    thousands
        What stands between thousands.
    record
        What is counted, in the singular.
    """

    area: tuple[str, ...] = ()
    total: tuple[str, ...] = ()
    mark: Mapping[str, str] = field(default_factory=dict[str, str])
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    sheet: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    complete: bool = False
    rounding: Rounding | None = None
    missing: str = ""
    thousands: str = ""
    record: str = "record"


@dataclass(frozen=True)
class MarkMeaning:
    """A mark, how often it occurs, and what it is taken to mean.

    Parameters
    ----------
    text
        The mark.
    number
        How often it occurs.
    meaning
        What it means.
    declared
        Whether somebody declared that.
    """

    text: str
    number: int
    meaning: str
    declared: bool


@dataclass(frozen=True)
class UnderstoodTable:
    """What was understood of one table.

    Parameters
    ----------
    name, title
        The table's name in the release, and its title as printed.
    dimensions
        Attribute → the categories of the table.
    cells
        How many cells it has in the release.
    values
        How many values are published in it, in all areas.
    conflicts
        Totals that cannot be the sum of their parts, in words.
    rounding
        How its counts are taken to be rounded.
    assumed
        Dimensions whose categories are assumed to add up to their total, as no row shows it.
    """

    name: str
    title: str
    dimensions: Mapping[str, tuple[Meaning, ...]]
    cells: int
    values: int
    conflicts: tuple[str, ...] = ()
    rounding: Rounding | None = None
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Understood:
    """A release made of printed tables, and what was decided on the way.

    Parameters
    ----------
    design
        The schema, the tables, and how their values are written.
    counts
        The values, in the columns of a tidy counts file.
    releases
        The release of every area.
    tables
        What was understood of each table.
    marks
        The marks, and what they are taken to mean.
    notes
        What was decided.
    questions
        What should be answered before results are relied on, each with the option that answers it.
    conflicts
        Totals that cannot be the sum of their parts, and tables that disagree, in words.
    shapes
        The tables as printed, with the cell of the release that each of their cells is.
    """

    design: Design
    counts: pa.Table
    releases: Releases
    tables: tuple[UnderstoodTable, ...]
    marks: tuple[MarkMeaning, ...]
    notes: tuple[str, ...]
    questions: tuple[str, ...]
    conflicts: tuple[str, ...] = ()
    shapes: tuple[PrintedShape, ...] = ()

    def __repr__(self) -> str:
        tables, areas = several(len(self.tables), "table"), several(len(self.releases), "area")
        return f"Understood: {tables} about {areas}, {several(self.counts.num_rows, 'value')}"

    @property
    def printing(self) -> Printing:
        """How the tables are printed."""
        tables = self.design.layout.tables
        named = dict(zip((table.name for table in tables), self.design.notations, strict=True))
        return Printing(self.shapes, named)

    def summary(self, file: str) -> str:
        """What a file was read as, in a line."""
        read = [f"{table} ({dimensions})" for table, dimensions, *_ in self.rows()[1:]]
        return f"{file}: read as published tables: {', '.join(read)}"

    def rows(self) -> list[tuple[str, ...]]:
        """What was understood as a small table, with a row of heads."""
        return [("table", "dimensions", "cells", "values", "totals"), *map(_row, self.tables)]


def _row(table: UnderstoodTable) -> tuple[str, ...]:
    shown = [f"{name} ({sum(not one.is_total for one in known)})" for name, known in table.dimensions.items()]
    totals = [name for name, known in table.dimensions.items() if any(one.is_total for one in known)]
    numbers = (f"{table.cells:,}", f"{table.values:,}")
    return (table.name, " × ".join(shown) or "–", *numbers, ", ".join(totals) or "none")
