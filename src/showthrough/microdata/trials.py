"""How many independent trials a group may have, whatever the shares of its sensitive values are.

Of a group with s records t trials are drawn with replacement: each shows a value of frequency f with
probability q = p f + (1 − p)/m, so a reader sees O ~ Bin(t, q), exactly. The trials are scaled to the s
rows of the group, where O becomes O s/t, rounded up or down at random. A number of trials is *valid* if at
every frequency from 0 to 1 both errors are likely enough, for a reader who counts rows and for one who
counts trials. It depends on published numbers only (s, p, m and the promise), so it reveals nothing.

For one of the counts x that can be published the chance to exceed x grows with f, and x stays the
threshold until (1 + λ) p f + (1 − p)/m passes x/s. So the least chance of all frequencies is one of
finitely many, each at the frequency where that happens: the search is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy

__all__ = [
    "IndependentTrials",
    "TrialPlan",
    "effective_trials",
    "plan_trials",
    "standard_error",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Thresholds closer than this to a whole number are that number, and chances this close to δ reach it.
_SLACK: Final = 1e-9
_EQUAL: Final = 1e-12
#: Berry–Esseen for equal terms (Shevtsova 2011).
_BERRY_ESSEEN: Final = 0.4748
#: No group has more trials than this.
MOST_TRIALS: Final = 20_000
#: Retentions with which large groups could have more trials than this, and than this times the number of
#: values, are not tried: trials grow as the retention falls, but readers gain nothing from it any more.
_ENOUGH: Final = 1_000
_ENOUGH_BY_VALUE: Final = 30
#: Sizes that stand for all while retentions are compared.
_REPRESENTATIVES: Final = 24
#: A retention that can gain no more than 5 % over the best one so far is not tried.
_GAIN: Final = 0.95
#: How many thresholds on each side are looked at first.
_NEAR: Final = 2
#: The retentions that are tried in each decade, in equal steps of about 10 %.
_DIGITS: Final = (
    *(91, 82, 75, 68, 62, 56, 51, 47, 43, 39, 36, 33),
    *(30, 27, 24, 22, 20, 18, 16, 15, 13, 12, 11, 10),
)
#: Numbers held at once.
_BLOCK: Final = 1_000_000


@dataclass(frozen=True, eq=False)
class IndependentTrials:
    """The numbers of trials with which groups keep a promise at every frequency, for one retention.

    >>> limits = IndependentTrials(ReconstructionPrivacy(0.3, 0.3), retention=0.1, n_values=2)
    >>> limits.largest([1, 2, 40, 45_222]).tolist()
    [1, 1, 40, 55]
    >>> upper, lower = limits.tails(55, 45_222)
    >>> upper.round(3).item(), lower.round(3).item()
    (0.301, 0.304)
    """

    promise: ReconstructionPrivacy
    retention: float
    n_values: int
    #: Numbers of trials that were tried already, and whether a reader of trials stays unsure.
    _known: dict[int, bool] = field(default_factory=dict[int, bool], repr=False)

    @property
    def stray(self) -> float:
        """The chance that a trial shows one certain value although another was drawn: (1 − p)/m."""
        return (1 - self.retention) / self.n_values

    @property
    def is_possible(self) -> bool:
        """Whether an estimate can exceed (1 + λ) f even where everybody has the value (f = 1)."""
        return (1 + self.promise.error) * self.retention + self.stray < 1 - _SLACK

    @property
    def most(self) -> int:
        """A number of trials that is not exceeded: above it an error at f = 1 is too unlikely."""
        shown = self.retention + self.stray
        spread = math.sqrt(shown * (1 - shown))
        off = self.promise.error * self.retention / spread
        skew = _BERRY_ESSEEN * (shown**2 + (1 - shown) ** 2) / spread

        def fails(trials: int) -> bool:
            root = math.sqrt(trials)
            return float(special.ndtr(-off * root)) + skew / root < self.promise.chance

        low, high = 0, 1
        while not fails(high) and high < MOST_TRIALS:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if fails(middle) else (middle, high)
        return min(low, MOST_TRIALS)

    def valid(self, trials: ArrayLike, sizes: ArrayLike) -> Flags:
        """Whether groups of these sizes with these numbers of trials keep the promise, at any frequency."""
        t, s = np.broadcast_arrays(np.atleast_1d(np.asarray(trials, np.int64)), np.asarray(sizes, np.int64))
        if not self.is_possible:
            return np.zeros(t.shape, bool)
        fine = (t >= 1) & (t <= s)
        fine[fine] = self._trials_valid(t[fine])
        rows = np.flatnonzero(fine & (t < s))
        upper, lower = self.tails(t[rows], s[rows])
        fine[rows] = np.minimum(upper, lower) >= self.promise.chance - _EQUAL
        return fine

    def largest(self, sizes: ArrayLike) -> Whole:
        """For each size the largest valid number of trials up to it; 0 if there is none."""
        distinct, of = np.unique(np.asarray(sizes, np.int64), return_inverse=True)
        found = np.zeros(len(distinct), np.int64)
        left = np.flatnonzero(distinct > 0) if self.is_possible else np.zeros(0, np.int64)
        tried = np.minimum(distinct, self.most)
        while len(left):
            step = np.arange(max(1, min(64, 256 // len(left))))
            below = tried[left][:, None] - step
            held = self.valid(below.ravel(), np.repeat(distinct[left], len(step))).reshape(below.shape)
            first = held.argmax(axis=1)
            done = held[np.arange(len(left)), first]
            found[left[done]] = below[done, first[done]]
            tried[left] -= len(step)
            left = left[~done & (tried[left] > 0)]
        return found[of].reshape(np.shape(sizes))

    def tails(self, trials: ArrayLike, sizes: ArrayLike) -> tuple[Floats, Floats]:
        """The least chances, over all frequencies, of an estimate from the rows that is too high, or low."""
        t, s = np.broadcast_arrays(np.atleast_1d(np.asarray(trials, np.int64)), np.asarray(sizes, np.int64))
        upper, lower = np.ones(len(t)), np.ones(len(t))
        for part in self._parts(t):
            upper[part], lower[part] = self._least(t[part], s[part])
        return upper, lower

    def hold(self, frequency: ArrayLike, trials: ArrayLike, sizes: ArrayLike) -> Flags:
        """Whether values of these frequencies keep the promise, for readers of rows and of trials."""
        f, t, s = np.broadcast_arrays(
            np.atleast_1d(np.asarray(frequency, np.float64)),
            np.asarray(trials, np.int64),
            np.asarray(sizes, np.int64),
        )
        held = np.ones(len(f), bool)
        for rows in (s, t):
            upper, lower = self._at(f, t, rows)
            # Where (λ − 1) p f ≥ (1 − p)/m no count is small enough, whatever the data.
            one_sided = (self.promise.error - 1) * self.retention * f >= self.stray * (1 - _EQUAL)
            chance = np.where(one_sided, upper, np.minimum(upper, lower))
            held &= chance >= self.promise.chance - _EQUAL
        return held

    def _at(self, f: Floats, t: Whole, s: Whole) -> tuple[Floats, Floats]:
        """The chances of an estimate from ``s`` rows that is too high, or too low, at given frequencies."""
        p, error = self.retention, self.promise.error
        shown = np.clip(p * f + self.stray, 0, 1)
        most = np.floor(s * (self.stray + (1 + error) * p * f) + _SLACK).astype(np.int64)
        least = np.ceil(s * (self.stray + (1 - error) * p * f) - _SLACK).astype(np.int64)
        return _exceeds(t, s, shown, most), 1 - _exceeds(t, s, shown, least - 1)

    def surely_fail(self, trials: ArrayLike) -> Flags:
        """Whether a group with these trials breaks the promise whatever its records are.

        One of its values has a frequency of at least 1/m, and the paper's limit of trials is largest there.
        """
        tails = self.promise.tails(retention=self.retention, n_values=self.n_values)
        limit = (
            0.0 if self.promise.is_impossible else tails.chernoff_size(self.promise.chance, 1 / self.n_values)
        )
        return np.asarray(trials, np.int64) > limit

    def _trials_valid(self, trials: Whole) -> Flags:
        """The same for a reader who counts trials; each number is tried once."""
        distinct, of = np.unique(trials, return_inverse=True)
        fresh = np.array([t for t in distinct.tolist() if t not in self._known], np.int64)
        if len(fresh):
            # Most of those that fail do so next to f = 0 or f = 1.
            held = np.minimum(*self._least(fresh, fresh, near=_NEAR)) >= self.promise.chance - _EQUAL
            held[held] = np.minimum(*self.tails(fresh[held], fresh[held])) >= self.promise.chance - _EQUAL
            self._known.update(zip(fresh.tolist(), held.tolist(), strict=True))
        return np.array([self._known[t] for t in distinct.tolist()], bool)[of]

    def _parts(self, trials: Whole) -> Iterator[slice]:
        """Parts of an array of trials for which all thresholds fit into memory."""
        numbers = np.cumsum(trials * min(1.0, (1 + self.promise.error) * self.retention) + 8)
        at = 0
        while at < len(trials):
            before = numbers[at - 1] if at else 0.0
            end = max(at + 1, int(np.searchsorted(numbers, before + _BLOCK)))
            yield slice(at, end)
            at = end

    def _least(self, t: Whole, s: Whole, *, near: int | None = None) -> tuple[Floats, Floats]:
        error = self.promise.error
        stray = self.stray
        upper = _exceeds(t, s, np.full(len(t), stray), np.floor(s * stray + _SLACK).astype(np.int64))
        lower = self._lower_end(t, s)
        start, pair, shown = self._thresholds(t) if near is None else self._near_ends(t, near)
        for rows in (shown * s[pair] // t[pair], -(-shown * s[pair] // t[pair])):
            chance = self._at_threshold(t[pair], s[pair], rows, 1 + error, above=True)
            upper = np.minimum(upper, np.minimum.reduceat(chance, start))
            if error < 1:
                chance = self._at_threshold(t[pair], s[pair], rows, 1 - error, above=False)
                lower = np.minimum(lower, np.minimum.reduceat(chance, start))
        return upper, lower

    def _thresholds(self, t: Whole) -> tuple[Whole, Whole, Whole]:
        """Numbers of trials that are a threshold at some frequency, from one below to one above."""
        first = np.maximum(np.floor(t * self.stray).astype(np.int64) - 1, 0)
        last = self.stray + (1 + self.promise.error) * self.retention
        number = np.minimum(np.ceil(t * last).astype(np.int64) + 1, t) + 1 - first
        start = np.cumsum(number) - number
        pair = np.repeat(np.arange(len(t)), number)
        return start, pair, np.repeat(first - start, number) + np.arange(len(pair))

    def _near_ends(self, t: Whole, near: int) -> tuple[Whole, Whole, Whole]:
        """A few of them, next to the frequencies 0 and 1."""
        factors = np.array([0, 1 - self.promise.error, 1 + self.promise.error])
        middle = np.floor(t[:, None] * (self.stray + factors * self.retention)).astype(np.int64)
        shown = np.clip(middle[:, :, None] + np.arange(-near, near + 1), 0, t[:, None, None])
        number = shown[0].size if len(t) else 1
        return np.arange(len(t)) * number, np.repeat(np.arange(len(t)), number), shown.ravel()

    def _at_threshold(self, t: Whole, s: Whole, rows: Whole, factor: float, *, above: bool) -> Floats:
        """The chance of an error where factor × p f + (1 − p)/m is rows/s; 1 where no frequency is there."""
        chance = np.ones(len(t))
        more = (rows / s - self.stray) / factor
        inside = np.flatnonzero((more >= -_EQUAL) & (more <= self.retention + _EQUAL))
        shown = np.clip(self.stray + more[inside], 0, 1)
        exceeds = _exceeds(t[inside], s[inside], shown, rows[inside] - (not above))
        chance[inside] = exceeds if above else 1 - exceeds
        return chance

    def _lower_end(self, t: Whole, s: Whole) -> Floats:
        """The chance of an estimate below (1 − λ) f at the largest frequency it is asked for."""
        p, stray, over = self.retention, self.stray, self.promise.error - 1
        if over <= 0:
            least = np.ceil(s * (stray - over * p) - _SLACK).astype(np.int64)
            return 1 - _exceeds(t, s, np.full(len(t), p + stray), least - 1)
        # Where (λ − 1) p f ≥ (1 − p)/m no count is small enough, whatever the data.
        furthest = min(p, stray / over)
        least = np.maximum(1, np.ceil(s * (stray - over * furthest) - _SLACK)).astype(np.int64)
        return 1 - _exceeds(t, s, np.full(len(t), furthest + stray), least - 1)


def _exceeds(trials: Whole, sizes: Whole, shown: Floats, rows: Whole) -> Floats:
    """Pr[more than ``rows`` of the rows show a value] that each trial shows with a chance ``shown``.

    O s/t is rounded at random, so exactly one number of trials, the least with O s/t > rows, exceeds it
    only sometimes.
    """
    least = rows * trials // sizes + 1
    sometimes = np.clip(least * sizes / trials - rows, 0, 1)
    chance = _at_least(trials, shown, least)
    rarely = np.flatnonzero(sometimes < 1)
    always = _at_least(trials[rarely], shown[rarely], least[rarely] + 1)
    chance[rarely] = always + sometimes[rarely] * (chance[rarely] - always)
    return chance


def _at_least(trials: Whole, shown: Floats, least: Whole) -> Floats:
    inside = special.betainc(np.maximum(least, 1), np.maximum(trials - least + 1, 1), shown)
    return np.where(least <= 0, 1.0, np.where(least > trials, 0.0, inside))


@dataclass(frozen=True, eq=False)
class TrialPlan:
    """The retention of a sampled publication and the trials of its groups, from public numbers alone.

    Attributes
    ----------
    retention : float
        The probability with which a trial keeps its value.
    trials : numpy.ndarray
        For each group the number of trials; 0 for a group that has to be left out.
    error : float
        The standard error of a share of one half over all published records; infinite without any.
    """

    retention: float
    trials: Whole
    sizes: Whole
    n_values: int

    @property
    def suppressed(self) -> int:
        """How many records are left out: those of groups for which no number of trials is valid."""
        return int(self.sizes[self.trials == 0].sum())

    @property
    def effective(self) -> float:
        """How many trials of one single group would give shares over all published records as precisely."""
        return effective_trials(self.sizes, self.trials)

    @property
    def error(self) -> float:
        """The standard error of a share of one half over all published records; infinite without any."""
        return standard_error(self.effective, self.retention, self.n_values)


def effective_trials(sizes: Whole, trials: Whole) -> float:
    """(Σ s)²/Σ s²/t over the groups with trials: what all of them are worth for a share over all records.

    >>> effective_trials(np.array([50, 50]), np.array([4, 4]))
    8.0
    """
    s, t = sizes[trials > 0].astype(np.float64), trials[trials > 0]
    return float(s.sum() ** 2 / (s**2 / t).sum()) if len(s) else 0.0


def standard_error(effective: float, retention: float, n_values: int) -> float:
    """The standard error of a share of one half, from this many trials with one retention.

    >>> round(standard_error(100, 0.5, 2), 3)
    0.1
    """
    return math.sqrt(_one_trial(retention, n_values) / effective) if effective else math.inf


def _one_trial(retention: float, n_values: int) -> float:
    """The variance of a share of one half that is estimated from one trial."""
    shown = retention / 2 + (1 - retention) / n_values
    return shown * (1 - shown) / retention**2


def plan_trials(
    sizes: ArrayLike, promise: ReconstructionPrivacy, *, n_values: int, retention: float | None = None
) -> TrialPlan:
    """The best retention (up to a limit) with the largest valid trials of each group.

    Retentions of two digits are compared by the mean squared error of a count of half of all records, of
    which those that are left out remain unknown. Everything follows from the sizes of the groups, the number
    of values and the promise.

    >>> found = plan_trials([12, 300, 45_000], ReconstructionPrivacy(0.3, 0.3), n_values=2)
    >>> found.retention, found.trials.tolist(), found.suppressed
    (0.039, [12, 300, 448], 0)
    """
    n = np.asarray(sizes, np.int64)
    standing, weight = _representatives(n)
    candidates = sorted(
        (_least_loss(limits, standing, weight), -limits.retention, limits)
        for limits in _candidates(promise, n_values, retention, int(n.max(initial=0)))
    )
    best, chosen = math.inf, candidates[0][-1] if candidates else None
    for bound, _, limits in candidates:
        if bound >= _GAIN * best:
            break
        loss = _loss(limits, limits.largest(standing), standing, weight)
        if loss < best:
            best, chosen = loss, limits
    if chosen is None:
        return TrialPlan(retention or 0.5, np.zeros(len(n), np.int64), n, n_values)
    return TrialPlan(chosen.retention, chosen.largest(n), n, n_values)


def _candidates(
    promise: ReconstructionPrivacy, n_values: int, retention: float | None, largest: int
) -> list[IndependentTrials]:
    """Retentions of two digits, downwards from the limit, as long as trials stay few enough."""
    limit = 0.99 if retention is None else retention
    steps = [digits / 10**place for place in (2, 3, 4, 5) for digits in _DIGITS]
    enough = min(MOST_TRIALS - 1, max(_ENOUGH, _ENOUGH_BY_VALUE * n_values))
    found = list[IndependentTrials]()
    for step in dict.fromkeys([limit, *(step for step in steps if step < limit)]):
        limits = IndependentTrials(promise, step, n_values)
        if found and min(limits.most, largest) > enough:
            break
        if limits.is_possible:
            found.append(limits)
    return found


def _representatives(sizes: Whole) -> tuple[Whole, Floats]:
    """A few sizes that stand for all, with the number of groups each stands for."""
    distinct, number = np.unique(sizes[sizes > 0], return_counts=True)
    if len(distinct) <= _REPRESENTATIVES:
        return distinct, number.astype(np.float64)
    # Half of them for equal numbers of groups, half for equal shares of the variance.
    levels = (np.arange(_REPRESENTATIVES // 2) + 0.5) / (_REPRESENTATIVES // 2)
    ranks = [np.cumsum(part) / part.sum() for part in (number, number * distinct.astype(np.float64) ** 2)]
    chosen = np.unique(np.concatenate([np.searchsorted(rank, levels) for rank in ranks]))
    nearest = np.searchsorted(chosen, np.arange(len(distinct)), side="right") - 1
    nearest = np.maximum(nearest, 0)
    squares = np.bincount(nearest, number * distinct.astype(np.float64) ** 2, len(chosen))
    return distinct[chosen], squares / distinct[chosen].astype(np.float64) ** 2


def _loss(limits: IndependentTrials, trials: Whole, sizes: Whole, weight: Floats) -> float:
    """The mean squared error of a count of half of all records; records that are left out count fully."""
    s, used = sizes.astype(np.float64), trials > 0
    noise = (weight * s**2)[used] / trials[used]
    unknown = float((weight * s)[~used].sum())
    return float(noise.sum()) * _one_trial(limits.retention, limits.n_values) + unknown**2


def _least_loss(limits: IndependentTrials, sizes: Whole, weight: Floats) -> float:
    """What a retention cannot do better than: with as many trials as can be, and nothing left out."""
    return _loss(limits, np.minimum(sizes, max(1, limits.most)), sizes, weight)
