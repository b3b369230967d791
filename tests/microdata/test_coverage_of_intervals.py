"""Confidence intervals hold the true number at least as often as they say.

The reader's worst case is the true number for which an interval misses most often: small ones, numbers near
0 and near all, numbers spread unevenly over sub-tables or groups. Where all outcomes can be enumerated,
coverage is computed exactly and compared with the level itself. Where it is simulated, numbers of hits are
compared within 5 standard deviations of a binomial: a false alarm has a probability under 1e-6 for another
seed.

The intervals before were value ± 1.96 standard errors, with the estimate in place of the true number. For 3
of 60 people with one of 100 values, perturbed with p = 0.3, they held the truth in 78 % of all cases.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import binom

from needs import SLOW
from showthrough.estimate import Estimate
from showthrough.microdata.channel import Channelled
from showthrough.microdata.estimation import CountLaw, Perturbed, invert, variance
from showthrough.microdata.groups import Groups
from showthrough.microdata.intervals import EXACT, count_interval, share_interval
from showthrough.microdata.ordinal import choose_channel, ordinal_channel
from showthrough.microdata.plan import SubTable
from showthrough.microdata.publish import publish
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled
from showthrough.microdata.units import Units

Floats = NDArray[np.float64]

LEVELS = (0.5, 0.8, 0.95, 0.99, 0.999) if SLOW else (0.5, 0.95, 0.999)
#: Numbers of values, and how many of them are asked about.
CHOICES = ((2, 1), (3, 2), (10, 1), (100, 1), (100, 99))
RETENTIONS = (0.05, 0.3, 0.7, 0.97, 1.0)


def chances(p: float, m: int, s: int) -> tuple[float, float]:
    return p + s * (1 - p) / m, s * (1 - p) / m


@cache
def law(k: int, n: int, a: float, b: float) -> Floats:
    """The chances of every number of records that show one of the values."""
    return np.convolve(binom.pmf(np.arange(k + 1), k, a), binom.pmf(np.arange(n - k + 1), n - k, b))


def covered(n: int, a: float, b: float, low: Any, high: Any) -> Floats:
    """For every true number how often the interval holds it."""
    return np.array([law(k, n, a, b)[(low <= k) & (k <= high)].sum() for k in range(n + 1)])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [1, 2, 5, 13, 60])
def test_one_unit_exactly(n: int, level: float) -> None:
    """All numbers of up to 60 people, retentions, domains and choices: exact coverage."""
    for p, (m, s) in product(RETENTIONS, CHOICES):
        a, b = chances(p, m, s)
        low, high = count_interval(np.arange(n + 1), n, own=a, other=b, level=level)
        assert (low <= high).all()
        assert low.min() >= 0
        assert high.max() <= n
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) >= 0).all()
        assert covered(n, a, b, low, high).min() >= level - 1e-9, (p, m, s)


def test_the_old_interval_missed_small_numbers() -> None:
    """Value ± 1.96 errors: 78 % where 95 % were claimed."""
    (a, b), n = chances(0.3, 100, 1), 60
    known: dict[str, Any] = {"retention": 0.3, "n_values": 100}
    value = invert(np.arange(n + 1), n, **known)
    reach = 1.96 * np.sqrt(variance(value, np.full(n + 1, n), **known, within=np.arange(n + 1)))
    assert covered(n, a, b, value - reach, value + reach)[3] < 0.78


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_exact_tails_and_the_variance_agree_where_they_meet(p: float) -> None:
    """On both sides of the limit the ends differ by little, and those of the variance are outside."""
    for m in (2, 30, 1000):
        a, b = chances(p, m, 1)
        shown = np.unique(np.rint(np.linspace(EXACT * b, EXACT * a, 9)).astype(np.int64))
        low, high = count_interval(shown, EXACT, own=a, other=b)
        wide_low, wide_high = count_interval(shown, EXACT + 1, own=a, other=b)
        assert (np.abs(low - wide_low) <= 1.5 / p + 2).all()
        assert (np.abs(high - wide_high) <= 1.5 / p + 2).all()
        assert (wide_high - wide_low >= high - low - 1).all()


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999] if SLOW else [0.95])
@pytest.mark.parametrize(("p", "m"), [(0.2, 4), (0.5, 2), (0.5, 2_000), (0.9, 100_000)])
def test_large_units_exactly(p: float, m: int, level: float) -> None:
    """3,000 people, of whom few, half or nearly all have the value."""
    n, (a, b) = 3_000, chances(p, m, 1)
    assert n > EXACT
    low, high = count_interval(np.arange(n + 1), n, own=a, other=b, level=level)
    for k in (0, 1, 2, 5, 12, 40, 300, n // 2, n - 10, n - 1, n):
        assert law(k, n, a, b)[(low <= k) & (k <= high)].sum() >= level - 1e-9, k


#: Sub-tables with few records each: their sizes, retentions, numbers of values and of chosen ones.
TABLES = [
    ((9, 0.3, 5, 1), (7, 0.3, 5, 4)),
    ((12, 0.7, 5, 1), (10, 0.7, 50, 1)),
    ((15, 0.97, 50, 1), (6, 0.05, 5, 4)),
    ((18, 0.3, 2, 1), (3, 0.97, 5, 4)),
    ((5, 0.05, 5, 1), (10, 0.5, 2, 1)),
    ((5, 0.97, 50, 1), (16, 0.7, 2, 1)),
    ((4, 0.3, 3, 1), (4, 0.5, 3, 2), (4, 0.9, 3, 1)),
    # Of the first no value, of the second every value is asked for.
    ((6, 0.3, 3, 0), (5, 0.5, 2, 2), (9, 0.4, 4, 1)),
]


@pytest.mark.parametrize("tables", TABLES)
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999] if SLOW else [0.5, 0.95])
def test_several_sub_tables_exactly(tables: tuple[tuple[int, float, int, int], ...], level: float) -> None:
    """Whatever way the true number is spread over sub-tables: all outcomes of all of them."""
    ways = [range(n + 1) if 0 < s < m else [n if s else 0] for n, _, m, s in tables]
    shown = np.array(list(product(*ways)))
    n_cells, n_tables = shown.shape
    size, kept, m, s = (np.tile(column, n_cells) for column in zip(*tables, strict=True))
    cell, table = np.repeat(np.arange(n_cells), n_tables), np.tile(np.arange(n_tables), n_cells)
    units = Units(
        cell, table, shown.ravel().astype(float), size, kept, m, s.astype(float), np.ones(len(cell))
    )
    low, high = units.ends(n_cells, level)
    assert low.min() >= 0
    assert high.max() <= sum(n for n, *_ in tables)
    for true in product(*ways):
        drawn = np.ones(1)
        for k, (n, p, m_, s_) in zip(true, tables, strict=True):
            one = law(k, n, *chances(p, m_, s_)) if 0 < s_ < m_ else np.ones(1)
            drawn = np.multiply.outer(drawn, one)
        hit = (low <= sum(true)) & (sum(true) <= high)
        assert drawn.ravel()[hit].sum() >= level - 1e-9, true


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99] if SLOW else [0.95])
@pytest.mark.parametrize(("trials", "size"), [(1, 1), (6, 6), (7, 40), (25, 60), (30, 31)])
def test_one_group_of_independent_trials_exactly(trials: int, size: int, level: float) -> None:
    """t draws with replacement, scaled to the group's size and rounded either way, as is worse."""
    for p, m in product((0.2, 0.5, 0.9), (2, 8)):
        _, b = chances(p, m, 1)
        scaled = np.arange(trials + 1) * size / trials
        holds = [
            _drawn_interval(rounded(scaled), trials, size, p, m, level) for rounded in (np.floor, np.ceil)
        ]
        for k in range(size + 1):
            chance = binom.pmf(np.arange(trials + 1), trials, p * k / size + b)
            hit = np.logical_and(*((low <= k) & (k <= high) for low, high in holds))
            assert chance[hit].sum() >= level - 1e-9, (p, m, k)


