"""What is published: cells with exact values or intervals, in tables, about one area."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.cell import UNBOUNDED, Cell, Published, the_selection
from showthrough.errors import ReleaseError, SchemaError, check_each, check_type, closest
from showthrough.export import Tabular
from showthrough.formula import formula_cells
from showthrough.noise_law import NoisyCounts
from showthrough.packing import match_words, narrowed, pack, pack_selections, unpack
from showthrough.records import Records
from showthrough.schema import Schema
from showthrough.selection import Selection, SelectionLike, canonical
from showthrough.tally import CellTerms, attributes_of, make_terms, only_selection, terms_as_text
from showthrough.text import several

__all__ = [
    "UNBOUNDED",
    "Cell",
    "Layout",
    "Published",
    "Release",
    "Table",
    "make_table",
    "pack",
    "unpack",
]

#: What is published for a cell: a count, an interval, or nothing.
Value = int | tuple[int, int] | None

#: The values of a table: in the order of its cells, or by their names.
Values = Sequence[Value] | Sequence[int] | Mapping[str, Value] | Mapping[str, int]


@dataclass(frozen=True)
class Table:
    """A table of counts.

    Parameters
    ----------
    name
        The table's name, unique in its release.
    cells
        Its cells, in order.
    publisher, label
        Who publishes the table, and what it is called.

    Raises
    ------
    ReleaseError
        If two cells have the same name.
    """

    name: str
    cells: tuple[Cell, ...]
    publisher: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        check_each(self.cells, Cell, name="cells", remedy="use make_table for a formula such as 'age*sex'")
        object.__setattr__(self, "cells", tuple(self.cells))
        seen: set[str] = set()
        for cell in self.cells:
            if cell.name in seen:
                raise ReleaseError(
                    f"table {self.name} has two cells with the same name",
                    found=cell.name,
                    remedy="give every cell of a table its own name",
                )
            seen.add(cell.name)

    def __repr__(self) -> str:
        return f"Table({self.name}: {several(len(self.cells), 'cell')})"

    @cached_property
    def positions(self) -> dict[str, int]:
        """Cell name → position."""
        return {cell.name: at for at, cell in enumerate(self.cells)}

    @cached_property
    def _reordered(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for at, cell in enumerate(self.cells):
            found.setdefault(canonical(cell.name), []).append(at)
        return found

    def position(self, name: str) -> int | None:
        """Where a cell is, whatever the order of the attributes in its name; None if there is none.

        >>> table = make_table(Schema.of({"sex": ["f", "m"], "age": ["young", "old"]}), "sex*age")
        >>> table.position("sex=m,age=old"), table.position("age=old,sex=m"), table.position("age=old")
        (3, 3, None)
        """
        if (exact := self.positions.get(name)) is not None:
            return exact
        found = self._reordered.get(canonical(name), [])
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True, eq=False)
class Layout:
    """A schema and the tables over it, compiled once and shared by every area.

    Parameters
    ----------
    schema
        The schema.
    tables
        The tables, in order.

    Raises
    ------
    ReleaseError
        If there are no tables, two have the same name, or a cell does not fit the schema.

    Notes
    -----
    A selection is a product predicate, so those that a record matches are the AND over its attributes
    of one bit set per value: ``bits[j][v]`` holds, packed into 64-bit words, the selections (one per
    cell, several for a cell that is a sum) that allow value v of attribute j.
    """

    schema: Schema
    tables: tuple[Table, ...]

    def __post_init__(self) -> None:
        check_type(self.schema, Schema, name="schema", remedy="make one with Schema.of or read_schema")
        check_each(self.tables, Table, name="tables", remedy="make them with make_table")
        object.__setattr__(self, "tables", tuple(self.tables))
        check_tables(self.tables, self.schema)

    def __repr__(self) -> str:
        return f"Layout: {_counted(self)}"

    @cached_property
    def names(self) -> tuple[tuple[str, str], ...]:
        """(table, cell) of every cell in order."""
        return tuple((table.name, cell.name) for table in self.tables for cell in table.cells)

    @cached_property
    def terms(self) -> tuple[CellTerms, ...]:
        """What every cell counts, in order, without attributes that a selection leaves free."""
        check = self.schema.check_selection
        found: list[CellTerms] = []
        for cell in (cell for table in self.tables for cell in table.cells):
            if cell.is_sum:
                found.append(make_terms([(w, check(one)) for w, one in cell.terms], cell=cell.name))
            else:
                found.append(((1, check(cell.terms[0][1])),))
        return tuple(found)

    @cached_property
    def sums(self) -> tuple[int, ...]:
        """The positions of the cells that are sums of selections or have weights."""
        return tuple(at for at, terms in enumerate(self.terms) if only_selection(terms) is None)

    @cached_property
    def selections(self) -> tuple[Selection, ...]:
        """Every cell's selection in order, without attributes it leaves free; an error if one is a sum."""
        if self.sums:
            table, cell = self.names[self.sums[0]]
            return (the_selection(self.terms[self.sums[0]], f"cell {cell} of table {table}"),)
        return tuple(terms[0][1] for terms in self.terms)

    @cached_property
    def boxes(self) -> tuple[Selection, ...]:
        """The selections of all terms of all cells, in order: one per cell where no cell is a sum."""
        return tuple(selection for terms in self.terms for _, selection in terms)

    @cached_property
    def box_starts(self) -> NDArray[np.int64]:
        """Where the selections of each cell start in :attr:`boxes`."""
        sizes = np.array([len(terms) for terms in self.terms], np.int64)
        return np.cumsum(sizes) - sizes

    @cached_property
    def box_cells(self) -> NDArray[np.int64]:
        """The cell that each of :attr:`boxes` belongs to."""
        return np.repeat(np.arange(len(self.terms)), [len(terms) for terms in self.terms])

    @cached_property
    def box_weights(self) -> NDArray[np.int64]:
        """The weight of each of :attr:`boxes`."""
        return np.array([weight for terms in self.terms for weight, _ in terms], np.int64)

    @cached_property
    def attributes(self) -> tuple[tuple[str, ...], ...]:
        """The attributes that each cell restricts, sorted."""
        return tuple(map(attributes_of, self.terms))

    @cached_property
    def bits(self) -> tuple[NDArray[np.uint64], ...]:
        """Per attribute: value × words, which of :attr:`boxes` allow the value."""
        return pack_selections(self.boxes, self.schema)

    def count(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Every cell's count among coded records."""
        matched = np.zeros(len(self.boxes), np.int64)
        for start in range(0, len(codes), 4096):
            words = match_words(self.bits, codes[start : start + 4096])
            matched += unpack(words, len(matched)).sum(axis=0, dtype=np.int64)
        if not self.sums:
            return matched
        return np.add.reduceat(matched * self.box_weights, self.box_starts)

    def times_counted(
        self, words: NDArray[np.uint64], cells: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint8]:
        """Record × cell: how many times a record counts, from the packed boxes that it matches.

        Parameters
        ----------
        words
            Per record the boxes it matches, as bits; more bits may follow.
        cells
            The positions of some cells; all of them by default.

        Returns
        -------
        NDArray
            Bytes; 64-bit integers where a record counts more than 127 times.
        """
        member = unpack(words, len(self.boxes))
        cells = np.arange(len(self.terms)) if cells is None else cells
        found = member[:, self.box_starts[cells]]
        sums = np.flatnonzero(np.isin(cells, self.sums))
        if not len(sums):
            return found
        wide = found.astype(np.int64)
        for at in sums.tolist():
            start, size = int(self.box_starts[cells[at]]), len(self.terms[int(cells[at])])
            wide[:, at] = member[:, start : start + size] @ self.box_weights[start : start + size]
        return narrowed(wide)

    def tabulate(self, records: Records, *, area: str = "") -> Release:
        """The release that publishes these tables of these records, exactly."""
        counts = self.count(records.codes)
        return Release(self, counts, counts, area)


@dataclass(frozen=True, eq=False)
class Release(Tabular):
    """All that is published about one area: tables, and an interval for each cell.

    Parameters
    ----------
    layout
        The schema and the tables.
    low, high
        The published bounds of every cell, through all tables in order; an unpublished cell has the
        interval from 0 to :data:`UNBOUNDED`.
    area
        The area's name.
    noise
        Published values with the laws of their noise, where such are declared. They prove no more than the
        bounds say, but make some counts likelier than others.

    Raises
    ------
    ReleaseError
        If bounds and cells do not fit, or an interval is impossible.

    Examples
    --------
    Published numbers can be typed in: per table one value for each cell in order, or cell → value.

    >>> schema = Schema.of({"sex": ["f", "m"], "age": ["young", "old"]})
    >>> release = Release.of(schema, {"sex": [(1, 4), 7], "age": {"age=old": 3}})
    >>> release
    Release: 4 cells in 2 tables (sex, age); 2 exact, 1 interval, 1 unpublished
    >>> [f"{cell.name}: {cell.value()}" for cell in release.cells]
    ['sex=f: 1-4', 'sex=m: 7', 'age=young: unknown', 'age=old: 3']
    """

    layout: Layout
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    area: str = ""
    noise: NoisyCounts | None = None

    def __post_init__(self) -> None:
        check_type(self.layout, Layout, name="layout", remedy="use Release.of for published numbers")
        for name in ("low", "high"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.int64))
        size = len(self.layout.names)
        if self.low.shape != (size,) or self.high.shape != (size,):
            raise ReleaseError(f"the release has {size} cells but {len(self.low)} bounds")
        if self.noise is not None and len(self.noise.values) != size:
            raise ReleaseError(f"the release has {size} cells but {len(self.noise.values)} noisy values")
        wrong = np.flatnonzero((self.low < 0) | (self.low > self.high) | (self.high > UNBOUNDED))
        if len(wrong):
            at = int(wrong[0])
            table, cell = self.layout.names[at]
            raise ReleaseError(
                f"cell {cell} of table {table} has an impossible interval",
                found=f"{self.low[at]} to {self.high[at]}",
                remedy="counts start at 0 and the lower end comes first",
            )

    @classmethod
    def of(
        cls,
        schema: Schema,
        published: Mapping[str, Values] | Mapping[Table, Values] | Mapping[str | Table, Values],
        *,
        area: str = "",
    ) -> Release:
        """From published numbers: table → values.

        Parameters
        ----------
        schema
            The schema the tables are over.
        published
            Table, or formula such as ``"age*sex"`` → one value per cell in order, or cell name →
            value. A value is a count, an interval ``(low, high)``, or None if it is not published.
        area
            The area's name.
        """
        check_type(schema, Schema, name="schema", remedy="make one with Schema.of or read_schema")
        check_type(published, Mapping, name="published", remedy="write {'age*sex': [3, (1, 4), None, 0]}")
        tables = {as_table(schema, table): values for table, values in published.items()}
        pairs = [pair for table, values in tables.items() for pair in _pairs(table, values)]
        low = np.array([pair[0] for pair in pairs], np.int64)
        high = np.array([pair[1] for pair in pairs], np.int64)
        return cls(Layout(schema, tuple(tables)), low, high, area)

    def __repr__(self) -> str:
        area = f" about {self.area}" if self.area else ""
        n_exact = int((self.low == self.high).sum())
        n_free = int(((self.low == 0) & (self.high >= UNBOUNDED)).sum())
        n_between = len(self.low) - n_exact - n_free
        kinds = [f"{n_exact:,} exact"]
        if n_between:
            kinds.append(several(n_between, "interval"))
        if n_free:
            kinds.append(f"{n_free:,} unpublished")
        return f"Release{area}: {_counted(self.layout)}; {', '.join(kinds)}"

    def to_arrow(self) -> pa.Table:
        """One row per cell: table, cell, value as published, low and high (null if unlimited)."""
        return pa.table(
            {
                "table": pa.array([table for table, _ in self.layout.names], pa.string()),
                "cell": pa.array([cell for _, cell in self.layout.names], pa.string()),
                "value": pa.array([cell.value() for cell in self.cells], pa.string()),
                "low": pa.array(self.low, pa.int64()),
                "high": pa.array(self.high, pa.int64(), mask=self.high >= UNBOUNDED),
            }
        )

    @property
    def schema(self) -> Schema:
        """The schema the tables are over."""
        return self.layout.schema

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables, in order."""
        return self.layout.tables

    @property
    def cells(self) -> tuple[Published, ...]:
        """Every cell in order, with its interval."""
        return self._cells

    @cached_property
    def _cells(self) -> tuple[Published, ...]:
        return tuple(
            Published(table, name, terms, low, high)
            for (table, name), terms, low, high in zip(
                self.layout.names, self.layout.terms, self.low.tolist(), self.high.tolist(), strict=True
            )
        )

    def agrees_with(self, records: Records) -> bool:
        """Whether records have every published count."""
        counts = self.layout.count(records.codes)
        return bool(np.all((self.low <= counts) & (counts <= self.high)))

    def merged(self, other: Release) -> Release:
        """This release and another publisher's about the same area, as one."""
        if other.schema != self.schema:
            raise ReleaseError("two releases over different schemas cannot be combined")
        layout = Layout(self.schema, (*self.tables, *other.tables))
        low, high = np.concatenate([self.low, other.low]), np.concatenate([self.high, other.high])
        return Release(layout, low, high, self.area, self._joined(other))

    def _joined(self, other: Release) -> NoisyCounts | None:
        """The noisy values of two releases; one without any has no laws."""
        if self.noise is None and other.noise is None:
            return None
        mine, theirs = (
            one.noise or NoisyCounts(one.low, (), np.full(len(one.low), -1)) for one in (self, other)
        )
        return mine.joined(theirs)


