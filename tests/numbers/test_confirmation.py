"""How often noise that was advised fails: no more often than is said, over draws and over searches."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from needs import SLOW
from showthrough.numbers.advise import CONFIDENCE, Advice, Confirmation, advise
from showthrough.numbers.attack import attack
from showthrough.numbers.exposure import Rate
from showthrough.numbers.tryout import Limit, NoiseTrial, Tryout


@pytest.mark.parametrize("draws", [1, 6, 72])
def test_a_chance_above_the_limit_passes_too_rarely_whatever_the_attempts(draws: int) -> None:
    """Scales may all be bad, each just worse than would be said of it: then one passes in 5 % at most."""
    limits = [Confirmation.of(draws, attempts, worst=0.0).chance for attempts in range(1, 200)]
    passes = 1 - np.prod([1 - (1 - limit) ** draws for limit in limits])
    assert 0.04 < passes <= 1 - CONFIDENCE + 1e-9
    exact = stats.beta.ppf(1 - (1 - CONFIDENCE) / 2, 1, draws)  # Clopper and Pearson, none of them
    assert limits[0] == pytest.approx(exact)
    assert limits == sorted(limits)


def test_what_is_said_holds_over_many_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw fails with a chance that falls slowly with the scale, and is known: it is rarely understated."""
    rng = np.random.default_rng(5)

    def run(
        _: Tryout, scale: float, *, series: int, draws: int | None = None, limit: Limit | None = None
    ) -> NoiseTrial:
        failed = rng.random(draws or 3) < fails(scale)
        allowed = 0 if limit is None else limit.patience
        made = int(np.argmax(np.cumsum(failed) > allowed)) + 1 if failed.sum() > allowed else len(failed)
        rate, exceeding = Rate(90 if failed[:made].any() else 1, 100), int(failed[:made].sum())
        return NoiseTrial(scale, "x", "em", 0, rate, (("ideal", 0.0),), made, series, exceeding=exceeding)

    def unmeasured(*_: object) -> None:
        return None

    def fails(scale: float) -> float:
        return min(1.0, 0.2 / scale)

    monkeypatch.setattr(Tryout, "run", run)
    monkeypatch.setattr("showthrough.numbers.advise._utility", unmeasured)
    searches = 2_000 if SLOW else 300
    wrong = sum(
        fails(found.trial.scale) > found.confirmation.chance
        for found in (
            advise([1.0, 2.0, 3.0], share=0.05, privacy=0.5, confirmations=24, seed=seed)
            for seed in range(searches)
        )
    )
    assert stats.binom.sf(wrong - 1, searches, 1 - CONFIDENCE) > 1e-4


@pytest.fixture(scope="module")
def few() -> tuple[np.ndarray, Advice]:
    truth = np.random.default_rng(1).gamma(2, 20, 250)
    return truth, advise(truth, share=0.1, privacy=0.5, family="laplace", draws=1, confirmations=24, seed=3)


def test_fresh_draws_for_few_people_fail_as_rarely_as_is_said(few: tuple[np.ndarray, Advice]) -> None:
    """Noise is drawn as a publisher would, and attacked as anybody would."""
    truth, found = few
    draws, failed = (200 if SLOW else 25), 0
    for seed in range(draws):
        noisy = truth + found.noise.sample(len(truth), seed=10_000 + seed)
        exposure = attack(noisy, found.noise, truth, privacy=0.5).columns[0].exposure
        assert exposure is not None
        row = exposure.strongest("±50 %")
        failed += row is not None and row.worst.value > 0.1
    assert stats.binom.sf(failed - 1, draws, found.confirmation.chance) > 1e-4


def test_the_draws_are_those_that_are_told(few: tuple[np.ndarray, Advice]) -> None:
    found = few[1]
    last = [
        one for one in found.trials if one.draws == 24 and not one.exceeding and one.role == "confirmation"
    ]
    assert [one.disclosed.value for one in last] == [found.confirmation.worst]
    assert found.confirmation.worst <= 0.1
    said = found.confirmation.sentence(0.1)
    assert said.startswith("24 fresh draws disclosed at most")
    assert "95\u00a0% confidence" in said
