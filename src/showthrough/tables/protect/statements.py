"""What a proof rests on: the published facts without which it would not hold.

A leaf of a proof multiplies cells (see :mod:`showthrough.tables.proof`). A cell with a positive
multiplier is used for its lower end, one with a negative multiplier for its upper end. Moreover,
the leaf's inequality must hold for every record type that can exist, so it also rests on the types
for which it fails being ruled out, each by one of the cells published as 0 that it lies in. A type is
possible again only if all of these cells are hidden.

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
    "Facts",
    "Support",
    "bit_of",
    "distinct_rows",
    "legal_types",
    "matching",
    "ruled_out",
]

#: The most record types (before cells published as 0 rule some out) that are considered.
MOST_TYPES = 400_000

#: Facts about types that are ruled out; where there are more, several types make one fact, and up to the
#: second number of facts, types that have less in common are divided further.
_MOST_EMPTY, _MOST_SHARED = 48, 48

#: Sets of cells compared at once.
_BLOCK = 256

#: Sets of cells looked at for a cell that many of them have.
_SAMPLE = 512


@dataclass(frozen=True)
class CellBound:
    """What a release after moves states about one of its cells: a lower or an upper bound.

    ``cell`` is the cell's position in that release.
    """

    cell: int
    end: End
    value: int


@dataclass(frozen=True)
class Facts:
    """What a proof rests on.

    Parameters
    ----------
    bounds
        What single cells of the release after moves state.
    empty
        Sets of planned cells: one cell of each must stay published as 0.
    """

    bounds: frozenset[CellBound]
    empty: frozenset[frozenset[int]]


@dataclass(frozen=True, eq=False)
class _Step:
    """One leaf with its context: what it should prove, and the sums it may branch on."""

    leaf: Leaf
    sign: int
    branches: tuple[tuple[Terms, ...], ...]


@dataclass(frozen=True, eq=False)
class _Zeros:
    """The planned zeros about some attributes, the different sets of them that types lie in, and whose."""

    planned: NDArray[np.bool_]
    rows: NDArray[np.uint64]
    of: NDArray[np.int64]


class Support:
    """Finds what proofs about one area rest on.

    ``release`` is what was planned; ``fixed`` marks its cells that cannot be changed, so that
    nothing rests on them.
    """

    def __init__(self, release: Release, fixed: NDArray[np.bool_]) -> None:
        self.layout = release.layout
        self.zero = release.high == 0
        self.closed = frozenset(np.flatnonzero(fixed & self.zero).tolist())
        self._zeros: dict[frozenset[str], _Zeros] = {}

    def facts(self, proof: Proof, after: Release, members: Sequence[tuple[int, ...]]) -> Facts:
        """What a proof about the release after moves rests on."""
        bounds, empty = set[CellBound](), set[frozenset[int]]()
        for step in _steps(proof):
            for at, u in step.leaf.cells:
                cell = after.cells[at]
                if u and (u > 0 or cell.high < UNBOUNDED):
                    bounds.add(CellBound(at, "low", cell.low) if u > 0 else CellBound(at, "high", cell.high))
            found = self._empty(proof, step, after, members)
            if found is None:
                zeros = _zeros_inside(after, self._wider(proof))
                bounds |= {CellBound(at, "high", 0) for at in zeros}
            else:
                empty.update(found)
        needed = frozenset(fact for fact in bounds if fact.end == "high" or fact.value > 0)
        return Facts(needed, frozenset(empty))

    def _wider(self, proof: Proof) -> set[str]:
        return {name for name in proof.over if name in self.layout.schema.names}

    def _empty(
        self, proof: Proof, step: _Step, after: Release, members: Sequence[tuple[int, ...]]
    ) -> list[frozenset[int]] | None:
        """For every type the leaf's inequality fails for, the cells planned as 0 that rule it out.

        None if cells published as 0 are not seen to rule out all of them.
        """
        for names in self._widened(proof, step, after, members):
            universe = legal_types(self.layout, frozenset(names), self.closed)
            if universe is None:
                continue
            zeros = self._zeros_of(frozenset(names), universe)
            rows = zeros.rows[np.unique(zeros.of[_failing(proof, step, after, members, universe)])]
            inside = _zeros_inside(after, names)
            left = _mask(universe, {at for cell in inside for at in members[cell] if zeros.planned[at]})
            if (rows & left).any(axis=1).all():
                return ruled_out(rows, left, len(self.zero))
        return None

    def _zeros_of(self, names: frozenset[str], universe: Universe) -> _Zeros:
        """The sets of planned zeros that types over some attributes lie in."""
        if names not in self._zeros:
            planned = self.zero & ~_beyond(self.layout, names)
            words = universe.words & _mask(universe, np.flatnonzero(planned).tolist())
            self._zeros[names] = _Zeros(planned, *distinct_rows(words))
        return self._zeros[names]

    def _widened(
        self, proof: Proof, step: _Step, after: Release, members: Sequence[tuple[int, ...]]
    ) -> Iterator[set[str]]:
        """Attributes to look at types by: more and more.

        At last those that a table was merged over: what its sums rule out, planned cells did by them, too.
        """
        needed = _attributes(proof, step, after)
        yield needed
        wider = needed | self._wider(proof)
        yield wider
        sums = [members[cell] for cell in _zeros_inside(after, wider) if len(members[cell]) > 1]
        more = {name for parts in sums for at in parts for name in self.layout.selections[at].attributes}
        if not more <= wider:
            yield wider | more


def _mask(universe: Universe, cells: Iterable[int]) -> NDArray[np.uint64]:
    """Some planned cells as bits of the types' words."""
    chosen = np.zeros((1, len(universe.frame.inside)), bool)
    chosen[0, list(cells)] = True
    return pack(chosen)[:, : universe.words.shape[1]]


