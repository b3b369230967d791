"""The page of an audit: the headline, the findings with their proofs, and charts.

The page has the most telling findings, up to :data:`MOST_FINDINGS` of them, and as many of their
proofs as fit into :data:`MOST_BYTES`. Both are compressed: an index of all findings that the page
unpacks at once, and the evidence in pieces of some areas each, unpacked when a reader opens a
finding. The page never holds records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from showthrough.cell import describe_terms
from showthrough.release import Layout
from showthrough.report.audit_charts import audit_charts
from showthrough.report.evidence import Evidence, collect_evidence
from showthrough.report.page import Page, pack, provenance
from showthrough.report.pieces import Pieces, plain_shapes, static_drawing
from showthrough.schema import Schema
from showthrough.tables.coverage import Background, Coverage, evaluate
from showthrough.tables.explain import EVIDENCE
from showthrough.tables.headline import (
    KINDS,
    open_areas,
    rank_findings,
    several,
    verdict_rows,
)
from showthrough.tables.run.read import AuditRun, StoredFinding
from showthrough.tables.run.totals import RunTotals
from showthrough.tables.stored import TABLES
from showthrough.tables.surprise import baseline

if TYPE_CHECKING:
    from showthrough.report.nest_section import NestSection
    from showthrough.report.recovered import RecoveredSection
    from showthrough.tables.headline import AfterSection

__all__ = [
    "audit_page",
    "explained",
    "first_areas",
]

#: Arrow's stubs do not know what its expressions are.
pc: Any = pyarrow.compute

#: Findings listed, and those of them whose evidence is on the page.
MOST_FINDINGS, MOST_EXPLAINED = 20_000, 6_000

#: Claims of the areas whose evidence is on the page, about: reading these areas takes most of its time.
MOST_READ = 500_000

#: Areas listed, and areas that were not decided.
MOST_AREAS, MOST_OPEN = 5_000, 200

#: Above this number of claims or areas, the coverage by k, which takes long to count, is left out.
MOST_CLAIMS, MOST_COVERED = 3_000_000, 20_000

#: Findings written into the page itself, for readers without scripts.
STATIC = 8


def audit_page(folder: str | Path, background: Background | None = None, *, area: str | None = None) -> Page:
    """The page of a finished run, or of one of its areas."""
    run = AuditRun.open(folder)
    if area is not None:
        from showthrough.tables.run.one_area import area_of_run

        run = area_of_run(run, area)
    background = background or Background()
    layout, schema, summary = run.layout, run.layout.schema, run.summary
    findings = rank_findings(run, most=MOST_FINDINGS)
    covered = _coverage(run, background)
    blocks, first = _blocks(run, findings, _baselines(run, findings, background))
    recovered, left_out = _suppressed(run)
    more_open = open_areas(run)
    open_ = list(islice(more_open, MOST_OPEN))
    content = {
        "title": "What shows through" if area is None else f"What shows through in {area}",
        "kind": "Audit of tables of counts",
        "headline": summary.headline(schema),
        "schema": schema,
        "summary": summary,
        "facts": _facts(summary, schema),
        "stressed": True,
        "notes": run.notes,
        "after": _after(run),
        "nests": _nests(run),
        "differences": summary.differences(schema),
        "recovered": recovered,
        "not_recovered": left_out,
        "figures": verdict_rows(run),
        "findings": findings,
        "static": [(findings[at], *behind) for at, behind in sorted(first.items())],
        "evidence": EVIDENCE,
        "charts": audit_charts(run, schema, covered),
        "open": open_,
        "n_open": len(open_) + sum(1 for _ in more_open),
        "references": list(background.references),
        "tables": _tables(layout),
        "witnesses": bool(run.manifest["parameters"].get("refuted")),
        "provenance": provenance(run.manifest),
        "command": str(folder),
    }
    more = background.records is not None or bool(background.references)
    return Page("audit.html", content, ("findings.js",), blocks, more=more)


def _after(run: AuditRun) -> AfterSection | None:
    """What the new tables of a run add to those that were out before."""
    if not run.came_after:
        return None
    from showthrough.tables.headline import after_section

    return after_section(run)


def _nests(run: AuditRun) -> list[NestSection]:
    """What is said about areas with parts."""
    if not run.is_nested:
        return []
    from showthrough.report.nest_section import nest_sections

    return nest_sections(run)


def _suppressed(run: AuditRun) -> tuple[RecoveredSection | None, str]:
    """What follows about suppressed cells, and what was left out."""
    if not run.has_intervals:
        return None, ""
    from showthrough.report.recovered import recovered_section
    from showthrough.tables.run.recovered import recover_run

    found = recover_run(run)
    return recovered_section(found.found), found.note


def _coverage(run: AuditRun, background: Background) -> Coverage | None:
    asked = background.records is not None or bool(background.references)
    if run.summary.verified > MOST_CLAIMS or (run.summary.areas > MOST_COVERED and not asked):
        return None
    return evaluate(run, background.records, references=background.references)


def _facts(summary: RunTotals, schema: Schema) -> list[tuple[str, str]]:
    """The figures at the top, as (number, what it counts)."""
    several_areas = summary.areas > 1
    found = [
        (summary.findings, "finding" if summary.findings == 1 else "findings"),
        (summary.singletons, f"about exactly one {schema.record}"),
    ]
    shown = [] if summary.without_findings else found
    shown.append((summary.verified - summary.direct, "proved claims that no cell states"))
    if summary.records:
        inside = f" in {summary.areas:,} areas" if several_areas else ""
        shown.append((summary.records, f"{schema.noun(summary.records)}{inside}"))
    if summary.areas_unique and several_areas:
        verb = "area is" if summary.areas_unique == 1 else "areas are"
        shown.append((summary.areas_unique, f"{verb} fully determined: only one dataset agrees"))
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
    run: AuditRun, findings: Sequence[StoredFinding], background: Background
) -> dict[str, list[float | None]]:
    """For each reference and finding the chance that it would hold in a random area."""
    if not background.references or not findings:
        return {}
    sized = [at for at, finding in enumerate(findings) if finding.kind != "group of unknown size"]
    chosen = [findings[at] for at in sized]
    both = [(finding.knows & finding.learns).to_json() for finding in chosen]
    claims = pa.table(
        {
            "area": pa.array([finding.area for finding in chosen], pa.string()),
            "selection": pa.array(both, pa.string()),
            "multiplicity": pa.array([finding.multiplicity for finding in chosen], pa.int64()),
        }
    )
    sizes = _sizes_of(run, {finding.area for finding in chosen})
    found: dict[str, list[float | None]] = {}
    for name, (reference, group) in background.references.items():
        made = baseline(claims, reference, schema=run.layout.schema, n_records=sizes, group=group)
        chances: list[float | None] = [None] * len(findings)
        for at, chance in zip(sized, made["probability"].to_pylist(), strict=True):
            chances[at] = None if chance is None else float(f"{chance:.3g}")
        found[name] = chances
    return found


def _sizes_of(run: AuditRun, areas: set[str]) -> dict[str, int | None]:
    """How many records these areas have."""
    names = pa.array(sorted(areas), pa.string())
    parts = (part.filter(pc.field("area").isin(names)) for part in run.batches("areas", ["area", "records"]))
    return {row["area"]: row["records"] for part in parts for row in part.to_pylist()}


def _blocks(
    run: AuditRun,
    findings: Sequence[StoredFinding],
    baselines: Mapping[str, list[float | None]],
) -> tuple[dict[str, str], dict[int, tuple[Evidence, list[list[str]], list[str | None]]]]:
    """The data blocks of the page, and the evidence of the first findings for readers without scripts."""
    pieces = Pieces(len(findings))
    first: dict[int, tuple[Evidence, list[list[str]], list[str | None]]] = {}
    tables = [finding.n_tables or finding.n_tables_added for finding in findings]
    for area in collect_evidence(run, findings, explained(run, findings)):
        pieces.add(area)
        for at, n_tables in area.tables_shown():
            tables[at] = findings[at].n_tables or n_tables
        first |= {
            at: (one, list(area.words), [static_drawing(area, step.drawing) for step in one.steps])
            for at, one in zip(area.positions, area.evidence, strict=True)
            if at < STATIC
        }
    pieces.close()
    index = {
        **_index(run, findings),
        "tables": tables,
        "baselines": baselines,
        "where": pieces.where,
        "evidence": EVIDENCE,
        "cells": _cells(run.layout),
        "shapes": plain_shapes(run.layout),
    }
    return {"index": pack(index), **pieces.packed}, first


def explained(run: AuditRun, findings: Sequence[StoredFinding]) -> list[int]:
    """The findings whose evidence is on the page: the first ones, of areas that are read in a short time."""
    first = findings[:MOST_EXPLAINED]
    refuted = bool(run.manifest["parameters"].get("refuted"))
    if run.summary.verified + refuted * run.summary.refuted <= MOST_READ:
        return list(range(len(first)))
    columns = ["verified", "refuted"] if refuted else ["verified"]
    n_claims = _n_claims(run, {finding.area for finding in first}, columns)
    chosen, read, left = list[int](), set[str](), MOST_READ
    for at, finding in enumerate(first):
        if finding.area not in read and (at < STATIC or n_claims[finding.area] <= left):
            read.add(finding.area)
            left -= n_claims[finding.area]
        if finding.area in read:
            chosen.append(at)
    return chosen


def _n_claims(run: AuditRun, areas: set[str], columns: Sequence[str]) -> Counter[str]:
    """How many claims areas have, by columns that count them."""
    names, found = pa.array(sorted(areas), pa.string()), Counter[str]()
    for part in run.batches("areas", ["area", *columns], rows=2**17):
        for row in part.filter(pc.field("area").isin(names)).to_pylist():
            found[row["area"]] += sum(row[name] for name in columns)
    return found


def _cells(layout: Layout) -> dict[str, str]:
    """What cells count whose names do not say so themselves."""
    pairs = zip(layout.names, layout.terms, strict=True)
    coded = ((name, terms) for (_, name), terms in pairs if name.isidentifier())
    said = {name: _upper(describe_terms(layout.schema, terms)) for name, terms in coded}
    return {name: text for name, text in said.items() if text}


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def first_areas(run: AuditRun) -> list[dict[str, Any]]:
    """The areas with the most findings, those about single records first."""
    columns = ["area", "records", "findings", "singletons", "unique", "status"]
    kept = TABLES["areas"].empty_table().select(columns)
    for part in run.batches("areas", columns, rows=2**17):
        found = pa.concat_tables([kept, part])
        order = np.lexsort([-found[name].to_numpy() for name in ("findings", "singletons")])
        kept = found.take(order[:MOST_AREAS]).combine_chunks()
    return kept.to_pylist()


def _index(run: AuditRun, findings: Sequence[StoredFinding]) -> dict[str, Any]:
    """What searching, filtering and sorting need, column by column."""
    schema = run.layout.schema
    areas = first_areas(run)
    names = {name: at for at, name in enumerate(dict.fromkeys(finding.area for finding in findings))}
    sentences = [_cut(finding, schema) for finding in findings]
    return {
        "record": [schema.record, schema.records],
        "attributes": [a.label or a.name for a in schema.attributes],
        "names": list(names),
        "areas": [list(row.values()) for row in areas],
        "area": [names[finding.area] for finding in findings],
        "kind": [KINDS.index(finding.kind) for finding in findings],
        "m": [finding.multiplicity for finding in findings],
        "k": [finding.k for finding in findings],
        "claims": [finding.n_claims for finding in findings],
        "before": [before for before, _, _ in sentences],
        "learnt": [learnt for _, learnt, _ in sentences],
        "after": [after for _, _, after in sentences],
        "knows": [[schema.index[name] for name in finding.knows.attributes] for finding in findings],
        "learns": [[schema.index[name] for name in finding.learns.attributes] for finding in findings],
    }


def _cut(finding: StoredFinding, schema: Schema) -> tuple[str, str, str]:
    """A finding's sentence as what comes before, what is learnt, and what comes after."""
    before, found, after = finding.sentence.rpartition(schema.describe(finding.learns))
    return (before, found, after) if found else (finding.sentence, "", "")
