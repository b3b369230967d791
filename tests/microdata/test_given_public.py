"""``given="public"``: the promise is kept to readers who see the public values, and the attacks on that.

Readers use everything: the rows, the classes, the merged values, the retentions, and how all of it is chosen.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adult_like import adult_like
from needs import SLOW
from showthrough.engine.duck import DuckBackend
from showthrough.errors import InputError
from showthrough.frames import Source
from showthrough.microdata.check import check
from showthrough.microdata.compare import compare
from showthrough.microdata.given import (
    EPSILON,
    FAILURE,
    STEPS,
    THRESHOLD,
    Ladder,
    UniformGivenPublic,
    classify,
    margin,
    perturb_classes,
)
from showthrough.microdata.groups import Groups
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.publish import publish

PROMISE = RhoPrivacy(0.3, 0.6)


def skewed(n: int, *, seed: int) -> pa.Table:
    """Many values, a few of them frequent; groups from one person to hundreds."""
    rng = np.random.default_rng(seed)
    town, age = rng.zipf(1.4, n) % 60, rng.integers(18, 90, n)
    ill = np.minimum(rng.zipf(1.5, n), 25) + (town == 1) * rng.integers(0, 3, n)
    return pa.table({"town": [f"t{v}" for v in town], "age": age, "ill": [f"i{v:02}" for v in ill]})


def many() -> Groups:
    """A million people: each of those who are like Adult's many times."""
    groups = Groups.read(adult_like(), sensitive="rich")
    return groups.with_counts([groups.counts * 150])


def worlds() -> dict[str, tuple[pa.Table, str, RhoPrivacy]]:
    rng = np.random.default_rng(7)
    tiny = pa.table({"a": rng.integers(0, 3, 14), "s": [f"s{v}" for v in rng.integers(0, 4, 14)]})
    same = pa.table({"a": ["x"] * 30 + ["y"] * 70, "s": ["q"] * 30 + ["r"] * 70})  # a tells s exactly
    missing = pa.table({"a": [1, 2, None, 9] * 50, "s": (["u"] * 5 + ["v"] * 2 + ["w"]) * 25})
    return {
        "adult-like": (adult_like(), "rich", PROMISE),
        "skewed": (skewed(5_000, seed=1), "ill", RhoPrivacy(0.1, 0.5)),
        "known totals": (skewed(3_000, seed=2), "ill", RhoPrivacy(0.1, 0.5, known_totals=True)),
        "tiny": (tiny, "s", RhoPrivacy(0.4, 0.7)),
        "correlated": (same, "s", PROMISE),
        "missing": (missing, "s", RhoPrivacy(0.2, 0.5)),
        "nothing rare": (pa.table({"a": ["x", "y"] * 20, "s": ["u", "v"] * 20}), "s", RhoPrivacy(0.1, 0.5)),
    }


@pytest.mark.parametrize("name", worlds())
def test_no_published_group_lets_a_rare_value_exceed_the_posterior(tmp_path: Path, name: str) -> None:
    """Bayes' rule by hand, from the published rows, labels and retentions, and the truth."""
    people, sensitive, promise = worlds()[name]
    made = publish(people, tmp_path / "public", sensitive=sensitive, promise=promise, given="public")
    said, totals = made.manifest, dict(zip(*np.unique(people[sensitive], return_counts=True), strict=True))
    assert said.given == "public"
    assert said.records == people.num_rows  # nobody is left out: that would tell something too
    rare = {v for v, n in totals.items() if n <= promise.prior * people.num_rows * (1 + 1e-12)}
    rows = made.to_arrow()
    label_of = {
        name: {value: label for label, members in said.merged.get(name, {}).items() for value in members}
        for name in said.public
    }
    held = dict[tuple[str, ...], list[str]]()
    for row in people.to_pylist():
        texts = ["" if row[name] is None else str(row[name]) for name in said.public]
        key = tuple(label_of[name].get(text, text) for name, text in zip(said.public, texts, strict=True))
        held.setdefault(key, []).append(row[sensitive])
    part = dict[tuple[str, ...], int]()
    for row in rows.to_pylist():
        key = tuple("" if row[name] is None else str(row[name]) for name in said.public)
        number = row[said.label] if said.label else 1
        assert part.setdefault(key, number) == number  # one class for each group
    assert set(part) == set(held)
    m = len(said.domain)
    for key, values in held.items():
        p = said.tables[part[key] - 1].retention
        for value in rare & set(values):
            f, b = values.count(value) / len(values), (1 - p) / m
            sure = f * (p + b) / (f * p + b)
            if promise.known_totals:
                gamma = (p + b) / b
                sure = gamma**2 * f / (gamma**2 * f + 1 - f)
            assert sure <= promise.posterior * (1 + 1e-9)
    found = check(made, promise, truth=people)
    assert found.verdict == "holds"
    assert made.people is not None
    assert not made.people.broken
    assert check(made, promise).verdict in ("undecided", "holds")


