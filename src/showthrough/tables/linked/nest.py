"""Nested areas: a whole and its parts, each with what is published about it.

The parts share nothing but the tables of the whole, whose counts are sums over the parts. As one
release the nest has one attribute more, the part that a record is in: cells of the whole count records
of any part, cells of a part count its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from showthrough.errors import ReleaseError, check_each, check_type
from showthrough.release import Cell, Layout, Release, Table
from showthrough.schema import Attribute, Schema
from showthrough.selection import Selection
from showthrough.tables.proof import PART
from showthrough.text import several

__all__ = [
    "PART",
    "Nest",
    "plain_release",
]


@dataclass(frozen=True, eq=False)
class Nest:
    """What is published about an area and about each of its parts.

    Every record of the area is in exactly one part.

    Parameters
    ----------
    whole
        The tables of the area; their counts are sums over the parts.
    parts
        The tables of each part, over the same layout. A table that is published only for the area, or
        only for its parts, has no bounds in the others.

    Raises
    ------
    ReleaseError
        If there are no parts, two have the same name, or layouts differ.

    Examples
    --------
    >>> schema = Schema.of({"sex": ["f", "m"]})
    >>> whole = Release.of(schema, {"sex": [1, 4]}, area="town")
    >>> counts = {"north": [0, 2], "south": [1, 2]}
    >>> parts = [Release(whole.layout, low, low, area) for area, low in counts.items()]
    >>> Nest(whole, parts)
    Nest: town and its 2 parts
    """

    whole: Release
    parts: tuple[Release, ...]

    def __post_init__(self) -> None:
        check_type(self.whole, Release, name="whole")
        parts: Sequence[Release] = self.parts
        check_each(parts, Release, name="parts")
        object.__setattr__(self, "parts", tuple(parts))
        if not self.parts:
            raise ReleaseError(
                "an area has no parts", found=self.whole.area, remedy="give each part's counts"
            )
        names = [part.area for part in self.parts]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ReleaseError("two parts have the same name", found=twice)
        if any(part.layout is not self.whole.layout for part in self.parts):
            raise ReleaseError(
                "an area and its parts have different layouts",
                remedy="make every release from the same layout",
            )
        if PART in self.whole.schema.index:
            raise ReleaseError("no attribute of nested areas can have this name", column=PART)

    def __repr__(self) -> str:
        name = self.whole.area or "an area"
        return f"Nest: {name} and its {several(len(self.parts), 'part')}"

    @property
    def area(self) -> str:
        """The name of the whole."""
        return self.whole.area

    @property
    def layout(self) -> Layout:
        """The tables of the whole and of every part."""
        return self.whole.layout

    @property
    def names(self) -> tuple[str, ...]:
        """The parts' names, in order."""
        return tuple(part.area for part in self.parts)

    @cached_property
    def low(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The lower ends of all cells: those of the whole, then part by part."""
        return np.concatenate([self.whole.low, *(part.low for part in self.parts)])

    @cached_property
    def high(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The upper ends of all cells, in the same order."""
        return np.concatenate([self.whole.high, *(part.high for part in self.parts)])

    @cached_property
    def schema(self) -> Schema:
        """The schema of records that name their part."""
        inner = self.whole.schema
        attributes = (Attribute(PART, self.names), *inner.attributes)
        return Schema(attributes, inner.rules, inner.record, inner.records, inner.hierarchies)

    def first_cell(self, part: int) -> int:
        """The position of a part's first cell among all cells."""
        return (part + 1) * len(self.whole.low)


def plain_release(nest: Nest) -> Release:
    """The nest as one release over records that name their part, cell by cell."""
    tables = list(nest.layout.tables)
    for name in nest.names:
        here = Selection.of({PART: name})
        for table in nest.layout.tables:
            cells = tuple(
                Cell.of_terms(cell.name, tuple((weight, one & here) for weight, one in cell.terms))
                for cell in table.cells
            )
            tables.append(Table(f"{name}: {table.name}", cells))
    return Release(Layout(nest.schema, tuple(tables)), nest.low, nest.high, nest.area)
