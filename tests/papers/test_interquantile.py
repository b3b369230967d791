"""The shapes of the inter-quantile paper's two tables on simulated data, and where they do not hold.

The paper's data are not public and it names neither grid nor stopping rule. ``FIXED`` is AS stopped
after a count of iterations on a grid that were both chosen for coming nearest to the print (50 on a
wide support for Table 1, 200 for Table 2). What is said about them is not said about other counts:
where it matters, the counts are named.

All seeds are fixed, so nothing here fails by chance; tolerances say how far another ten seeds might
fall, as standard deviations (of one draw, which the paper's print is) or standard errors (of means).
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.interquantile_draws import (
    ENDS_2,
    FEW,
    FIXED,
    HELD_OUT,
    LOSSES_2,
    MORE,
    NOISE,
    POSTERIOR,
    SF,
    TABLE_1,
    TABLE_2,
    WIDTHS_1,
    WIDTHS_2,
    Draw,
    balances_draw,
    column_losses,
    signals_draw,
    stack,
)
from benchmarks.simulated_numbers import bank_balances, signals

from needs import SLOW
from showthrough.numbers.exposure import DIRECT, IDEAL
from showthrough.numbers.interquantile import Interval, PrivacyIntervals, disclose, interquantile
from showthrough.numbers.noise import Floats, GaussianNoise
from showthrough.numbers.perturb import perturb
from showthrough.numbers.reconstruction import reconstruct

PEOPLE, DRAWS = 50_000, 10

#: The columns of the tables from a privacy interval of ±45 % on.
FROM_45 = slice(WIDTHS_1.index(45), None)


def standard_error(draws: Floats) -> Floats:
    return draws.std(axis=0, ddof=1) / math.sqrt(len(draws))


@pytest.fixture(scope="module")
def bank() -> list[Draw]:
    """Table 1: ten populations of 50,000 with noise uniform:125."""
    return [
        balances_draw(bank_balances(PEOPLE, seed=seed)[:, 0], NOISE, seed=1_000 + seed)
        for seed in range(DRAWS)
    ]


class TestTable1:
    def test_direct_is_the_papers(self, bank: list[Draw]) -> None:
        """Within four standard errors of the share of 50,000 people that the paper counted once."""
        found, printed = stack(bank, DIRECT).mean(axis=0), np.array(TABLE_1[DIRECT])
        assert (np.abs(found - printed) < 4 * np.sqrt(printed * (100 - printed) / PEOPLE)).all()

    def test_ideal_is_near_the_papers(self, bank: list[Draw]) -> None:
        """The simulated balances were made for that: within 2.5 points at all widths, D within .025."""
        assert stack(bank, IDEAL).mean(axis=0) == pytest.approx(TABLE_1[IDEAL], abs=2.5)
        degrees = np.mean([one.degrees[IDEAL] for one in bank], axis=0)
        printed = (0.605, 0.66, 0.712, 0.763, 0.814, 0.864, 0.916, 0.972, 0.999, 1)
        assert degrees == pytest.approx(printed, abs=0.025)

    def test_direct_is_less_than_fixed_in_every_draw(self, bank: list[Draw]) -> None:
        """The least gap, at ±45 %, is over five standard deviations of a draw."""
        gap = (stack(bank, FIXED) - stack(bank, DIRECT))[:, FROM_45]
        assert (gap > 0).all()
        assert (gap.mean(axis=0)[:-1] > 5 * gap.std(axis=0, ddof=1)[:-1]).all()

    def test_fixed_is_at_most_ideal(self, bank: list[Draw]) -> None:
        """By more than two standard errors up to ±70 %; beyond, both come to 100 %."""
        gap = (stack(bank, IDEAL) - stack(bank, FIXED))[:, FROM_45]
        assert (gap.mean(axis=0) >= 0).all()
        clear = WIDTHS_1[FROM_45].index(70) + 1
        assert (gap.mean(axis=0) > 2 * standard_error(gap))[:clear].all()

    def test_fixed_is_one_draw_from_the_papers(self, bank: list[Draw]) -> None:
        """From ±45 % on the print lies within two standard deviations of a draw, but not before."""
        found, printed = stack(bank, FIXED), np.array(TABLE_1[FIXED])
        off = np.abs(found.mean(axis=0) - printed)
        spread = found.std(axis=0, ddof=1)
        assert (off <= 2 * spread)[FROM_45].all()
        assert off[0] > 2 * spread[0]

    def test_the_order_needs_few_iterations(self) -> None:
        """Fifty iterations leave the interval too wide on the automatic grid as well; two hundred do not.

        That is all the order direct < AS ≤ ideal says about AS: stopped early it is below the ideal.
        """
        gaps: dict[int, list[float]] = {FEW: [], MORE: []}
        for seed in range(DRAWS):
            hidden = bank_balances(PEOPLE, seed=seed)[:, 0]
            values = perturb(hidden, NOISE, seed=1_000 + seed)
            for stop, found in gaps.items():
                ends = reconstruct(values, NOISE, method="as", stop=stop).distribution.interval(0.95)
                found.append(ends[1] - ends[0] - interquantile(hidden).mean_length)
        few, more = np.array(gaps[FEW]), np.array(gaps[MORE])
        assert few.mean() > 5 * few.std(ddof=1)
        assert abs(more.mean()) < 2 * more.std(ddof=1)

    def test_held_out_values_stop_at_the_ideal_not_below_it(self, bank: list[Draw]) -> None:
        """A finding: the better attack is as often above the ideal as below, so AS ≤ ideal fails for it.

        The mean is within three standard errors of the ideal (over 60 draws, these ten among them, +0.5
        ± 0.7 points at ±60 %). A draw is off by where its upper end x2 falls: whoever has less than
        x2/(1 + P) is safe.
        """
        off = (stack(bank, HELD_OUT) - stack(bank, IDEAL))[:, FROM_45]
        assert (np.abs(off.mean(axis=0)) <= 3 * standard_error(off)).all()
        middle = off[:, WIDTHS_1[FROM_45].index(60)]
        assert (middle > 0).any()
        assert (middle < 0).any()
        upper = [one.ends[HELD_OUT][1] - one.ends[IDEAL][1] for one in bank]
        assert np.corrcoef(upper, middle)[0, 1] < -0.95
        assert all(one.losses[HELD_OUT] < 0.7 * one.losses[FIXED] for one in bank)

    def test_posterior_intervals_disclose_more_in_every_draw(self, bank: list[Draw]) -> None:
        """From the same distribution; right about 95 % of the people or more, up to a percent."""
        more = stack(bank, POSTERIOR) - stack(bank, HELD_OUT)
        assert (more >= 0).all()
        until_60 = slice(0, WIDTHS_1.index(60) + 1)
        assert (more[:, until_60] > 0).all()
        assert min(one.coverage[POSTERIOR] for one in bank) > 0.94


@pytest.fixture(scope="module")
def waves() -> list[tuple[Draw, float]]:
    """Table 2: forty draws of noise of variance 8 on one sinusoid, with the relative error of SF."""
    truth = signals(seed=1)
    return [signals_draw(truth, GaussianNoise(variance=8), seed=seed) for seed in range(4 * DRAWS)]


def disclosed(ends: tuple[float, float]) -> Floats:
    """Percentages of the sinusoid's values that an interval for all discloses, by width."""
    values = signals(seed=1)[:, 0]
    return np.array(
        [
            100 * disclose(PrivacyIntervals.relative(values, width / 100), Interval(*ends)).full.mean()  # type: ignore[arg-type]
            for width in WIDTHS_2
        ]
    )


