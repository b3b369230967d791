"""Binned densities against plain loops over the bins, and what is refused in which words."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from showthrough.errors import InputError
from showthrough.numbers.density import Distribution, Grid

#: Edges and masses, in quarters and eighths, so that all sums are exact.
SHAPES: list[tuple[list[float], list[float]]] = [
    ([0, 1], [1]),
    ([-2, -1, 0.5, 3], [0.25, 0.5, 0.25]),
    ([0, 1, 2, 4, 5], [0, 0.375, 0, 0.625]),
    ([1, 1.5, 2, 6, 7, 8], [0.125, 0, 0.5, 0.375, 0]),
    ([-8, -4, -3], [0.75, 0.25]),
]


def plain_share(edges: list[float], mass: list[float], x: float) -> Fraction:
    """The probability of at most x, bin by bin."""
    total = Fraction(0)
    for low, high, m in zip(edges, edges[1:], mass, strict=False):
        part = (Fraction(x) - Fraction(low)) / (Fraction(high) - Fraction(low))
        total += Fraction(m) * min(max(part, Fraction(0)), Fraction(1))
    return total


def plain_density(edges: list[float], mass: list[float], x: float) -> float:
    """The density; at an edge that of the bin above, at the upper end that of the last bin."""
    for low, high, m in zip(edges, edges[1:], mass, strict=False):
        if low <= x < high:
            return m / (high - low)
    return mass[-1] / (edges[-1] - edges[-2]) if x == edges[-1] else 0.0


@pytest.mark.parametrize(("edges", "mass"), SHAPES, ids=str)
class TestShapes:
    def test_probabilities_and_densities(self, edges: list[float], mass: list[float]) -> None:
        one = Distribution(np.array(edges), np.array(mass))
        at = np.arange(-40, 40) / 4
        assert one.cumulative(at).tolist() == pytest.approx([float(plain_share(edges, mass, x)) for x in at])
        assert one.density(at).tolist() == pytest.approx([plain_density(edges, mass, x) for x in at])
        assert one.widths.tolist() == [high - low for low, high in pairwise(edges)]
        assert one.midpoints.tolist() == [(high + low) / 2 for low, high in pairwise(edges)]

    def test_quantiles_are_the_least_values_with_as_much_below(
        self, edges: list[float], mass: list[float]
    ) -> None:
        one = Distribution(np.array(edges), np.array(mass))
        for share in (0, 0.0625, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 0.9375, 1):
            found = one.quantile(share)
            assert float(plain_share(edges, mass, found)) == pytest.approx(share)
            if share > 0:
                assert plain_share(edges, mass, found - 0.001) < share
            else:  # where there is anything at all
                assert plain_share(edges, mass, found + 0.001) > 0
                assert plain_share(edges, mass, found) == 0
        assert one.quantiles([[0.25, 0.5], [0.75, 1]]).tolist() == [
            [one.quantile(0.25), one.quantile(0.5)],
            [one.quantile(0.75), one.quantile(1)],
        ]
        assert one.interval(0.5) == (one.quantile(0.25), one.quantile(0.75))
        assert one.interval(0.75) == (one.quantile(0.125), one.quantile(0.875))

    def test_moments(self, edges: list[float], mass: list[float]) -> None:
        """∫x f and ∫(x − mean)² f, of even bins: mean of squares is (a² + ab + b²)/3."""
        one = Distribution(np.array(edges), np.array(mass))
        bins = list(zip(edges, edges[1:], mass, strict=False))
        mean = sum(m * (a + b) / 2 for a, b, m in bins)
        square = sum(m * (a * a + a * b + b * b) / 3 for a, b, m in bins)
        assert one.mean == pytest.approx(mean)
        assert one.variance == pytest.approx(square - mean**2)

    def test_as_a_table(self, edges: list[float], mass: list[float]) -> None:
        rows = Distribution(np.array(edges), np.array(mass)).to_arrow().to_pylist()
        assert rows == [
            {"low": a, "high": b, "mass": m, "density": m / (b - a)}
            for a, b, m in zip(edges, edges[1:], mass, strict=False)
        ]

    def test_draws_are_quantiles(self, edges: list[float], mass: list[float]) -> None:
        one = Distribution(np.array(edges), np.array(mass))
        drawn = one.sample(5, seed=3)
        assert drawn.tolist() == one.quantiles(np.random.default_rng(3).uniform(size=5)).tolist()
        assert one.sample(5, seed=np.random.default_rng(3)).tolist() == drawn.tolist()


def test_masses_are_scaled_and_nothing_can_be_changed() -> None:
    edges, mass = np.array([0.0, 1.0, 3.0]), np.array([3.0, 1.0])
    one = Distribution(edges, mass)
    assert one.mass.tolist() == [0.75, 0.25]
    mass[0], edges[0] = 9, -9
    assert (one.mass[0], one.edges[0]) == (0.75, 0)
    for array in (one.mass, one.edges):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


def test_rounding_of_many_bins_leaves_the_last_share_at_one() -> None:
    """Ten times 0.1 is less than 1, so the sums are divided by the last of them."""
    for n in (3, 7, 10, 49, 1000):
        one = Distribution(np.arange(n + 1.0), np.full(n, 0.1))
        assert one.cumulative(float(n)) == 1
        assert one.cumulative(n + 5.0) == 1
        assert one.quantile(1) == pytest.approx(n)
        assert one.cumulative(1.0) == pytest.approx(1 / n)


def test_no_quantile_lies_beyond_its_bin() -> None:
    """The bin in the middle has 5.6e-17 of the mass; the shares rise by twice that, by rounding."""
    odd = Distribution([0, 1, 2, 3], [0.75, 5.6e-17, 0.25])
    assert odd.quantile(math.nextafter(0.75, 1)) == 2
    thirds = Distribution(np.arange(50.0), np.full(49, 1 / 3))
    assert (thirds.quantiles(thirds.cumulative(thirds.edges)) <= thirds.edges).all()


def test_as_text() -> None:
    one = Distribution(np.linspace(-3, 2.5, 2001), np.ones(2000))
    assert repr(one) == "Distribution(2,000 bins from -3 to 2.5, mean -0.25, sd 1.588)"


def test_a_grid_by_hand() -> None:
    grid = Grid(1, 2, 3)
    assert (grid.edges.tolist(), grid.midpoints.tolist(), grid.high) == ([1, 3, 5, 7], [2, 4, 6], 7)
    assert grid.edges.dtype == grid.midpoints.dtype == np.float64


class TestHistograms:
    def test_bins_beyond_the_grid_only_where_something_lies(self) -> None:
        grid = Grid(0.0, 1.0, 2)
        assert Distribution.of([0.0, 0.5, 2.0], grid).edges.tolist() == [0, 1, 2]
        assert Distribution.of([-1.0, 0.5], grid).edges.tolist() == [-1, 0, 1, 2]
        assert Distribution.of([0.5, 3.0], grid).edges.tolist() == [0, 1, 2, 3]
        both = Distribution.of([[-1.0, 0.5], [3.0, 3.0]], grid, weights=[[1, 2], [3, 2]])
        assert both.edges.tolist() == [-1, 0, 1, 2, 3]
        assert both.mass.tolist() == [0.125, 0.25, 0, 0.625]

    @pytest.mark.parametrize(("value", "reach"), [(5.0, 5e-9), (-4.0, 4e-9), (0.0, 1e-9), (1e9, 1.0)])
    def test_a_single_value_is_as_good_as_a_point(self, value: float, reach: float) -> None:
        one = Distribution.of([value] * 3)
        assert one.edges == pytest.approx([value - reach, value + reach], rel=1e-15)
        assert one.mass.tolist() == [1]

    def test_bins_of_its_own_choice(self) -> None:
        values = np.random.default_rng(1).normal(size=500)
        one = Distribution.of(values)
        counts, edges = np.histogram(values, "auto")
        assert one.edges == pytest.approx(edges)
        assert one.mass == pytest.approx(counts / 500)
        # One value far away would ask for very many bins of the others' width.
        tailed = np.append(1e6, np.random.default_rng(2).normal(size=200_000))
        assert 1 < len(Distribution.of(tailed).mass) <= 1_000
        assert len(Distribution.of([1.0, 2.0]).mass) == len(np.histogram_bin_edges([1.0, 2.0], "auto")) - 1

    def test_bins_are_chosen_by_the_first_values_and_hold_all(self) -> None:
        """A hundred thousand values that are equal ask for one bin; it holds the others too."""
        values = np.append(np.full(100_000, 5.0), [1.0, 9.0])
        one = Distribution.of(values)
        assert one.edges.tolist() == [1, 9]
        assert len(Distribution.of(values[1:]).mass) > 1

    @pytest.mark.parametrize(("values", "n"), [([], 0), ([1.0, math.nan], 2), ([math.inf], 1)])
    def test_unusable_values(self, values: list[float], n: int) -> None:
        with pytest.raises(InputError) as error:
            Distribution.of(values)
        assert str(error.value) == f"a distribution needs values, all of them finite (found '{n} values')"


def told(work: Any, *arguments: Any, **options: Any) -> str:
    """What is said against it; nothing if it is done."""
    try:
        work(*arguments, **options)
    except InputError as error:
        return str(error)
    return ""


class TestRefusals:
    def test_grids(self) -> None:
        finite = "a grid needs finite ends and a positive width (found '{}, {}')"
        for low, width in ((math.nan, 1.0), (math.inf, 1.0), (0.0, math.inf), (0.0, 0.0), (0.0, -1.0)):
            assert told(Grid, low, width, 3) == finite.format(low, width)
        for bins in (0, -1):
            assert told(Grid, 0.0, 1.0, bins) == f"a grid needs one bin or more (found '{bins}')"
            assert told(Grid.over, 0, 1, bins=bins) == f"a grid needs one bin or more (found '{bins}')"
        assert not told(Grid, 0.0, 1.0, 1)
        assert Grid.over(1, 2, bins=1) == Grid(1.0, 1.0, 1)

    def test_bins_that_cannot_be_told_apart(self) -> None:
        """At 2⁵³ the next number is 2 away: at the lower end, or only at the upper one."""
        narrow = "the bins are too narrow to be told apart at this distance from 0"
        remedy = "use fewer bins, or subtract a constant from the values"
        far = 2.0**53
        assert told(Grid, far, 1.0, 5) == f"{narrow} (found 'width 1 at 9.0072e+15'); {remedy}"
        assert told(Grid, far - 4, 0.5, 8).startswith(narrow)
        assert told(Grid, -far, 0.5, 4).startswith(narrow)
        assert told(Grid, -far, 0.5, 2**54).startswith(narrow)
        assert not told(Grid, far, 2.0, 5)
        assert not told(Grid, -5.0, 1.0, 5)
        assert told(Grid, 0.0, 1e300, 10**9).startswith(narrow)

    def test_shapes(self) -> None:
        one_more = "a distribution needs one edge more than bins (found '{}, {}')"
        for edges, mass in (
            ([0, 1], [0.5, 0.5]),
            ([[0, 1, 2]], [1, 1]),
            ([[0], [1], [2]], [1, 1]),
            ([0, 1], [[1]]),
            ([0], []),
            ([], []),
        ):
            shapes = np.shape(edges), np.shape(mass)
            assert told(Distribution, edges, mass) == one_more.format(*shapes)
        order = "the edges of a distribution must be finite and increase"
        for edges in ([0, 0, 1], [0, 2, 1], [0, 1, math.inf], [math.nan, 1, 2]):
            assert told(Distribution, edges, [1, 1]) == order
        masses = "the masses of a distribution must be finite, not negative, and not all 0"
        for mass in ([-0.5, 1.5], [0, 0], [math.nan, 1], [math.inf, 1]):
            assert told(Distribution, [0, 1, 2], mass) == masses
        assert not told(Distribution, [0, 1, 2], [0, 1])

    def test_questions(self) -> None:
        one = Distribution([0, 1], [1])
        for share in (-0.1, 1.1, math.nan):
            assert told(one.quantiles, [0.5, share]) == (
                f"a quantile is asked for a share from 0 to 1 (found '[0.5, {share}]')"
            )
        assert one.quantiles([0, 1]).tolist() == [0, 1]
        for confidence in (0, 1, 95, -0.5, math.nan):
            assert told(one.interval, confidence) == (
                f"a confidence lies between 0 and 1 (found '{confidence}'); for example 0.95"
            )
        assert one.interval(0.95) == pytest.approx((0.025, 0.975))
