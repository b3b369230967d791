"""A proof about a count, and the checker that accepts or rejects it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

import numpy as np
from numpy.typing import NDArray

from .failure import ProofError
from .possible import Possible, ReleaseLike, SchemaLike, Types, directions
from .tree import (
    Leaf,
    Node,
    Terms,
    from_plain,
    integer,
    leaves_of,
    terms_from_plain,
    to_plain,
)
from .type_sums import TypeSums
from .world import World

__all__ = [
    "Checker",
    "Proof",
    "check_proof",
]

#: The parts of a proof that are nodes.
PARTS = ("at_least", "at_most", "never")

#: Record types × cells remembered, a bit each.
MOST_REMEMBERED = 800_000_000

#: Sets of record types, each with how often a record of it counts.
Counted = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Proof:
    """Evidence about how many records match a selection, in every dataset that agrees.

    Parameters
    ----------
    selection
        The records that are counted: attributes, each with its values.
    multiplicity
        The number that the count is compared with.
    at_least, at_most
        Prove count ≥ multiplicity and count ≤ multiplicity; both together: exactly so many.
    never
        Proves that the count is not the multiplicity.
    over
        The attributes the proof looks at, in the order in which record types are best enumerated.
    sum
        For the count of a cell that is a sum: its selections, each with its weight; ``selection`` is then
        empty. Such a proof is about no claim, and is not stored.
    """

    selection: Terms
    multiplicity: int
    at_least: Node | None = None
    at_most: Node | None = None
    never: Node | None = None
    over: tuple[str, ...] = ()
    sum: tuple[tuple[int, Terms], ...] = ()

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
        return tuple(leaf for node in self.nodes for leaf in leaves_of(node))

    @property
    def cells(self) -> tuple[int, ...]:
        """The positions of the cells it multiplies, sorted."""
        return tuple(sorted({cell for leaf in self.leaves for cell, _ in leaf.cells}))

    def to_json(self) -> str:
        """As one line of JSON; not for sums."""
        if self.sum:
            raise ProofError("a proof about a sum of selections is not stored")
        return json.dumps(
            {
                "selection": {name: list(values) for name, values in self.selection},
                "multiplicity": self.multiplicity,
                "over": list(self.over),
                **{part: to_plain(node) for part in PARTS if (node := getattr(self, part)) is not None},
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
                selection=terms_from_plain(plain["selection"]),
                multiplicity=integer(plain["multiplicity"]),
                over=tuple(map(str, plain["over"])),
                at_least=from_plain(plain["at_least"]) if "at_least" in plain else None,
                at_most=from_plain(plain["at_most"]) if "at_most" in plain else None,
                never=from_plain(plain["never"]) if "never" in plain else None,
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ProofError(f"the proof cannot be read: {error}") from None


@dataclass(frozen=True, eq=False)
class CellRow:
    """Something known about a sum of counts: which types count how often, low ≤ sum, sum ≤ high."""

    counted: Counted
    low: int
    high: int | None

    def member(self, types: Types) -> NDArray[np.int64]:
        """How often a record of each type counts."""
        total = np.zeros(types.n, np.int64)
        for weight, chosen in self.counted:
            total += weight * types.array(chosen).astype(np.int64)
        return total


@dataclass(frozen=True)
class _Goal:
    """What is to be proved: ``sign`` times the records that are ``counted`` are at least ``target``."""

    types: Types
    counted: Counted
    sign: int
    target: int
    what: str


class Checker:
    """Checks any number of proofs and witnesses against one release.

    >>> from showthrough.schema import Schema
    >>> from showthrough.release import Release, make_table
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
        self._rules = tuple(schema.rules)
        self._cells = tuple(release.cells)
        if any(weight < 1 for cell in self._cells for weight, _ in cell.terms):
            raise ProofError("a cell counts records with a weight that is not positive")
        self._possible = Possible(schema, self._cells)
        #: Rows that were used, by cell, for the types they are about.
        self._rows: dict[int, CellRow] = {}
        self._rows_of: Types | None = None

    def check(self, proof: Proof) -> None:
        """Raise :class:`ProofError` unless the proof holds for this release."""
        self.check_all(proof, ())

    def check_all(self, proof: Proof, selections: Sequence[Terms]) -> None:
        """Raise :class:`ProofError` unless the proof holds, and proves the same of every selection.

        First all at once: what holds of the types that match all of them is at least as much for each
        one, what holds of the types that match any is at most as much. Where that does not do, one by
        one.
        """
        self._check_form(proof)
        types = self._possible.types(proof.over)
        if proof.sum:
            self._check_sum(proof, types, selections)
            return
        different = list(dict.fromkeys(types.selected(terms) for terms in (proof.selection, *selections)))
        if proof.never is None and len(different) > 1:
            try:
                self._check_parts(proof, types, reduce(and_, different), reduce(or_, different))
                return
            except ProofError:
                pass
        for chosen in different:
            self._check_parts(proof, types, chosen, chosen)

    def _check_sum(self, proof: Proof, types: Types, selections: Sequence[Terms]) -> None:
        """At least so many, at most so many, where records count as often as the weights say."""
        if proof.selection or selections or proof.never is not None:
            raise ProofError("a proof about a sum of selections is about nothing else")
        if any(type(weight) is not int or not 1 <= weight < 2**31 for weight, _ in proof.sum):
            raise ProofError("a weight is not a whole number from 1")
        m = proof.multiplicity
        counted = tuple((weight, types.selected(terms)) for weight, terms in proof.sum)
        if proof.at_least is not None:
            self._check_node(proof.at_least, _Goal(types, counted, 1, m, f"at least {m}"), ())
        if proof.at_most is not None:
            self._check_node(proof.at_most, _Goal(types, counted, -1, -m, f"at most {m}"), ())

    @staticmethod
    def _check_form(proof: Proof) -> None:
        if not proof.nodes:
            raise ProofError("the proof is empty")
        if len(set(proof.over)) != len(proof.over):
            raise ProofError("the proof looks at an attribute twice")
        if proof.multiplicity < 0:
            raise ProofError(f"a count cannot be {proof.multiplicity}")

    def _check_parts(self, proof: Proof, types: Types, inner: int, outer: int) -> None:
        """At least so many records of ``inner``, at most so many of ``outer``, which holds it."""
        m = proof.multiplicity
        if proof.at_least is not None:
            self._check_node(proof.at_least, _Goal(types, ((1, inner),), 1, m, f"at least {m}"), ())
        if proof.at_most is not None:
            self._check_node(proof.at_most, _Goal(types, ((1, outer),), -1, -m, f"at most {m}"), ())
        if proof.never is not None:
            so_many = CellRow(((1, inner),), m, m)
            self._check_node(proof.never, _Goal(types, (), 1, 1, f"never {m}"), (so_many,))

    def check_contradiction(self, node: Node, over: tuple[str, ...]) -> None:
        """Raise :class:`ProofError` unless the node shows that no dataset agrees."""
        self._check_node(node, _Goal(self._possible.types(over), (), 1, 1, "a contradiction"), ())

    def n_types(self, over: tuple[str, ...]) -> int:
        """How many record types over these attributes can exist."""
        return self._possible.types(over).n

    def possible_types(self, over: tuple[str, ...]) -> Types:
        """The record types over these attributes that can exist."""
        return self._possible.types(over)

    def open_attributes(self) -> set[str]:
        """The attributes that have several values."""
        return {name for name, values in self._possible.values.items() if len(values) > 1}

    def most_of_each(self, types: Types) -> NDArray[np.int64]:
        """How many records of each type there can be by single cells; 2⁶² where none of them limits it."""
        most = np.full(types.n, 2**62, np.int64)
        for at, cell in enumerate(self._cells):
            if cell.high < 2**62:
                member = self.row(at, types).member(types)
                inside = np.flatnonzero(member)
                most[inside] = np.minimum(most[inside], int(cell.high) // member[inside])
        return most

    def check_world(self, records: Iterable[tuple[Mapping[str, str], int]]) -> World:
        """Raise :class:`ProofError` unless these records (record, how often) agree with the release."""
        rows = list(records)
        for record, times in rows:
            if times < 0 or any(record.get(name) not in v for name, v in self._possible.values.items()):
                raise ProofError(f"a witness holds an impossible record: {dict(record)}")
            for rule in self._rules if times else ():
                for when, then in directions(rule):
                    if _matches(when, record) and not _matches(then, record):
                        raise ProofError(f"a witness breaks a rule: {dict(record)}")
        world = World(rows)
        for cell in self._cells:
            count = sum(weight * world.count(one.terms) for weight, one in cell.terms)
            if not cell.low <= count <= cell.high:
                raise ProofError(f"a witness has {count} records in a cell of {cell.low}-{cell.high}")
        return world

    def _check_node(self, node: Node, goal: _Goal, rows: tuple[CellRow, ...]) -> None:
        if isinstance(node, Leaf):
            self._check_leaf(node, goal, rows)
            return
        counted = tuple((1, goal.types.selected(terms)) for terms in node.on)
        below, above = CellRow(counted, 0, node.at), CellRow(counted, node.at + 1, None)
        self._check_node(node.below, goal, (*rows, below))
        self._check_node(node.above, goal, (*rows, above))

    def _check_leaf(self, leaf: Leaf, goal: _Goal, rows: tuple[CellRow, ...]) -> None:
        if leaf.denominator < 1:
            raise ProofError("a denominator is not positive")
        used = [(self.row(at, goal.types), u) for at, u in leaf.cells]
        used += [(_pick(rows, depth), u) for depth, u in leaf.branches]
        if len({at for at, _ in leaf.cells}) + len({at for at, _ in leaf.branches}) != len(used):
            raise ProofError("a row is multiplied twice")
        total = 0
        for row, u in used:
            if u < 0 and row.high is None:
                raise ProofError("a multiplier uses an upper bound that is not published")
            total += u * row.low if u > 0 or row.high is None else u * row.high
        if total != leaf.total:
            raise ProofError(f"the multipliers add up to {total}, the proof says {leaf.total}")
        if _exceed(used, leaf.denominator, goal):
            raise ProofError("the multipliers exceed what a record type can contribute")
        proved = -(-total // leaf.denominator)
        if proved < goal.target:
            stated = f"at most {-proved}" if goal.what.startswith("at most") else f"at least {proved}"
            raise ProofError(f"the multipliers prove {stated}, not {goal.what}")

    def row(self, at: int, types: Types) -> CellRow:
        """What a cell says about these record types."""
        if not 0 <= at < len(self._cells):
            raise ProofError(f"the proof names cell {at}, the release has {len(self._cells)}")
        if self._rows_of is not types or len(self._rows) * types.n > MOST_REMEMBERED:
            self._rows, self._rows_of = {}, types
        if at not in self._rows:
            cell = self._cells[at]
            high = int(cell.high) if cell.high < 2**62 else None
            counted = tuple((int(weight), types.selected(one.terms)) for weight, one in cell.terms)
            self._rows[at] = CellRow(counted, int(cell.low), high)
        return self._rows[at]


def check_proof(proof: Proof, schema: SchemaLike, release: ReleaseLike) -> None:
    """Raise unless the proof holds for this release.

    Parameters
    ----------
    proof
        The proof.
    schema
        The schema of the release, with its rules.
    release
        What is published.

    Raises
    ------
    ProofError
        Says where the proof fails.
    """
    Checker(schema, release).check(proof)


def _exceed(used: Sequence[tuple[CellRow, int]], denominator: int, goal: _Goal) -> bool:
    """Whether multiples of rows add up to more than a multiple of the goal for any record type.

    What is subtracted on one side is added on the other, so that nothing is below 0.
    """
    left, right = TypeSums(), TypeSums()
    for row, u in used:
        for weight, chosen in row.counted:
            (left if u > 0 else right).add(chosen, abs(u) * weight)
    for weight, chosen in goal.counted:
        (right if goal.sign > 0 else left).add(chosen, denominator * weight)
    return left.exceeds(right) != 0


def _matches(terms: Terms, record: Mapping[str, str]) -> bool:
    return all(record.get(name) in values for name, values in terms)


def _pick(rows: Sequence[CellRow], depth: int) -> CellRow:
    if not 0 <= depth < len(rows):
        raise ProofError(f"the proof uses branch {depth}, but only {len(rows)} are open there")
    return rows[depth]
