"""The least and the largest count of many cells at once.

First the bounds that follow from sums of cells (:mod:`showthrough.tables.search.propagate`). Then datasets
in which many cells are at such a bound at the same time: these bounds cannot be better. For the rest a
linear program each, kept warm, and where whole numbers matter a search by cases. How much of it is done
is counted in steps, never in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED
from showthrough.tables.proof import Branch, Leaf, Node
from showthrough.tables.search.branch import Search
from showthrough.tables.search.decider import Effort
from showthrough.tables.search.lattice import CellLattice
from showthrough.tables.search.propagate import Propagation
from showthrough.tables.search.prove import Rows, exact_leaf, row_total
from showthrough.tables.search.reduced import reduce_lattice
from showthrough.tables.search.solver import Program, Solution, find_counts, find_pinned, integral

__all__ = [
    "Ends",
    "NoWorld",
]

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Programs about many cells at once; without success one after the other.
_MOST_BATCHES, _IDLE = 24, 3

#: Work on datasets that attain ends: classes × searches, and how often as much if it is open whether cells
#: differ at all. At first this many ends are asked for at once.
_WORK, _TIMES, _FIRST_PINS = 12_000, 4, 12

#: Searches by cases, where the system is no larger than this.
_CASES, _MOST_CASES = 300_000, 400


class NoWorld(Exception):
    """No dataset was found; perhaps none agrees."""


@dataclass(frozen=True, eq=False)
class _Side:
    """One end of all targets: ``sign`` 1 is the lower one, −1 the upper one."""

    sign: int
    bound: NDArray[np.float64]
    attained: Flags
    #: Attained by a point of the relaxed system: linear arithmetic proves no more.
    touched: Flags
    node: dict[int, Node]

    def meet(self, counts: Counts) -> None:
        """Note what a dataset attains."""
        np.logical_or(self.attained, counts == self.bound, out=self.attained)


class Ends:
    """The ends of some rows of a lattice, with proofs, and datasets that attain them."""

    def __init__(self, lattice: CellLattice, rows: Counts, effort: Effort, *, seed: int) -> None:
        self.lattice = lattice
        self.rows = rows
        self.effort = effort
        self.seed = seed
        self.worlds: list[Counts] = []
        self.sums = Propagation(lattice)
        self.reduced = reduce_lattice(lattice)
        if self.sums.conflict or not self.reduced.possible:
            raise NoWorld
        self._goals, self._constants = self.reduced.goals(rows)
        self.low = self._side(1, self.sums.low[rows])
        self.high = self._side(-1, self.sums.high[rows])
        self._rng = np.random.default_rng(seed)
        self._lowest = np.full(len(rows), np.iinfo(np.int64).max)
        self._highest = np.full(len(rows), -1)
        self._find_first()
        self._find_unlimited()
        self._solve_together()
        self._solve_singly()
        self._search_cases()
        self._find_worlds()

    @property
    def differ(self) -> Flags:
        """Which targets have different counts in two datasets."""
        return self._lowest < self._highest

    def proof(self, at: int, sign: int) -> Node | None:
        """The proof of an end of a target; None if it is too long."""
        side = self.low if sign > 0 else self.high
        if at in side.node:
            return side.node[at]
        found = self.sums.proof(int(self.rows[at]), "low" if sign > 0 else "high")
        return self._dual(at, side, int(side.bound[at])) if found is None else self._leaf(found)

    def _leaf(self, multipliers: dict[int, int]) -> Leaf:
        lattice = self.lattice
        numerators = np.zeros(len(lattice.low), np.int64)
        numerators[list(multipliers)] = list(multipliers.values())
        total = row_total(numerators, lattice.low, lattice.high)
        if total is None:
            raise AssertionError("a sum of bounds uses an end that is not published")
        cells = {
            int((lattice.low_cell if u > 0 else lattice.high_cell)[row]): u for row, u in multipliers.items()
        }
        return Leaf(tuple(sorted(cells.items())), (), 1, total)

    def _side(self, sign: int, bound: NDArray[np.float64]) -> _Side:
        nobody = np.zeros(len(bound), bool)
        return _Side(sign, bound.copy(), nobody.copy(), nobody.copy(), {})

    @cached_property
    def _program(self) -> Program:
        return Program(self.reduced.system, iterations=self.effort.iterations, budget=self.effort.programs)

    def _keep(self, counts: Counts) -> None:
        """A dataset, counted again in integers, with all the ends that it attains."""
        if not self.lattice.recount(self.reduced.whole(counts)):
            raise AssertionError("a dataset does not agree with the release")
        self.worlds.append(counts)
        found = self._goals @ counts + self._constants
        self._lowest, self._highest = np.minimum(self._lowest, found), np.maximum(self._highest, found)
        self.low.meet(found)
        self.high.meet(found)

    def _find_first(self) -> None:
        system = self.reduced.system
        nothing = np.zeros(system.n_classes, np.int64)
        if system.allows(nothing):
            self._keep(nothing)
            return
        found = self._program.minimise(nothing)
        point = integral(system, found.point) if isinstance(found, Solution) else None
        if point is None and found != "infeasible":
            made = find_counts(system, seed=self.seed, effort=self.effort.solver * 10)
            point = made if isinstance(made, np.ndarray) else None
        if point is None:
            raise NoWorld
        self._keep(point)

    def _find_unlimited(self) -> None:
        """Targets with a class that nothing limits can grow at will."""
        endless = self.reduced.system.most >= UNBOUNDED
        if not endless.any():
            return
        self._keep(self.worlds[0] + endless)
        grows = (self._goals @ endless.astype(np.int64)) > 0
        self.high.bound[grows] = np.inf
        self.high.attained[grows] = True

    def _open(self, side: _Side) -> Flags:
        return ~side.attained & ~side.touched

    def _solve_together(self) -> None:
        """Points at which many cells are at a bound at once."""
        idle = 0
        for _ in range(_MOST_BATCHES):
            low, high = self._open(self.low), self._open(self.high) & np.isfinite(self.high.bound)
            if not (low.any() or high.any()) or idle >= _IDLE:
                return
            up = self._rng.random(len(low)) < 0.5
            weight = (low & ~(high & up)).astype(np.int64) - (high & (up | ~low)).astype(np.int64)
            found = self._program.minimise(weight @ self._goals)
            if not isinstance(found, Solution):
                return
            idle = 0 if self._touch(found) else idle + 1

    def _touch(self, found: Solution) -> bool:
        """Note the bounds that a point attains; whether there are new ones."""
        point = integral(self.reduced.system, found.point)
        before = int(self._open(self.low).sum() + self._open(self.high).sum())
        if point is not None:
            self._keep(point)
        counts = self._goals @ found.point + self._constants
        for side in (self.low, self.high):
            np.logical_or(side.touched, np.abs(counts - side.bound) < 1e-6, out=side.touched)
        return int(self._open(self.low).sum() + self._open(self.high).sum()) < before

    def _goal(self, at: int, side: _Side) -> Counts:
        return side.sign * self._goals[[at]].toarray()[0]

    def _solve_singly(self) -> None:
        for side in (self.low, self.high):
            for at in np.flatnonzero(self._open(side)).tolist():
                if self._open(side)[at]:
                    self._solve(at, side)

    def _solve(self, at: int, side: _Side) -> None:
        """One end by a linear program, rounded to whole numbers, if its proof holds."""
        goal = self._goal(at, side)
        if not goal.any():
            self._settle(at, side, self._constant(at, side), int(self._constants[at]))
            return
        found = self._program.minimise(goal)
        if not isinstance(found, Solution):
            return
        value = int(np.ceil(found.value - 1e-6)) + side.sign * int(self._constants[at])
        if side.sign * side.bound[at] < value:
            node = self._dual_of(found, goal, at, side, side.sign * value)
            if node is not None:
                self._settle(at, side, node, side.sign * value)
        self._touch(found)
        side.touched[at] = True

    def _settle(self, at: int, side: _Side, node: Node, bound: int) -> None:
        """Note a better bound and its proof."""
        side.node[at], side.bound[at] = node, bound
        side.attained[at] = bool((self._lowest if side.sign > 0 else self._highest)[at] == bound)

    def _constant(self, at: int, side: _Side) -> Node:
        """The proof of a row whose classes are all published."""
        return self.reduced.lift(Leaf((), (), 1, 0), int(self.rows[at]), side.sign)

    def _dual(self, at: int, side: _Side, bound: int) -> Node | None:
        goal = self._goal(at, side)
        if not goal.any():
            return self._constant(at, side)
        found = self._program.minimise(goal)
        return self._dual_of(found, goal, at, side, bound) if isinstance(found, Solution) else None

    def _dual_of(self, found: Solution, goal: Counts, at: int, side: _Side, bound: int) -> Node | None:
        target = side.sign * (bound - int(self._constants[at]))
        leaf = exact_leaf(Rows(self.reduced.system), found.multipliers, goal, target)
        return None if leaf is None else self.reduced.lift(leaf, int(self.rows[at]), side.sign)

    def _missing(self) -> list[tuple[int, _Side]]:
        """Ends that no dataset attains yet; first those of cells that are the same in all of them."""
        found: list[tuple[int, _Side]] = []
        for side in (self.low, self.high):
            found += [(at, side) for at in np.flatnonzero(~side.attained & np.isfinite(side.bound)).tolist()]
        differ = self.differ
        return sorted(found, key=lambda one: bool(differ[one[0]]))

    def _find_worlds(self) -> None:
        """Datasets with many cells at their ends: as many ends are asked for as may be had at once."""
        budget, wanted = _WORK * max(1.0, self.effort.nodes / 300), _FIRST_PINS
        failed: set[tuple[int, int]] = set()
        work = 0
        while work < budget * _TIMES:
            left = [one for one in self._missing() if (one[0], one[1].sign) not in failed]
            if work > budget:
                left = [one for one in left if not self.differ[one[0]]]
            if not left:
                return
            pins = self._pick(left, wanted)
            work += self.reduced.system.n_classes + 50
            goals = list(self._pinned(pins))
            found = find_pinned(
                self.reduced.system, goals, self.worlds[-1], seed=self.seed, effort=self.effort.solver / 4
            )
            if found is not None:
                self._keep(found)
                wanted = wanted + wanted // 3 + 1
            else:
                failed |= {(at, side.sign) for at, side in pins} if len(pins) == 1 else set()
                wanted = max(1, wanted // 2)

    def _pick(self, left: list[tuple[int, _Side]], wanted: int) -> list[tuple[int, _Side]]:
        """Some ends, drawn; of no cell both."""
        same = int(sum(1 for at, _ in left if not self.differ[at]))
        pool = left[:same] if same else left
        chosen: dict[int, _Side] = {}
        for number in self._rng.permutation(len(pool)).tolist():
            at, side = pool[number]
            chosen.setdefault(at, side)
            if len(chosen) >= wanted:
                break
        return list(chosen.items())

    def _pinned(self, pins: list[tuple[int, _Side]]) -> Iterator[tuple[Counts, int]]:
        for at, side in pins:
            classes = self._goals.indices[self._goals.indptr[at] : self._goals.indptr[at + 1]]
            yield classes.astype(np.int64), int(side.bound[at]) - int(self._constants[at])

    def _search_cases(self) -> None:
        """What is still open, one by one: a better bound, or a dataset that attains it."""
        system = self.reduced.system
        if system.n_classes * len(system.rows) > _CASES:
            return
        for at, side in self._missing()[:_MOST_CASES]:
            while not side.attained[at]:
                if not self._search(at, side):
                    break

    def _search(self, at: int, side: _Side) -> bool:
        """One step towards an end: whether there was one."""
        goal = self._goal(at, side)
        better = int(side.bound[at]) + side.sign
        target = side.sign * (better - int(self._constants[at]))
        found = Search(self._program, self.effort.nodes).run(goal, target)
        if isinstance(found, np.ndarray):
            self._keep(found)
            return bool(side.attained[at])
        if not isinstance(found, Leaf | Branch):
            return False
        self._settle(at, side, self.reduced.lift(found, int(self.rows[at]), side.sign), better)
        return True
