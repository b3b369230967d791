"""The finest cells that can change under a plan: those that what is published does not fix at sight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.tables.protect.cells.atom_changes import AtomChanges
from showthrough.tables.protect.cells.problem import CellProblem

__all__ = [
    "PlanAtoms",
]

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PlanAtoms:
    """Atoms that are not published and not within a published 0, and the sums of them that are published.

    Parameters
    ----------
    counts
        The true count of each atom.
    room
        By how much each may grow at most; negative if no published cell contains it.
    parts
        Cells × atoms: which atoms each cell consists of.
    rows
        The rows of ``parts`` of the published cells that consist of any: they must not change.
    """

    counts: Counts
    room: Counts
    parts: csr_array
    rows: csr_array

    @classmethod
    def of(cls, problem: CellProblem, suppressed: NDArray[np.bool_]) -> PlanAtoms:
        """The atoms under a plan that suppresses these cells.

        Examples
        --------
        >>> problem = CellProblem.with_margins(np.array([[5, 1], [3, 6]]))
        >>> PlanAtoms.of(problem, problem.is_atom).room.tolist()
        [1, 5, 5, 1]
        """
        shown = ~(suppressed | problem.hidden)
        changes = AtomChanges(problem)
        within = changes.parts[np.flatnonzero(shown & (problem.counts == 0))].sum(axis=0)
        free = np.flatnonzero((within == 0) & ~shown[changes.atoms])
        parts = csr_array(changes.parts[:, free])
        own = np.flatnonzero(shown & (np.diff(parts.indptr) > 0))
        rows, counts = csr_array(parts[own]), problem.counts[changes.atoms[free]]
        least = _least(rows, problem.counts[own])
        return cls(counts, np.where(least < 0, -1, least - counts), parts, rows)


def _least(rows: csr_array, counts: Counts) -> Counts:
    """Per atom the least count of the published cells that contain it; −1 if there is none."""
    columns = csr_array(rows.T)
    own = np.diff(columns.indptr)
    found = np.full(len(own), -1, np.int64)
    if columns.nnz:
        some = np.flatnonzero(own)
        found[some] = np.minimum.reduceat(counts[columns.indices], columns.indptr[some])
    return found
