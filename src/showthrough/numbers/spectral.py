"""Remove the noise from several columns at once: spectral filter (SF), PCA-DR (PCA) and BE-DR (BE).

Real columns are correlated, independent noise is not. So what the columns have in common is signal,
and projecting on it leaves most of the noise behind. The mean and covariance of the noise are known:
Cov(z) = Σx + Σr.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy import special

from showthrough.errors import InputError, check_type
from showthrough.export import Tabular
from showthrough.numbers.ellipsoids import NEGLIGIBLE, Ellipsoids
from showthrough.numbers.interquantile import Interval, check_confidence
from showthrough.numbers.joint_noise import (
    AnyNoise,
    check_covariance,
    excess_kurtosis,
    noise_covariance,
    noise_mean,
)
from showthrough.numbers.noise import Floats, as_floats, check_matrix
from showthrough.text import html_summary

__all__ = [
    "TRACY_WIDOM",
    "Errors",
    "Rebuilt",
    "bayes_estimate",
    "matrix_errors",
    "noise_edge",
    "plain_edge",
    "principal_components",
    "spectral_filter",
]

#: Quantiles of the Tracy–Widom law of order 1, by level.
TRACY_WIDOM = {0.9: 0.45, 0.95: 0.98, 0.99: 2.02}

#: How far an excess kurtosis κ shifts the edge, in units of κ (√m + √d)² / √(md). To first order in
#: κ this is 1 (a diagonal of variance κ on top of the Gaussian matrix); the rest allows for the
#: wider spread, by simulation over laws with κ up to 7.
HEAVY = 1.5


@dataclass(frozen=True, eq=False)
class Rebuilt(Tabular):
    """Estimates of every value, and how they were made.

    Attributes
    ----------
    method
        ``"sf"``, ``"pca"`` or ``"be"``.
    estimates
        An estimate of every value, one row for each record.
    mean, covariance
        Of the hidden values, as estimated or given.
    rank
        How many components were kept.
    eigenvalues
        Those the components were chosen by, largest first.
    threshold
        What an eigenvalue had to exceed.
    explanation
        How the components were chosen, as a sentence.
    posterior
        The covariance of what remains unknown about each record; only for the Bayes estimate.
    """

    method: str
    estimates: Floats
    mean: Floats
    covariance: Floats
    rank: int
    eigenvalues: Floats
    threshold: float
    explanation: str
    posterior: Floats | None = None

    def interval(self, confidence: float, *, column: int = 0) -> Interval:
        """Each record's own interval for one column, from the posterior variance (normal data)."""
        reach = math.sqrt(2) * special.erfinv(check_confidence(confidence))
        reach = reach * math.sqrt(max(0.0, float(self._posterior[column, column])))
        middle = self.estimates[:, column]
        return Interval(middle - reach, middle + reach)

    def ellipsoids(self, confidence: float = 0.95) -> Ellipsoids:
        """Each record's own ellipsoid for all columns together (normal data)."""
        return Ellipsoids(self.estimates, self._posterior, confidence)

    def to_arrow(self) -> pa.Table:
        """The estimates, one row for each record and one column for each column."""
        columns = np.ascontiguousarray(self.estimates.T)
        return pa.table({f"column {at + 1}": pa.array(values) for at, values in enumerate(columns)})

    def __repr__(self) -> str:
        return f"Rebuilt({self.method}, {len(self.estimates):,} records: {self.explanation})"

    def _repr_html_(self) -> str:
        """Means and standard deviations as rebuilt, for notebooks."""
        sds = self.estimates.std(axis=0, ddof=1)
        rows = [
            (at + 1, f"{mean:.5g}", f"{sd:.4g}")
            for at, (mean, sd) in enumerate(zip(self.mean[:20].tolist(), sds[:20].tolist(), strict=True))
        ]
        title = f"{len(self.estimates):,} records as rebuilt by {self.method}"
        return html_summary(title, [("column", "mean", "sd"), *rows], note=self.explanation)

    @property
    def _posterior(self) -> Floats:
        if self.posterior is None:
            raise InputError(
                f"{self.method} gives single values and no intervals",
                remedy="use the Bayes estimate for intervals of single records",
            )
        return self.posterior


