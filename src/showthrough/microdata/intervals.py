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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

__all__ = [
    "EXACT",
    "Spread",
    "Units",
    "count_interval",
    "share_interval",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Records of a unit up to which tails are summed exactly.
EXACT = 1000

#: Numbers held at once while tails are summed.
BLOCK = 1_000_000

#: Straight pieces that stand in for a parabola.
PIECES = 8

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
    cells = np.stack([o.ravel(), n.ravel(), a.ravel(), b.ravel()])
    distinct, of = np.unique(cells, axis=1, return_inverse=True)
    units = _Plain(distinct[0].astype(np.int64), distinct[1].astype(np.int64), distinct[2], distinct[3])
    # As many as show it if everybody has it, and if nobody has.
    every, nobody = np.ceil(units.n * units.own), np.floor(units.n * units.other)
    low, _ = replace(units, shown=np.minimum(units.shown, every).astype(np.int64)).ends(level)
    _, high = replace(units, shown=np.maximum(units.shown, nobody).astype(np.int64)).ends(level)
    return low[of.ravel()].reshape(o.shape), high[of.ravel()].reshape(o.shape)


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
class Units:
    """What units show, each of a cell; of a cell of several units the sum is asked for.

    Units are perturbed with the retention of a sub-table. In a sampled publication they show copies of
    trials, which were drawn with replacement (``independent``) or are the group in small.
    """

    cell: Whole
    table: Whole
    shown: Floats
    sizes: Whole
    retention: Floats
    n_values: Whole
    n_chosen: Floats
    copies: Floats
    independent: bool = False

    def ends(self, n_cells: int, level: float) -> tuple[Floats, Floats]:
        """For each cell how few and how many of its records may have one of the chosen values."""
        every = self.n_chosen >= self.n_values
        known = _sums(self.cell, self.sizes * every, n_cells)
        left = self._take(np.flatnonzero((self.n_chosen > 0) & ~every & (self.sizes > 0)))._pooled()
        number = np.bincount(left.cell, minlength=n_cells)
        alone, together = (np.flatnonzero(choice) for choice in _parted(number[left.cell] == 1))
        low, high = known.copy(), known.copy()
        if len(alone):
            one = left._take(alone)
            ends = one._alone(level)
            low[one.cell] += ends[0]
            high[one.cell] += ends[1]
        if len(together):
            some = left._take(together)
            cells, of = np.unique(some.cell, return_inverse=True)
            ends = some._together(of, len(cells), level)
            low[cells] += ends[0]
            high[cells] += ends[1]
        return low, high

    @property
    def _arrays(self) -> dict[str, Any]:
        return {name: array for name, array in vars(self).items() if name != "independent"}

    def _take(self, at: Whole) -> Units:
        return replace(self, **{name: array[at] for name, array in self._arrays.items()})

    @property
    def _is_plain(self) -> Flags:
        """Whether each record was perturbed by itself."""
        return np.full(len(self.cell), fill_value=not self.independent) & (self.copies <= 1)

    def _pooled(self) -> Units:
        """Records of a cell that were perturbed alike are one unit."""
        plain, other = (np.flatnonzero(choice) for choice in _parted(self._is_plain))
        if len(plain) < 2:
            return self
        key = self.cell[plain] * (int(self.table.max()) + 1) + self.table[plain]
        _, first, of = np.unique(key, return_index=True, return_inverse=True)
        merged, rest = self._take(plain[first]), self._take(other)
        shown = np.bincount(of, self.shown[plain])
        sizes = np.bincount(of, self.sizes[plain]).astype(np.int64)
        merged = replace(merged, shown=shown, sizes=sizes)
        both = {name: np.concatenate([array, rest._arrays[name]]) for name, array in merged._arrays.items()}
        return replace(self, **both)

    @property
    def _own(self) -> Floats:
        return self.retention + self._other

    @property
    def _other(self) -> Floats:
        return self.n_chosen * (1 - self.retention) / self.n_values

    @property
    def _rounded(self) -> Floats:
        """How many values are rounded up or down when trials are scaled."""
        return np.minimum(self.n_chosen, self.n_values - self.n_chosen) * (self.copies > 1)

    def _alone(self, level: float) -> tuple[Floats, Floats]:
        """One unit in each cell."""
        n, c, rounded = self.sizes.astype(np.float64), self.copies, self._rounded
        trials = np.rint(n / c).astype(np.int64)
        # Scaling changes the number of copies by less than 1 for each value.
        least = np.clip(np.ceil((self.shown - rounded) / c - CLOSE), 0, trials)
        most = np.clip(np.floor((self.shown + rounded) / c + CLOSE), least, trials)
        if self.independent:
            every, nobody = np.ceil(trials * self._own), np.floor(trials * self._other)
            known = (np.minimum(least, every), np.maximum(most, nobody))
            ends = share_interval(known, trials, level)
            low, high = (n * (end - self._other) / self.retention for end in ends)
        else:
            low, _ = count_interval(least, trials, own=self._own, other=self._other, level=level)
            _, high = count_interval(most, trials, own=self._own, other=self._other, level=level)
            # So does sampling, with the number of trials.
            low, high = c * (low - rounded), c * (high + rounded)
        low, high = np.clip(np.ceil(low - CLOSE), 0, n), np.clip(np.floor(high + CLOSE), 0, n)
        return np.minimum(low, high), np.maximum(low, high)

    def _together(self, cell: Whole, n_cells: int, level: float) -> tuple[Floats, Floats]:
        """Several units in each cell."""
        p, n = self.retention, self.sizes.astype(np.float64)
        estimate = _sums(cell, (self.shown - n * self._other) / p, n_cells)
        step = np.zeros(n_cells)
        np.maximum.at(step, cell, self.copies / p)
        spread = self._drawn(cell, n_cells) if self.independent else self._kept(cell, n_cells)
        return spread.interval(estimate, step, level)

    def _kept(self, cell: Whole, n_cells: int) -> Spread:
        """Every record with the value adds a(1 − a) to the variance of O, and every other one b(1 − b)."""
        p, c, n = self.retention, self.copies, self.sizes.astype(np.float64)
        scale, without = c / p**2, self._other * (1 - self._other)
        base = scale * n * without + self._rounded / 4 * (c**2 + 1 / p**2)
        slope = scale * (self._own * (1 - self._own) - without)
        return Spread(n_cells, _sums(cell, base, n_cells), cell, n, slope)

    def _drawn(self, cell: Whole, n_cells: int) -> Spread:
        """With q = p k/n + b the variance of O is c n q(1 − q): at most the tangents at some q."""
        p, c, n = self.retention, self.copies, self.sizes.astype(np.float64)
        half = p / PIECES / 2
        scale = c * n / p**2
        base = scale * (self._other * (1 - self._other) + half**2) + self._rounded / 4 / p**2
        middle = self._other[:, None] + half[:, None] * np.arange(1, 2 * PIECES, 2)
        slope = (scale * p / n)[:, None] * (1 - 2 * middle)
        pieces = np.repeat(n / PIECES, PIECES)
        of_cell = _sums(cell, base, n_cells)
        return Spread(n_cells, of_cell, np.repeat(cell, PIECES), pieces, slope.ravel())


def _sums(of: Whole, numbers: ArrayLike, number: int) -> Floats:
    return np.asarray(np.bincount(of, np.asarray(numbers, np.float64), number), np.float64)


def _parted(flags: Flags) -> tuple[Flags, Flags]:
    return flags, ~flags


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


@dataclass(frozen=True, eq=False)
class Spread:
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
    def of(cls, spread: Spread) -> _Curve:
        order = np.lexsort((-spread.slope, spread.cell))
        cell, records, slope = spread.cell[order], spread.records[order], spread.slope[order]
        of_cell = _sums(cell, records, spread.n_cells)
        rise = _sums(cell, records * slope, spread.n_cells)
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
    low, high = np.zeros(len(most)), most.copy()
    for _ in range(80):
        third = (high - low) / 3
        rises = function(low + third) < function(high - third)
        low, high = np.where(rises, low + third, low), np.where(rises, high, high - third)
    return np.where(function(most) >= function((low + high) / 2), most, (low + high) / 2)


def _crossing(holds: Callable[[Floats], Flags], low: Floats, high: Floats) -> Floats:
    """Where something begins to hold, between an end where it does not and one where it does."""
    low, high = low.copy(), high.copy()
    for _ in range(80):
        middle = (low + high) / 2
        good = holds(middle)
        low, high = np.where(good, low, middle), np.where(good, middle, high)
    return high
