"""Survey weights: counts in which each record stands for as many people as a public column says.

A weighted count is Σ w over the records that match. Each record contributes w·g_Y, where g are the weights of
shown values (:mod:`showthrough.microdata.channel`), so the estimate is unbiased, and its variance has w² in
place of w. Weights are public, and published as the column they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.errors import InputError, RecordsError, closest
from showthrough.estimate import Estimate
from showthrough.frames import Source
from showthrough.frames.bins import as_numbers
from showthrough.microdata.channel import AnyChannel, Channel, Channelled, Weighing
from showthrough.microdata.estimation import Bucketed, Observed, Perturbed
from showthrough.microdata.groups import Groups
from showthrough.microdata.stratified import scale_rows

__all__ = [
    "WeightedCounts",
    "as_weights",
    "check_weights",
    "group_weights",
    "weigh_groups",
    "weighted_count",
    "weighted_counts",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def as_weights(values: Any, name: str) -> Floats | None:
    """Weights as numbers; None if one of them is missing, negative or no number."""
    column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    try:
        numbers = as_numbers(column, name, file=None, row=0, error=RecordsError)
    except RecordsError:
        return None
    found = np.asarray(numbers.cast(pa.float64()).to_numpy(), np.float64)
    return found if (found >= 0).all() else None


def check_weights(source: Source, name: str) -> None:
    """Raise if a row has no weight, or a negative one; the error names the row."""
    if name not in source.names:
        remedy = closest(name, source.names)
        raise source.error("no such column", file=source.name, column=name, remedy=remedy)
    for chunk in source.chunks([name]):
        place = chunk.place
        numbers = as_numbers(chunk.table[name], name, file=place.file, row=place.row, error=source.error)
        found = np.asarray(numbers.cast(pa.float64()).to_numpy(), np.float64)
        wrong = np.flatnonzero(~(found >= 0))
        if len(wrong):
            at = int(wrong[0])
            missing = np.isnan(found[at])
            raise source.error(
                "a weight is missing" if missing else "a weight is negative",
                file=place.file,
                row=place.row + at + 1,
                column=name,
                found=None if missing else f"{found[at]:g}",
                remedy="every record needs a weight of at least 0",
            )


def group_weights(groups: Groups, name: str) -> Floats:
    """The weight of each group; the weight must be one of the public columns."""
    if name not in groups.public.column_names:
        raise InputError(
            "the weight must be a public column",
            column=name,
            remedy=closest(name, groups.public.column_names) if groups.public.column_names else "name it",
        )
    found = as_weights(groups.public[name], name)
    if found is None:
        raise RecordsError(
            "a weight is missing, negative or not a number",
            column=name,
            remedy="every record needs a weight of at least 0",
        )
    return found


def weigh_groups(groups: Groups, name: str) -> tuple[Groups, Any]:
    """Groups that weigh anything, and their weighted counts as a sparse matrix."""
    weights = group_weights(groups, name)
    kept = np.flatnonzero(weights > 0)
    if not len(kept):
        raise RecordsError("all weights are 0", column=name, remedy="weights say how many people a record is")
    counts = groups.counts[kept]
    left = Groups(groups.public.take(kept), groups.domain, counts)
    return left, scale_rows(counts, weights[kept])


@dataclass(frozen=True, eq=False)
class WeightedCounts:
    """Weighted counts, one row for each combination and one column for each selection of values."""

    value: Floats
    #: The variance; not a number where chance is not what makes a number uncertain.
    variance: Floats
    #: The most that records of a combination weigh.
    total: Floats
    #: What the reach of intervals follows from: the largest variance and the largest single step.
    largest: Floats
    step: Floats
    #: Where numbers lie for certain, if nothing is left to chance.
    bounds: tuple[Floats, Floats] | None = None

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Between which numbers they lie, with at least this probability (Bernstein's inequality)."""
        if self.bounds is not None:
            return self.bounds
        log = np.log(2 / (1 - level))
        step = self.step * log / 3
        reach = step + np.sqrt(step**2 + 2 * self.largest * log)
        shown = np.clip(self.value, 0, self.total[:, None])
        low, high = np.clip(self.value - reach, 0, None), np.minimum(self.value + reach, self.total[:, None])
        return np.minimum(low, shown), np.maximum(high, shown)


