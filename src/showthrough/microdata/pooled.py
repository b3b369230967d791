"""Groups that readers may pool: they differ in one public attribute only, and no test tells them apart.

If an attribute says nothing about the sensitive value, a reader adds up the groups that differ only in it
and estimates from all of them. What is published together like this has to keep the promise as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.frames.columns import texts
from showthrough.microdata.generalize import ranked
from showthrough.microdata.groups import Groups
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy, every_count
from showthrough.microdata.stratified import homogeneous, sum_rows

__all__ = [
    "PooledGroup",
    "PooledSummary",
    "check_pooled",
    "pool_groups",
]

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class PooledGroup:
    """Groups that differ only in one attribute and are not told apart, as one."""

    #: What they have in common.
    group: dict[str, str]
    #: The attribute they differ in, and how many groups they are.
    attribute: str
    members: int
    records: int

    def __str__(self) -> str:
        common = ", ".join(f"{name}={value}" for name, value in self.group.items()) or "everybody"
        return f"{common} ({self.members:,} values of {self.attribute}, {self.records:,} records)"


@dataclass(frozen=True)
class PooledSummary:
    """How many unions of groups readers may pool, and how many of them violate a promise."""

    unions: int
    violating: int
    #: The largest ones that do.
    worst: tuple[PooledGroup, ...] = ()

    def __str__(self) -> str:
        """What was found, in a sentence."""
        if not self.unions:
            return "No groups that differ in one public column only look alike, so there is nothing to pool."
        unions = "1 union" if self.unions == 1 else f"{self.unions:,} unions"
        alike = f"{unions} of groups that differ in one public column only and are not told apart"
        if not self.violating:
            return (
                f"Readers may pool {alike}; none of these violates the promise. Unions over several columns "
                "are not looked at."
            )
        named = f": {'; '.join(map(str, self.worst))}" if self.worst else ""
        violate = "violates" if self.violating == 1 else "violate"
        return f"Readers may pool {alike}; {self.violating:,} of these {violate} the promise{named}."


def pool_groups(groups: Groups, *, significance: float = 0.05) -> Iterator[tuple[str, Groups, Whole]]:
    """For each attribute the unions of two groups and more, and how many groups each is made of.

    >>> public = {"sex": ["f", "f", "m", "m"], "color": ["blue", "red", "blue", "red"]}
    >>> counts = [[50, 50], [48, 52], [90, 10], [91, 9]]
    >>> groups = Groups.of(public, {"ill": ["no", "yes"]}, counts)
    >>> [(name, found.public.to_pylist(), found.sizes.tolist()) for name, found, _ in pool_groups(groups)]
    [('color', [{'sex': 'f'}, {'sex': 'm'}], [200, 200])]
    """
    codes = [ranked(groups.public[name])[1] for name in groups.public.column_names]
    for at, name in enumerate(groups.public.column_names):
        key = np.zeros(len(groups), np.int64)
        for other, code in enumerate(codes):
            if other != at:
                key = np.unique(key * (code.max(initial=0) + 1) + code, return_inverse=True)[1].astype(
                    np.int64
                )
        _, first, of, members = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        alike = homogeneous(groups.counts, of.astype(np.int64), significance=significance)
        chosen = np.flatnonzero(alike & (members > 1))
        if len(chosen):
            counts = sum_rows(groups.counts, of.astype(np.int64), len(first))[chosen]
            public = groups.public.take(first[chosen]).drop_columns([name])
            if not public.num_columns:
                public = pa.table({"all": ["everybody"] * len(chosen)})
            yield name, Groups(public, groups.domain, counts), members[chosen]


def check_pooled(
    groups: Groups, promise: ReconstructionPrivacy, *, retention: float, worst: int = 3
) -> PooledSummary:
    """Which unions of groups violate a promise if everything is published with one retention."""
    unions, found = 0, list[PooledGroup]()
    n_values = len(groups.totals)
    for name, pooled, members in pool_groups(groups):
        group, count = every_count(pooled)
        sizes = pooled.sizes
        held = promise.holds(count, sizes[group], retention=retention, n_values=n_values)
        unions += len(pooled)
        failing = np.unique(group[~held])
        columns = {
            one: texts(pooled.public[one].take(failing))
            for one in pooled.public.column_names
            if one in groups.public.column_names
        }
        found += [
            PooledGroup(
                {one: column[at] for one, column in columns.items()}, name, int(members[row]), int(sizes[row])
            )
            for at, row in enumerate(failing.tolist())
        ]
    found.sort(key=lambda one: (-one.records, one.attribute, str(one)))
    return PooledSummary(unions, len(found), tuple(found[:worst]))
