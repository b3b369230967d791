"""Groups under noisy answers: shares that leak, drawn readings, and the curve beside them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from showthrough.errors import InputError
from showthrough.numbers.leaks import error_curve, leaking_groups, leaks_by_noise, simulate_ratios
from showthrough.numbers.noise import GaussianNoise, LaplaceNoise
from showthrough.numbers.ratio import ratio_attack


def test_shares_by_noise_count_the_groups_that_leak() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 5000, 200)
    noises = [LaplaceNoise(1), LaplaceNoise(30), GaussianNoise(sd=70)]
    for row, noise in zip(leaks_by_noise(sizes, noises).to_pylist(), noises, strict=True):
        leaks = leaking_groups(sizes, sizes // 2, noise).leaks
        assert row["groups"] == pytest.approx(leaks.mean())
        assert row["people"] == pytest.approx(sizes[leaks].sum() / sizes.sum())


@pytest.mark.parametrize("noise", [LaplaceNoise(20), GaussianNoise(sd=28)])
def test_drawn_readings_err_as_the_curve_says(noise: LaplaceNoise | GaussianNoise) -> None:
    """Of 4,000 readings the share below each curve is within 4 standard errors: 1 in 15,000 fails."""
    n, size, share = 4000, 501.0, 0.8
    reading = simulate_ratios(np.full(n, size), np.full(n, share * size), noise, seed=5)
    for level in (0.5, 0.95):
        (error,) = error_curve([size], share, noise, level=level)
        assert error is not None
        below = float(np.mean(np.abs(reading - share) <= error))
        assert below == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / n))


def test_no_reading_where_the_larger_answer_is_not_positive() -> None:
    n = 4000
    reading = simulate_ratios(np.full(n, 20.0), np.full(n, 10.0), LaplaceNoise(20), seed=2)
    expected = ratio_attack(20, 10, LaplaceNoise(20)).no_answer
    assert np.isnan(reading).mean() == pytest.approx(
        expected, abs=4 * math.sqrt(expected * (1 - expected) / n)
    )
    assert error_curve([20.0], 0.5, LaplaceNoise(20), level=0.95) == [None]


def test_the_error_is_the_inverse_of_the_probability() -> None:
    attack = ratio_attack(501, 420, LaplaceNoise(20))
    assert attack.within(attack.error(0.9)) == pytest.approx(0.9, abs=1e-5)
    assert ratio_attack(1, 1, LaplaceNoise(20)).error(0.95) == math.inf


def test_bad_input() -> None:
    with pytest.raises(InputError, match="at least 1"):
        leaks_by_noise([0, 3], [LaplaceNoise(1)])
    with pytest.raises(InputError, match="confidence lies"):
        ratio_attack(501, 420, LaplaceNoise(20)).error(95)
