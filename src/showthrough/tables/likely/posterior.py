"""The distribution of datasets that agree with a release: all of them, or draws from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from showthrough.errors import Undecided
from showthrough.packing import pack
from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.audit import area_seed, check_release, start_decider
from showthrough.tables.likely.chains import ChainPlan, first_worlds, run_chains
from showthrough.tables.likely.mixing import Averages, average
from showthrough.tables.likely.prior import Prior, check_prior
from showthrough.tables.likely.space import Space, make_space
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.questions import VERIFIED, Answers, Asked
from showthrough.tables.search.ranges import range_of

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
class Posterior:
    """Datasets with their weights; types are numbered as in the universe of the decider's system.

    ``draws`` is chain × draw × record. Where all datasets are listed, ``worlds`` holds their records'
    classes and ``weight`` their probabilities, and the draws are independent.
    """

    release: Release
    prior: Prior
    decider: Decider
    space: Space
    draws: NDArray[np.int32]
    worlds: NDArray[np.int32] | None = None
    weight: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def exact(self) -> bool:
        """Whether all datasets are listed, so that probabilities have no sampling error."""
        return self.worlds is not None

    @property
    def n_records(self) -> int:
        """The number of records, which is the same in all datasets."""
        return self.space.n_records

    @cached_property
    def codes(self) -> Whole:
        """Chain × draw × record × column."""
        return self.decider.system.universe.codes[self.draws].astype(np.int64)

    def mask(self, selection: Selection) -> Mask:
        """Which types match a selection."""
        return self.decider.system.mask(selection.terms)

    def claims(self, masks: Mask, counts: Whole) -> Averages:
        """For masks over types the probability that exactly so many records match."""
        if self.worlds is not None:
            return _certain(self._exactly(masks, counts))
        return self._sampled([self._hits(masks, counts, at) for at in self._chunks(len(masks))])

    def shares(self, given: Mask, both: Mask) -> Averages:
        """For pairs of masks the probability that a record that matches the first matches the second."""
        if self.worlds is not None:
            share = self._shares
            above, below = both @ share, given @ share
            return _certain(np.divide(above, below, out=np.zeros(len(above)), where=below > 0))
        parts = [self._linear(given, both, at) for at in self._chunks(len(given))]
        return self._sampled(parts)

    def certain(self, found: Averages, masks: Mask, counts: Whole) -> Mask:
        """Which statements hold in every dataset: those of all draws that can be proved.

        Each says that exactly so many records match a mask.
        """
        certain = found.always.copy()
        which = np.flatnonzero(certain)
        if not self.exact and len(which):
            answers = Answers.open(pack(masks[which]), counts[which])
            self.decider.prove(Asked(answers, *self.decider.system.spread(masks[which])))
            certain[which] = answers.state == VERIFIED
        return certain

    def expected(self, masks: Mask) -> Floats:
        """The expected number of records that match each mask."""
        return masks @ self._shares

    @cached_property
    def _shares(self) -> Floats:
        """The expected number of records of each type."""
        size = len(self.decider.system.universe)
        if self.worlds is None:
            return np.bincount(self.draws.ravel(), minlength=size) / (self.draws.size / self.n_records)
        n_classes = len(self.space.class_at)
        times = np.repeat(self.weight, self.n_records)
        of_class = np.bincount(self.worlds.ravel(), times, n_classes)
        own = self.space.chance / self.space.class_chance[self.space.class_of]
        found = np.zeros(size)
        found[self.space.type_at] = own * of_class[self.space.class_of]
        return found

    def _chunks(self, n: int) -> list[slice]:
        step = max(1, _MOST_ENTRIES // max(self.draws.size, 1))
        return [slice(start, start + step) for start in range(0, n, step)]

    def _hits(self, masks: Mask, counts: Whole, at: slice) -> NDArray[np.float32]:
        return (self._counts(masks[at]) == counts[at, None, None]).astype(np.float32)

    def _counts(self, masks: Mask) -> NDArray[np.int32]:
        """Mask × chain × draw: how many records match."""
        found = np.zeros((len(masks), *self.draws.shape[:2]), np.int32)
        for record in range(self.n_records):
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

    def _exactly(self, masks: Mask, counts: Whole) -> Floats:
        """For each mask the probability of its count, over all datasets and the types in their classes."""
        space = self.space
        inside = masks[:, space.type_at] * space.chance
        share = np.add.reduceat(inside, space.class_start[:-1], axis=1) / space.class_chance
        share = np.where(share > 1 - 1e-12, 1.0, np.where(share < 1e-15, 0.0, share))
        found = np.zeros(len(masks))
        for at in range(len(masks)):
            found[at] = self._weight_of(share[at], int(counts[at]))
        return found

    def _weight_of(self, share: Floats, count: int) -> float:
        """The weight of datasets with a count, given the share of each class that matches."""
        each = share[self.worlds]
        if not ((share > 0) & (share < 1)).any():
            return float(self.weight[np.rint(each.sum(axis=1)).astype(np.int64) == count].sum())
        chances = np.zeros((len(each), count + 2))
        chances[:, 0] = 1
        for record in range(each.shape[1]):  # the last column takes all larger counts
            one = each[:, record, None]
            moved = chances[:, :-1] * one
            chances[:, :-1] *= 1 - one
            chances[:, 1:] += moved
        return float(self.weight @ chances[:, count])


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

    Raises Contradiction where there is none, and Undecided where the number of records is not known.
    """
    check_release(release)
    check_prior(prior)
    plan = (plan or ChainPlan()).scaled(effort)
    decider = start_decider(release, truth=None, effort=effort, seed=seed)
    n_records = _n_records(decider, release)
    for _ in range(2):
        if decider.wander(3):
            decider.keep(decider.current)
    decider.reduce()
    chance = prior.over(decider.system.universe)
    space = make_space(decider.system, chance, n_records)
    worlds = space.every_world(plan.worlds, plan.search)
    own_seed = area_seed(seed, release.area)
    if worlds is not None:
        return _listed(release, prior, decider, space, worlds, seed=own_seed)
    counts = first_worlds(decider, plan.chains, seed=own_seed)
    draws = run_chains(space, [space.classes_of(one) for one in counts], plan, seed=own_seed)
    return Posterior(release, prior, decider, space, draws)


def _n_records(decider: Decider, release: Release) -> int:
    """The number of records, if the release says it."""
    found = range_of(decider, Selection.of(None))
    if found.high is None or found.low != found.high:
        raise Undecided(
            f"the number of records{f' of {release.area}' if release.area else ''} does not follow from the "
            "tables; a probability needs it: add a table with a total"
        )
    return found.low


def _listed(
    release: Release,
    prior: Prior,
    decider: Decider,
    space: Space,
    worlds: NDArray[np.int32],
    *,
    seed: int,
) -> Posterior:
    """All datasets with their probabilities: that of one order of the records times the number of orders."""
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
    weight /= weight.sum()
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, 2**32])))
    chosen = worlds[rng.choice(len(worlds), _DRAWN, p=weight)]
    starts, sums = space.class_start, space.type_sum
    types = np.zeros(chosen.shape, np.int64)
    wanted = rng.random(chosen.shape)
    for one in np.unique(chosen):
        mine = chosen == one
        part = sums[starts[one] : starts[one + 1]]
        types[mine] = starts[one] + np.minimum(
            np.searchsorted(part, wanted[mine] * part[-1], side="right"), len(part) - 1
        )
    draws = space.type_at[types].astype(np.int32)[None, :, :]
    return Posterior(release, prior, decider, space, draws, worlds, weight)
