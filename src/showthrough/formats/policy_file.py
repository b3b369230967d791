"""A policy as a TOML file: what is forbidden, what may be changed, and what it costs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, StrictBool, StrictFloat, StrictInt

from showthrough.errors import InputError
from showthrough.formats.cell_orders import make_order, read_cell_orders
from showthrough.formats.design import beside
from showthrough.formats.records_file import read_records
from showthrough.formats.toml import Conditions, Shape, Text, check_shape, read_toml
from showthrough.notation import Notation, parse_value
from showthrough.release import Layout
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.protect.cell_rules import CellOrder
from showthrough.tables.protect.change import Change, Cost, parse_moves
from showthrough.tables.protect.moves import Mark
from showthrough.tables.protect.policy import Narrow, Policy
from showthrough.tables.surprise import Reference, ReferenceDistribution

__all__ = [
    "read_policy",
]

Number = StrictInt | StrictFloat
Texts = Annotated[list[Text], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]


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
