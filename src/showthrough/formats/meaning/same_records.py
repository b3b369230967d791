"""Whether several tables count the same records: what each says about how many there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.formats.meaning.additivity import partition_of
from showthrough.formats.meaning.areas import AreaColumns
from showthrough.formats.meaning.bounds import ReadTable
from showthrough.formats.meaning.categories import ReadAttribute
from showthrough.release import UNBOUNDED

__all__ = [
    "SameRecords",
    "compare_tables",
]


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
