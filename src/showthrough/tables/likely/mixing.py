"""Whether chains agree with each other, and how exact their averages are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MOST_RHAT",
    "Averages",
    "average",
    "split_rhat",
]

Floats = NDArray[np.float64]

#: What chains disagree on more than this is withheld.
MOST_RHAT = 1.05

#: Nominal coverage of intervals.
COVERAGE = 0.95

#: Least number of draws in a batch.
_BATCH = 4


@dataclass(frozen=True, eq=False)
class Averages:
    """Means over chains with intervals, effective numbers of draws, R̂, and what every draw has in common."""

    mean: Floats
    low: Floats
    high: Floats
    ess: Floats
    rhat: Floats
    always: NDArray[np.bool_]


def split_rhat(series: NDArray[np.floating]) -> Floats:
    """R̂ of series (statistic × chain × draw), every chain split into halves.

    1 where nothing varies at all, infinite where chains differ but none varies.
    """
    half = series.shape[2] // 2
    parts = np.concatenate([series[:, :, :half], series[:, :, -half:]], axis=1)
    within = parts.var(axis=2, ddof=1).mean(axis=1)
    between = parts.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.sqrt((half - 1) / half + between / within)
    return np.where(within > 0, found, np.where(between > 1e-12, np.inf, 1.0))


def average(series: NDArray[np.floating]) -> Averages:
    """Means of series (statistic × chain × draw) with t intervals between chains.

    The effective number of draws compares the variance of one draw with that of means of batches.
    """
    n_series, chains, _ = series.shape
    if not n_series:
        none = np.zeros(0)
        return Averages(none, none, none, none, none, np.zeros(0, bool))
    from scipy.special import stdtrit  # SciPy's stats would take a second to load

    constant = np.ptp(series, axis=(1, 2)) == 0
    means = series.mean(axis=2, dtype=np.float64)
    means[constant] = series[constant, 0, 0][:, None]  # without errors of rounding
    mean = means.mean(axis=1)
    mean[constant] = series[constant, 0, 0]
    reach = float(stdtrit(chains - 1, 0.5 + COVERAGE / 2)) / np.sqrt(chains)
    half = np.where(constant, 0.0, reach * means.std(axis=1, ddof=1))
    always = np.asarray((series >= 1).all(axis=(1, 2)))
    ess = np.where(constant, float(series.shape[1] * series.shape[2]), _effective(series, mean))
    rhat = np.where(constant, 1.0, split_rhat(series))
    return Averages(mean, mean - half, mean + half, ess, rhat, always)


def _effective(series: NDArray[np.floating], mean: Floats) -> Floats:
    """Effective draws of each series, at most as many as there are."""
    n_series, chains, draws = series.shape
    size = max(_BATCH, int(np.sqrt(draws)))
    n_batches = draws // size
    used = series[:, :, : n_batches * size].reshape(n_series, chains * n_batches, size)
    batches = used.mean(axis=2, dtype=np.float64)
    spread = ((batches - mean[:, None]) ** 2).sum(axis=1) / max(chains * n_batches - 1, 1)
    variance = ((series - mean[:, None, None]) ** 2).mean(axis=(1, 2), dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = chains * draws * variance / (size * spread)
    return np.where(spread > 0, np.minimum(found, chains * draws), chains * draws)
