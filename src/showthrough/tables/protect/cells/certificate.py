"""Certificates: datasets that publish the same and disagree about a cell, checked in whole numbers.

The true counts are one dataset; each certificate is another one. What a reader can derive for a cell is
an interval that contains the cell's count in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.problem import CellProblem

__all__ = [
    "CellCertificate",
    "certified",
    "certify",
    "reached",
]

Flags = NDArray[np.bool_]

#: Cells (each once), and by how much each differs.
Difference = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class CellCertificate:
    """Why a cell is not determined: another dataset, by how much its atoms differ from the true counts.

    Parameters
    ----------
    atoms
        The atoms (by position among the cells) that differ.
    change
        By how much each of them does.
    """

    atoms: tuple[int, ...]
    change: tuple[int, ...]

    def difference(self, problem: CellProblem, suppressed: Flags) -> Difference | None:
        """The cells that differ and by how much, if the dataset publishes the same under a plan; else None.

        It does if only atoms change, no count becomes negative, and no published cell changes; all of
        that is recounted from the atoms.
        """
        if len(self.atoms) != len(self.change) or not problem.is_atom[list(self.atoms)].all():
            return None
        cells, change = problem.moved(self.atoms, self.change)
        published = ~(suppressed[cells] | problem.hidden[cells])
        if published.any() or (problem.counts[cells] + change < 0).any():
            return None
        return cells, change

    def shows(self, problem: CellProblem, suppressed: Flags) -> NDArray[np.int64]:
        """The primary cells that it shows not to be determined under a plan; none if it does not hold."""
        found = self.difference(problem, suppressed)
        return np.zeros(0, np.int64) if found is None else found[0][problem.primary[found[0]]]


def certify(problem: CellProblem, change: NDArray[np.float64] | NDArray[np.int64]) -> CellCertificate | None:
    """A change of all cells (or of the atoms among them) as a certificate, if it is whole; unchecked."""
    mine = np.asarray(change)[problem.atoms]
    whole = np.rint(mine).astype(np.int64)
    if np.abs(mine - whole).max(initial=0) > 1e-6:
        return None
    used = np.flatnonzero(whole)
    return CellCertificate(tuple(problem.atoms[used].tolist()), tuple(whole[used].tolist()))


def reached(
    problem: CellProblem, suppressed: Flags, certificates: Iterable[CellCertificate]
) -> NDArray[np.int64]:
    """Cells × 2: how far below and above each count the datasets reach that hold under a plan."""
    ends = np.zeros((len(problem.counts), 2), np.int64)
    for one in certificates:
        found = one.difference(problem, suppressed)
        if found is not None:
            cells, change = found
            ends[cells, 0] = np.maximum(ends[cells, 0], -change)
            ends[cells, 1] = np.maximum(ends[cells, 1], change)
    return ends


def certified(problem: CellProblem, suppressed: Flags, certificates: Iterable[CellCertificate]) -> Flags:
    """Which primary cells have intervals under a plan that are shown to be as wide as they need to be."""
    below, above = reached(problem, suppressed, certificates).T
    down, up, width = problem.required.T
    return problem.primary & (below >= down) & (above >= up) & (below + above >= width)
