"""Charts of a comparison beside its errors: estimates against true answers, and who is read off too well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from showthrough.report.charts import Chart
from showthrough.report.series import Key, areas, encoding, lines
from showthrough.report.shares import percent, share_axis, share_text
from showthrough.report.theme import ACCENT, COLOURS, SOFT, THIRD

__all__ = ["answer_charts", "series_name", "violation_charts"]

Row = Mapping[str, Any]
Rows = Sequence[Row]

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


def answer_charts(answers: Rows) -> list[Chart]:
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


def _scatter(name: str, parameter: str | None, rows: Rows) -> Chart:
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


def _evenly(rows: Rows, most: int) -> Rows:
    """At most so many, at even steps; they come in the order of their true answers."""
    if len(rows) <= most:
        return rows
    return [rows[round(at * (len(rows) - 1) / (most - 1))] for at in range(most)]


def _says(points: Rows, labels: Sequence[str]) -> str:
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


def violation_charts(rows: Rows) -> Iterator[Chart]:
    """Shares of groups (v_g) and of records (v_r) that violate the promise, by method or along a sweep."""
    for parameter in dict.fromkeys(row["parameter"] for row in rows):
        mine = [row for row in rows if row["parameter"] == parameter]
        for field, what in {"group_rate": "groups", "record_rate": "records"}.items():
            yield _along(mine, parameter, field, what) if parameter else _bars(mine, field, what)


def _bars(rows: Rows, field: str, what: str) -> Chart:
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


def _along(rows: Rows, parameter: str, field: str, what: str) -> Chart:
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


def _least(rows: Rows, field: str, what: str) -> str:
    parts = list[str]()
    for bound, name in BOUNDS.items():
        found = [float(row[field]) for row in rows if row["bound"] == bound]
        low, high = share_text(min(found)), share_text(max(found))
        parts.append(f"{low if low == high else f'{low} to {high}'} by {name}")
    return f"Of the {what} {parts[0]}, {parts[1]}."
