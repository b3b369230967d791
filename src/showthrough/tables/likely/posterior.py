"""The distribution of datasets that agree with a release: all of them, or draws from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from showthrough.errors import Undecided
from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.audit import area_seed, check_release, start_decider
from showthrough.tables.likely.certainty import ByDecider, ByRules, Prover
from showthrough.tables.likely.chains import Averages, ChainPlan, average, first_worlds, run_chains
from showthrough.tables.likely.noisy_chains import NOISY_PLAN, NoisyTarget, noisy_space, run_noisy_chains
from showthrough.tables.likely.prior import Prior, check_prior
from showthrough.tables.likely.space import Space, make_space
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.ranges import range_of
from showthrough.tables.search.universe import Universe

__all__ = [
    "Posterior",
    "find_posterior",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: Datasets drawn where all are known, to find what is worth looking at.
_DRAWN = 960

#: Differences that are errors of rounding: counts that are the same in all draws have none.
_ROUNDING = 1e-9

#: Entries of masks × datasets × records looked at together.
_MOST_ENTRIES = 20_000_000


@dataclass(frozen=True, eq=False)
class ListedWorlds:
    """All datasets: their records' classes, and their probabilities."""

    space: Space
    worlds: NDArray[np.int32]
    weight: Floats


@dataclass(frozen=True, eq=False)
class Posterior:
    """Datasets with their weights; types are numbered as in the universe.

    ``draws`` is chain × draw × record; the number of types stands for no record, where datasets differ
    in size. Where all datasets are listed, the draws are independent.
    """

    release: Release
    prior: Prior
    universe: Universe
    draws: NDArray[np.int32]
    prover: Prover
    listed: ListedWorlds | None = None

    @property
    def exact(self) -> bool:
        """Whether all datasets are listed, so that probabilities have no sampling error."""
        return self.listed is not None

    @cached_property
    def most_records(self) -> int:
        """The largest number of records in any draw."""
        return int((self.draws < len(self.universe)).sum(axis=2).max(initial=0))

    @cached_property
    def n_records(self) -> int:
        """The number of records; where datasets differ in it, the mean, rounded."""
        n_draws = self.draws.shape[0] * self.draws.shape[1]
        return round(int((self.draws < len(self.universe)).sum()) / max(n_draws, 1))

    @cached_property
    def codes(self) -> Whole:
        """Chain × draw × record × column; a code too large for its column where there is no record."""
        sizes = np.array(self.universe.frame.sizes, np.int64)[None, :]
        return np.concatenate([self.universe.codes.astype(np.int64), sizes])[self.draws]

    def mask(self, selection: Selection) -> Mask:
        """Which types match a selection."""
        return types_matching(self.universe, selection)

    def claims(self, masks: Mask, counts: Whole) -> Averages:
        """For masks over types the probability that exactly this many records match."""
        if self.listed is not None:
            return _certain(self._exactly(self.listed, masks, counts))
        return self._sampled([self._hits(masks, counts, at) for at in self._chunks(len(masks))])

    def shares(self, given: Mask, both: Mask) -> Averages:
        """For pairs of masks the probability that a record that matches the first matches the second."""
        if self.listed is not None:
            share = self._shares
            above, below = both @ share, given @ share
            return _certain(np.divide(above, below, out=np.zeros(len(above)), where=below > 0))
        parts = [self._linear(given, both, at) for at in self._chunks(len(given))]
        return self._sampled(parts)

    def certain(self, found: Averages, masks: Callable[[Universe, Whole], Mask], counts: Whole) -> Mask:
        """Which statements hold in every dataset: those of all draws that can be proved.

        Each says that exactly this many records match a mask; ``masks`` makes those of some statements over
        the types of any universe.
        """
        certain = found.always.copy()
        which = np.flatnonzero(certain)
        step = max(1, _MOST_ENTRIES // max(len(self.prover.universe), 1))
        for start in range(0, 0 if self.exact else len(which), step):
            some = which[start : start + step]
            certain[some] = self.prover.proved(masks(self.prover.universe, some), counts[some])
        return certain

    def expected(self, masks: Mask) -> Floats:
        """The expected number of records that match each mask."""
        return masks @ self._shares

    @cached_property
    def _shares(self) -> Floats:
        """The expected number of records of each type."""
        size = len(self.universe)
        if self.listed is None:
            n_draws = self.draws.shape[0] * self.draws.shape[1]
            return np.bincount(self.draws.ravel(), minlength=size + 1)[:size] / n_draws
        space, worlds = self.listed.space, self.listed.worlds
        times = np.repeat(self.listed.weight, worlds.shape[1])
        of_class = np.bincount(worlds.ravel(), times, len(space.class_at))
        own = space.chance / space.class_chance[space.class_of]
        found = np.zeros(size)
        found[space.type_at] = own * of_class[space.class_of]
        return found

    def _chunks(self, n: int) -> list[slice]:
        step = max(1, _MOST_ENTRIES // max(self.draws.size, 1))
        return [slice(start, start + step) for start in range(0, n, step)]

    def _hits(self, masks: Mask, counts: Whole, at: slice) -> NDArray[np.float32]:
        return (self._counts(masks[at]) == counts[at, None, None]).astype(np.float32)

    def _counts(self, masks: Mask) -> NDArray[np.int32]:
        """Mask × chain × draw: how many records match."""
        found = np.zeros((len(masks), *self.draws.shape[:2]), np.int32)
        masks = np.concatenate([masks, np.zeros((len(masks), 1), bool)], axis=1)
        for record in range(self.draws.shape[2]):
            found += masks[:, self.draws[:, :, record]]
        return found

    def _linear(self, given: Mask, both: Mask, at: slice) -> NDArray[np.float64]:
        """Ratios of means as series: q plus what each draw adds to its error."""
        below = self._counts(given[at]).astype(np.float64)
        above = self._counts(both[at]).astype(np.float64)
        size = below.mean(axis=(1, 2))[:, None, None]
        size = np.where(size > 0, size, 1)
        q = above.mean(axis=(1, 2))[:, None, None] / size
        error = (above - q * below) / size
        return q + np.where(abs(error) < _ROUNDING, 0.0, error)

    def _sampled(self, parts: list[NDArray[np.float32]] | list[NDArray[np.float64]]) -> Averages:
        """Means over draws, kept away from 0 and 1: no number of draws shows that something is certain."""
        if not parts:
            return average(np.zeros((0, *self.draws.shape[:2])))
        found = [average(part) for part in parts]
        joined = Averages(
            *(np.concatenate([getattr(one, name) for one in found]) for name in Averages.__dataclass_fields__)
        )
        return _kept_inside(joined)

    def _exactly(self, listed: ListedWorlds, masks: Mask, counts: Whole) -> Floats:
        """For each mask the probability of its count, over all datasets and the types in their classes."""
        space = listed.space
        inside = masks[:, space.type_at] * space.chance
        share = np.add.reduceat(inside, space.class_start[:-1], axis=1) / space.class_chance
        share = np.where(share > 1 - 1e-12, 1.0, np.where(share < 1e-15, 0.0, share))
        pairs = zip(share, counts.tolist(), strict=True)
        return np.array([_weight_of(listed, one, count) for one, count in pairs])


def _weight_of(listed: ListedWorlds, share: Floats, count: int) -> float:
    """The weight of datasets with a count, given the share of each class that matches."""
    each = share[listed.worlds]
    if not ((share > 0) & (share < 1)).any():
        return float(listed.weight[np.rint(each.sum(axis=1)).astype(np.int64) == count].sum())
    chances = np.zeros((len(each), count + 2))
    chances[:, 0] = 1
    for record in range(each.shape[1]):  # the last column takes all larger counts
        one = each[:, record, None]
        moved = chances[:, :-1] * one
        chances[:, :-1] *= 1 - one
        chances[:, 1:] += moved
    return float(listed.weight @ chances[:, count])


def types_matching(universe: Universe, selection: Selection) -> Mask:
    """Which types of a universe match a selection."""
    frame = universe.frame
    mask = np.ones(len(universe), bool)
    for name, values in selection.terms:
        attribute = frame.layout.schema[name]
        allowed = np.zeros(len(attribute.values), bool)
        allowed[[attribute.code(value) for value in values]] = True
        mask &= allowed[universe.codes[:, frame.names.index(name)]]
    return mask


def _certain(q: Floats) -> Averages:
    """Probabilities without sampling error."""
    q = np.clip(q, 0, 1)
    return Averages(q, q, q, np.full(len(q), np.inf), np.ones(len(q)), q >= 1 - 1e-12)


def _kept_inside(found: Averages) -> Averages:
    """Averages with the smallest doubt that their effective numbers of draws leave."""
    varying = (found.high > found.low) & np.isfinite(found.rhat)
    ess = found.ess.copy()
    if varying.any():  # a constant series says nothing about how fast chains move
        ess[~varying] = np.minimum(ess[~varying], np.quantile(found.ess[varying], 0.05))
    doubt = 3 / (ess + 3)  # with as many draws, nothing of this probability is missed 95 times in 100
    always, never = found.mean >= 1 - _ROUNDING, found.mean <= _ROUNDING
    mean = np.where(always | never, (found.mean * ess + 0.5) / (ess + 1), found.mean)
    low = np.where(always, 1 - doubt, found.low)
    high = np.where(never, doubt, found.high)
    low, high = np.clip(np.minimum(low, mean), 0, 1), np.clip(np.maximum(high, mean), 0, 1)
    return Averages(mean, low, high, ess, found.rhat, found.always)


def find_posterior(
    release: Release, prior: Prior, *, plan: ChainPlan | None = None, effort: float = 1.0, seed: int = 0
) -> Posterior:
    """The datasets that agree with a release, all of them or a sample, weighted by a prior.

    Noisy tables agree with every dataset that their bounds allow; the law of the noise weights them.

    Raises Contradiction where there is none, and Undecided where the number of records is not known.
    """
    check_release(release)
    check_prior(prior)
    own_seed = area_seed(seed, release.area)
    if release.noise is not None and len(release.noise.laws):
        noisy = (plan or NOISY_PLAN).scaled(effort)
        return _noisy(release, prior, noisy, ByNoise(effort, seed, own_seed))
    plan = (plan or ChainPlan()).scaled(effort)
    decider, space = agreeing(release, prior, effort=effort, seed=seed)
    worlds = space.every_world(plan.worlds, plan.search)
    universe, prover = decider.system.universe, ByDecider(decider)
    if worlds is not None:
        listed = ListedWorlds(space, worlds, _weights(space, worlds))
        draws = _drawn(listed, seed=own_seed)
        return Posterior(release, prior, universe, draws, prover, listed)
    counts = first_worlds(decider, plan.chains, seed=own_seed)
    draws = run_chains(space, [space.classes_of(one) for one in counts], plan, seed=own_seed)
    return Posterior(release, prior, universe, draws, prover)


def agreeing(release: Release, prior: Prior, *, effort: float, seed: int) -> tuple[Decider, Space]:
    """The space of the datasets that agree with a release, and the decider that knows it."""
    decider = start_decider(release, truth=None, effort=effort, seed=seed)
    n_records = _n_records(decider, release)
    for _ in range(2):
        if decider.wander(3):
            decider.keep(decider.current)
    decider.reduce()
    return decider, make_space(decider.system, prior.over(decider.system.universe), n_records)


class ByNoise(NamedTuple):
    """What the search for proofs may do, and the seed of the chains."""

    effort: float
    seed: int
    own_seed: int


def _noisy(release: Release, prior: Prior, plan: ChainPlan, how: ByNoise) -> Posterior:
    """Draws weighted by the law of the noise; of all possible types those that were drawn are kept."""
    space = noisy_space(release)
    every = space.universe
    target = NoisyTarget.of(release, space, prior.over(every))
    drawn = run_noisy_chains(target, plan, seed=how.own_seed)
    seen = np.unique(drawn)
    seen = seen[seen < len(every)]
    number = np.full(len(every) + 1, len(seen), np.int32)
    number[seen] = np.arange(len(seen))
    universe = Universe(every.frame, every.codes[seen], every.words[seen])
    prover = ByRules(release, every, effort=how.effort, seed=how.seed)
    return Posterior(release, prior, universe, number[drawn], prover)


def _n_records(decider: Decider, release: Release) -> int:
    """The number of records, if the release says it."""
    found = range_of(decider, Selection.of(None))
    if found.high is None or found.low != found.high:
        raise Undecided(
            f"the number of records{f' of {release.area}' if release.area else ''} does not follow from the "
            "tables; a probability needs it: add a table with a total"
        )
    return found.low


def _weights(space: Space, worlds: NDArray[np.int32]) -> Floats:
    """The probability of each dataset: that of one order of its records times the number of orders."""
    n = space.n_records
    log = np.log(space.class_chance)[worlds].sum(axis=1) if n else np.zeros(len(worlds))
    ordered = np.sort(worlds, axis=1)
    runs = np.zeros(len(worlds))
    length = np.ones(len(worlds))
    for at in range(1, n):  # Π y! is the product, over records, of their place in their run
        length = np.where(ordered[:, at] == ordered[:, at - 1], length + 1, 1)
        runs += np.log(length)
    log = log + gammaln(n + 1) - runs
    weight = np.exp(log - log.max())
    return weight / weight.sum()


def _drawn(listed: ListedWorlds, *, seed: int) -> NDArray[np.int32]:
    """Independent draws of listed datasets, with types drawn within classes."""
    space = listed.space
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, 2**32])))
    chosen = listed.worlds[rng.choice(len(listed.worlds), _DRAWN, p=listed.weight)]
    starts, sums = space.class_start, space.type_sum
    types = np.zeros(chosen.shape, np.int64)
    wanted = rng.random(chosen.shape)
    for one in np.unique(chosen):
        mine = chosen == one
        part = sums[starts[one] : starts[one + 1]]
        types[mine] = starts[one] + np.minimum(
            np.searchsorted(part, wanted[mine] * part[-1], side="right"), len(part) - 1
        )
    return space.type_at[types].astype(np.int32)[None, :, :]
