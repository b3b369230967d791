"""Multipliers that prove bounds: from linear algebra, from LP duals, and from branching.

Everything here is floating point and only proposes. A set of multipliers is kept if it passes in
integers (:func:`exact_leaf`), and the independent checker in ``proof.py`` judges it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import highspy
import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from showthrough.audit.proof import Branch, Leaf, Node, Terms
from showthrough.audit.system import System
from showthrough.release import UNBOUNDED

__all__ = ["Algebra", "Program", "Rows", "Search", "exact_leaf", "exact_numerators", "lifted_leaf"]

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]

#: Denominators tried before multipliers are rounded on a fine grid.
_DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 24, 30, 60, 120, 360, 840, 5040)
_FINE = 2**20
_INFINITY = 1e30


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

    def matrix(self) -> NDArray[np.int64]:
        """All rows as one integer matrix."""
        if not self.cuts:
            return self.system.rows
        extra = np.zeros((len(self.cuts), self.system.n_classes), np.int64)
        extra[np.arange(len(self.cuts)), [cut.at for cut in self.cuts]] = 1
        return np.vstack([self.system.rows, extra])

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
    matrix, low, high = rows.matrix(), rows.low(), rows.high()
    if not np.isfinite(multipliers).all() or np.abs(multipliers).max(initial=0) > 1e6:
        return None
    for denominator in (*_DENOMINATORS, _FINE):
        scaled = multipliers * denominator
        numerators = np.rint(scaled).astype(np.int64)
        if denominator != _FINE and np.abs(scaled - numerators).max(initial=0) > 0.02:
            continue
        _repair(matrix, low, high, numerators, denominator * goal)
        if (numerators @ matrix > denominator * goal).any():
            continue
        total = _total(numerators, low, high)
        if total is not None and total >= denominator * (target - 1) + 1:
            return numerators, denominator
    return None


def _repair(matrix: NDArray[np.int64], low: Counts, high: Counts, numerators: Counts, goal: Counts) -> None:
    """Lower rows, in place, until no class gets more than its goal."""
    numerators[(numerators > 0) & (low == 0)] = 0  # says nothing, only takes room
    excess = numerators @ matrix - goal
    for at in np.flatnonzero(excess > 0):
        if excess[at] <= 0:
            continue
        cover = np.flatnonzero((matrix[:, at] > 0) & (high < UNBOUNDED))
        if not len(cover):
            return
        row = cover[np.argmin(high[cover])]
        numerators[row] -= excess[at]
        excess -= excess[at] * matrix[row]
    numerators[(numerators > 0) & (low == 0)] = 0


def _total(numerators: Counts, low: Counts, high: Counts) -> int | None:
    """Σ u⁺·low − u⁻·high in Python integers; None if an upper end that is missing is used."""
    used = np.flatnonzero(numerators)
    values = numerators[used]
    ends = np.where(values > 0, low[used], high[used])
    if (ends >= UNBOUNDED).any():
        return None
    return sum(u * end for u, end in zip(values.tolist(), ends.tolist(), strict=True))


def lifted_leaf(rows: Rows, numerators: Counts, denominator: int, floor: int) -> Leaf | None:
    """The leaf for multipliers that are right on the system's classes.

    On classes that the lemma took out they may exceed the goal by some amount; as many times the
    lemma's multipliers, whose total is 0, make that good.
    """
    lemma = rows.system.lemma
    if lemma is not None:
        n = len(lemma.numerators)
        over = int((numerators[:n] @ lemma.rows).max(initial=0)) - denominator * floor
        if over > 0:
            numerators = numerators * lemma.denominator
            numerators[:n] += over * lemma.numerators
            denominator *= lemma.denominator
    total = _total(numerators, rows.low(), rows.high())
    return None if total is None else rows.leaf(numerators, denominator, total)


class Algebra:
    """Which masks are combinations of exactly published rows, all at once.

    A basis of the exact rows, small cells preferred, comes from a pivoted Cholesky factor of their
    Gram matrix; the combinations solve one linear system with all masks as right-hand sides.
    """

    def __init__(self, system: System) -> None:
        self.rows = Rows(system)
        exact = np.flatnonzero(system.exact)
        scale = 1.0 / np.maximum(system.rows[exact].sum(axis=1), 1)
        scaled = system.rows[exact] * scale[:, None]
        factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(scaled @ scaled.T, tol=1e-9)
        del factor
        self.basis = exact[np.sort(pivots[:rank] - 1)] if len(exact) else exact
        self._matrix = system.rows[self.basis].astype(float)

    def combinations(self, masks: NDArray[np.uint8]) -> Vector:
        """Per mask one multiplier per row of the system (meaningless for masks outside the span)."""
        found = np.zeros((len(masks), len(self.rows.system.rows)))
        if len(self.basis) and len(masks):
            gram = self._matrix @ self._matrix.T
            right = self._matrix @ masks.T.astype(float)
            found[:, self.basis] = np.linalg.solve(gram, right).T
        return found

    def spanned(self, masks: NDArray[np.uint8], combinations: Vector) -> NDArray[np.bool_]:
        """Which masks the combinations reproduce (up to rounding)."""
        matrix = self.rows.system.floats
        return np.abs(combinations @ matrix - masks).max(axis=1, initial=0) < 1e-6


@dataclass(frozen=True)
class Solution:
    """What the LP says: a value, multipliers per row and reduced costs, and a point."""

    value: float
    multipliers: Vector
    reduced: Vector
    point: Vector


class Program:
    """One LP per area, kept warm: minimise a goal over the relaxed system.

    Bounds of single classes can be changed for branching. HiGHS runs with presolve off; the number
    of simplex iterations is limited so that effort does not depend on the clock.
    """

    def __init__(self, system: System, *, iterations: int, budget: float = np.inf) -> None:
        self.system = system
        self.iterations = 0
        self.budget = budget
        self._bound: set[int] = set()
        self.size = system.n_classes + len(system.rows)
        self._highs: Any = highspy.Highs()
        options = {
            "output_flag": False,
            "presolve": "off",
            "solver": "simplex",
            "threads": 1,
            "simplex_strategy": 4,
            "simplex_iteration_limit": iterations,
            "random_seed": 0,
        }
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        self._highs.passModel(self._model())
        self._columns = np.arange(system.n_classes, dtype=np.int32)

    def _model(self) -> Any:
        system = self.system
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = system.n_classes, len(system.rows)
        lp.col_cost_ = np.zeros(system.n_classes)
        lp.col_lower_ = np.zeros(system.n_classes)
        lp.col_upper_ = np.full(system.n_classes, _INFINITY)
        lp.row_lower_ = system.low.astype(float)
        lp.row_upper_ = np.where(system.high >= UNBOUNDED, _INFINITY, system.high.astype(float))
        row, column = np.nonzero(system.rows)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.searchsorted(row, np.arange(len(system.rows) + 1)).astype(np.int32)
        lp.a_matrix_.index_ = column.astype(np.int32)
        lp.a_matrix_.value_ = np.ones(len(column))
        return lp

    def unbind(self) -> None:
        """Lift all restrictions of single classes."""
        for at in sorted(self._bound):
            self._highs.changeColBounds(at, 0.0, _INFINITY)
        self._bound.clear()

    def bound(self, at: int, low: int, high: int | None) -> None:
        """Restrict one class's count."""
        self._bound.add(at)
        self._highs.changeColBounds(at, float(low), _INFINITY if high is None else float(high))

    def minimise(self, goal: Counts) -> Solution | str | None:
        """The minimum of Σ goal·y; ``"infeasible"``, ``"unbounded"`` or None if the effort ran out."""
        if self.spent:
            return None
        self._highs.changeColsCost(len(self._columns), self._columns, goal.astype(float))
        status = self._run()
        if status == highspy.HighsModelStatus.kInfeasible:
            return "infeasible"
        if status in (
            highspy.HighsModelStatus.kUnbounded,
            highspy.HighsModelStatus.kUnboundedOrInfeasible,
        ):
            return "unbounded"
        if status != highspy.HighsModelStatus.kOptimal:
            return None
        found = self._highs.getSolution()
        return Solution(
            value=float(self._highs.getInfo().objective_function_value),
            multipliers=np.array(found.row_dual),
            reduced=np.array(found.col_dual),
            point=np.array(found.col_value),
        )

    def centre(self) -> Vector | None:
        """A point inside the relaxed system: as many classes as possible are positive at once.

        An interior-point method without crossover ends near the centre of the polytope, so a class
        that is (nearly) 0 there is 0 everywhere, which the caller has still to prove.
        """
        inner = Program(self.system, iterations=1)
        inner._highs.setOptionValue("solver", "ipm")
        inner._highs.setOptionValue("run_crossover", "off")
        inner._highs.run()
        if inner._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return np.array(inner._highs.getSolution().col_value)

    def integers_below(self, goal: Counts, limit: int, *, nodes: int) -> Counts | None:
        """Class counts with Σ goal ≤ limit by HiGHS's own branch and bound, re-checked; or None.

        None says nothing: only worlds are taken from it, never that there are none.
        """
        inner = Program(self.system, iterations=2**31 - 1)
        highs, n = inner._highs, self.system.n_classes
        kinds = np.full(n, int(highspy.HighsVarType.kInteger), np.uint8)
        options = {
            "presolve": "on",
            "solver": "choose",
            "mip_max_nodes": nodes,
            "objective_target": float(limit),
        }
        for name, value in options.items():
            highs.setOptionValue(name, value)
        highs.changeColsIntegrality(n, inner._columns, kinds)
        highs.changeColsCost(n, inner._columns, goal.astype(float))
        highs.run()
        point = np.array(highs.getSolution().col_value)
        found = integral(self.system, point) if len(point) == n else None
        return found if found is not None and int(goal @ found) <= limit else None

    @property
    def spent(self) -> bool:
        """Whether all iterations together, times the LP's size, exceed the budget."""
        return self.iterations * self.size > self.budget

    def _run(self) -> Any:
        self._highs.run()
        self.iterations += max(0, int(self._highs.getInfo().simplex_iteration_count))
        return self._highs.getModelStatus()


