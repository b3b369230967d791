"""Two columns side by side: the shape of the noisy data, of the noise, and of what attacks rebuild.

A shape is a mean and a covariance, drawn as the ellipse that would hold a share of normal data.
Independent noise rounds the shape of correlated columns; what brings the old shape back has found out
what the columns have in common.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError, check_each, check_type
from showthrough.export import Tabular
from showthrough.numbers.ellipsoids import Ellipsoids
from showthrough.numbers.joint_noise import AnyNoise, noise_covariance, noise_mean
from showthrough.numbers.noise import Floats, check_matrix
from showthrough.numbers.spectral import Rebuilt
from showthrough.text import html_summary

__all__ = [
    "Pair",
    "PairShape",
    "compare_pairs",
]

#: Names of the shapes that no attack has made.
NOISY, NOISE, TRUE = "noisy", "noise", "true"


@dataclass(frozen=True, eq=False)
class PairShape:
    """The mean and the covariance of two columns.

    >>> shape = PairShape([0.0, 0.0], [[4.0, 1.0], [1.0, 1.0]])
    >>> shape.correlation, round(shape.area(0.95), 1)
    (0.5, 32.6)
    """

    mean: Floats
    covariance: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", np.asarray(self.mean, np.float64))
        object.__setattr__(self, "covariance", np.asarray(self.covariance, np.float64))
        if self.mean.shape != (2,) or self.covariance.shape != (2, 2):
            raise InputError(
                "a shape is about two columns", found=f"{self.mean.shape}, {self.covariance.shape}"
            )

    @property
    def sds(self) -> tuple[float, float]:
        """The standard deviations."""
        one, two = np.sqrt(np.maximum(np.diag(self.covariance), 0.0)).tolist()
        return one, two

    @property
    def correlation(self) -> float | None:
        """The correlation; None where a column does not vary."""
        one, two = self.sds
        return float(np.clip(self.covariance[0, 1] / (one * two), -1, 1)) if one and two else None

    def area(self, confidence: float = 0.95) -> float:
        """The area of the ellipse that holds normal data with this probability."""
        return Ellipsoids(self.mean, self.covariance, confidence).volume

    def outline(self, confidence: float = 0.95) -> Floats:
        """Points around that ellipse."""
        return Ellipsoids(self.mean, self.covariance, confidence).outline()


@dataclass(frozen=True, eq=False)
class Pair(Tabular):
    """Two columns by number, their shapes by name, and some records as published and as rebuilt.

    Attributes
    ----------
    columns
        The numbers of the two columns, from 0.
    shapes
        Means and covariances by name: noisy, noise, each method, and true where known.
    rows
        The records shown as points, numbered from 0.
    points
        Their values by name; the truth is not among them.
    """

    columns: tuple[int, int]
    shapes: Mapping[str, PairShape]
    rows: NDArray[np.int64]
    points: Mapping[str, Floats]

    def to_arrow(self) -> pa.Table:
        """One row for each shape: its means, standard deviations and correlation."""
        shapes = list(self.shapes.values())
        columns = {
            "mean_first": [float(shape.mean[0]) for shape in shapes],
            "mean_second": [float(shape.mean[1]) for shape in shapes],
            "sd_first": [shape.sds[0] for shape in shapes],
            "sd_second": [shape.sds[1] for shape in shapes],
            "correlation": [shape.correlation for shape in shapes],
        }
        figures = {name: pa.array(values, pa.float64()) for name, values in columns.items()}
        return pa.table({"values": pa.array(list(self.shapes), pa.string()), **figures})

    def __repr__(self) -> str:
        shapes = ", ".join(
            f"{name} {_correlation_text(one.correlation)}" for name, one in self.shapes.items()
        )
        return f"Pair(columns {self.columns[0] + 1} and {self.columns[1] + 1}, correlation: {shapes})"

    def _repr_html_(self) -> str:
        """Spread and correlation by shape, for notebooks."""
        head = ("values", "sd", "sd", "correlation")
        rows = [
            (name, *(f"{sd:.4g}" for sd in shape.sds), _correlation_text(shape.correlation))
            for name, shape in self.shapes.items()
        ]
        one, two = self.columns
        return html_summary(f"Columns {one + 1} and {two + 1}", [head, *rows])


def compare_pairs(
    values: ArrayLike,
    noise: AnyNoise,
    rebuilt: Mapping[str, Rebuilt],
    *,
    truth: ArrayLike | None = None,
    most: int = 3,
    points: int = 400,
) -> tuple[Pair, ...]:
    """Compare the shapes of the most correlated pairs of columns: noisy, rebuilt, and true where known.

    Parameters
    ----------
    values
        The noisy values, a matrix with one row for each record.
    noise
        The law of the noise; or its variance, or its covariance.
    rebuilt
        Estimates of all values, by the name of the method.
    truth
        The true values; pairs are then ranked by their true correlation.
    most
        How many pairs.
    points
        How many records, evenly spaced, are taken along as points.

    Returns
    -------
    tuple of Pair
        The most correlated pair first.

    Raises
    ------
    InputError
        If the truth or the noise does not fit the noisy values.

    Examples
    --------
    >>> from showthrough.numbers.spectral import bayes_estimate
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.normal(size=(500, 1)) * [2.0, 1.0, 0.0] + rng.normal(size=(500, 3)) / 4
    >>> noisy = truth + rng.normal(size=(500, 3))
    >>> first, *_ = compare_pairs(noisy, 1.0, {"be": bayes_estimate(noisy, 1.0)}, truth=truth)
    >>> first.columns, list(first.shapes), len(first.points["noisy"])
    ((0, 1), ['noisy', 'noise', 'be', 'true'], 400)
    >>> round(first.shapes["noisy"].correlation, 1), round(first.shapes["be"].correlation, 1)
    (0.6, 1.0)
    """
    check_type(rebuilt, Mapping, name="rebuilt", remedy="give estimates by method: {'be': bayes_estimate(…)}")
    check_each(list(rebuilt.values()), Rebuilt, name="rebuilt")
    check_type(most, Integral, name="the number of pairs")
    check_type(points, Integral, name="the number of points")
    matrix = check_matrix(values)
    true = None if truth is None else check_matrix(truth)
    if true is not None and true.shape != matrix.shape:
        raise InputError("truth and noisy values differ in shape", found=f"{true.shape} and {matrix.shape}")
    sets = {name: found.estimates for name, found in rebuilt.items()}
    n, d = matrix.shape
    spread, middle = noise_covariance(noise, d), noise_mean(noise, d)
    rows = np.unique(np.linspace(0, n - 1, min(n, points)).round().astype(np.int64))
    strength = _strength(matrix if true is None else true)
    ranked = sorted(combinations(range(d), 2), key=lambda pair: -float(strength[pair]))
    pairs = list[Pair]()
    for pair in ranked[:most]:
        at = list(pair)
        shapes = {NOISY: _shape(matrix[:, at]), NOISE: PairShape(middle[at], spread[at][:, at])}
        shapes |= {name: _shape(estimates[:, at]) for name, estimates in sets.items()}
        if true is not None:
            shapes[TRUE] = _shape(true[:, at])
        shown = {name: found[rows][:, at] for name, found in {NOISY: matrix, **sets}.items()}
        pairs.append(Pair(pair, shapes, rows, shown))
    return tuple(pairs)


def _shape(values: Floats) -> PairShape:
    return PairShape(values.mean(axis=0), np.cov(values, rowvar=False))


def _strength(matrix: Floats) -> Floats:
    """How much columns go together: their correlations without sign, 0 where a column does not vary."""
    covariance = np.atleast_2d(np.cov(matrix, rowvar=False))
    sds = np.sqrt(np.diag(covariance))
    product = np.outer(sds, sds)
    return np.abs(covariance) / np.where(product > 0, product, math.inf)


def _correlation_text(correlation: float | None) -> str:
    return "–" if correlation is None else f"{correlation:.2f}"
