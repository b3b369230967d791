"""Short proofs, for people: as few cells as possible, small multipliers, few tables.

A single cell is looked for first. Otherwise an LP has the multipliers with the smallest sum (of absolute
values), which are few; cells that are hardly used are made dearer, and the LP is solved again; then cells
are left out one by one, as long as the others still prove it. All types that the cells published as zero
leave are looked at, so that no lemma is needed. What is found is exact, and the checker judges it again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.proof import Leaf, Node, Terms, leaves_of
from showthrough.tables.search.prove import Rows, exact_numerators, row_total
from showthrough.tables.search.solver import Multipliers, Program, Solution
from showthrough.tables.search.system import System

__all__ = [
    "Shortener",
    "cells_of",
    "n_cells",
    "shorter",
    "stage_of",
]

Counts = NDArray[np.int64]

#: Times the LP is solved with weights that depend on the last multipliers.
_ROUNDS = 3

#: With more cells than this none is left out on trial.
_MOST_PRUNED = 24

#: What a cell that is used already costs in the proof of the other end, and what an attribute that the
#: claim does not name adds to the cost of a cell.
_USED, _FOREIGN = 0.3, 0.02

#: How far the sum may fall short of the target: it is rounded up.
_SHORT_OF = (0.0, 0.5, 0.9)

#: Simplex iterations of one LP.
_ITERATIONS = 2_000


@dataclass(frozen=True, eq=False)
class _Goal:
    """Σ weight ≥ target is to be proved, about a claim that names some attributes."""

    weight: Counts
    target: int
    price: NDArray[np.float64]


class Shortener:
    """Finds short proofs about one area.

    Parameters
    ----------
    system
        The system with all types, none of them taken out by a lemma.
    most
        How many proofs may be looked for by LP.

    Attributes
    ----------
    stopped
        Whether to look for no more proofs.
    """

    def __init__(self, system: System, most: int) -> None:
        if system.lemma is not None:
            raise AssertionError("short proofs are looked for with all types")
        self.system = system
        self.left = most
        self.stopped = False
        self._rows = Rows(system)
        self._names = _attributes_of_rows(system)
        self._known: dict[tuple[bytes, int, tuple[int, ...]], Leaf | None] = {}
        self._hard: set[tuple[bytes, int, tuple[int, ...]]] = set()

    def exactly(self, terms: Terms, count: int, *, one_cell: bool = False) -> tuple[Leaf | None, Leaf | None]:
        """Both ends of a count, one of them by the cells of the other where that is possible."""
        most = self.at_most(terms, count, one_cell=one_cell)
        least = self.at_least(terms, count, beside=most, one_cell=one_cell)
        if least is None or most is None or n_cells(least, most) <= max(n_cells(least), n_cells(most)):
            return least, most
        alone = self.at_least(terms, count, one_cell=one_cell)
        other = self.at_most(terms, count, beside=alone, one_cell=one_cell)
        low, high = self._mirrored(most, terms, count, 1), self._mirrored(least, terms, count, -1)
        pairs = ((low, most), (least, high), (least, most), (alone, other))
        found = [(one, two) for one, two in pairs if one is not None and two is not None]
        return min(found, key=_size)

    def _mirrored(self, leaf: Leaf, terms: Terms, count: int, side: int) -> Leaf | None:
        """The same cells for the other end, if they do."""
        weight = self._weight(terms, side)
        numerators = np.zeros(len(self.system.rows), np.int64)
        for cell, u in leaf.cells:
            numerators[self.system.row_of_cell[cell]] -= u
        total = row_total(numerators, self.system.low, self.system.high)
        if total is None or total < leaf.denominator * (side * count - 1) + 1:
            return None
        if (self.system.combined(numerators) > leaf.denominator * weight).any():
            return None
        made = tuple((cell, -u) for cell, u in leaf.cells)
        release = self.system.release
        exact = all(release.low[cell] == release.high[cell] for cell, _ in made)
        return Leaf(made, (), leaf.denominator, total) if exact else None

    def _weight(self, terms: Terms, side: int) -> Counts:
        """What each class adds to the goal: 1 or 0 from below, −1 or 0 from above."""
        low, high = self.system.spread(self.system.mask(terms)[None, :])
        return low[0].astype(np.int64) if side > 0 else -high[0].astype(np.int64)

    def at_least(
        self, terms: Terms, count: int, *, beside: Node | None = None, one_cell: bool = False
    ) -> Leaf | None:
        """At least so many records match; None if no short proof (or no single cell) was found."""
        return self._find(terms, count, 1, beside, one_cell=one_cell)

    def at_most(
        self, terms: Terms, count: int, *, beside: Node | None = None, one_cell: bool = False
    ) -> Leaf | None:
        """At most so many records match; None if no short proof (or no single cell) was found."""
        return self._find(terms, count, -1, beside, one_cell=one_cell)

    def _find(
        self, terms: Terms, count: int, side: int, beside: Node | None, *, one_cell: bool
    ) -> Leaf | None:
        if self.stopped:
            return None
        weight = self._weight(terms, side)
        cells = tuple(sorted(cells_of(beside)))
        key = weight.tobytes(), count, cells
        if key not in self._known and not (one_cell and key in self._hard):
            goal = _Goal(weight, side * count, self._price(terms, cells))
            numerators = self._one_row(goal)
            if numerators is None and one_cell:
                self._hard.add(key)
                return None
            found = (numerators, 1) if numerators is not None else self._by_programs(goal)
            self._known[key] = None if found is None else self._leaf(*found)
        return self._known.get(key)

    def _price(self, terms: Terms, cells: tuple[int, ...]) -> NDArray[np.float64]:
        """What using each row costs: cells used already are cheap, those about other attributes dear."""
        names = self.system.release.schema.index
        named = np.zeros(self._names.shape[1], bool)
        named[[names[name] for name, _ in terms]] = True
        price = 1 + _FOREIGN * (self._names & ~named).sum(axis=1)
        rows = self.system.row_of_cell[list(cells)]
        price[rows[rows >= 0]] *= _USED
        return price

    def _one_row(self, goal: _Goal) -> Counts | None:
        """Multipliers 0 and 1 of one row that prove the goal (or of none, if there is nothing to prove)."""
        system, found = self.system, np.zeros(len(self.system.rows), np.int64)
        if goal.target <= 0 and goal.weight.min(initial=0) >= 0:
            return found
        if goal.target > 0:
            fits, sign = system.within(goal.weight) & (system.low >= goal.target), 1
        else:
            covers = system.sums(-goal.weight) == -goal.weight.sum()
            fits, sign = covers & (system.high <= -goal.target), -1
        if not fits.any():
            return None
        found[np.flatnonzero(fits)[np.argmin(goal.price[fits])]] = sign
        return found

    def _by_programs(self, goal: _Goal) -> tuple[Counts, int] | None:
        """The best multipliers that several LPs find."""
        if self.left <= 0:
            return None
        self.left -= 1
        for short_of in _SHORT_OF:
            program = Multipliers(self.system, goal.weight, goal.target - short_of, iterations=_ITERATIONS)
            best = self._best(program, goal)
            if best is not None:
                return self._pruned(program, best, goal)
        return None

    def _by_duals(self, goal: _Goal) -> tuple[Counts, int] | None:
        """The multipliers that an LP over records has: a corner, with other cells perhaps, and few."""
        found = Program(self.system, iterations=_ITERATIONS).minimise(goal.weight)
        return self._exact(found.multipliers, goal) if isinstance(found, Solution) else None

    def _best(self, program: Multipliers, goal: _Goal) -> tuple[Counts, int] | None:
        best: tuple[Counts, int] | None = None
        weight = goal.price
        for _ in range(_ROUNDS):
            found = program.lightest(weight)
            if found is None:
                break
            best = self._better(best, self._exact(found, goal), goal)
            if best is not None and _is_plain(*best):
                break
            weight = goal.price / (np.abs(found) + 0.1)
        if best is None or _is_plain(*best):
            return best
        return self._better(best, self._by_duals(goal), goal)

    def _pruned(self, program: Multipliers, best: tuple[Counts, int], goal: _Goal) -> tuple[Counts, int]:
        """Without rows that are not needed, tried one by one."""
        used = np.flatnonzero(best[0])
        if _is_plain(*best) or len(used) > _MOST_PRUNED:
            return best
        for row in used[np.argsort(-goal.price[used], kind="stable")].tolist():
            allowed = best[0] != 0
            if not allowed[row] or allowed.sum() < 2:
                continue
            allowed[row] = False
            found = program.lightest(goal.price, allowed)
            best = best if found is None else self._better(best, self._exact(found, goal), goal) or best
        return best

    def _exact(self, found: NDArray[np.float64], goal: _Goal) -> tuple[Counts, int] | None:
        return exact_numerators(self._rows, found, goal.weight, goal.target)

    def _better(
        self, one: tuple[Counts, int] | None, other: tuple[Counts, int] | None, goal: _Goal
    ) -> tuple[Counts, int] | None:
        """The one with fewer rows, then with smaller multipliers, then with cheaper rows."""
        both = [made for made in (one, other) if made is not None]
        return min(both, key=lambda made: _length(made, goal.price), default=None)

    def _leaf(self, numerators: Counts, denominator: int) -> Leaf | None:
        """The leaf; of several cells with the same records those of few tables, and simple ones."""
        total = row_total(numerators, self.system.low, self.system.high)
        if total is None:
            return None
        leaf = self._rows.leaf(numerators, denominator, total)
        same = {row: self._cells(row, int(numerators[row])) for row in np.flatnonzero(numerators).tolist()}
        tables = Counter(table for cells in same.values() for table in {self._table(at) for at in cells})
        sizes = self.system.release.layout.selections
        chosen = [
            (min(cells, key=lambda at: (-tables[self._table(at)], len(sizes[at]), at)), int(numerators[row]))
            for row, cells in same.items()
        ]
        return replace(leaf, cells=tuple(sorted(chosen)))

    def _cells(self, row: int, multiplier: int) -> list[int]:
        """The cells that are this row, with the end that the multiplier uses."""
        system, release = self.system, self.system.release
        cells = np.flatnonzero(system.row_of_cell == row)
        if multiplier > 0:
            return cells[release.low[cells] == system.low[row]].tolist()
        return cells[release.high[cells] == system.high[row]].tolist()

    def _table(self, cell: int) -> str:
        return self.system.release.layout.names[cell][0]


def _attributes_of_rows(system: System) -> NDArray[np.bool_]:
    """Row × attribute: which attributes the cells of a row name (those that all of them do)."""
    layout = system.release.layout
    index = layout.schema.index
    found = np.ones((len(system.rows), len(index)), bool)
    for cell in np.flatnonzero(system.row_of_cell >= 0).tolist():
        mine = np.zeros(len(index), bool)
        mine[[index[name] for name in layout.selections[cell].attributes]] = True
        found[system.row_of_cell[cell]] &= mine
    return found


def _is_plain(numerators: Counts, denominator: int) -> bool:
    """Whether all multipliers are 1 and −1: no others of that kind are fewer, as their sum is the least."""
    return denominator == 1 and int(np.abs(numerators).max(initial=0)) <= 1


def _length(made: tuple[Counts, int], price: NDArray[np.float64]) -> tuple[int, int, int, float]:
    numerators, denominator = made
    sizes = np.abs(numerators)
    return int(np.count_nonzero(sizes)), denominator, int(sizes.sum()), float(price[sizes > 0].sum())


def n_cells(*nodes: Node | None) -> int:
    """How many different cells the leaves of some nodes multiply."""
    return len(cells_of(*nodes))


def cells_of(*nodes: Node | None) -> set[int]:
    """The different cells that the leaves of some nodes multiply."""
    leaves = (leaf for node in nodes if node is not None for leaf in leaves_of(node))
    return {cell for leaf in leaves for cell, _ in leaf.cells}


def shorter(one: tuple[Node, ...], other: tuple[Node | None, ...]) -> tuple[Node, ...]:
    """Of proofs of the same those with fewer cells, then with smaller multipliers; the first if equal."""
    found = tuple(node for node in other if node is not None)
    return one if len(found) < len(one) else min(one, found, key=_size)


def stage_of(low: Node, high: Node) -> str:
    """What kind of proof two ends are."""
    if not (isinstance(low, Leaf) and isinstance(high, Leaf)):
        return "branching"
    mirrored = tuple((cell, -u) for cell, u in high.cells)
    if low.cells != mirrored or low.denominator != high.denominator:
        return "linear"
    return "cell" if len(low.cells) == 1 else "algebra"


def _size(ends: tuple[Node, ...]) -> tuple[int, int, int]:
    leaves = [leaf for node in ends for leaf in leaves_of(node)]
    multipliers = sum(abs(u) for leaf in leaves for _, u in leaf.cells)
    return n_cells(*ends), len(leaves), multipliers
