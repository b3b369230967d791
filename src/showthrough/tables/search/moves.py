"""Ways on from a dataset: some of its records are taken out, and others put in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.search.type_counts import TypeCounts

__all__ = [
    "Moves",
]

#: Records up to which there is a place for each, instead of for those that moves concern.
_MOST_PLACES = 100_000


@dataclass(frozen=True, eq=False)
class Moves:
    """Ways on from a world: positions of records taken out and types put in; −1 is nobody."""

    out: NDArray[np.int64]
    into: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.out)

    @classmethod
    def none(cls) -> Moves:
        """No moves."""
        return cls(np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Moves]) -> Moves:
        """Several sets of moves as one; shorter ones are filled up with nobody."""
        parts = [part for part in parts if len(part)]
        if len(parts) < 2:
            return parts[0] if parts else cls.none()
        width = max(part.out.shape[1] for part in parts)
        sides = [
            np.concatenate([np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=-1) for a in arrays])
            for arrays in ([part.out for part in parts], [part.into for part in parts])
        ]
        return cls(sides[0], sides[1])

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Moves:
        """Some of the moves."""
        return Moves(self.out[which], self.into[which])

    def apart(self) -> NDArray[np.int64]:
        """Moves that concern different records, earlier ones preferred."""
        order, records = np.arange(len(self)), self.out
        if records.max(initial=0) > _MOST_PLACES:
            _, number = np.unique(records, return_inverse=True)
            records = number.reshape(records.shape)
        first = np.zeros(int(records.max(initial=-1)) + 2, np.int64)  # the last place is for nobody
        first[records.ravel()[::-1]] = np.repeat(order, self.out.shape[1])[::-1]  # what is written last stays
        return np.flatnonzero(((first[records] == order[:, None]) | (self.out < 0)).all(axis=1))

    def apply(self, at: int | NDArray[np.int64], world: TypeCounts) -> TypeCounts:
        """The world after one move, or several that concern different records."""
        out, into = self.out[at].ravel(), self.into[at].ravel()
        return world.exchanged(out[out >= 0], into[into >= 0])
