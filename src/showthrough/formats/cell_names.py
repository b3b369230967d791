"""What the cells of a release may be called in files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from showthrough.release import Layout
from showthrough.selection import canonical

__all__ = [
    "AMBIGUOUS",
    "UNKNOWN",
    "CellNames",
]

#: Stands for a name that several cells have.
AMBIGUOUS = -1

#: Stands for a name that no cell has.
UNKNOWN = -2


@dataclass(frozen=True, eq=False)
class CellNames:
    """The names of a layout's cells: the cell's own name, and ``table:cell``.

    The attributes in a name may be in any order.

    >>> from showthrough.release import make_table
    >>> from showthrough.schema import Schema
    >>> schema = Schema.of({"sex": ["f", "m"], "age": ["old"]})
    >>> tables = make_table(schema, "sex*age", totals=True), make_table(schema, "total")
    >>> names = CellNames(Layout(schema, tables))
    >>> [names.find(name) for name in ("age=old,sex=m", "sex=m,age=old", "sex*age:sex=m, age=old")]
    [1, 1, 1]
    >>> names.find("total"), names.find("total:total"), names.find("sex=x")
    (-1, 6, -2)
    """

    layout: Layout

    @cached_property
    def known(self) -> dict[str, int]:
        """Each name as it is written → the cell's position, or :data:`AMBIGUOUS`."""
        known: dict[str, int] = {}
        for at, (_, cell) in enumerate(self.layout.names):
            known[cell] = AMBIGUOUS if cell in known else at
        for at, (table, cell) in enumerate(self.layout.names):
            full = f"{table}:{cell}"
            known[full] = at if known.get(full, at) == at else AMBIGUOUS
        return known

    @cached_property
    def _reordered(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for at, (_, cell) in enumerate(self.layout.names):
            name = canonical(cell)
            found[name] = AMBIGUOUS if name in found else at
        return found

    @cached_property
    def _starts(self) -> dict[str, int]:
        starts, start = dict[str, int](), 0
        for table in self.layout.tables:
            starts[table.name] = start
            start += len(table.cells)
        return starts

    def find(self, name: str) -> int:
        """The position of the cell with this name, :data:`AMBIGUOUS` or :data:`UNKNOWN`."""
        if (at := self.known.get(name)) is not None:
            return at
        if (at := self._reordered.get(canonical(name))) is not None:
            return at
        inside = (
            self.find_in(name[:end], name[end + 1 :])
            for end in (at for at, mark in enumerate(name) if mark == ":")
            if name[:end] in self._starts
        )
        return next((at for at in inside if at != UNKNOWN), UNKNOWN)

    def find_in(self, table: str, cell: str) -> int:
        """The position of a table's cell, or :data:`UNKNOWN`."""
        start = self._starts[table]
        at = next(one for one in self.layout.tables if one.name == table).position(cell)
        return UNKNOWN if at is None else start + at
