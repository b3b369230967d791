"""How many records match a selection, in all datasets that agree with a release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from showthrough.records import Records
from showthrough.release import Release
from showthrough.selection import Selection, SelectionLike
from showthrough.tables.audit import area_seed, check_release, start_decider
from showthrough.tables.claims import Bounds
from showthrough.tables.readable import shorten_bounds
from showthrough.tables.recheck import Recheck
from showthrough.tables.search.ranges import range_of
from showthrough.tables.search.universe import TooManyTypes

__all__ = [
    "bounds",
    "bounds_of_each",
]


def bounds(
    release: Release,
    selection: SelectionLike,
    *,
    truth: Records | None = None,
    effort: float = 1.0,
    seed: int = 0,
) -> Bounds:
    """How many records match a selection in the datasets that agree, both ends with evidence.

    Parameters
    ----------
    release
        The published tables of one area.
    selection
        Which records: text such as ``"age=old,sex=f|m"``, a mapping, or a :class:`Selection`.
    truth
        The microdata, where the publisher holds them; they only spare the search for a first dataset.
    effort
        Multiplies all limits on work.
    seed
        The seed of the random walks.

    Returns
    -------
    Bounds
        The smallest and the largest count, with a proof of each and a dataset that attains it.

    Raises
    ------
    SchemaError
        If the selection names an attribute or a value that the schema does not have.
    Contradiction
        If no dataset agrees with the release.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> release = st.Release.of(schema, {st.make_table(schema, "sex"): [3, 2],
    ...                                  st.make_table(schema, "ill"): [1, 4]})
    >>> found = st.bounds(release, "sex=f,ill=yes")
    >>> found.low, found.high
    (2, 3)
    """
    check_release(release)
    chosen = release.schema.check_selection(Selection.of(selection))
    return next(bounds_of_each(release, [chosen], truth=truth, effort=effort, seed=seed))


def bounds_of_each(
    release: Release,
    selections: Iterable[SelectionLike],
    *,
    truth: Records | None = None,
    effort: float = 1.0,
    seed: int = 0,
) -> Iterator[Bounds]:
    """As :func:`bounds`, for one selection after the other: what was found for one helps with the next."""
    check_release(release)
    try:
        decider = start_decider(release, truth=truth, effort=effort, seed=seed)
    except TooManyTypes:
        from showthrough.tables.wide.audit import wide_area
        from showthrough.tables.wide.bounds import WideBounds

        wide = WideBounds(wide_area(release, effort=effort, seed=area_seed(seed, release.area)), truth)
        for selection in selections:
            yield wide.of(release.schema.check_selection(Selection.of(selection)))
        return
    recheck = Recheck(release)
    for selection in selections:
        chosen = release.schema.check_selection(Selection.of(selection))
        found = shorten_bounds(range_of(decider, chosen), decider.shortener)
        yield replace(recheck.bounds(found), release=release)
