"""A run of the audit as a page: the headline, the findings with their proofs, and the figures.

The most telling findings are in the page, up to :data:`MOST_FINDINGS` of them, and as many of their
proofs as fit into :data:`MOST_BYTES`. They travel compressed: an index of all findings that the
page unpacks at once, and the evidence in pieces of some areas each that it unpacks when a reader
opens a finding. The page never holds records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from showthrough.audit.baseline import Reference, baseline
from showthrough.audit.digest import EVIDENCE, figures, headline, ranked, several, unsettled
from showthrough.audit.evaluation import Summary, evaluate
from showthrough.audit.run import AuditRun
from showthrough.audit.verify import open_run
from showthrough.records import Records
from showthrough.release import Layout
from showthrough.report.audit_charts import audit_charts
from showthrough.report.evidence import Evidence, collect_evidence
from showthrough.report.page import Page, pack
from showthrough.report.provenance import provenance
from showthrough.schema import Schema, Selection

__all__ = ["Background", "audit_page"]

MOST_FINDINGS = 20_000

#: Of all packed evidence together, and of one unpacked piece.
MOST_BYTES, PIECE = 12 * 2**20, 2**20

#: Areas listed, and areas that were not decided.
MOST_AREAS, MOST_OPEN = 5_000, 200

#: Beyond so many claims, the coverage by k (which needs all of them in memory) is left out.
MOST_CLAIMS = 3_000_000

#: Findings written into the page itself, for readers without scripts.
STATIC = 8

KINDS = ("singleton", "group", "group of unknown size")

References = Mapping[str, tuple[Reference, Callable[[str], str]]]


@dataclass(frozen=True, eq=False)
class Background:
    """What is known besides the run: its records, and where areas might have been drawn from.

    Both as :func:`showthrough.audit.evaluation.evaluate` takes them.
    """

    records: Records | None = None
    references: References = field(default_factory=dict[str, tuple[Reference, Callable[[str], str]]])


def audit_page(folder: str | Path, background: Background | None = None) -> Page:
    """The page of a finished run."""
    run, manifest, layout = open_run(folder)
    background = background or Background()
    schema, summary = layout.schema, run.summary
    findings = ranked(run, most=MOST_FINDINGS)
    evaluated = _evaluated(run, background)
    blocks, first = _blocks(run, layout, findings, _baselines(run, layout, findings, background))
    content = {
        "title": "What shows through",
        "kind": "Audit of tables of counts",
        "headline": headline(summary, schema),
        "schema": schema,
        "summary": summary,
        "facts": _facts(summary, schema),
        "stressed": True,
        "figures": figures(run),
        "findings": findings,
        "static": [(findings[at], *behind) for at, behind in sorted(first.items())],
        "evidence": EVIDENCE,
        "charts": audit_charts(run, schema, evaluated),
        "open": list(islice(unsettled(run), MOST_OPEN)),
        "n_open": sum(1 for _ in unsettled(run)),
        "references": list(background.references),
        "tables": _tables(layout),
        "witnesses": bool(manifest["parameters"].get("refuted")),
        "provenance": provenance(manifest),
        "command": str(folder),
    }
    return Page("audit.html", content, ("findings.js",), blocks)


def _evaluated(run: AuditRun, background: Background) -> Summary | None:
    if run.summary["verified"] > MOST_CLAIMS:
        return None
    return evaluate(run.folder, background.records, references=background.references)


def _facts(summary: Mapping[str, Any], schema: Schema) -> list[tuple[str, str]]:
    """The figures at the top, as (number, what it counts)."""
    several_areas = summary["areas"] > 1
    shown = [
        (summary["findings"], "finding" if summary["findings"] == 1 else "findings"),
        (summary["singletons"], f"about exactly one {schema.record}"),
        (summary["verified"] - summary["direct"], "proved claims that no cell states"),
    ]
    if summary["records"]:
        inside = f" in {summary['areas']:,} areas" if several_areas else ""
        shown.append((summary["records"], f"{schema.noun(summary['records'])}{inside}"))
    if summary["areas_unique"] and several_areas:
        verb = "area is" if summary["areas_unique"] == 1 else "areas are"
        shown.append((summary["areas_unique"], f"{verb} given away whole: one dataset fits"))
    return [(f"{number:,}", text) for number, text in shown]


def _tables(layout: Layout) -> list[tuple[str, str, str]]:
    """(name, what it is, how many cells) of every table audited."""
    return [
        (
            table.name,
            " – ".join(t for t in (table.label, table.publisher) if t),
            several(len(table.cells), "cell"),
        )
        for table in layout.tables
    ]


def _baselines(
    run: AuditRun, layout: Layout, findings: Sequence[Mapping[str, Any]], background: Background
) -> dict[str, list[float | None]]:
    """For each reference and finding the chance that it would hold in a random area."""
    if not background.references or not findings:
        return {}
    sized = [at for at, row in enumerate(findings) if row["kind"] != "group of unknown size"]
    both = [
        (Selection.from_json(findings[at]["knows"]) & Selection.from_json(findings[at]["learns"])).to_json()
        for at in sized
    ]
    claims = pa.table(
        {
            "area": pa.array([findings[at]["area"] for at in sized], pa.string()),
            "selection": pa.array(both, pa.string()),
            "multiplicity": pa.array([findings[at]["multiplicity"] for at in sized], pa.int64()),
        }
    )
    areas = run.table("areas").select(["area", "records"]).to_pylist()
    sizes = {row["area"]: row["records"] for row in areas}
    found: dict[str, list[float | None]] = {}
    for name, (reference, group) in background.references.items():
        made = baseline(claims, reference, schema=layout.schema, n_records=sizes, group=group)
        chances: list[float | None] = [None] * len(findings)
        for at, chance in zip(sized, made["probability"].to_pylist(), strict=True):
            chances[at] = None if chance is None else float(f"{chance:.3g}")
        found[name] = chances
    return found


def _blocks(
    run: AuditRun,
    layout: Layout,
    findings: Sequence[Mapping[str, Any]],
    baselines: Mapping[str, list[float | None]],
) -> tuple[dict[str, str], dict[int, tuple[Evidence, list[list[str]]]]]:
    """The data blocks of the page, and the evidence of the first findings for readers without scripts."""
    pieces = _Pieces(len(findings))
    first: dict[int, tuple[Evidence, list[list[str]]]] = {}
    for positions, words, evidence in collect_evidence(run, layout, findings):
        pieces.add(positions, words, evidence)
        first |= {at: (one, words) for at, one in zip(positions, evidence, strict=True) if at < STATIC}
    pieces.close()
    index = {
        **_index(run, layout.schema, findings),
        "baselines": baselines,
        "where": pieces.where,
        "evidence": EVIDENCE,
        "cells": _cells(layout),
    }
    return {"index": pack(index), **pieces.packed}, first


def _cells(layout: Layout) -> dict[str, str]:
    """What cells count whose names do not say so themselves."""
    pairs = zip(layout.names, layout.selections, strict=True)
    coded = ((name, selection) for (_, name), selection in pairs if name.isidentifier() and selection.terms)
    return {name: _upper(layout.schema.describe(selection)) for name, selection in coded}


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


@dataclass
class _Pieces:
    """Evidence on its way into pieces of some areas each. ``where`` is (piece, place) per finding."""

    n_findings: int
    packed: dict[str, str] = field(default_factory=dict[str, str])
    where: list[tuple[int, int]] = field(init=False)
    _open: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _size: int = 0
    _total: int = 0

    def __post_init__(self) -> None:
        self.where = [(-1, 0)] * self.n_findings

    def add(self, positions: Sequence[int], words: list[list[str]], evidence: Sequence[Evidence]) -> None:
        """One area's findings."""
        if self._total > MOST_BYTES:
            return
        area: dict[str, Any] = {"proofs": words, "findings": [_plain(one) for one in evidence]}
        for number, at in enumerate(positions):
            self.where[at] = (len(self.packed), len(self._open) << 16 | number)
        self._open.append(area)
        self._size += len(json.dumps(area, ensure_ascii=False))
        if self._size > PIECE:
            self.close()

    def close(self) -> None:
        """Pack what is open."""
        if self._open:
            block = pack(self._open)
            self.packed[f"piece-{len(self.packed)}"] = block
            self._total += len(block)
            self._open, self._size = [], 0


