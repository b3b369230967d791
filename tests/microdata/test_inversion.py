"""Estimates and their variances, against all outcomes of tiny groups in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.sparse import csr_array

from showthrough.microdata.estimation import Bucketed, Perturbed, invert, likeliest, variance
from showthrough.microdata.plan import SubTable

#: Sub-tables of tiny groups: the true values of their records, the retention, the domain.
GROUPS = [
    ((0, 0, 1), Fraction(1, 4), (0, 1, 2)),
    ((2, 1), Fraction(4, 5), (0, 1, 2, 3)),
    ((1,), Fraction(1, 2), (1, 3)),
]


def moments(numbers: Iterable[tuple[Fraction, Fraction]]) -> tuple[float, float]:
    """The mean and the variance of numbers with their chances."""
    pairs = list(numbers)
    assert sum(chance for _, chance in pairs) == 1
    mean = sum(number * chance for number, chance in pairs)
    return float(mean), float(sum((number - mean) ** 2 * chance for number, chance in pairs))


def outcomes(
    true: Sequence[int], retention: Fraction, domain: Sequence[int]
) -> list[tuple[tuple[int, ...], Fraction]]:
    """Everything the records may show, with its chance."""
    stray = (1 - retention) / len(domain)
    found: list[tuple[tuple[int, ...], Fraction]] = []
    for shown in product(domain, repeat=len(true)):
        chance = Fraction(1)
        for own, seen in zip(true, shown, strict=True):
            chance *= stray + retention * (own == seen)
        found.append((shown, chance))
    return found


def subsets(values: Sequence[int]) -> list[tuple[int, ...]]:
    return [chosen for size in range(len(values) + 1) for chosen in combinations(values, size)]


class TestPerturbedRecords:
    @pytest.mark.parametrize(("true", "retention", "domain"), GROUPS)
    def test_estimates_have_the_true_mean_and_the_stated_variance(
        self, true: tuple[int, ...], retention: Fraction, domain: tuple[int, ...]
    ) -> None:
        p, m, n = float(retention), len(domain), len(true)
        for chosen in subsets(domain):
            truth = sum(value in chosen for value in true)
            known = {"retention": p, "n_values": m, "n_chosen": len(chosen)}
            estimates = [
                (Fraction(invert(sum(v in chosen for v in shown), n, **known).item()), chance)
                for shown, chance in outcomes(true, retention, domain)
            ]
            mean, spread = moments(estimates)
            assert mean == pytest.approx(truth, abs=1e-12)
            assert variance([truth], [n], **known) == pytest.approx([spread], abs=1e-12)

    def test_one_value_is_chosen_unless_told(self) -> None:
        assert invert(60, 100, retention=0.5, n_values=4) == pytest.approx((60 - 100 / 8) / 0.5)
        one = variance([30], [100], retention=0.5, n_values=4, n_chosen=1)
        assert variance([30], [100], retention=0.5, n_values=4) == pytest.approx(one)

    def test_several_units_are_added_up_in_their_sums(self) -> None:
        """Sums 0, 2 and 0 of units that are perturbed differently; there is nothing in sum 1."""
        units = [([3.0, 9], [5, 20], 0.3, 4), ([2.0], [2], 0.7, 2)]
        alone = [
            [float(variance([f], [n], retention=p, n_values=m)[0]) for f, n in zip(fs, ns, strict=True)]
            for fs, ns, p, m in units
        ]
        known = {"retention": [0.3, 0.7, 0.3], "n_values": [4, 2, 4]}
        expected = [sum(alone[0]), 0, alone[1][0], 0]
        found = variance([3.0, 2, 9], [5, 2, 20], **known, within=[0, 2, 0], n_sums=4)
        assert found == pytest.approx(expected)
        assert variance([3.0, 2, 9], [5, 2, 20], **known, within=[0, 2, 0]) == pytest.approx(expected[:3])
        assert variance([3.0, 2, 9], [5, 2, 20], **known) == pytest.approx([sum(map(sum, alone))])

    def test_a_sum_of_nothing(self) -> None:
        assert variance([], [], retention=0.5, n_values=2).tolist() == [0]
        none = variance([], [], retention=0.5, n_values=2, within=np.zeros(0, np.int64), n_sums=3)
        assert none.tolist() == [0, 0, 0]

    def test_only_a_sum_is_kept_within_its_bounds(self) -> None:
        """With p = ½ and m = 4 records count 5/8·3/8 with the value and 1/8·7/8 without, times 4."""
        with_, without = 4 * 15 / 64, 4 * 7 / 64
        known = {"retention": 0.5, "n_values": 4}
        assert variance([-6.0], [10], **known) == pytest.approx([10 * without])
        assert variance([16.0], [10], **known) == pytest.approx([10 * with_])
        assert variance([-2.0, 8], [10, 10], **known) == pytest.approx([6 * with_ + 14 * without])
        assert variance([-2.0, 1], [10, 10], **known) == pytest.approx([20 * without])
        # With five of six values chosen it is the other way round: 11/12·1/12 and 5/12·7/12.
        most = {"retention": 0.5, "n_values": 6, "n_chosen": 5}
        assert variance([-6.0], [10], **most) == pytest.approx([10 * 4 * 35 / 144])
        assert variance([16.0], [10], **most) == pytest.approx([10 * 4 * 11 / 144])

    def test_no_variance_is_negative(self) -> None:
        """With every value chosen nothing is left to chance, but p + m (1 − p)/m may be 1 + 2⁻⁵²."""
        p = np.linspace(0.01, 0.99, 99)
        for m in (2, 3, 7, 10):
            found = variance(
                np.full(99, 5), np.full(99, 5), retention=p, n_values=m, n_chosen=m, within=range(99)
            )
            assert found.min() >= 0
            assert found.max() < 1e-10

    def test_copies_of_a_trial_vary_together(self) -> None:
        """Two trials, published three times each: all outcomes, and the rounding that is allowed for."""
        p, domain = Fraction(1, 4), (0, 1, 2)
        for chosen in ((0,), (0, 1), (1, 2)):
            s = len(chosen)
            drawn = [
                (3 * sum(Fraction(v in chosen) for v in shown) / p, chance)
                for shown, chance in outcomes((0, 1), p, domain)
            ]
            truth = 3 * sum(v in chosen for v in (0, 1))
            known = {"retention": 0.25, "n_values": 3, "n_chosen": s}
            rounding = 0.25 * (9 + 16)  # of one value, or of the one that is not chosen
            assert variance([truth], [6], **known, copies=3) == pytest.approx([moments(drawn)[1] + rounding])
            assert variance([truth], [6], **known, copies=1) == pytest.approx([moments(drawn)[1] / 3])

    @pytest.mark.parametrize(("n_chosen", "n_rounded"), [(0, 0), (1, 1), (2, 2), (3, 1), (4, 0)])
    def test_as_many_values_are_rounded_as_are_chosen_or_not(self, n_chosen: int, n_rounded: int) -> None:
        known = {"retention": 0.5, "n_values": 4, "n_chosen": n_chosen}
        one, two = (float(variance([3], [8], **known, copies=c)[0]) for c in (1, 2))
        assert two - 2 * one == pytest.approx(n_rounded / 4 * (4 + 4), abs=1e-12)


class TestLikeliest:
    @pytest.mark.parametrize("retention", [0.2, 0.5, 0.9])
    @pytest.mark.parametrize("n_values", [None, 5])
    def test_no_other_numbers_are_likelier(self, retention: float, n_values: int | None) -> None:
        """All ways to write 12 as a sum of three numbers, in steps of ¼."""
        stray = (1 - retention) / (n_values or 3)
        for shown in ([9, 2, 1], [4, 4, 4], [0, 12, 0], [5, 0, 7], [1, 6, 5]):
            found = likeliest(shown, retention=retention, n_values=n_values)
            assert found.sum() == pytest.approx(12)
            assert found.min() >= 0
            others = np.array([[a, b, 48 - a - b] for a in range(49) for b in range(49 - a)]) / 4
            with np.errstate(divide="ignore"):
                scores = np.log(retention * np.vstack([found, others]) / 12 + stray) @ np.array(shown)
            assert scores[0] >= scores.max() - 1e-9

    def test_every_row_for_itself(self) -> None:
        rows = np.array([[60, 30, 10, 0], [0, 0, 0, 0], [1, 2, 3, 4], [0, 0, 0, 7]])
        found = likeliest(rows, retention=0.5)
        assert found.shape == (4, 4)
        assert found[0].tolist() == [75, 25, 0, 0]
        assert found[1].tolist() == [0, 0, 0, 0]
        assert found[3].tolist() == [0, 0, 0, 7]
        for row, alone in zip(found, rows, strict=True):
            assert likeliest(alone, retention=0.5).tolist() == row.tolist()


#: Two sub-tables, five units in the cells 0, 2 and 3 of five; cell 1 and the last one are empty.
TABLES = (SubTable(0.25, (0, 1, 2)), SubTable(0.5, (1, 3)))
UNITS = Perturbed(
    n_cells=5,
    cell=np.array([0, 2, 0, 2, 3]),
    table=np.array([0, 0, 1, 1, 1]),
    copies=np.array([1.0, 2.0, 1.0, 1.0, 4.0]),
    counts=csr_array([[5, 2, 1, 0], [4, 0, 4, 0], [0, 3, 0, 2], [0, 1, 0, 6], [0, 0, 0, 8]]),
    tables=TABLES,
)


def plain_units() -> list[tuple[int, SubTable, float, list[int]]]:
    columns = (
        UNITS.cell.tolist(),
        UNITS.table.tolist(),
        UNITS.copies.tolist(),
        UNITS.counts.toarray().tolist(),
    )
    return [(cell, TABLES[at], copies, counts) for cell, at, copies, counts in zip(*columns, strict=True)]


def plain_estimates(chosen: Sequence[int]) -> list[list[tuple[float, float]]]:
    """For every cell the estimate and the variance of each of its units."""
    found: list[list[tuple[float, float]]] = [[] for _ in range(5)]
    for cell, table, copies, counts in plain_units():
        n, s = sum(counts), len(set(chosen) & set(table.values))
        known = {"retention": table.retention, "n_values": table.n_values, "n_chosen": s}
        estimate = invert(sum(counts[v] for v in chosen), n, **known).item()
        found[cell].append((estimate, variance([estimate], [n], **known, copies=copies).item()))
    return found


class TestUnits:
    def test_records(self) -> None:
        assert UNITS.sizes.tolist() == [8, 8, 5, 7, 8]
        assert UNITS.records.tolist() == [13, 0, 15, 8, 0]

    @pytest.mark.parametrize("chosen", subsets(range(4)))
    def test_some_values(self, chosen: tuple[int, ...]) -> None:
        """Cells of one unit: estimates are bounded by sum, so others may be a little smaller."""
        value, spread = UNITS.chosen(np.array(chosen, np.int64))
        expected = plain_estimates(chosen)
        assert value == pytest.approx([sum(f for f, _ in cell) for cell in expected])
        assert spread[[1, 3, 4]] == pytest.approx([sum(v for _, v in expected[at]) for at in (1, 3, 4)])
        for at in (0, 2):
            units = [(table, copies, counts) for cell, table, copies, counts in plain_units() if cell == at]
            sizes = np.array([sum(counts) for _, _, counts in units])
            together = variance(
                [f for f, _ in expected[at]],
                sizes,
                retention=[table.retention for table, _, _ in units],
                n_values=[table.n_values for table, _, _ in units],
                n_chosen=[len(set(chosen) & set(table.values)) for table, _, _ in units],
                copies=[copies for _, copies, _ in units],
            )
            assert spread[at] == pytest.approx(together.item(), abs=1e-12)

    def test_all_values_are_no_estimate(self) -> None:
        value, spread = UNITS.chosen(np.arange(4))
        assert value.tolist() == UNITS.records.tolist()
        assert spread.tolist() == [0] * 5
        # Whatever rounding says: (O − n m (1 − p)/m)/p is not always n.
        for p in np.linspace(0.01, 0.99, 50).tolist():
            rounded = replace(UNITS, tables=(SubTable(p, (0, 1, 2)), SubTable(1 - p, (1, 3))))
            value, spread = rounded.chosen(np.arange(4))
            assert value.tolist() == UNITS.records.tolist()
            assert spread.tolist() == [0] * 5
        # All of the second sub-table, so that of it nothing is left to chance; cell 3 has no other.
        value, spread = UNITS.chosen(np.array([1, 3]))
        assert value[3] == 8
        assert spread[3] == 0
        assert min(spread[0], spread[2]) > 0

    def test_each_value(self) -> None:
        value, spread = UNITS.each(consistent=False)
        for column in range(4):
            expected = np.zeros((5, 2))
            for cell, table, copies, counts in plain_units():
                if column in table.values:
                    known = {"retention": table.retention, "n_values": table.n_values}
                    estimate = invert(counts[column], sum(counts), **known).item()
                    one = variance([estimate], [sum(counts)], **known, copies=copies).item()
                    expected[cell] += estimate, one
            assert value[:, column] == pytest.approx(expected[:, 0])
            assert spread[:, column] == pytest.approx(expected[:, 1])

    def test_the_likeliest_of_each_value(self) -> None:
        value, spread = UNITS.each(consistent=True)
        expected = np.zeros((5, 4))
        for table in TABLES:
            for at in range(5):
                units = [counts for cell, its, _, counts in plain_units() if cell == at and its is table]
                together = np.array(units, np.int64).reshape(-1, 4).sum(axis=0)[list(table.values)]
                expected[at, list(table.values)] += likeliest(together, retention=table.retention)
        assert value == pytest.approx(expected)
        assert value.sum(axis=1) == pytest.approx(UNITS.records)
        assert spread == pytest.approx(UNITS.each(consistent=False)[1])


#: The values of four buckets, and cell, bucket and number of their rows; cells 1 and 4 are empty.
BUCKETS = ((0, 1, 1, 3), (2, 2, 0), (3,), (0, 2))
ROWS = [(0, 0, 3), (2, 0, 1), (0, 1, 1), (3, 1, 2), (2, 2, 1), (2, 3, 1), (3, 3, 1)]
BUCKETED = Bucketed(
    n_cells=5,
    cell=np.array([cell for cell, _, _ in ROWS]),
    bucket=np.array([bucket for _, bucket, _ in ROWS]),
    rows=np.array([rows for _, _, rows in ROWS]),
    counts=csr_array([np.bincount(values, minlength=4) for values in BUCKETS]),
)


def matchings(chosen: Sequence[int]) -> list[tuple[float, int, int]]:
    """For every cell the mean, the least and the most over all ways to match rows with values."""
    found = [(0.0, 0, 0) for _ in range(5)]
    for cell, bucket, rows in ROWS:
        ways = list(permutations(BUCKETS[bucket]))
        numbers = [sum(value in chosen for value in way[:rows]) for way in ways]
        mean, least, most = found[cell]
        found[cell] = mean + sum(numbers) / len(ways), least + min(numbers), most + max(numbers)
    return found


class TestBuckets:
    def test_records(self) -> None:
        assert BUCKETED.records.tolist() == [4, 0, 3, 3, 0]

    @pytest.mark.parametrize("chosen", subsets(range(4)))
    def test_some_values(self, chosen: tuple[int, ...]) -> None:
        value, spread = BUCKETED.chosen(np.array(chosen, np.int64))
        low, high = BUCKETED.ends(np.array(chosen, np.int64), 0.5)
        expected = matchings(chosen)
        assert value == pytest.approx([mean for mean, _, _ in expected])
        assert low.tolist() == [least for _, least, _ in expected]
        assert high.tolist() == [most for _, _, most in expected]
        assert np.isnan(spread).all()

    @pytest.mark.parametrize("consistent", [False, True])
    def test_each_value(self, consistent: bool) -> None:
        value, spread = BUCKETED.each(consistent=consistent)
        low, high = BUCKETED.each_ends(0.5)
        for column in range(4):
            expected = matchings([column])
            assert value[:, column] == pytest.approx([mean for mean, _, _ in expected])
            assert low[:, column].tolist() == [least for _, least, _ in expected]
            assert high[:, column].tolist() == [most for _, _, most in expected]
        assert np.isnan(spread).all()
