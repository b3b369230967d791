"""Estimates from what was counted in a publication.

Counts come by *units*, the smallest parts in which records were perturbed alike: a sub-table, a group
of a sampled publication, a bucket of an anatomy. Units are added up to the *cells* somebody asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.publish.inversion import invert, likeliest, variance
from showthrough.publish.table import SubTable

__all__ = ["Bucketed", "Observed", "Perturbed"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Observed(Protocol):
    """What was counted in some cells."""

    @property
    def records(self) -> Whole:
        """How many published records each cell has."""
        ...

    def chosen(self, values: Whole) -> tuple[Floats, Floats]:
        """For each cell how many records have one of some values, and the variance of that."""
        ...

    def each(self, *, consistent: bool) -> tuple[Floats, Floats]:
        """For each cell and each value the number of records, and the variance of that."""
        ...


@dataclass(frozen=True, eq=False)
class Perturbed:
    """Counts of perturbed records: one row of ``counts`` for each unit, one column for each value."""

    n_cells: int
    cell: Whole
    table: Whole
    copies: Floats
    counts: Any
    tables: tuple[SubTable, ...]

    @property
    def sizes(self) -> Whole:
        """How many records each unit has."""
        return np.asarray(self.counts.sum(axis=1), np.int64)

    @property
    def records(self) -> Whole:
        """How many published records each cell has."""
        return np.bincount(self.cell, self.sizes, self.n_cells).astype(np.int64)

    def chosen(self, values: Whole) -> tuple[Floats, Floats]:
        """For each cell how many records have one of some values, and the variance of that."""
        wanted = np.zeros(self.counts.shape[1])
        wanted[values] = 1
        shown, sizes = self.counts @ wanted, self.sizes
        n_chosen = np.array([wanted[list(table.values)].sum() for table in self.tables])[self.table]
        known = {"retention": self._retention, "n_values": self._n_values, "n_chosen": n_chosen}
        found = invert(shown, sizes, **known)
        spread = variance(found, sizes, **known, copies=self.copies, within=self.cell, n_sums=self.n_cells)
        # Where every value is chosen nothing is left to chance, whatever rounding says.
        every = n_chosen == self._n_values
        found[every] = sizes[every]
        spread[np.bincount(self.cell, ~every, self.n_cells) == 0] = 0
        return _sums(self.cell, found, self.n_cells), spread

    def each(self, *, consistent: bool) -> tuple[Floats, Floats]:
        """For each cell and each value the number of records, and the variance of that."""
        shape = (self.n_cells, self.counts.shape[1])
        value, spread = np.zeros(shape), np.zeros(shape)
        for at, table in enumerate(self.tables):
            units = np.flatnonzero(self.table == at)
            cells, copies = self.cell[units], self.copies[units]
            known = {"retention": table.retention, "n_values": table.n_values}
            sizes, counts = self.sizes[units], csr_array(self.counts[units]).tocsc()
            for column in table.values:
                shown = counts[:, [column]].toarray().ravel()
                found = invert(shown, sizes, **known)
                value[:, column] += np.bincount(cells, found, self.n_cells)
                spread[:, column] += variance(
                    found, sizes, **known, copies=copies, within=cells, n_sums=self.n_cells
                )
        return (self._likeliest() if consistent else value), spread

    def _likeliest(self) -> Floats:
        """The likeliest numbers in each cell, sub-table by sub-table; copies count as records."""
        value = np.zeros((self.n_cells, self.counts.shape[1]))
        for at, table in enumerate(self.tables):
            units = np.flatnonzero(self.table == at)
            of_cell = (np.ones(len(units)), (self.cell[units], np.arange(len(units))))
            gathered = csr_array(of_cell, shape=(self.n_cells, len(units))) @ self.counts[units]
            domain = list(table.values)
            value[:, domain] += likeliest(gathered.toarray()[:, domain], retention=table.retention)
        return value

    @property
    def _retention(self) -> Floats:
        return np.array([table.retention for table in self.tables])[self.table]

    @property
    def _n_values(self) -> Whole:
        return np.array([table.n_values for table in self.tables])[self.table]


@dataclass(frozen=True, eq=False)
class Bucketed:
    """Rows by bucket, and the values each bucket holds: one row of ``counts`` for each bucket.

    The estimate is Σ rows · values/size over buckets, never negative and adding up by itself. Its
    variance takes every way to match the rows of a bucket with its values as equally likely; see
    :func:`showthrough.publish.anatomy.matched` for what that leaves out.
    """

    n_cells: int
    cell: Whole
    bucket: Whole
    rows: Whole
    counts: Any

    @property
    def records(self) -> Whole:
        """How many published records each cell has."""
        return np.bincount(self.cell, self.rows, self.n_cells).astype(np.int64)

    @property
    def _sizes(self) -> Whole:
        return np.asarray(self.counts.sum(axis=1), np.int64)

    def chosen(self, values: Whole) -> tuple[Floats, Floats]:
        """For each cell how many records have one of some values, and the variance of that."""
        wanted = np.zeros(self.counts.shape[1])
        wanted[values] = 1
        held, n = (self.counts @ wanted)[self.bucket], self._sizes[self.bucket]
        share = self.rows / n
        spread = held * share * (1 - share) * (n - held) / np.maximum(n - 1, 1)
        return _sums(self.cell, held * share, self.n_cells), _sums(self.cell, spread, self.n_cells)

    def each(self, *, consistent: bool) -> tuple[Floats, Floats]:
        """For each cell and each value the number of records, and the variance of that."""
        del consistent  # these estimates are
        n = self._sizes[self.bucket]
        share = self.rows / n
        held: Any = csr_array(self.counts[self.bucket]).astype(np.float64)
        of_entry = np.repeat(np.arange(len(n)), np.diff(held.indptr))
        spread = held.copy()
        weight = (share * (1 - share) / np.maximum(n - 1, 1))[of_entry]
        spread.data = held.data * weight * (n[of_entry] - held.data)
        shape = (self.n_cells, len(n))
        value: Any = csr_array((share, (self.cell, np.arange(len(n)))), shape=shape) @ held
        total: Any = csr_array((np.ones(len(n)), (self.cell, np.arange(len(n)))), shape=shape) @ spread
        return value.toarray(), total.toarray()


def _sums(of: Whole, numbers: Floats, number: int) -> Floats:
    return np.asarray(np.bincount(of, numbers, number), np.float64)
