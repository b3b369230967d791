"""The arithmetic of printed tables: totals that cannot be the sum of their parts, and rounded counts.

Also whether several tables count the same records, by what each says about how many there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from showthrough.formats.meaning.areas import AreaColumns
from showthrough.formats.meaning.categories import Meaning, ReadAttribute
from showthrough.formats.printed.table import PrintedTable
from showthrough.release import UNBOUNDED

if TYPE_CHECKING:
    from showthrough.formats.meaning.bounds import ReadTable

__all__ = [
    "SameRecords",
    "TotalAndParts",
    "TotalsCheck",
    "check_totals",
    "compare_tables",
    "find_base",
    "partition_of",
]

Whole = NDArray[np.int64]

#: Bases to which offices round, the largest first, and the chance at which an accident is excluded.
BASES, CHANCE = (100, 50, 25, 20, 10, 5, 3), 1e-6

#: Categories that are tried, and values an attribute may have, when categories are put together.
MOST_STEPS, MOST_VALUES = 10_000, 500

#: From this many records in totals that are the sum of their parts, if these are at least half of all, no
#: category seems to be left out.
ENOUGH = 10

#: Wrong totals that are listed for each table.
MOST = 20


@dataclass(frozen=True)
class TotalAndParts:
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
    """

    cell: int
    dimension: int
    published: tuple[int, int]
    parts: tuple[int, int]


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
    wrong, unconfirmed = list[TotalAndParts](), list[int]()
    for dimension, known in enumerate(meanings):
        sums = [
            _Sums.of(table, low, high, dimension=dimension, total=total, parts=parts, whole=whole)
            for total, (parts, whole) in _partitions(known or ()).items()
        ]
        wrong += [one for found in sums for one in found.wrong()]
        if not _is_confirmed([one for one in sums if one.whole]) or _is_uncovered(known or ()):
            unconfirmed.append(dimension)
    return TotalsCheck(tuple(wrong[:MOST]), tuple(unconfirmed))


def _is_confirmed(sums: Sequence[_Sums]) -> bool:
    """Whether all totals are the sum of their parts, or so many that nothing seems to be left out."""
    shown = sum(one.n_shown for one in sums)
    every = sum(sum(one.low.tolist()) for one in sums)
    return all(one.exact.all() for one in sums) or (shown >= ENOUGH and 2 * shown >= every)


def _is_uncovered(meanings: Sequence[Meaning]) -> bool:
    """Whether a total is said to consist of the categories of its table, but no sum of them is it."""
    own = {value for one in meanings if not one.is_total for value in one.values}
    others = [one for one in meanings if not one.is_total]
    return any(
        set(one.values) == own and partition_of(others, frozenset(own)) is None
        for one in meanings
        if one.is_total and own
    )


