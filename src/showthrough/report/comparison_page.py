"""A comparison of methods of publishing as a page: errors by method and parameter.

Charts of a comparison beside its errors: estimates against true answers, and who is read off too well.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from showthrough.report.charts import ACCENT, COLOURS, SOFT, THIRD, Chart, Key, areas, encoding, lines
from showthrough.report.page import Page, Section, Sheet, figures_page
from showthrough.text import percent, share_axis, share_text

__all__ = [
    "answer_charts",
    "comparison_page",
    "error_charts",
    "series_name",
    "violation_charts",
]

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


Row = Mapping[str, Any]
AnswerRows = Sequence[Row]

#: Points of one scatter.
MOST_POINTS = 600

BOUNDS = {"exact": "exact tails", "chernoff": "the paper's bound"}
DIAGONAL = "as true"

# A line of nothing but a gap: what is drawn in points has no line in the legend.
_NO_LINE = (0, 30)


def series_name(row: Row) -> str:
    """How a setting is called in a chart: by its method, and by its promise unless that is swept."""
    if row["parameter"] or row["promise"] == "–":
        return str(row["method"])
    return f"{row['method']} ({row['promise']})"


def answer_charts(answers: AnswerRows) -> list[Chart]:
    """For each method estimates against true answers; along a sweep at its least and its largest value.

    >>> same = {"method": "uniform", "promise": "–", "parameter": None, "value": None, "selectivity": 0.1}
    >>> rows = [{**same, "truth": 10, "estimate": 12.0}, {**same, "truth": 40, "estimate": 36.0}]
    >>> answer_charts(rows)[0].says
    'Half of the estimates are within 15 % of the truth.'
    """
    found: dict[tuple[str | None, str], list[Row]] = {}
    for row in answers:
        found.setdefault((row["parameter"], series_name(row)), []).append(row)
    return [_scatter(name, parameter, rows) for (parameter, name), rows in found.items()]


def _scatter(name: str, parameter: str | None, rows: AnswerRows) -> Chart:
    values = sorted({row["value"] for row in rows if row["value"] is not None})
    ends = list(dict.fromkeys((values[0], values[-1]))) if values else []
    labels = {value: f"{parameter} {value:.4g}" for value in ends} or {None: "estimate"}
    most = MOST_POINTS // len(labels)
    points = [
        {"of": label, **row}
        for value, label in labels.items()
        for row in _evenly([row for row in rows if row["value"] == value], most)
    ]
    keys = [
        Key(label, colour, _NO_LINE, shape)
        for label, colour, shape in zip(
            labels.values(), (ACCENT, THIRD), ("circle", "triangle-up"), strict=False
        )
    ]
    low, high = (end(float(row["truth"]) for row in points) for end in (min, max))
    drawn = [float(row["estimate"]) for row in points]
    log = min(low, *drawn) >= 1
    # One transformation for both axes, or the diagonal would not be straight.
    x = _axis("truth", "true answer", (low, high), log=log)
    y = _axis("estimate", "estimate", (min(low, *drawn), max(high, *drawn)), log=log)
    apart = encoding("of", keys)
    titled = f"{name}, along {parameter}" if parameter else name
    return Chart(
        f"answers-{parameter or ''}-{name}",
        f"Estimates of {titled}",
        _says(points, list(labels.values())),
        tuple(points),
        {
            "of": "at",
            "truth": "true answer",
            "estimate": "estimate",
            "selectivity": "share of the records",
        },
        {
            "layer": [
                {
                    "data": {"values": [{"truth": end, "estimate": end} for end in (low, high)]},
                    "mark": {"type": "line", "color": SOFT, "strokeWidth": 1.5},
                    "encoding": {"x": x, "y": y},
                },
                {
                    "mark": {"type": "point", "opacity": 0.55, "size": 22},
                    "encoding": {"x": x, "y": y, "color": apart["color"], "shape": apart["shape"]},
                },
            ]
        },
        height=300,
        legend=(*(keys if len(keys) > 1 else ()), Key(DIAGONAL, SOFT, (1, 0))),
        note=f"One run, {len(points):,} queries.",
    )


def _evenly(rows: AnswerRows, most: int) -> AnswerRows:
    """At most so many, at even steps; they come in the order of their true answers."""
    if len(rows) <= most:
        return rows
    return [rows[round(at * (len(rows) - 1) / (most - 1))] for at in range(most)]


def _says(points: AnswerRows, labels: Sequence[str]) -> str:
    parts = list[str]()
    for label in labels:
        off = sorted(abs(r["estimate"] - r["truth"]) / r["truth"] for r in points if r["of"] == label)
        middle = (off[(len(off) - 1) // 2] + off[len(off) // 2]) / 2
        where = f" at {label}" if len(labels) > 1 else ""
        parts.append(f"within {percent(float(f'{middle:.2g}'))}{'' if parts else ' of the truth'}{where}")
    return f"Half of the estimates are {', and '.join(parts)}."


def _axis(field: str, title: str, ends: tuple[float, float], *, log: bool) -> dict[str, Any]:
    """Logarithmic; around 0 linear where an estimate is under 1."""
    low, high = ends
    powers = [10.0**power for power in range(19) if 10.0**power <= max(high, -low)]
    ticks = powers if log else [0.0, *powers[2:], *(-tick for tick in powers[2:])]
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "axis": {
            "values": [tick for tick in sorted(ticks) if low <= tick <= high],
            "labelExpr": "format(datum.value, '~s')",
        },
        "scale": {
            **({"type": "log"} if log else {"type": "symlog", "constant": 10}),
            "domain": [low, high],
            "nice": False,
        },
    }


def violation_charts(rows: AnswerRows) -> Iterator[Chart]:
    """Shares of groups (v_g) and of records (v_r) that violate the promise, by method or along a sweep."""
    for parameter in dict.fromkeys(row["parameter"] for row in rows):
        mine = [row for row in rows if row["parameter"] == parameter]
        for field, what in {"group_rate": "groups", "record_rate": "records"}.items():
            yield (
                _answer_charts_along(mine, parameter, field, what) if parameter else _bars(mine, field, what)
            )


def _bars(rows: AnswerRows, field: str, what: str) -> Chart:
    shown = [{**row, "series": series_name(row), "by": BOUNDS[row["bound"]]} for row in rows]
    legend = areas(dict(zip(BOUNDS.values(), (COLOURS[3], ACCENT), strict=True)))
    order = list(dict.fromkeys(row["series"] for row in shown))
    return Chart(
        f"violations-{what}",
        _title(what),
        _least(shown, field, what),
        tuple(shown),
        {"series": "method", "by": "by", field: f"share of {what}"},
        {
            "mark": "bar",
            "encoding": {
                "y": {
                    "field": "series",
                    "type": "nominal",
                    "sort": order,
                    "title": None,
                    # The method, and below it what it promises.
                    "axis": {
                        "labelExpr": "split(replace(datum.label, ')', ''), ' (')",
                        "labelLimit": 130,
                        "minExtent": 90,
                    },
                },
                "yOffset": {"field": "by", "sort": list(BOUNDS.values())},
                "x": share_axis(field, f"share of {what}"),
                **encoding("by", legend),
            },
        },
        height=max(110, 60 * len(order)),
        legend=legend,
    )


def _answer_charts_along(rows: AnswerRows, parameter: str, field: str, what: str) -> Chart:
    values = sorted({row["value"] for row in rows if row["value"] is not None})
    flat = [{**row, "value": value} for row in rows if row["value"] is None for value in values]
    shown = [
        {**row, "series": f"{row['method']}, {BOUNDS[row['bound']]}"}
        for row in [*(row for row in rows if row["value"] is not None), *flat]
    ]
    legend = lines(str(row["series"]) for row in shown)
    return Chart(
        f"violations-{what}-{parameter}",
        _title(what),
        _least(shown, field, what),
        tuple(shown),
        {"series": "method", "value": parameter, field: f"share of {what}"},
        {
            "mark": {"type": "line", "point": True},
            "encoding": {
                "x": {
                    "field": "value",
                    "type": "quantitative",
                    "title": parameter,
                    "axis": {"values": values, "format": "~g"},
                    "scale": {"zero": False},
                },
                "y": share_axis(field, f"share of {what}"),
                **encoding("series", legend),
            },
        },
        legend=legend,
    )


def _title(what: str) -> str:
    return "Groups that are read off too well (v_g)" if what == "groups" else "Records in such groups (v_r)"


def _least(rows: AnswerRows, field: str, what: str) -> str:
    parts = list[str]()
    for bound, name in BOUNDS.items():
        found = [float(row[field]) for row in rows if row["bound"] == bound]
        low, high = share_text(min(found)), share_text(max(found))
        parts.append(f"{low if low == high else f'{low} to {high}'} by {name}")
    return f"Of the {what} {parts[0]}, {parts[1]}."
