"""What a proof rests on: the published facts without which it would not hold.

A leaf of a proof multiplies cells (see :mod:`showthrough.tables.proof`). A cell with a positive
multiplier is used for its lower end, one with a negative multiplier for its upper end. Moreover,
the leaf's inequality must hold for every record type that can exist, so it also rests on the cells
published as 0 that rule out the types for which it fails. Where a type lies in several such cells
there is a choice: a small set of cells that rules out all these types is taken.

The proof holds in every release that still implies these facts. It is about some attributes only.
Fewer attributes mean fewer types, so the attributes of the proof's own cells are tried first, then
all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED, Layout, Release, pack, unpack
from showthrough.tables.proof import Leaf, Node, Proof, Terms
from showthrough.tables.protect.menu import End
from showthrough.tables.search.questions import value_words
from showthrough.tables.search.universe import (
    Frame,
    TooManyTypes,
    Universe,
    active_attributes,
    grow,
    make_frame,
)

__all__ = [
    "CellBound",
    "Support",
    "legal_types",
    "matching",
]

#: The most record types (before cells published as 0 rule some out) that are considered.
MOST_TYPES = 400_000

#: Types among which the next cell is chosen.
_SAMPLE = 400


@dataclass(frozen=True)
class CellBound:
    """What a release after moves states about one of its cells: a lower or an upper bound.

    ``cell`` is the cell's position in that release.
    """

    cell: int
    end: End
    value: int


@dataclass(frozen=True, eq=False)
class _Step:
    """One leaf with its context: what it should prove, and the sums it may branch on."""

    leaf: Leaf
    sign: int
    branches: tuple[tuple[Terms, ...], ...]


class Support:
    """Finds what proofs about one area rest on.

    ``release`` is what was planned; ``fixed`` marks its cells that cannot be changed, so that
    nothing rests on them.
    """

    def __init__(self, release: Release, fixed: NDArray[np.bool_]) -> None:
        self.layout = release.layout
        self.closed = frozenset(np.flatnonzero(fixed & (release.high == 0)).tolist())

    def facts(self, proof: Proof, after: Release, members: Sequence[tuple[int, ...]]) -> frozenset[CellBound]:
        """What a proof about the release after moves rests on."""
        found: set[CellBound] = set()
        for step in _steps(proof):
            for at, u in step.leaf.cells:
                cell = after.cells[at]
                if u and (u > 0 or cell.high < UNBOUNDED):
                    found.add(CellBound(at, "low", cell.low) if u > 0 else CellBound(at, "high", cell.high))
            found |= {CellBound(at, "high", 0) for at in self._zeros(proof, step, after, members)}
        return frozenset(fact for fact in found if fact.end == "high" or fact.value > 0)

    def _zeros(
        self, proof: Proof, step: _Step, after: Release, members: Sequence[tuple[int, ...]]
    ) -> list[int]:
        """Cells published as 0 that rule out every type the leaf's inequality fails for."""
        needed = _attributes(proof, step, after)
        wider = {name for name in proof.over if name in self.layout.schema.names}
        for names in (needed, needed | wider):
            universe = legal_types(self.layout, frozenset(names), self.closed)
            if universe is None:
                continue
            types = _failing(proof, step, after, members, universe)
            zeros = _zeros_inside(after, names)
            chosen = _Cover(universe, types, after, zeros, members).cells()
            if chosen is not None:
                return chosen
        return _zeros_inside(after, wider)


@lru_cache(maxsize=8)
def _packed(layout: Layout) -> Frame:
    """A frame over all attributes, whose bits others share."""
    return Frame(layout, tuple(range(len(layout.schema.attributes))))


def _shared(layout: Layout, over: tuple[int, ...]) -> Frame:
    """A frame over some attributes that shares its bits with the others."""
    whole, frame = _packed(layout), Frame(layout, over)
    frame.__dict__.update(needs=whole.needs, bits=tuple(whole.bits[at] for at in over))
    return frame


