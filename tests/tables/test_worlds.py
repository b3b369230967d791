"""The parts of the search for other worlds: products, steps, relaxed worlds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from needs import examples
from showthrough.census.simulator import simulate_households
from showthrough.census.tables_2020 import census_layout
from showthrough.records import Records
from showthrough.release import Release
from showthrough.tables.audit import audit, context_of, locate, start_decider
from showthrough.tables.search import walk
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.solver import Program, Solution
from showthrough.tables.search.system import System, build_system, sub_system
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.walk import Moves, Walker
from strategies import Case, cases, random_case

LAYOUT = census_layout()


def block(n: int) -> tuple[Release, Records]:
    """The first simulated block with at least n homes."""
    homes = Records.from_arrow(simulate_households(60, seed=3), LAYOUT.schema, by="block")
    name, records = next((name, b) for name, b in homes.by_area() if len(b) >= n)
    return LAYOUT.tabulate(records, area=name), records


def engine_of(release: Release, records: Records) -> Decider:
    return start_decider(release, truth=records, effort=1, seed=1)


def system_of(case: Case) -> System:
    return build_system(context_of(case.release.layout).frame, case.release, most_types=10_000)


def vectors(seed: int, n: int) -> list[NDArray[np.int64]]:
    """Mostly zeros, and hardly any: the two ways products are made."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-3, 4, n) * (rng.random(n) < share) for share in (0.05, 0.9)]


@given(cases())
@settings(max_examples=examples(50))
def test_products_are_those_of_the_dense_rows(case: Case) -> None:
    system = system_of(case)
    rows = system.rows.astype(np.int64)
    for y in vectors(1, system.n_classes):
        assert (system.sums(y) == rows @ y).all()
        inside = (y > 0).astype(np.int64)
        assert (system.within(inside) == ((rows @ (1 - inside)) == 0)).all()
    for u in vectors(2, len(rows)):
        assert (system.combined(u) == u @ rows).all()
        assert (system.touched(u != 0) == rows[u != 0].any(axis=0)).all()


def test_products_of_a_large_system() -> None:
    release, records = block(40)
    system = engine_of(release, records).system
    rows = system.rows.astype(np.int64)
    y = np.bincount(system.group[locate(system, records)], minlength=system.n_classes)
    assert (system.sums(y) == rows @ y).all()
    assert (system.sums(1 - y) == rows @ (1 - y)).all()
    part = sub_system(system, y)
    assert len(part.classes) == 0  # with everything fixed nothing is left


def test_moves_applied_together_concern_different_records() -> None:
    moves = Moves(np.array([[0, 1], [1, 2], [3, -1], [-1, -1], [4, 5]]), np.array([[9, 9]] * 5))
    assert moves.apart().tolist() == [0, 2, 3, 4]
    world = TypeCounts.of_records(np.array([1, 2, 3, 4, 5, 6]))
    assert moves.apply(np.array([0, 2]), world).records().tolist() == [3, 5, 6, 9, 9, 9, 9]


@pytest.mark.parametrize("n", [5, 30])
def test_every_step_leads_to_a_world(n: int) -> None:
    release, records = block(n)
    engine = engine_of(release, records)
    start = engine.current
    for _ in range(20):
        if not engine.wander(1):
            break
        assert engine.system.allows(engine.class_counts(engine.current))
    if n >= 30:
        assert start != engine.current


@given(cases())
@settings(max_examples=examples(50))
def test_steps_keep_intervals_too(case: Case) -> None:
    system = system_of(case)
    world = TypeCounts.of_records(locate(system, case.records))
    walker = Walker(system, 5)
    for _ in range(5):
        moves = walker.moves(world)
        if not len(moves):
            break
        world = walker.step(moves, world)
        assert system.allows(world.added_up(system.group, system.n_classes))


def test_the_nearest_relaxed_world_keeps_most_records() -> None:
    release, records = block(40)
    system = engine_of(release, records).system
    counts = np.bincount(system.group[locate(system, records)], minlength=system.n_classes)
    goal = np.zeros(system.n_classes, np.int64)
    free = np.full(system.n_classes, np.inf)
    program = Program(system, iterations=20_000)
    for at in np.flatnonzero(counts)[:10]:
        goal[:] = 0
        goal[at] = 1
        most = np.where(counts > 0, counts, np.inf)
        found = program.cheapest(np.where(counts > 0, 0.05, 1.0), most, goal, int(counts[at]) - 1)
        if found is None:  # every relaxed world has this record
            assert program.cheapest(np.zeros(len(free)), free, goal, int(counts[at])) is not None
            continue
        assert found[at] <= counts[at] - 1 + 1e-6
        assert (found <= most + 1e-6).all()
        sums = system.sparse @ found
        assert (sums >= system.low - 1e-6).all()
        assert (sums <= system.high + 1e-6).all()


def test_an_lp_without_an_answer_is_solved_again_from_scratch() -> None:
    """HiGHS ended "unknown" from the basis it had, in this case; the claims stayed undecided."""
    case = random_case(609)
    kinds = [verdict.kind for verdict in audit(case.release, truth=case.records).verdicts]
    assert kinds.count("verified") == 16
    assert "undecided" not in kinds


@pytest.mark.parametrize("shape", [(6, 9), (40, 300), (0, 5), (3, 0)])
def test_hashes_are_the_same_from_small_and_large_matrices(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    rows = (rng.random(shape) < 0.3).astype(np.uint8)
    weights = rng.integers(0, 2**64, shape[0], dtype=np.uint64)
    dense = walk._sums(weights, rows)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(walk, "SMALL", -1)
    assert (walk._sums(weights, rows) == dense).all()  # pyright: ignore[reportPrivateUsage]


@given(cases())
@settings(max_examples=examples(40))
def test_nobody_was_seen_only_where_nobody_can_be(case: Case) -> None:
    """What an earlier solution says of a goal is what a linear program for that goal says."""
    system = system_of(case)
    program = Program(system, iterations=1000)
    rng = np.random.default_rng(3)
    for goal in (rng.random((12, system.n_classes)) < 0.4).astype(np.int64):
        seen = program.has_seen_nobody(goal)
        found = program.minimise(goal)
        if seen:
            assert isinstance(found, Solution)
            assert not found.promises(1)
        if isinstance(found, Solution) and not found.promises(1):
            assert program.has_seen_nobody(goal) or found.value > 0
