"""A reader inverts a published retention: p → γ → ρ1 → how many records have the most frequent value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from needs import examples
from showthrough.microdata.groups import Groups
from showthrough.microdata.partition import Partition, partition
from showthrough.microdata.partitioned import perturb_partition
from showthrough.microdata.promises import STEP, RhoPrivacy

PROMISE = RhoPrivacy(0.3, 0.6)
#: Three sub-tables whose most frequent protected values have 722, 147 and 137 records.
TOLD = np.array(
    [
        [722, 640, 610, 590, 480, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 110, 147, 139, 128, 101, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 31, 137, 120, 118, 97],
    ]
)


def inverted(retention: np.ndarray, n_values: np.ndarray, promise: RhoPrivacy) -> np.ndarray:
    """The share that a retention follows from."""
    gamma = 1 + retention * n_values / (1 - retention)
    return promise.posterior / (promise.posterior + gamma * (1 - promise.posterior))


def counts_told(found: Partition, sizes: np.ndarray) -> np.ndarray:
    """How many records the most frequent protected value of each sub-table has, as a reader calculates."""
    n_values = np.array([len(domain) for domain in found.domains])
    return inverted(found.retention, n_values, found.promise) * sizes


def test_retentions_told_the_largest_counts() -> None:
    """The old answer: 722, 147 and 137, exactly. With the grid none of them comes out."""
    old, new = (Partition(PROMISE, TOLD, 0.95, 3, step=step) for step in (1, STEP))
    assert counts_told(old, old.sizes) == pytest.approx([722, 147, 137])
    told = counts_told(new, new.sizes)
    assert (np.abs(told - [722, 147, 137]) > 0.5).all()
    assert (told <= np.array([722, 147, 137]) * STEP * (1 + 1e-9)).all()
    assert new.posterior.max() <= PROMISE.posterior * (1 + 1e-9)
    # The sizes that a reader divides by are random too, unless a sub-table shares no value with another.
    public = {"g": list(range(50))}
    counts = np.random.default_rng(1).multinomial(TOLD.sum(axis=0), np.full(50, 1 / 50)).T
    groups = Groups.of(public, {"v": list(range(13))}, counts)
    drawn = [[table.records for table in perturb_partition(groups, new, seed=at)] for at in range(20)]
    assert all(len(set(sizes)) > 5 for sizes in zip(*drawn, strict=True))


def test_many_tables_of_totals_have_the_same_retentions() -> None:
    """What a reader learns is an interval: all these largest counts are published alike."""
    alike = set()
    for count in range(640, 800):
        rows = TOLD.copy()
        rows[0, 0] = count
        new = Partition(PROMISE, rows, 0.95, 3)
        alike.add((count, tuple(new.retention.round(12).tolist())))
    of_722 = next(kept for count, kept in alike if count == 722)
    assert sum(kept == of_722 for _, kept in alike) >= 30


@given(hs.floats(1e-6, 0.94), hs.floats(0.01, 0.9), hs.floats(0.02, 0.98))
@settings(max_examples=examples(200), deadline=None)
def test_shares_are_rounded_up_by_less_than_a_step(share: float, prior: float, more: float) -> None:
    promise = RhoPrivacy(prior, prior + (1 - prior) * more)
    rounded = float(promise.rounded(share))
    assert share * (1 - 1e-9) <= rounded <= share * STEP * (1 + 1e-9)
    assert float(promise.rounded(rounded)) == pytest.approx(rounded)
    # A table in which the most frequent protected value has the prior loses nothing.
    assert float(promise.rounded(prior)) == pytest.approx(prior)


@pytest.mark.parametrize("seed", range(3))
def test_skewed_totals_are_not_told(seed: int) -> None:
    """By the paper's bound and its retentions every sub-table tells its largest count as a whole number."""
    weights = 0.8 ** np.arange(12)
    totals = np.random.default_rng(seed).multinomial(40_000, weights / weights.sum())
    old = partition(totals, PROMISE, cost="bound", step=1)
    largest = old.allotment[:, old.protected].max(axis=1)
    assert counts_told(old, old.sizes) == pytest.approx(largest)
    new = partition(totals, PROMISE)
    told, largest = counts_told(new, new.sizes), new.allotment[:, new.protected].max(axis=1)
    assert (told >= largest * (1 - 1e-9)).all()
    assert (np.abs(told - largest)[largest >= 50] > 0.5).mean() > 0.8