def _plain(one: Evidence) -> dict[str, Any]:
    kinds = list(EVIDENCE)
    return {
        "steps": [[step.says, step.proof] for step in one.steps],
        "ways": one.ways,
        "terms": one.terms,
        "claims": [[terms, kinds.index(how), proof] for terms, how, proof in one.claims],
        "near": [[n.says, n.counts, n.attribute, n.values] for n in one.neighbours],
    }


def _index(run: AuditRun, schema: Schema, findings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What searching, filtering and sorting need, column by column."""
    table = run.table("areas").select(["area", "records", "findings", "singletons", "unique", "status"])
    areas = sorted(table.to_pylist(), key=lambda row: (-row["singletons"], -row["findings"]))[:MOST_AREAS]
    names = {name: at for at, name in enumerate(dict.fromkeys(row["area"] for row in findings))}
    sentences = [_cut(row, schema) for row in findings]
    place = schema.index
    return {
        "record": [schema.record, schema.records],
        "attributes": [a.label or a.name for a in schema.attributes],
        "names": list(names),
        "areas": [list(row.values()) for row in areas],
        "area": [names[row["area"]] for row in findings],
        "kind": [KINDS.index(row["kind"]) for row in findings],
        "m": [row["multiplicity"] for row in findings],
        "k": [row["k"] for row in findings],
        "tables": [row["n_tables"] for row in findings],
        "claims": [row["n_claims"] for row in findings],
        "before": [one[0] for one in sentences],
        "learnt": [one[1] for one in sentences],
        "after": [one[2] for one in sentences],
        "knows": [[place[n] for n in json.loads(row["knows"])] for row in findings],
        "learns": [[place[n] for n in json.loads(row["learns"])] for row in findings],
    }


def _cut(row: Mapping[str, Any], schema: Schema) -> tuple[str, str, str]:
    """A finding's sentence as what comes before, what is learnt, and what comes after."""
    learnt = schema.describe(Selection.from_json(row["learns"]))
    before, found, after = row["sentence"].rpartition(learnt)
    return (before, found, after) if found else (row["sentence"], "", "")
