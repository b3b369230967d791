"""Linked tables of counts as one problem: which cells must stay hidden, and what hiding others costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.tables.protect.cells.axis import TableAxis

__all__ = [
    "CellProblem",
]

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: The largest distance of protection: sums of a few of them stay within 64 bits.
_FARTHEST = 2**60


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
        The cells whose count must not be determined, whatever it is (0 too). Those that are published
        are suppressed first.
    needs
        Cells × 3: how wide the interval that a reader can derive for each primary cell must be. It
        reaches so far below the count, so far above it, and from end to end it is so wide (sliding
        protection); 0 asks for nothing. Without it, and for all primary cells in any case, the interval
        has at least two whole numbers. Other cells' entries are not read.

    Examples
    --------
    >>> import numpy as np
    >>> problem = CellProblem.with_margins(np.array([[5, 1], [3, 2]]))
    >>> len(problem.counts), problem.counts[problem.primary].tolist()
    (9, [1])
    >>> problem.required[problem.primary].tolist()
    [[0, 0, 1]]
    """

    axes: tuple[TableAxis, ...]
    cells: NDArray[np.int64]
    counts: Counts
    cost: Counts
    hideable: Flags
    hidden: Flags
    primary: Flags
    needs: NDArray[np.int64] | None = None

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
        if self.needs is not None:
            self._check_needs(self.needs)

    def _check_needs(self, needs: NDArray[np.int64]) -> None:
        if needs.shape != (len(self.cells), 3):
            raise ValueError(f"needs has the shape {needs.shape}, not {len(self.cells)} cells × 3")
        mine = needs[self.primary]
        if (mine < 0).any() or (mine > _FARTHEST).any():
            raise ValueError(f"distances of protection must be between 0 and {_FARTHEST}")
        low = mine[:, 0] > self.counts[self.primary]
        if low.any():
            cell = int(np.flatnonzero(self.primary)[np.argmax(low)])
            raise ValueError(
                f"cell {cell} counts {self.counts[cell]} and cannot be {needs[cell, 0]} less;"
                " no protection can reach below 0"
            )

    @classmethod
    def with_margins(
        cls,
        joint: NDArray[np.int64],
        *,
        axes: Sequence[TableAxis] | None = None,
        largest: int = 1,
        zeros: bool = True,
    ) -> CellProblem:
        """A table with all its margins, where cells of 1 to ``largest`` are primary, at one per cell.

        ``zeros`` says whether cells of 0 may be suppressed.
        """
        made = tuple(axes or (TableAxis.of(size, [range(size)]) for size in joint.shape))
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

    @cached_property
    def _containing(self) -> tuple[tuple[NDArray[np.int64], ...], ...]:
        """Per axis and leaf, how far the nodes that contain it are from the start of :attr:`index`."""
        return tuple(
            tuple(np.flatnonzero(column) * stride for column in axis.members.T)
            for axis, stride in zip(self.axes, self.strides, strict=True)
        )

    def moved(self, atoms: Sequence[int], change: Sequence[int]) -> tuple[NDArray[np.int64], Counts]:
        """The cells that change with some atoms, and by how much: added up in whole numbers.

        The same as :meth:`recount`, where few atoms change.
        """
        places, values = list[NDArray[np.int64]](), list[Counts]()
        for atom, by in zip(atoms, change, strict=True):
            flat = np.zeros(1, np.int64)
            for nodes, leaf in zip(self._containing, self.cells[atom].tolist(), strict=True):
                flat = (flat[:, None] + nodes[leaf]).ravel()
            places.append(flat)
            values.append(np.full(len(flat), by, np.int64))
        if not places:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        found, at = np.unique(self.index[np.concatenate(places)], return_inverse=True)
        total = np.zeros(len(found), np.int64)
        np.add.at(total, at, np.concatenate(values))
        used = (total != 0) & (found >= 0)
        return found[used], total[used]

    @cached_property
    def required(self) -> NDArray[np.int64]:
        """Cells × 3: the distances down, up and from end to end that each primary cell needs; else 0."""
        found = np.zeros((len(self.cells), 3), np.int64)
        if self.needs is not None:
            found[self.primary] = self.needs[self.primary]
        found[self.primary, 2] = np.maximum(found[self.primary, 2], 1)
        return found

    @cached_property
    def wide(self) -> Flags:
        """The primary cells that need more than not to be determined."""
        return self.primary & ((self.required[:, :2] > 0).any(axis=1) | (self.required[:, 2] > 1))

    @property
    def candidates(self) -> Flags:
        """The published cells that may be suppressed."""
        return self.hideable & ~self.hidden

    @property
    def fixed(self) -> Flags:
        """The published cells that must stay."""
        return ~self.hideable & ~self.hidden

    @cached_property
    def movable(self) -> Flags:
        """The cells that need not stay, without atoms in published cells of 0 that stay: those are 0."""
        empty = np.zeros(int(np.prod(self.shape)), np.int64)
        empty[self.cells[self.fixed & (self.counts == 0)] @ np.array(self.strides)] = 1
        within = empty.reshape(self.shape)
        for at, axis in enumerate(self.axes):
            moved = np.moveaxis(within, at, 0)
            sums = csr_array(axis.members.T.astype(np.int64)) @ moved.reshape(len(axis), -1)
            within = np.moveaxis(sums.reshape(axis.n_leaves, *moved.shape[1:]), 0, at)
        movable = ~self.fixed
        movable[self.atoms[within.ravel() > 0]] = False
        return movable

    def cost_of(self, suppressed: Flags) -> int:
        """What a plan costs."""
        return int(self.cost[suppressed & ~self.hidden].sum())
