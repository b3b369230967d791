"""Where changes come from: the cheapest circuit of a primary cell, or a linear program near it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.atom_changes import AtomChanges
from showthrough.tables.protect.cells.changes import Changes
from showthrough.tables.protect.cells.circuits import Circuits, Moves, circuits_of
from showthrough.tables.protect.cells.cover import CellChange, Cover, Target
from showthrough.tables.protect.cells.equations import Equations
from showthrough.tables.protect.cells.problem import CellProblem

__all__ = [
    "Ways",
]

Vector = NDArray[np.float64]

#: Up to this many cells that can change there is one LP for all. Beyond, axes with more nodes than
#: ``_LONG`` are taken in parts, and if that is not enough, a grid of few leaves around a cell.
_ONE_FOR_ALL, _LONG = 2_500, 50

#: Cells of such a grid, as near as can be; and up to how many cells all are tried where nothing else helps.
_GRID, _WIDEST = 600, 8_000

#: Up to this many cells in all, any of them may change.
_SMALL = 1_500

#: Parts of each axis that make a grid of atoms, and how many atoms are enough.
_SHARES, _GRID_ATOMS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8), 500

#: LPs kept, and nodes of branch and bound where an LP's solution is not whole and nothing else helps.
_MOST_LPS, _NODES = 400, 200

#: An LP's cost is not quite what its change adds to a plan; it is clearly more from this many times on.
_CLEARLY = 3.0


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
        self._usable = self.problem.movable
        self._near: dict[tuple[int, ...], Changes] = {}
        self.rng = rng
        self.n_lps = 0
        #: Simplex iterations so far.
        self.effort = 0
        self._over_atoms = AtomChanges(self.problem) if _over_atoms(self.problem) else None

    @property
    def widely(self) -> bool:
        """Whether linear programs may as well change any cell: there are few, or few that cost anything."""
        return self._over_atoms is not None or len(self.problem.counts) <= _SMALL

    def restrict(self, cells: NDArray[np.bool_]) -> None:
        """Let linear programs change only these cells, of those that may change."""
        self._usable = cells & self.problem.movable
        self._near.clear()

    def circuit(self, cell: int, weight: Vector, targets: list[Target]) -> CellChange | None:
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
        return CellChange(mine.cells[at][used].astype(np.int64), values)

    def by_program(
        self, cell: int, weight: Vector, *, target: Target, most: float = np.inf, nodes: int = 0
    ) -> CellChange | None:
        """The cheapest change by an LP, if it is whole; a cell of infinite weight is not used."""
        self.n_lps += 1
        if self._over_atoms is not None:
            program = self._over_atoms
            before, usable = program.effort, self.problem.movable if nodes else self._atoms_near(cell, weight)
            found = program.cheapest(cell, weight, target=target, usable=usable, most=most, nodes=nodes)
        else:
            program = self._widest(cell, weight) if nodes else self._changes(cell, weight)
            before = program.effort
            found = program.cheapest(cell, weight, target=target, most=most, nodes=nodes)
        self.effort += program.effort - before
        if found is None:
            return None
        cells = np.flatnonzero(found)
        return CellChange(cells, found[cells])

    def _widest(self, cell: int, weight: Vector) -> Changes:
        """The LP of all cells that may change at all; of a grid where they are very many."""
        free = self.problem.movable
        return Changes(self.equations, free if free.sum() <= _WIDEST else self._usual_grid(cell, weight))

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
            cover.add(CellChange(cells, found[cells]))

    def cheapest(
        self, cover: Cover, cell: int, weight: Vector, *, programs: bool, most: float = np.inf
    ) -> CellChange | None:
        """The change that adds least to a plan: the cheapest circuit, or by LPs where they are asked for.

        LPs end where they would add clearly more than ``most``.
        """
        weight = np.where((cover.users > 0) & np.isfinite(weight), 0.0, weight)
        for targets in cover.targets(cell):
            found = self._for_targets(cover, cell, weight, targets, programs=programs, most=most)
            if found is not None:
                return found
        return None

    def _for_targets(
        self, cover: Cover, cell: int, weight: Vector, targets: list[Target], *, programs: bool, most: float
    ) -> CellChange | None:
        found = [self.circuit(cell, weight, targets)]
        if programs and (found[0] is None or cover.price_of(found[0].cells)):
            for target in targets:  # mostly one is as cheap as the other
                limit = _CLEARLY * (most + 1) * target[1]
                found.append(self.by_program(cell, weight, target=target, most=limit))
                if found[-1] is not None:
                    break
        if not any(found) and programs and np.isinf(most):
            found += [self.by_program(cell, weight, target=target, nodes=_NODES) for target in targets]
        usable = [one for one in found if one is not None]
        primary = self.problem.primary

        def merit(one: CellChange) -> float:
            new = primary[one.cells] & ((cover.covered[one.cells] == 0) | cover.unmet[one.cells])
            return cover.price_of(one.cells) / int(new.sum())

        return min(usable, key=merit, default=None)

    def _changes(self, cell: int, weight: Vector) -> Changes:
        """The LP for a primary cell: of all cells, of its part of the tables, or of a grid around it."""
        key: tuple[int, ...] | None = () if self._usable.sum() <= _ONE_FOR_ALL else self._part(cell)
        if key is None:
            return Changes(self.equations, self._usual_grid(cell, weight))
        if key not in self._near:
            if len(self._near) >= _MOST_LPS:
                self._near.pop(next(iter(self._near)))
            self._near[key] = Changes(self.equations, self._block(key))
        return self._near[key]

    def _atoms_near(self, cell: int, weight: Vector) -> NDArray[np.bool_]:
        """The smallest grid that has enough atoms; cells outside may change too."""
        grids = (self._grid(cell, weight, share) for share in _SHARES)
        enough = next((one for one in grids if one[self.problem.atoms].sum() >= _GRID_ATOMS), self._usable)
        return enough | (self._usable & ~self.problem.is_atom)

    def _usual_grid(self, cell: int, weight: Vector) -> NDArray[np.bool_]:
        """A grid of this many cells as an LP is quick with."""
        axes = self.problem.axes
        return self._grid(cell, weight, (_GRID / float(np.prod([*map(len, axes)]))) ** (1 / len(axes)))

    def _grid(self, cell: int, weight: Vector, share: float) -> NDArray[np.bool_]:
        """The cells over a share of the leaves of each axis: those with many cells near that cost nothing."""
        problem, nodes = self.problem, self.problem.cells[cell]
        cheap = np.flatnonzero((weight == 0) & self._usable & ~problem.hidden)
        apart = (problem.cells[cheap] != nodes).sum(axis=1)
        closeness = 4.0 ** -apart.astype(float)
        share = share or (_GRID / float(np.prod([len(axis) for axis in problem.axes]))) ** (
            1 / len(problem.axes)
        )
        inside = self._usable.copy()
        for at, axis in enumerate(problem.axes):
            score = np.bincount(problem.cells[cheap, at], closeness, minlength=len(axis))[: axis.n_leaves]
            score = score * self.rng.random(axis.n_leaves) + 1e-9 * self.rng.random(axis.n_leaves)
            mine = np.flatnonzero(axis.members[nodes[at]])
            most = max(3, round(share * len(axis)))
            chosen = np.zeros(axis.n_leaves, bool)
            chosen[mine[np.argsort(-score[mine], kind="stable")[: max(1, most // 2)]]] = True
            others = np.argsort(-np.where(chosen, -1.0, score), kind="stable")
            chosen[others[: max(0, most - int(chosen.sum()))]] = True
            sets = axis.members[axis.n_leaves :][:, chosen].any(axis=1)
            inside &= np.concatenate([chosen, sets])[problem.cells[:, at]]
        inside[cell] = True
        return inside

    def _part(self, cell: int) -> tuple[int, ...] | None:
        """On each long axis the smallest large set that a cell lies in; None if there is none."""
        part = list[int]()
        for axis, node in zip(self.problem.axes, self.problem.cells[cell].tolist(), strict=True):
            if len(axis) <= _LONG:
                continue
            leaf = int(np.argmax(axis.members[node]))
            sizes = np.where(axis.members[:, leaf] & (axis.sizes >= _LONG), axis.sizes, axis.n_leaves + 1)
            found = int(np.argmin(sizes))
            if axis.sizes[found] > 4 * _LONG or axis.sizes[found] < axis.sizes[node]:
                return None
            part.append(found)
        return tuple(part) or None

    def _block(self, key: tuple[int, ...]) -> NDArray[np.bool_]:
        """The cells that can change in a part of the tables."""
        problem, near, part = self.problem, self._usable.copy(), iter(key)
        for at, axis in enumerate(problem.axes) if key else ():
            if len(axis) > _LONG:
                large = np.flatnonzero(axis.members[next(part), :])
                others = np.setdiff1d(np.arange(axis.n_leaves), large)
                apart = axis.members[:, others].sum(axis=1) == 0
                nodes = apart | (axis.members[:, large].sum(axis=1) == len(large))
                near &= nodes[problem.cells[:, at]]
        return near


def _over_atoms(problem: CellProblem) -> bool:
    """Whether linear programs are over atoms, if all cells that can change are not too many.

    They are where most atoms that can change are not published, and where prices differ in a large table:
    a cheap change may then lead anywhere, and programs over the cells of a part of it would miss it.
    """
    mine, n = problem.movable & problem.is_atom, int(problem.movable.sum())
    prices = problem.cost[problem.candidates]
    differ = n > _ONE_FOR_ALL and bool((prices != prices[:1]).any())
    return n <= _WIDEST and (differ or bool(2 * (mine & problem.hidden).sum() > mine.sum()))
