"""Independent trials against every outcome: the least chance of an error over all frequencies is exact."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from needs import SLOW
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import draw_counts
from showthrough.microdata.trials import IndependentTrials, plan_trials, standard_error

PROMISE = ReconstructionPrivacy(0.3, 0.3)


class Outcomes:
    """All outcomes of ``t`` trials scaled to ``s`` rows, added up one by one with exact thresholds."""

    def __init__(self, t: int, s: int, p: Fraction, m: int, error: Fraction) -> None:
        self.t, self.s, self.p, self.error = t, s, p, error
        self.stray = (1 - p) / m

    def frequencies(self) -> list[Fraction]:
        """A grid, and every frequency at which a threshold is a whole number, with its neighbourhood."""
        found = {Fraction(at, 60) for at in range(61)}
        for factor in (1 + self.error, 1 - self.error):
            if factor > 0:
                found |= {(Fraction(x, self.s) - self.stray) / (factor * self.p) for x in range(self.s + 1)}
        tiny = Fraction(1, 10**12)
        return sorted(g for f in found for g in (f - tiny, f, f + tiny) if 0 <= g <= 1)

    def tails(self, f: Fraction) -> tuple[float, float]:
        """Pr[F' > (1 + error) f] and Pr[F' < (1 − error) f] of an estimate from the rows."""
        shown = self.p * f + self.stray
        most = self.s * (self.stray + (1 + self.error) * self.p * f)
        least = self.s * (self.stray + (1 - self.error) * self.p * f)
        upper = lower = 0.0
        for o in range(self.t + 1):
            chance = math.comb(self.t, o) * float(shown) ** o * float(1 - shown) ** (self.t - o)
            rows = Fraction(o * self.s, self.t)
            up = float(rows - math.floor(rows))
            for count, share in ((math.floor(rows), 1 - up), (math.floor(rows) + 1, up)):
                upper += chance * share * (count > most)
                lower += chance * share * (count < least)
        return upper, lower

    def least(self) -> tuple[float, float]:
        asked = [(f, *self.tails(f)) for f in self.frequencies()]
        lower = [low for f, _, low in asked if (self.error - 1) * self.p * f < self.stray]
        return min(up for _, up, _ in asked), min(lower)


@pytest.mark.parametrize(
    ("m", "error"), list(product((2, 3, 20), ("3/10", "9/10", "3/2")))[:: 1 if SLOW else 2]
)
def test_the_least_chance_over_all_frequencies_is_that_of_all_outcomes(m: int, error: str) -> None:
    for retention, (t, s) in product(
        ("1/10", "2/5"), ((1, 1), (1, 4), (3, 3), (4, 6), (5, 11), (7, 7), (9, 31))
    ):
        p = Fraction(retention)
        limits = IndependentTrials(ReconstructionPrivacy(float(Fraction(error)), 0.3), float(p), m)
        if not limits.is_possible:
            continue
        found = [part.item() for part in limits.tails(t, s)]
        assert found == pytest.approx(Outcomes(t, s, p, m, Fraction(error)).least(), abs=1e-9)


@pytest.mark.parametrize(("m", "retention"), [(2, "1/5"), (2, "2/5"), (4, "1/10")])
def test_the_largest_valid_number_is_the_largest_that_fails_at_no_frequency(m: int, retention: str) -> None:
    p, error = Fraction(retention), Fraction(3, 10)

    def valid(t: int, s: int) -> bool:
        rows, trials = (min(Outcomes(t, size, p, m, error).least()) for size in (s, t))
        return min(rows, trials) >= 0.3 - 1e-12

    sizes = [1, 2, 3, 5, 9]
    expected = [max((t for t in range(1, s + 1) if valid(t, s)), default=0) for s in sizes]
    assert IndependentTrials(PROMISE, float(p), m).largest(sizes).tolist() == expected
    assert any(expected)


def test_a_single_frequency_is_judged_as_all_outcomes_say() -> None:
    for (t, s), f, error in product(
        ((3, 3), (5, 11)), (0, Fraction(1, 7), Fraction(1, 2), 1), ("3/10", "3/2")
    ):
        p, m = Fraction(1, 5), 3
        limits = IndependentTrials(ReconstructionPrivacy(float(Fraction(error)), 0.2), float(p), m)
        held = []
        for size in (s, t):
            all_of_them = Outcomes(t, size, p, m, Fraction(error))
            upper, lower = all_of_them.tails(Fraction(f))
            asked = (Fraction(error) - 1) * p * f < all_of_them.stray
            held.append(upper >= 0.2 and (lower >= 0.2 or not asked))
        assert limits.hold(float(f), t, s).item() == all(held)


def test_with_half_of_the_values_kept_nothing_is_valid() -> None:
    """Two values, (0.3, 0.3), a retention of 0.5: tails jump, and every number of trials fails somewhere."""
    sizes = [*range(1, 120), 10**5]
    assert not IndependentTrials(PROMISE, 0.5, 2).largest(sizes).any()
    found = plan_trials(sizes, PROMISE, n_values=2, retention=0.5)
    assert found.retention < 0.5
    assert found.trials.all()


def test_the_plan_follows_from_sizes_alone_and_never_exceeds_them() -> None:
    sizes = np.array([3, 1, 40, 7_000, 3, 120_000])
    found = plan_trials(sizes, PROMISE, n_values=7, retention=0.2)
    assert found.retention <= 0.2
    assert (found.trials <= sizes).all()
    assert found.suppressed == sizes[found.trials == 0].sum()
    again = plan_trials(sizes[::-1], PROMISE, n_values=7, retention=0.2)
    assert (again.retention, again.trials.tolist()) == (found.retention, found.trials[::-1].tolist())
    used = found.trials > 0
    assert IndependentTrials(PROMISE, found.retention, 7).valid(found.trials[used], sizes[used]).all()


def test_published_counts_are_distributed_as_stated() -> None:
    """χ² of 40,000 groups of 30 rows from 12 trials; fails with a chance of 1e-6 if all is right."""
    counts = csr_array(np.tile([[20, 7, 3]], (40_000, 1)))
    drawn = draw_counts(counts, np.full(40_000, 12), 0.4, chance=np.random.default_rng(5))
    shown = drawn.matrix((40_000, 3)).toarray()
    assert (shown.sum(axis=1) == 30).all()
    for value, share in enumerate((20 / 30, 7 / 30, 3 / 30)):
        expected = np.zeros(31)
        for o, chance in enumerate(stats.binom.pmf(np.arange(13), 12, 0.4 * share + 0.2)):
            down, part = divmod(30 * o, 12)
            expected[down] += chance * (1 - part / 12)
            expected[min(down + 1, 30)] += chance * part / 12
        often = expected * 40_000 > 5
        observed = np.bincount(shown[:, value], minlength=31)
        assert not observed[expected == 0].any()
        statistic = ((observed - 40_000 * expected)[often] ** 2 / (40_000 * expected[often])).sum()
        assert stats.chi2.sf(statistic, often.sum() - 1) > 1e-6


def test_what_is_left_is_as_precise_as_said() -> None:
    """The stated standard error of a share of one half, against 3,000 publications; within 8 % (6 σ)."""
    sizes = np.array([30, 200, 200, 5_000])
    plan = plan_trials(sizes, PROMISE, n_values=2)
    counts = csr_array(np.tile(np.stack([sizes // 2, sizes - sizes // 2], axis=1), (3_000, 1)))
    chance = np.random.default_rng(2)
    drawn = draw_counts(counts, np.tile(plan.trials, 3_000), plan.retention, chance=chance)
    shown = drawn.matrix(counts.shape).toarray()[:, 0].reshape(3_000, 4).sum(axis=1) / sizes.sum()
    estimates = (shown - (1 - plan.retention) / 2) / plan.retention
    assert plan.error == standard_error(plan.effective, plan.retention, 2)
    assert estimates.std() == pytest.approx(plan.error, rel=0.08)
