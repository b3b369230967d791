"""Reconstruction privacy: what a reader learns about a personal group stays rough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError
from showthrough.publish.groups import Groups
from showthrough.publish.parameters import check_domain, check_retention, parse_pair
from showthrough.publish.tails import Tails
from showthrough.publish.violations import Bound, ReconstructionCheck

__all__ = ["ReconstructionPrivacy", "largest_counts"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class ReconstructionPrivacy:
    """A frequency read off a personal group is off by more than ``error`` with at least ``chance``.

    The error is relative, and upwards and downwards count each for itself: (λ, δ) in the paper.

    >>> promise = ReconstructionPrivacy(0.3, 0.3)
    >>> float(promise.largest_group(0.1, 0.5, 50).round())
    642.0
    >>> int(promise.largest_group(0.1, 0.5, 50, bound="exact"))
    54
    """

    error: float
    chance: float

    def __post_init__(self) -> None:
        if not (self.error > 0 and math.isfinite(self.error)):
            raise InputError(
                "a relative error is over 0", found=str(self.error), remedy="for example 0.3 for 30 %"
            )
        if not 0 < self.chance < 1:
            raise InputError(
                "a chance lies between 0 and 1", found=str(self.chance), remedy="for example 0.3"
            )

    @classmethod
    def parse(cls, text: str) -> ReconstructionPrivacy:
        """From ``error:chance``, as numbers or fractions.

        >>> ReconstructionPrivacy.parse("0.3:0.25")
        ReconstructionPrivacy(error=0.3, chance=0.25)
        """
        return cls(*parse_pair(text, "an error and a chance", example="0.3:0.3"))

    def tails(self, *, retention: float, n_values: int) -> Tails:
        """The chances of an error, for groups published with a retention (1 for raw data)."""
        check_retention(retention, whole=True)
        return Tails(self.error, retention, check_domain(n_values))

    def largest_group(
        self, frequency: ArrayLike, retention: float, n_values: int, *, bound: Bound = "chernoff"
    ) -> Floats:
        """The size up to which a group with this largest frequency is let pass; infinite for 0.

        ``chernoff`` is the paper's s_g (its equation 10): larger groups surely violate the promise,
        smaller ones may too. ``exact`` is the largest size at which both exact tails are long enough,
        0 if none is; tails jump from count to count, so use :meth:`holds` for a group at hand.
        """
        tails = self.tails(retention=retention, n_values=n_values)
        share = np.asarray(frequency, np.float64)
        if not ((share >= 0) & (share <= 1)).all():
            raise InputError("a frequency lies between 0 and 1", remedy="give shares, not counts")
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

        Where ω = λ p f/(p f + (1 − p)/m) is over 1 no estimate can be that far too low, and only the
        upper tail is asked for.
        """
        k, n = np.broadcast_arrays(np.asarray(count, np.int64), np.asarray(size, np.int64))
        if not ((k >= 0) & (k <= n)).all():
            raise InputError("a count lies between 0 and the size of its group")
        tails = self.tails(retention=retention, n_values=n_values)
        if _check_bound(bound) == "exact":
            return tails.reach(self.chance, k.ravel(), n.ravel()).reshape(k.shape)
        return n <= tails.chernoff_size(self.chance, k / np.maximum(n, 1))

    def largest_retention(
        self, count: ArrayLike, size: ArrayLike, *, n_values: int, bound: Bound = "chernoff"
    ) -> float:
        """The largest retention at which all these values keep the promise; 0 if there is none.

        By the Chernoff bound every smaller retention keeps it too. Exact tails jump, so there the
        retentions 0.999, 0.998, … 0.001 are tried in turn, and smaller ones may fail.

        >>> promise = ReconstructionPrivacy(0.3, 0.3)
        >>> round(promise.largest_retention([64], [642], n_values=50), 3)
        0.501
        """
        counts, sizes = np.broadcast_arrays(np.asarray(count, np.int64), np.asarray(size, np.int64))
        counts, sizes = counts[counts > 0], sizes[counts > 0]
        m = check_domain(n_values)
        if not len(counts):
            return 1.0
        if _check_bound(bound) == "chernoff":
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
        tails are asked for every value that occurs, as the definition of the promise says.

        >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6, 6], [500, 300]])
        >>> found = ReconstructionPrivacy(0.3, 0.3).check(groups, retention=0.5)
        >>> found.violated("exact").tolist(), found.record_rate("chernoff").__round__(3)
        ([False, True], 0.985)
        """
        cells = groups.counts.tocoo()
        sizes, m = groups.sizes, len(groups.totals)
        held = self.holds(cells.data, sizes[cells.row], retention=retention, n_values=m)
        failed = np.zeros(len(groups), bool)
        failed[cells.row[~held]] = True
        frequency = largest_counts(groups) / np.maximum(sizes, 1)
        return self._result(sizes, frequency, failed, retention=retention, n_values=m)

    def check_sizes(
        self, sizes: ArrayLike, frequency: ArrayLike, *, retention: float, n_values: int
    ) -> ReconstructionCheck:
        """The same where only sizes and largest frequencies are known, as for a finished publication.

        The exact tails are those of the whole number of records next to frequency × size.
        """
        n = np.asarray(sizes, np.int64)
        share = np.asarray(frequency, np.float64)
        failed = ~self.holds(np.rint(share * n), n, retention=retention, n_values=n_values)
        return self._result(n, share, failed, retention=retention, n_values=n_values)

    def _result(
        self, sizes: Whole, frequency: Floats, failed: Flags, *, retention: float, n_values: int
    ) -> ReconstructionCheck:
        tails = self.tails(retention=retention, n_values=n_values)
        limit = tails.chernoff_size(self.chance, frequency)
        exact_limit = tails.exact_size(self.chance, frequency)
        return ReconstructionCheck(sizes, frequency, limit, exact_limit, sizes > limit, failed)


def largest_counts(groups: Groups) -> Whole:
    """How many records the most frequent sensitive value of each group has."""
    if not len(groups.totals):
        return np.zeros(len(groups), np.int64)
    return np.asarray(groups.counts.max(axis=1).toarray(), np.int64).ravel()


def _check_bound(bound: str) -> str:
    if bound not in get_args(Bound):
        raise InputError("an unknown bound", found=bound, remedy="choose 'chernoff' or 'exact'")
    return bound
