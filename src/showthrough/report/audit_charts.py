"""The pictures of an audit: where things show through, how much, how surprising, in what areas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from showthrough.audit.evaluation import Summary
from showthrough.audit.run import AuditRun
from showthrough.report.charts import Chart
from showthrough.report.series import areas
from showthrough.report.theme import ACCENT, PALE, SOFT
from showthrough.schema import Schema

__all__ = ["audit_charts", "claims_chart"]

#: Limits of the classes of areas by number of records, as far as there are such areas.
SIZES = (0, 1, 2, 5, 10, 20, 30, 50, 100, 200, 500, 1_000, 10_000, 100_000)

PERCENT = {"format": ".0%"}


def audit_charts(run: AuditRun, schema: Schema, summary: Summary | None) -> list[Chart]:
    """All charts that the run has numbers for."""
    made = list[Chart]()
    if summary is not None and summary.n_areas > 1:
        made.append(_by_k(summary.areas.to_pylist(), "areas", schema))
    if summary is not None and summary.n_records:
        made.append(_by_k(summary.covered.to_pylist(), "records", schema))
    if not made:
        made.append(claims_chart(run.summary, schema))
    if summary is not None:
        made += _baselines(summary, schema)
    if run.summary["areas"] > 1:
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
    lower = any(row.get("exact") is False for row in rows)
    says = "No claim beyond what cells state."
    if most is not None and most[what]:
        verb = "have a hidden claim" if what == "areas" else "are covered by hidden claims"
        says = (
            f"{'At least ' if lower else ''}{most[what]:,} {noun} ({most['share']:.0%}) {verb} of "
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
                "x": {"field": "k", "type": "ordinal", "title": "columns the claim is about"},
                "y": {
                    "field": "share",
                    "type": "quantitative",
                    "axis": {**PERCENT, "title": f"share of {noun}"},
                    "scale": {"domain": [0, 1]},
                },
                "color": {
                    "field": "claims",
                    "type": "nominal",
                    "scale": {"domain": [every, single], "range": [PALE, ACCENT]},
                },
            },
        },
        legend=areas({single: ACCENT, every: PALE}),
        note=f"Lower bounds: so many {schema.records} are covered in every dataset." if lower else "",
    )


def claims_chart(summary: Mapping[str, Any], schema: Schema) -> Chart:
    """Numbers of hidden claims by k; ``summary`` has them as a run's summary.json does."""
    single, every = f"about exactly one {schema.record}", "about more"
    ones = summary["hidden_singletons_by_columns"]
    rows = list[dict[str, Any]]()
    for k, n in summary["hidden_by_columns"].items():
        rows.append({"claims": single, "k": int(k), "number": ones.get(k, 0)})
        rows.append({"claims": every, "k": int(k), "number": n - ones.get(k, 0)})
    total = sum(row["number"] for row in rows)
    return Chart(
        "claims-by-k",
        "Claims that no cell states",
        f"{total:,} verified claims, {sum(ones.values()):,} of them about exactly one {schema.record}.",
        tuple(rows),
        {"claims": "claims", "k": "columns k", "number": "claims verified"},
        {
            "mark": "bar",
            "encoding": {
                "x": {"field": "k", "type": "ordinal", "title": "columns the claim is about"},
                "y": {"field": "number", "type": "quantitative", "title": "claims"},
                "color": {
                    "field": "claims",
                    "type": "nominal",
                    "scale": {"domain": [single, every], "range": [ACCENT, PALE]},
                },
            },
        },
        legend=areas({single: ACCENT, every: PALE}),
    )


def _baselines(summary: Summary, schema: Schema) -> Iterator[Chart]:
    """For each reference box plots of how likely the claims about one record are."""
    rows = summary.baselines.to_pylist() if summary.baselines.num_rows else []
    for reference in dict.fromkeys(row["reference"] for row in rows):
        mine = tuple(row for row in rows if row["reference"] == reference and row["kind"] == "singletons")
        if mine:
            yield _box(reference, mine, schema)


def _box(reference: str, rows: tuple[Mapping[str, Any], ...], schema: Schema) -> Chart:
    largest = rows[-1]
    x = {"field": "k", "type": "ordinal", "title": "columns the claim is about"}
    y = {
        "type": "quantitative",
        "axis": {**PERCENT, "title": "chance in a random area"},
        "scale": {"domain": [0, max(row["whisker_high"] for row in rows) or 1], "nice": True},
    }
    return Chart(
        f"baseline-{reference}",
        f"How likely by chance: {reference}",
        f"Half of the claims of {largest['k']} columns would hold with a chance of "
        f"{_percent(largest['median'])} or less in an area of the same size drawn from the {reference}.",
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
                {
                    "mark": {"type": "rule", "color": SOFT},
                    "encoding": {
                        "x": x,
                        "y": {**y, "field": "whisker_low"},
                        "y2": {"field": "whisker_high"},
                    },
                },
                {
                    "mark": {"type": "bar", "size": 16, "color": PALE, "cornerRadiusEnd": 0},
                    "encoding": {"x": x, "y": {**y, "field": "q1"}, "y2": {"field": "q3"}},
                },
                {
                    "mark": {"type": "tick", "size": 22, "thickness": 3, "color": ACCENT},
                    "encoding": {"x": x, "y": {**y, "field": "median"}},
                },
            ]
        },
        note=f"Claims about exactly one {schema.record}. Box: the middle half; stroke: the median.",
    )


def _sizes(run: AuditRun, schema: Schema) -> Chart:
    """How many areas have so many records, with and without findings."""
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
                "x": {
                    "field": "size",
                    "type": "ordinal",
                    "sort": {"field": "order"},
                    "title": f"{schema.records} in the area",
                },
                "y": {"field": "areas", "type": "quantitative", "title": "areas", "axis": {"tickMinStep": 1}},
                "color": {
                    "field": "areas_are",
                    "type": "nominal",
                    "scale": {"domain": [names[1], names[0]], "range": [ACCENT, PALE]},
                },
            },
        },
        legend=areas({names[1]: ACCENT, names[0]: PALE}),
    )


def _between(at: int) -> str:
    low = SIZES[at]
    if at + 1 == len(SIZES):
        return f"{low:,}+"
    high = SIZES[at + 1] - 1
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share >= 0.0001 or share == 0 else "under 0.01 %"


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
