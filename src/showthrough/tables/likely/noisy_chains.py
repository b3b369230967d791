"""Chains through the datasets of noisy tables, from different first ones that annealing finds.

All record types are arrays for the moves of a chain (:class:`NoisySpace`), made once for all areas.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.cell import UNBOUNDED
from showthrough.errors import ReleaseError, Undecided
from showthrough.noise_law import UNKNOWN, NoisyCounts
from showthrough.release import Layout, Release
from showthrough.tables.likely.chains import ChainPlan, have_mixed, thinned
from showthrough.tables.likely.hashing import PRIME, make_hash_table
from showthrough.tables.likely.noisy_moves import (
    PER_MOVE,
    NoisyState,
    TypeGroups,
    TypeKeys,
    TypeRows,
    any_type,
    new_records,
    noisy_moves,
    shares_of,
)
from showthrough.tables.search.universe import Universe, grow, make_frame

__all__ = [
    "NOISY_PLAN",
    "NoisyChain",
    "NoisySpace",
    "NoisyTarget",
    "noisy_space",
    "run_noisy_chains",
    "scores_of",
    "size_range",
]

#: The most record types.
MOST_TYPES = 2_000_000

#: Sets of columns that are drawn anew together: how many, of how many columns, and how many types may agree
#: in all others on average (as seen from a type).
_SETS, _SET_COLUMNS, _GROUP = 40, 5, 300

#: Types looked at together when cells are compared.
_CHUNK = 4_096

#: The seed of the keys, which nothing that is said depends on.
_SEED = 20_261_117

#: What an impossible count costs for every unit that it is away from possible ones.
IMPOSSIBLE = 1e6

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
class NoisySpace:
    """Record types, the distinct rows that cells have over them, and what moves look up.

    ``row_of`` leads from the release's cells to rows, −1 where a cell says nothing; ``everything`` marks the
    rows that count every record once.
    """

    universe: Universe
    start: Whole
    row: NDArray[np.int32]
    times: NDArray[np.int32]
    row_of: Whole
    n_rows: int
    everything: NDArray[np.bool_]
    groups: TypeGroups
    keys: TypeKeys

    @property
    def most_times(self) -> int:
        """How often a record counts in a row at most."""
        return int(self.times.max(initial=1))


_KEPT: OrderedDict[tuple[int, bytes], tuple[Layout, NoisySpace]] = OrderedDict()


def noisy_space(release: Release) -> NoisySpace:
    """The space of a release; kept for other areas with the same tables and impossible cells."""
    impossible = release.high == 0
    key = id(release.layout), impossible.tobytes()
    if key not in _KEPT:
        _KEPT[key] = release.layout, _make(release)
        while len(_KEPT) > 2:
            _KEPT.popitem(last=False)
    return _KEPT[key][1]


def _make(release: Release) -> NoisySpace:
    frame = make_frame(release.layout)
    universe = grow(frame, release, most=MOST_TYPES)
    if not len(universe):
        raise ReleaseError(
            "no kind of record is possible", remedy="check the rules, and cells published as 0"
        )
    cells = np.flatnonzero(frame.cells_inside & (release.high > 0))
    start, row, times, row_of_used, everything = _rows(universe, cells)
    row_of = np.full(len(release.low), -1, np.int64)
    row_of[cells] = row_of_used
    return NoisySpace(
        universe,
        start,
        row,
        times,
        row_of,
        len(everything),
        everything,
        _groups(universe),
        _keys(universe),
    )


def _rows(
    universe: Universe, cells: Whole
) -> tuple[Whole, NDArray[np.int32], NDArray[np.int32], Whole, NDArray[np.bool_]]:
    """Type by type the rows that it counts in, how often, and the row of every cell."""
    rng = np.random.default_rng(_SEED)
    hashes = np.zeros(len(cells), np.uint64)
    parts: list[tuple[Whole, Whole, Whole]] = []
    everything = np.ones(len(cells), bool)
    for first in range(0, len(universe), _CHUNK):
        some = slice(first, first + _CHUNK)
        member = universe.frame.layout.times_counted(universe.words[some], cells)
        weights = rng.integers(1, 2**63, len(member)).astype(np.uint64)
        at, of = np.nonzero(member)
        number = member[at, of].astype(np.int64)
        hashes += weights @ member.astype(np.uint64)
        everything &= (member == 1).all(axis=0)
        parts.append((at + first, of, number))
    _, example, row_of = np.unique(hashes, return_index=True, return_inverse=True)
    kept = np.zeros(len(cells), bool)
    kept[example] = True
    at, of, number = (np.concatenate([part[k] for part in parts]) for k in range(3))
    chosen = kept[of]
    at, of, number = at[chosen], of[chosen], number[chosen]
    start = np.searchsorted(at, np.arange(len(universe) + 1))
    return start, row_of[of].astype(np.int32), number.astype(np.int32), row_of, everything[example]


def _groups(universe: Universe) -> TypeGroups:
    """Groups of types for some sets of columns: large ones where types are few, smaller ones otherwise."""
    codes, sizes = universe.codes.astype(np.int64), universe.frame.sizes
    n_columns = codes.shape[1]
    found: list[tuple[Whole, Whole, Whole]] = []
    sets = [
        chosen
        for k in range(1, min(_SET_COLUMNS, n_columns) + 1)
        for chosen in itertools.combinations(range(n_columns), k)
    ]
    if len(universe) <= _GROUP:
        sets.append(tuple(range(n_columns)))
    rng = np.random.default_rng(_SEED)
    for at in rng.permutation(len(sets)).tolist():
        if len(found) == _SETS:
            break
        rest = [column for column in range(n_columns) if column not in sets[at]]
        key = np.zeros(len(codes), np.int64)
        for column in rest:
            key = key * sizes[column] + codes[:, column]
        _, group, many = np.unique(key, return_inverse=True, return_counts=True)
        typical = float((many.astype(float) ** 2).sum() / len(codes))
        if 1.2 < typical <= _GROUP:
            order = np.argsort(group, kind="stable")
            found.append((order, group, np.concatenate([[0], np.cumsum(many)])))
    if not found:
        every = np.arange(len(codes))
        found.append((every, every, np.arange(len(codes) + 1)))
    width = max(len(start) for _, _, start in found)
    starts = np.zeros((len(found), width), np.int32)
    for number, (_, _, start) in enumerate(found):
        starts[number, : len(start)] = start
    return TypeGroups(
        np.array([order for order, _, _ in found], np.int32),
        np.array([group for _, group, _ in found], np.int32),
        starts,
    )


def _keys(universe: Universe) -> TypeKeys:
    """A key for each type: a sum of random numbers, one for each value."""
    rng = np.random.default_rng(_SEED + 1)
    codes = universe.codes
    most = PRIME // max(1, codes.shape[1])  # the sum of a record's parts stays below the modulus
    key = np.zeros(len(codes), np.int64)
    parts = np.zeros(codes.shape, np.int64)
    for column, size in enumerate(universe.frame.sizes):
        parts[:, column] = rng.integers(0, most, size)[codes[:, column]]
        key += parts[:, column]
    return TypeKeys(key, parts, *make_hash_table(key))


def scores_of(release: Release, space: NoisySpace, most: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Row × count up to ``most``: the logarithm of the chance of what was published; and which are possible.

    An impossible count costs more the further it is from a possible one.
    """
    counts = np.arange(most + 1)
    score = np.zeros((space.n_rows, most + 1))
    allowed = np.ones((space.n_rows, most + 1), bool)
    seen: set[tuple[int, int, str]] = set()
    noise = release.noise or NoisyCounts(release.low, (), np.full(len(release.low), -1))
    for cell in np.flatnonzero(space.row_of >= 0).tolist():
        row, low, high = int(space.row_of[cell]), int(release.low[cell]), int(release.high[cell])
        law = noise.laws[noise.law_of[cell]] if noise.law_of[cell] >= 0 else None
        value = int(noise.values[cell])
        if law is None or value == UNKNOWN:
            if low > 0 or high < UNBOUNDED:
                allowed[row] &= (counts >= low) & (counts <= high)
            continue
        if law.keyed and (row, value, law.text) in seen:
            continue
        seen.add((row, value, law.text))
        chances = law.log_chances(value, most)
        allowed[row] &= np.isfinite(chances)
        score[row] += np.where(np.isfinite(chances), chances, 0.0)
    if not allowed.any(axis=1).all():
        raise ReleaseError(
            "two cells with the same records were published with values that no count explains",
            remedy="check the values and the law of the noise",
        )
    return score, allowed


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
