"""What must stay unknown about the counts of one area, and whether an interval or datasets leave it so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError
from showthrough.records import Records
from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.protect.cell_rules import CellOrder, CellRule, Distance
from showthrough.tables.protect.moves import starts_of
from showthrough.tables.protect.policy import Policy

__all__ = [
    "Need",
    "needs_of",
    "waived",
]


@dataclass(frozen=True)
class Need:
    """What a reader must not be able to say about one count.

    Parameters
    ----------
    where
        The records that are counted.
    width
        The least distance between the ends of the reader's interval.
    low, high
        The interval must contain these counts; None where that is not asked for.
    name
        What is counted, in words.
    """

    where: Selection
    width: int = 1
    low: int | None = None
    high: int | None = None
    name: str = ""

    def __str__(self) -> str:
        return self.name or str(self.where) or "all records"

    def met_by(self, low: int, high: int | None) -> bool:
        """Whether a reader whose interval this is knows little enough; None: nothing limits the count.

        >>> need = Need(Selection.of("sex=f"), width=2, low=3, high=5)
        >>> need.met_by(3, 5), need.met_by(4, 9), need.met_by(0, 4), need.met_by(0, None)
        (True, False, False, True)
        """
        return (
            (high is None or high - low >= self.width)
            and (self.low is None or low <= self.low)
            and (self.high is None or high is None or high >= self.high)
        )

    def shown_by(self, counts: Sequence[int] | NDArray[np.int64]) -> bool:
        """Whether datasets with these counts show that a reader knows little enough."""
        return len(counts) > 0 and self.met_by(int(min(counts)), int(max(counts)))

    def after(self, low: int, high: int | None) -> Need | None:
        """What is left to be hidden once this interval is known; None if that is the count itself.

        >>> need = Need(Selection.of("sex=f"), width=4, low=3)
        >>> need.after(4, 7), need.after(4, 4)
        (Need(where=Selection.parse('sex=f'), width=3, low=4, high=None, name=''), None)
        """
        if low == high:
            return None
        width = self.width if high is None else min(self.width, high - low)
        lower = None if self.low is None else max(self.low, low)
        upper = self.high if self.high is None or high is None else min(self.high, high)
        return replace(self, width=width, low=lower, high=upper)

    def __or__(self, other: Need) -> Need:
        """Both needs of one count."""
        lows = [end for end in (self.low, other.low) if end is not None]
        highs = [end for end in (self.high, other.high) if end is not None]
        return Need(
            self.where,
            max(self.width, other.width),
            min(lows, default=None),
            max(highs, default=None),
            self.name,
        )


def needs_of(policy: Policy, release: Release, world: Records, *, known: bool) -> tuple[Need, ...]:
    """What must stay unknown about single counts of one area, each count once.

    Parameters
    ----------
    policy
        Its rules about cells, its orders and its intervals.
    release
        The tables as planned.
    world
        A dataset that agrees with them.
    known
        Whether that dataset is the true one.

    Raises
    ------
    InputError
        If a rule depends on a count that is neither published nor known.
    """
    found = {one.where: Need(one.where, one.width) for one in policy.narrow}
    excused = waived(policy, release)
    for need in _of_cells(policy, release, world, known=known):
        if need.where not in excused:
            found[need.where] = found[need.where] | need if need.where in found else need
    return tuple(found.values())


def waived(policy: Policy, release: Release) -> frozenset[Selection]:
    """The counts that are waived."""
    orders = [order for order in policy.orders_of(release.area) if order.order == "waive"]
    return frozenset(release.layout.selections[at] for at in _positions(orders, release))


def _positions(orders: Iterable[CellOrder], release: Release) -> dict[int, list[CellOrder]]:
    """The orders about each cell, by its position in the release."""
    starts, tables = starts_of(release.layout), {table.name: table for table in release.tables}
    found = dict[int, list[CellOrder]]()
    for order in orders:
        within = tables[order.table].position(order.cell)
        if within is None:
            raise AssertionError("the policy was checked against these tables")
        found.setdefault(starts[order.table] + within, []).append(order)
    return found


def _of_cells(policy: Policy, release: Release, world: Records, *, known: bool) -> Iterator[Need]:
    orders = [order for order in policy.orders_of(release.area) if order.order == "hide"]
    ordered = _positions(orders, release)
    if not policy.cells and not ordered:
        return
    counted = release.layout.count(world.codes).tolist()
    ends = zip(release.low.tolist(), release.high.tolist(), strict=True)
    for at, (low, high) in enumerate(ends):
        table, cell = release.layout.names[at]
        count = low if low == high else counted[at] if known else None
        asked: list[CellRule | CellOrder] = [
            rule
            for rule in policy.cells
            if (not rule.tables or table in rule.tables)
            and not (rule.suppressed and low == high)
            and _is_meant(rule, count, counted[at], low)
        ]
        for one in (*asked, *ordered.get(at, ())):
            yield _need(one, release.layout.selections[at], count, f"{cell} of {table}")


def _is_meant(rule: CellRule, count: int | None, found: int, low: int) -> bool:
    """Whether a rule is about a cell; where the count is not known, whether it may be.

    That the count is known at all is forbidden only if it follows: then every dataset has the same one.
    """
    if count is not None:
        return rule.covers(count)
    if rule.width == Distance(rule.width.amount) and rule.width.of(0) <= 1:
        return rule.covers(found)
    return rule.most is None or low <= rule.most or (low == 0 and rule.covers(0))


def _need(one: CellRule | CellOrder, where: Selection, count: int | None, name: str) -> Need:
    if count is None:
        if one.below.amount or one.above.amount or one.width.percent:
            raise InputError(
                "a distance from a count that is not published cannot be kept",
                found=name,
                remedy="give the records, or ask for a width: width>=3",
            )
        return Need(where, max(1, one.width.of(0)), name=name)
    below, above = min(count, one.below.of(count)), one.above.of(count)
    return Need(
        where,
        max(1, one.width.of(count)),
        count - below if below else None,
        count + above if above else None,
        name,
    )
