"""Rebuilding a distribution step by step: against dense matrices, all splits, and sums by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from showthrough.errors import InputError
from showthrough.numbers.bins import BinCounts, Kernel, make_taps, n_taps_beside
from showthrough.numbers.density import Distribution, Grid
from showthrough.numbers.given_noise import TabulatedNoise
from showthrough.numbers.iteration import (
    NEGLIGIBLE,
    Converged,
    Fixed,
    HeldOut,
    Run,
    Stop,
    Update,
    iterate,
    log_likelihood,
    most_iterations,
)
from showthrough.numbers.joint_noise import IndependentNoise
from showthrough.numbers.noise import Floats, GaussianNoise, LaplaceNoise, UniformNoise
from showthrough.numbers.perturb import perturb
from showthrough.numbers.reconstruction import (
    Spread,
    best_constant,
    choose_grid,
    explainable,
    reconstruct,
    reconstruct_columns,
)

TAPS = np.array([0.1, 0.6, 0.3])
#: Two columns of counts in six bins, from four hidden ones.
COUNTS = np.array([[3, 9, 4, 0, 5, 1], [0, 2, 2, 7, 0, 0]])
START = np.array([[0.25, 0.25, 0.25, 0.25], [0.4, 0.3, 0.2, 0.1]])


def dense(taps: Floats, bins: int) -> Floats:
    """The matrix of a convolution."""
    matrix = np.zeros((bins + len(taps) - 1, bins))
    for at in range(bins):
        matrix[at : at + len(taps), at] = taps
    return matrix


def updated(mass: Floats, counts: Floats, matrix: Floats, times: int = 1) -> Floats:
    """The update, as it is written down."""
    for _ in range(times):
        folded = matrix @ mass
        mass = mass * (matrix.T @ (counts / counts.sum() / np.where(counts > 0, folded, 1)))
        mass = mass / mass.sum()
    return mass


def run_all(counts: Any, stop: Stop, taps: Floats = TAPS, start: Any = START) -> list[Run]:
    """All columns with the same taps."""
    both = np.asarray(counts)
    return iterate(both, Kernel.of(np.tile(taps, (len(both), 1, 1)), bins=(4,)), np.asarray(start), stop)


def run_one(counts: Sequence[int], stop: Stop) -> Run:
    return run_all([counts], stop, start=START[:1])[0]


class TestUpdate:
    @pytest.mark.parametrize("times", [0, 1, 2, 7, 40])
    def test_is_that_of_the_whole_matrix(self, times: int) -> None:
        for run, counts, start in zip(run_all(COUNTS, Fixed(times)), COUNTS, START, strict=True):
            assert run.iterations == times
            assert run.reason == f"{times} iterations, as asked"
            mass = updated(start, counts, dense(TAPS, 4), times)
            assert run.mass == pytest.approx(mass, abs=1e-12)
            last = run.steps[-1]
            assert (last.iteration, last.held_out) == (times, None)
            expected = float(counts @ np.log(dense(TAPS, 4) @ mass)) / counts.sum()
            assert last.log_likelihood == pytest.approx(expected)

    def test_in_two_dimensions(self) -> None:
        """Two grids side by side: the matrix is the product of the matrices."""
        other = np.array([0.5, 0.5])
        taps = np.multiply.outer(TAPS, other)
        counts = np.random.default_rng(1).integers(1, 9, (1, 5, 4))
        start = np.full((1, 3, 3), 1 / 9)
        (run,) = iterate(counts, Kernel.of(taps[None, None], bins=(3, 3)), start, Fixed(9))
        matrix = np.kron(dense(TAPS, 3), dense(other, 3))
        mass = updated(start.ravel(), counts.ravel(), matrix, 9)
        assert run.mass.ravel() == pytest.approx(mass, abs=1e-12)
        (held,) = iterate(counts, Kernel.of(taps[None, None], bins=(3, 3)), start, HeldOut(most=4))
        mass = updated(start.ravel(), counts.ravel(), matrix, held.iterations)
        assert held.mass.ravel() == pytest.approx(mass, abs=1e-12)
        many = 1_000 * counts
        (held,) = iterate(many, Kernel.of(taps[None, None], bins=(3, 3)), start, HeldOut(most=3))
        # Nine in ten of very many values predict like all of them.
        for step in held.steps:
            assert step.held_out == pytest.approx(step.log_likelihood, abs=1e-3)

    def test_a_column_ends_when_it_is_content_and_the_others_go_on(self) -> None:
        """Side by side or alone, and in any order, the ways are the same."""
        counts = np.array(
            [[3, 9, 4, 0, 5, 1], [0, 1, 1, 0, 0, 0], [40, 90, 20, 70, 3, 9], [0, 0, 0, 2, 0, 0]]
        )
        start = np.full((4, 4), 0.25)
        for stop in (HeldOut(), HeldOut(margin=0.1), Converged(1e-4), Fixed(5)):
            together = run_all(counts, stop, start=start)
            if not isinstance(stop, Fixed):
                assert len({run.iterations for run in together}) > 1
            for run, column in zip(together, counts, strict=True):
                alone = run_one(column.tolist(), stop)
                assert run.mass == pytest.approx(alone.mass, abs=1e-9)
                assert (run.iterations, run.reason) == (alone.iterations, alone.reason)
                assert [step.iteration for step in run.steps] == [step.iteration for step in alone.steps]
            for run, other in zip(together, run_all(counts[::-1], stop, start=start)[::-1], strict=True):
                assert run.iterations == other.iterations

    def test_no_column_goes_on_for_longer_than_it_has_values(self) -> None:
        """22 values end after 22 iterations, although beside a longer column 21 and 24 would be looked at."""
        counts = [[3, 9, 4, 0, 5, 1], [40, 90, 20, 70, 3, 9]]
        short, long = run_all(counts, HeldOut(margin=0.0), start=START[[0, 0]])
        assert short.steps[-1].iteration == 22 < long.steps[-1].iteration
        assert short.iterations == run_one(counts[0], HeldOut(margin=0.0)).iterations

    def test_what_rounding_leaves_is_not_taken_for_a_probability(self) -> None:
        """One value that only noise of seven standard deviations explains, beside a hundred thousand.

        After some updates its probability is smaller than what the FFT rounds off, so it counts with
        the smallest that is still told from 0.
        """
        noise, grid = GaussianNoise(sd=1), Grid(0.0, 1.0, 11)
        values = np.append(np.full(100_000, 5.5), 17.5)
        found = reconstruct(values, noise, grid=grid, stop=50)
        assert found.unexplained == 0
        beside = n_taps_beside(noise, 1.0, tail=1e-11)
        taps = make_taps(noise, 1.0, beside, "em")
        folded = dense(taps, 11) @ found.distribution.mass
        seen = np.zeros(len(folded), np.int64)
        seen[beside + 5], seen[beside + 17] = 100_000, 1
        assert folded[beside + 17] < NEGLIGIBLE * folded.max()
        fit = log_likelihood(seen, np.maximum(folded, NEGLIGIBLE * folded.max()))
        assert found.spread.gain == pytest.approx(fit - best_constant(seen, taps)[1], abs=1e-6)
        assert found.steps[-1].log_likelihood == pytest.approx(fit / 100_001, abs=1e-9)


def looks(end: int, most: int) -> list[int]:
    """The iterations that are looked at: each next one, then 12 % more each time, and the last one."""
    found = [0]
    while found[-1] < end:
        found.append(max(found[-1] + 1, min(most, max(found[-1] + 1, round(found[-1] * 1.12)))))
    return found


class TestStoppingByHeldOutValues:
    MANY = (300, 900, 400, 20, 500, 100)

    @pytest.mark.parametrize(
        ("counts", "stop"),
        [
            (COUNTS[0], HeldOut(folds=3)),
            (COUNTS[0], HeldOut(folds=2, margin=0.0, seed=5)),
            (COUNTS[0], HeldOut(margin=0.01, most=200)),
            (MANY, HeldOut(margin=0.0, most=400)),
            (MANY, HeldOut()),
            (MANY, HeldOut(margin=5.0, most=60, seed=3)),
            (MANY, HeldOut(margin=0.5, most=21)),
            (MANY, HeldOut(most=7)),
            (MANY, HeldOut(margin=1e9)),
            (MANY, HeldOut(margin=0.001, most=100_000)),
        ],
        ids=str,
    )
    def test_the_rule_is_applied_to_what_was_seen(self, counts: Sequence[int], stop: HeldOut) -> None:
        run = run_one(list(counts), stop)
        total = int(np.sum(counts))
        most = min(total, 20_000) if stop.most is None else stop.most
        scores = [(step.held_out or 0.0) * total for step in run.steps]
        seen = [step.iteration for step in run.steps]
        assert seen == looks(seen[-1], most)
        # It ends where twice the iterations have not helped, not before 20, or where it must.
        ends = [
            at
            for at, now in enumerate(seen)
            if now >= most
            or (
                now >= 20
                and max(scores[: at + 1]) - max(s for s, k in zip(scores, seen, strict=True) if k <= now / 2)
                <= stop.margin
            )
        ]
        assert ends == [len(seen) - 1]
        # What is taken is the first that is as good as the best, for all one can tell.
        best = scores.index(max(scores))
        taken = next(at for at, score in enumerate(scores) if max(scores) - score <= stop.margin)
        assert run.iterations == seen[taken]
        reason = (
            f"predictions of held-out values were as good as they get after {seen[best]:,} iterations"
            if best == len(seen) - 1
            else f"held-out values are predicted best after {seen[best]:,} iterations"
        )
        if taken < best:
            reason += f", and within {stop.margin:g} of that log-likelihood after {seen[taken]:,}"
        assert run.reason == reason
        # The folds only say when: the values are all used.
        fixed = run_one(list(counts), Fixed(run.iterations))
        assert run.mass == pytest.approx(fixed.mass, abs=1e-12)
        assert run.steps[taken].log_likelihood == pytest.approx(fixed.steps[-1].log_likelihood)

    def test_predictions_are_judged_from_twenty_iterations_on(self) -> None:
        """Any column would end at once; one of 20 values makes the others be looked at after 20 too."""
        short, long = run_all([[3, 8, 4, 0, 4, 1], self.MANY], HeldOut(margin=1e9), start=START[[0, 0]])
        assert [run.steps[-1].iteration for run in (short, long)] == [20, 20]
        assert run_one(list(self.MANY), HeldOut(margin=1e9)).steps[-1].iteration == 21

    def test_held_out_values_are_predicted_from_the_others(self) -> None:
        """The predictions are those of one of all ways to deal four values to two folds evenly."""
        runs = [run_one([0, 0, 2, 2, 0, 0], HeldOut(folds=2, most=3, seed=seed)) for seed in range(8)]
        values = [2, 2, 3, 3]
        matrix = dense(TAPS, 4)
        ways: list[list[float]] = []
        for first in itertools.combinations(range(4), 2):
            folds = [
                np.bincount([values[v] for v in fold], minlength=6)
                for fold in (first, {*range(4)} - {*first})
            ]
            scores: list[float] = []
            for times in range(4):
                each = [
                    log_likelihood(fold, matrix @ updated(START[0], other, matrix, times))
                    for fold, other in (folds, folds[::-1])
                ]
                scores.append(float(sum(each)) / 4)
            ways.append(scores)
        found = [[step.held_out for step in run.steps] for run in runs]
        for one in found:
            assert any(one == pytest.approx(scores) for scores in ways)
        assert not all(one == pytest.approx(found[0]) for one in found)

    @pytest.mark.parametrize("n", [3, 5, 9_999, 10_000, 10_001, 50_000])
    def test_every_value_is_held_out_once(self, n: int) -> None:
        """One bin can only hold everything, so what is held out is predicted like everything."""
        counts = np.array([[n // 5, n - n // 5 - n // 3, n // 3]])
        kernel = Kernel.of(TAPS[None, None], bins=(1,))
        (run,) = iterate(counts, kernel, np.array([[1.0]]), HeldOut(folds=3, most=2))
        expected = float(counts[0] @ np.log(TAPS)) / n
        assert [step.held_out for step in run.steps] == pytest.approx([expected] * 3)
        assert [step.log_likelihood for step in run.steps] == pytest.approx([expected] * 3)

    def test_folds_are_even_where_values_are_few(self) -> None:
        """Ten values in ten folds: each is predicted from the nine others, whatever the seed."""
        counts = [1, 2, 3, 1, 2, 1]
        runs = [run_one(counts, HeldOut(folds=10, most=5, seed=seed)) for seed in range(5)]
        assert len({tuple(np.round([s.held_out or 0 for s in run.steps], 12)) for run in runs}) == 1
        matrix, expected = dense(TAPS, 4), 0.0
        for at, n in enumerate(counts):
            others = np.array(counts) - (np.arange(6) == at)
            expected += n * math.log((matrix @ updated(START[0], others, matrix, 5))[at])
        assert runs[0].steps[-1].held_out == pytest.approx(expected / 10)
        even = run_one([0, 0, 2, 0, 0, 0], HeldOut(folds=2, most=1))
        assert even.steps[0].held_out == pytest.approx(math.log((matrix @ START[0])[2]))

    def test_the_seed_deals(self) -> None:
        counts = [30, 20, 40, 10, 50, 10]
        one, again, other = (run_one(counts, HeldOut(seed=seed)) for seed in (1, 1, 2))
        assert one.steps == again.steps
        assert [s.log_likelihood for s in one.steps[:9]] == [s.log_likelihood for s in other.steps[:9]]
        assert [s.held_out for s in one.steps[1:9]] != [s.held_out for s in other.steps[1:9]]

    def test_one_value_cannot_be_held_out(self) -> None:
        run = run_one([0, 0, 1, 0, 0, 0], HeldOut())
        assert run.reason == "a single value cannot be held out; one update was made"
        assert run.iterations == 1
        assert run.mass == pytest.approx(updated(START[0], np.eye(6)[2], dense(TAPS, 4)))
        assert [step.held_out for step in run.steps] == [0, 0]
        assert run_one([0, 0, 1, 0, 0, 0], HeldOut(most=0)).iterations == 1
        assert "held-out" in run_one([0, 0, 1, 1, 0, 0], HeldOut()).reason


class TestStoppingByConvergence:
    @pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-5, 1e-9])
    def test_it_ends_where_an_iteration_adds_less(self, tolerance: float) -> None:
        run = run_one(COUNTS[0].tolist(), Converged(tolerance))
        gains = [
            (now.log_likelihood - before.log_likelihood) / (now.iteration - before.iteration)
            for before, now in itertools.pairwise(run.steps)
        ]
        assert all(gain >= tolerance for gain in gains[:-1])
        assert gains[-1] < tolerance
        assert run.reason == f"converged: an iteration adds {max(gains[-1], 0):.1g} to the log-likelihood"
        assert run.iterations == run.steps[-1].iteration
        assert run.mass == pytest.approx(
            updated(START[0], COUNTS[0], dense(TAPS, 4), run.iterations), abs=1e-10
        )

    def test_adding_just_as_much_is_not_less(self) -> None:
        steps = run_one(COUNTS[0].tolist(), Converged(1e-9)).steps
        third = steps[3].log_likelihood - steps[2].log_likelihood
        assert run_one(COUNTS[0].tolist(), Converged(third)).iterations == 4

    @pytest.mark.parametrize(
        "counts", [[31, 13, 48, 47, 4, 10], [44, 20, 11, 36, 43, 14], [36, 47, 44, 26, 47, 48]], ids=str
    )
    def test_what_rounding_takes_away_is_nothing(self, counts: list[int]) -> None:
        """Here the last of some hundred iterations lowers the log-likelihood by 2 or 4 times 1e-16."""
        run = run_one(counts, Converged(1e-18, most=500))
        assert run.reason == "converged: an iteration adds 0 to the log-likelihood"

    def test_nothing_to_be_learnt(self) -> None:
        """One bin: the first update changes nothing."""
        counts, kernel = np.array([[4, 5, 6]]), Kernel.of(TAPS[None, None], bins=(1,))
        (run,) = iterate(counts, kernel, np.array([[1.0]]), Converged())
        assert (run.iterations, run.reason) == (1, "converged: an iteration adds 0 to the log-likelihood")

    @pytest.mark.parametrize("most", [0, 1, 2, 50])
    def test_it_may_not_converge(self, most: int) -> None:
        run = run_one(COUNTS[0].tolist(), Converged(1e-300, most=most))
        assert run.iterations == most
        assert run.reason == f"not converged in {most} iterations, the most allowed"
        assert [step.iteration for step in run.steps] == looks(most, most)


def test_the_likelihood_of_nothing_is_that_of_everything() -> None:
    assert log_likelihood(np.array([0, 2, 1]), np.array([0.0, 0.5, 0.25])) == pytest.approx(-4 * math.log(2))
    assert log_likelihood(np.array([0, 0]), np.array([0.0, 1.0])) == 0


class TestColumns:
    def test_as_many_results_as_columns(self) -> None:
        """More columns than run side by side, each with its own grid and values."""
        rng = np.random.default_rng(1)
        values = rng.uniform(0, 4, (30, 67)) + np.arange(67)
        grids = [Grid(float(at), 0.5, 8 + at % 3) for at in range(67)]
        found = reconstruct_columns(values, UniformNoise(0.75), grids=iter(grids), stop=3)
        assert len(found) == 67
        for at in (0, 1, 2, 63, 64, 66):
            alone = reconstruct(values[:, at], UniformNoise(0.75), grid=grids[at], stop=3)
            assert found[at].grid == grids[at]
            assert found[at].n_values == 30
            assert found[at].distribution.mass == pytest.approx(alone.distribution.mass, abs=1e-12)
            assert found[at].explanation == alone.explanation

    def test_columns_of_different_reach(self) -> None:
        """Grids and noises of different widths are padded to common sizes without a trace."""
        rng = np.random.default_rng(2)
        values = np.column_stack([rng.normal(0, 3, 200), rng.normal(50, 9, 200), rng.normal(9, 1, 200)])
        noise = IndependentNoise([UniformNoise(2), GaussianNoise(sd=4), LaplaceNoise(0.5)])
        grids = [Grid(-8.0, 1.0, 16), Grid(20.0, 2.0, 30), Grid(4.0, 0.5, 20)]
        for method in ("as", "em"):
            together = reconstruct_columns(values, noise, method=method, grids=grids, stop=HeldOut(most=50))
            for at, found in enumerate(together):
                alone = reconstruct(
                    values[:, at], noise.marginal(at), method=method, grid=grids[at], stop=HeldOut(most=50)
                )
                assert found.method == method
                assert found.iterations == alone.iterations
                assert found.unexplained == alone.unexplained
                assert found.spread.gain == pytest.approx(alone.spread.gain)
                assert found.distribution.mass == pytest.approx(alone.distribution.mass, abs=1e-9)

    def test_unusable(self) -> None:
        for values in ([1.0, 2.0], np.zeros((3, 0)), np.zeros((2, 2, 2)), 5.0):
            shape = np.shape(values)
            with pytest.raises(InputError) as error:
                reconstruct_columns(values, UniformNoise(1))
            assert str(error.value) == f"values must be a matrix with a column or more (found '{shape}')"
        reconstruct_columns([[1.0], [2.0]], UniformNoise(1), stop=1)
        for grids, noise, counted in (
            ([Grid(0, 1, 4)], UniformNoise(1), "2, 1"),
            (None, IndependentNoise([UniformNoise(1)] * 3), "3, 2"),
        ):
            with pytest.raises(InputError, match=rf"another number of columns \(found '{counted}'\)"):
                reconstruct_columns([[1.0, 2.0]], noise, grids=grids)

        class Broken(GaussianNoise):
            def reach(self, *, tail: float = 1e-9) -> float:
                raise ZeroDivisionError(tail)

        with pytest.raises(ZeroDivisionError):
            reconstruct_columns([[1.0], [2.0]], Broken(sd=1))
        bad = np.zeros((2, 67))
        bad[1, 65] = math.nan
        with pytest.raises(InputError, match="column 66: a value is missing"):
            reconstruct_columns(bad, UniformNoise(1))


class TestGrid:
    @pytest.mark.parametrize(
        ("values", "noise"),
        [
            ([0.0, 1.0], UniformNoise(1)),
            ([0.0, 10.0], UniformNoise(3)),
            (np.linspace(-5, 5, 1_000), GaussianNoise(sd=1)),
            (np.linspace(100, 300, 100), GaussianNoise(sd=1)),
            ([0.0, 1e4], LaplaceNoise(1)),
            ([0.0, 1.0, 2.0, 8190.5], GaussianNoise(sd=1)),
            ([3.0], UniformNoise(2)),
            ([3.0, 3.0, 3.5], LaplaceNoise(0.001)),
            (np.linspace(0, 1, 10_000), TabulatedNoise([2, 3, 4], [0.5, 0.5, 0.5])),
            ([-40.0, 60.0], TabulatedNoise([-3, -2], [1, 1])),
        ],
        ids=str,
    )
    def test_it_spans_what_can_have_been_there(self, values: Any, noise: Any) -> None:
        """The least and largest value, without the mean of the noise, and 2 sd/√n more on each side."""
        tally = BinCounts.of(values)
        grid, why = choose_grid(tally, noise)
        sd = math.sqrt(noise.variance)
        more = 2 * sd / math.sqrt(len(values))
        low, high = np.min(values) - noise.mean - more, np.max(values) - noise.mean + more
        assert low - grid.width < grid.low <= low + 1e-9
        assert high - 1e-9 <= grid.high < high + grid.width
        wanted = min(max(256, math.ceil(16 * (high - low) / sd)), 8192)
        # The narrowest multiple of the tally's bins with which that many are enough.
        assert grid.width / tally.width == max(1, math.ceil((high - low) / wanted / tally.width))
        said = f"{grid.bins:,} bins of {grid.width:.4g} from {grid.low:.6g} to {grid.high:.6g}: "
        said += "from the least to the largest published value"
        if more > grid.width:
            said += f" and {more:.3g} beyond"
        if grid.width > sd:
            said += f"; bins are wider than the noise (sd {sd:.3g}), whose effect is lost in them"
        assert why == said

    def test_bins_as_wide_as_the_noise(self) -> None:
        """8,192 bins of 1 for noise of sd 1 that four values let reach 1 further: nothing to remark."""
        grid, why = choose_grid(BinCounts.of([0.0, 1.0, 2.0, 8190.0]), GaussianNoise(sd=1))
        assert grid == Grid(-1.0, 1.0, 8192)
        assert why.endswith("from the least to the largest published value")

    def test_values_that_swallow_the_noise(self) -> None:
        """At 1e20 the next number is 16,384 away, so 1 more or less is nothing: one bin of the tally."""
        tally = BinCounts.of([1e20])
        assert choose_grid(tally, UniformNoise(1))[0] == Grid(1e20, tally.width, 1)

    def test_both_remarks_occur(self) -> None:
        assert " beyond" in choose_grid(BinCounts.of([3.0]), UniformNoise(2))[1]
        assert "lost in them" in choose_grid(BinCounts.of([0.0, 1e6]), LaplaceNoise(0.01))[1]
        plain = choose_grid(BinCounts.of(np.linspace(0, 1, 200_000)), UniformNoise(1))[1]
        assert plain.endswith("published value")

    def test_noise_that_moves_all_values(self) -> None:
        """Noise of 10 on average: hidden values lie 10 lower than published ones."""
        noise = TabulatedNoise([9, 10, 11], [0, 1, 0])
        hidden = np.random.default_rng(3).uniform(50, 60, 3_000)
        found = reconstruct(perturb(hidden, noise, seed=4), noise)
        assert found.distribution.mean == pytest.approx(hidden.mean(), abs=0.2)
        given = reconstruct(perturb(hidden, noise, seed=4), noise, grid=Grid(45.0, 0.25, 80))
        assert given.distribution.mean == pytest.approx(hidden.mean(), abs=0.2)


class TestWhatIsExplained:
    def test_column_by_column(self) -> None:
        """What is ten times rounding or less of a column's largest probability cannot be."""
        near = np.array([1.0, 10.5, 9.5, 0.0]) * np.array([1, NEGLIGIBLE, NEGLIGIBLE, 1])
        folded = np.array([near, 1e-9 * near])
        counts = np.array([[5, 6, 7, 8], [1, 2, 3, 4]])
        assert explainable(counts, folded).tolist() == [[5, 6, 0, 0], [1, 2, 0, 0]]
        edge = np.array([[1.0, 10 * NEGLIGIBLE]])
        assert explainable(np.array([[1, 1]]), edge).tolist() == [[1, 0]]
        cube = explainable(counts.reshape(2, 2, 2), folded.reshape(2, 2, 2))
        assert cube.tolist() == [[[5, 6], [0, 0]], [[1, 2], [0, 0]]]

    def test_a_column_without_any(self) -> None:
        folded = np.array([[1.0, 0.0]] * 4)
        remedy = "use a grid nearer to the values, or check the law of the noise"
        for counts, place in (
            ([[1, 0], [0, 3], [1, 2], [0, 1]], "column 2: "),
            ([[0, 2], [0, 2], [1, 2], [1, 2]], "column 1: "),
            ([[1, 2], [1, 2], [1, 2], [0, 2]], "column 4: "),
        ):
            with pytest.raises(InputError) as error:
                explainable(np.array(counts), folded)
            assert str(error.value) == f"{place}no value can come from the grid with this noise; {remedy}"
        for n, place in ((1, ""), (2, "column 1: ")):
            with pytest.raises(InputError) as error:
                explainable(np.array([[0, 2]] * n), folded[:n])
            assert str(error.value) == f"{place}no value can come from the grid with this noise; {remedy}"

    def test_what_is_left_out_is_said(self) -> None:
        """Of five values two are out of reach of the grid: one near it, one beyond all bins."""
        found = reconstruct([0.5, 1.5, 1.2, 4.6, 90.0], UniformNoise(1), grid=Grid(0.0, 1.0, 2), stop=4)
        assert found.n_values == 5
        assert found.unexplained == pytest.approx(0.4)
        assert found.explanation == (
            "2 bins of 1 from 0 to 2: as given",
            "EM: 4 iterations, as asked",
            found.explanation[2],
            "40\xa0% of the values cannot come from this grid with this noise and were left out: "
            "the grid is too narrow, or the noise does not follow the law given",
        )
        assert found.doubts == {"spread": found.explanation[2], "grid": found.explanation[3]}
        within = reconstruct([0.5, 1.5, 1.2], UniformNoise(1), grid=Grid(0.0, 1.0, 2), stop=4)
        assert within.unexplained == 0
        assert len(within.explanation) == 3
        assert within.doubts == {"spread": within.explanation[2]}

    def test_a_small_share_that_is_left_out_is_said_to_three_places(self) -> None:
        found = reconstruct([0.5] * 80_000 + [90.0], UniformNoise(1), grid=Grid(0.0, 1.0, 2), stop=1)
        assert found.doubts["grid"].startswith("0.001\xa0% of the values")

    def test_the_single_value_that_would_do(self) -> None:
        """Values about 42.5, the middle of a bin or the end of one."""
        values = [41.5, 42.5, 42.5, 43.5]
        for grid in (Grid(30.0, 1.0, 25), Grid(35.0, 0.5, 40)):
            found = reconstruct(values, GaussianNoise(sd=2), grid=grid, stop=4)
            place = 42.5 if grid.width == 1 else 42.75
            assert f"from the single value {place:.5g};" in found.explanation[2]
            assert "4 values" in found.explanation[2]
            assert found.doubts == {"spread": found.explanation[2]}

    def test_two_values_far_apart_are_told_from_one(self) -> None:
        two = [10.0, 30.0] * 20
        apart = reconstruct(two, UniformNoise(1), grid=Grid(0.0, 1.0, 40), stop=20)
        assert apart.is_recoverable is True
        assert apart.doubts == {}
        assert reconstruct(two, UniformNoise(25), grid=Grid(0.0, 1.0, 40), stop=20).is_recoverable is False

    def test_an_unknown_method(self) -> None:
        with pytest.raises(InputError) as error:
            reconstruct([1.0], UniformNoise(1), method="ex")  # pyright: ignore[reportArgumentType]
        assert str(error.value) == "unknown method (found 'ex'); known: 'as', 'em'"


