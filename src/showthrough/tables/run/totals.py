"""The figures a reader asks for first, added up without holding a run's tables in memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from showthrough.errors import RunError
from showthrough.files import read_json
from showthrough.tables.run.batch import TABLES
from showthrough.tables.run.stored import DAMAGED, read_rows

__all__ = [
    "read_summary",
    "summarise",
]

DECIDED = ("decided", "partly decided")
COUNTED = ("verified", "refuted", "undecided", "impossible", "direct", "findings", "singletons")
NUMBERS = ("areas", "areas_failed", "areas_with_findings", "areas_unique", "records", *COUNTED)
BY_KIND = (
    "verified_by_evidence",
    "hidden_by_columns",
    "hidden_singletons_by_columns",
    "findings_by_kind",
)


def summarise(areas: Path, claims: Path, findings: Path) -> dict[str, Any]:
    """What the three tables of a run add up to."""
    evidence, hidden, singletons = Counter[Any](), Counter[Any](), Counter[Any]()
    for batch in read_rows(claims, TABLES["claims"], ["verdict", "evidence", "direct", "k", "multiplicity"]):
        verified = batch.filter(pc.field("verdict") == "verified")
        unread = verified.filter(~pc.field("direct"))
        _count(evidence, verified["evidence"])
        _count(hidden, unread["k"])
        _count(singletons, unread.filter(pc.field("multiplicity") == 1)["k"])
    kinds = Counter[Any]()
    for batch in read_rows(findings, TABLES["findings"], ["kind"]):
        _count(kinds, batch["kind"])
    return {
        **_areas(areas),
        "verified_by_evidence": _sorted(evidence),
        "hidden_by_columns": _sorted(hidden),
        "hidden_singletons_by_columns": _sorted(singletons),
        "findings_by_kind": _sorted(kinds),
    }


def _areas(path: Path) -> dict[str, int]:
    total: dict[str, int] = dict.fromkeys(NUMBERS, 0)
    for batch in read_rows(path, TABLES["areas"], ["status", "unique", "records", *COUNTED]):
        total["areas"] += batch.num_rows
        total["areas_failed"] += batch.filter(~pc.field("status").isin(DECIDED)).num_rows
        total["areas_with_findings"] += batch.filter(pc.field("findings") > 0).num_rows
        total["areas_unique"] += int(pc.sum(batch["unique"]).as_py() or 0)
        for name in ("records", *COUNTED):
            total[name] += int(pc.sum(batch[name]).as_py() or 0)
    return total


def read_summary(path: Path) -> dict[str, Any]:
    """What :func:`summarise` found, read again."""
    found = read_json(path, error=RunError, remedy=DAMAGED)
    for name in NUMBERS:
        if not _is_count(found.get(name)):
            raise RunError("a number is missing", file=str(path), column=name, remedy=DAMAGED)
    for name in BY_KIND:
        numbers = found.get(name)
        if not isinstance(numbers, dict) or not all(map(_is_count, numbers.values())):
            raise RunError("numbers are missing", file=str(path), column=name, remedy=DAMAGED)
    return found


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _count(into: Counter[Any], column: pa.ChunkedArray) -> None:
    counted: Any = pc.value_counts(column)
    for entry in counted.to_pylist():
        into[entry["values"]] += entry["counts"]


def _sorted(counted: Counter[Any]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(counted.items())}
