"""Noise on several columns at once: independent or correlated, its covariance, and noise like the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from showthrough.errors import InputError, check_each, check_type
from showthrough.numbers.noise import (
    Floats,
    GaussianNoise,
    JointNoise,
    LaplaceNoise,
    Noise,
    UniformNoise,
    as_floats,
    parse_noise,
    positive,
)

__all__ = [
    "AnyNoise",
    "CorrelatedNoise",
    "IndependentNoise",
    "as_column_noise",
    "as_noise",
    "check_covariance",
    "correlated_like",
    "excess_kurtosis",
    "noise_covariance",
    "noise_mean",
]

#: Noise on one or several columns; or its variance, or its covariance, where no more is known.
AnyNoise = Noise | JointNoise | ArrayLike

#: A covariance whose least eigenvalue is below this share of the largest is called singular.
_SINGULAR = 1e-12


@dataclass(frozen=True)
class IndependentNoise:
    """Each column has a law of its own, independent of the others.

    Parameters
    ----------
    noises
        One law for each column, or its text.

    Examples
    --------
    >>> from showthrough.numbers.noise import LaplaceNoise, UniformNoise
    >>> noise = IndependentNoise([UniformNoise(3), LaplaceNoise(1)])
    >>> noise.covariance.tolist(), noise.sample(5, seed=1).shape
    ([[3.0, 0.0], [0.0, 2.0]], (5, 2))
    """

    noises: tuple[Noise, ...]

    def __init__(self, noises: Sequence[Noise | str]) -> None:
        check_type(noises, Sequence, name="noises", remedy="write [UniformNoise(3), LaplaceNoise(1)]")
        check_each(noises, (Noise, str), name="noises", remedy="write [UniformNoise(3), LaplaceNoise(1)]")
        if not noises:
            raise InputError("independent noise needs a law for each column", found="none")
        object.__setattr__(self, "noises", tuple(as_column_noise(law) for law in noises))

    @property
    def columns(self) -> int:
        """How many columns it is for."""
        return len(self.noises)

    @property
    def covariance(self) -> Floats:
        """The variances on the diagonal."""
        return np.diag([noise.variance for noise in self.noises])

    def sample(self, size: int, *, seed: int | np.random.Generator) -> Floats:
        """Rows of noise."""
        rng = np.random.default_rng(seed)
        return np.column_stack([noise.sample(size, seed=rng) for noise in self.noises])

    def density(self, x: ArrayLike) -> Floats:
        """The product of the columns' densities."""
        at = _points(x, self.columns)
        return np.prod([noise.density(at[..., j]) for j, noise in enumerate(self.noises)], axis=0)

    def marginal(self, column: int) -> Noise:
        """The law of one column."""
        return self.noises[column]

    def __str__(self) -> str:
        return ", ".join(str(noise) for noise in self.noises)


