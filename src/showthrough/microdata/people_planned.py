"""What a publication will tell readers of the public values, counted as it is made, for its publisher."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from showthrough.engine.backend import Tally
from showthrough.microdata.check_ordinal import find_ordinal_exposure
from showthrough.microdata.given import Classes
from showthrough.microdata.groups import iter_blocks
from showthrough.microdata.people import (
    PeopleExposed,
    PeopleSummary,
    ReaderUnits,
    find_exposure,
    summarize_people,
)
from showthrough.microdata.plan import Method, Plan
from showthrough.microdata.promises import RhoPrivacy

__all__ = [
    "planned_people",
]

Floats = NDArray[np.float64]

#: Codes of sensitive values up to which they are counted in one array.
MOST_CODES = 2**20

#: The methods for which it is counted.
_COUNTED = ("uniform", "partitioned", "ordinal")


def planned_people(method: Method, plan: Plan, tally: Tally) -> PeopleSummary | None:
    """For how many people readers will become surer than promised; None without such a promise.

    Groups go by block by block, so that no more than a block is in memory.
    """
    promise: object = getattr(method, "promise", None)
    if not isinstance(promise, RhoPrivacy) or method.name not in _COUNTED:
        return None
    classes: object = getattr(plan, "classes", None)
    if isinstance(classes, Classes):
        return summarize_people(classes.units, promise, worst=0)
    totals = _totals(tally)
    protected, found = promise.protects(totals), PeopleExposed()
    weights = _division(plan, totals)
    for block in iter_blocks(tally):
        if method.name == "ordinal":
            found += find_ordinal_exposure(block.counts, plan.tables[0], promise, protected)
            continue
        found += find_exposure(_units(block.counts, plan, weights), promise, protected)
    return PeopleSummary.of(found, protected_values=int(protected.sum()))


def _totals(tally: Tally) -> NDArray[np.int64]:
    """How many records have each sensitive value."""
    codec = tally.codec
    mask, size = np.uint64((1 << codec.width) - 1), int(np.asarray(codec.codes).max(initial=0)) + 1
    if size > MOST_CODES:  # several sensitive columns, few combinations of which occur
        found = np.zeros(codec.n_values)
        for keys, counts in tally.cells():
            found += np.bincount(codec.split(keys)[1], counts, len(found))
        return found.astype(np.int64)
    by_code = np.zeros(size)
    for keys, counts in tally.cells():
        by_code += np.bincount((keys[:, -1] & mask).astype(np.int64), counts, size)
    return by_code[np.asarray(codec.codes)].astype(np.int64)


def _division(plan: Plan, totals: NDArray[np.int64]) -> Floats:
    """For each sub-table (row) and value the share of the value's records that go to it."""
    allotment: Any = getattr(getattr(plan, "partition", None), "allotment", None)
    if allotment is None:
        return np.ones((1, len(totals)))
    return np.asarray(allotment, np.float64) / np.maximum(totals, 1)


def _units(counts: Any, plan: Plan, weights: Floats) -> ReaderUnits:
    """The groups of a block, each in every sub-table, without their names."""
    if len(weights) > 1:
        counts = csr_array(vstack([counts.multiply(row[None, :]) for row in weights], format="csr"))
    table = np.repeat(np.arange(len(weights)), counts.shape[0] // len(weights))
    return ReaderUnits(pa.table({}), (), counts, table, plan.tables)
