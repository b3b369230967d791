"""A policy: which claims are forbidden, which changes are allowed, and what each change costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isfinite
from numbers import Integral, Real
from types import NoneType
from typing import Literal

from showthrough.errors import InputError, check_each, check_type, closest, nearest
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
    "PolicyLike",
    "parse_forbidden",
    "parse_moves",
]

Kind = Literal["suppress", "round", "merge", "drop"]
KINDS: tuple[Kind, ...] = ("suppress", "round", "merge", "drop")

#: The words of a condition, as :func:`parse_forbidden` reads them.
_CONDITIONS = ("singletons", "multiplicity", "sensitive", "groups", "hidden", "baseline")


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
class Change:
    """What may be changed in a release, and how.

    Parameters
    ----------
    kinds
        The kinds of moves: ``suppress``, ``round``, ``merge`` and ``drop``.
    bases
        The bases that tables may be rounded to.
    groupings
        Attribute → name → disjoint groups of its values that may be merged. All values of an
        attribute together can always be merged.
    mark
        What a suppressed cell shows.
    tables
        The tables that may be changed; None for all.
    keep
        Tables that must not be changed.
    keep_cells
        Cells that must not be changed, each as (table, cell).
    earlier
        Tables that are already out. They are not changed, and what follows from them alone cannot be hidden.
    """

    kinds: tuple[Kind, ...] = ("suppress", "drop")
    bases: tuple[int, ...] = ()
    groupings: Mapping[str, Mapping[str, Groups]] = field(default_factory=dict[str, Mapping[str, Groups]])
    mark: Mark = field(default_factory=Mark)
    tables: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    keep_cells: frozenset[tuple[str, str]] = frozenset()
    earlier: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_types()
        for base in self.bases:
            if base < 2:
                raise InputError("a rounding base must be 2 or more", found=str(base), remedy="use 2 or more")
        for attribute, named in self.groupings.items():
            for name, groups in named.items():
                values = [value for group in groups for value in group]
                if len(set(values)) < len(values) or not all(groups):
                    raise InputError(
                        f"grouping {name} of {attribute} has an empty group or a value in two groups",
                        found=str(groups),
                        remedy="put each value in at most one group",
                    )

    def _check_types(self) -> None:
        check_each(self.kinds, str, name="kinds", remedy=f"choose from {', '.join(KINDS)}")
        check_each(self.bases, Integral, name="bases", remedy="write (3, 5)")
        remedy = "write {'age': {'decades': (('15-24', '25-34'),)}}"
        check_type(self.groupings, Mapping, name="groupings", remedy=remedy)
        for attribute, named in self.groupings.items():
            check_type(named, Mapping, name=f"the groupings of {attribute}", remedy=remedy)
            for name, groups in named.items():
                check_each(groups, Sequence, name=f"grouping {name} of {attribute}", remedy=remedy)
        check_type(self.mark, Mark, name="mark", remedy="write Mark(0, 4)")
        if self.tables is not None:
            check_each(self.tables, str, name="tables", remedy="list the names of tables")
        check_each(self.keep, str, name="keep", remedy="list the names of tables")
        check_each(self.earlier, str, name="earlier", remedy="list the names of tables")
        check_type(self.keep_cells, Set, name="keep_cells", remedy="write frozenset({('sex', 'sex=f')})")

    def check(self, layout: Layout) -> None:
        """Raise unless tables, cells, attributes and values exist."""
        tables = {table.name: table for table in layout.tables}
        for table in (
            *(self.tables or ()),
            *self.keep,
            *self.earlier,
            *(table for table, _ in self.keep_cells),
        ):
            if table not in tables:
                raise InputError(
                    "the policy names an unknown table", found=table, remedy=closest(table, tables)
                )
        for table, cell in sorted(self.keep_cells):
            if tables[table].position(cell) is None:
                raise InputError("the policy names an unknown cell", found=f"{cell} of {table}")
        for attribute, named in self.groupings.items():
            for groups in named.values():
                for value in (value for group in groups for value in group):
                    layout.schema[attribute].code(value)

    def allows(self, table: str) -> bool:
        """Whether a table may be changed."""
        return (self.tables is None or table in self.tables) and table not in (*self.keep, *self.earlier)


@dataclass(frozen=True)
class Cost:
    """What each change costs, in units of the publisher's choice.

    Parameters
    ----------
    suppressed, dropped, rounded, merged
        The cost of each cell suppressed, dropped with its table, rounded, or lost by merging.
    records
        The cost of each record in suppressed and dropped cells.
    weights
        Table → a factor on all its costs.
    """

    suppressed: Fraction = Fraction(1)
    dropped: Fraction = Fraction(1)
    rounded: Fraction = Fraction(1, 2)
    merged: Fraction = Fraction(1)
    records: Fraction = Fraction(0)
    weights: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])

    def __post_init__(self) -> None:
        for name in ("suppressed", "dropped", "rounded", "merged", "records"):
            object.__setattr__(self, name, _positive(name, getattr(self, name)))
        check_type(self.weights, Mapping, name="weights", remedy="write {'sex': 2}")
        weights = {table: _positive(table, weight) for table, weight in self.weights.items()}
        object.__setattr__(self, "weights", weights)

    def check(self, layout: Layout) -> None:
        """Raise unless the tables exist."""
        names = {table.name for table in layout.tables}
        for table in self.weights:
            if table not in names:
                raise InputError("the costs name an unknown table", found=table, remedy=closest(table, names))


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
    """

    forbidden: tuple[Forbidden, ...] = ()
    narrow: tuple[Narrow, ...] = ()
    change: Change = field(default_factory=Change)
    cost: Cost = field(default_factory=Cost)
    reference: Reference | None = None

    def __post_init__(self) -> None:
        check_each(self.forbidden, Forbidden, name="forbidden", remedy='use Policy.of("singletons,k>=5")')
        check_each(self.narrow, Narrow, name="narrow", remedy="write (Narrow(selection, 2),)")
        check_type(self.change, Change, name="change", remedy="write Change(kinds=('suppress',))")
        check_type(self.cost, Cost, name="cost", remedy="write Cost(dropped=3)")
        if self.reference is not None and not hasattr(self.reference, "shares"):
            raise InputError(
                f"reference must be a distribution of records, not {type(self.reference).__name__}",
                remedy='name the records in a policy file: reference = "records.csv"',
            )
        if not self.forbidden and not self.narrow:
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
    ) -> Policy:
        """From conditions such as ``"singletons,k>=5"`` and moves such as ``"suppress,round:5"``."""
        check_type(narrow, Iterable, name="narrow", remedy="write [Narrow(selection, 2)]")
        made = cls(
            tuple(parse_forbidden(text) for text in forbidden),
            tuple(narrow),
            change or Change(),
            cost or Cost(),
            reference,
        )
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
        more = tuple(parse_forbidden(text) for text in forbidden)
        change = self.change
        if moves:
            kinds, bases = parse_moves(moves)
            change = replace(change, kinds=kinds, bases=bases)
        return replace(self, forbidden=(*self.forbidden, *more), change=change)

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