def infeasibility(rows: Rows) -> Vector | None:
    """Multipliers that show that no point satisfies all rows; None if one does (or effort ran out).

    Phase one as its own LP: pay 1 per unit of violation. Its duals are the multipliers, so no
    unbounded ray has to be asked of the solver.
    """
    matrix, low, high = rows.matrix(), rows.low(), rows.high()
    n_rows, n_classes = matrix.shape
    highs: Any = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("presolve", "off")
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("simplex_iteration_limit", 200_000)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n_classes + 2 * n_rows, n_rows
    lp.col_cost_ = np.concatenate([np.zeros(n_classes), np.ones(2 * n_rows)])
    lp.col_lower_ = np.zeros(n_classes + 2 * n_rows)
    lp.col_upper_ = np.full(n_classes + 2 * n_rows, _INFINITY)
    lp.row_lower_ = low.astype(float)
    lp.row_upper_ = np.where(high >= UNBOUNDED, _INFINITY, high.astype(float))
    whole = np.hstack([matrix, np.eye(n_rows), -np.eye(n_rows)])
    row, column = np.nonzero(whole)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.searchsorted(row, np.arange(n_rows + 1)).astype(np.int32)
    lp.a_matrix_.index_ = column.astype(np.int32)
    lp.a_matrix_.value_ = whole[row, column]
    highs.passModel(lp)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    if highs.getInfo().objective_function_value < 1e-7:
        return None
    return np.array(highs.getSolution().row_dual)


