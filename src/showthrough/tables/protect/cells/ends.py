"""How far a count can differ from the true one under a plan, at most: proved by multipliers in whole numbers.

Certificates show that a cell can change; this shows that it cannot change farther. A linear program over
the atoms proposes multipliers of the published cells. What they prove is added up in whole numbers.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.plan_atoms import PlanAtoms
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.search.solver import Inequalities

__all__ = [
    "ProvedEnds",
]

Counts = NDArray[np.int64]

#: Multipliers are rounded to multiples of one in this many.
_UNIT = 2**32


class ProvedEnds:
    """The largest and least changes of cells that what is published under a plan does not rule out.

    Parameters
    ----------
    problem
        The cells.
    suppressed
        The cells that the plan suppresses.

    Examples
    --------
    >>> import numpy as np
    >>> problem = CellProblem.with_margins(np.array([[5, 1], [3, 6]]))
    >>> ProvedEnds(problem, problem.primary).of(1)
    (0, 0)
    >>> ProvedEnds(problem, problem.is_atom).of(1)
    (-1, 5)
    """

    def __init__(self, problem: CellProblem, suppressed: NDArray[np.bool_]) -> None:
        atoms = PlanAtoms.of(problem, suppressed)
        #: Cells × atoms that can change at all.
        self.parts = atoms.parts
        self._rows, self._counts, self._room = atoms.rows, atoms.counts, atoms.room
        zeros = np.zeros(atoms.rows.shape[0])
        self._program = Inequalities(
            np.zeros(len(self._counts)), -self._counts.astype(float), np.full(len(self._counts), np.inf)
        )
        self._program.add(self._rows, zeros, zeros)
        self._bounded = self._room >= 0

    def of(self, cell: int) -> tuple[int | None, int | None]:
        """The least and the largest change of a cell in whole numbers; None if no end is proved."""
        low, high = self.real(cell)
        return None if low is None else ceil(low), None if high is None else floor(high)

    def real(self, cell: int) -> tuple[Fraction | None, Fraction | None]:
        """The same for changes in fractions, but for roundings of multipliers."""
        row = self.parts[[cell]].toarray().ravel().astype(np.int64)
        down, up = self._largest(-row), self._largest(row)
        return None if down is None else -down, up

    def determined(self, cell: int) -> bool:
        """Whether a cell's count is proved to follow."""
        return self.of(cell) == (0, 0)

    def _largest(self, row: Counts) -> Fraction | None:
        """A bound on Σ row·change: no change is below −count or above the room there is."""
        if not row.any():
            return Fraction(0)
        self._program.price(-row.astype(float))
        self._program.cool()
        solved = self._program.solve()
        if solved is None or np.abs(solved.multipliers).max(initial=0.0) > 2.0**20:
            return None
        weights = np.rint(solved.multipliers * _UNIT).astype(np.int64)
        left = row * _UNIT + self._rows.T @ weights
        if (~self._bounded & (left > 0)).any():
            return None
        ends = np.where(left > 0, self._room, -self._counts)
        total = sum(one * end for one, end in zip(left.tolist(), ends.tolist(), strict=True))
        return Fraction(total, _UNIT)
