"""From the dimensions of printed tables to attributes: which are the same, and what each category means.

A category is a set of the attribute's values. Where ranges of numbers overlap or a file names parents,
several tables have different categories of one attribute; the values are the finest of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from showthrough.errors import ReleaseError
from showthrough.formats.meaning.ranges import Range, parse_range, range_name, refine
from showthrough.formats.printed.table import Category, Dimension
from showthrough.frames.marks import is_total_label, plain_name

__all__ = [
    "Meaning",
    "Member",
    "ReadAttribute",
    "find_attributes",
    "find_totals",
    "texts_of",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split("|"))


#: Categories that are no range but may stand beside ranges.
_RESIDUAL = _words(
    "unknown|notstated|notknown|missing|unspecified|notspecified|na|notavailable|unbekannt|unk|u"
)
_SEXES = {
    **dict.fromkeys(["m", "male", "males", "men", "homme", "hommes", "männlich"], "male"),
    **dict.fromkeys(["f", "female", "females", "women", "femme", "femmes", "weiblich"], "female"),
}


@dataclass(frozen=True)
class Meaning:
    """What a category of a printed table stands for.

    Parameters
    ----------
    text
        What it is called.
    values
        The values of the attribute that it consists of; all of them for most totals.
    is_total
        Whether it is the sum over all categories of its table.
    """

    text: str
    values: tuple[str, ...]
    is_total: bool = False


@dataclass(frozen=True)
class Member:
    """A dimension of one table that is (part of) an attribute.

    Parameters
    ----------
    table, at
        The position of the table, and of the dimension in it.
    dimension
        The dimension.
    totals
        Which categories are totals.
    renamed
        Category → what a table before calls it.
    """

    table: int
    at: int
    dimension: Dimension
    totals: tuple[bool, ...]
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """The dimension's name; where it has none and its categories are sexes, sex."""
        given = " ".join(self.dimension.name.split())
        own = {text.casefold() for text in self.own}
        return given or ("sex" if own and own <= _SEXES.keys() else "")

    @property
    def texts(self) -> list[str]:
        """What its categories are called."""
        return [self.renamed.get(text, text) for text in texts_of(self.dimension)]

    @property
    def own(self) -> list[str]:
        """What its categories but for totals are called."""
        return [text for text, total in zip(self.texts, self.totals, strict=True) if not total]

    def children(self) -> dict[str, list[str]]:
        """Category → the categories that it is the parent of, totals left out."""
        known = dict(zip((one.code for one in self.dimension.categories), self.texts, strict=True))
        found: dict[str, list[str]] = {}
        for text, category, total in zip(self.texts, self.dimension.categories, self.totals, strict=True):
            parent = known.get(category.parent or "")
            if parent in self.own and not total and parent != text:
                found.setdefault(parent, []).append(text)
        return found


@dataclass
class ReadAttribute:
    """An attribute, the dimensions that it was read from, and what their categories mean.

    Parameters
    ----------
    name
        Its name, unique among all.
    values
        Its values, in order.
    members
        Its dimensions in the tables.
    meanings
        For each member the meaning of each category.
    rest
        The value that was added for what tables leave out, if one was.
    is_declared
        Whether somebody declared that tables leave something out.
    """

    name: str
    members: list[Member]
    values: tuple[str, ...] = ()
    meanings: dict[tuple[int, int], tuple[Meaning, ...]] = field(
        default_factory=dict[tuple[int, int], tuple[Meaning, ...]]
    )
    rest: str = ""
    is_declared: bool = False

    @property
    def label(self) -> str:
        """What to call it in sentences, where a file says so and it is not the name."""
        labels = (" ".join(member.dimension.label.split()) for member in self.members)
        return next((label for label in labels if label and label != self.name), "")

    @property
    def is_constant(self) -> bool:
        """Whether it says nothing: there is one value only."""
        return len(self.values) < 2


def texts_of(dimension: Dimension) -> list[str]:
    """What the categories of a dimension are called: labels where they differ, else codes.

    >>> texts_of(Dimension("sex", (Category("F", "Female"), Category("M", "Male"))))
    ['Female', 'Male']
    """
    labels = [" ".join((one.label or one.code).split()) for one in dimension.categories]
    if len(set(labels)) == len(labels):
        return labels
    return [one.code for one in dimension.categories]


