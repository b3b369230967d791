"""Whether a given plan is safe, whoever made it: certificates are searched for inside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.bound import lower_bound
from showthrough.tables.protect.cells.certificate import CellCertificate
from showthrough.tables.protect.cells.cover import Cover
from showthrough.tables.protect.cells.ends import ProvedEnds
from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.protect.cells.plan_changes import PlanChanges
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.cells.result import CellPlan

__all__ = [
    "ShownInside",
    "plan_at_hand",
    "show_inside",
]

#: Nodes of branch and bound for a cell that linear programs do not change in whole numbers.
_NODES = 500


@dataclass(frozen=True)
class ShownInside:
    """What a search inside a plan shows about its primary cells.

    Parameters
    ----------
    certificates
        Changes of the true counts. Whether they hold is for :func:`certified` to check.
    determined
        Primary cells without a certificate that are proved to follow from what is published.
    excluded
        Those without a proof for which branch and bound ended without a change: reported by a solver.
    undecided
        All other primary cells without a certificate.
    """

    certificates: tuple[CellCertificate, ...]
    determined: tuple[int, ...]
    excluded: tuple[int, ...]
    undecided: tuple[int, ...]


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
        :attr:`CellPlan.open`; what is known about those, :func:`show_inside` tells.

    Examples
    --------
    >>> import numpy as np
    >>> problem = CellProblem.with_margins(np.array([[5, 1], [3, 6]]))
    >>> plan_at_hand(problem, problem.is_atom).safe, plan_at_hand(problem, problem.primary).open
    (True, (1,))
    """
    bound = lower_bound(Equations.of(problem))
    return CellPlan(
        problem,
        tuple(np.flatnonzero(suppressed & ~problem.hidden).tolist()),
        problem.cost_of(suppressed),
        bound.value if bound else problem.cost_of(problem.primary),
        bound.kind if bound else "checked",
        show_inside(problem, suppressed).certificates,
    )


def show_inside(problem: CellProblem, suppressed: NDArray[np.bool_]) -> ShownInside:
    """Look for certificates inside a plan, and for proofs where there are none.

    Linear programs come first, then proofs for whatever they leave, and branch and bound for what neither
    settles.

    Examples
    --------
    >>> problem = CellProblem.with_margins(np.array([[5, 1], [3, 6]]))
    >>> show_inside(problem, problem.primary).determined
    (1,)
    """
    cover, inside = Cover(problem), PlanChanges(problem, suppressed)
    hidden = suppressed | problem.hidden
    mine = np.flatnonzero(problem.primary & hidden).tolist()
    left = [cell for cell in mine if _settled(cover, inside, cell, nodes=0) is not True]
    ends, excluded = ProvedEnds(problem, suppressed), set[int]()
    determined = set(np.flatnonzero(problem.primary & ~hidden).tolist())
    for cell in (one for one in left if cover.is_open(one)):
        if ends.determined(cell):
            determined.add(cell)
        elif _settled(cover, inside, cell, nodes=_NODES) is False:
            excluded.add(cell)
    undecided = {cell for cell in left if cover.is_open(cell)} - determined - excluded
    groups = (tuple(sorted(one)) for one in (determined, excluded, undecided))
    return ShownInside(cover.certificates(), *groups)


def _settled(cover: Cover, inside: PlanChanges, cell: int, *, nodes: int) -> bool | None:
    """Look for changes until a primary cell has what it needs; False if there is none, None if not known."""
    while cover.is_open(cell):
        targets = [one for group in cover.targets(cell) for one in group]
        excluded = True
        for target in targets:
            found = inside.find(cell, target, nodes=nodes)
            if found.change is not None:
                cover.add(found.change)
                break
            excluded = excluded and found.excluded
        else:
            return False if excluded else None
    return True
