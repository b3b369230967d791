"""The ratio attack on noisy answers: the paper's tables as corrected, and laws checked by simulation."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

from showthrough.errors import InputError
from showthrough.numbers.leaks import leaking_groups, safe_epsilon
from showthrough.numbers.noise import GaussianNoise, LaplaceNoise
from showthrough.numbers.ratio import RULE, RatioAttack, answer_noise, ratio_attack, ratio_interval

#: The paper's Table 2: 2(b/x)² by b (rows) and x = 5000, 1000, 500, 200, 100 (columns).
TABLE_2 = {
    10: (8e-6, 2e-4, 8e-4, 0.005, 0.02),
    20: (3.2e-5, 8e-4, 0.0032, 0.02, 0.08),
    40: (1.28e-4, 0.0032, 0.0128, 0.08, 0.32),
    200: (0.0032, 0.08, 0.32, 2, 8),
}

DATA = os.environ.get("SHOWTHROUGH_DATA")


class TestMoments:
    @pytest.mark.parametrize("scale", TABLE_2)
    def test_the_papers_bounds(self, scale: float) -> None:
        for group, bound in zip((5000, 1000, 500, 200, 100), TABLE_2[scale], strict=True):
            attack = ratio_attack(group, group / 2, LaplaceNoise(scale))
            assert attack.bias_bound == pytest.approx(bound, rel=1e-12)
            assert attack.bias <= attack.bias_bound
            assert attack.sd**2 <= 2 * attack.bias_bound
            assert attack.leaks is (scale / group <= 1 / 20)

    def test_what_the_papers_first_table_should_say(self) -> None:
        """EQUATIONS 1.3, b = 4 and 20; the tolerances are five standard errors of 400,000 draws."""
        for scale, relative, sd, mean in (
            (4, (0.0080, 0.0095), 0.0147, 0.8384),
            (20, (0.0399, 0.0476), 0.0737, 0.841),
        ):
            attack = ratio_attack(501, 420, LaplaceNoise(scale))
            answers = attack.simulate(400_000, seed=5)
            off = np.abs(answers - [501, 420]) / [501, 420]
            # |Laplace| has mean and standard deviation b.
            for at, ans in enumerate((501, 420)):
                assert off[:, at].mean() == pytest.approx(
                    scale / ans, abs=5 * scale / ans / math.sqrt(400_000)
                )
                assert scale / ans == pytest.approx(relative[at], abs=6e-5)
            shares = answers[:, 1] / answers[:, 0]
            assert shares.mean() == pytest.approx(mean, abs=5e-4)
            assert shares.std() == pytest.approx(sd, rel=0.02)
            assert attack.confidence + attack.bias == pytest.approx(mean, abs=1e-3)
            assert attack.sd == pytest.approx(sd, rel=0.04)

    def test_ten_trials_stay_where_the_corrected_table_says(self) -> None:
        """99 % of the means of ten trials: [.826, .851] for b = 4, [.781, .907] for b = 20."""
        for scale, low, high in ((4, 0.826, 0.851), (20, 0.781, 0.907)):
            answers = ratio_attack(501, 420, LaplaceNoise(scale)).simulate(200_000, seed=3)
            means = (answers[:, 1] / answers[:, 0]).reshape(-1, 10).mean(axis=1)
            assert np.mean((low <= means) & (means <= high)) == pytest.approx(0.99, abs=0.005)

    def test_chance_of_no_answer(self) -> None:
        assert ratio_attack(501, 420, LaplaceNoise(200)).no_answer == pytest.approx(0.041, abs=5e-4)
        assert ratio_attack(501, 420, LaplaceNoise(20)).no_answer == pytest.approx(6.6e-12, rel=0.01)


class TestQuantiles:
    @pytest.mark.parametrize(
        "attack",
        [
            ratio_attack(501, 420, LaplaceNoise(4)),
            ratio_attack(501, 420, LaplaceNoise(20)),
            ratio_attack(501, 420, LaplaceNoise(200)),
            ratio_attack(30, 1, LaplaceNoise(40)),
            ratio_attack(30, 0, LaplaceNoise(3)),
            ratio_attack(100, 100, GaussianNoise(sd=10)),
            ratio_attack(10, 3, GaussianNoise(sd=20)),
        ],
        ids=str,
    )
    def test_agree_with_simulation(self, attack: RatioAttack) -> None:
        """Kolmogorov's distance to 200,000 draws; it exceeds 2.6/√n once in 1.5 million runs."""
        answers = attack.simulate(200_000, seed=11)
        shares = answers[answers[:, 0] > 0]
        shares = np.sort(shares[:, 1] / shares[:, 0])
        at = np.linspace(0, len(shares) - 1, 200).astype(int)
        law = np.array([attack.probability(float(share)) for share in shares[at]])
        assert np.abs(law - (at + 0.5) / len(shares)).max() < 2.6 / math.sqrt(len(shares))

    def test_quantiles_invert_the_law(self) -> None:
        attack = ratio_attack(40, 7, GaussianNoise(sd=25))
        shares = np.array([0.001, 0.3, 0.5, 0.999])
        found = attack.quantiles(shares)
        assert [attack.probability(float(at)) for at in found] == pytest.approx(shares, abs=1e-9)
        assert (np.diff(found) > 0).all()

    def test_gaussian_law_without_zero_in_reach(self) -> None:
        """Far from X = 0, Y − tX ≤ 0 is one normal event."""
        attack, share = ratio_attack(1000, 600, GaussianNoise(sd=10)), 0.61
        exact = stats.norm.cdf((share * 1000 - 600) / (10 * math.sqrt(1 + share**2)))
        assert attack.probability(share) == pytest.approx(exact, abs=1e-12)

    def test_within(self) -> None:
        attack = ratio_attack(501, 420, LaplaceNoise(4))
        answers = attack.simulate(100_000, seed=2)
        near = np.abs(answers[:, 1] / answers[:, 0] - 420 / 501) <= 0.02
        assert attack.within(0.02) == pytest.approx(near.mean(), abs=5 * 0.5 / math.sqrt(100_000))


