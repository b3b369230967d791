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
from showthrough.tables.linked.joint import Joint, expanded, joint_frame, pinned, relaxed
from showthrough.tables.linked.parts import LinkedParts, NestPart, PartBoxes
from showthrough.tables.linked.together import MOST_ENTRIES, Together
from showthrough.tables.linked.walk import NestStep, NestWalker
from showthrough.tables.proof import Node
from showthrough.tables.search.decider import Decider, Effort
from showthrough.tables.search.questions import REFUTED, VERIFIED, Answers, Asked
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.universe import Frame

__all__ = [
    "NestDecider",
    "PartState",
]

Counts = NDArray[np.int64]
Worlds = tuple[TypeCounts, ...]

#: Rows times classes of the one system of all parts that linear programs are made of.
MOST_TOGETHER = 400_000_000

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
                self._prove(state, self.decider_of(joint), joint)

    def _prove(self, state: PartState, decider: Decider, joint: Joint | None) -> None:
        """What cells and linear programs prove of the open questions; nothing is refuted."""
        which = np.flatnonzero(state.asked.open)
        answers = Answers.open(state.answers.words[which], state.answers.count[which])
        decider.prove(Asked(answers, state.asked.low[which], state.asked.high[which]))
        self.take_proofs(state, which, answers, joint)
        self.tally(decider)

    def take_proofs(self, state: PartState, which: Counts, answers: Answers, joint: Joint | None) -> None:
        """Settle the questions of a part that were proved, in the system of the part or in a joint one."""
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
        if left and self.entries(chosen) <= MOST_TOGETHER:
            Together(self, states, relaxed(self.linked, self.boxes, chosen, self.frame)).settle()

    def look_around(self, states: Sequence[PartState]) -> None:
        """Try the moves from the last world on whatever is open, and go there."""
        self.go_to(self.worlds[-1])
        self.walker.look(self.current, again=False)
        self.steps += 1
        for state in states:
            self._try_moves(states, state)

    def take_point(self, states: Sequence[PartState], joint: Joint, point: Counts) -> None:
        """Try a world, given by the class counts of some parts; the others are as they are."""
        firsts = joint.system.order[joint.system.starts[:-1]]
        world = self.changed(joint.split(TypeCounts.of_counts(firsts, point)))
        if self.agrees(world):
            self._try(states, world, self.keep(world))

    def _varying(self) -> list[int]:
        """The parts whose counts in the cells of the whole are not fixed by simple bounds."""
        return np.flatnonzero((self.boxes.high > self.boxes.low).any(axis=1)).tolist()

    def decider_of(self, joint: Joint) -> Decider:
        """A decider for the questions in a joint system, which starts at the current world."""
        return Decider(joint.system, self.effort, seed=self.seed, first=joint.joined(self.current))

    def _search(self, states: Sequence[PartState], state: PartState) -> None:
        """Everything there is, with more and more other parts."""
        for chosen in self._growing(state.part.number):
            if not state.asked.open.any() or self._searched > MOST_SEARCHED:
                return
            self._searched += self.entries(chosen)
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
            if self.entries(chosen) > MOST_ENTRIES and size > 1:
                return
            yield sorted(chosen)
            if size == n:
                return
            size = min(2 * size, n)

    def entries(self, chosen: Sequence[int]) -> int:
        """Rows times classes of some parts as one system."""
        systems = [self.linked.parts[at].system for at in chosen]
        n_rows = sum(len(system.rows) for system in systems) + len(self.linked.cells)
        return n_rows * sum(system.n_classes for system in systems)

    def _ask(self, states: Sequence[PartState], state: PartState, joint: Joint) -> None:
        """Ask about open questions in a joint system, and take what is true of the whole."""
        which = np.flatnonzero(state.asked.open)
        masks = unpack(state.answers.words[which], len(state.part.system.group)).astype(bool)
        decider = self.decider_of(joint)
        answers = decider.ask(pack(joint.lifted(state.part.number, masks)), state.answers.count[which])
        self.tally(decider)
        whole = len(joint.chosen) == len(self.linked.parts)
        if joint.boxes is not None:
            self.take_proofs(state, which, answers, joint)
            for at, number in enumerate(which.tolist()):
                if state.asked.open[number]:
                    state.answers.stage[number] = answers.stage[at] if whole else ""
        if not whole and joint.boxes is not None:
            return
        for number in np.unique(answers.witness[answers.state == REFUTED]).tolist():
            world = self.changed(joint.split(decider.pool[number]))
            if self.agrees(world):
                self._try(states, world, self.keep(world))

    def tally(self, decider: Decider) -> None:
        """Add up what was done."""
        work = decider.work
        self.steps += work.steps
        self.programs += work.programs
        self.nodes += work.nodes
        self.solves += work.solves


def state_of(part: NestPart, words: NDArray[np.uint64], count: Counts) -> PartState:
    """Questions about a part, given by packed masks, none of them decided."""
    masks = unpack(words, len(part.system.group)).astype(bool)
    return PartState(part, Asked(Answers.open(words, count), *part.system.spread(masks)))


#: What finds a first world of a nest.
Finder = Callable[[LinkedParts], Worlds]
