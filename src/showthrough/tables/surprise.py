"""How surprising a claim is: the chance that it holds in a random area of the same size.

An area of N records drawn from a reference distribution has exactly m records that match a claim
with probability C(N, m) pᵐ (1 − p)ᴺ⁻ᵐ, where p is the share of the reference that matches
(the paper's equation 17, with p for partial claims).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import special

from showthrough.errors import RecordsError, closest
from showthrough.records import Records
from showthrough.schema import Schema
from showthrough.tables.stored import CodedClaims, code_claims, texts

__all__ = [
    "IndependentValues",
    "Reference",
    "ReferenceDistribution",
    "UniformValues",
    "baseline",
    "count_matches",
    "joint_keys",
    "log_binomial",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Keys are kept below this; larger ones are renumbered.
_LARGEST_KEY = 2**62


class Reference(Protocol):
    """Where the records of an area might have been drawn from, for each of several groups."""

    def shares(self, claims: CodedClaims, groups: Sequence[str]) -> Floats:
        """For each claim the share of its group's records that match."""
        ...


@dataclass(frozen=True, eq=False)
class ReferenceDistribution:
    """Reference records by group (tract, state, …), equal ones kept once with their number."""

    schema: Schema
    names: tuple[str, ...]
    group: Whole
    codes: NDArray[np.integer]
    weight: Floats

    @classmethod
    def of(
        cls, records: Records, groups: Sequence[str] | NDArray[np.object_] | None = None
    ) -> ReferenceDistribution:
        """From records and the group each belongs to; one unnamed group if none is given."""
        labels = np.zeros(len(records), "U1") if groups is None else np.asarray(groups).astype(str)
        if len(labels) != len(records):
            raise RecordsError("there must be exactly one group per record")
        names, group = np.unique(labels, return_inverse=True)
        every = np.column_stack([group.astype(np.int64), records.codes])
        keys, _ = joint_keys(every, every[:0])
        _, first, weight = np.unique(keys, return_index=True, return_counts=True)
        return cls(
            records.schema,
            tuple(str(name) for name in names),
            group[first].astype(np.int64),
            records.codes[first],
            weight.astype(float),
        )

    def shares(self, claims: CodedClaims, groups: Sequence[str]) -> Floats:
        """For each claim the share of its group's records that match."""
        position = {name: at for at, name in enumerate(self.names)}
        wanted, of = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
        for name in wanted.tolist():
            if name not in position:
                raise RecordsError(
                    "the reference has no records of this group",
                    found=name,
                    remedy=closest(name, self.names),
                )
        group = np.array([position[name] for name in wanted.tolist()], np.int64)[of]
        used = np.isin(self.group, group)
        counts = count_matches(
            claims, group, codes=self.codes[used], groups=self.group[used], weight=self.weight[used]
        )
        return counts / np.bincount(self.group, self.weight, len(self.names))[group]


@dataclass(frozen=True, eq=False)
class IndependentValues:
    """A reference that knows one-way shares only: attributes count as independent.

    ``marginals`` maps group → attribute → value → share. Shares are scaled to add up to 1.
    """

    schema: Schema
    marginals: Mapping[str, Mapping[str, Mapping[str, float]]]

    def shares(self, claims: CodedClaims, groups: Sequence[str]) -> Floats:
        """For each claim the product of its values' shares in its group."""
        names, of = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
        product = np.ones(len(claims))
        for at, attribute in enumerate(self.schema.attributes):
            rows = np.flatnonzero(claims.codes[:, at] >= 0)
            if not len(rows):
                continue
            table = np.array([self._shares(name, attribute.name) for name in names.tolist()])
            product[rows] *= table[of[rows], claims.codes[rows, at]]
        return product

    def _shares(self, group: str, name: str) -> Floats:
        attribute = self.schema[name]
        given = self.marginals.get(group, {}).get(name)
        if given is None:
            raise RecordsError(f"no shares given for an attribute in group {group}", column=name)
        for value in given:
            attribute.code(value)
        shares = np.array([given.get(value, 0.0) for value in attribute.values], float)
        if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
            raise RecordsError(
                "shares must be finite, at least 0, and not all 0", column=name, found=str(given)
            )
        return shares / shares.sum()


