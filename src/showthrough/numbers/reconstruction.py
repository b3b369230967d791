"""Rebuild the distribution of numbers from their noisy publication.

Values are counted into bins once (one pass, bounded memory); everything after that costs bins, not
records. Several columns run side by side. Every result comes with its :class:`Spread`: whether the
hidden values can be told from a single constant at all, before any shape is believed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy import special

from showthrough.errors import InputError, check_each, check_type
from showthrough.export import Tabular
from showthrough.numbers.bins import (
    BinCounts,
    Kernel,
    Method,
    as_array,
    check_method,
    count_in_bins,
    make_taps,
    n_taps_beside,
)
from showthrough.numbers.density import Distribution, Grid
from showthrough.numbers.iteration import NEGLIGIBLE, Run, Stop, Update, as_rule, iterate, log_likelihood
from showthrough.numbers.joint_noise import as_column_noise, as_noise
from showthrough.numbers.noise import Floats, JointNoise, Noise
from showthrough.text import html_summary, percent

__all__ = [
    "Doubt",
    "Reconstruction",
    "Spread",
    "best_constant",
    "choose_grid",
    "explain_spread",
    "reconstruct",
    "reconstruct_columns",
]

#: The least and the largest number of bins of the automatic grid, and the bins per sd of the noise.
_LEAST_BINS, _MOST_BINS, _BINS_PER_SD = 256, 8_192, 16

#: Noise further out than with this probability is left to the nearest bins.
_TAIL = 1e-11

#: Columns that run side by side.
_BATCH = 64

#: What a doubt is about: the law of the noise, the spread of the hidden values, or the grid.
Doubt = Literal["noise", "spread", "grid"]


@dataclass(frozen=True, eq=False)
class Reconstruction(Tabular):
    """The rebuilt distribution of one column, how it was reached, and what it is worth.

    Attributes
    ----------
    distribution
        The distribution of the hidden values.
    grid
        Its bins.
    method
        ``"em"`` or ``"as"``.
    n_values
        How many noisy values there are.
    iterations, steps, stopped
        The iterations made, the likelihoods on the way, and why they ended.
    spread
        Whether the hidden values can be told from a constant.
    unexplained
        The share of the values that cannot come from the grid with this noise.
    explanation
        All of this, as sentences.
    doubts
        The sentences without which the result would be misread, by subject.
    """

    distribution: Distribution
    grid: Grid
    method: Method
    n_values: int
    iterations: int
    steps: tuple[Update, ...]
    stopped: str
    spread: Spread
    unexplained: float
    explanation: tuple[str, ...]
    doubts: Mapping[Doubt, str]

    @property
    def is_recoverable(self) -> bool:
        """Whether anything but the mean can be learnt at all."""
        return self.spread.is_seen

    def to_arrow(self) -> pa.Table:
        """One row for each bin of the distribution."""
        return self.distribution.to_arrow()

    def __repr__(self) -> str:
        return "\n  ".join([f"Reconstruction({self.method}, {self.n_values:,} values)", *self.explanation])

    def _repr_html_(self) -> str:
        """Quantiles, and how they were reached, for notebooks."""
        shares = (0.025, 0.25, 0.5, 0.75, 0.975)
        rows = [(percent(share), f"{self.distribution.quantile(share):.5g}") for share in shares]
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
    noise: Noise | str,
    *,
    method: Method = "em",
    grid: Grid | None = None,
    stop: Stop | int | None = None,
) -> Reconstruction:
    """Rebuild the distribution of hidden values from noisy ones and the law of the noise.

    Parameters
    ----------
    values
        The noisy values: a list or, for data that do not fit into memory, an iterator over chunks.
    noise
        The law of the noise, or its text: ``"uniform:60"``.
    method
        ``"em"`` (expectation maximisation) or ``"as"`` (the iterated Bayes' rule of Agrawal and
        Srikant, with densities taken at midpoints).
    grid
        The bins of the hidden values; chosen from the data by default.
    stop
        A rule such as :class:`HeldOut`, :class:`Converged` or :class:`Fixed`, or a number of
        iterations; by default held-out values decide.

    Returns
    -------
    Reconstruction
        The distribution, and an explanation of how it was reached and what it is worth.

    Raises
    ------
    InputError
        If a value is missing or infinite, or no value can come from the grid with this noise.

    Examples
    --------
    >>> from showthrough.numbers.perturb import perturb
    >>> hidden = np.random.default_rng(1).gamma(9, 5, 20_000)
    >>> found = reconstruct(perturb(hidden, "uniform:60", seed=2), "uniform:60")
    >>> found.distribution.loss(Distribution.of(hidden, found.grid)) < 0.05
    True
    >>> print(found.explanation[0])
    257 bins of 0.8691 from -46.0645 to 177.305: from the least to the largest published value
    """
    if grid is not None:
        check_type(grid, Grid, name="grid", remedy="write Grid(0, 2.5, 40)")
    (found,) = _run([_count(values, as_column_noise(noise), grid, method)], method, as_rule(stop))
    return found


def reconstruct_columns(
    values: ArrayLike,
    noise: Noise | JointNoise | str,
    *,
    method: Method = "em",
    grids: Iterable[Grid] | None = None,
    stop: Stop | int | None = None,
) -> tuple[Reconstruction, ...]:
    """Rebuild the distribution of every column of a matrix by itself.

    Parameters
    ----------
    values
        The noisy values, a matrix with one row for each record.
    noise
        The law for every column (or its text), or a joint law whose columns are taken one by one.
    method, stop
        As for :func:`reconstruct`.
    grids
        The bins of each column.

    Returns
    -------
    tuple of Reconstruction
        One for each column.

    Raises
    ------
    InputError
        If a value is missing or infinite, or noise or grids are for another number of columns.
    """
    law, matrix = as_noise(noise), as_array(values)
    if grids is not None:
        check_each(grids, (Grid, type(None)), name="grids", remedy="write [Grid(0, 2.5, 40)]")
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise InputError("values must be a matrix with a column or more", found=str(matrix.shape))
    width = matrix.shape[1]
    laws = [law.marginal(j) for j in range(law.columns)] if isinstance(law, JointNoise) else [law] * width
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


def choose_grid(tally: BinCounts, noise: Noise) -> tuple[Grid, str]:
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
    check_method(method)
    if grid is None:
        tally = BinCounts.of(values)
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
    doubt, worth = explain_spread(spread, constant=grid.low + (place + 0.5) * grid.width, n_values=total)
    explanation = [column.why, f"{method.upper()}: {run.reason}", worth]
    doubts: dict[Doubt, str] = {} if doubt is None else {doubt: worth}
    unexplained = 1 - kept / total
    if unexplained > 0:
        doubts["grid"] = (
            f"{percent(unexplained, 3)} of the values cannot come from this grid with this noise and were "
            "left out: the grid is too narrow, or the noise does not follow the law given"
        )
        explanation.append(doubts["grid"])
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
        doubts,
    )


#: A log-likelihood ratio of 5 has a probability of about 1 in 150 when two free numbers fit noise.
_CLEAR_GAIN = 5.0

_NO_CHANCE = 1e-6

#: A probability that stands for none where logarithms are taken.
_IMPOSSIBLE = 1e-300

#: How far between two bins a constant is tried.
_PARTS = tuple(part / 16 for part in range(1, 16))


@dataclass(frozen=True)
class Spread:
    """Variances, and whether the hidden values can be told from a single constant.

    ``gain`` is by how much the log-likelihood of all values is higher for the rebuilt distribution
    than for the best constant. ``chance`` is about the probability that noise alone varies as little
    as the published values do.
    """

    published: float
    noise: float
    gain: float
    chance: float

    @classmethod
    def of(cls, counts: NDArray[np.int64], width: float, *, noise: float, gain: float) -> Spread:
        """From counts in bins of this width and the variance of the noise."""
        total = int(counts.sum())
        share, at = counts / total, width * np.arange(len(counts))
        apart = (at - share @ at) ** 2
        binned = float(share @ apart)
        # Sheppard: binning adds width²/12.
        variance = max(binned - width**2 / 12, 0.0)
        # A variance's degrees of freedom shrink with heavy tails: Var(s²) = σ⁴(κ − 1)/n.
        kurtosis = float(share @ apart**2) / binned**2 if binned > 0 else 3.0
        freedom = (total - 1) / max(1.0, (kurtosis - 1) / 2)
        chance = float(special.chdtr(freedom, freedom * variance / noise)) if total > 1 else 1.0
        return cls(variance, noise, gain, chance)

    @property
    def hidden(self) -> float:
        """The estimated variance of the hidden values; chance can make it negative."""
        return self.published - self.noise

    @property
    def is_seen(self) -> bool:
        """Whether the hidden values can be told from a single constant."""
        return self.gain > _CLEAR_GAIN

    @property
    def is_impossible(self) -> bool:
        """Whether the published values vary less than the noise alone could."""
        return self.chance < _NO_CHANCE


def best_constant(counts: NDArray[np.int64], taps: Floats) -> tuple[float, float]:
    """Where the one hidden value lies under which the counts are likeliest, and their log-likelihood.

    The place is counted in bins, 0 being the middle of the first. Between two middles a constant is a
    mixture of both bins; without that, many values would tell it from every single bin.

    >>> place, fit = best_constant(np.array([0, 1, 2, 1, 0]), np.array([0.25, 0.5, 0.25]))
    >>> place, round(fit, 6) == round(2 * math.log(0.25) + 2 * math.log(0.5), 6)
    (1.0, True)
    """
    one = taps / taps.sum()
    n_places = len(counts) - len(taps) + 1
    logs = np.log(np.maximum(one, _IMPOSSIBLE))
    # Beyond the taps every value is impossible too, so logarithms are counted from there.
    least = math.log(_IMPOSSIBLE)
    fits = Kernel.of(logs - least, bins=(n_places,)).unfold(counts.astype(float))
    best = int(fits.argmax())
    place, most = float(best), float(fits[best]) + least * int(counts.sum())
    for first in (best - 1, best):
        if not 0 <= first < n_places - 1:
            continue
        near = counts[first : first + len(taps) + 1]
        beyond = least * int(counts.sum() - near.sum())
        for part in _PARTS:
            mixed = (1 - part) * np.append(one, 0.0) + part * np.append(0.0, one)
            fit = float(near @ np.log(np.maximum(mixed, _IMPOSSIBLE))) + beyond
            if fit > most:
                place, most = first + part, fit
    return place, most


def explain_spread(spread: Spread, *, constant: float, n_values: int) -> tuple[Doubt | None, str]:
    """What the result is worth, in a sentence, and what that puts in doubt."""
    noise, published = math.sqrt(spread.noise), math.sqrt(spread.published)
    if n_values == 1:
        return None, "a single value shows where it may lie, but nothing about a distribution"
    if spread.is_impossible:
        return "noise", (
            f"the published values vary less (sd {published:.4g}) than the noise alone would "
            f"(sd {noise:.4g}): the noise does not follow the law given, and the result is not to be trusted"
            f"{'; was a variance given as a standard deviation?' if 1 < math.sqrt(noise) < published else ''}"
        )
    if not spread.is_seen:
        return "spread", (
            f"no spread is recoverable: under noise of sd {noise:.4g}, {n_values:,} values cannot be told "
            f"from the single value {constant:.5g}; the shape of the result means nothing"
        )
    hidden = math.sqrt(max(spread.hidden, 0))
    return None, f"the hidden values' sd is about {hidden:.4g}, the noise's {noise:.4g}"