class TestTable2:
    def test_direct_is_the_papers_with_variance_8_and_not_with_sd_8(self) -> None:
        """The expected shares are all within one standard error of 300 people, or all beyond ten."""
        values, printed = signals(seed=1)[:, :1], np.array(TABLE_2[DIRECT])
        error = np.sqrt(printed * (100 - printed) / len(values))
        reach = values * np.array(WIDTHS_2) / 100
        for noise, matches in ((GaussianNoise(variance=8), True), (GaussianNoise(sd=8), False)):
            expected = 100 * (2 * noise.cumulative(reach) - 1).mean(axis=0)
            off = np.abs(expected - printed) / error
            assert off.max() < 1 if matches else off.min() > 10

    def test_ends_are_one_draw_from_the_papers(self, waves: list[tuple[Draw, float]]) -> None:
        """The ideal interval as printed; those of AS and SF within a standard deviation of a draw."""
        assert waves[0][0].ends[IDEAL] == pytest.approx(ENDS_2[IDEAL], abs=0.005)
        for name in (FIXED, SF):
            ends = np.array([one.ends[name] for one, _ in waves])
            assert (np.abs(ends.mean(axis=0) - ENDS_2[name]) < ends.std(axis=0, ddof=1)).all()

    def test_printed_intervals_explain_the_printed_shares_of_as_and_sf(self) -> None:
        """Up to rounding of the ends (.05) and the 2 % steps of fifty phases.

        The ideal column is explained at ±60, 65, 95 and 100 %, and is too low at ±75 to 85 %.
        """
        explained: dict[str, list[int]] = {}
        for name, (low, high) in ENDS_2.items():
            least = disclosed((low - 0.05, high + 0.05)) - 2
            most = disclosed((low + 0.05, high - 0.05)) + 2
            inside = (least <= TABLE_2[name]) & (np.array(TABLE_2[name]) <= most)
            explained[name] = [width for width, yes in zip(WIDTHS_2, inside, strict=True) if yes]
        assert explained[FIXED] == explained[SF] == list(WIDTHS_2)
        assert {60, 65, 95, 100} <= set(explained[IDEAL])
        assert not {75, 80, 85} & set(explained[IDEAL])

    def test_as_loses_less_than_sf_in_this_column(self, waves: list[tuple[Draw, float]]) -> None:
        """After 200 iterations, by more than two standard errors; both within two sd of the print."""
        losses = {name: np.array([one.losses[name] for one, _ in waves]) for name in (FIXED, HELD_OUT, SF)}
        gap = losses[SF] - losses[FIXED]
        assert gap.mean() > 2 * standard_error(gap)
        for name, printed in LOSSES_2.items():
            assert abs(losses[name].mean() - printed) < 2 * losses[name].std(ddof=1)
        # A finding: 300 values do not warrant 200 iterations, and held-out ones stop near 20. Then SF wins.
        lost = losses[HELD_OUT] - losses[SF]
        assert lost.mean() > 2 * standard_error(lost)

    def test_the_filter_is_better_than_the_paper_says(self, waves: list[tuple[Draw, float]]) -> None:
        """Four directions of noise remain, and re = √(4·300·8)/533.9 and a little more.

        The paper's .375 is (.375·533.9)²/(300·8) = 17 directions' noise: it kept more, or lost signal.
        """
        errors = np.array([error for _, error in waves])
        four = math.sqrt(4 * 300 * 8) / 533.9
        assert four < errors.min()
        assert errors.max() < 1.3 * four

    def test_nobody_can_count_on_the_papers_order_in_one_draw(self, waves: list[tuple[Draw, float]]) -> None:
        """A finding: with 300 values shares differ by a dozen points and more from draw to draw."""
        draws = [one for one, _ in waves]
        for name in (FIXED, SF):
            assert (stack(draws, name).std(axis=0, ddof=1) > 10).all()
        order = (stack(draws, DIRECT) < stack(draws, FIXED)).mean(axis=0)
        assert 0.2 < order.min() < order.max() < 1


