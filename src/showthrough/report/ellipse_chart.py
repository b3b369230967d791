"""Two columns as ellipses: the data, the noise, and what attacks make of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from showthrough.attack.pairs import NOISE, NOISY, TRUE, Shape
from showthrough.errors import shorten
from showthrough.report.charts import Chart
from showthrough.report.series import encoding, lines
from showthrough.report.theme import PALE, SOFT

__all__ = ["ellipse_chart"]

#: Ellipses that would hold these shares of normal data, and the width of their lines.
LEVELS = {0.68: 1.25, 0.95: 2.25}


def ellipse_chart(
    columns: tuple[str, str], shapes: Mapping[str, Shape], points: Sequence[tuple[float, float]] = ()
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


def _outlines(name: str, shapes: Mapping[str, Shape]) -> Iterator[dict[str, Any]]:
    shape = shapes[name]
    if name == NOISE and NOISY in shapes:
        shape = Shape(shapes[NOISY].mean, shape.covariance)
    for level in LEVELS:
        for step, (x, y) in enumerate(shape.outline(level).tolist()):
            yield {"values": name, "level": level, "step": step, "x": _short(x), "y": _short(y)}


def _figures(name: str, shape: Shape) -> dict[str, Any]:
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


def _correlated(shapes: Mapping[str, Shape], attacks: Sequence[str]) -> str:
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