def find_totals(dimension: Dimension, declared: Iterable[str] = ()) -> tuple[bool, ...]:
    """Which categories are the sum over all: by their label, or as the parent of all others.

    >>> ages = ("All ages", "0-17", "18+")
    >>> find_totals(Dimension("age", tuple(Category(age) for age in ages)))
    (True, False, False)
    """
    known = {text.strip().casefold() for text in declared}
    found = [
        any(
            text.strip().casefold() in known or is_total_label(text) for text in (one.code, one.label) if text
        )
        for one in dimension.categories
    ]
    others = {
        one.code.casefold() for one, total in zip(dimension.categories, found, strict=True) if not total
    }
    for at, one in enumerate(dimension.categories):
        rest = others - {one.code.casefold()}
        if one.code.casefold() in ("t", "persons", "people") and rest and rest <= _SEXES.keys():
            found[at] = True
    top = _parent_of_all(dimension.categories)
    if top is not None and not any(found):
        found[top] = True
    return tuple(found)


def _parent_of_all(categories: Sequence[Category]) -> int | None:
    parents = {one.code: one.parent for one in categories}
    tops = [at for at, one in enumerate(categories) if one.parent not in parents]
    return tops[0] if len(tops) == 1 and len(categories) > 2 else None


def find_attributes(
    members: Sequence[Member], *, names: Sequence[str], rest: Iterable[str] = (), same: Iterable[str] = ()
) -> tuple[list[ReadAttribute], list[str]]:
    """The attributes that dimensions are about, and what had to be decided about them.

    Dimensions of the same name are one attribute if their categories cover the same values, or if all
    are ranges of numbers; others only if ``same`` names them. ``rest`` names attributes of which tables
    leave categories out. ``names`` are those of all tables.
    """
    found, apart = list[ReadAttribute](), list[str]()
    merged = {plain_name(name) for name in same}
    for given in members:
        member = _as_before(given, found)
        home = _home(member, found, merged)
        if home is None:
            name = _free_name(member, found, names)
            if any(plain_name(one.name) == plain_name(member.name) for one in found):
                apart.append(
                    f"{member.name} has other categories in table {names[member.table]} than "
                    f"before, so it is taken as another attribute, {name}; if all these categories exclude "
                    f'each other: --same "{member.name}"'
                )
            found.append(ReadAttribute(name, [member]))
        else:
            home.members.append(member)
    leftover = {plain_name(name) for name in rest}
    for attribute in found:
        everywhere = len(attribute.members) == len(names)
        _fill(attribute, with_rest=plain_name(attribute.name) in leftover, everywhere=everywhere)
    return found, apart


def _as_before(member: Member, found: Sequence[ReadAttribute]) -> Member:
    """The dimension with its categories as a table before calls them: Female for female, or for F."""
    for attribute in found:
        if not member.name or plain_name(attribute.members[0].name) != plain_name(member.name):
            continue
        there = {text for one in attribute.members for text in one.own}
        known = {_plain_text(text): text for text in there}
        renamed = {text: known[_plain_text(text)] for text in member.own if _plain_text(text) in known}
        if len(set(renamed.values())) == len(member.own) and len(known) == len(there):
            return replace(member, renamed=renamed)
    return member


def _plain_text(text: str) -> str:
    folded = text.casefold()
    return _SEXES.get(folded, folded)


def _home(member: Member, found: Sequence[ReadAttribute], merged: set[str]) -> ReadAttribute | None:
    """The attribute that a dimension belongs to, among those there are."""
    name = plain_name(member.name)
    for attribute in found:
        if any(other.table == member.table for other in attribute.members):
            continue
        if name and name != plain_name(attribute.members[0].name):
            continue
        if not name and not set(member.own) & {text for one in attribute.members for text in one.own}:
            continue
        if name in merged or _fit([*attribute.members, member], named=bool(name)):
            return attribute
    return None