@dataclass(frozen=True)
class UniformValues:
    """A reference that knows nothing: all values of an attribute are equally likely, and independent.

    The share of a claim is 1 over the product of its attributes' numbers of values. Claims of many
    attributes are nearly impossible under it, so it makes everything look surprising; a tract or a state is
    the better yardstick.

    >>> schema = Schema.of({"sex": ["f", "m"], "age": ["young", "middle", "old"]})
    >>> claims = code_claims(pa.array(['{"sex": "f"}', '{"age": "old", "sex": "m"}']), schema)
    >>> UniformValues(schema).shares(claims, ["", ""]).round(3).tolist()
    [0.5, 0.167]
    """

    schema: Schema

    def shares(self, claims: CodedClaims, groups: Sequence[str]) -> Floats:
        """For each claim the share of all combinations of values that match; groups do not matter."""
        del groups
        sizes = np.array([len(attribute.values) for attribute in self.schema.attributes], float)
        return np.where(claims.codes >= 0, 1 / sizes, 1.0).prod(axis=1)


def baseline(
    claims: pa.Table,
    reference: Reference,
    *,
    schema: Schema,
    n_records: Mapping[str, int | None],
    group: Callable[[str], str] | None = None,
) -> pa.Table:
    """For each claim its ``share``, ``probability`` and ``log_probability`` under a reference.

    ``claims`` has the columns ``area``, ``selection`` and ``multiplicity`` of a run's claims,
    ``n_records`` the number of records per area, ``group`` an area's group in the reference (the
    one unnamed group if not given). Where the number of records is not known the probability is
    missing.

    >>> schema = Schema.of({"sex": ["f", "m"]})
    >>> half = IndependentValues(schema, {"": {"sex": {"f": 1, "m": 1}}})
    >>> claims = pa.table({"area": ["a"], "selection": ['{"sex": "f"}'], "multiplicity": [1]})
    >>> baseline(claims, half, schema=schema, n_records={"a": 2})["probability"].to_pylist()
    [0.5]
    """
    areas = texts(claims["area"])
    named = {area: group(area) if group else "" for area in set(areas)}
    shares = reference.shares(code_claims(claims["selection"], schema), [named[area] for area in areas])
    sizes = np.array([np.nan if (n := n_records.get(area)) is None else n for area in areas], float)
    log = log_binomial(claims["multiplicity"].to_numpy(), sizes, shares)
    unknown = np.isnan(sizes)
    return pa.table(
        {
            "share": pa.array(shares),
            "probability": pa.array(np.exp(log), mask=unknown),
            "log_probability": pa.array(log, mask=unknown),
        }
    )


def log_binomial(m: NDArray[np.number], n: NDArray[np.number], share: NDArray[np.number]) -> Floats:
    """log of C(n, m) shareᵐ (1 − share)ⁿ⁻ᵐ; −∞ where it cannot happen.

    >>> np.exp(log_binomial(np.array([0, 2]), np.array([2, 2]), np.array([0.5, 0.0]))).tolist()
    [0.25, 0.0]
    """
    ways = special.gammaln(np.asarray(n) + 1) - special.gammaln(np.asarray(m) + 1)
    ways = ways - special.gammaln(np.asarray(n) - m + 1)
    return np.asarray(ways + special.xlogy(m, share) + special.xlog1py(np.asarray(n) - m, -share))


def count_matches(
    claims: CodedClaims,
    claim_groups: Whole,
    *,
    codes: NDArray[np.integer],
    groups: Whole,
    weight: Floats,
) -> Floats:
    """For each claim the weight of the records of its group that match; one pass per column set."""
    counts = np.zeros(len(claims))
    for columns, rows in claims.by_columns():
        keys, asked = joint_keys(
            np.column_stack([groups, codes[:, columns]]),
            np.column_stack([claim_groups[rows], claims.codes[rows][:, columns]]),
        )
        distinct, of = np.unique(asked, return_inverse=True)
        at = np.minimum(np.searchsorted(distinct, keys), len(distinct) - 1)
        hit = distinct[at] == keys
        counts[rows] = np.bincount(at[hit], weight[hit], len(distinct))[of]
    return counts


def joint_keys(one: NDArray[np.integer], other: NDArray[np.integer]) -> tuple[Whole, Whole]:
    """Rows of two integer matrices as single numbers, equal exactly where the rows are."""
    both = np.concatenate([one, other]).astype(np.int64)
    key, largest = np.zeros(len(both), np.int64), 0
    for column in both.T:
        size = int(column.max(initial=0)) + 1
        if (largest + 1) * size > _LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            largest = len(both)
        key = key * size + column
        largest = (largest + 1) * size
    return key[: len(one)], key[len(one) :]
