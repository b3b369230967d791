"""Calibration: figures of known cases, curves that are found again, and caps that hold."""

from __future__ import annotations

import json

import numpy as np
import pytest

import showthrough as st
from showthrough.tables.likely.calibration import (
    UNEARNED,
    Calibration,
    Curve,
    Measure,
    Told,
    corrected,
    fit_curve,
    said_of,
)


def told(slope: float, n: int = 4000, seed: int = 0) -> Told:
    """Statements whose log-odds are those of the truth divided by a slope."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.7, 0.7, n).clip(0.01, 0.99)
    q = corrected(chance, 1 / slope, 0.0)
    true = (rng.random(n) < chance).astype(float)
    return Told(q, true, np.arange(n) // 40, np.full(n, 10), rng.integers(1, 4, n))


def test_figures_of_a_known_case() -> None:
    found = Measure.of(np.array([0.95, 0.95, 0.25, 0.25]), np.array([1.0, 0.0, 0.0, 1.0]))
    assert found.brier == pytest.approx((0.05**2 + 0.95**2 + 0.25**2 + 0.75**2) / 4, abs=1e-6)
    assert found.ece == pytest.approx((0.45 + 0.25) / 2, abs=1e-6)
    assert (found.n_high, found.true_high, found.share_true) == (2, 0.5, 0.5)
    assert found.log_loss == pytest.approx(-np.log([0.95, 0.05, 0.75, 0.25]).mean(), abs=1e-6)


@pytest.mark.parametrize("slope", [0.6, 1.0, 1.4])
def test_the_curve_is_found_again_and_corrects_out_of_fold(slope: float) -> None:
    found = fit_curve(told(slope))
    assert found.slope == pytest.approx(slope, abs=0.1)
    assert found.corrected.ece < 0.03
    assert found.corrected.ece < found.raw.ece + 0.005
    assert [name for name, _ in found.groups] == ["1–14 records", "1 column", "2 columns", "3 columns"]


def test_what_was_not_measured_is_never_said_to_be_high() -> None:
    q = np.array([0.1, 0.899, 0.9, 0.999, 1.0])
    assert (said_of(q, None, "claim") <= UNEARNED).all()
    assert (said_of(q, None, "finding") < 0.9).all()


def test_high_probabilities_must_be_earned() -> None:
    rng = np.random.default_rng(2)
    n = 3000
    q = rng.uniform(0.9, 0.999, n)
    true = (rng.random(n) < 0.7).astype(float)  # a foreign prior: sure, and often wrong
    foreign = fit_curve(Told(q, true, np.arange(n) // 30, np.full(n, 5), np.ones(n, int)))
    assert (foreign.apply(np.linspace(0, 0.9999, 50)) < 0.9).all()
    own = fit_curve(told(1.0))
    assert own.earned
    assert own.apply(np.array([0.97]))[0] >= 0.9
    few = fit_curve(told(1.0, n=60))
    assert few.corrected.n_high < 30
    assert not few.earned
    assert few.apply(np.array([0.99]))[0] <= UNEARNED


def test_a_few_areas_earn_nothing() -> None:
    """The same statements, true as often, count less where they come from few areas."""
    rng = np.random.default_rng(4)
    true = (rng.random(400) < 0.95).astype(float)
    said = np.full(400, 0.95)
    many, few = Measure.of(said, true, np.arange(400) // 4), Measure.of(said, true, np.arange(400) // 80)
    assert (many.areas_high, few.areas_high) == (100, 5)
    assert many.floor_high > 0.85
    assert Curve(1.0, 0.0, many, many).earned
    assert not Curve(1.0, 0.0, few, few).earned
    lucky = Measure.of(said[:36], np.append(np.ones(33), np.zeros(3)), np.arange(36) // 3)
    assert lucky.true_high > 0.9
    assert not Curve(1.0, 0.0, lucky, lucky).earned  # 33 of 36 can be chance
    assert Measure.of(said[:40], np.ones(40)).floor_high < 1


@pytest.mark.parametrize("rate", [0.78, 0.84])
def test_what_comes_true_too_rarely_seldom_earns(rate: float) -> None:
    """Of 200 priors whose high probabilities come true that often, at most one in ten may say them."""
    rng = np.random.default_rng(9)
    earned = 0
    for _ in range(200):
        area = np.repeat(np.arange(30), 3)
        chance = np.clip(rng.normal(rate, 0.05, 30), 0, 1)[area]
        found = Measure.of(np.full(90, 0.93), (rng.random(90) < chance).astype(float), area)
        earned += Curve(1.0, 0.0, found, found).earned
    assert earned <= 20


def test_calibrations_survive_files() -> None:
    curve = fit_curve(told(0.8))
    calibration = Calibration(100, curve, fit_curve(told(1.0, seed=3)), "a <file>")
    again = Calibration.from_plain(json.loads(json.dumps(calibration.to_plain())))
    assert again == calibration


SCHEMA = st.Schema.of({"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1"]})


def people(n: int, seed: int, strength: float) -> st.Records:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = (rng.random(n) < np.array([0.1, 0.5, 0.9])[a]).astype(int)
    c = np.where(rng.random(n) < strength, b, 1 - b)
    return st.Records(SCHEMA, np.column_stack([a, b, c]))


@pytest.fixture(scope="module")
def areas() -> list[tuple[st.Release, st.Records]]:
    layout = st.tabulate(people(5, 0, 0.9), ["a", "b", "c"]).layout
    made = []
    for number in range(40):
        area = people(6, 100 + number, 0.9)
        made.append((layout.tabulate(area, area=f"area {number}"), area))
    return made


def test_the_right_prior_is_calibrated_and_a_wrong_one_is_corrected(
    areas: list[tuple[st.Release, st.Records]],
) -> None:
    right = st.calibrate(st.fit_prior(people(2000, 1, 0.9), name="right", seed=1), areas, seed=1)
    wrong = st.calibrate(st.fit_prior(people(2000, 2, 0.02), name="wrong", seed=1), areas, seed=1)
    assert right.calibration is not None
    assert wrong.calibration is not None
    assert right.calibration.claims.raw.ece < 0.08
    assert right.calibration.findings.raw.brier < wrong.calibration.findings.raw.brier - 0.05
    assert wrong.calibration.findings.slope < 0.3
    assert not wrong.calibration.findings.earned
    assert "calibrated on 40 areas" in repr(right)


def test_too_few_areas_are_an_error(areas: list[tuple[st.Release, st.Records]]) -> None:
    prior = st.fit_prior(people(200, 1, 0.9), name="right", seed=1)
    with pytest.raises(st.InputError, match="too few areas"):
        st.calibrate(prior, areas[:3])


def test_the_error_by_chance_is_what_right_probabilities_have_on_average() -> None:
    rng = np.random.default_rng(3)
    said = np.repeat([0.07, 0.33, 0.62, 0.95], [30, 7, 50, 20])
    drawn = [Measure.of(said, (rng.random(len(said)) < said).astype(float)) for _ in range(400)]
    assert np.mean([one.ece for one in drawn]) == pytest.approx(drawn[0].ece_by_chance, abs=0.004)
