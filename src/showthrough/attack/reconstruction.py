"""Rebuilding the distribution of numbers from their noisy publication.

Values are counted into bins once (one pass, bounded memory); everything after that costs bins, not
records. Several columns run side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from showthrough.attack.density import Distribution, Grid
from showthrough.attack.iterate import NEGLIGIBLE, Run, Step, iterate, log_likelihood
from showthrough.attack.kernel import Kernel, Method, make_taps, n_taps_beside
from showthrough.attack.noise import Floats, JointNoise, Noise
from showthrough.attack.spread import Spread, best_constant, explain_spread
from showthrough.attack.stopping import Stop, as_rule
from showthrough.attack.tally import Tally, count_in_bins
from showthrough.errors import InputError, closest
from showthrough.plain import html_summary

__all__ = ["Reconstruction", "choose_grid", "reconstruct", "reconstruct_columns"]

#: The automatic grid has at least and at most so many bins, else so many to the noise's sd.
_LEAST_BINS, _MOST_BINS, _BINS_PER_SD = 256, 8_192, 16

#: Noise further out than with this probability is left to the nearest bins.
_TAIL = 1e-11

#: Columns that run side by side.
_BATCH = 64


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """The rebuilt distribution of one column, how it was reached, and what it is worth."""

    distribution: Distribution
    grid: Grid
    method: Method
    n_values: int
    iterations: int
    steps: tuple[Step, ...]
    stopped: str
    spread: Spread
    unexplained: float
    explanation: tuple[str, ...]

    @property
    def is_recoverable(self) -> bool:
        """Whether anything but the mean can be learnt at all."""
        return self.spread.is_seen

    def _repr_html_(self) -> str:
        """Quantiles, and how they were reached, for notebooks."""
        shares = (0.025, 0.25, 0.5, 0.75, 0.975)
        rows = [(f"{share:.1%}", f"{self.distribution.quantile(share):.5g}") for share in shares]
        title = f"Rebuilt by {self.method} from {self.n_values:,} values"
        return html_summary(title, [("share below", "value"), *rows], note="; ".join(self.explanation))


@dataclass(frozen=True, eq=False)
class _Column:
    """One column, counted."""

    noise: Noise
    grid: Grid
    why: str
    beside: int
    counts: NDArray[np.int64]
    outside: int

    @property
    def total(self) -> int:
        """Values in the bins."""
        return int(self.counts.sum())


def reconstruct(
    values: ArrayLike | Iterator[ArrayLike],
    noise: Noise,
    *,
    method: Method = "em",
    grid: Grid | None = None,
    stop: Stop | int | None = None,
) -> Reconstruction:
    """The distribution of the hidden values, from published ones and the law of the noise.

    ``values`` is a list or, for data that do not fit into memory, an iterator over chunks. ``stop``
    is a rule of :mod:`showthrough.attack.stopping` or a plain number of iterations; by default
    held-out values decide. Without a ``grid`` one is chosen, and the explanation says how.

    >>> from showthrough.attack.joint_noise import perturb
    >>> from showthrough.attack.noise import Uniform
    >>> hidden = np.random.default_rng(1).gamma(9, 5, 20_000)
    >>> found = reconstruct(perturb(hidden, Uniform(60), seed=2), Uniform(60))
    >>> found.distribution.loss(Distribution.of(hidden, found.grid)) < 0.05
    True
    >>> print(found.explanation[0])
    257 bins of 0.8691 from -46.0645 to 177.305: from the least to the largest published value
    """
    (found,) = _run([_count(values, noise, grid, method)], method, as_rule(stop))
    return found


def reconstruct_columns(
    values: ArrayLike,
    noise: Noise | JointNoise,
    *,
    method: Method = "em",
    grids: Iterable[Grid] | None = None,
    stop: Stop | int | None = None,
) -> tuple[Reconstruction, ...]:
    """Every column of a matrix by itself, all of them side by side.

    ``noise`` is the law for every column, or a joint law whose columns are taken one by one.
    """
    matrix = np.asarray(values)
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise InputError("values must be a matrix with a column or more", found=str(matrix.shape))
    width = matrix.shape[1]
    laws = (
        [noise.marginal(j) for j in range(noise.columns)]
        if isinstance(noise, JointNoise)
        else [noise] * width
    )
    given = [None] * width if grids is None else list(grids)
    if len(laws) != width or len(given) != width:
        raise InputError(
            "noise or grids are for another number of columns", found=f"{len(laws)}, {len(given)}"
        )
    found: list[Reconstruction] = []
    for start in range(0, width, _BATCH):
        columns: list[_Column] = []
        for j in range(start, min(start + _BATCH, width)):
            try:
                columns.append(_count(matrix[:, j], laws[j], given[j], method))
            except InputError as error:
                raise error.at(column=str(j + 1)) from None
        found += _run(columns, method, as_rule(stop))
    return tuple(found)


def choose_grid(tally: Tally, noise: Noise) -> tuple[Grid, str]:
    """A grid for hidden values, and why this one.

    It spans the published values (hidden ones beyond them would need noise on one side only), a
    little more when there are few. Bins are a sixteenth of the noise's standard deviation, finer
    than anything deconvolution can resolve, or narrower where the span is short.
    """
    sd = math.sqrt(noise.variance)
    more = 2 * sd / math.sqrt(tally.total)
    low, high = tally.least - noise.mean - more, tally.largest - noise.mean + more
    bins = min(max(_LEAST_BINS, math.ceil((high - low) / sd * _BINS_PER_SD)), _MOST_BINS)
    unit = tally.width
    # Values so large that the noise is lost in their rounding span nothing at all.
    factor = max(1, math.ceil((high - low) / bins / unit))
    first = math.floor(low / (unit * factor))
    bins = max(1, math.ceil(high / (unit * factor)) - first)
    grid = Grid(first * factor * unit, factor * unit, bins)
    span = "from the least to the largest published value"
    if more > grid.width:
        span += f" and {more:.3g} beyond"
    why = f"{grid.bins:,} bins of {grid.width:.4g} from {grid.low:.6g} to {grid.high:.6g}: {span}"
    if grid.width > sd:
        why += f"; bins are wider than the noise (sd {sd:.3g}), whose effect is lost in them"
    return grid, why


def _count(
    values: ArrayLike | Iterator[ArrayLike], noise: Noise, grid: Grid | None, method: Method
) -> _Column:
    """Count one column on a grid that is as much wider than the hidden one as the noise reaches."""
    if method not in ("as", "em"):
        raise InputError("unknown method", found=str(method), remedy=closest(str(method), ("as", "em")))
    if grid is None:
        tally = Tally.of(values)
        grid, why = choose_grid(tally, noise)
        beside = n_taps_beside(noise, grid.width, tail=_TAIL)
        low, bins = grid.low - beside * grid.width, grid.bins + 2 * beside
        return _Column(noise, grid, why, beside, tally.merged(low, grid.width, bins), 0)
    beside = n_taps_beside(noise, grid.width, tail=_TAIL)
    low, bins = grid.low - beside * grid.width, grid.bins + 2 * beside
    counts, outside = count_in_bins(values, low=low, width=grid.width, bins=bins, upper=grid.high)
    why = f"{grid.bins:,} bins of {grid.width:.4g} from {grid.low:.6g} to {grid.high:.6g}: as given"
    return _Column(noise, grid, why, beside, counts, outside)


def _run(columns: list[_Column], method: Method, stop: Stop) -> list[Reconstruction]:
    """Run counted columns side by side, padded to common sizes."""
    bins, beside = max(c.grid.bins for c in columns), max(c.beside for c in columns)
    taps = np.zeros((len(columns), 1, 2 * beside + 1))
    counts = np.zeros((len(columns), bins + 2 * beside), np.int64)
    start = np.zeros((len(columns), bins))
    for at, column in enumerate(columns):
        off = beside - column.beside
        taps[at, 0, off : 2 * beside + 1 - off] = make_taps(
            column.noise, column.grid.width, column.beside, method
        )
        counts[at, off : off + len(column.counts)] = column.counts
        start[at, : column.grid.bins] = 1 / column.grid.bins
    kernel = Kernel.of(taps, bins=(bins,))
    explained = explainable(counts, kernel.fold(start[:, None])[:, 0])
    runs = iterate(explained, kernel, start, stop)
    reports: list[Reconstruction] = []
    for column, run, counted in zip(columns, runs, explained, strict=True):
        off = beside - column.beside
        reports.append(_report(column, run, counted[off : off + len(column.counts)], method))
    return reports


def explainable(counts: NDArray[np.int64], folded: Floats) -> NDArray[np.int64]:
    """The counts without those no hidden value on the grid could have led to."""
    top = folded.max(axis=tuple(range(1, folded.ndim)), keepdims=True)
    explained = np.where(folded > 10 * NEGLIGIBLE * top, counts, 0)
    totals = explained.reshape(len(explained), -1).sum(axis=1)
    if not totals.all():
        raise InputError(
            "no value can come from the grid with this noise",
            column=str(int(np.flatnonzero(totals == 0)[0]) + 1) if len(totals) > 1 else None,
            remedy="use a grid nearer to the values, or check the law of the noise",
        )
    return explained


def _report(column: _Column, run: Run, explained: NDArray[np.int64], method: Method) -> Reconstruction:
    grid, total = column.grid, column.total + column.outside
    mass, kept = run.mass[: grid.bins], int(explained.sum())
    # Exact probabilities also for AS, under whose midpoints bounded noise cuts off the outermost bins.
    taps = make_taps(column.noise, grid.width, column.beside, "em")
    folded = Kernel.of(taps, bins=(grid.bins,)).fold(mass)
    fit = log_likelihood(explained, np.maximum(folded, NEGLIGIBLE * folded.max()))
    place, constant_fit = best_constant(explained, taps)
    spread = Spread.of(column.counts, grid.width, noise=column.noise.variance, gain=fit - constant_fit)
    worth = explain_spread(spread, constant=grid.low + (place + 0.5) * grid.width, n_values=total)
    explanation = [column.why, f"{method.upper()}: {run.reason}", worth]
    unexplained = 1 - kept / total
    if unexplained > 0:
        explanation.append(
            f"{unexplained:.3%} of the values cannot come from this grid with this noise and were left out: "
            "the grid is too narrow or the noise is not what was said"
        )
    return Reconstruction(
        Distribution(grid.edges, mass),
        grid,
        method,
        total,
        run.iterations,
        run.steps,
        run.reason,
        spread,
        unexplained,
        tuple(explanation),
    )
