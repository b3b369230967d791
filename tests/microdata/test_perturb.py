"""Perturbing by counts has exactly the distribution of perturbing row by row."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse import csr_array

from showthrough.errors import InputError, RecordsError
from showthrough.microdata import groups as blocks
from showthrough.microdata.groups import Groups
from showthrough.microdata.uniform import Cells, perturb, perturb_counts

#: A test of statistics fails by chance with this probability, if it were run with another seed.
CHANCE = 1e-6


def repeated(counts: list[int], times: int) -> Groups:
    """Groups that are all alike, so that one call draws many times."""
    return Groups.of({"g": list(range(times))}, {"v": list(range(len(counts)))}, np.tile(counts, (times, 1)))


def exact(values: list[int], retention: float, n_values: int) -> dict[tuple[int, ...], float]:
    """The chance of every vector of published counts, record by record."""
    chances: Counter[tuple[int, ...]] = Counter()
    for shown in product(range(n_values), repeat=len(values)):
        chance = 1.0
        for own, other in zip(values, shown, strict=True):
            chance *= (1 - retention) / n_values + retention * (own == other)
        chances[tuple(np.bincount(shown, minlength=n_values).tolist())] += chance
    return dict(chances)


@pytest.mark.parametrize("retention", [0.2, 0.7])
def test_against_all_outcomes_of_a_tiny_group(retention: float) -> None:
    """χ² with a failure probability of 1e-6."""
    times = 40_000
    drawn = perturb(repeated([2, 0, 1], times), retention, seed=1).counts.toarray()
    found = Counter(map(tuple, drawn.tolist()))
    expected = exact([0, 0, 2], retention, 3)
    assert set(found) <= set(expected)
    observed = [found[key] for key in expected]
    assert stats.chisquare(observed, [times * p for p in expected.values()]).pvalue > CHANCE


def test_against_row_by_row_in_a_large_group() -> None:
    """Many records, so that cells are drawn by multinomials: χ² of two samples, failure probability 1e-6."""
    counts, retention, times = np.array([60, 25, 0, 10]), 0.4, 3000
    by_counts = perturb(repeated(counts.tolist(), times), retention, seed=2).counts.toarray()
    chance = np.random.default_rng(3)
    own = np.tile(np.repeat(np.arange(4), counts), (times, 1))
    shown = np.where(chance.random(own.shape) < retention, own, chance.integers(0, 4, own.shape))
    by_rows = np.stack([(shown == value).sum(axis=1) for value in range(4)], axis=1)
    for value in range(4):
        edges = np.quantile(by_rows[:, value], np.linspace(0, 1, 9)[1:-1])
        table = [
            np.bincount(np.searchsorted(edges, one[:, value]), minlength=8) for one in (by_counts, by_rows)
        ]
        assert stats.chi2_contingency(np.array(table)).pvalue > CHANCE
    assert np.abs(np.cov(by_counts.T) - np.cov(by_rows.T)).max() < 3


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=6),
    st.floats(0.01, 0.99),
    st.integers(0, 2**70),
)
def test_sizes_stay(counts: list[list[int]], retention: float, seed: int) -> None:
    drawn = perturb_counts(csr_array(counts), retention, chance=np.random.default_rng(seed))
    assert drawn.count.min(initial=1) > 0
    assert drawn.matrix((len(counts), 3)).sum(axis=1).tolist() == [sum(row) for row in counts]


def test_only_data_and_seed_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = repeated([5, 4, 3], 50)
    one, again, other = (perturb(groups, 0.5, seed=seed).counts.toarray() for seed in (8, 8, 9))
    assert (one == again).all()
    assert (one != other).any()
    monkeypatch.setattr(blocks, "CELLS", 30)
    assert perturb(groups, 0.5, seed=8).sizes.tolist() == [12] * 50


def test_pairs_that_occur_more_than_once_are_added_up() -> None:
    cells = Cells(np.array([0, 2, 0, 0]), np.array([1, 0, 1, 0]), np.array([2, 5, 3, 4]))
    matrix = cells.matrix((3, 2))
    assert matrix.toarray().tolist() == [[4, 5], [0, 0], [5, 0]]
    assert matrix.nnz == 3


def test_ten_thousand_values() -> None:
    counts = csr_array(([3, 900_000, 1], ([0, 1, 1], [9999, 0, 7])), shape=(3, 10_000))
    groups = Groups.of({"g": [1, 2, 3]}, {"v": list(range(10_000))}, np.zeros((3, 10_000))).with_counts(
        [counts]
    )
    drawn = perturb(groups, 0.5, seed=1)
    assert drawn.sizes.tolist() == [3, 900_001, 0]
    # 45 redrawn records for each value on average; 20 standard deviations.
    assert drawn.counts[[1], 1:].toarray().max() < 45 + 20 * 45**0.5


@pytest.mark.parametrize("retention", [0, 1, -0.1, 1.5, float("nan")])
def test_a_retention_lies_between_0_and_1(retention: float) -> None:
    with pytest.raises(InputError, match="a retention must be between 0 and 1"):
        perturb(repeated([1, 1], 1), retention, seed=1)


def test_bad_input() -> None:
    with pytest.raises(RecordsError, match="at least two values"):
        perturb(repeated([4], 1), 0.5, seed=1)
    for seed in (-1, 1.5, None, True):
        with pytest.raises(InputError, match="a seed must be a whole number of at least 0"):
            perturb(repeated([4, 1], 1), 0.5, seed=seed)  # pyright: ignore[reportArgumentType]
