"""Sets of values: what a reader learns about them, and promises that cover them, by brute force."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from needs import SLOW, examples
from showthrough.errors import InputError
from showthrough.microdata import sets
from showthrough.microdata.partition import Partition, partition
from showthrough.microdata.promises import RhoPrivacy, posterior
from showthrough.microdata.sets import Family, describe_sets, equivalent_share, largest_shares, worst_set

THIRDS = RhoPrivacy(1 / 3, 2 / 3)
JOBS = ["clerk", "nurse", "baker", "cook", "driver", "tailor", "judge", "mayor", "priest", "vet"]
EXAMPLE = np.array([12, 8, 6, 5, 4, 3, 1, 1, 1, 1])
#: The paper's own sub-tables T1 and T2, with γ 4 and 10.
PRINTED = partition(EXAMPLE, THIRDS, cost="bound", step=1)


def subsets(n_values: int, size: int | None = None) -> list[tuple[int, ...]]:
    """All sets of values that are not empty."""
    sizes = range(1, (size or n_values) + 1)
    return list(chain.from_iterable(combinations(range(n_values), number) for number in sizes))


def beliefs(table: np.ndarray, kept: float, members: tuple[int, ...]) -> np.ndarray:
    """Pr[X in the set | Y = y] for every y of the sub-table: the whole matrix, and Bayes."""
    domain = np.flatnonzero(table)
    m = len(domain)
    channel = np.full((m, m), (1 - kept) / m) + np.eye(m) * kept  # Pr[y | x], x by row
    joint = table[domain][:, None] * channel
    inside = np.isin(domain, members)
    return joint[inside].sum(axis=0) / joint.sum(axis=0)


def surest(tables: np.ndarray, kept: np.ndarray, promise: RhoPrivacy, family: list[tuple[int, ...]]) -> float:
    """The largest posterior of a set of the family with a prior of at most ρ1, in any sub-table."""
    totals = tables.sum(axis=0)
    most = promise.prior * totals.sum() * (1 + 1e-12)
    rare = [one for one in family if 0 < totals[list(one)].sum() <= most]
    return max(
        (
            float(beliefs(table, float(p), one).max())
            for table, p in zip(tables, kept, strict=True)
            for one in rare
        ),
        default=0.0,
    )


totals_of = hs.lists(hs.integers(1, 15), min_size=3, max_size=7).map(np.array)


@hs.composite
def promised(draw: hs.DrawFn) -> tuple[np.ndarray, RhoPrivacy]:
    totals = draw(totals_of)
    least = float(totals.min() / totals.sum())
    prior = draw(hs.floats(least, max(least, 0.6)))
    return totals, RhoPrivacy(prior, prior + draw(hs.floats(0.1, 0.9)) * (1 - prior))


def test_judge_or_mayor() -> None:
    """Two of 42 records, yet a reader of T2 becomes 11/15 sure, where 2/3 is promised of single values."""
    pair = (JOBS.index("judge"), JOBS.index("mayor"))
    assert beliefs(PRINTED.allotment[1], PRINTED.retention[1], pair).max() == pytest.approx(11 / 15)
    found = PRINTED.worst_set(2)
    assert found is not None
    assert found.table == 1
    assert found.is_exact
    assert found.posterior == pytest.approx(11 / 15)
    assert found.prior <= 1 / 3
    # All values of T2 together are rare enough, and its label alone gives them away.
    every = PRINTED.worst_set()
    assert every is not None
    assert (every.posterior, every.prior) == pytest.approx((1, 12 / 42))
    assert every.values == (3, 5, 6, 7, 8, 9)


def test_uniform_perturbation_protects_judge_or_mayor() -> None:
    """One table over all values: no set with a prior of at most 1/3 goes over 2/3."""
    kept = np.array([THIRDS.retention(10)])
    assert surest(EXAMPLE[None, :], kept, THIRDS, [(6, 7)]) < 0.2
    assert surest(EXAMPLE[None, :], kept, THIRDS, subsets(10)) <= 2 / 3 * (1 + 1e-9)


@given(promised())
@settings(max_examples=examples(100), deadline=None)
def test_one_domain_protects_every_set(case: tuple[np.ndarray, RhoPrivacy]) -> None:
    """γ-amplification covers all sets with a prior up to ρ1, whatever the totals are."""
    totals, promise = case
    kept = np.array([promise.retention(len(totals))])
    assert surest(totals[None, :], kept, promise, subsets(len(totals))) <= promise.posterior * (1 + 1e-9)


@given(promised(), hs.integers(1, 4), hs.integers(0, 2**32 - 1), hs.sampled_from([1, 20_000]))
@settings(max_examples=examples(120), deadline=None)
def test_the_worst_set_is_the_one_that_brute_force_finds(
    case: tuple[np.ndarray, RhoPrivacy], size: int, seed: int, nodes: int
) -> None:
    """In any division of the records, with any retentions; with few nodes there is a bound above it."""
    totals, promise = case
    chance = np.random.default_rng(seed)
    tables = np.stack([chance.integers(0, totals + 1) for _ in range(2)])
    tables = np.vstack([tables[0], totals - tables[0]])
    tables = tables[tables.sum(axis=1) > 0]
    kept = chance.random(len(tables)) * 0.95
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sets, "_NODES", nodes)
        for limit in (size, None):
            found = worst_set(tables, kept, promise, size=limit)
            real = surest(tables, kept, promise, subsets(len(totals), limit))
            if found is None:
                continue
            assert found.at_most >= real * (1 - 1e-9)
            again = beliefs(tables[found.table], kept[found.table], found.values).max()
            assert found.posterior <= again * (1 + 1e-9)
            assert found.prior == pytest.approx(totals[list(found.values)].sum() / totals.sum())
            assert found.prior <= promise.prior * (1 + 1e-9)
            if found.is_exact:
                assert found.posterior == pytest.approx(real)
            if nodes > 1:
                single = surest(tables, kept, promise, subsets(len(totals), 1))
                assert found.is_exact or single > found.posterior


@given(promised(), hs.integers(1, 3), hs.integers(0, 2**32 - 1), hs.sampled_from(["variance", "bound"]))
@settings(max_examples=examples(120), deadline=None)
def test_no_protected_set_goes_over_the_promise(
    case: tuple[np.ndarray, RhoPrivacy], size: int, seed: int, cost: str
) -> None:
    """All sets up to a size, or a random family of named ones: every one, every sub-table, every y."""
    totals, promise = case
    chance = np.random.default_rng(seed)
    pool = subsets(len(totals))
    named = tuple(pool[at] for at in chance.choice(len(pool), 3))
    for family, members in (
        (Family(size), subsets(len(totals), size)),
        (Family(named=named), [*named, *subsets(len(totals), 1)]),
    ):
        found = partition(totals, promise, family=family, cost=cost)  # pyright: ignore[reportArgumentType]
        assert found.allotment.sum(axis=0).tolist() == totals.tolist()
        reached = surest(found.allotment, found.retention, promise, members)
        assert reached <= promise.posterior * (1 + 1e-9)
        # The grid apart, no retention could be larger.
        exact = largest_shares(found.allotment, promise, family)
        kept = promise.retention_at(exact, (found.allotment > 0).sum(axis=1))
        reached = surest(found.allotment, kept, promise, members)
        assert reached == pytest.approx(promise.posterior) or (exact == 0).all()


def test_the_pair_is_protected_on_request() -> None:
    for asked in (2, [["judge", "mayor"]]):
        promise = RhoPrivacy(1 / 3, 2 / 3, sets=asked)  # pyright: ignore[reportArgumentType]
        found = partition(EXAMPLE, promise, family=Family.of(promise, JOBS))
        assert surest(found.allotment, found.retention, promise, [(6, 7)]) <= 2 / 3 * (1 + 1e-9)
    assert found.retention.mean() < partition(EXAMPLE, THIRDS).retention.mean() * 1.5


def test_large_families_are_bounded_in_time() -> None:
    """Many values: sets of three, and a bound that holds where not all of them are tried."""
    weights = 1 / np.arange(1, 1001 if SLOW else 401)
    totals = np.floor(200_000 * weights / weights.sum()).astype(np.int64)
    promise = RhoPrivacy(0.05, 0.4)
    for size in (2, 3):
        found = partition(totals, promise, family=Family(size))
        worst = found.worst_set(size)
        assert worst is not None
        assert worst.posterior <= 0.4 * (1 + 1e-9)
    free = partition(totals, promise).worst_set()
    assert free is not None
    assert free.posterior > 0.8


def test_equivalent_shares_need_the_same_retention() -> None:
    for largest, together in ((0.1, 0.1), (0.1, 0.3), (0.05, 0.45)):
        share = float(equivalent_share(largest, together, RhoPrivacy(0.2, 0.5)))
        assert largest <= share <= together
        kept = float(RhoPrivacy(0.2, 0.5).retention_at(share, 7))
        stray = (1 - kept) / 7
        assert (stray * together + kept * largest) / (stray + kept * largest) == pytest.approx(0.5)
        assert posterior([share], kept, n_values=7)[0] == pytest.approx(0.5)
    # A set that has as much as may be believed cannot be published at all.
    assert equivalent_share(0.1, 0.6, RhoPrivacy(0.2, 0.5)) >= 0.5


def test_a_set_can_only_have_values_that_there_are() -> None:
    with pytest.raises(InputError, match=r"no record has .*found 'majors'.*did you mean .mayor"):
        Family.of(RhoPrivacy(0.1, 0.5, sets=(("majors",),)), JOBS)
    for odd in (0, [], ["judge"], [[]], 1.5):
        with pytest.raises(InputError, match="set"):
            RhoPrivacy(0.1, 0.5, sets=odd)  # pyright: ignore[reportArgumentType]


def test_a_set_is_described_by_its_values() -> None:
    found = PRINTED.worst_set()
    assert found is not None
    said = describe_sets(found, JOBS, THIRDS).replace("\xa0", " ")
    assert "can become surer: up to 100 %" in said
    assert "cook, tailor, judge, mayor and 2 more (28.6 % of the records)" in said
    uniform = Partition(THIRDS, EXAMPLE[None, :], 0.95, 1, step=1).unpartitioned
    kept = THIRDS.retention(10)
    safe = worst_set(uniform.allotment, [kept], THIRDS)
    assert safe is not None
    assert "can become surer" not in describe_sets(safe, JOBS, THIRDS)
