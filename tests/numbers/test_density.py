"""Reconstruction of one column: exactness, optimality, losses over seeds, properties, bad input."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import pytest
from benchmarks.simulated_numbers import bank_balances, bimodal, plateau
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from needs import SLOW
from showthrough.errors import InputError
from showthrough.numbers.bins import BinCounts, Method, make_taps, n_taps_beside
from showthrough.numbers.density import Distribution, Grid
from showthrough.numbers.given_noise import SampledNoise, TabulatedNoise
from showthrough.numbers.iteration import Converged, Fixed, HeldOut
from showthrough.numbers.joint_noise import IndependentNoise
from showthrough.numbers.noise import Floats, GaussianNoise, LaplaceNoise, Noise, UniformNoise, parse_noise
from showthrough.numbers.perturb import perturb
from showthrough.numbers.reconstruction import reconstruct, reconstruct_columns

NOISES: list[Noise] = [
    UniformNoise(3.3),
    GaussianNoise(sd=1.5),
    LaplaceNoise(1.0),
    TabulatedNoise([-2, 0, 2], [0, 0.5, 0]),
]
METHODS: tuple[Method, ...] = get_args(Method)


def balances(n: int, *, seed: int) -> Floats:
    """The first column of the bank's balances."""
    return bank_balances(n, seed=seed)[:, 0]


DATA: dict[str, Callable[..., Floats]] = {"bank": balances, "plateau": plateau, "bimodal": bimodal}


def response(noise: Noise, grid: Grid, method: Method) -> tuple[Floats, Grid]:
    """The whole matrix A, entry by entry, and the grid of the published values."""
    beside = n_taps_beside(noise, grid.width, tail=1e-12)
    published = Grid(grid.low - beside * grid.width, grid.width, grid.bins + 2 * beside)
    matrix = np.zeros((published.bins, grid.bins))
    for s, z in enumerate(published.midpoints):
        for p, u in enumerate(grid.midpoints):
            if method == "as":
                matrix[s, p] = noise.density(z - u)
            else:
                fine = u + grid.width * (np.arange(400) + 0.5 - 200) / 400
                up, down = z + grid.width / 2 - fine, z - grid.width / 2 - fine
                matrix[s, p] = (noise.cumulative(up) - noise.cumulative(down)).mean()
    return matrix, published


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_as_by_fft_equals_the_double_sum(noise: Noise) -> None:
    grid = Grid.over(0, 10, bins=23)
    values = perturb(np.random.default_rng(1).uniform(2, 8, 400), noise, seed=2)
    # Agrawal and Srikant's sum over records and bins, record by record.
    matrix, published = response(noise, grid, "as")
    rows = matrix[np.floor((values - published.low) / published.width).astype(int)]
    rows = rows[rows.sum(axis=1) > 0]
    mass = np.full(grid.bins, 1 / grid.bins)
    for _ in range(60):
        total = np.zeros(grid.bins)
        for row in rows:
            total += row * mass / (row @ mass)
        mass = total / len(rows)
    found = reconstruct(values, noise, method="as", grid=grid, stop=60)
    assert found.distribution.mass == pytest.approx(mass, abs=1e-9)
    assert found.iterations == 60


@pytest.mark.parametrize(
    "noise", [*NOISES, SampledNoise(np.random.default_rng(0).normal(0, 1, 300))], ids=str
)
def test_em_taps_are_integrals_over_bins(noise: Noise) -> None:
    grid = Grid.over(0, 3, bins=3)
    matrix, _ = response(noise, grid, "em")
    beside = n_taps_beside(noise, grid.width, tail=1e-12)
    taps = make_taps(noise, grid.width, beside, "em")
    assert taps == pytest.approx(matrix[: len(taps), 0], abs=2e-3)
    assert taps.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_em_is_the_likeliest_histogram(noise: Noise) -> None:
    grid = Grid.over(0, 8, bins=4)
    values = perturb(np.random.default_rng(3).choice([1.0, 5.0, 7.0], 500, p=[0.5, 0.3, 0.2]), noise, seed=4)
    found = reconstruct(values, noise, grid=grid, stop=Converged(1e-13))
    taps = make_taps(noise, grid.width, beside := n_taps_beside(noise, grid.width, tail=1e-12), "em")
    places = np.floor((values - grid.low) / grid.width).astype(int) + beside
    rows = np.array([[taps[s - p] if 0 <= s - p < len(taps) else 0.0 for p in range(4)] for s in places])
    rows = rows[rows.sum(axis=1) > 0]

    def loss(free: Floats) -> float:
        weights = np.exp(free - free.max())
        return -float(np.log(rows @ (weights / weights.sum())).mean())

    starts = [np.zeros(4), np.array([2.0, 0, 0, 0]), np.array([0.0, 0, 1, 2])]
    best = min((optimize.minimize(loss, start, tol=1e-14) for start in starts), key=lambda one: one.fun)
    weights = np.exp(best.x - best.x.max())
    assert found.distribution.mass == pytest.approx(weights / weights.sum(), abs=2e-4)
    assert found.steps[-1].log_likelihood >= -best.fun - 1e-9