def spectral_filter(
    values: ArrayLike,
    noise: AnyNoise,
    *,
    level: float = 0.95,
    rank: int | None = None,
    centred: bool = True,
    margin: bool = True,
) -> Rebuilt:
    """Keep the directions that vary more than noise alone would; drop the rest (SF, equation 2.10).

    The threshold is the upper edge of Marchenko and Pastur with the margin of Tracy and Widom, so
    that pure noise keeps a direction in about 1 − ``level`` of all draws. Noise of unequal variance
    or with correlation is first turned into noise of variance 1.

    Parameters
    ----------
    values
        The noisy values, a matrix with one row for each record.
    noise
        The law of the noise; or its variance, or its covariance.
    level
        How rarely pure noise passes the threshold: 0.9, 0.95 or 0.99.
    rank
        How many directions to keep, instead of the threshold.
    centred
        Whether columns are centred first. Without (the form the method was published in) the means are
        among what is kept or dropped, so the result depends on where each column has its zero.
    margin
        Whether the threshold has the margin. Without it (as published) about one draw of pure noise in seven
        keeps a direction.

    Returns
    -------
    Rebuilt
        An estimate of every value.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> signal = np.outer(np.sin(np.arange(200.0)), np.full(20, 2.0))
    >>> found = spectral_filter(signal + rng.normal(size=(200, 20)), 1.0)
    >>> found.rank, float(np.abs(found.estimates - signal).max()) < 1
    (1, True)
    """
    matrix = check_matrix(values)
    n, d = matrix.shape
    shape = _root(noise_covariance(noise, d))
    shift = noise_mean(noise, d)
    middle = matrix.mean(axis=0) if centred else shift
    # Noise of covariance Σ = L L' has covariance I after multiplication with L⁻¹.
    white = np.asarray(np.linalg.solve(shape, (matrix - middle).T).T, np.float64)
    eigenvalues, vectors = _scatter(white)
    free = n - 1 if centred else n
    edge = (
        noise_edge(free + 1, d, level=level, excess=excess_kurtosis(noise)) if margin else plain_edge(free, d)
    )
    kept = int((eigenvalues > edge).sum()) if rank is None else _check_rank(rank, d)
    directions = vectors[:, :kept]
    signal = (white @ directions) @ directions.T @ shape.T
    below = f"in {100 * level:g} % of draws" if margin else "in the limit of many columns"
    text = (
        f"kept {_components(kept, d)}: pure noise of this size stays below {edge:.4g} {below}; found "
        f"{_listed(eigenvalues)} (variances in units of the noise, times {free:,})"
    )
    mean = middle - shift if centred else signal.mean(axis=0)
    centre = 0.0 if centred else mean
    return Rebuilt(
        "sf",
        signal + mean if centred else signal,
        mean,
        (signal - centre).T @ (signal - centre) / (n - 1),
        kept,
        eigenvalues,
        edge,
        text if rank is None else f"kept {_components(kept, d)}, as asked for",
    )


def principal_components(values: ArrayLike, noise: AnyNoise, *, rank: int | None = None) -> Rebuilt:
    """PCA-DR: subtract the noise's covariance, project on the components that are left (2.11).

    A component is kept where the variance of the signal along it exceeds that of the noise: then
    projecting on it costs less than dropping it.

    Parameters
    ----------
    values
        The noisy values, a matrix with one row for each record.
    noise
        The law of the noise; or its variance, or its covariance.
    rank
        How many components to keep, instead of this rule.

    Returns
    -------
    Rebuilt
        An estimate of every value.
    """
    matrix = check_matrix(values)
    d = matrix.shape[1]
    spread = noise_covariance(noise, d)
    middle, covariance = matrix.mean(axis=0), _signal(matrix, spread)
    mean = middle - noise_mean(noise, d)
    signal, vectors = _eigen(covariance)
    along = np.einsum("ij,ik,kj->j", vectors, spread, vectors)
    # Sorted by signal; with correlated noise a weaker component may still be the cleaner one.
    order = np.argsort(along - signal, kind="stable")
    signal, vectors, along = signal[order], vectors[:, order], along[order]
    kept = int((signal > along).sum()) if rank is None else _check_rank(rank, d)
    directions = vectors[:, :kept]
    estimates = (matrix - middle) @ directions @ directions.T + mean
    threshold = float(along[min(kept, d - 1)])
    text = (
        f"kept {_components(kept, d)}: along them the signal's variance exceeds the noise's; found "
        f"{_listed(signal)} beside noise of {_listed(along)}"
    )
    return Rebuilt(
        "pca",
        estimates,
        mean,
        covariance,
        kept,
        signal,
        threshold,
        text if rank is None else f"kept {_components(kept, d)}, as asked for",
    )


