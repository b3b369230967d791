"""What must not follow from a release, what may be changed, and what each change costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from typing import Literal

from showthrough.errors import InputError, closest
from showthrough.release import Layout
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.audit import Scope
from showthrough.tables.protect.moves import Groups, Mark
from showthrough.tables.surprise import Reference

__all__ = [
    "Change",
    "Cost",
    "Forbidden",
    "Kind",
    "Narrow",
    "Policy",
    "parse_forbidden",
    "parse_moves",
]

Kind = Literal["suppress", "round", "merge", "drop"]
KINDS: tuple[Kind, ...] = ("suppress", "round", "merge", "drop")


@dataclass(frozen=True)
class Forbidden:
    """Claims that must not follow: those that meet all of these conditions.

    ``most`` records at most and ``columns`` columns at least; ``sensitive``: about one of these
    attributes; ``baseline``: less likely than this in a random area; ``hidden``: no cell of the
    release as it was planned states it. With ``groups`` it is about what is learnt: whoever knows
    some columns of a record learns another one (one of ``sensitive``, if given), because some
    records match and all of them have the same value of it.
    """

    most: int | None = None
    columns: int = 1
    sensitive: tuple[str, ...] = ()
    baseline: float | None = None
    hidden: bool = False
    groups: bool = False

    def __post_init__(self) -> None:
        if self.groups and (self.most is not None or self.baseline is not None or self.hidden):
            raise InputError(
                "group disclosure goes with k and sensitive only",
                found=str(self),
                remedy="forbid the other conditions apart: several --forbid add up",
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
    """The count of these records must not be known to within less than ``width``.

    With a width of 1 only the exact count is forbidden: ends that differ by 1 are 1 apart.
    """

    where: Selection
    width: int

    def __post_init__(self) -> None:
        if self.width < 1:
            raise InputError(
                "an interval cannot be narrower than 0", found=str(self.width), remedy="start at 1"
            )

    def __str__(self) -> str:
        return f"interval<{self.width} of {self.where or 'all records'}"


@dataclass(frozen=True)
class Change:
    """What may be done: kinds of moves, bases to round to, groupings to merge by, and where.

    ``tables`` may be changed (None: all), those in ``keep`` may not, nor the cells in
    ``keep_cells`` (each as table, cell). ``groupings`` maps an attribute to named groupings, each a set
    of disjoint groups of its values; merging can always take all values of an attribute together.
    """

    kinds: tuple[Kind, ...] = ("suppress", "drop")
    bases: tuple[int, ...] = ()
    groupings: Mapping[str, Mapping[str, Groups]] = field(default_factory=dict[str, Mapping[str, Groups]])
    mark: Mark = field(default_factory=Mark)
    tables: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    keep_cells: frozenset[tuple[str, str]] = frozenset()

    def __post_init__(self) -> None:
        for base in self.bases:
            if base < 2:
                raise InputError("impossible rounding base", found=str(base), remedy="use 2 or more")
        for attribute, named in self.groupings.items():
            for name, groups in named.items():
                values = [value for group in groups for value in group]
                if len(set(values)) < len(values) or not all(groups):
                    raise InputError(
                        f"grouping {name} of {attribute} has an empty group or a value in two groups",
                        found=str(groups),
                        remedy="put every value in one group, or in none",
                    )

    def check(self, layout: Layout) -> None:
        """Raise unless tables, cells, attributes and values exist."""
        names = {table.name for table in layout.tables}
        for table in (*(self.tables or ()), *self.keep, *(table for table, _ in self.keep_cells)):
            if table not in names:
                raise InputError(
                    "the policy names an unknown table", found=table, remedy=closest(table, names)
                )
        for table, cell in self.keep_cells - set(layout.names):
            raise InputError("the policy names an unknown cell", found=f"{cell} of {table}")
        for attribute, named in self.groupings.items():
            for groups in named.values():
                for value in (value for group in groups for value in group):
                    layout.schema[attribute].code(value)

    def allows(self, table: str) -> bool:
        """Whether a table may be changed."""
        return (self.tables is None or table in self.tables) and table not in self.keep


@dataclass(frozen=True)
class Cost:
    """What is lost, in the publisher's own units: per cell suppressed, dropped, rounded, or lost by
    merging; per record in the cells suppressed or dropped; a factor per table."""

    suppressed: Fraction = Fraction(1)
    dropped: Fraction = Fraction(1)
    rounded: Fraction = Fraction(1, 2)
    merged: Fraction = Fraction(1)
    records: Fraction = Fraction(0)
    weights: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])

    def __post_init__(self) -> None:
        for name in ("suppressed", "dropped", "rounded", "merged", "records"):
            object.__setattr__(self, name, _positive(name, getattr(self, name)))
        weights = {table: _positive(table, weight) for table, weight in self.weights.items()}
        object.__setattr__(self, "weights", weights)

    def check(self, layout: Layout) -> None:
        """Raise unless the tables exist."""
        names = {table.name for table in layout.tables}
        for table in self.weights:
            if table not in names:
                raise InputError("a cost is for an unknown table", found=table, remedy=closest(table, names))


@dataclass(frozen=True)
class Policy:
    """What must not follow, what may be changed, and at which cost.

    ``reference`` is where records might have been drawn from, for conditions on the baseline.

    >>> str(Policy.of("singletons,k>=5", "groups,sensitive=disease").forbidden[0])
    'singletons,k>=5'
    """

    forbidden: tuple[Forbidden, ...] = ()
    narrow: tuple[Narrow, ...] = ()
    change: Change = field(default_factory=Change)
    cost: Cost = field(default_factory=Cost)
    reference: Reference | None = None

    def __post_init__(self) -> None:
        if not self.forbidden and not self.narrow:
            raise InputError(
                "the policy forbids nothing", remedy='say what must not follow: "singletons,k>=5"'
            )
        if self.reference is None and any(one.baseline is not None for one in self.forbidden):
            raise InputError(
                "a condition on the baseline needs reference records", remedy="name them in the policy"
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
    ) -> Policy:
        """From conditions as they are written, and moves such as ``"suppress,round:5"``."""
        change = change or Change()
        if moves:
            kinds, bases = parse_moves(moves)
            change = Change(
                kinds, bases, change.groupings, change.mark, change.tables, change.keep, change.keep_cells
            )
        read = tuple(parse_forbidden(text) for text in forbidden)
        return cls(read, tuple(narrow), change, cost or Cost(), reference)

    def check(self, layout: Layout) -> None:
        """Raise unless everything it names exists."""
        for one in self.forbidden:
            one.check(layout.schema)
        for one in self.narrow:
            layout.schema.check_selection(one.where)
        self.change.check(layout)
        self.cost.check(layout)

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


def _positive(name: str, value: Fraction | int | float) -> Fraction:
    made = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    if made < 0:
        raise InputError(f"the cost {name} is negative", found=str(value), remedy="costs start at 0")
    return made


_NUMBER = re.compile(r"\s*(k|multiplicity|baseline)\s*(>=|≥|<=|≤|<)\s*([0-9.eE+-]+)\s*")


def parse_forbidden(text: str) -> Forbidden:
    """Conditions as they are written, joined by commas: all of them must hold.

    >>> parse_forbidden("singletons,k>=5")
    Forbidden(most=1, columns=5, sensitive=(), baseline=None, hidden=False, groups=False)
    """
    found: dict[str, object] = {}
    for part in (part.strip() for part in text.split(",")):
        name, value = _condition(part, text)
        if name in found:
            raise InputError("a condition occurs twice", found=text)
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
        "cannot read what is forbidden",
        found=part or text,
        remedy="write singletons, multiplicity<=3, k>=5, sensitive=attribute, groups, hidden or "
        "baseline<0.01, joined by commas",
    )


def _limit(name: str, sign: str, number: str) -> tuple[str, object]:
    if name == "k" and sign in (">=", "≥"):
        return "columns", int(number)
    if name == "multiplicity" and sign in ("<=", "≤", "<"):
        return "most", int(number) - (sign == "<")
    if name == "baseline" and sign == "<" and isfinite(float(number)):
        return "baseline", float(number)
    raise ValueError(name)


def parse_moves(texts: str | Sequence[str]) -> tuple[tuple[Kind, ...], tuple[int, ...]]:
    """Kinds of moves, and bases to round to.

    >>> parse_moves("suppress,round:5,round:3,drop")
    (('suppress', 'round', 'drop'), (5, 3))
    """
    parts = texts.split(",") if isinstance(texts, str) else texts
    kinds: list[Kind] = []
    bases: list[int] = []
    for part in (part.strip() for part in parts):
        name, _, base = part.partition(":")
        kind: Kind | None = next((known for known in KINDS if known == name), None)
        if kind is None or (kind == "round") != (base.isdecimal() and len(base) < 19):
            remedy = "write suppress, round:5, merge or drop, joined by commas"
            raise InputError("unknown move", found=part, remedy=remedy)
        kinds.append(kind)
        bases += [int(base)] if base else []
    return tuple(dict.fromkeys(kinds)), tuple(dict.fromkeys(bases))
