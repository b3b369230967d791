"""Claims as JSON and as sentences, put together column by column."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.release import Layout
from showthrough.schema import Schema
from showthrough.tables.claims import KINDS, exactly
from showthrough.tables.stored import CLAIM_COLUMNS

if TYPE_CHECKING:
    from showthrough.tables.result import ClaimTable

__all__ = [
    "Wording",
]

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute

#: What became of a claim, in words, by the number of its state.
_KIND_NAMES = pa.array([KINDS[state] for state in range(len(KINDS))], pa.string())


class Wording:
    """Claims as JSON and as sentences, put together column by column."""

    def __init__(self, claims: ClaimTable) -> None:
        self.claims = claims
        frame = claims.system.universe.frame
        self.schema = frame.layout.schema
        attributes = [self.schema[name] for name in frame.names]
        self._json = [pa.array([f"{_json(a.name)}: {_json(v)}" for v in a.values]) for a in attributes]
        self._phrases = [pa.array([a.phrase(v) for v in a.values]) for a in attributes]
        columns = range(len(attributes))
        self._by_name = sorted(columns, key=lambda c: attributes[c].name)
        self._by_schema = sorted(columns, key=lambda c: self.schema.index[attributes[c].name])
        self._implied = _implications(frame.layout, tuple(attributes[c].name for c in self._by_schema))

    def selections(self, which: NDArray[np.int64]) -> pa.Array:
        """Claims' selections as JSON, keys sorted."""
        parts = self._fragments(which, self._json, self._by_name)
        joined = pc.binary_join_element_wise(*parts, ", ", null_handling="skip")
        return pc.binary_join_element_wise("{", joined, "}", "")

    def table(self, which: NDArray[np.int64], area: str) -> pa.Table:
        """The claims table for these claims."""
        claims = self.claims
        if not len(which):
            return CLAIM_COLUMNS.empty_table()
        state = claims.state[which]
        evidence, tables = claims.evidence_and_tables(which)
        return pa.Table.from_arrays(
            [
                pa.repeat(pa.scalar(area, pa.string()), len(which)),
                self.selections(which),
                pa.array(claims.k[which], pa.int32()),
                pa.array(claims.candidates.count[which], pa.int64()),
                _KIND_NAMES.take(pa.array(state, pa.int8())),
                pa.array(evidence, pa.string()),
                pa.array(claims.direct[which], pa.bool_()),
                pa.array(tables, pa.int32()),
                self._rested_on(which),
                self._sentences(which),
            ],
            schema=CLAIM_COLUMNS,
        )

    def _rested_on(self, which: NDArray[np.int64]) -> pa.Array:
        """How many tables the proof of each claim rests on, null where they were not counted."""
        found = np.zeros(len(self.claims.candidates), np.int32)
        for at in self.claims.resting:
            found[at] = self.claims.tables_rested_on(at) or 0
        counted = np.zeros(len(found), bool)
        counted[list(self.claims.resting)] = True
        return pa.array(found[which], mask=~counted[which])

    def _sentences(self, which: NDArray[np.int64]) -> pa.Array:
        """ "For exactly one home, a, b and c." """
        claims = self.claims
        said = self._said(which)
        parts = [
            pc.if_else(pa.array(mine), part, None)
            for mine, part in zip(said, self._fragments(which, self._phrases, self._by_schema), strict=True)
        ]
        last = len(parts) - 1 - said[::-1].argmax(axis=0)
        before = [pc.if_else(pa.array(last != at), part, None) for at, part in enumerate(parts)]
        single = pa.array(said.sum(axis=0) == 1)
        before[0] = pc.if_else(single, "", before[0])  # Arrow loses rows that are null throughout
        rest = pc.binary_join_element_wise(*before, ", ", null_handling="skip")
        final = pc.coalesce(*[pc.if_else(pa.array(last == at), p, None) for at, p in enumerate(parts)])
        both = pc.binary_join_element_wise(rest, final, " and ")
        clauses = pc.if_else(single, final, both)
        keys = list(zip(claims.candidates.count[which].tolist(), claims.state[which].tolist(), strict=True))
        frames = {key: exactly(self.schema, key[0], "\0", KINDS[key[1]]).split("\0") for key in set(keys)}
        start = pa.array([frames[key][0] for key in keys], pa.string())
        end = pa.array([frames[key][1] for key in keys], pa.string())
        return pc.binary_join_element_wise(start, clauses, end, "")

    def _said(self, which: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Column (in the schema's order) × claim: is its value said, or implied by another one?"""
        subset = self.claims.candidates.subset[which].astype(np.int64)
        types, of = np.unique(self.claims.candidates.type[which], return_inverse=True)
        codes = self.claims.system.universe.codes[types]
        implying = np.zeros((len(self._by_schema), len(types)), np.int64)  # the columns, as bits
        for (one, other), implied in self._implied.items():
            c, d = self._by_schema[one], self._by_schema[other]
            implying[other] |= implied[codes[:, c], codes[:, d]].astype(np.int64) << c
        return np.array(
            [
                (subset >> c & 1 != 0) & (subset & implying[at][of] == 0)
                for at, c in enumerate(self._by_schema)
            ]
        )

    def _fragments(
        self, which: NDArray[np.int64], texts: Sequence[pa.Array], order: Sequence[int]
    ) -> list[pa.Array]:
        """Per column the text of each claim's value, null where the claim has no such column."""
        subset, codes = self.claims.candidates.subset[which], self.claims.codes[which]
        return [
            pc.take(texts[c], pa.array(codes[:, c].astype(np.int64), mask=(subset >> c & 1) == 0))
            for c in order
        ]


@lru_cache(maxsize=16)
def _implications(layout: Layout, names: tuple[str, ...]) -> dict[tuple[int, int], NDArray[np.bool_]]:
    """For pairs of columns value × value: where the first has made the second superfluous.

    Of two that imply each other the first is kept, as :meth:`Schema.describe` does.
    """
    schema, found = layout.schema, dict[tuple[int, int], NDArray[np.bool_]]()
    if not schema.rules and all(len(attribute.values) > 1 for attribute in schema.attributes):
        return found
    for one, name in enumerate(names):
        for other, second in enumerate(names):
            pairs = [
                [
                    one != other and _implied(schema, name, v, second, w, first=one < other)
                    for w in schema[second].values
                ]
                for v in schema[name].values
            ]
            if np.any(pairs):
                found[one, other] = np.array(pairs)
    return found


def _implied(schema: Schema, name: str, value: str, other: str, second: str, *, first: bool) -> bool:
    one, two = frozenset({value}), frozenset({second})
    return schema.implies(name, one, other, two) and (first or not schema.implies(other, two, name, one))


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
