"""Protecting cells against exhaustive search."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from brute_cells import KINDS, change_of, changes_of, cheapest, is_safe, tiny
from needs import SLOW
from showthrough.tables.protect.cells.axis import TableAxis
from showthrough.tables.protect.cells.bound import lower_bound
from showthrough.tables.protect.cells.certificate import CellCertificate, certified, certify
from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.cells.protect_cells import protect_cells

EACH = 600 if SLOW else 6


@pytest.mark.parametrize("kind", KINDS)
def test_plans_are_safe_and_bounds_hold_by_enumeration(kind: str) -> None:
    optimal, solved = 0, 0
    for seed in range(EACH):
        problem = tiny(kind, seed)
        found = protect_cells(problem, effort=0.1)
        known = changes_of(problem, 2 if len(problem.atoms) <= 6 else 1)
        own = [change_of(one, problem) for one in found.certificates]
        known = np.unique(
            np.array([*known.tolist(), *own], np.int64).reshape(-1, len(problem.counts)), axis=0
        )
        best = cheapest(problem, known)
        if best is None:
            assert not found.safe, (kind, seed)
            continue
        assert found.safe, (kind, seed)
        assert is_safe(problem, found.suppressed, known), (kind, seed)
        assert found.lower_bound <= best <= found.cost, (kind, seed)
        assert found.cost == problem.cost[list(found.suppressed)].sum()
        checked = lower_bound(Equations.of(problem))
        assert checked is not None
        assert checked.kind == "checked"
        assert checked.value <= best, (kind, seed)
        assert not found.optimal or found.cost == best
        solved, optimal = solved + 1, optimal + (found.cost == best)
    assert solved >= EACH // 3
    assert optimal >= 0.8 * solved  # a heuristic, and of little effort


def test_a_small_table() -> None:
    """One suppressed cell in a 2 × 2 table with its margins takes three others with it."""
    found = protect_cells(CellProblem.with_margins(np.array([[5, 1], [3, 6]])))
    assert (found.safe, found.cost, found.lower_bound, found.gap) == (True, 4, 4, 0)
    assert found.bound_kind == "checked"


def fractional(*, fixed: bool) -> CellProblem:
    """Sums that leave one direction, (1, −1, −1, 2, −2), of which only a half fits the counts."""
    axis = TableAxis.of(5, [{0, 1}, {0, 2}, {1, 2, 3}, {3, 4}])
    made = CellProblem.with_margins(np.array([1, 3, 3, 1, 1]), axes=[axis])
    return replace(made, hideable=np.arange(9) < 5) if fixed else made


def test_what_only_fractions_change_is_not_called_safe() -> None:
    """An LP finds the first cell anywhere from ½ to 1½; in whole numbers it is 1."""
    problem = fractional(fixed=True)
    direction = np.array([1, -1, -1, 2, -2, 0, 0, 0, 0])
    assert (problem.counts + direction / 2 >= 0).all()
    assert certify(problem, direction / 2) is None
    suppressed = np.arange(9) < 5
    for change in (direction, -direction):
        whole = certify(problem, change)
        assert whole is not None
        assert not len(whole.shows(problem, suppressed))
    found = protect_cells(problem)
    assert not found.safe
    assert found.gap is None
    assert not found.optimal
    assert set(found.open) == {0, 3, 4}


def test_and_is_protected_where_more_may_be_suppressed() -> None:
    problem = fractional(fixed=False)
    found = protect_cells(problem)
    assert found.safe
    assert found.lower_bound <= (cheapest(problem, changes_of(problem, 2)) or 0) <= found.cost


@pytest.mark.parametrize(
    ("atoms", "change"),
    [
        ((0, 1), (1, -1)),  # a published total changes
        ((1,), (-2,)),  # a count becomes negative
        ((8,), (1,)),  # the grand total is no atom
        ((0, 1), (1,)),  # as many changes as atoms
        ((), ()),  # nothing changes
    ],
)
def test_certificates_that_do_not_hold_show_nothing(atoms: tuple[int, ...], change: tuple[int, ...]) -> None:
    problem = CellProblem.with_margins(np.array([[5, 1], [3, 6]]))
    suppressed = problem.counts == 1
    suppressed[[0, 1]] = True
    assert not certified(problem, suppressed, [CellCertificate(atoms, change)]).any()


def test_a_certificate_that_holds_shows_the_cells_that_differ() -> None:
    problem = CellProblem.with_margins(np.array([[5, 1], [3, 6]]))
    atoms = tuple(problem.atoms.tolist())
    suppressed = problem.is_atom
    shown = certified(problem, suppressed, [CellCertificate(atoms, (1, -1, -1, 1))])
    assert np.flatnonzero(shown).tolist() == np.flatnonzero(problem.primary).tolist()


def test_the_same_input_gives_the_same_plan() -> None:
    joint = np.random.default_rng(5).poisson(2.0, (4, 3, 3))
    one, other = (protect_cells(CellProblem.with_margins(joint), effort=0.2, seed=3) for _ in range(2))
    assert (one.suppressed, one.certificates, one.steps) == (
        other.suppressed,
        other.certificates,
        other.steps,
    )
    assert one.safe


def test_a_cell_that_must_stay_cannot_be_protected() -> None:
    problem = CellProblem.with_margins(np.array([[5, 1], [3, 6]]))
    found = protect_cells(replace(problem, hideable=problem.counts != 1))
    assert not found.safe


def test_equations_are_true_and_the_spanning_ones_say_it_all() -> None:
    axes = [TableAxis.of(4, [{0, 1}, {2, 3}, range(4)]), TableAxis.of(2, [range(2)])]
    problem = CellProblem.with_margins(np.arange(8).reshape(4, 2), axes=axes)
    equations = Equations.of(problem)
    for at in range(len(equations)):
        whole, *parts = equations.members[equations.starts[at] : equations.starts[at + 1]].tolist()
        assert problem.counts[whole] == problem.counts[parts].sum()
    rank = np.linalg.matrix_rank(equations.spanning.toarray())
    assert rank == len(problem.counts) - len(problem.atoms)


def test_what_lies_in_a_zero_that_stays_never_changes() -> None:
    """Two attributes are published with 0 for a combination, so that nobody has it with a third one."""
    made = CellProblem.with_margins(np.array([[[0, 0], [2, 1]], [[1, 3], [2, 2]]]), zeros=False)
    problem = replace(made, hidden=made.is_atom, primary=made.primary & ~made.is_atom)
    moved = (changes_of(problem, 2) != 0).any(axis=0)
    assert not (moved & ~problem.movable).any()
    assert np.flatnonzero(~problem.movable & ~problem.fixed).tolist() == problem.atoms[:2].tolist()
    for kind, seed in product(("3-D", "linked"), range(0, 12, 2)):
        one = tiny(kind, seed)
        assert not ((changes_of(one, 1) != 0).any(axis=0) & ~one.movable).any()


def test_huge_costs_do_not_overflow() -> None:
    problem = CellProblem.with_margins(np.array([[5, 1, 2], [3, 6, 2]]))
    dear = replace(problem, cost=np.full(len(problem.cost), 2**52))
    found = lower_bound(Equations.of(dear))
    assert found is not None
    assert found.value <= 4 * 2**52


def test_intervals_that_are_asked_for() -> None:
    """In a 2 × 2 table all cells change together: as far down as the smaller one of each pair allows."""
    made = CellProblem.with_margins(np.array([[5, 3], [4, 6]]))
    table, primary = replace(made, hideable=made.is_atom), np.arange(9) == 0

    def cost(*needs: int) -> int | None:
        problem = replace(table, primary=primary, needs=np.tile(np.array(needs), (9, 1)))
        found = protect_cells(problem)
        return found.cost if found.safe else None

    assert [cost(0, 0, 1), cost(5, 0, 0), cost(0, 3, 0), cost(5, 3, 8)] == [4, 4, 4, 4]
    assert cost(0, 0, 8) == 4  # five less and three more: no single dataset differs by 8
    assert [cost(0, 0, 9), cost(0, 4, 0)] == [None, None]


@pytest.mark.parametrize(
    ("needs", "message"),
    [
        (np.zeros((3, 3), np.int64), "shape"),
        (np.full((9, 3), -1), "between 0 and"),
        (np.full((9, 3), 2), "cannot be 2 less"),
    ],
)
def test_intervals_that_make_no_sense(needs: NDArray[np.int64], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(CellProblem.with_margins(np.array([[5, 1], [3, 6]])), needs=needs)


def test_the_search_tells_how_it_goes_and_ends_where_it_is_asked_to() -> None:
    problem = CellProblem.with_margins(np.random.default_rng(5).poisson(2.0, (4, 3, 3)))
    said = list[tuple[int, int, float]]()

    def note(cost: int, bound: int, seconds: float) -> None:
        said.append((cost, bound, seconds))

    found = protect_cells(problem, effort=0.2, progress=note)
    assert [cost for cost, _, _ in said] == [step.cost for step in found.steps]
    assert {bound for _, bound, _ in said} == {found.lower_bound}
    first = protect_cells(problem, gap=10.0)
    assert first.safe
    assert len(first.steps) == 1


def test_an_interrupted_search_keeps_its_plan() -> None:
    problem = CellProblem.with_margins(np.random.default_rng(5).poisson(2.0, (4, 3, 3)))

    def interrupt(*_: float) -> None:
        raise KeyboardInterrupt

    found = protect_cells(problem, progress=interrupt)
    assert found.interrupted
    assert found.safe
    assert found.cost >= found.lower_bound


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": np.arange(9)}, "add up"),
        ({"cost": np.full(9, -1)}, "negative"),
        ({"primary": np.zeros(3, bool)}, "primary"),
    ],
)
def test_problems_that_make_no_sense(change: dict[str, np.ndarray], message: str) -> None:
    problem = CellProblem.with_margins(np.array([[5, 1], [3, 6]]))
    with pytest.raises(ValueError, match=message):
        replace(problem, **change)
