"""Where changes come from: the cheapest circuit of a primary cell, or a linear program near it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.changes import Changes
from showthrough.tables.protect.cells.circuits import Circuits, circuits_of
from showthrough.tables.protect.cells.cover import Change, Cover
from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.protect.cells.problem import CellProblem

__all__ = [
    "Ways",
]

Vector = NDArray[np.float64]

#: Up to so many cells that can change there is one LP for all; beyond, one near each primary cell.
_ONE_FOR_ALL = 1_500

#: LPs kept, and nodes of branch and bound where an LP's solution is not whole and nothing else helps.
_MOST_LPS, _NODES = 400, 200

#: Linear programs inside a plan that try to cover many primary cells at once.
_TRIES = 3


class Ways:
    """Proposes changes that change a primary cell, the cheaper the better."""

    def __init__(self, equations: Equations, *, seed: int) -> None:
        self.problem: CellProblem = equations.problem
        self.equations = equations
        rng = np.random.default_rng(seed)
        primaries = np.flatnonzero(self.problem.primary).tolist()
        self.circuits: dict[int, Circuits] = {
            cell: circuits_of(self.problem, cell, n_primary=len(primaries), rng=rng) for cell in primaries
        }
        self._usable = ~self.problem.fixed
        self._near: dict[int, Changes] = {}
        self.n_lps = 0

    def circuit(self, cell: int, weight: Vector) -> Change | None:
        """The cheapest circuit; a cell of infinite weight is not used."""
        mine = self.circuits[cell]
        if not len(mine):
            return None
        price = np.append(weight, 0.0)[mine.cells].sum(axis=1)
        at = int(np.argmin(price))
        if np.isinf(price[at]):
            return None
        used = mine.signs[at] != 0
        return Change(mine.cells[at][used].astype(np.int64), mine.signs[at][used].astype(np.int64))

    def by_program(self, cell: int, weight: Vector, *, sign: int, nodes: int = 0) -> Change | None:
        """The cheapest change by an LP, if it is whole; a cell of infinite weight is not used."""
        self.n_lps += 1
        found = self._changes(cell).cheapest(cell, weight, sign=sign, nodes=nodes)
        if found is None:
            return None
        cells = np.flatnonzero(found)
        return Change(cells, found[cells])

    def inside(self, cover: Cover, banned: int | None, rng: np.random.Generator) -> None:
        """Cover what can be covered without suppressing more, many primary cells at a time."""
        usable = (cover.users > 0) | self.problem.hidden
        if banned is not None:
            usable[banned] = False
        program = Changes(self.equations, usable)
        for _ in range(_TRIES):
            waiting = cover.uncovered
            if not len(waiting):
                return
            self.n_lps += 1
            weight = np.zeros(len(usable))
            weight[waiting] = rng.choice([-1.0, 1.0], len(waiting)) * (0.5 + rng.random(len(waiting)))
            found = program.many(weight)
            if found is not None and found[waiting].any():
                cells = np.flatnonzero(found)
                cover.add(Change(cells, found[cells]))

    def cheapest(self, cover: Cover, cell: int, weight: Vector, *, programs: bool) -> Change | None:
        """The change that adds least to a plan: the cheapest circuit, or by LPs where they are asked for."""
        weight = np.where((cover.users > 0) & np.isfinite(weight), 0.0, weight)
        found = [self.circuit(cell, weight)]
        if programs and (found[0] is None or cover.price_of(found[0].cells)):
            found += [self.by_program(cell, weight, sign=sign) for sign in (1, -1)]
        if not any(found) and programs:
            found += [self.by_program(cell, weight, sign=sign, nodes=_NODES) for sign in (1, -1)]
        usable = [one for one in found if one is not None]
        primary = self.problem.primary

        def merit(one: Change) -> tuple[int, int]:
            new = primary[one.cells] & (cover.covered[one.cells] == 0)
            return cover.price_of(one.cells), -int(new.sum())

        return min(usable, key=merit, default=None)

    def _changes(self, cell: int) -> Changes:
        """The LP for a primary cell, kept warm."""
        key = -1 if self._usable.sum() <= _ONE_FOR_ALL else cell
        if key not in self._near:
            if len(self._near) >= _MOST_LPS:
                self._near.pop(next(iter(self._near)))
            self._near[key] = Changes(self.equations, self._usable if key < 0 else self._block(cell))
        return self._near[key]

    def _block(self, cell: int) -> NDArray[np.bool_]:
        """The cells that can change whose nodes all occur in the circuits of a primary cell."""
        problem, near = self.problem, self._usable.copy()
        mine = np.unique(self.circuits[cell].cells)
        mine = np.append(mine[mine < len(problem.counts)], cell)
        for at, axis in enumerate(problem.axes):
            nodes = np.zeros(len(axis), bool)
            nodes[problem.cells[mine, at]] = True
            near &= nodes[problem.cells[:, at]]
        return near
