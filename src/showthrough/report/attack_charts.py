"""Pictures of attacks on noisy numbers: what comes back of a column, and how many are given away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from showthrough.attack.histogram import Histogram
from showthrough.attack.noise import Floats
from showthrough.attack.pairs import NOISY, TRUE
from showthrough.errors import shorten
from showthrough.report.charts import Chart
from showthrough.report.series import encoding, lines
from showthrough.report.theme import PALE, SOFT

__all__ = ["density_chart", "exposure_chart", "share_axis"]

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
