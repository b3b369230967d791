"""How surely a perturbed count stays away from the truth: the exact tails, and when they are long enough.

Of n records k have a sensitive value; each keeps it with probability p and draws one of m values
otherwise. The published count O* is then the sum of two binomials, Bin(k, p + (1 − p)/m) and
Bin(n − k, (1 − p)/m), and a reader reconstructs the frequency as (O*/n − (1 − p)/m)/p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

__all__ = ["Tails"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Thresholds closer than this to a whole number are that number, so rounding decides nothing.
_SLACK = 1e-9
#: Berry–Esseen for sums of unequal terms (Shevtsova 2010): no tail is further than this over the
#: standard deviation from the normal one, because |X − E X|³ ≤ (X − E X)² for an X of 0 or 1.
_BERRY_ESSEEN = 0.56
#: Numbers held at once while tails are summed up.
_BLOCK = 2_000_000
#: Sizes tried for one frequency; of a longer range (a frequency under about 1/1,000) equal steps.
_MOST_SIZES = 200_000


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
        """Whether both exact tails are at least ``chance``; true where the count is 0.

        Where even an error of 100 % upwards cannot be matched downwards (ω > 1 in the paper's terms)
        only the upper tail is asked for. Most pairs are decided by a bound that leaves no doubt.
        """
        k, n = _pairs(count, size)
        held = k == 0
        spread = np.sqrt(np.maximum(k * self._kept_variance + (n - k) * self._stray_variance, 1e-300))
        normal = special.ndtr(-self.error * self.retention * k / spread)
        doubt = _BERRY_ESSEEN / spread
        held |= normal - doubt > chance
        open_ = np.flatnonzero(~held & (normal + doubt >= chance) & (n <= self.chernoff_size(chance, k / n)))
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

    def exact_size(self, chance: float, frequency: ArrayLike) -> Whole:
        """The largest size n at which ⌊f n + ½⌋ ≥ 1 records with the value have both tails ≥ ``chance``.

        0 if there is none. The sizes that hold are no interval (counts are whole numbers, so tails
        jump), so smaller groups may fail and a group at hand is to be asked with :meth:`reach`.
        """
        distinct, of = np.unique(np.asarray(frequency, np.float64), return_inverse=True)
        found = np.zeros(len(distinct), np.int64)
        at = int(np.searchsorted(distinct, 0, side="right"))
        while at < len(distinct):
            # Frequencies close to each other ask about the same few counts.
            end = int(np.searchsorted(distinct, 1.1 * distinct[at], side="right"))
            found[at:end] = self._search(chance, distinct[at:end])
            at = end
        return found[of].reshape(np.shape(frequency))

    def _search(self, chance: float, frequency: Floats) -> Whole:
        """The same for ascending frequencies, walking down from a size that fails for all of them."""
        start = int(self._too_large(chance, frequency).max())
        step = 1 + start // _MOST_SIZES
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
        counts, of = np.unique(count, return_inverse=True)
        by_count = np.argsort(of, kind="stable")
        ends = np.searchsorted(of[by_count], np.arange(len(counts) + 1))
        for at, k in enumerate(counts.tolist()):
            shown, probability = _binomial(k, self.retention + self.stray)
            rows = by_count[ends[at] : ends[at + 1]]
            width = max(1, _BLOCK // len(shown))
            for part in np.split(rows, range(width, len(rows), width)):
                needed = least[part, None] - shown
                others = (size[part] - k)[:, None]
                chances[part] = _binomial_at_least(others, self.stray, needed) @ probability
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


def _binomial(n: int, share: float) -> tuple[Whole, Floats]:
    """The numbers Bin(n, share) takes and their chances, without the outermost 2 exp(−40) (Hoeffding)."""
    reach = math.ceil(math.sqrt(20 * n))
    numbers = np.arange(max(0, math.floor(n * share) - reach), min(n, math.ceil(n * share) + reach) + 1)
    ways = special.gammaln(n + 1) - special.gammaln(numbers + 1) - special.gammaln(n - numbers + 1)
    return numbers, np.exp(ways + special.xlogy(numbers, share) + special.xlog1py(n - numbers, -share))


def _binomial_at_least(n: Whole, share: float, least: Whole) -> Floats:
    inside = special.betainc(np.maximum(least, 1), np.maximum(n - least + 1, 1), share)
    return np.where(least <= 0, 1.0, np.where(least > n, 0.0, inside))
