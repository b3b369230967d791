"""Units, in which records were perturbed alike, added up to cells: how few and how many have some values.

Records of one sub-table in one cell are one unit, whatever groups they are from. The groups of a sampled
publication are units with a number of copies each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.microdata.intervals import CLOSE, CountSpread, count_interval, share_interval, sum_by

__all__ = [
    "Units",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Straight pieces that stand in for a parabola.
PIECES = 8


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
        known = sum_by(self.cell, self.sizes * every, n_cells)
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
        estimate = sum_by(cell, (self.shown - n * self._other) / p, n_cells)
        step = np.zeros(n_cells)
        np.maximum.at(step, cell, self.copies / p)
        spread = self._drawn(cell, n_cells) if self.independent else self._kept(cell, n_cells)
        return spread.interval(estimate, step, level)

    def _kept(self, cell: Whole, n_cells: int) -> CountSpread:
        """Every record with the value adds a(1 − a) to the variance of O, and every other one b(1 − b)."""
        p, c, n = self.retention, self.copies, self.sizes.astype(np.float64)
        scale, without = c / p**2, self._other * (1 - self._other)
        base = scale * n * without + self._rounded / 4 * (c**2 + 1 / p**2)
        slope = scale * (self._own * (1 - self._own) - without)
        return CountSpread(n_cells, sum_by(cell, base, n_cells), cell, n, slope)

    def _drawn(self, cell: Whole, n_cells: int) -> CountSpread:
        """With q = p k/n + b the variance of O is c n q(1 − q): at most the tangents at some q."""
        p, c, n = self.retention, self.copies, self.sizes.astype(np.float64)
        half = p / PIECES / 2
        scale = c * n / p**2
        base = scale * (self._other * (1 - self._other) + half**2) + self._rounded / 4 / p**2
        middle = self._other[:, None] + half[:, None] * np.arange(1, 2 * PIECES, 2)
        slope = (scale * p / n)[:, None] * (1 - 2 * middle)
        pieces = np.repeat(n / PIECES, PIECES)
        of_cell = sum_by(cell, base, n_cells)
        return CountSpread(n_cells, of_cell, np.repeat(cell, PIECES), pieces, slope.ravel())


def _parted(flags: Flags) -> tuple[Flags, Flags]:
    return flags, ~flags
