"""Deciding questions about one area: worlds refute, multipliers prove, the solver only searches.

A *question* is a mask over record types and a count m: do all worlds have exactly m records in the
mask? :meth:`Decider.ask` answers many at once; every world found on the way is tried on all of them.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import Undecided
from showthrough.release import UNBOUNDED, unpack
from showthrough.tables.proof import Branch, Leaf, Node
from showthrough.tables.search.branch import Search
from showthrough.tables.search.counterexamples import Counterexamples
from showthrough.tables.search.effort import Effort, Work
from showthrough.tables.search.prove import (
    Algebra,
    Rows,
    equal_leaves,
    exact_leaf,
    exact_numerators,
    lifted_leaf,
)
from showthrough.tables.search.questions import Answers, Asked
from showthrough.tables.search.shorten import Shortener
from showthrough.tables.search.solver import Program, Solution, find_counts, has_large_counts, refined
from showthrough.tables.search.system import Lemma, System
from showthrough.tables.search.type_counts import TypeCounts, exact_dot
from showthrough.tables.search.walk import Moves, Walker

__all__ = [
    "Decider",
    "Effort",
    "Infeasible",
    "Work",
]

Counts = NDArray[np.int64]

#: Idle steps after which the walk also looks for moves of four records.
_PATIENCE = 2

#: Classes up to which equations and LPs take little, so that the walk need not do the most it can before.
_FEW_CLASSES = 5_000

#: Idle steps after which the walk rests until equations have proved what they can: most of what is left
#: then holds, and no walk ends it.
_FIRST_IDLE = 1

#: LPs spent on finding classes that are always empty.
_MOST_REDUCTIONS = 40

#: Above this number of unseen classes, an interior point is worth its price.
_FEW_UNSEEN = 40

#: Questions × types looked at together.
_MOST_ENTRIES = 50_000_000


class Infeasible(Exception):
    """A proof that no dataset agrees."""

    def __init__(self, node: Node) -> None:
        self.node = node
        super().__init__()


class Decider:
    """Everything known about one area while it is decided."""

    def __init__(
        self, system: System, effort: Effort, *, seed: int, first: Counts | TypeCounts | None
    ) -> None:
        self.system = system
        self.shortener = Shortener(system, effort.proofs, self._classes_of_worlds)
        self._kept = np.arange(system.n_classes)
        self.effort = effort
        self.seed = seed
        self.work = Work()
        self.pool: list[TypeCounts] = []
        self.walker = Walker(system, seed)
        self._reached = np.zeros(system.n_classes + 1, bool)
        self.current = self._first_world() if first is None else TypeCounts.of(first)
        self.keep(self.current)
        if has_large_counts(system):
            self.__dict__.pop("program", None)  # the next one starts from the first world
        self._add_unbounded()

    @cached_property
    def program(self) -> Program:
        """The area's LP, made when first needed."""
        origin = self.class_counts(self.pool[0]) if self.pool else None
        effort = self.effort
        return Program(self.system, iterations=effort.iterations, budget=effort.programs, origin=origin)

    @cached_property
    def _counterexamples(self) -> Counterexamples:
        return Counterexamples(self)

    @cached_property
    def _algebra(self) -> Algebra:
        return Algebra(self.system)

    def keep(self, world: TypeCounts) -> int:
        """Add a world to the pool after counting it again; its number."""
        if not self.system.allows(self.class_counts(world)):
            raise AssertionError("a world does not agree with the release")
        self.pool.append(world)
        return len(self.pool) - 1

    def class_counts(self, world: TypeCounts) -> Counts:
        """How many records of a world are in each class."""
        return world.added_up(self.system.group, self.system.n_classes)

    def _classes_of_worlds(self) -> list[TypeCounts]:
        """Per world kept its records by class, numbered as before any class was taken out."""
        return [world.mapped(self._kept[self.system.group]) for world in self.pool]

    def world_of(self, counts: Counts) -> TypeCounts:
        """A world with these class counts, made of the first type of each class."""
        firsts = self.system.order[self.system.starts[:-1]]
        return TypeCounts.of_counts(firsts, counts)

    def _first_world(self) -> TypeCounts:
        """Any world: the LP's if integral, else the solver's, else by branching."""
        nothing = np.zeros(self.system.n_classes, np.int64)
        if self.system.allows(nothing):
            return self.world_of(nothing)
        self.work.programs += 1
        large = has_large_counts(self.system)
        exact = refined(self.system, iterations=self.effort.iterations) if large else None
        if exact is not None:
            return self.world_of(exact)
        found = self.program.minimise(nothing)
        if isinstance(found, Solution):
            point = found.integral(self.system)
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
            self.keep(self.pool[0].exchanged(np.zeros(0, np.int64), extra))

    def reduce(self) -> None:
        """Take out the classes that are empty in every world, as far as one LP argument shows it.

        Maximising the records in classes not seen so far either finds points that have some, or
        shows that there are none: then the duals are a proof for all of them at once. What is left
        is the affine hull of the polytope, so that a mask has a constant count there exactly if it
        is a combination of exact rows, which algebra finds without any further LP.
        """
        unseen = ~self._reached[:-1]
        for world in self.pool:
            unseen[self.system.group[world.types]] = False
        if unseen.sum() > _FEW_UNSEEN:
            self.work.programs += 1
            centre = self.program.centre()
            unseen &= True if centre is None else centre < 1e-6
            if centre is not None and self.system.exact.all() and self._take_out(unseen):
                return
        for _ in range(_MOST_REDUCTIONS):
            if not unseen.any() or not self.system.exact.any():
                return
            goal = -unseen.astype(np.int64)
            self.work.programs += 1
            found = self.program.minimise(goal)
            if not isinstance(found, Solution):
                return
            if found.value > -1e-7:
                self._take_out(unseen)
                return
            point = found.integral(self.system)
            if point is not None:
                self.keep(self.world_of(point))
            unseen &= found.counts() < 1e-9

    def _take_out(self, classes: NDArray[np.bool_]) -> bool:
        """Remove classes for good, if exact rows alone show that they are empty; whether they do.

        Only a total of exactly 0 can be added to any proof for free, and only exact rows have one.
        The LP is a fresh one: the same lemma whichever world the search began with.
        """
        if not classes.any() or not self.system.exact.any():
            return False
        goal = -classes.astype(np.int64)
        exact = self.system.exact
        self.work.programs += 1
        origin = self.class_counts(self.pool[0])
        program = Program(self.system.only(exact), iterations=self.effort.iterations, origin=origin)
        found = program.minimise(goal)
        if not isinstance(found, Solution) or found.value < -1e-7:
            return False
        multipliers = np.zeros(len(exact))
        multipliers[exact] = found.multipliers
        rows = Rows(self.system)
        proved = exact_numerators(rows, multipliers, goal, 0)
        if proved is None or exact_dot(proved[0], self.system.low) or proved[0][~exact].any():
            return False
        lemma = Lemma(self.system.rows[:, classes], proved[0], proved[1])
        self.system, number = self.system.without(classes, lemma)
        self._kept = self._kept[~classes]
        self.pool = [world.mapped(number) for world in self.pool]
        self.current = self.current.mapped(number)
        self.walker = Walker(self.system, self.seed)
        self.__dict__.pop("program", None)
        return True

    def ask(self, words: NDArray[np.uint64], count: Counts) -> Answers:
        """Decide questions, given by packed masks; what the effort does not settle stays open.

        Many questions over many types are taken in parts that fit in memory.
        """
        size = max(1, _MOST_ENTRIES // max(1, len(self.system.group)))
        whole = len(words) <= size
        answers = self._ask(words, count) if whole else self._ask_in_parts(words, count, size)
        for stage in answers.stage:
            self.work.stages[stage] = self.work.stages.get(stage, 0) + 1
        return answers

    def _ask_in_parts(self, words: NDArray[np.uint64], count: Counts, size: int) -> Answers:
        """Ask about this many questions at a time: those that the worlds known by then leave standing."""
        answers, left = Answers.open(words, count), np.zeros(0, np.int64)
        for start in range(0, len(words), size):
            part = np.arange(start, min(start + size, len(words)))
            left = np.append(left, self._standing(answers, part))
            if len(left) >= size // 2 or part[-1] == len(words) - 1:
                answers.put(left, self._ask(words[left], count[left]))
                left = left[:0]
        return answers

    def _standing(self, answers: Answers, which: Counts) -> Counts:
        """Refute what a world of the pool refutes as it is; the questions among these that are left."""
        masks = np.ascontiguousarray(unpack(answers.words[which], len(self.system.group)).T)
        standing = np.ones(len(which), bool)
        for number, world in enumerate(self.pool):
            fallen = standing & (world.counted(masks) != answers.count[which])
            answers.refute(which[fallen], number)
            standing &= ~fallen
        return which[standing]

    def _ask(self, words: NDArray[np.uint64], count: Counts) -> Answers:
        answers = Answers.open(words, count)
        masks = unpack(words, len(self.system.group)).astype(bool)
        asked = Asked(answers, *self.system.spread(masks))
        for number, world in enumerate(self.pool):
            asked.try_world(self.class_counts(world), number)
        idle = self.effort.idle_steps
        if self.system.n_classes <= _FEW_CLASSES:
            self._walk(asked, _FIRST_IDLE)
            self._prove_by_equations(asked)
            self._walk(asked, -(-idle // 2))
        else:
            self._walk(asked, idle)
            self._prove_by_equations(asked)
        self._prove_by_programs(asked)
        if asked.open.any():
            self._counterexamples.search(asked)
        return answers

    def prove(self, asked: Asked) -> None:
        """Prove what cells, sums of them and linear programs prove; worlds found on the way refute."""
        self._prove_by_equations(asked)
        self._prove_by_programs(asked)

    def _prove_by_equations(self, asked: Asked) -> None:
        """Prove what follows from exact rows by adding and subtracting them, which takes little."""
        self._prove_by_cells(asked)
        self._prove_by_tables(asked)
        self._prove_by_algebra(asked)

    def _walk(self, asked: Asked, most_idle: int) -> None:
        """Wander until nothing has fallen for this many steps."""
        idle = 0
        for _ in range(self.effort.steps):
            if idle >= most_idle or not asked.open.any():
                break
            self.work.steps += 1
            moves = self.walker.moves(self.current)
            if idle >= _PATIENCE:
                moves = Moves.joined([moves, self.walker.double_moves(self.current)])
            if not len(moves):
                break
            idle = 0 if self.try_moves(asked, moves) else idle + 1
            self.current = self.walker.step(moves, self.current)

    def wander(self, steps: int) -> bool:
        """Some random steps; false if there is nowhere to go."""
        for _ in range(steps):
            moves = self.walker.moves(self.current)
            if not len(moves):
                return False
            self.work.steps += 1
            self._reached[self.walker.group[moves.into]] = True
            self.current = self.walker.step(moves, self.current)
        return True

    def try_moves(self, asked: Asked, moves: Moves) -> bool:
        """Refute what single moves refute; each world kept refutes as many as possible."""
        old = self.walker.classes_out(moves, self.current)
        new = self.walker.group[moves.into]
        which, hits = asked.hits(old, new)
        any_hit = False
        while True:
            per_move = hits.sum(axis=1)
            best = int(per_move.argmax())
            if not per_move[best]:
                return any_hit
            any_hit = True
            number = self.keep(moves.apply(best, self.current))
            fallen = hits[best].copy()
            asked.refute(which[fallen], number)
            hits[:, fallen] = False

    def _prove_by_cells(self, asked: Asked) -> None:
        """Questions that one exact row answers."""
        system = self.system
        which = np.flatnonzero(asked.open & asked.whole)
        if not len(which):
            return
        exact = np.flatnonzero(system.exact)
        rows = {system.rows[at].tobytes(): at for at in exact[::-1].tolist()}
        row = np.array([rows.get(asked.low[at].tobytes(), -1) for at in which.tolist()], np.int64)
        which, row = which[row >= 0], row[row >= 0]
        multipliers = np.zeros((len(which), len(system.rows)), np.int64)
        multipliers[np.arange(len(which)), row] = 1
        self._equal(asked, which, multipliers, "cell")

    def _prove_by_tables(self, asked: Asked) -> None:
        """Questions whose mask is a sum of cells of one table: the shortest proofs to read."""
        system = self.system
        which = np.flatnonzero(asked.open & asked.whole)
        if not len(which) or not system.exact.any():
            return
        masks = asked.low[which].astype(np.float32)
        rows = system.rows.astype(np.float32)
        inside = _product(rows, (1 - masks).T) == 0  # row × question
        left = np.ones(len(which), bool)
        multipliers = np.zeros((len(which), len(rows)), np.int64)
        sizes = masks.sum(axis=1, dtype=np.int64)
        for chosen in system.exact_rows_by_table:
            part = inside[chosen].T
            fits = np.flatnonzero(left & (part @ system.row_sizes[chosen] == sizes))
            part = part[fits]
            whole = (_product(part.astype(np.float32), rows[chosen]) == masks[fits]).all(axis=1)
            found = fits[whole]
            multipliers[np.ix_(found, chosen)] = part[whole]
            left[found] = False
        self._equal(asked, which[~left], multipliers[~left], "algebra")

    def _prove_by_algebra(self, asked: Asked) -> None:
        """Questions whose mask is a combination of exact rows."""
        which = np.flatnonzero(asked.open & asked.whole)
        if not len(which) or not self.system.exact.any():
            return
        combinations = self._algebra.combinations(asked.low[which])
        whole = np.rint(combinations)
        exact = (whole @ self.system.sparse == asked.low[which]).all(axis=1)
        self._equal(asked, which[exact], whole[exact].astype(np.int64), "algebra")
        which, combinations = which[~exact], combinations[~exact]
        spanned = self._algebra.spanned(asked.low[which], combinations)
        for at, multipliers in zip(which[spanned], combinations[spanned], strict=True):
            self._nearly_equal(asked, int(at), multipliers)

    def _equal(self, asked: Asked, which: Counts, multipliers: Counts, stage: str) -> None:
        """Integer multipliers of exact rows that add up to the masks prove both ends."""
        leaves = equal_leaves(Rows(self.system), multipliers)
        for at, one, (lower, upper) in zip(which.tolist(), multipliers, leaves, strict=True):
            if exact_dot(one, self.system.low) != asked.answers.count[at]:
                raise AssertionError("multipliers that add up to the mask must add up to its count")
            if lower is not None and upper is not None:
                asked.prove(at, lower, upper, stage)

    def _nearly_equal(self, asked: Asked, at: int, multipliers: NDArray[np.float64]) -> None:
        """The same for multipliers with denominators."""
        rows, m = Rows(self.system), int(asked.answers.count[at])
        mask = asked.low[at].astype(np.int64)
        lower = exact_leaf(rows, multipliers, mask, m, floor=0)
        upper = exact_leaf(rows, -multipliers, -mask, -m, floor=-1)
        if lower is not None and upper is not None:
            asked.prove(at, lower, upper, "algebra")

    def _prove_by_programs(self, asked: Asked) -> None:
        """Both ends by LP duals; integral optima are worlds."""
        for side in (1, -1):
            for at in np.flatnonzero(asked.open):
                if asked.open[at]:
                    self._program(asked, int(at), side)

    def _program(self, asked: Asked, at: int, side: int) -> None:
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
        if found.promises(target):
            leaf = exact_leaf(Rows(self.system), found.multipliers, goal, target, floor=floor)
            if leaf is not None:
                asked.prove_side(at, side, leaf, "linear")
            return
        point = found.integral(self.system)
        if point is not None:
            self.try_counts(asked, point)

    def try_counts(self, asked: Asked, counts: Counts) -> None:
        world = self.world_of(counts)
        number = len(self.pool)
        if asked.try_world(counts, number):
            self.keep(world)
            self.current = world


def _product(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """A product of zeros and ones, which is never invalid; some BLAS raise that flag for unused lanes."""
    with np.errstate(invalid="ignore"):
        return first @ second
