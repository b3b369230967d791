"""Protection against exhaustive search over plans and datasets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from exhaustive import cheapest, forbidden, n_plans
from hypothesis import HealthCheck, assume, given, settings

from brute_force import TooManyWorlds, all_worlds
from showthrough.protect.menu import Menu
from showthrough.protect.moves import Mark
from showthrough.protect.policy import Change, Cost, Narrow, Policy
from showthrough.protect.result import Protection
from showthrough.protect.search import protect
from strategies import Case, cases, random_selection, seeds

thorough = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

MOST_PLANS, MOST_WORLDS = 300, 40_000


def random_policy(case: Case, seed: int) -> Policy:
    """What is forbidden, what may be done, and at which cost, at random."""
    rng = np.random.default_rng([seed, 5])
    texts = ["singletons", "multiplicity<=2", "k>=2", f"sensitive={case.schema.names[0]}", "singletons,k>=2"]
    moves = ["suppress", "drop", "suppress,drop", "round:3,drop", "merge,drop", "suppress,round:5,merge"]
    narrow = [Narrow(random_selection(rng, case.schema, 2), int(rng.integers(1, 3)))]
    chosen = [texts[rng.integers(len(texts))]]
    mark = Mark(0, 4) if rng.random() < 0.3 else Mark()
    cost = Cost(
        suppressed=Fraction(int(rng.integers(1, 4))),
        rounded=Fraction(1, 3),
        records=Fraction(int(rng.integers(0, 2))),
    )
    kinds = moves[rng.integers(len(moves))]
    only = narrow if rng.random() < 0.25 else []
    return Policy.of(
        *([] if only and rng.random() < 0.5 else chosen),
        moves=kinds,
        change=Change(mark=mark),
        cost=cost,
        narrow=only,
    )


def check_safe(case: Case, policy: Policy, found: Protection) -> None:
    """What is called safe is safe, by enumeration, and the evidence for it holds."""
    (area,) = found.areas
    worlds = all_worlds(area.release, most=MOST_WORLDS)
    assert forbidden(worlds, policy, case.schema) == set()
    for selection, m in area.hidden():
        pair = area.disagreement(selection)
        assert {world.count(selection) for world in pair} > {m}
        assert all(area.release.agrees_with(world.records()) for world in pair)


@settings(thorough, max_examples=150)
@given(cases(), seeds())
def test_the_cost_is_that_of_the_cheapest_safe_plan(case: Case, seed: int) -> None:
    policy = random_policy(case, seed)
    menu = Menu(case.release, policy)
    assume(n_plans(menu) <= MOST_PLANS)
    try:
        wanted = cheapest(case.release, policy, most=MOST_WORLDS)
    except TooManyWorlds:
        assume(False)
    found = protect(case.release, policy, truth=case.records if seed % 2 else None)
    if wanted is None:
        assert found.status == "impossible"
        assert found.remains
        return
    assert found.status == "safe"
    assert found.cost == found.lower_bound == wanted
    check_safe(case, policy, found)