@dataclass(frozen=True, eq=False)
class _Sums:
    """The totals over one dimension: their cells and bounds, and the bounds of the sums of their parts."""

    dimension: int
    whole: bool
    cells: Whole
    low: Whole
    high: Whole
    least: Whole
    most: Whole

    @classmethod
    def of(
        cls,
        table: PrintedTable,
        low: Whole,
        high: Whole,
        *,
        dimension: int,
        total: int,
        parts: Sequence[int],
        whole: bool,
    ) -> _Sums:
        """Add up the parts; a part that is not there may be anything."""
        others = np.delete(table.codes, dimension, axis=1)
        keys = np.zeros(len(others), np.int64)
        if others.shape[1]:
            keys = np.unique(others, axis=0, return_inverse=True)[1].ravel()
        cells = np.flatnonzero(table.codes[:, dimension] == total)
        least, most = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.int64)
        for part in parts:
            mine = np.flatnonzero(table.codes[:, dimension] == part)
            at = np.full(int(keys.max(initial=0)) + 1, -1, np.int64)
            at[keys[mine]] = mine
            found = at[keys[cells]]
            least += np.where(found >= 0, low[found], 0)
            more = np.where(found >= 0, high[found], UNBOUNDED)
            most = np.minimum(most, UNBOUNDED - more) + more  # no sum is larger than that
        return cls(dimension, whole, cells, low[cells], high[cells], least, most)

    def wrong(self) -> Iterator[TotalAndParts]:
        """The totals that cannot be sums of their parts."""
        bad = self.high < self.least
        if self.whole:
            bad |= self.low > self.most
        for at in np.flatnonzero(bad)[:MOST].tolist():
            published = int(self.low[at]), int(self.high[at])
            ends = int(self.least[at]), int(self.most[at])
            yield TotalAndParts(int(self.cells[at]), self.dimension, published, ends)

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Which totals are published with all their parts, and are their sum."""
        return (self.low == self.high) & (self.least == self.most) & (self.low == self.least)

    @property
    def n_shown(self) -> int:
        """How many records are in such totals."""
        return sum(self.low[self.exact].tolist())


def _partitions(meanings: Sequence[Meaning]) -> dict[int, tuple[tuple[int, ...], bool]]:
    """Category → the finest others that it consists of, and whether they are all of it."""
    sets = [frozenset(one.values) for one in meanings]
    found: dict[int, tuple[tuple[int, ...], bool]] = {}
    for at, whole in enumerate(sets):
        if len(whole) < 2:
            continue  # nothing is part of a single value
        inside = [
            other
            for other, part in enumerate(sets)
            if other != at
            and part <= whole
            and not meanings[other].is_total
            and (part < whole or meanings[at].is_total)
        ]
        within = [meanings[one] for one in inside]
        cover = partition_of(within, whole)
        leaves = [inside[one] for one in cover] if cover else _leaves(inside, sets)
        if leaves:
            found[at] = tuple(leaves), cover is not None
    return found


def _leaves(inside: Sequence[int], sets: Sequence[frozenset[str]]) -> list[int]:
    """Categories that contain no other and do not overlap, for a sum that is only a part."""
    found, covered = list[int](), set[str]()
    for one in sorted(inside, key=lambda at: (len(sets[at]), at)):
        if not covered & sets[one]:
            found.append(one)
            covered |= sets[one]
    return found


def partition_of(meanings: Sequence[Meaning], values: frozenset[str]) -> list[int] | None:
    """Categories that together are all of these values, each once: few of them; None if there are none.

    >>> ages = [Meaning(text, tuple(text)) for text in ("ab", "bc", "c", "d")]
    >>> partition_of(ages, frozenset("abcd")), partition_of(ages[1:], frozenset("abcd"))
    ([0, 2, 3], None)
    """
    sets = [frozenset(one.values) for one in meanings]
    order = sorted(range(len(sets)), key=lambda at: (-len(sets[at]), at))
    steps = itertools.count()

    def extend(left: frozenset[str]) -> list[int] | None:
        if not left:
            return []
        wanted = min(left)
        for at in order:
            if wanted in sets[at] and sets[at] <= left and next(steps) < MOST_STEPS:
                rest = extend(left - sets[at])
                if rest is not None:
                    return [at, *rest]
        return None

    return None if len(values) > MOST_VALUES else extend(values)


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


@dataclass(frozen=True)
class SameRecords:
    """What the grand totals of tables say about whether they count the same records.

    Parameters
    ----------
    conflicts
        Tables that count different numbers of records, in words.
    unsure
        Tables of which it cannot be said.
    """

    conflicts: tuple[str, ...]
    unsure: tuple[str, ...]


Totals = Mapping[str, tuple[int, int]]


def compare_tables(
    read: Sequence[ReadTable], attributes: Sequence[ReadAttribute], areas: AreaColumns
) -> SameRecords:
    """Compare how many records tables count in each area."""
    totals = {
        one.name: found
        for number, one in enumerate(read)
        if (found := _grand_totals(number, one, attributes, areas)) is not None
    }
    names = list(totals)
    conflicts = [
        text
        for at, name in enumerate(names)
        for other in names[:at]
        for text in _different(name, other, totals)
    ]
    unsure = _unsure(totals) if len(read) > 1 else []
    return SameRecords(tuple(conflicts), tuple(unsure))


def _unsure(totals: Mapping[str, Totals]) -> list[str]:
    """The tables that are not linked with most others by equal numbers of records."""
    groups: list[set[str]] = []
    for name in totals:
        linked = [group for group in groups if any(_agree(totals[name], totals[other]) for other in group)]
        groups = [group for group in groups if group not in linked]
        groups.append({name}.union(*linked))
    most = max(groups, key=len, default=set[str]())
    return [name for name in totals if name not in most or len(most) == 1]


def _different(name: str, other: str, totals: Mapping[str, Totals]) -> Iterator[str]:
    for area in totals[name].keys() & totals[other].keys():
        (low, high), (least, most) = totals[name][area], totals[other][area]
        if low > most or high < least:
            where = f"{area}: " if area else ""
            yield (
                f"{where}table {other} counts {_shown(least, most)} records, and table {name} "
                f"{_shown(low, high)}: they are not about the same ones"
            )
            return


def _shown(low: int, high: int) -> str:
    if low == high:
        return f"{low:,}"
    return f"{low:,} or more" if high >= UNBOUNDED else f"{low:,} to {high:,}"


def _agree(one: Totals, other: Totals) -> bool:
    """Whether both count the same number in an area for which both say it exactly."""
    return any(
        one[area] == other[area] and one[area][0] == one[area][1] for area in one.keys() & other.keys()
    )


def _grand_totals(
    number: int, read: ReadTable, attributes: Sequence[ReadAttribute], areas: AreaColumns
) -> Totals | None:
    """How many records a table counts in each area: nothing if it does not say that about all of them.

    None if somebody declared that it leaves some out.
    """
    chosen, n_cells = np.ones(len(read.low), bool), 1
    for attribute in attributes:
        for (table, at), meanings in attribute.meanings.items():
            if table != number:
                continue
            parts = partition_of(meanings, frozenset(attribute.values))
            if parts is None:
                return None if attribute.is_declared else {}
            n_cells *= len(parts)
            chosen &= np.isin(read.table.codes[:, at], parts)
    labels = np.array(areas.labels(number, read.table.codes[:, list(areas.of[number])]), dtype=object)
    return {
        str(area): _sum(read, chosen & (labels == area), n_cells) for area in dict.fromkeys(labels.tolist())
    }


def _sum(read: ReadTable, cells: NDArray[np.bool_], n_cells: int) -> tuple[int, int]:
    low = sum(read.low[cells].tolist())
    high = sum(read.high[cells].tolist())
    return low, UNBOUNDED if int(cells.sum()) < n_cells else min(high, UNBOUNDED)
