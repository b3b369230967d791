"""The counts that a selection can have: the least and the largest, those it skips, and whether it has any."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError, Undecided
from showthrough.release import UNBOUNDED, Layout, pack
from showthrough.selection import Selection
from showthrough.tables.claims import Bounds, Claim, Verdict, World, world_of
from showthrough.tables.explain import count_tables, label_of
from showthrough.tables.proof import Branch, Leaf, Node, Proof
from showthrough.tables.search.branch import Search
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.far import far_counts
from showthrough.tables.search.implied import Closures
from showthrough.tables.search.prove import Rows, lifted_leaf
from showthrough.tables.search.questions import REFUTED, VERIFIED
from showthrough.tables.search.solver import Program, Solution, find_counts, has_large_counts
from showthrough.tables.search.system import System, with_row
from showthrough.tables.search.type_counts import TypeCounts, exact_dot

__all__ = [
    "Absences",
    "impossible",
    "range_of",
]

#: Counts between the ends of a range that are looked at one by one.
MOST_COUNTS = 1_000_000

#: Combinations of values looked at for absences.
MOST_COMBINATIONS = 3_000_000

Counts = NDArray[np.int64]
Assignment = tuple[tuple[int, int], ...]


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
    best = min((decider.class_counts(world) for world in decider.pool), key=lambda y: exact_dot(goal, y))
    program = decider.program
    if has_large_counts(decider.system):
        best = far_counts(decider.system, best, goal, iterations=decider.effort.iterations)
        program = Program(decider.system, iterations=decider.effort.iterations, origin=best)
    proved, node = _root(program, goal, exact_dot(goal, best), floor)
    for _ in range(decider.effort.nodes):
        if proved >= exact_dot(goal, best):
            return proved, node, best
        search = Search(program, decider.effort.nodes)
        found = search.run(goal, proved + 1, floor=floor)
        if isinstance(found, Leaf | Branch):
            proved, node = proved + 1, found
            continue
        if not isinstance(found, np.ndarray) and decider.effort.solver:
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
    return proved, node, None


def _root(program: Program, goal: Counts, limit: int, floor: int) -> tuple[int, Node]:
    """The best bound a single LP proves, at most ``limit``."""
    system = program.system
    if goal.min(initial=0) >= 0 and limit == 0:
        nothing = np.zeros(len(system.rows), np.int64)
        leaf = lifted_leaf(Rows(system), nothing, 1, floor)
        if leaf is not None:
            return 0, leaf
    found = program.minimise(goal)
    value = found.rounded_up() if isinstance(found, Solution) else None
    for target in _targets(value, limit, goal, system):
        node = Search(program, 1).run(goal, target, floor=floor)
        if isinstance(node, Leaf | Branch):
            return target, node
    if goal.min(initial=0) >= 0:
        return 0, Leaf((), (), 1, 0)
    raise Undecided("no bound could be proved within the effort; raise --effort")


def _targets(value: int | None, limit: int, goal: Counts, system: System) -> Iterator[int]:
    """Targets from the LP's value down to what simple sums of rows always prove."""
    least = exact_dot(goal.clip(max=0), system.most)
    start = limit if value is None else min(limit, value)
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
        made = world_of(self.system, TypeCounts.of_counts(np.array(picked, np.int64), counts))
        codes = made.codes.copy()
        for name in self.free:
            attribute = made.schema[name]
            chosen = next(v for v in attribute.values if (v in self.selection[name]) == inside)
            codes[:, made.schema.index[name]] = attribute.code(chosen)
        return World(made.schema, codes, made.times)

    def _pick(self, at: int, inside: bool) -> int:
        members = self.system.members(at)
        wanted = members[self.mask[members] == inside]
        return int(wanted[0] if len(wanted) else members[0])


def impossible(decider: Decider, found: Bounds, mask: NDArray[np.bool_]) -> Iterator[Verdict]:
    """Counts strictly between the ends of a range that no world has."""
    if found.high is None:
        return
    if found.high - found.low > MOST_COUNTS:
        raise Undecided(
            f"{found.selection} can have {found.high - found.low + 1:,} counts, too many to look at each; "
            "leave out --gaps"
        )
    low, high = decider.system.spread(mask[None, :])
    seen: set[int] = set()
    for world in decider.pool:
        counts = decider.class_counts(world)
        seen |= set(range(exact_dot(low[0], counts), exact_dot(high[0], counts) + 1))
    for m in range(found.low + 1, found.high):
        if m not in seen:
            verdict = _never(decider, found.selection, mask, m)
            if verdict is not None:
                yield verdict


