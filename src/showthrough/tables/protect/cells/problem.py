"""Linked tables of counts as one problem: which cells must stay hidden, and what hiding others costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.tables.protect.cells.axis import Axis

__all__ = [
    "CellProblem",
]

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class CellProblem:
    """Cells of linked tables over a few axes, with their counts, costs and what may be done to them.

    Every combination of leaves is a cell (an *atom*), published or not: the atoms are what a dataset
    consists of. A cell that is neither published nor may be is ``hidden`` from the start, at no cost.

    Parameters
    ----------
    axes
        The dimensions.
    cells
        Cells × axes: which node each cell has on each axis.
    counts
        How many records each cell has.
    cost
        What suppressing each cell costs, in whole numbers.
    hideable
        The cells that may be suppressed.
    hidden
        The cells that are not published anyway.
    primary
        The cells whose count must not be determined. Those that are published are suppressed first.

    Examples
    --------
    >>> import numpy as np
    >>> problem = CellProblem.with_margins(np.array([[5, 1], [3, 2]]))
    >>> len(problem.counts), problem.counts[problem.primary].tolist()
    (9, [1])
    """

    axes: tuple[Axis, ...]
    cells: NDArray[np.int64]
    counts: Counts
    cost: Counts
    hideable: Flags
    hidden: Flags
    primary: Flags

    def __post_init__(self) -> None:
        n = len(self.cells)
        for name in ("counts", "cost", "hideable", "hidden", "primary"):
            if len(getattr(self, name)) != n:
                raise ValueError(
                    f"{name} has {len(getattr(self, name))} entries, not one for each of {n} cells"
                )
        if (self.cost < 0).any() or (self.counts < 0).any():
            raise ValueError("costs and counts must not be negative")
        if len(self.atoms) != np.prod([axis.n_leaves for axis in self.axes]):
            raise ValueError("every combination of finest values must be a cell")
        if not np.array_equal(self.recount(self.counts[self.atoms]), self.counts):
            raise ValueError("the cells do not add up")

    @classmethod
    def with_margins(
        cls,
        joint: NDArray[np.int64],
        *,
        axes: Sequence[Axis] | None = None,
        largest: int = 1,
        zeros: bool = True,
    ) -> CellProblem:
        """A table with all its margins, where cells of 1 to ``largest`` are primary, at one per cell.

        ``zeros`` says whether cells of 0 may be suppressed.
        """
        made = tuple(axes or (Axis.of(size, [range(size)]) for size in joint.shape))
        cells = np.array(list(product(*(range(len(axis)) for axis in made))), np.int64)
        counts = joint.astype(np.int64)
        for at, axis in enumerate(made):
            counts = np.moveaxis(np.tensordot(axis.members.astype(np.int64), counts, (1, at)), 0, at)
        flat = counts.ravel()
        hideable = np.ones(len(flat), bool) if zeros else flat > 0
        primary = (flat > 0) & (flat <= largest)
        return cls(made, cells, flat, np.ones_like(flat), hideable, np.zeros(len(flat), bool), primary)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many nodes each axis has."""
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """How far apart neighbours on each axis are in :attr:`index`."""
        sizes = (*self.shape[1:], 1)
        return tuple(int(np.prod(sizes[at:])) for at in range(len(sizes)))

    @cached_property
    def index(self) -> NDArray[np.int64]:
        """Which cell each combination of nodes is, flat; −1 for combinations that are no cell."""
        index = np.full(int(np.prod(self.shape)), -1, np.int64)
        index[self.cells @ np.array(self.strides)] = np.arange(len(self.cells))
        return index

    @cached_property
    def atoms(self) -> NDArray[np.intp]:
        """The cells that are combinations of leaves, in the order of those."""
        leaves = np.array([axis.n_leaves for axis in self.axes])
        found = np.flatnonzero((self.cells < leaves).all(axis=1))
        return found[np.lexsort(self.cells[found].T[::-1])]

    @cached_property
    def is_atom(self) -> Flags:
        """Which cells are atoms."""
        flags = np.zeros(len(self.cells), bool)
        flags[self.atoms] = True
        return flags

    def recount(self, atoms: Counts) -> Counts:
        """Every cell's count, from those of the atoms: added up in whole numbers."""
        total = np.asarray(atoms, np.int64).reshape([axis.n_leaves for axis in self.axes])
        for at, axis in enumerate(self.axes):
            sums = csr_array(axis.members.astype(np.int64)) @ np.moveaxis(total, at, 0).reshape(
                axis.n_leaves, -1
            )
            shape = [*total.shape]
            shape[at] = len(axis)
            moved = [shape[at], *shape[:at], *shape[at + 1 :]]
            total = np.moveaxis(sums.reshape(moved), 0, at)
        return total.ravel()[self.cells @ np.array(self.strides)]

    @property
    def candidates(self) -> Flags:
        """The published cells that may be suppressed."""
        return self.hideable & ~self.hidden

    @property
    def fixed(self) -> Flags:
        """The published cells that must stay."""
        return ~self.hideable & ~self.hidden

    def cost_of(self, suppressed: Flags) -> int:
        """What a plan costs."""
        return int(self.cost[suppressed & ~self.hidden].sum())
