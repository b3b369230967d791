"""Noise on several columns at once: independent or correlated, and the defence that copies the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from showthrough.errors import InputError, check_each, check_type
from showthrough.numbers.noise import (
    Floats,
    GaussianNoise,
    JointNoise,
    Noise,
    as_floats,
    parse_noise,
    positive,
)

__all__ = [
    "CorrelatedNoise",
    "IndependentNoise",
    "as_column_noise",
    "as_noise",
    "correlated_like",
]

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

    Filters that separate data from noise by their directions find nothing to hold on to.

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


def _points(x: ArrayLike, columns: int) -> Floats:
    """Points with one coordinate per column along the last axis."""
    at = np.asarray(x, float)
    if at.ndim == 0 or at.shape[-1] != columns:
        raise InputError("points have another number of columns than the noise", found=str(at.shape))
    return at
