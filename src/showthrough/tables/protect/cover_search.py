"""A cheap plan by datasets: choose some that together refute every forbidden claim, and pay for them.

Each dataset of a pool differs from the true one in a few records. It agrees with the release after a
plan if the plan contains all moves it *needs*, those that hide the counts in which it differs; and it
*refutes* the claims that do not hold in it. A plan is safe if the datasets it admits refute every
forbidden claim. The search fills a plan greedily, takes back what it does not need, and then empties
and fills parts of it again and again. Whatever it returns is backed by datasets of the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.release import pack

__all__ = [
    "CoverSearch",
    "DatasetPool",
    "hardest",
]

#: Claims compared at once when those that fall with another one are left out.
_BLOCK = 256

#: How strongly chance decides between datasets.
_NOISE = 0.25

#: The largest part of a plan that is emptied at once.
_LARGEST_HOLE = 0.35

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

    @classmethod
    def joined(cls, pools: Sequence[DatasetPool]) -> DatasetPool:
        """The pools of several areas, each with claims of its own, for plans that treat all alike.

        >>> one = DatasetPool(np.ones((1, 2), bool), np.ones((1, 1), bool))
        >>> DatasetPool.joined([one, one]).refutes.astype(int).tolist()
        [[1, 0], [0, 1]]
        """
        starts = np.cumsum([0, *(pool.refutes.shape[1] for pool in pools)])
        refutes = np.zeros((sum(map(len, pools)), int(starts[-1])), bool)
        row = 0
        for pool, start in zip(pools, starts, strict=False):
            refutes[row : row + len(pool), start : start + pool.refutes.shape[1]] = pool.refutes
            row += len(pool)
        return cls(np.concatenate([pool.needs for pool in pools]), refutes)

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
        admitted = np.flatnonzero(np.logical_not((self.needs & ~plan).any(axis=1)))
        return np.asarray(self.refutes[admitted].any(axis=0))

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


class CoverSearch:
    """One search in progress, over a pool that suffices (and is best condensed)."""

    def __init__(self, pool: DatasetPool, cost: Numbers, *, seed: int) -> None:
        self.pool = pool
        self.cost = cost
        self.rng = np.random.default_rng([seed, 17])
        self.plan = np.zeros(len(cost), bool)
        self.missing = self.pool.needs.sum(axis=1).astype(np.int64)
        self.price = self.pool.needs @ cost
        self.times = self.pool.refutes[self.missing == 0].sum(axis=0).astype(np.int64)
        self._words = pack(self.pool.refutes)
        self._users = [np.flatnonzero(column) for column in np.asfortranarray(self.pool.needs).T]

    def start(self, plan: Flags | None = None) -> None:
        """Fill an empty plan, or start from a given one, and thin it out."""
        self._become(np.zeros(len(self.cost), bool) if plan is None else plan)
        self._fill(noise=0.0)
        self._thin()

    def improve(self, rounds: int, *, goal: int = 0) -> None:
        """Empty a part of the plan and fill it again, as long as that does not cost more."""
        for _ in range(rounds):
            before, cost = self.plan.copy(), self.total
            if cost <= goal:
                return
            for move in self._hole():
                self._flip(int(move))
            self._fill(noise=_NOISE)
            self._thin()
            if self.total > cost:
                self._become(before)

    @property
    def total(self) -> int:
        """What the plan costs."""
        return int(self.cost[self.plan].sum())

    def _become(self, plan: Flags) -> None:
        for move in np.flatnonzero(plan != self.plan).tolist():
            self._flip(move)

    def _flip(self, move: int) -> None:
        """Take a move into the plan, or back."""
        users, sign = self._users[move], 1 if self.plan[move] else -1
        if sign > 0:
            gone = users[self.missing[users] == 0]
            self.times -= self.pool.refutes[gone].sum(axis=0)
        self.plan[move] = sign < 0
        self.missing[users] += sign
        self.price[users] += sign * int(self.cost[move])
        if sign < 0:
            new = users[self.missing[users] == 0]
            self.times += self.pool.refutes[new].sum(axis=0)

    def _fill(self, *, noise: float) -> None:
        """Admit datasets until every claim is refuted, those first that refute much for their price."""
        while (open_ := self.times == 0).any():
            gain = np.bitwise_count(self._words & pack(open_[None, :])).sum(axis=1, dtype=np.int64)
            score = gain / np.maximum(self.price, 0.25)
            if noise:
                score *= np.exp(noise * self.rng.standard_normal(len(score)))
            best = int(score.argmax())
            for move in np.flatnonzero(self.pool.needs[best] & ~self.plan).tolist():
                self._flip(move)

    def _thin(self) -> None:
        """Take back moves that are not needed, expensive ones first, otherwise in any order."""
        chosen = self.rng.permutation(np.flatnonzero(self.plan))
        for move in chosen[np.argsort(-self.cost[chosen], kind="stable")].tolist():
            users = self._users[move]
            gone = users[self.missing[users] == 0]
            if (self.times > self.pool.refutes[gone].sum(axis=0)).all():
                self._flip(move)

    def _hole(self) -> Numbers:
        """Moves to take back together: those that some admitted datasets need, or any."""
        chosen = np.flatnonzero(self.plan)
        most = max(1, int(len(chosen) * self.rng.uniform(0.05, _LARGEST_HOLE)))
        admitted = np.flatnonzero((self.missing == 0) & self.pool.needs.any(axis=1))
        if self.rng.random() < 0.3 or not len(admitted):
            return self.rng.permutation(chosen)[:most]
        hole = np.zeros(len(self.cost), bool)
        for dataset in self.rng.permutation(admitted).tolist():
            hole |= self.pool.needs[dataset]
            if hole.sum() >= most:
                break
        return np.flatnonzero(hole)
