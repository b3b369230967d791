"""What is likely without any table: the baseline that every probability is compared with."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from showthrough.packing import pack
from showthrough.release import Layout
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.likely.prior import N_DRAWN, Prior

__all__ = [
    "Baseline",
    "baseline_of",
]

#: The seed of the records drawn from a prior; the same for all areas.
_SEED = 20_000


class Baseline:
    """Shares of selections among records that were drawn from a prior and obey the rules."""

    def __init__(self, prior: Prior, schema: Schema) -> None:
        self.prior, self.schema = prior, schema

    @cached_property
    def _bits(self) -> tuple[list[NDArray[np.uint64]], int]:
        """Per attribute value × words, which drawn records have it; and how many records there are."""
        codes = self.prior.draw(N_DRAWN, self.schema, seed=_SEED)
        bits = [
            pack(codes[:, at][None, :] == np.arange(len(attribute.values))[:, None])
            for at, attribute in enumerate(self.schema.attributes)
        ]
        return bits, len(codes)

    def _count(self, *selections: Selection) -> int:
        """How many drawn records match all selections."""
        bits, n = self._bits
        if not any(selection.terms for selection in selections):
            return n
        words = np.full(bits[0].shape[1], ~np.uint64(0), np.uint64)
        for selection in selections:
            for at, codes in self.schema.encode(selection).items():
                words &= np.bitwise_or.reduce(bits[at][sorted(codes)], axis=0)
        return int(np.bitwise_count(words).sum())

    def share(self, selection: Selection) -> float:
        """The share of records that match."""
        return (self._count(selection) + 0.5) / (self._bits[1] + 1)

    def claim(self, selection: Selection, count: int, n_records: int) -> float:
        """The chance that exactly this many of some random records match."""
        if count > n_records:
            return 0.0
        share = self.share(selection)
        ways = gammaln(n_records + 1) - gammaln(count + 1) - gammaln(n_records - count + 1)
        return float(np.exp(ways + xlogy(count, share) + xlog1py(n_records - count, -share)))

    def finding(self, given: Selection, selection: Selection) -> float:
        """The chance that a random record that matches the one matches the other."""
        known = self._count(given)
        return (self._count(given, selection) + self.share(selection)) / (known + 1)


@lru_cache(maxsize=4)
def baseline_of(prior: Prior, layout: Layout) -> Baseline:
    """The baseline of a prior, made once."""
    return Baseline(prior, layout.schema)
