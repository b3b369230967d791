"""The relaxation of the conditions on plans, against all plans, and the plans that are made from it."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from showthrough.tables.protect.clauses import Clause
from showthrough.tables.protect.dataset_pool import DatasetPool
from showthrough.tables.protect.hitting import cost_of
from showthrough.tables.protect.master import Master
from showthrough.tables.protect.moves import Drop, Move, Round, Suppress
from showthrough.tables.protect.near_datasets import NearDatasets
from showthrough.tables.protect.relaxation import Relaxation, Relaxed
from showthrough.tables.protect.unsafe_plans import unsafe_plans

CELLS: list[Move] = [Suppress(table, cell) for table in "ab" for cell in "vwxyz"]
PLANS = [frozenset(chosen) for size in range(11) for chosen in itertools.combinations(CELLS, size)]


def random_clause(rng: np.random.Generator) -> Clause:
    def some(most: int) -> frozenset[Move]:
        return frozenset(CELLS[at] for at in rng.choice(len(CELLS), rng.integers(1, most + 1)))

    facts = [frozenset(some(2) for _ in range(rng.integers(1, 5))) for _ in range(rng.integers(1, 5))]
    return Clause(frozenset(facts))


@pytest.mark.parametrize("seed", range(25))
def test_the_bound_is_never_above_the_cheapest_plan_however_conditions_come(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = {move: Fraction(int(rng.integers(1, 9))) for move in CELLS}
    clauses = [random_clause(rng) for _ in range(12)]
    master = Master(costs)
    grown = Relaxation(master)
    for start in range(0, len(clauses), 3):
        grown.add(clauses[start : start + 3])
        found = grown.solve()
        assert found is not None
        met = [plan for plan in PLANS if all(clause.met_by(plan) for clause in clauses[: start + 3])]
        assert 0 < found.bound <= min(cost_of(plan, costs) for plan in met)
        other = Relaxation(master)
        other.add(clauses[: start + 3])
        afresh = other.solve()
        assert afresh is not None
        cost = master.cost.astype(float)
        assert cost @ found.point[: len(cost)] == pytest.approx(cost @ afresh.point[: len(cost)])
        for low, high, row in master.rows[: master.n_base]:
            assert low - 1e-5 <= sum(found.point[at] * value for at, value in row.items()) <= high + 1e-5


def test_conditions_that_nothing_meets_have_no_bound() -> None:
    master = Master({CELLS[0]: Fraction(1)})
    relaxation = Relaxation(master)
    found = relaxation.solve()
    assert found is not None
    assert found.bound == 0
    relaxation.add([Clause(frozenset())])
    assert relaxation.solve() is None


@pytest.mark.parametrize("seed", range(20))
def test_unsafe_plans_keep_out_all_known_datasets_that_refute_a_claim(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = DatasetPool(rng.random((40, 10)) < 0.3, rng.random((40, 12)) < 0.3)
    # Nothing is learnt here, so neither cells nor claims are needed.
    near = NearDatasets(pool, CELLS, np.zeros(0, np.int64), np.zeros(0, np.int64), None)  # pyright: ignore[reportArgumentType]
    shares = {move: float(rng.random()) for move in CELLS if rng.random() < 0.8}
    found = unsafe_plans(near, shares, seed=seed)
    assert [one.weight for one in found] == sorted(one.weight for one in found)
    assert len({one.plan for one in found}) == len(found)
    for one in found:
        assert one.plan <= shares.keys()
        assert not near.refuted(one.plan)[one.claim]
        assert one.weight == pytest.approx(sum(shares[move] for move in shares.keys() - one.plan))
        assert one.weight < 1
    assert found == unsafe_plans(near, shares, seed=seed)
    unrefuted = np.flatnonzero(~near.refuted(frozenset(shares)))
    if len(unrefuted):
        assert found[0].weight == 0


def test_a_plan_from_the_relaxation_treats_each_table_in_one_way() -> None:
    shares: dict[Move, float] = {
        Suppress("a", "v"): 0.5,
        Drop("a"): 0.2,
        Suppress("b", "v"): 0.3,
        Round("b", 5): 0.6,
        Round("c", 3): 0.4,
        Round("c", 5): 0.5,
    }
    relaxed = Relaxed(np.zeros(0), shares, 0.0, Fraction(0))
    assert relaxed.plan(0.1) == {Drop("a"), Suppress("b", "v"), Round("c", 5)}
    assert relaxed.plan(0.45) == {Suppress("a", "v"), Round("b", 5), Round("c", 5)}