@dataclass(frozen=True, eq=False)
class CorrelatedNoise:
    """Normal noise with a covariance matrix.

    Parameters
    ----------
    covariance
        A symmetric matrix, one row and one column for each column of the data.

    Raises
    ------
    InputError
        If the matrix is not symmetric, or so singular that some combination of columns gets no noise.

    Examples
    --------
    >>> noise = CorrelatedNoise([[4, 1], [1, 9]])
    >>> noise.marginal(1), noise.columns
    (GaussianNoise(sd=3.0), 2)
    """

    covariance: Floats
    _factor: Floats = field(init=False, repr=False)

    def __init__(self, covariance: ArrayLike) -> None:
        found = as_floats(covariance, "covariances")
        if found.ndim != 2 or found.shape[0] != found.shape[1] or not len(found):
            raise InputError("a covariance must be a square matrix", found=str(found.shape))
        if not np.isfinite(found).all():
            raise InputError("a covariance must be finite", remedy="check for missing or infinite values")
        if not np.allclose(found, found.T, rtol=1e-9, atol=1e-12 * float(np.abs(found).max())):
            raise InputError("a covariance must be symmetric", remedy="check the order of its columns")
        found = (found + found.T) / 2
        least, *_, largest = np.linalg.eigvalsh(found)[[0, -1]]
        if least <= _SINGULAR * max(float(largest), 0.0):
            raise InputError(
                "the covariance of the noise is singular: some combination of columns would get no noise",
                found=f"least eigenvalue {least:.3g}, largest {largest:.3g}",
                remedy="drop columns that follow from others, use more rows than columns, or add a multiple "
                "of the identity",
            )
        found.setflags(write=False)
        object.__setattr__(self, "covariance", found)
        object.__setattr__(self, "_factor", np.linalg.cholesky(found))

    @property
    def columns(self) -> int:
        """How many columns it is for."""
        return len(self.covariance)

    def sample(self, size: int, *, seed: int | np.random.Generator) -> Floats:
        """Rows of noise."""
        return np.random.default_rng(seed).standard_normal((size, self.columns)) @ self._factor.T

    def density(self, x: ArrayLike) -> Floats:
        """The joint normal density."""
        at = _points(x, self.columns)
        white = np.linalg.solve(self._factor, at.reshape(-1, self.columns).T)
        scale = math.log(2 * math.pi) * self.columns / 2 + np.log(np.diag(self._factor)).sum()
        return np.exp(-(white**2).sum(axis=0) / 2 - scale).reshape(at.shape[:-1])

    def marginal(self, column: int) -> GaussianNoise:
        """The law of one column."""
        return GaussianNoise(variance=float(self.covariance[column, column]))

    def __str__(self) -> str:
        sds = ", ".join(f"{sd:.3g}" for sd in np.sqrt(np.diag(self.covariance)))
        return f"correlated normal noise, sd {sds}"


def correlated_like(values: ArrayLike, *, ratio: float) -> CorrelatedNoise:
    """Noise that is correlated as the data are: the defence Σr ∝ Σx.

    Filters that separate data from noise by their directions then cannot tell them apart.

    Parameters
    ----------
    values
        The true values, a matrix with one row for each record.
    ratio
        The covariance of the noise, as a multiple of that of the values.

    Returns
    -------
    CorrelatedNoise
        Normal noise with that covariance.

    Examples
    --------
    >>> data = [[1.0, 2.0], [2.0, 5.0], [3.0, 5.0], [4.0, 9.0]]
    >>> correlated_like(data, ratio=0.5).covariance.round(3).tolist()
    [[0.833, 1.75], [1.75, 4.125]]
    """
    matrix = as_floats(values)
    if matrix.ndim != 2 or len(matrix) < 2:
        raise InputError("correlated noise needs a matrix of two rows or more", found=str(matrix.shape))
    scale = positive(ratio, "ratio to the data")
    return CorrelatedNoise(scale * np.atleast_2d(np.cov(matrix, rowvar=False)))


def as_noise(noise: object, *, columns: int = 1) -> Noise | JointNoise:
    """The law of noise that was given: as it is, as text, or as a list with one law for each column.

    >>> as_noise("uniform:125"), as_noise(["laplace:2", "gaussian:sd=3"], columns=2).columns
    (UniformNoise(half_width=125.0), 2)
    """
    if isinstance(noise, str):
        return parse_noise(noise)
    if isinstance(noise, JointNoise | Noise) and not isinstance(noise, type):
        return noise
    if not isinstance(noise, list | tuple) or not noise:
        raise InputError(
            "this is not a law of noise",
            found=f"{noise!r}"[:60],
            remedy='use a law such as UniformNoise(125), or its text "uniform:125"',
        )
    laws = [as_noise(law) for law in cast("Sequence[object]", noise)]
    if len(laws) == 1:
        return laws[0]
    if len(laws) != columns or any(isinstance(law, JointNoise) for law in laws):
        raise InputError(
            "give one noise for all columns, or one for each column",
            found=f"{len(laws)} for {columns} {'column' if columns == 1 else 'columns'}",
        )
    return IndependentNoise(tuple(cast("Sequence[Noise]", laws)))


def as_column_noise(noise: object) -> Noise:
    """The law of noise on one column: as it is, or as text."""
    law = as_noise(noise)
    if isinstance(law, JointNoise):
        raise InputError("this noise is for several columns", found=f"{law}"[:60], remedy="give one law")
    return law


