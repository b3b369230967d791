"""Proofs about counts, and the checker that accepts or rejects them.

This file shares no code with what finds proofs: it imports nothing but the standard library and
NumPy, knows no solver, and does all arithmetic in integers.

**What a leaf proves.** Every published cell says ``low ≤ count ≤ high``. Let ``u`` be one integer
per cell, ``d`` a positive integer, and ``c`` an integer per record type. If for every record type
``t`` that can exist ::

    Σ u_i·[t ∈ cell_i]  ≤  d·c(t)

then summing over the records of any dataset that agrees with the release gives ::

    total = Σ (u_i⁺·low_i − u_i⁻·high_i)  ≤  d·Σ_records c

so the integer ``Σ c`` is at least ``total / d`` rounded up. With ``c = [t ∈ claim]`` this is a lower
bound on the claim's count, with ``c = −[t ∈ claim]`` an upper bound, and with ``c = 0`` and a
positive total it shows that no dataset exists.

**What a branch proves.** A sum of counts is an integer, so it is at most ``at`` or at least
``at + 1``. If both cases prove the goal, each using its case as one more row, the goal holds.

**Which record types can exist.** Those that satisfy the rules and lie in no cell published as zero.
A proof may restrict itself to some attributes (``over``): leaving attributes, and with them rules
and cells, out of account only makes more types possible, so nothing false becomes provable.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import ProofError

__all__ = ["Branch", "Checker", "Leaf", "Node", "Proof", "check_proof"]

Terms = tuple[tuple[str, tuple[str, ...]], ...]

#: Partial record types the checker is willing to hold at once.
MOST_TYPES = 20_000_000


@dataclass(frozen=True)
class Leaf:
    """Multipliers: numerators per cell (by position in the release) and per branch (by depth)."""

    cells: tuple[tuple[int, int], ...]
    branches: tuple[tuple[int, int], ...]
    denominator: int
    total: int


@dataclass(frozen=True)
class Branch:
    """Either the selections' counts add up to at most ``at`` (``below``) or to more (``above``)."""

    on: tuple[Terms, ...]
    at: int
    below: Node
    above: Node


Node = Leaf | Branch


