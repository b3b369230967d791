"""Changes by linear programs over cells: they are found whatever cells cost, and not beyond a limit."""

from __future__ import annotations

import numpy as np
import pytest

from showthrough.tables.protect.cells.changes import Changes
from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.protect.cells.problem import CellProblem


@pytest.mark.parametrize("price", [1.0, 50.0])
def test_a_change_is_found_whatever_cells_cost_unless_it_is_dearer_than_allowed(price: float) -> None:
    problem = CellProblem.with_margins(np.array([[5, 1, 4], [3, 6, 2]]))
    program, weight = Changes(Equations.of(problem), problem.is_atom), np.full(12, price)
    found = program.cheapest(1, weight, target=(1, 1))
    assert found is not None
    assert np.abs(found).sum() == 4
    assert program.cheapest(1, weight, target=(1, 1), most=4.5 * price) is not None
    assert program.cheapest(1, weight, target=(1, 1), most=2 * price) is None