def refuse_sums(layout: Layout, what: str) -> None:
    """Raise if a cell is a sum of selections, or has a weight."""
    if layout.sums:
        table, cell = layout.names[layout.sums[0]]
        raise ReleaseError(
            f"{what} is for cells that are one selection each, but cell {cell} of table {table} is a sum",
            found=terms_as_text(layout.terms[layout.sums[0]]),
            remedy="publish what it adds up as cells of their own, or do not publish the table",
        )


def check_tables(tables: Sequence[Table], schema: Schema) -> None:
    """Raise unless names are unique and every cell fits the schema."""
    if not tables:
        raise ReleaseError("the release has no tables", remedy="name at least one table")
    seen: set[str] = set()
    for table in tables:
        if table.name in seen:
            raise ReleaseError("two tables have the same name", found=table.name, remedy="rename one of them")
        seen.add(table.name)
        for cell in table.cells:
            try:
                for _, selection in cell.terms:
                    schema.check_selection(selection)
            except SchemaError as error:
                raise ReleaseError(
                    f"cell {cell.name} of table {table.name}: {error.problem}",
                    column=error.column,
                    found=error.found,
                    remedy=error.remedy,
                ) from None


def as_table(schema: Schema, table: str | Table) -> Table:
    """A table as it is, or the one that a formula describes."""
    check_type(table, (str, Table), name="table", remedy="give a formula such as 'age*sex', or a Table")
    return make_table(schema, table) if isinstance(table, str) else table


