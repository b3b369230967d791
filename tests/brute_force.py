"""Every dataset that agrees with a small release, by exhaustion.

This is the yardstick the engine is measured against, so it shares no code with it and is as plain
as it can be: take all record types the rules allow, decide type by type how many records there are
of it, and keep what stays within every published interval.

**Releases without an upper end.** A type is *free* if no cell that counts it has an upper end; any
number of such records can be added to a dataset. Let N be the sum of the lower ends of all cells
without an upper end. From any dataset take free records away, one by one, as long as it still
agrees. What is left holds at most N free records, for each of them is there because of a cell that
would otherwise fall below its lower end, and a cell with lower end k can be the reason for at most
k of them. So it is enough to enumerate the datasets with at most N + 1 free records:

* a selection without free types has the same count before and after taking free records away, so
  all its possible counts are seen;
* a selection with a free type has its smallest count among the datasets seen (taking away only
  lowers counts), the count plus one is seen too (one more record of that type, N + 1 in all), and
  from the smallest count upwards everything is possible.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED, Published, Release
from showthrough.schema import Schema
from showthrough.selection import Selection


class TooManyWorlds(Exception):
    """More datasets than the caller is willing to enumerate."""


@dataclass(frozen=True, eq=False)
class Worlds:
    """Datasets over record types: ``counts[w, t]`` records of type t in dataset w.

    ``free`` marks the types of which any number can be added to any of the datasets.
    """

    types: tuple[Mapping[str, str], ...]
    counts: NDArray[np.int64]
    free: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.counts)

    def mask(self, selection: Selection) -> NDArray[np.bool_]:
        """Which types the selection matches."""
        return np.array([matches(selection, record) for record in self.types], bool)

    def count(self, selection: Selection) -> NDArray[np.int64]:
        """The selection's count in each dataset."""
        return self.counts[:, self.mask(selection)].sum(axis=1)


def counts(cell: Published, record: Mapping[str, str]) -> int:
    """How many times a record counts in a cell: the weights of the selections it matches, added up."""
    return sum(weight for weight, selection in cell.terms if matches(selection, record))


def matches(selection: Selection, record: Mapping[str, str]) -> bool:
    """Whether a record has an allowed value in every attribute the selection names."""
    return all(record[name] in values for name, values in selection.terms)


def legal_types(schema: Schema) -> list[dict[str, str]]:
    """Every record type that satisfies every rule."""
    names = [attribute.name for attribute in schema.attributes]
    found: list[dict[str, str]] = []
    for values in itertools.product(*(attribute.values for attribute in schema.attributes)):
        record = dict(zip(names, values, strict=True))
        for rule in schema.rules:
            when, then = matches(rule.when, record), matches(rule.then, record)
            if (when and not then) or (rule.both_ways and then and not when):
                break
        else:
            found.append(record)
    return found


def all_worlds(release: Release, *, most: int = 1_000_000) -> Worlds:
    """All datasets that agree with the release (see above for releases without upper ends).

    ``most`` limits the partial datasets held at a time; beyond it :class:`TooManyWorlds` is raised.
    """
    types = legal_types(release.schema)
    counts, free = all_counts(membership(release, types), release.low, release.high, most=most)
    return Worlds(tuple(types), counts, free)


def has_world(release: Release, *, most: int = 1_000_000) -> bool:
    """Whether any dataset agrees; types that lie in the same cells count as one type here."""
    member = membership(release, legal_types(release.schema))
    return has_counts(member, release.low, release.high, most=most)


def has_counts(
    member: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64], *, most: int = 1_000_000
) -> bool:
    """Whether some counts per type (column) keep every cell (row) between low and high."""
    counts, _ = all_counts(np.unique(member, axis=1), low, high, most=most)
    return len(counts) > 0


def membership(release: Release, types: Sequence[Mapping[str, str]]) -> NDArray[np.int64]:
    """How many times each cell (row) counts a record of each type (column)."""
    rows = [[counts(cell, record) for record in types] for cell in release.cells]
    return np.array(rows, np.int64).reshape(len(release.cells), len(types))


def all_counts(
    member: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64], *, most: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """All counts per type, with at most N + 1 free records, and which types are free."""
    endless = high >= UNBOUNDED
    free = ~member[~endless].any(axis=0)
    enough = int(low[endless].sum()) + 1
    rows = np.vstack([member, free]).astype(np.int64)
    return _enumerate(rows, np.append(low, 0), np.append(high, enough), most), free