def bayes_estimate(
    values: ArrayLike,
    noise: AnyNoise,
    *,
    mean: ArrayLike | None = None,
    covariance: ArrayLike | None = None,
) -> Rebuilt:
    """BE-DR: the mean of each record given its noisy values, for normal data and normal noise.

    x̂ = μ + Σx (Σx + Σr)⁻¹ (z − μ), with covariance Σx − Σx (Σx + Σr)⁻¹ Σx left. This form needs no
    inverse of Σx or Σr, so both may be singular.

    Parameters
    ----------
    values
        The noisy values z, a matrix with one row for each record.
    noise
        The law of the noise; or its variance, or its covariance Σr.
    mean, covariance
        μ and Σx of the hidden values; estimated by default.

    Returns
    -------
    Rebuilt
        An estimate of every value, with the posterior covariance of each record.

    Examples
    --------
    >>> found = bayes_estimate([[3.0], [-1.0]], 1.0, mean=[0.0], covariance=[[1.0]])
    >>> found.estimates.ravel().tolist(), found.posterior.tolist()
    ([1.5, -0.5], [[0.5]])
    """
    matrix = check_matrix(values)
    d = matrix.shape[1]
    spread = noise_covariance(noise, d)
    shift = noise_mean(noise, d)
    middle = matrix.mean(axis=0) - shift if mean is None else as_floats(mean, "the means")
    signal = _signal(matrix, spread) if covariance is None else check_covariance(covariance)
    if middle.shape != (d,) or signal.shape != (d, d):
        raise InputError(
            "the mean and the covariance have another number of columns than the data",
            found=f"{middle.shape} and {signal.shape} for {d} columns",
        )
    # Σx (Σx + Σr)⁺, solved in the directions where anything varies at all.
    gain = signal @ np.linalg.pinv(signal + spread, rcond=NEGLIGIBLE, hermitian=True)
    left = signal - gain @ signal
    eigenvalues = _eigen(signal)[0]
    kept = int((eigenvalues > NEGLIGIBLE * max(eigenvalues[0], 1e-300)).sum())
    share = float(np.trace(left) / np.trace(signal)) if np.trace(signal) > 0 else 1.0
    text = f"{100 * share:.3g} % of the signal's variance stays unknown ({_components(kept, d)} vary)"
    return Rebuilt(
        "be",
        (matrix - shift - middle) @ gain.T + middle,
        middle,
        signal,
        kept,
        eigenvalues,
        0.0,
        text,
        posterior=_clipped((left + left.T) / 2),
    )


