"""The moves of a chain through the datasets that agree with a release, as loops over arrays.

A *detour* leaves these datasets and comes back. Two random records exchange values so that cells change: a
group of pairs in other cells is drawn from their exchanges, all with the same probability, and one of its
pairs. Then two records, perhaps others, exchange values so that all cells are right again; of all ways to
do that, which include going back, one is drawn.

That is a Gibbs step, and nothing is rejected: the dataset in between is an auxiliary variable. If two of its
records are in group c of their exchanges, a way from there to group t has the weight of the datasets that it
leads to, times the probability of coming from there to the dataset in between: W(t) / W(c) / (groups − 1),
with W the weight of a group.

A dataset is a sequence of records, and its weight the product of its records' chances. Record types
in the same cells form a class; classes in the same *exact* cells form a kind. All sums of cells are
compared by a linear hash modulo a prime. All whole numbers are signed: compiled code wraps the others around.

A *pair move* takes two random records; among all pairs of kinds with the same sum of exact cells one is
drawn in proportion to its weight, then classes within these kinds. Nothing is rejected, unless a cell
that is published as an interval would leave it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from showthrough.tables.likely.compiled import compiled
from showthrough.tables.likely.exchanges import (
    FULL,
    ExchangeMemo,
    ExchangeTable,
    draw_pair,
    forget,
    group_of,
    list_exchanges,
)
from showthrough.tables.likely.hashing import find, minus, place_of, plus, position

__all__ = [
    "MOST_ROWS",
    "PER_DETOUR",
    "PER_PAIR",
    "CellTable",
    "DetourRoom",
    "Intervals",
    "KindTable",
    "PairMemo",
    "detours",
    "draw_types",
    "pair_moves",
    "stays",
]

#: Random numbers that each move takes.
PER_PAIR = 6

#: Random numbers that each detour takes.
PER_DETOUR = 6

#: Rows that a way back is asked to leave; more are not needed to find few of them.
MOST_ROWS = 60


class Intervals(NamedTuple):
    """Rows that are published as intervals: row × class, the sums of a dataset, and the ends."""

    rows: Any
    sums: Any
    low: Any
    high: Any


class KindTable(NamedTuple):
    """Kinds of classes: what pair moves look up.

    ``rows`` is kind × row, the smallest rows first, and ``row`` each kind's smallest one; the kinds of a row
    are ``row_kinds`` from its ``row_start`` on. Classes of a kind start at ``class_start``.
    """

    of_class: Any
    hash: Any
    chance: Any
    table_key: Any
    table_kind: Any
    rows: Any
    row: Any
    row_start: Any
    row_kinds: Any
    class_start: Any
    class_sum: Any


class PairMemo(NamedTuple):
    """Pairs of kinds by the sums of their hashes.

    ``found`` is place × (sum, start, length); a length of 0 means that the place is free. Its last row holds
    how much of it and of the pool is used. ``pairs`` are the pairs, ``sums`` their weights, summed up.
    """

    found: Any
    pairs: Any
    sums: Any


@compiled
def _list_pairs(total: int, row: int, kinds: KindTable, memo: PairMemo) -> int:
    """All pairs of kinds whose hashes add up to a total, listed in the pool; the place in the memo.

    One of each pair lies in a row, which the total determines. A full memo is emptied.
    """
    found = memo.found
    size = found.shape[0] - 1
    if 2 * found[size, 0] >= size or found[size, 1] + len(kinds.hash) > memo.pairs.shape[0]:
        found[:] = 0
    at = place_of(total, found)
    start = found[size, 1]
    end = start
    weight = 0.0
    first, last = (kinds.row_start[row], kinds.row_start[row + 1]) if row >= 0 else (0, len(kinds.hash))
    for place in range(first, last):
        one = kinds.row_kinds[place] if row >= 0 else place
        other = find(kinds.table_key, kinds.table_kind, minus(total, kinds.hash[one]))
        if other < 0 or (other < one and (row < 0 or kinds.rows[other, row] != 0)):
            continue
        product = kinds.chance[one] * kinds.chance[other]
        weight += product if one == other else 2 * product
        memo.pairs[end, 0] = one
        memo.pairs[end, 1] = other
        memo.sums[end] = weight
        end += 1
    found[at, 0] = total
    found[at, 1] = start
    found[at, 2] = end - start
    found[size, 0] += 1
    found[size, 1] = end
    return at


@compiled
def stays(intervals: Intervals, old: Any, new: Any) -> bool:
    """Whether intervals are kept when classes are replaced; if so, the sums are brought up to date."""
    rows, sums = intervals.rows, intervals.sums
    for row in range(rows.shape[0]):
        value = sums[row]
        for at in range(len(old)):
            value += rows[row, new[at]] - rows[row, old[at]]
        if value < intervals.low[row] or value > intervals.high[row]:
            return False
    for row in range(rows.shape[0]):
        for at in range(len(old)):
            sums[row] += rows[row, new[at]] - rows[row, old[at]]
    return True


@compiled
def pair_moves(world: Any, uniform: Any, kinds: KindTable, memo: PairMemo, intervals: Intervals) -> None:
    """Replace pairs of records, given by their classes, in place; one move for every six random numbers."""
    n = len(world)
    old = np.zeros(2, np.int64)
    new = np.zeros(2, np.int64)
    starts, sums = kinds.class_start, kinds.class_sum
    for move in range(len(uniform) // PER_PAIR):
        base = move * PER_PAIR
        i = int(uniform[base] * n)
        j = int(uniform[base + 1] * (n - 1))
        if j >= i:
            j += 1
        one, other = kinds.of_class[world[i]], kinds.of_class[world[j]]
        total = plus(kinds.hash[one], kinds.hash[other])
        at = place_of(total, memo.found)
        if memo.found[at, 2] == 0:
            at = _list_pairs(total, min(kinds.row[one], kinds.row[other]), kinds, memo)
        start = memo.found[at, 1]
        end = start + memo.found[at, 2]
        if end == start + 1 and starts[one + 1] - starts[one] == 1 and starts[other + 1] - starts[other] == 1:
            continue  # there is nothing else that they could be
        chosen = position(memo.sums, start, end, uniform[base + 2] * memo.sums[end - 1])
        one, other = memo.pairs[chosen, 0], memo.pairs[chosen, 1]
        if uniform[base + 3] < 0.5:
            one, other = other, one
        old[0], old[1] = world[i], world[j]
        first, last = starts[one], starts[one + 1]
        new[0] = position(sums, first, last, uniform[base + 4] * sums[last - 1])
        first, last = starts[other], starts[other + 1]
        new[1] = position(sums, first, last, uniform[base + 5] * sums[last - 1])
        if stays(intervals, old, new):
            world[i], world[j] = new[0], new[1]


@compiled
def draw_types(world: Any, uniform: Any, class_start: Any, type_sum: Any, types: Any) -> None:
    """A type for each record, drawn within its class."""
    for at in range(len(world)):
        first, last = class_start[world[at]], class_start[world[at] + 1]
        types[at] = position(type_sum, first, last, uniform[at] * type_sum[last - 1])


class CellTable(NamedTuple):
    """Exact rows: the class of each type, class × row, row × class (whether it counts at all).

    ``row_list`` has the rows of each class from its ``row_start`` on, ``row_count`` the published counts.
    """

    of_class: Any
    rows: Any
    inside: Any
    row_start: Any
    row_list: Any
    row_count: Any


class DetourRoom(NamedTuple):
    """Room for what a detour finds.

    ``change`` is how each row changes, ``rows`` those that gain, ``bits`` which of these each record is in;
    ``ways`` are ways back as (record, record, group), ``sums`` their weights summed up; ``old`` and ``new``
    four classes each, ``before`` the types before.
    """

    change: Any
    rows: Any
    bits: Any
    ways: Any
    sums: Any
    old: Any
    new: Any
    before: Any


@compiled
def _note(one: int, sign: int, cells: CellTable, room: DetourRoom) -> None:
    """Count a class that comes or goes."""
    for place in range(cells.row_start[one], cells.row_start[one + 1]):
        row = cells.row_list[place]
        room.change[row] += sign * cells.rows[one, row]


@compiled
def _gaining_rows(cells: CellTable, room: DetourRoom) -> int:
    """Rows that gain when the first two old classes are replaced by new ones; the smallest comes first."""
    size = 0
    for at in range(2):
        _note(room.old[at], -1, cells, room)
        _note(room.new[at], 1, cells, room)
    for at in range(4):
        one = room.new[at] if at < 2 else room.old[at - 2]
        for place in range(cells.row_start[one], cells.row_start[one + 1]):
            row = cells.row_list[place]
            if room.change[row] > 0 and size < MOST_ROWS:
                room.rows[size] = row
                if cells.row_count[row] < cells.row_count[room.rows[0]]:
                    room.rows[size], room.rows[0] = room.rows[0], row
                size += 1
            room.change[row] = 0
    return size


@compiled
def _mark(types: Any, n_rows: int, cells: CellTable, room: DetourRoom) -> None:
    """Note which of the gaining rows each record is in."""
    room.bits[:] = 0
    for number in range(n_rows):
        inside = cells.inside[room.rows[number]]
        for at in range(len(types)):
            if inside[cells.of_class[types[at]]]:
                room.bits[at] |= 1 << number


@compiled
def _ways_back(
    types: Any, shift: int, n_rows: int, of: ExchangeTable, memo: ExchangeMemo, room: DetourRoom
) -> int:
    """Pairs of records whose exchange adds a shift to the hash, with their weights; how many, or FULL.

    Rows that have gained must lose, so one of the two must be in each of them.
    """
    n, bits, found = len(types), room.bits, memo.found
    every = (1 << n_rows) - 1
    size = 0
    weight = 0.0
    for k in range(n):
        if n_rows and not bits[k] & 1:
            continue
        for m in range(n):
            if bits[k] | bits[m] != every or m == k or (m < k and (not n_rows or bits[m] & 1)):
                continue
            one, other = types[k], types[m]
            at = place_of(plus(of.key[one], of.key[other]), found)
            if found[at, 2] == 0:
                at = list_exchanges(one, other, at, of, memo)
                if at == FULL:
                    return FULL
            first, n_groups = found[at, 1], found[at, 2]
            own = plus(of.hash[one], of.hash[other])
            wanted = group_of(first, n_groups, plus(own, shift), memo.hash)
            if wanted < 0:
                continue
            now = group_of(first, n_groups, own, memo.hash)
            weight += memo.weight[wanted] / memo.weight[now] / (n_groups - 1)
            room.ways[size, 0] = k
            room.ways[size, 1] = m
            room.ways[size, 2] = wanted
            room.sums[size] = weight
            size += 1
    return size


@compiled
def _detour(
    types: Any, u: Any, of: ExchangeTable, memo: ExchangeMemo, cells: CellTable, room: DetourRoom
) -> int:
    """One detour; 1 if it was made (the room has classes before and after), 0 if there is none, or FULL."""
    n = len(types)
    i = int(u[0] * n)
    j = int(u[1] * (n - 1))
    if j >= i:
        j += 1
    one, other = types[i], types[j]
    at = place_of(plus(of.key[one], of.key[other]), memo.found)
    if memo.found[at, 2] == 0:
        at = list_exchanges(one, other, at, of, memo)
        if at == FULL:
            return FULL
    first, n_groups = memo.found[at, 1], memo.found[at, 2]
    if n_groups < 2:
        return 0
    own = plus(of.hash[one], of.hash[other])
    group = first + int(u[2] * (n_groups - 1))
    if group >= group_of(first, n_groups, own, memo.hash):
        group += 1
    room.old[0], room.old[1] = cells.of_class[one], cells.of_class[other]
    types[i], types[j] = draw_pair(group, u[3], memo)
    room.new[0], room.new[1] = cells.of_class[types[i]], cells.of_class[types[j]]
    n_rows = _gaining_rows(cells, room)
    _mark(types, n_rows, cells, room)
    size = _ways_back(types, minus(own, memo.hash[group]), n_rows, of, memo, room)
    if size == FULL:
        types[i], types[j] = one, other
        return FULL
    way = position(room.sums, 0, size, u[4] * room.sums[size - 1])
    k, m = room.ways[way, 0], room.ways[way, 1]
    room.old[2], room.old[3] = cells.of_class[types[k]], cells.of_class[types[m]]
    types[k], types[m] = draw_pair(room.ways[way, 2], u[5], memo)
    room.new[2], room.new[3] = cells.of_class[types[k]], cells.of_class[types[m]]
    return 1


@compiled
def detours(
    types: Any,
    uniform: Any,
    exchanges: tuple[Any, Any],
    cells: CellTable,
    room: DetourRoom,
    intervals: Intervals,
) -> None:
    """Detours in place, one for every six random numbers; a cell published as an interval must not leave it.

    A full memo is emptied. What does not fit into an empty one depends on the dataset in between alone, so
    that leaving it out keeps the balance.
    """
    of, memo = exchanges
    n_intervals = len(intervals.low)
    for move in range(len(uniform) // PER_DETOUR):
        u = uniform[move * PER_DETOUR : (move + 1) * PER_DETOUR]
        if n_intervals:
            room.before[:] = types
        made = _detour(types, u, of, memo, cells, room)
        if made == FULL:
            forget(memo)
            made = _detour(types, u, of, memo, cells, room)
        if made == 1 and n_intervals and not stays(intervals, room.old, room.new):
            types[:] = room.before
