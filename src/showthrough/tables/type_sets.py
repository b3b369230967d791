"""Sets of record types over some attributes, and the types for which a proof's inequality fails.

A set of types is one long integer, a bit per type; so is each binary digit of a sum per type.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED, Layout, Release, make_table
from showthrough.selection import Selection
from showthrough.tables.proof import Leaf, Node, Proof, Terms
from showthrough.tables.search.universe import TooManyTypes, grow, make_frame

__all__ = [
    "Box",
    "Piece",
    "TypeGrid",
    "mask_of",
    "shapes_of",
]

#: Per restricted attribute (by position) the codes that a selection allows.
Box = Mapping[int, frozenset[int]]

#: Types of a product of attributes, and of all attributes together, that are looked at.
MOST_PRODUCT, MOST_TYPES = 2**15, 400_000

#: Sets of types that are remembered.
MOST_REMEMBERED = 50_000


@dataclass(frozen=True, eq=False)
class Piece:
    """Types over a grid for which a leaf's inequality fails; ``fixed`` is what all of them have besides."""

    grid: TypeGrid
    types: int
    fixed: Box
    threshold: int
    outside: tuple[int, frozenset[int]] | None
    leaf: Inequality


class TypeGrid:
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

    def above(self, rows: Sequence[tuple[Box, int]]) -> BinarySums:
        """What multiples of boxes add up to, type by type."""
        sums = BinarySums(self.whole)
        for box, u in rows:
            sums.add(self.bits(box, {}), u)
        return sums


class BinarySums:
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


class Shapes:
    """What all releases of a layout share: boxes, grids, and the types for which leaves fail."""

    def __init__(self, layout: Layout) -> None:
        self.schema = layout.schema
        #: Per cell the boxes it counts, each with its weight.
        self.cells: list[list[tuple[int, Box]]] = [
            [(weight, self.schema.encode(one)) for weight, one in terms] for terms in layout.terms
        ]
        #: All of these boxes, the cell of each, and the attributes it restricts.
        self.boxes: list[Box] = [box for cell in self.cells for _, box in cell]
        self.box_cells = layout.box_cells
        self.needs = np.array([mask_of(box) for box in self.boxes], np.int64)
        starts = ((at, len(table.cells)) for at, table in enumerate(layout.tables))
        self.table_of = [at for at, size in starts for _ in range(size)]
        self._grids: dict[tuple[int, ...], TypeGrid] = {}
        self._wide: dict[tuple[str, ...], TypeGrid | None] = {}
        self._forbidden_inside: dict[int, list[Box]] = {}
        self._known: dict[tuple[object, ...], tuple[Piece, ...]] = {}

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
            self._forbidden_inside[mask] = [box for box in self.forbidden if not mask_of(box) & ~mask]
        return self._forbidden_inside[mask]

    def pieces(
        self, node: Node, sign: int, proof: Proof, branches: tuple[tuple[Terms, ...], ...]
    ) -> Iterator[Piece]:
        """Every way in which the leaves below a node may fail."""
        if isinstance(node, Leaf):
            key = node.cells, node.denominator, node.branches, sign, proof.selection, proof.over, proof.sum
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
    ) -> Iterator[Piece]:
        rows = [(box, u * weight) for at, u in leaf.cells for weight, box in self.cells[at]]
        rows += [(self._box(terms), u) for depth, u in leaf.branches for terms in branches[depth]]
        if proof.sum:
            rows += [(self._box(terms), -sign * leaf.denominator * weight) for weight, terms in proof.sum]
            yield from Inequality(self, tuple(rows), proof.over).pieces(0, {}, None)
            return
        mine = self._box(proof.selection) if sign else {}
        made = Inequality(self, tuple(rows), proof.over)
        yield from made.pieces(leaf.denominator * sign, mine, None)
        if any(u > 0 for _, u in rows):
            for at, allowed in mine.items():
                yield from made.pieces(0, {}, (at, allowed))

    def _box(self, terms: Terms) -> Box:
        return self.schema.encode(Selection(terms))

    def grid(self, mask: int) -> TypeGrid | None:
        """All combinations of values of some attributes; None if they are too many."""
        over = tuple(at for at in range(len(self.schema.attributes)) if mask >> at & 1)
        if over not in self._grids:
            sizes = [len(self.schema.attributes[at].values) for at in over]
            if math.prod(sizes) > MOST_PRODUCT:
                return None
            codes = np.indices(sizes).reshape(len(over), -1).T if over else np.zeros((1, 0), np.int64)
            self._grids[over] = TypeGrid(over, codes)
        return self._grids[over]

    def wide(self, over: tuple[str, ...]) -> TypeGrid | None:
        """All combinations of values of some attributes, or those that the rules allow; None: too many."""
        if over not in self._wide:
            mask = sum(1 << self.schema.index[name] for name in over)
            self._wide[over] = self.grid(mask) or self._legal(over)
        return self._wide[over]

    def _legal(self, over: tuple[str, ...]) -> TypeGrid | None:
        bare = Layout(self.schema, (make_table(self.schema, "total"),))  # the cells are not needed here
        frame = make_frame(bare, tuple(sorted(self.schema.index[name] for name in over)))
        any_ = np.array([UNBOUNDED])
        try:
            grown = grow(frame, Release(bare, np.zeros_like(any_), any_), most=MOST_TYPES)
        except TooManyTypes:
            return None
        return TypeGrid(frame.over, np.asfortranarray(grown.codes), legal=True)