class TestInterval:
    @pytest.mark.parametrize("noise", [LaplaceNoise(20), LaplaceNoise(100), GaussianNoise(sd=40)], ids=str)
    def test_coverage(self, noise: LaplaceNoise | GaussianNoise) -> None:
        """The true share is in at least 90 % of intervals; 4 standard errors of 2,000 draws."""
        attack = ratio_attack(200, 150, noise)
        hits = 0
        for group, matching in attack.simulate(2_000, seed=7):
            found = ratio_interval(float(group), float(matching), noise, confidence=0.9)
            hits += bool(found.contains(0.75))
        assert hits / 2_000 > 0.9 - 4 * math.sqrt(0.09 / 2_000)

    def test_hopeless_noise_says_nothing(self) -> None:
        found = ratio_interval(5, 3, LaplaceNoise(1000))
        assert (found.low, found.high) == (0, 1)


class TestEpsilon:
    def test_laplace(self) -> None:
        assert answer_noise(0.5) == LaplaceNoise(4)
        assert answer_noise(0.5, sensitivity=1) == LaplaceNoise(2)

    def test_gaussian_is_enough_and_no_more(self) -> None:
        """δ = max over events of P(E) − e^ε P'(E), here recomputed by integrating the densities."""
        noise = answer_noise(0.7, sensitivity=1.5, delta=1e-3)
        assert isinstance(noise, GaussianNoise)
        at = np.linspace(-15 * noise.sd, 15 * noise.sd, 400_001)
        worst = np.maximum(noise.density(at) - math.exp(0.7) * noise.density(at + 1.5), 0)
        assert np.trapezoid(worst, at) == pytest.approx(1e-3, rel=1e-4)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"epsilon": 0}, "epsilon is a positive number"),
            ({"epsilon": 1, "sensitivity": -1}, "sensitivity is a positive number"),
            ({"epsilon": 1, "delta": 2}, "delta lies between 0 and 1"),
        ],
    )
    def test_refusals(self, given: dict[str, float], message: str) -> None:
        with pytest.raises(InputError, match=message):
            answer_noise(**given)


