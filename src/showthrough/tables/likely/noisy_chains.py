"""Chains through the datasets of noisy tables, from different first ones that annealing finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import Undecided
from showthrough.noise_law import UNKNOWN
from showthrough.release import Release
from showthrough.tables.likely.chains import ChainPlan, have_mixed, thinned
from showthrough.tables.likely.noisy_moves import (
    PER_MOVE,
    NoisyState,
    TypeRows,
    any_type,
    new_records,
    noisy_moves,
    shares_of,
)
from showthrough.tables.likely.noisy_space import IMPOSSIBLE, NoisySpace, scores_of

__all__ = [
    "NOISY_PLAN",
    "NoisyChain",
    "NoisyTarget",
    "run_noisy_chains",
    "size_range",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: How long chains run for noisy tables: fewer, larger steps.
NOISY_PLAN = ChainPlan(chains=8, draws=60, burn_in=8, per_record=50, longer=2)

#: Stages of annealing: how much of the counts' scores counts, and what an impossible count costs per unit.
_STAGES = tuple((share, 0.5 + 12 * share) for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0))

#: Times that annealing is tried where its end is impossible.
_TRIES = 4

#: Types that a new record is chosen among, and how much rarer such moves are than others.
_AMONG, _RARER = 128, 4

#: The most records beyond what the published values add up to, where the number is not known.
_BEYOND = 20


@dataclass(frozen=True, eq=False)
class NoisyTarget:
    """What a chain is to sample: record types with chances, scores of counts, and the number of records."""

    space: NoisySpace
    rows: TypeRows
    score: Floats
    allowed: NDArray[np.bool_]
    least: int
    most: int

    @classmethod
    def of(cls, release: Release, space: NoisySpace, chance: Floats) -> NoisyTarget:
        """For a release and the chances of the space's types."""
        least, most = size_range(release, space)
        score, allowed = scores_of(release, space, (most + 1) * space.most_times)
        chance = np.maximum(chance, 1e-12 * chance.mean())
        share, other = np.zeros(len(chance)), np.zeros(len(chance), np.int64)
        shares_of(chance, share, other)
        rows = TypeRows(space.start, space.row, space.times, np.log(chance), share, other)
        return cls(space, rows, score, allowed, least, most)

    def scores(self, share: float, cost: float) -> Floats:
        """A share of the scores, with a cost of impossible counts for each unit that they are away."""
        return share * self.score - cost * _distance(self.allowed)


def _distance(allowed: NDArray[np.bool_]) -> Floats:
    """Row × count: how far the nearest possible count is."""
    n = allowed.shape[1]
    at = np.where(allowed, np.arange(n), -(10**9))
    before = np.arange(n) - np.maximum.accumulate(at, axis=1)
    at = np.where(allowed, np.arange(n), 10**9)
    after = np.minimum.accumulate(at[:, ::-1], axis=1)[:, ::-1] - np.arange(n)
    return np.minimum(np.minimum(before, after), n).astype(float)


def size_range(release: Release, space: NoisySpace) -> tuple[int, int]:
    """The least and the most records: the same where cells without noise say it.

    Otherwise more than twice as many as the values of any table add up to, which limits nothing.
    """
    largest, start = 0, 0
    noise = release.noise
    low, high = 0, None
    for table in release.layout.tables:
        cells = slice(start, start + len(table.cells))
        start = cells.stop
        rows = space.row_of[cells]
        values = release.low[cells] if noise is None else noise.values[cells]
        values = np.where(values == UNKNOWN, release.low[cells], values)
        largest = max(largest, int(np.maximum(values, 0).sum()))
        if _counts_once(space, rows):
            exact = (release.low[cells] == release.high[cells]) & (rows >= 0)
            if exact[rows >= 0].all():
                low = high = int(release.low[cells][rows >= 0].sum())
    return (low, high) if high is not None else (0, 2 * largest + _BEYOND)


def _counts_once(space: NoisySpace, rows: Whole) -> bool:
    """Whether a table counts every possible record exactly once."""
    inside = np.zeros(space.n_rows, np.int64)
    used = rows[rows >= 0]
    inside[used] += 1
    if (inside > 1).any():
        return False
    if len(used) == 1:
        return bool(space.everything[used[0]])
    total = np.add.reduceat(np.append(inside[space.row] * space.times, 0), space.start[:-1])
    return bool((np.where(np.diff(space.start) > 0, total, 0) == 1).all())


