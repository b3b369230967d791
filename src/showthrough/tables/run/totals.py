"""What the tables of a run add up to, and the sentences that state it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute

from showthrough.errors import RunError
from showthrough.schema import Schema
from showthrough.tables.stored import DAMAGED
from showthrough.text import percent, several

if TYPE_CHECKING:
    from showthrough.tables.run.read import AuditRun

__all__ = [
    "RunTotals",
    "add_up",
    "verdict_key",
]

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

#: What summaries have only if somebody asked how different two datasets can be.
_COMPARED = ("areas_compared", "records_compared", "differ_low", "differ_high")

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute


@dataclass(frozen=True)
class RunTotals:
    """What the tables of a run add up to.

    ``direct`` claims are stated by one cell, given only the rules; the ``hidden`` ones are verified
    claims that are not. ``areas_unique`` counts the areas that exactly one dataset agrees with.
    ``areas_compared`` are the areas of which it is known in how many records two datasets can differ:
    ``differ_low`` of ``records_compared`` in all, or more, but no more than ``differ_high``.
    ``without_findings`` says that findings were not asked for, so that 0 of them means nothing.
    ``stored_by_verdict`` counts the stored claims by verdict, evidence and whether a cell states them; only
    runs in several parts have it, of which nobody wants to count all claims again.
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
    areas_compared: int = 0
    records_compared: int = 0
    differ_low: int = 0
    differ_high: int = 0
    without_findings: bool = False
    stored_by_verdict: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def hidden(self) -> int:
        """Verified claims that no cell states."""
        return sum(self.hidden_by_columns.values())

    def headline(self, schema: Schema) -> str:
        """The result of the run in one sentence.

        >>> schema = Schema.of({"sex": ["f", "m"]}, record="child")
        >>> print(RunTotals(areas=9, areas_with_findings=1, findings=1, singletons=1).headline(schema))
        1 of 9 areas gives away something about individual records: 1 finding, about exactly one child.
        """
        if self.without_findings:
            return self._claims_alone()
        if not self.findings:
            where = "" if self.areas == 1 else f" in any of {self.areas:,} areas"
            verb = "is" if self.undecided == 1 else "are"
            but = f", but {several(self.undecided, 'claim')} {verb} undecided" if self.undecided else ""
            return f"Nothing shows through{where} beyond what the cells state{but}."
        who = "These tables give"
        if self.areas > 1:
            verb = "gives" if self.areas_with_findings == 1 else "give"
            who = f"{self.areas_with_findings:,} of {self.areas:,} areas {verb}"
        single = f"about exactly one {schema.record}"
        if self.findings == 1:
            single = single if self.singletons else f"not {single}"
        else:
            single = f"{f'{self.singletons:,}' if self.singletons else 'none'} of them {single}"
        return (
            f"{who} away something about individual records: {several(self.findings, 'finding')}, {single}."
        )

    def differences(self, schema: Schema) -> str:
        """In how many records two datasets can differ, in one sentence; empty if nobody asked.

        >>> schema = Schema.of({"sex": ["f", "m"]}, record="home")
        >>> totals = RunTotals(areas=2, areas_compared=2, records_compared=40, differ_low=3, differ_high=5)
        >>> print(totals.differences(schema).replace("\N{NO-BREAK SPACE}", " "))
        Two datasets with these counts differ in 3 of 40 homes (7.5 %); no two differ in more than 5 (12.5 %).
        """
        if not self.areas_compared:
            return ""
        whom = f"{self.records_compared:,} {schema.noun(self.records_compared)}"
        if self.areas_compared < self.areas:
            whom += f" in {self.areas_compared:,} of {self.areas:,} areas"
        if not self.differ_high:
            return f"Only one dataset has these counts: no two differ in any of {whom}."
        n = max(1, self.records_compared)
        low = f"{self.differ_low:,} of {whom} ({percent(self.differ_low / n, 1)})"
        if self.differ_low == self.differ_high:
            return f"Two datasets with these counts differ in {low}, and no two differ in more."
        most = f"{self.differ_high:,} ({percent(self.differ_high / n, 1)})"
        return f"Two datasets with these counts differ in {low}; no two differ in more than {most}."

    def _claims_alone(self) -> str:
        """What is proved, where claims were not put together to findings."""
        where = "" if self.areas == 1 else f" in {self.areas:,} areas"
        stated = f"{several(self.hidden, 'claim')} that no cell states {'is' if self.hidden == 1 else 'are'}"
        verb = "is" if self.undecided == 1 else "are"
        but = f", and {several(self.undecided, 'claim')} {verb} undecided" if self.undecided else ""
        return f"Findings were not asked for; {stated} proved{where}{but}."

    @classmethod
    def sum_of(cls, parts: Iterable[RunTotals]) -> RunTotals:
        """What the parts of a run add up to.

        >>> one = RunTotals(areas=2, findings_by_kind={"group": 3})
        >>> RunTotals.sum_of([one, one]).findings_by_kind
        {'group': 6}
        """
        total = dict[str, Any]()
        for part in parts:
            for entry in fields(cls):
                value = getattr(part, entry.name)
                if isinstance(value, Mapping):
                    total.setdefault(entry.name, Counter()).update(value)
                else:
                    total[entry.name] = value + total.get(entry.name, 0) if entry.type == "int" else value
        ordered: dict[str, Any] = {
            name: _in_order(one) if isinstance(one, Counter) else one for name, one in total.items()
        }
        return cls(**ordered)

    def to_plain(self) -> dict[str, Any]:
        """As summary.json has it."""
        plain = asdict(self)
        if not self.without_findings:
            del plain["without_findings"]  # as summaries have always been
        if not self.areas_compared:
            plain = {name: value for name, value in plain.items() if name not in _COMPARED}
        if not self.stored_by_verdict:
            del plain["stored_by_verdict"]
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, object], *, file: str | None = None) -> RunTotals:
        """The inverse of :meth:`to_plain`; entries it does not know are left out."""
        left_out = {"without_findings", *(name for name in _COMPARED if _COMPARED[0] not in plain)}
        left_out |= {"stored_by_verdict"} - set(plain)
        numbers = [entry for entry in fields(cls) if entry.name not in left_out]
        without = plain.get("without_findings", False)
        if not isinstance(without, bool):
            raise RunError("an entry is invalid", file=file, column="without_findings", remedy=DAMAGED)
        for entry in numbers:
            value = plain.get(entry.name)
            counts = isinstance(value, dict) and all(map(_is_count, value.values()))
            if not (_is_count(value) if entry.type == "int" else counts):
                problem = "a number is missing" if entry.type == "int" else "numbers are missing"
                raise RunError(problem, file=file, column=entry.name, remedy=DAMAGED)
        known: dict[str, Any] = {entry.name: plain[entry.name] for entry in numbers}
        return cls(**known, without_findings=without)


