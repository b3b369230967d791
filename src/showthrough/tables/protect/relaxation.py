"""The relaxation of all conditions on plans: a lower bound on the cost, checked in whole numbers.

Of thousands of conditions a few hundred matter. The program has those that mattered last time and those
that are new; what its solution breaks of the others is added until nothing is broken. Any part of the
conditions gives a lower bound: the multipliers are rounded to fractions, and the bound is computed from
them in whole numbers, so that it does not rest on the solver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.tables.protect.master import ClauseRows, Master, Row
from showthrough.tables.protect.moves import Move
from showthrough.tables.search.solver import Inequalities

__all__ = [
    "Relaxation",
    "Relaxed",
]

#: What multipliers are rounded to.
_UNIT = 2**24

#: How often conditions that a solution breaks are added.
_MOST_ADDITIONS = 40

#: What counts as broken, and as a multiplier.
_BROKEN, _USED = 1e-6, 1e-9

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The solution of the relaxation.

    Parameters
    ----------
    point
        How much it takes of each column of the program.
    shares
        How much of each move it takes, where that is anything.
    bound
        A checked lower bound on the cost of every safe plan.
    """

    point: Vector
    shares: Mapping[Move, float]
    bound: Fraction

    def plan(self, least: float) -> frozenset[Move]:
        """The moves of which it takes more than some share."""
        return frozenset(move for move, share in self.shares.items() if share > least)


class Relaxation:
    """The relaxation of a program that grows."""

    def __init__(self, master: Master) -> None:
        self.master = master
        self._seen = 0
        self._kept: list[int] = []
        base = master.rows[: master.n_base]
        self._base = _matrix([row for _, _, row in base], master.n_columns)
        self._low, self._high = (np.array([row[end] for row in base]) for end in (0, 1))
        self._blocks: list[_Block] = []

    def solve(self) -> Relaxed | None:
        """The cheapest fractional choice; None if there is none, or if the solver gives up."""
        master = self.master
        new = [_Block(one) for one in master.clauses[self._seen :]]
        self._seen = len(master.clauses)
        self._blocks += new
        work = _Work(master, [*self._kept, *(at for block in new for at in block.rows)])
        solved = work.solve()
        for _ in range(_MOST_ADDITIONS):
            if solved is None:
                return None
            more = self._broken(solved[0], work.listed)
            if not more:
                break
            work.add(more)
            solved = work.solve()
        if solved is None:
            return None
        point, multipliers = solved
        self._kept = self._used(work, multipliers)
        shares = {
            move: float(share)
            for group, share in zip(master.moves, point, strict=False)
            if share > _USED
            for move in group
        }
        return Relaxed(point, shares, Fraction(work.checked(multipliers), master.scale))

    def _broken(self, point: Vector, listed: frozenset[int]) -> list[int]:
        """The rows that a point breaks and that are not in the program."""
        value = self._base @ point[: self._base.shape[1]]
        broken = (value < self._low - _BROKEN) | (value > self._high + _BROKEN)
        found = [at for at in np.flatnonzero(broken).tolist() if at not in listed]
        for block in self._blocks:
            if block.rows[-1] not in listed and block.reached(point) < 1 - _BROKEN:
                found += block.rows
        return found

    def _used(self, work: _Work, multipliers: Vector) -> list[int]:
        """The rows to start from next time: those with multipliers, of a clause all or none."""
        used = {at for at, weight in zip(work.rows, multipliers, strict=True) if abs(weight) > _USED}
        kept = sorted(at for at in used if at < self.master.n_base)
        return kept + [at for block in self._blocks if block.rows[-1] in used for at in block.rows]