def test_without_it_the_same_records_break_the_promise(tmp_path: Path) -> None:
    people = adult_like()
    made = publish(people, tmp_path / "public", sensitive="rich", promise=PROMISE)
    assert check(made, PROMISE, truth=people).verdict == "violated"
    assert made.people is not None
    assert made.people.broken


@pytest.mark.parametrize("seed", range(3))
def test_the_ladder_follows_from_public_values_alone(seed: int) -> None:
    """Other sensitive values of the same people: the same steps."""
    people, rng = skewed(2_000, seed=seed), np.random.default_rng(seed)
    ladders = list[list[list[list[int]]]]()
    for _ in range(2):
        shuffled = people.set_column(2, "ill", people["ill"].take(pa.array(rng.permutation(2_000))))
        steps = Ladder.of(Groups.read(shuffled, sensitive="ill")).steps()
        ladders.append([[numbers.tolist() for numbers in step.merged] for step in steps])
    assert ladders[0] == ladders[1]
    assert len(set(ladders[0][-1][0])) == len(set(ladders[0][-1][1])) == 1
    for finer, coarser in zip(ladders[0], ladders[0][1:], strict=False):
        for before, after in zip(finer, coarser, strict=True):
            assert len({*zip(before, after, strict=True)}) == len(set(before))  # what is one stays one


def test_numbers_are_merged_with_their_neighbours() -> None:
    groups = Groups.read(skewed(2_000, seed=1), sensitive="ill")
    for step in Ladder.of(groups).steps():
        assert (np.diff(step.merged[1]) >= 0).all()  # of age


def test_a_retention_tells_an_interval_and_no_number() -> None:
    """Every retention is on a grid that follows from the promise and the domain."""
    for people, sensitive, promise in worlds().values():
        groups = Groups.read(people, sensitive=sensitive)
        found = classify(groups, promise, seed=1)
        grid = promise.prior + (promise.posterior - promise.prior) * np.arange(STEPS) / STEPS
        gamma = promise.amplification_at(grid) * np.exp(-EPSILON / (2 if promise.known_totals else 1))
        allowed = (gamma - 1) / (len(groups.totals) - 1 + gamma)
        assert all(np.isclose(kept, allowed).any() for kept in found.retention)
        assert (found.retention >= 0.25 * allowed[0]).all()
        assert np.bincount(found.of, groups.sizes).tolist() == found.groups.sizes.tolist()


