"""The page of an attack on noisy numbers: what comes back of each column, and how many are disclosed.

Pairs of columns are drawn as ellipses: the data, the noise, and what attacks make of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import shorten
from showthrough.files import read_json
from showthrough.numbers.attack_summary import NO_TRUTH, AttackSummary, ColumnSummary, ExposureRow, Histogram
from showthrough.numbers.exposure import DIRECT, IDEAL
from showthrough.numbers.methods import MEANINGS, explain_methods
from showthrough.numbers.pairs import NOISE, NOISY, TRUE, PairShape
from showthrough.report.charts import (
    PALE,
    SOFT,
    TIGHT,
    Chart,
    Key,
    Row,
    Spec,
    encoding,
    lines,
    number_axis,
    share_axis,
)
from showthrough.report.page import Page, Section, Sheet, figures_page
from showthrough.text import percent

__all__ = [
    "attack_page",
    "density_chart",
    "ellipse_chart",
    "exposure_chart",
    "yardstick_lines",
]

FOR_THE_PUBLISHER = "Made with the true values: this page is for the publisher only."


def attack_page(folder: Path) -> Page:
    """The page of a finished attack."""
    summary = AttackSummary.from_plain(read_json(folder / "summary.json"))
    densities = pq.read_table(folder / "densities.parquet")
    headline, standfirst = _headline(summary)
    return figures_page(
        "Attack on noisy numbers",
        headline,
        [
            *(_column(column, densities, unknown=summary.unknown is not None) for column in summary.columns),
            *_together(summary),
            *_pairs(summary, folder),
            *_errors(summary),
        ],
        manifest=read_json(folder / "run.json"),
        facts=_facts(summary),
        standfirst=[standfirst, *([] if summary.unknown is None else [summary.unknown.sentence])],
        warning=FOR_THE_PUBLISHER if summary.worst is not None else "",
    )


def _headline(summary: AttackSummary) -> tuple[str, str]:
    """The strongest attack on the worst column, at the privacy interval in the middle."""
    worst = summary.worst
    found = None if worst is None else summary.headline(worst)
    return found or (f"The values behind the noise of {summary.people:,} people have been rebuilt.", NO_TRUTH)


def _facts(summary: AttackSummary) -> list[tuple[str, str]]:
    columns = [(f"{len(summary.columns)}", "columns")] if len(summary.columns) > 1 else []
    people, confidence = (
        (f"{summary.people:,}", "people"),
        (percent(summary.confidence), "confidence claimed"),
    )
    return [people, *columns, confidence]


def _column(column: ColumnSummary, densities: pa.Table, *, unknown: bool = False) -> Section:
    """One column: its distributions, and how many people are disclosed by which method."""
    mine = densities.filter(pa.array([name == column.column for name in densities["column"].to_pylist()]))
    known = {name: found.information_loss for name, found in column.methods.items()}
    losses = {name: loss for name, loss in known.items() if loss is not None}
    charts = [density_chart(column.column, column.histogram, mine, losses=losses)]
    if column.exposure:
        charts.append(exposure_chart(column.column, column.exposure))
    knows = "the noisy values alone" if unknown else "the noisy values and the law of the noise"
    lede = [f"Noise {column.noise}. The attacker knows {knows}."]
    lede += [f"Note: {doubt}." for doubt in column.doubts]
    tables = [_methods(column), *_exposed(column)]
    return Section(f"Column {shorten(column.column)}", " ".join(lede), charts, tables)


def _together(summary: AttackSummary) -> Iterator[Section]:
    """All columns of a person at once."""
    if not summary.joint:
        return
    rows = [
        [
            row.privacy,
            percent(row.jointly / row.people, 1, fixed=True),
            percent(row.one_by_one / row.people, 1, fixed=True),
            percent(row.coverage, 1, fixed=True),
        ]
        for row in summary.joint
    ]
    head = ("privacy", "all columns together", "each column by itself", "right about")
    note = (
        "Together: the ellipsoid of the Bayes estimate lies inside the person's box, with the confidence of "
        "the whole. By itself: everybody's own interval lies inside in every column, each with that "
        "confidence."
    )
    yield Section(
        "All columns together", summary.together, [], [Sheet("People disclosed", head, rows, note=note)]
    )


def _pairs(summary: AttackSummary, folder: Path) -> Iterator[Section]:
    """The shapes of pairs of columns."""
    if not summary.pairs:
        return
    points = [row for row in pq.read_table(folder / "points.parquet").to_pylist() if row["values"] == NOISY]
    charts = list[Chart]()
    for number, pair in enumerate(summary.pairs, 1):
        shapes = {
            name: PairShape(np.asarray(one.mean), np.asarray(one.covariance))
            for name, one in pair.shapes.items()
        }
        mine = [(row["first"], row["second"]) for row in points if row["pair"] == number]
        charts.append(ellipse_chart(pair.columns, shapes, mine))
    text = (
        "Correlated columns keep their common shape under independent noise, and attacks use it. Values "
        "rebuilt by the Bayes estimate (be) vary less than the true ones and correlate more: what is not "
        "known about a person is filled in with what is known about all."
    )
    n_columns = len(summary.columns)
    more = n_columns * (n_columns - 1) // 2 - len(summary.pairs)
    left = f" The {len(summary.pairs)} most correlated pairs are shown." if more > 0 else ""
    yield Section("Two columns at a time", text + left, charts)


def _methods(column: ColumnSummary) -> Sheet:
    rows = [
        [
            name,
            found.interval_text,
            f"{found.mean_length:.4g}",
            "–" if found.information_loss is None else percent(found.information_loss, 1, fixed=True),
        ]
        for name, found in column.methods.items()
    ]
    head = ("method", "interval", "mean length", "information loss")
    return Sheet("The attacks", head, rows, note=explain_methods(column.methods))


def _exposed(column: ColumnSummary) -> Iterator[Sheet]:
    if column.exposure:
        methods, shares = column.measured_methods, column.shares
        rows = [
            [p, *(percent(shares[p, method], 1, fixed=True) for method in methods)] for p in column.levels
        ]
        yield Sheet("People disclosed", ("privacy interval", *methods), rows)


def _errors(summary: AttackSummary) -> Iterator[Section]:
    if summary.errors is not None:
        rows = [[name, f"{e.absolute:.4g}", f"{e.relative:.4g}"] for name, e in summary.errors.items()]
        table = Sheet("", ("method", "absolute error", "relative error"), rows)
        yield Section("All columns together", "How far rebuilt records are from the true ones.", (), [table])


#: Points of a rebuilt density that are drawn; neighbouring bins are joined.
MOST_POINTS = 80

#: A density that rises this many times higher than the true one (or the middle one) leaves the picture.
TALL = 3

#: The two yardsticks beside the attacks, and their colours.
YARDSTICKS = {DIRECT: PALE, IDEAL: SOFT}
YARDSTICK_NOTE = f"Direct: {MEANINGS[DIRECT]}. Ideal: {MEANINGS[IDEAL]}."

PEOPLE = "share of the people"


def density_chart(
    column: str, shown: Histogram, densities: pa.Table, *, losses: Mapping[str, float] | None = None
) -> Chart:
    """Noisy, true (where known) and rebuilt values of one column as densities.

    ``densities`` has the columns ``method``, ``low``, ``high`` and ``mass``, one row for each bin;
    ``losses`` the information loss of methods, where the truth is known.
    """
    rows = [*_counted(shown), *_rebuilt(densities, shown.edges[0], shown.edges[-1])]
    peaks = dict[str, float]()
    for row in rows:
        peaks[row["values"]] = max(row["density"], peaks.get(row["values"], 0.0))
    legend = lines(peaks, colours={TRUE: SOFT, NOISY: PALE}, points=False)
    says = f"The distribution of {shorten(column)} as published, and as rebuilt from it."
    if losses:
        best = min(losses, key=losses.__getitem__)
        says += (
            f" The attack {best} comes nearest to the truth, with an information loss of "
            f"{percent(losses[best], 1)}."
        )
    top, note = _top(peaks)
    beyond = sum(found.beyond for found in shown.values.values())
    tails = f"Long tails are cut: the picture shows the middle {percent(0.998)} of the values."
    return Chart(
        f"densities-{column}",
        "What the noise hides, and what comes back",
        says,
        tuple(rows),
        {"values": "values", "at": "at", "density": "density"},
        {
            "mark": {"type": "line", "interpolate": "monotone", "clip": True},
            "encoding": {
                "x": number_axis("at", column, scale=TIGHT, titleLimit=250, tickCount=5),
                "y": number_axis(
                    "density",
                    "density",
                    scale={"domain": [0, top], "nice": not note},
                    tickCount=4,
                    format="~g",
                ),
                **encoding("values", legend),
            },
        },
        legend=legend,
        note=" ".join(text for text in (note, tails if beyond else "") if text),
    )


def _top(peaks: Mapping[str, float]) -> tuple[float, str]:
    """Where the picture ends, and what is cut off: one spike must not flatten all the rest."""
    heights = sorted(peaks.values())
    top = TALL * peaks.get(TRUE, heights[(len(heights) - 1) // 2])
    tall = [f"{name} (up to {peak:.3g})" for name, peak in peaks.items() if peak > top]
    if not tall:
        return heights[-1], ""
    return top, f"Higher than the picture: {', '.join(tall)}."


def _counted(shown: Histogram) -> Iterator[Row]:
    for name in shown.values:
        for at, value in zip(shown.midpoints.tolist(), shown.density(name).tolist(), strict=True):
            yield _point(name, at, value)


def _rebuilt(densities: pa.Table, first: float, last: float) -> Iterator[Row]:
    """Each method's density between the ends of the picture."""
    methods = densities["method"].to_pylist()
    for method in dict.fromkeys(methods):
        mine = densities.filter(pa.array([name == method for name in methods]))
        low, high, mass = (mine[name].to_numpy() for name in ("low", "high", "mass"))
        seen = (high > first) & (low < last)
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