#: Bounds on the mean information loss over some seeds, 50,000 values, against bins of width 2.
BOUNDS = {
    ("bank", "uniform:125"): 0.10,
    ("plateau", "uniform:125"): 0.11,
    ("bimodal", "uniform:125"): 0.12,
    ("plateau", "gaussian:sd=20"): 0.16,
    ("bimodal", "gaussian:sd=20"): 0.17,
    ("bank", "laplace:20"): 0.15,
}


#: One for each law.
ONE_OF_EACH = list({law: (data, law) for data, law in BOUNDS}.values())


def mean_loss(data: str, noise: Noise, *, seeds: int, **options: Any) -> float:
    """The mean information loss over seeds, on bins of width 2 that hold all hidden values."""
    hidden = np.column_stack([DATA[data](50_000, seed=seed) for seed in range(seeds)])
    grid = Grid.over(-10, 160, bins=85)
    losses: list[float] = []
    for column, found in zip(
        hidden.T, reconstruct_columns(perturb(hidden, noise, seed=100), noise, **options), strict=True
    ):
        coarse = Distribution(grid.edges, np.diff(found.distribution.cumulative(grid.edges)))
        losses.append(coarse.loss(Distribution.of(column, grid)))
    return float(np.mean(losses))


#: Over how many seeds losses are means.
SEEDS = 5 if SLOW else 3


@pytest.mark.slow
@pytest.mark.parametrize(("data", "law"), BOUNDS if SLOW else ONE_OF_EACH)
def test_losses_stay_within_bounds_and_below_those_of_twenty_iterations(data: str, law: str) -> None:
    noise = parse_noise(law)
    found = mean_loss(data, noise, seeds=SEEDS)
    assert found < BOUNDS[data, law]
    assert found < 0.9 * mean_loss(data, noise, seeds=SEEDS, stop=20)


@pytest.mark.slow
@pytest.mark.parametrize("data", list(DATA)[:: 1 if SLOW else 2])
def test_the_rule_beats_many_iterations(data: str) -> None:
    """Twenty thousand of them; already five thousand are too many."""
    many, seeds = (20_000, 3) if SLOW else (5_000, 2)
    grids = [Grid.over(-125, 275, bins=140)] * seeds
    found = mean_loss(data, UniformNoise(125), seeds=seeds, grids=grids)
    assert found < 0.8 * mean_loss(data, UniformNoise(125), seeds=seeds, grids=grids, stop=many)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bins", [1, 2, 3, 30])
