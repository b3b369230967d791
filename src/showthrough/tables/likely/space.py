"""The datasets that agree with a release, as arrays for the moves of a chain.

Where there are few datasets, all of them are listed, depth first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.likely.chain_moves import CellTable, KindTable, PairMemo
from showthrough.tables.likely.compiled import compiled
from showthrough.tables.likely.exchanges import ExchangeMemo, ExchangeTable, empty_memo, make_exchanges
from showthrough.tables.likely.hashing import PRIME, make_hash_table
from showthrough.tables.search.system import System

__all__ = [
    "Space",
    "list_worlds",
    "make_space",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: The seed of the hashes, which nothing that is said depends on.
_HASH_SEED = 20_261_116

#: Sums of pairs that are remembered, and pairs kept for all of them; at least all kinds.
_MEMO, _POOL = 1 << 18, 1 << 20

#: The least chance of a record type, relative to the mean: a file can say 0, tables can say otherwise.
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Space:
    """Classes sorted by kind, types sorted by class, and what the moves look up.

    ``class_of`` and ``type_of`` lead from here to the numbers that the system has.
    """

    system: System
    n_records: int
    class_at: Whole  # the system's number of each class
    type_at: Whole  # the system's number of each type
    class_of: Whole  # type → class
    class_start: Whole
    kind_of: Whole  # class → kind
    kind_start: Whole
    kind_hash: Whole
    chance: Floats  # of each type
    class_chance: Floats

    @cached_property
    def kind_chance(self) -> Floats:
        """The chance of each kind."""
        return np.add.reduceat(self.class_chance, self.kind_start[:-1])

    @cached_property
    def class_sum(self) -> Floats:
        """Chances of classes, summed up within each kind."""
        return _sums_within(self.class_chance, self.kind_start)

    @cached_property
    def type_sum(self) -> Floats:
        """Chances of types, summed up within each class."""
        return _sums_within(self.chance, self.class_start)

    @cached_property
    def by_row(self) -> tuple[NDArray[np.int16], Whole, Whole, Whole]:
        """Kind × row, each kind's smallest row, and the kinds of each row; the smallest rows come first.

        Where some kind is in no row, no row serves.
        """
        member = self.rows[self.kind_start[:-1]] > 0
        member = member[:, np.argsort(member.sum(axis=0), kind="stable")]
        starts = np.concatenate([[0], np.cumsum(member.sum(axis=0))])
        smallest = np.where(member.any(axis=1).all(), member.argmax(axis=1) if member.size else -1, -1)
        own = np.broadcast_to(smallest, len(member)).astype(np.int64)
        kinds = np.nonzero(member.T)[1]
        return np.ascontiguousarray(member.astype(np.int16)), own, starts, kinds

    @cached_property
    def kinds(self) -> KindTable:
        """What pair moves look up."""
        return KindTable(
            self.kind_of,
            self.kind_hash,
            self.kind_chance,
            *make_hash_table(self.kind_hash),
            *self.by_row,
            self.kind_start,
            self.class_sum,
        )

    @cached_property
    def exchanges(self) -> tuple[ExchangeTable, ExchangeMemo]:
        """What detours look up, and the lists that they make; what one chain lists helps the others."""
        codes = self.system.universe.codes[self.type_at]
        table = make_exchanges(codes, self.parts, self.hash_of, self.chance)
        return table, empty_memo(table)

    @cached_property
    def cells(self) -> CellTable:
        """What detours look up about exact cells."""
        at, row = np.nonzero(self.rows)
        return CellTable(
            self.class_of,
            self.rows,
            np.ascontiguousarray(self.rows.T > 0),
            np.searchsorted(at, np.arange(len(self.rows) + 1)),
            row,
            self.row_count,
        )

    @cached_property
    def rows(self) -> NDArray[np.int16] | Whole:
        """Class × exact row; signed, because differences of them are."""
        return _signed(self.system.columns[self.class_at][:, self.system.exact])

    @cached_property
    def row_count(self) -> Whole:
        """The published count of each exact row."""
        return self.system.low[self.system.exact]

    @cached_property
    def loose(self) -> tuple[Whole, Whole, Whole]:
        """Rows with intervals (row × class), and the ends of these."""
        rows = ~self.system.exact
        inside = self.system.rows[rows][:, self.class_at].astype(np.int64)
        return np.ascontiguousarray(inside), self.system.low[rows], self.system.high[rows]

    @cached_property
    def parts(self) -> Whole:
        """Type × column: what the column's value adds to the key of the type."""
        rng = np.random.default_rng(_HASH_SEED + 1)
        universe = self.system.universe
        most = PRIME // max(1, len(universe.frame.sizes))  # the sum of all parts stays below the modulus
        by_value = [rng.integers(0, most, size) for size in universe.frame.sizes]
        codes = universe.codes[self.type_at]
        columns = [by_value[at][codes[:, at]] for at in range(codes.shape[1])]
        return (
            np.ascontiguousarray(np.column_stack(columns)) if columns else np.zeros((len(codes), 0), np.int64)
        )

    @cached_property
    def hash_of(self) -> Whole:
        """Type → hash of its exact rows."""
        return self.kind_hash[self.kind_of[self.class_of]]

    @cached_property
    def memo(self) -> PairMemo:
        """Tables of pairs of kinds by their sums, empty at first; what one chain finds helps the others."""
        size = max(_POOL, 4 * len(self.kind_hash))
        return PairMemo(np.zeros((_MEMO + 1, 3), np.int64), np.zeros((size, 2), np.int32), np.zeros(size))

    def classes_of(self, counts: Whole) -> Whole:
        """The records of a dataset given by counts of the system's classes."""
        return np.repeat(np.arange(len(self.class_at)), counts[self.class_at])

    def counts_of(self, world: Whole) -> Whole:
        """The inverse: counts of the system's classes."""
        counts = np.zeros(self.system.n_classes, np.int64)
        counts[self.class_at] = np.bincount(world, minlength=len(self.class_at))
        return counts

    def every_world(self, most: int, most_steps: int) -> NDArray[np.int32] | None:
        """All datasets as classes of their records, or None if there are too many."""
        worlds = np.zeros((most, self.n_records), np.int32)
        rows = _signed(self.system.columns[self.class_at])
        low, high = self.system.low.copy(), self.system.high.copy()
        found = list_worlds(rows, low, high, most_steps, worlds)
        return worlds[:found].copy() if found > 0 else None


