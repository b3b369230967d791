"""Whether a given plan is safe, whoever made it: certificates are searched for inside it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.bound import lower_bound
from showthrough.tables.protect.cells.changes import Changes
from showthrough.tables.protect.cells.cover import CellChange, Cover
from showthrough.tables.protect.cells.ends import ProvedEnds
from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.cells.result import CellPlan

__all__ = [
    "plan_at_hand",
]

#: Nodes of branch and bound for a cell that linear programs do not change in whole numbers.
_NODES = 500


def plan_at_hand(problem: CellProblem, suppressed: NDArray[np.bool_]) -> CellPlan:
    """A plan made elsewhere, with what can be shown about it.

    Parameters
    ----------
    problem
        The cells.
    suppressed
        The cells that the plan suppresses, primary cells included.

    Returns
    -------
    CellPlan
        The plan with certificates. Primary cells that none was found for are listed in
        :attr:`CellPlan.open`; whether they are determined, :class:`ProvedEnds` may show.

    Examples
    --------
    >>> import numpy as np
    >>> problem = CellProblem.with_margins(np.array([[5, 1], [3, 6]]))
    >>> plan_at_hand(problem, problem.is_atom).safe, plan_at_hand(problem, problem.primary).open
    (True, (1,))
    """
    equations = Equations.of(problem)
    cover, program = Cover(problem), Changes(equations, (suppressed | problem.hidden) & problem.movable)
    mine = np.flatnonzero(problem.primary & (suppressed | problem.hidden)).tolist()
    left = [cell for cell in mine if not _settled(cover, program, cell, nodes=0)]
    ends = ProvedEnds(problem, suppressed) if left else None
    for cell in left:
        if cover.is_open(cell) and ends is not None and not ends.determined(cell):
            _settled(cover, program, cell, nodes=_NODES)
    bound = lower_bound(equations)
    published = suppressed & ~problem.hidden
    return CellPlan(
        problem,
        tuple(np.flatnonzero(published).tolist()),
        problem.cost_of(suppressed),
        bound.value if bound else problem.cost_of(problem.primary),
        bound.kind if bound else "checked",
        cover.certificates(),
    )


def _settled(cover: Cover, program: Changes, cell: int, *, nodes: int) -> bool:
    """Look for changes until a primary cell has what it needs; False if one is missing."""
    while cover.is_open(cell):
        change = _change(cover, program, cell, nodes)
        if change is None:
            return False
        cover.add(change)
    return True


def _change(cover: Cover, program: Changes, cell: int, nodes: int) -> CellChange | None:
    """A change of few suppressed cells that brings a primary cell nearer to what it needs."""
    weight = np.ones(len(cover.problem.counts))
    for target in (one for targets in cover.targets(cell) for one in targets):
        found = program.cheapest(cell, weight, target=target, nodes=nodes)
        if found is not None:
            cells = np.flatnonzero(found)
            return CellChange(cells, found[cells])
    return None
