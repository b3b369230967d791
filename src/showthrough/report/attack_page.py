"""An attack on noisy numbers as a page: the shapes, and how many people are given away.

Pictures of attacks on noisy numbers: what comes back of a column, and how many are given away.

Two columns as ellipses: the data, the noise, and what attacks make of both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import shorten
from showthrough.numbers.density import Histogram
from showthrough.numbers.noise import Floats
from showthrough.numbers.pairs import NOISE, NOISY, TRUE, PairShape
from showthrough.report.charts import PALE, SOFT, Chart, encoding, lines
from showthrough.report.page import Page, Section, Sheet, figures_page

__all__ = [
    "attack_page",
    "density_chart",
    "ellipse_chart",
    "exposure_chart",
    "share_axis",
]

FOR_THE_PUBLISHER = "Made with the true values: this page is for the publisher alone."


def attack_page(folder: Path) -> Page:
    """The page of a finished attack."""
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    densities = pq.read_table(folder / "densities.parquet")
    sections = [_section(column, densities) for column in summary["columns"]]
    pairs = list(_pairs(summary, folder))
    headline, standfirst = _headline(summary)
    return figures_page(
        "Attack on noisy numbers",
        headline,
        [*sections, *pairs, *_errors(summary)],
        manifest=manifest,
        facts=_facts(summary),
        standfirst=[standfirst],
        warning=FOR_THE_PUBLISHER if any(column["exposure"] for column in summary["columns"]) else "",
    )


def _headline(summary: Mapping[str, Any]) -> tuple[str, str]:
    """The strongest attack on any column at the privacy interval in the middle."""
    people, sure = f"{summary['people']:,} people", f"{100 * summary['confidence']:g} %"
    measured = [column for column in summary["columns"] if column["exposure"]]
    if not measured:
        return (
            f"The values behind the noise of {people} have been rebuilt.",
            "How many people this gives away cannot be said without their true values: add --truth.",
        )
    best = max((_middle(column) for column in measured), key=lambda pair: pair[0]["share"])
    strong, direct = best
    return (
        f"{_percent(strong['share'])} of {people} can be placed within {strong['privacy']} of the truth.",
        f"The attack {strong['method']} does so with {sure} confidence ({_percent(strong['low'])} to "
        f"{_percent(strong['high'])} among many more people of the same kind). The noisy value itself is "
        f"that close for {_percent(direct['share'])}, but a reader cannot tell for whom.",
    )


def _middle(column: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    privacies = list(column["strongest"])
    privacy = privacies[len(privacies) // 2]
    rows = {row["method"]: row for row in column["exposure"] if row["privacy"] == privacy}
    return rows[column["strongest"][privacy]], rows["direct"]


def _facts(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = [
        (f"{summary['people']:,}", "people"),
        (f"{100 * summary['confidence']:g} %", "confidence claimed"),
    ]
    if len(summary["columns"]) > 1:
        facts.insert(1, (f"{len(summary['columns'])}", "columns"))
    return facts


def _section(column: Mapping[str, Any], densities: pa.Table) -> Section:
    mine = densities.filter(pa.array([name == column["column"] for name in densities["column"].to_pylist()]))
    known = {name: found["information_loss"] for name, found in column["methods"].items()}
    losses = {name: loss for name, loss in known.items() if loss is not None}
    shown = Histogram.from_dict(column["histogram"])
    charts = [density_chart(column["column"], shown, mine, losses=losses)]
    if column["exposure"]:
        charts.append(exposure_chart(column["column"], column["exposure"]))
    return Section(
        f"Column {shorten(column['column'])}",
        " ".join(
            [
                f"Noise {column['noise']}. The attacker knows the noisy values and the law of the noise.",
                *(f"Mind: {doubt}." for doubt in column.get("doubts", ())),
            ]
        ),
        charts,
        [_methods(column), *_exposed(column)],
    )


def _pairs(summary: Mapping[str, Any], folder: Path) -> Iterator[Section]:
    """The shapes of pairs of columns."""
    pairs = summary.get("pairs", ())
    if not pairs:
        return
    points = [row for row in pq.read_table(folder / "points.parquet").to_pylist() if row["values"] == NOISY]
    charts = list[Chart]()
    for number, pair in enumerate(pairs, 1):
        shapes = {name: PairShape(one["mean"], one["covariance"]) for name, one in pair["shapes"].items()}
        mine = [(row["first"], row["second"]) for row in points if row["pair"] == number]
        charts.append(ellipse_chart((pair["columns"][0], pair["columns"][1]), shapes, mine))
    text = (
        "Columns that belong together keep their common shape under independent noise, and attacks use it. "
        "Values rebuilt by Bayes' rule (be) vary less than the true ones and go together more closely: what "
        "is not known about a person is filled in with what is known about all."
    )
    more = len(summary["columns"]) * (len(summary["columns"]) - 1) // 2 - len(pairs)
    left = f" The {len(pairs)} most correlated pairs are shown." if more > 0 else ""
    yield Section("Two columns at a time", text + left, charts)


def _methods(column: Mapping[str, Any]) -> Sheet:
    rows = list[list[str]]()
    for name, found in column["methods"].items():
        ends = found["interval"]
        interval = "everybody's own" if ends is None else f"{ends[0]:.5g} to {ends[1]:.5g}"
        loss = found["information_loss"]
        rows.append([name, interval, f"{found['mean_length']:.4g}", "–" if loss is None else _cell(loss)])
    return Sheet("The attacks", ("method", "interval", "mean length", "information loss"), rows)


def _exposed(column: Mapping[str, Any]) -> Iterator[Sheet]:
    if not column["exposure"]:
        return
    methods = list(dict.fromkeys(row["method"] for row in column["exposure"]))
    shares = {(row["privacy"], row["method"]): row["share"] for row in column["exposure"]}
    rows = [[p, *(_cell(shares[p, method]) for method in methods)] for p in column["strongest"]]
    yield Sheet("People disclosed", ("privacy interval", *methods), rows)


def _errors(summary: Mapping[str, Any]) -> Iterator[Section]:
    if "errors" in summary:
        rows = [[n, f"{e['absolute']:.4g}", f"{e['relative']:.4g}"] for n, e in summary["errors"].items()]
        table = Sheet("", ("method", "absolute error", "relative error"), rows)
        yield Section("All columns together", "How far rebuilt records are from the true ones.", (), [table])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _cell(share: float) -> str:
    """A percentage in a table, not to be broken."""
    return _percent(share).replace(" ", "\u00a0")


#: Points of a rebuilt density that are drawn; neighbouring bins are joined.
MOST_POINTS = 80

#: A density that rises so many times higher than the true one (or the middle one) leaves the picture.
TALL = 3

#: The two yardsticks beside the attacks.
YARDSTICKS = ("direct", "ideal")


def density_chart(
    column: str, shown: Histogram, densities: pa.Table, *, losses: Mapping[str, float] | None = None
) -> Chart:
    """Noisy, true (where known) and rebuilt values of one column as densities.

    ``densities`` has the columns ``method``, ``low``, ``high`` and ``mass``, one row for each bin;
    ``losses`` the information loss of methods, where the truth is known.
    """
    rows = [*_counted(shown), *_rebuilt(densities, shown.edges)]
    peaks = dict[str, float]()
    for row in rows:
        peaks[row["values"]] = max(row["density"], peaks.get(row["values"], 0.0))
    legend = lines(peaks, colours={TRUE: SOFT, NOISY: PALE}, points=False)
    says = f"The distribution of {shorten(column)} as published, and as rebuilt from it."
    if losses:
        best = min(losses, key=losses.__getitem__)
        says += f" The attack {best} comes nearest to the truth: {100 * losses[best]:.1f} % is out of place."
    top, note = _top(peaks)
    beyond = sum(sum(found) for found in shown.beyond.values())
    tails = "Long tails are cut: the picture shows the middle 99.8 % of the values." if beyond else ""
    return Chart(
        f"densities-{column}",
        "What the noise hides, and what comes back",
        says,
        tuple(rows),
        {"values": "values", "at": "at", "density": "density"},
        {
            "mark": {"type": "line", "interpolate": "monotone", "clip": True},
            "encoding": {
                "x": {
                    "field": "at",
                    "type": "quantitative",
                    "axis": {"title": column, "titleLimit": 250, "tickCount": 5},
                    "scale": {"zero": False, "nice": False},
                },
                "y": {
                    "field": "density",
                    "type": "quantitative",
                    "axis": {"title": "density", "tickCount": 4, "format": "~g"},
                    "scale": {"domain": [0, top], "nice": not note},
                },
                **encoding("values", legend),
            },
        },
        legend=legend,
        note=" ".join(text for text in (note, tails) if text),
    )


def _top(peaks: Mapping[str, float]) -> tuple[float, str]:
    """Where the picture ends, and what is cut off: one spike must not flatten all the rest."""
    heights = sorted(peaks.values())
    top = TALL * peaks.get(TRUE, heights[(len(heights) - 1) // 2])
    tall = [f"{name} (up to {peak:.3g})" for name, peak in peaks.items() if peak > top]
    if not tall:
        return heights[-1], ""
    return top, f"Higher than the picture: {', '.join(tall)}."


def _counted(shown: Histogram) -> Iterator[dict[str, Any]]:
    middles = (shown.edges[:-1] + shown.edges[1:]) / 2
    for name in shown.counts:
        for at, value in zip(middles.tolist(), shown.density(name).tolist(), strict=True):
            yield _point(name, at, value)


def _rebuilt(densities: pa.Table, edges: Floats) -> Iterator[dict[str, Any]]:
    """Each method's density within the edges."""
    methods = densities["method"].to_pylist()
    for method in dict.fromkeys(methods):
        mine = densities.filter(pa.array([name == method for name in methods]))
        low, high, mass = (mine[name].to_numpy() for name in ("low", "high", "mass"))
        seen = (high > edges[0]) & (low < edges[-1])
        low, high, mass = low[seen], high[seen], mass[seen]
        if not len(low):
            continue
        step = -(-len(low) // MOST_POINTS)
        starts = np.arange(0, len(low), step)
        stops = np.minimum(starts + step, len(low)) - 1
        joined = zip(low[starts], high[stops], np.add.reduceat(mass, starts), strict=True)
        points = [_point(f"rebuilt ({method})", (a + b) / 2, m / (b - a)) for a, b, m in joined]
        if len(points) < 4:  # all at one place: a line up and down, not a dot
            name = f"rebuilt ({method})"
            points = [_point(name, low[0], 0.0), *points, _point(name, high[-1], 0.0)]
        yield from points


def _point(name: str, at: float, density: float) -> dict[str, Any]:
    return {"values": name, "at": float(f"{at:.6g}"), "density": float(f"{density:.4g}")}


def exposure_chart(column: str, rows: Sequence[Mapping[str, Any]]) -> Chart:
    """How many people each method discloses, by privacy interval."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    attacks = [method for method in methods if method not in YARDSTICKS]
    yardsticks = [name for name in YARDSTICKS if name in methods]
    legend = lines([*attacks, *yardsticks], colours=dict(zip(YARDSTICKS, (PALE, SOFT), strict=True)))
    order, marks = list(dict.fromkeys(row["privacy"] for row in rows)), encoding("method", legend)
    top = max(row["high"] for row in rows)
    mine = [row for row in rows if row["method"] in attacks]
    wrong = list(dict.fromkeys(row["method"] for row in mine if not row["credible"]))
    strongest = max(
        (row for row in mine if row["method"] not in wrong), key=lambda row: row["share"], default=None
    )
    says = "No attack is right as often as it claims."
    if strongest is not None:
        says = (
            f"At most {100 * strongest['share']:.1f} %, by {strongest['method']} at {strongest['privacy']}."
        )
    return Chart(
        f"exposure-{column}",
        "How many people are given away",
        says,
        tuple(rows),
        {
            "method": "method",
            "privacy": "privacy interval",
            "share": "share disclosed",
            "low": "from",
            "high": "to",
            "coverage": "right about",
        },
        {
            "encoding": {
                "x": {
                    "field": "privacy",
                    "type": "ordinal",
                    "sort": order,
                    "axis": {"title": "privacy interval", "labelExpr": "replace(datum.label, ' %', '%')"},
                }
            },
            "layer": [
                {
                    "mark": {"type": "rule", "opacity": 0.6},
                    # Not the other channels: a shape would put a point at the low end.
                    "encoding": {
                        "y": share_axis("low", top),
                        "y2": {"field": "high"},
                        "color": marks["color"],
                    },
                },
                {
                    "mark": {"type": "line", "point": True},
                    "encoding": {"y": share_axis("share", top), **marks},
                },
            ],
        },
        legend=legend,
        note="Direct: the noisy value itself. Ideal: the attack of one who knows the true distribution."
        + (f" Wrong more often than claimed, so not counted: {', '.join(wrong)}." if wrong else ""),
    )


def share_axis(field: str, top: float, title: str = "share of the people") -> dict[str, Any]:
    """A vertical axis of shares from 0."""
    return {
        "field": field,
        "type": "quantitative",
        "axis": {"format": "~%", "title": title},
        "scale": {"domain": [0, top], "nice": True},
    }


#: Ellipses that would hold these shares of normal data, and the width of their lines.
LEVELS = {0.68: 1.25, 0.95: 2.25}


def ellipse_chart(
    columns: tuple[str, str], shapes: Mapping[str, PairShape], points: Sequence[tuple[float, float]] = ()
) -> Chart:
    """Two columns: shapes as ellipses, and some published records as points.

    The noise is drawn about the middle of the noisy data.
    """
    first, second = columns
    attacks = [name for name in shapes if name not in (NOISY, NOISE, TRUE)]
    names = [*attacks, *(name for name in (NOISE, NOISY, TRUE) if name in shapes)]
    legend = lines(names, colours={TRUE: SOFT, NOISY: PALE}, points=False)
    outlines = [row for name in names for row in _outlines(name, shapes)]
    window = {name: _reach([row[name] for row in outlines]) for name in ("x", "y")}
    records = [
        {"x": _short(x), "y": _short(y)}
        for x, y in points
        if window["x"][0] <= x <= window["x"][1] and window["y"][0] <= y <= window["y"][1]
    ]
    plane = _plane(columns, window)
    layer: list[dict[str, Any]] = [
        {
            "data": {"values": records},
            "mark": {"type": "circle", "size": 7, "opacity": 0.45, "color": PALE},
            "encoding": plane,
        }
    ]
    for level, width in LEVELS.items():
        layer.append(
            {
                "data": {"values": [row for row in outlines if row["level"] == level]},
                "mark": {"type": "line", "strokeWidth": width},
                "encoding": {
                    **plane,
                    "order": {"field": "step", "type": "quantitative"},
                    **encoding("values", legend),
                },
            }
        )
    return Chart(
        f"ellipses-{first}-{second}",
        f"{shorten(first)} and {shorten(second)}",
        _correlated(shapes, attacks),
        tuple(_figures(name, shapes[name]) for name in names),
        {
            "values": "values",
            "mean_first": f"mean of {shorten(first, 30)}",
            "mean_second": f"mean of {shorten(second, 30)}",
            "sd_first": f"sd of {shorten(first, 30)}",
            "sd_second": f"sd of {shorten(second, 30)}",
            "correlation": "correlation",
            "area": "area of the 95 % ellipse",
        },
        {"layer": layer if records else layer[1:]},
        height=300,
        legend=legend,
        note="Ellipses that would hold 68 % (thin) and 95 % of normal data. The noise is drawn about the "
        "middle of the noisy data" + (f"; points are {len(records):,} noisy records." if records else "."),
    )


def _reach(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis: all ellipses and a little more, so that no outlier dwarfs them."""
    low, high = min(values), max(values)
    more = 0.12 * (high - low) or 0.5 * (abs(low) or 1.0)
    return low - more, high + more


def _plane(columns: tuple[str, str], window: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    return {
        name: {
            "field": name,
            "type": "quantitative",
            "scale": {"domain": list(window[name]), "zero": False, "nice": False},
            "axis": {"title": title, "titleLimit": 240, "tickCount": 5},
        }
        for name, title in zip(("x", "y"), columns, strict=True)
    }


def _outlines(name: str, shapes: Mapping[str, PairShape]) -> Iterator[dict[str, Any]]:
    shape = shapes[name]
    if name == NOISE and NOISY in shapes:
        shape = PairShape(shapes[NOISY].mean, shape.covariance)
    for level in LEVELS:
        for step, (x, y) in enumerate(shape.outline(level).tolist()):
            yield {"values": name, "level": level, "step": step, "x": _short(x), "y": _short(y)}


def _figures(name: str, shape: PairShape) -> dict[str, Any]:
    means, sds = shape.mean.tolist(), shape.sds
    return {
        "values": name,
        "mean_first": means[0],
        "mean_second": means[1],
        "sd_first": sds[0],
        "sd_second": sds[1],
        "correlation": shape.correlation,
        "area": shape.area(0.95),
    }


def _correlated(shapes: Mapping[str, PairShape], attacks: Sequence[str]) -> str:
    """What becomes of the correlation, in a sentence."""
    noisy = _told(shapes[NOISY].correlation)
    told = f"As published, the two columns correlate by {noisy}"
    if TRUE in shapes:
        told = f"A correlation of {_told(shapes[TRUE].correlation)} becomes {noisy} under the noise"
    if not attacks:
        return f"{told}."
    best = next((name for name in ("be", "pca", "sf") if name in attacks), attacks[0])
    return f"{told}; as rebuilt by {best} it is {_told(shapes[best].correlation)}."


def _told(correlation: float | None) -> str:
    return "none" if correlation is None else f"{correlation:.2f}"


def _short(value: float) -> float:
    return float(f"{value:.5g}")
