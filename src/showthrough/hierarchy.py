"""Levels: values inside values, such as municipalities in districts in regions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from showthrough.attribute import Attribute
from showthrough.errors import SchemaError, check_each, check_type, closest

__all__ = [
    "Hierarchy",
    "check_links",
    "trim",
    "with_levels",
]


@dataclass(frozen=True)
class Hierarchy:
    """Levels from coarse to fine: every value of a level lies in one value of the level above it.

    Each level is an attribute of the schema: the finest is a column of the records, and the others
    follow from it. Tables, selections and claims may name any of them.

    Parameters
    ----------
    name
        What the hierarchy is called.
    levels
        The levels' names, from coarse to fine. The last is the attribute that the others are made of.
    parents
        For each level but the first: value → the value of the level above that it lies in.

    Raises
    ------
    SchemaError
        If levels or parents are missing, or nothing lies in some value.

    Examples
    --------
    >>> place = Hierarchy.of("place", ["region", "district", "town"],
    ...                      {"t1": "d1", "t2": "d1", "t3": "d2", "d1": "r", "d2": "r"})
    >>> place.groups("district")
    {'d1': ('t1', 't2'), 'd2': ('t3',)}
    >>> place.groups("region")
    {'r': ('d1', 'd2')}
    """

    name: str
    levels: tuple[str, ...]
    parents: tuple[Mapping[str, str], ...]

    def __post_init__(self) -> None:
        check_type(self.name, str, name="the name of a hierarchy")
        check_each(self.parents, Mapping, name="parents", remedy="use Hierarchy.of for value → parent")
        object.__setattr__(self, "levels", _check_levels(self.name, self.levels))
        object.__setattr__(self, "parents", tuple(dict(one) for one in self.parents))
        if len(self.parents) != len(self.levels) - 1:
            raise SchemaError(
                f"hierarchy {self.name}: {len(self.levels)} levels need parents for all but the first"
            )
        for of in self.parents:
            _check_codes(self.name, of)
        self._check_links()

    def _check_links(self) -> None:
        """Every value has a parent and, above the finest level, something that lies in it."""
        for at in range(1, len(self.parents)):
            named, known = set(self.parents[at].values()), self.parents[at - 1]
            for value in self.parents[at].values():
                if value not in known:
                    raise SchemaError(
                        f"hierarchy {self.name}: a value lies in no {self.levels[at - 1]}",
                        column=self.levels[at],
                        found=value,
                        remedy=f"name the {self.levels[at - 1]} it lies in",
                    )
            for value in known:
                if value not in named:
                    raise SchemaError(
                        f"hierarchy {self.name}: no {self.levels[at + 1]} lies in a value",
                        column=self.levels[at],
                        found=value,
                        remedy="leave it out, or list what lies in it",
                    )

    @property
    def finest(self) -> str:
        """The attribute that the other levels are made of."""
        return self.levels[-1]

    def groups(self, level: str) -> dict[str, tuple[str, ...]]:
        """Each value of a level above the finest → the values of the next finer level in it."""
        return self._groups[self.levels.index(level)]

    @cached_property
    def _groups(self) -> tuple[dict[str, tuple[str, ...]], ...]:
        made: list[dict[str, tuple[str, ...]]] = []
        for parents in self.parents:
            groups: dict[str, list[str]] = {}
            for value, parent in parents.items():
                groups.setdefault(parent, []).append(value)
            made.append({group: tuple(values) for group, values in groups.items()})
        return tuple(made)

    @classmethod
    def of(cls, name: str, levels: Sequence[str], parents: Mapping[str, str]) -> Hierarchy:
        """From one mapping, value → the value it lies in, for codes that differ between levels."""
        check_type(parents, Mapping, name="parents", remedy='write {"m1": "d1", "d1": "r1"}')
        levels = _check_levels(name, levels)
        _check_codes(name, parents)
        inner = set(parents.values())
        paths = {value: _path(name, value, parents) for value in parents}
        rows: list[tuple[str, ...]] = []
        for value in parents:
            path = paths[value]
            if value in inner:
                continue
            if len(path) != len(levels):
                few = len(path) < len(levels)
                chain = f"{' → '.join(path)} has {len(path)} levels, not {len(levels)}"
                raise SchemaError(
                    f"hierarchy {name}: {chain}" + (": a parent is missing" if few else ""),
                    found=path[-1] if few else value,
                    remedy=f"complete it, or write the levels out: {WRITTEN_OUT}",
                )
            rows.append(path[::-1])
        return cls.of_rows(name, levels, rows)

    @classmethod
    def by_groups(
        cls, name: str, levels: Sequence[str], groups: Mapping[str, Mapping[str, Sequence[str]]]
    ) -> Hierarchy:
        """From the groups of each level: level → group → the values of the next finer level in it."""
        levels = _check_levels(name, levels)
        for level in groups:
            if level not in levels[:-1]:
                raise SchemaError(
                    f"hierarchy {name}: groups of an unknown level",
                    found=level,
                    remedy=closest(level, levels[:-1]),
                )
        parents: list[dict[str, str]] = []
        for level in levels[:-1]:
            of: dict[str, str] = {}
            for group, values in groups.get(level, {}).items():
                for value in values:
                    if value in of:
                        raise _two_parents(name, value, of[value], group, level)
                    of[value] = group
            if not of:
                raise SchemaError(
                    f"hierarchy {name}: the groups of a level are missing", column=level, remedy=WRITTEN_OUT
                )
            parents.append(of)
        return cls(name, tuple(levels), tuple(parents))

    @classmethod
    def nested(
        cls, name: str, levels: Sequence[str], codes: Iterable[str], *, lengths: Sequence[int]
    ) -> Hierarchy:
        """From codes whose beginnings are the codes of the levels above, such as NUTS.

        >>> Hierarchy.nested("nuts", ["nuts1", "nuts2"], ["DE11", "DE12", "DE21"],
        ...                  lengths=[3]).groups("nuts1")
        {'DE1': ('DE11', 'DE12'), 'DE2': ('DE21',)}
        """
        coarser = len(_check_levels(name, levels)) - 1
        if len(lengths) not in (coarser, coarser + 1) or any(
            before >= after for before, after in zip([0, *lengths], lengths, strict=False)
        ):
            raise SchemaError(
                f"hierarchy {name}: lengths do not fit the levels",
                found=", ".join(map(str, lengths)),
                remedy="give the length of the codes of each level, from coarse to fine, such as [3, 4, 5]",
            )
        rows: list[tuple[str, ...]] = []
        for code in codes:
            if len(code) <= lengths[coarser - 1] or (len(lengths) > coarser and len(code) != lengths[-1]):
                raise SchemaError(
                    f"hierarchy {name}: a code has the wrong length for its levels",
                    column=levels[-1],
                    found=code,
                    remedy=f"the lengths are {', '.join(map(str, lengths))}; or {WRITTEN_OUT}",
                )
            rows.append((*(code[:length] for length in lengths[:coarser]), code))
        return cls.of_rows(name, levels, rows)

    @classmethod
    def of_rows(
        cls, name: str, levels: Sequence[str], rows: Iterable[Sequence[str]], *, numbered: bool = False
    ) -> Hierarchy:
        """From one row per finest value with its value at each level, coarse to fine.

        A level that a row skips is empty there: the next finer value (for the finest level, the next
        coarser one) stands for itself. Errors name rows if these are ``numbered``.

        >>> Hierarchy.of_rows("place", ["district", "town"], [("d1", "t1"), ("", "t2")]).groups("district")
        {'d1': ('t1',), 't2': ('t2',)}
        """
        levels = _check_levels(name, levels)
        parents: list[dict[str, str]] = [{} for _ in levels[1:]]
        alone: list[dict[str, int]] = [{} for _ in levels]
        for number, given in enumerate(rows, 1):
            row = _filled(given)
            if len(row) != len(levels) or not row[-1]:
                raise SchemaError(
                    f"hierarchy {name}: a row needs a value for each level, or at least one",
                    row=number if numbered else None,
                    found=", ".join(given),
                )
            try:
                if row[-1] in parents[-1]:
                    raise SchemaError(
                        f"hierarchy {name}: a value is listed twice", column=levels[-1], found=row[-1]
                    )
                for at, of in enumerate(parents):
                    if of.setdefault(row[at + 1], row[at]) != row[at]:
                        raise _two_parents(name, row[at + 1], of[row[at + 1]], row[at], levels[at])
                    if not given[at]:
                        alone[at][row[at]] = number
            except SchemaError as error:
                raise error.at(row=number if numbered else None) from None
        for at, of in enumerate(parents):
            sizes = Counter(of.values())
            for parent, number in alone[at].items():
                if sizes[parent] > 1:
                    raise SchemaError(
                        f"hierarchy {name}: a value that skips a level has the name of another's group",
                        row=number if numbered else None,
                        column=levels[at],
                        found=parent,
                        remedy=f"name the {levels[at]} of {parent}",
                    )
        return cls(name, tuple(levels), tuple(parents))

    def chains(self) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
        """(finer level, coarser level, group, the finer level's values in it), coarse to fine."""
        for at in range(len(self.parents)):
            for group, values in self._groups[at].items():
                yield self.levels[at + 1], self.levels[at], group, values


#: A longer chain of values is not followed.
MOST_LEVELS = 64

#: How levels are written out where one mapping is not enough.
WRITTEN_OUT = 'list groups.district = { d1 = ["m1", "m2"] }, or a file with a column for each level'


def _check_levels(name: str, levels: Sequence[str]) -> tuple[str, ...]:
    check_each(levels, str, name="levels", remedy='write ["region", "district"]')
    if len(levels) < 2 or len(set(levels)) < len(levels) or not all(levels):
        raise SchemaError(
            f"hierarchy {name}: two or more levels with different names are needed",
            found=", ".join(levels),
            remedy='list them from coarse to fine: levels = ["region", "district", "municipality"]',
        )
    return tuple(levels)


def _check_codes(name: str, parents: Mapping[str, str]) -> None:
    for value, parent in parents.items():
        check_type(value, str, name=f"a value of hierarchy {name}")
        check_type(parent, str, name=f"a value of hierarchy {name}")
        if not value or not parent:
            raise SchemaError(
                f"hierarchy {name}: an empty value", found=f"{value} → {parent}", remedy="give it a code"
            )


def _path(name: str, value: str, parents: Mapping[str, str]) -> tuple[str, ...]:
    """A value with all it lies in, fine to coarse."""
    path = [value]
    while (parent := parents.get(path[-1])) is not None and len(path) < MOST_LEVELS:
        if parent in path:
            raise SchemaError(
                f"hierarchy {name}: values lie in each other in a circle: {' → '.join([*path, parent])}",
                found=parent,
                remedy="a value lies in a coarser one, never in itself",
            )
        path.append(parent)
    return tuple(path)


def _filled(row: Sequence[str]) -> tuple[str, ...]:
    """The row with every skipped level filled in."""
    finest = next((value for value in reversed(row) if value), "")
    filled = [*row[:-1], row[-1] or finest]
    for at in range(len(filled) - 2, -1, -1):
        filled[at] = filled[at] or filled[at + 1]
    return tuple(filled)


def _two_parents(name: str, value: str, first: str, second: str, level: str) -> SchemaError:
    return SchemaError(
        f"hierarchy {name}: {value} lies in two values: {first} and {second}",
        column=level,
        found=second,
        remedy="every value lies in one value of the level above it",
    )


def check_links(hierarchies: Sequence[Hierarchy]) -> None:
    """Raise if a level has several finer ones, or hierarchies depend on each other in a circle."""
    owner: dict[str, str] = {}
    finer: dict[str, str] = {}
    for hierarchy in hierarchies:
        for level, below in zip(hierarchy.levels, hierarchy.levels[1:], strict=False):
            if level in owner:
                raise SchemaError(
                    f"a level belongs to the hierarchies {owner[level]} and {hierarchy.name}",
                    found=level,
                    remedy="only the finest level can be shared: give the others names of their own",
                )
            owner[level], finer[level] = hierarchy.name, below
    for level in finer:
        seen = {level}
        while (below := finer.get(level)) is not None:
            if below in seen:
                raise SchemaError(
                    "hierarchies depend on each other in a circle",
                    found=below,
                    remedy="begin with a finest level",
                )
            seen.add(below)
            level = below


def with_levels(attributes: Iterable[Attribute], hierarchies: Sequence[Hierarchy]) -> tuple[Attribute, ...]:
    """The attributes, and before the first level of a hierarchy those of its levels that are missing."""
    known = {attribute.name: attribute for attribute in attributes}
    ordered = list(attributes)
    for hierarchy in hierarchies:
        if hierarchy.finest not in known:
            first = Attribute(hierarchy.finest, tuple(hierarchy.parents[-1]))
            known[first.name] = first
            ordered.append(first)
    for hierarchy in hierarchies:
        for at in range(len(hierarchy.levels) - 1, 0, -1):
            finer, level, of = (
                known[hierarchy.levels[at]],
                hierarchy.levels[at - 1],
                hierarchy.parents[at - 1],
            )
            _check_values(hierarchy, finer, of)
            if level not in known:
                values = dict.fromkeys(of[value] for value in finer.values)
                known[level] = Attribute(level, tuple(values))
                ordered.insert(ordered.index(finer), known[level])
        top = hierarchy.levels[0]
        _check_values(hierarchy, known[top], dict.fromkeys(hierarchy.parents[0].values()))
    return tuple(ordered)


def _check_values(hierarchy: Hierarchy, attribute: Attribute, listed: Mapping[str, object]) -> None:
    """Raise unless the hierarchy lists exactly the attribute's values."""
    for value in listed:
        attribute.code(value)
    for value in attribute.values:
        if value not in listed:
            raise SchemaError(
                f"hierarchy {hierarchy.name} leaves a value out",
                column=attribute.name,
                found=value,
                remedy="say in which value of the level above it lies"
                if attribute.name == hierarchy.finest
                else "list what lies in it",
            )


def trim(hierarchies: Sequence[Hierarchy], used: Collection[str]) -> list[Hierarchy]:
    """What is left of hierarchies when their finest levels are taken away as long as nobody uses them."""
    left = list(hierarchies)
    while (at := _unused_end(left, used)) is not None:
        one = left.pop(at)
        if len(one.levels) > 2 and not set(used).isdisjoint(one.levels):
            left.insert(at, Hierarchy(one.name, one.levels[:-1], one.parents[:-1]))
    return left


def _unused_end(hierarchies: Sequence[Hierarchy], used: Collection[str]) -> int | None:
    """A hierarchy whose finest level is not used, nor by another one; or none of whose levels are."""
    named = Counter(level for one in hierarchies for level in one.levels)
    for at, one in enumerate(hierarchies):
        idle = [level not in used and named[level] == 1 for level in one.levels]
        if idle[-1] or (one.finest not in used and all(idle[:-1])):
            return at
    return None
