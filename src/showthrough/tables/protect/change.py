"""What a policy lets a publisher change, and what each change costs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import Literal

from showthrough.errors import InputError, check_each, check_type, closest, nearest
from showthrough.release import Layout
from showthrough.tables.protect.moves import Groups, Mark

__all__ = [
    "Change",
    "Cost",
    "Kind",
    "meant",
    "parse_moves",
]

Kind = Literal["suppress", "round", "controlled", "merge", "drop"]
KINDS: tuple[Kind, ...] = ("suppress", "round", "controlled", "merge", "drop")


@dataclass(frozen=True)
class Change:
    """What may be changed in a release, and how.

    Parameters
    ----------
    kinds
        The kinds of moves: ``suppress``, ``round``, ``controlled``, ``merge`` and ``drop``.
    bases
        The bases that single tables may be rounded to.
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
        Tables that are already published. They are not changed, and what follows from them alone cannot be
        hidden.
    keep_zeros
        Whether cells of 0 must not be changed.
    controlled
        The bases that all tables may be rounded to together, so that they still add up.
    """

    kinds: tuple[Kind, ...] = ("suppress", "drop")
    bases: tuple[int, ...] = ()
    groupings: Mapping[str, Mapping[str, Groups]] = field(default_factory=dict[str, Mapping[str, Groups]])
    mark: Mark = field(default_factory=Mark)
    tables: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    keep_cells: frozenset[tuple[str, str]] = frozenset()
    earlier: tuple[str, ...] = ()
    keep_zeros: bool = False
    controlled: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self._check_types()
        for base in (*self.bases, *self.controlled):
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
        check_each(self.controlled, Integral, name="controlled", remedy="write (3, 5)")
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
    totals
        A factor on the cost of a cell for each attribute of its table that it is a total over.
    levels
        Attribute, or level of a hierarchy → a factor on the cost of the cells that name it.
    """

    suppressed: Fraction = Fraction(1)
    dropped: Fraction = Fraction(1)
    rounded: Fraction = Fraction(1, 2)
    merged: Fraction = Fraction(1)
    records: Fraction = Fraction(0)
    weights: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])
    totals: Fraction = Fraction(1)
    levels: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])

    def __post_init__(self) -> None:
        for name in ("suppressed", "dropped", "rounded", "merged", "records", "totals"):
            object.__setattr__(self, name, _positive(name, getattr(self, name)))
        for name in ("weights", "levels"):
            given = getattr(self, name)
            check_type(given, Mapping, name=name, remedy="write {'sex': 2}")
            object.__setattr__(self, name, {key: _positive(key, factor) for key, factor in given.items()})

    def check(self, layout: Layout) -> None:
        """Raise unless the tables and attributes exist."""
        for name in self.levels:
            layout.schema[name]
        names = {table.name for table in layout.tables}
        for table in self.weights:
            if table not in names:
                raise InputError("the costs name an unknown table", found=table, remedy=closest(table, names))


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


def meant(text: str, words: Sequence[str]) -> str:
    """A suggestion for a mistyped word, to begin a remedy with."""
    typed = re.match(r"[a-z]{3,}", text)
    near = nearest(typed[0], words) if typed and typed[0] not in words else None
    return f"did you mean {near!r}? " if near else ""


def parse_moves(texts: str | Sequence[str]) -> tuple[tuple[Kind, ...], tuple[int, ...], tuple[int, ...]]:
    """Kinds of moves, the bases to round to, and those to round to so that tables add up, from text.

    >>> parse_moves("suppress,round:5,round:3,controlled:10")
    (('suppress', 'round', 'controlled'), (5, 3), (10,))
    """
    check_type(texts, Sequence, name="moves", remedy='write "suppress,round:5"')
    parts = texts.split(",") if isinstance(texts, str) else texts
    check_each(parts, str, name="moves", remedy='write "suppress,round:5"')
    kinds: list[Kind] = []
    bases: dict[Kind, list[int]] = {"round": [], "controlled": []}
    for part in (part.strip() for part in parts):
        name, _, base = part.partition(":")
        kind: Kind | None = next((known for known in KINDS if known == name), None)
        if kind is None or (kind in bases) != (base.isdecimal() and len(base) < 19):
            remedy = "write suppress, round:5, controlled:5, merge or drop, joined by commas"
            remedy = meant(part, KINDS) + remedy
            raise InputError("unknown move", found=part, remedy=remedy)
        kinds.append(kind)
        if base:
            bases[kind].append(int(base))
    rounded, controlled = (tuple(dict.fromkeys(listed)) for listed in bases.values())
    return tuple(dict.fromkeys(kinds)), rounded, controlled
