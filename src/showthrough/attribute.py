"""One column of a record: its ordered values and the words for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from showthrough.errors import SchemaError, check_each, check_type, closest, shorten

__all__ = [
    "Attribute",
    "listed",
]


@dataclass(frozen=True)
class Attribute:
    """One column: its name, its ordered values, and the words for them.

    Parameters
    ----------
    name
        The column's name.
    values
        Its values, in order.
    label
        What to call the column in sentences; its name if empty.
    labels
        Value → what to call it in sentences.
    phrases
        Value → a clause that can follow "that": "the home is rented".
    missing
        The value that stands for a missing entry; without it, missing entries are refused.

    Raises
    ------
    SchemaError
        If the name or the values are empty, or a value is listed twice or unknown.

    Examples
    --------
    >>> tenure = Attribute("tenure", ("owned", "rented"), phrases={"rented": "the home is rented"})
    >>> tenure.phrase("rented"), tenure.phrase("owned")
    ('the home is rented', 'tenure is owned')
    """

    name: str
    values: tuple[str, ...]
    label: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    phrases: Mapping[str, str] = field(default_factory=dict[str, str])
    missing: str | None = None

    def __post_init__(self) -> None:
        check_type(self.name, str, name="the name of an attribute")
        check_each(self.values, str, name=f"the values of {self.name}", remedy="write ['f', 'm']")
        object.__setattr__(self, "values", tuple(self.values))
        if not self.name:
            raise SchemaError("an attribute has an empty name", remedy="give it a name")
        if not self.values:
            raise SchemaError("an attribute has no values", column=self.name)
        seen: set[str] = set()
        for value in self.values:
            if value in seen:
                raise SchemaError("a value is listed twice", column=self.name, found=value)
            seen.add(value)
        for what, mapping in (("label", self.labels), ("phrase", self.phrases)):
            for value in mapping:
                self._check(value, f"a {what} is given for an unknown value")
        if self.missing is not None:
            self._check(self.missing, "missing entries are mapped to an unknown value")

    def _check(self, value: str, problem: str) -> None:
        if value not in self.codes:
            raise SchemaError(problem, column=self.name, found=value, remedy=closest(value, self.values))

    @cached_property
    def codes(self) -> dict[str, int]:
        """Value → its position."""
        return {value: code for code, value in enumerate(self.values)}

    def code(self, value: str) -> int:
        """The position of a value; an error that suggests the nearest one if unknown."""
        self._check(value, "unknown value")
        return self.codes[value]

    def __repr__(self) -> str:
        return f"Attribute({self.name}: {listed(self.values)})"

    def phrase(self, *values: str) -> str:
        """A clause that says a record has one of these values."""
        if len(values) == 1 and values[0] in self.phrases:
            return self.phrases[values[0]]
        named = [self.labels.get(value, value) for value in values]
        return f"{self.label or self.name} is {_either(named)}"


def listed(values: Sequence[str], limit: int = 60) -> str:
    """Values as one short text: the first ones and how many there are."""
    shown = shorten(", ".join(values[:20]), limit)
    return shown if len(values) <= 20 and "…" not in shown else f"{shown} ({len(values):,} values)"


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
