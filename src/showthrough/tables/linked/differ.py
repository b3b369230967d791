"""How different two datasets of an area and its parts can be, part by part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.claims import Variability
from showthrough.tables.decision import context_of
from showthrough.tables.linked.claims import PartClaims
from showthrough.tables.linked.decide import NestDecider
from showthrough.tables.linked.parts import LinkedParts
from showthrough.tables.proof.differ import Difference
from showthrough.tables.result import Audit
from showthrough.tables.search.decider import Effort
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.variability import (
    bound_of,
    checked,
    pair_of,
    settled_records,
    told_apart,
    total_of,
)

__all__ = [
    "variability_of_parts",
]

Counts = NDArray[np.int64]

#: Steps of the walk to datasets that differ more.
_WALKS = 24
Worlds = tuple[TypeCounts, ...]


def variability_of_parts(
    found: Sequence[Audit], *, effort: float = 1.0, seed: int = 0
) -> tuple[Variability | None, ...]:
    """How different two datasets can be in each part of an area.

    One pair of datasets of the whole area shows it for all parts, so that the records of a part are
    enough of them. The upper end is what the part's own tables prove, without the record types that the
    tables of the whole exclude; or how many records are not proved in every column by all tables.

    Parameters
    ----------
    found
        The audits of all parts, in order.
    effort
        Multiplies all limits on work.
    seed
        The seed of the random walks.

    Returns
    -------
    tuple
        For each part what was found; None where the number of its records does not follow from its own
        tables.
    """
    first = found[0].claim_table
    if not isinstance(first, PartClaims):
        raise TypeError("audits of the parts of an area expected")
    limits, context = Effort.of(effort), context_of(first.linked.nest.layout)
    search = NestDecider(first.linked, context.frame, limits, seed=seed, first=first.worlds[-1])
    for _ in range(_WALKS):
        if not search.wander(1):
            break
        search.keep(search.current)
    pairs = _Pairs(first.linked, [*first.worlds, *search.worlds])
    one, other = pairs.most_different()
    return tuple(
        _of_part(audit, (one[at], other[at]), effort=effort, seed=seed) for at, audit in enumerate(found)
    )


def _of_part(
    found: Audit, worlds: tuple[TypeCounts, TypeCounts], *, effort: float, seed: int
) -> Variability | None:
    claims = found.claim_table
    if not isinstance(claims, PartClaims):
        raise TypeError("the audit of a part expected")
    total = total_of(found.release, effort=effort, seed=seed)
    if total is None:
        return None
    part, system = claims.linked.parts[claims.part], claims.system
    one, other = (part.class_counts(world) for world in worlds)
    low = total.multiplicity - int(np.minimum(one, other)[told_apart(system)].sum())
    settled = settled_records(found)
    proof = Difference(total.multiplicity - settled, total)
    if low < proof.most:
        most = part.most_by(claims.linked.high)
        proof = min(bound_of(system, total, most), proof, key=lambda one: one.most)
    return checked(Variability(low, pair_of(system, one, other), proof), claims.checker, settled)


class _Pairs:
    """The datasets of an area that were found, to be compared two by two."""

    def __init__(self, linked: LinkedParts, worlds: Sequence[Worlds]) -> None:
        self.linked, self.worlds = linked, worlds
        self._apart = [told_apart(part.system) for part in linked.parts]

    def most_different(self) -> tuple[Worlds, Worlds]:
        """Two that differ in many records: the one farthest from the first, and the one farthest from it."""
        far = self._farthest(self.worlds[0])
        return far, self._farthest(far)

    def _farthest(self, world: Worlds) -> Worlds:
        counts = [part.class_counts(mine) for part, mine in zip(self.linked.parts, world, strict=True)]
        known: dict[tuple[int, int], int] = {}
        common = [self._common(counts, other, known) for other in self.worlds]
        return self.worlds[int(np.argmin(common))]

    def _common(self, counts: Sequence[Counts], other: Worlds, known: dict[tuple[int, int], int]) -> int:
        """How many records another dataset has in common; parts that several share are compared once."""
        total = 0
        for at, (part, mine) in enumerate(zip(self.linked.parts, other, strict=True)):
            key = at, id(mine)
            if key not in known:
                least = np.minimum(counts[at], part.class_counts(mine))
                known[key] = int(least[self._apart[at]].sum())
            total += known[key]
        return total
