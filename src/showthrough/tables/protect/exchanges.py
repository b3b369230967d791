"""Datasets that differ from the true one in one or two records: cheap refutations of forbidden claims.

Either a record is replaced by another one that the rules allow, or two records exchange the values of
some attributes. Which published counts change is seen from packed bits, one per cell: after one
replacement those in which exactly one of the two records is counted; after an exchange those that
contain both records before and after equally often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from showthrough.records import Records
from showthrough.release import UNBOUNDED, Release, pack, unpack
from showthrough.tables.protect.dataset_pool import DatasetPool
from showthrough.tables.protect.moves import Drop, Move, Suppress
from showthrough.tables.protect.statements import legal_types
from showthrough.tables.result import ClaimTable
from showthrough.tables.search.universe import Universe

__all__ = [
    "exchange_pool",
    "moves_of_cells",
]

#: Replacements kept per record, and exchanges looked at per pair of records.
_PER_RECORD, _PER_PAIR = 300, 1024

#: Pairs of records looked at, and datasets kept in all.
_MOST_PAIRS, _MOST_DATASETS = 400, 6_000

#: Entries (record types × claims) made at once.
_ENTRIES = 4_000_000

#: Entries (datasets × claims) kept.
_MOST_ENTRIES = 100_000_000

#: More than any number of cells.
_NEVER = 2**40

Types = NDArray[np.int64]
Words = NDArray[np.uint64]


def moves_of_cells(release: Release, moves: Sequence[Move | None]) -> NDArray[np.int64]:
    """Per cell the number of the move that hides it: the cell's own, or that of its table. (None is no move.)

    −1 where nothing hides it, −2 where nothing is published about it.
    """
    number = {move: at for at, move in enumerate(moves)}
    whole = {move.table: at for at, move in enumerate(moves) if isinstance(move, Drop)}
    found = np.full(len(release.low), -1, np.int64)
    for at, (table, cell) in enumerate(release.layout.names):
        found[at] = number.get(Suppress(table, cell), whole.get(table, -1))
    found[(release.low == 0) & (release.high >= UNBOUNDED)] = -2
    return found


def exchange_pool(
    release: Release,
    world: Records,
    facts: ClaimTable,
    forbidden: NDArray[np.int64],
    moves: Sequence[Move | None],
    *,
    most: int,
    seed: int,
) -> DatasetPool | None:
    """The datasets near the true one, with the moves each needs and the forbidden claims each refutes.

    Parameters
    ----------
    release, world
        What is planned, and records that agree with it.
    facts, forbidden
        All claims that hold in these records, and which of them are forbidden, by position.
    moves
        What may be done: cells suppressed, or tables dropped. None where something cannot be done here.
    most
        How many datasets to keep, the cheapest ones.
    seed
        The seed for the choice among many pairs of records.

    Returns
    -------
    DatasetPool or None
        None where there are too many record types to look at them all, or where cells are sums.
    """
    hidden_by = moves_of_cells(release, moves)
    fixed = np.flatnonzero((hidden_by == -1) & (release.high == 0))
    names = facts.system.universe.frame.names
    if release.layout.sums:
        return None
    universe = legal_types(release.layout, frozenset(names), frozenset(fixed.tolist()))
    if universe is None:
        return None
    fits = max(200, _MOST_ENTRIES // max(1, len(forbidden)))
    near = _Near(universe, hidden_by, world)
    out, into, changed = near.all_changes(min(most, _MOST_DATASETS, fits), np.random.default_rng([seed, 23]))
    needs = np.zeros((len(out), len(moves)), bool)
    cells = np.flatnonzero(hidden_by >= 0)
    for start in range(0, len(changed), 4096):
        rows, columns = np.nonzero(unpack(changed[start : start + 4096], len(hidden_by))[:, cells])
        needs[start + rows, hidden_by[cells[columns]]] = True
    codes = universe.codes[:, [universe.frame.names.index(name) for name in names]]
    return DatasetPool(needs, _refuted(codes, out, into, facts, forbidden))


class _Near:
    """Changes of one or two records of a dataset."""

    def __init__(self, universe: Universe, hidden_by: NDArray[np.int64], world: Records) -> None:
        self.universe = universe
        n_words = -(-len(hidden_by) // 64)
        published, self.fixed = pack(np.array([hidden_by != -2, hidden_by == -1]))
        self.words = np.ascontiguousarray(universe.words[:, :n_words]) & published
        self.codes = universe.codes.astype(np.int64)
        strides = np.cumprod([1, *(size for size in universe.frame.sizes)])[:-1]
        self.strides = strides.astype(np.int64)
        keys = self.codes @ self.strides
        self.order = np.argsort(keys, kind="stable")
        self.keys = keys[self.order]
        self.records = np.unique(self._find(world.codes[:, list(universe.frame.over)].astype(np.int64)))

    def _find(self, codes: NDArray[np.int64]) -> Types:
        """The types with these codes; −1 where the rules allow none."""
        keys = codes @ self.strides
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.order[at], -1)

    def all_changes(self, most: int, rng: np.random.Generator) -> tuple[Types, Types, Words]:
        """Types taken out and put in (−1 is nobody), and the cells that change; cheap ones first."""
        parts = [self._added(), self._removed(), *self._replaced(), *self._exchanged(rng)]
        out, into, changed = (np.concatenate(side) for side in zip(*parts, strict=True))
        cheap = _least(self._price(changed), most)
        return out[cheap], into[cheap], changed[cheap]

    def _price(self, changed: Words) -> NDArray[np.int64]:
        """How many counts change."""
        return np.where((changed & self.fixed).any(axis=1), _NEVER, _n_bits(changed))

    def _added(self) -> tuple[Types, Types, Words]:
        """One more record: the types that change the fewest counts, and another one of each record."""
        price = self._price(self.words)
        chosen = np.union1d(_least(price, _PER_RECORD), self.records)
        chosen = chosen[price[chosen] < _NEVER]
        nobody = np.full(len(chosen), -1, np.int64)
        return np.column_stack([nobody, nobody]), np.column_stack([chosen, nobody]), self.words[chosen]

    def _removed(self) -> tuple[Types, Types, Words]:
        """One record less."""
        chosen = self.records[~(self.words[self.records] & self.fixed).any(axis=1)]
        nobody = np.full(len(chosen), -1, np.int64)
        return np.column_stack([chosen, nobody]), np.column_stack([nobody, nobody]), self.words[chosen]

    def _replaced(self) -> Iterator[tuple[Types, Types, Words]]:
        """Each record by the types that change the fewest counts, in all or per attribute changed."""
        for record in self.records.tolist():
            changed = self.words ^ self.words[record]
            price = self._price(changed)
            price[record] = _NEVER
            width = (self.codes != self.codes[record]).sum(axis=1)
            half = _PER_RECORD // 2
            chosen = np.union1d(_least(price, half), _least(price / np.maximum(width, 1), half))
            chosen = chosen[price[chosen] < _NEVER]
            nobody = np.full(len(chosen), -1, np.int64)
            out = np.column_stack([np.full(len(chosen), record), nobody])
            yield out, np.column_stack([chosen, nobody]), changed[chosen]

    def _exchanged(self, rng: np.random.Generator) -> Iterator[tuple[Types, Types, Words]]:
        """Pairs of records that exchange the values of some attributes in which they differ."""
        pairs = list(combinations(self.records.tolist(), 2))
        if len(pairs) > _MOST_PAIRS:
            pairs = [pairs[at] for at in sorted(rng.choice(len(pairs), _MOST_PAIRS, replace=False).tolist())]
        for one, other in pairs:
            mine, theirs = self.codes[one], self.codes[other]
            swap = _subsets(np.flatnonzero(mine != theirs), len(mine), rng)
            first, second = self._find(np.where(swap, theirs, mine)), self._find(np.where(swap, mine, theirs))
            legal = (first >= 0) & (second >= 0)
            first, second = first[legal], second[legal]
            before, after = (self.words[one], self.words[other]), (self.words[first], self.words[second])
            changed = (before[0] ^ before[1] ^ after[0] ^ after[1]) | (
                (before[0] & before[1]) ^ (after[0] & after[1])
            )
            use = ~(changed & self.fixed).any(axis=1)
            out = np.broadcast_to(np.array([one, other]), (int(use.sum()), 2))
            yield out, np.column_stack([first, second])[use], changed[use]


def _subsets(differing: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Subsets of some columns, each with the first of them left out: the rest is the same exchange."""
    free = differing[1:]
    if 1 << min(len(free), 60) <= _PER_PAIR:
        chosen = (np.arange(1, 1 << len(free))[:, None] >> np.arange(len(free)) & 1).astype(bool)
    else:
        chosen = np.unique(rng.random((_PER_PAIR, len(free))) < rng.uniform(0.1, 0.9, (_PER_PAIR, 1)), axis=0)
    found = np.zeros((len(chosen), n), bool)
    found[:, free] = chosen
    return found


