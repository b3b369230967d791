"""Questions beyond single claims: how many records match a selection, and which datasets agree."""

from __future__ import annotations

from showthrough.records import Records
from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.audit import decider_for
from showthrough.tables.claims import Bounds
from showthrough.tables.search.extremes import range_of

__all__ = [
    "bounds",
]


def bounds(
    release: Release,
    selection: Selection,
    *,
    truth: Records | None = None,
    effort: float = 1.0,
    seed: int = 0,
) -> Bounds:
    """How many records match a selection in the datasets that agree, both ends with evidence.

    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> release = st.Release.of(schema, {st.make_table(schema, "sex"): [3, 2],
    ...                                  st.make_table(schema, "ill"): [1, 4]})
    >>> found = st.bounds(release, st.Selection.parse("sex=f,ill=yes"))
    >>> found.low, found.high
    (2, 3)
    """
    selection = release.schema.check_selection(selection)
    engine = decider_for(release, truth, effort, seed)
    return range_of(engine, selection)
