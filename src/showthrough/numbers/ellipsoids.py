"""Confidence ellipsoids: where several values of one person lie together.

{x : (x − μ)' Σ⁻¹ (x − μ) ≤ χ²_p(c)}, with volume η_p χ²_p(c)^(p/2) |Σ|^(1/2), where η_p is the volume
of the unit ball (equation 2.9; in the plane at 95 % the area is π · 5.99 · √(λ1 λ2)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from showthrough.errors import InputError
from showthrough.numbers.interquantile import check_confidence
from showthrough.numbers.joint_noise import check_covariance
from showthrough.numbers.noise import Floats, as_floats

__all__ = [
    "Ellipsoids",
    "unit_ball",
]


#: Eigenvalues below this share of the largest count as zero.
NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class Ellipsoids:
    """One ellipsoid for each centre, all of one shape, holding a normal value at this confidence.

    A covariance that is singular gives flat ellipsoids, of volume 0.

    Parameters
    ----------
    centres
        The centres, one row each.
    covariance
        The covariance of the normal law around each centre.
    confidence
        The probability of each ellipsoid.

    Examples
    --------
    >>> plane = Ellipsoids([[0.0, 0.0]], [[4.0, 0.0], [0.0, 1.0]], confidence=0.95)
    >>> round(plane.volume, 2), plane.half_axes.round(2).tolist()
    (37.65, [4.9, 2.45])
    >>> plane.contains([[4.8, 0.0]]).tolist(), plane.contains([[4.8, 1.0]]).tolist()
    ([True], [False])
    """

    centres: Floats
    covariance: Floats
    confidence: float = 0.95

    def __post_init__(self) -> None:
        centres = np.atleast_2d(as_floats(self.centres, "the centres"))
        covariance = check_covariance(self.covariance)
        if centres.ndim != 2 or centres.shape[1] != len(covariance):
            raise InputError(
                "centres and covariance have different numbers of columns",
                found=f"{centres.shape[-1]} and {len(covariance)}",
            )
        check_confidence(self.confidence)
        object.__setattr__(self, "centres", centres)
        object.__setattr__(self, "covariance", covariance)

    @property
    def dimension(self) -> int:
        """How many values each person has."""
        return len(self.covariance)

    @property
    def squared_radius(self) -> float:
        """The quantile χ²_p(c)."""
        return float(special.chdtri(self.dimension, 1 - self.confidence))

    @cached_property
    def axes(self) -> tuple[Floats, Floats]:
        """Variances along the axes, largest first, and the axes as columns."""
        values, vectors = np.linalg.eigh(self.covariance)
        return np.maximum(values[::-1], 0), vectors[:, ::-1]

    @property
    def half_axes(self) -> Floats:
        """Half the length along each axis, longest first."""
        return np.sqrt(self.squared_radius * self.axes[0])

    @property
    def volume(self) -> float:
        """The volume of each ellipsoid; the area in the plane, the length on a line."""
        return unit_ball(self.dimension) * float(np.prod(self.half_axes))

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """For each centre, whether its point lies in the ellipsoid around it."""
        away = np.atleast_2d(np.asarray(points, np.float64)) - self.centres
        variances, vectors = self.axes
        along = away @ vectors
        scale = max(float(variances[0]), float(np.abs(self.centres).max(initial=0)) ** 2)
        flat = variances <= NEGLIGIBLE * variances[0]
        # Where the ellipsoid is flat only points of its plane are inside, up to rounding.
        inside = np.asarray((np.abs(along[:, flat]) <= 1e-9 * math.sqrt(scale)).all(axis=1))
        distance = (along[:, ~flat] ** 2 / variances[~flat]).sum(axis=1)
        return inside & (distance <= self.squared_radius)

    def outline(self, *, points: int = 72) -> Floats:
        """Points around the first ellipse, in the plane; the last is the first again.

        >>> plane = Ellipsoids([[1.0, 0.0]], [[4.0, 0.0], [0.0, 1.0]], confidence=0.95)
        >>> plane.outline(points=4).round(2).tolist()[1:3]
        [[1.0, 2.45], [-3.9, 0.0]]
        """
        if self.dimension != 2:
            raise InputError("an outline can be drawn for two columns", found=f"{self.dimension} columns")
        turn = np.linspace(0, 2 * math.pi, points + 1)
        circle = np.column_stack([np.cos(turn), np.sin(turn)])
        directions = self.axes[1] * np.sign(self.axes[1].sum(axis=0) + 1e-300)
        return self.centres[0] + circle * self.half_axes @ directions.T

    def projections(self) -> tuple[Floats, Floats]:
        """Simultaneous intervals: μ_i ± √(χ²_p(c) σ_ii), which all hold at once (conservatively)."""
        reach = np.sqrt(self.squared_radius * np.diag(self.covariance))
        return self.centres - reach, self.centres + reach


def unit_ball(dimension: int) -> float:
    """The volume of the unit ball, π^(p/2) / Γ(p/2 + 1).

    >>> round(unit_ball(2) / math.pi, 6), round(unit_ball(3) / (4 / 3 * math.pi), 6)
    (1.0, 1.0)
    """
    return math.exp(dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2 + 1))
