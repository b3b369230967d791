"""What a reader can still find out about each cell without a published count, proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from showthrough.errors import Undecided
from showthrough.selection import Selection
from showthrough.tables.recover import RecoveredCell, recover

if TYPE_CHECKING:
    from showthrough.tables.protect.protection import SafeArea

__all__ = [
    "INTERVAL_COLUMNS",
    "intervals_of",
    "narrowest",
]

#: A row for each cell without a published count: the count that was planned, if it was; the proved ends of
#: what follows (no upper end: nothing limits it); whether datasets attain these, so that nobody can know
#: more; and whether a rule or an order protects the cell.
INTERVAL_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("table", pa.string()),
        ("cell", pa.string()),
        ("count", pa.int64()),
        ("low", pa.int64()),
        ("high", pa.int64()),
        ("low_attained", pa.bool_()),
        ("high_attained", pa.bool_()),
        ("protected", pa.bool_()),
    ]
)

#: Up to this many cells intervals are proved.
_MOST_CELLS = 3_000


def intervals_of(area: SafeArea, *, effort: float, seed: int) -> pa.Table:
    """What follows about each cell of a safe release whose count is not published.

    Where there are very many of them, or the effort does not suffice, there are no rows.

    Raises
    ------
    AssertionError
        If a proof contradicts a dataset: then one of them is wrong, and nothing may be called safe.
    """
    n_cells = int((area.release.low < area.release.high).sum())
    if not n_cells or n_cells > _MOST_CELLS:
        return INTERVAL_COLUMNS.empty_table()
    try:
        found = recover(area.release, effort=effort, seed=seed)
    except Undecided:
        return INTERVAL_COLUMNS.empty_table()
    needs = {need.where: need for need in area.judge.needs}
    planned = _planned(area)
    rows = list[dict[str, object]]()
    for cell, selection in zip(found.cells, _selections(area, found.cells), strict=True):
        need = needs.get(selection)
        if need is not None and not need.met_by(cell.low, cell.high):
            raise AssertionError(f"{need} is called protected, and a proof says {cell.low} to {cell.high}")
        rows.append(_row(area.area, cell, planned.get(selection), protected=need is not None))
    return pa.Table.from_pylist(rows, INTERVAL_COLUMNS)


def _selections(area: SafeArea, cells: Sequence[RecoveredCell]) -> Iterator[Selection]:
    return (area.release.layout.selections[cell.at] for cell in cells)


def _planned(area: SafeArea) -> dict[Selection, int]:
    """The counts that were planned to be published."""
    release = area.planned
    exact = (release.low == release.high).tolist()
    counts = zip(release.layout.selections, release.low.tolist(), exact, strict=True)
    return {selection: low for selection, low, single in counts if single}


def _row(area: str, cell: RecoveredCell, count: int | None, *, protected: bool) -> dict[str, object]:
    return {
        "area": area,
        "table": cell.published.table,
        "cell": cell.published.name,
        "count": count,
        "low": cell.low,
        "high": cell.high,
        "low_attained": cell.low_attained,
        "high_attained": cell.high_attained or cell.high is None,
        "protected": protected,
    }


def narrowest(intervals: pa.Table) -> str:
    """How much a reader can know about cells without a count, in sentences; nothing without any.

    >>> rows = [{"low": 0, "high": 3, "low_attained": True, "high_attained": True},
    ...         {"low": 4, "high": 4, "low_attained": True, "high_attained": True},
    ...         {"low": 2, "high": 9, "low_attained": True, "high_attained": False}]
    >>> for sentence in narrowest(pa.Table.from_pylist(rows, INTERVAL_COLUMNS)).split(". "):
    ...     print(sentence)
    Cells without a count: 3
    For 1 of them, datasets attain both ends of an interval at least 3 wide
    For 1 of them, a reader may know more than the interval shows
    1 of them can be computed, which the policy does not forbid.
    """
    columns = (intervals[name].to_pylist() for name in ("low", "high", "low_attained", "high_attained"))
    rows = list(zip(*columns, strict=True))
    exact = sum(low == high for low, high, _, _ in rows)
    tight = [(low, high) for low, high, least, most in rows if least and most and low != high]
    parts = [f"Cells without a count: {len(rows):,}."] if rows else []
    if tight:
        widths = [high - low for low, high in tight if high is not None]
        known = (
            f"datasets attain both ends of an interval at least {min(widths):,} wide"
            if widths
            else "nothing published limits the count from above"
        )
        parts.append(f"For {'all' if len(tight) == len(rows) else f'{len(tight):,}'} of them, {known}.")
    if loose := len(rows) - len(tight) - exact:
        parts.append(f"For {loose:,} of them, a reader may know more than the interval shows.")
    if exact:
        parts.append(f"{exact:,} of them can be computed, which the policy does not forbid.")
    return " ".join(parts)
