"""Double moves of a chain through the datasets that agree with a release, as loops over arrays.

Two random records exchange some of their columns, which changes cells by δ; among the pairs of other records
whose exchange of the same columns changes them by −δ one is drawn in proportion to w = chance after /
chance before, with sum Z. Accepted with probability min(1, R·Z/(w·Z′)), where R is the first exchange's
ratio of chances and Z′ the sum of the way back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from showthrough.tables.likely.compiled import compiled
from showthrough.tables.likely.hashing import PRIME, exchanged, find, masked_sum, position
from showthrough.tables.likely.pairs import Intervals, stays

__all__ = [
    "PER_DOUBLE",
    "Partners",
    "TypeTable",
    "double_moves",
]

#: Random numbers that each move takes.
PER_DOUBLE = 5


class TypeTable(NamedTuple):
    """Record types: keys, what each column adds to them, classes, hashes of their cells, and chances.

    ``rows`` is class × exact row, ``row_list`` the same as lists that start at ``row_start``, and
    ``row_count`` the published counts.
    """

    key: Any
    parts: Any
    table_key: Any
    table_type: Any
    of_class: Any
    hash: Any
    chance: Any
    rows: Any
    row_start: Any
    row_list: Any
    row_count: Any


class Partners(NamedTuple):
    """Room for what a move finds: pairs of records with their new types, and their weights summed up.

    ``mask`` says which columns are exchanged, ``masked`` is that part of each record's key, ``before``
    the types before a move, ``change`` how each row changes, ``old`` and ``new`` four classes each.
    """

    pairs: Any
    sums: Any
    mask: Any
    masked: Any
    before: Any
    change: Any
    old: Any
    new: Any


@compiled
def _difference(one: int, two: int, new: int, newer: int) -> int:
    """How hashes change when two are replaced by two others."""
    change = new - one
    if change < 0:
        change += PRIME
    change += newer
    if change >= PRIME:
        change -= PRIME
    change -= two
    if change < 0:
        change += PRIME
    return change


@compiled
def _swapped(one: int, own: int, theirs: int, of: TypeTable) -> int:
    """The type of a record whose masked part is another's; −1 if there is none."""
    return find(of.table_key, of.table_type, exchanged(of.key[one], own, theirs))


@compiled
def _fills(one: int, other: int, new: int, row: int, of: TypeTable) -> bool:
    """Whether a row cannot become emptier: the new type counts as much, and the other record did not."""
    before, after = of.rows[of.of_class[one], row], of.rows[of.of_class[new], row]
    return after >= before and of.rows[of.of_class[other], row] == 0


@compiled
def _partners(types: Any, pair: tuple[int, int], wanted: int, row: int, of: TypeTable, room: Partners) -> int:
    """Pairs of other records whose exchange changes the hash by what is wanted, with their weights.

    One record of each pair must be in a row, if one is given: the exchange takes it out of it.
    """
    n, masked, chance = len(types), room.masked, of.chance
    i, j = pair
    size = 0
    weight = 0.0
    for k in range(n):
        if k in (i, j) or (row >= 0 and of.rows[of.of_class[types[k]], row] == 0):
            continue
        for m in range(n):
            if m in (i, j, k) or masked[m] == masked[k]:
                continue
            if m < k and (row < 0 or of.rows[of.of_class[types[m]], row] != 0):
                continue
            one = _swapped(types[k], masked[k], masked[m], of)
            if one < 0 or (row >= 0 and _fills(types[k], types[m], one, row, of)):
                continue
            two = _swapped(types[m], masked[m], masked[k], of)
            if two < 0:
                continue
            if _difference(of.hash[types[k]], of.hash[types[m]], of.hash[one], of.hash[two]) != wanted:
                continue
            weight += chance[one] / chance[types[k]] * (chance[two] / chance[types[m]])
            room.pairs[0, size] = k
            room.pairs[1, size] = m
            room.pairs[2, size] = one
            room.pairs[3, size] = two
            room.sums[size] = weight
            size += 1
    return size


@compiled
def _count_rows(at: int, sign: int, of: TypeTable, room: Partners) -> None:
    """Note that a class comes or goes."""
    for place in range(of.row_start[at], of.row_start[at + 1]):
        row = of.row_list[place]
        room.change[row] += sign * of.rows[at, row]


