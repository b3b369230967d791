"""Elimination suppresses just what equations ask for, one cell after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from showthrough.tables.protect.cells import elimination
from showthrough.tables.protect.cells.atom_changes import AtomChanges
from showthrough.tables.protect.cells.elimination import eliminate
from showthrough.tables.protect.cells.problem import CellProblem


def follows(problem: CellProblem, suppressed: NDArray[np.bool_]) -> bool:
    """Whether a primary cell is a linear combination of published ones, by ranks."""
    rows = AtomChanges(problem).parts.toarray().astype(float)
    published = rows[~suppressed & ~problem.hidden]
    rank = np.linalg.matrix_rank(published)
    return any(
        np.linalg.matrix_rank(np.vstack([published, rows[cell]])) == rank
        for cell in np.flatnonzero(problem.primary).tolist()
    )


@pytest.mark.parametrize("seed", range(12))
def test_no_primary_cell_follows_by_equations_and_no_other_cell_could_be_published(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = [(3, 4), (2, 3, 3), (4, 3), (2, 2, 2, 2)][seed % 4]
    problem = CellProblem.with_margins(rng.integers(1, 6, shape))
    found = eliminate(problem)
    assert found is not None
    assert (found >= problem.primary).all()
    assert not follows(problem, found)
    for cell in np.flatnonzero(found & ~problem.primary).tolist():
        fewer = found.copy()
        fewer[cell] = False
        assert follows(problem, fewer)


def test_dear_cells_are_published_first() -> None:
    problem = CellProblem.with_margins(np.array([[1, 4, 4], [4, 4, 4], [4, 4, 4]]))
    others = np.flatnonzero(problem.is_atom & (problem.counts > 1))
    cost = np.where(np.isin(np.arange(len(problem.counts)), others[[1, 5, 7]]), 1, 50)
    found = eliminate(replace(problem, cost=cost))
    assert found is not None
    assert set(np.flatnonzero(found & ~problem.primary)) == set(others[[1, 5, 7]])


def test_a_table_too_large_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elimination, "LARGEST", 10)
    assert eliminate(CellProblem.with_margins(np.ones((3, 3), np.int64))) is None
