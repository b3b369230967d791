"""Small loops that all moves share: tables of open addresses, and places in cumulative sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.likely.compiled import compiled

__all__ = [
    "PRIME",
    "exchanged",
    "find",
    "make_hash_table",
    "masked_sum",
    "minus",
    "place_of",
    "plus",
    "position",
    "slot",
]

Whole = NDArray[np.int64]

#: The modulus of hashes; two of them are added without overflow.
PRIME = 2**61 - 1


@compiled
def plus(one: int, other: int) -> int:
    """The sum of two hashes."""
    found = one + other
    return found - PRIME if found >= PRIME else found


@compiled
def minus(one: int, other: int) -> int:
    """The difference of two hashes."""
    found = one - other
    return found + PRIME if found < 0 else found


@compiled
def slot(table_keys: Any, key: int) -> int:
    """Where a key stands in a table of open addresses, or the free place where it would."""
    mask = len(table_keys) - 1
    at = key & mask
    while table_keys[at] != -1 and table_keys[at] != key:
        at = (at + 1) & mask
    return at


@compiled
def place_of(total: int, found: Any) -> int:
    """Where a memo of lists has that of a sum, or where it is to be put: the place is free then.

    ``found`` is place × (sum, start, length), and a last row that is no place; a length of 0 means free.
    """
    mask = found.shape[0] - 2
    at = total & mask
    while found[at, 2] != 0 and found[at, 0] != total:
        at = (at + 1) & mask
    return at


@compiled
def find(table_keys: Any, table_values: Any, key: int) -> int:
    """The value of a key, or −1."""
    at = slot(table_keys, key)
    return table_values[at] if table_keys[at] == key else -1


@compiled
def position(cumulative: Any, start: int, end: int, wanted: float) -> int:
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
def exchanged(key: int, own: int, other: int) -> int:
    """The key of a record whose masked part is replaced by another's."""
    found = key - own + other
    if found < 0:
        found += PRIME
    elif found >= PRIME:
        found -= PRIME
    return found


@compiled
def masked_sum(parts: Any, mask: int) -> int:
    """The sum of a record's parts in the columns of a mask; all columns together stay below the modulus."""
    total = 0
    for column in range(len(parts)):
        total += parts[column] * ((mask >> column) & 1)
    return total


def make_hash_table(keys: Whole) -> tuple[Whole, Whole]:
    """Keys with their positions in a table of open addresses, a power of 2 and at least twice as large."""
    if len(np.unique(keys)) != len(keys):
        raise AssertionError("two hashes are equal")
    size = 1 << max(4, int(2 * len(keys)).bit_length())
    table_keys, table_values = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    _fill(table_keys, table_values, keys)
    return table_keys, table_values


@compiled
def _fill(table_keys: Any, table_values: Any, keys: Any) -> None:
    for value in range(len(keys)):
        at = slot(table_keys, keys[value])
        table_keys[at] = keys[value]
        table_values[at] = value
