"""The audit of one area: its verdicts, its findings, and both as tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from showthrough.audit.answers import REFUTED
from showthrough.audit.facts import Facts
from showthrough.audit.result import KINDS, Finding, Kind, Verdict
from showthrough.audit.wording import CLAIM_COLUMNS
from showthrough.plain import html_summary
from showthrough.release import Release
from showthrough.schema import Schema

__all__ = ["FINDING_COLUMNS", "Audit", "Facts"]

FINDING_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("kind", pa.string()),
        ("multiplicity", pa.int64()),
        ("k", pa.int32()),
        ("knows", pa.string()),
        ("learns", pa.string()),
        ("other_ways", pa.string()),
        ("n_claims", pa.int32()),
        ("n_tables", pa.int32()),
        ("sentence", pa.string()),
    ]
)


@dataclass(frozen=True, eq=False)
class Audit:
    """Everything decided about one area.

    ``n_types`` counts the record types that the rules and the zero cells leave. ``n_records`` is
    None where the number of records does not follow from the release. ``unique``
    says whether exactly one dataset agrees (None: not decided). ``left_out`` names attributes that
    occur in no table and no rule, so that nothing can follow about them. ``extra`` holds verdicts
    on absences and impossible counts, where they were asked for.
    """

    release: Release
    facts: Facts
    n_types: int
    n_records: int | None
    unique: bool | None
    left_out: tuple[str, ...] = ()
    extra: tuple[Verdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    work: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def area(self) -> str:
        """The area's name."""
        return self.release.area

    @property
    def schema(self) -> Schema:
        """The schema of the records."""
        return self.release.schema

    def _repr_html_(self) -> str:
        """What was found, for notebooks."""
        kinds: tuple[Kind, ...] = ("verified", "refuted", "undecided")
        counted = ", ".join(f"{self.n_of(kind):,} claims {kind}" for kind in kinds)
        shown = [[one.sentence(self.schema)] for one in self.findings[:10]]
        title = f"{self.area or 'Audit'}: {len(self.findings):,} findings; {counted}"
        more = len(self.findings) - len(shown)
        note = f"… and {more:,} more in .findings" if more else ""
        return html_summary(title, [["what shows through"], *shown], note=note)

    @property
    def n_worlds(self) -> int:
        """How many different datasets were kept as evidence."""
        return len(self.facts.pool)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """A verdict on every claim, by number of columns and then by selection."""
        made = [self.facts.verdict(at) for at in range(len(self.facts.candidates))]
        return tuple(sorted((*made, *self.extra), key=_order))

    def of_kind(self, kind: Kind) -> Iterator[Verdict]:
        """The verdicts of one kind."""
        return (verdict for verdict in self.verdicts if verdict.kind == kind)

    def n_of(self, kind: Kind) -> int:
        """How many verdicts are of one kind."""
        states = [state for state, name in KINDS.items() if name == kind]
        counted = int(np.isin(self.facts.state, states).sum())
        return counted + sum(1 for verdict in self.extra if verdict.kind == kind)

    @cached_property
    def claims(self) -> pa.Table:
        """One row per verified or undecided claim."""
        return self.table()

    def table(self, *, refuted: bool = False) -> pa.Table:
        """The claims as an Arrow table, with the refuted ones on request."""
        facts = self.facts
        chosen = np.flatnonzero((facts.state != REFUTED) | refuted)
        table = facts.wording.table(chosen, self.area)
        if self.extra:
            rows = [_extra_row(v, self.area, self.schema) for v in self.extra]
            columns = zip(*rows, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, CLAIM_COLUMNS, strict=True)]
            table = pa.concat_tables([table, pa.Table.from_arrays(arrays, schema=CLAIM_COLUMNS)])
        by_k_and_text = pc.sort_indices(
            table, sort_keys=[(name, "ascending") for name in ("k", "selection", "multiplicity")]
        )
        return table.take(by_k_and_text).combine_chunks()

    def findings_table(self) -> pa.Table:
        """The findings as an Arrow table."""
        rows = [
            {
                "area": self.area,
                "kind": one.kind,
                "multiplicity": one.multiplicity,
                "k": one.k,
                "knows": one.knows.to_json(),
                "learns": one.learns.to_json(),
                "other_ways": f"[{', '.join(way.to_json() for way in one.other_ways)}]",
                "n_claims": one.n_claims,
                "n_tables": one.n_tables,
                "sentence": one.sentence(self.schema),
            }
            for one in self.findings
        ]
        return pa.Table.from_pylist(rows, FINDING_COLUMNS)


def _extra_row(verdict: Verdict, area: str, schema: Schema) -> tuple[object, ...]:
    claim = verdict.claim
    return (
        area,
        claim.selection.to_json(),
        len(claim.selection),
        claim.multiplicity,
        verdict.kind,
        verdict.evidence,
        verdict.direct,
        verdict.n_tables,
        claim.sentence(schema, verdict.kind),
    )


def _order(verdict: Verdict) -> tuple[int, str, int]:
    claim = verdict.claim
    return len(claim.selection), claim.selection.to_json(), claim.multiplicity
