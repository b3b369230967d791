"""Checks of sets of values: what readers learn about them, and for how many people that is too much.

The worst set is looked for among all records, as readers see them who do not look at public values. A
promise that covers sets is checked group by group, for the people with the same public values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.microdata.people import EQUAL, ReaderUnits, largest_share
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.sets import Family, describe_sets, equivalent_share, set_share, worst_set
from showthrough.text import percent

__all__ = [
    "SetExposure",
    "SetSummary",
    "check_unit_sets",
    "find_set_exposure",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Standard errors within which an estimate is.
SURE: Final = 4.0
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
            return f"{self.exposed:,} people are in groups with the same public values in which {sure}."
        if self.unsettled:
            return f"For {self.unsettled:,} people it is not settled whether {sure}: there are too many sets."
        return ""

    def notes(self, promise: RhoPrivacy) -> tuple[str, ...]:
        """The sentences that a check adds."""
        said = tuple(f"{one[0].upper()}{one[1:]}." for one in self.found)
        return ("The promise is about single values.", *said) if said and promise.sets == 1 else said


def check_unit_sets(units: ReaderUnits, promise: RhoPrivacy, *, estimated: bool = False) -> SetSummary:
    """What readers learn about sets of values from people as they see them.

    If the numbers of ``units`` are those that were published, true ones are estimated from them: then the
    sentences tell what is sure, and nobody is counted group by group.
    """
    kept = np.array([table.retention for table in units.tables])
    domains = np.array([table.n_values for table in units.tables])
    cells = csr_array(units.counts).tocoo()
    tables = np.zeros((len(kept), len(units.domain)))
    np.add.at(tables, (units.table[cells.row], cells.col), cells.data)
    names, exposure = [", ".join(row) for row in units.domain], SetExposure()
    known: dict[str, Any] = {}
    if estimated:
        tables, known = _surely(units, tables)
    elif promise.sets != 1:
        exposure = find_set_exposure(units, promise, Family.of(promise, names))
    found = [worst_set(tables, kept, promise, n_values=domains, size=size, **known) for size in (2, None)]
    over = [one for one in found if one and one.posterior > promise.posterior * EQUAL]
    said = dict.fromkeys(describe_sets(one, names, promise, exact=not estimated) for one in over)
    return SetSummary(tuple(said), not estimated, round(exposure.exposed), round(exposure.unsettled))


def _surely(units: ReaderUnits, shown: Floats) -> tuple[Floats, dict[str, Any]]:
    """How many records of each value sub-tables have at least, and all together at most, by their rows.

    Within ``SURE`` standard errors, or as many as a few rows can vary by.
    """
    sizes = shown.sum(axis=1)
    low, high = np.zeros_like(shown), np.zeros_like(shown)
    for at, table in enumerate(units.tables):
        values, n = list(table.values), sizes[at]
        chance = shown[at, values] / max(n, 1)
        error = SURE * (np.sqrt(n * chance * (1 - chance)) + SURE) / table.retention
        about = (shown[at, values] - n * table.stray) / table.retention
        low[at, values] = np.clip(about - error, 0, n)
        high[at, values] = np.clip(about + error, 0, n)
    return low, {"sizes": sizes, "totals": high.sum(axis=0)}


@dataclass(frozen=True)
class SetExposure:
    """How many people are in groups where readers become too sure of a protected value or set."""

    exposed: float = 0.0
    #: People in groups where only a bound says so, since not all sets were tried.
    unsettled: float = 0.0


def find_set_exposure(units: ReaderUnits, promise: RhoPrivacy, family: Family) -> SetExposure:
    """Group by group: whether readers become too sure of a set of the family that is rare in the whole table.

    >>> from showthrough.microdata.groups import Groups
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": list("abcd")}, [[4, 4, 1, 1], [1, 1, 20, 20]])
    >>> promise = RhoPrivacy(0.2, 0.6)
    >>> find_set_exposure(ReaderUnits.of(groups, promise.retention(4)), promise, Family(2))
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
