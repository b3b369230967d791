"""The last resort for open questions: a world that disagrees, or a proof by branching.

Cheap means first. Most counterexamples are near: a few records of a known world, freed and put
together anew, are a small problem whose own zero cells leave few types. An LP that keeps as much of
the world as it can names those records. Only what survives such tries is put to a solver whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.proof import Branch, Leaf
from showthrough.tables.search.branch import Search
from showthrough.tables.search.questions import Asked
from showthrough.tables.search.solver import Program, find_counts
from showthrough.tables.search.system import sub_system
from showthrough.tables.search.type_counts import TypeCounts

if TYPE_CHECKING:
    from showthrough.tables.search.decider import Decider


__all__ = [
    "Counterexamples",
]

Counts = NDArray[np.int64]

#: In smaller worlds a search nearby is no cheaper than one of the whole.
_PART = 24

#: Records that the relaxed world does without, freed at once.
_MOST_FREED = 48

#: Records of one type that are listed to choose among.
_MOST_LISTED = 1_000

#: Branches for one search nearby.
_PART_NODES = 16

#: Searches nearby may take this many times what proofs may: what they leave open takes far more each.
_NEARBY = 4

#: A mixed-integer solver gets all classes up to this many; else those of the world at hand and of this many
#: relaxed ones, where they have more records than none.
_MOST_CLASSES, _RELAXED, _NOBODY = 5_000, 8, 1e-6


class Counterexamples:
    """Searches on behalf of a decider, whose worlds, limits and tallies it uses."""

    def __init__(self, decider: Decider) -> None:
        self.decider = decider
        self._spent = 0.0

    def search(self, asked: Asked) -> None:
        """What is left: counterexamples nearby, first a little for every question and then more;
        then proofs or counterexamples by branching and by the solver.
        """
        for tries in (self.decider.effort.tries // 3, self.decider.effort.tries):
            for at, side in self._left(asked):
                self._nearby(asked, at, side, tries)
        for at, side in self._left(asked):
            self._by_branching(asked, at, side)
        for at, side in self._left(asked):
            self._by_solver(asked, at, side)

    def _left(self, asked: Asked) -> Iterator[tuple[int, int]]:
        """Questions and ends that are still open when their turn comes."""
        for at in np.flatnonzero(asked.open):
            for side in (1, -1):
                if asked.open[at] and not asked.has(int(at), side) and not self.decider.program.spent:
                    yield int(at), side

    def _by_branching(self, asked: Asked, at: int, side: int) -> None:
        """A few branches of our own, then a mixed-integer solver for a world."""
        decider = self.decider
        goal, target = asked.goal(at, side)
        if self._branch(asked, at, side, max(1, decider.effort.nodes // 10)) or not asked.open[at]:
            return
        decider.work.solves += 1
        among = self.some_classes(goal, target - 1)
        counts = decider.program.integers_below(goal, target - 1, nodes=decider.effort.nodes, among=among)
        if counts is not None:
            decider.try_counts(asked, counts)
            self._look_around(asked)

    def some_classes(self, goal: Counts, limit: int) -> Counts | None:
        """Where there are very many classes, those of the current world and of relaxed ones near it.

        A mixed-integer solver takes minutes for what it does before it branches at all, and no limit on
        nodes ends that. So it gets fewer classes: where they do not suffice, the question may stay open.
        """
        decider = self.decider
        if decider.system.n_classes <= _MOST_CLASSES:
            return None
        kept = decider.class_counts(decider.current) > 0
        for _ in range(_RELAXED):
            near = self._nearest(goal, limit)
            if near is None:
                break
            kept |= near > _NOBODY
        return np.flatnonzero(kept)

    def _by_solver(self, asked: Asked, at: int, side: int) -> None:
        """Branching in earnest for a proof; then the CP solver for a counterexample."""
        decider = self.decider
        if self._branch(asked, at, side, decider.effort.nodes) or not asked.open[at]:
            return
        if self._spent > decider.effort.solvers or not decider.effort.solver:
            return
        goal, target = asked.goal(at, side)
        decider.work.solves += 1
        self._spent += decider.effort.solver
        counts = find_counts(
            decider.system,
            hint=decider.class_counts(decider.current),
            goal=goal,
            low=int(goal.clip(max=0) @ np.minimum(decider.system.most, 2**31)),
            high=target - 1,
            seed=decider.seed,
            effort=decider.effort.solver,
        )
        if isinstance(counts, np.ndarray):
            decider.try_counts(asked, counts)
            self._look_around(asked)
        elif counts == "infeasible":
            asked.answers.stage[at] = "solver only"

    def _nearby(self, asked: Asked, at: int, side: int, tries: int) -> None:
        """Free some records of the current world and look for others with the same counts but
        another number in the mask.

        Which records to free an LP says: those that the nearest relaxed world does without.
        """
        if len(self.decider.current) < _PART:
            return
        goal, target = asked.goal(at, side)
        for attempt in range(tries):
            near = self._nearest(goal, target - 1)
            if near is None:
                return
            counts = self._rearranged(self._leaving(near, attempt), goal)
            if counts is not None:
                self.decider.try_counts(asked, counts)
                if not asked.open[at]:
                    self._look_around(asked)
                    return
            elif attempt % 8 == 7:
                self.decider.current = self.decider.pool[
                    int(self.decider.walker.rng.integers(len(self.decider.pool)))
                ]

    def _nearest(self, goal: Counts, limit: int) -> NDArray[np.float64] | None:
        """A relaxed world with Σ goal ≤ limit that keeps most records of the current one.

        No class gets more records than it has, unless it has none: so whatever is put in is new and
        has its price, a random one, so that every call gives another world.
        """
        decider = self.decider
        counts = decider.class_counts(decider.current)
        price = np.where(counts > 0, 0.05, 1.0) * (1 + decider.walker.rng.random(len(counts)))
        for most in (np.where(counts > 0, counts, np.inf), np.full(len(counts), np.inf)):
            decider.work.programs += 1
            found = self._relaxed.cheapest(price, most, goal, limit)
            if found is not None:
                return found
        return None

    @cached_property
    def _relaxed(self) -> Program:
        """An LP of its own: the decider's keeps the basis of its last proof."""
        effort, origin = self.decider.effort, self.decider.program.origin
        system, budget = self.decider.system, _NEARBY * effort.programs
        return Program(system, iterations=effort.iterations, budget=budget, origin=origin)

    def _leaving(self, near: NDArray[np.float64], attempt: int) -> NDArray[np.int64]:
        """Positions of the records that a relaxed world does without, and the more others the more
        attempts have failed.
        """
        decider, rng = self.decider, self.decider.walker.rng
        world, surplus = decider.current, decider.class_counts(decider.current) - near
        leaving = _some_of(world, surplus[decider.system.group[world.types]] > 1e-6)
        rng.shuffle(leaving)
        others = rng.choice(len(world), min(len(world), 2 * attempt), replace=False)
        return np.unique(np.concatenate([leaving[:_MOST_FREED], others]))

    def _look_around(self, asked: Asked) -> None:
        """Try the moves from a world just found on whatever is still open."""
        moves = self.decider.walker.moves(self.decider.current)
        if len(moves) and asked.open.any():
            self.decider.work.steps += 1
            self.decider.try_moves(asked, moves)

    def _rearranged(self, chosen: NDArray[np.int64], goal: Counts) -> Counts | None:
        """The current world with the chosen records replaced so that Σ goal gets smaller."""
        whole = self.decider.class_counts(self.decider.current)
        freed = self.decider.class_counts(TypeCounts.of_records(self.decider.current.at(chosen)))
        part = sub_system(self.decider.system, whole - freed)
        inner = goal[part.classes]
        if not inner.any():
            return None
        self.decider.work.programs += 1
        search = Search(Program(part.system, iterations=2000), _PART_NODES)
        point = search.run(inner, int(goal @ freed))
        if not isinstance(point, np.ndarray):
            return None
        counts = whole - freed
        counts[part.classes] += point
        return counts

    def _branch(self, asked: Asked, at: int, side: int, nodes: int) -> bool:
        """Branch for a proof or a counterexample; whether the question's end was settled."""
        search = Search(self.decider.program, nodes)
        found = search.run(*asked.goal(at, side), floor=min(side, 0))
        self.decider.work.nodes += search.nodes
        if isinstance(found, Leaf | Branch):
            asked.prove_side(at, side, found, "branching")
        elif isinstance(found, np.ndarray):
            self.decider.try_counts(asked, found)
        return found is not None


def _some_of(world: TypeCounts, which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The positions of the records of some types; of types with very many records only the first ones."""
    times = np.minimum(world.times[which], _MOST_LISTED)
    offset = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    return np.repeat(world.starts[which], times) + offset
