"""Estimates are right on average, and their intervals hold the truth as often as they say.

One call draws many groups that are all alike, so every group is a repetition. Means are compared with
the truth within 5 standard errors, and numbers of intervals that hold it within 5 standard deviations
of a binomial: each comparison fails by chance with a probability under 1e-6, for another seed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.microdata.estimation import Bucketed, Perturbed, invert, likeliest, variance
from showthrough.microdata.groups import Groups
from showthrough.microdata.partition import Partition
from showthrough.microdata.partitioned import perturb_partition
from showthrough.microdata.plan import SubTable
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled
from showthrough.microdata.uniform import perturb

TIMES = 4000
TRUE = np.array([150, 60, 2, 30, 10])
CHOSEN = [np.array([0]), np.array([2]), np.array([1, 3]), np.array([0, 1, 2, 3, 4])]

Floats = NDArray[np.float64]


def repeated(counts: Any = TRUE, times: int = TIMES) -> Groups:
    return Groups.of({"g": list(range(times))}, {"v": list(range(len(counts)))}, np.tile(counts, (times, 1)))


def uniform() -> Perturbed:
    drawn = perturb(repeated(), 0.35, seed=1)
    return observed([drawn], (SubTable(0.35, (0, 1, 2, 3, 4)),))


def partitioned() -> Perturbed:
    groups = repeated()
    first = TIMES * np.array([90, 60, 1, 0, 0])
    plan = Partition(RhoPrivacy(0.3, 0.7), np.stack([first, groups.totals - first]), 0.95, 2)
    drawn = perturb_partition(groups, plan, seed=2)
    tables = zip(plan.retention.tolist(), plan.domains, strict=True)
    return observed(drawn, tuple(SubTable(kept, tuple(domain.tolist())) for kept, domain in tables))


def sampled() -> Perturbed:
    """Trials by bands, which are the group in small."""
    groups = repeated()
    design = Sampled(ReconstructionPrivacy(0.3, 0.3), 0.5, bound="chernoff", trials="banded").design(groups)
    assert 1 < design.trials[0] < TRUE.sum() / 2
    table = SubTable(design.retention, (0, 1, 2, 3, 4))
    return observed([design.sample(groups, seed=3)], (table,), copies=groups.sizes / design.trials)


def independent() -> Perturbed:
    """Trials drawn with replacement."""
    groups = repeated()
    design = Sampled(ReconstructionPrivacy(0.1, 0.1)).design(groups)
    assert design.trials[0] > 1
    table = SubTable(design.retention, (0, 1, 2, 3, 4))
    found = observed([design.sample(groups, seed=3)], (table,), copies=groups.sizes / design.trials)
    return replace(found, independent=True)


def observed(drawn: list[Groups], tables: tuple[SubTable, ...], copies: Any = None) -> Perturbed:
    counts = csr_array(np.concatenate([table.counts.toarray() for table in drawn]))
    cell = np.tile(np.arange(TIMES), len(drawn))
    table = np.repeat(np.arange(len(drawn)), TIMES)
    return Perturbed(TIMES, cell, table, np.ones(len(cell)) if copies is None else copies, counts, tables)


@pytest.mark.parametrize("make", [uniform, partitioned, sampled, independent])
@pytest.mark.parametrize("values", CHOSEN)
def test_counts(make: Any, values: Any) -> None:
    found: Perturbed = make()
    value, spread = found.chosen(values)
    truth = TRUE[values].sum()
    if len(values) == len(TRUE):
        assert value == pytest.approx(np.full(TIMES, truth))
        assert spread == pytest.approx(np.zeros(TIMES), abs=1e-9)
        return
    check(value, spread, truth, exact=make is not sampled)


@pytest.mark.parametrize("make", [uniform, partitioned, sampled, independent])
def test_distributions(make: Any) -> None:
    value, spread = make().each(consistent=False)
    for at, truth in enumerate(TRUE):
        check(value[:, at], spread[:, at], truth, exact=make is not sampled)


def check(value: Floats, spread: Floats, truth: int, *, exact: bool) -> None:
    error = value.std(ddof=1)
    assert abs(value.mean() - truth) < 5 * error / np.sqrt(TIMES)
    # The stated variance is right on average; for samples it is an upper bound that is nearly reached.
    low, high = (0.93, 1.07) if exact else (0.97, 1.35)
    assert low < spread.mean() / value.var(ddof=1) < high
    hit = np.abs(value - truth) <= 1.96 * np.sqrt(spread)
    # Counts are whole numbers, so the share is near 95 %, not at it.
    assert hit.mean() > 0.95 - 0.01 - 5 * np.sqrt(0.95 * 0.05 / TIMES)
    assert hit.mean() < 0.985 if exact else True


def test_many_groups_together() -> None:
    """A sum over groups with other frequencies and sizes: one estimate, its variance added up."""
    chance, promise = np.random.default_rng(5), ReconstructionPrivacy(0.3, 0.3)
    counts = chance.integers(0, 300, (12, 5)) * (chance.random((12, 5)) < 0.6)
    counts[:, 0] += 1
    times = 1500
    groups = Groups.of({"g": list(range(12 * times))}, {"v": list(range(5))}, np.tile(counts, (times, 1)))
    design = Sampled(promise, 0.5, bound="chernoff", trials="banded").design(groups)
    assert (design.trials < groups.sizes).any()
    drawn = design.sample(groups, seed=4)
    cell = np.repeat(np.arange(times), 12)
    units = (times, cell, np.zeros(12 * times, np.int64), groups.sizes / design.trials)
    value, spread = Perturbed(*units, drawn.counts, (SubTable(0.5, (0, 1, 2, 3, 4)),)).chosen(np.array([1]))
    truth = counts[:, 1].sum()
    assert abs(value.mean() - truth) < 5 * value.std() / np.sqrt(times)
    assert 0.95 < spread.mean() / value.var() < 1.3
    assert (np.abs(value - truth) <= 1.96 * np.sqrt(spread)).mean() > 0.95 - 5 * np.sqrt(0.95 * 0.05 / times)


def test_consistent_estimates_are_consistent() -> None:
    value, _ = uniform().each(consistent=True)
    assert value.min() >= 0
    assert value.sum(axis=1) == pytest.approx(np.full(TIMES, TRUE.sum()))
    unbiased, _ = uniform().each(consistent=False)
    assert unbiased.min() < 0
    assert ((value - TRUE) ** 2).sum() < ((unbiased - TRUE) ** 2).sum()
    both, _ = partitioned().each(consistent=True)
    assert both.min() >= 0
    assert both.sum(axis=1) == pytest.approx(np.full(TIMES, TRUE.sum()))


@pytest.mark.parametrize("retention", [0.05, 0.5, 0.95, 1.0])
def test_likeliest_is_where_expectation_maximisation_ends(retention: float) -> None:
    chance = np.random.default_rng(1)
    for counts in ([60, 30, 10, 0], [0, 0, 0, 5], [1, 1, 1, 1], chance.integers(0, 40, 4)):
        shown = np.asarray(counts, np.float64)
        matrix = retention * np.eye(4) + (1 - retention) / 4
        share = np.full(4, 0.25)
        for _ in range(6_000):
            share = share * (matrix.T @ (shown / shown.sum() / np.maximum(matrix @ share, 1e-300)))
        found = likeliest(shown, retention=retention)
        assert found == pytest.approx(share * shown.sum(), abs=0.05 * shown.sum() / 100 + 1e-3)


def test_the_variance_is_that_of_two_binomials() -> None:
    """With the true count in place of its estimate: k a(1 − a) + (n − k) b(1 − b), over p²."""
    p, m, k, n = 0.3, 7, 20, 90
    a, b = p + (1 - p) / m, (1 - p) / m
    assert variance([k], [n], retention=p, n_values=m)[0] == pytest.approx(
        (k * a * (1 - a) + (n - k) * b * (1 - b)) / p**2
    )
    assert invert(k * a + (n - k) * b, n, retention=p, n_values=m) == pytest.approx(k)


def test_buckets_match_at_random() -> None:
    """All ways to match two rows with the values a, b, b of a bucket: 2/3 of a row is matched with a."""
    found = Bucketed(1, np.array([0]), np.array([0]), np.array([2]), csr_array([[1, 2]]))
    assert found.chosen(np.array([0]))[0] == pytest.approx(2 / 3)
    assert found.each(consistent=True)[0][0] == pytest.approx([2 / 3, 4 / 3])
