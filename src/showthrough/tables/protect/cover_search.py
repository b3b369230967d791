"""A cheap plan by datasets: choose some that together refute every forbidden claim, and pay for them.

Each dataset of a pool differs from the true one in a few records. It agrees with the release after a
plan if the plan contains all moves it *needs*, those that hide the counts in which it differs; and it
*refutes* the claims that do not hold in it. A plan is safe if the datasets it admits refute every
forbidden claim. The search fills a plan greedily, takes back what it does not need, and then empties
and fills parts of it again and again. Whatever it returns is backed by datasets of the pool.

Several areas that get the same plan share the moves, but each has claims and datasets of its own. So what
changes in one area is looked at in that area alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from showthrough.release import pack
from showthrough.tables.protect.dataset_pool import DatasetPool

__all__ = [
    "CoverSearch",
]

#: How strongly chance decides between datasets.
_NOISE = 0.25

#: The largest part of a plan that is emptied at once.
_LARGEST_HOLE = 0.35

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class CoverSearch:
    """One search in progress, over the pools of some areas, which suffice (and are best condensed).

    Parameters
    ----------
    pools
        The datasets of each area, all with the same moves.
    cost
        What each move costs.
    seed
        The seed for choices between datasets.
    """

    def __init__(self, pools: Sequence[DatasetPool], cost: Numbers, *, seed: int) -> None:
        self.pools = tuple(pools)
        self.cost = cost
        self.rng = np.random.default_rng([seed, 17])
        self.plan = np.zeros(len(cost), bool)
        #: Where the datasets of each area start among all of them.
        self._starts = np.cumsum([0, *map(len, self.pools)])
        self.missing = np.concatenate([pool.needs.sum(axis=1) for pool in self.pools]).astype(np.int64)
        self.price = np.concatenate([pool.needs @ cost for pool in self.pools])
        #: How many of the admitted datasets refute each claim, by area.
        self.times: list[Numbers] = []
        for area, pool in enumerate(self.pools):
            free = self.missing[self._starts[area] : self._starts[area + 1]] == 0
            self.times.append(pool.refutes[free].sum(axis=0).astype(np.int64))
        #: How many claims that are open each dataset refutes, and the areas in which that is out of date.
        self._gain = np.zeros(len(self.missing), np.int64)
        self._stale = set(range(len(self.pools)))
        self._users = self._users_of_moves()

    def _users_of_moves(self) -> list[Numbers]:
        """The datasets that need each move, in order."""
        pairs = [np.nonzero(pool.needs) for pool in self.pools]
        rows = [start + mine[0] for start, mine in zip(self._starts.tolist(), pairs, strict=False)]
        row, column = np.concatenate(rows), np.concatenate([mine[1] for mine in pairs])
        order = np.argsort(column, kind="stable")
        return np.split(row[order], np.searchsorted(column[order], np.arange(1, len(self.cost))))

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
            self._count(users[self.missing[users] == 0], -1)
        self.plan[move] = sign < 0
        self.missing[users] += sign
        self.price[users] += sign * int(self.cost[move])
        if sign < 0:
            self._count(users[self.missing[users] == 0], 1)

    def _count(self, datasets: Numbers, sign: int) -> None:
        """Some datasets are admitted now, or no longer."""
        for area, mine in self._by_area(datasets):
            self.times[area] += sign * self._refuting(area, mine)
            self._stale.add(area)

    def _refuting(self, area: int, datasets: Numbers) -> Numbers:
        """How many of some datasets of an area refute each claim."""
        return self.pools[area].refutes[datasets].sum(axis=0, dtype=np.int64)

    def _by_area(self, datasets: Numbers) -> Iterator[tuple[int, Numbers]]:
        """The areas of some datasets (in order), and which of their datasets these are."""
        cuts = np.searchsorted(datasets, self._starts)
        for area in np.flatnonzero(np.diff(cuts)).tolist():
            yield area, datasets[cuts[area] : cuts[area + 1]] - self._starts[area]

    def _fill(self, *, noise: float) -> None:
        """Admit datasets until every claim is refuted, those first that refute much for their price."""
        luck = np.exp(noise * self.rng.standard_normal(len(self.price))) if noise else 1.0
        while True:
            self._look_again()
            if not self._gain.any():
                return
            best = int((self._gain / np.maximum(self.price, 0.25) * luck).argmax())
            area = int(np.searchsorted(self._starts, best, side="right")) - 1
            needs = self.pools[area].needs[best - self._starts[area]]
            for move in np.flatnonzero(needs & ~self.plan).tolist():
                self._flip(move)

    def _look_again(self) -> None:
        """Count again what datasets refute, where that has changed."""
        for area in self._stale:
            open_ = pack((self.times[area] == 0)[None, :])
            found = np.bitwise_count(self.pools[area].words & open_).sum(axis=1, dtype=np.int64)
            self._gain[self._starts[area] : self._starts[area + 1]] = found
        self._stale.clear()

    def _thin(self) -> None:
        """Take back moves that are not needed, expensive ones first, otherwise in any order."""
        chosen = self.rng.permutation(np.flatnonzero(self.plan))
        for move in chosen[np.argsort(-self.cost[chosen], kind="stable")].tolist():
            users = self._users[move]
            gone = self._by_area(users[self.missing[users] == 0])
            if all((self.times[area] > self._refuting(area, mine)).all() for area, mine in gone):
                self._flip(move)

    def _hole(self) -> Numbers:
        """Moves to take back together: those that some admitted datasets need, or any."""
        chosen = np.flatnonzero(self.plan)
        most = max(1, int(len(chosen) * self.rng.uniform(0.05, _LARGEST_HOLE)))
        admitted = np.flatnonzero(self.missing == 0)
        if self.rng.random() < 0.3 or not len(admitted):
            return self.rng.permutation(chosen)[:most]
        hole = np.zeros(len(self.cost), bool)
        for dataset in self.rng.permutation(admitted).tolist():
            area = int(np.searchsorted(self._starts, dataset, side="right")) - 1
            hole |= self.pools[area].needs[dataset - self._starts[area]]
            if hole.sum() >= most:
                break
        return np.flatnonzero(hole)
