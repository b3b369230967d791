"""Deciding questions about one area: worlds refute, multipliers prove, the solver only searches.

A *question* is a mask over record types and a count m: do all worlds have exactly m records in the
mask? :meth:`Engine.ask` answers many at once; every world found on the way is tried on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.audit.proof import Branch, Leaf, Node
from showthrough.audit.prove import (
    Algebra,
    Program,
    Rows,
    Search,
    Solution,
    exact_leaf,
    exact_numerators,
    integral,
    lifted_leaf,
)
from showthrough.audit.solver import find_counts
from showthrough.audit.system import Lemma, System, sub_system
from showthrough.audit.worlds import Moves, Walker
from showthrough.errors import Undecided
from showthrough.release import UNBOUNDED, unpack

__all__ = ["Answers", "Effort", "Engine"]

Counts = NDArray[np.int64]
Types = NDArray[np.int64]

UNDECIDED, VERIFIED, REFUTED = 0, 1, 2

#: Idle steps after which the walk also looks for moves of four records.
_PATIENCE = 4

#: Records freed in a local search, at least.
_PART = 8

#: Branches for one local search.
_PART_NODES = 16

#: LPs spent on finding classes that are always empty.
_MOST_REDUCTIONS = 40

#: Above so many classes not seen yet, an interior point is worth its price.
_FEW_UNSEEN = 40

#: Questions × types looked at together.
_MOST_ENTRIES = 50_000_000


@dataclass(frozen=True)
class Effort:
    """Limits on work, counted and not timed, so that results do not depend on the machine.

    ``types``: record types; ``idle_steps`` and ``steps``: of the walk, without success and in all;
    ``iterations``: simplex iterations of one LP; ``nodes``: branches for one question; ``tries``:
    local searches for one question; ``solver``:
    the solver's own work units for one question; ``programs`` and ``solvers``: for the whole area,
    the former in simplex iterations × size.
    """

    types: int = 100_000
    idle_steps: int = 12
    steps: int = 400
    iterations: int = 20_000
    nodes: int = 300
    tries: int = 48
    solver: float = 4.0
    programs: float = 1e9
    solvers: float = 60.0

    @classmethod
    def of(cls, scale: float) -> Effort:
        """The standard limits times a factor.

        >>> Effort.of(2).nodes
        600
        """
        base = cls()
        return cls(
            types=int(base.types * max(scale, 1)),
            idle_steps=max(1, int(base.idle_steps * scale)),
            steps=max(1, int(base.steps * scale)),
            iterations=max(100, int(base.iterations * scale)),
            nodes=max(1, int(base.nodes * scale)),
            tries=max(1, int(base.tries * scale)),
            solver=base.solver * scale,
            programs=base.programs * scale,
            solvers=base.solvers * scale,
        )


class Infeasible(Exception):
    """A proof that no dataset agrees."""

    def __init__(self, node: Node) -> None:
        self.node = node
        super().__init__()


@dataclass(eq=False)
class Answers:
    """Per question a state, proofs of both ends, the world that refutes it, and what decided."""

    words: NDArray[np.uint64]
    count: Counts
    state: NDArray[np.int8]
    stage: list[str]
    at_least: list[Node | None]
    at_most: list[Node | None]
    witness: NDArray[np.int64]

    @classmethod
    def open(cls, words: NDArray[np.uint64], count: Counts) -> Answers:
        """Nothing decided yet."""
        n = len(words)
        return cls(
            words,
            count,
            np.zeros(n, np.int8),
            [""] * n,
            [None] * n,
            [None] * n,
            np.full(n, -1, np.int64),
        )

    def part(self, start: int, stop: int) -> Answers:
        """Some of the answers, in order."""
        return Answers(
            self.words[start:stop],
            self.count[start:stop],
            self.state[start:stop],
            self.stage[start:stop],
            self.at_least[start:stop],
            self.at_most[start:stop],
            self.witness[start:stop],
        )

    @classmethod
    def joined(cls, parts: Sequence[Answers]) -> Answers:
        """Parts as one, in order."""
        return cls(
            np.concatenate([part.words for part in parts]),
            np.concatenate([part.count for part in parts]),
            np.concatenate([part.state for part in parts]),
            [stage for part in parts for stage in part.stage],
            [node for part in parts for node in part.at_least],
            [node for part in parts for node in part.at_most],
            np.concatenate([part.witness for part in parts]),
        )


@dataclass
class Work:
    """What was done, in counts."""

    steps: int = 0
    programs: int = 0
    nodes: int = 0
    solves: int = 0
    stages: dict[str, int] = field(default_factory=dict[str, int])


class Engine:
    """Everything known about one area while it is decided."""

    def __init__(self, system: System, effort: Effort, *, seed: int, first: Types | None) -> None:
        self.system = system
        self.effort = effort
        self.seed = seed
        self.work = Work()
        self.pool: list[Types] = []
        self.walker = Walker(system, seed)
        self._solver_effort = 0.0
        self._reached = np.zeros(system.n_classes + 1, bool)
        self._at = self._first_world() if first is None else np.sort(first)
        self.keep(self._at)
        self._add_unbounded()

    @cached_property
    def program(self) -> Program:
        """The area's LP, made when first needed."""
        return Program(self.system, iterations=self.effort.iterations, budget=self.effort.programs)

    @cached_property
    def _algebra(self) -> Algebra:
        return Algebra(self.system)

    def keep(self, world: Types) -> int:
        """Add a world to the pool after counting it again; its number."""
        if not self.system.allows(self.class_counts(world)):
            raise AssertionError("a world does not agree with the release")
        self.pool.append(world)
        return len(self.pool) - 1

    def class_counts(self, world: Types) -> Counts:
        """How many records of a world are in each class."""
        return np.bincount(self.system.group[world], minlength=self.system.n_classes)

    def world_of(self, counts: Counts) -> Types:
        """A world with these class counts, made of the first type of each class."""
        firsts = self.system.order[self.system.starts[:-1]]
        return np.sort(np.repeat(firsts, counts))

    def _first_world(self) -> Types:
        """Any world: the LP's if integral, else the solver's, else by branching."""
        nothing = np.zeros(self.system.n_classes, np.int64)
        if self.system.allows(nothing):
            return self.world_of(nothing)
        self.work.programs += 1
        found = self.program.minimise(nothing)
        if isinstance(found, Solution):
            point = integral(self.system, found.point)
            if point is not None:
                return self.world_of(point)
            self.work.solves += 1
            counts = find_counts(self.system, seed=self.seed, effort=self.effort.solver * 10)
            if isinstance(counts, np.ndarray):
                return self.world_of(counts)
        search = Search(self.program, self.effort.nodes * 10)
        node = search.run(nothing, 1)
        self.work.nodes += search.nodes
        if isinstance(node, np.ndarray):
            return self.world_of(node)
        if isinstance(node, Leaf | Branch):
            raise Infeasible(node)
        raise Undecided(
            "no dataset was found within the effort, and none was shown not to exist; raise --effort"
        )

    def _add_unbounded(self) -> None:
        """Classes no published count limits can grow at will: one world shows it for all of them."""
        free = np.flatnonzero(self.system.most >= UNBOUNDED)
        if len(free):
            extra = self.system.order[self.system.starts[free]]
            self.keep(np.sort(np.concatenate([self.pool[0], extra])))

    def reduce(self) -> None:
        """Take out the classes that are empty in every world, as far as one LP argument shows it.

        Maximising the records in classes not seen so far either finds points that have some, or
        shows that there are none: then the duals are a proof for all of them at once. What is left
        is the affine hull of the polytope, so that a mask has a constant count there exactly if it
        is a combination of exact rows, which algebra finds without any further LP.
        """
        unseen = ~self._reached[:-1]
        for world in self.pool:
            unseen[self.system.group[world]] = False
        if unseen.sum() > _FEW_UNSEEN:
            self.work.programs += 1
            centre = self.program.centre()
            unseen &= True if centre is None else centre < 1e-6
        for _ in range(_MOST_REDUCTIONS):
            if not unseen.any() or not self.system.exact.any():
                return
            goal = -unseen.astype(np.int64)
            self.work.programs += 1
            found = self.program.minimise(goal)
            if not isinstance(found, Solution):
                return
            if found.value > -1e-7:
                self._take_out(unseen, goal, found)
                return
            point = integral(self.system, found.point)
            if point is not None:
                self.keep(self.world_of(point))
            unseen &= found.point < 1e-9

    def _take_out(self, classes: NDArray[np.bool_], goal: Counts, found: Solution) -> None:
        rows = Rows(self.system)
        proved = exact_numerators(rows, found.multipliers, goal, 0)
        if proved is None:
            return
        leaf = rows.leaf(*proved, 0)
        if sum(u * int(self.system.release.low[at]) for at, u in leaf.cells) or any(
            self.system.release.low[at] != self.system.release.high[at] for at, _ in leaf.cells
        ):
            return  # only a total of exactly 0 can be added for free
        lemma = Lemma(self.system.rows[:, classes], proved[0], proved[1])
        self.system, number = self.system.without(classes, lemma)
        self.pool = [np.sort(number[world]) for world in self.pool]
        self._at = np.sort(number[self._at])
        self.walker = Walker(self.system, self.seed)
        self.__dict__.pop("program", None)

    def ask(self, words: NDArray[np.uint64], count: Counts) -> Answers:
        """Decide questions, given by packed masks; what the effort does not settle stays open.

        Many questions over many types are taken in parts that fit in memory.
        """
        size = max(1, _MOST_ENTRIES // max(1, len(self.system.group)))
        parts = [
            self._ask(words[start : start + size], count[start : start + size])
            for start in range(0, len(words), size)
        ]
        answers = Answers.joined(parts) if parts else Answers.open(words, count)
        for stage in answers.stage:
            self.work.stages[stage] = self.work.stages.get(stage, 0) + 1
        return answers

    def _ask(self, words: NDArray[np.uint64], count: Counts) -> Answers:
        answers = Answers.open(words, count)
        masks = unpack(words, len(self.system.group)).astype(bool)
        asked = _Asked(answers, *self.system.spread(masks))
        for number, world in enumerate(self.pool):
            asked.try_world(self.class_counts(world), number)
        self._walk(asked)
        self._prove_by_cells(asked)
        self._prove_by_tables(asked)
        self._prove_by_algebra(asked)
        self._prove_by_programs(asked)
        self._search(asked)
        return answers

    def _walk(self, asked: _Asked) -> None:
        """Wander until nothing falls any more."""
        idle = 0
        for _ in range(self.effort.steps):
            if idle >= self.effort.idle_steps or not asked.open.any():
                break
            self.work.steps += 1
            moves = self.walker.moves(self._at)
            if idle >= _PATIENCE:
                moves = Moves.joined([moves, self.walker.double_moves(self._at)])
            if not len(moves):
                break
            idle = 0 if self._try_moves(asked, moves) else idle + 1
            self._at = moves.apply(int(self.walker.rng.integers(len(moves))), self._at)

    def wander(self, steps: int) -> bool:
        """Some random steps; false if there is nowhere to go."""
        for _ in range(steps):
            moves = self.walker.moves(self._at)
            if not len(moves):
                return False
            self.work.steps += 1
            self._reached[self.walker.group[moves.into]] = True
            self._at = moves.apply(int(self.walker.rng.integers(len(moves))), self._at)
        return True

    @property
    def here(self) -> Types:
        """The world the walk stands in."""
        return self._at

    def _try_moves(self, asked: _Asked, moves: Moves) -> bool:
        """Refute what single moves refute; each world kept refutes as many as possible."""
        old = self.walker.classes_out(moves, self._at)
        new = self.walker.group[moves.into]
        which, hits = asked.hits(old, new)
        any_hit = False
        while True:
            per_move = hits.sum(axis=1)
            best = int(per_move.argmax())
            if not per_move[best]:
                return any_hit
            any_hit = True
            number = self.keep(moves.apply(best, self._at))
            fallen = hits[best].copy()
            asked.refute(which[fallen], number)
            hits[:, fallen] = False

    def _prove_by_cells(self, asked: _Asked) -> None:
        """Questions that one exact row answers."""
        system = self.system
        rows = {
            row.astype(np.uint8).tobytes(): at
            for at, row in reversed(list(enumerate(system.rows)))
            if system.exact[at]
        }
        for at in np.flatnonzero(asked.open & asked.whole):
            row = rows.get(asked.low[at].tobytes())
            if row is not None:
                multipliers = np.zeros(len(system.rows), np.int64)
                multipliers[row] = 1
                self._equal(asked, int(at), multipliers, "cell")

    def _prove_by_tables(self, asked: _Asked) -> None:
        """Questions whose mask is a sum of cells of one table: the shortest proofs to read."""
        system = self.system
        which = np.flatnonzero(asked.open & asked.whole)
        if not len(which) or not system.exact.any():
            return
        masks = asked.low[which].astype(np.float32)
        rows = system.rows.astype(np.float32)
        inside = rows @ (1 - masks).T == 0  # row × question
        left = np.ones(len(which), bool)
        for chosen in system.exact_rows_by_table:
            part = inside[chosen][:, left].astype(np.float32)
            whole = (part.T @ rows[chosen] == masks[left]).all(axis=1)
            for at in np.flatnonzero(left)[whole]:
                multipliers = np.zeros(len(rows), np.int64)
                multipliers[chosen[inside[chosen, at]]] = 1
                self._equal(asked, int(which[at]), multipliers, "algebra")
                left[at] = False

    def _prove_by_algebra(self, asked: _Asked) -> None:
        """Questions whose mask is a combination of exact rows."""
        which = np.flatnonzero(asked.open & asked.whole)
        if not len(which) or not self.system.exact.any():
            return
        combinations = self._algebra.combinations(asked.low[which])
        whole = np.rint(combinations)
        exact = (whole @ self.system.floats == asked.low[which]).all(axis=1)
        for at, multipliers in zip(which[exact], whole[exact].astype(np.int64), strict=True):
            self._equal(asked, int(at), multipliers, "algebra")
        which, combinations = which[~exact], combinations[~exact]
        spanned = self._algebra.spanned(asked.low[which], combinations)
        for at, multipliers in zip(which[spanned], combinations[spanned], strict=True):
            self._nearly_equal(asked, int(at), multipliers)

    def _equal(self, asked: _Asked, at: int, multipliers: Counts, stage: str) -> None:
        """Integer multipliers of exact rows that add up to the mask prove both ends."""
        if int(multipliers @ self.system.low) != asked.answers.count[at]:
            raise AssertionError("multipliers that add up to the mask must add up to its count")
        rows = Rows(self.system)
        lower = lifted_leaf(rows, multipliers, 1, 0)
        upper = lifted_leaf(rows, -multipliers, 1, -1)
        if lower is not None and upper is not None:
            asked.prove(at, lower, upper, stage)

    def _nearly_equal(self, asked: _Asked, at: int, multipliers: NDArray[np.float64]) -> None:
        """The same for multipliers with denominators."""
        rows, m = Rows(self.system), int(asked.answers.count[at])
        mask = asked.low[at].astype(np.int64)
        lower = exact_leaf(rows, multipliers, mask, m, floor=0)
        upper = exact_leaf(rows, -multipliers, -mask, -m, floor=-1)
        if lower is not None and upper is not None:
            asked.prove(at, lower, upper, "algebra")

    def _prove_by_programs(self, asked: _Asked) -> None:
        """Both ends by LP duals; integral optima are worlds."""
        for side in (1, -1):
            for at in np.flatnonzero(asked.open):
                if asked.open[at]:
                    self._program(asked, int(at), side)

    def _program(self, asked: _Asked, at: int, side: int) -> None:
        goal, target = asked.goal(at, side)
        if asked.has(at, side) or self.program.spent:
            return
        floor = min(side, 0)
        if target <= 0 and goal.min(initial=0) >= 0:  # nothing to show but on what was taken out
            leaf = lifted_leaf(Rows(self.system), np.zeros(len(self.system.rows), np.int64), 1, floor)
            if leaf is not None:
                asked.prove_side(at, side, leaf, "linear")
            return
        self.work.programs += 1
        found = self.program.minimise(goal)
        if not isinstance(found, Solution):
            return
        if found.value > target - 1 + 1e-6:
            leaf = exact_leaf(Rows(self.system), found.multipliers, goal, target, floor=floor)
            if leaf is not None:
                asked.prove_side(at, side, leaf, "linear")
            return
        point = integral(self.system, found.point)
        if point is not None:
            self._try_counts(asked, point)

    def _try_counts(self, asked: _Asked, counts: Counts) -> None:
        world = self.world_of(counts)
        number = len(self.pool)
        if asked.try_world(counts, number):
            self.keep(world)
            self._at = world

    def _search(self, asked: _Asked) -> None:
        """What is left: counterexamples nearby, first a little for every question and then more;
        then proofs or counterexamples by branching and by the solver.
        """
        for tries in (self.effort.tries // 3, self.effort.tries):
            for at, side in self._left(asked):
                self._search_locally(asked, at, side, tries)
        for at, side in self._left(asked):
            self._search_side(asked, at, side)

    def _left(self, asked: _Asked) -> Iterator[tuple[int, int]]:
        """Questions and ends that are still open when their turn comes."""
        for at in np.flatnonzero(asked.open):
            for side in (1, -1):
                if asked.open[at] and not asked.has(int(at), side) and not self.program.spent:
                    yield int(at), side

    def _search_side(self, asked: _Asked, at: int, side: int) -> None:
        """A few branches, then the solver for a counterexample, then branching in earnest."""
        goal, target = asked.goal(at, side)
        if self._branch(asked, at, side, max(1, self.effort.nodes // 10)) or not asked.open[at]:
            return
        if self._solver_effort > self.effort.solvers:
            return
        self.work.solves += 1
        counts = self.program.integers_below(goal, target - 1, nodes=self.effort.nodes)
        if counts is not None:
            self._try_counts(asked, counts)
            self._look_around(asked)
            return
        self._solver_effort += self.effort.solver
        counts = find_counts(
            self.system,
            hint=self.class_counts(self._at),
            goal=goal,
            low=int(goal.clip(max=0) @ np.minimum(self.system.most, 2**31)),
            high=target - 1,
            seed=self.seed,
            effort=self.effort.solver,
        )
        if isinstance(counts, np.ndarray):
            self._try_counts(asked, counts)
        elif not self._branch(asked, at, side, self.effort.nodes) and counts == "infeasible":
            asked.answers.stage[at] = "solver only"

    def _search_locally(self, asked: _Asked, at: int, side: int, tries: int) -> None:
        """Free some records of the current world and look for others with the same counts but
        another number in the mask.

        Every other time the records freed are those that the LP's optimum does without.
        """
        if len(self._at) < _PART:
            return
        goal, _ = asked.goal(at, side)
        self.work.programs += 1
        best = self.program.minimise(goal)
        wanted = best.point if isinstance(best, Solution) else None
        mask = (asked.low[at] > 0)[self.system.group]
        for attempt in range(tries):
            chosen = self._some_records(mask, side, attempt, wanted)
            counts = self._rearranged(chosen, goal)
            if counts is not None:
                self._try_counts(asked, counts)
                if not asked.open[at]:
                    self._look_around(asked)
                    return
            elif attempt % 25 == 24:
                self._at = self.pool[int(self.walker.rng.integers(len(self.pool)))]

    def _look_around(self, asked: _Asked) -> None:
        """Try the moves from a world just found on whatever is still open."""
        moves = self.walker.moves(self._at)
        if len(moves) and asked.open.any():
            self.work.steps += 1
            self._try_moves(asked, moves)

    def _some_records(
        self, mask: NDArray[np.bool_], side: int, attempt: int, wanted: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        """Positions of records to free: at random, one of them in the mask, or guided by the LP."""
        rng, n = self.walker.rng, len(self._at)
        size = min(n, _PART + 4 * (attempt % 6) + attempt // 8)
        chosen = rng.choice(n, size, replace=False)
        if wanted is not None and attempt % 2 == 0:
            surplus = self.class_counts(self._at) - wanted
            leaving = np.flatnonzero(surplus[self.system.group[self._at]] > 1e-6)
            rng.shuffle(leaving)
            return np.unique(np.concatenate([leaving[: 3 * _PART], chosen[: 4 * (attempt // 2 % 6)]]))
        matching = np.flatnonzero(mask[self._at])
        if len(matching) and side > 0:
            chosen[0] = rng.choice(matching)
        return np.unique(chosen)

    def _rearranged(self, chosen: NDArray[np.int64], goal: Counts) -> Counts | None:
        """The current world with the chosen records replaced so that Σ goal gets smaller."""
        whole = self.class_counts(self._at)
        freed = self.class_counts(self._at[chosen])
        part = sub_system(self.system, whole - freed)
        inner = goal[part.classes]
        if not inner.any():
            return None
        self.work.programs += 1
        search = Search(Program(part.system, iterations=2000), _PART_NODES)
        point = search.run(inner, int(goal @ freed))
        if not isinstance(point, np.ndarray):
            return None
        counts = whole - freed
        counts[part.classes] += point
        return counts

    def _branch(self, asked: _Asked, at: int, side: int, nodes: int) -> bool:
        """Branch for a proof or a counterexample; whether the question's end was settled."""
        search = Search(self.program, nodes)
        found = search.run(*asked.goal(at, side), floor=min(side, 0))
        self.work.nodes += search.nodes
        if isinstance(found, Leaf | Branch):
            asked.prove_side(at, side, found, "branching")
        elif isinstance(found, np.ndarray):
            self._try_counts(asked, found)
        return found is not None


@dataclass(eq=False)
class _Asked:
    """Questions at the level of classes: ``low`` is 1 where all types of a class match, ``high``
    where any does. Where they differ, a record of that class can be moved in and out of the mask.
    """

    answers: Answers
    low: NDArray[np.uint8]
    high: NDArray[np.uint8]

    def __post_init__(self) -> None:
        self.open = np.ones(len(self.low), bool)
        self.whole = (self.low == self.high).all(axis=1)
        self._compact()

    def _compact(self) -> None:
        """Class × open question, so that looking up a move's classes touches whole rows."""
        self._kept = np.flatnonzero(self.open)
        nobody = np.zeros((1, len(self._kept)), np.int8)
        self._by_class = np.vstack([self.low[self._kept].T, nobody]).astype(np.int8)
        split = (self.low[self._kept] != self.high[self._kept]).T
        self._split = np.vstack([split, nobody.astype(bool)])

    def goal(self, at: int, side: int) -> tuple[Counts, int]:
        """What to minimise to prove one end: Σ goal ≥ target."""
        m = int(self.answers.count[at])
        if side > 0:
            return self.low[at].astype(np.int64), m
        return -self.high[at].astype(np.int64), -m

    def has(self, at: int, side: int) -> bool:
        """Whether one end is proved already."""
        return (self.answers.at_least if side > 0 else self.answers.at_most)[at] is not None

    def try_world(self, counts: Counts, number: int) -> bool:
        """Refute every open question on which a world with these class counts can differ."""
        which = np.flatnonzero(self.open)
        if not len(which):
            return False
        occupied = np.flatnonzero(counts)
        low = self.low[np.ix_(which, occupied)]
        split = (low != self.high[np.ix_(which, occupied)]).any(axis=1)
        fallen = split | (low.astype(np.float64) @ counts[occupied] != self.answers.count[which])
        self.refute(which[fallen], number)
        return bool(fallen.any())

    def hits(
        self, old: NDArray[np.int64], new: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Open questions, and move × question: whether the world after the move refutes it."""
        if self.open[self._kept].sum() < len(self._kept) * 0.7:
            self._compact()
        low, split = self._by_class, self._split
        change = np.zeros((len(new), len(self._kept)), np.int8)
        hit = np.zeros(change.shape, bool)
        for into, out in zip(new.T, old.T, strict=True):
            change += low[into]
            change -= low[out]
            hit |= split[into]
        hit |= change != 0
        hit &= self.open[self._kept]
        return self._kept, hit

    def refute(self, which: NDArray[np.int64], number: int) -> None:
        """These questions fall to the world of this number."""
        self.open[which] = False
        self.answers.state[which] = REFUTED
        self.answers.witness[which] = number
        for at in which:
            self.answers.stage[at] = "worlds"

    def prove(self, at: int, lower: Node, upper: Node, stage: str) -> None:
        """Both ends at once."""
        self.prove_side(at, 1, lower, stage)
        self.prove_side(at, -1, upper, stage)

    def prove_side(self, at: int, side: int, node: Node, stage: str) -> None:
        """One end; the question is settled when both are."""
        (self.answers.at_least if side > 0 else self.answers.at_most)[at] = node
        self.answers.stage[at] = max(self.answers.stage[at], stage, key=_STAGES.index)
        if self.answers.at_least[at] is not None and self.answers.at_most[at] is not None:
            self.answers.state[at] = VERIFIED
            self.open[at] = False


#: What can settle a question, the strongest means last.
_STAGES = ["", "cell", "algebra", "linear", "branching", "solver only", "worlds"]