def make_table(
    schema: Schema,
    formula: str,
    *,
    name: str = "",
    where: SelectionLike | None = None,
    groups: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    totals: bool = False,
    publisher: str = "",
    label: str = "",
) -> Table:
    """Make a table from a formula such as ``age*sex``: one cell per combination of values.

    Parameters
    ----------
    schema
        The schema the table is over.
    formula
        Attributes, or levels of a hierarchy, separated by ``*``; ``total`` (or an empty formula) is the
        grand total alone.
    name
        The table's name; the formula if empty.
    where
        The table's universe: a selection of records, as text or as a mapping.
    groups
        Attribute → group → the values it merges.
    totals
        Add all margins, down to the grand total, and the levels above those in the formula.
    publisher, label
        Who publishes the table, and what it is called.

    Returns
    -------
    Table
        The table.

    Raises
    ------
    ReleaseError
        If the formula, a group or the universe names unknown attributes or values, or there would be
        too many cells.

    Examples
    --------
    >>> schema = Schema.of({"age": ["0-17", "18-64", "65+"], "sex": ["f", "m"]})
    >>> table = make_table(schema, "age*sex", groups={"age": {"adult": ["18-64", "65+"]}},
    ...                    where="age=18-64|65+")
    >>> [(cell.name, str(cell.selection)) for cell in table.cells]
    [('age=adult,sex=f', 'age=18-64|65+,sex=f'), ('age=adult,sex=m', 'age=18-64|65+,sex=m')]
    """
    check_type(schema, Schema, name="schema", remedy="make one with Schema.of or read_schema")
    check_type(formula, str, name="formula", remedy="write 'age*sex'")
    title = name or formula
    universe = schema.check_selection(Selection.of(where))
    found = formula_cells(schema, formula, universe=universe, groups=groups or {}, totals=totals, table=title)
    cells = tuple(Cell(cell, selection) for cell, selection in found.items())
    return Table(title, cells, publisher, label)


