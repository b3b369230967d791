"""Rules about cells: which counts of planned tables must stay unknown and by how much, and what is fixed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from numbers import Integral
from types import NoneType
from typing import Literal

from showthrough.errors import InputError, check_each, check_type, closest
from showthrough.release import Layout, Table

__all__ = [
    "CELL_WORDS",
    "ORDERS",
    "CellOrder",
    "CellRule",
    "Distance",
    "Order",
    "check_orders",
    "is_about_cells",
    "orders_by_area",
    "parse_cell_rule",
    "parse_distance",
]

#: What can be ordered about a cell; nothing if it only has a cost of its own.
Order = Literal["hide", "keep", "waive", "withhold", ""]
ORDERS: tuple[Order, ...] = ("hide", "keep", "waive", "withhold", "")

#: The words that make a condition one about cells.
CELL_WORDS = ("count", "zeros", "suppressed", "width", "below", "above", "table")


@dataclass(frozen=True)
class Distance:
    """A distance from a count: a number of records, or a share of the count in percent.

    >>> Distance(Fraction(20), percent=True).of(12), Distance(Fraction(3)).of(12)
    (3, 3)
    """

    amount: Fraction = Fraction(0)
    percent: bool = False

    def __post_init__(self) -> None:
        check_type(self.amount, (Integral, Fraction), name="amount", remedy="write Fraction(20)")
        if self.amount < 0 or (not self.percent and Fraction(self.amount).denominator != 1):
            raise InputError(
                "a distance must be a whole number or a percentage, 0 or more",
                found=str(self.amount),
                remedy="write 3 or 20%",
            )

    def __str__(self) -> str:
        return f"{float(self.amount):g}%" if self.percent else str(int(self.amount))

    def of(self, count: int) -> int:
        """It in records, rounded up."""
        return ceil(self.amount * count / 100) if self.percent else int(self.amount)


@dataclass(frozen=True)
class CellRule:
    """Cells of the planned tables whose counts must stay unknown, and by how much.

    Parameters
    ----------
    most
        The cells that count 1 to this many; None for cells of any count.
    zeros
        Cells of 0 too.
    suppressed
        Only the cells whose counts the planned tables do not show.
    tables
        Only the cells of these tables; none named, of all of them.
    width
        A reader's interval for the count must be at least this wide: 1 forbids only that the count is known.
    below, above
        A reader must not be able to exclude counts that are smaller, or larger, than the true one by as much
        as this.

    Examples
    --------
    >>> str(parse_cell_rule("count<=2,width>=3,above>=20%"))
    'count<=2,width>=3,above>=20%'
    """

    most: int | None = None
    zeros: bool = False
    suppressed: bool = False
    tables: tuple[str, ...] = ()
    width: Distance = Distance(Fraction(1))
    below: Distance = Distance()
    above: Distance = Distance()

    def __post_init__(self) -> None:
        check_type(self.most, (Integral, NoneType), name="most")
        check_each(self.tables, str, name="tables", remedy="list the names of tables")
        for name in ("width", "below", "above"):
            check_type(getattr(self, name), Distance, name=name, remedy="write Distance(Fraction(3))")
        if self.most is not None and self.most < 0:
            raise InputError("a count must be 0 or more", found=str(self.most), remedy="write count<=2")

    def __str__(self) -> str:
        parts = [] if self.most is None else [f"count<={self.most}"]
        parts += [word for word in ("zeros", "suppressed") if getattr(self, word)]
        parts += [f"table={'|'.join(self.tables)}"] if self.tables else []
        parts += [f"width>={self.width}"] if self.width != Distance(Fraction(1)) else []
        parts += [f"{name}>={end}" for name in ("below", "above") if (end := getattr(self, name)).amount]
        return ",".join(parts) or "any count"

    def covers(self, count: int) -> bool:
        """Whether a cell of this count must stay unknown."""
        if count == 0:
            return self.zeros or self.suppressed
        return self.most is None or count <= self.most


@dataclass(frozen=True)
class CellOrder:
    """What is ordered about one cell: that it must stay hidden or published, and what losing it costs.

    Parameters
    ----------
    table, cell
        The names of the table and of its cell.
    order
        ``hide``: its count must stay unknown; ``keep``: it must stay published; ``waive``: it must stay
        published, and what it states is not forbidden; ``withhold``: it may not be published, whatever
        follows about it; nothing: it only has a cost of its own.
    area
        The area that it is about; None for all areas.
    width, below, above
        How far its count must stay unknown; see :class:`CellRule`.
    cost
        What losing it costs, in cells: 1 is what other cells cost.
    reason
        Why, in words. A waiver needs one.
    """

    table: str
    cell: str
    order: Order = "hide"
    area: str | None = None
    width: Distance = Distance(Fraction(1))
    below: Distance = Distance()
    above: Distance = Distance()
    cost: Fraction | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        for name in ("table", "cell", "order", "reason"):
            check_type(getattr(self, name), str, name=name)
        if self.order not in ORDERS:
            raise InputError(
                "unknown order for a cell", found=self.order, remedy="write hide, keep, waive or withhold"
            )
        if self.order == "waive" and not self.reason.strip():
            raise InputError(
                "a waiver has no reason", found=f"{self.cell} of {self.table}", remedy="say why, as reason"
            )
        if self.cost is not None and self.cost < 0:
            raise InputError(
                f"the cost of {self.cell} is negative", found=str(self.cost), remedy="use 0 or more"
            )


def check_orders(orders: Iterable[CellOrder], rules: Iterable[CellRule], layout: Layout) -> None:
    """Raise unless the tables and cells exist, and nothing is ordered twice in different ways."""
    tables = {table.name: table for table in layout.tables}
    named = [(table, None) for rule in rules for table in rule.tables]
    for table, order in (*named, *((one.table, one) for one in orders)):
        if table not in tables:
            raise InputError("the policy names an unknown table", found=table, remedy=closest(table, tables))
        if order is not None and tables[table].position(order.cell) is None:
            raise _unknown(order, tables[table])
    seen = dict[tuple[str, int | None, str | None], Order]()
    for one in orders:
        key = one.table, tables[one.table].position(one.cell), one.area
        if one.order and seen.setdefault(key, one.order) != one.order:
            raise InputError(
                "two different orders for one cell",
                found=f"{seen[key]} and {one.order} for {one.cell} of {one.table}",
                remedy="decide for one of them",
            )


def _unknown(order: CellOrder, table: Table) -> InputError:
    return InputError(
        "the policy names an unknown cell",
        found=f"{order.cell} of {order.table}",
        remedy=closest(order.cell, [cell.name for cell in table.cells]),
    )


def orders_by_area(orders: Iterable[CellOrder]) -> Mapping[str | None, tuple[CellOrder, ...]]:
    """The orders about each area, and (under None) about all of them."""
    found = dict[str | None, list[CellOrder]]()
    for one in orders:
        found.setdefault(one.area, []).append(one)
    return {area: tuple(mine) for area, mine in found.items()}


def is_about_cells(text: str) -> bool:
    """Whether a condition is one about cells.

    >>> is_about_cells("width>=3, count<=2"), is_about_cells("singletons,k>=5")
    (True, False)
    """
    return any(re.match(r"[a-z]*", part.strip())[0] in CELL_WORDS for part in text.split(","))  # pyright: ignore[reportOptionalSubscript]


_LIMIT = re.compile(r"(count|width|below|above)\s*(>=|≥|<=|≤|<|=)\s*(\d{1,18}(?:\.\d{1,9})?)\s*(%?)")


def parse_cell_rule(text: str) -> CellRule:
    """A rule about cells as text: conditions joined by commas, all of which must hold.

    >>> parse_cell_rule("count<=2").most, parse_cell_rule("count<3,zeros").zeros
    (2, True)
    """
    found = dict[str, object]()
    for part in (part.strip() for part in text.split(",")):
        name, value = _condition(part, text)
        if name in found:
            raise InputError("a condition is given twice", found=text, remedy="remove one of them")
        found[name] = value
    if "most" not in found and found.get("zeros") and not found.get("suppressed"):
        found["most"] = 0
    return CellRule(**found)  # pyright: ignore[reportArgumentType]


def _condition(part: str, text: str) -> tuple[str, object]:
    if part in ("zeros", "suppressed"):
        return part, True
    if match := re.fullmatch(r"table\s*=\s*(.+)", part):
        return "tables", tuple(name.strip() for name in match[1].split("|"))
    match = _LIMIT.fullmatch(part)
    name, sign, number, percent = match.groups() if match else ("", "", "", "")
    if name == "count" and sign in ("<=", "≤", "<") and not percent and number.isdecimal():
        return "most", int(number) - (sign == "<")
    if name in ("width", "below", "above") and sign in (">=", "≥") and (percent or number.isdecimal()):
        return name, Distance(Fraction(number), percent=bool(percent))
    raise InputError(
        "a rule about cells cannot have this condition",
        found=part or text,
        remedy="write count<=2, zeros, suppressed, width>=3, below>=20%, above>=20% or table=name, joined by "
        "commas; forbid claims separately, with a --forbid of their own",
    )


def parse_distance(text: str) -> Distance:
    """A distance as text.

    >>> str(parse_distance("20 %")), str(parse_distance("3"))
    ('20%', '3')
    """
    match = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*(%?)\s*", text)
    if match is None or (not match[2] and not match[1].isdecimal()):
        raise InputError(
            "a distance must be a whole number or a percentage", found=text, remedy="write 3 or 20%"
        )
    return Distance(Fraction(match[1]), percent=bool(match[2]))