def _datasets(sizes: tuple[int, ...], total: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Everybody's value, 0 or 1 (the rare one), group by group, with a known number of rare ones."""
    n, ends = sum(sizes), np.cumsum(sizes)[:-1].tolist()
    for chosen in combinations(range(n), total):
        flat = np.array([int(at in chosen) for at in range(n)])
        yield tuple(tuple(part.tolist()) for part in np.split(flat, ends))


@pytest.mark.parametrize(
    ("sizes", "total"), [((1, 6), 2), ((3, 3), 1), ((2, 2, 3), 2), ((4, 3), 2), ((1, 3, 3), 2)]
)
def test_a_reader_who_knows_the_algorithm_and_all_rows(sizes: tuple[int, ...], total: int) -> None:
    """All datasets with the same public values and totals, all outcomes: what classes, level and rows tell.

    Old: with the level that follows from the values exactly, one person and six others, two of them with
    the rare value: merged if and only if the one person has it. The reader of these rows also knows which row
    is whose. From a person's own row nobody becomes surer than ρ2, from all rows at once not surer than
    γ² f/(γ² f + 1 − f) allows.
    """
    assert total <= 0.3 * sum(sizes)
    for seed in (1, 2):
        by_look = dict[Any, list[tuple[tuple[int, ...], ...]]]()
        for dataset in _datasets(sizes, total):
            counts = [[group.count(0), group.count(1)] for group in dataset]
            groups = Groups.of({"g": [f"g{at}" for at in range(len(sizes))]}, {"s": ["no", "yes"]}, counts)
            found = classify(groups, PROMISE, seed=seed)
            look = (found.level, tuple(found.of.tolist()), tuple(found.part.tolist()), tuple(found.retention))
            by_look.setdefault(look, []).append(dataset)
        worst_row = worst_all = 0.0
        for (_, of, part, retention), datasets in by_look.items():
            kept = np.array([retention[part[of[g]]] for g, n in enumerate(sizes) for _ in range(n)])
            truth = np.array([[v for group in dataset for v in group] for dataset in datasets])
            # From one's own row: the share of datasets in which this person has the value is the prior.
            prior = truth.mean(axis=0)
            own = prior * (kept + (1 - kept) / 2) / (prior * kept + (1 - kept) / 2)
            worst_row = max(worst_row, float(own.max()))
            for outcome in product((0, 1), repeat=len(kept)):
                likelihood = np.where(truth == np.array(outcome), (1 + kept) / 2, (1 - kept) / 2).prod(axis=1)
                worst_all = max(worst_all, float((likelihood @ truth / likelihood.sum()).max()))
        assert worst_row <= 0.6 * (1 + 1e-9)
        odds = (0.6 / 0.4) ** 2 / (0.3 / 0.7)
        assert worst_all <= odds / (1 + odds) + 1e-9


def test_without_noise_the_level_would_tell_a_value() -> None:
    """One person and six: merged if and only if the one has the rare value, so a reader would be certain."""
    told = set[tuple[int, int]]()
    for dataset in _datasets((1, 6), 2):
        has = np.array([sum(group) for group in dataset])
        groups = Groups.of(
            {"g": ["a", "b"]}, {"s": ["no", "yes"]}, [[1 - has[0], has[0]], [6 - has[1], has[1]]]
        )
        steps = Ladder.of(groups).steps()
        shares = (np.bincount(step.of, has) / step.sizes for step in steps)
        told.add((dataset[0][0], next(at for at, share in enumerate(shares) if share.max() <= 0.525)))
    assert told == {(0, 0), (1, 1)}


def _chances(spare: np.ndarray, threshold: float) -> np.ndarray:
    """The probability of every level, by integration over the noise of the threshold."""
    scale, width = 2 / (EPSILON - THRESHOLD), 1 / THRESHOLD
    at = np.linspace(-30 * width, 30 * width, 60_001)
    weight = np.exp(-np.abs(at) / width) / (2 * width) * (at[1] - at[0])
    off = (threshold + at[:, None] - spare) / scale
    below = np.where(off < 0, np.exp(np.minimum(off, 0)) / 2, 1 - np.exp(-np.maximum(off, 0)) / 2)
    before = np.cumprod(np.column_stack([np.ones(len(at)), below]), axis=1)
    stops = np.column_stack([before[:, :-1] * (1 - below), before[:, -1]])
    return weight @ stops


@pytest.mark.parametrize("seed", range(10))
def test_a_swap_makes_no_level_much_likelier(seed: int) -> None:
    """Every level's probability, exactly: at most e^ε times as large after two people swap their values."""
    rng = np.random.default_rng(seed)
    spare = np.sort(rng.normal(0, 60, 6))
    moved = spare + rng.uniform(-1, 1, 6).round() if seed % 2 else spare + np.where(np.arange(6) % 2, 1, -1)
    first, second = _chances(spare, 20.0), _chances(moved, 20.0)
    assert first.sum() == pytest.approx(1, abs=1e-4)
    assert (np.abs(np.log(first / second)) <= EPSILON + 1e-3).all()


def test_infeasible_levels_are_next_to_never_taken_for_feasible() -> None:
    """The share of noise that exceeds the margin, at every level of a long ladder."""
    levels = 500 if SLOW else 80
    wrong = _chances(np.zeros(levels), margin(levels))[:-1].sum()
    assert wrong <= FAILURE
    assert wrong > FAILURE / 10  # and no larger than needed


def test_estimates_stay_unbiased_over_classes() -> None:
    found = classify(many(), PROMISE, seed=1)
    groups = found.groups
    assert len(found.retention) > 1
    assert len(groups) > 10
    kept = found.retention[found.part]
    truth = groups.totals[1]
    estimates = list[float]()
    for seed in range(200):
        drawn = perturb_classes(found, seed=2**70 + seed)
        shown = drawn.counts.toarray()[:, 1]
        estimates.append(float(((shown - (1 - kept) / 2 * drawn.sizes) / kept).sum()))
        assert drawn.sizes.tolist() == found.groups.sizes.tolist()
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - truth) < 5 * error