@dataclass
class Search:
    """Branch and bound for Σ goal ≥ target: a proof tree, or a point that refutes it.

    Branches are on the count of one class, which is the sum of the counts of its types.
    """

    program: Program
    most_nodes: int
    base_depth: int = 0  # rows the checker numbers before the first branch
    nodes: int = field(default=0)
    _floor: int = field(default=0, init=False)

    def run(self, goal: Counts, target: int, *, floor: int | None = None) -> Node | Counts | None:
        """A proof, a point with Σ goal < target, or None if the effort ran out.

        With a goal of 0 and a target of 1 this decides whether any point exists.
        """
        self.nodes = 0
        self._floor = min(0, int(goal.min(initial=0))) if floor is None else floor
        try:
            return self._node(goal, target, ())
        finally:
            self.program.unbind()

    def _node(self, goal: Counts, target: int, cuts: tuple[Cut, ...]) -> Node | Counts | None:
        self.nodes += 1
        if self.nodes > self.most_nodes or len(cuts) > 200:
            return None
        rows = Rows(self.program.system, _tightest(cuts))
        found = self.program.minimise(goal)
        if found == "infeasible":
            return self._infeasible_leaf(rows, goal, target)
        if not isinstance(found, Solution):
            return None
        if found.value > target - 1 + 1e-6:
            leaf = exact_leaf(rows, _with_cuts(found, rows), goal, target, floor=self._floor)
            if leaf is not None:
                return leaf
        point = integral(self.program.system, found.point)
        if point is not None and int(goal @ point) < target:
            return point
        return self._branch(goal, target, cuts, found.point)

    def _branch(
        self, goal: Counts, target: int, cuts: tuple[Cut, ...], point: Vector
    ) -> Node | Counts | None:
        fraction = np.abs(point - np.rint(point))
        if fraction.max(initial=0) < 1e-7:
            return None
        at = int(np.argmax(fraction))
        floor = int(np.floor(point[at]))
        low, high = _range(cuts, at)
        depth = self.base_depth + len(cuts)
        sides: list[Node] = []
        for bounds in ((low, floor), (floor + 1, high)):
            self.program.bound(at, *bounds)
            cut = Cut(at, 0, floor, depth) if bounds[1] == floor else Cut(at, floor + 1, None, depth)
            result = self._node(goal, target, (*cuts, cut))
            self.program.bound(at, low, high)
            if not isinstance(result, Leaf | Branch):
                return result
            if not _uses(result, depth):
                return _without(result, depth)  # the case did not matter
            sides.append(result)
        return Branch(class_terms(self.program.system, at), floor, sides[0], sides[1])

    def _infeasible_leaf(self, rows: Rows, goal: Counts, target: int) -> Leaf | None:
        ray = infeasibility(rows)
        if ray is None:
            return None
        found = exact_numerators(rows, ray, np.zeros_like(goal), 1)
        return None if found is None else combine(rows, *found, goal, target, self._floor)


