"""Other datasets with the same counts, over any number of attributes, found without listing record types.

Take some attributes S, and the attributes around them: those outside S that a cell or a rule names together
with one of S. Of records that have the same values around S, exchange the values of S in any way. Every
cell and every rule names attributes of S and around it, or none of S. The first kind sees the same pairs of
values in another order, the second kind sees no change. So **every count stays, and no rule is broken**.
Values that no cell and no rule tells apart count as the same, and become one another freely.

Where cells are published as intervals single records can change as well; this is tried one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.packing import match_words, pack, unpack
from showthrough.release import Release
from showthrough.tables.wide.dataset import Dataset
from showthrough.tables.wide.ties import Ties

__all__ = [
    "Shuffler",
    "value_groups",
]

#: Records that are moved one by one; of more, this many are taken out at random.
MOST_MOVED = 20_000

#: Changes of single records tried in one step.
MOST_CHANGES = 2_000


def value_groups(release: Release) -> list[NDArray[np.int64]]:
    """Per attribute the group of every value; values of a group lie in the same cells and rules."""
    bits = release.layout.bits
    found = list[NDArray[np.int64]]()
    for at, attribute in enumerate(release.schema.attributes):
        rules = [
            [attribute.values[code] in box[attribute.name] for code in range(len(attribute.values))]
            for box in release.schema.forbidden
            if attribute.name in box.attributes
        ]
        both = np.hstack([bits[at], pack(np.array(rules, bool).T)]) if rules else bits[at]
        found.append(np.unique(both, axis=0, return_inverse=True)[1].ravel().astype(np.int64))
    return found


@dataclass(frozen=True, eq=False)
class MovedBlock:
    """Attributes whose values are exchanged together, and the attributes around them."""

    moved: tuple[int, ...]
    around: tuple[int, ...]


class Shuffler:
    """Walks from dataset to dataset.

    Parameters
    ----------
    release
        What every dataset agrees with.
    ties
        Which attributes are tied.
    columns
        The attributes that change.
    first
        Where the walk starts.
    seed
        The seed of all random choices.
    """

    def __init__(
        self, release: Release, ties: Ties, columns: tuple[int, ...], first: Dataset, seed: int
    ) -> None:
        self.release, self.ties, self.columns = release, ties, columns
        self.rng = np.random.Generator(np.random.Philox(seed))
        self._groups = value_groups(release)
        self._intervals = bool((release.low < release.high).any())
        self.moved = 0
        self._take(first)

    def _take(self, dataset: Dataset) -> None:
        """Records to move, and how often every other one occurs."""
        times = dataset.times
        out = times
        if len(dataset) > MOST_MOVED:
            share = MOST_MOVED / len(dataset)
            out = np.minimum(times, 1 + (times.astype(float) * share).astype(np.int64))
            if out.sum() > 4 * MOST_MOVED:
                out = np.zeros_like(times)
                out[self.rng.permutation(len(times))[:MOST_MOVED]] = 1
        self._codes = np.repeat(dataset.codes, out, axis=0)
        self._rest = Dataset(dataset.codes, times - out)

    @property
    def current(self) -> Dataset:
        """Where the walk is; whoever keeps it counts it again."""
        codes = np.vstack([self._rest.codes, self._codes])
        times = np.concatenate([self._rest.times, np.ones(len(self._codes), np.int64)])
        return Dataset(codes, times).distinct()

    def wander(self, rounds: int) -> bool:
        """Exchange values of many blocks of attributes; whether anything changed."""
        before = self.moved
        for _ in range(rounds):
            for at in self.rng.permutation(len(self.columns)).tolist():
                self._exchange(self._block(self.columns[at]))
                self._vary(self.columns[at])
            if self._intervals:
                self._change()
        return self.moved > before

    def _block(self, start: int) -> MovedBlock:
        """One attribute, or as often some that are tied to it."""
        neighbours = self.ties.neighbours
        moved = np.zeros(len(neighbours), bool)
        moved[start] = True
        size = int(self.rng.geometric(0.5))
        while moved.sum() < size:
            next_ = np.flatnonzero(neighbours[moved].any(axis=0) & ~moved)
            if not len(next_):
                break
            moved[self.rng.choice(next_)] = True
        around = neighbours[moved].any(axis=0) & ~moved
        return MovedBlock(tuple(np.flatnonzero(moved).tolist()), tuple(np.flatnonzero(around).tolist()))

    def _exchange(self, block: MovedBlock) -> None:
        """Give the values of a block, of records that are alike around it, to each other at random."""
        n = len(self._codes)
        alike = np.zeros(n, np.int64)
        for at in block.around:
            alike = alike * (int(self._groups[at].max()) + 1) + self._groups[at][self._codes[:, at]]
            alike = np.unique(alike, return_inverse=True)[1].ravel().astype(np.int64)
        here = np.lexsort((np.arange(n), alike))
        there = np.lexsort((self.rng.random(n), alike))
        moved = np.array(block.moved)[None, :]
        new = self._codes[there[:, None], moved]
        self.moved += int((new != self._codes[here[:, None], moved]).any(axis=1).sum())
        self._codes[here[:, None], moved] = new

    def _vary(self, at: int) -> None:
        """Replace values of an attribute by others of their group."""
        if int(self._groups[at].max()) + 1 == len(self._groups[at]):
            return
        order, starts = self._by_group[at]
        group = self._groups[at][self._codes[:, at]]
        size = starts[group + 1] - starts[group]
        picked = order[starts[group] + (self.rng.random(len(group)) * size).astype(np.int64)]
        self.moved += int((picked != self._codes[:, at]).sum())
        self._codes[:, at] = picked

    @cached_property
    def _by_group(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Per attribute its values group by group, and where each group starts."""
        found = list[tuple[NDArray[np.int64], NDArray[np.int64]]]()
        for groups in self._groups:
            order = np.argsort(groups, kind="stable")
            starts = np.searchsorted(groups[order], np.arange(int(groups.max()) + 2))
            found.append((order, starts))
        return found

    def _change(self) -> None:
        """Change single values of single records, where intervals leave room for it."""
        if not len(self._codes):
            return
        release, layout = self.release, self.release.layout
        n = MOST_CHANGES
        rows = self.rng.integers(0, len(self._codes), n)
        new = self._codes[rows].copy()
        at = self.rng.choice(np.array(self.columns), n)
        sizes = np.array([len(attribute.values) for attribute in release.schema.attributes])
        new[np.arange(n), at] = (self.rng.random(n) * sizes[at]).astype(np.uint16)
        before, after = match_words(layout.bits, self._codes[rows]), match_words(layout.bits, new)
        exact = pack((release.low == release.high)[layout.box_cells][None, :])
        possible = ~((before ^ after) & exact).any(axis=1) & (new != self._codes[rows]).any(axis=1)
        possible &= ~self._broken(new)
        counts = self.current.counts(release)
        seen = set[int]()
        for one in np.flatnonzero(possible).tolist():
            if int(rows[one]) in seen:
                continue
            old_new = np.vstack([before[one], after[one]])
            change = np.diff(layout.times_counted(old_new).astype(np.int64), axis=0)[0]
            if ((counts + change >= release.low) & (counts + change <= release.high)).all():
                counts += change
                seen.add(int(rows[one]))
                self._codes[rows[one]] = new[one]
                self.moved += 1

    def _broken(self, codes: NDArray[np.uint16]) -> NDArray[np.bool_]:
        """Which records break a rule."""
        found = np.zeros(len(codes), bool)
        if self.release.schema.forbidden:
            words = match_words(self._rule_bits, codes)
            found |= unpack(words, len(self.release.schema.forbidden)).any(axis=1)
        return found

    @cached_property
    def _rule_bits(self) -> tuple[NDArray[np.uint64], ...]:
        from showthrough.packing import pack_selections

        return pack_selections(self.release.schema.forbidden, self.release.schema)
