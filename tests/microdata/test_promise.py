"""Promises: their parameters, what they allow, and their checks, against counting by hand."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from needs import SLOW, examples
from showthrough.errors import InputError, RecordsError
from showthrough.microdata.groups import Groups
from showthrough.microdata.parameters import check_retention
from showthrough.microdata.promises import LDiversity, RhoPrivacy, posterior
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy, Tails

DEFAULT = ReconstructionPrivacy(0.3, 0.3)
#: (values, largest frequency, s_g, its exact upper and lower tail, exact limit), EQUATIONS 1.10.
KNOWN = [
    (2, 0.5, 214, 0.0045, 0.0045, 12),
    (2, 0.75, 119, 0.0023, 0.0033, 8),
    (2, 0.9, 92, 0.0011, 0.0026, 6),
    (50, 0.1, 642, 0.016, 0.015, 54),
    (50, 0.3, 190, 0.020, 0.011, 4),
    (50, 0.5, 111, 0.014, 0.012, 2),
]


def brute_tails(
    count: int, size: int, *, error: float, retention: float, n_values: int
) -> tuple[float, float]:
    """Both tails by adding up every outcome of every record's own coin."""
    stray = (1 - retention) / n_values
    chances = np.ones(1)
    for record in range(size):
        show = stray + (retention if record < count else 0)
        chances = np.convolve(chances, [1 - show, show])
    upper = lower = 0.0
    for shown, chance in enumerate(chances):
        off = (shown - size * stray) / retention - count
        upper += chance * (off > error * count + 1e-9)
        lower += chance * (off < -error * count - 1e-9)
    return upper, lower


@pytest.mark.parametrize(
    ("prior", "posterior_"), [(0, 0.5), (-0.1, 0.5), (0.5, 0.5), (0.6, 0.5), (0.5, 1), (math.nan, 0.5)]
)
def test_a_prior_must_lie_under_the_posterior(prior: float, posterior_: float) -> None:
    with pytest.raises(InputError, match="prior must be between 0 and the posterior"):
        RhoPrivacy(prior, posterior_)


@pytest.mark.parametrize("error", [0, -1, math.inf, math.nan])
def test_an_error_must_be_positive(error: float) -> None:
    with pytest.raises(InputError, match="relative error"):
        ReconstructionPrivacy(error, 0.3)


@pytest.mark.parametrize("chance", [0, 1, -0.1, math.nan])
def test_a_chance_must_lie_between_0_and_1(chance: float) -> None:
    with pytest.raises(InputError, match="chance"):
        ReconstructionPrivacy(0.3, chance)


@pytest.mark.parametrize("number", [1, 0, -3, 2.5])
def test_l_must_be_a_whole_number_from_2(number: float) -> None:
    with pytest.raises(InputError, match="whole number of at least 2"):
        LDiversity(number)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["", "0.1", "a:b", "0.1:0.5:0.7", "1/0:0.5", "0.1:", "1/:0.5", "1e999999/1:0.5"]
)
def test_text_that_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        RhoPrivacy.parse(text)
    with pytest.raises(InputError):
        ReconstructionPrivacy.parse(text)


def test_pairs_are_read_from_text() -> None:
    assert RhoPrivacy.parse(" 1/13 : 1/6") == RhoPrivacy(1 / 13, 1 / 6)
    assert ReconstructionPrivacy.parse("0.3:0.25") == ReconstructionPrivacy(0.3, 0.25)
    with pytest.raises(InputError, match="whole number"):
        LDiversity.parse("four")


@pytest.mark.parametrize("retention", [0, 1, -0.5, 2, math.nan])
def test_a_retention_must_lie_between_0_and_1(retention: float) -> None:
    with pytest.raises(InputError, match="retention"):
        check_retention(retention)
    if retention != 1:
        with pytest.raises(InputError, match="retention"):
            DEFAULT.largest_group(0.5, retention, 2)


def test_a_single_sensitive_value_is_refused() -> None:
    with pytest.raises(RecordsError, match="at least two values"):
        RhoPrivacy(0.1, 0.5).retention(1)
    with pytest.raises(RecordsError, match="at least two values"):
        DEFAULT.largest_group(0.5, 0.5, 1)


def test_frequencies_counts_and_bounds_are_checked() -> None:
    with pytest.raises(InputError, match="frequency"):
        DEFAULT.largest_group([0.5, 1.5], 0.5, 2)
    with pytest.raises(InputError, match="count must be between"):
        DEFAULT.holds(3, 2, retention=0.5, n_values=2)
    with pytest.raises(InputError, match="unknown bound"):
        DEFAULT.holds(1, 2, retention=0.5, n_values=2, bound="hoeffding")  # type: ignore[arg-type]


