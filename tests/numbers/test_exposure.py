"""Inter-quantile intervals, privacy intervals, full disclosure and degree, and rates with intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from showthrough.errors import InputError
from showthrough.numbers.density import Distribution
from showthrough.numbers.exposure import DIRECT, IDEAL, Exposure, Rate, expose
from showthrough.numbers.interquantile import Interval, PrivacyIntervals, disclose, interquantile

NUMBERS = st.floats(-100, 100)


def one_by_one(u: float, share: float, low: float, high: float) -> tuple[bool, float]:
    """Equations 2.2 and 2.3 for one person, as they are written."""
    left, right = sorted((u * (1 - share), u * (1 + share)))
    if left <= low and high <= right:
        return True, 1.0
    both = max(0.0, min(right, high) - max(left, low))
    either = (right - left) + (high - low) - both
    return False, both / either if either > 0 else 0.0


class TestPrivacyIntervals:
    def test_negative_values_have_their_ends_in_order(self) -> None:
        found = PrivacyIntervals.relative([-10.0, 0.0, 10.0], 0.3)
        assert found.low.tolist() == [-13, 0, 7]
        assert found.high.tolist() == [-7, 0, 13]

    def test_a_share_of_one_or_more_reaches_zero_and_beyond(self) -> None:
        """Then only the upper end can save anybody with a positive value (2.3)."""
        people = PrivacyIntervals.relative([50.0, 10.0], 1.2)
        assert people.low == pytest.approx([-10, -2])
        assert disclose(people, Interval(0.0, 100.0)).full.tolist() == [True, False]

    def test_absolute_and_given(self) -> None:
        assert PrivacyIntervals.absolute([1.0, -1.0], 2).low.tolist() == [-1, -3]
        given = PrivacyIntervals([0.0, 5.0], [1.0, 5.0])
        assert (given.label, len(given)) == ("given", 2)

    @pytest.mark.parametrize(
        ("low", "high", "message"),
        [
            ([1.0, 2.0], [2.0, 1.0], "row 2: a privacy interval ends before it starts"),
            ([1.0], [math.nan], "row 1"),
            ([1.0], [1.0, 2.0], "one lower and one upper end"),
        ],
    )
    def test_refusals(self, low: list[float], high: list[float], message: str) -> None:
        with pytest.raises(InputError, match=message):
            PrivacyIntervals(low, high)  # type: ignore[arg-type]

    @pytest.mark.parametrize("width", [0, -1, math.nan, math.inf])
    def test_widths(self, width: float) -> None:
        for make in (PrivacyIntervals.relative, PrivacyIntervals.absolute):
            with pytest.raises(InputError, match="positive number"):
                make([1.0], width)


class TestDisclose:
    @given(
        people=st.lists(NUMBERS, min_size=1, max_size=5),
        share=st.floats(0.01, 3),
        ends=st.tuples(NUMBERS, NUMBERS),
    )
    def test_agrees_with_the_equations(
        self, people: list[float], share: float, ends: tuple[float, float]
    ) -> None:
        low, high = sorted(ends)
        found = disclose(PrivacyIntervals.relative(people, share), Interval(low, high))
        expected = [one_by_one(u, share, low, high) for u in people]
        assert found.degree == pytest.approx([degree for _, degree in expected], abs=1e-9)
        assert ((found.degree >= 0) & (found.degree <= 1)).all()
        # Rounding may turn a tie: those who are told apart differently touch an end.
        for got, (want, degree), u in zip(found.full, expected, people, strict=True):
            assert got == want or degree > 1 - 1e-9, u

    def test_the_printed_rule(self) -> None:
        """x2/(1 + P) ≤ u ≤ x1/(1 − P)."""
        people = np.linspace(1, 200, 1000)
        found = disclose(PrivacyIntervals.relative(people, 0.4), Interval(30.0, 60.0)).full
        assert (found == ((people >= 60 / 1.4) & (people <= 30 / 0.6))).all()

    def test_an_interval_for_each_person(self) -> None:
        privacy = PrivacyIntervals.absolute([0.0, 10.0, 20.0], 2.0)
        found = disclose(privacy, Interval([-1.0, 9.0, 0.0], [1.0, 14.0, 1.0]))
        assert found.full.tolist() == [True, False, False]
        assert found.degree == pytest.approx([1, 3 / 6, 0])
        with pytest.raises(InputError, match="another number of people"):
            disclose(privacy, Interval([0.0], [1.0]))

    def test_single_points(self) -> None:
        zero = PrivacyIntervals.relative([0.0], 0.5)
        assert disclose(zero, Interval(0.0, 0.0)).degree.tolist() == [1]
        assert disclose(zero, Interval(1.0, 1.0)).degree.tolist() == [0]


class TestInterquantile:
    def test_sample_and_distribution(self) -> None:
        uniform = Distribution(np.linspace(0, 10, 101), np.ones(100))
        found = interquantile(uniform, 0.9)
        assert (float(found.low), float(found.high)) == pytest.approx((0.5, 9.5))
        sample = interquantile(np.linspace(0, 10, 100_001), 0.9)
        assert float(sample.low) == pytest.approx(0.5)

    @pytest.mark.parametrize("confidence", [0, 1, -0.1, math.nan])
    def test_confidence(self, confidence: float) -> None:
        with pytest.raises(InputError, match="a confidence lies between 0 and 1"):
            interquantile([1.0, 2.0], confidence)

    def test_no_sample(self) -> None:
        with pytest.raises(InputError, match="at least one value"):
            interquantile([])
        with pytest.raises(InputError, match="ends before it starts"):
            Interval(2.0, 1.0)  # type: ignore[arg-type]


class TestRate:
    @pytest.mark.parametrize(("count", "total"), [(0, 10), (3, 10), (10, 10), (200, 5000)])
    def test_wilson(self, count: int, total: int) -> None:
        expected = stats.binomtest(count, total).proportion_ci(0.95, method="wilson")
        assert Rate(count, total).interval(0.95) == pytest.approx(tuple(expected), abs=1e-12)

    @pytest.mark.parametrize(("count", "total"), [(-1, 3), (4, 3), (0, 0)])
    def test_refusals(self, count: int, total: int) -> None:
        with pytest.raises(InputError, match="a rate needs"):
            Rate(count, total)


@pytest.fixture
def found() -> Exposure:
    truth = np.random.default_rng(1).gamma(9, 5, 5000)
    noisy = truth + np.random.default_rng(2).uniform(-125, 125, 5000)
    attacks = {"wide": interquantile(truth, 0.99), "narrow": interquantile(truth, 0.5)}
    return expose(
        truth, noisy, attacks=attacks, privacy=[PrivacyIntervals.relative(truth, p) for p in (0.4, 0.6, 0.8)]
    )


class TestExposure:
    def test_direct_first_ideal_last(self, found: Exposure) -> None:
        assert found.methods == (DIRECT, "wide", "narrow", IDEAL)
        assert found.privacies == ("±40 %", "±60 %", "±80 %")

    def test_direct_is_the_share_of_lucky_noise(self, found: Exposure) -> None:
        """P·E[u]/125 where P·u stays inside the noise; E[u] = 45, four standard errors of 5,000."""
        for share in (0.4, 0.6, 0.8):
            rate = found.get(DIRECT, f"±{100 * share:g} %").disclosed.value
            assert rate == pytest.approx(share * 45 / 125, abs=4 * math.sqrt(0.25 / 5000))
        assert found.get(DIRECT, "±40 %").degree is None

    def test_rates_grow_with_the_privacy_interval_and_shrink_with_the_attacks(self, found: Exposure) -> None:
        for method in found.methods:
            rates = [found.get(method, privacy).disclosed.count for privacy in found.privacies]
            assert rates == sorted(rates)
        for privacy in found.privacies:
            counts = [found.get(m, privacy).disclosed.count for m in ("wide", IDEAL, "narrow")]
            assert counts == sorted(counts)

    def test_an_attack_that_is_wrong_too_often_is_not_the_strongest(self, found: Exposure) -> None:
        """The narrow interval claims 95 % and holds 50 %."""
        assert found.get("narrow", "±80 %").disclosed.count > found.get("wide", "±80 %").disclosed.count
        assert not found.get("narrow", "±80 %").is_credible(0.95)
        assert found.get("wide", "±80 %").is_credible(0.95)
        assert found.strongest("±80 %").method == "wide"
        alone = Exposure(0.95, tuple(row for row in found.rows if row.method == "narrow"))
        assert alone.strongest("±80 %") is None
        assert alone.worst("±80 %").method == "narrow"
        assert "no attack is right as often as it claims" in repr(alone)

    def test_as_a_table(self, found: Exposure) -> None:
        table = found.to_arrow()
        assert table.num_rows == 12
        for row in table.to_pylist():
            assert row["low"] <= row["share"] <= row["high"]
            assert row["share"] == row["disclosed"] / row["people"]
            assert (row["degree"] is None) is (row["coverage"] is None) is (row["method"] == DIRECT)
            assert row["degree"] is None or row["degree"] >= row["share"]

    def test_refusals(self, found: Exposure) -> None:
        with pytest.raises(InputError, match="nothing was measured"):
            found.get("wide", "±1 %")
        with pytest.raises(InputError, match="differ in the number of people"):
            expose([1.0, 2.0], [1.0], attacks={}, privacy=[PrivacyIntervals.absolute([1.0, 2.0], 1)])
        with pytest.raises(InputError, match="not one privacy interval for each person"):
            expose([1.0, 2.0], [1.0, 2.0], attacks={}, privacy=[PrivacyIntervals.absolute([1.0], 1)])
