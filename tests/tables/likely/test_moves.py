"""The moves of a chain: exact transition matrices keep detailed balance; plain loops equal compiled ones."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import numpy as np
import pytest

import showthrough as st
from showthrough.noise_law import NoisyCounts
from showthrough.release import UNBOUNDED
from showthrough.tables.audit import locate, start_decider
from showthrough.tables.likely import chains, noisy_chains
from showthrough.tables.likely.chain_moves import detours as run_detours
from showthrough.tables.likely.chains import Chain, ChainPlan
from showthrough.tables.likely.exchanges import (
    ExchangeMemo,
    draw_pair,
    empty_memo,
    list_exchanges,
    make_exchanges,
)
from showthrough.tables.likely.hashing import PRIME, place_of
from showthrough.tables.likely.noisy_chains import NoisyTarget, noisy_space, run_noisy_chains
from showthrough.tables.likely.space import Space, make_space
from tables.likely.tiny_datasets import sequences

State = tuple[int, ...]
Row = dict[State, float]

#: Uniform numbers are told apart up to this.
FINEST = 2.0**-10


def space_of(release: st.Release, n: int, seed: int = 0) -> Space:
    """The space of a release, types with random chances."""
    system = start_decider(release, truth=None, effort=1, seed=0).system
    chance = np.random.default_rng(seed).dirichlet(np.ones(len(system.universe)))
    return make_space(system, chance, n)


def states_of(release: st.Release, space: Space, n: int) -> list[State]:
    """All sequences of types, as the space numbers them."""
    universe = space.system.universe
    codes = np.zeros((len(space.type_at), len(universe.frame.over)), int)
    codes[:, list(universe.frame.over)] = universe.codes[space.type_at]
    number = {tuple(row): at for at, row in enumerate(codes.tolist())}
    return [tuple(number[tuple(row)] for row in one.tolist()) for one in sequences(release, n)]


class Detours:
    """Detours worked out on paper: every way they can go, with its probability."""

    def __init__(self, space: Space, n: int) -> None:
        self.space, self.n = space, n
        self.codes = [tuple(row) for row in space.system.universe.codes[space.type_at].tolist()]
        self.rows = space.rows[space.class_of].astype(int)
        self.chain = Chain(space, np.zeros(n, int), seed=0, number=0)

    def exchanges(self, one: int, other: int) -> dict[bytes, list[tuple[int, int]]]:
        """Ordered pairs of types with the same values in each column as two types, by their cells."""
        values = [sorted(pair) for pair in zip(self.codes[one], self.codes[other], strict=True)]
        found: dict[bytes, list[tuple[int, int]]] = {}
        for a, b in itertools.product(range(len(self.codes)), repeat=2):
            if [sorted(pair) for pair in zip(self.codes[a], self.codes[b], strict=True)] == values:
                found.setdefault((self.rows[a] + self.rows[b]).tobytes(), []).append((a, b))
        return found

    def weight(self, pairs: list[tuple[int, int]]) -> float:
        return sum(float(self.space.chance[a] * self.space.chance[b]) for a, b in pairs)

    def left(self, state: State) -> Iterator[tuple[State, tuple[int, int], float]]:
        """Datasets in between, the records that differ, and the probability to come there."""
        for i, j in itertools.combinations(range(self.n), 2):
            groups = self.exchanges(state[i], state[j])
            own = (self.rows[state[i]] + self.rows[state[j]]).tobytes()
            for cells, pairs in groups.items():
                for a, b in pairs if cells != own else []:
                    share = self.space.chance[a] * self.space.chance[b] / self.weight(pairs)
                    part = float(share) / (len(groups) - 1) * 2 / (self.n * (self.n - 1))
                    yield self.with_pair(state, (i, j), (a, b)), (i, j), part

    def with_pair(self, state: State, at: tuple[int, int], pair: tuple[int, int]) -> State:
        after = list(state)
        after[at[0]], after[at[1]] = pair
        return tuple(after)

    def ways_back(self, between: State, published: np.ndarray) -> dict[State, float]:
        """Datasets that agree again, with weights: their own, times the probability to come from there."""
        found: dict[State, float] = {}
        for k, m in itertools.combinations(range(self.n), 2):
            groups = self.exchanges(between[k], between[m])
            rest = self.rows[list(between)].sum(axis=0) - self.rows[between[k]] - self.rows[between[m]]
            own = (self.rows[between[k]] + self.rows[between[m]]).tobytes()
            for pair in groups.get((published - rest).tobytes(), []):
                end = self.with_pair(between, (k, m), pair)
                back = (
                    self.space.chance[between[k]] * self.space.chance[between[m]] / self.weight(groups[own])
                )
                found[end] = float(np.prod(self.space.chance[list(end)]) * back) / (len(groups) - 1)
        total = sum(found.values())
        return {end: weight / total for end, weight in found.items()}

    def row(self, state: State) -> Row:
        """The distribution after one detour."""
        published = self.rows[list(state)].sum(axis=0)
        found: Row = {state: 1.0}
        for between, _, part in self.left(state):
            found[state] -= part
            for end, share in self.ways_back(between, published).items():
                found[end] = found.get(end, 0.0) + part * share
        return found

    def moved(self, state: State, *uniform: float) -> State:
        """What the program makes of a state and six random numbers."""
        self.chain.types[:] = state
        self.chain.detours(np.array(uniform))
        return tuple(self.chain.types.tolist())


@pytest.fixture(scope="module")
def paper() -> tuple[Detours, list[State]]:
    """Three binary columns with all tables of two: no move of two records exists."""
    schema = st.Schema.of({"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1"]})
    people = st.Records(schema, np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]]))
    release = st.tabulate(people, ["a*b", "a*c", "b*c"])
    assert isinstance(release, st.Release)
    space = space_of(release, 5)
    states = states_of(release, space, 5)
    assert len(states) == 180
    return Detours(space, 5), states


def test_detours_keep_detailed_balance(paper: tuple[Detours, list[State]]) -> None:
    detours, states = paper
    chance = detours.space.chance
    rows = {state: detours.row(state) for state in states[10::60]}
    n_moves = 0
    for state, ends in rows.items():
        assert sum(ends.values()) == pytest.approx(1)
        for end, share in list(ends.items())[:40]:
            assert end in states
            there, back = np.prod(chance[list(state)]) * share, np.prod(chance[list(end)])
            assert there == pytest.approx(back * detours.row(end)[state] if end != state else there, rel=1e-9)
            n_moves += end != state
    assert n_moves > 20


def test_detours_are_those_worked_out_on_paper(paper: tuple[Detours, list[State]]) -> None:
    detours, states = paper
    published = detours.rows[list(states[0])].sum(axis=0)
    n_elsewhere = 0
    for state in states[3::90]:
        between = {(pair, one): part for one, pair, part in detours.left(state)}
        for i, j in itertools.islice(itertools.combinations(range(5), 2), 0, None, 2):
            start = (i + 0.5) / 5, (j - 1 + 0.5) / 4
            mine = [one for pair, one in between if pair == (i, j)]
            if not mine:
                assert detours.moved(state, *start, 0.5, 0.5, 0.5, 0.5) == state
                continue
            n_groups = len(detours.exchanges(state[i], state[j]))
            expected: Row = {}
            for one in mine:
                for end, share in detours.ways_back(one, published).items():
                    part = share * between[(i, j), one] * 10
                    expected[end] = expected.get(end, 0.0) + part
            found: Row = {}
            for group, first, last in itertools.product(middles(n_groups - 1), middles(2), middles(2)):
                for end, length in pieces(
                    lambda u, s=state, p=start, g=group, f=first, e=last: detours.moved(s, *p, g, f, u, e)
                ):
                    found[end] = found.get(end, 0.0) + length / (4 * (n_groups - 1))
            assert found == pytest.approx(expected, abs=8 * FINEST)
            n_elsewhere += sum(end != state for end in found)
    assert n_elsewhere > 20


@pytest.mark.parametrize("seed", range(4))
def test_exchanges_are_all_pairs_with_the_same_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, [2, 3, 2, 4, 2], (30, 5)), axis=0)
    by_value = [rng.integers(0, PRIME // 5, 4) for _ in range(5)]
    parts = np.column_stack([by_value[column][codes[:, column]] for column in range(5)])
    hashes, chance = rng.integers(0, 3, len(codes)), rng.dirichlet(np.ones(len(codes)))
    table = make_exchanges(codes, parts, hashes, chance)
    memo = empty_memo(table)
    n_lists = 0
    for one, other in itertools.combinations_with_replacement(range(len(codes)), 2):
        values = np.sort(codes[[one, other]], axis=0)
        expected = {
            pair: float(chance[list(pair)].prod()) * (1 if pair[0] == pair[1] else 2)
            for pair in itertools.combinations_with_replacement(range(len(codes)), 2)
            if (np.sort(codes[list(pair)], axis=0) == values).all()
        }
        at = place_of((table.key[one] + table.key[other]) % PRIME, memo.found)
        if memo.found[at, 2] == 0:
            at = list_exchanges(one, other, at, table, memo)
            n_lists += 1
        found: dict[tuple[int, int], float] = {}
        for group in range(memo.found[at, 1], memo.found[at, 1] + memo.found[at, 2]):
            before = 0.0
            for place in range(memo.start[group], memo.start[group + 1]):
                pair = tuple(sorted(memo.pairs[place].tolist()))
                assert hashes[list(pair)].sum() == memo.hash[group]
                assert pair not in found
                found[pair] = memo.sums[place] - before
                before = memo.sums[place]
            assert before == memo.weight[group]
        assert found == pytest.approx(expected)
    assert n_lists == memo.found[-1, 0]
    assert n_lists < len(codes) * (len(codes) + 1) / 2, "some sums occur more than once"


def test_pairs_of_a_group_are_drawn_by_weight_in_both_orders() -> None:
    memo = ExchangeMemo(
        np.zeros((3, 3), int),
        np.zeros(2, int),
        np.array([0.5]),
        np.array([0, 2]),
        np.array([[1, 2], [3, 4]]),
        np.array([0.125, 0.5]),
        np.zeros((3, 1), int),
    )
    drawn = [draw_pair(0, uniform, memo) for uniform in middles(16)]
    assert {pair: drawn.count(pair) for pair in set(drawn)} == {(1, 2): 2, (2, 1): 2, (3, 4): 6, (4, 3): 6}


def test_a_memo_that_is_full_is_emptied_and_one_that_is_too_small_changes_nothing(
    paper: tuple[Detours, list[State]],
) -> None:
    detours, states = paper
    space = detours.space
    table, memo = space.exchanges
    uniform = np.random.default_rng(1).random(6 * 400)
    cells, room, intervals = space.cells, detours.chain.room, detours.chain.intervals

    def ends(found: np.ndarray) -> State:
        types = np.array(states[0])
        run_detours(types, uniform, (table, memo._replace(found=found)), cells, room, intervals)
        return tuple(types.tolist())

    assert ends(np.zeros((3, 3), int)) == states[0], "a detour needs more than one list"
    small = np.zeros((33, 3), int)
    assert ends(small) in states
    assert ends(small) != states[0]
    assert small[-1, 0] <= 16


def pieces(
    outcome: Callable[[float], State], low: float = 0.0, high: float = 1.0
) -> Iterator[tuple[State, float]]:
    """The outcomes of a number that is uniform in an interval, with the lengths that lead to them."""
    first, last = outcome(low), outcome(high - FINEST)
    if high - low <= 2 * FINEST or (first == last and high - low <= 1 / 16):
        yield first, high - low
    else:
        yield from pieces(outcome, low, (low + high) / 2)
        yield from pieces(outcome, (low + high) / 2, high)


def middles(size: int) -> list[float]:
    return [(at + 0.5) / size for at in range(size)]


def within_kinds(space: Space) -> list[tuple[float, float]]:
    """Numbers that lead to different classes of some kind, each with the length that it stands for."""
    cuts = {0.0, 1.0}
    for start, end in itertools.pairwise(space.kind_start.tolist()):
        cuts |= {float(part / space.class_sum[end - 1]) for part in space.class_sum[start : end - 1]}
    return [((low + high) / 2, high - low) for low, high in itertools.pairwise(sorted(cuts))]


def pair_row(space: Space, state: State) -> Row:
    """The distribution of the classes after one pair move, by what the program does with all numbers."""
    n = len(state)
    chain = Chain(space, np.array(state), seed=0, number=0)

    def moved(*uniform: float) -> State:
        chain.world[:] = state
        chain.intervals.sums[:] = space.loose[0][:, chain.world].sum(axis=1)
        chain.pairs(np.array(uniform))
        return tuple(chain.world.tolist())

    found: Row = {}
    inner = within_kinds(space)
    for i, j, order in itertools.product(middles(n), middles(n - 1), middles(2)):
        for (one, own), (two, other) in itertools.product(inner, inner):
            for end, length in pieces(lambda u, i=i, j=j, o=order, a=one, b=two: moved(i, j, u, o, a, b)):
                found[end] = found.get(end, 0.0) + length * own * other / (2 * n * (n - 1))
    return found


@pytest.mark.parametrize(
    ("published", "n"),
    [
        ({"a": [1, 1, 1], "b": [2, 1]}, 3),
        ({"a": [1, 2, 0], "b": [(1, 2), None]}, 3),
        ({"total": [2], "a": [(1, 2), None, 0], "b": [(0, 1), None]}, 2),
    ],
)
def test_pair_moves_keep_detailed_balance(published: dict[str, list[object]], n: int) -> None:
    schema = st.Schema.of({"a": ["0", "1", "2"], "b": ["0", "1"]})
    release = st.Release.of(schema, published)  # type: ignore[arg-type]
    space = space_of(release, n)
    states = {tuple(space.class_of[list(state)].tolist()) for state in states_of(release, space, n)}
    rows = {state: pair_row(space, state) for state in states}
    weight = {state: float(np.prod(space.class_chance[list(state)])) for state in states}
    n_moves = 0
    for state, ends in rows.items():
        assert sum(ends.values()) == pytest.approx(1, abs=1e-9)
        for end, share in ends.items():
            assert end in states, "a move left the datasets that agree"
            scale = max(weight[state], weight[end])
            back = weight[end] / scale * rows[end].get(state, 0.0)
            assert weight[state] / scale * share == pytest.approx(back, abs=10 * FINEST)
            n_moves += end != state
    assert n_moves >= 6


@pytest.fixture(scope="module")
def plain() -> dict[str, ModuleType]:
    """The moves without Numba."""
    room = "showthrough.tables.likely"
    names = ("compiled", "hashing", "exchanges", "chain_moves", "space", "noisy_moves")
    kept = {name: importlib.import_module(f"{room}.{name}") for name in names}
    sys.modules[f"{room}.compiled"] = ModuleType("compiled")
    sys.modules[f"{room}.compiled"].compiled = lambda function: function  # type: ignore[attr-defined]
    found: dict[str, ModuleType] = {}
    try:
        for name in names[1:]:
            specification = importlib.util.spec_from_file_location(f"{room}.{name}", kept[name].__file__)
            assert specification is not None
            assert specification.loader is not None
            found[name] = sys.modules[f"{room}.{name}"] = importlib.util.module_from_spec(specification)
            specification.loader.exec_module(found[name])
    finally:
        for name, module in kept.items():
            sys.modules[f"{room}.{name}"] = module
    return found


def test_plain_loops_give_the_same_results(
    plain: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    county = st.simulate_county(1, seed=2, smallest=8, largest=8)
    people = st.Records(county.schema, county.codes)
    release = st.tabulate(people, st.COUNTY_TABLES)
    assert isinstance(release, st.Release)
    space = space_of(release, len(people))
    types = locate(space.system, people)
    counts = np.bincount(space.system.group[types], minlength=space.system.n_classes)

    def run() -> list[object]:
        chain = Chain(space, space.classes_of(counts), seed=3, number=1)
        for _ in range(3):
            chain.step(4)
        listed = space.every_world(300, 4000)
        return [chain.types.tolist(), chain.world.tolist(), None if listed is None else listed.tolist()]

    compiled = run()
    for name in ("pair_moves", "detours", "draw_types"):
        monkeypatch.setattr(chains, name, getattr(plain["chain_moves"], name))
    monkeypatch.setattr("showthrough.tables.likely.space.list_worlds", plain["space"].list_worlds)
    assert run() == compiled
    assert compiled[0] != sorted(types.tolist())


def test_plain_loops_of_noisy_tables_give_the_same_results(
    plain: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = st.Schema.of({"a": ["0", "1", "2"], "b": ["0", "1"]})
    exact = st.Release.of(schema, {"a": [2, 1, 0], "b": [1, 2]})
    laws = NoisyCounts(exact.low, (st.DiscreteGaussian(1),), np.zeros(5, int))
    release = st.Release(exact.layout, np.zeros(5, int), np.full(5, UNBOUNDED), noise=laws)
    space = noisy_space(release)
    target = NoisyTarget.of(release, space, np.full(6, 1 / 6))
    plan = ChainPlan(1, 4, 1, 2, 0)
    compiled = run_noisy_chains(target, plan, seed=1)
    for name in ("noisy_moves", "new_records", "any_type"):
        monkeypatch.setattr(noisy_chains, name, getattr(plain["noisy_moves"], name))
    assert run_noisy_chains(target, plan, seed=1).tolist() == compiled.tolist()