def add_up(run: AuditRun, *, without_findings: bool = False, by_verdict: bool | None = None) -> RunTotals:
    """What the tables of a run add up to, without holding them in memory.

    ``by_verdict``: whether to count the stored claims by verdict too; by default for runs in several parts.
    """
    evidence, hidden, singletons, kinds, stored = (Counter[Any]() for _ in range(5))
    for batch in run.batches("claims", list(_TOLD), rows=2**17):
        for row in _grouped(batch):
            n = row["count_all"]
            stored[verdict_key(row["verdict"], row["evidence"], direct=row["direct"])] += n
            if row["verdict"] == "verified":
                evidence[row["evidence"]] += n
                if not row["direct"]:
                    hidden[row["k"]] += n
                    singletons[row["k"]] += n * row["single"]
    told = run.files.in_parts if by_verdict is None else by_verdict
    for batch in run.batches("findings", ["kind"]):
        _count(kinds, batch["kind"])
    return RunTotals(
        **_area_totals(run),
        verified_by_evidence=_sorted(evidence),
        hidden_by_columns=_sorted(hidden),
        hidden_singletons_by_columns=_sorted(+singletons),
        findings_by_kind=_sorted(kinds),
        without_findings=without_findings,
        stored_by_verdict=_sorted(stored) if told else {},
    )


#: The columns of claims that summaries tell apart.
_TOLD = ("verdict", "evidence", "direct", "k", "multiplicity")


def verdict_key(verdict: str, evidence: str, *, direct: bool) -> str:
    """How claims that a summary counts together are called there.

    >>> verdict_key("verified", "linear", direct=True)
    'verified, linear, stated'
    """
    return f"{verdict}, {evidence}{', stated' if direct else ''}"


def _grouped(claims: pa.Table) -> list[dict[str, Any]]:
    """The claims of a batch, counted by what summaries tell apart."""
    single = pc.equal(claims["multiplicity"], 1)
    told = claims.select([*_TOLD[:-1]]).append_column("single", single)
    return told.group_by(told.column_names).aggregate([([], "count_all")]).to_pylist()


def _area_totals(run: AuditRun) -> dict[str, int]:
    total = Counter[str](
        dict.fromkeys(("areas", "areas_failed", "areas_with_findings", "areas_unique", *_SUMS), 0)
    )
    total.update(dict.fromkeys(_COMPARED, 0))
    for batch in run.batches("areas", ["status", "unique", "differ_low", "differ_high", *_SUMS]):
        _add_compared(total, batch)
        decided = pc.field("status").isin(("decided", "partly decided"))
        total["areas"] += batch.num_rows
        total["areas_failed"] += batch.filter(~decided).num_rows
        total["areas_with_findings"] += batch.filter(pc.field("findings") > 0).num_rows
        total["areas_unique"] += int(pc.sum(batch["unique"]).as_py() or 0)
        for name in _SUMS:
            total[name] += int(pc.sum(batch[name]).as_py() or 0)
    return dict(total)


def _add_compared(total: Counter[str], areas: pa.Table) -> None:
    """Add up in how many records two datasets can differ, where that is known."""
    known = areas.filter(pc.field("differ_high").is_valid())
    total["areas_compared"] += known.num_rows
    for name, column in (("records_compared", "records"), *((one, one) for one in _COMPARED[2:])):
        total[name] += int(pc.sum(known[column]).as_py() or 0)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _count(into: Counter[Any], column: pa.ChunkedArray) -> None:
    counted: Any = pc.value_counts(column)
    for entry in counted.to_pylist():
        into[entry["values"]] += entry["counts"]


def _in_order(counted: Mapping[str, int]) -> dict[str, int]:
    """The same as summaries have it: texts in their order, numbers in theirs."""
    return {key: counted[key] for key in sorted(counted, key=lambda key: (key.isdigit() * len(key), key))}


def _sorted(counted: Counter[Any]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(counted.items())}
