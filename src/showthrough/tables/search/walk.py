"""Other datasets that agree with the release, found by exchanging two records for two others.

A walk starts from one world. Two records (or one, or none) may be replaced whenever every published
count stays as published: for exact counts the sums of the two signatures must be equal, which a
64-bit hash of the signature decides, for intervals the counts are checked one by one. Hashes only
propose; whatever is kept as a world is re-counted in integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.tables.search.moves import Moves
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import TypeCounts

__all__ = [
    "Moves",
    "Walker",
]

Counts = NDArray[np.int64]

#: Classes up to which all pairs of classes are tabulated.
MOST_PAIRED = 600

#: Moves looked at in one step.
MOST_MOVES = 4096

#: Single exchanges drawn to be combined in pairs.
MOST_SINGLE = 40_000

#: Pairs of records looked at in one step.
MOST_CHOSEN = 20_000

#: With fewer moves of two records than this, moves of four are tried as well.
FEW_MOVES = 32

#: In smaller worlds the four records of such a move are hardly ever there.
CROWD = 40

#: In smaller worlds LPs are cheaper than looking for pairs of exchanges.
FEW_RECORDS = 25

#: Entries of a matrix up to which a dense one is as good.
SMALL = 20_000

#: Columns, and keys of subsets for each key and column that is looked up, for which all are tabulated.
MOST_TABULATED, MOST_KEYS = 12, 2

#: First bits of a key that say where to look for it: more than it takes to number all keys, and at most.
_MORE_BITS, _MOST_BITS = 3, 20

#: Parts of [0, 1), of equal size, by which a random subset is looked up.
_PARTS = 4096

#: Moves of four are given up after this many vain tries.
FRUITLESS = 2


def _sums(weights: NDArray[np.uint64], rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The sum of the weights of each column, modulo 2⁶⁴; a sparse matrix pays only where it is large."""
    if rows.size > SMALL:
        sparse: Any = csr_array(rows, dtype=np.uint64)
        return weights @ sparse
    return (rows.astype(np.uint64) * weights[:, None]).sum(axis=0, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class _ColumnSubsets:
    """Subsets of columns with chances such that all sizes but none and all are alike.

    ``ends`` has for each subset but the last the chance of it and of all before it, then infinity;
    ``begin`` says for each part of [0, 1) which subset its beginning stands for; ``most`` of them end in one.
    """

    ends: NDArray[np.float64]
    begin: NDArray[np.int64]
    most: int

    def draw(self, rng: np.random.Generator, many: int) -> NDArray[np.int64]:
        """Some of them, as bits."""
        drawn = rng.random(many)
        at = self.begin[(drawn * _PARTS).astype(np.int64)]
        for _ in range(self.most):
            at += self.ends[at] <= drawn
        return at


@lru_cache(maxsize=16)
def _column_subsets(n: int) -> _ColumnSubsets:
    """The subsets of n columns."""
    chance = np.array([1 / comb(n, at.bit_count()) for at in range(1 << n)])
    chance[[0, -1]] = 1e-9
    ends = np.cumsum(chance / chance.sum())[:-1]
    begin = np.searchsorted(ends, np.arange(_PARTS + 1) / _PARTS, "right")
    return _ColumnSubsets(np.append(ends, np.inf), begin[:-1], int(np.diff(begin).max()))


class Walker:
    """Finds moves within one system."""

    def __init__(self, system: System, seed: int) -> None:
        self.system = system
        self.rng = np.random.Generator(np.random.Philox(seed))
        exact = system.rows[system.exact]
        weights = np.random.default_rng(1).integers(0, 2**64, len(exact), dtype=np.uint64)
        hashes = _sums(weights, exact)
        self._hash = np.append(hashes, np.uint64(0))  # the last class is nobody
        loose = system.rows[~system.exact]
        self._loose = np.hstack([loose, np.zeros((len(loose), 1), np.uint8)]).astype(np.int64)
        self._low, self._high = system.low[~system.exact], system.high[~system.exact]
        self.group = np.append(system.group, system.n_classes)  # type −1 is nobody
        self._fruitless = 0

    def moves(self, given: TypeCounts | Counts) -> Moves:
        """Moves from a world to different ones."""
        world = TypeCounts.of(given)
        paired = self.system.n_classes + 1 <= MOST_PAIRED
        found = self._within(self._paired(world) if paired else self._swapped(world), world)
        if len(found) >= FEW_MOVES or len(world) < CROWD or self._fruitless >= FRUITLESS:
            return found
        cubes = self._within(self._cubes(world), world)
        self._fruitless = 0 if len(cubes) else self._fruitless + 1
        return Moves.joined([found, cubes])

    def step(self, moves: Moves, world: TypeCounts) -> TypeCounts:
        """On from a world: by many moves at once, or by one where intervals must be kept.

        Each move keeps every exact count whatever the others do, as long as they concern different
        records.
        """
        if len(self._loose) or len(moves) < 2:
            return moves.apply(int(self.rng.integers(len(moves))), world)
        some = moves.take(self.rng.permutation(len(moves)))
        return some.apply(some.apart(), world)

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.uint64], Counts, Counts, Counts]:
        """All pairs of classes by the sum of their hashes: the sums, where each starts, both classes."""
        first, second = np.triu_indices(len(self._hash))
        sums = self._hash[first] + self._hash[second]
        order = np.argsort(sums, kind="stable")
        sums = sums[order]
        starts = np.flatnonzero(np.append(True, sums[1:] != sums[:-1]))
        return sums[starts], np.append(starts, len(sums)), first[order], second[order]

    def _paired(self, world: TypeCounts) -> Moves:
        """Every replacement of at most two records by at most two others (a sample if too many)."""
        classes, times, one, two = self._first_two(world)
        a, b = np.triu_indices(len(classes))
        possible = (a != b) | (times[a] > 1)
        a, b = a[possible], b[possible]
        if len(a) > MOST_CHOSEN:
            some = self.rng.integers(0, len(a), MOST_CHOSEN)
            a, b = a[some], b[some]
        second = np.where(a == b, two[b], one[b])
        sums, starts, first_class, second_class = self._pairs
        number = np.searchsorted(sums, self._hash[classes[a]] + self._hash[classes[b]])  # all are there
        start = starts[number]
        size = starts[number + 1] - start
        which, offset = self._expand(size)
        at = start[which] + offset
        into = np.stack([first_class[at], second_class[at]], axis=1)
        out = np.stack([one[a][which], second[which]], axis=1)
        return Moves(out, self._any_member(into))

    def _first_two(self, world: TypeCounts) -> tuple[Counts, Counts, Counts, Counts]:
        """The classes with records, how many each has, and the positions of the first two of them.

        The last class is nobody, twice.
        """
        group = self.group[world.types]
        by_class = np.argsort(group, kind="stable")
        classes, first = np.unique(group[by_class], return_index=True)
        times = np.add.reduceat(world.times[by_class], first) if len(first) else world.times
        starts = np.append(world.starts[by_class], -1)
        one = starts[first]
        two = np.where(world.times[by_class][first] > 1, one + 1, starts[first + 1])
        nobody = np.array([-1])
        return (
            np.append(classes, self.system.n_classes),
            np.append(times, 2),
            np.concatenate([one, nobody]),
            np.concatenate([two, nobody]),
        )

    def _expand(self, size: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(group, offset) of every entry of groups of these sizes, or of a random sample."""
        total = int(size.sum())
        ends = np.cumsum(size)
        few = total <= MOST_MOVES
        entry = np.arange(total) if few else self.rng.integers(0, total, MOST_MOVES)
        which = np.searchsorted(ends, entry, "right")
        return which, entry - (ends[which] - size[which])

    def _any_member(self, classes: NDArray[np.int64]) -> NDArray[np.int64]:
        """A random type of each class; −1 for nobody."""
        system = self.system
        if not len(system.order):
            return np.full(classes.shape, -1, np.int64)
        starts = np.append(system.starts, system.starts[-1])
        size = starts[classes + 1] - starts[classes]
        pick = starts[classes] + (self.rng.random(classes.shape) * size).astype(np.int64)
        safe = np.minimum(pick, len(system.order) - 1)
        return np.where(classes == system.n_classes, -1, system.order[safe])

    @cached_property
    def _type_keys(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64]]:
        """Sorted keys of all types, the type of each, and one random stride table per column.

        The last key, larger than any, is that of no type.
        """
        codes = self.system.universe.codes
        rng = np.random.default_rng(2)
        strides = rng.integers(0, 2**64, (codes.shape[1], int(codes.max(initial=0)) + 1), np.uint64)
        keys = sum(
            (strides[column][codes[:, column]] for column in range(codes.shape[1])),
            start=np.zeros(len(codes), np.uint64),
        )
        order = np.argsort(keys, kind="stable")
        beyond = np.uint64(2**64 - 1)
        return np.append(keys[order], beyond), np.append(order, -1), strides

    def _swapped(self, world: TypeCounts) -> Moves:
        """Random exchanges of attribute subsets between two records, and random replacements."""
        n = len(world)
        found = [self._replaced(world)] if len(self._loose) or not n else []
        if n >= 2:
            found.append(self._same_exact(self._exchanges(world, MOST_MOVES), world))
        return Moves.joined(found)

    def _cubes(self, world: TypeCounts) -> Moves:
        """Four records by four others that differ from them in three columns.

        Of the eight corners of a cube over three columns the four even ones are replaced by the
        four odd ones: every count over two of the three columns stays. Where all two-way tables
        are published these are the smallest moves there are.
        """
        codes = self.system.universe.codes
        if len(world) < 4 or codes.shape[1] < 3:
            return Moves.none()
        i, j = self.rng.integers(0, len(world), (2, MOST_MOVES))
        columns = np.argsort(self.rng.random((MOST_MOVES, codes.shape[1])), axis=1)[:, :3]
        rows = np.arange(MOST_MOVES)[:, None]
        here, there = codes[world.at(i)], codes[world.at(j)][rows, columns]
        apart = (here[rows, columns] != there).all(axis=1)
        here, there, columns = here[apart], there[apart], columns[apart]
        rows = np.arange(len(here))
        corners: list[NDArray[np.int64]] = []
        for bits in range(8):
            corner = here.copy()
            for axis in range(3):
                if bits >> axis & 1:
                    corner[rows, columns[:, axis]] = there[:, axis]
            corners.append(self._lookup(corner))
        even = np.stack([corners[bits] for bits in (0, 3, 5, 6)], axis=1)
        odd = np.stack([corners[bits] for bits in (1, 2, 4, 7)], axis=1)
        at = np.minimum(np.searchsorted(world.types, even), len(world.types) - 1)
        possible = (world.types[at] == even).all(axis=1) & (odd >= 0).all(axis=1)
        return self._same_exact(Moves(world.starts[at], odd).take(possible), world)

    def double_moves(self, world: TypeCounts) -> Moves:
        """Two exchanges that each break some counts but together keep them all.

        Many single exchanges are drawn; those whose effects on the exact counts are opposite (again
        by hashes) and which concern different records make a move of four records.
        """
        n = len(world)
        if n < FEW_RECORDS or self.system.universe.codes.shape[1] < 2:
            return Moves.none()
        single = self._exchanges(world, min(MOST_SINGLE, n * 400))
        old, new = self.classes_out(single, world), self.group[single.into]
        effect = self._hash[new].sum(axis=1, dtype=np.uint64) - self._hash[old].sum(axis=1, dtype=np.uint64)
        single, effect = single.take(effect != 0), effect[effect != 0]
        order = np.argsort(effect, kind="stable")
        opposite = np.uint64(0) - effect
        start = np.searchsorted(effect[order], opposite, "left")
        size = np.searchsorted(effect[order], opposite, "right") - start
        first = np.flatnonzero(size)
        if not len(first):
            return Moves.none()
        picked = start[first] + (self.rng.random(len(first)) * size[first]).astype(np.int64)
        second = order[picked]
        out = np.hstack([single.out[first], single.out[second]])
        apart = (out[:, :2, None] != out[:, None, 2:]).all(axis=(1, 2))
        into = np.hstack([single.into[first], single.into[second]])
        some = np.flatnonzero(apart)
        if len(some) > MOST_MOVES:
            some = self.rng.choice(some, MOST_MOVES, replace=False)
        return self._within(Moves(out[some], into[some]), world)

    def _exchanges(self, world: TypeCounts, many: int) -> Moves:
        """Random exchanges of attribute subsets between two records, to types that can exist."""
        n = len(world)
        i = self.rng.integers(0, n, many)
        j = (i + self.rng.integers(1, n, many)) % n
        one, two = world.number_at(i), world.number_at(j)
        differ = np.flatnonzero(one != two)
        i, j, one, two = i[differ], j[differ], one[differ], two[differ]
        keys = self._mixed_keys(world, one, two)
        first = self._having(keys)
        some = np.flatnonzero(first >= 0)
        first = first[some]
        whole = self._key_parts[world.types].sum(axis=1, dtype=np.uint64)
        second = self._having(whole[one[some]] + whole[two[some]] - keys[some])
        some, first, second = some[second >= 0], first[second >= 0], second[second >= 0]
        return Moves(np.stack([i[some], j[some]], axis=1), np.stack([first, second], axis=1))

    def _mixed_keys(self, world: TypeCounts, one: Counts, two: Counts) -> NDArray[np.uint64]:
        """Keys of types of a world with the values of other ones in random columns.

        How many columns is random, too. Where columns are few, what each subset of them adds to the key
        of each type is tabulated.
        """
        parts = self._key_parts[world.types]
        n = parts.shape[1]
        if n > MOST_TABULATED or len(parts) << n > MOST_KEYS * n * len(one):
            mask = self.rng.random((len(one), n)) < self.rng.random((len(one), 1))
            return np.where(mask, parts[two], parts[one]).sum(axis=1, dtype=np.uint64)
        table = np.zeros((len(parts), 1 << n), np.uint64)
        for column in range(n):
            half = 1 << column
            np.add(table[:, :half], parts[:, column, None], out=table[:, half : 2 * half])
        drawn = _column_subsets(n).draw(self.rng, len(one))
        return table[two, drawn] + table[one, ~drawn & (1 << n) - 1]

    def _lookup(self, codes: NDArray[np.uint16]) -> NDArray[np.int64]:
        """The type with these codes, −1 if there is none."""
        strides = self._type_keys[2]
        wanted = np.zeros(len(codes), np.uint64)
        for column in range(codes.shape[1]):
            wanted += strides[column][codes[:, column]]
        return self._having(wanted)

    @cached_property
    def _key_parts(self) -> NDArray[np.uint64]:
        """Type × column: what each value adds to the key of a type."""
        strides, codes = self._type_keys[2], self.system.universe.codes
        return strides[np.arange(codes.shape[1]), codes]

    @cached_property
    def _places(self) -> tuple[np.uint64, NDArray[np.int64], int]:
        """What leaves the first bits of a key, where keys with these begin, and how many share them."""
        keys = self._type_keys[0]
        bits = min(_MOST_BITS, len(keys).bit_length() + _MORE_BITS)
        shift = np.uint64(64 - bits)
        many = np.bincount((keys >> shift).astype(np.int64), minlength=2**bits)
        return shift, np.cumsum(many) - many, int(many.max())

    def _having(self, wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The types with these keys, −1 where there is none."""
        keys, order, _ = self._type_keys
        shift, begin, most = self._places
        at = begin[wanted >> shift]
        for _ in range(most):
            at += keys[at] < wanted
        return np.where(keys[at] == wanted, order[at], -1)

    def _replaced(self, world: TypeCounts) -> Moves:
        """One record (or nobody) by a random other type (or nobody)."""
        n, size = len(world), len(self.system.group)
        out = np.full((MOST_MOVES // 4, 2), -1, np.int64)
        into = out.copy()
        out[:, 0] = self.rng.integers(-1, n, len(out))
        into[:, 0] = self.rng.integers(-1, size, len(out))
        return self._same_exact(Moves(out, into), world)

    def _same_exact(self, moves: Moves, world: TypeCounts) -> Moves:
        old, new = self.classes_out(moves, world), self.group[moves.into]
        same = self._hash[old].sum(axis=1, dtype=np.uint64) == self._hash[new].sum(axis=1, dtype=np.uint64)
        return moves.take(same)

    def classes_out(self, moves: Moves, world: TypeCounts | Counts) -> NDArray[np.int64]:
        """The classes of the records a move takes out."""
        return self.group[TypeCounts.of(world).at(moves.out)]

    def _within(self, moves: Moves, world: TypeCounts) -> Moves:
        """Moves that change something and keep every interval."""
        old, new = self.classes_out(moves, world), self.group[moves.into]
        moves = moves.take((np.sort(old, axis=1) != np.sort(new, axis=1)).any(axis=1))
        if not len(self._loose) or not len(moves):
            return moves
        counts = self._loose[:, self.group[world.types]] @ world.times
        old, new = self.classes_out(moves, world), self.group[moves.into]
        after = counts[:, None] + self._loose[:, new].sum(axis=2) - self._loose[:, old].sum(axis=2)
        inside = (after >= self._low[:, None]) & (after <= self._high[:, None])
        return moves.take(inside.all(axis=0))
