"""The moves of a chain through the datasets that agree with a release, as loops over arrays.

A dataset is a sequence of records, and its weight the product of its records' chances. Record types
in the same cells form a class; classes in the same *exact* cells form a kind. All sums of cells are
compared by a linear hash modulo a prime (:data:`PRIME`). All whole numbers are signed: compiled code wraps
the others around.

``pair_moves``: two random records; among all pairs of kinds with the same sum of exact cells one is
drawn in proportion to its weight, then classes within these kinds. Nothing is rejected, unless a cell
that is published as an interval would leave it.

``double_moves``: two random records exchange some of their columns, which changes cells by δ; among the
pairs of other records whose exchange of the same columns changes them by −δ one is drawn in proportion
to w = chance after / chance before, with sum Z. Accepted with probability min(1, R·Z/(w·Z′)), where R
is the first exchange's ratio of chances and Z′ the sum of the way back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from showthrough.tables.likely.compiled import compiled

__all__ = [
    "PER_DOUBLE",
    "PER_PAIR",
    "PRIME",
    "double_moves",
    "draw_types",
    "list_worlds",
    "pair_moves",
]

#: The modulus of hashes; two of them are added without overflow.
PRIME = 2**61 - 1

#: Random numbers that each move takes.
PER_PAIR, PER_DOUBLE = 6, 5


@compiled
def _slot(table_keys: Any, key: int) -> int:
    """Where a key stands in a table of open addresses, or the free place where it would."""
    mask = len(table_keys) - 1
    at = key & mask
    while table_keys[at] != -1 and table_keys[at] != key:
        at = (at + 1) & mask
    return at


@compiled
def _find(table_keys: Any, table_values: Any, key: int) -> int:
    """The value of a key, or −1."""
    at = _slot(table_keys, key)
    return table_values[at] if table_keys[at] == key else -1


@compiled
def _position(cumulative: Any, start: int, end: int, wanted: float) -> int:
    """The first place in start..end−1 whose cumulative weight exceeds what is wanted."""
    low, high = start, end - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _list_pairs(
    total: int,
    row: int,
    kind_hash: Any,
    kind_chance: Any,
    kind_keys: Any,
    kind_values: Any,
    kind_rows: Any,
    row_start: Any,
    row_kinds: Any,
    memo: Any,
    pool: Any,
    pool_sum: Any,
) -> int:
    """All pairs of kinds whose hashes add up to a total, listed in the pool; the place in the memo.

    One of each pair lies in a row, which the total determines. The memo has rows: key, start, length; its
    last column holds how much of it and of the pool is used.
    """
    size = memo.shape[1] - 1
    mask = size - 1
    at = total & mask
    while memo[0, at] != -1 and memo[0, at] != total:
        at = (at + 1) & mask
    if memo[0, at] == total:
        return at
    if 2 * memo[0, size] >= size or memo[1, size] + len(kind_hash) > pool.shape[1]:
        for other in range(size):
            memo[0, other] = -1
        memo[0, size] = 0
        memo[1, size] = 0
        at = total & mask
    start = memo[1, size]
    end = start
    weight = 0.0
    first, last = (row_start[row], row_start[row + 1]) if row >= 0 else (0, len(kind_hash))
    for place in range(first, last):
        one = row_kinds[place] if row >= 0 else place
        need = total - kind_hash[one]
        if need < 0:
            need += PRIME
        other = _find(kind_keys, kind_values, need)
        if other < 0 or (other < one and (row < 0 or kind_rows[other, row] != 0)):
            continue
        product = kind_chance[one] * kind_chance[other]
        weight += product if one == other else 2 * product
        pool[0, end] = one
        pool[1, end] = other
        pool_sum[end] = weight
        end += 1
    memo[0, at] = total
    memo[1, at] = start
    memo[2, at] = end - start
    memo[0, size] += 1
    memo[1, size] = end
    return at


@compiled
def _stays(loose: Any, loose_sum: Any, low: Any, high: Any, old: Any, new: Any) -> bool:
    """Whether intervals are kept when classes are replaced; if so, the sums are brought up to date."""
    for row in range(loose.shape[0]):
        value = loose_sum[row]
        for at in range(len(old)):
            value += loose[row, new[at]] - loose[row, old[at]]
        if value < low[row] or value > high[row]:
            return False
    for row in range(loose.shape[0]):
        for at in range(len(old)):
            loose_sum[row] += loose[row, new[at]] - loose[row, old[at]]
    return True


@compiled
def pair_moves(
    world: Any,
    uniform: Any,
    kind_of: Any,
    kind_hash: Any,
    kind_chance: Any,
    kind_keys: Any,
    kind_values: Any,
    kind_rows: Any,
    kind_row: Any,
    row_start: Any,
    row_kinds: Any,
    kind_start: Any,
    class_sum: Any,
    memo: Any,
    pool: Any,
    pool_sum: Any,
    loose: Any,
    loose_sum: Any,
    low: Any,
    high: Any,
) -> None:
    """Replace pairs of records, given by their classes, in place; one move for every six random numbers."""
    n = len(world)
    old = np.zeros(2, np.int64)
    new = np.zeros(2, np.int64)
    for move in range(len(uniform) // PER_PAIR):
        base = move * PER_PAIR
        i = int(uniform[base] * n)
        j = int(uniform[base + 1] * (n - 1))
        if j >= i:
            j += 1
        one, other = kind_of[world[i]], kind_of[world[j]]
        total = kind_hash[one] + kind_hash[other]
        if total >= PRIME:
            total -= PRIME
        row = min(kind_row[one], kind_row[other])
        at = _list_pairs(
            total,
            row,
            kind_hash,
            kind_chance,
            kind_keys,
            kind_values,
            kind_rows,
            row_start,
            row_kinds,
            memo,
            pool,
            pool_sum,
        )
        start = memo[1, at]
        end = start + memo[2, at]
        chosen = _position(pool_sum, start, end, uniform[base + 2] * pool_sum[end - 1])
        one, other = pool[0, chosen], pool[1, chosen]
        if uniform[base + 3] < 0.5:
            one, other = other, one
        old[0], old[1] = world[i], world[j]
        first, last = kind_start[one], kind_start[one + 1]
        new[0] = _position(class_sum, first, last, uniform[base + 4] * class_sum[last - 1])
        first, last = kind_start[other], kind_start[other + 1]
        new[1] = _position(class_sum, first, last, uniform[base + 5] * class_sum[last - 1])
        if _stays(loose, loose_sum, low, high, old, new):
            world[i], world[j] = new[0], new[1]


@compiled
def draw_types(world: Any, uniform: Any, class_start: Any, type_sum: Any, types: Any) -> None:
    """A type for each record, drawn within its class."""
    for at in range(len(world)):
        first, last = class_start[world[at]], class_start[world[at] + 1]
        types[at] = _position(type_sum, first, last, uniform[at] * type_sum[last - 1])


@compiled
def _exchanged(key: int, own: int, other: int) -> int:
    """The key of a record whose masked part is replaced by another's."""
    found = key - own + other
    if found < 0:
        found += PRIME
    elif found >= PRIME:
        found -= PRIME
    return found


