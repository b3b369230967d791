"""Additive noise: what a publisher adds to numbers, and what an attacker knows about it.

A law of noise answers four questions (how to draw it, its density, its cumulative probability, how
far it reaches) and one the reconstruction asks: ∫F, from which probabilities over whole bins follow
exactly. Given samples and densities are in :mod:`showthrough.numbers.given_noise`, noise on several
columns in :mod:`showthrough.numbers.joint_noise`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from showthrough.errors import InputError, RecordsError, check_type, closest

__all__ = [
    "Floats",
    "GaussianNoise",
    "JointNoise",
    "LaplaceNoise",
    "Noise",
    "UniformNoise",
    "as_floats",
    "check_matrix",
    "parse_noise",
]

Floats = NDArray[np.float64]


@runtime_checkable
class Noise(Protocol):
    """The law of the noise on one column."""

    @property
    def mean(self) -> float:
        """The mean; 0 for the symmetric laws."""
        ...

    @property
    def variance(self) -> float:
        """The variance (not the standard deviation)."""
        ...

    def sample(self, size: int | tuple[int, ...], *, seed: int | np.random.Generator) -> Floats:
        """Independent draws."""
        ...

    def density(self, x: ArrayLike) -> Floats:
        """The probability density at x."""
        ...

    def cumulative(self, x: ArrayLike) -> Floats:
        """The probability of at most x."""
        ...

    def cumulative_integral(self, x: ArrayLike) -> Floats:
        """∫ of the cumulative probability from −∞ to x, up to a linear function of x."""
        ...

    def reach(self, *, tail: float = 1e-9) -> float:
        """The least half-width r such that the noise leaves [−r, r] with probability ≤ ``tail``."""
        ...


@runtime_checkable
class JointNoise(Protocol):
    """The law of the noise on several columns at once."""

    @property
    def columns(self) -> int:
        """How many columns it is for."""
        ...

    @property
    def covariance(self) -> Floats:
        """The covariance matrix."""
        ...

    def sample(self, size: int, *, seed: int | np.random.Generator) -> Floats:
        """Rows of noise."""
        ...

    def density(self, x: ArrayLike) -> Floats:
        """The joint density at each point; the last axis of x runs over the columns."""
        ...

    def marginal(self, column: int) -> Noise:
        """The law of one column."""
        ...


def positive(value: float, name: str) -> float:
    """A scale that can be used: a finite number above 0."""
    check_type(value, Real, name=f"the {name} of the noise")
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"the {name} of the noise must be a positive number", found=f"{value:g}")
    return float(value)


@dataclass(frozen=True)
class UniformNoise:
    """Noise spread evenly over [−half_width, half_width].

    Parameters
    ----------
    half_width
        How far it goes at most, above 0.

    Examples
    --------
    >>> UniformNoise(125).variance, UniformNoise(125).density([0, 200]).tolist()
    (5208.333333333333, [0.004, 0.0])
    """

    half_width: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "half_width", positive(self.half_width, "half-width"))

    @property
    def mean(self) -> float:
        """Always 0."""
        return 0.0

    @property
    def variance(self) -> float:
        """A third of the squared half-width."""
        return self.half_width**2 / 3

    def sample(self, size: int | tuple[int, ...], *, seed: int | np.random.Generator) -> Floats:
        """Independent draws."""
        return np.random.default_rng(seed).uniform(-self.half_width, self.half_width, size)

    def density(self, x: ArrayLike) -> Floats:
        """The probability density at x."""
        return (np.abs(np.asarray(x, float)) <= self.half_width) / (2 * self.half_width)

    def cumulative(self, x: ArrayLike) -> Floats:
        """The probability of at most x."""
        return np.clip((np.asarray(x, float) / self.half_width + 1) / 2, 0, 1)

    def cumulative_integral(self, x: ArrayLike) -> Floats:
        """∫ of the cumulative probability."""
        at = np.asarray(x, float)
        inside = np.clip(at + self.half_width, 0, 2 * self.half_width)
        return inside**2 / (4 * self.half_width) + np.maximum(at - self.half_width, 0)

    def reach(self, *, tail: float = 1e-9) -> float:
        """The half-width, less what ``tail`` allows."""
        return self.half_width * (1 - tail)

    def __str__(self) -> str:
        return f"uniform:{self.half_width:.12g}"


@dataclass(frozen=True, init=False)
class GaussianNoise:
    """Normal noise, given by either its standard deviation or its variance.

    Parameters
    ----------
    sd
        The standard deviation, above 0.
    variance
        The variance, above 0, if ``sd`` is not given.

    Examples
    --------
    >>> GaussianNoise(variance=8).sd == GaussianNoise(sd=8**0.5).sd
    True
    >>> round(float(GaussianNoise(sd=2).cumulative(2)), 4), round(GaussianNoise(sd=2).reach(tail=0.05), 2)
    (0.8413, 3.92)
    """

    sd: float

    def __init__(self, *, sd: float | None = None, variance: float | None = None) -> None:
        if (sd is None) == (variance is None):
            raise InputError("Gaussian noise needs either its sd or its variance", remedy="give one of them")
        scale = positive(sd, "sd") if sd is not None else math.sqrt(positive(variance or 0, "variance"))
        object.__setattr__(self, "sd", scale)

    @property
    def mean(self) -> float:
        """Always 0."""
        return 0.0

    @property
    def variance(self) -> float:
        """The squared standard deviation."""
        return self.sd**2

    def sample(self, size: int | tuple[int, ...], *, seed: int | np.random.Generator) -> Floats:
        """Independent draws."""
        return np.random.default_rng(seed).normal(0, self.sd, size)

    def density(self, x: ArrayLike) -> Floats:
        """The probability density at x."""
        at = np.asarray(x, float) / self.sd
        return np.exp(-(at**2) / 2) / (self.sd * math.sqrt(2 * math.pi))

    def cumulative(self, x: ArrayLike) -> Floats:
        """The probability of at most x."""
        return np.asarray(special.ndtr(np.asarray(x, float) / self.sd))

    def cumulative_integral(self, x: ArrayLike) -> Floats:
        """∫ of the cumulative probability: xΦ(x/σ) + σ²φ(x)."""
        at = np.asarray(x, float)
        return at * self.cumulative(at) + self.variance * self.density(at)

    def reach(self, *, tail: float = 1e-9) -> float:
        """The half-width left with probability ``tail``."""
        return float(-special.ndtri(tail / 2)) * self.sd

    def __str__(self) -> str:
        return f"gaussian:sd={self.sd:.12g}"


@dataclass(frozen=True)
class LaplaceNoise:
    """Double-exponential noise with density exp(−|x|/scale) / (2·scale).

    Parameters
    ----------
    scale
        The mean distance from 0, above 0.

    Examples
    --------
    >>> LaplaceNoise(20).variance, round(LaplaceNoise(20).reach(tail=0.05), 1)
    (800.0, 59.9)
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))

    @property
    def mean(self) -> float:
        """Always 0."""
        return 0.0

    @property
    def variance(self) -> float:
        """Twice the squared scale."""
        return 2 * self.scale**2

    def sample(self, size: int | tuple[int, ...], *, seed: int | np.random.Generator) -> Floats:
        """Independent draws."""
        return np.random.default_rng(seed).laplace(0, self.scale, size)

    def density(self, x: ArrayLike) -> Floats:
        """The probability density at x."""
        return np.exp(-np.abs(np.asarray(x, float)) / self.scale) / (2 * self.scale)

    def cumulative(self, x: ArrayLike) -> Floats:
        """The probability of at most x."""
        at = np.asarray(x, float)
        side = np.exp(-np.abs(at) / self.scale) / 2
        return np.where(at < 0, side, 1 - side)

    def cumulative_integral(self, x: ArrayLike) -> Floats:
        """∫ of the cumulative probability: x⁺ + (scale/2)·exp(−|x|/scale)."""
        at = np.asarray(x, float)
        return np.maximum(at, 0) + self.scale / 2 * np.exp(-np.abs(at) / self.scale)

    def reach(self, *, tail: float = 1e-9) -> float:
        """The half-width left with probability ``tail``."""
        return -self.scale * math.log(tail)

    def __str__(self) -> str:
        return f"laplace:{self.scale:.12g}"