class Inequality:
    """A leaf's inequality: multiples of boxes, and the types for which they add up to too much."""

    def __init__(self, shapes: Shapes, rows: tuple[tuple[Box, int], ...], over: tuple[str, ...]) -> None:
        self.shapes = shapes
        self.rows = rows
        self.over = over
        self.mask = 0
        for box, _ in rows:
            self.mask |= mask_of(box)
        self._above: dict[tuple[tuple[int, ...], int], int] = {}
        self._sums: dict[tuple[int, ...], BinarySums] = {}

    def pieces(
        self, threshold: int, fixed: Box, outside: tuple[int, frozenset[int]] | None
    ) -> Iterator[Piece]:
        """The types, in or out of what is claimed, whose sum is above a threshold; none if there are none."""
        grid = self.shapes.grid(self.mask | (0 if outside is None else 1 << outside[0]))
        grid = self.shapes.wide(self.over) if grid is None else grid
        if grid is None:
            yield Piece(TypeGrid((), np.zeros((1, 0), np.int64)), 1, {}, threshold, outside, self)
            return
        found = self.piece(grid, threshold, fixed, outside)
        if found.types:
            yield found

    def piece(
        self, grid: TypeGrid, threshold: int, fixed: Box, outside: tuple[int, frozenset[int]] | None
    ) -> Piece:
        """The same over a grid."""
        types = self._types(grid, threshold)
        for at, allowed in fixed.items():
            if grid.mask >> at & 1:
                types &= grid.value(at, allowed)
        if outside is not None:
            types &= ~grid.value(*outside)
        return Piece(grid, types, fixed, threshold, outside, self)

    def widened(self, piece: Piece) -> Piece | None:
        """A piece over all attributes that its proof looks at; None if that makes too many types."""
        grid = self.shapes.wide(self.over)
        return None if grid is None else self.piece(grid, piece.threshold, piece.fixed, piece.outside)

    def _types(self, grid: TypeGrid, threshold: int) -> int:
        if grid.key not in self._sums:
            self._sums[grid.key] = grid.above(self.rows)
        if (grid.key, threshold) not in self._above:
            self._above[grid.key, threshold] = self._sums[grid.key].above(threshold)
        return self._above[grid.key, threshold]


@lru_cache(maxsize=16)
def shapes_of(layout: Layout) -> Shapes:
    """The shared part, made once per layout."""
    return Shapes(layout)


def mask_of(box: Box) -> int:
    """The attributes that a box restricts, as bits."""
    return sum(1 << at for at in box)
