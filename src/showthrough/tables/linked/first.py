"""A first dataset of a nest, where the records are not at hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, hstack, vstack

from showthrough.errors import Undecided
from showthrough.release import UNBOUNDED
from showthrough.tables.linked.boxes import PartBoxes
from showthrough.tables.linked.joint import expanded, joint_frame, relaxed
from showthrough.tables.linked.parts import LinkedParts
from showthrough.tables.linked.together import MOST_ENTRIES
from showthrough.tables.search.decider import Decider, Effort, Infeasible
from showthrough.tables.search.solver import Inequalities
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.universe import Frame

__all__ = [
    "first_world",
]

Counts = NDArray[np.int64]


def first_world(linked: LinkedParts, frame: Frame, effort: Effort, *, seed: int) -> tuple[TypeCounts, ...]:
    """Records of every part that together have all published counts.

    Raises :class:`Infeasible` with a proof over all cells where there are none, and
    :class:`~showthrough.errors.Undecided` where none were found within the effort.
    """
    if linked.size > MOST_ENTRIES:
        return _by_solver(linked, effort)
    joint = relaxed(linked, PartBoxes(linked), range(len(linked.parts)), joint_frame(linked.nest, frame))
    try:
        decider = Decider(joint.system, effort, seed=seed, first=None)
    except Infeasible as conflict:
        raise Infeasible(expanded(joint, conflict.node)) from None
    found = joint.split(decider.pool[0])
    return tuple(found[at] for at in range(len(linked.parts)))


def _by_solver(linked: LinkedParts, effort: Effort) -> tuple[TypeCounts, ...]:
    """By one integer program over the classes of all parts, its rows without their zeros."""
    systems = [part.system for part in linked.parts]
    own = block_diag([csr_array(system.rows, dtype=float) for system in systems])
    above = hstack([csr_array(part.above, dtype=float) for part in linked.parts])
    rows = csr_array(vstack([own, above]))
    low = np.concatenate([*(system.low for system in systems), linked.low]).astype(float)
    high = np.concatenate([*(system.high for system in systems), linked.high])
    n = sum(system.n_classes for system in systems)
    program = Inequalities(np.zeros(n), np.zeros(n), np.full(n, np.inf))
    program.add(rows, low, np.where(high >= UNBOUNDED, np.inf, high.astype(float)))
    point, _ = program.solve_whole(np.ones(n, bool), nodes=effort.nodes)
    if point is not None:
        ends = np.cumsum([0, *(system.n_classes for system in systems)])
        counts = [np.rint(point[a:b]).astype(np.int64) for a, b in pairwise(ends.tolist())]
        sums = sum(
            (part.above.astype(np.int64) @ mine for part, mine in zip(linked.parts, counts, strict=True)),
            start=np.zeros(len(linked.cells), np.int64),
        )
        inside = (linked.low <= sums).all() and (sums <= linked.high).all()
        if inside and all(one.allows(mine) for one, mine in zip(systems, counts, strict=True)):
            pairs = zip(systems, counts, strict=True)
            return tuple(TypeCounts.of_counts(one.order[one.starts[:-1]], mine) for one, mine in pairs)
    raise Undecided(
        "no dataset of the area and its parts was found within the effort, and none was shown not to "
        "exist; raise --effort"
    )