@dataclass(frozen=True)
class Proof:
    """Evidence about how many records match a selection, in every dataset that agrees.

    ``at_least`` proves count ≥ multiplicity, ``at_most`` proves count ≤ multiplicity (both together:
    exactly so many), ``never`` proves that the count is not the multiplicity. ``over`` names the
    attributes the proof looks at, in the order in which record types are best enumerated.
    """

    selection: Terms
    multiplicity: int
    at_least: Node | None = None
    at_most: Node | None = None
    never: Node | None = None
    over: tuple[str, ...] = ()

    def check(self, schema: SchemaLike, release: ReleaseLike) -> None:
        """Raise :class:`ProofError` unless this proof holds; see :class:`Checker`."""
        Checker(schema, release).check(self)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The roots it consists of."""
        return tuple(n for n in (self.at_least, self.at_most, self.never) if n is not None)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """All leaves of all roots."""
        return tuple(leaf for node in self.nodes for leaf in _leaves(node))

    @property
    def cells(self) -> tuple[int, ...]:
        """The positions of the cells it multiplies, sorted."""
        return tuple(sorted({cell for leaf in self.leaves for cell, _ in leaf.cells}))

    def to_json(self) -> str:
        """As one line of JSON."""
        return json.dumps(
            {
                "selection": {name: list(values) for name, values in self.selection},
                "multiplicity": self.multiplicity,
                "over": list(self.over),
                **{
                    part: _node_to_plain(node)
                    for part in ("at_least", "at_most", "never")
                    if (node := getattr(self, part)) is not None
                },
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str) -> Proof:
        """The inverse of :meth:`to_json`; anything malformed is a :class:`ProofError`."""
        try:
            plain = json.loads(text)
            return cls(
                selection=tuple((str(n), tuple(map(str, v))) for n, v in plain["selection"].items()),
                multiplicity=_integer(plain["multiplicity"]),
                over=tuple(map(str, plain["over"])),
                **{
                    part: _node_from_plain(plain[part])
                    for part in ("at_least", "at_most", "never")
                    if part in plain
                },
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ProofError(f"the proof cannot be read: {error}") from None


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


@dataclass(frozen=True)
class _Row:
    """Something known about a sum of counts: member(t) per type, low ≤ sum, sum ≤ high."""

    member: NDArray[np.int64]
    low: int
    high: int | None


class Checker:
    """Checks any number of proofs and witnesses against one release.

    >>> from showthrough import Schema, Release, make_table
    >>> schema = Schema.of({"sex": ["f", "m"]})
    >>> release = Release.of(schema, {make_table(schema, "total"): [3],
    ...                               make_table(schema, "sex"): [1, None]})
    >>> total_minus_women = Leaf(cells=((0, 1), (1, -1)), branches=(), denominator=1, total=2)
    >>> total_plus = Leaf(cells=((0, -1), (1, 1)), branches=(), denominator=1, total=-2)
    >>> proof = Proof((("sex", ("m",)),), 2, at_least=total_minus_women, at_most=total_plus,
    ...               over=("sex",))
    >>> Checker(schema, release).check(proof)
    >>> Checker(schema, release).check(Proof(proof.selection, 3, *proof.nodes, over=("sex",)))
    Traceback (most recent call last):
        ...
    showthrough.errors.ProofError: the multipliers prove at least 2, not at least 3
    """

    def __init__(self, schema: SchemaLike, release: ReleaseLike) -> None:
        self._values = {a.name: {v: c for c, v in enumerate(a.values)} for a in schema.attributes}
        self._rules = tuple(schema.rules)
        self._implications = [
            (self._trimmed(when), term)
            for rule in schema.rules
            for when, then in _directions(rule)
            for term in self._trimmed(then)
        ]
        self._cells = tuple(release.cells)
        self._types: dict[tuple[str, ...], dict[str, NDArray[np.int16]]] = {}
        self._members: dict[tuple[tuple[str, ...], int], NDArray[np.int64]] = {}

    def check(self, proof: Proof) -> None:
        """Raise :class:`ProofError` unless the proof holds for this release."""
        if not proof.nodes:
            raise ProofError("the proof is empty")
        if len(set(proof.over)) != len(proof.over):
            raise ProofError("the proof looks at an attribute twice")
        if proof.multiplicity < 0:
            raise ProofError(f"a count cannot be {proof.multiplicity}")
        claim = self._selected(proof.selection, proof.over)
        m = proof.multiplicity
        if proof.at_least is not None:
            self._check_node(proof.at_least, claim, m, (), proof.over, f"at least {m}")
        if proof.at_most is not None:
            self._check_node(proof.at_most, -claim, -m, (), proof.over, f"at most {m}")
        if proof.never is not None:
            row = _Row(claim, m, m)
            self._check_node(proof.never, 0 * claim, 1, (row,), proof.over, f"never {m}")

    def check_also(self, proof: Proof, terms: Terms) -> None:
        """Raise :class:`ProofError` unless the proof's multipliers prove the same of a selection."""
        mine, other = (self._selected(t, proof.over) for t in (proof.selection, terms))
        if not np.array_equal(mine, other):
            self.check(replace(proof, selection=terms))

    def check_contradiction(self, node: Node, over: tuple[str, ...]) -> None:
        """Raise :class:`ProofError` unless the node shows that no dataset agrees."""
        nothing = self._selected((), over) * 0
        self._check_node(node, nothing, 1, (), over, "a contradiction")

    def check_world(self, records: Iterable[tuple[Mapping[str, str], int]]) -> None:
        """Raise :class:`ProofError` unless these records (record, how often) agree with the release."""
        rows = list(records)
        for record, times in rows:
            if times < 0 or any(record.get(name) not in v for name, v in self._values.items()):
                raise ProofError(f"a witness holds an impossible record: {dict(record)}")
            for rule in self._rules if times else ():
                for when, then in _directions(rule):
                    if _matches(when, record) and not _matches(then, record):
                        raise ProofError(f"a witness breaks a rule: {dict(record)}")
        for cell in self._cells:
            count = sum(times for record, times in rows if _matches(cell.selection.terms, record))
            if not cell.low <= count <= cell.high:
                raise ProofError(f"a witness has {count} records in a cell of {cell.low}-{cell.high}")

    def _check_node(
        self,
        node: Node,
        goal: NDArray[np.int64],
        target: int,
        rows: tuple[_Row, ...],
        over: tuple[str, ...],
        what: str,
    ) -> None:
        if isinstance(node, Leaf):
            self._check_leaf(node, goal, target, rows, over, what)
            return
        member = sum((self._selected(terms, over) for terms in node.on), start=0 * goal)
        below, above = _Row(member, 0, node.at), _Row(member, node.at + 1, None)
        self._check_node(node.below, goal, target, (*rows, below), over, what)
        self._check_node(node.above, goal, target, (*rows, above), over, what)

    def _check_leaf(
        self,
        leaf: Leaf,
        goal: NDArray[np.int64],
        target: int,
        rows: tuple[_Row, ...],
        over: tuple[str, ...],
        what: str,
    ) -> None:
        if leaf.denominator < 1:
            raise ProofError("a denominator is not positive")
        used = [(self._row(at, over), u) for at, u in leaf.cells]
        used += [(_pick(rows, depth), u) for depth, u in leaf.branches]
        if len({at for at, _ in leaf.cells}) + len({at for at, _ in leaf.branches}) != len(used):
            raise ProofError("a row is multiplied twice")
        total = 0
        weight = leaf.denominator * (1 + int(np.abs(goal).max(initial=0)))
        for row, u in used:
            if u < 0 and row.high is None:
                raise ProofError("a multiplier uses an upper bound that is not published")
            total += u * row.low if u > 0 or row.high is None else u * row.high
            weight += abs(u) * int(row.member.max(initial=0))
        if total != leaf.total:
            raise ProofError(f"the multipliers add up to {total}, the proof says {leaf.total}")
        if weight < 2**62:
            slack = leaf.denominator * goal
        else:  # beyond 64 bits: Python integers
            slack = np.array([leaf.denominator * int(g) for g in goal], dtype=object)
        for row, u in used:
            slack = slack - u * row.member.astype(slack.dtype)
        if len(slack) and slack.min() < 0:
            raise ProofError("the multipliers exceed what a record type can contribute")
        proved = -(-total // leaf.denominator)
        if proved < target:
            stated = (
                f"at most {-proved}" if target < 0 or what.startswith("at most") else f"at least {proved}"
            )
            raise ProofError(f"the multipliers prove {stated}, not {what}")

    def _trimmed(self, terms: Terms) -> Terms:
        """Without terms that allow every value and so say nothing."""
        return tuple((n, v) for n, v in terms if set(v) != set(self._values.get(n, ())))

    def _row(self, at: int, over: tuple[str, ...]) -> _Row:
        if not 0 <= at < len(self._cells):
            raise ProofError(f"the proof names cell {at}, the release has {len(self._cells)}")
        cell = self._cells[at]
        if (over, at) not in self._members:
            self._members[over, at] = self._selected(cell.selection.terms, over)
        high = int(cell.high) if cell.high < 2**62 else None
        return _Row(self._members[over, at], int(cell.low), high)

    def _selected(self, terms: Terms, over: tuple[str, ...]) -> NDArray[np.int64]:
        """1 for every record type that matches, 0 for the others."""
        return self._hits(terms, self._record_types(over)).astype(np.int64)

    def _hits(self, terms: Terms, types: Mapping[str, NDArray[np.int16]]) -> NDArray[np.bool_]:
        hit = np.ones(len(next(iter(types.values()))) if types else 1, bool)
        for name, values in terms:
            if name not in self._values:
                raise ProofError(f"the proof names an unknown attribute: {name}")
            if name not in types:
                raise ProofError(f"the proof leaves out an attribute it needs: {name}")
            allowed = np.zeros(len(self._values[name]), bool)
            for value in values:
                if value not in self._values[name]:
                    raise ProofError(f"the proof names an unknown value of {name}: {value}")
                allowed[self._values[name][value]] = True
            hit &= allowed[types[name]]
        return hit

    def _record_types(self, over: tuple[str, ...]) -> dict[str, NDArray[np.int16]]:
        """Every record type that can exist, as one code column per attribute."""
        if over not in self._types:
            types: dict[str, NDArray[np.int16]] = {}
            for depth, name in enumerate(over):
                types = self._extended(types, name)
                types = self._possible(types, set(over[: depth + 1]), name)
            self._types[over] = types
        return self._types[over]

    def _extended(self, types: Mapping[str, NDArray[np.int16]], name: str) -> dict[str, NDArray[np.int16]]:
        if name not in self._values:
            raise ProofError(f"the proof names an unknown attribute: {name}")
        size = len(next(iter(types.values()))) if types else 1
        values = np.arange(len(self._values[name]), dtype=np.int16)
        if size * len(values) > MOST_TYPES:
            raise ProofError(f"more than {MOST_TYPES:,} record types: too many to check")
        grown = {known: np.repeat(codes, len(values)) for known, codes in types.items()}
        return {**grown, name: np.tile(values, size)}

    def _possible(
        self, types: dict[str, NDArray[np.int16]], known: set[str], newest: str
    ) -> dict[str, NDArray[np.int16]]:
        """Without the types that a rule or a zero cell, decided by the newest column, rules out."""
        dead = np.zeros(len(types[newest]), bool)
        for when, term in self._implications:
            names = {name for name, _ in (*when, term)}
            if newest in names and names <= known:
                dead |= self._hits(when, types) & ~self._hits((term,), types)
        for cell in self._cells:
            names = {name for name, _ in cell.selection.terms}
            if cell.high == 0 and names <= known and (newest in names or not names):
                dead |= self._hits(cell.selection.terms, types)
        return {name: codes[~dead] for name, codes in types.items()}


def check_proof(proof: Proof, schema: SchemaLike, release: ReleaseLike) -> None:
    """Raise :class:`ProofError` unless the proof holds for this release."""
    Checker(schema, release).check(proof)


def _matches(terms: Terms, record: Mapping[str, str]) -> bool:
    return all(record.get(name) in values for name, values in terms)


def _directions(rule: RuleLike) -> Iterable[tuple[Terms, Terms]]:
    """What a rule says, as "whoever matches the first matches the second"."""
    yield rule.when.terms, rule.then.terms
    if rule.both_ways:
        yield rule.then.terms, rule.when.terms


def _pick(rows: Sequence[_Row], depth: int) -> _Row:
    if not 0 <= depth < len(rows):
        raise ProofError(f"the proof uses branch {depth}, but only {len(rows)} are open there")
    return rows[depth]


def _leaves(node: Node) -> Iterable[Leaf]:
    if isinstance(node, Leaf):
        yield node
    else:
        yield from _leaves(node.below)
        yield from _leaves(node.above)


def _node_to_plain(node: Node) -> dict[str, Any]:
    if isinstance(node, Leaf):
        return {
            "cells": [list(pair) for pair in node.cells],
            "branches": [list(pair) for pair in node.branches],
            "denominator": node.denominator,
            "total": node.total,
        }
    return {
        "on": [{name: list(values) for name, values in terms} for terms in node.on],
        "at": node.at,
        "below": _node_to_plain(node.below),
        "above": _node_to_plain(node.above),
    }


def _node_from_plain(plain: Mapping[str, Any]) -> Node:
    if "on" in plain:
        return Branch(
            on=tuple(tuple((str(n), tuple(map(str, v))) for n, v in s.items()) for s in plain["on"]),
            at=_integer(plain["at"]),
            below=_node_from_plain(plain["below"]),
            above=_node_from_plain(plain["above"]),
        )
    return Leaf(
        cells=tuple((_integer(at), _integer(u)) for at, u in plain["cells"]),
        branches=tuple((_integer(at), _integer(u)) for at, u in plain["branches"]),
        denominator=_integer(plain["denominator"]),
        total=_integer(plain["total"]),
    )


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not an integer")
    return value