def _drawn_interval(shown: Floats, trials: int, size: int, p: float, m: int, level: float) -> Any:
    n = len(shown)
    every = np.ones(n)
    cell = np.arange(n)
    units = Units(
        cell,
        0 * cell,
        shown,
        np.full(n, size),
        p * every,
        np.full(n, m),
        every,
        size / trials * every,
        independent=True,
    )
    return units.ends(n, level)


def test_shares_are_clopper_and_pearson_s() -> None:
    low, high = share_interval((np.arange(21), np.arange(21)), 20, 0.95)
    for q in np.linspace(0, 1, 201):
        assert binom.pmf(np.arange(21), 20, q)[(low <= q) & (q <= high)].sum() >= 0.95 - 1e-9


@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_groups_with_copies_together(independent: bool, share: float) -> None:
    """Six groups of a sampled publication, their trials drawn in both ways: simulated.

    Trials that are the group in small are rounded systematically, as the method does it.
    """
    rng = np.random.default_rng(round(100 * share) + independent)
    times, p, m, level = 4_000, 0.5, 5, 0.95
    sizes, trials = np.array([12, 40, 40, 200, 650, 3000]), np.array([12, 21, 40, 35, 44, 60])
    true = np.rint(sizes * np.clip(share * np.array([1, 0.4, 3, 1, 0.2, 1.3]), 0, 1)).astype(int)
    a, b = chances(p, m, 1)
    c = sizes / trials
    if independent:
        shown = rng.binomial(trials, p * true / sizes + b, (times, 6))
    else:
        inside = np.floor(true / c + rng.random((times, 6))).astype(int)
        shown = rng.binomial(inside, a) + rng.binomial(trials - inside, b)
    shown = np.floor(shown * c + rng.random((times, 6)) * (c > 1) + 1e-9)
    for chosen in ([3], [1, 2], [0, 1, 2, 3, 4, 5]):
        hit = _copies_hit(shown, chosen, sizes, c, true, p, m, level, independent=independent)
        assert hit.mean() >= level - 5 * np.sqrt(level * (1 - level) / times), chosen


