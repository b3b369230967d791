"""Values that many people hold exactly, and who is placed there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from showthrough.errors import InputError
from showthrough.numbers.attack import attack
from showthrough.numbers.density import Distribution
from showthrough.numbers.noise import GaussianNoise, LaplaceNoise, Noise, UniformNoise
from showthrough.numbers.points import Point, find_points, fit_beside, point_intervals, whose

LAWS = [UniformNoise(50), GaussianNoise(sd=30), LaplaceNoise(20)]


def zero_inflated(n: int = 2_000, *, zeros: float = 0.8, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < zeros, 0.0, rng.gamma(2, 500, n))


class TestFinding:
    def test_heaps_stand_out(self) -> None:
        values = np.concatenate([np.full(50, 1_000.0), np.arange(100) + 0.5, np.full(30, -7.0)])
        assert find_points(values) == (Point(-7.0, 30 / 180), Point(1_000.0, 50 / 180))

    def test_values_of_a_discrete_column_do_not(self) -> None:
        """All of them are held by many; only 0 is always looked at, since ±50 % of it is nothing."""
        assert find_points(np.arange(1, 701) % 70 + 20) == ()
        assert [point.value for point in find_points(np.arange(700) % 70)] == []
        assert [point.value for point in find_points(np.arange(700) % 7)] == [0.0]

    @pytest.mark.parametrize("values", [[], [0.0], [0.0, 0.0, 1.0], [5.0, 5.0, 5.0, 5.0]])
    def test_too_few_people(self, values: list[float]) -> None:
        assert find_points(values) == ()

    def test_a_constant_column(self) -> None:
        assert find_points([0.0] * 9) == (Point(0.0, 1.0),)

    @given(st.lists(st.integers(0, 3), max_size=40))
    def test_shares_are_those_of_the_holders(self, values: list[int]) -> None:
        for point in find_points(values):
            assert point.share == values.count(int(point.value)) / len(values)

    def test_clauses(self) -> None:
        points = [Point(float(at), 0.1) for at in range(6)]
        assert whose(points).count(" or ") == 3
        assert whose(points[:2], at=False) == "whose value is neither 0 nor 1"


class TestIntervals:
    @pytest.mark.parametrize("noise", LAWS, ids=str)
    def test_they_are_right_as_often_as_they_claim(self, noise: Noise) -> None:
        truth = zero_inflated(4_000)
        noisy = truth + noise.sample(len(truth), seed=3)
        base = Distribution.of(truth[truth > 0])
        found = point_intervals(noisy, noise, base, find_points(truth), confidence=0.9)
        assert found.contains(truth).mean() > 0.88

    @pytest.mark.parametrize("noise", LAWS, ids=str)
    def test_a_point_is_named_where_bayes_rule_says_so(self, noise: Noise) -> None:
        """Against the posterior of the two values there are, computed directly."""
        rng = np.random.default_rng(5)
        truth = np.where(rng.random(500) < 0.7, 0.0, 90.0)
        points = [Point(0.0, 0.7), Point(90.0, 0.3)]
        noisy = truth + noise.sample(len(truth), seed=6)
        found = point_intervals(noisy, noise, Distribution.of(truth), points, confidence=0.95)
        at_zero = 0.7 * noise.density(noisy)
        probability = at_zero / (at_zero + 0.3 * noise.density(noisy - 90))
        sure = np.abs(probability - 0.95) > 1e-6
        named = (found.low == 0) & (found.high == 0)
        assert (named == (probability >= 0.95))[sure].all()

    def test_probabilities_against_simulation(self) -> None:
        truth, noise = zero_inflated(20_000), GaussianNoise(sd=200)
        noisy = truth + noise.sample(len(truth), seed=7)
        mixed = fit_beside(noisy, noise, Distribution.of(truth[truth > 0]), find_points(truth))
        (likely,) = mixed.probabilities(noisy, noise)
        for low, high in ((0.2, 0.5), (0.5, 0.8), (0.8, 0.95), (0.95, 1.01)):
            chosen = (likely >= low) & (likely < high)
            assert (truth[chosen] == 0).mean() == pytest.approx(likely[chosen].mean(), abs=0.05)

    def test_masses(self) -> None:
        truth, noise = zero_inflated(500), UniformNoise(10)
        mixed = fit_beside(truth, noise, Distribution.of(truth[truth > 0]), [Point(0.0, 0.8)])
        made = mixed.as_distribution()
        assert made.cumulative(1e-3) - made.cumulative(-1e-3) == pytest.approx(0.8, abs=1e-4)

    def test_shares_beyond_one(self) -> None:
        with pytest.raises(InputError, match="between 0 and 1"):
            fit_beside([1.0], UniformNoise(1), Distribution([0, 1], [1]), [Point(0.0, 0.8), Point(1.0, 0.8)])


class TestAttacks:
    def test_holders_of_zero_are_counted_apart(self) -> None:
        """Before, 0 % of them were said to be placed, since no interval of a density is a point."""
        truth = zero_inflated()
        noisy = truth + UniformNoise(2.5).sample(len(truth), seed=2)
        (column,) = attack(noisy, "uniform:2.5", truth, privacy=0.5).columns
        strongest = column.exposure.strongest("±50 %")
        assert strongest.method == "points"
        assert strongest.at_points.total == int((truth == 0).sum())
        assert strongest.at_points.value > 0.95
        assert strongest.elsewhere.value > 0.95
        assert column.exposure.get("posterior", "±50 %").at_points.value == 0

    def test_one_share_does_not_hide_the_others(self) -> None:
        """Of 80 % nobody is placed, of the rest everybody: the share of all is small."""
        truth = np.concatenate([np.zeros(960), np.linspace(1e6, 2e6, 40)])
        noisy = truth + GaussianNoise(sd=5_000).sample(1_000, seed=2)
        (column,) = attack(noisy, "gaussian:sd=5000", truth, privacy=0.5).columns
        assert column.exposure.strongest("±50 %").elsewhere.value > 0.95

    def test_a_floor_widens_the_intervals_of_small_values(self) -> None:
        truth = zero_inflated()
        noisy = truth + UniformNoise(2.5).sample(len(truth), seed=2)
        from showthrough.numbers.attack import PrivacyLevels

        levels = PrivacyLevels((0.5,), floor=10)
        (column,) = attack(noisy, "uniform:2.5", truth, privacy=levels).columns
        found = column.exposure.get("posterior", "±50 %, at least ±10")
        assert found.at_points.value == 1
