"""Listing all datasets that agree with a release, depth first, as loops over arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from showthrough.tables.likely.compiled import compiled

__all__ = [
    "list_worlds",
]


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
