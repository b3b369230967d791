"""Large neighbourhoods: give up a suppressed cell and cover again what that uncovers, at no higher cost."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.cover import CellChange, Cover
from showthrough.tables.protect.cells.ways import Ways

__all__ = [
    "Neighbourhood",
]

Flags = NDArray[np.bool_]
Vector = NDArray[np.float64]
Stop = Callable[[], bool]

#: Cells that may change in the next steps, and cells of 0 among them that are not published at least.
_ROOM, _LEAST_EMPTY = 3_500, 500

#: A change is expensive if it adds this many times what the changes of a plan did on average, unless few.
_DEAR, _FEW = 4, 3


class Neighbourhood:
    """Makes plans and improves them.

    Parameters
    ----------
    ways
        Where changes come from.
    hint
        How likely each cell is to be suppressed in a cheap plan.
    rng
        For all random choices.
    stop
        Says when it is late: then there are no more steps, and linear programs only where there is no plan.
    """

    def __init__(self, ways: Ways, hint: Vector, rng: np.random.Generator, stop: Stop | None = None) -> None:
        self.ways, self.hint, self.rng, self.stop = ways, hint, rng, stop

    def _late(self) -> bool:
        return self.stop is not None and self.stop()

    def first(
        self, cover: Cover, *, programs: bool, widely: bool = False, guide: Flags | None = None
    ) -> bool:
        """Make an empty cover a first plan; False if a primary cell has no way, by circuits or by programs.

        ``widely`` lets linear programs change any cell, likely or not, where they may. The cells of a
        ``guide`` are preferred to all others, in place of those that are likely.
        """
        likely = self.hint if guide is None else guide.astype(float)
        weight = cover.price * (1.02 - likely) * (1.0 + 0.1 * self.rng.random(len(likely)))
        self._choose_columns(cover, likely, 1.0 if widely and self.ways.widely else 0.0)
        filled = self._fill(cover, weight, programs=programs)
        cover.thin(list(cover.changes))
        return filled

    def improve(self, cover: Cover, *, steps: int, goal: int) -> Cover:
        """A plan that costs no more, until it costs ``goal`` or the steps are spent."""
        waiting = list[int]()
        for _ in range(steps):
            secondary = cover.secondary
            if cover.cost <= goal or not len(secondary) or self._late():
                break
            if not waiting:
                self._choose_columns(cover, self.hint, self._share())
                order = np.argsort(self.rng.random(len(secondary)) - self.hint[secondary], kind="stable")
                waiting = secondary[order].tolist()  # the last first: those that a cheap plan does without
            cell = waiting.pop()
            if cover.users[cell]:
                cover = self._without(cover, cell)
        return cover

    def _share(self) -> float:
        return float(self.rng.choice((0.0, 0.1, 1.0) if self.ways.widely else (0.0, 0.1)))

    def _without(self, cover: Cover, cell: int) -> Cover:
        """Try to do without a cell; as before if that costs more."""
        spread = 0.3 * self.rng.random()
        weight = cover.price * (1.0 + spread * (self.rng.random(len(self.hint)) - self.hint))
        other = cover.copy()
        for key in other.using(cell):
            other.remove(key)
        weight[cell] = np.inf
        if not self._fill(other, weight, programs=True, most=cover.cost):
            return cover
        other.thin(self.rng.permutation(list(other.changes)).tolist())
        return other if other.cost <= cover.cost else cover

    def _fill(self, cover: Cover, weight: Vector, *, programs: bool, most: float = np.inf) -> bool:
        """Cover all primary cells, in random order; False if one has no way or the cost exceeds ``most``.

        Without ``programs``, or late, linear programs are for cells of a first plan that no circuit changes.
        In a first plan by programs, cells whose change is expensive wait: others may cover them by then.
        """
        first = np.isinf(most)
        order, waiting = self.rng.permutation(cover.uncovered).tolist(), list[int]()
        for number, cell in enumerate(itertools.chain(order, waiting)):
            while cover.is_open(cell):
                programs = programs and not self._late()
                found = self.ways.cheapest(cover, cell, weight, programs=programs, most=most - cover.cost)
                if found is None and not programs and first:
                    found = self.ways.cheapest(cover, cell, weight, programs=True)
                if first and programs and number < len(order) and (found is None or _is_dear(cover, found)):
                    waiting.append(cell)
                    break
                if found is None:
                    return False
                cover.add(found)
                if cover.cost > most:
                    return False
        return True

    def _choose_columns(self, cover: Cover, likely: Vector, share: float) -> None:
        """The cells that may change in the next steps: those suppressed or likely to be, and some others.

        A part of those that are not published: all that have records, and others as far as there is room.
        """
        problem = cover.problem
        chosen = (cover.users > 0) | (likely > 0.01) | (problem.hidden & (problem.counts > 0))
        chosen |= ~problem.hidden & (self.rng.random(len(likely)) < share)
        empty = self.rng.permutation(np.flatnonzero(problem.hidden & problem.movable & ~chosen))
        chosen[empty[: max(_LEAST_EMPTY, _ROOM - int(chosen.sum()))]] = True
        self.ways.restrict(chosen)


def _is_dear(cover: Cover, change: CellChange) -> bool:
    """Whether a change adds several times as much to a plan as its changes did on average."""
    n, added = len(cover.changes), cover.cost - cover.problem.cost_of(cover.problem.primary)
    return n >= _FEW and cover.price_of(change.cells) * n > _DEAR * added
