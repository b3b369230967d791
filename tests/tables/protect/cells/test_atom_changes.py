"""Changes over atoms that are not published, against enumeration; and plans that are there at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brute_cells import change_of, changes_of, is_safe, tiny
from showthrough.tables.protect.cells.atom_changes import AtomChanges
from showthrough.tables.protect.cells.bound import lower_bound
from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.cells.protect_cells import protect_cells


def margins_alone(seed: int) -> CellProblem:
    """Two-way margins of a 2 × 2 × 2 table whose own cells are not published."""
    made = CellProblem.with_margins(
        np.random.default_rng(seed).integers(0, 3, (2, 2, 2)), zeros=seed % 2 == 0
    )
    return replace(made, hidden=made.is_atom, primary=made.primary & ~made.is_atom)


@pytest.mark.parametrize("seed", range(6))
def test_a_change_is_whole_and_as_cheap_as_the_cheapest_by_enumeration(seed: int) -> None:
    """Atoms cost a little too, so that it is as cheap but for that."""
    problem = margins_alone(seed)
    known, weight = changes_of(problem, 2), np.where(problem.hidden, 0.0, 1.0)
    usable, changes = problem.movable, AtomChanges(problem)
    for cell in np.flatnonzero(problem.primary).tolist():
        best = [one for one in known if one[cell] == 1]
        found = changes.cheapest(cell, weight, target=(1, 1), usable=usable, nodes=200)
        if found is None:
            assert not best
            continue
        assert found[cell] >= 1
        assert (problem.counts + found >= 0).all()
        assert np.array_equal(problem.recount(found[problem.atoms]), found)
        assert not found[problem.fixed].any()
        if best:
            least = min(np.abs(one) @ weight for one in best)
            assert np.abs(found) @ weight <= 2 * least + 1


def test_a_cell_that_may_not_be_used_does_not_change() -> None:
    problem = margins_alone(2)
    weight, cell = np.where(problem.hidden, 0.0, 1.0), int(np.flatnonzero(problem.primary)[0])
    everything, changes = np.ones(len(weight), bool), AtomChanges(problem)
    found = changes.cheapest(cell, weight, target=(1, 1), usable=everything)
    assert found is not None
    for barred in np.flatnonzero((found != 0) & ~problem.hidden).tolist():
        if barred != cell:
            dear = weight.copy()
            dear[barred] = np.inf
            other = changes.cheapest(cell, dear, target=(1, 1), usable=everything)
            assert other is None or not other[barred]
            other = changes.cheapest(cell, weight, target=(1, 1), usable=np.arange(len(weight)) != barred)
            assert other is None or not other[barred]
    assert changes.cheapest(cell, weight, target=(-1, 5), usable=everything) is None


def test_without_any_time_there_is_a_safe_plan_and_a_bound_that_holds() -> None:
    for kind in ("2-D", "3-D", "linked", "hierarchy"):
        for seed in range(4):
            problem = tiny(kind, seed)
            known = changes_of(problem, 1)
            found, whole = (protect_cells(problem, effort=0.1, seconds=limit) for limit in (0.0, None))
            assert found.safe == whole.safe, (kind, seed)
            assert found.lower_bound <= whole.lower_bound
            assert found.bound_kind == "checked"
            if found.safe:
                own = [change_of(one, problem) for one in found.certificates]
                every = np.array([*known.tolist(), *own], np.int64).reshape(-1, len(problem.counts))
                assert is_safe(problem, found.suppressed, every), (kind, seed)
                assert whole.cost <= found.cost


def test_a_bound_that_is_stopped_holds() -> None:
    problem = CellProblem.with_margins(np.random.default_rng(5).poisson(2.0, (4, 3, 3)))
    asked = iter([False, True])
    early = lower_bound(Equations.of(problem), stop=lambda: next(asked, True))
    late = lower_bound(Equations.of(problem))
    assert early is not None
    assert late is not None
    assert problem.cost_of(problem.primary) <= early.value <= late.value
