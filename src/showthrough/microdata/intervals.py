"""Confidence intervals for numbers of records, with at least the coverage they state.

**One unit.** Of n records k have a value, and O ~ Bin(k, a) + Bin(n − k, b) show it, a > b. O grows with k,
so the k that fit what is seen, with both tails over α/2, lie side by side. As with Clopper and Pearson's
interval, whatever the true k is, each tail fails with a probability of at most α/2. Up to :data:`EXACT`
records the tails are exact.

**Sums of units, and large ones.** The estimate T of the total K is unbiased. Its variance depends on how K
is spread over the units, and V(K) is the largest that any way to spread it allows. K fits if

    |T − K| ≤ z √V(K) + h (½ + max(0.1, z² − 1)/6)

with the largest step h of T: half a step because T moves in steps, and the rest because its skewness is up
to h/√V (the first term of Cornish and Fisher's expansion).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from showthrough.records import number_rows

__all__ = [
    "EXACT",
    "CountSpread",
    "count_interval",
    "share_interval",
    "sum_by",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Records of a unit up to which tails are summed exactly.
EXACT = 1000

#: Numbers held at once while tails are summed.
BLOCK = 1_000_000

#: Ends this close to a whole number are that number.
CLOSE = 1e-9


def count_interval(
    shown: ArrayLike, sizes: ArrayLike, *, own: ArrayLike, other: ArrayLike, level: float = 0.95
) -> tuple[Whole, Whole]:
    """How few and how many of ``sizes`` records may have a value that ``shown`` records show.

    A record with the value shows it with probability ``own``, any other one with ``other``, which is less.
    Fewer than would show it if nobody had it are no better evidence that nobody has it, so the upper end is
    at least as for that number; likewise the lower one. Every number is for itself: for several intervals
    to hold at once, choose a higher level for each.

    >>> [end.tolist() for end in count_interval([0, 30, 60], 60, own=0.75, other=0.25)]
    [[0, 16, 47], [13, 44, 60]]
    """
    o, n, a, b = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (shown, sizes, own, other)))
    first, of = _distinct(o.ravel(), n.ravel(), a.ravel(), b.ravel())
    some, all_ = (part.ravel()[first].astype(np.int64) for part in (o, n))
    units = _Plain(some, all_, a.ravel()[first], b.ravel()[first])
    # As many as show it if everybody has it, and if nobody has.
    every, nobody = np.ceil(units.n * units.own), np.floor(units.n * units.other)
    low, _ = replace(units, shown=np.minimum(units.shown, every).astype(np.int64)).ends(level)
    _, high = replace(units, shown=np.maximum(units.shown, nobody).astype(np.int64)).ends(level)
    return low[of].reshape(o.shape), high[of].reshape(o.shape)


def _distinct(*columns: Floats) -> tuple[Whole, Whole]:
    """The first of equal rows, and to which of these each row is equal."""
    codes = (np.unique(column, return_inverse=True)[1] for column in columns)
    of = number_rows(codes, len(columns[0]))
    return np.unique(of, return_index=True)[1].astype(np.int64), of


def share_interval(
    shown: tuple[ArrayLike, ArrayLike], trials: ArrayLike, level: float
) -> tuple[Floats, Floats]:
    """Clopper and Pearson's interval for the chance that a trial shows a value.

    How many trials show it is known up to its two ends, ``shown``.

    >>> [round(float(end), 4) for end in share_interval((3, 3), 10, 0.95)]
    [0.0667, 0.6525]
    """
    least, most, t = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (*shown, trials)))
    tail = (1 - level) / 2
    low = special.betaincinv(np.maximum(least, 0.5), t - np.minimum(least, t) + 1, tail)
    high = special.betaincinv(np.maximum(most, 0) + 1, np.maximum(t - most, 0.5), 1 - tail)
    return np.where(least <= 0, 0.0, low), np.where(most >= t, 1.0, high)


def margins(level: float) -> tuple[float, float]:
    """How many standard errors, and how many steps, an estimate may be off.

    >>> z, steps = margins(0.95)
    >>> round(z, 2), round(steps, 2)
    (1.96, 0.97)
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    return z, 0.5 + max(0.1, z * z - 1) / 6


