"""Counts of cells that are known too well from a release, all of them found together."""

from __future__ import annotations

from collections.abc import Iterable

from showthrough.errors import Undecided
from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.protect.judge import Leak, Leaks
from showthrough.tables.protect.needs import Need
from showthrough.tables.recover import recover

__all__ = [
    "known_cells",
]


def known_cells(release: Release, needs: Iterable[Need], *, effort: float, seed: int) -> Leaks:
    """The counts of cells that follow too well from a release; if there are none, all are undecided.

    That a count is known rests on the cell itself or on a proof. Only datasets show that it is not known.
    """
    try:
        found = recover(release, effort=effort, seed=seed)
        proved = {release.layout.selections[cell.at]: cell for cell in found.cells}
    except Undecided:
        proved = {}
    stated = dict[Selection, int]()
    for selection, low, high in zip(release.layout.selections, release.low, release.high, strict=True):
        if low == high:
            stated[selection] = int(low)
    leaks, unsure = list[Leak](), list[str]()
    for need in needs:
        if need.where in stated:
            low = high = stated[need.where]
            proofs = ()
        elif need.where in proved:
            cell = proved[need.where]
            low, high, proofs = cell.low, cell.high, cell.proofs
        else:
            unsure.append(f"Undecided: {need}.")
            continue
        if need.met_by(low, high):
            unsure.append(f"Undecided: {need}.")
        else:
            leaks.append(Leak(_said(need, low, high), proofs, need.where))
    return Leaks(tuple(leaks), len(leaks), () if leaks else tuple(unsure))


def _said(need: Need, low: int, high: int | None) -> str:
    number = f"at least {low}" if high is None else str(low) if low == high else f"{low} to {high}"
    return f"The number of records with {need.where or 'any values'} is {number}."
