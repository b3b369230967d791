"""Pairs of columns: which are shown, and in what shape."""

from __future__ import annotations

import numpy as np
import pytest

from showthrough.errors import InputError
from showthrough.numbers.joint_noise import CorrelatedNoise
from showthrough.numbers.pairs import PairShape, compare_pairs
from showthrough.numbers.spectral import principal_components


def columns(n: int = 300) -> np.ndarray:
    """Four columns: the second follows the first closely, the third against it, the fourth not at all."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(n, 1)) * [1.0, 2.0, -1.0, 0.0] + rng.normal(size=(n, 4)) * [0.1, 0.1, 1.0, 1.0]


def test_the_most_correlated_come_first_whatever_their_sign() -> None:
    pairs = compare_pairs(columns(), 1.0, {})
    assert pairs[0].columns == (0, 1)
    assert {pair.columns for pair in pairs[1:]} == {(0, 2), (1, 2)}
    assert len(compare_pairs(columns(), 1.0, {}, most=10)) == 6


def test_the_truth_decides_where_it_is_known() -> None:
    """Noise that correlates other columns does not change the order."""
    truth = columns()
    noise = CorrelatedNoise(np.diag([100.0, 100.0, 100.0, 100.0]) + 99 * np.eye(4)[::-1])
    noisy = truth + noise.sample(len(truth), seed=1)
    assert compare_pairs(noisy, noise, {})[0].columns in {(0, 3), (1, 2)}
    assert compare_pairs(noisy, noise, {}, truth=truth)[0].columns == (0, 1)


def test_a_constant_column_has_no_correlation() -> None:
    flat = columns()
    flat[:, 0] = 5.0
    pairs = compare_pairs(flat, 1.0, {}, most=10)
    shapes = [pair.shapes["noisy"] for pair in pairs if 0 in pair.columns]
    assert [shape.correlation for shape in shapes] == [None, None, None]
    assert [shape.area() for shape in shapes] == [0.0, 0.0, 0.0]
    assert pairs[0].columns == (1, 2)
    assert "–" in pairs[-1]._repr_html_()


def test_points_are_few_and_of_the_rows_they_name() -> None:
    noisy = columns(1000)
    rebuilt = principal_components(noisy, 1.0)
    pair = compare_pairs(noisy, 1.0, {"pca": rebuilt}, points=50)[0]
    assert len(pair.rows) == 50
    assert pair.points["noisy"] == pytest.approx(noisy[pair.rows][:, [0, 1]])
    assert pair.points["pca"] == pytest.approx(rebuilt.estimates[pair.rows][:, [0, 1]])
    assert len(compare_pairs(noisy[:7], 1.0, {})[0].rows) == 7


def test_an_outline_is_at_one_distance_from_the_middle() -> None:
    covariance = np.array([[9.0, -2.0], [-2.0, 1.0]])
    outline = PairShape(np.array([3.0, 4.0]), covariance).outline(0.68)
    away = outline - [3.0, 4.0]
    distance = np.einsum("ij,jk,ik->i", away, np.linalg.inv(covariance), away)
    assert distance == pytest.approx(np.full(len(outline), -2 * np.log(0.32)))
    assert outline[0] == pytest.approx(outline[-1])


def test_bad_input() -> None:
    with pytest.raises(InputError, match="two columns"):
        PairShape(np.zeros(3), np.eye(3))
    with pytest.raises(InputError, match="differ in shape"):
        compare_pairs(columns(), 1.0, {}, truth=columns(10))
