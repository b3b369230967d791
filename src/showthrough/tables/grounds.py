"""What a proof rests on: the cells it multiplies, and the cells published as 0 and the rules beside them.

A leaf's inequality must hold for every record type that can exist. Where it fails for a type, a rule or a
cell published as 0 must exclude that type: the proof rests on these too, although they are not in its sum.
Where a type is excluded in several ways there is a choice: rules come first, then zeros of the tables whose
cells are multiplied anyway, then those of few other tables, chosen one after the other.

The types are looked at over few attributes: those of the cells, with what the proof is about. Only where
zeros about these do not suffice, all attributes are looked at. A set of types is one long integer, a bit
per type.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED, Layout, Release
from showthrough.selection import Selection
from showthrough.tables.proof import Leaf, Node, Proof, Terms
from showthrough.tables.search.universe import TooManyTypes, grow, make_frame

__all__ = [
    "Exclusions",
    "Grounds",
    "Resting",
]

#: Per restricted attribute (by position) the codes that a selection allows.
Box = Mapping[int, frozenset[int]]

#: Types of a product of attributes, and of all attributes together, that are looked at.
MOST_PRODUCT, MOST_TYPES = 2**15, 400_000

#: Sets of types that are remembered.
MOST_REMEMBERED = 50_000


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
    is false where all attributes had to be looked at: the rules, which exclude most types, are not told
    apart there.
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
        self._zero_array = np.flatnonzero(release.high == 0)
        self._zeros = self._zero_array.tolist()
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
            found = self._excluded(piece, wide := list[_Piece]())
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

    def _pieces(self, proof: Proof) -> Iterator[_Piece]:
        for node, sign in ((proof.at_least, 1), (proof.at_most, -1), (proof.never, 0)):
            if node is not None:
                branches = ((proof.selection,),) if sign == 0 else ()
                yield from self._shapes.pieces(node, sign, proof, branches)

    def _excluded(self, piece: _Piece, wide: list[_Piece] | None = None) -> tuple[int, dict[int, int]] | None:
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
        return None if grown.types & ~found.every else (grown.types, found.by_table)

    def _excluding(self, grid: _Grid, fixed: Box) -> _Excluded:
        """The types that rules exclude, and per table those that its cells published as 0 do."""
        key = (*grid.key, -1, *(code for at in sorted(fixed) for code in (at, *sorted(fixed[at]), -1)))
        if key not in self._by_table:
            zeros, forbidden = self._usable(grid.mask | _mask(fixed))
            excluding, ruled = dict[int, int](), 0
            if fixed:
                known = self._excluding(grid, {})
                excluding, ruled = dict(known.by_table), known.ruled
                needs = self._shapes.needs
                zeros = [cell for cell in zeros if needs[cell] & ~grid.mask]
            boxes, table_of = self._shapes.boxes, self._shapes.table_of
            for cell in zeros:
                if bits := grid.bits(boxes[cell], fixed):
                    table = table_of[cell]
                    excluding[table] = excluding.get(table, 0) | bits
            for box in forbidden:
                ruled |= grid.bits(box, fixed)
            every = ruled
            for bits in excluding.values():
                every |= bits
            self._by_table[key] = _Excluded(ruled, excluding, every)
        return self._by_table[key]

    def _usable(self, mask: int) -> tuple[list[int], list[Box]]:
        """The cells published as 0, and what the rules forbid, that are about these attributes only."""
        if mask not in self._inside:
            self._inside[mask] = self._zero_array[self._zero_needs & ~np.int64(mask) == 0].tolist()
        return self._inside[mask], self._shapes.forbidden_inside(mask)

    def _bits(self, piece: _Piece, sources: Sequence[int]) -> dict[int, int]:
        """Per cell (or rule's box, from −1 downwards) the types of the piece's grid that it excludes."""
        boxes, forbidden = self._shapes.boxes, self._shapes.forbidden
        found = dict[int, int]()
        for at in sources:
            if bits := piece.grid.bits(boxes[at] if at >= 0 else forbidden[-1 - at], piece.fixed):
                found[at] = bits
        return found


@dataclass(frozen=True, eq=False)
class _Excluded:
    """The types of a grid that rules exclude, those that each table's zeros do, and both together."""

    ruled: int
    by_table: dict[int, int]
    every: int


@dataclass(frozen=True, eq=False)
class _Piece:
    """Types over a grid for which a leaf's inequality fails; ``fixed`` is what all of them have besides."""

    grid: _Grid
    types: int
    fixed: Box
    threshold: int
    outside: tuple[int, frozenset[int]] | None
    leaf: _Inequality


class _Grid:
    """Record types over some attributes: all combinations, or those that the rules allow."""

    def __init__(self, over: tuple[int, ...], codes: NDArray[np.integer], *, legal: bool = False) -> None:
        self.over = over
        self.legal = legal
        self.key = (-2 if legal else -1, *over)
        self.mask = sum(1 << at for at in over)
        self.codes = codes
        self.whole = (1 << len(codes)) - 1
        self._values: dict[tuple[int, frozenset[int]], int] = {}
        self._boxes: dict[int, tuple[Box, int]] = {}

    def value(self, at: int, allowed: frozenset[int]) -> int:
        """The types with one of these codes of an attribute."""
        key = at, allowed
        if key not in self._values:
            codes = self.codes[:, self.over.index(at)]
            table = np.zeros(int(codes.max(initial=0)) + 1, bool)
            table[[code for code in allowed if code < len(table)]] = True
            hit = table[codes]
            self._values[key] = int.from_bytes(np.packbits(hit, bitorder="little").tobytes(), "little")
        return self._values[key]

    def bits(self, box: Box, fixed: Box) -> int:
        """The types in a box, given what is fixed: none if it restricts other attributes as well."""
        if not fixed and id(box) in self._boxes:
            return self._boxes[id(box)][1]
        found = self.whole
        for at, allowed in box.items():
            if self.mask >> at & 1:
                found &= self.value(at, allowed)
            elif at not in fixed or not fixed[at] <= allowed:
                return 0
        if not fixed:
            self._boxes[id(box)] = box, found  # with the box, so that its number is not given to another
        return found

    def above(self, rows: Sequence[tuple[Box, int]]) -> _Sums:
        """What multiples of boxes add up to, type by type."""
        sums = _Sums(self.whole)
        for box, u in rows:
            sums.add(self.bits(box, {}), u)
        return sums


class _Sums:
    """Sums per type, their positive and their negative part, each as one set of types per binary digit."""

    def __init__(self, whole: int) -> None:
        self.whole = whole
        self._sides: tuple[list[int], list[int]] = ([], [])

    def add(self, types: int, u: int) -> None:
        """Add a multiple to some types."""
        _add(self._sides[u < 0], types, abs(u))

    def above(self, threshold: int) -> int:
        """The types whose sum is larger."""
        more, less = list(self._sides[0]), list(self._sides[1])
        _add(less if threshold > 0 else more, self.whole, abs(threshold))
        n_digits = max(len(more), len(less))
        found, same = 0, self.whole
        for at in range(n_digits - 1, -1, -1):
            one = more[at] if at < len(more) else 0
            other = less[at] if at < len(less) else 0
            found |= same & one & ~other
            same &= ~(one ^ other)
        return found


def _add(digits: list[int], types: int, times: int) -> None:
    """Add a number to the counts of some types."""
    at = 0
    while times:
        carry, place = types if times & 1 else 0, at
        while carry:
            if place >= len(digits):
                digits += [0] * (place + 1 - len(digits))
            digits[place], carry = digits[place] ^ carry, digits[place] & carry
            place += 1
        times >>= 1
        at += 1


class _Shapes:
    """What all releases of a layout share: boxes, grids, and the types for which leaves fail."""

    def __init__(self, layout: Layout) -> None:
        self.schema = layout.schema
        self.layout = layout
        self.boxes: list[Box] = [self.schema.encode(one) for one in layout.selections]
        self.needs = np.array([_mask(box) for box in self.boxes], np.int64)
        starts = ((at, len(table.cells)) for at, table in enumerate(layout.tables))
        self.table_of = [at for at, size in starts for _ in range(size)]
        self._grids: dict[tuple[int, ...], _Grid] = {}
        self._wide: dict[tuple[str, ...], _Grid | None] = {}
        self._forbidden_inside: dict[int, list[Box]] = {}
        self._known: dict[tuple[object, ...], tuple[_Piece, ...]] = {}

    @cached_property
    def rules(self) -> list[int]:
        """The rule that each forbidden box comes from."""
        found: dict[Selection, int] = {}
        for number, rule in enumerate(self.schema.rules):
            alone = type(self.schema)(self.schema.attributes, (rule,))
            for box in alone.forbidden:
                found.setdefault(box, number)
        return [found.get(box, 0) for box in self.schema.forbidden]

    @cached_property
    def forbidden(self) -> list[Box]:
        """What the rules forbid."""
        return [self.schema.encode(one) for one in self.schema.forbidden]

    def forbidden_inside(self, mask: int) -> list[Box]:
        """What the rules forbid about some attributes."""
        if mask not in self._forbidden_inside:
            self._forbidden_inside[mask] = [box for box in self.forbidden if not _mask(box) & ~mask]
        return self._forbidden_inside[mask]

    def pieces(
        self, node: Node, sign: int, proof: Proof, branches: tuple[tuple[Terms, ...], ...]
    ) -> Iterator[_Piece]:
        """Every way in which the leaves below a node may fail."""
        if isinstance(node, Leaf):
            key = node.cells, node.denominator, node.branches, sign, proof.selection, proof.over
            known = () if node.branches else key
            if not known or known not in self._known:
                made = tuple(self._leaf(node, sign, proof, branches))
                if not known:
                    yield from made
                    return
                if len(self._known) > MOST_REMEMBERED:
                    self._known.clear()
                self._known[known] = made
            yield from self._known[known]
        else:
            for side in (node.below, node.above):
                yield from self.pieces(side, sign, proof, (*branches, node.on))

    def _leaf(
        self, leaf: Leaf, sign: int, proof: Proof, branches: tuple[tuple[Terms, ...], ...]
    ) -> Iterator[_Piece]:
        rows = [(self.boxes[at], u) for at, u in leaf.cells]
        rows += [(self._box(terms), u) for depth, u in leaf.branches for terms in branches[depth]]
        mine = self._box(proof.selection) if sign else {}
        made = _Inequality(self, tuple(rows), proof.over)
        yield from made.pieces(leaf.denominator * sign, mine, None)
        if any(u > 0 for _, u in rows):
            for at, allowed in mine.items():
                yield from made.pieces(0, {}, (at, allowed))

    def _box(self, terms: Terms) -> Box:
        return self.schema.encode(Selection(terms))

    def grid(self, mask: int) -> _Grid | None:
        """All combinations of values of some attributes; None if they are too many."""
        over = tuple(at for at in range(len(self.schema.attributes)) if mask >> at & 1)
        if over not in self._grids:
            sizes = [len(self.schema.attributes[at].values) for at in over]
            if math.prod(sizes) > MOST_PRODUCT:
                return None
            codes = np.indices(sizes).reshape(len(over), -1).T if over else np.zeros((1, 0), np.int64)
            self._grids[over] = _Grid(over, codes)
        return self._grids[over]

    def wide(self, over: tuple[str, ...]) -> _Grid | None:
        """The types over some attributes that the rules allow; None if they are too many."""
        if over not in self._wide:
            frame = make_frame(self.layout, tuple(sorted(self.schema.index[name] for name in over)))
            high = np.full(len(self.boxes), UNBOUNDED, np.int64)
            try:
                grown = grow(frame, Release(self.layout, np.zeros_like(high), high), most=MOST_TYPES)
                self._wide[over] = _Grid(frame.over, np.asfortranarray(grown.codes), legal=True)
            except TooManyTypes:
                self._wide[over] = None
        return self._wide[over]


class _Inequality:
    """A leaf's inequality: multiples of boxes, and the types for which they add up to too much."""

    def __init__(self, shapes: _Shapes, rows: tuple[tuple[Box, int], ...], over: tuple[str, ...]) -> None:
        self.shapes = shapes
        self.rows = rows
        self.over = over
        self.mask = 0
        for box, _ in rows:
            self.mask |= _mask(box)
        self._above: dict[tuple[tuple[int, ...], int], int] = {}
        self._sums: dict[tuple[int, ...], _Sums] = {}

    def pieces(
        self, threshold: int, fixed: Box, outside: tuple[int, frozenset[int]] | None
    ) -> Iterator[_Piece]:
        """The types, in or out of what is claimed, whose sum is above a threshold; none if there are none."""
        grid = self.shapes.grid(self.mask | (0 if outside is None else 1 << outside[0]))
        grid = self.shapes.wide(self.over) if grid is None else grid
        if grid is None:
            yield _Piece(_Grid((), np.zeros((1, 0), np.int64)), 1, {}, threshold, outside, self)
            return
        found = self.piece(grid, threshold, fixed, outside)
        if found.types:
            yield found

    def piece(
        self, grid: _Grid, threshold: int, fixed: Box, outside: tuple[int, frozenset[int]] | None
    ) -> _Piece:
        """The same over a grid."""
        types = self._types(grid, threshold)
        for at, allowed in fixed.items():
            if grid.mask >> at & 1:
                types &= grid.value(at, allowed)
        if outside is not None:
            types &= ~grid.value(*outside)
        return _Piece(grid, types, fixed, threshold, outside, self)

    def widened(self, piece: _Piece) -> _Piece | None:
        """A piece over all attributes that its proof looks at; None if that makes too many types."""
        grid = self.shapes.wide(self.over)
        return None if grid is None else self.piece(grid, piece.threshold, piece.fixed, piece.outside)

    def _types(self, grid: _Grid, threshold: int) -> int:
        if grid.key not in self._sums:
            self._sums[grid.key] = grid.above(self.rows)
        if (grid.key, threshold) not in self._above:
            self._above[grid.key, threshold] = self._sums[grid.key].above(threshold)
        return self._above[grid.key, threshold]


@lru_cache(maxsize=16)
def shapes_of(layout: Layout) -> _Shapes:
    """The shared part, made once per layout."""
    return _Shapes(layout)


def _mask(box: Box) -> int:
    return sum(1 << at for at in box)


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
