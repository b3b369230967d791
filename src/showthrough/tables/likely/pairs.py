"""Pair moves of a chain through the datasets that agree with a release, as loops over arrays.

A dataset is a sequence of records, and its weight the product of its records' chances. Record types
in the same cells form a class; classes in the same *exact* cells form a kind. All sums of cells are
compared by a linear hash modulo a prime. All whole numbers are signed: compiled code wraps the others around.

A pair move takes two random records; among all pairs of kinds with the same sum of exact cells one is
drawn in proportion to its weight, then classes within these kinds. Nothing is rejected, unless a cell
that is published as an interval would leave it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from showthrough.tables.likely.compiled import compiled, find, minus, place_of, plus, position

__all__ = [
    "PER_PAIR",
    "Intervals",
    "KindTable",
    "PairMemo",
    "draw_types",
    "pair_moves",
    "stays",
]

#: Random numbers that each move takes.
PER_PAIR = 6


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
