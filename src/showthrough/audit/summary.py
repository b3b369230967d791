"""The figures a reader asks for first, added up without holding a run's tables in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

__all__ = ["iter_batches", "summarise"]

DECIDED = ("decided", "partly decided")
COUNTED = ("verified", "refuted", "undecided", "impossible", "direct", "findings", "singletons")


def summarise(areas: Path, claims: Path, findings: Path) -> dict[str, Any]:
    """What the three tables of a run add up to."""
    evidence, hidden, singletons = Counter[Any](), Counter[Any](), Counter[Any]()
    for batch in iter_batches(claims, ["verdict", "evidence", "direct", "k", "multiplicity"]):
        verified = batch.filter(pc.field("verdict") == "verified")
        unread = verified.filter(~pc.field("direct"))
        _count(evidence, verified["evidence"])
        _count(hidden, unread["k"])
        _count(singletons, unread.filter(pc.field("multiplicity") == 1)["k"])
    kinds = Counter[Any]()
    for batch in iter_batches(findings, ["kind"]):
        _count(kinds, batch["kind"])
    return {
        **_areas(areas),
        "verified_by_evidence": _sorted(evidence),
        "hidden_by_columns": _sorted(hidden),
        "hidden_singletons_by_columns": _sorted(singletons),
        "findings_by_kind": _sorted(kinds),
    }


def _areas(path: Path) -> dict[str, int]:
    names = ["areas", "areas_failed", "areas_with_findings", "areas_unique", "records", *COUNTED]
    total: dict[str, int] = dict.fromkeys(names, 0)
    for batch in iter_batches(path, ["status", "unique", "records", *COUNTED]):
        total["areas"] += batch.num_rows
        total["areas_failed"] += batch.filter(~pc.field("status").isin(DECIDED)).num_rows
        total["areas_with_findings"] += batch.filter(pc.field("findings") > 0).num_rows
        total["areas_unique"] += int(pc.sum(batch["unique"]).as_py() or 0)
        for name in ("records", *COUNTED):
            total[name] += int(pc.sum(batch[name]).as_py() or 0)
    return total


def iter_batches(
    path: Path, columns: Sequence[str] | None = None, *, rows: int = 2**14
) -> Iterator[pa.Table]:
    """A Parquet file some rows at a time."""
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(rows, columns=None if columns is None else list(columns)):
            yield pa.Table.from_batches([batch])


def _count(into: Counter[Any], column: pa.ChunkedArray) -> None:
    counted: Any = pc.value_counts(column)
    for entry in counted.to_pylist():
        into[entry["values"]] += entry["counts"]


def _sorted(counted: Counter[Any]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(counted.items())}
