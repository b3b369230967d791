"""Why a release contradicts itself: a small set of cells that cannot all be true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from showthrough.errors import Contradiction
from showthrough.release import UNBOUNDED, Release
from showthrough.tables.proof import Branch, Leaf
from showthrough.tables.search.branch import Search
from showthrough.tables.search.prove import Rows, exact_leaf
from showthrough.tables.search.solver import Program, violations
from showthrough.tables.search.system import Conflict, build_system
from showthrough.tables.search.universe import TooManyTypes, active_attributes, make_frame

__all__ = [
    "explain_conflict",
]


def explain_conflict(release: Release, suspects: Sequence[int]) -> Contradiction:
    """The contradiction as an error that names cells of which none can be left out.

    ``suspects`` are cells known to be part of a conflict; cells published as zero, which removed
    record types before any multiplier was found, are suspects as well. Cells are dropped one by
    one, in several orders, as long as what is left still contradicts itself.
    """
    zeros = [int(at) for at in np.flatnonzero(release.high == 0)]
    suspects = sorted(set(suspects))
    start = suspects if _conflicting(release, suspects) else sorted({*suspects, *zeros})
    if not _conflicting(release, start):
        start = [int(at) for at in np.flatnonzero((release.low > 0) | (release.high < UNBOUNDED))]
    start = _halved(release, start)
    sizes = [len(names) for names in release.layout.attributes]
    orders = [
        start,
        start[::-1],
        sorted(start, key=lambda at: -sizes[at]),
    ]
    best = min((_irreducible(release, start, order) for order in orders), key=len)
    cells = release.cells
    named = [(cells[at].table, cells[at].name, cells[at].value()) for at in sorted(best)]
    return Contradiction(named, area=release.area)


def _halved(release: Release, cells: list[int]) -> list[int]:
    """Drop large parts at once before going one by one."""
    size = max(1, len(cells) // 2)
    while size > 8:
        for start in range(0, len(cells), size):
            rest = cells[:start] + cells[start + size :]
            if rest and _conflicting(release, rest):
                cells = rest
                break
        else:
            size //= 2
    return cells


def _irreducible(release: Release, cells: Sequence[int], order: Sequence[int]) -> set[int]:
    left = set(cells)
    for at in order:
        if len(left) > 1 and _conflicting(release, sorted(left - {at})):
            left.discard(at)
    return left


def _conflicting(release: Release, cells: Sequence[int]) -> bool:
    """Whether these cells alone contradict each other, shown in integers."""
    low = np.zeros_like(release.low)
    high = np.full_like(release.high, UNBOUNDED)
    low[list(cells)], high[list(cells)] = release.low[list(cells)], release.high[list(cells)]
    part = Release(release.layout, low, high, release.area)
    schema = release.schema
    names = {n for at in cells for n in release.layout.attributes[at]}
    names |= {n for box in schema.forbidden for n in box.attributes}
    over = tuple(at for at in active_attributes(release.layout) if schema.names[at] in names)
    try:
        system = build_system(make_frame(release.layout, over), part, most_types=200_000)
    except Conflict:
        return True
    except TooManyTypes:
        return False
    ray = violations(system.rows, system.low, system.high)
    if ray is not None:
        return exact_leaf(Rows(system), ray, np.zeros(system.n_classes, np.int64), 1) is not None
    search = Search(Program(system, iterations=20_000), 300)
    found = search.run(np.zeros(system.n_classes, np.int64), 1)
    return isinstance(found, Leaf | Branch)
