"""Calibration: figures of known cases, curves that are found again, and caps that hold."""

from __future__ import annotations

import json

import numpy as np
import pytest

import showthrough as st
from showthrough.tables.likely.calibration import (
    UNEARNED,
    Calibration,
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
