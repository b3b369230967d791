"""Sampling, perturbing, scaling: never more trials than allowed, and nothing gained or lost on average."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from needs import SLOW
from showthrough.errors import InputError
from showthrough.microdata import sampled as module
from showthrough.microdata.groups import Groups
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled, default_band, n_trials, sample, sample_counts, trials_for
from showthrough.microdata.uniform import Cells

PROMISE = ReconstructionPrivacy(0.3, 0.3)

matrices = st.lists(st.lists(st.integers(0, 400), min_size=4, max_size=4), min_size=1, max_size=5)


@settings(deadline=None, max_examples=100 if SLOW else 20)
@given(matrices, st.integers(0, 2**64))
def test_sizes_stay(counts: list[list[int]], seed: int) -> None:
    groups = Groups.of({"g": list(range(len(counts)))}, {"v": list("abcd")}, counts)
    for trials in ("banded", "printed"):
        method = Sampled(PROMISE, 0.5, trials=trials)
        assert sample(groups, method, seed=seed).sizes.tolist() == groups.sizes.tolist()


@settings(deadline=None, max_examples=30 if SLOW else 12)
@given(matrices, st.integers(0, 2**64))
def test_sizes_stay_unless_a_group_is_left_out(counts: list[list[int]], seed: int) -> None:
    groups = Groups.of({"g": list(range(len(counts)))}, {"v": list("abcd")}, counts)
    design = Sampled(PROMISE, 0.1).design(groups)
    kept = np.where(design.trials > 0, groups.sizes, 0)
    assert (design.trials <= kept).all()
    assert design.sample(groups, seed=seed).sizes.tolist() == kept.tolist()


@pytest.mark.parametrize(
    ("bound", "band"), [("chernoff", None), ("chernoff", 1), ("chernoff", 3), ("exact", 1)]
)
def test_never_more_trials_than_the_limit(
    band: float | None, bound: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every record that is perturbed is counted, in groups of all sizes and shapes."""
    chance = np.random.default_rng(1)
    counts = csr_array((chance.random((300, 6)) ** 6 * chance.integers(1, 3000, (300, 1))).astype(np.int64))
    counts = csr_array(counts[np.asarray(counts.sum(axis=1)) > 0])
    sizes = counts.sum(axis=1)
    limit = PROMISE.largest_group(counts.max(axis=1).toarray().ravel() / sizes, 0.4, 6, bound=bound)
    perturbed: list[Any] = []
    draw = module.perturb_counts

    def watched(sampled: Any, retention: float, **more: Any) -> Cells:
        perturbed.append(sampled)
        return draw(sampled, retention, **more)

    monkeypatch.setattr(module, "perturb_counts", watched)
    trials = n_trials(counts, PROMISE, retention=0.4, bound=bound, band=band)
    for seed in range(20):
        sample_counts(counts, trials, 0.4, chance=np.random.default_rng(seed))
    for sampled in perturbed:
        tried = sampled.sum(axis=1)
        assert (tried >= 1).all()
        if band == 1:
            assert (tried == np.minimum(sizes, np.maximum(1, np.floor(limit)))).all()
        assert (tried <= np.maximum(1, limit)).all()


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=2, max_size=6).filter(sum),
    st.data(),
    st.integers(0, 2**32),
)
def test_rounding_is_up_or_down(counts: list[int], data: st.DataObject, seed: int) -> None:
    old = np.array([sum(counts)])
    new = np.array([data.draw(st.integers(1, 300))])
    scaled = module._rescaled(np.array([counts]), old, new, np.random.default_rng(seed))[0]
    exact = np.array(counts) * new[0] / old[0]
    assert scaled.sum() == new[0]
    assert (np.abs(scaled - exact) < 1).all()


def test_rounding_is_exact_on_average() -> None:
    """Over all starts, which are equally likely: no chance involved."""

    class Fixed:
        def __init__(self, start: int) -> None:
            self.start = start

        def integers(self, low: int, high: Any) -> Any:
            return np.full(len(high), self.start) + low

    counts = np.array([[5, 0, 7, 1]])
    drawn: Any = [module._rescaled(counts, np.array([13]), np.array([4]), Fixed(u)) for u in range(13)]  # pyright: ignore[reportArgumentType]
    assert np.mean(drawn, axis=0)[0] == pytest.approx(counts[0] * 4 / 13)


def test_trials_tell_a_frequency_only_by_its_band() -> None:
    ratio = default_band(PROMISE)
    assert ratio == pytest.approx(1.3 / 0.7)
    ends = ratio ** -np.arange(6.0)
    known: Any = {"bound": "chernoff"}
    for upper, lower in pairwise(ends):
        inside = np.linspace(lower * 1.0001, upper, 50)
        limits = trials_for(inside, np.full(50, 10**6), promise=PROMISE, retention=0.5, n_values=40, **known)
        assert len(set(limits.tolist())) == 1
        assert limits[0] == np.floor(PROMISE.largest_group(upper, 0.5, 40, **known))
    assert default_band(ReconstructionPrivacy(1.5, 0.3)) == 10


def test_bad_input() -> None:
    groups = Groups.of({"g": [1]}, {"v": ["a", "b"]}, [[4, 5]])
    with pytest.raises(InputError, match="a retention must be between 0 and 1"):
        Sampled(PROMISE, 1.0)
    with pytest.raises(InputError, match="the ratio of a band must be at least 1"):
        sample(groups, Sampled(PROMISE, 0.5, trials="banded", band=0.5), seed=1)
    with pytest.raises(InputError, match="banded trials need a retention"):
        Sampled(PROMISE, trials="banded")
    with pytest.raises(InputError, match="independent trials follow exact tails"):
        Sampled(PROMISE, 0.5, "chernoff")
    with pytest.raises(InputError, match=r"unknown trials.*choose independent, banded or printed"):
        Sampled(PROMISE, trials="other")  # pyright: ignore[reportArgumentType]
