"""Where changes come from: the cheapest circuit of a primary cell, or a linear program near it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.changes import Changes
from showthrough.tables.protect.cells.circuits import Circuits, Moves, circuits_of
from showthrough.tables.protect.cells.cover import Change, Cover, Target
from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.protect.cells.problem import CellProblem

__all__ = [
    "Ways",
]

Vector = NDArray[np.float64]

#: Up to so many cells that can change there is one LP for all; beyond, axes with more nodes than
#: ``_LONG`` are taken in parts.
_ONE_FOR_ALL, _LONG = 5_000, 50

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
        known = dict[tuple[int, int], Moves]()
        self.circuits: dict[int, Circuits] = {
            cell: circuits_of(self.problem, cell, n_primary=len(primaries), rng=rng, known=known)
            for cell in primaries
        }
        self._usable = ~self.problem.fixed
        self._near: dict[tuple[int, ...], Changes | None] = {}
        self.narrow = np.ones(len(self.problem.counts), bool)
        self.n_lps = 0

    def circuit(self, cell: int, weight: Vector, targets: list[Target]) -> Change | None:
        """The cheapest circuit that reaches a target; a cell of infinite weight is not used."""
        mine = self.circuits[cell]
        if not len(mine):
            return None
        price = np.append(weight, 0.0)[mine.cells].sum(axis=1)
        able = [np.where(mine.room(sign) >= far, price, np.inf) for sign, far in targets]
        ends = [int(np.argmin(one)) for one in able]
        which = int(np.argmin([one[at] for one, at in zip(able, ends, strict=True)]))
        at, (sign, far) = ends[which], targets[which]
        if np.isinf(able[which][at]):
            return None
        used = mine.signs[at] != 0
        values = mine.signs[at][used].astype(np.int64) * (sign * far)
        return Change(mine.cells[at][used].astype(np.int64), values)

    def by_program(self, cell: int, weight: Vector, *, target: Target, nodes: int = 0) -> Change | None:
        """The cheapest change by an LP, if it is whole; a cell of infinite weight is not used."""
        self.n_lps += 1
        if not nodes:
            weight = np.where(self.narrow | (weight == 0), weight, np.inf)
        program = self._changes(cell)
        found = None if program is None else program.cheapest(cell, weight, target=target, nodes=nodes)
        if found is None:
            return None
        cells = np.flatnonzero(found)
        return Change(cells, found[cells])

    def inside(self, cover: Cover, banned: int | None, rng: np.random.Generator) -> None:
        """Cover what can be covered without suppressing more: many cells at a time, then one by one."""
        usable = (cover.users > 0) | self.problem.hidden
        if banned is not None:
            usable[banned] = False
        program = Changes(self.equations, usable)
        waiting = rng.permutation(cover.uncovered)
        for cell in waiting[:_TRIES].tolist():
            if cover.is_open(cell):
                self._add(cover, self._smallest(program, cell, cover.targets(cell)[0], rng))
        for _ in range(_TRIES):
            waiting = cover.uncovered
            if not len(waiting):
                return
            self.n_lps += 1
            weight = np.zeros(len(usable))
            weight[waiting] = rng.choice([-1.0, 1.0], len(waiting)) * (0.5 + rng.random(len(waiting)))
            self._add(cover, program.many(weight))

    def split(self, cover: Cover, rng: np.random.Generator) -> None:
        """Give each primary cell as small a change of its own as the plan allows."""
        program = Changes(self.equations, (cover.users > 0) | self.problem.hidden)
        nothing = Cover(self.problem)
        for cell in rng.permutation(np.flatnonzero(self.problem.primary)).tolist():
            self._add(cover, self._smallest(program, cell, nothing.targets(cell)[0], rng))
        cover.thin(sorted(cover.changes, key=lambda key: -len(cover.changes[key].cells)))

    def _smallest(
        self, program: Changes, cell: int, targets: list[Target], rng: np.random.Generator
    ) -> NDArray[np.int64] | None:
        """A change of as few cells as possible."""
        for at in rng.permutation(len(targets)).tolist():
            self.n_lps += 1
            found = program.cheapest(cell, np.full(len(self.problem.counts), 1.0), target=targets[at])
            if found is not None:
                return found
        return None

    def _add(self, cover: Cover, found: NDArray[np.int64] | None) -> None:
        if found is not None and found[self.problem.primary].any():
            cells = np.flatnonzero(found)
            cover.add(Change(cells, found[cells]))

    def cheapest(self, cover: Cover, cell: int, weight: Vector, *, programs: bool) -> Change | None:
        """The change that adds least to a plan: the cheapest circuit, or by LPs where they are asked for."""
        weight = np.where((cover.users > 0) & np.isfinite(weight), 0.0, weight)
        for targets in cover.targets(cell):
            found = self._for_targets(cover, cell, weight, targets, programs=programs)
            if found is not None:
                return found
        return None

    def _for_targets(
        self, cover: Cover, cell: int, weight: Vector, targets: list[Target], *, programs: bool
    ) -> Change | None:
        found = [self.circuit(cell, weight, targets)]
        if programs and (found[0] is None or cover.price_of(found[0].cells)):
            found += [self.by_program(cell, weight, target=target) for target in targets]
        if not any(found) and programs:
            found += [self.by_program(cell, weight, target=target, nodes=_NODES) for target in targets]
        usable = [one for one in found if one is not None]
        primary = self.problem.primary

        def merit(one: Change) -> float:
            new = primary[one.cells] & ((cover.covered[one.cells] == 0) | cover.unmet[one.cells])
            return cover.price_of(one.cells) / int(new.sum())

        return min(usable, key=merit, default=None)

    def _changes(self, cell: int) -> Changes | None:
        """The LP for a primary cell: of all cells, of its part of the tables, or of its circuits.

        None where that would be too large.
        """
        key = () if self._usable.sum() <= _ONE_FOR_ALL else self._part(cell)
        if key not in self._near:
            if len(self._near) >= _MOST_LPS:
                self._near.pop(next(iter(self._near)))
            block = self._block(key, cell)
            small = block.sum() <= _ONE_FOR_ALL
            self._near[key] = Changes(self.equations, block) if small else None
        return self._near[key]

    def _part(self, cell: int) -> tuple[int, ...]:
        """On each long axis the smallest large set that a cell lies in; the cell itself if there is none."""
        part = list[int]()
        for axis, node in zip(self.problem.axes, self.problem.cells[cell].tolist(), strict=True):
            if len(axis) <= _LONG:
                continue
            leaf = int(np.argmax(axis.members[node]))
            sizes = np.where(axis.members[:, leaf] & (axis.sizes >= _LONG), axis.sizes, axis.n_leaves + 1)
            found = int(np.argmin(sizes))
            if axis.sizes[found] > 4 * _LONG or axis.sizes[found] < axis.sizes[node]:
                return (-1, cell)
            part.append(found)
        return tuple(part)

    def _block(self, key: tuple[int, ...], cell: int) -> NDArray[np.bool_]:
        """The cells that can change in a part of the tables."""
        problem, near, part = self.problem, self._usable.copy(), iter(key)
        mine = np.unique(self.circuits[cell].cells)
        mine = np.append(mine[mine < len(problem.counts)], cell)
        for at, axis in enumerate(problem.axes) if key else ():
            nodes = np.ones(len(axis), bool)
            if key[0] < 0:
                nodes = np.isin(np.arange(len(axis)), problem.cells[mine, at])
            elif len(axis) > _LONG:
                large = np.flatnonzero(axis.members[next(part), :])
                others = np.setdiff1d(np.arange(axis.n_leaves), large)
                apart = axis.members[:, others].sum(axis=1) == 0
                nodes = apart | (axis.members[:, large].sum(axis=1) == len(large))
            near &= nodes[problem.cells[:, at]]
        return near