def _never(decider: Decider, selection: Selection, mask: NDArray[np.bool_], m: int) -> Verdict | None:
    """The verdict that the count is never m; None if it can be, undecided if the effort ran out."""
    system = with_row(decider.system, mask, m, m)
    search = Search(Program(system, iterations=decider.effort.iterations), decider.effort.nodes, 1)
    node = search.run(np.zeros(system.n_classes, np.int64), 1)
    claim = Claim(selection, m)
    if isinstance(node, np.ndarray):
        return None
    if isinstance(node, Leaf | Branch):
        over = system.universe.frame.names
        proof = Proof(selection.terms, m, never=_named(node, system), over=over)
        layout = system.release.layout
        label = label_of(proof.nodes, layout, direct=False)
        n_tables = count_tables(layout, proof.cells)
        return Verdict(claim, "impossible", label, n_tables_added=n_tables, proof=proof)
    other = find_counts(system, seed=decider.seed, effort=decider.effort.solver)
    if isinstance(other, np.ndarray):
        return None
    return Verdict(claim, "undecided", "solver only" if other == "infeasible" else "effort")


def _named(node: Node, system: System) -> Node:
    """The node with the claim's own row, which is no cell, as the branch of depth 0."""
    if isinstance(node, Branch):
        return replace(node, below=_named(node.below, system), above=_named(node.above, system))
    own = sum(u for cell, u in node.cells if cell < 0)
    cells = tuple((cell, u) for cell, u in node.cells if cell >= 0)
    branches = (*(((0, own),) if own else ()), *node.branches)
    return replace(node, cells=cells, branches=tuple(sorted(branches)))


@dataclass(eq=False)
class Absences:
    """Finds the minimal selections, one value per attribute, that match nobody in any world."""

    decider: Decider
    closures: Closures
    largest: int
    smallest: int = 1

    def verdicts(self) -> Iterator[Verdict]:
        """Level by level: a selection is looked at only if no part of it is absent already."""
        sizes = self.decider.system.universe.frame.sizes
        absent: list[Assignment] = []
        looked_at = 0
        for level in range(1, self.largest + 1):
            found: list[Assignment] = []
            for columns in itertools.combinations(range(len(sizes)), level):
                grid = self._grid(columns, sizes, absent)
                looked_at += len(grid)
                if looked_at > MOST_COMBINATIONS:
                    raise InputError(
                        f"more than {MOST_COMBINATIONS:,} combinations of values to check for absence",
                        remedy="lower --max-columns",
                    )
                for verdict, assignment in self._decide(columns, grid):
                    if verdict.kind == "verified":
                        found.append(assignment)
                    if level >= self.smallest:
                        yield verdict
            absent += found

    def _grid(
        self, columns: tuple[int, ...], sizes: tuple[int, ...], absent: Iterable[Assignment]
    ) -> NDArray[np.int64]:
        """All combinations of these columns' values without an absent part."""
        grid = np.indices([sizes[c] for c in columns]).reshape(len(columns), -1).T
        where = {column: at for at, column in enumerate(columns)}
        for part in absent:
            if all(column in where for column, _ in part):
                hit = np.all([grid[:, where[c]] == code for c, code in part], axis=0)
                grid = grid[~hit]
        return grid

    def _decide(
        self, columns: tuple[int, ...], grid: NDArray[np.int64]
    ) -> Iterator[tuple[Verdict, Assignment]]:
        codes = self.decider.system.universe.codes[:, list(columns)].astype(np.int64)
        masks = [np.all(codes == row, axis=1) for row in grid]
        open_ = [at for at, mask in enumerate(masks) if not self._seen(mask)]
        if not open_:
            return
        asked = pack(np.array([masks[at] for at in open_]))
        answers = self.decider.ask(asked, np.zeros(len(open_), np.int64))
        for number, at in enumerate(open_):
            if answers.state[number] == REFUTED:
                continue
            assignment = tuple(zip(columns, (int(c) for c in grid[at]), strict=True))
            claim = Claim(self._selection(assignment), 0)
            proof = Proof(
                claim.selection.terms,
                0,
                at_least=answers.at_least[number],
                at_most=answers.at_most[number],
                over=self.decider.system.universe.frame.names,
            )
            verified = answers.state[number] == VERIFIED
            direct = self._is_stated(claim.selection)
            label = label_of(proof.nodes, self._layout, direct=direct)
            yield (
                Verdict(
                    claim,
                    "verified" if verified else "undecided",
                    label if verified else "effort",
                    direct=direct,
                    n_tables_added=count_tables(self._layout, proof.cells) if verified else 0,
                    proof=proof if proof.nodes else None,
                    low=0,
                    high=0 if verified else None,
                ),
                assignment,
            )

    def _seen(self, mask: NDArray[np.bool_]) -> bool:
        return any(bool(mask[world.types].any()) for world in self.decider.pool)

    def _selection(self, assignment: Assignment) -> Selection:
        frame = self.decider.system.universe.frame
        schema = frame.layout.schema
        return Selection.of({frame.names[c]: schema[frame.names[c]].values[code] for c, code in assignment})

    @property
    def _layout(self) -> Layout:
        return self.decider.system.release.layout

    def _is_stated(self, selection: Selection) -> bool:
        """Whether the rules alone, or one cell published as zero, say so."""
        mine = self.closures.of(selection)
        if mine is None:
            return True
        release = self.decider.system.release
        for cell in np.flatnonzero(release.high == 0):
            for _, selection in release.layout.terms[int(cell)]:
                zero = self.closures.of(selection)
                if zero is not None and all(a & ~b == 0 for a, b in zip(mine, zero, strict=True)):
                    return True
        return False
