"""How far counts can differ at most: no dataset that publishes the same goes beyond what is proved."""

from __future__ import annotations

import numpy as np
import pytest

from brute_cells import changes_of, tiny
from showthrough.tables.protect.cells.axis import TableAxis
from showthrough.tables.protect.cells.ends import ProvedEnds
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.cells.shown import plan_at_hand


@pytest.mark.parametrize("kind", ["2-D", "hierarchy", "linked", "overlapping"])
def test_no_change_by_enumeration_goes_beyond_the_ends(kind: str) -> None:
    determined = set[bool]()
    for seed in range(8):
        problem, rng = tiny(kind, seed), np.random.default_rng(seed)
        suppressed = (problem.primary | (rng.random(len(problem.counts)) < 0.8)) & problem.hideable
        shown = ~(suppressed | problem.hidden)
        known = changes_of(problem, 2 if len(problem.atoms) <= 6 else 1)
        usable = known[~(known[:, shown] != 0).any(axis=1)]
        ends = ProvedEnds(problem, suppressed)
        for cell in range(len(problem.counts)):
            low, high = ends.of(cell)
            assert low is None or low <= usable[:, cell].min(initial=0)
            assert high is None or high >= usable[:, cell].max(initial=0)
            if not shown[cell]:
                determined.add(ends.determined(cell))
                assert not ends.determined(cell) or not usable[:, cell].any()
    assert determined == {True, False}


def test_what_fractions_alone_change_is_proved_to_follow() -> None:
    """Sums that leave one direction, (1, −1, −1, 2, −2): the first cell is between ½ and 1½, so it is 1."""
    axis = TableAxis.of(5, [{0, 1}, {0, 2}, {1, 2, 3}, {3, 4}])
    problem = CellProblem.with_margins(np.array([1, 3, 3, 1, 1]), axes=[axis])
    ends = ProvedEnds(problem, problem.is_atom)
    assert [ends.of(cell) for cell in (0, 3)] == [(0, 0), (-1, 1)]
    assert not plan_at_hand(problem, problem.is_atom).safe


def test_without_any_published_cell_no_end_above_is_proved() -> None:
    problem = CellProblem.with_margins(np.array([[5, 1], [3, 6]]))
    assert ProvedEnds(problem, np.ones(9, bool)).of(1) == (-1, None)
