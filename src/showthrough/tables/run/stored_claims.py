"""The claims of an area as a run keeps them, in codes, with all that can be derived from them again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import ProofError
from showthrough.release import Layout
from showthrough.selection import Selection
from showthrough.tables.claims import Claim, Finding, Kind, exactly
from showthrough.tables.decision import Context, context_of
from showthrough.tables.proof import Terms
from showthrough.tables.search.questions import Lattice
from showthrough.text import join_clauses

__all__ = [
    "StoredClaims",
    "Vocabulary",
    "vocabulary_of",
]

#: Selections remembered with what they say; a nation has more than memory holds.
MOST_REMEMBERED = 200_000

#: The numbers of a selection's terms.
Numbers = tuple[int, ...]


class Vocabulary:
    """What claims about a layout can name: every value of every attribute is a term with a number.

    Terms are numbered by attribute and then by value. Only attributes that occur in a table or a rule
    have terms.
    """

    def __init__(self, layout: Layout) -> None:
        self.context: Context = context_of(layout)
        self.schema = layout.schema
        self.names = self.context.frame.names
        columns = {name: at for at, name in enumerate(self.names)}
        self.pairs = [(name, value) for name in sorted(columns) for value in self.schema[name].values]
        self.number = {pair: at for at, pair in enumerate(self.pairs)}
        self.column = np.array([columns[name] for name, _ in self.pairs], np.int64)
        self.code = np.array([self.schema[name].code(value) for name, value in self.pairs], np.int64)
        self.lattice = Lattice(self.context.frame.sizes, 1, len(self.names))
        parts = [self.lattice.parts[c][v] for c, v in zip(self.column, self.code, strict=True)]
        self.part = np.array(parts, np.uint64)
        self._json = [f"{_json(name)}: {_json(value)}" for name, value in self.pairs]
        self._phrases = [self.schema[name].phrase(value) for name, value in self.pairs]
        self._rank = [self.schema.index[name] for name, _ in self.pairs]
        self._terms: list[tuple[str, tuple[str, ...]]] = [(name, (value,)) for name, value in self.pairs]
        self._implied: dict[int, int] = {}
        self._known: dict[str, tuple[Numbers, str]] = {}
        self._selections: dict[Numbers, tuple[Selection, str]] = {}
        self._sentences: dict[tuple[str, int, Selection, Selection], str] = {}

    def read(self, text: str) -> tuple[Numbers, str]:
        """The terms of a selection, and what it says in words; an error unless it is as it is written."""
        if text not in self._known:
            try:
                numbers = tuple(map(self.number.__getitem__, json.loads(text).items()))
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
                raise ProofError(f"a selection cannot be read: {text[:200]}") from None
            if f"{{{', '.join(map(self._json.__getitem__, numbers))}}}" != text or [*numbers] != sorted(
                numbers
            ):
                raise ProofError(f"a selection is not written as selections are: {text[:200]}")
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known[text] = numbers, self._clauses(numbers)
        return self._known[text]

    def terms(self, text: str) -> Terms:
        """A selection as the checker knows it."""
        return tuple(map(self._terms.__getitem__, self.read(text)[0]))

    def selection(self, numbers: Numbers) -> tuple[Selection, str]:
        """The selection of some terms, in order, and how it is written."""
        if numbers not in self._selections:
            if len(self._selections) >= MOST_REMEMBERED:
                self._selections.clear()
            made = Selection(tuple(map(self._terms.__getitem__, numbers)))
            self._selections[numbers] = made, made.to_json()
        return self._selections[numbers]

    def sentence(self, finding: Finding) -> str:
        """A finding in words."""
        key = finding.kind, finding.multiplicity, finding.knows, finding.learns
        if key not in self._sentences:
            if len(self._sentences) >= MOST_REMEMBERED:
                self._sentences.clear()
            self._sentences[key] = finding.sentence(self.schema)
        return self._sentences[key]

    def _clauses(self, numbers: Numbers) -> str:
        """The clauses in the order of the schema, without those that another one implies by the rules."""
        order = sorted(numbers, key=self._rank.__getitem__)
        if self.schema.rules and (implied := self._implied_by_others(numbers)):
            order = [
                number
                for at, number in enumerate(order)
                if not implied >> number & 1
                or not any(
                    self._implications(other) >> number & 1
                    and (i < at or not self._implications(number) >> other & 1)
                    for i, other in enumerate(order)
                    if i != at
                )
            ]
        return join_clauses(list(dict.fromkeys(self._phrases[number] for number in order)))

    def _implied_by_others(self, numbers: Numbers) -> int:
        """The terms of a selection, as bits, that another one of its terms implies."""
        mine, found = sum(1 << number for number in numbers), 0
        for number in numbers:
            found |= self._implications(number) & mine & ~(1 << number)
        return found

    def _implications(self, number: int) -> int:
        """The terms, as bits, that one term implies by the rules."""
        if number not in self._implied:
            found = self.context.closures.determined(dict([self.pairs[number]]))
            self._implied[number] = sum(1 << self.number[p] for p in found.items() if p in self.number)
        return self._implied[number]


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@lru_cache(maxsize=4)
def vocabulary_of(layout: Layout) -> Vocabulary:
    """The vocabulary, made once per layout and process."""
    return Vocabulary(layout)


@dataclass(frozen=True, eq=False)
class StoredClaims:
    """An area's rows of claims.parquet, column by column."""

    vocabulary: Vocabulary
    selections: list[str]
    numbers: list[Numbers]
    clauses: list[str]
    multiplicity: NDArray[np.int64]
    verdict: list[Kind]
    evidence: list[str]
    direct: NDArray[np.bool_]
    stated: dict[str, list[int | None]]
    sentence: list[str]

    @classmethod
    def of(cls, table: pa.Table, vocabulary: Vocabulary) -> StoredClaims:
        """From the table; a selection that cannot be read is a :class:`ProofError`."""
        counted = ("k", "n_tables_added", "n_tables")
        read = ("selection", "verdict", "evidence", "sentence", *counted)
        columns: dict[str, list[Any]] = {name: table[name].to_pylist() for name in read}
        selections = columns["selection"]
        known = [vocabulary.read(text) for text in selections]
        return cls(
            vocabulary,
            selections,
            [numbers for numbers, _ in known],
            [clauses for _, clauses in known],
            table["multiplicity"].to_numpy(),
            columns["verdict"],
            columns["evidence"],
            table["direct"].to_numpy(),
            {name: columns[name] for name in counted},
            columns["sentence"],
        )

    def __len__(self) -> int:
        return len(self.selections)

    @cached_property
    def k(self) -> NDArray[np.int64]:
        """How many columns each claim is about."""
        return np.array(list(map(len, self.numbers)), np.int64)

    @cached_property
    def _flat(self) -> NDArray[np.int64]:
        return np.fromiter(chain.from_iterable(self.numbers), np.int64, int(self.k.sum()))

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """A number for each selection, by which the search orders them."""
        return self._summed(self.vocabulary.part)

    @cached_property
    def subset(self) -> NDArray[np.int64]:
        """The columns of each claim, as bits."""
        return self._summed(np.left_shift(1, self.vocabulary.column))

    def _summed(self, each: NDArray[Any]) -> NDArray[Any]:
        ends = np.cumsum(self.k)
        total = np.concatenate([np.zeros(1, each.dtype), np.cumsum(each[self._flat], dtype=each.dtype)])
        return total[ends] - total[ends - self.k]

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """Claim × column: the code of the value, −1 where a claim says nothing of the column."""
        found = np.full((len(self), len(self.vocabulary.names)), -1, np.int64)
        rows = np.repeat(np.arange(len(self)), self.k)
        found[rows, self.vocabulary.column[self._flat]] = self.vocabulary.code[self._flat]
        return found

    def terms(self, at: int) -> dict[str, str]:
        """A claim's attributes and values."""
        return dict(self.vocabulary.pairs[number] for number in self.numbers[at])

    def selection(self, at: int) -> Selection:
        """The records that a claim is about."""
        return self.vocabulary.selection(self.numbers[at])[0]

    def misworded(self) -> list[int]:
        """The claims whose sentences are not what the schema makes of them."""
        schema, frames = self.vocabulary.schema, dict[tuple[int, str], list[str]]()
        wrong = list[int]()
        rows = zip(self.multiplicity.tolist(), self.verdict, self.clauses, self.sentence, strict=True)
        for at, (m, verdict, clauses, sentence) in enumerate(rows):
            if (key := (m, verdict)) not in frames:
                frames[key] = exactly(schema, m, "\0", verdict).split("\0")
            start, end = frames[key]
            if sentence != f"{start}{clauses}{end}":
                claim = Claim(self.selection(at), m)
                if sentence != claim.sentence(schema, verdict):
                    wrong.append(at)
        return wrong
