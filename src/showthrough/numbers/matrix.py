"""Matrices of noisy values: what they must be, how noise acts on them, how far estimates are off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from showthrough.errors import InputError, RecordsError
from showthrough.numbers.ellipsoids import check_covariance
from showthrough.numbers.noise import (
    Floats,
    GaussianNoise,
    JointNoise,
    LaplaceNoise,
    Noise,
    UniformNoise,
    as_floats,
)

__all__ = [
    "AnyNoise",
    "Errors",
    "check_matrix",
    "excess_kurtosis",
    "matrix_errors",
    "noise_covariance",
    "noise_mean",
]

#: Noise on one or several columns; or its variance, or its covariance, where no more is known.
AnyNoise = Noise | JointNoise | ArrayLike


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


def check_matrix(values: ArrayLike) -> Floats:
    """The values as rows and columns of finite numbers, at least two rows."""
    matrix = as_floats(values)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise RecordsError("values must be a list or a matrix", found=f"{matrix.ndim} dimensions")
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise RecordsError(
            "a value is missing or infinite",
            row=row + 1,
            column=str(column + 1),
            found=str(matrix[row, column]),
            remedy="leave the record out",
        )
    if len(matrix) < 2:
        raise RecordsError(
            "at least two records are needed",
            found=f"{len(matrix)}",
        )
    return matrix