def test_a_value_at_the_upper_end_of_the_grid_lies_on_it(method: Method, bins: int) -> None:
    """Also where the bins are wider than the noise, and nothing can come from beyond."""
    grid = Grid.over(-100, 100, bins=bins)
    found = reconstruct([100.0], UniformNoise(7), method=method, grid=grid, stop=5)
    reached = grid.edges[1:] > 100 - 7
    assert found.distribution.mass[reached].sum() == pytest.approx(1)


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None, max_examples=25)
@given(
    values=st.lists(st.floats(-100, 100), min_size=1, max_size=40),
    noise=st.sampled_from([UniformNoise(7), GaussianNoise(sd=3), LaplaceNoise(4)]),
    bins=st.integers(1, 30),
)
def test_properties(method: Method, values: list[float], noise: Noise, bins: int) -> None:
    grid = Grid.over(-100, 100, bins=bins)
    found = reconstruct(values, noise, method=method, grid=grid, stop=15)
    mass = found.distribution.mass
    assert mass.min() >= 0
    assert mass.sum() == pytest.approx(1)
    steps = [step.log_likelihood for step in found.steps]
    if method == "em":
        assert all(later >= earlier - 1e-9 for earlier, later in pairwise(steps))
    turned = reconstruct(values[::-1], noise, method=method, grid=grid, stop=15)
    assert np.array_equal(turned.distribution.mass, mass)
    moved = Grid(grid.low + 1024, grid.width, grid.bins)
    # Shifted by a power of two, values that do not lose digits fall into the same bins.
    exact = [math.ldexp(round(math.ldexp(value, 20)), -20) for value in values]
    one = reconstruct(exact, noise, method=method, grid=grid, stop=15)
    other = reconstruct([value + 1024 for value in exact], noise, method=method, grid=moved, stop=15)
    if np.array_equal(grid.edges + 1024, moved.edges) and bins & (bins - 1) == 0:
        assert other.distribution.mass == pytest.approx(one.distribution.mass, abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60),
    cut=st.integers(0, 60),
    seed=st.integers(0, 9),
)
def test_tallies_know_neither_order_nor_chunks(values: list[float], cut: int, seed: int) -> None:
    values = [0.0 if abs(value) < 1e-150 else value for value in values]
    mixed = np.random.default_rng(seed).permutation(values)
    one, other = (
        BinCounts.of(values, most_bins=64),
        BinCounts.of(iter([mixed[:cut], mixed[cut:]]), most_bins=64),
    )
    assert (one.low, one.width, one.counts.tolist()) == (other.low, other.width, other.counts.tolist())
    assert one.counts.sum() == len(values)
    assert len(one.counts) <= 64
    assert one.low <= min(values)
    assert one.low + one.width * len(one.counts) > max(values)
    by_hand = [
        sum(one.low + k * one.width <= value < one.low + (k + 1) * one.width for value in values)
        for k in range(len(one.counts))
    ]
    assert one.counts.tolist() == by_hand


@pytest.mark.parametrize("method", METHODS)
def test_order_and_chunks_do_not_matter(method: Method) -> None:
    values = perturb(plateau(3_000, seed=1), LaplaceNoise(10), seed=2)
    whole = reconstruct(values, LaplaceNoise(10), method=method)
    for other in (values[::-1], iter(np.array_split(values, 7))):
        again = reconstruct(other, LaplaceNoise(10), method=method)
        assert again.grid == whole.grid
        assert np.array_equal(again.distribution.mass, whole.distribution.mass)


def test_columns_side_by_side_equal_columns_alone() -> None:
    hidden = bank_balances(2_000, seed=1)
    noise = IndependentNoise(
        [UniformNoise(50), GaussianNoise(sd=9), LaplaceNoise(8), GaussianNoise(sd=30), UniformNoise(80)]
    )
    values = perturb(hidden, noise, seed=2)
    together = reconstruct_columns(values, noise)
    for column, found in enumerate(together):
        alone = reconstruct(values[:, column], noise.marginal(column))
        assert found.iterations == alone.iterations
        assert found.distribution.mass == pytest.approx(alone.distribution.mass, abs=1e-9)
    with pytest.raises(InputError, match="another number of columns"):
        reconstruct_columns(values[:, :3], noise)


def test_chunks_are_read_one_at_a_time() -> None:
    alive = 0

    def chunks() -> Iterator[Floats]:
        nonlocal alive
        for seed in range(20):
            alive += 1
            assert alive == seed + 1
            yield np.random.default_rng(seed).normal(size=1_000)

    assert reconstruct(chunks(), GaussianNoise(sd=0.5), stop=5).n_values == 20_000


