"""The page of a comparison of methods: errors, estimates against true answers, and violated promises."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyarrow.parquet as pq

from showthrough.microdata.comparison_tables import (
    AnswerRow,
    ErrorFinding,
    ErrorRow,
    SettingRow,
    ViolationRow,
    read_rows,
)
from showthrough.microdata.methods import explain_symbols
from showthrough.microdata.promises import describe_promise
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.report.charts import (
    ACCENT,
    COLOURS,
    NO_LINE,
    SOFT,
    THIRD,
    Chart,
    Key,
    Row,
    Spec,
    areas,
    encoding,
    lines,
    share_axis,
)
from showthrough.report.page import Page, Section, Sheet, figures_page
from showthrough.text import percent

__all__ = [
    "answer_charts",
    "comparison_page",
    "error_charts",
    "violation_charts",
]

_Row = TypeVar("_Row", bound=SettingRow)

PRIVATE = "For the publisher only: this page shows true numbers of records."

#: Points of one scatter.
MOST_POINTS = 600

BOUNDS = {"exact": "exact tails", "chernoff": "the paper's bound"}
DIAGONAL = "exact answer"


def comparison_page(folder: Path) -> Page:
    """The page of a finished comparison."""
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    rows = read_rows(ErrorRow, pq.read_table(folder / "comparison.parquet"))
    answers = _read_if_there(AnswerRow, folder / "answers.parquet")
    violations = _read_if_there(ViolationRow, folder / "violations.parquet")
    asked = {name: manifest[name] for name in ("pool", "drawn", "queries", "runs", "seed")}
    return figures_page(
        "Methods of publishing, compared",
        manifest.get("headline", "Errors of answers to random queries."),
        [
            Section(
                "Errors",
                "The mean relative error of answers to random queries, ± its standard error over runs. "
                "If two methods promise different things, their errors do not show which one is better.",
                error_charts(rows, _findings(manifest)),
            ),
            *_answered(answers),
            *_violated(violations),
            Section("All numbers", explain_symbols(row.promise for row in rows), tables=[_table(rows)]),
        ],
        manifest={"versions": {"showthrough": manifest["version"]}, **manifest, "parameters": asked},
        facts=_facts(manifest),
        warning=PRIVATE if answers else "",
    )


def _read_if_there(kind: type[_Row], path: Path) -> list[_Row]:
    """The rows of a table that older folders do not have."""
    return read_rows(kind, pq.read_table(path)) if path.exists() else []


def _answered(answers: Sequence[AnswerRow]) -> Iterator[Section]:
    if answers:
        yield Section(
            "Estimates against true answers",
            "Each point is a query: how many records match, and what a reader of the publication would "
            "estimate. Points on the line are exact.",
            answer_charts(answers),
        )


def _violated(violations: Sequence[ViolationRow]) -> Iterator[Section]:
    if not violations:
        return
    given = [row for row in violations if row.parameter not in ("error", "chance")]
    asked = "what is promised changes along the sweep"
    if given:
        asked = describe_promise(ReconstructionPrivacy(given[0].error, given[0].chance))
    yield Section(
        "Who could be estimated too precisely",
        f"Reconstruction privacy: {asked}. It applies to methods with one retention. Of a sampled group, "
        "only the records that were sampled count.",
        list(violation_charts(violations)),
    )


def _findings(manifest: Mapping[str, Any]) -> list[ErrorFinding]:
    """What the comparison found; folders of older versions do not state it."""
    return [ErrorFinding(**finding) for finding in manifest.get("findings", ())]


def _error(row: ErrorRow) -> float:
    return row.error or 0.0


def _facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    groups = manifest["groups_after_merging"] or manifest["groups"]
    return [
        (f"{manifest['records']:,}", "records"),
        (f"{groups:,}", "personal groups (same public values)"),
        (f"{manifest['sensitive_values']:,}", "sensitive values"),
        (f"{manifest['queries']:,}", "queries"),
        (f"{manifest['runs']:,}", "runs"),
    ]


def _table(rows: Sequence[ErrorRow]) -> Sheet:
    head = ("method", "promise", "swept", "retention", "used", "selectivity", "queries", "error")
    made = [
        [
            row.method,
            row.promise,
            "–" if row.value is None else f"{row.parameter} {row.value:.4g}",
            "–" if row.retention is None else f"{row.retention:.4f}",
            percent(row.used, 1),
            f"≥ {percent(row.selectivity)}",
            f"{row.queries:,}",
            _error_text(row),
        ]
        for row in rows
    ]
    return Sheet("", head, made)


def _error_text(row: ErrorRow) -> str:
    if row.error is None:
        return "–"
    spread = "" if row.standard_error is None else f" ± {percent(row.standard_error, 2)}"
    return f"{percent(row.error, 2)}{spread}"


def error_charts(rows: Sequence[ErrorRow], findings: Sequence[ErrorFinding] = ()) -> list[Chart]:
    """Errors by selectivity, or along each swept parameter for the smallest and the largest queries."""
    known = [row for row in rows if row.error is not None]
    swept = [name for name in dict.fromkeys(row.parameter for row in known) if name]
    says = {(finding.parameter, finding.selectivity): finding.says for finding in findings}
    if not swept:
        return [_by_selectivity(known, says)] if known else []
    return [chart for parameter in swept for chart in _errors_along(known, parameter, says)]


#: What was found along a parameter, or without any, for queries of a size.
_Says = Mapping[tuple[str | None, float], str]


def _by_selectivity(rows: Sequence[ErrorRow], says: _Says) -> Chart:
    shown = [{"queries_of": f"≥ {percent(row.selectivity)}", **_bar(row)} for row in rows]
    x = {
        "field": "queries_of",
        "type": "ordinal",
        "sort": list(dict.fromkeys(row["queries_of"] for row in shown)),
        "title": "share of the records that a query counts",
    }
    found = says.get((None, min(row.selectivity for row in rows)))
    title = "Error by size of the query"
    return _errors("errors", title, shown, x, first={"queries_of": "queries"}, found=found)


def _errors_along(rows: Sequence[ErrorRow], parameter: str, says: _Says) -> Iterator[Chart]:
    mine = [row for row in rows if row.parameter == parameter]
    sizes = sorted({row.selectivity for row in mine})
    x = _parameter_axis(mine, parameter)
    for size in dict.fromkeys((sizes[0], sizes[-1])):
        yield _errors(
            f"errors-{parameter}-{size:g}",
            f"Queries of at least {percent(size)} of the records",
            [_bar(row) for row in _flattened([row for row in mine if row.selectivity == size], mine)],
            x,
            first={"value": parameter},
            found=says.get((parameter, size)),
        )
    kept = [row for row in mine if row.selectivity == sizes[0] and row.retention is not None]
    if any(row.value is not None for row in kept):
        yield _retention(parameter, [row for row in kept if row.value is not None], x)


def _parameter_axis(rows: Sequence[SettingRow], parameter: str) -> Spec:
    return {
        "field": "value",
        "type": "quantitative",
        "title": parameter,
        "axis": {"values": _values(rows), "format": "~g"},
        "scale": {"zero": False},
    }


def _values(rows: Sequence[SettingRow]) -> list[float]:
    return sorted({row.value for row in rows if row.value is not None})


def _flattened(rows: Sequence[_Row], of: Sequence[SettingRow]) -> list[_Row]:
    """The rows of a sweep; a method without the parameter is the same for all its values."""
    flat = [replace(row, value=value) for row in rows if row.value is None for value in _values(of)]
    return [row for row in rows if row.value is not None] + flat


def _bar(row: ErrorRow) -> Row:
    """A row with its series and with the ends of its error bar."""
    error, spread = _error(row), row.standard_error or 0
    return {**asdict(row), "series": row.series, "low": error - spread, "high": error + spread}


def _errors(
    name: str,
    title: str,
    rows: Sequence[Row],
    x: Spec,
    *,
    first: Mapping[str, str],
    found: str | None,
) -> Chart:
    legend = lines(str(row["series"]) for row in rows)
    least, most = (percent(end(row["error"] for row in rows), 2) for end in (min, max))
    top = max(row["high"] for row in rows)
    drawn = encoding("series", legend)
    return Chart(
        name,
        title,
        found or f"Mean relative errors from {least} to {most}.",
        tuple(rows),
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


def _retention(parameter: str, rows: Sequence[ErrorRow], x: Spec) -> Chart:
    legend = lines(row.series for row in rows)
    most = max(rows, key=lambda row: row.retention or 0)
    kept = most.retention or 0
    return Chart(
        f"retention-{parameter}",
        "Values that are kept",
        f"{most.series} keeps the most values: {percent(kept, 1)}.",
        tuple({**asdict(row), "series": row.series} for row in rows),
        {"series": "method", "value": parameter, "retention": "retention", "used": "records used"},
        {
            "mark": {"type": "line", "point": True},
            "encoding": {
                "x": dict(x),
                "y": share_axis("retention", "retention", kept),
                **encoding("series", legend),
            },
        },
        legend=legend,
    )


def answer_charts(answers: Sequence[AnswerRow]) -> list[Chart]:
    """For each method estimates against true answers; of a sweep, at its smallest and its largest value.

    >>> rows = [AnswerRow("uniform", "–", None, None, *row) for row in ((10, 12.0, 0.1), (40, 36.0, 0.1))]
    >>> answer_charts(rows)[0].says.replace("\\xa0", " ")
    'Half of the estimates are within 15 % of the true answer.'
    """
    found: dict[tuple[str | None, str], list[AnswerRow]] = {}
    for row in answers:
        found.setdefault((row.parameter, row.series), []).append(row)
    return [_scatter(name, parameter, rows) for (parameter, name), rows in found.items()]


def _scatter(name: str, parameter: str | None, rows: Sequence[AnswerRow]) -> Chart:
    values = _values(rows)
    ends = list(dict.fromkeys((values[0], values[-1]))) if values else []
    labels = {value: f"{parameter} {value:.4g}" for value in ends} or {None: "estimate"}
    most = MOST_POINTS // len(labels)
    points = {
        label: _evenly([row for row in rows if row.value == value], most) for value, label in labels.items()
    }
    keys = [
        Key(label, colour, NO_LINE, shape)
        for label, colour, shape in zip(points, (ACCENT, THIRD), ("circle", "triangle-up"), strict=False)
    ]
    shown = tuple({"of": label, **asdict(row)} for label, some in points.items() for row in some)
    drawn = [float(row["estimate"]) for row in shown]
    low, high = (end(float(row["truth"]) for row in shown) for end in (min, max))
    log = min(low, *drawn) >= 1
    # One transformation for both axes, or the diagonal would not be straight.
    x = _count_axis("truth", "true answer", (low, high), log=log)
    y = _count_axis("estimate", "estimate", (min(low, *drawn), max(high, *drawn)), log=log)
    apart = encoding("of", keys)
    titled = f"{name}, along {parameter}" if parameter else name
    return Chart(
        f"answers-{parameter or ''}-{name}",
        f"Estimates of {titled}",
        _accuracy(points),
        shown,
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
        note=f"One run, {len(shown):,} queries.",
    )


def _evenly(rows: Sequence[AnswerRow], most: int) -> Sequence[AnswerRow]:
    """At most ``most`` rows, at even steps; they come in the order of their true answers."""
    if len(rows) <= most:
        return rows
    return [rows[round(at * (len(rows) - 1) / (most - 1))] for at in range(most)]


def _accuracy(points: Mapping[str, Sequence[AnswerRow]]) -> str:
    parts = list[str]()
    for label, rows in points.items():
        off = sorted(abs(row.estimate - row.truth) / row.truth for row in rows)
        middle = (off[(len(off) - 1) // 2] + off[len(off) // 2]) / 2
        where = f" at {label}" if len(points) > 1 else ""
        parts.append(
            f"within {percent(float(f'{middle:.2g}'))}{'' if parts else ' of the true answer'}{where}"
        )
    return f"Half of the estimates are {', and '.join(parts)}."


def _count_axis(field: str, title: str, ends: tuple[float, float], *, log: bool) -> Spec:
    """Logarithmic; around 0 linear if an estimate is below 1."""
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


_Rate = Literal["group_rate", "record_rate"]

#: What a rate is a share of, and the title of its chart.
_RATES: dict[_Rate, tuple[str, str]] = {
    "group_rate": ("groups", "Groups that violate the promise (v_g, their share)"),
    "record_rate": ("records", "Records in such groups (v_r, their share)"),
}


def violation_charts(rows: Sequence[ViolationRow]) -> Iterator[Chart]:
    """The shares of groups (v_g) and records (v_r) that violate the promise, by method or along a sweep."""
    for parameter in dict.fromkeys(row.parameter for row in rows):
        mine = [row for row in rows if row.parameter == parameter]
        for rate in _RATES:
            yield _violations_along(mine, parameter, rate) if parameter else _violation_bars(mine, rate)


def _violation_bars(rows: Sequence[ViolationRow], rate: _Rate) -> Chart:
    what, title = _RATES[rate]
    shown = tuple({**asdict(row), "series": row.series, "by": BOUNDS[row.bound]} for row in rows)
    legend = areas(dict(zip(BOUNDS.values(), (COLOURS[3], ACCENT), strict=True)))
    order = list(dict.fromkeys(row["series"] for row in shown))
    return Chart(
        f"violations-{what}",
        title,
        _rates_text(rows, rate),
        shown,
        {"series": "method", "by": "by", rate: f"share of {what}"},
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
                "x": share_axis(rate, f"share of {what}"),
                **encoding("by", legend),
            },
        },
        height=max(110, 60 * len(order)),
        legend=legend,
    )


def _violations_along(rows: Sequence[ViolationRow], parameter: str, rate: _Rate) -> Chart:
    what, title = _RATES[rate]
    shown = tuple(
        {**asdict(row), "series": f"{row.method}, {BOUNDS[row.bound]}"} for row in _flattened(rows, rows)
    )
    legend = lines(str(row["series"]) for row in shown)
    return Chart(
        f"violations-{what}-{parameter}",
        title,
        _rates_text(rows, rate),
        shown,
        {"series": "method", "value": parameter, rate: f"share of {what}"},
        {
            "mark": {"type": "line", "point": True},
            "encoding": {
                "x": _parameter_axis(rows, parameter),
                "y": share_axis(rate, f"share of {what}"),
                **encoding("series", legend),
            },
        },
        legend=legend,
    )


def _rates_text(rows: Sequence[ViolationRow], rate: _Rate) -> str:
    parts = list[str]()
    for bound, name in BOUNDS.items():
        found = [
            row.group_rate if rate == "group_rate" else row.record_rate for row in rows if row.bound == bound
        ]
        low, high = percent(min(found), 1), percent(max(found), 1)
        parts.append(f"{low if low == high else f'{low} to {high}'} by {name}")
    return f"Of the {_RATES[rate][0]}, {parts[0]}, {parts[1]}."
