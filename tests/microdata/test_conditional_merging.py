"""Public values are merged given the other public values, by agglomeration; pooled groups are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from scipy.sparse import csr_array

from needs import SLOW
from showthrough.microdata.check import check
from showthrough.microdata.generalize import check_pooled, generalize, merge_values, pool_groups
from showthrough.microdata.groups import Groups
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled, draw_counts
from showthrough.microdata.stratified import _compare, homogeneous, merge_agglomeratively

PROMISE = ReconstructionPrivacy(0.3, 0.3)
COLOURS = 12


def coloured(seed: int = 1, *, per_job: int = 60_000) -> Groups:
    """Illness depends on the job; colours depend on the job too, and say nothing beyond it."""
    chance = np.random.default_rng(seed)
    likes = 1 + 0.6 * np.outer([-1, 0, 1], np.linspace(-1, 1, COLOURS))
    likes /= likes.sum(axis=1, keepdims=True)
    jobs, colours, counts = [], [], []
    for job, ill in enumerate((0.5, 0.7, 0.9)):
        for colour, n in enumerate(chance.multinomial(per_job, likes[job])):
            if n:
                jobs.append(f"job {job}")
                colours.append(f"colour {colour:02}")
                counts.append([n - (k := chance.binomial(n, ill)), k])
    return Groups.of({"job": jobs, "colour": colours}, {"ill": ["no", "yes"]}, counts)


def test_values_from_30_to_70_per_cent_do_not_become_one() -> None:
    """Old wrong answer: 21 values with shares from 30 to 70 % became one, by a chain of neighbours."""
    shares = np.linspace(0.3, 0.7, 21)
    table = np.stack([400 * shares, 400 * (1 - shares)], axis=1).round().astype(int)
    assert len(set(merge_values(table).tolist())) == 1
    found = merge_agglomeratively(table, significance=0.05)
    assert found.max() + 1 >= 4
    pooled = np.stack([table[found == label].sum(axis=0) for label in range(found.max() + 1)])
    for one in range(len(pooled)):
        for other in range(one):
            assert stats.chi2_contingency(pooled[[one, other]], correction=False).pvalue <= 0.05
    for label in range(found.max() + 1):
        assert np.ptp(shares[found == label]) < 0.2


def off_by_more_than_promised(groups: Groups, *, times: int = 400) -> tuple[float, float]:
    """How often an estimate is off by more than 30 %: from one's own group, and pooled over colours."""
    design = Sampled(PROMISE).design(groups)
    chance, counts, sizes = np.random.default_rng(5), groups.counts.toarray(), groups.sizes
    many = csr_array(np.tile(counts, (times, 1)))
    shown = draw_counts(many, np.tile(design.trials, times), design.retention, chance=chance)
    ill = shown.matrix(many.shape).toarray()[:, 1].reshape(times, len(sizes))
    jobs = groups.public["job"].to_pylist()
    job = np.array([sorted(set(jobs)).index(one) for one in jobs])
    of_job = np.eye(job.max() + 1)[job]
    stray = (1 - design.retention) / 2

    def wrong(shown: Any, n: Any, share: Any) -> float:
        guess = (shown / n - stray) / design.retention
        return float((np.abs(guess - share) > 0.3 * share).mean())

    own = wrong(ill, sizes, counts[:, 1] / sizes)
    return own, wrong(ill @ of_job, sizes @ of_job, counts[:, 1] @ of_job / (sizes @ of_job))


def test_a_colour_that_says_nothing_given_the_job_is_merged_and_pooling_gains_nothing() -> None:
    """Old wrong answer: own group off by more than 30 % in 64 %, the mean over colours in 15 %."""
    groups = coloured()
    old = generalize(groups, merging="components")
    assert old.sizes["colour"][1] > 3
    own, pooled = off_by_more_than_promised(old.groups)
    assert own > 0.6
    assert pooled < 0.5 * own
    new = generalize(groups)
    assert new.sizes == {"job": (3, 3), "colour": (COLOURS, 1)}
    own, pooled = off_by_more_than_promised(new.groups)
    assert own == pooled > 0.6
    # What is left to pool keeps the promise, or is named.
    found = check_pooled(old.groups, PROMISE, retention=Sampled(PROMISE).design(new.groups).retention)
    assert found.violating == 3
    assert found.worst[0].attribute == "colour"
    assert check_pooled(new.groups, PROMISE, retention=0.02).unions == 0


