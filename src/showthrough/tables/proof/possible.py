"""Which record types can exist, found by simple code of the checker's own.

A record type is a combination of values. It can exist if it satisfies the rules and lies in no cell
published as zero. Types are grown attribute by attribute, and dropped as soon as a rule or a zero cell
is decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import ProofError
from showthrough.tables.proof.tree import Terms

__all__ = [
    "CellLike",
    "Possible",
    "ReleaseLike",
    "SchemaLike",
    "directions",
]

#: Partial record types the checker is willing to hold at once.
MOST_TYPES = 20_000_000

#: Record types × values remembered as single bytes.
MOST_REMEMBERED = 100_000_000

#: One column of codes per attribute; no attribute has so many values that a code would not fit.
Columns = dict[str, NDArray[np.int32]]


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
    """What the checker needs of a published cell."""

    @property
    def selection(self) -> SelectionLike: ...
    @property
    def low(self) -> int: ...
    @property
    def high(self) -> int: ...


class ReleaseLike(Protocol):
    """What the checker needs of a release. An upper end of 2**62 or more means: none."""

    @property
    def cells(self) -> Sequence[CellLike]: ...


class Possible:
    """The record types that a schema's rules and the cells published as zero leave."""

    def __init__(self, schema: SchemaLike, cells: Iterable[CellLike]) -> None:
        self.values = {a.name: {v: c for c, v in enumerate(a.values)} for a in schema.attributes}
        self._implications = [
            (self._trimmed(when), term)
            for rule in schema.rules
            for when, then in directions(rule)
            for term in self._trimmed(then)
        ]
        self._zero = [cell.selection.terms for cell in cells if cell.high == 0]
        self._known: dict[tuple[str, ...], Columns] = {}
        self._terms: dict[tuple[str, tuple[str, ...], tuple[str, ...]], NDArray[np.bool_]] = {}

    def selected(self, terms: Terms, over: tuple[str, ...]) -> NDArray[np.int64]:
        """1 for every record type that matches, 0 for the others."""
        types = self._types(over)
        hit = np.ones(len(next(iter(types.values()))) if types else 1, bool)
        for name, values in terms:
            hit &= self._term(name, values, over)
        return hit.astype(np.int64)

    def _term(self, name: str, values: tuple[str, ...], over: tuple[str, ...]) -> NDArray[np.bool_]:
        """Which record types have one of these values; remembered, as most proofs name the same ones."""
        key = name, values, over
        if key not in self._terms:
            if sum(map(len, self._terms.values())) > MOST_REMEMBERED:
                self._terms.clear()
            types = self._types(over)
            self._terms[key] = self._allowed(name, values, types)[types[name]]
        return self._terms[key]

    def _hits(self, terms: Terms, types: Columns) -> NDArray[np.bool_]:
        hit = np.ones(len(next(iter(types.values()))) if types else 1, bool)
        for name, values in terms:
            hit &= self._allowed(name, values, types)[types[name]]
        return hit

    def _allowed(self, name: str, values: tuple[str, ...], types: Columns) -> NDArray[np.bool_]:
        """Per code of an attribute whether it is one of these values."""
        if name not in self.values:
            raise ProofError(f"the proof names an unknown attribute: {name}")
        if name not in types:
            raise ProofError(f"the proof leaves out an attribute it needs: {name}")
        allowed = np.zeros(len(self.values[name]), bool)
        for value in values:
            if value not in self.values[name]:
                raise ProofError(f"the proof names an unknown value of {name}: {value}")
            allowed[self.values[name][value]] = True
        return allowed

    def _types(self, over: tuple[str, ...]) -> Columns:
        """Every record type that can exist, as one code column per attribute."""
        if over not in self._known:
            types: Columns = {}
            for depth, name in enumerate(over):
                types = self._extended(types, name)
                types = self._possible(types, set(over[: depth + 1]), name)
            self._known[over] = types
        return self._known[over]

    def _extended(self, types: Columns, name: str) -> Columns:
        if name not in self.values:
            raise ProofError(f"the proof names an unknown attribute: {name}")
        size = len(next(iter(types.values()))) if types else 1
        values = np.arange(len(self.values[name]), dtype=np.int32)
        if size * len(values) > MOST_TYPES:
            raise ProofError(f"more than {MOST_TYPES:,} record types: too many to check")
        grown = {known: np.repeat(codes, len(values)) for known, codes in types.items()}
        return {**grown, name: np.tile(values, size)}

    def _possible(self, types: Columns, known: set[str], newest: str) -> Columns:
        """Without the types that a rule or a zero cell, decided by the newest column, rules out."""
        dead = np.zeros(len(types[newest]), bool)
        for when, term in self._implications:
            names = {name for name, _ in (*when, term)}
            if newest in names and names <= known:
                dead |= self._hits(when, types) & ~self._hits((term,), types)
        for terms in self._zero:
            names = {name for name, _ in terms}
            if names <= known and (newest in names or not names):
                dead |= self._hits(terms, types)
        return {name: codes[~dead] for name, codes in types.items()}

    def _trimmed(self, terms: Terms) -> Terms:
        """Without terms that allow every value and so say nothing."""
        return tuple((n, v) for n, v in terms if set(v) != set(self.values.get(n, ())))


def directions(rule: RuleLike) -> Iterable[tuple[Terms, Terms]]:
    """What a rule says, as "whoever matches the first matches the second"."""
    yield rule.when.terms, rule.then.terms
    if rule.both_ways:
        yield rule.then.terms, rule.when.terms
