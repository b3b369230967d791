"""Certificates: two datasets that publish the same and disagree about a cell, checked in whole numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.problem import CellProblem

__all__ = [
    "Certificate",
    "certified",
    "certify",
]

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Certificate:
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

    def difference(self, problem: CellProblem) -> NDArray[np.int64]:
        """By how much each cell differs between the two datasets, recounted from the atoms."""
        change = np.zeros(len(problem.counts), np.int64)
        np.add.at(change, np.array(self.atoms, np.int64), np.array(self.change, np.int64))
        return problem.recount(change[problem.atoms])

    def shows(self, problem: CellProblem, suppressed: Flags) -> NDArray[np.intp]:
        """The primary cells that it shows not to be determined under a plan; none if it does not hold.

        It holds if only atoms change, no count becomes negative, and no published cell changes.
        """
        if len(self.atoms) != len(self.change) or not problem.is_atom[list(self.atoms)].all():
            return np.zeros(0, np.intp)
        change = self.difference(problem)
        published = ~(suppressed | problem.hidden)
        if (problem.counts + change < 0).any() or change[published].any():
            return np.zeros(0, np.intp)
        return np.flatnonzero(problem.primary & (change != 0))


def certify(problem: CellProblem, change: NDArray[np.float64] | NDArray[np.int64]) -> Certificate | None:
    """A change of all cells (or of the atoms among them) as a certificate, if it is whole; unchecked."""
    mine = np.asarray(change)[problem.atoms]
    whole = np.rint(mine).astype(np.int64)
    if np.abs(mine - whole).max(initial=0) > 1e-6:
        return None
    used = np.flatnonzero(whole)
    return Certificate(tuple(problem.atoms[used].tolist()), tuple(whole[used].tolist()))


def certified(problem: CellProblem, suppressed: Flags, certificates: Iterable[Certificate]) -> Flags:
    """Which primary cells some certificate shows not to be determined under a plan."""
    shown = np.zeros(len(problem.counts), bool)
    for one in certificates:
        shown[one.shows(problem, suppressed)] = True
    return shown
