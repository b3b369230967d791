"""Posterior intervals: right coverage, agreement with brute force, and what they add."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from showthrough.errors import InputError
from showthrough.numbers import posterior
from showthrough.numbers.density import Distribution
from showthrough.numbers.exposure import expose
from showthrough.numbers.interquantile import PrivacyIntervals
from showthrough.numbers.joint_noise import CorrelatedNoise
from showthrough.numbers.methods import BAYES, POSTERIOR, run_attacks
from showthrough.numbers.noise import GaussianNoise, LaplaceNoise, Noise, UniformNoise
from showthrough.numbers.posterior import posterior_intervals, posterior_masses

NOISES = [UniformNoise(40), GaussianNoise(sd=15), LaplaceNoise(10)]


def skewed(n: int, *, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).gamma(4, 10, n)


def true_distribution() -> Distribution:
    edges = np.linspace(0, 250, 501)
    return Distribution(edges, np.diff(stats.gamma(4, scale=10).cdf(edges)))


class TestCoverage:
    @pytest.mark.parametrize("shape", ["equal-tailed", "shortest"])
    @pytest.mark.parametrize("confidence", [0.5, 0.95])
    @pytest.mark.parametrize("noise", NOISES, ids=str)
    def test_with_the_true_distribution(
        self, noise: Noise, confidence: float, shape: posterior.Shape
    ) -> None:
        """Exact up to half a percent for bins and grouping, and four standard errors of 20,000."""
        truth = skewed(20_000, seed=1)
        noisy = truth + noise.sample(20_000, seed=2)
        found = posterior_intervals(noisy, noise, true_distribution(), confidence=confidence, shape=shape)
        margin = 4 * math.sqrt(confidence * (1 - confidence) / 20_000) + 0.005
        assert found.contains(truth).mean() == pytest.approx(confidence, abs=margin)

    @pytest.mark.parametrize("noise", NOISES, ids=str)
    def test_with_the_rebuilt_distribution(self, noise: Noise) -> None:
        """The attacker's own estimate costs a few percent of coverage at most."""
        truth = skewed(30_000, seed=3)
        (found,) = run_attacks(truth + noise.sample(30_000, seed=4), noise, methods=["em"])
        assert found.intervals[POSTERIOR].contains(truth).mean() == pytest.approx(0.95, abs=0.02)

    def test_normal_data_in_closed_form(self) -> None:
        prior = Distribution(
            np.linspace(-50, 50, 2001), np.diff(stats.norm(0, 5).cdf(np.linspace(-50, 50, 2001)))
        )
        seen = np.array([-8.0, 0.0, 11.0])
        found = posterior_intervals(seen, GaussianNoise(sd=3), prior, confidence=0.9)
        mean, sd = seen * 25 / 34, math.sqrt(25 * 9 / 34)
        assert found.low == pytest.approx(stats.norm(mean, sd).ppf(0.05), abs=0.01)
        assert found.high == pytest.approx(stats.norm(mean, sd).ppf(0.95), abs=0.01)


