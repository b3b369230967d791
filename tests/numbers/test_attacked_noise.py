"""What is said about noise, attacked on columns of all shapes: counted again by hand, and never better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from showthrough.cli import main
from showthrough.errors import InputError
from showthrough.numbers.advice_summary import AdviceSummary
from showthrough.numbers.advise import advise
from showthrough.numbers.attack import Attack, attack
from showthrough.numbers.attack_summary import AttackSummary
from showthrough.numbers.columns_file import as_numbers
from showthrough.numbers.exposure import SLACK, Rate
from showthrough.numbers.methods import run_attacks
from showthrough.numbers.perturb import perturb
from showthrough.numbers.points import find_points
from showthrough.text import percent

#: The share of each value that a privacy interval reaches.
PRIVACY = 0.5

SHAPES = ("skewed", "zeros", "discrete", "heavy tails", "constant", "two", "three")


def column(shape: str, n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(7)
    return {
        "skewed": rng.gamma(0.5, 40, n),
        "zeros": np.where(rng.random(n) < 0.7, 0.0, rng.gamma(2, 400, n)),
        "discrete": rng.integers(1, 6, n).astype(np.float64),
        "heavy tails": 100 + 10 * rng.standard_cauchy(n),
        "constant": np.full(n, 7.0),
        "two": np.array([10.0, 30.0]),
        "three": np.array([10.0, 30.0, 35.0]),
    }[shape]


def inside(truth: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether an attack's interval lies inside the privacy interval, and so tells enough."""
    reach = PRIVACY * np.abs(truth)
    return (low >= truth - reach) & (high <= truth + reach)


@pytest.fixture(scope="module", params=SHAPES)
def attacked(request: pytest.FixtureRequest) -> tuple[np.ndarray, Attack]:
    truth = column(request.param)
    half = 0.3 * float(np.ptp(truth)) or 2.0
    noisy = truth + np.random.default_rng(8).uniform(-half, half, len(truth))
    return truth, attack(noisy, f"uniform:{half!r}", truth, privacy=PRIVACY)


def test_people_who_can_be_placed_are_counted_by_hand(attacked: tuple[np.ndarray, Attack]) -> None:
    truth, found = attacked
    one, summary = found.columns[0], AttackSummary.of(found)
    assert one.exposure is not None
    for row in one.exposure.rows:
        if row.method not in one.attacked.intervals:
            continue
        interval = one.attacked.intervals[row.method]
        low, high = (np.broadcast_to(end, truth.shape) for end in (interval.low, interval.high))
        full = inside(truth, low, high)
        assert row.disclosed == Rate(int(full.sum()), len(truth)), row.method
        assert row.coverage == Rate(int(((low <= truth) & (truth <= high)).sum()), len(truth))
        held = np.isin(truth, [point.value for point in find_points(truth)])
        if row.at_points is not None:
            assert row.at_points.count == int(full[held].sum())
    said = summary.headline(summary.columns[0])
    strongest = one.exposure.strongest(one.exposure.middle)
    assert said is not None
    if strongest is not None:
        assert said[0].startswith(percent(strongest.disclosed.value, 1))


def test_no_attack_that_counts_discloses_more_than_the_strongest(attacked: tuple[np.ndarray, Attack]) -> None:
    _, found = attacked
    exposure = found.columns[0].exposure
    assert exposure is not None
    strongest = exposure.strongest(exposure.middle)
    for row in exposure.rows:
        right = row.coverage is not None and row.coverage.interval()[1] >= 0.95 - SLACK
        if row.method not in ("direct", "ideal") and right:
            assert strongest is not None
            assert row.worst.value <= strongest.worst.value


def test_nobody_is_said_only_of_nobody(attacked: tuple[np.ndarray, Attack]) -> None:
    """Exit code 0: an attack is right as often as it claims, and none such discloses anybody."""
    _, found = attacked
    exposure = found.columns[0].exposure
    assert exposure is not None
    credible = [
        row
        for row in exposure.rows
        if row.method not in ("direct", "ideal") and row.is_credible(found.confidence)
    ]
    if found.discloses is False:
        assert credible
        assert not any(row.disclosed.count for row in credible)
    if any(row.disclosed.count for row in credible):
        assert found.discloses is True


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "constant"])
def test_noise_that_is_enough_is_enough_by_hand(shape: str) -> None:
    """Every draw of the confirmation is drawn and counted again."""
    truth, share, seed = column(shape, 40), 0.3, 2
    try:
        found = advise(truth, share=share, privacy=PRIVACY, draws=1, confirmations=3, seed=seed)
    except InputError as error:
        found, said = None, str(error)
        assert "even noise of" in said or "chance decides" in said or "rises and falls" in said
    if found is None:
        return
    points = [find_points(truth)]
    held = np.isin(truth, [point.value for point in points[0]])
    groups = [one for one in (held, ~held) if one.any()] if held.any() else [np.ones(len(truth), bool)]
    for draw in range(3):
        rng = np.random.default_rng([seed, found.confirmation.attempts, draw])
        noisy = perturb(truth[:, None], found.noise, seed=rng)[:, 0]
        (made,) = run_attacks(noisy, found.noise, points=points)
        for interval in made.intervals.values():
            low, high = (np.broadcast_to(end, truth.shape) for end in (interval.low, interval.high))
            right = Rate(int(((low <= truth) & (truth <= high)).sum()), len(truth))
            full = inside(truth, low, high)
            if right.interval()[1] >= 0.95 - SLACK:
                assert max(float(full[group].mean()) for group in groups) <= share
    assert found.confirmation.worst <= share
    summary = AdviceSummary.of(found, as_numbers(truth, ["x"]), privacy="±50 %", confidence=0.95)
    if found.smaller is None:
        assert "least noise tried" in summary.less
    else:
        assert found.smaller.disclosed.value > share
        assert found.smaller.scale < found.trial.scale


@pytest.mark.parametrize(
    ("values", "message"), [([5.0] * 30, "all true values are equal"), ([5.0], "at least two records")]
)
def test_no_noise_is_called_enough_where_none_can_be_tried(values: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        advise(values, share=0.1, privacy=PRIVACY, seed=1)


def test_one_value_is_not_attacked() -> None:
    with pytest.raises(InputError, match="at least two records"):
        attack([3.0], "uniform:1", [2.5])


@pytest.mark.parametrize("shape", [*SHAPES, "one"])
def test_perturb_changes_what_it_says_and_nothing_else(
    shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = np.array([4.0]) if shape == "one" else column(shape)
    rows = [f"{value!r},{at}é" for at, value in enumerate(truth.tolist())]
    (tmp_path / "t.csv").write_text("\n".join(["income,name", *rows, ""]), "utf-8")
    out = tmp_path / "noisy.csv"
    assert (
        main(
            ["perturb", f"{tmp_path}/t.csv", "--column", "income", "--noise", "uniform:3", "--out", str(out)]
        )
        == 0
    )
    assert "all other columns are unchanged" in " ".join(capsys.readouterr().out.split())
    written = [line.strip('"').split(",") for line in out.read_text("utf-8").splitlines()]
    assert [row[1].strip('"') for row in written[1:]] == [f"{at}é" for at in range(len(truth))]
    added = np.array([float(row[0].strip('"')) for row in written[1:]]) - truth
    assert (np.abs(added) <= 3 * (1 + 1e-9)).all()
    assert added.any()
