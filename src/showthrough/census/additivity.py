"""Totals that are the sum of other cells, and whether published counts add up to them.

The sums of person tables are here; those of household tables follow from the list of tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from showthrough.census.people_tables import Census, cell_code, listed_tables
from showthrough.errors import ReleaseError, check_type
from showthrough.release import Layout, Release
from showthrough.selection import Selection

__all__ = [
    "Sums",
    "check_people",
    "check_sums",
]

#: Totals and their parts, by number, in tables whose totals stand beside their parts.
_BESIDE = {"P6": [range(1, 8)], "P7": [[1, 2, 9], range(2, 9), range(9, 16)]}


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


def check_people(release: Release) -> None:
    """Raise if totals and subtotals of person tables do not add up.

    Checks parts within tables, sums over races, and cells of different tables about the same people,
    wherever all cells involved are published as exact counts.

    Parameters
    ----------
    release
        Person tables about one block or tract.

    Raises
    ------
    ReleaseError
        Names the first total that is not the sum of its parts.
    """
    check_type(release, Release, name="release", remedy="give the release of one block")
    check_sums(release, _sums_over(release.layout))


@lru_cache(maxsize=4)
def _sums_over(layout: Layout) -> Sums:
    census: Census = "2020" if layout.names[0][1].endswith("N") else "2010"
    return Sums.of((*_within(census), *_over_races(census), *_equal(layout)), layout)


def _within(census: Census) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Cells with the cells that are parts of them in the same table."""
    for name, _, _, lines in listed_tables(census, "tract", "years"):
        sums: list[list[int]] = [list(one) for one in _BESIDE.get(name, [])]
        above: list[list[int]] = []
        for number, line in enumerate(lines, 1):
            del above[line.depth :]
            if above and name not in _BESIDE:
                above[-1].append(number)
            above.append([number])
            sums.append(above[-1])
        for total, *parts in sums:
            if parts:
                yield cell_code(name, total, census), tuple(cell_code(name, at, census) for at in parts)


def _over_races(census: Census) -> Iterator[tuple[str, tuple[str, ...]]]:
    """All = A to G = H to O; H = P to V; A = I and P, B = J and Q, …"""
    for table, size in (("P12", 49), ("PCT12", 209)):
        sums = [("", "ABCDEFG"), ("", "HIJKLMNO"), ("H", "PQRSTUV")]
        sums += [(one, chr(ord(one) + 8) + chr(ord(one) + 15)) for one in "ABCDEFG"]
        for total, parts in sums:
            for number in range(1, size + 1):
                cells = tuple(cell_code(f"{table}{part}", number, census) for part in parts)
                yield cell_code(f"{table}{total}", number, census), cells


def _equal(layout: Layout) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Cells of different tables that count the same people."""
    first: dict[frozenset[tuple[int, Selection]], str] = {}
    for (_, cell), terms in zip(layout.names, layout.terms, strict=True):
        before = first.setdefault(frozenset(terms), cell)
        if before != cell:
            yield before, (cell,)
