"""How many records match a selection: the least and the largest count, both with evidence."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import Undecided
from showthrough.release import UNBOUNDED
from showthrough.selection import Selection
from showthrough.tables.claims import Bounds, World, world_of
from showthrough.tables.proof import Branch, Leaf, Node, Proof
from showthrough.tables.search.branch import Search
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.prove import Rows, lifted_leaf
from showthrough.tables.search.solver import Solution, find_counts
from showthrough.tables.search.system import System

__all__ = [
    "range_of",
]

Counts = NDArray[np.int64]


def range_of(decider: Decider, selection: Selection) -> Bounds:
    """Both ends for a selection, which may name attributes the decider leaves out."""
    frame = decider.system.universe.frame
    free = tuple(name for name in selection.attributes if name not in frame.names)
    mask = decider.system.mask(tuple(term for term in selection.terms if term[0] not in free))
    lowest, highest = (part[0].astype(np.int64) for part in decider.system.spread(mask[None, :]))
    over = (*frame.names, *free)
    shown = _Shown(decider.system, mask, selection, free)
    low, low_node, low_counts = _least(decider, np.zeros_like(lowest) if free else lowest, 0)
    low_proof = Proof(selection.terms, low, at_least=low_node, over=over)
    low_world = shown.world(low_counts, inside=False)
    if (highest[decider.system.most >= UNBOUNDED] > 0).any():
        return Bounds(selection, low, None, low_proof, None, low_world, None)
    least, high_node, high_counts = _least(decider, -highest, -1)
    high_proof = Proof(selection.terms, -least, at_most=high_node, over=over)
    high_world = shown.world(high_counts, inside=True)
    return Bounds(selection, low, -least, low_proof, high_proof, low_world, high_world)


def _least(decider: Decider, goal: Counts, floor: int) -> tuple[int, Node, Counts | None]:
    """The least Σ goal with a proof, and counts that attain it (None if not found)."""
    best = min((decider.class_counts(world) for world in decider.pool), key=lambda y: int(goal @ y))
    proved, node = _root(decider, goal, int(goal @ best), floor)
    while proved < int(goal @ best):
        search = Search(decider.program, decider.effort.nodes)
        found = search.run(goal, proved + 1, floor=floor)
        if isinstance(found, Leaf | Branch):
            proved, node = proved + 1, found
            continue
        if not isinstance(found, np.ndarray):
            found = find_counts(
                decider.system,
                goal=goal,
                low=-(2**40),
                high=proved,
                seed=decider.seed,
                effort=decider.effort.solver,
            )
        if not isinstance(found, np.ndarray):
            return proved, node, None
        best = found
    return proved, node, best


def _root(decider: Decider, goal: Counts, limit: int, floor: int) -> tuple[int, Node]:
    """The best bound a single LP proves, at most ``limit``."""
    if goal.min(initial=0) >= 0 and limit == 0:
        nothing = np.zeros(len(decider.system.rows), np.int64)
        leaf = lifted_leaf(Rows(decider.system), nothing, 1, floor)
        if leaf is not None:
            return 0, leaf
    found = decider.program.minimise(goal)
    value = found.value if isinstance(found, Solution) else -np.inf
    for target in _targets(value, limit, goal, decider.system):
        node = Search(decider.program, 1).run(goal, target, floor=floor)
        if isinstance(node, Leaf | Branch):
            return target, node
    if goal.min(initial=0) >= 0:
        return 0, Leaf((), (), 1, 0)
    raise Undecided("no bound could be proved within the effort; raise --effort")


def _targets(value: float, limit: int, goal: Counts, system: System) -> Iterator[int]:
    """Targets from the LP's value down to what simple sums of rows always prove."""
    least = int((goal.clip(max=0) * np.minimum(system.most, 2**31)).sum())
    start = limit if value == -np.inf else min(limit, int(np.ceil(value - 1e-6)))
    yield from range(start, start - 3, -1)
    step = 4
    while start - step > least:
        yield start - step
        step *= 2
    yield least


class _Shown:
    """Class counts as a dataset in which the selection has its least or its largest count."""

    def __init__(
        self, system: System, mask: NDArray[np.bool_], selection: Selection, free: tuple[str, ...]
    ) -> None:
        self.system = system
        self.mask = mask
        self.selection = selection
        self.free = free

    def world(self, counts: Counts | None, *, inside: bool) -> World | None:
        """The dataset; attributes nothing is known about are filled in or out of the selection."""
        if counts is None:
            return None
        picked = [self._pick(at, inside) for at in range(self.system.n_classes)]
        made = world_of(self.system, np.repeat(np.array(picked, np.int64), counts))
        codes = made.codes.copy()
        for name in self.free:
            attribute = made.schema[name]
            chosen = next(v for v in attribute.values if (v in self.selection[name]) == inside)
            codes[:, made.schema.index[name]] = attribute.code(chosen)
        return World(made.schema, codes)

    def _pick(self, at: int, inside: bool) -> int:
        members = self.system.members(at)
        wanted = members[self.mask[members] == inside]
        return int(wanted[0] if len(wanted) else members[0])
