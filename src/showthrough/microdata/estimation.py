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
from showthrough.microdata.units import Units

__all__ = [
    "Bucketed",
    "CountLaw",
    "Observed",
    "Perturbed",
    "invert",
    "likeliest",
    "variance",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Numbers of units and values that intervals are computed for at a time.
BLOCK = 1_000_000


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

    def ends(self, values: Whole, level: float) -> tuple[Floats, Floats]:
        """For each cell how few and how many records may have one of some values."""
        ...

    def each_ends(self, level: float) -> tuple[Floats, Floats]:
        """For each cell and each value how few and how many records may have it."""
        ...


@dataclass(frozen=True, eq=False)
class CountLaw:
    """The confidence interval for the number of records with some values, in one cell."""

    observed: Observed
    values: Whole
    cell: int = 0

    def __call__(self, level: float) -> tuple[float, float]:
        """The interval for a level."""
        low, high = self.observed.ends(self.values, level)
        return float(low[self.cell]), float(high[self.cell])


@dataclass(frozen=True, eq=False)
class Perturbed:
    """Counts of perturbed records: one row of ``counts`` for each unit, one column for each value.

    The trials of a sampled publication are drawn from a group with replacement (``independent``), or are
    the group in small, rounded up and down.
    """

    n_cells: int
    cell: Whole
    table: Whole
    copies: Floats
    counts: Any
    tables: tuple[SubTable, ...]
    independent: bool = False

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
        n_chosen = self._n_chosen(wanted)
        known = {"retention": self._retention, "n_values": self._n_values, "n_chosen": n_chosen}
        found = invert(shown, sizes, **known)
        spread = variance(
            found,
            sizes,
            **known,
            copies=self.copies,
            within=self.cell,
            n_sums=self.n_cells,
            independent=self.independent,
        )
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
            known = {"retention": table.retention, "n_values": table.n_values}
            counts = csr_array(self.counts[units]).tocsc()
            columns, width = np.array(table.values), max(1, BLOCK // max(1, len(units), self.n_cells))
            for first in range(0, len(columns), width):
                part = columns[first : first + width]
                n = len(part)
                within = (self.cell[units][:, None] * n + np.arange(n)).ravel()
                sizes, copies = np.repeat(self.sizes[units], n), np.repeat(self.copies[units], n)
                found = invert(counts[:, part].toarray().ravel(), sizes, **known)
                value[:, part] += np.bincount(within, found, self.n_cells * n).reshape(-1, n)
                spread[:, part] += variance(
                    found,
                    sizes,
                    **known,
                    copies=copies,
                    within=within,
                    n_sums=self.n_cells * n,
                    independent=self.independent,
                ).reshape(-1, n)
        return (self._likeliest() if consistent else value), spread

    def ends(self, values: Whole, level: float) -> tuple[Floats, Floats]:
        """For each cell how few and how many records may have one of some values."""
        wanted = np.zeros(self.counts.shape[1])
        wanted[values] = 1
        return self._units(self.cell, self.counts @ wanted, self._n_chosen(wanted)).ends(self.n_cells, level)

    def each_ends(self, level: float) -> tuple[Floats, Floats]:
        """For each cell and each value how few and how many records may have it."""
        shape = (self.n_cells, self.counts.shape[1])
        low, high = np.zeros(shape), np.zeros(shape)
        member = np.zeros((len(self.tables), shape[1]))
        for at, table in enumerate(self.tables):
            member[at, list(table.values)] = 1
        counts, width = self.counts.tocsc(), max(1, BLOCK // max(1, len(self.cell), self.n_cells))
        for first in range(0, shape[1], width):
            columns = slice(first, min(first + width, shape[1]))
            n = columns.stop - first
            cell = (self.cell[:, None] * n + np.arange(n)).ravel()
            shown = counts[:, columns].toarray().ravel()
            units = self._units(cell, shown, member[self.table, columns].ravel(), repeated=n)
            found = units.ends(self.n_cells * n, level)
            low[:, columns], high[:, columns] = (end.reshape(-1, n) for end in found)
        return low, high

    def _units(self, cell: Whole, shown: Floats, n_chosen: Floats, *, repeated: int = 1) -> Units:
        return Units(
            cell=cell,
            table=np.repeat(self.table, repeated),
            shown=shown,
            sizes=np.repeat(self.sizes, repeated),
            retention=np.repeat(self._retention, repeated),
            n_values=np.repeat(self._n_values, repeated),
            n_chosen=n_chosen,
            copies=np.repeat(self.copies, repeated),
            independent=self.independent,
        )

    def _n_chosen(self, wanted: Floats) -> Floats:
        return np.array([wanted[list(table.values)].sum() for table in self.tables])[self.table]

    def _likeliest(self) -> Floats:
        """For each sub-table what :func:`likeliest` says, added up; copies count as records."""
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

    Which row of a bucket has which of its values is not published. Of c rows and k values that match in a
    bucket of n, at least max(0, c + k − n) and at most min(c, k) belong together, and every number between
    is possible, whatever happens in other buckets: the sums of these bounds are sharp. The estimate
    Σ c k/n takes rows and values for independent within buckets. Where they are not, it is off by an error
    that no chance accounts for, so it has no variance: that is not a number here.
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
        """For each cell about how many records have one of some values; its variance is not a number."""
        held, n = self._held(values)
        return _sums(self.cell, held * self.rows / n, self.n_cells), np.full(self.n_cells, np.nan)

    def each(self, *, consistent: bool) -> tuple[Floats, Floats]:
        """For each cell and each value about how many records have it; never negative, and adding up."""
        del consistent  # these estimates are
        share, number = self.rows / self._sizes[self.bucket], len(self.rows)
        of_cell: Any = csr_array((share, (self.cell, np.arange(number))), shape=(self.n_cells, number))
        value = (of_cell @ csr_array(self.counts[self.bucket])).toarray()
        return value, np.full(value.shape, np.nan)

    def ends(self, values: Whole, level: float) -> tuple[Floats, Floats]:
        """For each cell how few and how many records have one of some values, for certain."""
        del level  # nothing is left to chance
        held, n = self._held(values)
        least, most = np.maximum(0, self.rows + held - n), np.minimum(self.rows, held)
        return _sums(self.cell, least, self.n_cells), _sums(self.cell, most, self.n_cells)

    def each_ends(self, level: float) -> tuple[Floats, Floats]:
        """For each cell and each value how few and how many records have it, for certain."""
        del level
        held: Any = csr_array(self.counts[self.bucket]).astype(np.float64)
        of_entry = np.repeat(np.arange(len(self.rows)), np.diff(held.indptr))
        rows, n = self.rows[of_entry], self._sizes[self.bucket][of_entry]
        shape = (self.n_cells, held.shape[1])
        at = (self.cell[of_entry], held.indices)
        low = csr_array((np.maximum(0, rows + held.data - n), at), shape=shape)
        high = csr_array((np.minimum(rows, held.data), at), shape=shape)
        return low.toarray(), high.toarray()

    def _held(self, values: Whole) -> tuple[Floats, Whole]:
        """For each row how many of the values its bucket holds, and how many records."""
        wanted = np.zeros(self.counts.shape[1])
        wanted[values] = 1
        return (self.counts @ wanted)[self.bucket], self._sizes[self.bucket]


def _sums(of: Whole, numbers: ArrayLike, number: int) -> Floats:
    return np.asarray(np.bincount(of, np.asarray(numbers, np.float64), number), np.float64)


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
    independent: bool = False,
) -> Floats:
    """The variance of a sum of such estimates, one for each unit (a sub-table, or a group) it is from.

    ``within`` says to which of several sums each unit belongs, ``n_sums`` how many there are at least.
    The variance is linear in the true count, so estimates stand in for it as they are, and only their
    sum is kept within its bounds.

    In a sampled publication the n records of a group are ``copies`` of trials, and copies of one trial
    are fully dependent: with c copies of each the variance of O is c times that of n independent
    records. Sampling and scaling are rounded, which moves each chosen value (or each other one, since
    totals are exact) by a number with a variance of at most ¼: times c² for the sample. With
    ``independent`` trials, drawn with replacement, the variance of O is that of one binomial number times
    c², and only scaling is rounded.

    >>> variance([70], [100], retention=0.5, n_values=2).round(9).tolist()
    [75.0]
    """
    f, n, p, m, s, c = np.broadcast_arrays(
        *(
            np.atleast_1d(np.asarray(x, np.float64))
            for x in (estimates, sizes, retention, n_values, n_chosen, copies)
        )
    )
    sums = np.zeros(f.shape, np.int64) if within is None else np.asarray(within)
    if independent:
        return np.asarray(np.bincount(sums, _trial_variance(f, n, p, m, s, c), n_sums), np.float64)
    own, other = p + s * (1 - p) / m, s * (1 - p) / m
    scale, with_, without = c / p**2, own * (1 - own), other * (1 - other)
    rounded = np.minimum(s, m - s) / 4 * (c**2 + 1 / p**2) * (c > 1)
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


def _trial_variance(f: Floats, n: Floats, p: Floats, m: Floats, s: Floats, c: Floats) -> Floats:
    """With t = n/c trials and the share q of them that show a value: n² q (1 − q)/(t − 1)/p² is unbiased."""
    trials = np.rint(n / c)
    share = np.clip(p * f / np.maximum(n, 1) + s * (1 - p) / m, 0, 1)
    drawn = np.where(trials > 1, share * (1 - share) / np.maximum(trials - 1, 1), 0.25) * (n / p) ** 2
    return np.where((s > 0) & (s < m), drawn + np.minimum(s, m - s) / 4 / p**2 * (c > 1), 0)


def likeliest(observed: ArrayLike, *, retention: float, n_values: int | None = None) -> Floats:
    """Numbers of records by value that are never negative and add up; each row of one sub-table for itself.

    Their shares make the observed numbers likeliest if records are independent draws. This is where the
    EM iteration ends (EQUATIONS 1.6), found at once: where Σ O_v log(p f_v + b), b = (1 − p)/m, is
    largest over f ≥ 0 with Σ f = 1, every positive f_v is O_v/ν − b/p with one and the same ν. The r most
    frequent values are positive, for the largest r with O_(r)/ν_r > b/p, and
    ν_r = Σ_{i ≤ r} O_(i)/(1 + r b/p) makes them add up.

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