def test_check_counts_and_names_pooled_groups() -> None:
    """Each group by itself keeps the promise; those of one job together do not."""
    rows = [
        (job, at % 40, ill)
        for job, n in ((0, 1), (1, 3))
        for at in range(40 * 12)
        for ill in [at // 40 < 3 * n]
    ]
    job, colour, ill = (list(column) for column in zip(*rows, strict=True))
    people = pa.table({"job": job, "colour": colour, "ill": ill})
    found = check(people, ReconstructionPrivacy(0.3, 0.2), sensitive="ill", retention=0.4, merging="none")
    assert found.summary.exact.holds
    assert found.verdict == "violated"
    assert found.summary.pooled is not None
    assert found.summary.pooled.violating == 2
    assert "2 of these violate the promise: job=" in found.summary.notes[-1]
    assert "(40 values of colour, 480 records)" in found.summary.notes[-1]
    assert found.summary.headline.startswith("No group violates the promise by itself")


@pytest.mark.parametrize("seed", range(6))
def test_unions_violate_where_every_outcome_says_so(seed: int) -> None:
    """A reader who adds up groups that differ in one column, by all outcomes of their coins."""
    chance = np.random.default_rng(seed)
    groups = Groups.of(
        {"job": ["a", "a", "a", "b", "b", "b"], "colour": ["x", "y", "z"] * 2},
        {"ill": ["no", "so-so", "yes"]},
        chance.multinomial(chance.integers(1, 6, 6), [0.5, 0.3, 0.2]),
    )
    promise, kept = ReconstructionPrivacy(0.3, 0.2), 0.4
    unions, violating = 0, 0
    for _, pooled, _ in pool_groups(groups):
        for counts in pooled.counts.toarray():
            tails = [_outcomes(k, counts.sum(), promise.error, kept, 3) for k in counts.tolist()]
            unions += 1
            violating += min(map(min, tails)) < promise.chance - 1e-12
    found = check_pooled(groups, promise, retention=kept)
    assert (found.unions, found.violating) == (unions, violating)
    assert ("none of these violates the promise" in str(found)) == (unions > 0 and not violating)
    assert "several columns are not looked at" in str(found) or violating or not unions


def _outcomes(count: int, size: int, error: float, kept: float, n_values: int) -> tuple[float, float]:
    """How likely an estimate is too high, and too low, from every outcome of every record's coin."""
    stray, chances = (1 - kept) / n_values, np.ones(1)
    for record in range(size):
        show = stray + (kept if record < count else 0)
        chances = np.convolve(chances, [1 - show, show])
    off = (np.arange(size + 1) - size * stray) / kept - count
    return chances[off > error * count + 1e-9].sum(), chances[off < -error * count - 1e-9].sum()


@pytest.mark.parametrize("m", [2, 4])
def test_equal_values_are_told_apart_at_the_level_at_most(m: int) -> None:
    """300 comparisons over 25 strata each with different shares: at most 5 % + 4 standard errors."""
    chance = np.random.default_rng(m)
    times, strata = 300, 25
    shares = chance.dirichlet(np.ones(m), strata)
    here, there = (
        np.concatenate([np.stack([chance.multinomial(n, share) for share in shares]) for _ in range(times)])
        for n in (6, 15)
    )
    first = np.arange(times) * strata
    found = _compare(here.astype(float), there.astype(float), first, np.ones(times, int), plain=False)
    assert (found <= 0.05).mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / times)
    # Small steady differences are seen, and large ones that cancel over strata.
    steady = np.concatenate(
        [np.stack([chance.multinomial(60, s) for s in 0.8 * shares + 0.2 * np.eye(m)[0]])] * 2
    )
    other = np.concatenate([np.stack([chance.multinomial(60, s) for s in shares])] * 2)
    assert (
        _compare(steady.astype(float), other.astype(float), np.array([0, 25]), np.ones(2, int), plain=False)
        < 1e-3
    ).all()
    one, two = np.eye(m)[np.arange(24) % 2] * 20, np.eye(m)[1 - np.arange(24) % 2] * 20
    assert (_compare(one + 3, two + 3, np.array([0]), np.ones(1, int), plain=False) < 1e-6).all()


def test_homogeneity_has_its_level_also_in_sparse_tables() -> None:
    """400 unions of 30 groups of 1 to 5 records: rejected in 5 % at most, + 4 standard errors."""
    chance = np.random.default_rng(3)
    sizes = chance.integers(1, 6, 400 * 30)
    counts = np.stack([chance.multinomial(n, [0.6, 0.3, 0.1]) for n in sizes])
    held = homogeneous(csr_array(counts), np.repeat(np.arange(400), 30), significance=0.05)
    assert 0.05 - 4 * 0.011 <= (~held).mean() <= 0.05 + 4 * 0.011


def test_the_order_of_columns_changes_nothing() -> None:
    groups = coloured(3, per_job=800)
    turned = Groups(groups.public.select(["colour", "job"]), groups.domain, groups.counts)
    one, other = generalize(groups), generalize(turned)
    assert one.sizes == other.sizes
    assert sorted(one.groups.sizes.tolist()) == sorted(other.groups.sizes.tolist())


def test_columns_that_say_the_same_keep_their_values() -> None:
    """A code and its name: given one, the other says nothing, but merging it would merge no group."""
    public = {"code": [1, 2, 3], "name": ["x", "y", "z"]}
    groups = Groups.of(public, {"ill": ["no", "yes"]}, [[90, 10], [50, 50], [51, 49]])
    found = generalize(groups)
    assert found.groups.sizes.tolist() == [100, 200]
    assert found.sizes == {"code": (3, 2), "name": (3, 2)}


def test_very_many_values_are_merged() -> None:
    chance = np.random.default_rng(2)
    n, codes = (30_000, 2_000) if SLOW else (9_000, 600)
    code, town = chance.integers(0, codes, n), chance.integers(0, 12, n)
    share = np.where(code % 3 == 0, 0.2, 0.7)
    sizes = chance.integers(1, 40, n)
    ill = chance.binomial(sizes, share)
    groups = Groups.of(
        {"code": code.tolist(), "town": town.tolist()},
        {"ill": ["no", "yes"]},
        np.stack([sizes - ill, ill], axis=1),
    )
    found = generalize(groups)
    assert found.sizes["town"] == (12, 1)
    assert 2 <= found.sizes["code"][1] <= 12
