"""The moves of a chain: exact transition matrices keep detailed balance; plain loops equal compiled ones."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import showthrough as st
from showthrough.noise_law import NoisyCounts
from showthrough.release import UNBOUNDED
from showthrough.tables.audit import locate, start_decider
from showthrough.tables.likely import chains, noisy_chains
from showthrough.tables.likely.chains import Chain, ChainPlan
from showthrough.tables.likely.compiled import forget_unreadable
from showthrough.tables.likely.noisy_chains import NoisyTarget, run_noisy_chains
from showthrough.tables.likely.noisy_space import noisy_space
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


class Doubles:
    """Double moves worked out on paper: every way they can go, with its probability."""

    def __init__(self, space: Space, n: int) -> None:
        self.space, self.n = space, n
        self.codes = space.system.universe.codes[space.type_at].astype(int).tolist()
        self.number = {tuple(row): at for at, row in enumerate(self.codes)}
        self.rows = space.rows[space.class_of].astype(int)
        self.chain = Chain(space, np.zeros(n, int), seed=0, number=0)

    def swap(self, state: State, i: int, j: int, mask: int) -> State | None:
        one, two = list(self.codes[state[i]]), list(self.codes[state[j]])
        for column in range(len(one)):
            if mask >> column & 1:
                one[column], two[column] = two[column], one[column]
        if tuple(one) not in self.number or tuple(two) not in self.number:
            return None
        after = list(state)
        after[i], after[j] = self.number[tuple(one)], self.number[tuple(two)]
        return tuple(after)

    def change(self, state: State, after: State) -> np.ndarray:
        return self.rows[list(after)].sum(axis=0) - self.rows[list(state)].sum(axis=0)

    def ratio(self, state: State, after: State) -> float:
        return float(np.prod(self.space.chance[list(after)] / self.space.chance[list(state)]))

    def partners(
        self, state: State, i: int, j: int, mask: int, wanted: np.ndarray
    ) -> list[tuple[State, float]]:
        others = [at for at in range(self.n) if at not in (i, j)]
        swapped = (self.swap(state, k, m, mask) for k, m in itertools.combinations(others, 2))
        return [
            (after, self.ratio(state, after))
            for after in swapped
            if after is not None and after != state and (self.change(state, after) == wanted).all()
        ]

    def ways(self, state: State, i: int, j: int, mask: int) -> list[tuple[State, float, float]]:
        """States that a move proposes, with the chance of each and the chance that it is accepted."""
        first = self.swap(state, i, j, mask)
        if first is None or first == state:
            return []
        change, ratio = self.change(state, first), self.ratio(state, first)
        if not change.any():
            return [(first, 1.0, min(1.0, ratio))]
        found = self.partners(state, i, j, mask, -change)
        z = sum(weight for _, weight in found)
        ways: list[tuple[State, float, float]] = []
        for second, weight in found:
            after = tuple(first[at] if at in (i, j) else second[at] for at in range(self.n))
            back = sum(w for _, w in self.partners(after, i, j, mask, change))
            ways.append((after, weight / z, min(1.0, ratio * z / (weight * back))))
        return ways

    def row(self, state: State) -> Row:
        """The distribution after one move."""
        found: Row = {state: 1.0}
        n_masks = 2 ** len(self.codes[0]) - 2
        for i, j in itertools.permutations(range(self.n), 2):
            for mask in range(1, n_masks + 1):
                for after, share, accepted in self.ways(state, i, j, mask):
                    part = share * accepted / (self.n * (self.n - 1) * n_masks)
                    found[after] = found.get(after, 0.0) + part
                    found[state] -= part
        return found

    def moved(self, state: State, *uniform: float) -> State:
        """What the program makes of a state and five random numbers."""
        self.chain.types[:] = state
        self.chain.world[:] = self.space.class_of[self.chain.types]
        self.chain.doubles(np.array(uniform))
        return tuple(self.chain.types.tolist())


@pytest.fixture(scope="module")
def doubles() -> tuple[Doubles, list[State]]:
    """Three binary columns with all tables of two: no move of two records exists."""
    schema = st.Schema.of({"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1"]})
    people = st.Records(schema, np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]]))
    release = st.tabulate(people, ["a*b", "a*c", "b*c"])
    space = space_of(release, 5)
    states = states_of(release, space, 5)
    assert len(states) == 180
    return Doubles(space, 5), states


def test_double_moves_keep_detailed_balance(doubles: tuple[Doubles, list[State]]) -> None:
    paper, states = doubles
    chance = paper.space.chance
    for state in states[10::60]:
        n_moves = 0
        for end, share in paper.row(state).items():
            assert end in states
            there, back = np.prod(chance[list(state)]) * share, np.prod(chance[list(end)])
            assert there == pytest.approx(back * paper.row(end)[state] if end != state else there, rel=1e-9)
            n_moves += end != state
        assert n_moves > 5


def test_double_moves_are_those_worked_out_on_paper(doubles: tuple[Doubles, list[State]]) -> None:
    paper, states = doubles
    n_elsewhere = 0
    for state in states[3::30]:
        for i, j in itertools.permutations(range(5), 2):
            for mask in range(1, 7):
                start = (i + 0.5) / 5, (j - (j > i) + 0.5) / 4, (mask - 0.5) / 6
                ways = paper.ways(state, i, j, mask)
                if not ways:
                    assert paper.moved(state, *start, 0.5, 0.0) == state
                proposed = {paper.moved(state, *start, at / 40, 0.0) for at in range(40)} if ways else set()
                assert proposed == {after for after, _, _ in ways}
                for after, _, accepted in ways:
                    at = next(at for at in range(40) if paper.moved(state, *start, at / 40, 0.0) == after)
                    assert paper.moved(state, *start, at / 40, accepted * 0.999999) == after
                    if accepted < 1:
                        assert paper.moved(state, *start, at / 40, accepted * 1.000001) == state
                    n_elsewhere += 1
    assert n_elsewhere > 100


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
    names = ("compiled", "hashing", "pairs", "doubles", "listing", "noisy_moves")
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
    for module, name in (("pairs", "pair_moves"), ("doubles", "double_moves"), ("pairs", "draw_types")):
        monkeypatch.setattr(chains, name, getattr(plain[module], name))
    monkeypatch.setattr("showthrough.tables.likely.space.list_worlds", plain["listing"].list_worlds)
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


@pytest.mark.parametrize("error", [AttributeError("no such class"), EOFError()])
def test_what_another_version_compiled_is_forgotten(error: Exception) -> None:
    done: list[str] = []

    def load_index() -> None:
        done.append("load")
        raise error

    kept = SimpleNamespace(
        _cache_file=SimpleNamespace(load_index=load_index), flush=lambda: done.append("flush")
    )
    forget_unreadable(SimpleNamespace(_cache=kept))
    forget_unreadable(SimpleNamespace())
    assert done == ["load", "flush"]
