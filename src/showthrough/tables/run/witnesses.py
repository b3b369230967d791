"""The datasets that refute claims: both agree with the release, and they disagree on the claim."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

import pyarrow as pa

from showthrough.errors import ProofError
from showthrough.tables.proof import PART, Checker, PartChecker
from showthrough.tables.run.stored_claims import StoredClaims
from showthrough.tables.stored import MALFORMED

__all__ = [
    "check_witnesses",
]

#: Distinct records with how often they occur.
Dataset = list[tuple[dict[str, str], int]]


def check_witnesses(table: pa.Table, claims: StoredClaims, checker: Checker) -> Iterator[str]:
    """What is wrong with the datasets of an area: each refuted claim has two, and no other has any."""
    refuted = {
        claims.selections[at]: int(claims.multiplicity[at])
        for at, verdict in enumerate(claims.verdict)
        if verdict == "refuted"
    }
    datasets, seen = _Datasets(checker, claims.vocabulary.schema.names), Counter[str]()
    for row in table.to_pylist():
        selection = row["selection"]
        seen[selection] += 1
        try:
            first, second = (datasets.count(row[side], claims, selection) for side in ("first", "second"))
        except ProofError as error:
            yield str(error)
            continue
        except MALFORMED as error:
            yield f"a dataset cannot be read: {type(error).__name__}: {' '.join(str(error).split())}"
            continue
        if first == second:
            yield f"the witnesses agree on {selection}"
        elif selection in refuted and first != refuted[selection]:
            yield f"the first dataset has {first} of {selection}, the claim says {refuted[selection]}"
    for selection in refuted:
        if selection not in seen:
            yield f"no witnesses against {selection}"
    for selection, times in seen.items():
        if times > 1 or selection not in refuted:
            yield f"witnesses against a claim that is not refuted, or twice: {selection}"


class _Datasets:
    """Datasets by their text, each checked once."""

    def __init__(self, checker: Checker, names: Sequence[str]) -> None:
        self._checker = checker
        self._part = checker.name if isinstance(checker, PartChecker) else None
        self._names = names if self._part is None else (PART, *names)
        self._read = lru_cache(maxsize=64)(self._checked)

    def _checked(self, text: str) -> Dataset:
        plain = json.loads(text)
        records = [({name: str(record[name]) for name in self._names}, int(n)) for record, n in plain]
        if json.dumps(records, ensure_ascii=False, separators=(",", ":")) != text:
            raise ProofError(f"a dataset is not written as datasets are: {text[:200]}")
        self._checker.check_world(records)
        return records if self._part is None else [row for row in records if row[0][PART] == self._part]

    def count(self, text: str, claims: StoredClaims, selection: str) -> int:
        """How many records of a dataset match a selection."""
        terms = claims.vocabulary.terms(selection)
        records = self._read(text)
        return sum(n for record, n in records if all(record[name] in values for name, values in terms))
