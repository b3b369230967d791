"""Multipliers that prove bounds, made exact: from linear algebra and from LP duals.

What comes in is floating point and only proposes. Multipliers are kept if they pass in integers
(:func:`exact_leaf`), and the independent checker in ``tables/proof`` judges them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED
from showthrough.tables.proof import Leaf
from showthrough.tables.search.system import System

__all__ = [
    "Algebra",
    "Cut",
    "Rows",
    "equal_leaves",
    "exact_leaf",
    "exact_numerators",
    "lifted_leaf",
    "row_total",
]

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]

#: Denominators tried before multipliers are rounded on a fine grid.
_DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 24, 30, 60, 120, 360, 840, 5040)
_FINE = 2**20


@dataclass(frozen=True)
class Cut:
    """A branch row on one class: its count is at most ``high`` or at least ``low``."""

    at: int
    low: int
    high: int | None
    depth: int


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows a leaf may use: the system's, then the open cuts."""

    system: System
    cuts: tuple[Cut, ...] = ()

    def combined(self, multipliers: Counts) -> Counts:
        """Σ multiplier·row, class by class."""
        n = len(self.system.rows)
        found = self.system.combined(multipliers[:n])
        for at, cut in enumerate(self.cuts):
            found[cut.at] += multipliers[n + at]
        return found

    def covering(self, at: int) -> NDArray[np.int64]:
        """The rows that a class lies in."""
        cuts = [len(self.system.rows) + number for number, cut in enumerate(self.cuts) if cut.at == at]
        return np.append(np.flatnonzero(self.system.columns[at]), cuts).astype(np.int64)

    def row(self, number: int) -> Counts:
        """One row, class by class."""
        n = len(self.system.rows)
        if number < n:
            return self.system.rows[number].astype(np.int64)
        found = np.zeros(self.system.n_classes, np.int64)
        found[self.cuts[number - n].at] = 1
        return found

    def matrix(self) -> NDArray[np.uint8]:
        """All rows as one matrix."""
        extra = np.zeros((len(self.cuts), self.system.n_classes), self.system.rows.dtype)
        extra[np.arange(len(self.cuts)), [cut.at for cut in self.cuts]] = 1
        return np.vstack([self.system.rows, extra]) if self.cuts else self.system.rows

    def low(self) -> Counts:
        """Lower bounds."""
        if not self.cuts:
            return self.system.low
        return np.append(self.system.low, [cut.low for cut in self.cuts]).astype(np.int64)

    def high(self) -> Counts:
        """Upper bounds, UNBOUNDED for none."""
        if not self.cuts:
            return self.system.high
        cuts = [UNBOUNDED if cut.high is None else cut.high for cut in self.cuts]
        return np.append(self.system.high, cuts).astype(np.int64)

    def leaf(self, numerators: Counts, denominator: int, total: int) -> Leaf:
        """Multipliers named by cell and by branch depth."""
        system, n = self.system, len(self.system.rows)
        used = np.flatnonzero(numerators[:n])
        values = numerators[used]
        named = np.where(values > 0, system.low_cell[used], system.high_cell[used])
        cells: dict[int, int] = {}
        for cell, u in zip(named.tolist(), values.tolist(), strict=True):
            cells[cell] = cells.get(cell, 0) + u
        branches = {cut.depth: int(numerators[n + at]) for at, cut in enumerate(self.cuts)}
        return Leaf(
            cells=tuple(sorted(cells.items())),
            branches=tuple(sorted((d, u) for d, u in branches.items() if u)),
            denominator=denominator,
            total=total,
        )


def exact_leaf(
    rows: Rows, multipliers: Vector, goal: Counts, target: int, *, floor: int | None = None
) -> Leaf | None:
    """Integer multipliers near these that prove Σ goal ≥ target, or None.

    ``floor`` is the least the goal can be on classes the system's lemma took out; by default 0 for
    a goal that is nowhere negative and −1 for one that is.
    """
    found = exact_numerators(rows, multipliers, goal, target)
    if found is None:
        return None
    floor = min(0, int(goal.min(initial=0))) if floor is None else floor
    return lifted_leaf(rows, *found, floor)


def exact_numerators(rows: Rows, multipliers: Vector, goal: Counts, target: int) -> tuple[Counts, int] | None:
    """Numerators and a denominator that prove Σ goal ≥ target on the system's classes, or None.

    Small denominators first; at last a fine grid whose rounding errors are repaired by lowering
    rows that cover the offending classes, which is cheap because the bound is rounded up.
    """
    low, high = rows.low(), rows.high()
    if not np.isfinite(multipliers).all() or np.abs(multipliers).max(initial=0) > 1e6:
        return None
    for denominator in (*_DENOMINATORS, _FINE):
        scaled = multipliers * denominator
        numerators = np.rint(scaled).astype(np.int64)
        if denominator != _FINE and np.abs(scaled - numerators).max(initial=0) > 0.02:
            continue
        _repair(rows, low, high, numerators, denominator * goal)
        if (rows.combined(numerators) > denominator * goal).any():
            continue
        total = row_total(numerators, low, high)
        if total is not None and total >= denominator * (target - 1) + 1:
            return numerators, denominator
    return None