def test_it_is_quick_for_many_groups_and_values() -> None:
    """Ladders of thousands of values take hundreds of steps, not thousands."""
    rng, n = np.random.default_rng(1), 20_000
    people = pa.table(
        {"a": rng.integers(0, 3_000, n), "b": rng.zipf(1.5, n) % 5_000, "s": rng.integers(0, 9, n)}
    )
    groups = Groups.read(people, sensitive="s")
    assert len(groups) > 10_000
    assert sum(1 for _ in Ladder.of(groups).steps()) < 400


def test_counts_work_as_they_are(tmp_path: Path) -> None:
    people = adult_like(60_000)
    how: dict[str, Any] = {"sensitive": "rich", "promise": PROMISE, "given": "public", "seed": 2**80}
    made = publish(people, tmp_path / "a", **how)
    again = publish(people, tmp_path / "b", file_format="csv", **how)
    assert len(made.schema["sex"].values) == 2
    truth = people.filter(pa.compute.equal(people["rich"], "y"))
    for publication in (made, again):
        for sex in ("sex0", "sex1"):
            found = publication.count(f"sex={sex},rich=y")
            low, high = found.interval(0.9999)
            assert low <= sum(v == sex for v in truth["sex"].to_pylist()) <= high
    rows = pq.read_table(tmp_path / "a" / "data.parquet")
    assert rows.num_rows == people.num_rows


def test_a_plan_draws_the_same_wherever_it_is_sent(tmp_path: Path) -> None:
    source = Source.of(adult_like(60_000))
    with DuckBackend().tally(source, public=None, sensitive=["rich"], scratch=tmp_path) as tally:
        plan = UniformGivenPublic(PROMISE).plan(tally, seed=3)
        sent = pickle.loads(pickle.dumps(plan))  # noqa: S301
        for block in plan.blocks(tally):
            for here, there in zip(plan.draw(block), sent.draw(block), strict=True):
                assert (here == there).all()


def test_compare_shows_its_price() -> None:
    found = compare(adult_like(), "uniform", sensitive="rich", promise=PROMISE, given="public", runs=2)
    names = [type(setting.method) for setting, _ in found.measured]
    assert names[-1] is UniformGivenPublic
    free, price = (float(utility.mean[0]) for _, utility in found.measured)
    assert price > free
    assert found.measured[1][1].retention < found.measured[0][1].retention  # type: ignore[operator]


def test_what_cannot_be_kept_is_said(tmp_path: Path) -> None:
    people = adult_like(500)
    odd: list[tuple[dict[str, Any], str]] = [
        ({"retention": 0.5}, "only the method uniform"),
        ({"promise": "rho=0.3:0.6", "method": "partitioned"}, "only the method uniform"),
        ({"promise": PROMISE, "given": "everything"}, "unknown readers"),
        ({"promise": RhoPrivacy(0.3, 0.6, sets=2)}, "sets of values are not protected"),
    ]
    for options, message in odd:
        with pytest.raises(InputError, match=message):
            publish(people, tmp_path / "x", sensitive="rich", **{"given": "public", **options})
    assert not (tmp_path / "x").exists()
