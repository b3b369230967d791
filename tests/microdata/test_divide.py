"""Which records go to which sub-table: prescribed numbers, random records."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from showthrough.errors import RecordsError
from showthrough.microdata import groups as blocks
from showthrough.microdata import partitioned as divide
from showthrough.microdata.groups import Groups
from showthrough.microdata.partition import partition
from showthrough.microdata.partitioned import Allotter, divide_counts, perturb_partition
from showthrough.microdata.promises import RhoPrivacy

CHANCE = 1e-6


def groups() -> Groups:
    """The worked example of the paper, ten times, spread over 60 groups."""
    totals = [120, 80, 60, 50, 40, 30, 10, 10, 10, 10]
    counts = np.random.default_rng(5).multinomial(totals, np.full(60, 1 / 60)).T
    return Groups.of({"g": list(range(60))}, {"v": list("abcdefghij")}, counts)


@pytest.mark.parametrize("cells", [10, 100, 2**18])
def test_sub_tables_have_the_prescribed_numbers(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "CELLS", cells)
    plan = partition(groups().totals, RhoPrivacy(1 / 3, 2 / 3))
    tables = divide.divide(groups(), plan, seed=3)
    assert [table.totals.tolist() for table in tables] == plan.allotment.tolist()
    assert (sum(table.counts for table in tables) != groups().counts).nnz == 0


def test_published_values_stay_in_their_domain() -> None:
    plan = partition(groups().totals, RhoPrivacy(1 / 3, 2 / 3))
    tables = perturb_partition(groups(), plan, seed=3)
    assert len(tables) > 1
    for table, domain, size in zip(tables, plan.domains, plan.sizes, strict=True):
        assert set(np.flatnonzero(table.totals)) <= set(domain.tolist())
        assert table.records == size


def test_every_assignment_is_equally_likely() -> None:
    """Three records of a value in two groups, two tables: all of 3 choices; χ², failure probability 1e-6."""
    counts, taken = csr_array([[2], [1]]), np.array([[1], [2]])
    labels = list(permutations([0, 1, 1]))
    expected = Counter((sum(one == 0 for one in way[:2]), int(way[2] == 0)) for way in labels)
    times = 6000
    chance = np.random.default_rng(1)
    found = Counter(
        tuple(divide_counts(counts, taken, chance=chance)[0].toarray().ravel().tolist()) for _ in range(times)
    )
    observed = [found[key] for key in expected]
    assert sum(observed) == times
    assert stats.chisquare(observed, [times * n / 6 for n in expected.values()]).pvalue > CHANCE


def test_large_counts_are_drawn_like_small_ones() -> None:
    """By shuffled labels and by hypergeometric numbers: means and variances agree with theory."""
    counts, sizes = np.array([400, 50, 150]), np.array([200, 400])
    chance = np.random.default_rng(2)
    drawn = np.array([divide._assign(counts, sizes, chance)[0] for _ in range(4000)])
    share = counts / 600
    spread = 200 * share * (1 - share) * (600 - 200) / 599
    # Six standard errors of a mean; the failure probability is under 1e-8.
    assert (np.abs(drawn.mean(axis=0) - 200 * share) < 6 * np.sqrt(spread / 4000)).all()
    assert drawn.var(axis=0) == pytest.approx(spread, rel=0.15)


def test_blocks_share_the_allotment_out() -> None:
    allotter = Allotter.of([[3, 1], [2, 0]], seed=1)
    first = allotter.take([4, 0])
    rest = allotter.take([1, 1])
    assert (first + rest).tolist() == [[3, 1], [2, 0]]
    assert first.sum(axis=0).tolist() == [4, 0]


def test_too_many_records() -> None:
    with pytest.raises(RecordsError, match=r"too many records .*found '2,000,000,000'"):
        Allotter.of([[10**9], [10**9]], seed=1).take([7])
