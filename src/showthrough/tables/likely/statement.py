"""What is likely, as statements with probabilities under a prior.

Every probability is compared with a baseline: what is likely without any table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from showthrough.export import Tabular
from showthrough.packing import pack
from showthrough.release import Layout, Release
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.claims import count_word
from showthrough.tables.likely.calibration import HIGH, Kind
from showthrough.tables.likely.prior import N_DRAWN, Prior
from showthrough.text import percent

__all__ = [
    "COLUMNS",
    "LEAST",
    "UNSURPRISING",
    "Baseline",
    "Likely",
    "Statement",
    "baseline_of",
]

#: From this probability on a statement is kept, and up to this baseline it tells something.
LEAST, UNSURPRISING = 0.8, 0.5

#: The columns of ``likely.parquet``.
COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("kind", pa.string()),
        ("given", pa.string()),
        ("selection", pa.string()),
        ("multiplicity", pa.int64()),
        ("q", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("ess", pa.float64()),
        ("rhat", pa.float64()),
        ("baseline", pa.float64()),
        ("sentence", pa.string()),
    ]
)

#: The seed of the records drawn from a prior; the same for all areas.
_SEED = 20_000


@dataclass(frozen=True)
class Statement:
    """Something that is likely, not proved.

    Attributes
    ----------
    kind
        A ``claim`` says how many records match; a ``finding`` says what whoever knows ``given`` about
        a record learns about it.
    given, selection
        What is known, and what is claimed or learnt.
    multiplicity
        The number of records that a claim is about; of a finding the expected number of records that
        match what is known, rounded.
    q
        The stated probability: under the prior, corrected where it was calibrated, capped where it was not.
    low, high
        The sampling error of q, nothing else: it does not cover errors of the prior.
    ess, rhat
        Effective number of draws (None where all datasets were listed), and R̂ between chains.
    baseline
        The same probability without the tables.
    """

    kind: Kind
    given: Selection
    selection: Selection
    multiplicity: int
    q: float
    low: float
    high: float
    ess: float | None
    rhat: float
    baseline: float

    @property
    def telling(self) -> bool:
        """Whether it is highly likely with the tables and not without them."""
        return self.q >= HIGH and self.baseline <= UNSURPRISING

    @property
    def n_columns(self) -> int:
        """How many columns it is about."""
        return len(self.given.terms) + len(self.selection.terms)

    @property
    def surprise(self) -> float:
        """How far the tables moved the log-odds."""
        inside = np.clip([self.q, self.baseline], 1e-6, 1 - 1e-6)
        odds = np.log(inside) - np.log1p(-inside)
        return float(odds[0] - odds[1])

    def sentence(self, schema: Schema, prior: Prior) -> str:
        """In words, with the prior that it rests on."""
        before = f"{percent(self.baseline, 0)} without the tables"
        under = f"under the prior “{prior.name}”, {prior.standing}"
        chance = f"with probability {percent(self.q, 1)} {under} ({before})"
        learns = schema.describe(self.selection)
        if self.kind == "finding":
            known = schema.describe(self.given)
            return f"Likely, not proved: whoever knows that {known} learns that {learns}, {chance}."
        many = f"{count_word(self.multiplicity)} {schema.noun(self.multiplicity)}"
        return f"Likely, not proved: for exactly {many}, {learns}, {chance}."


@dataclass(frozen=True, eq=False)
class Likely(Tabular):
    """What the release of one area makes likely under a prior.

    Attributes
    ----------
    release
        The release.
    prior
        The prior.
    statements
        Claims and findings, the most surprising first. What follows from the tables is not among them:
        that is for an audit.
    n_records
        The number of records in the area.
    exact
        Whether all datasets that agree were listed; otherwise they were sampled.
    certain
        Number of columns → statements that hold in every dataset, left out.
    n_withheld
        Statements that chains disagree on (R̂ above 1.05), left out.
    n_people, n_beyond
        The expected number of records that a telling finding is about, and of those among them that no
        certain finding is about.
    """

    release: Release = field(repr=False)
    prior: Prior
    statements: tuple[Statement, ...] = field(repr=False)
    n_records: int
    exact: bool
    certain: Mapping[int, int] = field(default_factory=dict[int, int])
    n_withheld: int = 0
    n_people: float = 0.0
    n_beyond: float = 0.0

    def of_kind(self, kind: Kind) -> tuple[Statement, ...]:
        """The statements of one kind."""
        return tuple(one for one in self.statements if one.kind == kind)

    @property
    def n_certain(self) -> int:
        """Statements that hold in every dataset, left out."""
        return sum(self.certain.values())

    @property
    def telling(self) -> tuple[Statement, ...]:
        """Statements of at least 90 % that were at most 50 % without the tables."""
        return tuple(one for one in self.statements if one.telling)

    def to_arrow(self) -> pa.Table:
        """One row per statement, as in ``likely.parquet``."""
        schema = self.release.schema
        rows = [
            {
                "area": self.release.area,
                "kind": one.kind,
                "given": _json(one.given),
                "selection": _json(one.selection),
                "multiplicity": one.multiplicity,
                "q": one.q,
                "low": one.low,
                "high": one.high,
                "ess": one.ess,
                "rhat": one.rhat,
                "baseline": one.baseline,
                "sentence": one.sentence(schema, self.prior),
            }
            for one in self.statements
        ]
        return pa.Table.from_pylist(rows, COLUMNS)


def _json(selection: Selection) -> str:
    """A selection of single values as a JSON object with sorted keys."""
    plain = {name: values[0] if len(values) == 1 else list(values) for name, values in selection.terms}
    return json.dumps(plain, ensure_ascii=False, sort_keys=True)


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
