"""The last resort for open questions: a world that says otherwise, or a proof by branching.

Cheap means first. Most counterexamples are near: a dozen records of a known world, freed and put
together anew, are a small problem whose own zero cells leave few types. Only what survives many
such tries is put to a solver whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from showthrough.audit.answers import Asked
from showthrough.audit.program import Program, Solution
from showthrough.audit.proof import Branch, Leaf
from showthrough.audit.search import Search
from showthrough.audit.solver import find_counts
from showthrough.audit.system import sub_system

if TYPE_CHECKING:
    from showthrough.audit.engine import Engine

__all__ = ["Counterexamples"]

Counts = NDArray[np.int64]

#: Records freed in a search nearby, at least.
_PART = 8

#: Branches for one search nearby.
_PART_NODES = 16


class Counterexamples:
    """Searches on behalf of an engine, whose worlds, limits and tallies it uses."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._spent = 0.0

    def search(self, asked: Asked) -> None:
        """What is left: counterexamples nearby, first a little for every question and then more;
        then proofs or counterexamples by branching and by the solver.
        """
        for tries in (self.engine.effort.tries // 3, self.engine.effort.tries):
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
                if asked.open[at] and not asked.has(int(at), side) and not self.engine.program.spent:
                    yield int(at), side

    def _by_branching(self, asked: Asked, at: int, side: int) -> None:
        """A few branches of our own, then a mixed-integer solver for a world."""
        engine = self.engine
        goal, target = asked.goal(at, side)
        if self._branch(asked, at, side, max(1, engine.effort.nodes // 10)) or not asked.open[at]:
            return
        engine.work.solves += 1
        counts = engine.program.integers_below(goal, target - 1, nodes=engine.effort.nodes)
        if counts is not None:
            engine.try_counts(asked, counts)
            self._look_around(asked)

    def _by_solver(self, asked: Asked, at: int, side: int) -> None:
        """Branching in earnest for a proof; then the CP solver for a counterexample."""
        engine = self.engine
        if self._branch(asked, at, side, engine.effort.nodes) or not asked.open[at]:
            return
        if self._spent > engine.effort.solvers:
            return
        goal, target = asked.goal(at, side)
        engine.work.solves += 1
        self._spent += engine.effort.solver
        counts = find_counts(
            engine.system,
            hint=engine.class_counts(engine.at),
            goal=goal,
            low=int(goal.clip(max=0) @ np.minimum(engine.system.most, 2**31)),
            high=target - 1,
            seed=engine.seed,
            effort=engine.effort.solver,
        )
        if isinstance(counts, np.ndarray):
            engine.try_counts(asked, counts)
            self._look_around(asked)
        elif counts == "infeasible":
            asked.answers.stage[at] = "solver only"

    def _nearby(self, asked: Asked, at: int, side: int, tries: int) -> None:
        """Free some records of the current world and look for others with the same counts but
        another number in the mask.

        Every other time the records freed are those that the LP's optimum does without.
        """
        if len(self.engine.at) < 3 * _PART:  # branching on the whole is as cheap
            return
        goal, _ = asked.goal(at, side)
        self.engine.work.programs += 1
        best = self.engine.program.minimise(goal)
        wanted = best.point if isinstance(best, Solution) else None
        mask = (asked.low[at] > 0)[self.engine.system.group]
        for attempt in range(tries):
            chosen = self._some_records(mask, side, attempt, wanted)
            counts = self._rearranged(chosen, goal)
            if counts is not None:
                self.engine.try_counts(asked, counts)
                if not asked.open[at]:
                    self._look_around(asked)
                    return
            elif attempt % 25 == 24:
                self.engine.at = self.engine.pool[int(self.engine.walker.rng.integers(len(self.engine.pool)))]

    def _look_around(self, asked: Asked) -> None:
        """Try the moves from a world just found on whatever is still open."""
        moves = self.engine.walker.moves(self.engine.at)
        if len(moves) and asked.open.any():
            self.engine.work.steps += 1
            self.engine.try_moves(asked, moves)

    def _some_records(
        self, mask: NDArray[np.bool_], side: int, attempt: int, wanted: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        """Positions of records to free: at random, one of them in the mask, or guided by the LP."""
        rng, n = self.engine.walker.rng, len(self.engine.at)
        size = min(n, _PART + 4 * (attempt % 6) + attempt // 8)
        chosen = rng.choice(n, size, replace=False)
        if wanted is not None and attempt % 2 == 0:
            surplus = self.engine.class_counts(self.engine.at) - wanted
            leaving = np.flatnonzero(surplus[self.engine.system.group[self.engine.at]] > 1e-6)
            rng.shuffle(leaving)
            return np.unique(np.concatenate([leaving[: 3 * _PART], chosen[: 4 * (attempt // 2 % 6)]]))
        matching = np.flatnonzero(mask[self.engine.at])
        if len(matching) and side > 0:
            chosen[0] = rng.choice(matching)
        return np.unique(chosen)

    def _rearranged(self, chosen: NDArray[np.int64], goal: Counts) -> Counts | None:
        """The current world with the chosen records replaced so that Σ goal gets smaller."""
        whole = self.engine.class_counts(self.engine.at)
        freed = self.engine.class_counts(self.engine.at[chosen])
        part = sub_system(self.engine.system, whole - freed)
        inner = goal[part.classes]
        if not inner.any():
            return None
        self.engine.work.programs += 1
        search = Search(Program(part.system, iterations=2000), _PART_NODES)
        point = search.run(inner, int(goal @ freed))
        if not isinstance(point, np.ndarray):
            return None
        counts = whole - freed
        counts[part.classes] += point
        return counts

    def _branch(self, asked: Asked, at: int, side: int, nodes: int) -> bool:
        """Branch for a proof or a counterexample; whether the question's end was settled."""
        search = Search(self.engine.program, nodes)
        found = search.run(*asked.goal(at, side), floor=min(side, 0))
        self.engine.work.nodes += search.nodes
        if isinstance(found, Leaf | Branch):
            asked.prove_side(at, side, found, "branching")
        elif isinstance(found, np.ndarray):
            self.engine.try_counts(asked, found)
        return found is not None