def _enumerate(
    member: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64], most: int
) -> NDArray[np.int64]:
    """All ways to choose a count per type (column) that keep every row between low and high."""
    n_rows, n_types = member.shape
    last = ((member > 0) * np.arange(1, n_types + 1)).max(axis=1, initial=0) - 1
    counts = np.zeros((1, n_types), np.int64)
    sums = np.zeros((1, n_rows), np.int64)
    for at in range(-1, n_types):
        if at >= 0:
            within = np.flatnonzero(member[:, at])
            choices = ((high[within] - sums[:, within]) // member[within, at]).min(axis=1) + 1
            total = int(choices.sum())
            if total > most or choices.max(initial=0) > most:  # a sum of very large ones may overflow
                raise TooManyWorlds(f"more than {most} partial datasets")
            origin = np.repeat(np.arange(len(counts)), choices)
            chosen = np.arange(total) - np.repeat(np.cumsum(choices) - choices, choices)
            counts, sums = counts[origin], sums[origin]
            counts[:, at] = chosen
            sums[:, within] += chosen[:, None] * member[within, at]
        complete = np.flatnonzero(last == at)
        if len(complete):
            enough = (sums[:, complete] >= low[complete]).all(axis=1)
            counts, sums = counts[enough], sums[enough]
    return counts


def selections(schema: Schema) -> Iterator[Selection]:
    """Every selection with one value in each of at least one attribute."""
    choices = [[None, *attribute.values] for attribute in schema.attributes]
    for values in itertools.product(*choices):
        pairs = zip((a.name for a in schema.attributes), values, strict=True)
        chosen = {name: value for name, value in pairs if value is not None}
        if chosen:
            yield Selection.of(chosen)


def extremes(worlds: Worlds, schema: Schema) -> Iterator[tuple[Selection, int, int]]:
    """Each selection of :func:`selections` with its smallest and largest count seen."""
    listed = list(selections(schema))
    masks = np.array([worlds.mask(selection) for selection in listed])
    counts = worlds.counts.astype(float) @ masks.T.astype(float)  # small integers: exact
    for selection, least, most in zip(listed, counts.min(0), counts.max(0), strict=True):
        yield selection, int(least), int(most)


def verified_claims(worlds: Worlds, schema: Schema) -> set[tuple[Selection, int]]:
    """All (selection, m) with m ≥ 1 such that every dataset has exactly m matching records."""
    return {(s, least) for s, least, most in extremes(worlds, schema) if 1 <= least == most}


def absent_selections(worlds: Worlds, schema: Schema) -> set[Selection]:
    """All selections that no record matches in any dataset."""
    return {s for s, _, most in extremes(worlds, schema) if most == 0}


def absent_minimal(worlds: Worlds, schema: Schema) -> set[Selection]:
    """The absent selections that are no longer absent when any one attribute is left out."""
    absent = absent_selections(worlds, schema)
    if not worlds.counts.any():
        return {selection for selection in absent if len(selection) == 1}
    return {
        selection
        for selection in absent
        if not any(
            Selection(tuple(term for term in selection.terms if term[0] != name)) in absent
            for name in selection.attributes
        )
    }


def count_range(worlds: Worlds, selection: Selection) -> tuple[int, int | None]:
    """The smallest and largest count of a selection; None if it has no largest."""
    counts = worlds.count(selection)
    unbounded = bool((worlds.mask(selection) & worlds.free).any())
    return int(counts.min()), None if unbounded else int(counts.max())


def possible_counts(worlds: Worlds, selection: Selection, *, up_to: int) -> set[int]:
    """The counts up to a limit that some dataset has."""
    seen = {int(count) for count in worlds.count(selection)}
    if (worlds.mask(selection) & worlds.free).any():
        return set(range(min(seen), up_to + 1))
    return {count for count in seen if count <= up_to}


def attributes_in_use(release: Release) -> tuple[str, ...]:
    """The attributes that some cell restricts or some rule names, or that have one value only.

    About the others nothing is known; :func:`showthrough.worlds` does not vary them.
    """
    named = {name for cell in release.cells for _, one in cell.terms for name in one.attributes}
    for rule in release.schema.rules:
        named |= {*rule.when.attributes, *rule.then.attributes}
    return tuple(
        attribute.name
        for attribute in release.schema.attributes
        if attribute.name in named or len(attribute.values) == 1
    )


def projected(worlds: Worlds, names: Sequence[str]) -> Worlds:
    """The different datasets that are left when only some attributes are looked at."""
    short = [tuple((name, record[name]) for name in names) for record in worlds.types]
    types = list(dict.fromkeys(short))
    merge = np.array([[one == kept for kept in types] for one in short], np.int64)
    counts = np.unique(worlds.counts @ merge, axis=0)
    return Worlds(tuple(map(dict, types)), counts, worlds.free @ merge > 0)


def is_unique(worlds: Worlds) -> bool:
    """Whether exactly one dataset agrees with the release."""
    return len(worlds) == 1