def _pairs(table: Table, values: Values) -> list[tuple[int, int]]:
    """The bounds of a table's cells, from values in order or by name."""
    if isinstance(values, Mapping):
        named: dict[int, str] = {}
        for name in values:
            at = table.position(name)
            if at is None:
                raise ReleaseError(
                    f"table {table.name} has no such cell", found=name, remedy=closest(name, table.positions)
                )
            if at in named:
                raise ReleaseError(
                    f"cell {table.cells[at].name} of table {table.name} has two values",
                    found=f"{named[at]}, {name}",
                    remedy="keep one of them",
                )
            named[at] = name
        return [_pair(table, values[named[at]] if at in named else None) for at in range(len(table.cells))]
    check_type(values, (Sequence, np.ndarray), name=f"the values of table {table.name}", remedy="list them")
    if len(values) != len(table.cells):
        raise ReleaseError(f"table {table.name} has {len(table.cells)} cells but {len(values)} values")
    return [_pair(table, value) for value in values]


def _pair(table: Table, value: object) -> tuple[int, int]:
    if value is None:
        return 0, UNBOUNDED
    ends: tuple[object, ...] = value if isinstance(value, tuple) else (value, value)
    counts = [int(end) for end in ends if isinstance(end, int | np.integer)]
    if len(ends) != 2 or len(counts) != 2:
        raise ReleaseError(
            f"a value of table {table.name} is not a count",
            found=str(value),
            remedy="write a whole number, an interval (low, high), or None if it is not published",
        )
    return counts[0], counts[1]


def _counted(layout: Layout) -> str:
    names = [table.name for table in layout.tables]
    listed = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    tables = several(len(names), "table")
    return f"{several(len(layout.names), 'cell')} in {tables} ({listed})"