#: What functions accept as a policy: also conditions as the command line takes them.
PolicyLike = Policy | str | Sequence[str]


def _positive(name: str, value: Fraction | int | float) -> Fraction:
    try:
        made = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (TypeError, ValueError):
        raise InputError(
            f"the cost {name} must be a number", found=str(value), remedy="for example 0.5"
        ) from None
    if made < 0:
        raise InputError(f"the cost {name} is negative", found=str(value), remedy="use 0 or more")
    return made


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
        remedy=_meant(part, _CONDITIONS)
        + "write singletons, multiplicity<=3, k>=5, sensitive=attribute, groups, hidden or "
        "baseline<0.01, joined by commas",
    )


def _meant(text: str, words: Sequence[str]) -> str:
    """A suggestion for a mistyped word, to begin a remedy with."""
    typed = re.match(r"[a-z]{3,}", text)
    near = nearest(typed[0], words) if typed and typed[0] not in words else None
    return f"did you mean {near!r}? " if near else ""


def _limit(name: str, sign: str, number: str) -> tuple[str, object]:
    if name == "k" and sign in (">=", "≥"):
        return "columns", int(number)
    if name == "multiplicity" and sign in ("<=", "≤", "<"):
        return "most", int(number) - (sign == "<")
    if name == "baseline" and sign == "<" and isfinite(float(number)):
        return "baseline", float(number)
    raise ValueError(name)


def parse_moves(texts: str | Sequence[str]) -> tuple[tuple[Kind, ...], tuple[int, ...]]:
    """Kinds of moves, and bases to round to, from text.

    >>> parse_moves("suppress,round:5,round:3,drop")
    (('suppress', 'round', 'drop'), (5, 3))
    """
    check_type(texts, Sequence, name="moves", remedy='write "suppress,round:5"')
    parts = texts.split(",") if isinstance(texts, str) else texts
    check_each(parts, str, name="moves", remedy='write "suppress,round:5"')
    kinds: list[Kind] = []
    bases: list[int] = []
    for part in (part.strip() for part in parts):
        name, _, base = part.partition(":")
        kind: Kind | None = next((known for known in KINDS if known == name), None)
        if kind is None or (kind == "round") != (base.isdecimal() and len(base) < 19):
            remedy = _meant(part, KINDS) + "write suppress, round:5, merge or drop, joined by commas"
            raise InputError("unknown move", found=part, remedy=remedy)
        kinds.append(kind)
        bases += [int(base)] if base else []
    return tuple(dict.fromkeys(kinds)), tuple(dict.fromkeys(bases))
