"""Charts of attacks for notebooks; :mod:`showthrough.report.plots` has all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from showthrough.attack.advice import Advice
from showthrough.attack.attacks import Attacked
from showthrough.attack.density import Distribution
from showthrough.attack.exposure import Exposure
from showthrough.attack.histogram import Histogram
from showthrough.attack.leaks import error_curve, leaking_groups, simulate_ratios
from showthrough.attack.noise import Gaussian, Laplace
from showthrough.attack.pairs import NOISY, TRUE, Pair
from showthrough.attack.ratio import RULE, RatioAttack
from showthrough.attack.trials import Trial, trials_table
from showthrough.report.advice_page import advice_charts
from showthrough.report.attack_charts import density_chart, exposure_chart
from showthrough.report.charts import Chart
from showthrough.report.ellipse_chart import ellipse_chart
from showthrough.report.ratio_charts import reading_chart, readings_chart

__all__ = [
    "plot_advice",
    "plot_ellipses",
    "plot_exposure",
    "plot_leaks",
    "plot_ratio",
    "plot_reconstruction",
]

#: Points of a curve.
POINTS = 120


def plot_exposure(exposure: Exposure, column: str = "") -> Chart:
    """How many people each attack discloses, by privacy interval."""
    return exposure_chart(column, exposure.to_arrow().to_pylist())


def plot_reconstruction(
    attacked: Attacked, values: ArrayLike, *, truth: ArrayLike | None = None, column: str = "values"
) -> Chart:
    """The distribution of one column as published, as rebuilt, and (where known) as it is.

    >>> from showthrough.attack import Uniform, run_attacks
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.gamma(9, 5, 2000)
    >>> noisy = truth + Uniform(60).sample(2000, seed=rng)
    >>> chart = plot_reconstruction(run_attacks(noisy, Uniform(60))[0], noisy, truth=truth)
    >>> sorted({row["values"] for row in chart.rows})
    ['noisy', 'rebuilt (as)', 'rebuilt (em)', 'true']
    """
    lists = {NOISY: values} if truth is None else {NOISY: values, TRUE: truth}
    losses = {}
    if truth is not None:
        real = Distribution.of(truth)
        losses = {name: found.loss(real) for name, found in attacked.distributions.items()}
    return density_chart(column, Histogram.of(lists), attacked.densities(), losses=losses)


def plot_ellipses(pair: Pair, columns: tuple[str, str] | None = None) -> Chart:
    """The shapes of two columns: noisy, true where known, as rebuilt, and of the noise.

    >>> from showthrough.attack import bayes_estimate, compare_pairs
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.normal(size=(500, 1)) * [2.0, 1.0] + rng.normal(size=(500, 2)) / 4
    >>> noisy = truth + rng.normal(size=(500, 2))
    >>> pair, = compare_pairs(noisy, 1.0, {"be": bayes_estimate(noisy, 1.0)}, truth=truth)
    >>> print(plot_ellipses(pair, ("income", "debt")).says)
    A correlation of 0.95 becomes 0.62 under the noise; as rebuilt by be it is 1.00.
    """
    one, two = (f"column {at + 1}" for at in pair.columns)
    points = [(x, y) for x, y in pair.points[NOISY].tolist()]
    return ellipse_chart(columns or (one, two), pair.shapes, points)


def plot_advice(advice: Advice, curve: Sequence[Trial] = (), *, columns: Sequence[str] = ()) -> list[Chart]:
    """The share disclosed by the amount of noise; ``curve`` is from ``try_scales``.

    >>> from showthrough.attack import advise, try_scales
    >>> incomes = np.random.default_rng(1).gamma(9, 5, 1000)
    >>> found = advise(incomes, share=0.05, privacy=0.5, draws=1, seed=1)
    >>> curve = try_scales(incomes, [found.trial.scale / 2, found.trial.scale], privacy=0.5, draws=1, seed=1)
    >>> [chart.name for chart in plot_advice(found, curve)]
    ['advice', 'advice-methods']
    """
    trials = [*advice.trials, *curve]
    names = list(columns) or [f"column {at + 1}" for at in range(1 + max(one.column for one in trials))]
    rows = trials_table(trials, names).to_pylist()
    return advice_charts(rows, share=advice.share, scale=advice.trial.scale)


def plot_ratio(attack: RatioAttack, *, confidence: float = 0.95) -> Chart:
    """How likely which reading of the share is, when both answers are noisy.

    >>> from showthrough.attack import Laplace, ratio_attack
    >>> print(plot_ratio(ratio_attack(501, 420, Laplace(20))).says)
    The true share is 83.8 %; 95 % of readings lie between 69.7 and 100.3 %.
    """
    tail = (1 - confidence) / 2
    first, low, high, last = attack.quantiles([tail / 4, tail, 1 - tail, 1 - tail / 4]).tolist()
    edges = np.linspace(first, last, POINTS + 1)
    mass = np.diff([attack.probability(float(edge)) for edge in edges])
    middles, density = (edges[1:] + edges[:-1]) / 2, np.maximum(mass, 0.0) / np.diff(edges)
    rows = [
        {"at": float(f"{at:.6g}"), "density": float(f"{height:.5g}")}
        for at, height in zip(middles.tolist(), density.tolist(), strict=True)
    ]
    return reading_chart(rows, share=attack.confidence, ends=(low, high), level=confidence)


def plot_leaks(
    sizes: ArrayLike, matching: ArrayLike, noise: Laplace | Gaussian, *, seed: int, confidence: float = 0.95
) -> Chart:
    """How far one drawn reading of each group's share is off, beside what theory says.

    >>> from showthrough.attack import Laplace
    >>> chart = plot_leaks([5000, 501, 90], [4000, 420, 10], Laplace(20), seed=1)
    >>> [row["leaks"] for row in chart.rows]
    [True, True, False]
    """
    found = leaking_groups(sizes, matching, noise)
    people = np.asarray(sizes, np.float64)
    reading = simulate_ratios(sizes, matching, noise, seed=seed)
    groups = [
        {
            "size": float(people[at]),
            "share": float(found.confidence[at]),
            "reading": float(reading[at]),
            "error": abs(float(reading[at] - found.confidence[at])),
            "leaks": bool(found.leaks[at]),
        }
        for at in np.flatnonzero(~np.isnan(reading)).tolist()
    ]
    usual = float((people * found.confidence).sum() / people.sum())
    ladder = np.geomspace(1.0, max(2.0, float(people.max())), 32).tolist()
    median = error_curve(ladder, usual, noise, level=0.5)
    most = error_curve(ladder, usual, noise, level=confidence)
    curve = [{"size": s, "median": a, "most": b} for s, a, b in zip(ladder, median, most, strict=True)]
    least = math.sqrt(noise.variance / 2) / RULE
    return readings_chart(groups, curve, least_size=least, level=confidence)
