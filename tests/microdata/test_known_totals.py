"""Readers who know the exact totals and combine all rows, in tiny worlds: all assignments, all outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, permutations, product
from math import factorial

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import binom

from showthrough.microdata.partition import Partition, partition
from showthrough.microdata.partitioned import Sorter, perturb_tables
from showthrough.microdata.promises import RhoPrivacy, posterior, posterior_of_all_rows

#: (γ, domain, largest world) for brute force.
WORLDS = [(2.0, 2, 7), (3.0, 2, 6), (2.0, 3, 6), (5.0, 3, 5), (2.5, 4, 5)]


def assignments(totals: tuple[int, ...]) -> np.ndarray:
    """All different ways to give values to rows, one in each row of the result."""
    values = [value for value, number in enumerate(totals) for _ in range(number)]
    return np.array(sorted(set(permutations(values))))


def worlds(n_values: int, most: int) -> Iterator[tuple[int, ...]]:
    """Totals of up to so many records in which at least two values occur."""
    for n in range(2, most + 1):
        for totals in product(range(n + 1), repeat=n_values):
            if sum(totals) == n and sum(number > 0 for number in totals) > 1:
                yield totals


def surest(totals: tuple[int, ...], gamma: float) -> np.ndarray:
    """For each value the largest Pr[X of the first row | all published rows], over all outcomes.

    A row that shows its own value is γ times likelier, so an assignment weighs γ to the number of
    matches. The order of the other rows does not matter.
    """
    ways, n_values, n = assignments(totals), len(totals), sum(totals)
    best = np.zeros(n_values)
    for first in range(n_values):
        for others in combinations_with_replacement(range(n_values), n - 1):
            weights = gamma ** (ways == np.array([first, *others])).sum(axis=1)
            found = np.bincount(ways[:, 0], weights, n_values) / weights.sum()
            best = np.maximum(best, found)
    return best


def retention(gamma: float, n_values: int) -> float:
    return (gamma - 1) / (n_values - 1 + gamma)


@pytest.mark.parametrize(("gamma", "n_values", "most"), WORLDS)
def test_all_rows_together_tell_at_most_gamma_squared(gamma: float, n_values: int, most: int) -> None:
    """posterior ≤ γ²f/(γ²f + 1 − f), for every table of totals and every outcome; two values attain it."""
    for totals in worlds(n_values, most):
        share = np.array(totals) / sum(totals)
        bound = gamma**2 * share / (gamma**2 * share + 1 - share)
        found = posterior_of_all_rows(share, retention(gamma, n_values), n_values=n_values)
        assert found == pytest.approx(bound)
        reached = surest(totals, gamma)
        assert (reached <= bound * (1 + 1e-9)).all()
        if n_values == 2:
            assert reached == pytest.approx(bound)


@pytest.mark.parametrize("n", [2, 4, 6, 8])
def test_the_effect_does_not_fade_with_size(n: int) -> None:
    """Two values, half of the records each, γ = 2: promised 2/3, and .80 for any number of records.

    The documentation said that the effect fades as sub-tables grow.
    """
    promise = RhoPrivacy(1 / 2, 2 / 3)
    assert promise.amplification == pytest.approx(2)
    assert surest((n // 2, n // 2), 2.0) == pytest.approx([0.8, 0.8])


@pytest.mark.parametrize("promise", [RhoPrivacy(1 / 3, 2 / 3), RhoPrivacy(0.5, 0.6), RhoPrivacy(0.25, 0.4)])
@pytest.mark.parametrize("n_values", [2, 3])
def test_with_the_root_of_gamma_the_promise_holds_even_so(promise: RhoPrivacy, n_values: int) -> None:
    known = RhoPrivacy(promise.prior, promise.posterior, known_totals=True)
    kept = known.retention(n_values)
    gamma = 1 + kept * n_values / (1 - kept)
    assert gamma**2 == pytest.approx(promise.amplification)
    broken = False
    for totals in worlds(n_values, 6 if n_values == 2 else 5):
        protected = known.protects(totals)
        if protected.any():
            assert surest(totals, gamma)[protected].max() <= promise.posterior * (1 + 1e-9)
            broken |= bool(surest(totals, promise.amplification)[protected].max() > promise.posterior + 0.01)
    # With γ itself such a reader becomes surer than promised in some of these worlds.
    assert broken


def channel(found: Partition) -> np.ndarray:
    """Pr[label i, published y | X = x], by x, then i and y, if records draw their labels."""
    shares = found.allotment / np.maximum(found.allotment.sum(axis=0), 1)
    n_tables, n_values = found.allotment.shape
    made = np.zeros((n_values, n_tables, n_values))
    for at, (domain, kept) in enumerate(zip(found.domains, found.retention, strict=True)):
        for value in domain:
            made[value, at, domain] = shares[at, value] * (1 - kept) / len(domain)
            made[value, at, value] += shares[at, value] * kept
    return made


TINY = [
    ([2, 2, 1, 1], RhoPrivacy(1 / 3, 2 / 3)),
    ([3, 1, 1, 1], RhoPrivacy(0.5, 0.7)),
    ([2, 1, 1, 1], RhoPrivacy(0.4, 0.75)),
    ([2, 2, 1], RhoPrivacy(0.4, 0.6)),
]


@pytest.mark.parametrize(("totals", "promise"), TINY)
def test_partitioned_rows_are_plain_bayes(totals: list[int], promise: RhoPrivacy) -> None:
    """A reader who knows the shares, the partition and its labels: no row and no set of rows tells more."""
    found = partition(totals, promise)
    made, shares = channel(found), np.array(totals) / sum(totals)
    assert made.sum(axis=(1, 2)) == pytest.approx(np.ones(len(totals)))
    joint = shares[:, None, None] * made
    seen = joint.sum(axis=0)
    belief = np.divide(joint, seen, out=np.zeros_like(joint), where=seen > 0)
    assert belief[promise.protects(totals)].max() <= promise.posterior * (1 + 1e-9)
    # Exactly the shares of the sub-table, and its retention: what the partition reports.
    for at, (row, kept) in enumerate(zip(found.allotment, found.retention, strict=True)):
        domain = np.flatnonzero(row)
        exact = posterior(row[domain] / row.sum(), kept)
        assert belief[domain, at, domain] == pytest.approx(exact)


@pytest.mark.parametrize(("totals", "promise"), TINY)
def test_partitioned_with_known_totals(totals: list[int], promise: RhoPrivacy) -> None:
    """Labels and published values of all rows, totals known: no outcome tells more than is promised.

    The numbers by sub-table are prescribed, so for such a reader each sub-table is a world of its own.
    """
    known = RhoPrivacy(promise.prior, promise.posterior, known_totals=True)
    found = partition(totals, known)
    protected = known.protects(totals)
    for row, kept in zip(found.allotment, found.retention, strict=True):
        domain = np.flatnonzero(row)
        gamma = 1 + kept * len(domain) / (1 - kept)
        reached = surest(tuple(row[domain].tolist()), gamma)
        assert reached[protected[domain]].max(initial=0) <= promise.posterior * (1 + 1e-9)


def test_why_numbers_are_prescribed_if_totals_are_known() -> None:
    """If records drew their labels, a sub-table could by chance hold one rare value only, and be known to.

    Totals 2, 1 and 1 in sub-tables (1, 1, 0) and (1, 0, 1): given these totals and that the second label
    occurs once, that record is x0 or x2; if it shows x2, √γ does not help.
    """
    promise = RhoPrivacy(0.3, 0.6, known_totals=True)
    found = Partition(promise, np.array([[1, 1, 0], [1, 0, 1]]), 0.95, 2, step=1)
    made, ways = channel(found), assignments((2, 1, 1))
    best = 0.0
    outcomes = [(at, y) for at in range(2) for y in found.domains[at]]
    for others in combinations_with_replacement(outcomes, 3):
        for first in outcomes:
            seen = [first, *others]
            weights = np.prod([made[ways[:, at], i, y] for at, (i, y) in enumerate(seen)], axis=0)
            if weights.sum():
                belief = np.bincount(ways[:, 0], weights, 3) / weights.sum()
                best = max(best, float(belief[1:].max()))
    assert best > 0.6 + 0.05


@pytest.mark.parametrize(
    ("totals", "promise"),
    [
        (np.floor(9000 * 0.8 ** np.arange(14)).astype(int), RhoPrivacy(0.25, 0.5)),
        (np.array([400, 380, 30, 20, 9, 5, 2, 1, 1]) * 20, RhoPrivacy(0.1, 0.35)),
        (np.array([3, 2, 2, 1, 1]), RhoPrivacy(1 / 3, 0.6)),
    ],
    ids=["skewed", "partly protected", "tiny"],
)
def test_rows_as_drawn_keep_the_promise(totals: np.ndarray, promise: RhoPrivacy) -> None:
    """Label and published value of each row against the truth, as the code draws them.

    The tiny table is drawn many times. The chance of failure is at most 1e-6.
    """
    times = max(1, 100_000 // int(totals.sum()))
    found = partition(totals, promise)
    chance = np.random.default_rng(11)
    value = np.tile(np.repeat(np.arange(len(totals)), totals), times)
    cells = np.zeros((len(value), len(totals)), np.int64)
    cells[np.arange(len(value)), value] = 1
    tables = Sorter.of(found.allotment).divide(csr_array(cells), chance=chance)
    tests = 0
    for drawn in perturb_tables(tables, found, chance=chance):
        for shown in np.flatnonzero(promise.protects(totals)):
            rows = np.repeat(drawn.group, drawn.count)[np.repeat(drawn.value, drawn.count) == shown]
            if len(rows) >= 20:
                tests += 1
                right = int((value[rows] == shown).sum())
                assert binom.sf(right - 1, len(rows), promise.posterior) > 1e-6 / 200
    assert tests


def alike(n: int, n_values: int, promise: RhoPrivacy) -> list[list[tuple[tuple[int, ...], Partition]]]:
    """All totals of n records, those together that have the same published sub-tables."""
    found: dict[tuple[object, ...], list[tuple[tuple[int, ...], Partition]]] = {}
    for totals in worlds(n_values, n):
        if sum(totals) == n and promise.protects(totals).any():
            made = partition(totals, promise)
            domains = tuple(tuple(domain.tolist()) for domain in made.domains)
            key = (*domains, *made.retention.round(9).tolist())
            found.setdefault(key, []).append((totals, made))
    return list(found.values())


SMALL = [(4, 3, RhoPrivacy(0.5, 0.75)), (5, 3, RhoPrivacy(0.4, 0.7)), (5, 4, RhoPrivacy(0.4, 0.7))]


@pytest.mark.parametrize(("n", "n_values", "promise"), SMALL)
def test_a_reader_who_knows_the_algorithm_and_looks_at_one_row(
    n: int, n_values: int, promise: RhoPrivacy
) -> None:
    """All data sets equally likely beforehand; the sub-tables published; the label and value of one row."""
    groups = alike(n, n_values, promise)
    assert any(len(made) > 1 for group in groups for _, made in group)
    for group in groups:
        rare, every = np.zeros(()), np.zeros(())
        for totals, made in group:
            weight = len(assignments(totals)) * np.array(totals)[:, None, None] / n
            joint = weight * channel(made)
            every = every + joint.sum(axis=0)
            rare = rare + joint * promise.protects(totals)[:, None, None]
        belief = np.divide(rare, every, out=np.zeros_like(rare), where=every > 0)
        assert belief.max() <= promise.posterior * (1 + 1e-9)


def likelihoods(totals: tuple[int, ...], made: Partition, labels: tuple[int, ...]) -> np.ndarray:
    """Pr[labels | assignment], by assignment, if the numbers by sub-table are prescribed."""
    ways, found = assignments(totals), []
    for way in ways:
        counts = np.zeros(made.allotment.shape, np.int64)
        np.add.at(counts, (np.array(labels), way), 1)
        found.append(float((counts == made.allotment).all()))
    dealt = np.prod([factorial(number) for number in totals], dtype=float) / np.prod(
        [factorial(number) for number in made.allotment.ravel().tolist()], dtype=float
    )
    return np.array(found) / dealt


@pytest.mark.parametrize(("n", "n_values", "promise"), SMALL[:2])
def test_a_reader_who_knows_the_algorithm_and_combines_all_rows(
    n: int, n_values: int, promise: RhoPrivacy
) -> None:
    """With known totals promised: sub-tables, labels and values of all rows, every outcome.

    Without it such a reader can be certain: of a few records the sub-tables tell the totals.
    """
    known = RhoPrivacy(promise.prior, promise.posterior, known_totals=True)
    best = 0.0
    for group in alike(n, n_values, known):
        domains = group[0][1].domains
        for labels in product(range(len(domains)), repeat=n):
            of_labels = [likelihoods(totals, made, labels) for totals, made in group]
            if not any(one.any() for one in of_labels):
                continue
            for shown in product(*(domains[label] for label in labels)):
                rare, every = np.zeros(n_values), 0.0
                for (totals, made), dealt in zip(group, of_labels, strict=True):
                    ways, kept = assignments(totals), made.retention[list(labels)]
                    stray = (1 - kept) / np.array([len(domains[label]) for label in labels])
                    weight = dealt * np.where(ways == np.array(shown), kept + stray, stray).prod(axis=1)
                    every += weight.sum()
                    rare += np.bincount(ways[:, 0], weight, n_values) * known.protects(totals)
                best = max(best, float(rare.max() / every) if every else 0)
    assert 0 < best <= promise.posterior * (1 + 1e-9)