@lru_cache(maxsize=256)
def legal_types(layout: Layout, names: frozenset[str], closed: frozenset[int]) -> Universe | None:
    """The record types over some attributes that the rules allow, and no closed cell rules out.

    None if there are too many. Columns are stored one after the other: they are read one at a time.
    Where the types over all attributes are few enough, these are their parts, which is faster.
    """
    every = _all_types(layout, closed)
    if every is None or not names <= frozenset(every.frame.names) or prod(every.frame.sizes) >= 2**62:
        return _grown(layout, names, closed)
    return _part(every, names)


@lru_cache(maxsize=8)
def _all_types(layout: Layout, closed: frozenset[int]) -> Universe | None:
    """The types over all attributes that something is known about."""
    names = frozenset(layout.schema.names[at] for at in active_attributes(layout))
    return _grown(layout, names, closed)


def _part(every: Universe, names: frozenset[str]) -> Universe:
    """What types over all attributes are over some of them, each once."""
    frame = every.frame
    if names == frozenset(frame.names):
        return every
    columns = [at for at, name in enumerate(frame.names) if name in names]
    keys = np.zeros(len(every), np.int64)
    for at in columns:
        keys = keys * frame.sizes[at] + every.codes[:, at]
    _, first = np.unique(keys, return_index=True)
    part = _shared(frame.layout, tuple(frame.over[at] for at in columns))
    codes = np.asfortranarray(every.codes[first][:, columns])
    return Universe(part, codes, np.asfortranarray(every.words[first]))


def _grown(layout: Layout, names: frozenset[str], closed: frozenset[int]) -> Universe | None:
    """The types over some attributes, made one attribute at a time; None if there are too many."""
    order = make_frame(layout, tuple(sorted(layout.schema.index[name] for name in names))).over
    frame = _shared(layout, order)
    high = np.full(len(layout.names), UNBOUNDED, np.int64)
    high[list(closed)] = 0
    try:
        grown = grow(frame, Release(layout, np.zeros_like(high), high), most=MOST_TYPES)
        return Universe(frame, np.asfortranarray(grown.codes), np.asfortranarray(grown.words))
    except TooManyTypes:
        return None


def _steps(proof: Proof) -> Iterator[_Step]:
    for node, sign in ((proof.at_least, 1), (proof.at_most, -1)):
        if node is not None:
            yield from _leaves(node, sign, ())


def _leaves(node: Node, sign: int, branches: tuple[tuple[Terms, ...], ...]) -> Iterator[_Step]:
    if isinstance(node, Leaf):
        yield _Step(node, sign, branches)
    else:
        yield from _leaves(node.below, sign, (*branches, node.on))
        yield from _leaves(node.above, sign, (*branches, node.on))


def _attributes(proof: Proof, step: _Step, after: Release) -> set[str]:
    """The attributes that a leaf's inequality is about."""
    used = [proof.selection, *(after.layout.selections[at].terms for at, _ in step.leaf.cells)]
    used += [terms for depth, _ in step.leaf.branches for terms in step.branches[depth]]
    return {name for terms in used for name, _ in terms}


def _zeros_inside(after: Release, names: Iterable[str]) -> list[int]:
    """Cells published as 0 that restrict no other attributes than these."""
    outside = np.ones(len(after.schema.attributes), bool)
    outside[[after.schema.index[name] for name in names]] = False
    beyond = _packed(after.layout).needs[: len(after.high), outside].any(axis=1)
    return np.flatnonzero((after.high == 0) & ~beyond).tolist()


def _failing(
    proof: Proof, step: _Step, after: Release, members: Sequence[tuple[int, ...]], universe: Universe
) -> NDArray[np.int64]:
    """The types for which Σ u·[t ∈ cell] > d·c(t)."""
    leaf = step.leaf
    goal = step.sign * matching(universe, proof.selection).astype(np.int64)
    slack = goal.astype(object) * leaf.denominator if _large(leaf) else goal * leaf.denominator
    for at, u in leaf.cells:
        if len(members[at]) == 1:
            hit = _bit(universe.words, members[at][0])
        else:
            hit = matching(universe, after.layout.selections[at].terms)
        slack -= u * hit.astype(np.int64)
    for depth, u in leaf.branches:
        for terms in step.branches[depth]:
            slack -= u * matching(universe, terms).astype(np.int64)
    return np.flatnonzero(slack < 0)