def _fit(members: Sequence[Member], *, named: bool) -> bool:
    """Whether several dimensions have categories of the same values."""
    members = [member for member in members if member.own]  # others have nothing but totals
    if named and _ranges(members) is not None:
        return True
    children = [member.children() for member in members]
    for node in {node for one in children for node in one}:
        if len({frozenset(one[node]) for one in children if node in one}) > 1:
            return False
    graph = {node: below for one in children for node, below in one.items()}
    return len({frozenset(_leaves(member.own, graph)) for member in members}) <= 1


def _leaves(
    texts: Iterable[str], graph: Mapping[str, Sequence[str]], above: tuple[str, ...] = ()
) -> Iterator[str]:
    """The categories without parts that some consist of."""
    for text in texts:
        if text in above:
            raise ReleaseError(
                "two categories contain each other", found=text, remedy="correct the hierarchy"
            )
        yield from _leaves(graph[text], graph, (*above, text)) if text in graph else (text,)


def _free_name(member: Member, found: Sequence[ReadAttribute], names: Sequence[str]) -> str:
    """A name for an attribute that no other has."""
    taken = {plain_name(one.name) for one in found}
    first = member.name or f"dimension {member.at + 1}"
    candidates = [first, f"{first} ({names[member.table]})"]
    candidates += [f"{first} {number}" for number in range(2, len(found) + 3)]
    return next(name for name in candidates if plain_name(name) not in taken)


def _ranges(members: Sequence[Member]) -> dict[str, Range] | None:
    """The range of every category; None if they are no ranges, or if ranges share their ends."""
    found: dict[str, Range] = {}
    for member in members:
        mine: list[Range] = []
        for text in member.own:
            ends = parse_range(text)
            if ends is not None:
                found[text] = ends
                mine.append(ends)
            elif plain_name(text) not in _RESIDUAL:
                return None
        if any(a[1] == b[0] and a[0] < b[0] for a in mine for b in mine if b[1] != b[0]):
            return None
    return found or None


def _fill(attribute: ReadAttribute, *, with_rest: bool, everywhere: bool) -> None:
    """Find the values of an attribute, and what the categories of its dimensions mean.

    A single category leaves a rest: those in a total but not in it, or in tables that do not name it.
    """
    of = _values_of(attribute.members, with_rest=with_rest)
    values = list(dict.fromkeys(value for parts in of.values() for value in parts))
    ranges = _ranges(attribute.members)
    if ranges is not None:
        order = {value: at for at, value in enumerate(_range_order(of, ranges))}
        values.sort(key=lambda value: order.get(value, len(order)))
    alone = len(values) == 1 and (not everywhere or any(any(one.totals) for one in attribute.members))
    attribute.is_declared = with_rest
    if with_rest or alone:
        attribute.rest = next(
            name
            for name in (f"not {values[0]}" if len(values) == 1 else "other", "rest")
            if name not in values
        )
        values.append(attribute.rest)
    attribute.values = tuple(values)
    for member in attribute.members:
        own = {value for text in member.own for value in of[text]}
        total = attribute.values if alone or not own else tuple(v for v in values if v in own)
        attribute.meanings[member.table, member.at] = tuple(
            Meaning(text, total, is_total=True)
            if is_total
            else Meaning(text, tuple(value for value in values if value in of[text]))
            for text, is_total in zip(member.texts, member.totals, strict=True)
        )


def _values_of(members: Sequence[Member], *, with_rest: bool) -> dict[str, tuple[str, ...]]:
    """Category → the finest categories, or parts of ranges, that it consists of."""
    ranges = _ranges(members)
    if ranges is not None:
        parts = refine(ranges)
        known = {ends: text for text, ends in reversed(ranges.items())}
        named = {text: tuple(known.get(p, range_name(p)) for p in of) for text, of in parts.items()}
        others = {text: (text,) for one in members for text in one.own if text not in ranges}
        return {**named, **others}
    graph = {node: below for member in members for node, below in member.children().items()}
    if with_rest:
        graph = {node: [*below, f"other {node}"] for node, below in graph.items()}
    return {text: tuple(_leaves([text], graph)) for member in members for text in member.own}


def _range_order(of: Mapping[str, Sequence[str]], ranges: Mapping[str, Range]) -> list[str]:
    named = {value for text in ranges for value in of[text]}
    ends = {value: parse_range(value) or (0, None) for value in named}
    return sorted(named, key=lambda value: (ends[value][0], value))
