"""Questions beyond single claims: how many records match a selection, and which datasets agree."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError
from showthrough.records import Records
from showthrough.release import Release
from showthrough.tables.audit import decider_for
from showthrough.tables.claims import World, world_of
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.solver import every_counts
from showthrough.tables.search.system import System

__all__ = [
    "worlds",
]

Counts = NDArray[np.int64]


def worlds(
    release: Release,
    n: int = 100,
    *,
    truth: Records | None = None,
    effort: float = 1.0,
    seed: int = 0,
) -> tuple[World, ...]:
    """Up to n different datasets that agree with the release.

    All of them if there are fewer, as far as the solver's effort suffices to list them.

    A long walk with restarts spreads them out; where it cannot reach enough, the solver
    enumerates. Attributes nothing is known about are not varied.

    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> release = st.Release.of(schema, {st.make_table(schema, "sex"): [1, 1],
    ...                                  st.make_table(schema, "ill"): [1, 1]})
    >>> len(st.worlds(release, 10))
    2
    """
    if n < 1:
        raise InputError("at least one dataset must be asked for", found=str(n))
    engine = decider_for(release, truth, effort, seed)
    found = _walked(engine, n, skip_first=truth is not None)
    if len(found) < n:
        found = _enumerated(engine, n, found)
    return tuple(world_of(engine.system, np.array(types, np.int64)) for types in found)


def _walked(engine: Decider, n: int, *, skip_first: bool) -> dict[tuple[int, ...], None]:
    """Different worlds along the walk, records moved within their classes at random."""
    found: dict[tuple[int, ...], None] = {}
    stride = max(2, len(engine.pool[0]) // 2)
    idle = 0
    while len(found) < n and idle < 30:
        before = len(found)
        moved = engine.wander(stride)
        world = _shuffled(engine, engine.at)
        if not (skip_first and np.array_equal(world, engine.pool[0])):
            found.setdefault(tuple(int(t) for t in world))
        idle = 0 if len(found) > before else idle + 1
        if not moved and idle > 10:
            break
    return found


def _shuffled(engine: Decider, world: NDArray[np.int64]) -> NDArray[np.int64]:
    system, rng = engine.system, engine.walker.rng
    return np.sort([rng.choice(system.members(int(system.group[t]))) for t in world]).astype(np.int64)


def _enumerated(engine: Decider, n: int, found: dict[tuple[int, ...], None]) -> dict[tuple[int, ...], None]:
    """Fill up with whatever the solver lists."""
    for counts in every_counts(engine.system, most=n + 1, seed=engine.seed):
        for world in _arrangements(engine.system, counts):
            found.setdefault(world)
            if len(found) >= n:
                return found
    return found


def _arrangements(system: System, counts: Counts) -> Iterator[tuple[int, ...]]:
    """All ways to choose types for class counts."""
    choices = [
        itertools.combinations_with_replacement([int(t) for t in system.members(int(at))], int(counts[at]))
        for at in np.flatnonzero(counts)
    ]
    for parts in itertools.product(*choices):
        yield tuple(sorted(itertools.chain.from_iterable(parts)))
