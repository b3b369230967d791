"""Counts that were known too well before protection, and two datasets for each that disagree afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from showthrough.release import Release
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.claims import Claim, World
from showthrough.tables.protect.needs import Need

__all__ = [
    "HiddenCount",
    "compare_counts",
    "known_exactly",
]


@dataclass(frozen=True, eq=False)
class HiddenCount:
    """A count that must stay unknown, and could be known before.

    Parameters
    ----------
    need
        What must stay unknown about it.
    count
        The count, or the least one that was possible.
    worlds
        Two datasets that agree with the safe release, with the least and the largest count found.
    """

    need: Need
    count: int
    worlds: tuple[World, World]

    @classmethod
    def of(cls, need: Need, count: int, worlds: Sequence[World]) -> HiddenCount:
        """With the two datasets that are farthest apart."""
        ranked = sorted(worlds, key=lambda world: world.count(need.where))
        return cls(need, count, (ranked[0], ranked[-1]))


def known_exactly(release: Release) -> frozenset[Selection]:
    """The counts that a release states."""
    exact = (release.low == release.high).tolist()
    return frozenset(one for one, stated in zip(release.layout.selections, exact, strict=True) if stated)


def compare_counts(counts: Sequence[HiddenCount], schema: Schema, area: str, columns: pa.Schema) -> pa.Table:
    """The counts as claims that were verified before, and are refuted after."""
    rows = [
        {
            "area": area,
            "selection": one.need.where.to_json(),
            "k": len(one.need.where.attributes),
            "multiplicity": one.count,
            "forbidden": True,
            "before": "verified",
            "after": "refuted",
            "sentence": Claim(one.need.where, one.count).sentence(schema),
        }
        for one in sorted(counts, key=lambda one: (len(one.need.where.attributes), one.need.where.to_json()))
    ]
    return pa.Table.from_pylist(rows, columns)
