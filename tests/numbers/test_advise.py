"""Advice on noise: enough, not much more than enough, and honest about what remains."""

from __future__ import annotations

import math

import numpy as np
import pytest

from needs import SLOW
from showthrough.errors import InputError
from showthrough.numbers.advise import FINE, advise
from showthrough.numbers.attack import attack
from showthrough.numbers.exposure import Rate, expose
from showthrough.numbers.interquantile import PrivacyIntervals
from showthrough.numbers.joint_noise import noise_covariance
from showthrough.numbers.methods import run_attacks
from showthrough.numbers.noise import parse_noise
from showthrough.numbers.perturb import perturb
from showthrough.numbers.tryout import FAMILIES, Family, NoiseTrial, Tryout, make_noise, try_scales

#: People in the usual tests.
PEOPLE = 3000 if SLOW else 500

#: Draws that confirm advice where something else is looked at.
FEW = 6 if SLOW else 1


def incomes(n: int = PEOPLE) -> np.ndarray:
    return np.random.default_rng(1).gamma(9, 5, n)


def correlated(n: int = 800 if SLOW else 250) -> np.ndarray:
    rng = np.random.default_rng(2)
    common = rng.normal(50, 8, (n, 1))
    return common * [1.0, 2.0] + rng.normal(0, 2, (n, 2))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["uniform", "laplace", *(["gaussian"] if SLOW else [])])
def test_enough_and_not_much_more(family: Family) -> None:
    """Draws of its own confirm the answer within chance; a little less noise had failed."""
    truth = incomes()
    found = advise(truth, share=0.05, privacy=0.5, family=family, draws=2, confirmations=6, seed=7)
    assert found.trial.disclosed.value <= 0.05
    assert found.smaller is not None
    assert found.smaller.disclosed.value > 0.05
    assert found.trial.scale / found.smaller.scale <= FINE**3 * (1 + 1e-9)
    noisy = perturb(truth, found.noise, seed=99)
    (attacked,) = run_attacks(noisy, found.noise)
    rates = expose(truth, noisy, attacks=attacked.intervals, privacy=[PrivacyIntervals.relative(truth, 0.5)])
    assert rates.strongest("±50 %").disclosed.value <= 0.05 + 0.03


@pytest.mark.slow
def test_a_smaller_share_needs_more_noise() -> None:
    scales = [
        advise(incomes(), share=share, privacy=0.5, draws=1, confirmations=FEW, seed=1).trial.scale
        for share in ((0.2, 0.05, 0.01) if SLOW else (0.2, 0.01))
    ]
    assert scales == sorted(scales)
    assert scales[-1] > 1.2 * scales[0]


def test_the_same_seed_gives_the_same_advice() -> None:
    one, two = (
        advise(incomes(200), share=0.1, privacy=0.5, draws=1, confirmations=6, seed=3) for _ in range(2)
    )
    assert one.trial == two.trial
    assert one.noise == two.noise


def test_utility() -> None:
    found = advise(incomes(), share=0.05, privacy=0.5, family="gaussian", draws=1, confirmations=FEW, seed=4)
    scale = found.trial.scale
    assert found.utility.error_factor == pytest.approx(math.sqrt(1 + scale**2), rel=0.1)
    assert found.utility.correlation == pytest.approx(1 / math.sqrt(1 + scale**2), abs=0.06)
    assert 0 < found.utility.loss < 1
    assert found.utility.distortion is None


def test_noise_shaped_like_the_data_needs_less_and_keeps_correlations() -> None:
    truth = correlated()
    plain, shaped = (
        advise(truth, share=0.05, privacy=0.15, family=family, draws=1, confirmations=FEW, seed=5)
        for family in ("gaussian", "correlated")
    )
    assert shaped.trial.scale < plain.trial.scale
    assert shaped.utility.distortion is not None
    assert plain.utility.distortion is not None
    assert shaped.utility.distortion < plain.utility.distortion / 2


def test_privacy_of_any_kind() -> None:
    found = advise(
        incomes(),
        share=0.05,
        privacy=lambda column: PrivacyIntervals.absolute(column, 20.0),
        draws=1,
        confirmations=FEW,
        seed=6,
    )
    assert found.trial.disclosed.value <= 0.05


def test_people_who_are_alike_are_given_away_by_their_distribution() -> None:
    """Then the noise must hide the distribution itself: far more than the data's own spread."""
    alike = np.random.default_rng(10).normal(100, 10, 500 if SLOW else 100)
    found = advise(alike, share=0.05, privacy=0.5, draws=1, confirmations=6, seed=2)
    assert found.trial.ideal > 0.9
    assert found.trial.scale > 3
    assert found.utility.loss > 0.2


def test_every_method_is_on_record() -> None:
    few = correlated(800 if SLOW else 100)
    found = advise(few, share=0.3, privacy=0.3, family="gaussian", draws=1, confirmations=1, seed=8)
    methods = {name for name, _ in found.trial.by_method}
    assert methods == {"direct", "as", "em", "posterior", "sf", "pca", "be", "be posterior", "ideal"}
    assert found.trial.method not in ("direct", "ideal")