def _point(name: str, at: float, density: float) -> Row:
    return {"values": name, "at": float(f"{at:.6g}"), "density": float(f"{density:.4g}")}


def exposure_chart(column: str, rows: Sequence[ExposureRow]) -> Chart:
    """How many people each method discloses, by privacy interval."""
    legend = yardstick_lines(row.method for row in rows)
    order, marks = list(dict.fromkeys(row.privacy for row in rows)), encoding("method", legend)
    top = max(row.high for row in rows)
    attacks = [row for row in rows if row.method not in YARDSTICKS]
    wrong = list(dict.fromkeys(row.method for row in attacks if not row.credible))
    strongest = max(
        (row for row in attacks if row.method not in wrong), key=lambda row: row.share, default=None
    )
    says = "No attack is right as often as it claims."
    if strongest is not None:
        says = f"At most {percent(strongest.share, 1)}, by {strongest.method} at {strongest.privacy}."
    return Chart(
        f"exposure-{column}",
        "How many people are disclosed",
        says,
        tuple(asdict(row) for row in rows),
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
                        "y": share_axis("low", PEOPLE, top),
                        "y2": {"field": "high"},
                        "color": marks["color"],
                    },
                },
                {
                    "mark": {"type": "line", "point": True},
                    "encoding": {"y": share_axis("share", PEOPLE, top), **marks},
                },
            ],
        },
        legend=legend,
        note=YARDSTICK_NOTE
        + (f" Wrong more often than claimed, so not counted: {', '.join(wrong)}." if wrong else ""),
    )