class TestIntervals:
    def test_masses_by_brute_force(self) -> None:
        prior = Distribution([0, 1, 3, 4], [0.2, 0.5, 0.3])
        noise, z = LaplaceNoise(2), 2.5
        x = np.linspace(0, 4, 400_001)
        weight = prior.density(x) * noise.density(z - x)
        parts = [
            np.trapezoid(np.where((x >= a) & (x <= b), weight, 0), x) for a, b in ((0, 1), (1, 3), (3, 4))
        ]
        assert posterior_masses([z], noise, prior)[0] == pytest.approx(np.array(parts) / sum(parts), abs=1e-4)

    @pytest.mark.parametrize("noise", NOISES, ids=str)
    def test_the_shortest_is_shortest(self, noise: Noise) -> None:
        seen = skewed(500, seed=5) + noise.sample(500, seed=6)
        equal = posterior_intervals(seen, noise, true_distribution())
        shortest = posterior_intervals(seen, noise, true_distribution(), shape="shortest")
        lengths = shortest.high - shortest.low
        assert (lengths <= equal.high - equal.low + 1e-9).all()
        # No other window of the same probability is shorter: try many starts for some values.
        for at in range(0, 500, 100):
            mass = posterior_masses(seen[[at]], noise, true_distribution())[0]
            shares = np.concatenate([[0], np.cumsum(mass)])
            starts = np.linspace(0, 1 - 0.95 - 1e-12, 2001)
            edges = true_distribution().edges
            windows = np.interp(starts + 0.95, shares, edges) - np.interp(starts, shares, edges)
            assert lengths[at] <= windows.min() + 1e-6

    @pytest.mark.parametrize("noise", NOISES, ids=str)
    def test_grouping_moves_intervals_by_less_than_a_bin(self, noise: Noise) -> None:
        truth = skewed(20_000, seed=7)
        seen, prior = truth + noise.sample(20_000, seed=8), true_distribution()
        grouped = posterior_intervals(seen, noise, prior)
        few = slice(0, 2000)
        exact = posterior_intervals(seen[few], noise, prior)
        inside = (seen[few] > np.quantile(seen, 0.001)) & (seen[few] < np.quantile(seen, 0.999))
        width = float(prior.widths[0])
        assert np.abs(grouped.low[few] - exact.low)[inside].max() < width
        assert np.abs(grouped.high[few] - exact.high)[inside].max() < width

    def test_values_that_cannot_be_get_the_noise_around_them(self) -> None:
        found = posterior_intervals([1000.0], UniformNoise(40), true_distribution(), confidence=0.9)
        assert (found.low[0], found.high[0]) == pytest.approx((964, 1036))

    def test_far_tails_do_not_cancel(self) -> None:
        prior = Distribution(np.linspace(0, 10, 101), np.ones(100))
        found = posterior_intervals([200.0], LaplaceNoise(2), prior, confidence=0.9)
        # Beyond the support the posterior is e^(x/2) on [0, 10], whatever the distance.
        x = np.linspace(0, 10, 100_001)
        shares = (np.exp(x / 2) - 1) / (math.exp(5) - 1)
        assert found.low[0] == pytest.approx(np.interp(0.05, shares, x), abs=0.05)

    def test_memory_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """However many people there are, only some published values are worked on at a time."""
        largest = 0
        plain = UniformNoise.cumulative

        def watch(self: UniformNoise, x: np.ndarray) -> np.ndarray:
            nonlocal largest
            largest = max(largest, np.size(x))
            return plain(self, x)

        monkeypatch.setattr(UniformNoise, "cumulative", watch)
        seen = skewed(200_000, seed=9) + UniformNoise(40).sample(200_000, seed=10)
        posterior_intervals(seen, UniformNoise(40), true_distribution())
        assert 0 < largest <= posterior.NEIGHBOURS * len(true_distribution().edges)

    def test_only_bins_in_reach_are_looked_at(self) -> None:
        """The intervals are those of the whole distribution."""
        prior, seen = true_distribution(), np.linspace(-60, 300, 700)
        for noise in NOISES:
            found = posterior_intervals(seen, noise, prior)
            masses = posterior_masses(seen, noise, prior)
            for at in np.flatnonzero(masses.any(axis=1)):
                shares = np.concatenate([[0], np.cumsum(masses[at])])
                low, high = np.interp([0.025, 0.975], shares, prior.edges)
                furthest = 40 if isinstance(noise, UniformNoise) else math.inf
                assert found.low[at] == pytest.approx(max(low, seen[at] - furthest), abs=1e-6)
                assert found.high[at] == pytest.approx(min(high, seen[at] + furthest), abs=1e-6)

    def test_refusals(self) -> None:
        with pytest.raises(InputError, match="finite numbers"):
            posterior_intervals([math.nan], UniformNoise(1), true_distribution())
        with pytest.raises(InputError, match="unknown shape"):
            posterior_intervals([1.0], UniformNoise(1), true_distribution(), shape="wide")  # type: ignore[arg-type]


class TestAgainstThePopulation:
    def test_little_noise_gives_people_away_that_no_population_interval_does(self) -> None:
        """The narrower the noise, the more people the posterior discloses; the population's cannot."""
        truth = skewed(10_000, seed=11)
        privacy = [PrivacyIntervals.relative(truth, 0.5)]
        more: list[int] = []
        for half_width in (10, 40, 160):
            noisy = truth + UniformNoise(half_width).sample(10_000, seed=12)
            (found,) = run_attacks(noisy, UniformNoise(half_width), methods=["em"])
            rates = expose(truth, noisy, attacks=found.intervals, privacy=privacy)
            more.append(
                rates.get(POSTERIOR, "±50 %").disclosed.count - rates.get("em", "±50 %").disclosed.count
            )
        assert more[0] > 5_000
        assert more[0] > more[1] > more[2] >= 0

    def test_several_columns_tell_more_than_one(self) -> None:
        rng = np.random.default_rng(13)
        common = rng.normal(100, 10, (5_000, 1))
        truth = common + rng.normal(0, 1, (5_000, 6))
        noise = CorrelatedNoise(np.diag([100.0] * 6))
        noisy = truth + noise.sample(5_000, seed=rng)
        found = run_attacks(noisy, noise)[0]
        rates = expose(
            truth[:, 0],
            noisy[:, 0],
            attacks=found.intervals,
            privacy=[PrivacyIntervals.relative(truth[:, 0], 0.1)],
        )
        assert rates.strongest("±10 %").method == BAYES
        assert found.intervals[BAYES].contains(truth[:, 0]).mean() == pytest.approx(0.95, abs=0.015)
        assert rates.get(BAYES, "±10 %").disclosed.value > 2 * rates.get(POSTERIOR, "±10 %").disclosed.value

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ([1.0, 1.0, 1.0], "all published values are equal"),
            ([1.0], "two records"),
            ([1.0, math.nan], "missing or infinite"),
            ([[1.0, 2.0], [2.0, 3.0]], "another number of columns"),
        ],
    )
    def test_bad_values(self, values: object, message: str) -> None:
        noise = CorrelatedNoise(np.eye(3)) if np.ndim(values) == 2 else UniformNoise(1)
        with pytest.raises(InputError, match=message):
            run_attacks(values, noise)  # type: ignore[arg-type]

    def test_methods(self) -> None:
        with pytest.raises(InputError, match="give several columns"):
            run_attacks([1.0, 2.0], UniformNoise(1), methods=["sf"])
        with pytest.raises(InputError, match="unknown method"):
            run_attacks([1.0, 2.0], UniformNoise(1), methods=["af"])