@compiled
def _partners(
    types: Any,
    masked: Any,
    i: int,
    j: int,
    wanted: int,
    row: int,
    type_keys: Any,
    type_values: Any,
    key_of: Any,
    class_of: Any,
    hash_of: Any,
    chance: Any,
    rows: Any,
    found: Any,
    found_sum: Any,
) -> int:
    """Pairs of other records whose exchange changes the hash by what is wanted, with their weights.

    One record of each pair must be in a row, if one is given: the exchange takes it out of it.
    """
    n = len(types)
    size = 0
    weight = 0.0
    for k in range(n):
        if k in (i, j) or (row >= 0 and rows[class_of[types[k]], row] == 0):
            continue
        for m in range(n):
            if m in (i, j, k) or masked[m] == masked[k]:
                continue
            if m < k and (row < 0 or rows[class_of[types[m]], row] != 0):
                continue
            one = _find(type_keys, type_values, _exchanged(key_of[types[k]], masked[k], masked[m]))
            if one < 0:
                continue
            two = _find(type_keys, type_values, _exchanged(key_of[types[m]], masked[m], masked[k]))
            if two < 0:
                continue
            change = hash_of[one] - hash_of[types[k]]
            if change < 0:
                change += PRIME
            change += hash_of[two]
            if change >= PRIME:
                change -= PRIME
            change -= hash_of[types[m]]
            if change < 0:
                change += PRIME
            if change != wanted:
                continue
            weight += chance[one] / chance[types[k]] * (chance[two] / chance[types[m]])
            found[0, size] = k
            found[1, size] = m
            found[2, size] = one
            found[3, size] = two
            found_sum[size] = weight
            size += 1
    return size


