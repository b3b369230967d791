"""Datasets that are known about one area: the moves that each needs, and the claims that each refutes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.release import pack, unpack

__all__ = [
    "DatasetPool",
    "hardest",
]

#: Claims compared at once when those that fall with another one are left out.
_BLOCK = 256

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DatasetPool:
    """Datasets: the moves each needs and the claims each refutes.

    Parameters
    ----------
    needs
        Dataset × move.
    refutes
        Dataset × claim.
    """

    needs: Flags
    refutes: Flags

    def __len__(self) -> int:
        return len(self.needs)

    def united(self, other: DatasetPool) -> DatasetPool:
        """Both pools, which are about the same moves and claims."""
        return DatasetPool(
            np.concatenate([self.needs, other.needs]), np.concatenate([self.refutes, other.refutes])
        )

    @property
    def distinct(self) -> DatasetPool:
        """Without datasets that need the same moves as an earlier one and refute the same claims.

        >>> one = DatasetPool(np.ones((1, 2), bool), np.ones((1, 1), bool))
        >>> len(one.united(one)), len(one.united(one).distinct)
        (2, 1)
        """
        rows = np.ascontiguousarray(np.concatenate([self.needs_words, self.words], axis=1))
        keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]
        first = np.sort(np.unique(keys, return_index=True)[1])
        return DatasetPool(self.needs[first], self.refutes[first])

    @property
    def suffices(self) -> bool:
        """Whether all moves together let every claim be refuted."""
        return bool(self.refutes.any(axis=0).all())

    def safe(self, plan: Flags) -> bool:
        """Whether the datasets that a plan admits refute every claim.

        >>> pool = DatasetPool(np.array([[True, False]]), np.array([[True]]))
        >>> pool.safe(np.array([True, False])), pool.safe(np.array([False, True]))
        (True, False)
        """
        return bool(self.refuted(plan).all())

    def refuted(self, plan: Flags) -> Flags:
        """The claims that datasets which a plan admits refute."""
        admitted = np.logical_not((self.needs_words & pack(~plan[None, :])).any(axis=1))
        found = np.bitwise_or.reduce(self.words[admitted], axis=0)
        return unpack(found[None, :], self.refutes.shape[1])[0].astype(bool)

    @cached_property
    def needs_words(self) -> NDArray[np.uint64]:
        """The moves that each dataset needs, as bits."""
        return pack(self.needs)

    @cached_property
    def words(self) -> NDArray[np.uint64]:
        """The claims that each dataset refutes, as bits."""
        return pack(self.refutes)

    @cached_property
    def condensed(self) -> DatasetPool:
        """Without claims that fall whenever another one does, and without datasets that refute none."""
        found, kept = hardest(self.refutes), self.refutes.any(axis=1)
        return DatasetPool(self.needs[kept], self.refutes[kept][:, found])


def hardest(refutes: Flags) -> Numbers:
    """The claims such that whoever refutes them refutes all of them."""
    packed = np.packbits(refutes, axis=0).T
    _, first = np.unique(np.ascontiguousarray(packed), axis=0, return_index=True)
    sizes = refutes[:, first].sum(axis=0)
    order = first[np.lexsort((first, sizes))]
    kept = np.zeros((0, len(refutes)), np.float32)
    chosen: list[int] = []
    for start in range(0, len(order), _BLOCK):
        block = order[start : start + _BLOCK]
        mine = refutes[:, block].T.astype(np.float32)
        falls = _contains(kept, mine).any(axis=0)
        block, mine = block[~falls], mine[~falls]
        inside = _contains(mine, mine)
        np.fill_diagonal(inside, val=False)
        left = ~inside.any(axis=0)
        chosen += block[left].tolist()
        kept = np.concatenate([kept, mine[left]])
    return np.array(sorted(chosen), np.int64)


def _contains(small: NDArray[np.float32], large: NDArray[np.float32]) -> Flags:
    """Whether each small set lies in each large one."""
    return (small @ large.T) == small.sum(axis=1)[:, None]
