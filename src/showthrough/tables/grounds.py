"""What a proof rests on: the cells it multiplies, and the cells published as 0 and the rules beside them.

A leaf's inequality must hold for every record type that can exist. Where it fails for a type, a rule or a
cell published as 0 must exclude that type: the proof rests on these too, although they are not in its sum.
Where a type is excluded in several ways there is a choice: rules come first, then zeros of the tables whose
cells are multiplied anyway, then those of few other tables, chosen one after the other.

The types are looked at over few attributes: those of the cells, with what the proof is about. Only where
zeros about these do not suffice, all attributes are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from showthrough.release import Release
from showthrough.tables.proof import Proof
from showthrough.tables.type_sets import Box, Piece, TypeGrid, mask_of, shapes_of

__all__ = [
    "Exclusions",
    "Grounds",
    "Resting",
]


@dataclass(frozen=True)
class Resting:
    """The tables that a proof rests on, by position: those it adds cells of, those whose zeros it needs."""

    added: frozenset[int] = frozenset()
    zeros: frozenset[int] = frozenset()

    def __or__(self, other: Resting) -> Resting:
        return Resting(self.added | other.added, self.zeros | other.zeros)

    @property
    def n_tables(self) -> int:
        """How many tables there are in all."""
        return len(self.added | self.zeros)

    @property
    def n_tables_added(self) -> int:
        """How many tables have cells that are added or subtracted."""
        return len(self.added)


@dataclass(frozen=True)
class Exclusions:
    """The cells published as 0, by position in the release, and the rules that exclude record types.

    ``complete`` is false where the record types are too many to look at; then all zeros are listed. ``whole``
    is false where all attributes had to be looked at, with many combinations of values: the rules, which
    exclude most of them, are not told apart there.
    """

    zeros: tuple[int, ...] = ()
    rules: tuple[int, ...] = ()
    complete: bool = True
    whole: bool = True


class Grounds:
    """Finds what proofs about one release rest on.

    Parameters
    ----------
    release
        What is published.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> release = st.Release.of(schema, {"sex": [3, 2], "sex*ill": [None, 0, None, None]})
    >>> found = st.bounds(release, "sex=f,ill=no")
    >>> grounds = Grounds(release)
    >>> grounds.tables(found.low_proof)
    Resting(added=frozenset({0}), zeros=frozenset({1}))
    >>> [release.cells[at].name for at in grounds.exclusions(found.low_proof).zeros]
    ['ill=yes,sex=f']
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        self._shapes = shapes_of(release.layout)
        self._zeros = np.flatnonzero(release.high == 0).tolist()
        #: What cells published as 0 count, by position among all boxes.
        self._zero_array = np.flatnonzero((release.high == 0)[self._shapes.box_cells])
        self._zero_needs = self._shapes.needs[self._zero_array]
        self._inside: dict[int, list[int]] = {}
        self._by_table: dict[tuple[int, ...], _Excluded] = {}

    def tables(self, proof: Proof) -> Resting:
        """The tables that the proof rests on."""
        table_of = self._shapes.table_of
        added = frozenset(table_of[cell] for cell in proof.cells)
        left, needed = list[tuple[int, dict[int, int]]](), set[int]()
        for piece in self._pieces(proof):
            found = self._excluded(piece)
            if found is None:
                return Resting(added, frozenset(table_of[cell] for cell in self._zeros))
            types, excluding = found
            for table in sorted(added & excluding.keys()) if types else ():
                if types & excluding[table]:
                    needed.add(table)
                    types &= ~excluding[table]
            if types:
                left.append((types, excluding))
        return Resting(added, frozenset(needed | set(_cover(left))))

    def exclusions(self, proof: Proof) -> Exclusions:
        """The cells published as 0, in the tables that the proof rests on, and the rules that it needs."""
        resting = self.tables(proof)
        mine = [cell for cell in self._zeros if self._shapes.table_of[cell] in resting.added | resting.zeros]
        zeros, rules = list[tuple[int, dict[int, int]]](), list[tuple[int, dict[int, int]]]()
        whole = True
        for piece in self._pieces(proof):
            found = self._excluded(piece, wide := list[Piece]())
            if found is None:
                return Exclusions(tuple(self._zeros), complete=False, whole=False)
            piece = wide[0] if wide else piece
            whole = whole and not piece.grid.legal
            if found[0]:
                zeros.append((found[0], self._bits(piece, mine)))
            if forbidden := piece.types & ~found[0]:
                boxes = range(len(self._shapes.rules))
                rules.append((forbidden, self._bits(piece, [-1 - at for at in boxes])))
        used = {self._shapes.rules[-1 - box] for box in _cover(rules)}
        return Exclusions(tuple(sorted(_cover(zeros))), tuple(sorted(used)), whole=whole)

    def _pieces(self, proof: Proof) -> Iterator[Piece]:
        for node, sign in ((proof.at_least, 1), (proof.at_most, -1), (proof.never, 0)):
            if node is not None:
                branches = ((proof.selection,),) if sign == 0 else ()
                yield from self._shapes.pieces(node, sign, proof, branches)

    def _excluded(self, piece: Piece, wide: list[Piece] | None = None) -> tuple[int, dict[int, int]] | None:
        """The piece's types that no rule excludes, and per table those that its zeros do.

        None if there are too many types to say. If all attributes had to be looked at, ``wide`` gets the
        piece over them.
        """
        beyond = {at: codes for at, codes in piece.fixed.items() if not piece.grid.mask >> at & 1}
        for fixed in ({}, beyond) if beyond else ({},):
            found = self._excluding(piece.grid, fixed)
            if not piece.types & ~found.every:
                return piece.types & ~found.ruled, found.by_table
        grown = piece.leaf.widened(piece)
        if grown is None:
            return None
        found = self._excluding(grown.grid, {})
        if wide is not None:
            wide.append(grown)
        return None if grown.types & ~found.every else (grown.types & ~found.ruled, found.by_table)

    def _excluding(self, grid: TypeGrid, fixed: Box) -> _Excluded:
        """The types that rules exclude, and per table those that its cells published as 0 do."""
        key = (*grid.key, -1, *(code for at in sorted(fixed) for code in (at, *sorted(fixed[at]), -1)))
        if key not in self._by_table:
            zeros, forbidden = self._usable(grid.mask | mask_of(fixed))
            excluding, ruled = dict[int, int](), 0
            if fixed:
                known = self._excluding(grid, {})
                excluding, ruled = dict(known.by_table), known.ruled
                needs = self._shapes.needs
                zeros = [box for box in zeros if needs[box] & ~grid.mask]
            boxes, table_of, cells = self._shapes.boxes, self._shapes.table_of, self._shapes.box_cells
            for box in zeros:
                if bits := grid.bits(boxes[box], fixed):
                    table = table_of[cells[box]]
                    excluding[table] = excluding.get(table, 0) | bits
            for ruled_out in forbidden:
                ruled |= grid.bits(ruled_out, fixed)
            every = ruled
            for bits in excluding.values():
                every |= bits
            self._by_table[key] = _Excluded(ruled, excluding, every)
        return self._by_table[key]

    def _usable(self, mask: int) -> tuple[list[int], list[Box]]:
        """What cells published as 0 count, and what the rules forbid, about these attributes only."""
        if mask not in self._inside:
            self._inside[mask] = self._zero_array[self._zero_needs & ~np.int64(mask) == 0].tolist()
        return self._inside[mask], self._shapes.forbidden_inside(mask)

    def _bits(self, piece: Piece, sources: Sequence[int]) -> dict[int, int]:
        """Per cell (or rule's box, from −1 downwards) the types of the piece's grid that it excludes."""
        cells, forbidden = self._shapes.cells, self._shapes.forbidden
        found = dict[int, int]()
        for at in sources:
            boxes = [box for _, box in cells[at]] if at >= 0 else [forbidden[-1 - at]]
            bits = 0
            for box in boxes:
                bits |= piece.grid.bits(box, piece.fixed)
            if bits:
                found[at] = bits
        return found


@dataclass(frozen=True, eq=False)
class _Excluded:
    """The types of a grid that rules exclude, those that each table's zeros do, and both together."""

    ruled: int
    by_table: dict[int, int]
    every: int


def _left(types: int, excluding: Mapping[int, int]) -> int:
    """The types that none excludes."""
    for bits in excluding.values():
        types &= ~bits
        if not types:
            return 0
    return types


def _cover(parts: Sequence[tuple[int, dict[int, int]]]) -> list[int]:
    """Few sources that together exclude all types of all parts.

    The first type that is left is excluded by the source that excludes the most of its part; sources
    that the later ones make superfluous are left out again.
    """
    chosen = list[int]()
    for types, excluding in parts:
        for source in chosen:
            types &= ~excluding.get(source, 0)
        while types:
            first = types & -types
            able = [source for source, bits in excluding.items() if bits & first]
            best = max(able, key=lambda source: ((types & excluding[source]).bit_count(), -source))
            chosen.append(best)
            types &= ~excluding[best]
    for source in chosen[:-1]:
        others = [one for one in chosen if one != source]
        if all(not _left(types, {at: bits[at] for at in others if at in bits}) for types, bits in parts):
            chosen = others
    return chosen
