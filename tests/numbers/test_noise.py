"""Laws of noise: each against numerical integration and its own samples; bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate

from showthrough.errors import InputError
from showthrough.numbers.given_noise import SampledNoise, TabulatedNoise
from showthrough.numbers.joint_noise import CorrelatedNoise, IndependentNoise, correlated_like
from showthrough.numbers.noise import (
    GaussianNoise,
    JointNoise,
    LaplaceNoise,
    Noise,
    UniformNoise,
    parse_noise,
)
from showthrough.numbers.perturb import perturb

POINTS = np.linspace(-4, 4, 401)
LAWS: dict[str, Noise] = {
    "uniform": UniformNoise(2.5),
    "gaussian": GaussianNoise(sd=1.3),
    "laplace": LaplaceNoise(0.8),
    "triangle": TabulatedNoise([-2, 0.5, 2], [0, 0.5, 0]),
    "bumps": TabulatedNoise(POINTS, np.abs(np.sin(POINTS)) / np.trapezoid(np.abs(np.sin(POINTS)), POINTS)),
    "sample": SampledNoise(np.random.default_rng(3).normal(0.4, 1, 2_000)),
}
SMOOTH = [name for name in LAWS if name != "sample"]


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_noises(name: str) -> None:
    assert isinstance(LAWS[name], Noise)
    assert not isinstance(LAWS[name], JointNoise)


@pytest.mark.parametrize("name", SMOOTH)
def test_cumulative_is_the_integral_of_the_density(name: str) -> None:
    law = LAWS[name]
    for low, high in ((-0.7, 0.9), (0.1, 2.2), (-3.0, -0.2)):
        middles = low + (high - low) * (np.arange(1_000_000) + 0.5) / 1_000_000
        area = float(law.density(middles).mean()) * (high - low)
        assert law.cumulative(high) - law.cumulative(low) == pytest.approx(area, abs=1e-6)


@pytest.mark.parametrize("name", LAWS)
def test_cumulative_integral_differs_as_the_integral_does(name: str) -> None:
    law = LAWS[name]
    grid = np.linspace(-6, 6, 200_001)
    whole = integrate.cumulative_simpson(law.cumulative(grid), x=grid, initial=0)
    mine = law.cumulative_integral(grid)
    # Only second differences are promised, so a linear function may be between the two.
    step = 20_000
    assert np.diff(mine[::step], 2) == pytest.approx(np.diff(whole[::step], 2), abs=1e-4)


@pytest.mark.parametrize("name", LAWS)
def test_samples_have_the_moments_and_the_law(name: str) -> None:
    """Each bound is five standard errors: fails by chance about once in a million."""
    law, n = LAWS[name], 200_000
    drawn = law.sample(n, seed=5)
    assert drawn.mean() == pytest.approx(law.mean, abs=5 * math.sqrt(law.variance / n))
    kurtosis = float(((drawn - drawn.mean()) ** 4).mean()) / law.variance**2
    assert drawn.var() == pytest.approx(law.variance, abs=5 * law.variance * math.sqrt((kurtosis - 1) / n))
    for x in (-1.0, 0.2, 1.1):
        share = float(law.cumulative(x))
        assert (drawn <= x).mean() == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / n))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("tail", [0.1, 1e-3, 1e-9])
def test_reach_holds_all_but_the_tail(name: str, tail: float) -> None:
    law = LAWS[name]
    reach = law.reach(tail=tail)
    outside = float(law.cumulative(-reach - 1e-9)) + 1 - float(law.cumulative(reach))
    assert outside <= tail * (1 + 1e-6)


def test_samples_repeat_with_the_seed() -> None:
    for law in LAWS.values():
        assert np.array_equal(law.sample((3, 2), seed=9), law.sample((3, 2), seed=9))
        assert not np.array_equal(law.sample(50, seed=9), law.sample(50, seed=10))


@pytest.mark.parametrize("law", [UniformNoise(125), GaussianNoise(variance=8), LaplaceNoise(20)])
def test_words_round_trip(law: Noise) -> None:
    again = parse_noise(str(law))
    assert type(again) is type(law)
    assert again.variance == pytest.approx(law.variance, rel=1e-10)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gaussian:8", "either its sd or its variance"),
        ("gaussian:scale=8", "either its sd or its variance"),
        ("uniform", "no number"),
        ("uniform:", "no number"),
        ("uniform:wide", "no number"),
        ("uniform:sd=3", "unknown parameter"),
        ("cauchy:1", "unknown law"),
        ("unifrom:1", "did you mean 'uniform'"),
        ("laplace:-1", "must be a positive number"),
        ("laplace:0", "must be a positive number"),
        ("laplace:nan", "must be a positive number"),
        ("gaussian:variance=-4", "must be a positive number"),
        ("gaussian:variance=0", "must be a positive number"),
        ("gaussian:sd=inf", "must be a positive number"),
    ],
)
def test_unusable_words(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_noise(text)


def test_gaussian_is_told_one_of_two() -> None:
    for options in ({}, {"sd": 1.0, "variance": 1.0}):
        with pytest.raises(InputError, match="either its sd or its variance"):
            GaussianNoise(**options)


@pytest.mark.parametrize(
    ("grid", "density", "problem"),
    [
        ([0, 1], [1], "2 numbers or more"),
        ([0, 1, 2], [1, 1], "one density per point"),
        ([0, 0, 1], [1, 1, 1], "must increase"),
        ([0, 1, 2], [-0.5, 2, -0.5], "never negative"),
        ([0, 1], [3, 3], "does not integrate to 1"),
        ([0, math.nan], [1, 1], "must be finite"),
    ],
)
def test_unusable_densities(grid: list[float], density: list[float], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        TabulatedNoise(grid, density)


@pytest.mark.parametrize(
    ("values", "problem"),
    [([1.0], "2 numbers or more"), ([2.0, 2.0], "does not vary"), ([1.0, math.inf], "must be finite")],
)
def test_unusable_samples(values: list[float], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        SampledNoise(values)


def test_correlated_noise_has_its_covariance_and_density() -> None:
    covariance = np.array([[4.0, 1.5], [1.5, 2.0]])
    noise = CorrelatedNoise(covariance)
    assert np.cov(noise.sample(200_000, seed=1).T) == pytest.approx(covariance, abs=0.07)
    at = np.array([[0.5, -1.0], [0.0, 0.0]])
    inverse = np.linalg.inv(covariance)
    expected = [
        math.exp(-x @ inverse @ x / 2) / (2 * math.pi * math.sqrt(np.linalg.det(covariance))) for x in at
    ]
    assert noise.density(at) == pytest.approx(expected)
    assert noise.marginal(1).variance == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("covariance", "problem"),
    [
        ([[1, 1], [1, 1]], "singular"),
        ([[1, 2], [2, 1]], "singular"),
        ([[0.0]], "singular"),
        ([[1, 0.5], [0.1, 1]], "symmetric"),
        ([[1, math.nan], [math.nan, 1]], "finite"),
        ([1, 2], "square"),
        ([[1, 2, 3], [4, 5, 6]], "square"),
    ],
)
def test_unusable_covariances(covariance: list[list[float]], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        CorrelatedNoise(covariance)


def test_noise_like_the_data_needs_more_rows_than_columns() -> None:
    values = np.random.default_rng(1).normal(size=(4, 6))
    with pytest.raises(InputError, match=r"singular.*more rows than columns"):
        correlated_like(values, ratio=1)
    found = correlated_like(np.random.default_rng(1).normal(size=(50, 3)), ratio=2)
    assert found.columns == 3
    with pytest.raises(InputError, match="positive"):
        correlated_like(values, ratio=-1)


def test_perturbing_keeps_shape_and_adds_the_noise() -> None:
    values = np.arange(6.0).reshape(3, 2)
    assert np.abs(perturb(values, UniformNoise(0.5), seed=1) - values).max() <= 0.5
    assert perturb(values, IndependentNoise([UniformNoise(1), LaplaceNoise(1)]), seed=1).shape == (3, 2)
    assert perturb([1.0, 2.0], LaplaceNoise(1), seed=1).shape == (2,)
    with pytest.raises(InputError, match="another number of columns"):
        perturb(values, IndependentNoise([UniformNoise(1)]), seed=1)
    with pytest.raises(InputError, match="row 2, column 1: a value is missing"):
        perturb([[1.0, 2.0], [math.nan, 2.0]], UniformNoise(1), seed=1)
    with pytest.raises(InputError, match="list or a matrix"):
        perturb(1.0, UniformNoise(1), seed=1)


def test_independent_noise_is_a_product() -> None:
    noise = IndependentNoise([UniformNoise(1), GaussianNoise(sd=2)])
    at = np.array([[0.5, 1.0], [3.0, 0.0]])
    assert noise.density(at) == pytest.approx([0.5 * float(GaussianNoise(sd=2).density(1.0)), 0.0])
    with pytest.raises(InputError, match="another number of columns"):
        noise.density([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="a law for each column"):
        IndependentNoise([])