@pytest.mark.parametrize("law", [UniformNoise(1e5), GaussianNoise(sd=1e5), LaplaceNoise(1e5)], ids=str)
def test_noise_a_thousand_times_wider_than_the_data_leaves_nothing(law: Noise) -> None:
    values = perturb(np.random.default_rng(1).uniform(0, 100, 5_000 if SLOW else 1_000), law, seed=2)
    found = reconstruct(values, law)
    assert not found.is_recoverable
    assert "no spread is recoverable" in found.explanation[-1]
    assert found.doubts == {"spread": found.explanation[-1]}
    known = reconstruct(values, law, grid=Grid.over(0, 100, bins=4))
    assert not known.is_recoverable
    assert known.distribution.mass.sum() == pytest.approx(1)


def test_a_spread_that_is_there_is_seen() -> None:
    for noise in (UniformNoise(30), GaussianNoise(sd=20), LaplaceNoise(15)):
        assert reconstruct(perturb(bimodal(2_000, seed=1), noise, seed=2), noise).is_recoverable


def test_values_that_vary_less_than_the_noise_are_noted() -> None:
    for values in ([5.0] * 10, np.random.default_rng(1).normal(0, 1, 500)):
        found = reconstruct(values, GaussianNoise(sd=4))
        assert found.spread.is_impossible
        assert "vary less" in found.explanation[-1]
        assert found.doubts == {"noise": found.explanation[-1]}
        assert not found.is_recoverable


def test_a_hidden_constant_is_told_as_such() -> None:
    values = perturb(np.full(3_000, 42.0), LaplaceNoise(3), seed=1)
    found = reconstruct(values, LaplaceNoise(3))
    assert not found.is_recoverable
    assert not found.spread.is_impossible
    assert found.distribution.mean == pytest.approx(42, abs=0.5)


def test_one_record() -> None:
    found = reconstruct([7.0], UniformNoise(2))
    assert found.n_values == 1
    assert found.distribution.mean == pytest.approx(7, abs=0.1)
    assert "a single value" in found.explanation[-1]
    assert found.doubts == {}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([], "there are no values"),
        ([1.0, math.nan], "row 2: a value is missing or infinite"),
        ([math.inf], "missing or infinite"),
        ([1e200], "too large"),
        ([[1.0, 2.0]], "must be a list"),
        (["a", "b"], "must be numbers"),
        (iter([[1.0], [2.0, math.nan]]), "row 3"),
    ],
)
def test_unusable_values(values: list[float], problem: str) -> None:
    for grid in (None, Grid.over(0, 1, bins=2)):
        if grid is not None and isinstance(values, Iterator):
            continue
        with pytest.raises(InputError, match=problem):
            reconstruct(values, UniformNoise(1), grid=grid)


def test_unusable_settings() -> None:
    with pytest.raises(InputError, match="unknown method"):
        reconstruct([1.0, 2.0], UniformNoise(1), method="em2")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="not negative"):
        reconstruct([1.0, 2.0], UniformNoise(1), stop=-1)
    with pytest.raises(InputError, match="no value can come from the grid"):
        reconstruct([1.0, 2.0], UniformNoise(1), grid=Grid.over(50, 60, bins=5))
    with pytest.raises(InputError, match="two folds"):
        HeldOut(folds=1)
    with pytest.raises(InputError, match="positive"):
        Converged(0)
    with pytest.raises(InputError, match="too wide for bins so narrow"):
        reconstruct([1.0, 2.0], UniformNoise(1e5), grid=Grid.over(0, 1, bins=100))
    with pytest.raises(InputError, match="column 2"):
        reconstruct_columns([[1.0, math.nan], [2.0, 1.0]], UniformNoise(1))


def test_values_the_grid_cannot_explain_are_counted() -> None:
    values = [1.0, 2.0, 3.0, 50.0]
    found = reconstruct(values, UniformNoise(1), grid=Grid.over(0, 4, bins=8), stop=10)
    assert found.unexplained == pytest.approx(0.25)
    assert "25\xa0% of the values cannot come from this grid" in found.explanation[-1]