def _repair(rows: Rows, low: Counts, high: Counts, numerators: Counts, goal: Counts) -> None:
    """Lower rows, in place, until no class gets more than its goal."""
    numerators[(numerators > 0) & (low == 0)] = 0  # says nothing, only takes room
    excess = rows.combined(numerators) - goal
    for at in np.flatnonzero(excess > 0):
        if excess[at] <= 0:
            continue
        cover = rows.covering(int(at))
        cover = cover[high[cover] < UNBOUNDED]
        if not len(cover):
            return
        row = cover[np.argmin(high[cover])]
        lowered, counted = rows.row(int(row)), int(rows.row(int(row))[at])
        times = -(-int(excess[at]) // counted)
        numerators[row] -= times
        excess -= times * lowered
    numerators[(numerators > 0) & (low == 0)] = 0


def row_total(numerators: Counts, low: Counts, high: Counts) -> int | None:
    """Σ u⁺·low − u⁻·high in Python integers; None if an upper end that is missing is used."""
    used, total = np.flatnonzero(numerators), 0
    each = zip(numerators[used].tolist(), low[used].tolist(), high[used].tolist(), strict=True)
    for u, least, most in each:
        end = least if u > 0 else most
        if end >= UNBOUNDED:
            return None
        total += u * end
    return total


def lifted_leaf(rows: Rows, numerators: Counts, denominator: int, floor: int) -> Leaf | None:
    """The leaf for multipliers that are right on the system's classes.

    On classes that the lemma took out they may exceed the goal by some amount; as many times the
    lemma's multipliers, whose total is 0, make that good.
    """
    lemma = rows.system.lemma
    over = 0 if lemma is None else lemma.most(numerators[: len(lemma.numerators)]) - denominator * floor
    return _lifted(rows, numerators, denominator, over)


def equal_leaves(rows: Rows, multipliers: Counts) -> Iterator[tuple[Leaf | None, Leaf | None]]:
    """Both ends of many masks, each of which whole multipliers of exact rows add up to."""
    lemma, system = rows.system.lemma, rows.system
    above = below = np.zeros(len(multipliers), np.int64)
    alike = lemma is None and bool((system.exact & (system.low_cell == system.high_cell)).all())
    if lemma is not None:
        reached = _whole_product(multipliers[:, : len(lemma.numerators)], lemma.rows)
        above, below = reached.max(axis=1, initial=0), 1 - reached.min(axis=1, initial=0)
    for one, over, under in zip(multipliers, above.tolist(), below.tolist(), strict=True):
        lower = _lifted(rows, one, 1, over)
        if alike and lower is not None:  # from above it is the same, turned round
            cells = tuple((cell, -u) for cell, u in lower.cells)
            yield lower, Leaf(cells, (), 1, -lower.total)
        else:
            yield lower, _lifted(rows, -one, 1, under)


def _lifted(rows: Rows, numerators: Counts, denominator: int, over: int) -> Leaf | None:
    """The leaf for multipliers that exceed the goal by so much on classes that the lemma took out."""
    lemma = rows.system.lemma
    if lemma is not None and over > 0:
        if _largest(numerators) * lemma.denominator + over * _largest(lemma.numerators) >= 2**62:
            return None  # would not fit into 64 bits
        numerators = numerators * lemma.denominator
        numerators[: len(lemma.numerators)] += over * lemma.numerators
        denominator *= lemma.denominator
    total = row_total(numerators, rows.low(), rows.high())
    return None if total is None else rows.leaf(numerators, denominator, total)


def _whole_product(multipliers: Counts, rows: NDArray[np.uint8]) -> Counts:
    """A product of whole numbers; by floating point where that is exact, which is faster."""
    heaviest = int(rows.max(initial=0)) * rows.shape[0]
    if _largest(multipliers) * heaviest < 2**52:
        return (multipliers.astype(float) @ rows.astype(float)).astype(np.int64)
    return multipliers @ rows.astype(np.int64)


def _largest(numbers: Counts) -> int:
    return int(np.abs(numbers).max(initial=0))


class Algebra:
    """Which masks are combinations of exactly published rows, all at once.

    A basis of the exact rows, small cells preferred, comes from a pivoted Cholesky factor of their
    Gram matrix; the combinations solve one linear system with all masks as right-hand sides.
    """

    def __init__(self, system: System) -> None:
        self.rows = Rows(system)
        exact = np.flatnonzero(system.exact)
        flags = system.rows[exact].astype(np.float32)
        gram = (flags @ flags.T).astype(float)  # counts of classes, exact below 2**24
        scale = 1.0 / np.maximum(system.row_sizes[exact], 1)
        lapack: Any = scipy.linalg.lapack
        _, pivots, rank, _ = lapack.dpstrf(gram * scale[:, None] * scale, tol=1e-9)
        chosen = np.sort(pivots[:rank] - 1)
        self.basis = exact[chosen] if len(exact) else exact
        self._gram = gram[np.ix_(chosen, chosen)]

    def combinations(self, masks: NDArray[np.uint8]) -> Vector:
        """Per mask one multiplier per row of the system (meaningless for masks outside the span)."""
        found = np.zeros((len(masks), len(self.rows.system.rows)))
        if len(self.basis) and len(masks):
            right = (self.rows.system.sparse @ masks.T.astype(np.int64))[self.basis].astype(float)
            found[:, self.basis] = np.linalg.solve(self._gram, right).T
        return found

    def spanned(self, masks: NDArray[np.uint8], combinations: Vector) -> NDArray[np.bool_]:
        """Which masks the combinations reproduce (up to rounding)."""
        return np.abs(combinations @ self.rows.system.sparse - masks).max(axis=1, initial=0) < 1e-6
