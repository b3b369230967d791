"""Estimates from what was counted in a publication.

Counts come by *units*, the smallest parts in which records were perturbed alike: a sub-table, a group
of a sampled publication, a bucket of an anatomy. Units are added up to the *cells* somebody asked for.

From published counts to true ones: unbiased, with standard errors, or consistent.

A record of a sub-table with domain size m shows its own value with probability p + (1 − p)/m and each
other one with (1 − p)/m. Given the data, a published count is a sum of independent draws of 0 or 1, so
its variance is known up to the true count, for which the estimate stands in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from showthrough.microdata.plan import SubTable

__all__ = [
    "Bucketed",
    "Observed",
    "Perturbed",
    "invert",
    "likeliest",
    "variance",
]

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
    :func:`showthrough.microdata.anatomy.matched` for what that leaves out.
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


def invert(
    observed: ArrayLike,
    sizes: ArrayLike,
    *,
    retention: ArrayLike,
    n_values: ArrayLike,
    n_chosen: ArrayLike = 1,
) -> Floats:
    """How many records have one of ``n_chosen`` values, from how many show one: (O − s (1 − p) n/m)/p.

    Unbiased; may be negative, or larger than the number of records, ``sizes``.

    >>> float(invert(60, 100, retention=0.5, n_values=2))
    70.0
    """
    shown, n, p = (np.asarray(numbers, np.float64) for numbers in (observed, sizes, retention))
    return (shown - np.asarray(n_chosen) * (1 - p) / np.asarray(n_values) * n) / p


def variance(
    estimates: ArrayLike,
    sizes: ArrayLike,
    *,
    retention: ArrayLike,
    n_values: ArrayLike,
    n_chosen: ArrayLike = 1,
    copies: ArrayLike = 1.0,
    within: ArrayLike | None = None,
    n_sums: int = 1,
) -> Floats:
    """The variance of a sum of such estimates, one for each unit (a sub-table, or a group) it is from.

    ``within`` says to which of several sums each unit belongs, ``n_sums`` how many there are at least.
    The variance is linear in the true count, so estimates stand in for it as they are, and only their
    sum is kept within its bounds.

    In a sampled publication the n records of a group are ``copies`` of trials, and copies of one trial
    are fully dependent: with c copies of each the variance of O is c times that of n independent
    records. Sampling and scaling are rounded, which moves each chosen value (or each other one, since
    totals are exact) by a number with a variance of at most ¼: times c² for the sample.

    >>> variance([70], [100], retention=0.5, n_values=2).round(9).tolist()
    [75.0]
    """
    f, n, p, m, s, c = np.broadcast_arrays(
        *(
            np.atleast_1d(np.asarray(x, np.float64))
            for x in (estimates, sizes, retention, n_values, n_chosen, copies)
        )
    )
    own, other = p + s * (1 - p) / m, s * (1 - p) / m
    scale, with_, without = c / p**2, own * (1 - own), other * (1 - other)
    rounded = np.minimum(s, m - s) / 4 * (c**2 + 1 / p**2) * (c > 1)
    sums = np.zeros(f.shape, np.int64) if within is None else np.asarray(within)
    drawn, least, most, extra = (
        np.bincount(sums, term, n_sums)
        for term in (
            scale * (f * with_ + (n - f) * without),
            scale * n * np.minimum(with_, without),
            scale * n * np.maximum(with_, without),
            rounded,
        )
    )
    return np.maximum(0, np.clip(drawn, least, most) + extra)


def likeliest(observed: ArrayLike, *, retention: float, n_values: int | None = None) -> Floats:
    """The numbers of records by value that make the observed ones likeliest; each row for itself.

    They are never negative and add up to the number of records. This is where the EM iteration ends
    (EQUATIONS 1.6), found at once: where Σ O_v log(p f_v + b), b = (1 − p)/m, is largest over f ≥ 0
    with Σ f = 1, every positive f_v is O_v/ν − b/p with one and the same ν. The r most frequent values
    are positive, for the largest r with O_(r)/ν_r > b/p, and ν_r = Σ_{i ≤ r} O_(i)/(1 + r b/p) makes
    them add up.

    >>> likeliest([60, 30, 10, 0], retention=0.5).tolist()
    [75.0, 25.0, 0.0, 0.0]
    """
    counts = np.atleast_2d(np.asarray(observed, np.float64))
    m = counts.shape[1] if n_values is None else n_values
    level = (1 - retention) / m / retention
    order = np.argsort(-counts, axis=1)
    ranked = np.take_along_axis(counts, order, axis=1)
    scale = np.cumsum(ranked, axis=1) / (1 + np.arange(1, counts.shape[1] + 1) * level)
    last = np.maximum((ranked > level * scale).sum(axis=1) - 1, 0)[:, None]
    chosen = np.take_along_axis(scale, last, axis=1)
    share = np.maximum(0, ranked / np.where(chosen > 0, chosen, 1) - level)
    found = np.zeros_like(counts)
    np.put_along_axis(found, order, share * counts.sum(axis=1, keepdims=True), axis=1)
    return found.reshape(np.shape(observed))
