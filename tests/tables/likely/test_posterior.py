"""Probabilities against brute force: listed datasets are exact, sampled ones agree within their intervals."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import showthrough as st
from showthrough.tables.likely import posterior as module
from showthrough.tables.likely.chains import ChainPlan, average, split_rhat
from showthrough.tables.likely.likely import statements_of
from showthrough.tables.likely.posterior import find_posterior
from tables.likely.tiny_datasets import matching, sequences, weights

SCHEMA = st.Schema.of(
    {"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1"]}, rules=[st.Rule("a=2", "b=1")], record="home"
)

#: Chains only, and short ones.
SAMPLED = ChainPlan(chains=8, draws=100, burn_in=10, worlds=0)

RELEASES: dict[str, tuple[dict[str, Any], int]] = {
    "tables of one column": ({"a": [1, 2, 1], "b": [1, 3], "c": [2, 2]}, 4),
    "types that share all cells": ({"a": [2, 1, 1], "c": [3, 1]}, 4),
    "tables of two columns": ({"a*b": [1, 1, 1, 0, 0, 1], "b*c": [1, 1, 1, 1]}, 4),
    "intervals": ({"total": [3], "a": [(0, 2), (1, 3), None], "b*c": [None, (0, 1), None, 1]}, 3),
    "all tables of two": ({"a*b": [2, 1, 1, 1, 0, 0], "a*c": [2, 1, 1, 1, 0, 0], "b*c": [2, 1, 1, 1]}, 5),
}


@pytest.fixture(scope="module")
def prior() -> st.Prior:
    rng = np.random.default_rng(8)
    a = rng.integers(0, 3, 300)
    b = np.where(a == 2, 1, rng.random(300) < 0.3).astype(int)
    c = np.where(rng.random(300) < 0.8, b, 1 - b)
    return st.fit_prior(st.Records(SCHEMA, np.column_stack([a, b, c])), name="tiny", seed=1)


def selections() -> list[str]:
    columns = {name: SCHEMA[name].values for name in SCHEMA.names}
    return [
        ",".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        for k in (1, 2, 3)
        for names in itertools.combinations(columns, k)
        for values in itertools.product(*(columns[name] for name in names))
    ]


@pytest.mark.parametrize("name", RELEASES)
def test_listed_datasets_give_exact_probabilities(prior: st.Prior, name: str) -> None:
    published, n = RELEASES[name]
    release = st.Release.of(SCHEMA, published)
    every = sequences(release, n)
    weight = weights(prior, every, SCHEMA.names)
    found = find_posterior(release, prior)
    assert found.exact
    for selection in selections():
        mask = found.mask(st.Selection.parse(selection))
        counts = matching(release, every, selection)
        asked = np.arange(n + 1)
        said = found.claims(np.broadcast_to(mask, (n + 1, len(mask))), asked).mean
        assert said == pytest.approx([weight[counts == m].sum() for m in asked], abs=1e-9)
        assert found.expected(mask[None, :])[0] == pytest.approx(weight @ counts, abs=1e-9)


@pytest.mark.parametrize("name", RELEASES)
def test_sampling_agrees_with_all_datasets(prior: st.Prior, name: str) -> None:
    """Total variation over all datasets; 800 draws of up to 40 classes of datasets stay below 0.12."""
    published, n = RELEASES[name]
    release = st.Release.of(SCHEMA, published)
    every = sequences(release, n)
    weight = weights(prior, every, SCHEMA.names)
    found = find_posterior(release, prior, plan=SAMPLED, seed=3)
    assert not found.exact
    true: dict[bytes, float] = {}
    for one, share in zip(every, weight, strict=True):
        key = np.sort(one @ [4, 2, 1]).tobytes()
        true[key] = true.get(key, 0.0) + share
    over = found.universe.frame.over
    codes = np.zeros((*found.draws.shape, 3), int)
    codes[..., list(over)] = found.codes
    seen: dict[bytes, float] = {}
    for one in codes.reshape(-1, n, 3):
        key = np.sort(one @ [4, 2, 1]).tobytes()
        seen[key] = seen.get(key, 0.0) + 1 / (found.draws.shape[0] * found.draws.shape[1])
    assert set(seen) <= set(true)
    assert sum(abs(true[key] - seen.get(key, 0.0)) for key in true) / 2 < 0.12


def test_intervals_cover_as_often_as_they_say(prior: st.Prior) -> None:
    """120 runs × 6 events: between 0.90 and 0.99 of the intervals at 95 % cover the true probability."""
    release = st.Release.of(SCHEMA, RELEASES["tables of one column"][0])
    exact = find_posterior(release, prior)
    masks = np.array([exact.mask(st.Selection.parse(s)) for s in selections() if s.count(",")])
    counts = np.ones(len(masks), int)
    true = exact.claims(masks, counts).mean
    some = np.flatnonzero((true > 0.2) & (true < 0.8))[::2]
    covered = []
    assert exact.listed is not None
    decider, space = module.agreeing(release, prior, effort=1, seed=0)
    starts = [space.classes_of(one) for one in module.first_worlds(decider, 8, seed=1)]
    for seed in range(120):
        draws = module.run_chains(space, starts, ChainPlan(8, 20, 5, 2, 0), seed=seed)
        sampled = replace(exact, draws=draws, listed=None)
        found = sampled.claims(masks[some], counts[some])
        covered.append((found.low <= true[some]) & (true[some] <= found.high))
    assert 0.90 <= np.mean(covered) <= 0.99


def test_certain_statements_are_left_to_the_audit(prior: st.Prior) -> None:
    release = st.Release.of(SCHEMA, {"a*b": [0, 2, 1, 0, 0, 1], "c": [3, 1]})
    for plan in (None, SAMPLED):
        found = st.likely(release, prior, least=0.5, plan=plan)
        assert found.n_certain
        said = {str(one.given) for one in found.statements if "b" in one.selection}
        assert "a=0" not in said  # whoever knows a=0 learns b=1 for certain
        assert all(0 < one.q < 1 for one in found.statements)


def test_findings_are_what_brute_force_says(prior: st.Prior) -> None:
    published, n = RELEASES["tables of two columns"]
    release = st.Release.of(SCHEMA, published)
    every = sequences(release, n)
    weight = weights(prior, every, SCHEMA.names)
    for calibrated in (False, True):
        found = st.likely(release, _trusted(prior) if calibrated else prior, least=0.5)
        assert found.of_kind("finding")
        for one in found.of_kind("finding"):
            given = weight @ matching(release, every, str(one.given))
            both = weight @ matching(release, every, f"{one.given},{one.selection}")
            expected = min(both / given, 1 - 1 / 102 if calibrated else 0.89)
            assert one.q == pytest.approx(expected, abs=1e-6)


def _trusted(prior: st.Prior) -> st.Prior:
    """The prior with a calibration that changes nothing and has earned high probabilities."""
    from showthrough.tables.likely.calibration import Calibration, Curve, Measure

    good = Measure.of(np.full(100, 0.95), (np.arange(100) < 95).astype(float))
    curve = Curve(1.0, 0.0, good, good)
    return prior.with_calibration(Calibration(20, curve, curve, "elsewhere"))


def test_what_chains_disagree_on_is_withheld(prior: st.Prior, monkeypatch: pytest.MonkeyPatch) -> None:
    release = st.Release.of(SCHEMA, RELEASES["tables of one column"][0])
    agreed = find_posterior(release, prior, plan=SAMPLED, seed=1)
    whole = statements_of(agreed, least=0.5, max_columns=2)
    assert whole.statements
    assert not whole.n_withheld
    stuck = agreed.draws.copy()
    stuck[:] = stuck[:, :1]  # each chain stays where it was
    monkeypatch.setattr(module, "run_chains", lambda *_, **__: stuck)
    found = st.likely(release, prior, least=0.5, max_columns=2, plan=SAMPLED, seed=1)
    assert found.n_withheld
    assert all(one.rhat <= 1.05 for one in found.statements)


def test_no_sample_shows_certainty(prior: st.Prior) -> None:
    found = find_posterior(st.Release.of(SCHEMA, {"a": [2, 1, 0], "b*c": [0, 3, 0, 0]}), prior, plan=SAMPLED)
    said = found.claims(np.array([found.mask(st.Selection.parse("a=0,b=0"))]), np.array([2]))
    assert said.always[0]
    assert said.mean[0] < 1
    assert said.low[0] < said.mean[0]


def test_an_unknown_number_of_records_is_an_error(prior: st.Prior) -> None:
    with pytest.raises(st.Undecided, match="number of records"):
        st.likely(st.Release.of(SCHEMA, {"a": [1, (0, 2), 1]}), prior)


def test_an_area_without_records(prior: st.Prior) -> None:
    found = st.likely(st.Release.of(SCHEMA, {"a": [0, 0, 0]}), prior)
    assert (found.n_records, found.statements) == (0, ())


def test_the_same_seed_gives_the_same_statements(prior: st.Prior) -> None:
    release = st.Release.of(SCHEMA, RELEASES["all tables of two"][0], area="north")
    found = [st.likely(release, prior, least=0.5, plan=SAMPLED, seed=5).to_arrow() for _ in range(2)]
    assert found[0].equals(found[1])
    assert not found[0].equals(st.likely(release, prior, least=0.5, plan=SAMPLED, seed=6).to_arrow())


def test_probabilities_of_counts(prior: st.Prior) -> None:
    published, n = RELEASES["intervals"]
    release = st.Release.of(SCHEMA, published)
    every = sequences(release, n)
    weight = weights(prior, every, SCHEMA.names)
    found = st.probability(release, "b=1,c=1", prior)
    counts = matching(release, every, "b=1,c=1")
    assert sum(q for q, _, _ in found.chances.values()) == pytest.approx(1)
    for count, (q, _, _) in found.chances.items():
        assert q == pytest.approx(weight[counts == count].sum())
    assert found.expected == pytest.approx(weight @ counts)
    assert "not calibrated here" in found.prior
    with pytest.raises(st.SchemaError):
        st.probability(release, "b=7", prior)


def test_rhat_sees_chains_that_do_not_move() -> None:
    rng = np.random.default_rng(0)
    mixed = rng.random((1, 4, 100))
    assert split_rhat(mixed)[0] < 1.05
    assert split_rhat(np.repeat([[[0.0], [1.0], [0.0], [1.0]]], 100, axis=2))[0] == np.inf
    assert split_rhat(np.ones((1, 4, 100)))[0] == 1
    assert split_rhat(mixed + np.array([0, 0, 0, 1])[None, :, None])[0] > 1.5


def test_effective_draws_of_slow_chains_are_few() -> None:
    rng = np.random.default_rng(1)
    quick = (rng.random((1, 8, 400)) < 0.5).astype(float)
    slow = np.repeat((rng.random((1, 8, 20)) < 0.5).astype(float), 20, axis=2)
    assert average(quick).ess[0] > 2000
    assert average(slow).ess[0] < 400


def test_hostile_labels_stand_in_sentences_as_they_are() -> None:
    hostile = "<script>\x1b[31m"
    schema = st.Schema.of({"a": [hostile, "m"], "b": ["0", "1"]})
    people = st.Records(schema, np.array([[0, 1], [1, 0]] * 20))
    found = st.likely(
        st.Release.of(schema, {"a": [1, 2], "b": [2, 1]}), st.fit_prior(people, name=hostile), least=0.5
    )
    assert any(hostile in sentence for sentence in found.to_arrow()["sentence"].to_pylist())