def test_retention_by_domain_size_is_table_1_of_the_paper() -> None:
    promise = RhoPrivacy(1 / 6, 1 / 2)
    assert promise.amplification == pytest.approx(5)
    printed = {77: 5, 70: 5, 50: 7, 14: 22, 9: 31, 7: 36, 6: 40, 2: 67}
    assert {m: round(100 * promise.retention(m)) for m in printed} == printed


@pytest.mark.parametrize(
    ("prior", "printed"), [(1 / 13, [2.7, 3.8, 5.7, 9.1]), (0.0747, [2.9, 4.0, 5.9, 9.4])]
)
def test_uniform_retentions_of_table_2(prior: float, printed: list[float]) -> None:
    """The paper's row needs the actual largest frequency; from 1/13 follows the first one."""
    found = [100 * RhoPrivacy(prior, 1 / l).retention(50) for l in (6, 5, 4, 3)]  # noqa: E741
    assert np.round(found, 1).tolist() == printed


@given(
    hs.lists(hs.integers(0, 30), min_size=2, max_size=6).filter(lambda counts: sum(counts) > 0),
    hs.floats(0.01, 0.99),
)
def test_posteriors_are_those_of_the_whole_matrix(counts: list[int], retention: float) -> None:
    share = np.array(counts) / sum(counts)
    m = len(counts)
    matrix = np.full((m, m), (1 - retention) / m) + retention * np.eye(m)
    joint = share[:, None] * matrix
    expected = (joint / joint.sum(axis=0)).max(axis=1)
    assert posterior(share, retention) == pytest.approx(expected)


@given(hs.floats(0.01, 0.6), hs.floats(0.02, 0.98), hs.integers(2, 200))
def test_the_retention_makes_the_posterior_exactly_what_was_promised(
    prior: float, gap: float, n_values: int
) -> None:
    promise = RhoPrivacy(prior, prior + gap * (1 - prior))
    retention = promise.retention(n_values)
    assert posterior([prior], retention, n_values=n_values)[0] == pytest.approx(promise.posterior)
    assert promise.for_frequency(prior).retention(n_values) == retention


def test_nothing_to_protect_allows_everything() -> None:
    promise = RhoPrivacy(0.1, 0.5)
    assert promise.amplification_at([0, 0.1, 0.5]).tolist() == pytest.approx([math.inf, 9, 1])
    assert promise.retention_at([0.0], [7]).tolist() == [1.0]
    assert posterior([0.0, 1.0], 1.0).tolist() == [0.0, 1.0]


def test_a_check_of_rho_privacy_asks_protected_values_only() -> None:
    promise = RhoPrivacy(0.4, 0.5)
    tables = [[60, 30, 10], [10, 10, 10]]
    found = promise.check(tables, retention=[0.3, 0.3])
    by_hand = [
        max(posterior([0.6, 0.3, 0.1], 0.3)[1:]),
        max(posterior([1 / 3] * 3, 0.3)[1:]),
    ]
    assert found.posterior == pytest.approx(by_hand)
    assert found.unprotected.tolist() == [True, False, False]
    assert found.violated.tolist() == [by_hand[0] > 0.5, by_hand[1] > 0.5] == [False, True]
    assert not found.holds
    groups = Groups.of({"a": ["x", "y"]}, {"b": ["0", "1", "2"]}, tables)
    whole = promise.check(groups, retention=0.29)
    assert whole.posterior == pytest.approx(max(posterior([7 / 13, 4 / 13, 2 / 13], 0.29)[1:]))
    assert whole.holds
    assert not promise.check(groups, retention=0.3).holds


@pytest.mark.parametrize(("n_values", "frequency", "size", "upper", "lower", "exact"), KNOWN)
def test_known_limits_and_tails(
    n_values: int, frequency: float, size: int, upper: float, lower: float, exact: int
) -> None:
    limit = float(DEFAULT.largest_group(frequency, 0.5, n_values, bound="chernoff"))
    assert round(limit) == size
    assert DEFAULT.largest_group(frequency, 0.5, n_values, bound="exact") == exact
    n = math.floor(limit)
    tails = DEFAULT.tails(retention=0.5, n_values=n_values).exact(round(frequency * n), n)
    # The last printed digit: .0001 for two values, .001 for fifty.
    assert [tail.item() for tail in tails] == pytest.approx(
        [upper, lower], abs=6e-5 if n_values == 2 else 6e-4
    )


@pytest.mark.parametrize(
    ("n_values", "retention", "error"), list(product((2, 7, 50), (0.2, 0.5, 0.9), (0.3, 1.5)))
)
def test_exact_tails_are_those_of_all_outcomes(n_values: int, retention: float, error: float) -> None:
    tails = Tails(error, retention, n_values)
    pairs = [(k, n) for n in (1, 2, 5, 17, 40) for k in range(n + 1)]
    found = np.array(tails.exact(*np.array(pairs).T)).T
    expected = [brute_tails(k, n, error=error, retention=retention, n_values=n_values) for k, n in pairs]
    assert found == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("error", [0.3, 1.8])
