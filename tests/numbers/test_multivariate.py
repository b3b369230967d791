"""Joint reconstruction on product grids."""

from __future__ import annotations

import math

import numpy as np
import pytest

from showthrough.errors import InputError
from showthrough.numbers.density import Grid
from showthrough.numbers.iteration import Fixed
from showthrough.numbers.joint_noise import CorrelatedNoise, IndependentNoise
from showthrough.numbers.joint_reconstruction import JointDistribution, joint_taps, reconstruct_joint
from showthrough.numbers.noise import Floats, GaussianNoise, JointNoise, LaplaceNoise, UniformNoise
from showthrough.numbers.perturb import perturb

COVARIANCE = np.array([[2.0, 1.4], [1.4, 2.0]])


def normal_pairs(n: int, seed: int) -> Floats:
    """Correlated normal pairs."""
    return np.random.default_rng(seed).multivariate_normal([0, 0], COVARIANCE, n)


@pytest.mark.parametrize(
    "noise", [IndependentNoise([UniformNoise(1.7), LaplaceNoise(0.6)]), CorrelatedNoise([[1, 0.6], [0.6, 1]])]
)
def test_as_by_fft_equals_the_double_sum(noise: JointNoise) -> None:
    grids = (Grid.over(-3, 3, bins=5), Grid.over(-3, 3, bins=4))
    values = perturb(normal_pairs(150, 1), noise, seed=2)
    cells = np.array([[x, y] for x in grids[0].midpoints for y in grids[1].midpoints])
    low, width = np.array([grid.low for grid in grids]), np.array([grid.width for grid in grids])
    centres = low + width * (np.floor((values - low) / width) + 0.5)
    reach = [(size - 1) // 2 for size in joint_taps(noise, width.tolist(), "as").shape]
    rows = []
    for centre in centres:
        apart = np.rint((centre - cells) / width)
        rows.append(np.where((np.abs(apart) <= reach).all(axis=1), noise.density(centre - cells), 0))
    kept = np.array([row for row in rows if row.max() > 1e-12])
    mass = np.full(len(cells), 1 / len(cells))
    for _ in range(40):
        mass = (kept * mass / (kept @ mass)[:, None]).mean(axis=0)
    found = reconstruct_joint(values, noise, method="as", grids=grids, stop=Fixed(40))
    assert found.distribution.mass.ravel() == pytest.approx(mass, abs=1e-7)


def test_em_taps_of_correlated_noise_are_integrals() -> None:
    """Against a million draws: hidden even over a cell, noise added. Five standard errors."""
    noise, n = CorrelatedNoise([[1, 0.6], [0.6, 1]]), 1_000_000
    taps = joint_taps(noise, [1.0, 2.0], "em")
    hidden = np.random.default_rng(1).uniform([0, 0], [1, 2], (n, 2))
    published = np.floor((hidden + noise.sample(n, seed=2)) / [1, 2]).astype(int)
    centre = np.array(taps.shape) // 2
    for apart in ((0, 0), (1, 0), (0, -1), (2, 1), (-1, 1)):
        share = float((published == apart).all(axis=1).mean())
        expected = float(taps[tuple(centre + apart)])
        assert share == pytest.approx(expected, abs=5 * math.sqrt(expected / n) + 1e-5)
    assert taps.sum() == pytest.approx(1, abs=1e-3)


def test_correlated_taps_agree_with_the_product_where_there_is_no_correlation() -> None:
    alone = joint_taps(IndependentNoise([GaussianNoise(sd=1), GaussianNoise(sd=2)]), [0.5, 0.5], "em")
    joint = joint_taps(CorrelatedNoise([[1, 0], [0, 4]]), [0.5, 0.5], "em")
    assert joint == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize("noise", [GaussianNoise(sd=1.2), CorrelatedNoise(COVARIANCE * 0.7)])
def test_correlation_is_recovered(noise: GaussianNoise | CorrelatedNoise) -> None:
    """Over three seeds the error of the correlation stays below 0.1; the truth is 0.7."""
    for seed in range(3):
        hidden = normal_pairs(10_000, seed)
        found = reconstruct_joint(perturb(hidden, noise, seed=seed + 10), noise)
        assert found.distribution.correlation[0, 1] == pytest.approx(0.7, abs=0.1)
        assert found.distribution.mean == pytest.approx(hidden.mean(axis=0), abs=0.1)
        truth = JointDistribution.of(hidden, found.distribution.grids)
        plain = reconstruct_joint(perturb(hidden, noise, seed=seed + 10), noise, stop=0)
        assert found.distribution.loss(truth) < 0.5 * plain.distribution.loss(truth)


def test_three_columns() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(size=(4_000, 1))
    hidden = base + 0.5 * rng.normal(size=(4_000, 3))
    grids = [Grid.over(-4, 4, bins=10)] * 3
    found = reconstruct_joint(perturb(hidden, LaplaceNoise(0.5), seed=2), LaplaceNoise(0.5), grids=grids)
    assert found.distribution.mass.shape == (10, 10, 10)
    assert found.distribution.mass.sum() == pytest.approx(1)
    assert found.distribution.correlation[0, 2] == pytest.approx(np.corrcoef(hidden.T)[0, 2], abs=0.1)
    assert found.distribution.marginal(1).mean == pytest.approx(hidden[:, 1].mean(), abs=0.15)


def test_moments_by_hand() -> None:
    grids = (Grid(0.0, 1.0, 2), Grid(0.0, 2.0, 2))
    pair = JointDistribution(grids, np.array([[0.4, 0.1], [0.1, 0.4]]))
    assert pair.mean.tolist() == pytest.approx([1.0, 2.0])
    assert pair.covariance == pytest.approx(np.array([[0.25 + 1 / 12, 0.3], [0.3, 1 + 4 / 12]]))
    assert pair.marginal(1).mass.tolist() == pytest.approx([0.5, 0.5])


def test_unusable() -> None:
    values = normal_pairs(20, 1)
    with pytest.raises(InputError, match="two or three columns"):
        reconstruct_joint(np.ones((5, 4)), UniformNoise(1))
    with pytest.raises(InputError, match="another number of columns"):
        reconstruct_joint(values, IndependentNoise([UniformNoise(1)] * 3))
    with pytest.raises(InputError, match="one grid for each column"):
        reconstruct_joint(values, UniformNoise(1), grids=[Grid.over(0, 1, bins=2)])
    with pytest.raises(InputError, match="too wide for such narrow cells"):
        reconstruct_joint(values, UniformNoise(1e3), grids=[Grid.over(0, 1, bins=9)] * 2)
    with pytest.raises(InputError, match="row 2, column 1"):
        reconstruct_joint([[1.0, 2.0], [math.nan, 1.0]], UniformNoise(1))
    with pytest.raises(InputError, match="rows and columns"):
        reconstruct_joint([1.0, 2.0], UniformNoise(1))
    two, three = (JointDistribution.of(values, [Grid.over(0, 1, bins=bins)] * 2) for bins in (2, 3))
    with pytest.raises(InputError, match="different grids"):
        two.loss(three)
