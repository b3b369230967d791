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
    "TotalAndParts",
    "TotalsCheck",
    "check_totals",
    "find_base",
]

Whole = NDArray[np.int64]

#: Bases to which offices round, the largest first, and the chance at which an accident is excluded.
BASES, CHANCE = (100, 50, 25, 20, 10, 5, 3), 1e-6

#: Wrong totals that are listed for each table.
MOST = 20


@dataclass(frozen=True)
class TotalAndParts:
    """A total beside the sum of its parts, which it may not be.

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

    @property
    def is_wrong(self) -> bool:
        """Whether the total cannot be the sum of its parts."""
        return self.published[1] < self.parts[0] or (self.whole and self.published[0] > self.parts[1])


@dataclass(frozen=True)
class TotalsCheck:
    """What the arithmetic of a table says about its totals.

    Parameters
    ----------
    wrong
        Totals that cannot be the sum of their parts; the first ones.
    unconfirmed
        Dimensions with totals that no cell confirms, because a part of every total is hidden.
    """

    wrong: tuple[TotalAndParts, ...]
    unconfirmed: tuple[int, ...]


def check_totals(
    table: PrintedTable, meanings: Sequence[Sequence[Meaning] | None], low: Whole, high: Whole
) -> TotalsCheck:
    """Compare the totals of a table with the sums of their parts, whatever suppressed parts are.

    ``meanings`` are those of each dimension's categories; None where they have no total.
    """
    sums = _Sums(table, low, high)
    wrong, unconfirmed = list[TotalAndParts](), list[int]()
    for dimension, known in enumerate(meanings):
        found = list(sums.compare(dimension, known or ()))
        wrong += [one for one in found if one.is_wrong]
        exact = any(one.published == one.parts and one.parts[0] == one.parts[1] for one in found if one.whole)
        if any(one.whole for one in found) and not exact:
            unconfirmed.append(dimension)
    return TotalsCheck(tuple(wrong[:MOST]), tuple(unconfirmed))


class _Sums:
    """The cells of a table by their categories, to add some of them up."""

    def __init__(self, table: PrintedTable, low: Whole, high: Whole) -> None:
        self._table, self._low, self._high = table, low, high
        self._places = {tuple(row): at for at, row in enumerate(table.codes.tolist())}

    def compare(self, dimension: int, meanings: Sequence[Meaning]) -> Iterator[TotalAndParts]:
        """Every total over a dimension beside the sum of its parts."""
        for total, (parts, whole) in _partitions(meanings).items():
            for cell in np.flatnonzero(self._table.codes[:, dimension] == total).tolist():
                row = self._table.codes[cell].tolist()
                below = [self._places.get((*row[:dimension], one, *row[dimension + 1 :])) for one in parts]
                published = int(self._low[cell]), int(self._high[cell])
                yield TotalAndParts(cell, dimension, published, self._sum(below), whole)

    def _sum(self, cells: Sequence[int | None]) -> tuple[int, int]:
        """The bounds of a sum; a cell that is not there may be anything."""
        least = sum(0 if cell is None else int(self._low[cell]) for cell in cells)
        most = sum(UNBOUNDED if cell is None else int(self._high[cell]) for cell in cells)
        return least, min(most, UNBOUNDED)


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