def test_stopping_rules() -> None:
    values = perturb(bimodal(5_000, seed=1), GaussianNoise(sd=10), seed=2)
    fixed = reconstruct(values, GaussianNoise(sd=10), stop=Fixed(30))
    assert (fixed.iterations, fixed.stopped) == (30, "30 iterations, as asked")
    assert reconstruct(values, GaussianNoise(sd=10), stop=0).distribution.mass == pytest.approx(
        1 / fixed.grid.bins
    )
    unfinished = reconstruct(values, GaussianNoise(sd=10), stop=Converged(1e-16, most=50))
    assert (unfinished.iterations, "not converged" in unfinished.stopped) == (50, True)
    held = reconstruct(values, GaussianNoise(sd=10))
    scores = {step.iteration: step.held_out for step in held.steps}
    best = max(score for score in scores.values() if score is not None)
    assert scores[held.iterations] is not None
    assert (best - (scores[held.iterations] or 0)) * 5_000 <= 1
    assert "held-out" in held.stopped
    again = reconstruct(values, GaussianNoise(sd=10), stop=HeldOut())
    assert np.array_equal(again.distribution.mass, held.distribution.mass)
    # More iterations than values can only fit noise.
    assert reconstruct(values[:30], GaussianNoise(sd=10)).iterations <= 30


class TestDistribution:
    """Binned densities by hand."""

    three = Distribution([0, 1, 2, 4], [0.2, 0.0, 0.8])

    def test_quantiles_and_probabilities_invert(self) -> None:
        assert self.three.quantiles([0, 0.1, 0.2, 0.6, 1]).tolist() == pytest.approx([0, 0.5, 1, 3, 4])
        assert self.three.cumulative([-1, 0.5, 1.5, 3, 9]).tolist() == pytest.approx([0, 0.1, 0.2, 0.6, 1])
        assert Distribution([0, 1, 2], [0, 1]).quantile(0) == 1

    def test_moments(self) -> None:
        assert self.three.mean == pytest.approx(0.2 * 0.5 + 0.8 * 3)
        drawn = self.three.sample(200_000, seed=1)
        assert drawn.var() == pytest.approx(self.three.variance, abs=0.02)

    def test_density(self) -> None:
        assert self.three.density([-1, 0.5, 1.5, 2.5, 4, 5]).tolist() == [0, 0.2, 0, 0.4, 0.4, 0]

    def test_loss_is_half_the_area_between(self) -> None:
        other = Distribution([0.5, 2.5], [1])
        at = np.linspace(-1, 5, 600_001)
        area = float(np.abs(self.three.density(at) - other.density(at)).sum() * (at[1] - at[0]) / 2)
        assert self.three.loss(other) == pytest.approx(area, abs=1e-4)
        assert self.three.loss(other) == other.loss(self.three)
        assert self.three.loss(self.three) == 0
        assert self.three.loss(Distribution([10, 11], [1])) == pytest.approx(1)

    def test_what_lies_outside_the_grid_is_kept(self) -> None:
        found = Distribution.of([-5.0, 0.5, 9.0, 9.5], Grid(0.0, 1.0, 2))
        assert found.edges.tolist() == [-5, 0, 1, 2, 9.5]
        assert found.mass.tolist() == [0.25, 0.25, 0, 0.5]
        assert Distribution.of([1.0, 3.0], Grid(0.0, 2.0, 2), weights=[3, 1]).mass.tolist() == [0.75, 0.25]

    @pytest.mark.parametrize(
        ("edges", "mass", "problem"),
        [
            ([0, 1], [0.5, 0.5], "one edge more"),
            ([0, 0, 1], [0.5, 0.5], "increase"),
            ([0, 1, 2], [-0.5, 1.5], "not negative"),
            ([0, 1, 2], [0, 0], "not all 0"),
            ([0, math.nan, 2], [1, 0], "finite"),
        ],
    )
    def test_unusable(self, edges: list[float], mass: list[float], problem: str) -> None:
        with pytest.raises(InputError, match=problem):
            Distribution(np.array(edges), np.array(mass))

    def test_unusable_questions(self) -> None:
        with pytest.raises(InputError, match="0 to 1"):
            self.three.quantile(1.5)
        with pytest.raises(InputError, match="between 0 and 1"):
            self.three.interval(95)
        with pytest.raises(InputError, match="all of them finite"):
            Distribution.of([])
        for bad in ((0.0, 0.0, 5), (0.0, 1.0, 0), (math.nan, 1.0, 2), (1e20, 1.0, 5)):
            with pytest.raises(InputError):
                Grid(*bad)
