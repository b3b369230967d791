"""Different datasets that agree with a release, where there are too many record types to list."""

from __future__ import annotations

import numpy as np

from showthrough.records import Records
from showthrough.tables.claims import World, world_of
from showthrough.tables.wide.area import WideArea
from showthrough.tables.wide.audit import Part, first_dataset, parts_of
from showthrough.tables.wide.dataset import Beside, Dataset, side_by_side
from showthrough.tables.wide.shuffle import Shuffler
from showthrough.tables.wide.small import SmallPart

__all__ = [
    "worlds_wide",
]

#: Vain steps after which no more are looked for, and steps of a walk between two datasets of a part.
_IDLE, _STRIDE = 30, 5

#: Records up to which they are put in a random order one by one.
_FEW_RECORDS = 100_000


def worlds_wide(area: WideArea, n: int, *, truth: Records | None) -> tuple[World, ...]:
    """Up to n different datasets, without the microdata where these are given."""
    known = None if truth is None else Dataset.of_records(truth)
    parts = parts_of(area, known)
    first = first_dataset(area, parts) if known is None else known
    schema, rng = area.release.schema, np.random.Generator(np.random.Philox(area.seed))
    found: dict[bytes, Dataset] = {}
    if known is None:
        found[_key(first)] = first
    columns = tuple(at for part in parts for at in part.columns)
    walk, idle = Shuffler(area.release, area.ties, columns, first, area.seed), 0
    while len(found) < n and idle < _IDLE:
        area.tell(f"{len(found):,} of {n:,} datasets")
        walk.wander(1)
        sides = [_side(part, walk.current, rng) for part in parts]
        made = side_by_side(sides, len(schema.attributes))
        new = _key(made) not in found and not (known is not None and made.same_as(known))
        idle = 0 if new else idle + 1
        if new and not made.agrees_with(area.release):
            raise AssertionError("a dataset does not agree with the release")
        found.setdefault(_key(made), made)
        if known is not None:
            found.pop(_key(known), None)
    return tuple(one.world(schema) for one in list(found.values())[:n])


def _key(dataset: Dataset) -> bytes:
    return dataset.codes.tobytes() + dataset.times.tobytes()


def _side(part: Part, current: Dataset, rng: np.random.Generator) -> Beside:
    """The columns of a part, as the walk has them or from its own walk, in a random order."""
    columns, side = part.columns, Beside.of(current, part.columns)
    if isinstance(part, SmallPart) and part.decider.wander(_STRIDE):
        world = Dataset.of_world(world_of(part.decider.system, part.decider.current))
        if len(world) == len(current):
            side = Beside.of(world, columns)
    if len(side) > _FEW_RECORDS:
        order = rng.permutation(len(side.codes))
        return Beside(columns, side.codes[order], side.times[order])
    rows = rng.permutation(np.repeat(np.arange(len(side.codes)), side.times))
    return Beside(columns, side.codes[rows], np.ones(len(rows), np.int64))
