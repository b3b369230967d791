"""Unknown noise: the true law is kept as often as is said, and where none can be told, none is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from needs import SLOW
from showthrough.cli import main
from showthrough.errors import InputError
from showthrough.numbers.attack import attack
from showthrough.numbers.attack_unknown import attack_unknown
from showthrough.numbers.noise import GaussianNoise, LaplaceNoise, UniformNoise
from showthrough.numbers.unknown_noise import FAMILIES, KnownOfTruth, estimate_noise

#: Repetitions of each case.
TIMES = 200 if SLOW else 12


def columns(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """True values of all shapes."""
    return {
        "skewed": rng.gamma(0.5, 40, n),
        "zeros": np.where(rng.random(n) < 0.7, 0.0, rng.gamma(2, 400, n)),
        "discrete": rng.integers(18, 90, n).astype(np.float64),
        "heavy tails": 10 * rng.standard_cauchy(n),
        "constant": np.full(n, 7.0),
    }[kind]


def holds(found: tuple[float, float] | None, sd: float) -> bool:
    return found is not None and found[0] <= sd <= found[1]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["discrete", "constant", "heavy tails"])
def test_multiples_of_a_step(kind: str, family: str) -> None:
    """Whatever the values are: only what is left after the nearest multiple counts."""
    rng, hits = np.random.default_rng(3), 0
    for _ in range(TIMES // 3):
        truth = np.round(columns(kind, 60, rng))
        noisy = truth + FAMILIES[family](0.2).sample(60, seed=rng)
        hits += holds(kept(noisy, KnownOfTruth(step=1)).get(family), 0.2)
    assert stats.binom.cdf(hits, TIMES // 3, 0.95) > 1e-4


def kept(noisy: np.ndarray, known: KnownOfTruth) -> dict[str, tuple[float, float]]:
    try:
        return dict(estimate_noise(noisy, known)[0].ranges)
    except InputError as error:
        if "cannot be identified" in str(error):
            return dict.fromkeys(FAMILIES, (0.0, np.inf))
        return {}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["zeros", "constant"])
def test_a_value_that_many_hold(kind: str, family: str) -> None:
    rng, hits = np.random.default_rng(4), 0
    for _ in range(TIMES):
        truth = columns(kind, 300, rng)
        value = float(np.median(truth))
        noisy = truth + FAMILIES[family](50.0).sample(300, seed=rng)
        share = float((truth == value).mean())
        hits += holds(kept(noisy, KnownOfTruth(atom=(value, share))).get(family), 50.0)
    assert stats.binom.cdf(hits, TIMES, 0.95) > 1e-4


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["skewed", "heavy tails", "zeros"])
def test_directions_without_signal(kind: str, family: str) -> None:
    rng, hits = np.random.default_rng(5), 0
    for _ in range(TIMES):
        common = np.column_stack([columns(kind, 80, rng) for _ in range(2)])
        noisy = common @ rng.normal(size=(2, 6)) + FAMILIES[family](3.0).sample((80, 6), seed=rng)
        found = estimate_noise(noisy, KnownOfTruth(components=2))
        hits += holds(found[0].ranges[family], 3.0)
    assert stats.binom.cdf(hits, TIMES, 0.95) > 1e-4


def test_the_true_values_tell_family_and_scale() -> None:
    truth = np.random.default_rng(6).gamma(2, 20, 2_000)
    (found,) = estimate_noise(truth + UniformNoise(30).sample(2_000, seed=7), truth=truth)
    assert list(found.ranges) == ["uniform"]
    assert holds(found.ranges["uniform"], 30 / 3**0.5)
    assert "gaussian and laplace noise is refuted" in found.sentence


@pytest.mark.parametrize("n", [2, 3, 50, 2_000])
@pytest.mark.parametrize("kind", ["skewed", "zeros", "discrete", "heavy tails", "constant"])
def test_one_column_alone_never_tells(kind: str, n: int) -> None:
    rng = np.random.default_rng(8)
    with pytest.raises(InputError, match="cannot be identified from published values alone"):
        estimate_noise(columns(kind, n, rng) + rng.normal(0, 5, n))


def test_why_one_column_alone_never_tells() -> None:
    """Noise of each family is less noise of the same family, and something else added to it first."""
    rng, n = np.random.default_rng(9), 20_000
    wide = {
        "gaussian": (GaussianNoise(sd=5), GaussianNoise(sd=3).sample(n, seed=rng) + 4 * rng.normal(size=n)),
        "uniform": (UniformNoise(6), UniformNoise(2).sample(n, seed=rng) + rng.choice([-4.0, 0.0, 4.0], n)),
        "laplace": (
            LaplaceNoise(5),
            LaplaceNoise(3).sample(n, seed=rng) + np.where(rng.random(n) < 0.36, 0, rng.laplace(0, 5, n)),
        ),
    }
    for law, sample in wide.values():
        assert stats.kstest(sample, law.cumulative).pvalue > 1e-3


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize(
    "known", [KnownOfTruth(step=1), KnownOfTruth(atom=(0.0, 0.5)), KnownOfTruth(components=1)]
)
def test_hardly_anybody_tells_nothing(n: int, known: KnownOfTruth) -> None:
    noisy = np.random.default_rng(n).normal(0, 0.2, (n, 2 if known.components else 1))
    if known.components and n > 2:
        low, high = estimate_noise(noisy, known)[0].ranges["gaussian"]
        assert high > 2 * low
    else:
        with pytest.raises(InputError, match="cannot be identified"):
            estimate_noise(noisy, known)


def test_noise_wider_than_the_step_is_not_identified() -> None:
    noisy = columns("discrete", 500, np.random.default_rng(1)) + UniformNoise(20).sample(500, seed=2)
    with pytest.raises(InputError, match="of any larger amount agrees"):
        estimate_noise(noisy, KnownOfTruth(step=1))


def test_no_law_agrees_with_a_step_that_is_wrong() -> None:
    with pytest.raises(InputError, match="no uniform, Gaussian or Laplace noise agrees"):
        estimate_noise(np.arange(400) % 7 + 0.5, KnownOfTruth(step=1))


def test_the_worst_law_is_no_better_than_the_true_one() -> None:
    """The range holds what somebody discloses who knows the law, but for the ends' own error."""
    rng = np.random.default_rng(11)
    truth = columns("discrete", 200, rng)
    noisy = truth + GaussianNoise(sd=0.3).sample(200, seed=rng)
    found = attack_unknown(noisy, KnownOfTruth(step=1), truth, privacy=0.01, methods=["em"])
    known = attack(noisy, "gaussian:sd=0.3", truth, privacy=0.01, methods=["em"])
    assert found.unknown is not None
    assert found.unknown.low is not None
    assert known.largest is not None
    assert found.unknown.low <= known.largest + 0.05
    assert known.largest <= (found.unknown.high or 0) + 0.05
    assert found.discloses is True
    assert found.unknown.worst in found.unknown.sentence


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ages = columns("discrete", 80, np.random.default_rng(12))
    file = tmp_path / "noisy.csv"
    np.savetxt(file, ages + GaussianNoise(sd=0.2).sample(80, seed=13), header="age", comments="", fmt="%.4f")
    usual = ["attack", str(file), "--column", "age", "--noise", "unknown", "--method", "em"]
    assert main([*usual, "--true-step", "1"]) == 3
    printed = " ".join(capsys.readouterr().out.split())
    assert "The noise is unknown: as the true values are whole multiples of 1, the noise is" in printed
    assert "All other figures are about the worst of them" in printed
    for wrong in ([], ["--true-atom", "x"], ["--true-atom", "0:2"], ["--true-step", "0"]):
        assert main([*usual, *wrong]) == 2
        assert "Traceback" not in capsys.readouterr().err
    assert main([*usual[:4], "--noise", "uniform:3", "--true-step", "1"]) == 2
    assert "for unknown noise" in capsys.readouterr().err


def test_what_is_known_of_the_truth_and_not_used_is_said() -> None:
    """Multiples of a step tell the noise; an attacker would also round to them."""
    ages = np.random.default_rng(1).integers(18, 90, 200).astype(float)
    noisy = ages + np.random.default_rng(2).normal(0, 0.15, 200)
    found = attack_unknown(noisy, KnownOfTruth(step=1), ages, privacy=0.1, methods=["em"])
    assert found.unknown is not None
    assert "multiples of 1 was used to find the noise, not to place people" in found.unknown.sentence