@dataclass(frozen=True, eq=False)
class _Plain:
    """Single units: how many records show a value, of how many, and the chances that they do."""

    shown: Whole
    n: Whole
    own: Floats
    other: Floats

    def take(self, at: Whole) -> _Plain:
        return _Plain(self.shown[at], self.n[at], self.own[at], self.other[at])

    def ends(self, level: float) -> tuple[Whole, Whole]:
        """By exact tails where units are small."""
        low, high = self.by_variance(level)
        small = np.flatnonzero(self.n <= EXACT)
        if len(small):
            low[small], high[small] = self.take(small).by_tails(level, low[small], high[small])
        return low, high

    def by_variance(self, level: float) -> tuple[Whole, Whole]:
        """Where |T − k| ≤ z √V(k) + steps; V is linear in k, so the ends are roots of quadratics."""
        p = self.own - self.other
        z, steps = margins(level)
        estimate = (self.shown - self.n * self.other) / p
        base = z**2 * self.n * self.other * (1 - self.other) / p**2
        slope = z**2 * (self.own * (1 - self.own) - self.other * (1 - self.other)) / p**2

        def end(centre: Floats, side: int) -> Floats:
            # (k − centre)² = base + slope k
            half = centre + slope / 2
            return half + side * np.sqrt(np.maximum(half**2 - centre**2 + base, 0))

        centre = estimate - steps / p
        low = np.where(centre <= 0, 0, np.ceil(end(centre, -1) - CLOSE))
        centre = estimate + steps / p
        high = np.where(centre >= self.n, self.n, np.floor(end(centre, 1) + CLOSE))
        low = np.clip(low, 0, self.n).astype(np.int64)
        return low, np.maximum(np.clip(high, 0, self.n).astype(np.int64), low)

    def by_tails(self, level: float, low: Whole, high: Whole) -> tuple[Whole, Whole]:
        """All k with both tails over α/2, searched for from a guess of the ends."""
        tail = (1 - level) / 2

        def reaches(k: Whole, at: Whole) -> Flags:
            return self.take(at).at_least(k) > tail

        def reaches_down(j: Whole, at: Whole) -> Flags:
            units = self.take(at)
            fewer = _Plain(units.shown + 1, units.n, units.own, units.other)
            return 1 - fewer.at_least(units.n - j) > tail

        return _first(reaches, low, self.n), self.n - _first(reaches_down, self.n - high, self.n)

    def at_least(self, k: Whole) -> Floats:
        """Pr[Bin(k, own) + Bin(n − k, other) ≥ shown], summed over the part that varies less."""
        rest = self.n - k
        mine = k * self.own * (1 - self.own) <= rest * self.other * (1 - self.other)
        inner, chance = np.where(mine, k, rest), np.where(mine, self.own, self.other)
        outer, beyond = np.where(mine, rest, k), np.where(mine, self.other, self.own)
        # Beyond 9 standard deviations and 20 there is less than 1e-12 (Bernstein's inequality).
        reach = np.ceil(9 * np.sqrt(inner * chance * (1 - chance)) + 20).astype(np.int64)
        first = np.maximum(0, np.floor(inner * chance).astype(np.int64) - reach)
        width = int(np.minimum(inner - first, 2 * reach).max(initial=0)) + 1
        found = np.empty(len(k))
        rows = max(1, BLOCK // width)
        for start in range(0, len(k), rows):
            part = slice(start, start + rows)
            number = first[part, None] + np.arange(width)
            weight = _chance_of(number, inner[part, None], chance[part, None])
            needed = self.shown[part, None] - number
            found[part] = (weight * _chance_over(needed, outer[part, None], beyond[part, None])).sum(axis=1)
        return found


def _chance_of(number: Whole, n: Whole, share: Floats) -> Floats:
    inside = np.minimum(number, n)
    ways = special.gammaln(n + 1) - special.gammaln(inside + 1) - special.gammaln(n - inside + 1)
    chance = np.exp(ways + special.xlogy(inside, share) + special.xlog1py(n - inside, -share))
    return np.where(number <= n, chance, 0.0)


def _chance_over(least: Whole, n: Whole, share: Floats) -> Floats:
    inside = special.betainc(np.maximum(least, 1), np.maximum(n - least + 1, 1), share)
    return np.where(least <= 0, 1.0, np.where(least > n, 0.0, inside))


def _first(holds: Callable[[Whole, Whole], Flags], guess: Whole, n: Whole) -> Whole:
    """For each unit the smallest k < n that holds, or n; what holds for k holds for all larger ones.

    Steps away from the guess double until they have passed the end, which is then bisected.
    """
    fails, found = np.full(len(n), -1), n.copy()
    k, step = np.clip(guess, 0, np.maximum(n - 1, 0)), np.ones(len(n), np.int64)
    left = np.flatnonzero(n > 0)
    while len(left):
        held = holds(k[left], left)
        found[left[held]], fails[left[~held]] = k[left[held]], k[left[~held]]
        left = left[found[left] - fails[left] > 1]
        low, high = fails[left], found[left]
        middle, near = (low + high) // 2, np.where(low < 0, high - step[left], low + step[left])
        one_end = (low < 0) | (high >= n[left])
        k[left] = np.where(one_end, np.clip(near, low + 1, high - 1), middle)
        step[left] *= 2
    return found


def sum_by(of: Whole, numbers: ArrayLike, number: int) -> Floats:
    return np.asarray(np.bincount(of, np.asarray(numbers, np.float64), number), np.float64)


@dataclass(frozen=True, eq=False)
class CountSpread:
    """The largest variance of an estimate of K that any way to spread K over the units of a cell allows.

    The variance of each unit is at most a base and, for every further record with the value, a slope that
    does not grow: pieces of records with the same slope. The largest sum takes the steepest pieces first.
    """

    n_cells: int
    #: For each cell the variance if no record has the value.
    base: Floats
    #: For each piece its cell, its number of records and the slope of the variance.
    cell: Whole
    records: Floats
    slope: Floats

    def interval(self, estimate: Floats, step: Floats, level: float) -> tuple[Floats, Floats]:
        """For each cell the K that fit its estimate, from the number of its records and its largest step."""
        z, steps = margins(level)
        curve = _Curve.of(self)
        most, more = curve.records, steps * step

        def reach(k: Floats) -> Floats:
            return z * np.sqrt(np.maximum(curve.at(k), 0)) + more

        # k + reach(k) is concave, k − reach(k) convex: beyond their turns both run the wrong way.
        fewest, largest = np.minimum(estimate, most), np.maximum(estimate, 0)
        turn = _largest(lambda k: k + reach(k), most)
        low = _crossing(lambda k: k + reach(k) >= fewest, np.zeros(self.n_cells), turn)
        turn = _largest(lambda k: reach(k) - k, most)
        high = _crossing(lambda k: k - reach(k) > largest, turn, most)
        low = np.where(reach(np.zeros(self.n_cells)) >= fewest, 0, np.ceil(low - 1e-6))
        high = np.where(most - reach(most) <= largest, most, np.floor(high + 1e-6))
        return np.minimum(low, most), np.maximum(np.minimum(low, most), np.clip(high, 0, most))


@dataclass(frozen=True, eq=False)
class _Curve:
    """The variance of each cell as a function of its K: concave, made of straight pieces."""

    records: Floats
    #: Where the pieces of each cell start, all cells one after the other.
    start: Floats
    first: Floats
    variance: Floats
    slope: Floats
    base: Floats

    @classmethod
    def of(cls, spread: CountSpread) -> _Curve:
        order = np.lexsort((-spread.slope, spread.cell))
        cell, records, slope = spread.cell[order], spread.records[order], spread.slope[order]
        of_cell = sum_by(cell, records, spread.n_cells)
        rise = sum_by(cell, records * slope, spread.n_cells)
        before = np.cumsum(of_cell) - of_cell
        start = np.cumsum(records) - records
        variance = np.cumsum(records * slope) - records * slope - (np.cumsum(rise) - rise)[cell]
        return cls(of_cell, start, before, variance, slope, spread.base)

    def at(self, k: Floats) -> Floats:
        if not len(self.start):
            return self.base
        place = self.first + k
        piece = np.maximum(np.searchsorted(self.start, place, side="left") - 1, 0)
        inside = np.where(k > 0, self.variance[piece] + self.slope[piece] * (place - self.start[piece]), 0)
        return self.base + inside


def _largest(function: Callable[[Floats], Floats], most: Floats) -> Floats:
    """Where a concave function is largest, between 0 and the most."""
    low: Floats = np.zeros(len(most))
    high: Floats = most.copy()
    for _ in range(80):
        third: Floats = (high - low) / 3
        rises: Flags = function(low + third) < function(high - third)
        low[rises] += third[rises]
        high[~rises] -= third[~rises]
    return np.where(function(most) >= function((low + high) / 2), most, (low + high) / 2)


def _crossing(holds: Callable[[Floats], Flags], low: Floats, high: Floats) -> Floats:
    """Where something begins to hold, between an end where it does not and one where it does."""
    low, high = low.copy(), high.copy()
    for _ in range(80):
        middle = (low + high) / 2
        good = holds(middle)
        low, high = np.where(good, low, middle), np.where(good, middle, high)
    return high
