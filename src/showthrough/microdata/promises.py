"""What a publication promises about each person, and what that allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError
from showthrough.microdata.groups import Groups
from showthrough.microdata.parameters import check_domain, check_retention, parse_pair
from showthrough.microdata.reconstruction_privacy import largest_counts
from showthrough.microdata.violations import DiversityCheck, RhoCheck

__all__ = [
    "LDiversity",
    "RhoPrivacy",
    "posterior",
]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Shares this much over a limit still count as equal to it: 1/3 is no exact floating-point number.
_EQUAL = 1 + 1e-12


@dataclass(frozen=True)
class RhoPrivacy:
    """A value with a share of at most ``prior`` is never believed with more than ``posterior``.

    This is the restricted (ρ1, ρ2)-privacy of single values: values that are more frequent than
    ``prior`` to begin with are not protected.

    >>> promise = RhoPrivacy(1 / 3, 2 / 3)
    >>> round(promise.amplification, 9), round(promise.retention(10), 4)
    (4.0, 0.2308)
    """

    prior: float
    posterior: float

    def __post_init__(self) -> None:
        if not 0 < self.prior < self.posterior < 1:
            raise InputError(
                "a prior lies between 0 and the posterior, and the posterior under 1",
                found=f"{self.prior}:{self.posterior}",
                remedy="for example 0.1:0.5",
            )

    @classmethod
    def parse(cls, text: str) -> RhoPrivacy:
        """From ``prior:posterior``, as numbers or fractions.

        >>> RhoPrivacy.parse("1/4:0.5")
        RhoPrivacy(prior=0.25, posterior=0.5)
        """
        return cls(*parse_pair(text, "a prior and a posterior", example="0.1:0.5"))

    @property
    def amplification(self) -> float:
        """γ, how much likelier one value may make a published value than another does (6)."""
        return float(self.amplification_at(self.prior))

    def amplification_at(self, largest: ArrayLike) -> Floats:
        """γ_i of tables in which no protected value has a larger share than ``largest`` (10).

        At most 1 where the share reaches the posterior, so that nothing could be published; infinite
        where the share is 0, because then there is nothing to protect (the end of equation 9).
        """
        share = np.asarray(largest, np.float64)
        with np.errstate(divide="ignore"):
            return self.posterior * (1 - share) / (share * (1 - self.posterior))

    def retention(self, n_values: int) -> float:
        """The largest retention that keeps the promise whatever the data are (4)."""
        return float(self.retention_at(self.prior, check_domain(n_values)))

    def retention_at(self, largest: ArrayLike, n_values: ArrayLike) -> Floats:
        """p_i = (γ_i − 1)/(m_i − 1 + γ_i), as 1/(1 + m_i/(γ_i − 1)) so that an infinite γ_i gives 1."""
        with np.errstate(divide="ignore"):
            return 1 / (1 + np.asarray(n_values, np.float64) / (self.amplification_at(largest) - 1))

    def for_frequency(self, largest: float) -> RhoPrivacy:
        """The promise a table needs whose most frequent protected value has this share (9)."""
        return RhoPrivacy(largest, self.posterior)

    def protects(self, totals: ArrayLike) -> Flags:
        """Which values the promise is about (SA'): those that occur with a share up to the prior.

        >>> RhoPrivacy(0.2, 0.5).protects([7, 2, 1, 0]).tolist()
        [False, True, True, False]
        """
        counts = np.asarray(totals, np.float64)
        return (counts > 0) & (counts <= self.prior * counts.sum() * _EQUAL)

    def check(
        self, tables: Groups | ArrayLike, *, retention: ArrayLike, n_values: ArrayLike | None = None
    ) -> RhoCheck:
        """Whether true counts, perturbed with ``retention``, keep the promise; each row is a sub-table.

        ``n_values`` is the size of the domain each row is perturbed over, by default the values that
        occur in it. A :class:`Groups` is one table over its whole domain. Which values are protected
        follows from all rows together.

        >>> RhoPrivacy(0.5, 0.6).check([[1, 1], [2, 2]], retention=[0.1, 0.3]).violated.tolist()
        [False, True]
        """
        if isinstance(tables, Groups):
            tables, n_values = tables.totals[None, :], len(tables.totals)
        counts = np.atleast_2d(np.asarray(tables, np.int64))
        sizes = counts.sum(axis=1)
        domain = np.asarray((counts > 0).sum(axis=1) if n_values is None else n_values)
        kept = np.broadcast_to(np.asarray(retention, np.float64), sizes.shape)
        check_retention(kept, whole=True)
        protected = self.protects(counts.sum(axis=0))
        largest = counts[:, protected].max(axis=1, initial=0) / np.maximum(sizes, 1)
        # The posterior grows with the share, so the largest share decides.
        found = posterior(largest[:, None], kept[:, None], n_values=np.atleast_1d(domain)[:, None])[:, 0]
        return RhoCheck(sizes, kept, found, found > self.posterior * (1 + 1e-9), ~protected)


def posterior(frequencies: ArrayLike, retention: ArrayLike, *, n_values: ArrayLike | None = None) -> Floats:
    """How sure a reader can become of each value: the largest Pr[X = x | Y = y] over y, exactly.

    ``frequencies`` are the true shares, with one entry on the last axis for each of the ``n_values``
    values records are perturbed over.

    >>> posterior([0.5, 0.25, 0.25], 0.4).round(3).tolist()
    [0.75, 0.5, 0.5]
    """
    share = np.asarray(frequencies, np.float64)
    kept = np.asarray(retention, np.float64)
    stray = (1 - kept) / np.asarray(share.shape[-1] if n_values is None else n_values)
    # Bayes: Pr[x | y] = π_x P(x → y)/(p π_y + (1 − p)/m). For y = x it is at least π_x, because
    # p π_x + (1 − p)/m ≤ p + (1 − p)/m; for any other y at most π_x. So y = x is the largest.
    shown = kept * share + stray
    return np.divide(share * (kept + stray), shown, out=np.zeros_like(shown), where=shown > 0)


@dataclass(frozen=True)
class LDiversity:
    """No sensitive value has a larger share than 1/``l`` in any bucket.

    >>> LDiversity(3).check([[1, 1, 1], [2, 1, 1]]).violated.tolist()
    [False, True]
    """

    l: int  # noqa: E741 - the name the literature knows it by

    def __post_init__(self) -> None:
        if self.l < 2 or self.l != int(self.l):
            raise InputError("l is a whole number from 2", found=str(self.l), remedy="for example 4")

    @classmethod
    def parse(cls, text: str) -> LDiversity:
        """From a whole number.

        >>> LDiversity.parse("4")
        LDiversity(l=4)
        """
        try:
            return cls(int(text))
        except ValueError:
            raise InputError("l is a whole number from 2", found=text, remedy="for example 4") from None

    def check(self, tables: Groups | ArrayLike) -> DiversityCheck:
        """Which rows (groups, buckets, or one row for a whole table) are not diverse enough."""
        if isinstance(tables, Groups):
            sizes, largest = tables.sizes, largest_counts(tables)
        else:
            counts = np.atleast_2d(np.asarray(tables, np.int64))
            sizes, largest = counts.sum(axis=1), counts.max(axis=1, initial=0)
        return DiversityCheck(sizes, largest, self.l * largest > sizes)