@pytest.mark.parametrize("family", FAMILIES)
def test_noise_of_a_scale(family: Family) -> None:
    truth = correlated()
    spread = np.diag(noise_covariance(make_noise(truth, family, 0.5), 2))
    asked = truth.var(axis=0, ddof=1) / 4
    assert (spread >= asked * (1 - 1e-12)).all()  # rounded up, to three digits
    assert (spread <= asked * 1.01**2).all()


@pytest.mark.parametrize("family", ["uniform", "gaussian", "laplace"])
def test_the_noise_advised_can_be_typed_and_holds_where_it_is_drawn(family: Family) -> None:
    """The law is written in a few digits, and is enough in the search, its confirmation and the curve."""
    truth = np.random.default_rng(3).gamma(4, 10, 400)
    found = advise(truth, share=0.1, privacy=0.5, family=family, draws=1, confirmations=6, seed=4)
    text = str(found.noise)
    assert str(parse_noise(text)) == text
    assert len(text.partition(":")[2].replace("sd=", "").replace(".", "").lstrip("0")) <= 4
    (curve,) = try_scales(truth, [found.trial.scale], privacy=0.5, family=family, draws=1, seed=4)
    assert curve.noise == text
    assert curve.disclosed.value <= 0.1
    assert all(one.disclosed.value <= 0.1 for one in found.trials if one.noise == text and one.series)


def test_people_at_a_common_value_are_held_to_the_share_too() -> None:
    """Four of five hold exactly 0: their privacy interval is a point, and they are placed there."""
    rng, n = np.random.default_rng(1), 600 if SLOW else 200
    truth = np.where(rng.random(n) < 0.8, 0.0, rng.gamma(2, 1_500, n))
    found = advise(truth, share=0.2, privacy=0.5, draws=1, confirmations=6, seed=1)
    assert found.trial.group in ("whose value is exactly 0", "whose value is not exactly 0")
    assert dict(found.smaller.by_method)["points"] > 0.2
    noisy = truth + found.noise.sample(len(truth), seed=99)
    again = attack(noisy, found.noise, truth, privacy=0.5).columns[0].exposure.strongest("±50 %")
    assert again.at_points.value <= 0.3
    assert again.elsewhere.value <= 0.3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"values": [1.0, 1.0]}, "all true values are equal"),
        ({"values": [1.0]}, "two records"),
        ({"values": [1.0, math.inf]}, "missing or infinite"),
        ({"share": 1.0}, "a share is at least 0"),
        ({"family": "cauchy"}, "unknown family"),
        ({"family": "correlated"}, "several columns"),
        ({"draws": 0}, "at least one draw"),
        ({"confirmations": 0}, "at least one confirmation"),
        ({"confidence": 2.0}, "a confidence lies"),
        ({"privacy": -1.0}, "positive number"),
    ],
)
def test_refusals(given: dict[str, object], message: str) -> None:
    usual = {"values": incomes(50), "share": 0.1, "privacy": 0.5, "seed": 1}
    with pytest.raises(InputError, match=message):
        advise(**{**usual, **given})  # type: ignore[arg-type]


def test_what_no_noise_can_hide() -> None:
    """Everybody is nearly equal and the privacy intervals are huge: the population says it all."""
    with pytest.raises(InputError, match="even noise of"):
        advise(
            np.random.default_rng(9).normal(1e6, 1, 200),
            share=0.0,
            privacy=lambda column: PrivacyIntervals.absolute(column, 1e9),
            draws=1,
            seed=1,
        )


def test_where_the_share_rises_again_the_advice_lies_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attack that claimed too much may, with more noise, claim what is true, and count."""

    def run(_: Tryout, scale: float, *, series: int = 0, **_given: object) -> NoiseTrial:
        many = scale < 1.3 or 2.2 < scale < 3.1
        rate = Rate(40 if many else 1, 100)
        return NoiseTrial(scale, "made up", "em", 0, rate, (("ideal", 0.0),), 1, series, exceeding=int(many))

    monkeypatch.setattr(Tryout, "run", run)
    found = advise(incomes(200), share=0.1, privacy=0.5, draws=1, confirmations=6, seed=0)
    assert 3.1 <= found.trial.scale <= 3.1 * FINE**3
    assert found.smaller is not None
    assert found.smaller.scale < 3.1


def test_a_share_that_never_settles_is_not_advised_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: Tryout, scale: float, *, series: int = 0, **_given: object) -> NoiseTrial:
        many = math.sin(12 * math.log(scale)) > 0
        rate = Rate(40 if many else 1, 100)
        return NoiseTrial(scale, "made up", "em", 0, rate, (("ideal", 0.0),), 1, series, exceeding=int(many))

    monkeypatch.setattr(Tryout, "run", run)
    with pytest.raises(InputError, match=r"rises and falls|even noise of"):
        advise(incomes(200), share=0.1, privacy=0.5, draws=1, confirmations=6, seed=0)
