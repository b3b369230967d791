"""The ratio attack on a file as a page: which groups noisy answers give away, and why.

Pictures of the ratio attack: how wrong its readings are, and whom which noise gives away.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import shorten
from showthrough.report.attack_page import share_axis
from showthrough.report.charts import ACCENT, INK, PALE, SOFT, THIRD, Chart, Key, encoding, lines
from showthrough.report.page import Page, Section, Sheet, figures_page

__all__ = [
    "leak_chart",
    "ratio_page",
    "reading_chart",
    "readings_chart",
]

#: Groups that are drawn.
MOST_POINTS = 2_000

WHY = (
    "The noise on an answer is as large for 10 people as for 10,000. Beside a large group it vanishes, and "
    "with it from the share of one answer in another. Each answer still hides whether any one person is in "
    "the data; it does not hide what holds for people like them."
)


def ratio_page(folder: Path) -> Page:
    """The page of a finished ratio attack on groups."""
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    names = summary["names"]
    wanted = ("size", "confidence", "reading", "leaks")
    table = pq.read_table(folder / "groups.parquet", columns=[names[name] for name in wanted])
    charts = _charts(summary, table.rename_columns(list(wanted)))
    worst = _worst(summary)
    leaking = summary["leaking_groups"]
    return figures_page(
        "Ratio attack on noisy answers",
        f"{leaking:,} of {summary['groups']:,} groups give a share away, with "
        f"{summary['leaking_records']:,} of {summary['records']:,} people in them."
        if leaking
        else f"None of {summary['groups']:,} groups gives a share away.",
        [
            Section(f"Why noise on answers {'does not' if leaking else 'may'} hide a share", WHY, charts),
            Section("Groups", _lede(summary), tables=[worst]),
            Section("By size", tables=[_by_size(summary)]),
        ],
        manifest=manifest,
        facts=_facts(summary),
        standfirst=[_example(summary)],
        warning="Made with the true counts: this page is for the publisher alone.",
    )


def _example(summary: Mapping[str, Any]) -> str:
    """The most telling group in a sentence."""
    first = summary["worst"][0]
    sure = f"{100 * summary['level']:g} %"
    return (
        f"{'For example' if first['leaks'] else 'The nearest to it'}: of {first['size']:,} people with "
        f"{_who(first)}, {_percent(first['confidence'])} have "
        f"{shorten(summary['sensitive'])} {shorten(first['value'])}; of all people, "
        f"{_percent(first['overall'])} do. Whoever divides two answers with noise {summary['noise']} reads "
        f"between {_percent(first['low'])} and {_percent(first['high'])} with {sure} probability."
    )


def _who(row: Mapping[str, Any]) -> str:
    """The public values of a group."""
    texts = [f"{shorten(name, 30)} {_value(value)}" for name, value in row["public"].items()]
    return ", ".join(texts[:8]) + (" …" if len(texts) > 8 else "") if texts else "nothing known about them"


def _value(value: str | None) -> str:
    return "missing" if value is None else shorten(value, 40)


def _facts(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = [
        (f"{summary['leaking_groups']:,}", f"of {summary['groups']:,} groups leak"),
        (_percent(summary["leaking_records"] / summary["records"]), "of the people are in them"),
        (f"{summary['largest_group']:,}", "people in the largest group"),
        (f"{summary['safe_epsilon']:.3g}", "ε below which no group leaks (Laplace noise)"),
    ]
    if summary["epsilon"] is not None:
        facts[2] = (f"{summary['epsilon']:g}", "ε of both answers together")
    return facts


def _charts(summary: Mapping[str, Any], table: pa.Table) -> list[Chart]:
    errors = summary["errors"]
    readings = readings_chart(
        _thinned(table), errors["curve"], least_size=errors["least_size"], level=summary["level"]
    )
    rows = summary["by_noise"]
    field = "epsilon" if "epsilon" in rows[0] else "sd"
    now = {row["noise"]: row[field] for row in rows}[summary["noise"]]
    return [readings, leak_chart(rows, now=now)]


def _thinned(table: pa.Table) -> list[dict[str, Any]]:
    """Groups evenly along their sizes; those that gave no answer are left out."""
    known = table.filter(table["reading"].is_valid()).sort_by([("size", "descending")])
    n = known.num_rows
    at = np.unique(np.linspace(0, max(n - 1, 0), min(n, MOST_POINTS)).round().astype(np.int64))
    rows = known.take(pa.array(at, pa.int64())).to_pylist() if n else []
    return [
        {
            "size": row["size"],
            "share": row["confidence"],
            "reading": row["reading"],
            "error": abs(row["reading"] - row["confidence"]),
            "leaks": row["leaks"],
        }
        for row in rows
    ]


def _lede(summary: Mapping[str, Any]) -> str:
    rule = f"A group leaks where the noise's scale is at most {100 * summary['rule']:g} % of its size."
    if not summary["leaking_groups"]:
        return f"{rule} None does; these are the largest groups, which come nearest to it."
    shown, total = len(summary["worst"]), summary["leaking_groups"]
    if shown < total:
        return f"{rule} The {shown} most telling of {total:,} that leak; all are in groups.parquet."
    return f"{rule} All that leak, the most telling first."


def _worst(summary: Mapping[str, Any]) -> Sheet:
    public = [shorten(name, 30) for name in summary["public"]]
    rows = [
        [
            *(_value(value) for value in row["public"].values()),
            shorten(row["value"], 40),
            f"{row['size']:,}",
            _percent(row["confidence"]),
            f"{_percent(row['low'])}\u00a0to\u00a0{_percent(row['high'])}",
            _percent(row["overall"]),
        ]
        for row in summary["worst"]
    ]
    read = f"{100 * summary['level']:g} % of readings"
    head = [*public, shorten(summary["sensitive"], 30), "people", "true share", read, "of all people"]
    return Sheet("Whoever has these values", head, rows)


def _by_size(summary: Mapping[str, Any]) -> Sheet:
    rows = [
        [
            f"{row['from']:,} to {row['to']:,}",
            f"{row['groups']:,}",
            f"{row['leaking_groups']:,}",
            f"{row['records']:,}",
            f"{row['leaking_records']:,}",
        ]
        for row in summary["by_size"]
    ]
    return Sheet("", ("people in the group", "groups", "that leak", "people", "in groups that leak"), rows)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


Rows = Sequence[Mapping[str, Any]]

#: Errors beyond these are drawn at the edge.
LEAST, MOST = 1e-3, 1.0

#: A line that is not drawn, for keys of points.
NO_LINE = (0, 30)


def readings_chart(groups: Rows, curve: Rows, *, least_size: float, level: float) -> Chart:
    """Groups by size and by how far one drawn reading is off, beside what theory says.

    ``groups`` have ``size``, ``share``, ``reading``, ``error`` and ``leaks``; ``curve`` has ``size``,
    ``median`` and ``most``, the error that half and ``level`` of all readings stay below.
    """
    large = [row for row in groups if row["leaks"]]
    small = [row for row in groups if not row["leaks"]]
    half, most = "half of all readings err less", f"{100 * level:g} % err less"
    theory = [
        {"size": row["size"], "error": row[name], "which": title}
        for title, name in ((half, "median"), (most, "most"))
        for row in curve
        if row[name] is not None and row[name] <= MOST
    ]
    curves = (Key(half, INK, (1, 0)), Key(most, THIRD, (6, 3)))
    points = [Key("a group that leaks", ACCENT, NO_LINE, "circle")] if large else []
    points += [Key("a group that does not", PALE, NO_LINE, "square")] if small else []
    rule = Key(f"size {least_size:,.0f}: the rule of 1/20", SOFT, (2, 2))
    axes = {"x": _size_axis(), "y": _error_axis()}
    layer: list[dict[str, Any]] = [
        _points(small, axes, PALE, "square"),
        _points(large, axes, ACCENT, "circle"),
        {
            "data": {"values": [{"size": least_size}]},
            "mark": {"type": "rule", "color": SOFT, "strokeDash": [2, 2], "strokeWidth": 1.5},
            "encoding": {"x": _size_axis()},
        },
        {
            "data": {"values": theory},
            "mark": {"type": "line"},
            "encoding": {**axes, **encoding("which", curves)},
        },
    ]
    return Chart(
        "readings",
        "The larger the group, the better the reading",
        _says(large, small),
        tuple(groups),
        {
            "size": "people",
            "share": "true share",
            "reading": "read from noisy answers",
            "error": "error",
            "leaks": "leaks",
        },
        {"layer": [part for part in layer if part["data"]["values"]]},
        height=280,
        legend=(*points, *curves, rule),
        note="Noise was drawn once for each group. Errors of more than 100 points are drawn at the top.",
    )


def _says(large: Rows, small: Rows) -> str:
    told = list[str]()
    for rows, what in ((large, "groups that leak"), (small, "groups that do not")):
        errors = sorted(row["error"] for row in rows)
        if errors:
            middle = 100 * errors[len(errors) // 2]
            told.append(f"{f'{middle:.2g}' if middle < 99.5 else 'over 100'} points for {what}")
    return f"The middle error of the share read: {', '.join(told)}." if told else "Nothing can be read."


def _size_axis() -> dict[str, Any]:
    return {
        "field": "size",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False},
        "axis": {"title": "people in the group", "format": "~s", "tickCount": 4},
    }


def _error_axis() -> dict[str, Any]:
    return {
        "field": "error",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [LEAST, MOST], "clamp": True},
        "axis": {"title": "error of the share read", "format": "~%", "values": [0.001, 0.01, 0.1, 1]},
    }


def _points(rows: Rows, axes: Mapping[str, Any], colour: str, shape: str) -> dict[str, Any]:
    drawn = [{"size": row["size"], "error": max(row["error"], LEAST)} for row in rows]
    return {
        "data": {"values": drawn},
        "mark": {
            "type": "point",
            "filled": True,
            "color": colour,
            "shape": shape,
            "size": 20,
            "opacity": 0.5,
        },
        "encoding": dict(axes),
    }


def leak_chart(rows: Rows, *, now: float) -> Chart:
    """The share of groups and of people given away, by ε or by the standard deviation of the noise."""
    field = "epsilon" if "epsilon" in rows[0] else "sd"
    title = "ε of both answers together" if field == "epsilon" else "standard deviation of the noise"
    legend = lines(["people", "groups"], points=False)
    drawn = [{field: row[field], "share": row[key.name], "of": key.name} for key in legend for row in rows]
    here = min(rows, key=lambda row: abs(row[field] - now))
    x = {
        "field": field,
        "type": "quantitative",
        "scale": {"type": "log", "nice": False},
        "axis": {"title": title, "format": "~g", "values": _ticks([row[field] for row in rows])},
    }
    name = "ε" if field == "epsilon" else "a standard deviation of"
    return Chart(
        "leaks-by-noise",
        "How much noise hides the shares",
        f"At {name} {now:.3g}, {_percent(here['groups'])} of the groups and {_percent(here['people'])} of "
        "the people are given away.",
        tuple(rows),
        {field: title, "noise": "noise", "groups": "groups that leak", "people": "people in them"},
        {
            "layer": [
                {
                    "data": {"values": [{field: now}]},
                    "mark": {"type": "rule", "color": INK, "strokeDash": [2, 2], "strokeWidth": 1.5},
                    "encoding": {"x": x},
                },
                {
                    "data": {"values": drawn},
                    "mark": {"type": "line", "interpolate": "step-after"},
                    "encoding": {
                        "x": x,
                        "y": share_axis("share", 1.0, "share given away"),
                        **encoding("of", legend),
                    },
                },
            ]
        },
        height=280,
        legend=(*legend, Key("the noise attacked here", INK, (2, 2))),
    )


def _ticks(values: Sequence[float]) -> list[float]:
    """Round numbers along a logarithmic axis.

    >>> _ticks([0.03, 2.0])
    [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    """
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    inside = [tick for tick in every if low <= tick <= high]
    if len(inside) > 7:
        return [tick for tick in inside if f"{tick:e}".startswith("1.0")]
    if len(inside) > 2:
        return inside
    return [float(f"{low * (high / low) ** part:.2g}") for part in (0.1, 0.5, 0.9)]


def reading_chart(rows: Rows, *, share: float, ends: tuple[float, float], level: float) -> Chart:
    """How likely each reading of one share is: ``rows`` have ``at`` and ``density``."""
    x = {
        "field": "at",
        "type": "quantitative",
        "scale": {"zero": False, "nice": False},
        "axis": {"title": "share read from two noisy answers", "format": "~%", "tickCount": 5},
    }
    rules = [{"at": share, "which": "truth"}, *({"at": end, "which": "end"} for end in ends)]
    low, high = (f"{100 * end:.1f}" for end in ends)
    keys = (
        Key("readings", ACCENT, (1, 0)),
        Key("the true share", INK, (6, 3)),
        Key(f"{100 * level:g} % of readings between", SOFT, (2, 2)),
    )
    colours = {
        "field": "which",
        "type": "nominal",
        "scale": {"domain": ["truth", "end"], "range": [INK, SOFT]},
    }
    dashes = {**colours, "scale": {"domain": ["truth", "end"], "range": [[6, 3], [2, 2]]}}
    return Chart(
        "reading",
        "What an attacker reads",
        f"The true share is {_percent(share)}; {100 * level:g} % of readings lie between {low} and {high} %.",
        tuple(rows),
        {"at": "share read", "density": "density"},
        {
            "layer": [
                {
                    "mark": {"type": "area", "color": ACCENT, "opacity": 0.18, "line": {"color": ACCENT}},
                    "encoding": {
                        "x": x,
                        "y": {
                            "field": "density",
                            "type": "quantitative",
                            "axis": {"title": "density", "tickCount": 4, "format": "~g"},
                        },
                    },
                },
                {
                    "data": {"values": rules},
                    "mark": {"type": "rule", "strokeWidth": 1.5},
                    "encoding": {"x": x, "color": colours, "strokeDash": dashes},
                },
            ]
        },
        legend=keys,
    )
