"""Which record types can exist, found by simple code of the checker's own.

A record type is a combination of values. It can exist if it satisfies the rules and lies in no cell
published as zero. Types are grown attribute by attribute, and dropped as soon as a rule or a zero cell
is decided. A set of types is a whole number: its bit 0 stands for the first type, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .failure import ProofError
from .tree import Terms

__all__ = [
    "CellLike",
    "Possible",
    "ReleaseLike",
    "SchemaLike",
    "Types",
    "directions",
]

#: Partial record types the checker is willing to hold at once.
MOST_TYPES = 20_000_000

#: Record types × sets of values remembered, a bit each.
MOST_REMEMBERED = 800_000_000

#: The values of each attribute, with their codes.
Values = Mapping[str, Mapping[str, int]]


class AttributeLike(Protocol):
    """What the checker needs of an attribute."""

    @property
    def name(self) -> str: ...
    @property
    def values(self) -> tuple[str, ...]: ...


class SelectionLike(Protocol):
    """What the checker needs of a selection."""

    @property
    def terms(self) -> Terms: ...


class RuleLike(Protocol):
    """What the checker needs of a rule."""

    @property
    def when(self) -> SelectionLike: ...
    @property
    def then(self) -> SelectionLike: ...
    @property
    def both_ways(self) -> bool: ...


class SchemaLike(Protocol):
    """What the checker needs of a schema."""

    @property
    def attributes(self) -> Sequence[AttributeLike]: ...
    @property
    def rules(self) -> Sequence[RuleLike]: ...


class CellLike(Protocol):
    """What the checker needs of a published cell: what it counts, with weights, and its ends."""

    @property
    def terms(self) -> Sequence[tuple[int, SelectionLike]]: ...
    @property
    def low(self) -> int: ...
    @property
    def high(self) -> int: ...


class ReleaseLike(Protocol):
    """What the checker needs of a release. An upper end of 2**62 or more means: none."""

    @property
    def cells(self) -> Sequence[CellLike]: ...


class Types:
    """Some record types over some attributes.

    Parameters
    ----------
    values
        The values of all attributes, with their codes.
    columns
        One column of codes per attribute; no attribute has so many values that a code would not fit.
    n
        How many types there are.
    """

    def __init__(self, values: Values, columns: Mapping[str, NDArray[np.int32]], n: int) -> None:
        self.n = n
        self._all = (1 << n) - 1
        self._values, self._columns = values, columns
        self._terms: dict[tuple[str, tuple[str, ...]], int] = {}

    def selected(self, terms: Terms) -> int:
        """The set of types that match."""
        found = self._all
        for name, values in terms:
            found &= self._term(name, values)
        return found

    def codes(self, name: str) -> NDArray[np.int32]:
        """The code of every type's value of an attribute."""
        return self._columns[name]

    def array(self, chosen: int) -> NDArray[np.bool_]:
        """A set of types as an array, with an entry for every type."""
        stored = np.frombuffer(chosen.to_bytes((self.n + 7) // 8, "little"), np.uint8)
        return np.unpackbits(stored, count=self.n, bitorder="little").view(bool)

    def extended(self, name: str) -> Types:
        """Every type with every value of one more attribute."""
        n_values = len(self._values[name])
        if self.n * n_values > MOST_TYPES:
            raise ProofError(f"more than {MOST_TYPES:,} record types: too many to check")
        grown = {known: np.repeat(codes, n_values) for known, codes in self._columns.items()}
        newest = np.tile(np.arange(n_values, dtype=np.int32), self.n)
        return Types(self._values, {**grown, name: newest}, len(newest))

    def without(self, dead: int) -> Types:
        """The types that are not in a set."""
        kept = ~self.array(dead)
        columns = {name: codes[kept] for name, codes in self._columns.items()}
        return Types(self._values, columns, int(np.count_nonzero(kept)))

    def _term(self, name: str, values: tuple[str, ...]) -> int:
        """The types with one of these values; remembered, as most proofs name the same ones."""
        key = name, values
        if key not in self._terms:
            if len(self._terms) * self.n > MOST_REMEMBERED:
                self._terms.clear()
            hit = np.packbits(self._allowed(name, values)[self._columns[name]], bitorder="little")
            self._terms[key] = int.from_bytes(hit.tobytes(), "little")
        return self._terms[key]

    def _allowed(self, name: str, values: tuple[str, ...]) -> NDArray[np.bool_]:
        """Per code of an attribute whether it is one of these values."""
        if name not in self._values:
            raise ProofError(f"the proof names an unknown attribute: {name}")
        if name not in self._columns:
            raise ProofError(f"the proof leaves out an attribute it needs: {name}")
        allowed = np.zeros(len(self._values[name]), bool)
        for value in values:
            if value not in self._values[name]:
                raise ProofError(f"the proof names an unknown value of {name}: {value}")
            allowed[self._values[name][value]] = True
        return allowed


class Possible:
    """The record types that a schema's rules and the cells published as zero leave."""

    def __init__(self, schema: SchemaLike, cells: Iterable[CellLike]) -> None:
        self.values = {a.name: {v: c for c, v in enumerate(a.values)} for a in schema.attributes}
        # Weights are positive: who matches any term of a cell published as zero cannot exist.
        zero = [one.terms for cell in cells if cell.high == 0 for _, one in cell.terms]
        ruled_out = (self._trimmed(terms) for terms in (*zero, *self._broken(schema.rules)))
        #: What nobody matches.
        self._nobody = list(dict.fromkeys(ruled_out))
        self._known: dict[tuple[str, ...], Types] = {}

    def types(self, over: tuple[str, ...]) -> Types:
        """Every record type over these attributes that can exist."""
        if over not in self._known:
            found = Types(self.values, {}, 0 if () in self._nobody else 1)
            ruled_out = self._ruled_out(over)
            for depth, name in enumerate(over):
                if name not in self.values:
                    raise ProofError(f"the proof names an unknown attribute: {name}")
                found, dead = found.extended(name), 0
                for terms in ruled_out[depth]:
                    dead |= found.selected(terms)
                found = found.without(dead)
            while found.n + sum(types.n for types in self._known.values()) > MOST_TYPES:
                self._known.pop(next(iter(self._known)))
            self._known[over] = found
        return self._known[over]

    def _ruled_out(self, over: tuple[str, ...]) -> list[list[Terms]]:
        """Per attribute what a rule or a zero cell rules out as soon as it is known, and not before."""
        depth_of = {name: depth for depth, name in enumerate(over)}
        found: list[list[Terms]] = [[] for _ in over]
        for terms in self._nobody:
            deepest = -1
            for name, _ in terms:
                depth = depth_of.get(name)
                if depth is None:
                    break
                deepest = max(deepest, depth)
            else:
                if terms:
                    found[deepest].append(terms)
        return found

    def _broken(self, rules: Iterable[RuleLike]) -> Iterable[Terms]:
        """Who would break a rule: matches its condition, and has another value than it demands."""
        for rule in rules:
            for when, then in directions(rule):
                for name, values in then:
                    others = tuple(value for value in self.values.get(name, ()) if value not in values)
                    yield (*when, (name, others))

    def _trimmed(self, terms: Terms) -> Terms:
        """Without terms that allow every value and so say nothing."""
        for name, values in terms:
            known = self.values.get(name, ())
            if values and len(values) >= len(known) and set(values) == set(known):
                return self._trimmed(tuple(term for term in terms if term != (name, values)))
        return terms


def directions(rule: RuleLike) -> Iterable[tuple[Terms, Terms]]:
    """What a rule says, as "whoever matches the first matches the second"."""
    yield rule.when.terms, rule.then.terms
    if rule.both_ways:
        yield rule.then.terms, rule.when.terms
