"""A comparison of methods of publishing as a page: errors by method and parameter."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from showthrough.report.answer_charts import answer_charts, series_name, violation_charts
from showthrough.report.charts import Chart
from showthrough.report.page import Page
from showthrough.report.sections import Section, Sheet, figures_page
from showthrough.report.series import encoding, lines
from showthrough.report.shares import percent, share_axis

__all__ = ["comparison_page", "error_charts"]

Rows = Sequence[Mapping[str, Any]]

PRIVATE = "For the publisher alone: this page holds true numbers of records."


def comparison_page(folder: Path) -> Page:
    """The page of a finished comparison."""
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    rows = pq.read_table(folder / "comparison.parquet").to_pylist()
    answers, violations = (_more(folder / f"{name}.parquet") for name in ("answers", "violations"))
    known = [row for row in rows if row["error"] is not None]
    asked = {name: manifest[name] for name in ("pool", "drawn", "queries", "runs", "seed")}
    return figures_page(
        "Methods of publishing, compared",
        _headline(known),
        [
            Section(
                "Errors",
                "The mean relative error of answers to random queries, ± its standard error over runs. "
                "Errors of methods that promise different things do not say which is better.",
                error_charts(known),
            ),
            *_answered(answers),
            *_violated(violations),
            Section("All numbers", tables=[_table(rows)]),
        ],
        manifest={"versions": {"showthrough": manifest["version"]}, **manifest, "parameters": asked},
        facts=_facts(manifest),
        warning=PRIVATE if answers else "",
    )


def _more(path: Path) -> Rows:
    """The rows of a table that older folders do not have."""
    return pq.read_table(path).to_pylist() if path.exists() else []


def _answered(answers: Rows) -> Iterator[Section]:
    if answers:
        yield Section(
            "Estimates against the truth",
            "Each point is a query: how many records match, and what a reader of the publication would "
            "estimate. Points on the line are right.",
            answer_charts(answers),
        )


def _violated(violations: Rows) -> Iterator[Section]:
    if not violations:
        return
    given = [row for row in violations if row["parameter"] not in ("error", "chance")]
    asked = f"more than {percent(given[0]['error'])}" if given else "more than promised"
    sure = f"a chance of at least {percent(given[0]['chance'])}" if given else "the promised chance"
    yield Section(
        "Who would be read off too well",
        "Reconstruction privacy asks that a frequency estimated from a group of equal people is off by "
        f"{asked} with {sure}. It is about methods that keep values with one probability; a sampled group "
        "counts with the records that were sampled.",
        list(violation_charts(violations)),
    )


def _headline(rows: Rows) -> str:
    """Which method has the least error; along a sweep, at how many of its values.

    A sweep changes what is promised, so errors are compared at the same value only.
    """
    if not rows:
        return "No query was large enough to be compared."
    least = min(row["selectivity"] for row in rows)
    mine = [row for row in rows if row["selectivity"] == least]
    counted = f"queries that count at least {100 * least:.4g} % of the records"
    swept = {(row["parameter"], row["value"]) for row in mine if row["value"] is not None}
    if not swept:
        best = min(mine, key=lambda row: row["error"])
        return f"{series_name(best)} errs least: by {100 * best['error']:.2f} % on {counted}."
    wins = Counter[str]()
    for parameter, value in swept:
        here = [row for row in mine if row["parameter"] == parameter and row["value"] in (value, None)]
        wins[str(min(here, key=lambda row: row["error"])["method"])] += 1
    method, n = max(wins.items(), key=lambda pair: (pair[1], pair[0]))
    return f"{method} errs least at {n} of {len(swept)} settings, on {counted}."


def _facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    groups = manifest["groups_after_merging"] or manifest["groups"]
    return [
        (f"{manifest['records']:,}", "records"),
        (f"{groups:,}", "groups of equal public values"),
        (f"{manifest['sensitive_values']:,}", "sensitive values"),
        (f"{manifest['queries']:,}", "queries"),
        (f"{manifest['runs']:,}", "runs"),
    ]


def error_charts(rows: Rows) -> list[Chart]:
    """Errors by selectivity, or along each swept parameter for the least and the largest queries."""
    named = [{**row, "series": series_name(row)} for row in rows]
    swept = [name for name in dict.fromkeys(row["parameter"] for row in named) if name]
    if not swept:
        return [_by_selectivity(named)] if named else []
    return [chart for parameter in swept for chart in _along(named, parameter)]


def _by_selectivity(rows: Rows) -> Chart:
    shown = [{**row, "queries_of": f"≥ {100 * row['selectivity']:.4g} %"} for row in rows]
    order = list(dict.fromkeys(row["queries_of"] for row in shown))
    x = {
        "field": "queries_of",
        "type": "ordinal",
        "sort": order,
        "title": "share of the records a query counts",
    }
    return _errors("errors", "Error by size of the query", shown, x, first={"queries_of": "queries"})


def _along(rows: Rows, parameter: str) -> Iterator[Chart]:
    mine = [row for row in rows if row["parameter"] == parameter]
    sizes = sorted({row["selectivity"] for row in mine})
    values = sorted({row["value"] for row in mine if row["value"] is not None})
    x = {
        "field": "value",
        "type": "quantitative",
        "title": parameter,
        "axis": {"values": values, "format": "~g"},
        "scale": {"zero": False},
    }
    for size in dict.fromkeys((sizes[0], sizes[-1])):
        some = [row for row in mine if row["selectivity"] == size]
        # A method without the parameter is the same for all its values.
        flat = [{**row, "value": value} for row in some if row["value"] is None for value in values]
        shown = [row for row in some if row["value"] is not None] + flat
        yield _errors(
            f"errors-{parameter}-{size:g}",
            f"Queries of at least {100 * size:.4g} % of the records",
            shown,
            x,
            first={"value": parameter},
        )
    kept = [row for row in mine if row["selectivity"] == sizes[0] and row["retention"] is not None]
    if any(row["value"] is not None for row in kept):
        yield _retention(parameter, [row for row in kept if row["value"] is not None], x)


def _errors(name: str, title: str, rows: Rows, x: Mapping[str, Any], *, first: Mapping[str, str]) -> Chart:
    legend = lines(str(row["series"]) for row in rows)
    best = min(rows, key=lambda row: row["error"])
    bars = [
        {
            **row,
            "low": row["error"] - (row["standard_error"] or 0),
            "high": row["error"] + (row["standard_error"] or 0),
        }
        for row in rows
    ]
    top = max(row["high"] for row in bars)
    drawn = encoding("series", legend)
    return Chart(
        name,
        title,
        f"{best['series']} has the least error: {100 * best['error']:.2f} %.",
        tuple(bars),
        {
            "series": "method",
            **first,
            "queries": "queries",
            "error": "error",
            "standard_error": "standard error",
        },
        {
            "encoding": {"x": dict(x)},
            "layer": [
                {
                    "mark": "rule",
                    "encoding": {
                        "y": share_axis("low", "mean relative error", top),
                        "y2": {"field": "high"},
                        "color": drawn["color"],
                    },
                },
                {
                    "mark": {"type": "line", "point": True},
                    "encoding": {"y": share_axis("error", "mean relative error", top), **drawn},
                },
            ],
        },
        legend=legend,
    )


def _retention(parameter: str, rows: Rows, x: Mapping[str, Any]) -> Chart:
    legend = lines(str(row["series"]) for row in rows)
    most = max(rows, key=lambda row: row["retention"])
    return Chart(
        f"retention-{parameter}",
        "Values that are kept",
        f"At most {100 * most['retention']:.1f} % of the values are kept as they are, by {most['series']}.",
        tuple(rows),
        {"series": "method", "value": parameter, "retention": "retention", "used": "records used"},
        {
            "mark": {"type": "line", "point": True},
            "encoding": {
                "x": dict(x),
                "y": share_axis("retention", "retention", most["retention"]),
                **encoding("series", legend),
            },
        },
        legend=legend,
    )


def _table(rows: Rows) -> Sheet:
    head = ("method", "promise", "swept", "retention", "used", "selectivity", "queries", "error")
    made = [
        [
            row["method"],
            row["promise"],
            "–" if row["value"] is None else f"{row['parameter']} {row['value']:.4g}",
            "–" if row["retention"] is None else f"{row['retention']:.4f}",
            f"{row['used']:.1%}",
            f"≥ {100 * row['selectivity']:.4g} %",
            f"{row['queries']:,}",
            _error(row),
        ]
        for row in rows
    ]
    return Sheet("", head, made)


def _error(row: Mapping[str, Any]) -> str:
    if row["error"] is None:
        return "–"
    spread = "" if row["standard_error"] is None else f" ± {100 * row['standard_error']:.2f}"
    return f"{100 * row['error']:.2f}{spread} %"