def test_a_notebook_shows_quantiles() -> None:
    found = reconstruct(np.linspace(0, 8, 1_000), UniformNoise(1), grid=Grid(0.0, 0.5, 16), stop=2)
    page = found._repr_html_()
    assert "Rebuilt by em from 1,000 values" in page
    for share in (0.025, 0.25, 0.5, 0.75, 0.975):
        text = f"{100 * share:g}\u00a0%"
        assert f"<tr><td>{text}</td><td>{found.distribution.quantile(share):.5g}</td></tr>" in page
    assert page.count("<tr>") == 6
    assert "<th>share below</th><th>value</th>" in page
    assert "16 bins of 0.5 from 0 to 8: as given; EM: 2 iterations, as asked; " in page


def test_limits() -> None:
    """When a spread is seen or impossible, how many bins are kept, and how long values are held out."""
    assert [Spread(9, 4, gain, 0.5).is_seen for gain in (4.9, 5.1)] == [False, True]
    assert [Spread(1, 4, 0, chance).is_impossible for chance in (1.1e-6, 0.9e-6)] == [False, True]
    assert 2**16 < len(BinCounts.of([0.0, 1 / 3]).counts) <= 2**17
    assert [most_iterations(HeldOut(), n) for n in (19_999, 20_000, 10**6)] == [19_999, 20_000, 20_000]