class TestNoiseLevels:
    """Information loss, mean over 35 columns: differences of more than two standard errors of 3 draws.

    Everybody's run looks at every third column.
    """

    @staticmethod
    def more_than_sf(variance: float) -> dict[str, tuple[float, float]]:
        """By how much each way to stop AS loses more than SF, and twice the standard error of that."""
        truth = signals(seed=1)
        columns = slice(None, None, 1 if SLOW else 3)
        found = [column_losses(truth, variance, seed=seed, columns=columns) for seed in range(3)]
        gaps = {name: np.array([one[name] - one[SF] for one in found]) for name in found[0] if name != SF}
        return {name: (float(gap.mean()), 2 * float(standard_error(gap))) for name, gap in gaps.items()}

    @pytest.mark.slow
    @pytest.mark.parametrize("variance", [2, 4] if SLOW else [4])
    def test_at_small_noise_sf_loses_less(self, variance: float) -> None:
        assert all(gap > margin for gap, margin in self.more_than_sf(variance).values())

    @pytest.mark.slow
    @pytest.mark.parametrize("variance", [16, 32] if SLOW else [16])
    def test_at_larger_noise_many_iterations_lose_less(self, variance: float) -> None:
        """The filter no longer sees all four directions; held-out values stop too early to win."""
        found = self.more_than_sf(variance)
        gap, margin = found[f"AS, {MORE}"]
        assert gap < -margin
        gap, margin = found[HELD_OUT]
        assert gap > margin

    @pytest.mark.slow
    @pytest.mark.parametrize("variance", [64, 100] if SLOW else [64])
    def test_at_large_noise_as_loses_less_however_stopped(self, variance: float) -> None:
        """The filter sees nothing and says that everybody has the mean: all information is lost."""
        assert all(gap < -0.2 - margin for gap, margin in self.more_than_sf(variance).values())