def noise_covariance(noise: AnyNoise, columns: int) -> Floats:
    """The noise's covariance: of a noise, of a variance for all columns, or a covariance itself.

    >>> noise_covariance(2.0, 2).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    if isinstance(noise, JointNoise):
        spread = np.asarray(noise.covariance, np.float64)
    else:
        spread = as_floats(
            noise.variance if isinstance(noise, Noise) else noise,
            "variances of the noise",
            remedy="give a law such as UniformNoise(125), a variance, or a covariance",
        )
    if spread.ndim == 0:
        spread = np.full(columns, float(spread))
    if spread.ndim == 1:
        spread = np.diag(spread)
    if spread.shape != (columns, columns):
        raise InputError(
            "the noise is for another number of columns than the data",
            found=f"{' × '.join(map(str, spread.shape))} for {columns} columns",
        )
    return check_covariance(spread)


def noise_mean(noise: AnyNoise, columns: int) -> Floats:
    """The mean of the noise in each column; 0 where nothing says otherwise."""
    if isinstance(noise, Noise):
        return np.full(columns, noise.mean)
    if isinstance(noise, JointNoise):
        return np.array([noise.marginal(column).mean for column in range(columns)])
    return np.zeros(columns)


def excess_kurtosis(noise: AnyNoise) -> float:
    """How much heavier than a normal law's the tails are: 3 for Laplace, 0 where nothing is known.

    >>> from showthrough.numbers.noise import LaplaceNoise, UniformNoise
    >>> round(excess_kurtosis(LaplaceNoise(20)), 2), round(excess_kurtosis(UniformNoise(3)), 2)
    (3.0, -1.2)
    """
    if isinstance(noise, JointNoise):
        return max(excess_kurtosis(noise.marginal(column)) for column in range(noise.columns))
    if isinstance(noise, UniformNoise | GaussianNoise | LaplaceNoise):
        return _known_excess(noise)
    return _excess(noise) if isinstance(noise, Noise) else 0.0


@lru_cache(maxsize=256)
def _known_excess(noise: UniformNoise | GaussianNoise | LaplaceNoise) -> float:
    """The same for laws that can be recognised again: columns often share theirs."""
    return _excess(noise)


def _excess(noise: Noise) -> float:
    reach = noise.reach(tail=1e-12)
    edges = np.linspace(-reach, reach, 20_001)
    share, middle = np.diff(noise.cumulative(edges)), (edges[1:] + edges[:-1]) / 2 - noise.mean
    return float(share @ middle**4) / noise.variance**2 - 3


def check_covariance(matrix: ArrayLike) -> Floats:
    """The matrix, if it is square, symmetric, finite and positive semi-definite.

    >>> check_covariance([[1.0, 2.0], [2.0, 1.0]])
    Traceback (most recent call last):
        ...
    showthrough.errors.InputError: a covariance has a negative eigenvalue (found '-1'); variances ...
    """
    checked = np.atleast_2d(as_floats(matrix, "covariances"))
    if checked.ndim != 2 or checked.shape[0] != checked.shape[1] or not checked.size:
        raise InputError(
            "a covariance is a square matrix",
            found=" × ".join(map(str, checked.shape)),
            remedy="one row and one column for each column of the data",
        )
    if not np.isfinite(checked).all():
        raise InputError("a covariance has an entry that is not finite")
    size = float(np.abs(checked).max())
    if np.abs(checked - checked.T).max() > 1e-9 * size:
        raise InputError("a covariance is symmetric", remedy="use (A + A')/2")
    checked = (checked + checked.T) / 2
    least = float(np.linalg.eigvalsh(checked)[0])
    if least < -1e-9 * size:
        raise InputError(
            "a covariance has a negative eigenvalue",
            found=f"{least:.6g}",
            remedy="variances in every direction start at 0",
        )
    return checked


def _points(x: ArrayLike, columns: int) -> Floats:
    """Points with one coordinate per column along the last axis."""
    at = np.asarray(x, float)
    if at.ndim == 0 or at.shape[-1] != columns:
        raise InputError("points have another number of columns than the noise", found=str(at.shape))
    return at