def noise_edge(n: int, d: int, *, level: float = 0.95, excess: float = 0.0) -> float:
    """The largest eigenvalue of V'V that centred pure noise of variance 1 (n × d) has at ``level``.

    Centring costs one degree of freedom. For one column the law is χ²; else Tracy and Widom's with
    mu and sig of equation 2.10. ``excess`` is the noise's excess kurtosis: heavy tails push the edge
    out, light ones are not allowed for.

    >>> round(noise_edge(301, 35), 1)  # the asymptotic edge is (√300 + √35)² = 540
    551.2
    """
    check_type(level, Real, name="the level")
    if level not in TRACY_WIDOM:
        raise InputError(
            "the level of the noise's edge is one of those tabulated",
            found=str(level),
            remedy=f"use one of {', '.join(map(str, TRACY_WIDOM))}",
        )
    m, heavy = n - 1, max(0.0, excess)
    if min(m, d) == 1:
        most = max(m, d)
        return most + (float(special.chdtri(most, 1 - level)) - most) * math.sqrt(1 + heavy / 2)
    rows, columns = math.sqrt(m - 0.5), math.sqrt(d - 0.5)
    mu = (rows + columns) ** 2 * (1 + HEAVY * heavy / (rows * columns))
    sig = (rows + columns) * (1 / rows + 1 / columns) ** (1 / 3)
    return mu + TRACY_WIDOM[level] * sig


def plain_edge(n: int, d: int) -> float:
    """The upper edge of Marchenko and Pastur, (√n + √d)², for V'V of pure noise of variance 1 (n × d).

    >>> round(plain_edge(300, 35), 1)
    539.9
    """
    return (math.sqrt(n) + math.sqrt(d)) ** 2


@dataclass(frozen=True)
class Errors:
    """How far estimates are from the truth: ae = ‖Û − U‖ (Frobenius) and re = ae / ‖U‖."""

    absolute: float
    relative: float


def matrix_errors(estimates: ArrayLike, truth: ArrayLike) -> Errors:
    """The Frobenius norms ae and re of EQUATIONS 2.5.

    >>> matrix_errors([[3.0, 4.0]], [[3.0, 0.0]])
    Errors(absolute=4.0, relative=1.3333333333333333)
    """
    guess, true = np.asarray(estimates, np.float64), np.asarray(truth, np.float64)
    if guess.shape != true.shape:
        raise InputError("estimates and truth differ in shape", found=f"{guess.shape} and {true.shape}")
    norm = float(np.linalg.norm(true))
    absolute = float(np.linalg.norm(guess - true))
    return Errors(absolute, absolute / norm if norm else math.inf if absolute else 0.0)


def _signal(matrix: Floats, spread: Floats) -> Floats:
    """Σx = Cov(z) − Σr, with negative variances set to 0."""
    return _clipped(np.atleast_2d(np.cov(matrix, rowvar=False)) - spread)


def _clipped(matrix: Floats) -> Floats:
    values, vectors = _eigen(matrix)
    clipped = (vectors * np.maximum(values, 0)) @ vectors.T
    return (clipped + clipped.T) / 2


def _eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues, largest first, and vectors as columns."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1], vectors[:, ::-1]


def _scatter(white: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues and vectors of V'V, from the smaller of V'V and VV'."""
    n, d = white.shape
    if d <= n:
        values, vectors = _eigen(white.T @ white)
        return np.maximum(values, 0), vectors
    _, singular, vectors = np.linalg.svd(white, full_matrices=False)
    return np.asarray(singular**2, np.float64), np.asarray(vectors.T, np.float64)


def _root(covariance: Floats) -> Floats:
    """L with L L' = Σr; there is none to divide by where the noise is singular."""
    try:
        root = np.asarray(np.linalg.cholesky(covariance), np.float64)
    except np.linalg.LinAlgError:
        root = np.zeros_like(covariance)
    scale = np.sqrt(np.diag(covariance))
    if not (np.diag(root) > 1e-7 * np.maximum(scale, 1e-300)).all():
        raise InputError(
            "the noise's covariance is singular: in some direction there is no noise to filter",
            remedy="use the Bayes estimate (be), which reads off such directions",
        )
    return root


def _check_rank(rank: int, d: int) -> int:
    check_type(rank, Integral, name="the rank")
    if not 0 <= rank <= d:
        raise InputError(f"a rank lies between 0 and {d}, the number of columns", found=str(rank))
    return rank


def _components(kept: int, d: int) -> str:
    return f"{kept} of {d} component{'' if d == 1 else 's'}"


def _listed(values: Floats, most: int = 4) -> str:
    shown = ", ".join(f"{value:.4g}" for value in values[:most])
    return f"{shown}, …" if len(values) > most else shown
