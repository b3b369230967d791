"""Which records: for some attributes, the values allowed, written as text or as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from showthrough.errors import SchemaError, check_type

__all__ = [
    "Selection",
    "SelectionLike",
    "canonical",
]


@dataclass(frozen=True)
class Selection:
    """Which records: for some attributes the allowed values; a record matches if it has one in each.

    Table cells, claims, queries and both sides of a rule are selections. Wherever one is asked for,
    text such as ``"age=25-34|35-44,tenure=rented"`` or a mapping will do; ``Selection.of`` makes it.

    Parameters
    ----------
    terms
        Pairs of an attribute and its allowed values.

    Raises
    ------
    SchemaError
        If an attribute occurs twice or no value is allowed.

    Examples
    --------
    >>> rented = Selection.of(tenure="rented", size=["1", "2"])
    >>> print(rented)
    size=1|2,tenure=rented
    >>> Selection.parse("tenure=rented,size=2|1") == rented
    True
    >>> rented & Selection.of(size=["2", "3"])
    Selection.parse('size=2,tenure=rented')
    """

    terms: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        for name, values in self.terms:
            if not values:
                raise SchemaError(
                    "a selection allows no value, so it matches no record",
                    column=name,
                    remedy="name at least one value or leave the attribute out",
                )
        ordered = tuple(sorted([(name, _sorted_once(values)) for name, values in self.terms]))
        if len({name for name, _ in ordered}) != len(ordered):
            raise SchemaError("an attribute occurs twice in one selection", found=str(self.terms))
        object.__setattr__(self, "terms", ordered)

    @classmethod
    def of(cls, given: SelectionLike | None = None, /, **more: str | Iterable[str]) -> Selection:
        """From attribute → value or values, from text, or a selection as it is.

        ``Selection.of()`` matches every record.

        >>> Selection.of({"size": ["1", "2"]}) == Selection.of(size=["1", "2"]) == Selection.of("size=1|2")
        True
        """
        given = {} if given is None else given
        if type(given) is not dict:  # the frequent case
            kinds = (Selection, str, Mapping)
            check_type(given, kinds, name="selection", remedy="write 'age=old' or {'age': 'old'}")
        if isinstance(given, str):
            return cls.parse(given) & cls.of(**more)
        if isinstance(given, Selection):
            return given & cls.of(**more)
        merged: dict[str, str | Iterable[str]] = {**given, **more}
        return cls(tuple((name, _value_tuple(name, value)) for name, value in merged.items()))

    @classmethod
    def parse(cls, text: str) -> Selection:
        """From ``"age=25-34|35-44,tenure=rented"``; quote names or values holding ``, = |``."""
        terms: list[tuple[str, tuple[str, ...]]] = []
        for part in _split(text, ","):
            if not part.strip():
                continue
            sides = _split(part, "=")
            if len(sides) != 2:
                raise SchemaError(
                    "cannot read this condition",
                    found=part,
                    remedy="write attribute=value, several values as attribute=a|b, "
                    "conditions separated by commas",
                )
            values = tuple(_unquote(value) for value in _split(sides[1], "|"))
            terms.append((_unquote(sides[0]), values))
        return cls(tuple(terms))

    @cached_property
    def _lookup(self) -> dict[str, frozenset[str]]:
        return {name: frozenset(values) for name, values in self.terms}

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes it restricts, sorted."""
        return tuple(name for name, _ in self.terms)

    def __getitem__(self, name: str) -> frozenset[str]:
        return self._lookup[name]

    def __contains__(self, name: object) -> bool:
        return name in self._lookup

    def __len__(self) -> int:
        return len(self.terms)

    def __and__(self, other: Selection) -> Selection:
        """Records that match both; an error if no value is left for some attribute."""
        merged = {name: set(values) for name, values in self.terms}
        for name, values in other.terms:
            merged[name] = merged[name] & set(values) if name in merged else set(values)
        return Selection(tuple((name, tuple(values)) for name, values in merged.items()))

    def matches(self, record: Mapping[str, str]) -> bool:
        """Whether one record, given as attribute → value, is selected.

        >>> Selection.parse("size=1|2").matches({"size": "2", "tenure": "owned"})
        True
        """
        return all(record[name] in allowed for name, allowed in self._lookup.items())

    def is_within(self, other: Selection) -> bool:
        """Whether the conditions alone say that every record it matches matches the other too.

        >>> Selection.parse("size=1,tenure=rented").is_within(Selection.parse("size=1|2"))
        True
        """
        return all(name in self and self[name] <= allowed for name, allowed in other._lookup.items())

    def to_json(self) -> str:
        """A JSON object with sorted keys; one value as a string, several as a list.

        >>> Selection.parse("tenure=rented,size=1").to_json()
        '{"size": "1", "tenure": "rented"}'
        """
        return self._json

    @cached_property
    def _json(self) -> str:
        return f"{{{', '.join(f'{_quoted(name)}: {_plain(values)}' for name, values in self.terms)}}}"

    @classmethod
    def from_json(cls, text: str) -> Selection:
        """The inverse of :meth:`to_json`."""
        return cls.of(json.loads(text))

    def __str__(self) -> str:
        return ",".join(
            f"{_quote(name)}={'|'.join(_quote(value) for value in values)}" for name, values in self.terms
        )

    def __repr__(self) -> str:
        return f"Selection.parse({str(self)!r})"


#: What :meth:`Selection.of` takes, and so every function that asks for a selection.
SelectionLike = Selection | str | Mapping[str, str | Iterable[str]]


def canonical(name: str) -> str:
    """The name of a cell with its attributes in order; a name that is not of this form as it is.

    >>> canonical("sex=f, age=old"), canonical("Women, 65 and over")
    ('age=old,sex=f', 'Women, 65 and over')
    """
    if "=" not in name:
        return name
    try:
        return str(Selection.parse(name)) or name
    except SchemaError:
        return name


def _sorted_once(values: Iterable[str]) -> tuple[str, ...]:
    """The different values in order; mostly there is one."""
    found = tuple(values)
    return found if len(found) == 1 else tuple(sorted(set(found)))


#: A text in JSON.
_quoted = json.JSONEncoder(ensure_ascii=False).encode


def _plain(values: tuple[str, ...]) -> str:
    """Values in JSON: one as a text, several as a list."""
    return _quoted(values[0]) if len(values) == 1 else f"[{', '.join(map(_quoted, values))}]"


def _value_tuple(name: str, value: str | Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        value = [value]
    values = tuple(value)
    for one in values:
        if not isinstance(one, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SchemaError(
                "a selection's value is not text",
                column=name,
                found=str(one),
                remedy="write values as strings, exactly as the schema lists them",
            )
    return values


_SPECIAL = re.compile(r'[,=|"]|^\s|\s$')


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if not text or _SPECIAL.search(text) else text


def _unquote(text: str) -> str:
    text = text.strip()
    if text.startswith('"'):
        try:
            read = json.loads(text)
        except ValueError:
            raise SchemaError("a quotation mark is not closed", found=text) from None
        return str(read)
    return text


def _split(text: str, mark: str) -> list[str]:
    """Split at a mark that is not inside double quotes."""
    parts, start, quoted, at = list[str](), 0, False, 0
    while at < len(text):
        if text[at] == "\\" and quoted:
            at += 1
        elif text[at] == '"':
            quoted = not quoted
        elif text[at] == mark and not quoted:
            parts.append(text[start:at])
            start = at + 1
        at += 1
    return [*parts, text[start:]]