_FORMS = ("uniform:125", "gaussian:sd=2.8", "gaussian:variance=8", "laplace:20")


def as_floats(
    values: object, name: str = "the values", *, remedy: str = "give a list or a matrix of numbers"
) -> NDArray[np.float64]:
    """The values as floats, if they are numbers.

    >>> as_floats(["tall"], "the true values")
    Traceback (most recent call last):
    showthrough.errors.RecordsError: the true values are not numbers (found "['tall']"); give a list or ...
    """
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise RecordsError(f"{name} are not numbers", found=f"{values!r}"[:60], remedy=remedy) from None


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


def parse_noise(text: str) -> UniformNoise | GaussianNoise | LaplaceNoise:
    """A law of noise from its text.

    Parameters
    ----------
    text
        ``"uniform:125"`` (the half-width), ``"gaussian:sd=2.8"``, ``"gaussian:variance=8"`` or
        ``"laplace:20"`` (the scale).

    Returns
    -------
    UniformNoise, GaussianNoise or LaplaceNoise
        The law.

    Raises
    ------
    InputError
        If the law or its number cannot be read.

    Examples
    --------
    >>> parse_noise("uniform:125"), parse_noise("gaussian:variance=9"), parse_noise("laplace:20")
    (UniformNoise(half_width=125.0), GaussianNoise(sd=3.0), LaplaceNoise(scale=20.0))
    """
    check_type(text, str, name="text", remedy=f"forms: {', '.join(_FORMS)}")
    law, _, rest = (part.strip() for part in text.strip().casefold().partition(":"))
    name, _, number = (part.strip() for part in rest.rpartition("="))
    try:
        value = float(number)
    except ValueError:
        raise InputError(
            "the noise has no number", found=text, remedy=f"forms: {', '.join(_FORMS)}"
        ) from None
    if law == "uniform" and name in ("", "half_width"):
        return UniformNoise(value)
    if law == "laplace" and name in ("", "scale"):
        return LaplaceNoise(value)
    if law == "gaussian" and name == "sd":
        return GaussianNoise(sd=value)
    if law == "gaussian" and name == "variance":
        return GaussianNoise(variance=value)
    if law == "gaussian":
        remedy = f"write gaussian:sd={number} or gaussian:variance={number}"
        raise InputError("Gaussian noise needs either its sd or its variance", found=text, remedy=remedy)
    if law in ("uniform", "laplace"):
        raise InputError(
            "the noise has an unknown parameter", found=text, remedy=f"forms: {', '.join(_FORMS)}"
        )
    raise InputError(
        "unknown law of noise", found=text, remedy=closest(law, ("uniform", "gaussian", "laplace"))
    )
