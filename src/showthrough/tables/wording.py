"""Claims as JSON and as sentences, put together column by column."""

from __future__ import annotations

import json
from dataclasses import dataclass
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
from showthrough.text import split_clause

if TYPE_CHECKING:
    from showthrough.tables.result import ClaimTable

__all__ = [
    "Wording",
]

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute

#: What became of a claim, in words, by the number of its state.
_KIND_NAMES = pa.array([KINDS[state] for state in range(len(KINDS))], pa.string())

#: What stands before the last clause, and before the only one.
_BETWEEN = pa.array([" and ", ""], pa.string())


class Wording:
    """Claims as JSON and as sentences, put together column by column."""

    def __init__(self, claims: ClaimTable) -> None:
        self.claims = claims
        frame = claims.system.universe.frame
        self.schema = frame.layout.schema
        self._texts = _texts(frame.layout, frame.names)
        self._by_name = sorted(range(len(frame.names)), key=lambda c: frame.names[c])
        self._by_schema = sorted(range(len(frame.names)), key=lambda c: self.schema.index[frame.names[c]])
        self._implied = _implications(frame.layout, tuple(frame.names[c] for c in self._by_schema))
        self._said_before = np.full(len(claims.candidates), -1, np.int64)
        self._made = pa.array([], pa.string())

    def selections(self, which: NDArray[np.int64]) -> pa.Array:
        """Claims' selections as JSON, keys sorted; the last ones are remembered."""
        if len(which) and (self._said_before[which] < 0).any():
            subset, codes = self.claims.candidates.subset[which], self.claims.codes[which]
            columns = np.array(self._by_name, np.int64)
            row, at = np.nonzero(subset[:, None] >> columns & 1)
            texts = self._texts.every_json.take(
                pa.array(self._texts.places(codes, row, columns[at]), pa.int64())
            )
            joined = _joined(texts, row, len(which))
            self._made = pc.binary_join_element_wise("{", joined, "}", "")
            self._said_before[:] = -1
            self._said_before[which] = np.arange(len(which))
            return self._made
        return pc.take(self._made, pa.array(self._said_before[which]))

    def in_order(self, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """Some claims by their number of columns, then by selection."""
        columns = [pa.array(self.claims.k[which]), self.selections(which)]
        keys = pa.Table.from_arrays(columns, names=["k", "selection"])
        order = pc.sort_indices(keys, sort_keys=[("k", "ascending"), ("selection", "ascending")])
        return which[order.to_numpy()]

    def table(self, which: NDArray[np.int64], area: str) -> pa.Table:
        """The claims table for these claims."""
        claims = self.claims
        if not len(which):
            return CLAIM_COLUMNS.empty_table()
        state = claims.state[which]
        number, evidence, tables = claims.evidence_and_tables(which)
        numbers = pa.array(number, pa.int64())
        return pa.Table.from_arrays(
            [
                pa.repeat(pa.scalar(area, pa.string()), len(which)),
                self.selections(which),
                pa.array(claims.k[which], pa.int32()),
                pa.array(claims.candidates.count[which], pa.int64()),
                _KIND_NAMES.take(pa.array(state, pa.int8())),
                pa.array(evidence, pa.string()).take(numbers),
                pa.array(claims.direct[which], pa.bool_()),
                pa.array(tables, pa.int32()).take(numbers),
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
        row, at = np.nonzero(self._said(which))
        places = self._texts.places(claims.codes[which], row, np.array(self._by_schema, np.int64)[at])
        texts = self._texts.every_phrase.take(pa.array(self._texts.without_subjects(places, row), pa.int64()))
        is_last = np.append(row[1:] != row[:-1], [True])
        rest = _joined(texts.filter(pa.array(~is_last)), row[~is_last], len(which))
        final = texts.filter(pa.array(is_last))
        between = _BETWEEN.take(pa.array((np.bincount(row) == 1).astype(np.int8), pa.int8()))
        start, end = self._around(which)
        return pc.binary_join_element_wise(start, rest, between, final, end, "")

    def _around(self, which: NDArray[np.int64]) -> tuple[pa.Array, pa.Array]:
        """What sentences begin and end with: how many records, and what is known about it."""
        counts, states = self.claims.candidates.count[which], self.claims.state[which]
        sizes, size = np.unique(counts, return_inverse=True)
        keys, key = np.unique(size.ravel() * len(KINDS) + states, return_inverse=True)
        frames = [
            exactly(self.schema, int(sizes[one // len(KINDS)]), "\0", KINDS[one % len(KINDS)]).split("\0")
            for one in keys.tolist()
        ]
        at = pa.array(key.ravel(), pa.int64())
        start, end = (pa.array([frame[side] for frame in frames], pa.string()) for side in (0, 1))
        return start.take(at), end.take(at)

    def _said(self, which: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Claim × column (in the schema's order): is its value said, or implied by another one?"""
        subset = self.claims.candidates.subset[which].astype(np.int64)
        types, of = np.unique(self.claims.candidates.type[which], return_inverse=True)
        codes = self.claims.system.universe.codes[types]
        implying = np.zeros((len(self._by_schema), len(types)), np.int64)  # the columns, as bits
        for (one, other), implied in self._implied.items():
            c, d = self._by_schema[one], self._by_schema[other]
            implying[other] |= implied[codes[:, c], codes[:, d]].astype(np.int64) << c
        named = subset[:, None] >> np.array(self._by_schema, np.int64) & 1 != 0
        return named & (subset[:, None] & implying.T[of.ravel()] == 0)


def _joined(texts: pa.Array, row: NDArray[np.int64], n_rows: int) -> pa.Array:
    """The texts of each row, with commas between them."""
    ends = np.append(0, np.cumsum(np.bincount(row, minlength=n_rows)))
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(ends, pa.int32()), texts), ", ")


@dataclass(frozen=True, eq=False)
class _Texts:
    """The texts of the values of all columns, as JSON and as phrases, and where each column starts.

    The phrases are there a second time without their subjects. ``subjects`` numbers those that can do
    without: phrases with the same subject have the same even number, or the odd number after it if they
    deny something; all others have -1.
    """

    every_json: pa.Array
    every_phrase: pa.Array
    starts: NDArray[np.int64]
    subjects: NDArray[np.int64]

    def places(
        self, codes: NDArray[np.uint16], row: NDArray[np.int64], column: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Where the values in some rows and columns of ``codes`` are among all values."""
        return self.starts[column] + codes[row, column]

    def without_subjects(self, places: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the phrases are, without subjects that the one before in the same row has."""
        own = self.subjects[places]
        before = np.append(-1, own[:-1])
        before[np.append(True, row[1:] != row[:-1])] = -1
        shared = (own >= 0) & ((own == before) | (own == before + 1) & (before % 2 == 0))
        return places + shared * len(self.subjects)


@lru_cache(maxsize=16)
def _texts(layout: Layout, names: tuple[str, ...]) -> _Texts:
    """The texts of some columns of a layout."""
    attributes = [layout.schema[name] for name in names]
    phrases = [a.phrase(v) for a in attributes for v in a.values]
    split = [split_clause(phrase) for phrase in phrases]
    numbers = {subject: 2 * at for at, subject in enumerate(dict.fromkeys(subject for subject, _ in split))}
    subjects = [numbers[subject] + rest.startswith("not ") if subject else -1 for subject, rest in split]
    return _Texts(
        pa.array([f"{_json(a.name)}: {_json(v)}" for a in attributes for v in a.values], pa.string()),
        pa.array([*phrases, *(rest for _, rest in split)], pa.string()),
        np.cumsum([0, *(len(a.values) for a in attributes[:-1])]),
        np.array(subjects, np.int64),
    )


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
