"""Which records go to which sub-table: each draws it, or, with known totals, the numbers are prescribed."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from needs import SLOW
from showthrough.errors import RecordsError
from showthrough.microdata import groups as blocks
from showthrough.microdata import partitioned as divide
from showthrough.microdata.groups import Groups
from showthrough.microdata.partition import partition
from showthrough.microdata.partitioned import Allotter, Sorter, divide_exactly, perturb_partition
from showthrough.microdata.promises import RhoPrivacy

CHANCE = 1e-6
THIRDS = RhoPrivacy(1 / 3, 2 / 3)
KNOWN = RhoPrivacy(1 / 3, 2 / 3, known_totals=True)


def groups() -> Groups:
    """The worked example of the paper, ten times, spread over 60 groups."""
    totals = [120, 80, 60, 50, 40, 30, 10, 10, 10, 10]
    counts = np.random.default_rng(5).multinomial(totals, np.full(60, 1 / 60)).T
    return Groups.of({"g": list(range(60))}, {"v": list("abcdefghij")}, counts)


@pytest.mark.parametrize("cells", [10, 100, 2**18])
@pytest.mark.parametrize("promise", [THIRDS, KNOWN])
def test_every_record_goes_to_one_sub_table(
    cells: int, promise: RhoPrivacy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With known totals as many of each value as prescribed; otherwise the sizes are random."""
    monkeypatch.setattr(blocks, "CELLS", cells)
    plan = partition(groups().totals, promise)
    tables = divide.divide(groups(), plan, seed=3)
    assert (sum(table.counts for table in tables) != groups().counts).nnz == 0
    found = [table.totals.tolist() for table in tables]
    assert (found == plan.allotment.tolist()) == promise.known_totals
    for table, domain in zip(tables, plan.domains, strict=True):
        assert set(np.flatnonzero(table.totals)) <= set(domain.tolist())


def test_published_values_stay_in_their_domain() -> None:
    plan = partition(groups().totals, THIRDS)
    tables = perturb_partition(groups(), plan, seed=3)
    assert len(tables) > 1
    assert sum(table.records for table in tables) == groups().records
    for table, domain in zip(tables, plan.domains, strict=True):
        assert set(np.flatnonzero(table.totals)) <= set(domain.tolist())


def test_records_draw_their_sub_tables_independently() -> None:
    """Cells of one, three and many records: every number is binomial; χ², failure probability 1e-6 each."""
    allotment = np.array([[3, 0, 5], [1, 4, 5], [0, 4, 90]])
    shares = allotment / allotment.sum(axis=0)
    sorter, chance, times = Sorter.of(allotment), np.random.default_rng(1), 4000
    # The same cell is drawn many times: as many groups with the same counts.
    for count in (1, 3, 40):
        for value in range(3):
            cells = np.zeros((times, 3), np.int64)
            cells[:, value] = count
            drawn = np.stack(
                [table.toarray()[:, value] for table in sorter.divide(csr_array(cells), chance=chance)]
            )
            assert (drawn.sum(axis=0) == count).all()
            for table, share in enumerate(shares[:, value]):
                if share in (0, 1):
                    assert (drawn[table] == share * count).all()
                    continue
                numbers = np.arange(count + 1)
                expected = times * stats.binom.pmf(numbers, count, share)
                seen = np.bincount(drawn[table], minlength=count + 1)
                usual = expected >= 5
                observed = [*seen[usual], seen[~usual].sum()]
                likely = [*expected[usual], expected[~usual].sum()]
                if likely[-1] < 5:
                    observed, likely = observed[:-1], likely[:-1]
                likely = np.array(likely) * sum(observed) / sum(likely)
                assert stats.chisquare(observed, likely).pvalue > CHANCE


def test_sub_table_sizes_are_random() -> None:
    """They were exact sums of totals; now they vary like independent draws (six standard errors)."""
    plan, times = partition(groups().totals, THIRDS), 400 if SLOW else 200
    sizes = np.array(
        [[table.records for table in divide.divide(groups(), plan, seed=at)] for at in range(times)]
    )
    shares = plan.allotment / plan.allotment.sum(axis=0)
    spread = (plan.allotment.sum(axis=0) * shares * (1 - shares)).sum(axis=1)
    assert (np.abs(sizes.mean(axis=0) - plan.sizes) < 6 * np.sqrt(spread / times) + 1e-9).all()
    assert sizes.var(axis=0) == pytest.approx(spread, rel=0.45)
    # What stays exact: the size of a sub-table whose values are in no other.
    alone = Sorter.of([[5, 0, 0], [0, 3, 4]]).divide(csr_array([[5, 3, 4]]), chance=np.random.default_rng(1))
    assert [table.sum() for table in alone] == [5, 7]


def test_every_prescribed_assignment_is_equally_likely() -> None:
    """Three records of a value in two groups, two tables: all of 3 choices; χ², failure probability 1e-6."""
    counts, taken = csr_array([[2], [1]]), np.array([[1], [2]])
    labels = list(permutations([0, 1, 1]))
    expected = Counter((sum(one == 0 for one in way[:2]), int(way[2] == 0)) for way in labels)
    times = 6000 if SLOW else 2400
    chance = np.random.default_rng(1)
    found = Counter(
        tuple(divide_exactly(counts, taken, chance=chance)[0].toarray().ravel().tolist())
        for _ in range(times)
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
    many = Sorter.of([[10**9], [10**9]]).divide(csr_array([[2 * 10**9]]), chance=np.random.default_rng(1))
    assert sum(int(table.sum()) for table in many) == 2 * 10**9
