"""Noise that does not follow the law declared must not end in comfort."""

from __future__ import annotations

import numpy as np
import pytest

from showthrough.errors import InputError
from showthrough.numbers.attack import attack
from showthrough.numbers.noise import GaussianNoise, LaplaceNoise, Noise, UniformNoise
from showthrough.numbers.unknown_noise import check_noise

TRUTH = np.random.default_rng(1).gamma(9, 5, 1_000)
LAWS = [UniformNoise(12), GaussianNoise(sd=7), LaplaceNoise(5)]


@pytest.mark.parametrize("noise", LAWS, ids=str)
@pytest.mark.parametrize("places", [None, 1, 0])
def test_the_law_declared_is_accepted(noise: Noise, places: int | None) -> None:
    """Rounded values too; a refusal may come once in a thousand times."""
    refused = 0
    for seed in range(60):
        noisy = TRUTH[:300] + noise.sample(300, seed=seed)
        noisy = noisy if places is None else np.round(noisy, places)
        refused += not check_noise(noisy, TRUTH[:300], noise).holds
    assert refused <= 1


@pytest.mark.parametrize(
    "declared", [UniformNoise(6), UniformNoise(24), GaussianNoise(sd=7), LaplaceNoise(5)]
)
def test_another_law_is_refused(declared: Noise) -> None:
    noisy = TRUTH + UniformNoise(12).sample(len(TRUTH), seed=3)
    found = check_noise(noisy, TRUTH, declared)
    assert not found.holds
    assert "does not follow the law given" in found.sentence


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_people(n: int) -> None:
    assert check_noise(TRUTH[:n], TRUTH[:n], UniformNoise(12)).holds
    assert not check_noise(TRUTH[:n] + 100, TRUTH[:n], UniformNoise(12)).holds


def test_a_variance_for_a_standard_deviation_is_suspected() -> None:
    noisy = TRUTH + GaussianNoise(sd=20).sample(len(TRUTH), seed=4)
    given = check_noise(noisy, TRUTH, GaussianNoise(sd=400)).sentence
    assert given.endswith("was a variance given as a standard deviation?")
    other = check_noise(noisy, TRUTH, GaussianNoise(variance=20)).sentence
    assert other.endswith("was a standard deviation given as a variance?")
    alone = attack(noisy, "gaussian:sd=400").columns[0].doubts
    assert any("was a variance given as a standard deviation?" in doubt for doubt in alone)


def test_the_noise_as_it_is_is_attacked() -> None:
    noisy = TRUTH + GaussianNoise(sd=5).sample(len(TRUTH), seed=4)
    found = attack(noisy, "gaussian:sd=25", TRUTH, privacy=0.5)
    assert found.columns[0].exposure.strongest("±50 %").method == "measured noise"
    assert found.discloses is True


def test_nobody_disclosed_is_not_said_of_noise_that_is_not_as_declared() -> None:
    """Too few people to measure the noise, but enough to see that it is another."""
    truth = TRUTH[:20]
    noisy = truth + UniformNoise(400).sample(20, seed=5)
    found = attack(noisy, "uniform:100", truth, privacy=0.01)
    assert not found.columns[0].check.holds
    assert found.discloses is None


def test_people_of_another_number() -> None:
    with pytest.raises(InputError, match="differ in the number of people"):
        check_noise([1.0, 2.0], [1.0], UniformNoise(1))
