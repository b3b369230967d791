"""Different datasets that all agree with a release."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from numbers import Integral

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import InputError, check_type
from showthrough.records import Records
from showthrough.release import Release
from showthrough.tables.audit import area_seed, start_decider
from showthrough.tables.claims import World, world_of
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.solver import every_counts
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.universe import TooManyTypes

__all__ = [
    "stack_worlds",
    "worlds",
]

Counts = NDArray[np.int64]


#: Steps of the walk between two datasets, at most.
_MOST_STEPS = 200

#: Records that are moved one by one.
_FEW_RECORDS = 100_000


def worlds(
    release: Release,
    n: int = 100,
    *,
    truth: Records | None = None,
    effort: float = 1.0,
    seed: int = 0,
) -> tuple[World, ...]:
    """Up to n different datasets that agree with the release.

    A long walk with restarts spreads them out; where it cannot reach enough, the solver
    enumerates. Attributes that occur in no table and no rule are not varied.

    Parameters
    ----------
    release
        The published tables of one area.
    n
        How many datasets are wanted.
    truth
        The microdata, where the publisher holds them: the walk starts there, and they are left out.
    effort
        Multiplies all limits on work.
    seed
        The seed of the random walk.

    Returns
    -------
    tuple of World
        All datasets if there are at most ``n``, as far as the effort suffices to list them.

    Raises
    ------
    Contradiction
        If no dataset agrees with the release.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> release = st.Release.of(schema, {st.make_table(schema, "sex"): [1, 1],
    ...                                  st.make_table(schema, "ill"): [1, 1]})
    >>> len(st.worlds(release, 10))
    2
    """
    check_type(n, Integral, name="n", remedy="give a number of datasets, such as 100")
    if n < 1:
        raise InputError("n must be at least 1", found=str(n))
    try:
        decider = start_decider(release, truth=truth, effort=effort, seed=seed)
    except TooManyTypes:
        from showthrough.tables.wide.audit import wide_area, worlds_wide

        area = wide_area(release, effort=effort, seed=area_seed(seed, release.area))
        return worlds_wide(area, n, truth=truth)
    found = _walked(decider, n, skip_first=truth is not None)
    if len(found) < n:
        found = _enumerated(decider, n, found)
    return tuple(world_of(decider.system, world) for world in found)


def stack_worlds(worlds: Sequence[World], *, area: str | None = None) -> pa.Table:
    """All records of some datasets as one table, with the number of the dataset and the area, if given."""
    codes = np.concatenate([world.records().codes for world in worlds])
    numbers = np.repeat(np.arange(len(worlds)), [len(world) for world in worlds])
    table = Records(worlds[0].schema, codes).to_arrow()
    table = table.add_column(0, "world", pa.array(numbers, pa.int64()))
    if area is None:
        return table
    return table.add_column(0, "area", pa.array([area] * len(table), pa.string()))


def _walked(decider: Decider, n: int, *, skip_first: bool) -> dict[TypeCounts, None]:
    """Different worlds along the walk, records moved within their classes at random."""
    found: dict[TypeCounts, None] = {}
    stride = max(2, min(len(decider.pool[0]) // 2, _MOST_STEPS))
    idle = 0
    while len(found) < n and idle < 30:
        before = len(found)
        moved = decider.wander(stride)
        world = _shuffled(decider, decider.current)
        if not (skip_first and world == decider.pool[0]):
            found.setdefault(world)
        idle = 0 if len(found) > before else idle + 1
        if not moved and idle > 10:
            break
    return found


def _shuffled(decider: Decider, world: TypeCounts) -> TypeCounts:
    """The world with every record moved to a random type of its class."""
    system, rng = decider.system, decider.walker.rng
    if len(world) <= _FEW_RECORDS:
        moved = [rng.choice(system.members(int(system.group[type_]))) for type_ in world.records()]
        return TypeCounts.of_records(np.array(moved, np.int64))
    members = [system.members(int(system.group[type_])) for type_ in world.types]
    times = [
        rng.multinomial(int(n), np.full(len(mine), 1 / len(mine)))
        for n, mine in zip(world.times, members, strict=True)
    ]
    return TypeCounts.of_counts(np.concatenate(members), np.concatenate(times))


def _enumerated(decider: Decider, n: int, found: dict[TypeCounts, None]) -> dict[TypeCounts, None]:
    """Fill up with whatever the solver lists."""
    for counts in every_counts(decider.system, most=n + 1, seed=decider.seed):
        for world in _arrangements(decider.system, counts):
            found.setdefault(world)
            if len(found) >= n:
                return found
    return found


def _arrangements(system: System, counts: Counts) -> Iterator[TypeCounts]:
    """All ways to choose types for class counts; of very many records one, of the first types."""
    if counts.sum(dtype=float) > _FEW_RECORDS:
        yield TypeCounts.of_counts(system.order[system.starts[:-1]], counts)
        return
    choices = [
        itertools.combinations_with_replacement([int(t) for t in system.members(int(at))], int(counts[at]))
        for at in np.flatnonzero(counts)
    ]
    for parts in itertools.product(*choices):
        yield TypeCounts.of_records(np.array([*itertools.chain.from_iterable(parts)], np.int64))
