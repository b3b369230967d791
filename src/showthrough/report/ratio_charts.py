"""Pictures of the ratio attack: how wrong its readings are, and whom which noise gives away."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from showthrough.report.attack_charts import share_axis
from showthrough.report.charts import Chart
from showthrough.report.series import Key, encoding, lines
from showthrough.report.theme import ACCENT, INK, PALE, SOFT, THIRD

__all__ = ["leak_chart", "reading_chart", "readings_chart"]

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


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