def combine(rows: Rows, ray: Counts, denominator: int, goal: Counts, target: int, floor: int) -> Leaf | None:
    """A leaf for any goal, from multipliers that show emptiness.

    These contribute at most 0 to every class and more than 0 in total, so any multiple of them may
    be added. Every class with a negative goal first gets −1 on a row that bounds it; then the ray
    is added often enough to outweigh what that costs.
    """
    matrix, low, high = rows.matrix(), rows.low(), rows.high()
    numerators = np.zeros(len(matrix), np.int64)
    for at in np.flatnonzero(goal < 0):
        missing = int(numerators @ matrix[:, at]) - int(goal[at])
        cover = np.flatnonzero((matrix[:, at] > 0) & (high < UNBOUNDED))
        if missing > 0 and not len(cover):
            return None
        if missing > 0:
            numerators[cover[np.argmin(high[cover])]] -= missing
    cost, gain = _total(numerators, low, high), _total(ray, low, high)
    if cost is None or gain is None or gain <= 0:
        return None
    times = max(1, -(-(denominator * (target - cost)) // gain))
    leaf = lifted_leaf(rows, numerators * denominator + times * ray, denominator, floor)
    return leaf if leaf is not None and leaf.total >= leaf.denominator * (target - 1) + 1 else None


def integral(system: System, point: Vector) -> Counts | None:
    """The point as integers if it is (nearly) integral and satisfies the system exactly."""
    rounded = np.rint(point)
    if np.abs(point - rounded).max(initial=0) > 1e-5:
        return None
    counts = rounded.astype(np.int64)
    return counts if system.allows(counts) else None


def class_terms(system: System, at: int) -> tuple[Terms, ...]:
    """A class as selections: one full assignment per type in it."""
    frame = system.universe.frame
    schema = frame.layout.schema
    return tuple(
        tuple(
            sorted(
                (name, (schema[name].values[int(code)],))
                for name, code in zip(frame.names, system.universe.codes[type_], strict=True)
            )
        )
        for type_ in system.members(at)
    )


def _with_cuts(found: Solution, rows: Rows) -> Vector:
    """Row duals, and for each cut the part of its class's reduced cost that it can carry."""
    reduced = [
        max(found.reduced[cut.at], 0.0) if cut.high is None else min(found.reduced[cut.at], 0.0)
        for cut in rows.cuts
    ]
    return np.append(found.multipliers, reduced)


def _tightest(cuts: Sequence[Cut]) -> tuple[Cut, ...]:
    """Per class the last cut from below and the last from above: later cuts are tighter."""
    best: dict[tuple[int, bool], Cut] = {}
    for cut in cuts:
        best[cut.at, cut.high is None] = cut
    return tuple(best.values())


def _range(cuts: Sequence[Cut], at: int) -> tuple[int, int | None]:
    low = max((cut.low for cut in cuts if cut.at == at and cut.high is None), default=0)
    highs = [cut.high for cut in cuts if cut.at == at and cut.high is not None]
    return low, min(highs, default=None)


def _uses(node: Node, depth: int) -> bool:
    """Whether some leaf below multiplies the branch at this depth."""
    return any(d == depth for leaf in _leaves(node) for d, _ in leaf.branches)


def _without(node: Node, depth: int) -> Node:
    """The node with the (unused) branch at this depth taken out of the numbering."""
    if isinstance(node, Leaf):
        moved = tuple((d - (d > depth), u) for d, u in node.branches)
        return replace(node, branches=moved)
    return replace(node, below=_without(node.below, depth), above=_without(node.above, depth))


def _leaves(node: Node) -> Iterator[Leaf]:
    if isinstance(node, Leaf):
        yield node
    else:
        yield from _leaves(node.below)
        yield from _leaves(node.above)
