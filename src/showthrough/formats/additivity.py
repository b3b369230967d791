"""The arithmetic of printed tables: totals that cannot be the sum of their parts, and rounded counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.formats.categories import Meaning
from showthrough.formats.printed import PrintedTable
from showthrough.release import UNBOUNDED

__all__ = [
    "Conflict",
    "find_base",
    "find_conflicts",
]

Whole = NDArray[np.int64]

#: Bases to which offices round, the largest first, and the chance at which an accident is excluded.
BASES, CHANCE = (100, 50, 25, 20, 10, 5, 3), 1e-6

#: Conflicts that are listed for each table.
MOST = 20


@dataclass(frozen=True)
class Conflict:
    """A total that cannot be the sum of its parts.

    Parameters
    ----------
    cell
        The position of the total in its table.
    dimension
        The dimension that it sums over.
    published
        Its bounds as published.
    parts
        The bounds of the sum of its parts.
    whole
        Whether the parts should add up to it; otherwise they are only some of it.
    """

    cell: int
    dimension: int
    published: tuple[int, int]
    parts: tuple[int, int]
    whole: bool = True


def find_conflicts(
    table: PrintedTable, meanings: Sequence[Sequence[Meaning] | None], low: Whole, high: Whole
) -> Iterator[Conflict]:
    """The totals of a table that cannot be the sum of their parts, whatever suppressed parts are.

    ``meanings`` are those of each dimension's categories; None where categories have no total.
    """
    places = {tuple(row): at for at, row in enumerate(table.codes.tolist())}
    for dimension, known in enumerate(meanings):
        if known is None:
            continue
        for total, (parts, whole) in _partitions(known).items():
            for cell in np.flatnonzero(table.codes[:, dimension] == total).tolist():
                row = table.codes[cell].tolist()
                below = [places.get((*row[:dimension], part, *row[dimension + 1 :])) for part in parts]
                ends = _sum(below, low, high)
                published = int(low[cell]), int(high[cell])
                if published[1] < ends[0] or (whole and published[0] > ends[1]):
                    yield Conflict(cell, dimension, published, ends, whole)


def _partitions(meanings: Sequence[Meaning]) -> dict[int, tuple[tuple[int, ...], bool]]:
    """Category → the finest others that it consists of, and whether they are all of it."""
    sets = [frozenset(one.values) for one in meanings]
    found: dict[int, tuple[tuple[int, ...], bool]] = {}
    for at, whole in enumerate(sets):
        inside = [
            other
            for other, part in enumerate(sets)
            if other != at
            and part <= whole
            and not meanings[other].is_total
            and (part < whole or meanings[at].is_total)
        ]
        leaves = [one for one in inside if not any(sets[other] < sets[one] for other in inside)]
        covered = [value for one in leaves for value in sets[one]]
        if leaves and len(covered) == len(set(covered)):
            found[at] = tuple(leaves), frozenset(covered) == whole
    return found


def _sum(cells: Sequence[int | None], low: Whole, high: Whole) -> tuple[int, int]:
    """The bounds of a sum; a cell that is not there may be anything."""
    least, most = 0, 0
    for cell in cells:
        least += 0 if cell is None else int(low[cell])
        most += UNBOUNDED if cell is None else int(high[cell])
    return least, min(most, UNBOUNDED)


def find_base(counts: Whole) -> tuple[int, bool]:
    """The base that counts look rounded to (1 if they do not), and whether that is beyond chance.

    >>> find_base(np.array([5, 10, 35, 20])), find_base(np.arange(0, 100, 5)), find_base(np.array([3, 5]))
    ((5, False), (5, True), (1, False))
    """
    shown = np.unique(counts[counts > 0])
    for base in BASES:
        if len(shown) >= 4 and (shown % base == 0).all():
            return base, float(base) ** -len(shown) < CHANCE
    return 1, False
