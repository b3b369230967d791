"""All parts of a nest in one linear program: its duals prove, datasets near the current one refute.

Proofs by cases branch over all parts at once, with systems that are large but have few entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, hstack, vstack

from showthrough.release import UNBOUNDED, pack, unpack
from showthrough.tables.linked.joint import Joint, expanded, pinned, relaxed
from showthrough.tables.proof import Leaf
from showthrough.tables.search.branch import Search, combine
from showthrough.tables.search.prove import Rows, exact_leaf, exact_numerators
from showthrough.tables.search.questions import Answers, Asked
from showthrough.tables.search.solver import Inequalities, Program, Solution

if TYPE_CHECKING:
    from showthrough.tables.linked.decide import NestDecider, PartState

__all__ = [
    "OpenEnd",
    "SparseSearch",
    "Together",
]

Counts = NDArray[np.int64]

#: Rows times classes of the largest joint system that is made for one part.
MOST_ENTRIES = 20_000_000

#: With fewer parts all of them are searched together at once.
FEW_PARTS = 8

#: Parts that a search nearby changes at most, and how often it is tried.
MOST_NEARBY, TRIES = 24, 3


class SparseSearch(Search):
    """The same search; that a case cannot be is shown without making the rows dense."""

    def _infeasible_leaf(self, rows: Rows, goal: Counts, target: int) -> Leaf | None:
        ray = _violations(rows)
        found = None if ray is None else exact_numerators(rows, ray, np.zeros_like(goal), 1)
        return None if found is None else combine(rows, *found, goal, target, self._floor)


def _violations(rows: Rows) -> NDArray[np.float64] | None:
    """Multipliers that show that no point satisfies all rows, by paying 1 per unit of violation."""
    low, high, n = rows.low(), rows.high(), rows.system.n_classes
    at = [cut.at for cut in rows.cuts]
    cuts = csr_array((np.ones(len(at)), (np.arange(len(at)), at)), shape=(len(at), n))
    matrix = vstack([csr_array(rows.system.sparse, dtype=float), cuts]) if at else rows.system.sparse
    m = len(low)
    cost = np.concatenate([np.zeros(n), np.ones(2 * m)])
    program = Inequalities(cost, np.zeros(len(cost)), np.full(len(cost), np.inf))
    whole = csr_array(hstack([matrix, eye_array(m), -eye_array(m)]), dtype=float)
    program.add(whole, low.astype(float), np.where(high >= UNBOUNDED, np.inf, high.astype(float)))
    found = program.solve()
    return None if found is None or found.value < 1e-7 else found.multipliers


@dataclass(frozen=True, eq=False)
class OpenEnd:
    """One end of one question about a part: 1 is the lower end, −1 the upper one."""

    state: PartState
    at: int
    side: int

    @property
    def open(self) -> bool:
        """Whether it is still to be settled."""
        return bool(self.state.asked.open[self.at]) and (self.at, self.side) not in self.state.ends

    @property
    def floor(self) -> int:
        """The least that a class can add to the goal."""
        return min(self.side, 0)

    def goal(self, joint: Joint) -> tuple[Counts, int]:
        """What to minimise over the classes of a joint system to prove it: Σ goal ≥ target."""
        own, target = self.state.asked.goal(self.at, self.side)
        goal = np.zeros(joint.system.n_classes, np.int64)
        start = joint.class_starts[joint.chosen.index(self.state.part.number)]
        goal[start : start + len(own)] = own
        return goal, target


class Together:
    """Settles questions of some parts in one system of all of them, on behalf of a decider of the nest.

    Parameters
    ----------
    search
        The decider, whose worlds, limits and tallies are used.
    states
        The questions of the parts.
    joint
        All parts that can exchange anything.
    """

    def __init__(self, search: NestDecider, states: Sequence[PartState], joint: Joint) -> None:
        self.search, self.states, self.joint = search, states, joint

    @cached_property
    def _program(self) -> Program:
        effort = self.search.effort
        budget = effort.programs * len(self.states)
        return Program(self.joint.system, iterations=effort.iterations, budget=budget)

    @cached_property
    def _near(self) -> Program:
        """A program of its own: looking nearby leaves bounds behind."""
        effort = self.search.effort
        budget = effort.programs * len(self.states)
        return Program(self.joint.system, iterations=effort.iterations, budget=budget)

    def settle(self) -> None:
        """Settle what can be; where there are many parts also by looking nearby, and case by case."""
        ways = (self._by_program, self._nearby, self._by_cases)
        ways = ways if len(self.joint.chosen) > FEW_PARTS else ways[:1]
        for state in self.states:
            for at in np.flatnonzero(state.asked.open).tolist():
                ends = [OpenEnd(state, at, side) for side in (1, -1)]
                for way in ways:
                    for end in ends:
                        if end.open:
                            way(end)

    def _by_program(self, end: OpenEnd) -> None:
        """By one linear program."""
        joint, (goal, target) = self.joint, end.goal(self.joint)
        self.search.programs += 1
        found = self._program.minimise(goal)
        if not isinstance(found, Solution):
            return
        if not found.promises(target):
            point = found.integral(joint.system)
            if point is not None:
                self.search.take_point(self.states, joint, point)
            return
        leaf = exact_leaf(Rows(joint.system), found.multipliers, goal, target, floor=end.floor)
        if leaf is None:
            self._on_support(end, found.multipliers)
        else:
            end.state.half(end.at, end.side, expanded(joint, leaf), "linear")

    def _on_support(self, end: OpenEnd, multipliers: NDArray[np.float64]) -> None:
        """A proof that linear programs promise but that is not exact, by the parts that it is about."""
        search, state, which = self.search, end.state, np.array([end.at])
        chosen = self._parts_of(end, multipliers)
        if search.entries(chosen) > MOST_ENTRIES:
            return
        smaller = relaxed(search.linked, search.boxes, chosen, search.frame)
        masks = unpack(state.answers.words[which], len(state.part.system.group)).astype(bool)
        lifted = smaller.lifted(state.part.number, masks)
        answers = Answers.open(pack(lifted), state.answers.count[which])
        decider = search.decider_of(smaller)
        decider.prove(Asked(answers, *smaller.system.spread(lifted)))
        search.take_proofs(state, which, answers, smaller)
        search.tally(decider)

    def _parts_of(self, end: OpenEnd, multipliers: NDArray[np.float64]) -> list[int]:
        """The parts that multipliers are about: by their own cells, or by those in which they vary."""
        search = self.search
        names = self.joint.system.low_cell[np.abs(multipliers) > 1e-7]
        cells = (-1 - names[names < 0]) // 2
        named = {int(name) // len(search.linked.nest.whole.low) - 1 for name in names[names >= 0]}
        varying = (search.boxes.high > search.boxes.low)[:, cells].any(axis=1)
        chosen = sorted({end.state.part.number, *named, *np.flatnonzero(varying).tolist()})
        return [one for one in chosen if search.linked.parts[one].system.n_classes]

    def _nearby(self, end: OpenEnd) -> None:
        """A counterexample that changes few parts: those that the nearest relaxed one changes."""
        search, joint, (goal, target) = self.search, self.joint, end.goal(self.joint)
        counts = joint.joined(search.current).added_up(joint.system.group, len(goal))
        for attempt in range(TRIES):
            if not end.open:
                return
            price = np.where(counts > 0, 0.05, 1.0) * (1 + search.walker.rng.random(len(counts)))
            most = np.where((counts > 0) & (attempt == 0), counts, np.inf)
            search.programs += 1
            near = self._near.cheapest(price, most, goal, target - 1)
            if near is not None:
                self._rearranged(end, np.abs(near - counts))

    def _rearranged(self, end: OpenEnd, changes: NDArray[np.float64]) -> None:
        """Look for a counterexample in the parts that change most."""
        search, joint = self.search, self.joint
        moved = np.add.reduceat(changes, joint.class_starts[:-1])
        moved[joint.chosen.index(end.state.part.number)] = np.inf
        order = np.argsort(-moved, kind="stable")[:MOST_NEARBY]
        chosen = sorted(joint.chosen[one] for one in order.tolist() if moved[one] > 1e-6)
        part = pinned(search.linked, search.current, chosen, search.frame)
        program = Program(part.system, iterations=search.effort.iterations)
        self._take(end, Search(program, search.effort.nodes // 10 + 1), part)

    def _by_cases(self, end: OpenEnd) -> None:
        """A proof case by case over all parts, or a counterexample."""
        self._take(end, SparseSearch(self._program, self.search.effort.nodes // 10 + 1), self.joint)

    def _take(self, end: OpenEnd, cases: Search, joint: Joint) -> None:
        """What a search finds in a system: a counterexample, or in the one of all parts a proof."""
        found = cases.run(*end.goal(joint), floor=end.floor)
        self.search.nodes += cases.nodes
        if isinstance(found, np.ndarray):
            self.search.take_point(self.states, joint, found)
            self.search.look_around(self.states)
        elif found is not None and joint is self.joint:
            end.state.half(end.at, end.side, expanded(joint, found), "branching")
