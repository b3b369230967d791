"""What holds for some cheapest plan, against all plans; and a checked bound, against the cheapest."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import showthrough as st
from brute_force import TooManyWorlds
from exhaustive_plans import MOST_PLANS, MOST_WORLDS, cheapest, n_plans, plans, random_policy, safe_plans
from needs import SLOW
from showthrough.tables.protect.area_search import AreaSearch
from showthrough.tables.protect.company import Company, cell_sums
from showthrough.tables.protect.hitting import cheapest_plan
from showthrough.tables.protect.master import Master
from showthrough.tables.protect.menu import Menu
from showthrough.tables.protect.moves import Suppress
from showthrough.tables.protect.policy import Policy
from showthrough.tables.protect.relaxation import Relaxation
from showthrough.tables.run.batch import Area
from strategies import Case, cases, seeds

thorough = settings(
    max_examples=150 if SLOW else 15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def company_of(menu: Menu) -> Company:
    sums = cell_sums(menu.release.layout)
    assert sums is not None
    return Company(sums, [menu])


@pytest.mark.slow
@thorough
@given(cases(), seeds())
def test_safe_plans_that_cannot_be_thinned_have_company(case: Case, seed: int) -> None:
    policy = random_policy(case, seed)
    menu = Menu(case.release, policy)
    assume(n_plans(menu) <= MOST_PLANS and not case.release.layout.sums)
    try:
        safe = safe_plans(case.release, policy, most=MOST_WORLDS)
    except TooManyWorlds:
        assume(False)
    company = company_of(menu)
    sums = cell_sums(case.release.layout)
    assert sums is not None
    cells = Company(sums, [menu], [move for move in menu.moves if isinstance(move, Suppress)])
    for plan in safe:
        if all(isinstance(move, Suppress) for move in plan) and not any(
            plan - {move} in safe for move in plan
        ):
            assert all(condition.met_by(plan) for condition in cells.conditions), plan
            assert all(plan.issuperset(cells.twins.get(move, ())) for move in plan), plan
        if not any(plan - {move} in safe for move in plan):
            assert all(condition.met_by(plan) for condition in company.conditions), plan
            for move in plan:
                assert plan.issuperset(company.twins.get(move, ())), plan


@pytest.mark.slow
@thorough
@given(cases(), seeds())
def test_the_relaxation_never_costs_more_than_the_cheapest_safe_plan(case: Case, seed: int) -> None:
    policy = random_policy(case, seed)
    menu = Menu(case.release, policy)
    assume(n_plans(menu) <= MOST_PLANS and not case.release.layout.sums)
    try:
        wanted = cheapest(case.release, policy, most=MOST_WORLDS)
    except TooManyWorlds:
        wanted = None
    if wanted is None:
        assume(False)
        return
    search = AreaSearch(Area(case.release, case.records), policy, effort=1.0, seed=0)
    relaxation = Relaxation(Master(menu.moves, company_of(menu)))
    for cost, plan in list(plans(menu))[: 6 if SLOW else 4]:
        relaxation.add(clause for clause, _ in search.clauses(search.audit_plan(plan)))
        solved = relaxation.solve()
        assert solved is not None
        assert solved.bound <= wanted, cost


def test_a_cell_needs_company_in_its_row_and_in_its_column() -> None:
    schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    release = st.Release.of(
        schema,
        {
            st.make_table(schema, "sex*ill"): [5, 1, 0, 2],
            st.make_table(schema, "sex"): [6, 2],
            st.make_table(schema, "ill"): [5, 3],
        },
    )
    policy = Policy.of("singletons", moves="suppress")
    search = AreaSearch(Area(release, None), policy, effort=1.0, seed=0)
    clauses = [clause for clause, _ in search.clauses(search.audit_plan(frozenset()))]
    alone = cheapest_plan(clauses, search.menu.moves)
    company = company_of(search.menu)
    together = cheapest_plan(clauses, search.menu.moves, company=company)
    assert alone is not None
    assert together is not None
    assert len(alone) < len(together)
    assert all(condition.met_by(together) for condition in company.conditions)
    relaxation = Relaxation(Master(search.menu.moves, company))
    relaxation.add(clauses)
    solved = relaxation.solve()
    assert solved is not None
    assert Fraction(1) < solved.bound <= len(together)


def test_sums_are_found_within_tables_and_across_them() -> None:
    schema = st.Schema.of({"sex": ["f", "m"], "age": ["young", "middle", "old"]})
    layout = st.tabulate(
        st.Records(schema, np.zeros((1, 2), np.uint8)), ["sex*age", "sex", "age", "total"]
    ).layout
    sums = cell_sums(layout)
    assert sums is not None
    named = {
        (layout.names[sums.cells[whole][0]][1], tuple(layout.names[sums.cells[part][0]][1] for part in parts))
        for whole, parts in sums.sums
    }
    assert ("total", ("sex=f", "sex=m")) in named
    assert any(whole == "age=old" and len(parts) == 2 for whole, parts in named)
    assert any(whole == "sex=f" and len(parts) == 3 for whole, parts in named)
    assert any(whole == "total" and len(parts) == 6 for whole, parts in named)