def test_as_a_table_and_as_text() -> None:
    found = reconstruct([1.0, 2.0, 2.5], UniformNoise(1), grid=Grid(0.0, 1.0, 4), stop=2)
    assert found.to_arrow() == found.distribution.to_arrow()
    first, second, _, last = repr(found).split("\n  ")
    assert first == "Reconstruction(em, 3 values)"
    assert second == "4 bins of 1 from 0 to 4: as given"
    assert last == found.explanation[-1]


class TestTaps:
    def test_the_noise_reaches_a_bin_further(self) -> None:
        """A value may lie at the edge of its bin, so noise of 2.5 bins reaches 4 bins away."""
        assert n_taps_beside(UniformNoise(2.5), 1.0, tail=0) == 4
        assert n_taps_beside(UniformNoise(2.5), 0.5, tail=0) == 6
        assert n_taps_beside(UniformNoise(3), 1.0, tail=0) == 4
        assert make_taps(UniformNoise(2.5), 1.0, 4, "em").tolist()[:2] == [0, pytest.approx(0.025)]
        # Of a normal law 0.27 % lie beyond 3 standard deviations, and 2e-9 beyond 6.
        assert n_taps_beside(GaussianNoise(sd=1), 0.1, tail=0.0027) in (31, 32)
        assert n_taps_beside(GaussianNoise(sd=1), 0.1, tail=1.97e-9) in (61, 62)

    def test_too_many(self) -> None:
        most = 2**18
        assert n_taps_beside(UniformNoise(most - 1), 1.0, tail=0) == most
        with pytest.raises(InputError) as error:
            n_taps_beside(UniformNoise(most), 1.0, tail=0)
        assert str(error.value) == (
            "the noise is too wide for bins so narrow (found '262,145 bins on either side'); "
            "use wider bins, or give no grid: then one is chosen"
        )

    def test_they_are_probabilities(self) -> None:
        """Also where nothing but rounding is left, far out or next to the ends of bounded noise."""
        for noise in (
            UniformNoise(1),
            UniformNoise(0.3),
            UniformNoise(7.7),
            GaussianNoise(sd=2),
            LaplaceNoise(3),
            LaplaceNoise(0.01),
        ):
            for width in (0.1, 1.0, 3.0):
                beside = n_taps_beside(noise, width, tail=1e-11) + 40
                taps = make_taps(noise, width, beside, "em")
                assert len(taps) == 2 * beside + 1
                assert taps.min() >= 0
                assert taps.sum() == pytest.approx(1, abs=1e-9)
                assert taps == pytest.approx(taps[::-1], abs=1e-12)
                if isinstance(noise, UniformNoise):
                    outside = np.abs(np.arange(-beside, beside + 1)) * width >= noise.half_width + width
                    assert not taps[outside].any()

    def test_midpoints_may_be_missed(self) -> None:
        off = TabulatedNoise([0.4, 0.5, 0.6], [0, 10, 0])
        assert make_taps(off, 1.0, 2, "em").sum() == pytest.approx(1)
        with pytest.raises(InputError) as error:
            make_taps(off, 1.0, 2, "as")
        assert str(error.value) == (
            "no bin's midpoint is reached by the noise (found 'bins of width 1'); "
            "use narrower bins, or the method em"
        )


class TestKernel:
    @pytest.mark.parametrize("bins", [1, 2, 5, 16])
    def test_it_is_a_matrix_and_its_transpose(self, bins: int) -> None:
        rng = np.random.default_rng(1)
        taps = rng.random(7)
        matrix, kernel = dense(taps, bins), Kernel.of(taps, bins=(bins,))
        mass, ratio = rng.random(bins), rng.random(bins + 6)
        assert kernel.published == (bins + 6,)
        assert kernel.fold(mass) == pytest.approx(matrix @ mass)
        assert kernel.unfold(ratio) == pytest.approx(matrix.T @ ratio)

    def test_columns_are_chosen(self) -> None:
        taps = np.random.default_rng(2).random((3, 1, 5))
        kernel, mass = Kernel.of(taps, bins=(4,)), np.random.default_rng(3).random((3, 2, 4))
        whole = kernel.fold(mass)
        for chosen in (np.array([True, False, True]), np.array([False, True, False])):
            assert kernel[chosen].fold(mass[chosen]) == pytest.approx(whole[chosen])


def test_a_step_without_folds() -> None:
    assert Update(3, -1.5) == Update(3, -1.5, None)
    assert Distribution.of([1.0, 2.0]).mass.sum() == pytest.approx(1)
