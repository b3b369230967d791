"""Deciding claims about the parts of a nest: datasets of the whole refute, cells of all parts prove.

Cheap means first. Moves within parts, alone or in pairs, make other datasets of the whole, and most false
claims fall to them. What is left is tried with the cells of the part alone; then with what the whole and
the other parts leave for it; then together with more and more other parts, in the end with all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED, pack, unpack
from showthrough.tables.linked.boxes import PartBoxes
from showthrough.tables.linked.cases import SparseSearch
from showthrough.tables.linked.joint import Joint, expanded, joint_frame, pinned, relaxed
from showthrough.tables.linked.parts import LinkedParts, NestPart
from showthrough.tables.linked.walk import NestStep, NestWalker
from showthrough.tables.proof import Node
from showthrough.tables.search.branch import Search
from showthrough.tables.search.decider import Decider, Effort
from showthrough.tables.search.prove import Rows, exact_leaf
from showthrough.tables.search.questions import REFUTED, VERIFIED, Answers, Asked
from showthrough.tables.search.solver import Program, Solution
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.universe import Frame

__all__ = [
    "NestDecider",
    "PartState",
]

Counts = NDArray[np.int64]
Worlds = tuple[TypeCounts, ...]

#: Rows times classes of the largest joint system that is made.
MOST_ENTRIES = 20_000_000

#: The same for the one system of all parts that linear programs are made of.
MOST_TOGETHER = 400_000_000

#: With fewer parts all of them are searched together at once.
FEW_PARTS = 8

#: Parts that a search nearby changes at most, and how often it is tried.
MOST_NEARBY, TRIES = 24, 3

#: Rows times classes of all joint systems that are searched.
MOST_SEARCHED = 400_000_000

#: Rounds of the walk that refute nothing before it ends.
IDLE = 4


@dataclass(eq=False)
class PartState:
    """The questions about one part, and which of them are proved by cells of the whole."""

    part: NestPart
    asked: Asked
    linked: set[int] = field(default_factory=set[int])
    ends: dict[tuple[int, int], Node] = field(default_factory=dict[tuple[int, int], Node])

    @property
    def answers(self) -> Answers:
        """What became of the questions."""
        return self.asked.answers

    def half(self, at: int, side: int, node: Node, stage: str) -> None:
        """One end is proved by cells among all; the question is settled when both are."""
        self.ends[at, side] = node
        if (at, -side) in self.ends:
            self.linked.add(at)
            self.asked.prove(at, self.ends[at, 1], self.ends[at, -1], stage)


class NestDecider:
    """Everything known about a nest while its claims are decided; worlds are records by part."""

    def __init__(
        self, linked: LinkedParts, frame: Frame, effort: Effort, *, seed: int, first: Worlds
    ) -> None:
        self.linked, self.effort, self.seed = linked, effort, seed
        self.frame = joint_frame(linked.nest, frame)
        self.walker = NestWalker(linked, seed)
        self.boxes = PartBoxes(linked)
        self.worlds: list[Worlds] = []
        self.current: Worlds = first
        self._above = [part.counted_above(w) for part, w in zip(linked.parts, self.current, strict=True)]
        self._total = np.sum(self._above, axis=0, dtype=np.int64)
        self._tried: list[set[int]] = [set() for _ in linked.parts]
        self.keep(self.current)
        self._add_unbounded()
        self._searched = 0
        self.steps = self.programs = self.nodes = self.solves = 0

    def keep(self, world: Worlds) -> int:
        """Add a world after counting it again; its number."""
        if not self.agrees(world):
            raise AssertionError("a world does not agree with the release")
        self.worlds.append(world)
        return len(self.worlds) - 1

    def agrees(self, world: Worlds) -> bool:
        """Whether a dataset has all published counts; parts that are as in the current one are known to."""
        above = self._total.copy()
        for at, part in enumerate(self.linked.parts):
            if world[at] is self.current[at] and self.worlds:
                continue
            counts = part.class_counts(world[at])
            if not part.system.allows(counts):
                return False
            above += part.counted(counts) - self._above[at]
        return bool((self.linked.low <= above).all() and (above <= self.linked.high).all())

    def _add_unbounded(self) -> None:
        """Classes that no published count limits can grow at will: one world shows it for all of them."""
        limited = self.linked.high < UNBOUNDED
        world = list(self.current)
        for at, part in enumerate(self.linked.parts):
            free = (part.system.most >= UNBOUNDED) & ~part.above[limited].any(axis=0)
            extra = part.system.order[part.system.starts[np.flatnonzero(free)]]
            if len(extra):
                world[at] = world[at].exchanged(np.zeros(0, np.int64), extra)
        if any(one is not other for one, other in zip(world, self.current, strict=True)):
            self.keep(tuple(world))

    def go_to(self, world: Worlds) -> None:
        """Make a world the current one."""
        for at, part in enumerate(self.linked.parts):
            if world[at] is not self.current[at]:
                self._total -= self._above[at]
                self._above[at] = part.counted_above(world[at])
                self._total += self._above[at]
        self.current = world

    def changed(self, changes: dict[int, TypeCounts]) -> Worlds:
        """The current world with some parts changed."""
        return tuple(changes.get(at, world) for at, world in enumerate(self.current))

    def wander(self, rounds: int) -> bool:
        """Some random steps in many parts at once; false if there is nowhere to go."""
        for _ in range(rounds):
            self.walker.look(self.current)
            self.steps += 1
            if not self._make(self.walker.drawn_steps()):
                return False
        return True

    def _make(self, steps: Sequence[NestStep]) -> bool:
        """Make steps that concern different parts; one by one where counts of the whole are intervals."""
        moved = False
        if not self.walker.loose and steps:
            changes: dict[int, TypeCounts] = {}
            for step in steps:
                changes |= self.walker.applied(step, self.current)
            world = self.changed(changes)
            if self.agrees(world):
                self.go_to(world)
                return True
        for step in steps:
            world = self.changed(self.walker.applied(step, self.current))
            if self.agrees(world):
                self.go_to(world)
                moved = True
        return moved

    def decide(self, states: Sequence[PartState]) -> None:
        """Decide the questions of all parts; what the effort does not settle stays open."""
        for number, world in enumerate(self.worlds):
            self._try(states, world, number)
        self._walk(states)
        for state in states:
            self._prove_alone(state)
        for state in states:
            self._prove_with_rest(state)
        self._walk(states)
        self._prove_together(states)
        for state in states:
            self._search(states, state)

    def _try(self, states: Sequence[PartState], world: Worlds, number: int) -> bool:
        """Refute what a world refutes, in every part."""
        found = False
        for state in states:
            mine = world[state.part.number]
            if id(mine) not in self._tried[state.part.number]:  # the arrays live as long as the worlds
                self._tried[state.part.number].add(id(mine))
                found |= state.asked.try_world(state.part.class_counts(mine), number)
        return found

    def _walk(self, states: Sequence[PartState]) -> None:
        """Wander until nothing falls any more."""
        idle = 0
        for _ in range(self.effort.steps):
            left = [state for state in states if state.asked.open.any()]
            if idle >= IDLE or not left:
                return
            self.walker.look(self.current)
            self.steps += 1
            fallen = [self._try_moves(states, state) for state in left]
            idle = 0 if any(fallen) else idle + 1
            if not self._make(self.walker.drawn_steps()):
                return

    def _try_moves(self, states: Sequence[PartState], state: PartState) -> bool:
        """Refute what single steps refute; each world kept refutes as many as possible."""
        part, asked = state.part.number, state.asked
        effects = self.walker.effects[part]
        possible = np.flatnonzero(self.walker.possible(part))
        if not len(possible) or not asked.open.any():
            return False
        which, hits = asked.hits(effects.old[possible], effects.new[possible])
        any_hit = False
        while True:
            per_move = hits.sum(axis=1)
            best = int(per_move.argmax())
            if not per_move[best]:
                return any_hit
            world = self._reached(part, int(possible[best]))
            if world is None:
                hits[best] = False
                continue
            any_hit = True
            self._try(states, world, self.keep(world))
            hits[:, ~asked.open[which]] = False
            hits[best] = False

    def _reached(self, part: int, move: int) -> Worlds | None:
        """The world after a move, with another part's move where one is needed."""
        for step in self.walker.steps(part, move):
            world = self.changed(self.walker.applied(step, self.current))
            if self.agrees(world):
                return world
        return None

    def _prove_alone(self, state: PartState) -> None:
        """By the cells of the part, and of the whole where they are published as zero."""
        if state.asked.open.any():
            first = self.current[state.part.number]
            decider = Decider(state.part.system, self.effort, seed=self.seed, first=first)
            self._prove(state, decider, None)

    def _prove_with_rest(self, state: PartState) -> None:
        """By what the whole and the other parts leave for it."""
        if state.asked.open.any() and len(self.linked.parts) > 1:
            joint = relaxed(self.linked, self.boxes, [state.part.number], self.frame)
            if len(joint.system.rows) > len(state.part.system.rows):
                self._prove(state, self._decider(joint), joint)

    def _prove(self, state: PartState, decider: Decider, joint: Joint | None) -> None:
        """What cells and linear programs prove of the open questions; nothing is refuted."""
        which = np.flatnonzero(state.asked.open)
        answers = Answers.open(state.answers.words[which], state.answers.count[which])
        decider.prove(Asked(answers, state.asked.low[which], state.asked.high[which]))
        self._take_proofs(state, which, answers, joint)
        self._tally(decider)

    def _take_proofs(self, state: PartState, which: Counts, answers: Answers, joint: Joint | None) -> None:
        for at, number in enumerate(which.tolist()):
            low, high = answers.at_least[at], answers.at_most[at]
            if answers.state[at] == VERIFIED and low is not None and high is not None:
                if joint is not None:
                    state.linked.add(number)
                    low, high = expanded(joint, low), expanded(joint, high)
                state.asked.prove(number, low, high, answers.stage[at])

    def _prove_together(self, states: Sequence[PartState]) -> None:
        """By linear programs over all parts that can exchange anything; whole points refute."""
        states = [state for state in states if state.part.system.n_classes]
        left = {state.part.number for state in states if state.asked.open.any()}
        chosen = [at for at in sorted(left | set(self._varying())) if self.linked.parts[at].system.n_classes]
        if not left or self._entries(chosen) > MOST_TOGETHER:
            return
        joint = relaxed(self.linked, self.boxes, chosen, self.frame)
        budget = self.effort.programs * len(states)
        program, near = (
            Program(joint.system, iterations=self.effort.iterations, budget=budget) for _ in range(2)
        )  # looking nearby leaves bounds behind, so it has a program of its own
        nearby = len(chosen) > FEW_PARTS
        for state in states:
            for at in np.flatnonzero(state.asked.open).tolist():
                several = ((self._by_program, program), (self._nearby, near), (self._by_cases, program))
                for settle, mine in several if nearby else several[:1]:
                    for side in (1, -1):
                        if state.asked.open[at] and (at, side) not in state.ends:
                            settle(states, state, at, side, joint, mine)

    def _by_program(
        self,
        states: Sequence[PartState],
        state: PartState,
        at: int,
        side: int,
        joint: Joint,
        program: Program,
    ) -> None:
        """One end of one question by one linear program."""
        goal, target = _goal(state, at, side, joint)
        self.programs += 1
        found = program.minimise(goal)
        if not isinstance(found, Solution):
            return
        if found.promises(target):
            leaf = exact_leaf(Rows(joint.system), found.multipliers, goal, target, floor=min(side, 0))
            if leaf is not None:
                state.half(at, side, expanded(joint, leaf), "linear")
            else:
                self._on_support(state, at, joint, found.multipliers)
            return
        point = found.integral(joint.system)
        if point is not None:
            self._take_point(states, joint, point)

    def _on_support(self, state: PartState, at: int, joint: Joint, multipliers: NDArray[np.float64]) -> None:
        """A proof that linear programs promise but that is not exact, by the parts that it is about."""
        used = np.flatnonzero(np.abs(multipliers) > 1e-7)
        names = joint.system.low_cell[used]
        cells = (-1 - names[names < 0]) // 2
        size = len(self.linked.nest.whole.low)
        named = {int(name) // size - 1 for name in names[names >= 0]}
        varying = (self.boxes.high > self.boxes.low)[:, cells].any(axis=1)
        chosen = sorted({state.part.number, *named, *np.flatnonzero(varying).tolist()})
        chosen = [one for one in chosen if self.linked.parts[one].system.n_classes]
        if self._entries(chosen) > MOST_ENTRIES:
            return
        smaller = relaxed(self.linked, self.boxes, chosen, self.frame)
        which = np.array([at])
        masks = unpack(state.answers.words[which], len(state.part.system.group)).astype(bool)
        lifted = smaller.lifted(state.part.number, masks)
        answers = Answers.open(pack(lifted), state.answers.count[which])
        decider = self._decider(smaller)
        decider.prove(Asked(answers, *smaller.system.spread(lifted)))
        self._take_proofs(state, which, answers, smaller)
        self._tally(decider)

    def _look_around(self, states: Sequence[PartState]) -> None:
        """Try the moves from the last world on whatever is open, and go there."""
        self.go_to(self.worlds[-1])
        self.walker.look(self.current)
        self.steps += 1
        for state in states:
            self._try_moves(states, state)

    def _take_point(self, states: Sequence[PartState], joint: Joint, point: Counts) -> None:
        """Try a world, given by the class counts of some parts; the others are as they are."""
        firsts = joint.system.order[joint.system.starts[:-1]]
        world = self.changed(joint.split(TypeCounts.of_counts(firsts, point)))
        if self.agrees(world):
            self._try(states, world, self.keep(world))

    def _nearby(
        self,
        states: Sequence[PartState],
        state: PartState,
        at: int,
        side: int,
        joint: Joint,
        program: Program,
    ) -> None:
        """A counterexample that changes few parts: those that the nearest relaxed one changes."""
        goal, target = _goal(state, at, side, joint)
        counts = joint.joined(self.current).added_up(joint.system.group, len(goal))
        for attempt in range(TRIES):
            if not state.asked.open[at]:
                return
            price = np.where(counts > 0, 0.05, 1.0) * (1 + self.walker.rng.random(len(counts)))
            most = np.where((counts > 0) & (attempt == 0), counts, np.inf)
            self.programs += 1
            near = program.cheapest(price, most, goal, target - 1)
            if near is None:
                continue
            moved = np.add.reduceat(np.abs(near - counts), joint.class_starts[:-1])
            moved[joint.chosen.index(state.part.number)] = np.inf
            order = np.argsort(-moved, kind="stable")[:MOST_NEARBY]
            chosen = sorted(joint.chosen[one] for one in order.tolist() if moved[one] > 1e-6)
            part = pinned(self.linked, self.current, chosen, self.frame)
            search = Search(
                Program(part.system, iterations=self.effort.iterations), self.effort.nodes // 10 + 1
            )
            found = search.run(*_goal(state, at, side, part))
            self.nodes += search.nodes
            if isinstance(found, np.ndarray):
                self._take_point(states, part, found)
                self._look_around(states)

    def _by_cases(
        self,
        states: Sequence[PartState],
        state: PartState,
        at: int,
        side: int,
        joint: Joint,
        program: Program,
    ) -> None:
        """A proof case by case over all parts, or a counterexample."""
        search = SparseSearch(program, self.effort.nodes // 10 + 1)
        found = search.run(*_goal(state, at, side, joint), floor=min(side, 0))
        self.nodes += search.nodes
        if isinstance(found, np.ndarray):
            self._take_point(states, joint, found)
            self._look_around(states)
        elif found is not None:
            state.half(at, side, expanded(joint, found), "branching")

    def _varying(self) -> list[int]:
        """The parts whose counts in the cells of the whole are not fixed by simple bounds."""
        return np.flatnonzero((self.boxes.high > self.boxes.low).any(axis=1)).tolist()

    def _decider(self, joint: Joint) -> Decider:
        return Decider(joint.system, self.effort, seed=self.seed, first=joint.joined(self.current))

    def _search(self, states: Sequence[PartState], state: PartState) -> None:
        """Everything there is, with more and more other parts."""
        for chosen in self._growing(state.part.number):
            if not state.asked.open.any() or self._searched > MOST_SEARCHED:
                return
            self._searched += self._entries(chosen)
            joint = relaxed(self.linked, self.boxes, chosen, self.frame)
            self._ask(states, state, joint)
            if state.asked.open.any() and len(chosen) < len(self.linked.parts):
                self._ask(states, state, pinned(self.linked, self.current, chosen, self.frame))

    def _growing(self, part: int) -> Iterator[list[int]]:
        """A part with 0, 1, 3, 7 … of those that have the most to exchange with it, as far as it goes."""
        n = len(self.linked.parts)
        varies = self.boxes.high > self.boxes.low
        shared = (varies & varies[part]).sum(axis=1)
        shared[part] = -1
        order = [part, *np.argsort(-shared, kind="stable").tolist()[: n - 1]]
        size = n if self.linked.size <= MOST_ENTRIES // 20 else 1
        while True:
            chosen = order[:size]
            if self._entries(chosen) > MOST_ENTRIES and size > 1:
                return
            yield sorted(chosen)
            if size == n:
                return
            size = min(2 * size, n)

    def _entries(self, chosen: Sequence[int]) -> int:
        """Rows times classes of some parts as one system."""
        systems = [self.linked.parts[at].system for at in chosen]
        n_rows = sum(len(system.rows) for system in systems) + len(self.linked.cells)
        return n_rows * sum(system.n_classes for system in systems)

    def _ask(self, states: Sequence[PartState], state: PartState, joint: Joint) -> None:
        """Ask about open questions in a joint system, and take what is true of the whole."""
        which = np.flatnonzero(state.asked.open)
        masks = unpack(state.answers.words[which], len(state.part.system.group)).astype(bool)
        decider = self._decider(joint)
        answers = decider.ask(pack(joint.lifted(state.part.number, masks)), state.answers.count[which])
        self._tally(decider)
        whole = len(joint.chosen) == len(self.linked.parts)
        if joint.boxes is not None:
            self._take_proofs(state, which, answers, joint)
            for at, number in enumerate(which.tolist()):
                if state.asked.open[number]:
                    state.answers.stage[number] = answers.stage[at] if whole else ""
        if not whole and joint.boxes is not None:
            return
        for number in np.unique(answers.witness[answers.state == REFUTED]).tolist():
            world = self.changed(joint.split(decider.pool[number]))
            if self.agrees(world):
                self._try(states, world, self.keep(world))

    def _tally(self, decider: Decider) -> None:
        work = decider.work
        self.steps += work.steps
        self.programs += work.programs
        self.nodes += work.nodes
        self.solves += work.solves


def _goal(state: PartState, at: int, side: int, joint: Joint) -> tuple[Counts, int]:
    """What to minimise over the classes of a joint system to prove one end of a question."""
    own, target = state.asked.goal(at, side)
    goal = np.zeros(joint.system.n_classes, np.int64)
    start = joint.class_starts[joint.chosen.index(state.part.number)]
    goal[start : start + len(own)] = own
    return goal, target


def state_of(part: NestPart, words: NDArray[np.uint64], count: Counts) -> PartState:
    """Questions about a part, given by packed masks, none of them decided."""
    masks = unpack(words, len(part.system.group)).astype(bool)
    return PartState(part, Asked(Answers.open(words, count), *part.system.spread(masks)))


#: What finds a first world of a nest.
Finder = Callable[[LinkedParts], Worlds]