class _Block:
    """One clause: its rows, and how much of it a point reaches."""

    def __init__(self, clause: ClauseRows) -> None:
        self.rows = clause.rows
        self.single = np.array(clause.single, np.int64)
        self.options = clause.options
        sets = [one for option in clause.options for one in option]
        self._columns = np.array([at for one in sets for at in one], np.int64)
        self._of_set = np.cumsum([0, *map(len, sets)])[:-1]
        self._of_option = np.cumsum([0, *map(len, clause.options)])[:-1]

    def reached(self, point: Vector) -> float:
        """At least what the clause's facts can be given of the moves that a point takes."""
        total = float(point[self.single].sum())
        if total >= 1 or not self.options:
            return total
        shares = np.add.reduceat(point[self._columns], self._of_set)
        caps = np.minimum.reduceat(shares, self._of_option)
        left = dict[tuple[int, ...], float]()
        for at in np.argsort(-caps, kind="stable").tolist():
            if total >= 1 or caps[at] <= _USED:
                break
            sets = self.options[at]
            start = self._of_option[at]
            for number, one in enumerate(sets):
                left.setdefault(one, float(shares[start + number]))
            given = min(left[one] for one in sets)
            for one in sets:
                left[one] -= given
            total += given
        return total


class _Work:
    """A program of some of the rows."""

    def __init__(self, master: Master, rows: Iterable[int]) -> None:
        self.master = master
        cost = np.zeros(master.n_columns)
        cost[: len(master.moves)] = master.cost.astype(float)
        self._program = Inequalities(cost, np.zeros(len(cost)), np.ones(len(cost)))
        self.rows: list[int] = []
        self._parts: list[csr_array] = []
        self.add(rows)

    @property
    def listed(self) -> frozenset[int]:
        """The rows of the program."""
        return frozenset(self.rows)

    def add(self, rows: Iterable[int]) -> None:
        """Add rows."""
        chosen = list(rows)
        if not chosen:
            return
        made = [self.master.rows[at] for at in chosen]
        part = _matrix([row for _, _, row in made], self.master.n_columns)
        ends = np.array([(low, high) for low, high, _ in made])
        self._program.add(part, ends[:, 0], ends[:, 1])
        self.rows += chosen
        self._parts.append(part)

    def solve(self) -> tuple[Vector, Vector] | None:
        """The cheapest point and the rows' multipliers."""
        found = self._program.solve()
        return None if found is None else (np.asarray(found.point), np.asarray(found.multipliers))

    def checked(self, multipliers: Vector) -> int:
        """The bound by the multipliers, in whole numbers: the rows' ends, and what is left of costs."""
        cost = self.master.cost
        unit, largest = _UNIT, max(float(np.abs(multipliers).sum()), float(max(cost, default=0)))
        while unit > 1 and unit * largest >= 2**60:
            unit //= 2  # nothing may overflow; with huge costs the bound is coarser
        if unit * largest >= 2**60 or not self._parts:
            return 0
        low, high = (np.array([self.master.rows[at][end] for at in self.rows]) for end in (0, 1))
        weights = np.rint(multipliers * unit).astype(np.int64)
        usable = np.where(weights > 0, np.isfinite(low), np.isfinite(high))
        weights = np.where(usable, weights, 0)
        ends = np.where(weights > 0, low, high)
        total = sum(w * int(end) for w, end in zip(weights.tolist(), ends.tolist(), strict=True) if w)
        left = np.zeros(self.master.n_columns, np.int64)
        left[: len(cost)] = cost.astype(np.int64) * unit
        start = 0
        for part in self._parts:
            left -= part.T @ weights[start : start + part.shape[0]]
            start += part.shape[0]
        total += int(left[left < 0].sum())
        return max(0, -(-total // unit))


def _matrix(rows: list[Row], n_columns: int) -> csr_array:
    """Rows as a sparse matrix of whole numbers."""
    starts = np.cumsum([0, *map(len, rows)])
    columns = np.array([at for row in rows for at in row], np.int64)
    values = np.array([value for row in rows for value in row.values()], np.int64)
    return csr_array((values, columns, starts), shape=(len(rows), n_columns))
