"""Noisy tables: laws that add up, moves in detailed balance, and samples against brute force."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import showthrough as st
from showthrough.noise_law import UNKNOWN, NoiseLaw, NoisyCounts, laws_by_cell
from showthrough.release import UNBOUNDED
from showthrough.tables.likely import noisy_moves as moves
from showthrough.tables.likely.chains import ChainPlan
from showthrough.tables.likely.noisy_chains import (
    IMPOSSIBLE,
    NoisyChain,
    NoisyTarget,
    noisy_space,
    size_range,
)
from showthrough.tables.likely.posterior import find_posterior

SCHEMA = st.Schema.of({"a": ["0", "1", "2"], "b": ["0", "1"]}, rules=[st.Rule("a=2", "b=1")], record="home")

KEYS = st.TransitionTable(((0,), (-1, 0, 1), (-1, 0, 1)), ((1.0,), (0.3, 0.4, 0.3), (0.25, 0.5, 0.25)))

LAWS: list[Any] = [st.DiscreteGaussian(1), st.DiscreteLaplace(0.7), st.RandomRounding(3), KEYS]

PLAN = ChainPlan(chains=6, draws=160, burn_in=2, per_record=5, longer=0)


@pytest.fixture(scope="module")
def prior() -> st.Prior:
    rng = np.random.default_rng(8)
    a = rng.integers(0, 3, 300)
    b = np.where(a == 2, 1, rng.random(300) < 0.3).astype(int)
    return st.fit_prior(st.Records(SCHEMA, np.column_stack([a, b])), name="tiny", seed=1)


def noisy(law: NoiseLaw, values: dict[str, list[int]], total: int | None, area: str = "") -> st.Release:
    """Tables with values published under a law, and a total without noise."""
    published: dict[str, Any] = {} if total is None else {"total": [total]}
    published |= {name: [None] * len(one) for name, one in values.items()}
    plain = st.Release.of(SCHEMA, published)
    sizes = [len(table.cells) for table in plain.tables]
    laws, of = laws_by_cell([law if table.name in values else None for table in plain.tables], sizes)
    flat = [] if total is None else [total]
    numbers = np.array(flat + [one for each in values.values() for one in each], np.int64)
    known = (of >= 0) & (numbers != UNKNOWN)
    ends = [law.bounds(int(one)) for one in numbers[known]]
    low, high = plain.low.copy(), plain.high.copy()
    low[known], high[known] = [one for one, _ in ends], [one for _, one in ends]
    return st.Release(plain.layout, low, high, area, NoisyCounts(numbers, laws, of))


def orders(chosen: tuple[int, ...]) -> int:
    """How many sequences have the same records."""
    found = math.factorial(len(chosen))
    for one in set(chosen):
        found //= math.factorial(chosen.count(one))
    return found


def every_dataset(
    release: st.Release, prior: st.Prior, sizes: range
) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """All multisets of record types (as numbers 2a + b) with their probabilities, by brute force."""
    types = [(a, b) for a in range(3) for b in range(2) if (a, b) != (2, 0)]
    chance = prior.chances(np.array(types), SCHEMA.names)
    chance /= chance.sum()
    one = np.array([release.layout.count(np.array([row])) for row in types])
    worlds: list[tuple[int, ...]] = []
    weight: list[float] = []
    assert release.noise is not None
    for n in sizes:
        for chosen in itertools.combinations_with_replacement(range(len(types)), n):
            counts = one[list(chosen)].sum(axis=0) if n else np.zeros(len(release.low), int)
            total = orders(chosen) * float(np.prod(chance[list(chosen)]))
            for cell, count in enumerate(counts.tolist()):
                law = release.noise.law_of[cell]
                if law >= 0:
                    value = int(release.noise.values[cell])
                    total *= float(np.exp(release.noise.laws[law].log_chances(value, count)[count]))
                else:
                    total *= release.low[cell] <= count <= release.high[cell]
            worlds.append(tuple(2 * types[at][0] + types[at][1] for at in chosen))
            weight.append(total)
    return worlds, np.array(weight) / sum(weight)


VALUES = {
    "discrete-gaussian:1": {"a": [2, 0, 1], "b": [-1, 5], "a*b": [1, 1, 0, 0, 0, 2]},
    "discrete-laplace:0.7": {"a": [2, 0, 1], "b": [-1, 5], "a*b": [1, 1, 0, 0, 0, 2]},
    "random-rounding:3": {"a": [3, 0, 3], "b": [0, 3], "a*b": [3, 0, 0, 0, 0, 3]},
    "perturbation table": {"a": [2, 0, 2], "b": [1, 2], "a*b": [1, 2, 0, 0, 0, 1]},
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.text)
@pytest.mark.parametrize("total", [4, None])
def test_sampling_agrees_with_all_datasets(prior: st.Prior, law: Any, total: int | None) -> None:
    """Total variation: 960 draws of up to 70 datasets that matter stay below 0.15."""
    release = noisy(law, VALUES[law.text], total)
    worlds, weight = every_dataset(release, prior, range(4, 5) if total else range(9))
    true = dict(zip(worlds, weight.tolist(), strict=True))
    found = find_posterior(release, prior, plan=PLAN, seed=2)
    over = list(found.universe.frame.over)
    seen: dict[tuple[int, ...], float] = {}
    for one in found.draws.reshape(-1, found.draws.shape[2]):
        codes = found.universe.codes[one[one < len(found.universe)]].astype(int)
        key = tuple(sorted((2 * codes[:, over.index(0)] + codes[:, over.index(1)]).tolist()))
        seen[key] = seen.get(key, 0.0) + 1 / (found.draws.shape[0] * found.draws.shape[1])
    assert sum(true.get(key, 0.0) for key in seen) > 0.8
    assert sum(abs(true.get(key, 0.0) - seen.get(key, 0.0)) for key in {*true, *seen}) / 2 < 0.15
    claim = found.mask(st.Selection.parse("a=0,b=0"))
    said = found.claims(claim[None, :], np.array([1]))
    exactly = sum(share for one, share in true.items() if one.count(0) == 1)
    assert abs(said.mean[0] - exactly) < 0.06


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.text)
def test_chances_of_values_add_up_and_are_drawn(law: Any) -> None:
    for count in (0, 1, 5):
        chances = np.exp([law.log_chances(value, count)[count] for value in range(-40, 50)])
        assert chances.sum() == pytest.approx(1, abs=1e-9)
        drawn = law.draw(np.full(4000, count), np.random.default_rng(count))
        mean = np.arange(-40, 50) @ chances
        assert abs(drawn.mean() - mean) < 0.15
        ends = [law.bounds(int(value)) for value in np.unique(drawn)]
        assert all(low <= count <= high for low, high in ends)


@pytest.fixture(scope="module")
def chain(prior: st.Prior) -> NoisyChain:
    release = noisy(st.DiscreteGaussian(1), VALUES["discrete-gaussian:1"], None)
    space = noisy_space(release)
    chain = NoisyChain(NoisyTarget.of(release, space, prior.over(space.universe)), seed=0, number=0)
    chain.state.size[:] = 2, 0, 3
    return chain


def put(chain: NoisyChain, types: tuple[int, ...]) -> None:
    chain.state.size[0] = len(types)
    chain.state.types[: len(types)] = types
    chain.count()
    chain.use(chain.target.scores(1.0, IMPOSSIBLE))


def log_weight(chain: NoisyChain, types: tuple[int, ...]) -> float:
    put(chain, types)
    score = chain.state.score[np.arange(len(chain.state.counts)), chain.state.counts].sum()
    return float(score + chain.target.rows.log_chance[list(types)].sum())


def ends(chain: NoisyChain, types: tuple[int, ...], move: str, grid: list[float]) -> dict[Any, float]:
    """Where one move leads from a dataset, by what the program does with all numbers of a grid."""
    found: dict[Any, float] = {}
    n_types, rows = len(chain.target.space.universe), chain.target.rows
    middle = [(at + 0.5) / len(types) for at in range(len(types))]
    second = [(at + 0.5) / max(len(types) - 1, 1) for at in range(max(len(types) - 1, 1))]
    if move == "choose again":
        sets = len(chain.target.space.groups.order)
        numbers = itertools.product([0.0], middle, [(at + 0.5) / sets for at in range(sets)], grid, [0.0])
    elif move == "exchange":
        numbers = itertools.product([0.0], middle, second, [0.25, 0.75], grid)
    else:
        fine = [(at + 0.5) / (16 * n_types) for at in range(16 * n_types)]
        births = itertools.product([0.0], [0.25], fine, grid, [0.0])
        deaths = itertools.product([0.0], [0.75], middle, grid, [0.0])
        share = 1 / (2 * len(fine) * len(grid)), 1 / (2 * len(types) * len(grid))
        for own, given in ((share[0], births), (share[1], deaths)):
            for one in given:
                put(chain, types)
                moves.come_or_go(np.array(one), rows, chain.state)
                end = tuple(sorted(chain.types.tolist()))
                found[end] = found.get(end, 0.0) + own
        return found
    listed = list(numbers)
    space = chain.target.space
    for one in listed:
        put(chain, types)
        if move == "exchange":
            moves.exchange(np.array(one), rows, space.keys, chain.state)
        else:
            moves.choose_again(np.array(one), rows, space.groups, chain.state)
        end = tuple(chain.types.tolist())
        found[end] = found.get(end, 0.0) + 1 / len(listed)
    return found


@pytest.mark.parametrize("move", ["choose again", "exchange", "come or go"])
def test_moves_keep_detailed_balance(chain: NoisyChain, move: str) -> None:
    size = 20 if move == "come or go" else 100
    grid = [(at + 0.5) / size for at in range(size)]
    n_types = len(chain.target.space.universe)
    starts = list(itertools.combinations_with_replacement(range(n_types), 2))[
        :: 1 if move == "exchange" else 5
    ]
    n_moves = 0
    for start in starts:
        there = ends(chain, start, move, grid)
        assert sum(there.values()) == pytest.approx(1)
        for end, share in there.items():
            if end == start or share < 0.01:
                continue
            back = ends(chain, end, move, grid).get(start, 0.0)
            ratio = log_weight(chain, end) - log_weight(chain, start)
            if move == "come or go":  # multisets: as many sequences as there are orders
                ratio += math.log(orders(end) / orders(start))
            flow, other = share * math.exp(min(0, -ratio)), back * math.exp(min(0, ratio))
            assert flow == pytest.approx(other, abs=0.012)  # two steps of the grid
            n_moves += flow > 0.025
    assert n_moves >= 2


def test_records_chosen_among_drawn_ones_have_the_right_weights(chain: NoisyChain) -> None:
    """A single record, again and again: frequencies are as the weights say, within five standard errors."""
    rng = np.random.default_rng(5)
    n_types = len(chain.target.space.universe)
    weight = np.exp([log_weight(chain, (one,)) for one in range(n_types)])
    weight /= weight.sum()
    put(chain, (0,))
    per = len(chain.state.drawn) + 1
    seen = np.zeros(n_types)
    for _ in range(3000):
        moves.new_records(rng.random(per), chain.target.rows, chain.state)
        seen[chain.types[0]] += 1
    assert (abs(seen / 3000 - weight) < 5 * np.sqrt(weight / 3000) + 0.002).all()


def test_values_that_contradict_each_other_are_noise(prior: st.Prior) -> None:
    release = noisy(st.DiscreteGaussian(2), {"a": [5, 0, 0], "b": [0, 0]}, 2, "north")
    found = st.likely(release, prior, least=0.5, plan=PLAN)
    assert found.n_records == 2
    assert not found.exact
    assert all(0 < one.q < 0.9 for one in found.statements)
    told = st.audit(release)
    assert not told.findings  # noise without bounds proves nothing


def test_rules_stay_certain_under_noise(prior: st.Prior) -> None:
    release = noisy(st.DiscreteGaussian(1), {"a": [0, 0, 4]}, 4)
    found = st.likely(release, prior, least=0.5, plan=PLAN)
    said = {(str(one.given), str(one.selection)) for one in found.statements}
    assert ("a=2", "b=1") not in said
    assert found.n_certain


def test_bounded_noise_still_proves(prior: st.Prior) -> None:
    release = noisy(st.RandomRounding(3), {"a": [0, 0, 9]}, 9)
    assert (release.low.max(), release.high.min()) == (9, 2)
    found = st.likely(release, prior, least=0.5, plan=PLAN)
    assert found.n_certain
    with pytest.raises(st.InputError):
        find_posterior(noisy(KEYS, {"a": [0, 7, 0], "a*b": [0, 0, 3, 0, 0, 0]}, 3), prior, plan=PLAN)


def test_the_number_of_records_is_known_from_exact_cells_only(prior: st.Prior) -> None:
    known = noisy(st.DiscreteGaussian(1), {"a": [2, 0, 1]}, 3)
    assert size_range(known, noisy_space(known)) == (3, 3)
    unknown = noisy(st.DiscreteGaussian(1), {"a": [2, 0, 1]}, None)
    assert size_range(unknown, noisy_space(unknown)) == (0, 26)
    assert (unknown.low == 0).all()
    assert (unknown.high == UNBOUNDED).all()
    found = st.probability(unknown, "a=0", prior, plan=PLAN)
    assert sum(q for q, _, _ in found.chances.values()) == pytest.approx(1, abs=0.02)


def test_the_same_cell_key_is_one_observation(prior: st.Prior) -> None:
    once = noisy(KEYS, {"a": [2, 0, 1]}, 3)
    twice = noisy(KEYS, {"a": [2, 0, 1], "a*b": [2, UNKNOWN, 0, 0, UNKNOWN, 1]}, 3)
    assert twice.noise is not None
    space = noisy_space(twice)
    target = NoisyTarget.of(twice, space, prior.over(space.universe))
    alone = noisy_space(once)
    single = NoisyTarget.of(once, alone, prior.over(alone.universe))
    same = int(space.row_of[3]), int(alone.row_of[3])  # a=2, which is a=2,b=1 by the rule
    assert np.allclose(target.score[same[0]], single.score[same[1]])