def yardstick_lines(methods: Iterable[str]) -> tuple[Key, ...]:
    """The lines of methods in a chart: attacks first, then the two yardsticks in quiet colours."""
    found = dict.fromkeys(methods)
    attacks = [name for name in found if name not in YARDSTICKS]
    return lines([*attacks, *(name for name in YARDSTICKS if name in found)], colours=YARDSTICKS)


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
    layer: list[Spec] = [
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
            "area": f"area of the {percent(0.95)} ellipse",
        },
        {"layer": layer if records else layer[1:]},
        height=300,
        legend=legend,
        note=f"Ellipses that would hold {percent(0.68)} (thin) and {percent(0.95)} of normal data. The noise "
        "is drawn about the middle of the noisy data"
        + (f"; points are {len(records):,} noisy records." if records else "."),
    )


def _reach(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis: all ellipses and a little more, so that no outlier dwarfs them."""
    low, high = min(values), max(values)
    more = 0.12 * (high - low) or 0.5 * (abs(low) or 1.0)
    return low - more, high + more


def _plane(columns: tuple[str, str], window: Mapping[str, tuple[float, float]]) -> Spec:
    return {
        name: number_axis(
            name, title, scale={"domain": list(window[name]), **TIGHT}, titleLimit=240, tickCount=5
        )
        for name, title in zip(("x", "y"), columns, strict=True)
    }


def _outlines(name: str, shapes: Mapping[str, PairShape]) -> Iterator[Row]:
    shape = shapes[name]
    if name == NOISE and NOISY in shapes:
        shape = PairShape(shapes[NOISY].mean, shape.covariance)
    for level in LEVELS:
        for step, (x, y) in enumerate(shape.outline(level).tolist()):
            yield {"values": name, "level": level, "step": step, "x": _short(x), "y": _short(y)}


def _figures(name: str, shape: PairShape) -> Row:
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
    noisy = _correlation_text(shapes[NOISY].correlation)
    text = f"As published, the two columns correlate by {noisy}"
    if TRUE in shapes:
        text = (
            f"A correlation of {_correlation_text(shapes[TRUE].correlation)} becomes {noisy} under the noise"
        )
    if not attacks:
        return f"{text}."
    best = next((name for name in ("be", "pca", "sf") if name in attacks), attacks[0])
    return f"{text}; as rebuilt by {best} it is {_correlation_text(shapes[best].correlation)}."


def _correlation_text(correlation: float | None) -> str:
    return "none" if correlation is None else f"{correlation:.2f}"


def _short(value: float) -> float:
    return float(f"{value:.5g}")
