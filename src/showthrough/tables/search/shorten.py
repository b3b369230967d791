"""Short proofs, for people: as few cells as possible, small multipliers, few tables.

Up to four rows that are added and subtracted are looked up (:mod:`showthrough.tables.search.sums`): of both
ends of a count those that have the fewest cells together. Where none do, LPs look for more
(:mod:`showthrough.tables.search.lightest`). All types that the cells published as zero leave are looked at,
so that no lemma is needed. What is found is exact, and the checker judges it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from functools import cached_property, lru_cache
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from showthrough.release import Layout, pack
from showthrough.tables.proof import Leaf, Node, Terms, leaves_of
from showthrough.tables.search.lightest import Lightest, ProofGoal
from showthrough.tables.search.prove import row_total
from showthrough.tables.search.sums import LARGEST, Proving, RowSums
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import TypeCounts

__all__ = [
    "Shortener",
    "cells_of",
    "n_cells",
    "shorter",
]

Counts = NDArray[np.int64]

#: Worlds that sums of rows are looked up with.
_MOST_WORLDS = 64

#: Sums for one end that are compared with those for the other, and more cells than any proof has.
_MOST_COMPARED, _ANY = 64, 2**62

#: What a cell that is used already costs in the proof of the other end, and what an attribute that the
#: claim does not name adds to the cost of a cell.
_USED, _FOREIGN = 0.3, 0.02


class Shortener:
    """Finds short proofs about one area.

    Parameters
    ----------
    system
        The system with all types, none of them taken out by a lemma.
    most
        How many proofs may be looked for by LP; in large systems each of them counts several times.
    worlds
        Gives worlds that agree with the release, each with its records by class; asked once.

    Attributes
    ----------
    stopped
        Whether to look for no more proofs.
    """

    def __init__(
        self, system: System, most: int, worlds: Callable[[], Sequence[TypeCounts]] = lambda: ()
    ) -> None:
        if system.lemma is not None:
            raise AssertionError("short proofs are looked for with all types")
        self.system = system
        self.stopped = False
        self._ask_worlds = worlds
        self._lightest = Lightest(system, most)
        self._known: dict[tuple[int, int, tuple[int, ...], int], Leaf | None] = {}
        self._sums: dict[bytes, RowSums] = {}
        self._sums_of: dict[tuple[int, int], RowSums] = {}
        self._weights: dict[Terms, tuple[tuple[Counts, int], tuple[Counts, int]]] = {}
        self._numbers: dict[bytes, int] = {}
        self._terms: dict[tuple[str, tuple[str, ...]], tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}
        self._prices: dict[frozenset[str], NDArray[np.float64]] = {}
        self._looked_up: dict[tuple[int, int, int], Proving] = {}

    def exactly(self, terms: Terms, count: int, *, below: int = _ANY) -> tuple[Leaf, Leaf] | None:
        """Both ends of a count, with fewer than this many cells together; None if none were found."""
        return self.between(terms, terms, count, below=below)

    def between(
        self, inner: Terms, outer: Terms, count: int, *, below: int = _ANY
    ) -> tuple[Leaf, Leaf] | None:
        """At least this many records match one selection, at most that many another that holds it.

        Both proofs have fewer than ``below`` cells together; None if none were found.
        """
        if self.stopped or below < 2:
            return None
        price = self._price((*inner, *outer), ())
        least = self._goal(inner, 1, count, price)
        most = self._goal(outer, -1, count, price)
        found = self._few_cells(least, most, below)
        if found is None and below > 3:
            found = self._by_both(least, most, inner, outer, count)
        return found if found is not None and n_cells(*found) < below else None

    def at_least(
        self, terms: Terms, count: int, *, beside: Node | None = None, cells: int = _ANY
    ) -> Leaf | None:
        """At least this many records match; None if no short proof, of this many cells, was found."""
        return self._find(terms, count, 1, beside, cells)

    def at_most(
        self, terms: Terms, count: int, *, beside: Node | None = None, cells: int = _ANY
    ) -> Leaf | None:
        """At most this many records match; None if no short proof, of this many cells, was found."""
        return self._find(terms, count, -1, beside, cells)

    def _few_cells(self, least: ProofGoal, most: ProofGoal, below: int) -> tuple[Leaf, Leaf] | None:
        """Proofs of both ends with the fewest rows together, of all that can be looked up."""
        lows, highs, sums = _Proofs(len(self.system.rows)), _Proofs(len(self.system.rows)), self._both(least)
        if sums is not self._both(most):
            return None
        best: tuple[Counts, Counts] | None = None
        untried = list[Proving]()
        for size in range(1, min(LARGEST, below - 1) + 1):
            lows.add(sums, self._proving(sums, least, size))
            untried.append(self._proving(sums, most, size))
            while lows.made and untried:  # without proofs of one end, those of the other are not needed
                highs.add(sums, untried.pop(0))
            best, n_rows = _fewest(lows, highs, least.price)
            if best is not None and n_rows <= size:
                break
        if best is None:
            return None
        low = self._leaf(best[0], 1)
        high = self._leaf(best[1], 1, cells_of(low))
        return None if low is None or high is None else (low, high)

    def _proving(self, sums: RowSums, goal: ProofGoal, size: int) -> Proving:
        """Sums of this many rows that prove a goal, looked up once."""
        key = goal.number, goal.target, size
        if key not in self._looked_up:
            self._looked_up[key] = sums.proving(goal.weight, goal.target, size, goal.price)
        return self._looked_up[key]

    def _by_both(
        self, least: ProofGoal, most: ProofGoal, inner: Terms, outer: Terms, count: int
    ) -> tuple[Leaf, Leaf] | None:
        """Both ends by LP, one of them by the cells of the other where that is possible."""
        high = self.at_most(outer, count)
        low = None if high is None else self.at_least(inner, count, beside=high)
        if low is None or high is None or n_cells(low, high) <= max(n_cells(low), n_cells(high)):
            return None if low is None or high is None else (low, high)
        alone = self.at_least(inner, count)
        other = self.at_most(outer, count, beside=alone)
        pairs = (
            (self._mirrored(high, least), high),
            (low, self._mirrored(low, most)),
            (low, high),
            (alone, other),
        )
        found = [(one, two) for one, two in pairs if one is not None and two is not None]
        return min(found, key=_size)

    def _mirrored(self, leaf: Leaf, goal: ProofGoal) -> Leaf | None:
        """The same cells for the other end, if they do."""
        numerators = np.zeros(len(self.system.rows), np.int64)
        for cell, u in leaf.cells:
            numerators[self.system.row_of_cell[cell]] -= u
        total = row_total(numerators, self.system.low, self.system.high)
        if total is None or total < leaf.denominator * (goal.target - 1) + 1:
            return None
        if (self.system.combined(numerators) > leaf.denominator * goal.weight).any():
            return None
        made = tuple((cell, -u) for cell, u in leaf.cells)
        release = self.system.release
        exact = all(release.low[cell] == release.high[cell] for cell, _ in made)
        return Leaf(made, (), leaf.denominator, total) if exact else None

    def _goal(self, terms: Terms, side: int, count: int, price: NDArray[np.float64]) -> ProofGoal:
        """At least this many records match, or at most this many."""
        weight, number = self._weight(terms, side)
        return ProofGoal(weight, side * count, price, number)

    def _weight(self, terms: Terms, side: int) -> tuple[Counts, int]:
        """What each class adds to the goal, 1 or 0 from below, −1 or 0 from above; equal ones by number."""
        if terms not in self._weights:
            low, high = self._spread(terms)
            self._weights[terms] = (low, self._number(low)), (high, self._number(high))
        return self._weights[terms][0 if side > 0 else 1]

    def _number(self, weight: Counts) -> int:
        return self._numbers.setdefault(weight.tobytes(), len(self._numbers))

    def _spread(self, terms: Terms) -> tuple[Counts, Counts]:
        """Which classes match with all of their types (1), and which with any (−1)."""
        system = self.system
        whole = np.ones(system.n_classes, bool)
        for term in terms:
            whole &= self._term(term)[1]
        low = whole.astype(np.int64)
        if system.n_classes == len(system.group):
            return low, -low
        many, members, starts = system.larger_classes
        inside = np.ones(len(members), bool)
        for term in terms:
            inside &= self._term(term)[0]
        some = whole.copy()
        if len(many):
            some[many] = np.logical_or.reduceat(inside, starts)
        return low, -some.astype(np.int64)

    def _term(self, term: tuple[str, tuple[str, ...]]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which types of the classes that have several match one term, and which classes do as a whole."""
        if term not in self._terms:
            mask = self.system.mask((term,))
            members = mask if self.system.n_classes == len(mask) else mask[self.system.larger_classes[1]]
            self._terms[term] = members, self.system.spread(mask[None, :])[0][0] > 0
        return self._terms[term]

    @cached_property
    def _worlds(self) -> tuple[TypeCounts, ...]:
        return tuple(world for world in self._ask_worlds()[:_MOST_WORLDS] if len(world))

    @cached_property
    def _flat(self) -> tuple[Counts, Counts, Counts]:
        """The classes with records of all worlds, how many each has, and where each world starts."""
        classes, times = [world.types for world in self._worlds], [world.times for world in self._worlds]
        starts = np.cumsum([0, *(len(one) for one in classes[:-1])])
        return np.concatenate(classes), np.concatenate(times), starts

    def _both(self, goal: ProofGoal) -> RowSums:
        """The sums of rows that agree with the worlds in which the goal is exactly the target."""
        known = self._sums_of.get((goal.number, goal.target))
        if known is None:
            fits = self._in_worlds(goal) == goal.target
            key = fits.tobytes()
            if key not in self._sums:
                chosen = (world for world, fit in zip(self._worlds, fits.tolist(), strict=True) if fit)
                self._sums[key] = RowSums(self.system, tuple(chosen))
            known = self._sums_of[goal.number, goal.target] = self._sums[key]
        return known

    def _find(self, terms: Terms, count: int, side: int, beside: Node | None, most_cells: int) -> Leaf | None:
        if self.stopped:
            return None
        cells = () if beside is None else tuple(sorted(cells_of(beside)))
        key = self._weight(terms, side)[1], count, cells, min(most_cells, LARGEST + 1)
        if key not in self._known:
            goal = self._goal(terms, side, count, self._price(terms, cells))
            found = self._few_rows(goal, most_cells)
            if found is None and most_cells > LARGEST:
                found = self._lightest.find(goal)
            self._known[key] = None if found is None else self._leaf(*found, set(cells))
        return self._known[key]

    def _few_rows(self, goal: ProofGoal, most_cells: int) -> tuple[Counts, int] | None:
        """Multipliers of few rows that prove a goal."""
        numerators = self._one_row(goal)
        if numerators is not None:
            return numerators, 1
        proofs = _Proofs(len(self.system.rows))
        for size in range(2, min(LARGEST, most_cells) + 1):
            sums = self._both(goal)
            if proofs.add(sums, self._proving(sums, goal, size), most=1):
                return proofs.made[0], 1
            if size == 2 and (two := self._difference(goal)) is not None:
                return two, 1
        return None

    def _difference(self, goal: ProofGoal) -> Counts | None:
        """One row less another one, where the goal is not exactly the target in any world."""
        if goal.target <= 0 or (self._in_worlds(goal) == goal.target).any():
            return None
        system, words = self.system, self.system.row_words
        first = self._with_enough(goal)
        first = first[np.argsort(goal.price[first], kind="stable")]
        beside = words[first] & ~pack(goal.weight[None, :] > 0)
        for row, outside in zip(first.tolist(), beside, strict=True):
            fits = system.high <= system.low[row] - goal.target
            if (left := outside.any()) and fits.any():
                fits = fits & (system.columns[_first_bit(outside)] > 0)
            fits = np.flatnonzero(fits)
            fits = fits[~(outside & ~words[fits]).any(axis=1)] if left and len(fits) else fits
            if len(fits):
                found = np.zeros(len(system.rows), np.int64)
                found[row], found[fits[np.argmin(goal.price[fits])]] = 1, -1
                return found
        return None

    def _with_enough(self, goal: ProofGoal) -> Counts:
        """Rows that may prove the goal when another one is taken off.

        What is left of such a row beside the goal lies in the other one. So in every world at least as many
        records as the target are in the row and in the goal; the world with the fewest is looked at.
        """
        system = self.system
        first = np.flatnonzero((system.low >= goal.target) & system.plain)
        if not self._worlds:
            return first
        world = self._worlds[int(self._in_worlds(goal).argmin())]
        inside = (goal.weight[world.types] * world.times) @ system.columns[world.types][:, first]
        return first[inside >= goal.target]

    def _in_worlds(self, goal: ProofGoal) -> Counts:
        """Per world what its records add up to."""
        if not self._worlds:
            return np.zeros(0, np.int64)
        classes, times, starts = self._flat
        return np.add.reduceat(goal.weight[classes] * times, starts)

    @cached_property
    def _names(self) -> NDArray[np.bool_]:
        return _attributes_of_rows(self.system)

    def _price(self, terms: Terms, cells: tuple[int, ...]) -> NDArray[np.float64]:
        """What using each row costs: cells used already are cheap, those about other attributes expensive."""
        names = frozenset(name for name, _ in terms)
        if names not in self._prices:
            index = self.system.release.schema.index
            named = np.zeros(self._names.shape[1], bool)
            named[[index[name] for name in names]] = True
            self._prices[names] = 1 + _FOREIGN * (self._names & ~named).sum(axis=1)
        price = self._prices[names]
        if cells:
            price = price.copy()
            rows = self.system.row_of_cell[list(cells)]
            price[rows[rows >= 0]] *= _USED
        return price

    def _one_row(self, goal: ProofGoal) -> Counts | None:
        """Multipliers 0 and 1 of one row that prove the goal (or of none, if there is nothing to prove)."""
        system, found = self.system, np.zeros(len(self.system.rows), np.int64)
        if goal.target <= 0 and goal.weight.min(initial=0) >= 0:
            return found
        if goal.target > 0:
            fits, sign = system.within(goal.weight) & (system.low >= goal.target), 1
        else:
            fits, sign = system.covering(-goal.weight) & (system.high <= -goal.target), -1
        if not fits.any():
            return None
        found[np.flatnonzero(fits)[np.argmin(goal.price[fits])]] = sign
        return found

    def _leaf(self, numerators: Counts, denominator: int, beside: Set[int] = frozenset()) -> Leaf | None:
        """The leaf; of cells with the same records those used already, those of few tables, simple ones."""
        total = row_total(numerators, self.system.low, self.system.high)
        if total is None:
            return None
        used = np.flatnonzero(numerators)
        named = dict(zip(used.tolist(), numerators[used].tolist(), strict=True))
        same = {row: self._cells_of_rows[0 if u > 0 else 1][row] for row, u in named.items()}
        if max(map(len, same.values()), default=0) <= 1:
            return Leaf(tuple(sorted((same[row][0], u) for row, u in named.items())), (), denominator, total)
        of, lengths, has_both = self._tables, self._lengths, self._has_both
        tables = Counter(table for cells in same.values() for table in {of[at] for at in cells})
        chosen = list[tuple[int, int]]()
        for row, cells in same.items():
            ranked = ((at not in beside, not has_both[at], -tables[of[at]], lengths[at], at) for at in cells)
            chosen.append((min(ranked)[-1], named[row]))
        return Leaf(tuple(sorted(chosen)), (), denominator, total)

    @cached_property
    def _has_both(self) -> list[bool]:
        """Which cells have both ends of their rows, so that they serve in the proofs of both."""
        release, system = self.system.release, self.system
        low, high = system.low[system.row_of_cell], system.high[system.row_of_cell]
        return ((release.low == low) & (release.high == high)).tolist()

    @cached_property
    def _cells_of_rows(self) -> tuple[list[list[int]], list[list[int]]]:
        """The cells that are each row, those with its lower end and those with its upper end."""
        system, release = self.system, self.system.release
        found = [list[int]() for _ in system.rows], [list[int]() for _ in system.rows]
        low, high = system.low[system.row_of_cell], system.high[system.row_of_cell]
        for cells, ends in zip(found, (release.low == low, release.high == high), strict=True):
            which = np.flatnonzero(ends & (system.row_of_cell >= 0))
            for cell, row in zip(which.tolist(), system.row_of_cell[which].tolist(), strict=True):
                cells[row].append(cell)
        return found

    @cached_property
    def _tables(self) -> list[str]:
        """The table of every cell."""
        return _described(self.system.release.layout)[0]

    @cached_property
    def _lengths(self) -> list[int]:
        """How much there is to say about every cell."""
        return _described(self.system.release.layout)[1]


