"""Checks of sets of values: what readers learn about them, and for how many people that is too much.

The worst set is looked for among all records, as readers see them who do not look at public values. A
promise that covers sets is checked group by group, for the people with the same public values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from showthrough.microdata.people import EQUAL, Units, largest_share
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.sets import Family, describe_sets, equivalent_share, set_share, worst_set
from showthrough.text import percent

__all__ = [
    "SetExposure",
    "SetSummary",
    "check_unit_sets",
    "find_set_exposure",
    "summarize_sets",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Groups in which more sets are tried if the most frequent values do not settle it.
_MOST_UNITS: Final = 2_000


@dataclass(frozen=True)
class SetSummary:
    """What readers learn about sets of values, as ``checks.json`` keeps it."""

    #: Sentences about the worst sets of two values and of any number of them.
    found: tuple[str, ...]
    #: Whether totals are known, or only estimated from a publication.
    exact: bool
    #: People in groups where a protected set is believed too much, and where that is not settled.
    exposed: int = 0
    unsettled: int = 0

    def headline(self, promise: RhoPrivacy) -> str:
        """For how many people readers become too sure of a value or a set, if for any; else empty."""
        sure = f"a reader becomes more than {percent(promise.posterior)} sure of a protected value or set"
        if self.exposed:
            return f"{self.exposed:,} people are in groups, by public values, in which {sure}."
        if self.unsettled:
            return f"For {self.unsettled:,} people it is not settled whether {sure}: there are too many sets."
        return ""

    def notes(self, promise: RhoPrivacy) -> tuple[str, ...]:
        """The sentences that a check adds."""
        said = [f"{'' if self.exact else 'By estimates, '}{one}." for one in self.found]
        said = [f"{one[0].upper()}{one[1:]}" for one in said]
        if promise.sets == 1:
            return ("The promise is about single values.", *said) if said else ()
        return tuple(said)


def summarize_sets(
    tables: ArrayLike,
    retention: ArrayLike,
    promise: RhoPrivacy,
    *,
    names: Sequence[str],
    n_values: ArrayLike,
    exact: bool,
    exposure: SetExposure | None = None,
) -> SetSummary:
    """The worst sets of two values and of any number, where readers learn too much about them.

    >>> tables = [[12, 8, 6, 4, 4, 2, 0, 0], [0, 0, 0, 1, 0, 1, 1, 1]]
    >>> known = {"names": list("abcdefjm"), "n_values": 6, "exact": True}
    >>> found = summarize_sets(tables, [1 / 3, 3 / 5], RhoPrivacy(1 / 3, 2 / 3), **known)
    >>> print(found.found[0].replace("\\xa0", " "))
    of 2 values together a reader can become surer: up to 84.6 % that it is one of j, m (5 % of the records)
    """
    found = [worst_set(tables, retention, promise, n_values=n_values, size=size) for size in (2, None)]
    over = [one for one in found if one and one.posterior > promise.posterior * EQUAL]
    said = tuple(dict.fromkeys(describe_sets(one, names, promise) for one in over))
    counted = exposure or SetExposure()
    return SetSummary(said, exact, round(counted.exposed), round(counted.unsettled))


def check_unit_sets(units: Units, promise: RhoPrivacy, *, estimated: bool = False) -> SetSummary:
    """What readers learn about sets of values from people as they see them.

    If the numbers of ``units`` are those that were published, true ones are estimated from them, and nobody
    is counted group by group.
    """
    kept = np.array([table.retention for table in units.tables])
    cells = csr_array(units.counts).tocoo()
    tables = np.zeros((len(kept), len(units.domain)))
    np.add.at(tables, (units.table[cells.row], cells.col), cells.data)
    names, exposure = [", ".join(row) for row in units.domain], None
    if estimated:
        inside = np.zeros(tables.shape, bool)
        for at, table in enumerate(units.tables):
            inside[at, list(table.values)] = True
        stray = np.array([table.stray for table in units.tables]) * tables.sum(axis=1)
        tables = np.where(inside, np.maximum((tables - stray[:, None]) / kept[:, None], 0), 0)
    elif promise.sets != 1:
        exposure = find_set_exposure(units, promise, Family.of(promise, names))
    domains = [table.n_values for table in units.tables]
    known: dict[str, Any] = {"names": names, "n_values": domains, "exact": not estimated}
    return summarize_sets(tables, kept, promise, **known, exposure=exposure)


@dataclass(frozen=True)
class SetExposure:
    """How many people are in groups where readers become too sure of a protected value or set."""

    exposed: float = 0.0
    #: People in groups where only a bound says so, since not all sets were tried.
    unsettled: float = 0.0


def find_set_exposure(units: Units, promise: RhoPrivacy, family: Family) -> SetExposure:
    """Group by group: whether readers become too sure of a set of the family that is rare in the whole table.

    >>> from showthrough.microdata.groups import Groups
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": list("abcd")}, [[4, 4, 1, 1], [1, 1, 20, 20]])
    >>> promise = RhoPrivacy(0.2, 0.6)
    >>> find_set_exposure(Units.of(groups, promise.retention(4)), promise, Family(2))
    SetExposure(exposed=10.0, unsettled=0.0)
    """
    counts, sizes = csr_array(units.counts), units.sizes
    totals = np.asarray(counts.sum(axis=0), np.float64)
    most = promise.most_protected(totals.round(6))
    kept = np.array([table.retention for table in units.tables])[units.table]
    n_values = np.array([table.n_values for table in units.tables])[units.table]
    limit = largest_share(promise, kept, n_values) * EQUAL
    whole = np.maximum(sizes, 1e-300)
    exposed, unsettled = _heaviest_sets(counts, whole, totals, limit, promise, most, family.size)
    for members in map(list, family.named):
        if 0 < totals[members].sum() <= most:
            inside = counts[:, members].toarray()
            share = equivalent_share(inside.max(axis=1) / whole, inside.sum(axis=1) / whole, promise)
            exposed |= share > limit
    for unit in np.flatnonzero(unsettled & ~exposed)[:_MOST_UNITS].tolist():
        row = counts[[unit]].toarray()[0]
        least, highest = set_share(row, totals, promise, family.size)
        exposed[unit], unsettled[unit] = least > limit[unit], highest > limit[unit]
    return SetExposure(float(sizes[exposed].sum()), float(sizes[unsettled & ~exposed].sum()))


def _heaviest_sets(
    counts: Any, sizes: Floats, totals: Floats, limit: Floats, promise: RhoPrivacy, most: float, number: int
) -> tuple[Flags, Flags]:
    """For each group whether its most frequent protected values together are believed too much.

    If they are rare together, they are a protected set. If they are not, some others may be.
    """
    cells = counts.tocoo()
    rare = (totals[cells.col] <= most) & (cells.data > 0)
    unit, value, held = cells.row[rare], cells.col[rare], cells.data[rare].astype(np.float64)
    order = np.lexsort((totals[value], -held, unit))
    unit, value, held = unit[order], value[order], held[order]
    rank = np.arange(len(unit)) - np.searchsorted(unit, unit)
    first = rank < number
    inside, known = np.zeros((2, len(sizes), number))
    inside[unit[first], rank[first]] = held[first]
    known[unit[first], rank[first]] = totals[value[first]]
    together = np.cumsum(inside, axis=1) / sizes[:, None]
    over: Flags = equivalent_share(inside[:, :1] / sizes[:, None], together, promise) > limit[:, None]
    are_rare: Flags = np.cumsum(known, axis=1) <= most
    return np.any(over & are_rare, axis=1), over[:, -1]
