"""The charts of an audit's page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow.compute

from showthrough.report.charts import (
    ACCENT,
    PALE,
    SOFT,
    Chart,
    Row,
    Spec,
    areas,
    class_axis,
    count_axis,
    encoding,
    number_axis,
)
from showthrough.schema import Schema
from showthrough.tables.coverage import Coverage
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.totals import RunTotals
from showthrough.text import percent

__all__ = [
    "audit_charts",
    "claims_chart",
]

#: Arrow's stubs do not know all ways in which fields are asked.
pc: Any = pyarrow.compute

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


def _by_k(rows: Sequence[Row], what: str, schema: Schema) -> Chart:
    """Shares of areas, or of records, that claims of k columns are about."""
    single, every = f"about exactly one {schema.record}", "about any number"
    names = {"singletons": single, "all": every}
    noun = "areas" if what == "areas" else schema.records
    order = sorted(rows, key=lambda row: row["kind"])  # "all" first: what is drawn last is on top
    shown = tuple({**row, "claims": names[row["kind"]]} for row in order if any(r[what] for r in rows))
    single_rows = [row for row in shown if row["kind"] == "singletons"]
    most = max(single_rows, key=lambda r: (min(r["share"], 0.5), r["k"]), default=None)
    covered = f"{schema.records[:1].upper()}{schema.records[1:]} that hidden claims cover"
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
    rows = list[Row]()
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


def _box(reference: str, rows: tuple[Row, ...], schema: Schema) -> Chart:
    largest = rows[-1]
    top = max(row["whisker_high"] for row in rows) or 1

    def place(start: str, end: str = "") -> Spec:
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
        known = part.filter(pc.field("records").is_valid())
        size = np.searchsorted(SIZES, known["records"].to_numpy(), side="right") - 1
        np.add.at(counted, ((known["findings"].to_numpy() > 0).astype(np.int64), size), 1)
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
