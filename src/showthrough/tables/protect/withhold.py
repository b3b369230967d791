"""Cells that may not be published: they are withheld before anything else is planned."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from showthrough.errors import InputError
from showthrough.release import Release
from showthrough.tables.protect.change import Change
from showthrough.tables.protect.menu import Menu
from showthrough.tables.protect.moves import Move, Suppress, apply_moves
from showthrough.tables.protect.policy import Policy

__all__ = [
    "without_withheld",
]


def without_withheld(release: Release, policy: Policy) -> tuple[Release, dict[Move, tuple[Fraction, str]]]:
    """A release without the cells that may not be published, and what withholding each costs, and why."""
    orders = [order for order in policy.orders_of(release.area) if order.order == "withhold"]
    if not orders:
        return release, {}
    tables = {table.name: table for table in release.tables}
    every = replace(policy, change=Change(("suppress",), mark=policy.change.mark))
    costs, found = Menu(release, every).moves, dict[Move, tuple[Fraction, str]]()
    for order in orders:
        if not policy.change.allows(order.table):
            raise InputError(
                "a cell may not be published, but its table may not be changed",
                found=f"{order.cell} of {order.table}",
                remedy="allow changes to this table, or leave the order out",
            )
        table = tables[order.table]
        move = Suppress(order.table, table.cells[table.position(order.cell) or 0].name)
        if move in costs:
            found[move] = costs[move], order.reason
    made, _ = apply_moves(release, list(found), mark=policy.change.mark, blank=True)
    return made, found