@lru_cache(maxsize=16)
def _described(layout: Layout) -> tuple[list[str], list[int]]:
    """Per cell of a layout its table, and how many attributes and terms describe it."""
    lengths = [sum(w * len(one) for w, one in terms) + len(terms) - 1 for terms in layout.terms]
    return [table for table, _ in layout.names], lengths


def _first_bit(words: NDArray[np.uint64]) -> int:
    """The position of the first bit that is set."""
    at = int((words != 0).argmax())
    word = int(words[at])
    return 64 * at + (word & -word).bit_length() - 1


class _Proofs:
    """Multipliers of some proofs of one goal, and which rows each of them uses."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.made: list[Counts] = []

    def add(self, sums: RowSums, found: Proving, most: int = _MOST_COMPARED) -> bool:
        """Add sums of signed rows, until there are this many; whether there are any."""
        if len(self.made) < most:
            for line in found.first(most - len(self.made)).tolist():
                numerators = np.zeros(self.n_rows, np.int64)
                for at in line:
                    numerators[sums.rows[at]] += sums.signs[at]
                self.made.append(numerators)
        return bool(self.made)


def _fewest(
    lows: _Proofs, highs: _Proofs, price: NDArray[np.float64]
) -> tuple[tuple[Counts, Counts] | None, int]:
    """The two proofs with the fewest rows together, then with the cheapest ones; and how many those are."""
    if not lows.made or not highs.made:
        return None, 0
    if len(lows.made) == len(highs.made) == 1:
        low, high = lows.made[0], highs.made[0]
        return (low, high), int(np.count_nonzero(low | high))
    low, high = np.array(lows.made) != 0, np.array(highs.made) != 0
    together = low[:, None, :] | high[None, :, :]
    n_rows = np.count_nonzero(together, axis=2)
    fewest = n_rows == n_rows.min()
    best = int(fewest.argmax())
    if np.count_nonzero(fewest) > 1:
        best = int(np.argmin(np.where(fewest, together @ price, np.inf)))
    return (lows.made[best // len(high)], highs.made[best % len(high)]), int(n_rows.min())


@lru_cache(maxsize=16)
def _attributes_of_cells(layout: Layout) -> NDArray[np.bool_]:
    """Cell × attribute: which attributes each cell names."""
    index = layout.schema.index
    found = np.zeros((len(layout.attributes), len(index)), bool)
    for cell, names in enumerate(layout.attributes):
        found[cell, [index[name] for name in names]] = True
    return found


def _attributes_of_rows(system: System) -> NDArray[np.bool_]:
    """Row × attribute: which attributes the cells of a row name (those that all of them do)."""
    named = _attributes_of_cells(system.release.layout)
    found = np.ones((len(system.rows), named.shape[1]), bool)
    cells = np.flatnonzero(system.row_of_cell >= 0)
    cells = cells[np.argsort(system.row_of_cell[cells], kind="stable")]
    rows, first = np.unique(system.row_of_cell[cells], return_index=True)
    if len(rows):
        found[rows] = np.logical_and.reduceat(named[cells], first, axis=0)
    return found


def n_cells(*nodes: Node | None) -> int:
    """How many different cells the leaves of some nodes multiply."""
    return len(cells_of(*nodes))


def cells_of(*nodes: Node | None) -> set[int]:
    """The different cells that the leaves of some nodes multiply."""
    found = set[int]()
    for node in nodes:
        for leaf in () if node is None else (node,) if isinstance(node, Leaf) else leaves_of(node):
            found.update(map(_FIRST, leaf.cells))
    return found


#: Of a cell and its multiplier the cell.
_FIRST = itemgetter(0)


def shorter(one: tuple[Node, ...], other: tuple[Node | None, ...]) -> tuple[Node, ...]:
    """Of proofs of the same those with fewer cells, then with smaller multipliers; the first if equal."""
    found = tuple(node for node in other if node is not None)
    if len(found) < len(one):
        return one
    before, after = n_cells(*one), n_cells(*found)
    if before != after:
        return one if before < after else found
    return min(one, found, key=_size)


def _size(ends: tuple[Node, ...]) -> tuple[int, int, int]:
    leaves = [leaf for node in ends for leaf in leaves_of(node)]
    multipliers = sum(abs(u) for leaf in leaves for _, u in leaf.cells)
    return n_cells(*ends), len(leaves), multipliers
