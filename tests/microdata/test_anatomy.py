"""Anatomy: buckets keep their promise, lose nothing they could keep, and tell nothing but themselves."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs
from scipy import stats
from scipy.sparse import csr_array

from needs import SLOW, examples
from showthrough.errors import InputError, RecordsError
from showthrough.microdata.anatomy import Anatomy, anatomize, kept_totals
from showthrough.microdata.groups import Groups
from showthrough.microdata.promises import LDiversity


def make_groups(counts: np.ndarray) -> Groups:
    return Groups(
        pa.table({"g": np.arange(counts.shape[0])}),
        pa.table({"v": np.arange(counts.shape[1])}),
        csr_array(counts.astype(np.int64)),
    )


@hs.composite
def cases(draw: hs.DrawFn) -> tuple[Groups, LDiversity]:
    n_groups, n_values = draw(hs.integers(1, 6)), draw(hs.integers(2, 7))
    cells = hs.lists(hs.integers(0, 9), min_size=n_groups * n_values, max_size=n_groups * n_values)
    counts = np.array(draw(cells)).reshape(n_groups, n_values)
    occurring = int((counts.sum(axis=0) > 0).sum())
    if occurring < 2:
        counts[0, :2] += 1
        occurring = int((counts.sum(axis=0) > 0).sum())
    return make_groups(counts), LDiversity(draw(hs.integers(2, occurring)))


def bucket_contents(found: Anatomy) -> tuple[np.ndarray, np.ndarray]:
    """Bucket × group and bucket × value counts."""
    number = int(found.bucket.max()) + 1
    rows = np.zeros((number, len(found.groups)), int)
    values = np.zeros((number, len(found.suppressed)), int)
    np.add.at(rows, (found.bucket, found.group), 1)
    np.add.at(values, (found.bucket, found.value), 1)
    return rows, values


@given(cases(), hs.integers(0, 2**32))
@settings(max_examples=examples(200), deadline=None)
def test_every_bucket_is_diverse_and_every_record_is_somewhere(
    case: tuple[Groups, LDiversity], seed: int
) -> None:
    groups, promise = case
    found = anatomize(groups, promise, seed=seed)
    rows, values = bucket_contents(found)
    assert promise.check(values).holds
    assert values.max() == 1, "no value twice in a bucket"
    assert values.sum(axis=1).min() >= promise.l
    assert rows.sum(axis=1).tolist() == values.sum(axis=1).tolist() == found.sizes.tolist()
    assert (values.sum(axis=0) + found.suppressed).tolist() == groups.totals.tolist()
    assert (rows.sum(axis=0) <= groups.sizes).all()
    if promise.check([groups.totals]).holds:
        assert found.suppressed.sum() == 0
        assert rows.sum(axis=0).tolist() == groups.sizes.tolist()
    # Sorted by bucket, then by content: the order tells nothing else.
    for column in (found.group, found.value):
        assert np.lexsort((column, found.bucket)).tolist() == list(range(len(column)))


@given(hs.lists(hs.integers(0, 5), min_size=2, max_size=4), hs.integers(2, 4))
def test_the_fewest_records_are_suppressed(totals: list[int], l: int) -> None:  # noqa: E741
    promise = LDiversity(l)
    eligible = [
        kept
        for kept in product(*(range(total + 1) for total in totals))
        if sum(kept) and l * max(kept) <= sum(kept)
    ]
    if not eligible:
        with pytest.raises(RecordsError, match="different values"):
            kept_totals(totals, promise)
        return
    found = kept_totals(totals, promise)
    assert promise.check([found]).holds
    assert (found <= totals).all()
    assert found.sum() == max(sum(kept) for kept in eligible)


def skewed(n: int = 400, seed: int = 5) -> Groups:
    rng = np.random.default_rng(seed)
    return make_groups(rng.multinomial(n, np.array([9, 4, 3, 2, 2]) / 20, size=6))


def test_a_seed_gives_the_same_buckets_and_another_gives_others() -> None:
    groups = skewed()
    one, again, other = (anatomize(groups, LDiversity(3), seed=seed) for seed in (1, 1, 2))
    assert one.group.tolist() == again.group.tolist()
    assert one.value.tolist() == again.value.tolist()
    assert one.group.tolist() != other.group.tolist()


def test_stored_zeros_and_the_layout_of_the_matrix_change_nothing() -> None:
    groups = skewed()
    coo = groups.counts.tocoo()
    order = np.random.default_rng(1).permutation(coo.nnz)
    shuffled = csr_array(
        (
            np.append(coo.data[order], 0),
            (np.append(coo.row[order], 0), np.append(coo.col[order], 0)),
        ),
        shape=coo.shape,
    )
    one = anatomize(groups, LDiversity(3), seed=1)
    other = anatomize(Groups(groups.public, groups.domain, shuffled), LDiversity(3), seed=1)
    assert one.group.tolist() == other.group.tolist()


def publications(owners: list[int], n_seeds: int) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    """How often each publication comes out, bucket numbers included; person i has value owners[i]."""
    counts = np.zeros((len(owners), 3), int)
    counts[np.arange(len(owners)), owners] = 1
    found: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for seed in range(n_seeds):
        one = anatomize(make_groups(counts), LDiversity(2), seed=seed)
        found[tuple(one.group.tolist()), tuple(one.value.tolist())] += 1
    return found


def test_a_publication_is_as_likely_whoever_has_which_value_in_a_bucket() -> None:
    """So every matching within a bucket stays equally likely; fails by chance once in 10,000."""
    times = 2500 if SLOW else 800
    first = publications([0, 0, 1, 1, 2, 2], times)
    (rows, values), often = first.most_common(1)[0]
    # Rows and values of the first bucket, matched the other way round.
    owners = [0, 0, 1, 1, 2, 2]
    one, other = rows[:2]
    assert {owners[one], owners[other]} == set(values[:2])
    owners[one], owners[other] = owners[other], owners[one]
    swapped = publications(owners, times)[rows, values]
    assert often > times // 80
    assert stats.fisher_exact([[often, times - often], [swapped, times - swapped]]).pvalue > 1e-4


def test_which_records_share_a_bucket_is_left_to_chance() -> None:
    """Two of four rows, of different values, meet half of the time; fails by chance once in 10,000."""
    counts = np.zeros((4, 2), int)
    counts[[0, 1], 0] = 1
    counts[[2, 3], 1] = 1
    meetings, times = 0, 2000 if SLOW else 600
    for seed in range(times):
        found = anatomize(make_groups(counts), LDiversity(2), seed=seed)
        meetings += 2 in found.group[found.bucket == found.bucket[found.group == 0][0]]
    assert stats.binomtest(meetings, times, 0.5).pvalue > 1e-4


def test_suppressed_records_are_chosen_at_random() -> None:
    """10 of 20 records of a value go, out of two groups of 10; fails by chance once in 10,000."""
    counts = np.array([[10, 0], [10, 0], [0, 10]])
    left = [
        int((anatomize(make_groups(counts), LDiversity(2), seed=seed).group == 0).sum())
        for seed in range(600)
    ]
    expected = stats.hypergeom(20, 10, 10)
    error = (np.mean(left) - expected.mean()) / (expected.std() / np.sqrt(600))
    assert abs(error) < stats.norm.isf(5e-5)
    assert np.var(left) == pytest.approx(expected.var(), rel=0.35)


def test_the_estimator_is_the_sum_over_buckets() -> None:
    found = anatomize(skewed(), LDiversity(3), seed=4)
    in_groups = np.array([True, False, True, False, False, False])
    in_values = np.array([False, True, True, False, False])
    rows, values = bucket_contents(found)
    c, k, n = rows[:, in_groups].sum(axis=1), values[:, in_values].sum(axis=1), rows.sum(axis=1)
    estimate = found.count(in_groups, in_values)
    assert estimate.value == pytest.approx((c * k / n).sum())
    assert estimate.bounds == (np.maximum(0, c + k - n).sum(), np.minimum(c, k).sum())
    assert (estimate.error, estimate.records) == (None, c.sum())
    value, low, high = found.distribution(in_groups)
    for at in range(5):
        single = found.count(in_groups, np.arange(5) == at)
        assert (value[at], (low[at], high[at])) == (pytest.approx(single.value), single.bounds)


def test_unusable_input_is_refused() -> None:
    with pytest.raises(RecordsError, match="need at least"):
        anatomize(make_groups(np.array([[5, 5]])), LDiversity(3), seed=1)
    found = anatomize(skewed(), LDiversity(3), seed=1)
    with pytest.raises(InputError, match="one flag for each group"):
        found.count([True], np.ones(5, bool))
    with pytest.raises(InputError, match="one flag for each value"):
        found.count(np.ones(6, bool), np.arange(5))
