"""A policy: which claims are forbidden, which changes are allowed, and what each change costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from numbers import Integral, Real
from types import NoneType

from showthrough.errors import InputError, check_each, check_type
from showthrough.release import Layout
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.audit import Scope
from showthrough.tables.protect.cell_rules import (
    CELL_WORDS,
    CellOrder,
    CellRule,
    check_orders,
    is_about_cells,
    orders_by_area,
    parse_cell_rule,
)
from showthrough.tables.protect.change import Change, Cost, meant, parse_moves
from showthrough.tables.surprise import Reference

__all__ = [
    "Forbidden",
    "Narrow",
    "Policy",
    "PolicyLike",
    "parse_forbidden",
]

#: The words of a condition, as :func:`parse_forbidden` reads them.
_CONDITIONS = ("singletons", "multiplicity", "sensitive", "groups", "hidden", "baseline", *CELL_WORDS)


@dataclass(frozen=True)
class Forbidden:
    """Claims that must not follow from a release: those that meet all of these conditions.

    Parameters
    ----------
    most
        The claim is about this many records at most.
    columns
        It has at least this many columns.
    sensitive
        It is about one of these attributes.
    baseline
        In an area drawn at random it is less likely than this.
    hidden
        No cell of the planned release states it directly.
    groups
        Forbid group disclosure instead: that whoever knows some columns of a record learns another
        one (one of ``sensitive``, if given), because all records that match have the same value.
    """

    most: int | None = None
    columns: int = 1
    sensitive: tuple[str, ...] = ()
    baseline: float | None = None
    hidden: bool = False
    groups: bool = False

    def __post_init__(self) -> None:
        check_type(self.most, (Integral, NoneType), name="most")
        check_type(self.columns, Integral, name="columns")
        check_each(self.sensitive, str, name="sensitive", remedy="write ('disease',)")
        check_type(self.baseline, (Real, NoneType), name="baseline")
        if self.groups and (self.most is not None or self.baseline is not None or self.hidden):
            raise InputError(
                "groups can be combined with k and sensitive only",
                found=str(self),
                remedy="forbid the other conditions separately, each with its own --forbid",
            )

    def __str__(self) -> str:
        parts = ["groups"] if self.groups else []
        if self.most is not None:
            parts.append("singletons" if self.most == 1 else f"multiplicity<={self.most}")
        parts += [f"k>={self.columns}"] if self.columns > 1 else []
        parts += [f"sensitive={'|'.join(self.sensitive)}"] if self.sensitive else []
        parts += [f"baseline<{self.baseline}"] if self.baseline is not None else []
        parts += ["hidden"] if self.hidden else []
        return ",".join(parts) or "any"

    def check(self, schema: Schema) -> None:
        """Raise unless the sensitive attributes exist."""
        for name in self.sensitive:
            schema[name]


@dataclass(frozen=True)
class Narrow:
    """An interval that must not be known: the count of some records to within less than ``width``.

    Parameters
    ----------
    where
        The records that are counted.
    width
        The least distance between the two ends; 1 forbids only that the exact count is known.
    """

    where: Selection
    width: int

    def __post_init__(self) -> None:
        check_type(self.where, Selection, name="where", remedy="write Selection.of('age=old')")
        check_type(self.width, Integral, name="width")
        if self.width < 1:
            raise InputError(
                "the width of an interval must be 1 or more", found=str(self.width), remedy="use 1 or more"
            )

    def __str__(self) -> str:
        return f"interval<{self.width} of {self.where or 'all records'}"


@dataclass(frozen=True)
class Policy:
    """What must not follow from a release, what may be changed, and at which cost.

    Parameters
    ----------
    forbidden
        The forbidden claims.
    narrow
        The intervals that must not be known.
    change
        What may be changed.
    cost
        What each change costs.
    reference
        The distribution that records might have been drawn from, for conditions on the baseline.
    cells
        The cells of the planned tables whose counts must stay unknown, by rules.
    orders
        What is ordered about single cells: to hide them, or keep them, and what losing them costs.

    Raises
    ------
    InputError
        If nothing is forbidden, or a baseline has no reference.

    Examples
    --------
    Forbidden claims and moves can be written as on the command line:

    >>> policy = Policy.of("singletons,k>=5", "groups,sensitive=disease", moves="suppress,round:5")
    >>> str(policy.forbidden[0]), policy.change.kinds
    ('singletons,k>=5', ('suppress', 'round'))
    >>> Policy.of("count<=2,width>=3").cells[0].most
    2
    """

    forbidden: tuple[Forbidden, ...] = ()
    narrow: tuple[Narrow, ...] = ()
    change: Change = field(default_factory=Change)
    cost: Cost = field(default_factory=Cost)
    reference: Reference | None = None
    cells: tuple[CellRule, ...] = ()
    orders: tuple[CellOrder, ...] = ()

    def __post_init__(self) -> None:
        check_each(self.forbidden, Forbidden, name="forbidden", remedy='use Policy.of("singletons,k>=5")')
        check_each(self.cells, CellRule, name="cells", remedy='use Policy.of("count<=2")')
        check_each(self.orders, CellOrder, name="orders", remedy="write (CellOrder('sex', 'sex=f'),)")
        check_each(self.narrow, Narrow, name="narrow", remedy="write (Narrow(selection, 2),)")
        check_type(self.change, Change, name="change", remedy="write Change(kinds=('suppress',))")
        check_type(self.cost, Cost, name="cost", remedy="write Cost(dropped=3)")
        if self.reference is not None and not hasattr(self.reference, "shares"):
            raise InputError(
                f"reference must be a distribution of records, not {type(self.reference).__name__}",
                remedy='name the records in a policy file: reference = "records.csv"',
            )
        hidden = any(order.order == "hide" for order in self.orders)
        if not (self.forbidden or self.narrow or self.cells or hidden):
            raise InputError("no forbidden claims given", remedy='name them, such as "singletons,k>=5"')
        if self.reference is None and any(one.baseline is not None for one in self.forbidden):
            raise InputError(
                "a condition on the baseline needs reference records",
                remedy='name them in the policy file: reference = "records.csv"',
            )

    @classmethod
    def of(
        cls,
        *forbidden: str,
        moves: str | Sequence[str] = (),
        change: Change | None = None,
        cost: Cost | None = None,
        narrow: Iterable[Narrow] = (),
        reference: Reference | None = None,
        orders: Iterable[CellOrder] = (),
    ) -> Policy:
        """From conditions such as ``"singletons,k>=5"`` and moves such as ``"suppress,round:5"``."""
        check_type(narrow, Iterable, name="narrow", remedy="write [Narrow(selection, 2)]")
        check_type(orders, Iterable, name="orders", remedy="write [CellOrder('sex', 'sex=f')]")
        claims, cells = _parsed(forbidden)
        made = cls(claims, tuple(narrow), change or Change(), cost or Cost(), reference, cells, tuple(orders))
        return made.extended(moves=moves)

    @classmethod
    def from_any(cls, given: PolicyLike, *, moves: str | Sequence[str] = ()) -> Policy:
        """A policy as it is, or from one or several conditions."""
        check_type(given, (Policy, str, Sequence), name="policy", remedy='write "singletons,k>=5"')
        if isinstance(given, Policy):
            return given.extended(moves=moves)
        return cls.of(*([given] if isinstance(given, str) else given), moves=moves)

    def extended(self, *forbidden: str, moves: str | Sequence[str] = ()) -> Policy:
        """The policy with more forbidden claims, and with these moves instead of its own, if any."""
        claims, cells = _parsed(forbidden)
        change = self.change
        if moves:
            kinds, bases, controlled = parse_moves(moves)
            change = replace(change, kinds=kinds, bases=bases, controlled=controlled)
        return replace(self, forbidden=(*self.forbidden, *claims), cells=(*self.cells, *cells), change=change)

    def check(self, layout: Layout) -> None:
        """Raise unless everything it names exists."""
        for one in self.forbidden:
            one.check(layout.schema)
        for one in self.narrow:
            layout.schema.check_selection(one.where)
        check_orders(self.orders, self.cells, layout)
        self.change.check(layout)
        self.cost.check(layout)

    def orders_of(self, area: str) -> tuple[CellOrder, ...]:
        """What is ordered about single cells of an area."""
        return (*self._orders.get(None, ()), *self._orders.get(area, ()))

    @cached_property
    def _orders(self) -> Mapping[str | None, tuple[CellOrder, ...]]:
        return orders_by_area(self.orders)

    @property
    def only_cells(self) -> bool:
        """Whether nothing is forbidden but that the counts of some cells are known."""
        return not self.forbidden and not self.narrow

    @property
    def scope(self) -> Scope | None:
        """The claims an audit must decide to see whether something forbidden follows; None: none."""
        if not self.forbidden:
            return None
        if any(one.groups for one in self.forbidden):
            return Scope()
        most = [one.most for one in self.forbidden]
        limit = None if None in most else (1, max(m for m in most if m is not None))
        return Scope(min(one.columns for one in self.forbidden), multiplicity=limit)


#: What functions accept as a policy: also conditions as the command line takes them.
PolicyLike = Policy | str | Sequence[str]


def _parsed(texts: Iterable[str]) -> tuple[tuple[Forbidden, ...], tuple[CellRule, ...]]:
    """Conditions about claims, and those about cells."""
    for text in texts:
        check_type(text, str, name="forbidden claims", remedy='write "singletons,k>=5"')
    cells = [text for text in texts if is_about_cells(text)]
    return (
        tuple(parse_forbidden(text) for text in texts if text not in cells),
        tuple(parse_cell_rule(text) for text in cells),
    )


_NUMBER = re.compile(r"\s*(k|multiplicity|baseline)\s*(>=|≥|<=|≤|<)\s*([0-9.eE+-]+)\s*")


def parse_forbidden(text: str) -> Forbidden:
    """Forbidden claims as text: conditions joined by commas, all of which must hold.

    >>> parse_forbidden("singletons,k>=5")
    Forbidden(most=1, columns=5, sensitive=(), baseline=None, hidden=False, groups=False)
    """
    check_type(text, str, name="forbidden claims", remedy='write "singletons,k>=5"')
    found: dict[str, object] = {}
    for part in (part.strip() for part in text.split(",")):
        name, value = _condition(part, text)
        if name in found:
            raise InputError("a condition is given twice", found=text, remedy="remove one of them")
        found[name] = value
    return Forbidden(**found)  # pyright: ignore[reportArgumentType]


def _condition(part: str, text: str) -> tuple[str, object]:
    if part in ("groups", "hidden"):
        return part, True
    if part == "singletons":
        return "most", 1
    if match := re.fullmatch(r"sensitive\s*=\s*(.+)", part):
        return "sensitive", tuple(name.strip() for name in match[1].split("|"))
    if match := _NUMBER.fullmatch(part):
        try:
            return _limit(match[1], match[2], match[3])
        except ValueError:
            pass
    raise InputError(
        "unknown condition for forbidden claims",
        found=part or text,
        remedy=meant(part, _CONDITIONS)
        + "write singletons, multiplicity<=3, k>=5, sensitive=attribute, groups, hidden or "
        "baseline<0.01, joined by commas; or count<=2 about the cells of the tables",
    )


def _limit(name: str, sign: str, number: str) -> tuple[str, object]:
    if name == "k" and sign in (">=", "≥"):
        return "columns", int(number)
    if name == "multiplicity" and sign in ("<=", "≤", "<"):
        return "most", int(number) - (sign == "<")
    if name == "baseline" and sign == "<" and isfinite(float(number)):
        return "baseline", float(number)
    raise ValueError(name)
