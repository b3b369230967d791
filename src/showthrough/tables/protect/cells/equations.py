"""The true equations between cells: one cell is the sum of others that do not overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from showthrough.tables.protect.cells.axis import Nodes
from showthrough.tables.protect.cells.problem import CellProblem

__all__ = [
    "Equations",
]


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations "whole = sum of parts", each listed with the whole first.

    Parameters
    ----------
    problem
        The cells.
    starts
        Where each equation begins in ``members``; one entry more than there are equations.
    members
        The cells of all equations, one after the other.
    """

    problem: CellProblem
    starts: NDArray[np.int64]
    members: NDArray[np.int64]

    @classmethod
    def of(cls, problem: CellProblem) -> Equations:
        """Every cell as a sum over covers of its nodes, wherever all the parts are cells."""
        found = [equation for cell in range(len(problem.cells)) for equation in _of_cell(problem, cell)]
        lengths = np.array([len(one) for one in found], np.int64)
        members = np.concatenate(found) if found else np.zeros(0, np.int64)
        return cls(problem, np.concatenate([[0], np.cumsum(lengths)]), members)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many cells each equation has."""
        return np.diff(self.starts)

    @cached_property
    def spanning(self) -> csr_array:
        """One equation per cell that is no atom, the shortest: all others follow from these."""
        wholes = self.members[self.starts[:-1]]
        order = np.lexsort((np.arange(len(self)), self.lengths, wholes))
        first = order[np.diff(wholes[order], prepend=-1) != 0]
        starts = self.starts.tolist()
        parts = [np.arange(starts[at], starts[at + 1]) for at in first.tolist()]
        mine = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        signs = np.ones(len(mine))
        begins = np.concatenate([[0], np.cumsum(self.lengths[first])])
        signs[begins[:-1]] = -1.0
        columns = self.members[mine]
        return csr_array((signs, columns, begins), shape=(len(first), len(self.problem.cells)))

    @cached_property
    def spanning_columns(self) -> csc_array:
        """The same by columns."""
        return csc_array(self.spanning)


def _of_cell(problem: CellProblem, cell: int) -> Iterator[NDArray[np.int64]]:
    nodes = problem.cells[cell].tolist()
    ways: list[tuple[Nodes, ...]] = [
        ((node,), *axis.covers[node]) for axis, node in zip(problem.axes, nodes, strict=True)
    ]
    for chosen in product(*ways):
        parts = np.zeros(1, np.int64)
        for stride, cover in zip(problem.strides, chosen, strict=True):
            parts = (parts[:, None] + np.array(cover, np.int64) * stride).ravel()
        cells = problem.index[parts]
        if len(cells) > 1 and (cells >= 0).all():
            yield np.concatenate([[cell], cells])
