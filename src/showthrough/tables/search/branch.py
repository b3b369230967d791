"""Branch and bound with a proof of every leaf: what LP rounding alone does not settle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED
from showthrough.tables.proof import Branch, Leaf, Node, Terms, leaves_of
from showthrough.tables.search.prove import Cut, Rows, exact_leaf, exact_numerators, lifted_leaf, row_total
from showthrough.tables.search.solver import Program, Solution, violations
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import exact_dot
from showthrough.tables.search.universe import Universe

__all__ = [
    "Search",
    "type_terms",
]

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass
class Search:
    """Branch and bound for Σ goal ≥ target: a proof tree, or a point that refutes it.

    Branches are on the count of one class, which is the sum of the counts of its types.
    """

    program: Program
    most_nodes: int
    base_depth: int = 0  # rows the checker numbers before the first branch
    nodes: int = field(default=0)
    _floor: int = field(default=0, init=False)

    def run(self, goal: Counts, target: int, *, floor: int | None = None) -> Node | Counts | None:
        """A proof, a point with Σ goal < target, or None if the effort ran out.

        With a goal of 0 and a target of 1 this decides whether any point exists.
        """
        self.nodes = 0
        self._floor = min(0, int(goal.min(initial=0))) if floor is None else floor
        try:
            return self._node(goal, target, ())
        finally:
            self.program.unbind()

    def _node(self, goal: Counts, target: int, cuts: tuple[Cut, ...]) -> Node | Counts | None:
        self.nodes += 1
        if self.nodes > self.most_nodes or len(cuts) > 200:
            return None
        rows = Rows(self.program.system, _tightest(cuts))
        found = self.program.minimise(goal)
        if found == "infeasible":
            return self._infeasible_leaf(rows, goal, target)
        if not isinstance(found, Solution):
            return None
        if found.promises(target):
            leaf = exact_leaf(rows, _with_cuts(found, rows), goal, target, floor=self._floor)
            if leaf is not None:
                return leaf
        point = found.integral(self.program.system)
        if point is not None and exact_dot(goal, point) < target:
            return point
        return self._branch(goal, target, cuts, found)

    def _branch(
        self, goal: Counts, target: int, cuts: tuple[Cut, ...], found: Solution
    ) -> Node | Counts | None:
        fraction = np.abs(found.point - np.rint(found.point))
        if fraction.max(initial=0) < 1e-7:
            return None
        at = int(np.argmax(fraction))
        floor = found.floor(at)
        low, high = _range(cuts, at)
        depth = self.base_depth + len(cuts)
        sides: list[Node] = []
        for bounds in ((low, floor), (floor + 1, high)):
            self.program.bound(at, *bounds)
            cut = Cut(at, 0, floor, depth) if bounds[1] == floor else Cut(at, floor + 1, None, depth)
            result = self._node(goal, target, (*cuts, cut))
            self.program.bound(at, low, high)
            if not isinstance(result, Leaf | Branch):
                return result
            if not _uses(result, depth):
                return _without(result, depth)  # the case did not matter
            sides.append(result)
        return Branch(class_terms(self.program.system, at), floor, sides[0], sides[1])

    def _infeasible_leaf(self, rows: Rows, goal: Counts, target: int) -> Leaf | None:
        ray = violations(rows.matrix(), rows.low(), rows.high())
        if ray is None:
            return None
        found = exact_numerators(rows, ray, np.zeros_like(goal), 1)
        return None if found is None else combine(rows, *found, goal, target, self._floor)


def combine(rows: Rows, ray: Counts, denominator: int, goal: Counts, target: int, floor: int) -> Leaf | None:
    """A leaf for any goal, from multipliers that show emptiness.

    These contribute at most 0 to every class and more than 0 in total, so any multiple of them may
    be added. Every class with a negative goal first gets −1 on a row that bounds it; then the ray
    is added often enough to outweigh what that costs.
    """
    low, high = rows.low(), rows.high()
    numerators = np.zeros(len(low), np.int64)
    for at in np.flatnonzero(goal < 0):
        cover = rows.covering(int(at))
        missing = int(numerators[cover].sum()) - int(goal[at])
        cover = cover[high[cover] < UNBOUNDED]
        if missing > 0 and not len(cover):
            return None
        if missing > 0:
            numerators[cover[np.argmin(high[cover])]] -= missing
    cost, gain = row_total(numerators, low, high), row_total(ray, low, high)
    if cost is None or gain is None or gain <= 0:
        return None
    times = max(1, -(-(denominator * (target - cost)) // gain))
    leaf = lifted_leaf(rows, numerators * denominator + times * ray, denominator, floor)
    return leaf if leaf is not None and leaf.total >= leaf.denominator * (target - 1) + 1 else None


def class_terms(system: System, at: int) -> tuple[Terms, ...]:
    """A class as selections: one full assignment per type in it."""
    return tuple(type_terms(system.universe, int(type_)) for type_ in system.members(at))


def type_terms(universe: Universe, type_: int) -> Terms:
    """A type as a selection: its value of every attribute."""
    schema = universe.frame.layout.schema
    pairs = zip(universe.frame.names, universe.codes[type_].tolist(), strict=True)
    return tuple(sorted((name, (schema[name].values[code],)) for name, code in pairs))


def _with_cuts(found: Solution, rows: Rows) -> Vector:
    """Row duals, and for each cut the part of its class's reduced cost that it can carry."""
    reduced = [
        max(found.reduced[cut.at], 0.0) if cut.high is None else min(found.reduced[cut.at], 0.0)
        for cut in rows.cuts
    ]
    return np.append(found.multipliers, reduced)


def _tightest(cuts: Sequence[Cut]) -> tuple[Cut, ...]:
    """Per class the last cut from below and the last from above: later cuts are tighter."""
    best: dict[tuple[int, bool], Cut] = {}
    for cut in cuts:
        best[cut.at, cut.high is None] = cut
    return tuple(best.values())


def _range(cuts: Sequence[Cut], at: int) -> tuple[int, int | None]:
    low = max((cut.low for cut in cuts if cut.at == at and cut.high is None), default=0)
    highs = [cut.high for cut in cuts if cut.at == at and cut.high is not None]
    return low, min(highs, default=None)


def _uses(node: Node, depth: int) -> bool:
    """Whether some leaf below multiplies the branch at this depth."""
    return any(d == depth for leaf in leaves_of(node) for d, _ in leaf.branches)


def _without(node: Node, depth: int) -> Node:
    """The node with the (unused) branch at this depth taken out of the numbering."""
    if isinstance(node, Leaf):
        moved = tuple((d - (d > depth), u) for d, u in node.branches)
        return replace(node, branches=moved)
    return replace(node, below=_without(node.below, depth), above=_without(node.above, depth))