def _copies_hit(
    shown: Any,
    chosen: Any,
    sizes: Any,
    copies: Any,
    true: Any,
    p: float,
    m: int,
    level: float,
    *,
    independent: bool,
) -> Any:
    times, n = len(shown), len(chosen)
    cell, every = np.repeat(np.arange(times), n), np.ones(times * n)
    units = Units(
        cell,
        0 * cell,
        shown[:, chosen].ravel(),
        np.tile(sizes[chosen], times),
        p * every,
        np.full(times * n, m),
        every,
        np.tile(copies[chosen], times),
        independent=independent,
    )
    low, high = units.ends(times, level)
    total = true[chosen].sum()
    return (low <= total) & (total <= high)


@pytest.mark.parametrize("trials", ["independent", "banded", "printed"])
@pytest.mark.parametrize("true", [(150, 60, 2, 30, 10), (2700, 100, 150, 50, 0), (20, 3, 3, 0, 0)])
def test_groups_as_they_are_sampled(true: tuple[int, ...], trials: Any) -> None:
    """The method itself, one group again and again."""
    times, level, counts = 2_000, 0.95, np.tile(true, (2_000, 1))
    groups = Groups.of({"g": list(range(times))}, {"v": list(range(5))}, counts)
    design = Sampled(ReconstructionPrivacy(0.2, 0.1), 0.5, trials=trials).design(groups)
    drawn = design.sample(groups, seed=5).counts
    table = SubTable(design.retention, tuple(range(5)))
    copies = groups.sizes / design.trials
    cell = np.arange(times)
    found = Perturbed(times, cell, 0 * cell, copies, drawn, (table,), trials == "independent")
    low, high = found.each_ends(level)
    hit = (low <= counts) & (counts <= high)
    assert hit.mean(axis=0).min() >= level - 5 * np.sqrt(level * (1 - level) / times)
    some = found.ends(np.array([1, 3]), level)
    both = (some[0] <= true[1] + true[3]) & (true[1] + true[3] <= some[1])
    assert both.mean() >= level - 5 * np.sqrt(level * (1 - level) / times)
    value, spread = found.each(consistent=False)
    assert (spread.mean(axis=0) > 0.85 * value.var(axis=0)).all()


@pytest.mark.parametrize("amplification", [2.0, 5.0, 15.0])
@pytest.mark.parametrize("n", [1, 4, 9])
def test_ordered_values_exactly(n: int, amplification: float) -> None:
    """Three ordered values: all records, all outcomes, one value and two values together."""
    channel = ordinal_channel(3, *choose_channel(3, amplification))
    outcomes = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    found = Channelled(csr_array(outcomes), channel, (0, 1, 2))
    laws = {true: _shown_law(true, channel.matrix, outcomes) for true in outcomes}
    for chosen, level in product(([0], [1], [0, 1], [0, 2]), (0.5, 0.8, 0.95, 0.99)):
        low, high = found.ends(np.array(chosen), level)
        for true, chance in laws.items():
            total = sum(true[at] for at in chosen)
            assert chance[(low <= total) & (total <= high)].sum() >= level - 1e-9, (chosen, true)


def _shown_law(true: Any, matrix: Floats, outcomes: Any) -> Floats:
    """The chances of what three values show, from the product of one polynomial for each record."""
    n = sum(true)
    chance = np.zeros((n + 1, n + 1))
    chance[0, 0] = 1
    for own, number in enumerate(true):
        for _ in range(number):
            drawn = matrix[own, 2] * chance
            drawn[1:] += matrix[own, 0] * chance[:-1]
            drawn[:, 1:] += matrix[own, 1] * chance[:, :-1]
            chance = drawn
    return np.array([chance[a, b] for a, b, _ in outcomes])


