"""Reconstruction privacy: whatever a reader estimates about a personal group stays imprecise.

Of n records k have a sensitive value; each keeps it with probability p and otherwise draws one of m
values. The published count O* is then the sum of two binomials, Bin(k, p + (1 − p)/m) and
Bin(n − k, (1 − p)/m), and a reader reconstructs the frequency as (O*/n − (1 − p)/m)/p. :class:`Tails`
computes how likely such an estimate is far from the truth, :class:`ReconstructionPrivacy` whether that is
likely enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from showthrough.errors import InputError, check_type
from showthrough.microdata.groups import Groups
from showthrough.microdata.parameters import check_domain, check_retention, parse_pair
from showthrough.microdata.violations import Bound, ReconstructionCheck

__all__ = [
    "ReconstructionPrivacy",
    "Tails",
    "every_count",
    "largest_counts",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class ReconstructionPrivacy:
    """A frequency estimated from a personal group is off by more than ``error`` with at least ``chance``.

    The error is relative, and overestimates and underestimates count separately: (λ, δ) in the paper.

    Parameters
    ----------
    error : float
        The relative error λ, above 0.
    chance : float
        The probability δ, between 0 and 1.

    Raises
    ------
    InputError
        If one of them is outside these limits.

    Examples
    --------
    >>> promise = ReconstructionPrivacy(0.3, 0.3)
    >>> float(promise.largest_group(0.1, 0.5, 50, bound="chernoff").round())
    642.0
    >>> int(promise.largest_group(0.1, 0.5, 50))
    54
    """

    error: float
    chance: float

    def __post_init__(self) -> None:
        for name, number in (("error", self.error), ("chance", self.chance)):
            check_type(number, Real, name=name, remedy="for example ReconstructionPrivacy(0.3, 0.3)")
        if not (self.error > 0 and math.isfinite(self.error)):
            raise InputError(
                "the relative error must be above 0",
                found=str(self.error),
                remedy="for example 0.3 for 30\xa0%",
            )
        if not 0 < self.chance < 1:
            raise InputError(
                "the chance must be between 0 and 1", found=str(self.chance), remedy="for example 0.3"
            )

    @classmethod
    def parse(cls, text: str) -> ReconstructionPrivacy:
        """From ``error:chance``, as numbers or fractions.

        >>> ReconstructionPrivacy.parse("0.3:0.25")
        ReconstructionPrivacy(error=0.3, chance=0.25)
        """
        return cls(*parse_pair(text, "an error and a chance", example="0.3:0.3"))

    @property
    def is_impossible(self) -> bool:
        """Whether nothing can keep it: an estimate is not too high and too low at the same time."""
        return self.chance > 0.5 and self.error <= 1

    def tails(self, *, retention: float, n_values: int) -> Tails:
        """The chances of an error, for groups published with a retention (1 for raw data)."""
        check_retention(retention, whole=True)
        return Tails(self.error, retention, check_domain(n_values))

    def largest_group(
        self, frequency: ArrayLike, retention: float, n_values: int, *, bound: Bound = "exact"
    ) -> Floats:
        """The size up to which a group with this largest frequency is let pass; infinite for 0.

        ``chernoff`` is the paper's s_g (its equation 10): larger groups surely violate the promise,
        smaller ones may too. ``exact`` is the largest size at which both exact tails are long enough,
        0 if none is; tails jump from count to count, so use :meth:`holds` for a group at hand.
        """
        tails = self.tails(retention=retention, n_values=n_values)
        share = np.asarray(frequency, np.float64)
        if not ((share >= 0) & (share <= 1)).all():
            raise InputError("a frequency must be between 0 and 1", remedy="give shares, not counts")
        if _check_bound(bound) == "chernoff":
            return tails.chernoff_size(self.chance, share)
        return np.where(share > 0, tails.exact_size(self.chance, share), np.inf)

    def holds(
        self,
        count: ArrayLike,
        size: ArrayLike,
        *,
        retention: float,
        n_values: int,
        bound: Bound = "exact",
    ) -> Flags:
        """Whether values with ``count`` records in groups of ``size`` records keep the promise.

        A value that no record has (f = 0) keeps it if an estimate above 0 and one below 0 are likely enough.
        Where ω = λ p f/(p f + (1 − p)/m) is over 1 no estimate can be that far too low, and only the
        upper tail is asked for.
        """
        k, n = np.broadcast_arrays(np.asarray(count, np.int64), np.asarray(size, np.int64))
        if not ((k >= 0) & (k <= n)).all():
            raise InputError("a count must be between 0 and the size of its group")
        tails = self.tails(retention=retention, n_values=n_values)
        if _check_bound(bound) == "exact":
            return tails.reach(self.chance, k.ravel(), n.ravel()).reshape(k.shape)
        return n <= tails.chernoff_size(self.chance, k / np.maximum(n, 1))

    def largest_retention(
        self, count: ArrayLike, size: ArrayLike, *, n_values: int, bound: Bound = "exact"
    ) -> float:
        """The largest retention at which all these values keep the promise; 0 if there is none.

        By the Chernoff bound every smaller retention keeps it too. Exact tails jump, so there the
        retentions 0.999, 0.998, … 0.001 are tried in turn, and smaller ones may fail.

        >>> promise = ReconstructionPrivacy(0.3, 0.3)
        >>> round(promise.largest_retention([64], [642], n_values=50, bound="chernoff"), 3)
        0.501
        """
        counts, sizes = np.broadcast_arrays(np.asarray(count, np.int64), np.asarray(size, np.int64))
        # The bound says nothing about values that no record has.
        asked = counts > 0 if _check_bound(bound) == "chernoff" else sizes > 0
        counts, sizes = counts[asked], sizes[asked]
        m = check_domain(n_values)
        if not len(counts):
            return 1.0
        if bound == "chernoff":
            return min(1.0, float(self._chernoff_retention(counts, sizes, m).min()))
        return self._exact_retention(counts, sizes, m)

    def _chernoff_retention(self, count: Whole, size: Whole, n_values: int) -> Floats:
        # n (λ p f)² ≤ c L (p f + (1 − p)/m) is quadratic in p, with one positive root. The factor c
        # is 2 until ω = 1 and 2 + ω beyond, where (2 + ω)(p f + (1 − p)/m) is again linear in p.
        f, strength = count / size, -math.log(self.chance)
        square = size * (self.error * f) ** 2

        def root(slope: Floats) -> Floats:
            half = strength * slope / 2
            return (half + np.sqrt(half**2 + square * 2 * strength / n_values)) / square

        below = root(2 * (f - 1 / n_values))
        beyond = root(2 * (f - 1 / n_values) + self.error * f)
        edge = 1 / (1 + n_values * f * max(self.error - 1, 0))
        return np.where(below < edge, below, np.maximum(edge, beyond))

    def _exact_retention(self, count: Whole, size: Whole, n_values: int) -> float:
        hardest = 0
        for step in range(999, 0, -1):
            tails = Tails(self.error, step / 1000, n_values)
            # The value that failed last time most likely fails again.
            if not tails.reach(self.chance, count[hardest], size[hardest]).all():
                continue
            held = tails.reach(self.chance, count, size)
            if held.all():
                return step / 1000
            hardest = int(held.argmin())
        return 0.0

    def check(self, groups: Groups, *, retention: float) -> ReconstructionCheck:
        """Which groups violate the promise when published with a retention (1: published as they are).

        The Chernoff bound goes by each group's most frequent value, where it is smallest; the exact
        tails are asked for every value of the domain, those that the group does not have included, as the
        definition of the promise says.

        >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6, 6], [500, 300]])
        >>> found = ReconstructionPrivacy(0.3, 0.3).check(groups, retention=0.5)
        >>> found.violated("exact").tolist(), found.record_rate("chernoff").__round__(3)
        ([False, True], 0.985)
        """
        check_type(groups, Groups, name="groups", remedy="count records with Groups.read")
        group, count = every_count(groups)
        sizes, m = groups.sizes, len(groups.totals)
        held = self.holds(count, sizes[group], retention=retention, n_values=m)
        failed = np.zeros(len(groups), bool)
        failed[group[~held]] = True
        frequency = largest_counts(groups) / np.maximum(sizes, 1)
        return self.result(sizes, frequency, failed, retention=retention, n_values=m)

    def check_sizes(
        self, sizes: ArrayLike, frequency: ArrayLike, *, retention: float, n_values: int
    ) -> ReconstructionCheck:
        """The same where only sizes and largest frequencies are known, as for a finished publication.

        The exact tails are those of the whole number of records next to frequency × size.
        """
        n = np.asarray(sizes, np.int64)
        share = np.asarray(frequency, np.float64)
        failed = ~self.holds(np.rint(share * n), n, retention=retention, n_values=n_values)
        return self.result(n, share, failed, retention=retention, n_values=n_values)

    def certain(
        self, sizes: ArrayLike, *, retention: float, n_values: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which groups of these sizes keep the promise, and which break it, whatever their records are.

        A group keeps it for certain if every count from 0 to its size does. It breaks it for certain if
        a value that it must have does, with a frequency of at least 1/m, or one that it must lack: of fewer
        records than there are values.

        >>> held, broken = ReconstructionPrivacy(0.3, 0.3).certain([1, 12, 900], retention=0.4, n_values=2)
        >>> held.tolist(), broken.tolist()
        ([True, False, False], [False, False, True])
        """
        n = np.asarray(sizes, np.int64)
        tails = self.tails(retention=retention, n_values=n_values)
        distinct, of = np.unique(n, return_inverse=True)
        broken = (distinct > tails.chernoff_size(self.chance, 1 / n_values)) | self.is_impossible
        lacking = (distinct > 0) & (distinct < n_values)
        broken[lacking] |= ~tails.reach(self.chance, np.zeros(lacking.sum(), np.int64), distinct[lacking])
        held = np.zeros(len(distinct), bool)
        for at in np.flatnonzero(~broken & (distinct > 0)).tolist():
            size = int(distinct[at])
            least = -(-size // n_values)
            counts = np.arange(least, size + 1)
            possible = tails.reach(self.chance, counts, np.full(len(counts), size))
            broken[at] = not possible.any()
            if possible.all():
                counts = np.arange(least)
                held[at] = tails.reach(self.chance, counts, np.full(least, size)).all()
        return held[of], broken[of]

    def result(
        self,
        sizes: Whole,
        frequency: Floats,
        failed: Flags,
        *,
        retention: float,
        n_values: int,
        exact_limit: Whole | None = None,
    ) -> ReconstructionCheck:
        """What was found about groups, with the limits of their sizes; ``failed`` by exact tails."""
        tails = self.tails(retention=retention, n_values=n_values)
        limit = tails.chernoff_size(self.chance, frequency)
        if exact_limit is None:
            exact_limit = tails.exact_size(self.chance, frequency)
        return ReconstructionCheck(sizes, frequency, limit, exact_limit, sizes > limit, failed)


def largest_counts(groups: Groups) -> Whole:
    """How many records the most frequent sensitive value of each group has."""
    if not len(groups.totals):
        return np.zeros(len(groups), np.int64)
    return np.asarray(groups.counts.max(axis=1).toarray(), np.int64).ravel()


def every_count(groups: Groups) -> tuple[Whole, Whole]:
    """Each group with each of the different numbers of records that its sensitive values have, 0 included.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6, 6], [5, 0]])
    >>> [found.tolist() for found in every_count(groups)]
    [[0, 1, 1], [6, 5, 0]]
    """
    cells = groups.counts.tocoo()
    there = cells.data > 0
    row, count = cells.row[there].astype(np.int64), cells.data[there]
    occurring = np.bincount(row, minlength=len(groups))
    absent = np.flatnonzero((occurring < len(groups.totals)) & (occurring > 0))
    width = int(count.max(initial=0)) + 1
    first = np.unique(row * width + count, return_index=True)[1]
    kept = np.sort(first)
    return np.concatenate([row[kept], absent]), np.concatenate([count[kept], np.zeros(len(absent), np.int64)])


def _check_bound(bound: str) -> str:
    if bound not in get_args(Bound):
        raise InputError("unknown bound", found=bound, remedy="choose 'chernoff' or 'exact'")
    return bound


#: Thresholds closer than this to a whole number are that number, so rounding decides nothing.
_SLACK = 1e-9
#: Berry–Esseen for sums of unequal terms (Shevtsova 2010): no tail is further than this over the
#: standard deviation from the normal one, because |X − E X|³ ≤ (X − E X)² for an X of 0 or 1.
_BERRY_ESSEEN = 0.56
#: Numbers held at once while tails are summed up.
_BLOCK = 200_000
#: Sizes tried for one frequency; of a longer range (a frequency under about 1/1,000) equal steps.
_MOST_SIZES = 200_000
#: Tails up to which each is computed by itself.
_FEW = 8


@dataclass(frozen=True)
class Tails:
    """The chances that a reconstructed frequency is off by more than ``error``, relative to the truth.

    >>> upper, lower = Tails(0.3, retention=0.5, n_values=50).exact(64, 642)
    >>> upper.round(3).item(), lower.round(3).item()
    (0.016, 0.015)
    """

    error: float
    retention: float
    n_values: int

    @property
    def stray(self) -> float:
        """The chance that a record without the value shows it: (1 − p)/m."""
        return (1 - self.retention) / self.n_values

    def exact(self, count: ArrayLike, size: ArrayLike) -> tuple[Floats, Floats]:
        """Pr[F' > (1 + error) f] and Pr[F' < (1 − error) f] for f = count/size, exactly."""
        k, n = _pairs(count, size)
        centre, reach = self.retention * k + n * self.stray, self.error * self.retention * k
        above = np.floor(centre + reach + _SLACK).astype(np.int64) + 1
        below = np.ceil(centre - reach - _SLACK).astype(np.int64)
        return self._at_least(k, n, above), 1 - self._at_least(k, n, below)

    def reach(self, chance: float, count: ArrayLike, size: ArrayLike) -> NDArray[np.bool_]:
        """Whether both exact tails are at least ``chance``.

        Where even an error of 100 % upwards cannot be matched downwards (ω > 1 in the paper's terms)
        only the upper tail is asked for. Most pairs are decided by a bound that leaves no doubt.
        """
        k, n = _pairs(count, size)
        held = np.zeros(k.shape, bool)
        spread = np.sqrt(np.maximum(k * self._kept_variance + (n - k) * self._stray_variance, 1e-300))
        normal = special.ndtr(-self.error * self.retention * k / spread)
        doubt = _BERRY_ESSEEN / spread
        held |= normal - doubt > chance
        open_ = np.flatnonzero(
            ~held & (normal + doubt >= chance) & (n <= self.chernoff_size(chance, k / np.maximum(n, 1)))
        )
        k, n, of = _distinct_pairs(k[open_], n[open_])
        upper, lower = self.exact(k, n)
        one_sided = (self.error - 1) * self.retention * k > n * self.stray
        held[open_] = (np.where(one_sided, upper, np.minimum(upper, lower)) >= chance - 1e-12)[of]
        return held

    def chernoff_size(self, chance: float, frequency: ArrayLike) -> Floats:
        """The paper's s_g: larger groups have a tail under ``chance``, by a Chernoff bound (1.9)."""
        f = np.asarray(frequency, np.float64)
        mean = self.retention * f + self.stray
        off = self.error * self.retention * f
        mean, off = np.where(f > 0, mean, 1.0), np.where(f > 0, off, 1.0)
        # ω = off/mean; beyond ω = 1 only the upper tail's bound exp(−ω²μ/(2 + ω)) applies.
        factor = np.where(off <= mean * (1 + 1e-12), 2.0, 2 + off / mean)
        return np.where(f > 0, -factor * mean * math.log(chance) / off**2, np.inf)

    def exact_size(self, chance: float, frequency: ArrayLike, *, most: int = _MOST_SIZES) -> Whole:
        """The largest size n at which ⌊f n + ½⌋ ≥ 1 records with the value have both tails ≥ ``chance``.

        0 if there is none; of over ``most`` sizes only some are tried, in equal steps. The sizes that hold
        are no interval (counts are whole numbers, so tails jump), so smaller groups may fail and a group
        at hand is to be asked with :meth:`reach`.
        """
        distinct, of = np.unique(np.asarray(frequency, np.float64), return_inverse=True)
        found = np.zeros(len(distinct), np.int64)
        at = int(np.searchsorted(distinct, 0, side="right"))
        while at < len(distinct):
            # Frequencies close to each other ask about the same few counts.
            end = int(np.searchsorted(distinct, 1.1 * distinct[at], side="right"))
            found[at:end] = self._search(chance, distinct[at:end], most)
            at = end
        return found[of].reshape(np.shape(frequency))

    def _search(self, chance: float, frequency: Floats, most: int) -> Whole:
        """The same for ascending frequencies, walking down from a size that fails for all of them."""
        start = int(self._too_large(chance, frequency).max())
        step = 1 + start // most
        found = np.zeros(len(frequency), np.int64)
        for top in range(start, 0, -256 * step):
            sizes = np.arange(top, max(0, top - 256 * step), -step)
            n, k = _cells(sizes, float(frequency[0]), float(frequency[-1]))
            # The frequencies with f n rounding to k lie next to each other.
            low, high = (np.searchsorted(frequency, (k + side) / n) for side in (-0.5, 0.5))
            left = np.concatenate([[0], np.cumsum(found == 0)])
            asked = np.flatnonzero((left[high] > left[low]) & (k > 0))
            held = asked[self.reach(chance, k[asked], n[asked])]
            for size, first, end in zip(n[held].tolist(), low[held], high[held], strict=True):
                part = found[first:end]
                part[part == 0] = size
            if found.all():
                break
        return found

    def _too_large(self, chance: float, frequency: Floats) -> Whole:
        """A size from which on every group of about this frequency fails, by a bound for each."""
        f, p = np.maximum(frequency, 1e-300), self.retention
        # k = round(f n) ≥ f n − ½ in n (error p k/n)² ≤ c L (p k/n + (1 − p)/m) is quadratic in n.
        strength = -max(2.0, 2 + self.error if self.error > 1 else 0.0) * math.log(chance)
        square = (self.error * p * f) ** 2
        linear = (self.error * p) ** 2 * f + strength * (p * f + self.stray)
        rest = (self.error * p) ** 2 / 4 + strength * p / 2
        root = (linear + np.sqrt(np.maximum(linear**2 - 4 * square * rest, 0))) / (2 * square)
        low, high = np.ones(len(f)), np.minimum(root + 2, 2.0**52)
        for _ in range(60):
            middle = np.floor((low + high) / 2)
            fails = self._surely_fails(chance, f, middle)
            low, high = np.where(fails, low, middle), np.where(fails, middle, high)
        return np.ceil(high).astype(np.int64) + 1

    def _surely_fails(self, chance: float, f: Floats, n: Floats) -> NDArray[np.bool_]:
        # The Berry–Esseen test of reach(), at the k within ½ of f n that is hardest to rule out.
        kept, stray = self._kept_variance, self._stray_variance
        variance, play = n * (f * kept + (1 - f) * stray), abs(kept - stray) / 2
        narrow, wide = np.sqrt(np.maximum(variance - play, 1e-300)), np.sqrt(variance + play + 1e-300)
        off = self.error * self.retention * np.maximum(f * n - 0.5, 0)
        return special.ndtr(-off / wide) + _BERRY_ESSEEN / narrow < chance

    @property
    def _kept_variance(self) -> float:
        shown = self.retention + self.stray
        return shown * (1 - shown)

    @property
    def _stray_variance(self) -> float:
        return self.stray * (1 - self.stray)

    def _at_least(self, count: Whole, size: Whole, least: Whole) -> Floats:
        """Pr[O* ≥ least], summed over how many of the ``count`` records show their value."""
        chances = np.empty(len(count))
        by_count = np.argsort(count, kind="stable")
        shown = self.retention + self.stray
        top, width = _range(count[by_count], shown)
        for rows in _parts(width):
            part, number = by_count[rows], int(width[rows].max())
            chance = _chances_down(count[part], shown, top[rows], number)
            first = least[part] - top[rows] + number - 1
            tails = _tails_down(size[part] - count[part], self.stray, first, number)
            chances[part] = np.einsum("ij,ij->i", chance, tails[:, ::-1])
        return chances


def _pairs(count: ArrayLike, size: ArrayLike) -> tuple[Whole, Whole]:
    k, n = np.broadcast_arrays(np.atleast_1d(np.asarray(count, np.int64)), np.asarray(size, np.int64))
    return k, n


def _distinct_pairs(count: Whole, size: Whole) -> tuple[Whole, Whole, Whole]:
    """Each pair that occurs once, and where to find each."""
    width = int(count.max(initial=0)) + 1
    keys, of = np.unique(size * width + count, return_inverse=True)
    return keys % width, keys // width, of


def _cells(sizes: Whole, lowest: float, highest: float) -> tuple[Whole, Whole]:
    """Every size with every count that frequencies from ``lowest`` to ``highest`` round to."""
    first = np.floor(lowest * sizes + 0.5).astype(np.int64)
    number = np.floor(highest * sizes + 0.5).astype(np.int64) - first + 1
    start = np.repeat(np.cumsum(number) - number, number)
    return np.repeat(sizes, number), np.repeat(first, number) + np.arange(len(start)) - start


def _range(n: Whole, share: float) -> tuple[Whole, Whole]:
    """The largest number Bin(n, share) takes, and how many, without the outermost 2 exp(−40) (Hoeffding)."""
    reach = np.ceil(np.sqrt(20 * n)).astype(np.int64)
    top = np.minimum(n, np.ceil(n * share).astype(np.int64) + reach)
    return top, top + 1 - np.maximum(0, np.floor(n * share).astype(np.int64) - reach)


def _parts(width: Whole) -> Iterator[slice]:
    """Parts of rows so wide that fit into memory together; rows of a part are about as wide as each other."""
    at = 0
    while at < len(width):
        alike = int(np.searchsorted(width, 1.25 * width[at] + 8, side="right"))
        end = min(max(alike, at + 1), at + max(1, _BLOCK // int(width[at])))
        yield slice(at, end)
        at = end


def _chances_down(n: Whole, share: float, first: Whole, number: int) -> Floats:
    """Pr[Bin(n, share) = first], = first − 1, … for each row: this many of them, which are nearly all."""
    if share >= 1:
        return (first[:, None] - np.arange(number) == n[:, None]).astype(np.float64)
    single = _shape_down(n, share, first, number)
    return single / single.sum(axis=1, keepdims=True)


def _tails_down(n: Whole, share: float, first: Whole, number: int) -> Floats:
    """Pr[Bin(n, share) ≥ first], ≥ first − 1, … for each row: this many of them.

    Only the two ends are incomplete beta functions. Between them chances grow by those of single numbers,
    which together make up the difference of the ends.
    """
    steps = np.arange(number)
    if share <= 0 or number < _FEW:
        return _binomial_at_least(n[:, None], share, first[:, None] - steps)
    ends = _binomial_at_least(n[:, None], share, first[:, None] - steps[[0, -1]])
    grown = np.zeros((len(n), number))
    np.cumsum(_shape_down(n, share, first - 1, number - 1), axis=1, out=grown[:, 1:])
    whole = np.maximum(grown[:, -1:], 1e-300)
    return ends[:, :1] + grown * ((ends[:, 1:] - ends[:, :1]) / whole)


def _shape_down(n: Whole, share: float, first: Whole, number: int) -> Floats:
    """Pr[Bin(n, share) = first], = first − 1, … up to a factor for each row, from their ratios."""
    at = first[:, None] - np.arange(number)
    outside = (at < 0) | (at > n[:, None])
    odds = at / np.maximum(n[:, None] - at + 1, 1) * ((1 - share) / share)
    odds[outside | (at == 0)] = 1
    height = np.zeros(at.shape)
    np.cumsum(np.log(odds[:, :-1]), axis=1, out=height[:, 1:])
    height[outside] = -np.inf
    top = height.max(axis=1, keepdims=True)
    return np.exp(height - np.where(np.isfinite(top), top, 0))


def _binomial_at_least(n: Whole, share: float, least: Whole) -> Floats:
    inside = special.betainc(np.maximum(least, 1), np.maximum(n - least + 1, 1), share)
    return np.where(least <= 0, 1.0, np.where(least > n, 0.0, inside))
