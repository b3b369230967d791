"""Cheap evidence that counts are not known: datasets with one record more, one less, or another one.

Where counts are published as intervals (rounded, say), most counts are shown to be open by such a dataset,
and nothing needs to be searched for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.records import Records
from showthrough.release import Release, pack
from showthrough.tables.claims import World
from showthrough.tables.protect.needs import Need
from showthrough.tables.protect.statements import legal_types, matching
from showthrough.tables.search.universe import Universe, active_attributes

__all__ = [
    "near_counts",
]

#: Pairs of record types (one of a record, one to replace it by) that are looked at.
_MOST_PAIRS = 2_000_000

Flags = NDArray[np.bool_]


def near_counts(release: Release, world: Records, needs: Iterable[Need]) -> dict[Need, tuple[World, ...]]:
    """The counts that datasets near a known one show to be open, with these datasets.

    Parameters
    ----------
    release
        What is published.
    world
        A dataset that agrees with it.
    needs
        What must stay unknown about single counts.

    Returns
    -------
    dict
        Only what is shown. Every dataset was counted again by the tables of the release.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"]})
    >>> people = st.Records.of([{"sex": "f"}, {"sex": "m"}], schema)
    >>> release = st.Release(st.tabulate(people, ["sex"]).layout, np.array([0, 1]), np.array([4, 1]))
    >>> [str(need) for need in near_counts(release, people, [Need(st.Selection.of("sex=f")),
    ...                                                      Need(st.Selection.of("sex=m"))])]
    ['sex=f']
    """
    wanted = list(needs)
    names = frozenset(release.schema.names[at] for at in active_attributes(release.layout))
    universe = legal_types(release.layout, names, frozenset()) if wanted and not release.layout.sums else None
    if universe is None or not len(world) or not release.agrees_with(world):
        return {}
    near = _OneRecord(release, world, universe)
    found = dict[Need, tuple[World, ...]]()
    for need in wanted:
        if names.issuperset(need.where.attributes) and (shown := near.show(need)):
            found[need] = shown
    return found


class _OneRecord:
    """The datasets that differ from a known one in one record and agree with a release."""

    def __init__(self, release: Release, world: Records, universe: Universe) -> None:
        self.release, self.world, self.universe = release, world, universe
        self.own = World(release.schema, world.codes)
        counts = release.layout.tabulate(world).low
        blocked = np.zeros((2, 64 * universe.words.shape[1]), bool)
        blocked[0, : len(counts)] = counts + 1 > release.high
        blocked[1, : len(counts)] = counts - 1 < release.low
        self.no_more, self.no_less = pack(blocked)
        self.words = np.ascontiguousarray(universe.words)

    @cached_property
    def row_of(self) -> dict[int, int]:
        """The types of the records, each with one record."""
        over, codes = list(self.universe.frame.over), self.universe.codes
        strides = np.cumprod([1, *self.universe.frame.sizes])[:-1].astype(object)
        at = {key: number for number, key in enumerate((codes.astype(object) @ strides).tolist())}
        keys = (self.world.codes[:, over].astype(object) @ strides).tolist()
        return {at[key]: row for row, key in reversed(list(enumerate(keys))) if key in at}

    @cached_property
    def types(self) -> NDArray[np.int64]:
        """The types of the records."""
        return np.array(sorted(self.row_of), np.int64)

    @cached_property
    def added(self) -> Flags:
        """The types of which one record more agrees with the release."""
        return np.logical_not((self.words & self.no_more).any(axis=1))

    @cached_property
    def removed(self) -> Flags:
        """The records' types of which one less does."""
        return np.logical_not((self.words[self.types] & self.no_less).any(axis=1))

    @cached_property
    def replaced(self) -> Flags:
        """Records' types × types: where a record of the other type instead does."""
        found = np.zeros((len(self.types), len(self.words)), bool)
        if found.size > _MOST_PAIRS:
            return found
        for at, type_ in enumerate(self.types.tolist()):
            mine = self.words[type_]
            less, more = mine & ~self.words & self.no_less, self.words & ~mine & self.no_more
            found[at] = np.logical_not((less | more).any(axis=1))
        return found

    def show(self, need: Need) -> tuple[World, ...]:
        """Datasets that show a count to be open, the known one first; none if these do not."""
        shown, counts = [self.own], [self.own.count(need.where)]
        for codes in self._others(matching(self.universe, need.where.terms)):
            made = World(self.release.schema, codes)
            if self.release.agrees_with(made.records()):
                shown.append(made)
                counts.append(made.count(need.where))
            if need.shown_by(counts):
                return tuple(shown)
        return ()

    def _others(self, matches: Flags) -> Iterator[NDArray[np.integer]]:
        """The codes of a dataset with one matching record more, and of one with one less, if any."""
        mine = matches[self.types]
        yield from self._changed(
            np.flatnonzero(self.added & matches), self.replaced & ~mine[:, None] & matches, more=True
        )
        yield from self._changed(
            self.types[self.removed & mine], self.replaced & mine[:, None] & ~matches, more=False
        )

    def _changed(
        self, single: NDArray[np.int64], pairs: Flags, *, more: bool
    ) -> Iterator[NDArray[np.integer]]:
        """With one of some types added or removed, else with a record replaced."""
        codes = self.world.codes
        if len(single) and more:
            yield np.concatenate([codes, self._record(int(single[0]))[None, :].astype(codes.dtype)])
        elif len(single):
            yield np.delete(codes, self.row_of[int(single[0])], axis=0)
        elif pairs.any():
            old, new = np.unravel_index(int(pairs.argmax()), pairs.shape)
            row = self.row_of[int(self.types[old])]
            made = codes.copy()
            over = list(self.universe.frame.over)
            made[row, over] = self.universe.codes[new]
            yield made

    def _record(self, type_: int) -> NDArray[np.integer]:
        """A record of a type; attributes that nothing is published about have their first value."""
        made = np.zeros(len(self.release.schema.attributes), np.int64)
        made[list(self.universe.frame.over)] = self.universe.codes[type_]
        return made