def _least(price: NDArray[np.int64] | NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """The positions of the least prices, earlier ones first among equals."""
    if n >= len(price):
        return np.argsort(price, kind="stable")
    few = np.flatnonzero(price <= np.partition(price, n)[n])
    return few[np.argsort(price[few], kind="stable")[:n]]


def _n_bits(words: Words) -> NDArray[np.int64]:
    return np.bitwise_count(words).sum(axis=1, dtype=np.int64)


def _refuted(
    codes: NDArray[np.uint16], out: Types, into: Types, facts: ClaimTable, forbidden: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Dataset × claim: whether the change alters the claim's count."""
    used, position = np.unique(np.concatenate([out, into], axis=1), return_inverse=True)
    position = position.reshape(len(out), -1)
    about, of = np.unique(facts.candidates.type[forbidden], return_inverse=True)
    have = facts.system.universe.codes[about]
    same = (codes[used][:, None, :] == have[None, :, :]) @ (1 << np.arange(have.shape[1], dtype=np.int64))
    subset = facts.candidates.subset[forbidden]
    found = np.zeros((len(out), len(forbidden)), bool)
    step = max(1, _ENTRIES // max(1, len(used)))
    for start in range(0, len(forbidden), step):
        part = slice(start, start + step)
        matches = (subset[part] & ~same[:, of[part]] == 0).astype(np.int8)
        matches[used < 0] = 0
        left, right = matches[position[:, :2]].sum(axis=1), matches[position[:, 2:]].sum(axis=1)
        found[:, part] = left != right
    return found
