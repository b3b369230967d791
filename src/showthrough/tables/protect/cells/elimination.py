"""Greedy elimination: cells to suppress so that no primary cell is a linear combination of published ones.

One cell after the other is published, the most expensive first and, at equal cost, the largest, unless a
primary cell would then be a linear combination of published ones. Numbers are taken modulo a prime, so that
nothing is rounded. It looks at equations alone: that counts are whole and not negative may still determine a
cell. So this is not a plan, but a hint where a cheap one may be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.atom_changes import AtomChanges
from showthrough.tables.protect.cells.problem import CellProblem

__all__ = [
    "eliminate",
]

PRIME = 2**31 - 1

#: The largest matrix.
LARGEST = 20_000_000


def eliminate(problem: CellProblem) -> NDArray[np.bool_] | None:
    """The cells that elimination suppresses; None if the table is too large for it.

    Examples
    --------
    >>> problem = CellProblem.with_margins(np.array([[5, 1, 4], [3, 6, 2]]))
    >>> suppressed = eliminate(problem)
    >>> suppressed is not None and problem.cost_of(suppressed)
    4
    """
    order = np.flatnonzero(problem.candidates & ~problem.primary)
    order = order[np.lexsort((-problem.counts[order], -problem.cost[order]))]
    order = np.concatenate([np.flatnonzero(problem.fixed & (problem.counts > 0)), order])
    primary = np.flatnonzero(problem.primary)
    n_atoms = int(problem.movable[problem.atoms].sum())
    if (len(order) + len(primary)) * n_atoms > LARGEST:
        return None
    parts = AtomChanges(problem).parts
    published = _published(parts[np.concatenate([primary, order])].toarray(), len(primary))
    suppressed = problem.primary.copy()
    suppressed[order[~published]] = True
    return suppressed


def _published(rows: NDArray[np.int64], n_primary: int) -> NDArray[np.bool_]:
    """Which rows after the first ones can be published, each after those before it.

    Rows are reduced by all published ones. A row must not be a multiple of a primary one, which two random
    sums tell, kept as two more columns.
    """
    rng, n = np.random.default_rng(0), rows.shape[1]
    sums = [rows @ rng.integers(1, PRIME // max(1, n), n) % PRIME for _ in range(2)]
    matrix = np.column_stack([rows, *sums])
    published = np.zeros(len(rows) - n_primary, bool)
    for at in range(n_primary, len(matrix)):
        used = np.flatnonzero(matrix[at, :n])
        one, other = matrix[at, n:].tolist()
        alike = (matrix[:n_primary, n] * other - matrix[:n_primary, n + 1] * one) % PRIME == 0
        if len(used) and alike.any():
            continue
        published[at - n_primary] = True
        if len(used):
            _reduce(matrix, at, used, n_primary)
    return published


def _reduce(matrix: NDArray[np.int64], at: int, used: NDArray[np.intp], n_primary: int) -> None:
    """Take a row out of the primary rows and those after it."""
    left = np.concatenate([np.arange(n_primary), np.arange(at + 1, len(matrix))])
    pivot = used[np.argmin((matrix[np.ix_(left, used)] != 0).sum(axis=0))]
    rows = left[matrix[left, pivot] != 0]
    columns = np.concatenate([used, np.arange(matrix.shape[1] - 2, matrix.shape[1])])
    unit = matrix[at, columns] * pow(int(matrix[at, pivot]), PRIME - 2, PRIME) % PRIME
    block = np.ix_(rows, columns)
    matrix[block] = (matrix[block] - matrix[rows, pivot][:, None] * unit) % PRIME
