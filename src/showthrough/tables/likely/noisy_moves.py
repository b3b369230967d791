"""The moves of a chain through datasets that noisy counts make more or less likely, as loops over arrays.

A dataset is a sequence of records; its weight is the product of its records' chances and of the chances
that its counts are published as they were. All weights are logarithms.

``choose_again``: a random record keeps some columns; among all record types that agree with it in these
one is drawn in proportion to its weight. Nothing is rejected.

``exchange``: two random records exchange some columns; accepted with probability min(1, ratio of weights).

``come_or_go``: where the number of records is not known, a record drawn from the prior is added or a random
one removed; accepted with probability min(1, ratio of the chances of the counts), which keeps the weights if
all numbers of records are alike before.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from showthrough.tables.likely.compiled import compiled
from showthrough.tables.likely.hashing import exchanged, find, masked_sum, position

__all__ = [
    "PER_MOVE",
    "NoisyState",
    "TypeGroups",
    "TypeKeys",
    "TypeRows",
    "any_type",
    "new_records",
    "noisy_moves",
    "shares_of",
]

#: Random numbers that each move takes: which move, and what it needs.
PER_MOVE = 5

#: A weight with a count that is impossible and was not before; what was before has none.
HOPELESS = -5e5


class TypeRows(NamedTuple):
    """The rows (distinct cells) that a record of each type counts in, and the types' chances.

    ``share`` and ``other`` let a type be drawn in one step: a place has a share of itself, and the rest is
    another type's.
    """

    start: Any
    row: Any
    times: Any
    log_chance: Any
    share: Any
    other: Any


class TypeGroups(NamedTuple):
    """For each of some sets of columns the groups of types that agree in all others.

    ``order`` has the types of group after group, set × type; ``group`` is set × type; ``start`` is set ×
    group, one longer than there are groups at most.
    """

    order: Any
    group: Any
    start: Any


class TypeKeys(NamedTuple):
    """Keys of types, what each column adds to them, and the table that leads back."""

    key: Any
    parts: Any
    table_key: Any
    table_type: Any


class NoisyState(NamedTuple):
    """A chain: its records' types, counts of rows, what one more record would add to each row's score.

    ``score`` is row × count; ``gain`` times − 1 × row; ``size`` holds the number of records, the least and
    the most there may be; ``weight`` and ``drawn`` are room for types to choose among.
    """

    types: Any
    size: Any
    counts: Any
    score: Any
    gain: Any
    weight: Any
    drawn: Any


@compiled
def shares_of(chance: Any, share: Any, other: Any) -> None:
    """Fill the arrays by which types are drawn in one step (the alias method)."""
    n = len(chance)
    total = chance.sum()
    small, large = np.zeros(n, np.int64), np.zeros(n, np.int64)
    n_small, n_large = 0, 0
    for at in range(n):
        share[at] = chance[at] * n / total
        other[at] = at
        if share[at] < 1:
            small[n_small] = at
            n_small += 1
        else:
            large[n_large] = at
            n_large += 1
    while n_small and n_large:
        n_small -= 1
        low, high = small[n_small], large[n_large - 1]
        other[low] = high
        share[high] -= 1 - share[low]
        if share[high] < 1:
            n_large -= 1
            small[n_small] = high
            n_small += 1
    for at in range(n_small):
        share[small[at]] = 1.0
    for at in range(n_large):
        share[large[at]] = 1.0


@compiled
def any_type(uniform: float, rows: TypeRows) -> int:
    """A type drawn from the prior."""
    wanted = uniform * len(rows.share)
    at = int(wanted)
    return at if wanted - at < rows.share[at] else rows.other[at]


@compiled
def _add(at: int, sign: int, rows: TypeRows, state: NoisyState) -> float:
    """Count a record of a type, or take it out; how the score of the counts changes."""
    counts, score, gain = state.counts, state.score, state.gain
    change = 0.0
    for place in range(rows.start[at], rows.start[at + 1]):
        row = rows.row[place]
        before = counts[row]
        after = before + sign * rows.times[place]
        change += score[row, after] - score[row, before]
        counts[row] = after
        for more in range(gain.shape[0]):
            gain[more, row] = score[row, after + more + 1] - score[row, after]
    return change


@compiled
def _weight(at: int, rows: TypeRows, state: NoisyState) -> float:
    """The logarithm of the weight that one more record of a type would bring.

    As soon as it is hopeless the rest is not looked at: what the record was before weighs infinitely more.
    """
    gain = state.gain
    total = rows.log_chance[at]
    if gain.shape[0] == 1:  # every record counts once: fewer numbers to fetch
        for place in range(rows.start[at], rows.start[at + 1]):
            total += gain[0, rows.row[place]]
            if total < HOPELESS:
                return total
        return total
    for place in range(rows.start[at], rows.start[at + 1]):
        total += gain[rows.times[place] - 1, rows.row[place]]
    return total


@compiled
def choose_again(uniform: Any, rows: TypeRows, groups: TypeGroups, state: NoisyState) -> None:
    """A random record's type, drawn anew among those that agree with it in some columns."""
    if state.size[0] == 0:
        return
    i = int(uniform[1] * state.size[0])
    of = int(uniform[2] * len(groups.order))
    group = groups.group[of, state.types[i]]
    first, last = groups.start[of, group], groups.start[of, group + 1]
    if last - first < 2:
        return
    _add(state.types[i], -1, rows, state)
    weight = state.weight
    most = -np.inf
    for place in range(first, last):
        weight[place - first] = _weight(groups.order[of, place], rows, state)
        most = max(most, weight[place - first])
    total = 0.0
    for at in range(last - first):
        total += math.exp(weight[at] - most)
        weight[at] = total
    chosen = position(weight, 0, last - first, uniform[3] * total)
    state.types[i] = groups.order[of, first + chosen]
    _add(state.types[i], 1, rows, state)