def test_holding_is_decided_as_by_the_tails_themselves(error: float) -> None:
    """Sizes up to 3,000, where most pairs are decided by a bound and not by adding up."""
    promise, tails = ReconstructionPrivacy(error, 0.25), Tails(error, 0.4, 20)
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 3000, 4000)
    counts = np.minimum(sizes, rng.integers(0, 120, 4000))
    upper, lower = tails.exact(counts, sizes)
    asked = np.where((error - 1) * 0.4 * counts > sizes * 0.03, upper, np.minimum(upper, lower))
    expected = asked >= 0.25
    found = promise.holds(counts, sizes, retention=0.4, n_values=20)
    assert found.tolist() == expected.tolist()
    assert 0 < expected.mean() < 1


@given(hs.floats(0.05, 0.9), hs.integers(2, 30), hs.floats(0.1, 1.4), hs.floats(0.05, 0.45), hs.data())
@settings(max_examples=examples(60), deadline=None)
def test_a_group_over_the_chernoff_limit_surely_violates(
    retention: float, n_values: int, error: float, chance: float, data: hs.DataObject
) -> None:
    size = data.draw(hs.integers(1, 400))
    count = data.draw(hs.integers(1, size))
    promise = ReconstructionPrivacy(error, chance)
    if size > promise.largest_group(count / size, retention, n_values, bound="chernoff"):
        upper, lower = brute_tails(count, size, error=error, retention=retention, n_values=n_values)
        assert min(upper, lower) < chance
        assert not promise.holds(count, size, retention=retention, n_values=n_values)


@pytest.mark.parametrize(
    ("n_values", "frequency"),
    list(product((2, 5, 50), (0.07, 0.31, 0.5, 0.83, 1.0)))
    if SLOW
    else [(2, 0.07), (2, 0.5), (5, 0.31), (5, 1.0), (50, 0.07), (50, 0.83)],
)
def test_the_exact_limit_is_the_largest_size_that_holds(n_values: int, frequency: float) -> None:
    sizes = np.arange(1, 1500)
    counts = np.floor(frequency * sizes + 0.5).astype(int)
    held = DEFAULT.holds(counts, sizes, retention=0.5, n_values=n_values) & (counts > 0)
    expected = int(sizes[held].max(initial=0))
    assert expected < 1400, "the range looked at is too small to tell"
    # One at a time and in company: frequencies that share the work give the same.
    company = [*np.linspace(0.01, 1, 40).tolist(), frequency]
    assert DEFAULT.largest_group(frequency, 0.5, n_values, bound="exact") == expected
    assert DEFAULT.largest_group(company, 0.5, n_values, bound="exact")[-1] == expected


def test_beyond_an_error_that_cannot_happen_downwards_the_upper_tail_decides() -> None:
    f, p, m, error = 0.5, 0.5, 2, 2.5
    mean, off = p * f + (1 - p) / m, error * p * f
    omega = off / mean
    assert omega > 1
    by_hand = -(2 + omega) * mean * math.log(0.3) / off**2
    found = ReconstructionPrivacy(error, 0.3).largest_group(f, p, m, bound="chernoff")
    assert float(found) == pytest.approx(by_hand)
    # Exactly at ω = 1 the lower tail still counts.
    edge = 1 + ((1 - p) / m) / (p * f)
    at_edge = -2 * mean * math.log(0.3) / (edge * p * f) ** 2
    found = ReconstructionPrivacy(edge, 0.3).largest_group(f, p, m, bound="chernoff")
    assert float(found) == pytest.approx(at_edge)


def test_no_frequency_no_limit() -> None:
    assert DEFAULT.largest_group([0.0], 0.5, 5, bound="chernoff").tolist() == [math.inf]
    assert DEFAULT.largest_group([0.0], 0.5, 5, bound="exact").tolist() == [math.inf]


@given(hs.integers(1, 3000), hs.integers(2, 60), hs.sampled_from([0.2, 0.3, 0.9, 1.3, 2.0]), hs.data())
@settings(max_examples=examples(150), deadline=None)
def test_the_largest_retention_is_where_the_limit_meets_the_size(
    size: int, n_values: int, error: float, data: hs.DataObject
) -> None:
    count = data.draw(hs.integers(1, size))
    promise = ReconstructionPrivacy(error, 0.3)
    known: Any = {"n_values": n_values, "bound": "chernoff"}
    found = promise.largest_retention([count], [size], **known)
    for share in (0.5, 0.9, 0.999999):
        assert size <= promise.largest_group(count / size, found * share, **known) * (1 + 1e-9)
    if found < 0.999:
        assert size > promise.largest_group(count / size, found * 1.0001, **known)