def make_space(system: System, chance: Floats, n_records: int) -> Space:
    """The arrays for a system whose types have these chances."""
    floor = _LEAST * float(chance.mean()) if len(chance) else 0.0
    chance = np.maximum(chance, floor)
    kind_hash, kind = _kinds(system)
    class_at = np.argsort(kind, kind="stable")
    rank = np.empty(len(class_at), np.int64)
    rank[class_at] = np.arange(len(class_at))
    class_of_type = rank[system.group]
    type_at = np.argsort(class_of_type, kind="stable")
    class_of = class_of_type[type_at]
    class_start = np.searchsorted(class_of, np.arange(len(class_at) + 1))
    kind_of = kind[class_at]
    kind_start = np.searchsorted(kind_of, np.arange(len(kind_hash) + 1))
    own = chance[type_at]
    class_chance = np.add.reduceat(own, class_start[:-1]) if len(own) else own
    return Space(
        system, n_records, class_at, type_at, class_of, class_start, kind_of, kind_start, kind_hash, own,
        class_chance,
    )  # fmt: skip


def _kinds(system: System) -> tuple[Whole, Whole]:
    """The hashes of the sets of exact rows that classes lie in, sorted, and each class's number there."""
    rng = np.random.default_rng(_HASH_SEED)
    hashes = np.zeros(system.n_classes, np.int64)
    for row in system.rows[system.exact]:
        weight = int(rng.integers(0, PRIME))
        for times in np.unique(row[row > 0]).tolist():
            hashes[row == times] += times * weight % PRIME
        hashes %= PRIME
    found, of = np.unique(hashes, return_inverse=True)
    return found, of


def _sums_within(chances: Floats, starts: Whole) -> Floats:
    """Cumulative sums that begin anew at each start."""
    found = np.empty_like(chances)
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        found[start:end] = chances[start] if end == start + 1 else np.cumsum(chances[start:end])
    return found


def _signed(rows: NDArray[np.integer]) -> NDArray[np.int16] | Whole:
    """Numbers of times as signed ones."""
    if rows.max(initial=0) <= np.iinfo(np.int16).max:
        return np.ascontiguousarray(rows.astype(np.int16))
    return np.ascontiguousarray(rows.astype(np.int64))


