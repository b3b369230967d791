"""The page of an audit: the headline, the findings with their proofs, and charts.

The page has the most telling findings, up to :data:`MOST_FINDINGS` of them, and as many of their
proofs as fit into :data:`MOST_BYTES`. Both are compressed: an index of all findings that the page
unpacks at once, and the evidence in pieces of some areas each, unpacked when a reader opens a
finding. The page never holds records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from showthrough.cell import describe_terms
from showthrough.release import Layout
from showthrough.report.charts import (
    ACCENT,
    PALE,
    SOFT,
    Chart,
    areas,
    class_axis,
    count_axis,
    encoding,
    number_axis,
)
from showthrough.report.evidence import Evidence, collect_evidence
from showthrough.report.page import Page, pack, provenance
from showthrough.report.pieces import Pieces, plain_shapes, static_drawing
from showthrough.schema import Schema
from showthrough.tables.coverage import Background, Coverage, evaluate
from showthrough.tables.headline import (
    KINDS,
    open_areas,
    rank_findings,
    several,
    verdict_rows,
)
from showthrough.tables.labels import EVIDENCE
from showthrough.tables.run.read import AuditRun, StoredFinding
from showthrough.tables.run.totals import RunTotals
from showthrough.tables.surprise import baseline
from showthrough.text import percent

if TYPE_CHECKING:
    from showthrough.report.after_section import AfterSection
    from showthrough.report.recovered import RecoveredSection

__all__ = [
    "audit_charts",
    "audit_page",
    "claims_chart",
]

MOST_FINDINGS = 20_000

#: Areas listed, and areas that were not decided.
MOST_AREAS, MOST_OPEN = 5_000, 200

#: Above this number of claims, the coverage by k (which needs them all in memory) is left out.
MOST_CLAIMS = 3_000_000

#: Findings written into the page itself, for readers without scripts.
STATIC = 8


def audit_page(folder: str | Path, background: Background | None = None) -> Page:
    """The page of a finished run."""
    run = AuditRun.open(folder)
    background = background or Background()
    layout, schema, summary = run.layout, run.layout.schema, run.summary
    findings = rank_findings(run, most=MOST_FINDINGS)
    covered = _coverage(run, background)
    blocks, first = _blocks(run, findings, _baselines(run, findings, background))
    recovered, left_out = _suppressed(run)
    content = {
        "title": "What shows through",
        "kind": "Audit of tables of counts",
        "headline": summary.headline(schema),
        "schema": schema,
        "summary": summary,
        "facts": _facts(summary, schema),
        "stressed": True,
        "notes": run.notes,
        "after": _after(run),
        "recovered": recovered,
        "not_recovered": left_out,
        "figures": verdict_rows(run),
        "findings": findings,
        "static": [(findings[at], *behind) for at, behind in sorted(first.items())],
        "evidence": EVIDENCE,
        "charts": audit_charts(run, schema, covered),
        "open": list(islice(open_areas(run), MOST_OPEN)),
        "n_open": sum(1 for _ in open_areas(run)),
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
    from showthrough.report.after_section import after_section

    return after_section(run)


def _suppressed(run: AuditRun) -> tuple[RecoveredSection | None, str]:
    """What follows about suppressed cells, and what was left out."""
    if not run.has_intervals:
        return None, ""
    from showthrough.report.recovered import recovered_section
    from showthrough.tables.run.recovered import recover_run

    found = recover_run(run)
    return recovered_section(found.found), found.note


def _coverage(run: AuditRun, background: Background) -> Coverage | None:
    if run.summary.verified > MOST_CLAIMS:
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
    areas = run.table("areas").select(["area", "records"]).to_pylist()
    sizes = {row["area"]: row["records"] for row in areas}
    found: dict[str, list[float | None]] = {}
    for name, (reference, group) in background.references.items():
        made = baseline(claims, reference, schema=run.layout.schema, n_records=sizes, group=group)
        chances: list[float | None] = [None] * len(findings)
        for at, chance in zip(sized, made["probability"].to_pylist(), strict=True):
            chances[at] = None if chance is None else float(f"{chance:.3g}")
        found[name] = chances
    return found


def _blocks(
    run: AuditRun,
    findings: Sequence[StoredFinding],
    baselines: Mapping[str, list[float | None]],
) -> tuple[dict[str, str], dict[int, tuple[Evidence, list[list[str]], list[str | None]]]]:
    """The data blocks of the page, and the evidence of the first findings for readers without scripts."""
    pieces = Pieces(len(findings))
    first: dict[int, tuple[Evidence, list[list[str]], list[str | None]]] = {}
    tables = [finding.n_tables or finding.n_tables_added for finding in findings]
    for area in collect_evidence(run, findings):
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


def _cells(layout: Layout) -> dict[str, str]:
    """What cells count whose names do not say so themselves."""
    pairs = zip(layout.names, layout.terms, strict=True)
    coded = ((name, terms) for (_, name), terms in pairs if name.isidentifier())
    said = {name: _upper(describe_terms(layout.schema, terms)) for name, terms in coded}
    return {name: text for name, text in said.items() if text}


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _index(run: AuditRun, findings: Sequence[StoredFinding]) -> dict[str, Any]:
    """What searching, filtering and sorting need, column by column."""
    schema = run.layout.schema
    table = run.table("areas").select(["area", "records", "findings", "singletons", "unique", "status"])
    areas = sorted(table.to_pylist(), key=lambda row: (-row["singletons"], -row["findings"]))[:MOST_AREAS]
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


#: Limits of the classes of areas by number of records, as far as there are such areas.
SIZES = (0, 1, 2, 5, 10, 20, 30, 50, 100, 200, 500, 1_000, 10_000, 100_000)

K_AXIS = class_axis("k", "columns the claim is about")


def audit_charts(run: AuditRun, schema: Schema, summary: Coverage | None) -> list[Chart]:
    """All charts that the run has numbers for."""
    made = list[Chart]()
    if summary is not None and summary.n_areas > 1:
        made.append(_by_k(summary.areas.to_pylist(), "areas", schema))
    if summary is not None and summary.n_records:
        made.append(_by_k(summary.covered.to_pylist(), "records", schema))
    if not made:
        made.append(claims_chart(run.summary, schema))
    if summary is not None:
        made += _baseline_charts(summary, schema)
    if run.summary.areas > 1 and not run.summary.without_findings:
        made.append(_sizes(run, schema))
    return [chart for chart in made if chart.rows]


def _by_k(rows: Sequence[Mapping[str, Any]], what: str, schema: Schema) -> Chart:
    """Shares of areas, or of records, that claims of k columns are about."""
    single, every = f"about exactly one {schema.record}", "about any number"
    names = {"singletons": single, "all": every}
    noun = "areas" if what == "areas" else schema.records
    order = sorted(rows, key=lambda row: row["kind"])  # "all" first: what is drawn last is on top
    shown = tuple({**row, "claims": names[row["kind"]]} for row in order if any(r[what] for r in rows))
    single_rows = [row for row in shown if row["kind"] == "singletons"]
    most = max(single_rows, key=lambda r: (min(r["share"], 0.5), r["k"]), default=None)
    covered = f"{_upper(schema.records)} that hidden claims cover"
    title = "Areas with a hidden claim" if what == "areas" else covered
    legend = areas({single: ACCENT, every: PALE})
    lower = any(row.get("exact") is False for row in rows)
    says = "No hidden claims."
    if most is not None and most[what]:
        verb = "have a hidden claim" if what == "areas" else "are covered by hidden claims"
        share = percent(float(most["share"]), 1)
        says = (
            f"{'At least ' if lower else ''}{most[what]:,} {noun} ({share}) {verb} of "
            f"{most['k']} {'column' if most['k'] == 1 else 'columns'} about exactly one {schema.record}."
        )
    return Chart(
        f"{what}-by-k",
        title,
        says,
        shown,
        {"claims": "claims", "k": "columns k", what: noun, "share": "share"},
        {
            "mark": {"type": "line", "point": True},
            "encoding": {
                "x": K_AXIS,
                "y": number_axis("share", f"share of {noun}", scale={"domain": [0, 1]}, format=".0%"),
                **encoding("claims", legend),
            },
        },
        legend=legend,
        note=f"Lower bounds: at least this many {schema.records} are covered in every dataset."
        if lower
        else "",
    )


def claims_chart(summary: RunTotals, schema: Schema) -> Chart:
    """Numbers of hidden claims by k."""
    single, every = f"about exactly one {schema.record}", "about more"
    ones = summary.hidden_singletons_by_columns
    rows = list[dict[str, Any]]()
    for k, n in summary.hidden_by_columns.items():
        rows.append({"claims": single, "k": int(k), "number": ones.get(k, 0)})
        rows.append({"claims": every, "k": int(k), "number": n - ones.get(k, 0)})
    legend = areas({single: ACCENT, every: PALE})
    total, most = sum(row["number"] for row in rows), max(summary.hidden_by_columns.values(), default=0)
    return Chart(
        "claims-by-k",
        "Claims that no cell states",
        f"{total:,} verified claims, {sum(ones.values()):,} of them about exactly one {schema.record}.",
        tuple(rows),
        {"claims": "claims", "k": "columns k", "number": "claims verified"},
        {
            "mark": "bar",
            "encoding": {
                "x": K_AXIS,
                "y": count_axis("number", "claims", most),
                **encoding("claims", legend),
            },
        },
        legend=legend,
    )


def _baseline_charts(summary: Coverage, schema: Schema) -> Iterator[Chart]:
    """For each reference box plots of how likely the claims about one record are."""
    rows = summary.baselines.to_pylist() if summary.baselines.num_rows else []
    for reference in dict.fromkeys(row["reference"] for row in rows):
        mine = tuple(row for row in rows if row["reference"] == reference and row["kind"] == "singletons")
        if mine:
            yield _box(reference, mine, schema)


def _box(reference: str, rows: tuple[Mapping[str, Any], ...], schema: Schema) -> Chart:
    largest = rows[-1]
    top = max(row["whisker_high"] for row in rows) or 1

    def place(start: str, end: str = "") -> dict[str, Any]:
        scale = {"domain": [0, top], "nice": True}
        y = number_axis(start, "chance in a random area", scale=scale, format=".0%")
        return {"x": K_AXIS, "y": y, **({"y2": {"field": end}} if end else {})}

    return Chart(
        f"baseline-{reference}",
        f"How likely by chance: {reference}",
        f"Half of the claims of {largest['k']} columns would hold with a chance of "
        f"{percent(largest['median'], 2)} or less in an area of the same size drawn from the {reference}.",
        rows,
        {
            "k": "columns k",
            "n": "claims",
            "min": "least",
            "q1": "lower quartile",
            "median": "median",
            "q3": "upper quartile",
            "max": "largest",
        },
        {
            "layer": [
                {"mark": {"type": "rule", "color": SOFT}, "encoding": place("whisker_low", "whisker_high")},
                {
                    "mark": {"type": "bar", "size": 16, "color": PALE, "cornerRadiusEnd": 0},
                    "encoding": place("q1", "q3"),
                },
                {
                    "mark": {"type": "tick", "size": 22, "thickness": 3, "color": ACCENT},
                    "encoding": place("median"),
                },
            ]
        },
        note=f"Claims about exactly one {schema.record}. Box: the middle half; stroke: the median.",
    )


def _sizes(run: AuditRun, schema: Schema) -> Chart:
    """The sizes of the areas, with and without findings."""
    counted = np.zeros((2, len(SIZES)), np.int64)
    for part in run.batches("areas", ["records", "findings"]):
        for row in part.to_pylist():
            if (records := row["records"]) is not None:
                counted[int(row["findings"] > 0), np.searchsorted(SIZES, records, side="right") - 1] += 1
    used = np.flatnonzero(counted.sum(axis=0))
    names = {1: "something shows through", 0: "nothing does"}
    rows = [
        {"size": _between(at), "order": at, "areas_are": names[found], "areas": int(counted[found, at])}
        for at in (range(used[0], used[-1] + 1) if len(used) else ())
        for found in (1, 0)
    ]
    legend = areas({names[1]: ACCENT, names[0]: PALE})
    largest = int(used[-1]) if len(used) else 0
    return Chart(
        "sizes",
        "How large the areas are",
        f"{int(counted[1].sum()):,} of {int(counted.sum()):,} areas give something away; the largest areas "
        f"have {_between(largest)} {schema.records}.",
        tuple(rows),
        {"size": schema.records, "areas_are": "areas where", "areas": "areas"},
        {
            "mark": "bar",
            "encoding": {
                "x": class_axis("size", f"{schema.records} in the area", sort={"field": "order"}),
                "y": count_axis("areas", "areas", float(counted.sum(axis=0).max())),
                **encoding("areas_are", legend),
            },
        },
        legend=legend,
    )


def _between(at: int) -> str:
    low = SIZES[at]
    if at + 1 == len(SIZES):
        return f"{low:,}+"
    high = SIZES[at + 1] - 1
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
