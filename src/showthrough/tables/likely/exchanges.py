"""All that two records can become by exchanging values of columns.

These are pairs of record types with the same values in each column. They are listed when
they are first asked for, in groups that are in the same exact cells, and kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.likely.compiled import compiled
from showthrough.tables.likely.hashing import find, make_hash_table, minus, plus, position

__all__ = [
    "FULL",
    "ExchangeMemo",
    "ExchangeTable",
    "draw_pair",
    "empty_memo",
    "forget",
    "group_of",
    "list_exchanges",
    "make_exchanges",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Instead of a place: there is no room for another list.
FULL = -1

#: Lists that are remembered, twice as many places, and pairs of all of them; at least all types.
_PLACES, _POOL = 1 << 19, 1 << 20

#: Columns up to which all ways to exchange them are tried.
_MOST_COLUMNS = 40


class ExchangeTable(NamedTuple):
    """Record types: keys and what each column adds to them, hashes of their exact cells, and chances.

    The types with some value in some column fill a slot: ``slot`` is type × column, ``rarest`` the column of
    each type whose slot is smallest, ``slot_types`` the types of each slot from its ``slot_start`` on.
    """

    key: Any
    parts: Any
    table_key: Any
    table_type: Any
    hash: Any
    chance: Any
    slot: Any
    rarest: Any
    slot_start: Any
    slot_types: Any


class ExchangeMemo(NamedTuple):
    """Lists of pairs by the sum of their keys.

    ``found`` is place × (sum, first group, number of groups); no groups: the place is free. Its last row says
    how many places, groups and pairs are used. Each group has the hash and the weight of its pairs, which
    start at ``start`` and end where those of the next group start; ``sums`` are weights summed up within a
    group. ``room`` is for a list that is being made.
    """

    found: Any
    hash: Any
    weight: Any
    start: Any
    pairs: Any
    sums: Any
    room: Any


def make_exchanges(codes: NDArray[np.integer], parts: Whole, hashes: Whole, chance: Floats) -> ExchangeTable:
    """What is looked up about types, given by their codes."""
    key = parts.sum(axis=1) if parts.shape[1] else np.zeros(len(parts), np.int64)
    sizes = codes.max(axis=0, initial=0).astype(np.int64) + 1
    slot = codes.astype(np.int64) + np.concatenate([[0], np.cumsum(sizes)[:-1]])[: len(sizes)]
    many = np.bincount(slot.ravel(), minlength=int(sizes.sum()))
    order = np.argsort(slot, axis=None, kind="stable") // max(slot.shape[1], 1)
    rarest = many[slot].argmin(axis=1) if slot.shape[1] else np.zeros(len(codes), np.int64)
    starts = np.concatenate([[0], np.cumsum(many)])
    return ExchangeTable(
        key, parts, *make_hash_table(key), hashes, chance, np.ascontiguousarray(slot), rarest, starts, order
    )


def empty_memo(of: ExchangeTable) -> ExchangeMemo:
    """Nothing is remembered yet."""
    widest = int(np.diff(of.slot_start).max(initial=1))
    size = max(_POOL, 4 * widest)
    return ExchangeMemo(
        np.zeros((_PLACES + 1, 3), np.int64),
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(size, np.int64),
        np.zeros((size, 2), np.int32),
        np.zeros(size),
        np.zeros((3, widest), np.int64),
    )


@compiled
def forget(memo: ExchangeMemo) -> None:
    """Empty the memo."""
    memo.found[:] = 0


@compiled
def list_exchanges(one: int, other: int, at: int, of: ExchangeTable, memo: ExchangeMemo) -> int:
    """List the exchanges of two types, whose place is free, in the quicker way; that place, or FULL."""
    found = memo.found
    last = found.shape[0] - 1
    slot = of.slot[one, of.rarest[one]]
    theirs = of.slot[other, of.rarest[other]]
    if of.slot_start[theirs + 1] - of.slot_start[theirs] < of.slot_start[slot + 1] - of.slot_start[slot]:
        slot = theirs
    width = of.slot_start[slot + 1] - of.slot_start[slot]
    if 2 * found[last, 0] >= last or max(found[last, 1], found[last, 2]) + width + 1 > len(memo.sums):
        return FULL
    differing = 0
    for column in range(of.slot.shape[1]):
        differing += of.slot[one, column] != of.slot[other, column]
    if differing <= _MOST_COLUMNS and (1 << max(differing - 1, 0)) <= width:
        size = _by_columns(one, other, of, memo)
    else:
        size = _by_slot(plus(of.key[one], of.key[other]), slot, of, memo)
    _sort_into_groups(plus(of.key[one], of.key[other]), size, at, of, memo)
    return at


@compiled
def _by_columns(one: int, other: int, of: ExchangeTable, memo: ExchangeMemo) -> int:
    """Try all ways to exchange columns that differ; the first of them stays, or pairs would come twice."""
    columns = memo.room[2]
    differing = 0
    for column in range(of.slot.shape[1]):
        if of.slot[one, column] != of.slot[other, column] and differing < len(columns):
            columns[differing] = column
            differing += 1
    total = plus(of.key[one], of.key[other])
    key = of.key[one]
    taken = 0
    size = 0
    for step in range(1 << max(differing - 1, 0)):
        if step:  # one column changes at a time
            bit = 0
            while not step >> bit & 1:
                bit += 1
            column = columns[bit + 1]
            change = of.parts[other, column] - of.parts[one, column]
            key += -change if taken >> bit & 1 else change
            taken ^= 1 << bit
        new = find(of.table_key, of.table_type, key)
        if new < 0:
            continue
        newer = find(of.table_key, of.table_type, minus(total, key))
        if newer >= 0:
            memo.room[0, size] = new
            memo.room[1, size] = newer
            size += 1
    return size


@compiled
def _by_slot(total: int, slot: int, of: ExchangeTable, memo: ExchangeMemo) -> int:
    """Try all types in a slot that one of each pair must be in."""
    first, last = of.slot_start[slot], of.slot_start[slot + 1]
    column = 0
    while of.slot[of.slot_types[first], column] != slot:
        column += 1
    size = 0
    for place in range(first, last):
        new = of.slot_types[place]
        newer = find(of.table_key, of.table_type, minus(total, of.key[new]))
        if newer < 0 or (newer < new and of.slot[newer, column] == slot):
            continue
        memo.room[0, size] = new
        memo.room[1, size] = newer
        size += 1
    return size


@compiled
def _sort_into_groups(total: int, size: int, at: int, of: ExchangeTable, memo: ExchangeMemo) -> None:
    """Write down the pairs in the room, group by group."""
    found, room = memo.found, memo.room
    last = found.shape[0] - 1
    first, end = found[last, 1], found[last, 2]
    n_groups = 0
    for pair in range(size):
        own = plus(of.hash[room[0, pair]], of.hash[room[1, pair]])
        group = 0
        while group < n_groups and memo.hash[first + group] != own:
            group += 1
        if group == n_groups:
            memo.hash[first + group] = own
            n_groups += 1
        room[2, pair] = group
    for group in range(n_groups):
        memo.start[first + group] = end
        weight = 0.0
        for pair in range(size):
            if room[2, pair] == group:
                one, other = room[0, pair], room[1, pair]
                product = of.chance[one] * of.chance[other]
                weight += product if one == other else 2 * product
                memo.pairs[end, 0] = one
                memo.pairs[end, 1] = other
                memo.sums[end] = weight
                end += 1
        memo.weight[first + group] = weight
    memo.start[first + n_groups] = end
    found[at, 0], found[at, 1], found[at, 2] = total, first, n_groups
    found[last, 0] += 1
    found[last, 1] = first + n_groups + 1
    found[last, 2] = end


@compiled
def group_of(first: int, n_groups: int, wanted: int, hashes: Any) -> int:
    """The group of a list whose pairs are in some cells, given by their hash; −1 if there is none."""
    for group in range(first, first + n_groups):
        if hashes[group] == wanted:
            return group
    return -1


@compiled
def draw_pair(group: int, uniform: float, memo: ExchangeMemo) -> tuple[int, int]:
    """A pair of a group in proportion to its weight, in random order."""
    first, last = memo.start[group], memo.start[group + 1]
    weight = memo.sums[last - 1]
    wanted = 2 * uniform * weight
    turned = wanted >= weight
    at = position(memo.sums, first, last, wanted - weight if turned else wanted)
    one, other = memo.pairs[at, 0], memo.pairs[at, 1]
    return (other, one) if turned else (one, other)