def _bit(words: NDArray[np.uint64], at: int) -> NDArray[np.bool_]:
    """One column of packed rows."""
    return (words[:, at // 64] >> np.uint64(at % 64) & np.uint64(1)).astype(bool)


def _large(leaf: Leaf) -> bool:
    """Whether sums of its multipliers may need more than 64 bits."""
    return sum(abs(u) for _, u in (*leaf.cells, *leaf.branches)) + leaf.denominator > 2**55


def matching(universe: Universe, terms: Terms) -> NDArray[np.bool_]:
    """Which types match a selection over the universe's attributes."""
    frame, columns = universe.frame, _value_words(universe)
    hit = np.full(max(1, -(-len(universe) // 64)), ~np.uint64(0))
    for name, values in terms:
        attribute = frame.layout.schema[name]
        allowed = columns[frame.names.index(name)][[attribute.code(value) for value in values]]
        hit &= np.bitwise_or.reduce(allowed, axis=0)
    return unpack(hit[None, :], len(universe))[0].astype(bool)


@lru_cache(maxsize=256)
def _value_words(universe: Universe) -> tuple[NDArray[np.uint64], ...]:
    """Per attribute, value × words: the types that have the value."""
    return value_words(universe)


class _Cover:
    """Types, and the cells published as 0 that rule them out.

    Cells as they were planned are bits of the types' words; merged ones are matched one by one.
    """

    def __init__(
        self,
        universe: Universe,
        types: NDArray[np.int64],
        after: Release,
        cells: Sequence[int],
        members: Sequence[tuple[int, ...]],
    ) -> None:
        n_cells = len(universe.frame.layout.names)
        planned = {members[at][0]: at for at in cells if len(members[at]) == 1}
        chosen = np.zeros(len(universe.frame.inside), bool)
        chosen[list(planned)] = True
        self.n_cells = n_cells
        self.cell_of = planned
        self.words = np.asfortranarray(universe.words[types] & pack(chosen[None, :]))
        self.merged = [at for at in cells if len(members[at]) > 1]
        matched = [matching(universe, after.layout.selections[at].terms)[types] for at in self.merged]
        self.extra = np.array(matched, bool).reshape(len(self.merged), len(types))

    def cells(self) -> list[int] | None:
        """Few cells that rule out all types, greedily; None if a type is in none of them."""
        if not (self.words.any(axis=1) | self.extra.any(axis=0)).all():
            return None
        left = np.arange(len(self.words))
        chosen: list[int] = []
        while len(left):
            some = left[:: -(-len(left) // _SAMPLE)]
            planned = unpack(np.ascontiguousarray(self.words[some]), self.n_cells).sum(axis=0, dtype=np.int64)
            gain = np.concatenate([planned, self.extra[:, some].sum(axis=1)])
            chosen.append(int(gain.argmax()))
            left = left[~self._member(chosen[-1])[left]]
        return sorted(self._cell(at) for at in self._needed(chosen))

    def _needed(self, chosen: list[int]) -> list[int]:
        """Without the cells that the others make superfluous."""
        times = np.zeros(len(self.words), np.int64)
        for at in chosen:
            times += self._member(at)
        kept: list[int] = []
        for at in chosen:
            member = self._member(at)
            if (times[member] > 1).all():
                times -= member
            else:
                kept.append(at)
        return kept

    def _member(self, at: int) -> NDArray[np.bool_]:
        if at >= self.n_cells:
            return self.extra[at - self.n_cells]
        return _bit(self.words, at)

    def _cell(self, at: int) -> int:
        return self.merged[at - self.n_cells] if at >= self.n_cells else self.cell_of[at]
