"""A policy as a TOML file: what is forbidden, what may be changed, and what it costs.

Orders about single cells are in a file of their own: a row for each cell, or a column of flags beside
the counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from pydantic import BeforeValidator, Field, StrictBool, StrictFloat, StrictInt

from showthrough.errors import InputError, closest
from showthrough.formats.counts_file import cell_positions
from showthrough.formats.design import beside
from showthrough.formats.records_file import read_records
from showthrough.formats.toml import Conditions, Shape, Text, check_shape, read_toml
from showthrough.frames import Source
from showthrough.notation import Notation, parse_value
from showthrough.records import as_text
from showthrough.release import Layout
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.protect.cell_rules import ORDERS, CellOrder, Distance, Order, parse_distance
from showthrough.tables.protect.change import Change, Cost, parse_moves
from showthrough.tables.protect.moves import Mark
from showthrough.tables.protect.policy import Narrow, Policy
from showthrough.tables.surprise import Reference, ReferenceDistribution

__all__ = [
    "make_order",
    "read_cell_orders",
    "read_flags",
    "read_policy",
]

Number = StrictInt | StrictFloat
Texts = Annotated[list[Text], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]

#: What a flag can be, beside the name of an order: as tools and offices write them.
_FLAGS: dict[str, Order | None] = {
    **dict.fromkeys(("1", "x", "yes", "true", "u", "p", "c", "primary", "confidential"), "hide"),
    **dict.fromkeys(("z", "fixed"), "keep"),
    **dict.fromkeys(("", "0", "no", "false", "s", "-", "."), None),
}

#: The columns of a file of orders, and those that it may have in common with a file of counts.
_COLUMNS = tuple(one.name for one in fields(CellOrder))
_OTHERS = ("value",)


class IntervalShape(Shape):
    """``[[intervals]]``"""

    where: Conditions = Field(default_factory=dict[str, list[str]])
    narrower_than: StrictInt

    def made(self) -> Narrow:
        """The condition."""
        return Narrow(Selection.of(self.where), self.narrower_than)


class CellShape(Shape):
    """``[[cells]]``"""

    table: Text
    cell: Text
    order: Text = "hide"
    area: Text | None = None
    width: Text | StrictInt | None = None
    below: Text | StrictInt | None = None
    above: Text | StrictInt | None = None
    cost: Number | None = None
    reason: str = ""

    def made(self) -> CellOrder:
        """The order."""
        given = {name: getattr(self, name) for name in ("area", "width", "below", "above", "cost", "reason")}
        texts = {name: str(value) for name, value in given.items() if value is not None}
        return make_order((self.table, self.cell), self.order, texts)


class ChangeShape(Shape):
    """``[change]``"""

    moves: Texts = Field(default_factory=lambda: ["suppress", "drop"])
    mark: Text = "unknown"
    tables: Texts | None = None
    keep: Texts = Field(default_factory=list[str])
    keep_cells: dict[str, Texts] = Field(default_factory=dict[str, list[str]])
    keep_zeros: StrictBool = False
    groups: dict[str, dict[str, list[list[Text]]]] = Field(
        default_factory=dict[str, dict[str, list[list[str]]]]
    )

    def made(self) -> Change:
        """What may be changed."""
        kinds, bases, controlled = parse_moves(self.moves) if self.moves else ((), (), ())
        groupings = {
            attribute: {name: tuple(tuple(group) for group in groups) for name, groups in named.items()}
            for attribute, named in self.groups.items()
        }
        kept = frozenset((table, cell) for table, cells in self.keep_cells.items() for cell in cells)
        only = None if self.tables is None else tuple(self.tables)
        return Change(
            kinds,
            bases,
            groupings,
            read_mark(self.mark),
            only,
            tuple(self.keep),
            kept,
            keep_zeros=self.keep_zeros,
            controlled=controlled,
        )


class CostShape(Shape):
    """``[cost]``"""

    suppressed: Number = 1
    dropped: Number = 1
    rounded: Number = 0.5
    merged: Number = 1
    records: Number = 0
    weights: dict[str, Number] = Field(default_factory=dict[str, int | float])
    totals: Number = 1
    levels: dict[str, Number] = Field(default_factory=dict[str, int | float])

    def made(self) -> Cost:
        """The costs, as exact as they are written."""
        weights = {table: _exact(weight) for table, weight in self.weights.items()}
        levels = {name: _exact(factor) for name, factor in self.levels.items()}
        return Cost(
            _exact(self.suppressed),
            _exact(self.dropped),
            _exact(self.rounded),
            _exact(self.merged),
            _exact(self.records),
            weights,
            _exact(self.totals),
            levels,
        )


class PolicyShape(Shape):
    """A policy file."""

    forbid: Texts = Field(default_factory=list[str])
    intervals: list[IntervalShape] = Field(default_factory=list[IntervalShape])
    cells: list[CellShape] = Field(default_factory=list[CellShape])
    cell_list: str | None = None
    reference: str | None = None
    change: ChangeShape = Field(default_factory=ChangeShape)
    cost: CostShape = Field(default_factory=CostShape)


def read_policy(
    path: str | os.PathLike[str],
    schema: Schema,
    *,
    reference: Reference | None = None,
    layout: Layout | None = None,
    orders: Iterable[CellOrder] = (),
) -> Policy:
    """Read a policy file.

    Parameters
    ----------
    path
        A TOML file with ``forbid``, ``[[intervals]]``, ``[[cells]]``, ``cell_list``, ``[change]``, ``[cost]``
        and ``reference``.
    schema
        The schema of the release, which the reference records are read with.
    reference
        The distribution for baselines, where the file names no reference records.
    layout
        The tables, which a list of cells is read with.
    orders
        More orders about single cells.

    Returns
    -------
    Policy

    Raises
    ------
    InputError
        If the file cannot be read, or something in it is not valid.
    """
    file = str(path)
    shape = check_shape(PolicyShape, read_toml(path, error=InputError), file=file, error=InputError)
    if shape.reference is not None:
        found = beside(path, shape.reference)
        reference = ReferenceDistribution.of(read_records(Path(found), schema))
    listed = list(orders)
    if shape.cell_list is not None:
        if layout is None:
            raise InputError(
                "a list of cells can be read for known tables only", file=file, remedy="give layout"
            )
        listed += read_cell_orders(beside(path, shape.cell_list), layout)
    try:
        return Policy.of(
            *shape.forbid,
            narrow=[one.made() for one in shape.intervals],
            change=shape.change.made(),
            cost=shape.cost.made(),
            reference=reference,
            orders=[*(one.made() for one in shape.cells), *listed],
        )
    except InputError as error:
        raise error.at(file=file) from None


def read_mark(text: str) -> Mark:
    """What a suppressed cell shows, as it is written.

    >>> read_mark("<5")
    Mark(low=0, high=4)
    """
    return Mark(*parse_value(text, Notation()))


def _exact(number: float) -> Fraction:
    try:
        return Fraction(str(number))
    except ValueError:  # infinite, not a number, or thousands of digits
        raise InputError("a cost is not a finite number", remedy="use numbers such as 1 or 0.5") from None


def read_cell_orders(
    source: str | os.PathLike[str], layout: Layout, *, by: str | None = None
) -> tuple[CellOrder, ...]:
    """Read what is ordered about single cells.

    Parameters
    ----------
    source
        A CSV or Parquet file with the columns ``cell`` and ``table`` (which may be left out if cell names
        are unique), and any of ``order`` (hide, keep, waive or withhold; hide without it), ``area``,
        ``width``, ``below``, ``above``, ``cost`` and ``reason``.
    layout
        The tables.
    by
        The column that names the area, if it is not ``area``.

    Raises
    ------
    InputError
        If a cell, an order or a number is not valid; the message names file, row and column.
    """
    opened = Source.of(source, error=InputError)
    area = by if by in opened.names else "area"
    known = (*_COLUMNS, *_OTHERS, area)
    for name in opened.names:
        if name not in known:
            raise InputError(
                "a file of orders has no such column",
                file=opened.name,
                column=name,
                remedy=f"{closest(name, known)}; a column of flags in a file of counts is named with --flags",
            )
    return _read(opened, layout, area, [name for name in opened.names if name not in _OTHERS])


def read_flags(
    source: str | os.PathLike[str], layout: Layout, flags: str, *, by: str | None = None
) -> tuple[CellOrder, ...]:
    """Read what a column of flags in a tidy file of counts says about cells.

    Parameters
    ----------
    source
        The counts, with the columns ``cell`` and ``table``.
    layout
        The tables.
    flags
        The column: ``1``, ``x``, ``yes``, ``u``, ``p`` or ``c`` hide a cell, ``z`` keeps it, and ``0``,
        ``no``, ``s`` or nothing say nothing about it; hide, keep and withhold are what they say.
    by
        The column that names the area, if it is not ``area``.

    Raises
    ------
    InputError
        If the column does not exist, or holds something else.
    """
    opened = Source.of(source, error=InputError)
    if flags not in opened.names:
        raise InputError(
            "no such column", file=opened.name, column=flags, remedy=closest(flags, opened.names)
        )
    area = by if by in opened.names else "area"
    wanted = [name for name in (area, "table", "cell", flags) if name in opened.names]
    return _read(opened, layout, area, wanted, flags=flags)


def _read(
    opened: Source, layout: Layout, area: str, columns: Sequence[str], *, flags: str | None = None
) -> tuple[CellOrder, ...]:
    if "cell" not in opened.names:
        raise InputError(
            "the column cell is missing",
            file=opened.name,
            column="cell",
            remedy=f"name each cell in a column cell; {closest('cell', opened.names)}",
        )
    with opened.locating():
        table = opened.table(columns)
        places = cell_positions(table, layout, opened.name).tolist()
        texts = {name: _texts(table[name]) for name in table.column_names}
        found = list[CellOrder]()
        for row, place in enumerate(places):
            given = {name: column[row] for name, column in texts.items() if name not in ("table", "cell")}
            given["area"] = given.pop(area, "") if area in texts else ""
            try:
                order = _flagged(given.pop(flags), flags) if flags else given.pop("order", "hide")
                if order is not None:
                    found.append(make_order(layout.names[place], order, given))
            except InputError as error:
                raise error.at(file=opened.name, row=row + 1) from None
    return tuple(found)


def _texts(column: pa.ChunkedArray) -> list[str]:
    return [str(text or "").strip() for text in as_text(column).to_pylist()]


def _flagged(text: str, column: str) -> str | None:
    if text.lower() in ORDERS[:2] or text.lower() == "withhold":
        return text.lower()
    if text.lower() not in _FLAGS:
        raise InputError(
            "unknown flag",
            column=column,
            found=text,
            remedy="write 1 to hide a cell, z to keep it, and 0 for the others",
        )
    return _FLAGS[text.lower()]


def make_order(cell: tuple[str, str], order: str, given: dict[str, str]) -> CellOrder:
    """An order about a cell of a table from texts, each by the name of its column.

    >>> make_order(("sex", "sex=f"), "hide", {"above": "20%", "cost": "2.5"}).cost
    Fraction(5, 2)
    """
    chosen: Order | None = next((known for known in ORDERS if known == order.lower()), None)
    if chosen is None:
        raise InputError(
            "unknown order for a cell",
            column="order",
            found=order,
            remedy=closest(order, [one for one in ORDERS if one]),
        )
    ends = {name: _distance(name, given[name]) for name in ("width", "below", "above") if given.get(name)}
    cost = _cost(given["cost"]) if given.get("cost") else None
    area, reason = given.get("area") or None, given.get("reason", "")
    return CellOrder(*cell, order=chosen, area=area, cost=cost, reason=reason, **ends)


def _distance(column: str, text: str) -> Distance:
    try:
        return parse_distance(text)
    except InputError as error:
        raise error.at(column=column) from None


def _cost(text: str) -> Fraction:
    try:
        found = Fraction(text) if len(text) < 40 and "/" not in text else None
    except ValueError:
        found = None
    if found is None or found < 0:
        raise InputError(
            "a cost must be a number, 0 or more", column="cost", found=text, remedy="write 2 or 0.5"
        )
    return found
