"""Chains through the datasets that agree with a release, from different first ones.

Also whether chains agree with each other, and how exact their averages are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.likely.chain_moves import (
    MOST_ROWS,
    PER_DETOUR,
    PER_PAIR,
    DetourRoom,
    Intervals,
    detours,
    draw_types,
    pair_moves,
)
from showthrough.tables.likely.space import Space
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.solver import Solution, find_counts, integral
from showthrough.tables.search.universe import Universe

__all__ = [
    "MOST_RHAT",
    "Averages",
    "Chain",
    "ChainPlan",
    "average",
    "first_worlds",
    "have_mixed",
    "run_chains",
    "split_rhat",
    "thinned",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: What chains disagree on more than this is withheld.
MOST_RHAT = 1.05

#: Nominal coverage of intervals.
COVERAGE = 0.95

#: Least number of draws in a batch.
_BATCH = 4


@dataclass(frozen=True)
class ChainPlan:
    """How long chains run: counted, not timed.

    Attributes
    ----------
    chains
        How many chains.
    draws
        Datasets that are kept of each.
    burn_in
        Steps before the first of them.
    per_record
        Pair moves in a step for every record; there are a quarter as many detours, which take longer but
        reach what pair moves do not.
    longer
        How many times chains that have not mixed go on for as long again. For noisy tables every second
        dataset is kept then, with twice as many steps between two.
    worlds, search
        Datasets up to which all are listed instead, and steps that the search for them may take.
    """

    chains: int = 8
    draws: int = 160
    burn_in: int = 30
    per_record: int = 12
    longer: int = 2
    worlds: int = 4_000
    search: int = 60_000

    def scaled(self, effort: float) -> ChainPlan:
        """With a factor on the work."""
        if effort == 1:
            return self
        return ChainPlan(
            self.chains,
            max(20, round(self.draws * effort)),
            max(5, round(self.burn_in * effort)),
            self.per_record,
            self.longer,
            max(100, round(self.worlds * effort)),
            max(1000, round(self.search * effort)),
        )


class Chain:
    """One chain; ``world`` holds its records' classes, ``types`` their types."""

    def __init__(self, space: Space, start: Whole, *, seed: int, number: int) -> None:
        self.space = space
        self.rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, number])))
        self.world = start.astype(np.int64)
        self.types = np.zeros(len(start), np.int64)
        loose, low, high = space.loose
        self.intervals = Intervals(loose, loose[:, self.world].sum(axis=1), low, high)
        self.memo = space.memo
        n = len(start)
        self.room = DetourRoom(
            np.zeros(len(space.row_count), np.int64),
            np.zeros(MOST_ROWS, np.int64),
            np.zeros(n, np.int64),
            np.zeros((n * n // 2 + 1, 3), np.int64),
            np.zeros(n * n // 2 + 1),
            np.zeros(4, np.int64),
            np.zeros(4, np.int64),
            np.zeros(n, np.int64),
        )

    def step(self, per_record: int) -> None:
        """Many pair moves, types drawn within classes, and a quarter as many detours."""
        n = len(self.world)
        pairs = per_record * n if n > 1 else 0
        away = (per_record * n + 3) // 4 if n > 2 and self.space.parts.shape[1] > 1 else 0
        uniform = self.rng.random(PER_PAIR * pairs + n + PER_DETOUR * away)
        self.pairs(uniform[: PER_PAIR * pairs])
        self.draw(uniform[PER_PAIR * pairs : PER_PAIR * pairs + n])
        self.detours(uniform[PER_PAIR * pairs + n :])

    def pairs(self, uniform: Floats) -> None:
        """Pair moves, as many as there are random numbers for."""
        pair_moves(self.world, uniform, self.space.kinds, self.memo, self.intervals)

    def draw(self, uniform: Floats) -> None:
        """A type for every record, within its class."""
        draw_types(self.world, uniform, self.space.class_start, self.space.type_sum, self.types)

    def detours(self, uniform: Floats) -> None:
        """Detours, as many as there are random numbers for."""
        space = self.space
        detours(self.types, uniform, space.exchanges, space.cells, self.room, self.intervals)
        self.world[:] = space.class_of[self.types]

    def check(self) -> None:
        """Raise if the dataset does not agree with the release: moves keep whatever sums there are."""
        if not self.space.system.allows(self.space.counts_of(self.world)):
            raise AssertionError("a chain left the datasets that agree with the release")


def run_chains(space: Space, starts: list[Whole], plan: ChainPlan, *, seed: int) -> NDArray[np.int32]:
    """Chain × draw × record: types, as the system numbers them."""
    chains = [Chain(space, start, seed=seed, number=number) for number, start in enumerate(starts)]
    for chain in chains:
        for _ in range(plan.burn_in):
            chain.step(plan.per_record)
    drawn = np.zeros((len(chains), 0, space.n_records), np.int32)
    for attempt in range(plan.longer + 1):
        further = np.zeros((len(chains), max(plan.draws, drawn.shape[1]), space.n_records), np.int32)
        for number, chain in enumerate(chains):
            for at in range(further.shape[1]):
                chain.step(plan.per_record)
                further[number, at] = chain.types
        drawn = np.concatenate([drawn, further], axis=1)
        if attempt == plan.longer or have_mixed(space.type_at[drawn], space.system.universe):
            break
    for chain in chains:
        chain.check()
    return space.type_at[drawn].astype(np.int32)


def thinned(drawn: NDArray[np.int32]) -> int:
    """Keep every second draw at the beginning, in place; how many these are."""
    kept = drawn.shape[1] // 2
    drawn[:, :kept] = drawn[:, 1 : 2 * kept : 2].copy()
    return kept


#: Chains have mixed where this share of the counts of pairs of values looks alike in all of them.
_ALIKE = 0.995


def have_mixed(drawn: NDArray[np.integer], universe: Universe) -> bool:
    """Whether the counts of pairs of values look alike in all chains; draws are types of a universe.

    The number of types stands for no record.
    """
    none = np.array(universe.frame.sizes, np.int64)[None, :]
    codes = np.concatenate([universe.codes.astype(np.int64), none])[drawn]  # chain, draw, record, column
    sizes = none[0] + 1
    n_alike = n_all = 0
    for one in range(len(sizes)):
        for other in range(one):
            counts = count_keys(codes[..., one] * sizes[other] + codes[..., other], sizes[one] * sizes[other])
            rhat = split_rhat(counts[counts.any(axis=(1, 2))])
            n_alike += int((rhat <= MOST_RHAT).sum())
            n_all += len(rhat)
    return n_alike >= _ALIKE * n_all


def count_keys(keys: Whole, size: int) -> NDArray[np.floating]:
    """Key × chain × draw: how many records have each key."""
    chains, draws, _ = keys.shape
    at = np.arange(chains * draws).reshape(chains, draws, 1) * size
    counts = np.bincount((keys + at).ravel(), minlength=chains * draws * size)
    return np.ascontiguousarray(counts.reshape(chains, draws, size).transpose(2, 0, 1)).astype(np.float32)


#: How many different first worlds are looked for at most, with how many tries for each, and how large
#: random prices of classes are.
_STARTS, _TRIES, _PRICE = 4, 2, 1000


def first_worlds(decider: Decider, n: int, *, seed: int) -> list[Whole]:
    """Class counts of n datasets found by solvers with random prices; none of them is the truth's doing.

    Where solvers find fewer different ones, some occur more than once.
    """
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, 2**31])))
    found: dict[bytes, Whole] = {}
    for _ in range(_TRIES * _STARTS):
        if len(found) == min(n, _STARTS):
            break
        counts = _solved(decider, rng)
        if counts is not None:
            found.setdefault(counts.tobytes(), counts)
    worlds = list(found.values()) or [decider.class_counts(decider.pool[0])]
    return [worlds[at % len(worlds)] for at in range(n)]