class TestGroups:
    def test_agrees_with_single_attacks(self) -> None:
        sizes, matching = np.array([501, 399, 401, 20]), np.array([420, 100, 0, 20])
        found = leaking_groups(sizes, matching, LaplaceNoise(20))
        for at, (size, count) in enumerate(zip(sizes, matching, strict=True)):
            one = ratio_attack(int(size), int(count), LaplaceNoise(20))
            assert found.leaks[at] == one.leaks
            assert found.confidence[at] == pytest.approx(one.confidence)
            assert found.sd[at] == pytest.approx(one.sd)
            assert found.bias_bound[at] == pytest.approx(one.bias_bound)
        assert found.count == 2

    def test_safe_epsilon_is_the_border(self) -> None:
        border = safe_epsilon(501)
        assert ratio_attack(501, 420, answer_noise(border * 1.0001)).leaks
        assert not ratio_attack(501, 420, answer_noise(border * 0.9999)).leaks
        assert RULE == 1 / 20

    def test_gaussian_noise_counts_by_its_variance(self) -> None:
        sizes = [400, 399]
        laplace = leaking_groups(sizes, [1, 1], LaplaceNoise(20))
        gaussian = leaking_groups(sizes, [1, 1], GaussianNoise(variance=800))
        assert laplace.leaks.tolist() == gaussian.leaks.tolist() == [True, False]

    @pytest.mark.skipif(DATA is None, reason="SHOWTHROUGH_DATA names no folder with adult.parquet")
    def test_the_rule_of_501_and_420(self) -> None:
        columns = ["education", "occupation", "race", "sex", "income"]
        whole = pq.read_table(Path(DATA or "") / "adult.parquet")
        complete = whole.drop_null()
        assert complete.num_rows == 45_222
        public = columns[:-1]
        sizes = complete.group_by(public).aggregate([([], "count_all")]).to_pylist()
        rich = complete.filter(np.array(complete["income"].to_pylist()) == ">50K")
        counts = {
            tuple(row[name] for name in public): row["count_all"]
            for row in rich.group_by(public).aggregate([([], "count_all")]).to_pylist()
        }
        groups = {tuple(row[name] for name in public): row["count_all"] for row in sizes}
        person = ("Prof-school", "Prof-specialty", "White", "Male")
        assert (groups[person], counts[person]) == (501, 420)
        assert rich.num_rows / complete.num_rows == pytest.approx(0.2478, abs=5e-5)
        x = np.array(list(groups.values()))
        y = np.array([counts.get(name, 0) for name in groups])
        found = leaking_groups(x, y, answer_noise(0.1))
        leaking = {name for name, leaks in zip(groups, found.leaks, strict=True) if leaks}
        assert person in leaking
        assert leaking == {name for name, size in groups.items() if size >= 400}
        assert found.confidence[list(groups).index(person)] == pytest.approx(0.8383, abs=5e-5)


class TestRefusals:
    @pytest.mark.parametrize(
        ("group", "matching"), [(0, 0), (-3, 0), (math.nan, 1), (10, 11), (10, -1), (math.inf, 1)]
    )
    def test_counts(self, group: float, matching: float) -> None:
        with pytest.raises(InputError):
            ratio_attack(group, matching, LaplaceNoise(1))

    def test_groups(self) -> None:
        with pytest.raises(InputError, match="every group"):
            leaking_groups([3, 2], [1, 3], LaplaceNoise(1))
