"""The papers' own variants of what is done better here: they do what they were printed to do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import showthrough as st
from showthrough.microdata.anatomy import Anatomized, anatomize
from showthrough.microdata.groups import Groups
from showthrough.microdata.printed_sample import printed_counts, printed_sample
from showthrough.microdata.promises import LDiversity
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled, n_trials
from showthrough.microdata.utility import expected_counts
from showthrough.numbers.by_record import reconstruct_by_record
from showthrough.numbers.correlated_ratio import correlated_ratio_attack
from showthrough.numbers.density import Grid
from showthrough.numbers.interquantile import PrivacyIntervals, disclose, interquantile
from showthrough.numbers.perturb import perturb
from showthrough.numbers.ratio import ratio_attack
from showthrough.numbers.reconstruction import reconstruct
from showthrough.numbers.spectral import plain_edge, spectral_filter
from showthrough.tables.stored import code_claims
from showthrough.tables.surprise import UniformValues, baseline


class TestSpectralFilter:
    """Centring and the margin of the threshold."""

    def test_without_centring_the_means_are_one_direction_more(self) -> None:
        rng = np.random.default_rng(1)
        signal = np.arange(20.0) + np.outer(np.sin(np.arange(200.0)), np.full(20, 2.0))
        noisy = signal + rng.normal(size=signal.shape)
        ours = spectral_filter(noisy, 1.0)
        theirs = spectral_filter(noisy, 1.0, centred=False, margin=False)
        assert (ours.rank, theirs.rank) == (1, 2)
        assert theirs.mean == pytest.approx(theirs.estimates.mean(axis=0))
        assert np.allclose(theirs.covariance, np.cov(theirs.estimates, rowvar=False))
        off = [np.linalg.norm(found.estimates - signal) for found in (ours, theirs)]
        assert off[0] < off[1] * 1.05

    def test_uncentred_estimates_are_the_projection_of_the_data(self) -> None:
        noisy = 3 + np.random.default_rng(2).normal(size=(40, 5))
        found = spectral_filter(noisy, 1.0, centred=False, rank=2)
        _, _, vectors = np.linalg.svd(noisy, full_matrices=False)
        assert np.allclose(found.estimates, noisy @ vectors[:2].T @ vectors[:2])

    def test_the_plain_edge_keeps_noise_more_often(self) -> None:
        rng = np.random.default_rng(3)
        draws = [rng.normal(size=(100, 12)) for _ in range(200)]
        with_margin, plain = (
            np.mean([spectral_filter(one, 1.0, margin=margin).rank > 0 for one in draws])
            for margin in (True, False)
        )
        assert plain_edge(99, 12) < spectral_filter(draws[0], 1.0).threshold
        assert with_margin < 0.12 < plain + 0.06
        assert plain > with_margin


class TestDegrees:
    """The printed rule for degrees."""

    def test_a_better_attack_counts_for_less_by_the_printed_rule(self) -> None:
        privacy = PrivacyIntervals.relative([10.0], 0.5)
        wide, narrow = interquantile([6.0, 14.0], 0.999999), interquantile([9.0, 11.0], 0.999999)
        assert disclose(privacy, narrow).degree == disclose(privacy, wide).degree == 1
        printed = [disclose(privacy, one, rule="overlap").degree[0] for one in (wide, narrow)]
        assert printed == pytest.approx([0.8, 0.2], abs=1e-4)

    def test_other_rules_are_refused(self) -> None:
        privacy = PrivacyIntervals.relative([1.0], 0.5)
        with pytest.raises(st.InputError, match="unknown rule"):
            disclose(privacy, interquantile([0.0, 1.0]), rule="union")  # pyright: ignore[reportArgumentType]


class TestByRecord:
    """AS over records and over bins."""

    def test_it_is_what_counting_into_bins_first_gives(self) -> None:
        hidden = np.random.default_rng(1).gamma(9, 5, 3_000)
        noise = st.GaussianNoise(sd=20)
        values, grid = perturb(hidden, noise, seed=2), Grid.over(-40, 160, bins=200)
        binned = reconstruct(values, noise, method="as", grid=grid, stop=30).distribution
        assert reconstruct_by_record(values, noise, grid=grid, iterations=30).loss(binned) < 0.005

    def test_by_hand(self) -> None:
        # Two bins, noise that reaches the other bin from one value only.
        found = reconstruct_by_record([0.0, 1.0, 0.5], "uniform:0.6", grid=Grid(-0.5, 1.0, 2), iterations=1)
        assert found.mass == pytest.approx([(1 + 0 + 0.5) / 3, (0 + 1 + 0.5) / 3])

    def test_values_far_from_the_grid(self) -> None:
        with pytest.raises(st.InputError, match="no value can come"):
            reconstruct_by_record([100.0], "uniform:1", grid=Grid(0, 1, 3))


class TestCorrelatedAnswers:
    """The ratio of two answers with correlated noise."""

    def test_without_correlation_it_is_the_plain_attack(self) -> None:
        plain = ratio_attack(501, 420, "gaussian:sd=60")
        same = correlated_ratio_attack(501, 420, "gaussian:sd=60", correlation=0.0)
        assert same.sd == pytest.approx(plain.sd)
        assert same.bias == pytest.approx(plain.bias)
        assert same.scale_ratio == pytest.approx(plain.scale_ratio)
        assert same.quantiles([0.1, 0.5, 0.9]) == pytest.approx(plain.quantiles([0.1, 0.5, 0.9]), abs=1e-6)
        assert float(same.read().low) == float(plain.read().low)

    @pytest.mark.parametrize("correlation", [-0.9, 0.5, 0.95])
    def test_quantiles_are_those_of_a_simulation(self, correlation: float) -> None:
        attack = correlated_ratio_attack(200, 150, "gaussian:sd=30", correlation=correlation)
        answers = attack.simulate(200_000, seed=1)
        assert float(np.corrcoef(answers, rowvar=False).flat[1]) == pytest.approx(correlation, abs=0.01)
        ratio = answers[answers[:, 0] > 0]
        ratio = ratio[:, 1] / ratio[:, 0]
        for share in (0.05, 0.5, 0.95):
            assert attack.probability(float(np.quantile(ratio, share))) == pytest.approx(share, abs=0.005)

    def test_the_covariance_lowers_the_mean(self) -> None:
        # 1.1 of the equations: minus the covariance. The other sign is off by twice the covariance.
        attack = correlated_ratio_attack(1_000, 200, "gaussian:sd=60", correlation=0.9)
        answers = attack.simulate(400_000, seed=2)
        mean = float((answers[:, 1] / answers[:, 0]).mean())
        wrong = 0.2 + (attack.noise.variance / 1_000**2) * (0.2 + 0.9)
        assert abs(mean - (0.2 + attack.bias)) < 0.0005 < abs(mean - wrong)

    def test_what_it_refuses(self) -> None:
        with pytest.raises(st.InputError, match="only Gaussian"):
            correlated_ratio_attack(501, 420, "laplace:20", correlation=0.5)
        with pytest.raises(st.InputError, match="between -1 and 1"):
            correlated_ratio_attack(501, 420, "gaussian:sd=20", correlation=1.0)


class TestAnatomy:
    """Buckets from the fullest lists."""

    @pytest.mark.parametrize("seed", range(6))
    def test_buckets_keep_the_promise_and_every_record(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        counts = rng.integers(0, 8, (5, 6)) + np.eye(5, 6, dtype=int)
        groups = Groups.of({"at": [str(at) for at in range(5)]}, {"value": list("abcdef")}, counts)
        found = anatomize(groups, LDiversity(3), seed=seed, dealing="fullest")
        assert found.are_different
        assert found.sizes.min() >= 3
        assert (np.bincount(found.value, minlength=6) + found.suppressed == counts.sum(axis=0)).all()
        assert len(found.group) == len(found.value)
        assert (np.diff(found.bucket) >= 0).all()

    def test_estimates_add_up_as_with_dealing_in_turn(self) -> None:
        groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["cold", "flu", "gout"]}, [[3, 1, 2], [1, 3, 2]])
        for dealing in ("turns", "fullest"):
            found = expected_counts(groups, LDiversity(3), seed=1, dealing=dealing)
            assert found.sum(axis=0) == pytest.approx(groups.totals)
        with pytest.raises(st.InputError, match="unknown way to deal"):
            Anatomized(LDiversity(3), dealing="random")  # pyright: ignore[reportArgumentType]

    def test_a_value_meets_all_others_that_are_dealt_in_other_rounds(self) -> None:
        # In one fixed order each of 12 equal values would meet the same 3 others in all of its buckets.
        groups = Groups.of({"at": ["x"]}, {"value": [f"{at:02}" for at in range(12)]}, [[40] * 12])
        found = anatomize(groups, LDiversity(4), seed=1)
        held = np.zeros((len(found.sizes), 12), int)
        held[found.bucket, found.value] = 1
        together = (held.T @ held > 0).sum(axis=1) - 1
        assert together.min() >= 8


class TestPrintedSample:
    """SPS with every number rounded by itself."""

    def test_every_second_sample_exceeds_its_limit(self) -> None:
        counts = np.full((400, 7), 143)
        trials = np.full(400, 92)
        drawn = printed_sample(counts, trials, chance=np.random.default_rng(1)).sum(axis=1)
        assert 0.25 < (drawn > 92).mean() < 0.55
        assert drawn.mean() == pytest.approx(92, abs=0.3)

    def test_published_groups_are_right_in_the_mean_but_not_in_size(self) -> None:
        promise = ReconstructionPrivacy(0.3, 0.3)
        counts = csr_array(np.tile([900, 100], (300, 1)))
        trials = n_trials(counts, promise, retention=0.5, bound="chernoff", band=1)
        cells = printed_counts(counts, trials, 0.5, chance=np.random.default_rng(1))
        shown = cells.matrix((300, 2)).toarray()
        sizes = shown.sum(axis=1)
        assert sizes.std() > 0
        assert sizes.mean() == pytest.approx(1_000, rel=0.01)
        assert shown[:, 0].mean() == pytest.approx(700, rel=0.02)

    def test_it_is_not_published(self) -> None:
        promise = ReconstructionPrivacy(0.3, 0.3)
        with pytest.raises(st.InputError, match="goes with printed trials"):
            Sampled(promise, rounding="separate")
        groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[900, 100], [3, 5]])
        method = Sampled(promise, 0.5, "chernoff", trials="printed", rounding="separate")
        assert method.design(groups).sample(groups, seed=1).sizes[1] == 8
        records = pa.table({"sex": ["f", "m"], "ill": ["no", "yes"]})
        with pytest.raises(st.InputError, match="not published"):
            st.publish(records, "nowhere", method=method, sensitive="ill", public=["sex"], seed=1)


def test_the_uniform_prior_is_one_over_the_number_of_combinations() -> None:
    schema = st.Schema.of({"sex": ["f", "m"], "age": list("abcde")})
    text = pa.array(['{"age": "b", "sex": "f"}', '{"age": "b"}'])
    assert UniformValues(schema).shares(code_claims(text, schema), ["", ""]) == pytest.approx([0.1, 0.2])
    claims = pa.table({"area": ["x", "x"], "selection": text, "multiplicity": [1, 0]})
    found = baseline(claims, UniformValues(schema), schema=schema, n_records={"x": 3})
    assert found["probability"].to_pylist() == pytest.approx([3 * 0.1 * 0.81, 0.512])