@compiled
def _take_out(at: int, alive: Any, rows: Any, n_alive: Any, trail: Any, n_trail: int) -> int:
    """A class that may not grow any more; noted in the trail, whose new length is returned."""
    alive[at] = 0
    for row in range(rows.shape[1]):
        if rows[at, row]:
            n_alive[row] -= 1
    trail[n_trail] = at
    return n_trail + 1


@compiled
def _put_back(until: int, alive: Any, rows: Any, n_alive: Any, trail: Any, n_trail: int) -> int:
    """Undo the trail back to a length."""
    while n_trail > until:
        n_trail -= 1
        at = trail[n_trail]
        alive[at] = 1
        for row in range(rows.shape[1]):
            if rows[at, row]:
                n_alive[row] += 1
    return n_trail


@compiled
def _tightest(low: Any, n_alive: Any) -> int:
    """The row that still lacks records and has the fewest classes for them; −1 if none lacks any."""
    best = -1
    for row in range(len(low)):
        if low[row] > 0 and (best < 0 or n_alive[row] < n_alive[best]):
            best = row
    return best


@compiled
def _next_class(row: int, alive: Any, rows: Any) -> int:
    """The first class that may grow, in a row if one is given; −1 if there is none."""
    for at in range(len(alive)):
        if alive[at] and (row < 0 or rows[at, row]):
            return at
    return -1


@compiled
def list_worlds(rows: Any, low: Any, high: Any, most_steps: int, worlds: Any) -> int:
    """All ways to give classes counts so that low ≤ counts·rows ≤ high, as sorted classes of records.

    Depth first: the row with the fewest classes left is served first; a class gets one record more, or no
    more. Returns how many there are; −1 if there are more than fit into ``worlds``, −2 if it takes more
    steps than allowed. ``low`` and ``high`` are used up.
    """
    n_classes, n_rows = rows.shape
    most_records = worlds.shape[1]
    alive = np.ones(n_classes, np.uint8)
    n_alive = np.zeros(n_rows, np.int64)
    for at in range(n_classes):
        for row in range(n_rows):
            if rows[at, row]:
                n_alive[row] += 1
    trail = np.zeros(n_classes, np.int64)
    n_trail = 0
    for at in range(n_classes):
        for row in range(n_rows):
            if alive[at] and rows[at, row] > high[row]:
                n_trail = _take_out(at, alive, rows, n_alive, trail, n_trail)
    taken = np.zeros(most_records + 1, np.int64)  # the record that each decision added
    decisions = np.zeros((3, most_records + n_classes + 2), np.int64)  # class, taken or left, trail before
    n_taken, depth, n_found = 0, 0, 0
    for _ in range(most_steps):
        row = _tightest(low, n_alive)
        at = _next_class(row, alive, rows)
        if at >= 0 and n_taken < most_records:
            decisions[0, depth], decisions[1, depth], decisions[2, depth] = at, 1, n_trail
            depth += 1
            taken[n_taken] = at
            n_taken += 1
            for of in range(n_rows):
                if rows[at, of]:
                    low[of] -= rows[at, of]
                    high[of] -= rows[at, of]
            for other in range(n_classes):
                if alive[other]:
                    for of in range(n_rows):
                        if rows[other, of] > high[of]:
                            n_trail = _take_out(other, alive, rows, n_alive, trail, n_trail)
                            break
            continue
        if row < 0 and at < 0:
            if n_found == len(worlds):
                return -1
            for record in range(n_taken):
                worlds[n_found, record] = taken[record]
            for record in range(n_taken, most_records):
                worlds[n_found, record] = -1
            n_found += 1
        while depth and not decisions[1, depth - 1]:
            depth -= 1
            n_trail = _put_back(decisions[2, depth], alive, rows, n_alive, trail, n_trail)
        if not depth:
            return n_found
        at = decisions[0, depth - 1]
        n_trail = _put_back(decisions[2, depth - 1], alive, rows, n_alive, trail, n_trail)
        n_taken -= 1
        for of in range(n_rows):
            if rows[at, of]:
                low[of] += rows[at, of]
                high[of] += rows[at, of]
        decisions[1, depth - 1] = 0
        n_trail = _take_out(at, alive, rows, n_alive, trail, n_trail)
    return -2