class NoisyChain:
    """One chain."""

    def __init__(self, target: NoisyTarget, *, seed: int, number: int) -> None:
        self.target = target
        self.rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, number])))
        space = target.space
        width = int(np.diff(space.groups.start, axis=1).max(initial=1))
        size = target.least if target.least == target.most else (target.most - _BEYOND) // 2
        self.state = NoisyState(
            np.zeros(target.most + 1, np.int64),
            np.array([size, target.least, target.most], np.int64),
            np.zeros(space.n_rows, np.int64),
            np.zeros_like(target.score),
            np.zeros((space.most_times, space.n_rows)),
            np.zeros(max(width, _AMONG)),
            np.zeros(_AMONG, np.int64),
        )
        self.draw()

    @property
    def types(self) -> Whole:
        """The types of the records there are."""
        return self.state.types[: self.state.size[0]]

    def draw(self) -> None:
        """Forget the records and draw others from the prior."""
        for at, wanted in enumerate(self.rng.random(len(self.types)).tolist()):
            self.types[at] = any_type(wanted, self.target.rows)
        self.count()

    def count(self) -> None:
        """The counts of all rows."""
        space = self.target.space
        self.state.counts[:] = 0
        for one in self.types.tolist():
            mine = slice(int(space.start[one]), int(space.start[one + 1]))
            np.add.at(self.state.counts, space.row[mine], space.times[mine])

    def use(self, score: Floats) -> None:
        """Sample with these scores of counts from now on."""
        self.state.score[:] = score
        every = np.arange(len(score))
        for more in range(len(self.state.gain)):
            after = np.minimum(self.state.counts + more + 1, score.shape[1] - 1)
            self.state.gain[more] = score[every, after] - score[every, self.state.counts]

    def anneal(self, per_record: int) -> None:
        """Come from a random dataset to a likely one."""
        final = self.target.scores(1.0, IMPOSSIBLE)
        for attempt in range(_TRIES):
            self.draw()
            for share, cost in _STAGES:
                self.use(self.target.scores(share, cost))
                self.step(per_record * 2**attempt)
            self.use(final)
            self.step(per_record)
            if self.possible:
                return
        raise Undecided("no dataset was found that all noisy counts can come from")

    @property
    def possible(self) -> bool:
        """Whether every count can have been published as it was."""
        return bool(self.target.allowed[np.arange(len(self.state.counts)), self.state.counts].all())

    def step(self, per_record: int) -> None:
        """Many moves."""
        target, space = self.target, self.target.space
        uniform = self.rng.random(PER_MOVE * per_record * max(1, len(self.types)))
        known = target.least == target.most
        noisy_moves(uniform, target.rows, space.groups, space.keys, self.state, known)
        moves = per_record * len(self.types) // _RARER
        new_records(self.rng.random((_AMONG + 1) * moves), target.rows, self.state)


def run_noisy_chains(target: NoisyTarget, plan: ChainPlan, *, seed: int) -> NDArray[np.int32]:
    """Chain × draw × record: types; where there are fewer records, the number of types stands for none."""
    universe = target.space.universe
    drawn = np.full((plan.chains, plan.draws, max(target.most, 1)), len(universe), np.int32)
    if target.most == 0:
        return drawn
    chains = [NoisyChain(target, seed=seed, number=number) for number in range(plan.chains)]
    for chain in chains:
        chain.anneal(plan.per_record)
        for _ in range(plan.burn_in):
            chain.step(plan.per_record)
    for attempt in range(plan.longer + 1):
        kept = thinned(drawn) if attempt else 0
        drawn[:, kept:] = len(universe)
        for number, chain in enumerate(chains):
            for at in range(kept, plan.draws):
                chain.step(plan.per_record * 2**attempt)
                drawn[number, at, : len(chain.types)] = chain.types
        if attempt == plan.longer or have_mixed(drawn, universe):
            break
    if not all(chain.possible for chain in chains):
        raise AssertionError("a chain came to a dataset that no noise explains")
    longest = int((drawn < len(universe)).sum(axis=2).max(initial=0))
    return drawn[:, :, : max(longest, 1)]
