"""The relaxation of all conditions on plans: a lower bound on the cost, checked in whole numbers.

Of thousands of conditions a few hundred matter. The program starts with none; what its solution breaks is
added until nothing is broken, and with very many rows those are left out that did not matter last time.
Clauses are sums of moves (:mod:`showthrough.tables.protect.clause_sums`). Any part of the conditions gives a
lower bound: the multipliers are rounded to fractions, and the bound is computed from them in whole numbers,
so that it does not rest on the solver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.tables.protect.clause_sums import ClauseSums
from showthrough.tables.protect.clauses import Clause
from showthrough.tables.protect.master import Master, Row
from showthrough.tables.protect.moves import Drop, Move, Suppress
from showthrough.tables.search.solver import Inequalities

__all__ = [
    "Relaxation",
    "Relaxed",
]

#: What multipliers are rounded to.
_UNIT = 2**24

#: How often conditions that a solution breaks are added.
_MOST_ADDITIONS = 40

#: Sums of clauses added at once, and rows that are kept although they did not matter last time.
_MOST_SUMS, _MANY_ROWS = 100, 600

#: What counts as broken, and as a multiplier.
_BROKEN, _USED = 1e-6, 1e-9

Vector = NDArray[np.float64]

#: A row: the number of one of the program's, or columns of which one is needed.
_Key = int | frozenset[int]


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The solution of the relaxation.

    Parameters
    ----------
    point
        How much it takes of each column of the program.
    shares
        How much of each move it takes, where that is anything.
    value
        What it costs.
    bound
        A checked lower bound on the cost of every safe plan.
    """

    point: Vector
    shares: Mapping[Move, float]
    value: float
    bound: Fraction

    def plan(self, least: float) -> frozenset[Move]:
        """The moves of which it takes more than some share, without those that others exclude.

        A table of which anything is dropped is dropped. Otherwise its cells are suppressed, or the whole is
        treated in the one way of which most is taken.
        """
        by_table: dict[str, list[Move]] = {}
        for move, share in self.shares.items():
            if share > least:
                by_table.setdefault(move.table, []).append(move)
        chosen = list[Move]()
        for moves in by_table.values():
            dropped = [move for move in moves if isinstance(move, Drop)]
            cells = [move for move in moves if isinstance(move, Suppress)]
            most = max(moves, key=lambda move: (self.shares[move], repr(move)))
            chosen += dropped or cells or [most]
        return frozenset(chosen)


class Relaxation:
    """The relaxation of conditions that grow: those of a program without clauses, and clauses."""

    def __init__(self, master: Master) -> None:
        self.master = master
        base = master.rows[: master.n_base]
        self._base = _matrix([row for _, _, row in base], master.n_base_columns)
        self._low, self._high = (np.array([row[end] for row in base]) for end in (0, 1))
        self._sums = ClauseSums()
        self._work = _Work(master, [])
        self._used: list[_Key] = []

    def add(self, clauses: Iterable[Clause]) -> None:
        """Add clauses."""
        self._sums.add(self.master.columns(clause) for clause in clauses)

    def solve(self) -> Relaxed | None:
        """The cheapest fractional choice; None if there is none, or if the solver gives up."""
        if len(self._work.keys) > _MANY_ROWS + len(self._used):
            self._work = _Work(self.master, self._used)
        solved = self._work.solve()
        for _ in range(_MOST_ADDITIONS):
            if solved is None:
                return None
            more = [key for key in self._broken(solved[0]) if key not in self._work.keys]
            if not more:
                break
            self._work.add(more)
            solved = self._work.solve()
        if solved is None:
            return None
        point, multipliers = solved
        pairs = zip(self._work.keys, multipliers.tolist(), strict=True)
        self._used = [key for key, weight in pairs if abs(weight) > _USED]
        shares = {
            move: float(share)
            for group, share in zip(self.master.moves, point, strict=False)
            if share > _USED
            for move in group
        }
        value = float(self.master.cost.astype(float) @ point[: len(self.master.moves)]) / self.master.scale
        steps = -(-self._work.checked(multipliers) // self.master.step)
        return Relaxed(point, shares, value, Fraction(steps * self.master.step, self.master.scale))

    def _broken(self, point: Vector) -> list[_Key]:
        """The rows that a point breaks; of clauses those that it breaks most."""
        value = self._base @ point
        broken = (value < self._low - _BROKEN) | (value > self._high + _BROKEN)
        sums = sorted(
            dict.fromkeys(self._sums.broken(point)), key=lambda one: (point[list(one)].sum(), sorted(one))
        )
        return [*np.flatnonzero(broken).tolist(), *sums[:_MOST_SUMS]]


class _Work:
    """A program of some of the rows."""

    def __init__(self, master: Master, keys: Iterable[_Key]) -> None:
        self.master = master
        cost = np.zeros(master.n_base_columns)
        cost[: len(master.moves)] = master.cost.astype(float)
        self._program = Inequalities(cost, np.zeros(len(cost)), np.ones(len(cost)))
        #: The rows, in order.
        self.keys: dict[_Key, None] = {}
        self._rows: list[tuple[float, float, Row]] = []
        self._parts: list[csr_array] = []
        self.add(keys)

    def add(self, keys: Iterable[_Key]) -> None:
        """Add rows."""
        chosen = list(keys)
        if not chosen:
            return
        made = [self._row(key) for key in chosen]
        part = _matrix([row for _, _, row in made], self.master.n_base_columns)
        ends = np.array([(low, high) for low, high, _ in made])
        self._program.add(part, ends[:, 0], ends[:, 1])
        self.keys |= dict.fromkeys(chosen)
        self._rows += made
        self._parts.append(part)

    def _row(self, key: _Key) -> tuple[float, float, Row]:
        """A row of the program, or that one of some columns is needed."""
        return self.master.rows[key] if isinstance(key, int) else (1.0, np.inf, dict.fromkeys(sorted(key), 1))

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
        low, high = (np.array([row[end] for row in self._rows]) for end in (0, 1))
        weights = np.rint(multipliers * unit).astype(np.int64)
        usable = np.where(weights > 0, np.isfinite(low), np.isfinite(high))
        weights = np.where(usable, weights, 0)
        ends = np.where(weights > 0, low, high)
        total = sum(w * int(end) for w, end in zip(weights.tolist(), ends.tolist(), strict=True) if w)
        left = np.zeros(self.master.n_base_columns, np.int64)
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