def ruled_out(rows: NDArray[np.uint64], left: NDArray[np.uint64], n_cells: int) -> list[frozenset[int]]:
    """Sets of cells (bits), without those that contain another; if they are many, what some share.

    What they share has one of the cells that are ``left``, as each of the sets does.
    """
    sets = _shared_sets(rows, left) if len(rows) > 8 * _MOST_EMPTY else _smallest(rows)
    sets = _shared_sets(sets, left) if len(sets) > _MOST_EMPTY else sets
    return [frozenset(np.flatnonzero(bits).tolist()) for bits in unpack(sets, n_cells)]


def distinct_rows(words: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Each row once, and which each row is. Rows with equal sums of products are compared: none is lost."""
    used = words.any(axis=0)
    factors = np.random.default_rng(0).integers(1, 2**63, words.shape[1], np.uint64) * used
    _, first, inverse = np.unique(words @ factors, return_index=True, return_inverse=True)
    if (words == words[first][inverse]).all():
        return np.ascontiguousarray(words[first]), inverse
    rows, inverse = np.unique(np.ascontiguousarray(words), axis=0, return_inverse=True)
    return rows, inverse.reshape(-1)


def _smallest(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The sets that contain no other, and of equal ones the first."""
    rows = rows[np.argsort(np.bitwise_count(rows).sum(axis=1), kind="stable")]
    larger, number = np.zeros(len(rows), bool), np.arange(len(rows))
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        inside = np.logical_not((rows[:, None, :] & ~block[None, :, :]).any(axis=2))
        inside &= number[:, None] < number[start : start + _BLOCK]  # what is inside another is not larger
        larger[start : start + _BLOCK] = inside.any(axis=0)
    return rows[~larger]


def _shared_sets(rows: NDArray[np.uint64], left: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Fewer sets such that each of these contains one of them: what those share that have one cell left.

    Those that share least are divided further, as long as there are not too many.
    """
    open_ = [_Group(mine) for mine in _divided(rows, left)]
    done = list[_Group]()
    while open_:
        group = min(open_, key=lambda one: one.n_shared)
        open_.remove(group)
        parts = _divided(group.rows, ~group.shared) if group.n_shared < group.smallest else []
        if parts and len(done) + len(open_) + len(parts) <= _MOST_SHARED:
            open_ += map(_Group, parts)
        else:
            done.append(group)
    return np.array([group.shared for group in done], np.uint64)


class _Group:
    """Sets of cells, as bits, with the cells that all of them have."""

    def __init__(self, rows: NDArray[np.uint64]) -> None:
        self.rows = rows
        self.shared: NDArray[np.uint64] = np.bitwise_and.reduce(rows, axis=0)
        self.n_shared = int(np.bitwise_count(self.shared).sum())
        self.smallest = int(np.bitwise_count(rows).sum(axis=1).min())


def _divided(rows: NDArray[np.uint64], cells: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """The sets by a cell that they have: first the one that most have, as far as some of them tell."""
    found = list[NDArray[np.uint64]]()
    while len(rows):
        some = unpack(rows[:: -(-len(rows) // _SAMPLE)] & cells, 64 * rows.shape[1])
        mine = bit_of(rows, int(some.sum(axis=0, dtype=np.int32).argmax()))
        found.append(rows[mine])
        rows = rows[~mine]
    return found


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
    return np.flatnonzero((after.high == 0) & ~_beyond(after.layout, names)).tolist()


def _beyond(layout: Layout, names: Iterable[str]) -> NDArray[np.bool_]:
    """Which cells restrict other attributes than these."""
    outside = np.ones(len(layout.schema.attributes), bool)
    outside[[layout.schema.index[name] for name in names]] = False
    return np.asarray(_packed(layout).needs[: len(layout.names), outside].any(axis=1))


def _failing(
    proof: Proof, step: _Step, after: Release, members: Sequence[tuple[int, ...]], universe: Universe
) -> NDArray[np.int64]:
    """The types for which Σ u·[t ∈ cell] > d·c(t)."""
    leaf = step.leaf
    goal = step.sign * matching(universe, proof.selection).astype(np.int64)
    slack = goal.astype(object) * leaf.denominator if _large(leaf) else goal * leaf.denominator
    for at, u in leaf.cells:
        if len(members[at]) == 1:
            hit = bit_of(universe.words, members[at][0])
        else:
            hit = matching(universe, after.layout.selections[at].terms)
        slack -= u * hit.astype(np.int64)
    for depth, u in leaf.branches:
        for terms in step.branches[depth]:
            slack -= u * matching(universe, terms).astype(np.int64)
    return np.flatnonzero(slack < 0)


def bit_of(words: NDArray[np.uint64], at: int) -> NDArray[np.bool_]:
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
