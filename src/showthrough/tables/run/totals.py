"""The totals of a run, as in summary.json: added up without holding its tables in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from showthrough.errors import RunError
from showthrough.files import read_json
from showthrough.schema import Schema
from showthrough.tables.parquet import PLACES, TABLES
from showthrough.tables.run.stored import DAMAGED, read_rows
from showthrough.text import several

__all__ = [
    "SUMMARY",
    "RunTotals",
    "add_up",
    "read_totals",
]

SUMMARY = "summary.json"

#: The columns of areas.parquet that are added up as they are.
_SUMS = (
    "records",
    "verified",
    "refuted",
    "undecided",
    "impossible",
    "direct",
    "findings",
    "singletons",
)


@dataclass(frozen=True)
class RunTotals:
    """What the tables of a run add up to.

    ``direct`` claims are stated by one cell, given only the rules; the ``hidden`` ones are verified
    claims that are not. ``areas_unique`` counts the areas that exactly one dataset agrees with.
    """

    areas: int = 0
    areas_failed: int = 0
    areas_with_findings: int = 0
    areas_unique: int = 0
    records: int = 0
    verified: int = 0
    refuted: int = 0
    undecided: int = 0
    impossible: int = 0
    direct: int = 0
    findings: int = 0
    singletons: int = 0
    verified_by_evidence: Mapping[str, int] = field(default_factory=dict[str, int])
    hidden_by_columns: Mapping[str, int] = field(default_factory=dict[str, int])
    hidden_singletons_by_columns: Mapping[str, int] = field(default_factory=dict[str, int])
    findings_by_kind: Mapping[str, int] = field(default_factory=dict[str, int])

    def headline(self, schema: Schema) -> str:
        """The result of the run in one sentence.

        >>> schema = Schema.of({"sex": ["f", "m"]}, record="child")
        >>> print(RunTotals(areas=12, areas_with_findings=5, findings=9, singletons=7).headline(schema))
        5 of 12 areas give away something about single records: 9 findings, 7 of them about exactly one child.
        """
        if not self.findings:
            where = "" if self.areas == 1 else f" in any of {self.areas:,} areas"
            verb = "is" if self.undecided == 1 else "are"
            but = f", but {several(self.undecided, 'claim')} {verb} undecided" if self.undecided else ""
            return f"Nothing shows through{where} beyond what the cells state{but}."
        who = "These tables give"
        if self.areas > 1:
            verb = "gives" if self.areas_with_findings == 1 else "give"
            who = f"{self.areas_with_findings:,} of {self.areas:,} areas {verb}"
        single = f"{self.singletons:,} of them about exactly one {schema.record}"
        return f"{who} away something about single records: {several(self.findings, 'finding')}, {single}."

    def to_plain(self) -> dict[str, Any]:
        """As summary.json has it."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, object], *, file: str | None = None) -> RunTotals:
        """The inverse of :meth:`to_plain`; entries it does not know are left out."""
        for entry in fields(cls):
            value = plain.get(entry.name)
            counts = isinstance(value, dict) and all(map(_is_count, value.values()))
            if not (_is_count(value) if entry.type == "int" else counts):
                problem = "a number is missing" if entry.type == "int" else "numbers are missing"
                raise RunError(problem, file=file, column=entry.name, remedy=DAMAGED)
        known: dict[str, Any] = {entry.name: plain[entry.name] for entry in fields(cls)}
        return cls(**known)


def add_up(folder: Path) -> RunTotals:
    """The totals of the tables in a run folder."""
    evidence, hidden, singletons, kinds = (Counter[Any]() for _ in range(4))
    columns = ["verdict", "evidence", "direct", "k", "multiplicity"]
    for batch in read_rows(folder / PLACES["claims"], TABLES["claims"], columns):
        verified = batch.filter(pc.field("verdict") == "verified")
        unstated = verified.filter(~pc.field("direct"))
        _count(evidence, verified["evidence"])
        _count(hidden, unstated["k"])
        _count(singletons, unstated.filter(pc.field("multiplicity") == 1)["k"])
    for batch in read_rows(folder / PLACES["findings"], TABLES["findings"], ["kind"]):
        _count(kinds, batch["kind"])
    return RunTotals(
        **_area_totals(folder / PLACES["areas"]),
        verified_by_evidence=_sorted(evidence),
        hidden_by_columns=_sorted(hidden),
        hidden_singletons_by_columns=_sorted(singletons),
        findings_by_kind=_sorted(kinds),
    )


def read_totals(path: Path) -> RunTotals:
    """The totals in a summary.json."""
    return RunTotals.from_plain(read_json(path, error=RunError, remedy=DAMAGED), file=str(path))


def _area_totals(path: Path) -> dict[str, int]:
    total = Counter[str](
        dict.fromkeys(("areas", "areas_failed", "areas_with_findings", "areas_unique", *_SUMS), 0)
    )
    for batch in read_rows(path, TABLES["areas"], ["status", "unique", *_SUMS]):
        decided = pc.field("status").isin(("decided", "partly decided"))
        total["areas"] += batch.num_rows
        total["areas_failed"] += batch.filter(~decided).num_rows
        total["areas_with_findings"] += batch.filter(pc.field("findings") > 0).num_rows
        total["areas_unique"] += int(pc.sum(batch["unique"]).as_py() or 0)
        for name in _SUMS:
            total[name] += int(pc.sum(batch[name]).as_py() or 0)
    return dict(total)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _count(into: Counter[Any], column: pa.ChunkedArray) -> None:
    counted: Any = pc.value_counts(column)
    for entry in counted.to_pylist():
        into[entry["values"]] += entry["counts"]


def _sorted(counted: Counter[Any]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(counted.items())}
