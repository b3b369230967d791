"""Totals that are the sum of other cells, and whether published counts add up to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import ReleaseError
from showthrough.release import Layout, Release

__all__ = [
    "Sums",
    "check_sums",
]


@dataclass(frozen=True, eq=False)
class Sums:
    """Totals and their parts by position, one after the other; a total has the sign −1."""

    cells: NDArray[np.int64]
    sign: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, found: Iterable[tuple[str, Sequence[str]]], layout: Layout) -> Sums:
        """From the names of totals and of their parts: those sums whose cells are all in a layout."""
        position = {cell: at for at, (_, cell) in enumerate(layout.names)}
        listed = [
            [position[name] for name in (total, *parts)]
            for total, parts in found
            if all(name in position for name in (total, *parts))
        ]
        sizes = np.array([len(one) for one in listed] or [0], np.int64)
        starts = np.cumsum(sizes) - sizes
        sign = np.ones(int(sizes.sum()), np.int64)
        sign[starts[: len(listed)]] = -1
        return cls(np.array([at for one in listed for at in one], np.int64), sign, starts[: len(listed)])


def check_sums(release: Release, sums: Sums) -> None:
    """Raise if a total is not the sum of its parts, wherever all of them are published as exact counts.

    Raises
    ------
    ReleaseError
        Names the first total that is not the sum of its parts.
    """
    if not len(sums.starts):
        return
    known = (release.low == release.high)[sums.cells]
    total = np.add.reduceat(np.where(known, release.low[sums.cells], 0) * sums.sign, sums.starts)
    whole = np.logical_and.reduceat(known, sums.starts)
    for at in np.flatnonzero((total != 0) & whole).tolist():
        stop = sums.starts[at + 1] if at + 1 < len(sums.starts) else len(sums.cells)
        first, *parts = sums.cells[sums.starts[at] : stop].tolist()
        names, counts = [cell for _, cell in release.layout.names], release.low.tolist()
        listed = " + ".join(f"{names[part]} ({counts[part]})" for part in parts)
        where = f"area {release.area}: " if release.area else ""
        raise ReleaseError(
            f"{where}the tables do not add up: {names[first]} ({counts[first]}) should be {listed}",
            column=names[first],
            found=str(counts[first]),
            remedy="correct the counts, or publish these cells as intervals",
        )
