"""Large neighbourhoods: give up a suppressed cell, and cover again what is then uncovered, if no dearer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.cover import Cover
from showthrough.tables.protect.cells.ways import Ways

__all__ = [
    "fill",
    "first_cover",
    "improve",
]

Vector = NDArray[np.float64]
Stop = Callable[[], bool]

#: Up to so many cells in all, any of them may change in a third of the steps.
_SMALL = 1_500

#: Cells that may change in the next steps, and cells of 0 among them that are not published at least.
_ROOM, _LEAST_EMPTY = 3_500, 500


def fill(
    cover: Cover,
    ways: Ways,
    weight: Vector,
    *,
    rng: np.random.Generator,
    programs: bool,
    most: float = np.inf,
    stop: Stop | None = None,
) -> bool:
    """Cover all primary cells, in random order; False if one has no way or the cost exceeds ``most``.

    After ``stop`` there are no more LPs.
    """
    for cell in rng.permutation(cover.uncovered).tolist():
        while cover.is_open(cell):
            programs = programs and not (stop is not None and stop())
            found = ways.cheapest(cover, cell, weight, programs=programs, most=most - cover.cost)
            if found is None:
                return False
            cover.add(found)
            if cover.cost > most:
                return False
    return True


def first_cover(
    cover: Cover,
    ways: Ways,
    hint: Vector,
    *,
    rng: np.random.Generator,
    programs: bool,
    widely: bool = False,
    stop: Stop | None = None,
) -> bool:
    """A first plan; ``hint`` says how likely each cell is to be suppressed in a cheap one.

    ``widely`` lets the LPs of small tables change any cell, likely or not.
    """
    weight = cover.price * (1.02 - hint) * (1.0 + 0.1 * rng.random(len(hint)))
    _choose_columns(cover, ways, hint, 1.0 if widely and len(hint) <= _SMALL else 0.0, rng)
    filled = fill(cover, ways, weight, rng=rng, programs=programs, stop=stop)
    cover.thin(list(cover.changes))
    return filled


def improve(
    cover: Cover,
    ways: Ways,
    hint: Vector,
    *,
    steps: int,
    goal: int,
    rng: np.random.Generator,
    programs: bool,
    stop: Stop | None = None,
) -> Cover:
    """Improve a plan until it costs ``goal``, the steps are spent, or ``stop`` says so."""
    waiting = list[int]()
    for _ in range(steps):
        secondary = cover.secondary
        if cover.cost <= goal or not len(secondary) or (stop is not None and stop()):
            break
        if not waiting:
            shares = (0.0, 0.1, 1.0) if len(hint) <= _SMALL else (0.0, 0.1)
            _choose_columns(cover, ways, hint, float(rng.choice(shares)), rng)
            order = np.argsort(rng.random(len(secondary)) - hint[secondary], kind="stable")
            waiting = secondary[order].tolist()  # the last ones first: those that a cheap plan does without
        cell = waiting.pop()
        if cover.users[cell]:
            weight = cover.price * (1.0 + (0.3 * rng.random()) * (rng.random(len(hint)) - hint))
            cover = _give_up(cover, ways, cell, weight, rng=rng, programs=programs)
    return cover


def _choose_columns(cover: Cover, ways: Ways, hint: Vector, share: float, rng: np.random.Generator) -> None:
    """The cells that may change in the next steps: those suppressed or likely to be, and some others.

    A part of those that are not published: all that have records, and others as far as there is room.
    """
    problem = cover.problem
    chosen = (cover.users > 0) | (hint > 0.01) | (problem.hidden & (problem.counts > 0))
    chosen |= ~problem.hidden & (rng.random(len(hint)) < share)
    empty = rng.permutation(np.flatnonzero(problem.hidden & problem.movable & ~chosen))
    chosen[empty[: max(_LEAST_EMPTY, _ROOM - int(chosen.sum()))]] = True
    ways.restrict(chosen)


def _give_up(
    cover: Cover, ways: Ways, cell: int, weight: Vector, *, rng: np.random.Generator, programs: bool
) -> Cover:
    """Try to do without a cell; as before if that is dearer."""
    other = cover.copy()
    for key in other.using(cell):
        other.remove(key)
    weight[cell] = np.inf
    if not fill(other, ways, weight, rng=rng, programs=programs, most=cover.cost):
        return cover
    other.thin(rng.permutation(list(other.changes)).tolist())
    return other if other.cost <= cover.cost else cover
