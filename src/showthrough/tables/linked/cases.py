"""Branch and bound over all parts at once, with systems that are large but have few entries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, hstack, vstack

from showthrough.release import UNBOUNDED
from showthrough.tables.proof import Leaf
from showthrough.tables.search.branch import Search, combine
from showthrough.tables.search.prove import Rows, exact_numerators
from showthrough.tables.search.solver import Inequalities

__all__ = [
    "SparseSearch",
]

Counts = NDArray[np.int64]


class SparseSearch(Search):
    """The same search; that a case cannot be is shown without making the rows dense."""

    def _infeasible_leaf(self, rows: Rows, goal: Counts, target: int) -> Leaf | None:
        ray = _violations(rows)
        found = None if ray is None else exact_numerators(rows, ray, np.zeros_like(goal), 1)
        return None if found is None else combine(rows, *found, goal, target, self._floor)


def _violations(rows: Rows) -> NDArray[np.float64] | None:
    """Multipliers that show that no point satisfies all rows, by paying 1 per unit of violation."""
    low, high, n = rows.low(), rows.high(), rows.system.n_classes
    at = [cut.at for cut in rows.cuts]
    cuts = csr_array((np.ones(len(at)), (np.arange(len(at)), at)), shape=(len(at), n))
    matrix = vstack([csr_array(rows.system.sparse, dtype=float), cuts]) if at else rows.system.sparse
    m = len(low)
    cost = np.concatenate([np.zeros(n), np.ones(2 * m)])
    program = Inequalities(cost, np.zeros(len(cost)), np.full(len(cost), np.inf))
    whole = csr_array(hstack([matrix, eye_array(m), -eye_array(m)]), dtype=float)
    program.add(whole, low.astype(float), np.where(high >= UNBOUNDED, np.inf, high.astype(float)))
    found = program.solve()
    return None if found is None or found.value < 1e-7 else found.multipliers