@compiled
def choose_among(uniform: Any, rows: TypeRows, state: NoisyState) -> None:
    """A random record's type, drawn among its own and some that are drawn from the prior.

    All are weighted by the chance of the counts alone: the prior is in how they were drawn.
    """
    i = int(uniform[0] * state.size[0])
    weight, drawn = state.weight, state.drawn
    drawn[0] = state.types[i]
    for at in range(1, len(drawn)):
        drawn[at] = any_type(uniform[at + 1], rows)
    _add(drawn[0], -1, rows, state)
    most = -np.inf
    for at in range(len(drawn)):
        weight[at] = _weight(drawn[at], rows, state) - rows.log_chance[drawn[at]]
        most = max(most, weight[at])
    total = 0.0
    for at in range(len(drawn)):
        total += math.exp(weight[at] - most)
        weight[at] = total
    state.types[i] = drawn[position(weight, 0, len(drawn), uniform[1] * total)]
    _add(state.types[i], 1, rows, state)


@compiled
def new_records(uniform: Any, rows: TypeRows, state: NoisyState) -> None:
    """Records chosen among types drawn from the prior, as many as there are random numbers for."""
    per = len(state.drawn) + 1
    if state.size[0] == 0:
        return
    for move in range(len(uniform) // per):
        choose_among(uniform[move * per : (move + 1) * per], rows, state)


@compiled
def exchange(uniform: Any, rows: TypeRows, keys: TypeKeys, state: NoisyState) -> None:
    """Two random records exchange some columns, if what comes out is likely enough."""
    n, n_columns = state.size[0], keys.parts.shape[1]
    if n < 2 or n_columns < 2:
        return
    types = state.types
    i = int(uniform[1] * n)
    j = int(uniform[2] * (n - 1))
    if j >= i:
        j += 1
    mask = 1 + int(uniform[3] * (2**n_columns - 2))
    one, other = types[i], types[j]
    own, theirs = masked_sum(keys.parts[one], mask), masked_sum(keys.parts[other], mask)
    if own == theirs:
        return
    new = find(keys.table_key, keys.table_type, exchanged(keys.key[one], own, theirs))
    if new < 0:
        return
    newer = find(keys.table_key, keys.table_type, exchanged(keys.key[other], theirs, own))
    if newer < 0:
        return
    chance = rows.log_chance
    change = chance[new] + chance[newer] - chance[one] - chance[other]
    change += _add(one, -1, rows, state)
    change += _add(other, -1, rows, state)
    change += _add(new, 1, rows, state)
    change += _add(newer, 1, rows, state)
    if change >= 0 or uniform[4] < math.exp(change):
        types[i], types[j] = new, newer
    else:
        _add(newer, -1, rows, state)
        _add(new, -1, rows, state)
        _add(other, 1, rows, state)
        _add(one, 1, rows, state)


@compiled
def come_or_go(uniform: Any, rows: TypeRows, state: NoisyState) -> None:
    """Add a record drawn from the prior, or remove a random one, if the counts are likely enough then."""
    types, size = state.types, state.size
    if uniform[1] < 0.5:
        if size[0] >= size[2]:
            return
        new = any_type(uniform[2], rows)
        change = _add(new, 1, rows, state)
        if change >= 0 or uniform[3] < math.exp(change):
            types[size[0]] = new
            size[0] += 1
        else:
            _add(new, -1, rows, state)
        return
    if size[0] <= size[1]:
        return
    i = int(uniform[2] * size[0])
    old = types[i]
    change = _add(old, -1, rows, state)
    if change >= 0 or uniform[3] < math.exp(change):
        size[0] -= 1
        types[i] = types[size[0]]
    else:
        _add(old, 1, rows, state)


@compiled
def noisy_moves(
    uniform: Any, rows: TypeRows, groups: TypeGroups, keys: TypeKeys, state: NoisyState, known: bool
) -> None:
    """Random moves in place, one for every five random numbers; the first says which."""
    for move in range(len(uniform) // PER_MOVE):
        mine = uniform[move * PER_MOVE : (move + 1) * PER_MOVE]
        if not known and mine[0] >= 0.8:
            come_or_go(mine, rows, state)
        elif mine[0] < 0.4:
            choose_again(mine, rows, groups, state)
        else:
            exchange(mine, rows, keys, state)