@compiled
def double_moves(
    types: Any,
    uniform: Any,
    parts: Any,
    type_keys: Any,
    type_values: Any,
    key_of: Any,
    class_of: Any,
    hash_of: Any,
    chance: Any,
    rows: Any,
    row_count: Any,
    found: Any,
    found_sum: Any,
    loose: Any,
    loose_sum: Any,
    low: Any,
    high: Any,
) -> int:
    """Exchange columns within two pairs of records, in place; one move for every five random numbers.

    Returns how many were accepted.
    """
    n, n_columns = len(types), parts.shape[1]
    masked = np.zeros(n, np.int64)
    old = np.zeros(4, np.int64)
    new = np.zeros(4, np.int64)
    n_accepted = 0
    for move in range(len(uniform) // PER_DOUBLE):
        base = move * PER_DOUBLE
        i = int(uniform[base] * n)
        j = int(uniform[base + 1] * (n - 1))
        if j >= i:
            j += 1
        mask = 1 + int(uniform[base + 2] * (2**n_columns - 2))
        for at in range(n):
            total = 0
            for column in range(n_columns):
                if (mask >> column) & 1:
                    total += parts[types[at], column]
                    if total >= PRIME:
                        total -= PRIME
            masked[at] = total
        if masked[i] == masked[j]:
            continue
        one = _find(type_keys, type_values, _exchanged(key_of[types[i]], masked[i], masked[j]))
        if one < 0:
            continue
        two = _find(type_keys, type_values, _exchanged(key_of[types[j]], masked[j], masked[i]))
        if two < 0:
            continue
        ratio = chance[one] / chance[types[i]] * (chance[two] / chance[types[j]])
        more, less = -1, -1
        for row in range(rows.shape[1]):
            change = rows[class_of[one], row] + rows[class_of[two], row]
            change -= rows[class_of[types[i]], row] + rows[class_of[types[j]], row]
            if change > 0 and (more < 0 or row_count[row] < row_count[more]):
                more = row
            if change < 0 and (less < 0 or row_count[row] < row_count[less]):
                less = row
        old[0], old[1], new[0], new[1] = class_of[types[i]], class_of[types[j]], class_of[one], class_of[two]
        if more < 0 and less < 0:
            old[2], old[3], new[2], new[3] = old[0], old[0], old[0], old[0]
            if uniform[base + 4] < ratio and _stays(loose, loose_sum, low, high, old, new):
                types[i], types[j] = one, two
                n_accepted += 1
            continue
        shift = hash_of[types[i]] - hash_of[one]
        if shift < 0:
            shift += PRIME
        shift += hash_of[types[j]]
        if shift >= PRIME:
            shift -= PRIME
        shift -= hash_of[two]
        if shift < 0:
            shift += PRIME
        size = _partners(
            types,
            masked,
            i,
            j,
            shift,
            more,
            type_keys,
            type_values,
            key_of,
            class_of,
            hash_of,
            chance,
            rows,
            found,
            found_sum,
        )
        if size == 0:
            continue
        z = found_sum[size - 1]
        chosen = _position(found_sum, 0, size, uniform[base + 3] * z)
        k, m = found[0, chosen], found[1, chosen]
        three, four = found[2, chosen], found[3, chosen]
        w = chance[three] / chance[types[k]] * (chance[four] / chance[types[m]])
        before = types[i], types[j], types[k], types[m]
        old[2], old[3], new[2], new[3] = (
            class_of[before[2]],
            class_of[before[3]],
            class_of[three],
            class_of[four],
        )
        types[i], types[j], types[k], types[m] = one, two, three, four
        masked[k], masked[m] = masked[m], masked[k]
        back = PRIME - shift
        size = _partners(
            types,
            masked,
            i,
            j,
            back,
            less,
            type_keys,
            type_values,
            key_of,
            class_of,
            hash_of,
            chance,
            rows,
            found,
            found_sum,
        )
        accepted = uniform[base + 4] * (w * found_sum[size - 1]) < ratio * z
        if accepted and _stays(loose, loose_sum, low, high, old, new):
            n_accepted += 1
        else:
            types[i], types[j], types[k], types[m] = before
    return n_accepted


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