def test_odd_luck_is_no_certainty() -> None:
    """Far fewer, or more, than chance alone would show: not "0 to 0" with 95 % confidence."""
    low, high = count_interval([0, 3, 17, 57, 60], 60, own=0.75, other=0.25)
    assert high[0] == high[1] > 5
    assert low[-1] == low[-2] < 55
    assert (low[[0, 1]] == 0).all()
    assert (high[[-1, -2]] == 60).all()
    sizes, every = np.array([40, 30]), np.ones(2)
    for shown in ([0, 0], [40, 30]):
        for copies, independent in ((1.0, False), (2.0, False), (1.0, True), (2.0, True)):
            units = Units(
                np.zeros(2, np.int64),
                np.array([0, 1]),
                np.array(shown, float),
                sizes,
                np.array([0.3, 0.4]),
                np.array([3, 3]),
                every,
                copies * every,
                independent=independent,
            )
            low, high = units.ends(1, 0.95)
            assert high[0] - low[0] > 5
            alone = replace(units, cell=np.array([0, 1])).ends(2, 0.95)
            assert (alone[1] - alone[0] > 3).all()


def test_tables_and_single_answers_say_the_same() -> None:
    """Groups combined and apart, in two sub-tables, value by value and for several values together."""
    rng = np.random.default_rng(3)
    tables = (SubTable(0.3, (0, 1, 2)), SubTable(0.8, (1, 2, 3)))
    counts = rng.integers(0, 30, (12, 4))
    table = np.arange(12) % 2
    counts[table == 0, 3] = 0
    counts[table == 1, 0] = 0
    found = Perturbed(3, np.arange(12) // 4, table, np.ones(12), csr_array(counts), tables)
    low, high = found.each_ends(0.9)
    for value in range(4):
        one = found.ends(np.array([value]), 0.9)
        assert low[:, value].tolist() == one[0].tolist()
        assert high[:, value].tolist() == one[1].tolist()
    for cell in range(3):
        assert CountLaw(found, np.array([2]), cell)(0.9) == (low[cell, 2], high[cell, 2])
    every = found.ends(np.arange(4), 0.9)
    assert every[0].tolist() == every[1].tolist() == found.records.tolist()
    nothing = found.ends(np.zeros(0, np.int64), 0.9)
    assert nothing[0].tolist() == nothing[1].tolist() == [0, 0, 0]


def test_no_number_is_shown_that_cannot_be() -> None:
    """An estimate of −57 is shown as 0, and of 103 of 100 as 100; the library has it as it is."""
    for value, shown in ((-57.0, 0), (103.0, 100), (40.0, 40)):
        found = Estimate(value, 30.0, 100, (0, 100))
        low, high = found.interval()
        assert 0 <= low <= shown <= high <= 100
        assert found.value == value
        assert found.shown == shown
        assert str(found).startswith(f"{shown} (")
        assert "−" not in found.sentence()
        assert "-" not in found.sentence()


def test_they_are_no_wider_than_they_must_be() -> None:
    """Beside intervals of the normal distribution that know the standard error."""
    more = ((600, 0.3, 10), (5_000, 0.3, 10), (600, 0.6, 2))
    widths = list[str]()
    for n, p, m in ((60, 0.3, 10), *(more if SLOW else ())):
        a, b = chances(p, m, 1)
        low, high = count_interval(np.arange(n + 1), n, own=a, other=b)
        for k in (0, n // 10, n // 2):
            chance = law(k, n, a, b)
            normal = 2 * 1.96 * np.sqrt(k * a * (1 - a) + (n - k) * b * (1 - b)) / p
            mean = float(((high - low) * chance).sum())
            widths.append(f"n={n} p={p} m={m} k={k}: {mean:.1f} wide, {normal:.1f} if normal")
            assert mean <= 1.03 * normal, widths
    assert widths


def test_numbers_of_copies_that_are_not_published(tmp_path: Path) -> None:
    """Trials as the paper prints them follow from frequencies, so readers take the fewest there can be."""
    rng = np.random.default_rng(3)
    group = rng.integers(0, 6, 3000)
    ill = rng.random(3000) < np.array([0.9, 0.7, 0.5, 0.3, 0.1, 0.02])[group]
    people = pa.table({"group": group, "ill": ill})
    method = Sampled(ReconstructionPrivacy(0.3, 0.3), 0.5, "chernoff", trials="printed", merging="none")
    hits = 0
    for seed in range(12):
        found = publish(people, tmp_path / str(seed), sensitive="ill", method=method, seed=seed)
        for at in range(6):
            low, high = found.count(f"group={at},ill=true").interval(0.95)
            hits += low <= ((group == at) & ill).sum() <= high
    assert hits >= 72 * 0.95 - 5 * np.sqrt(72 * 0.95 * 0.05)