def test_the_largest_exact_retention_is_found_by_trying_all() -> None:
    counts, sizes = np.array([4, 3, 2]), np.array([9, 9, 9])
    steps = [
        step / 1000
        for step in range(1, 1000)
        if DEFAULT.holds(counts, sizes, retention=step / 1000, n_values=3).all()
    ]
    found = DEFAULT.largest_retention(counts, sizes, n_values=3, bound="exact")
    assert steps
    assert found == max(steps)
    assert DEFAULT.largest_retention([500], [1000], n_values=2, bound="exact") < found
    assert DEFAULT.largest_retention([0], [5], n_values=3, bound="chernoff") == 1.0


def small_groups() -> Groups:
    counts = [[6, 6, 0], [500, 300, 10], [0, 0, 0], [1, 0, 0], [2, 1, 1]]
    return Groups.of({"a": ["p", "q", "r", "s", "t"]}, {"b": ["0", "1", "2"]}, counts)


def test_a_check_goes_group_by_group_and_value_by_value() -> None:
    groups = small_groups()
    found = DEFAULT.check(groups, retention=0.5)
    for at, row in enumerate(groups.counts.toarray().tolist()):
        size = sum(row)
        tails = [brute_tails(k, size, error=0.3, retention=0.5, n_values=3) for k in row if size]
        assert found.exact_violated[at] == any(min(pair) < 0.3 for pair in tails)
        if size:
            assert found.frequency[at] == max(row) / size
            assert found.chernoff_limit[at] == pytest.approx(
                float(DEFAULT.largest_group(max(row) / size, 0.5, 3, bound="chernoff"))
            )
            assert found.exact_limit[at] == DEFAULT.largest_group(max(row) / size, 0.5, 3, bound="exact")
    assert found.chernoff_violated.tolist() == [False, True, False, False, False]
    assert found.group_rate("chernoff") == 1 / 4, "an empty group is no group"
    assert found.record_rate("chernoff") == 810 / 827
    assert found.worst(bound="chernoff").tolist() == [1]
    assert not found.holds("chernoff")
    assert found.worst(2)[0] == 1, "the group furthest over its limit comes first"


def test_the_exact_check_sees_a_rarer_value_that_fails() -> None:
    """Two records of four are safe, one of four is not: the most frequent value does not decide."""
    assert DEFAULT.holds([2, 1], 4, retention=0.5, n_values=5).tolist() == [True, False]
    groups = Groups.of({"a": ["x"]}, {"b": list("12345")}, [[2, 1, 1, 0, 0]])
    assert DEFAULT.check(groups, retention=0.5).exact_violated.tolist() == [True]
    assert DEFAULT.check_sizes([4], [0.5], retention=0.5, n_values=5).exact_violated.tolist() == [False]


def test_raw_data_are_reconstructed_without_error() -> None:
    found = DEFAULT.check(small_groups(), retention=1)
    assert found.exact_violated.tolist() == [True, True, False, True, True]
    assert found.record_rate() == 1
    assert found.exact_limit.max() == 0


def test_a_check_by_sizes_is_the_check_by_groups_for_one_value() -> None:
    groups = Groups.of({"a": ["x", "y"]}, {"b": ["0", "1"]}, [[6, 6], [30, 10]])
    by_groups = DEFAULT.check(groups, retention=0.5)
    by_sizes = DEFAULT.check_sizes([12, 40], [0.5, 0.75], retention=0.5, n_values=2)
    assert by_sizes.chernoff_limit.tolist() == by_groups.chernoff_limit.tolist()
    assert by_sizes.exact_limit.tolist() == by_groups.exact_limit.tolist()
    assert by_sizes.exact_violated.tolist() == [False, True]


def test_no_groups_violate_nothing() -> None:
    empty = Groups.of({"a": []}, {"b": ["0", "1"]}, np.zeros((0, 2)))
    found = DEFAULT.check(empty, retention=0.5)
    assert found.holds()
    assert found.group_rate() == found.record_rate() == 0
    assert LDiversity(2).check(empty).holds


def test_diversity_is_checked_in_whole_numbers() -> None:
    groups = Groups.of({"a": ["x", "y", "z"]}, {"b": ["0", "1", "2"]}, [[1, 1, 1], [2, 1, 0], [0, 0, 0]])
    found = LDiversity(3).check(groups)
    assert found.violated.tolist() == [False, True, False]
    assert found.largest.tolist() == [1, 2, 0]
    assert not found.holds
    assert (found.group_rate, found.record_rate) == (1 / 2, 1 / 2)