@compiled
def _smallest_rows(of: TypeTable, room: Partners) -> tuple[int, int]:
    """Of the rows that gain and of those that lose, the one with the least count; −1 if there is none.

    The first two of the old classes go, and of the new ones come.
    """
    for at in range(2):
        _count_rows(room.old[at], -1, of, room)
        _count_rows(room.new[at], 1, of, room)
    more, less = -1, -1
    for at in range(4):
        one = room.old[at] if at < 2 else room.new[at - 2]
        for place in range(of.row_start[one], of.row_start[one + 1]):
            row = of.row_list[place]
            change = room.change[row]
            room.change[row] = 0
            if change > 0 and (more < 0 or (of.row_count[row], row) < (of.row_count[more], more)):
                more = row
            if change < 0 and (less < 0 or (of.row_count[row], row) < (of.row_count[less], less)):
                less = row
    return more, less


@compiled
def _second(
    types: Any, u: Any, pair: tuple[int, int], new: tuple[int, int], of: TypeTable, room: Partners
) -> bool:
    """Look for two records whose exchange makes up for that of the first two; whether it is made.

    If so, all four types are replaced; the room has their classes before and after.
    """
    i, j = pair
    one, two = new
    chance, old, new_classes = of.chance, room.old, room.new
    ratio = chance[one] / chance[types[i]] * (chance[two] / chance[types[j]])
    old[0], old[1] = of.of_class[types[i]], of.of_class[types[j]]
    new_classes[0], new_classes[1] = of.of_class[one], of.of_class[two]
    more, less = _smallest_rows(of, room)
    if more < 0 and less < 0:
        old[2], old[3], new_classes[2], new_classes[3] = old[0], old[0], old[0], old[0]
        if u[4] < ratio:
            types[i], types[j] = one, two
            return True
        return False
    shift = _difference(of.hash[one], of.hash[two], of.hash[types[i]], of.hash[types[j]])
    for at in range(len(types)):
        room.masked[at] = masked_sum(of.parts[types[at]], room.mask[0])
    size = _partners(types, pair, shift, more, of, room)
    if size == 0:
        return False
    z = room.sums[size - 1]
    chosen = position(room.sums, 0, size, u[3] * z)
    k, m = room.pairs[0, chosen], room.pairs[1, chosen]
    three, last = room.pairs[2, chosen], room.pairs[3, chosen]
    w = chance[three] / chance[types[k]] * (chance[last] / chance[types[m]])
    before = types[i], types[j], types[k], types[m]
    old[2], old[3] = of.of_class[before[2]], of.of_class[before[3]]
    new_classes[2], new_classes[3] = of.of_class[three], of.of_class[last]
    types[i], types[j], types[k], types[m] = one, two, three, last
    room.masked[k], room.masked[m] = room.masked[m], room.masked[k]
    size = _partners(types, pair, PRIME - shift, less, of, room)
    if u[4] * (w * room.sums[size - 1]) < ratio * z:
        return True
    types[i], types[j], types[k], types[m] = before
    return False


@compiled
def _one_double(types: Any, u: Any, of: TypeTable, room: Partners, intervals: Intervals) -> bool:
    """One move; whether anything changed."""
    n, n_columns = len(types), of.parts.shape[1]
    i = int(u[0] * n)
    j = int(u[1] * (n - 1))
    if j >= i:
        j += 1
    mask = 1 + int(u[2] * (2**n_columns - 2))
    own, theirs = masked_sum(of.parts[types[i]], mask), masked_sum(of.parts[types[j]], mask)
    if own == theirs:
        return False
    one = _swapped(types[i], own, theirs, of)
    if one < 0:
        return False
    two = _swapped(types[j], theirs, own, of)
    if two < 0:
        return False
    room.before[:] = types
    room.mask[0] = mask
    if not _second(types, u, (i, j), (one, two), of, room):
        return False
    if stays(intervals, room.old, room.new):
        return True
    types[:] = room.before
    return False


@compiled
def double_moves(types: Any, uniform: Any, of: TypeTable, room: Partners, intervals: Intervals) -> int:
    """Exchange columns within two pairs of records, in place; one move for every five random numbers.

    Returns how many were accepted.
    """
    n_accepted = 0
    for move in range(len(uniform) // PER_DOUBLE):
        u = uniform[move * PER_DOUBLE : (move + 1) * PER_DOUBLE]
        if _one_double(types, u, of, room, intervals):
            n_accepted += 1
    return n_accepted
