"""The moves allowed in one area: what each costs, and which published facts it takes away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED, Release, Table
from showthrough.tables.protect.cell_rules import CellOrder
from showthrough.tables.protect.moves import (
    Drop,
    Groups,
    Merge,
    Move,
    Round,
    Suppress,
    merged_cells,
    rounded,
    starts_of,
)
from showthrough.tables.protect.policy import Policy

__all__ = [
    "End",
    "Menu",
]

#: Which end of a count is stated: at least, or at most, a number of records.
End = Literal["low", "high"]


@dataclass(frozen=True, eq=False)
class Menu:
    """What a policy lets a publisher do to one release.

    ``planned`` has the counts that moves are priced by, where the release shows less: one that is rounded.
    """

    release: Release
    policy: Policy
    planned: Release | None = None

    @cached_property
    def moves(self) -> dict[Move, Fraction]:
        """Every move that changes something, with its cost."""
        allowed = [table for table in self.release.tables if self.policy.change.allows(table.name)]
        return {move: cost for table in allowed for move, cost in self._of_table(table)}

    @cached_property
    def by_table(self) -> dict[str, tuple[Move, ...]]:
        """The moves that concern each table."""
        found: dict[str, list[Move]] = {table.name: [] for table in self.release.tables}
        for move in self.moves:
            found[move.table].append(move)
        return {table: tuple(moves) for table, moves in found.items()}

    @cached_property
    def fixed(self) -> NDArray[np.bool_]:
        """Which cells no allowed move can change."""
        fixed = np.ones(len(self.release.low), bool)
        for table in self.release.tables:
            start, moves = self.starts[table.name], self.by_table[table.name]
            for at in range(len(table.cells)):
                fixed[start + at] = not any(self._changes(move, table, at) for move in moves)
        return fixed

    @cached_property
    def starts(self) -> dict[str, int]:
        """Per table the position of its first cell."""
        return starts_of(self.release.layout)

    @cached_property
    def merges(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The sums of several cells that some merged table would show: table, positions."""
        found = {
            (move.table, tuple(self.starts[move.table] + at for at in members)): None
            for move in self.moves
            if isinstance(move, Merge)
            for members in merged_cells(self.release.layout, move.table, move)
            if len(members) > 1
        }
        return tuple(found)

    def stated(self, members: tuple[int, ...], end: End) -> int:
        """What the cells say about their sum: the least or the largest it can be."""
        if end == "low":
            return int(self.release.low[list(members)].sum())
        return _added(self.release.high[list(members)].tolist())

    def breaks(self, table: str, members: tuple[int, ...], end: End, value: int) -> Iterator[Move]:
        """The moves after which a table may no longer state this bound on a sum of its cells.

        All other moves leave the bound, even together: only one move can treat a table as a whole,
        and none of them suppresses a cell that would loosen this end.
        """
        whole, cells = self._kinds[table]
        start = self.starts[table]
        mine = [cells[at - start] for at in members if at - start in cells]
        for move in (*mine, *whole):
            if not self._preserves(move, members, end, value):
                yield move

    @cached_property
    def _kinds(self) -> dict[str, tuple[tuple[Move, ...], dict[int, Move]]]:
        """Per table the moves that treat it as a whole, and by position those that suppress a cell."""
        found = dict[str, tuple[tuple[Move, ...], dict[int, Move]]]()
        for name, moves in self.by_table.items():
            positions = self._table(name).positions
            cells: dict[int, Move] = {
                positions[move.cell]: move for move in moves if isinstance(move, Suppress)
            }
            found[name] = tuple(move for move in moves if not isinstance(move, Suppress)), cells
        return found

    def _preserves(self, move: Move, members: tuple[int, ...], end: End, value: int) -> bool:
        release, start = self.release, self.starts[move.table]
        if isinstance(move, Drop):
            return False
        if isinstance(move, Suppress):
            at = start + self._table(move.table).positions[move.cell]
            if at not in members:
                return True
            shown = self.policy.change.mark.of(int(release.low[at]), int(release.high[at]))
            if shown is None:
                return True
            least, most = (value, value) if len(members) == 1 else (release.low[at], release.high[at])
            return shown[0] >= least if end == "low" else shown[1] <= most
        if isinstance(move, Round):
            ends = [self._rounded(at, move.base) for at in members]
            if end == "low":
                return sum(low for low, _ in ends) >= value
            return _added([high for _, high in ends]) <= value
        left = {at - start for at in members}
        for group in merged_cells(release.layout, move.table, move):
            if left >= set(group):
                left -= set(group)
        return not left

    def _rounded(self, at: int, base: int) -> tuple[int, int]:
        low, high = int(self.release.low[at]), int(self.release.high[at])
        return rounded(low, base) if low == high else (low, high)

    def _table(self, name: str) -> Table:
        return self._tables[name]

    @cached_property
    def _tables(self) -> dict[str, Table]:
        return {table.name: table for table in self.release.tables}

    def _of_table(self, table: Table) -> Iterator[tuple[Move, Fraction]]:
        change, cost = self.policy.change, self.policy.cost
        weight = cost.weights.get(table.name, Fraction(1))
        start = self.starts[table.name]
        mine = slice(start, start + len(table.cells))
        low, high = self.release.low[mine], self.release.high[mine]
        planned = self.release if self.planned is None else self.planned
        records = planned.low[mine]
        published = (low > 0) | (high < UNBOUNDED)
        kept = self._kept(table, planned.high[mine])
        worth = self._worth(table)
        if "suppress" in change.kinds:
            for at in np.flatnonzero(published).tolist():
                shown = change.mark.of(int(low[at]), int(high[at]))
                if shown not in (None, (low[at], high[at])) and at not in kept:
                    move = Suppress(table.name, table.cells[at].name)
                    yield move, weight * (cost.suppressed * worth[at] + cost.records * int(records[at]))
        if kept or not published.any():
            return
        if "drop" in change.kinds:
            lost = sum((worth[at] for at in np.flatnonzero(published).tolist()), Fraction(0))
            yield Drop(table.name), weight * (cost.dropped * lost + cost.records * int(records.sum()))
        for base in change.bases if "round" in change.kinds else ():
            if (low == high).any():
                exact = sum((worth[at] for at in np.flatnonzero(low == high).tolist()), Fraction(0))
                yield Round(table.name, base), weight * cost.rounded * exact
        if "merge" in change.kinds:
            yield from self._merges(table, low, published, weight)

    def _kept(self, table: Table, high: NDArray[np.int64]) -> set[int | None]:
        """The cells of a table, by position, that must stay as they are."""
        change = self.policy.change
        named = {cell for name, cell in change.keep_cells if name == table.name}
        named |= {one.cell for one in self._orders(table) if one.order in ("keep", "waive")}
        zeros = np.flatnonzero(high == 0).tolist() if change.keep_zeros else ()
        return {*map(table.position, named), *zeros}

    def _orders(self, table: Table) -> tuple[CellOrder, ...]:
        """What is ordered about single cells of a table."""
        return tuple(one for one in self.policy.orders_of(self.release.area) if one.table == table.name)

    def _worth(self, table: Table) -> list[Fraction]:
        """What each cell of a table is worth: 1, unless the policy says otherwise."""
        cost = self.policy.cost
        found = [Fraction(1)] * len(table.cells)
        if cost.totals != 1 or cost.levels:
            schema, named = self.release.schema, [cell.selection.attributes for cell in table.cells]
            bases = [{schema.base(name) for name in names} for names in named]
            every = len(set[str]().union(*bases))
            found = [
                cost.totals ** (every - len(own)) * prod(cost.levels.get(name, 1) for name in names)
                for own, names in zip(bases, named, strict=True)
            ]
        for order in self._orders(table):
            if order.cost is not None:
                found[table.position(order.cell) or 0] = Fraction(order.cost)
        return found

    def _merges(
        self, table: Table, low: NDArray[np.int64], published: NDArray[np.bool_], weight: Fraction
    ) -> Iterator[tuple[Move, Fraction]]:
        layout, cost = self.release.layout, self.policy.cost
        start = self.starts[table.name]
        selections = layout.selections[start : start + len(table.cells)]
        for attribute in dict.fromkeys(name for one in selections for name in one.attributes):
            named = {**self._levels(attribute), **self.policy.change.groupings.get(attribute, {})}
            named["all"] = (layout.schema[attribute].values,)
            for name, groups in named.items():
                move = Merge(table.name, attribute, tuple(groups), name)
                cells = merged_cells(layout, table.name, move)
                if len(cells) == len(table.cells):
                    continue
                shown = [at for members in cells for at in members]
                gone = np.ones(len(table.cells), bool)
                gone[shown] = False
                lost = max(
                    1, int(published.sum()) - sum(bool(published[list(members)].all()) for members in cells)
                )
                yield move, weight * (cost.merged * lost + cost.records * int(low[gone].sum()))

    def _levels(self, attribute: str) -> dict[str, Groups]:
        """The levels above an attribute, each as groups of its values."""
        schema = self.release.schema
        found = dict[str, Groups]()
        for level in schema.names:
            if attribute not in schema.below(level):
                continue
            own = {value: schema.inside(attribute, value)[1] for value in schema[attribute].values}
            above = [schema.inside(level, value)[1] for value in schema[level].values]
            groups = [tuple(value for value, leaves in own.items() if leaves <= every) for every in above]
            if len(kept := tuple(group for group in groups if group)) > 1:  # else all values together
                found[level] = kept
        return found

    def _changes(self, move: Move, table: Table, at: int) -> bool:
        if isinstance(move, Suppress):
            return table.cells[at].name == move.cell
        if isinstance(move, Merge):
            return (at,) not in merged_cells(self.release.layout, table.name, move)
        if isinstance(move, Round):
            position = self.starts[table.name] + at
            return bool(self.release.low[position] == self.release.high[position])
        return True


def _added(ends: list[int]) -> int:
    """A sum of upper ends: unbounded if one of them is."""
    return UNBOUNDED if any(end >= UNBOUNDED for end in ends) else min(UNBOUNDED, sum(ends))
