"""The linear program of the multipliers of a proof."""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED
from showthrough.tables.search.solver.highs import INFINITY, new_highs
from showthrough.tables.search.system import System

__all__ = [
    "Multipliers",
]

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]

#: Classes that a search for multipliers adds at a time, and how often it does.
_MOST_ADDED, _MOST_ROUNDS = 1_000, 60


class Multipliers:
    """The LP of the multipliers that prove Σ goal ≥ target: as few and as small as they can be.

    Its columns are the rows of a system, from below and from above; its rows are the classes, of which
    few matter, so that they are added as they are broken. It starts cold and empty, so that the
    multipliers depend on nothing but the question.
    """

    def __init__(self, system: System, goal: Counts, target: float, *, iterations: int) -> None:
        self.system = system
        self.goal = goal
        low, high = np.flatnonzero(system.low > 0), np.flatnonzero(system.high < UNBOUNDED)
        self._row = np.concatenate([low, high])
        self._sign = np.concatenate([np.ones(len(low)), -np.ones(len(high))])
        self._columns = np.arange(len(self._row), dtype=np.int32)
        ends = np.concatenate([system.low[low], -system.high[high]]).astype(float)
        options = {"solver": "simplex", "simplex_iteration_limit": iterations}
        self._highs = new_highs(presolve="off", random_seed=0, **options)
        self._highs.addVars(len(ends), np.zeros(len(ends)), np.full(len(ends), INFINITY))
        used = np.flatnonzero(ends).astype(np.int32)
        self._highs.addRow(target, INFINITY, len(used), used, ends[used])

    def lightest(self, weight: Vector, allowed: NDArray[np.bool_] | None = None) -> Vector | None:
        """The multipliers with the least Σ weight·|multiplier|; None if none were found.

        ``allowed`` says which rows may be used.
        """
        highs, n = self._highs, len(self._columns)
        most = np.full(n, INFINITY)
        if allowed is not None:
            most[~allowed[self._row]] = 0.0
        highs.changeColsCost(n, self._columns, weight[self._row])
        highs.changeColsBounds(n, self._columns, np.zeros(n), most)
        for _ in range(_MOST_ROUNDS):
            highs.run()
            if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return None
            found = np.zeros(len(self.system.rows))
            np.add.at(found, self._row, self._sign * np.array(highs.getSolution().col_value))
            excess = self.system.sparse_columns @ found - self.goal
            broken = np.flatnonzero(excess > 1e-7)
            if not len(broken):
                return found
            self._add(broken[np.argsort(-excess[broken], kind="stable")][:_MOST_ADDED])
        return None

    def _add(self, classes: Counts) -> None:
        flags = self.system.columns[classes][:, self._row]
        rows, columns = np.nonzero(flags)
        starts = np.searchsorted(rows, np.arange(len(classes))).astype(np.int32)
        low, high = np.full(len(classes), -INFINITY), self.goal[classes].astype(float)
        self._highs.addRows(
            len(classes),
            low,
            high,
            len(columns),
            starts,
            columns.astype(np.int32),
            self._sign[columns] * flags[rows, columns],
        )
