"""On request: selections that match nobody, and counts a selection can never have."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError
from showthrough.release import pack
from showthrough.selection import Selection
from showthrough.tables.claims import Bounds, Claim, Verdict
from showthrough.tables.proof import Branch, Leaf, Node, Proof
from showthrough.tables.search.answers import REFUTED, VERIFIED
from showthrough.tables.search.branch import Search
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.implied import Closures
from showthrough.tables.search.solver import Program, find_counts
from showthrough.tables.search.system import System, with_row

__all__ = [
    "Absences",
    "impossible",
]

#: Combinations of values looked at for absences.
MOST_COMBINATIONS = 3_000_000

Assignment = tuple[tuple[int, int], ...]


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
            empty = not masks[at].any()
            yield (
                Verdict(
                    claim,
                    "verified" if verified else "undecided",
                    "cell" if empty else (answers.stage[number] if verified else "effort"),
                    direct=self._is_stated(claim.selection),
                    n_tables=self._n_tables(proof),
                    proof=proof if proof.nodes else None,
                    low=0,
                    high=0 if verified else None,
                ),
                assignment,
            )

    def _seen(self, mask: NDArray[np.bool_]) -> bool:
        return any(bool(mask[world].any()) for world in self.decider.pool)

    def _selection(self, assignment: Assignment) -> Selection:
        frame = self.decider.system.universe.frame
        schema = frame.layout.schema
        return Selection.of({frame.names[c]: schema[frame.names[c]].values[code] for c, code in assignment})

    def _n_tables(self, proof: Proof) -> int:
        names = self.decider.system.release.layout.names
        return len({names[cell][0] for cell in proof.cells})

    def _is_stated(self, selection: Selection) -> bool:
        """Whether the rules alone, or one cell published as zero, say so."""
        mine = self.closures.of(selection)
        if mine is None:
            return True
        release = self.decider.system.release
        for cell in np.flatnonzero(release.high == 0):
            zero = self.closures.of(release.layout.selections[int(cell)])
            if zero is not None and all(a & ~b == 0 for a, b in zip(mine, zero, strict=True)):
                return True
        return False


def impossible(decider: Decider, found: Bounds, mask: NDArray[np.bool_]) -> Iterator[Verdict]:
    """Counts strictly between the ends of a range that no world has."""
    if found.high is None:
        return
    low, high = decider.system.spread(mask[None, :])
    seen: set[int] = set()
    for world in decider.pool:
        counts = decider.class_counts(world)
        seen |= set(range(int(low[0] @ counts), int(high[0] @ counts) + 1))
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
        names = system.release.layout.names
        tables = {names[cell][0] for cell in proof.cells}
        stage = "linear" if isinstance(node, Leaf) else "branching"
        return Verdict(claim, "impossible", stage, n_tables=len(tables), proof=proof)
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
