"""Confidence ellipsoids: volumes, coverage, projections, and flat ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from showthrough.errors import InputError
from showthrough.numbers.ellipsoids import Ellipsoids, unit_ball
from showthrough.numbers.joint_noise import check_covariance

COVARIANCE = np.array([[4.0, 1.0, 0.5], [1.0, 2.0, 0.0], [0.5, 0.0, 1.0]])


def test_area_in_the_plane() -> None:
    """π · 5.99 · √(λ1 λ2), the π that the paper drops included."""
    plane = Ellipsoids([[0.0, 0.0]], [[2.0, 0.5], [0.5, 1.0]], 0.95)
    assert plane.squared_radius == pytest.approx(5.99, abs=0.005)
    assert plane.volume == pytest.approx(math.pi * plane.squared_radius * math.sqrt(1.75))


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_a_line_is_the_usual_interval(confidence: float) -> None:
    line = Ellipsoids([[3.0]], [[4.0]], confidence)
    low, high = line.projections()
    assert (low[0, 0], high[0, 0]) == pytest.approx(stats.norm.interval(confidence, 3, 2))
    assert line.volume == pytest.approx(high[0, 0] - low[0, 0])


def test_volume_by_counting_points() -> None:
    """Points of a box around the ellipsoid; five standard errors of 200,000."""
    body = Ellipsoids([[0.0, 0.0, 0.0]], COVARIANCE, 0.8)
    low, high = body.projections()
    points = np.random.default_rng(1).uniform(low, high, (200_000, 3))
    inside = body.contains(points).mean()
    box = float(np.prod(high - low))
    assert inside * box == pytest.approx(
        body.volume, abs=5 * box * math.sqrt(inside * (1 - inside) / 200_000)
    )


def test_coverage_and_simultaneous_projections() -> None:
    """Four standard errors of 50,000 points; the projections hold at least as often."""
    body = Ellipsoids([[1.0, 2.0, 3.0]], COVARIANCE, 0.9)
    points = np.random.default_rng(2).multivariate_normal([1, 2, 3], COVARIANCE, 50_000)
    margin = 4 * math.sqrt(0.09 / 50_000)
    assert body.contains(points).mean() == pytest.approx(0.9, abs=margin)
    low, high = body.projections()
    assert ((low <= points) & (points <= high)).all(axis=1).mean() > 0.9


def test_projections_are_the_shadow_of_the_ellipsoid() -> None:
    """The largest first coordinate on the surface is μ + √(χ² σ11)."""
    body = Ellipsoids([[0.0, 0.0, 0.0]], COVARIANCE, 0.9)
    sphere = np.random.default_rng(3).normal(size=(200_000, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    surface = sphere @ np.linalg.cholesky(COVARIANCE).T * math.sqrt(body.squared_radius)
    assert surface.max(axis=0) == pytest.approx(body.projections()[1][0], rel=1e-3)


def test_flat_ellipsoids() -> None:
    """The second value is twice the first: points off the line are outside, the volume is 0."""
    flat = Ellipsoids([[0.0, 0.0], [5.0, 10.0]], [[1.0, 2.0], [2.0, 4.0]], 0.95)
    assert flat.volume == pytest.approx(0, abs=1e-6)
    assert flat.contains([[1.0, 2.0], [6.0, 12.0]]).tolist() == [True, True]
    assert flat.contains([[1.0, 2.1], [50.0, 100.0]]).tolist() == [False, False]
    point = Ellipsoids([[1.0, 1.0]], np.zeros((2, 2)), 0.95)
    assert point.contains([[1.0, 1.0]]).all()
    assert not point.contains([[1.0, 1.1]]).any()


def test_unit_balls() -> None:
    assert [unit_ball(p) for p in (1, 2, 3, 4)] == pytest.approx(
        [2, math.pi, 4 / 3 * math.pi, math.pi**2 / 2]
    )


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 2.0]], "square"),
        ([[1.0, math.nan], [math.nan, 1.0]], "finite"),
        ([[1.0, 0.0], [1.0, 1.0]], "symmetric"),
        ([[1.0, 0.0], [0.0, -1.0]], "negative eigenvalue"),
    ],
)
def test_no_covariances(matrix: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_covariance(matrix)  # type: ignore[arg-type]


def test_refusals() -> None:
    with pytest.raises(InputError, match="different numbers of columns"):
        Ellipsoids([[1.0, 2.0]], [[1.0]], 0.9)
    with pytest.raises(InputError, match="a confidence lies between 0 and 1"):
        Ellipsoids([[1.0]], [[1.0]], 1.0)