def weighted_counts(
    observed: Observed, weights: Floats, cell: Whole, n_cells: int, wanted: Floats
) -> WeightedCounts:
    """Weighted counts of selections of values (columns of ``wanted``, 0 or 1 for each value).

    ``weights`` are those of the cells that were observed, and ``cell`` the combination each belongs to.
    """
    if isinstance(observed, Bucketed):
        return _weighted_bounds(observed, weights, cell, n_cells, wanted)
    n_wanted = wanted.shape[1]
    total = _sums(cell, weights * observed.records, n_cells)
    value, variance, largest, step = (np.zeros((n_cells, n_wanted)) for _ in range(4))
    for unit, counts, channel, order in _units(observed):
        at, weight, number = cell[unit], weights[unit], counts.sum(axis=1)
        for column in range(n_wanted):
            chosen = wanted[list(order), column]
            if chosen.all() or not chosen.any():
                value[:, column] += _sums(at, weight * number * chosen.all(), n_cells)
                continue
            weighing = channel.weigh(chosen)
            found, spread = weighing.estimate(counts)
            value[:, column] += _sums(at, weight * found, n_cells)
            variance[:, column] += _sums(at, weight**2 * spread, n_cells)
            most, jump = _extremes(weighing)
            largest[:, column] += _sums(at, weight**2 * number * most, n_cells)
            np.maximum.at(step[:, column], at, weight * jump)
    return WeightedCounts(value, variance, total, largest, step)


def _sums(of: Whole, numbers: Floats, number: int) -> Floats:
    return np.asarray(np.bincount(of, numbers, number), np.float64)


def _extremes(weighing: Weighing) -> tuple[float, float]:
    return max(0.0, float(weighing.spread.max())), weighing.step


def _units(observed: Observed) -> Iterator[tuple[Whole, Floats, AnyChannel, Sequence[int]]]:
    """The cells that went through each channel, their shown counts in its order, and the channel."""
    match observed:
        case Channelled(counts=counts, channel=channel, order=order):
            yield np.arange(counts.shape[0]), counts.toarray()[:, list(order)].astype(float), channel, order
        # Trials that are drawn with replacement vary more than records that are perturbed each by itself.
        case Perturbed(tables=tables, table=table, counts=counts, independent=False) if (
            observed.copies == 1
        ).all():
            for at, one in enumerate(tables):
                own = np.flatnonzero(table == at)
                shown = csr_array(counts[own]).toarray()[:, list(one.values)].astype(np.float64)
                yield observed.cell[own], shown, Channel.uniform(one.retention, one.n_values), one.values
        case _:
            raise InputError(
                "a sampled publication cannot be weighted: its rows are copies",
                remedy="use a uniform, partitioned or ordinal publication",
            )


def _weighted_bounds(
    observed: Bucketed, weights: Floats, cell: Whole, n_cells: int, wanted: Floats
) -> WeightedCounts:
    parts = [observed.chosen(np.flatnonzero(column))[0] for column in wanted.T]
    ends = [observed.ends(np.flatnonzero(column), 0.95) for column in wanted.T]

    def added(numbers: Sequence[Floats]) -> Floats:
        return np.column_stack([_sums(cell, weights * one, n_cells) for one in numbers])

    value, unknown = added(parts), np.full((n_cells, wanted.shape[1]), np.nan)
    total = _sums(cell, weights * observed.records, n_cells)
    bounds = added([low for low, _ in ends]), added([high for _, high in ends])
    return WeightedCounts(value, unknown, total, unknown, unknown, bounds)


@dataclass(frozen=True, eq=False)
class _Law:
    found: WeightedCounts

    def __call__(self, level: float) -> tuple[float, float]:
        low, high = self.found.ends(level)
        return float(low[0, 0]), float(high[0, 0])


def weighted_count(found: WeightedCounts, records: int, assumption: str) -> Estimate:
    """One weighted count as an estimate."""
    value, variance = float(found.value[0, 0]), float(found.variance[0, 0])
    if found.bounds is not None:
        low, high = (float(end[0, 0]) for end in found.bounds)
        if low == high:
            return Estimate(low, 0.0, records, (low, high))
        return Estimate(value, None, records, (low, high), assumption=assumption)
    error = float(np.sqrt(max(0.0, variance)))
    bounds = (0.0, float(found.total[0])) if error else (value, value)
    return Estimate(value, error, records, bounds, law=_Law(found))