def _solved(decider: Decider, rng: np.random.Generator) -> Whole | None:
    """A dataset that some random prices make cheap."""
    system = decider.system
    price = rng.integers(-_PRICE, _PRICE, system.n_classes)
    solver_seed = int(rng.integers(2**31))
    solution = decider.program.minimise(price)
    if not isinstance(solution, Solution):
        return None
    point = integral(system, solution.point)
    if point is not None:
        return point
    hint = np.rint(solution.point).astype(np.int64)
    counts = find_counts(system, hint=hint, seed=solver_seed, effort=decider.effort.solver)
    return counts if isinstance(counts, np.ndarray) else None


@dataclass(frozen=True, eq=False)
class Averages:
    """Means over chains with intervals, effective numbers of draws, R̂, and what every draw has in common."""

    mean: Floats
    low: Floats
    high: Floats
    ess: Floats
    rhat: Floats
    always: NDArray[np.bool_]


def split_rhat(series: NDArray[np.floating]) -> Floats:
    """R̂ of series (statistic × chain × draw), every chain split into halves.

    1 where nothing varies at all, infinite where chains differ but none varies.
    """
    half = series.shape[2] // 2
    parts = np.concatenate([series[:, :, :half], series[:, :, -half:]], axis=1)
    within = parts.var(axis=2, ddof=1).mean(axis=1)
    between = parts.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.sqrt((half - 1) / half + between / within)
    return np.where(within > 0, found, np.where(between > 1e-12, np.inf, 1.0))


def average(series: NDArray[np.floating]) -> Averages:
    """Means of series (statistic × chain × draw) with t intervals between chains.

    The effective number of draws compares the variance of one draw with that of means of batches.
    """
    n_series, chains, _ = series.shape
    if not n_series:
        none = np.zeros(0)
        return Averages(none, none, none, none, none, np.zeros(0, bool))
    from scipy.special import stdtrit  # SciPy's stats would take a second to load

    constant = np.ptp(series, axis=(1, 2)) == 0
    means = series.mean(axis=2, dtype=np.float64)
    means[constant] = series[constant, 0, 0][:, None]  # without errors of rounding
    mean = means.mean(axis=1)
    mean[constant] = series[constant, 0, 0]
    reach = float(stdtrit(chains - 1, 0.5 + COVERAGE / 2)) / np.sqrt(chains)
    half = np.where(constant, 0.0, reach * means.std(axis=1, ddof=1))
    always = np.asarray((series >= 1).all(axis=(1, 2)))
    ess = np.where(constant, float(series.shape[1] * series.shape[2]), _effective(series, mean))
    rhat = np.where(constant, 1.0, split_rhat(series))
    return Averages(mean, mean - half, mean + half, ess, rhat, always)


def _effective(series: NDArray[np.floating], mean: Floats) -> Floats:
    """Effective draws of each series, at most as many as there are."""
    n_series, chains, draws = series.shape
    size = max(_BATCH, int(np.sqrt(draws)))
    n_batches = draws // size
    used = series[:, :, : n_batches * size].reshape(n_series, chains * n_batches, size)
    batches = used.mean(axis=2, dtype=np.float64)
    spread = ((batches - mean[:, None]) ** 2).sum(axis=1) / max(chains * n_batches - 1, 1)
    variance = ((series - mean[:, None, None]) ** 2).mean(axis=(1, 2), dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = chains * draws * variance / (size * spread)
    return np.where(spread > 0, np.minimum(found, chains * draws), chains * draws)
