"""Charts of (ρ1, ρ2)-privacy: how sure a reader becomes of a value, and how many values are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from showthrough.publish.promise import RhoPrivacy, posterior
from showthrough.report.charts import Chart
from showthrough.report.group_charts import NO_LINE
from showthrough.report.series import Key
from showthrough.report.shares import percent, share_axis, share_text
from showthrough.report.theme import ACCENT, SOFT, THIRD

__all__ = ["retention_curve", "tables_chart"]

#: Points of a curve.
STEPS = 61


def tables_chart(rows: Sequence[Mapping[str, Any]], promise: RhoPrivacy) -> Chart:
    """How sure a reader becomes in each sub-table, with what the estimate leaves open."""
    shown = tuple({"table": at, "promised": promise.posterior, **row} for at, row in enumerate(rows, 1))
    most = max(shown, key=lambda row: row["posterior"])
    where = "" if len(shown) == 1 else f" (sub-table {most['table']})"
    return Chart(
        "posterior",
        "How sure a reader becomes",
        f"About {share_text(most['posterior'])} sure of a protected value at most{where}; "
        f"{percent(promise.posterior)} is promised.",
        shown,
        {
            "table": "sub-table",
            "retention": "retention",
            "n_values": "values",
            "posterior": "sure of a value, about",
            "low": "from",
            "high": "to",
            "promised": "promised at most",
        },
        {
            "layer": [
                {
                    "mark": {"type": "rule", "color": THIRD, "strokeDash": [6, 3], "strokeWidth": 2},
                    "encoding": {"y": {**share_axis("promised", "sure of a value"), "aggregate": "max"}},
                },
                {
                    "mark": {"type": "rule", "color": SOFT, "strokeWidth": 2},
                    "encoding": {
                        "x": _ordinal("table", "sub-table"),
                        "y": share_axis("low", "sure of a value"),
                        "y2": {"field": "high"},
                    },
                },
                {
                    "mark": {"type": "point", "size": 60},
                    "encoding": {
                        "x": _ordinal("table", "sub-table"),
                        "y": share_axis("posterior", "sure of a value"),
                    },
                },
            ]
        },
        legend=(Key("estimated", ACCENT, NO_LINE, "circle"), Key("promised at most", THIRD, (6, 3))),
        note="Lines reach over four standard errors of what can be estimated from the publication.",
    )


def retention_curve(facts: Mapping[str, Any], promise: RhoPrivacy) -> Chart:
    """How sure a reader would become of the most frequent protected value, by retention."""
    share, m, kept = facts["largest_share"], facts["n_values"], facts["retention"]
    at = np.unique(np.append(np.linspace(0, 1, STEPS), kept))
    sure = posterior(np.full((len(at), 1), share), at[:, None], n_values=m)[:, 0]
    rows = tuple(
        {"retention": float(p), "posterior": float(s), "planned": bool(p == kept)}
        for p, s in zip(at, sure, strict=True)
    )
    line = {"datum": promise.posterior}
    return Chart(
        "posterior",
        "How sure a reader becomes, by retention",
        f"At a retention of {kept:.4g} a reader becomes {share_text(facts['posterior'])} sure of a value; "
        f"{percent(promise.posterior)} is promised at most.",
        rows,
        {"retention": "retention", "posterior": "sure of a value", "planned": "as planned"},
        {
            "encoding": {"x": _retention_axis()},
            "layer": [
                {
                    "data": {"values": [{}]},
                    "mark": {"type": "rule", "color": THIRD, "strokeDash": [6, 3], "strokeWidth": 2},
                    "encoding": {"x": {"datum": 0}, "x2": {"datum": 1}, "y": line},
                },
                {"mark": "line", "encoding": {"y": share_axis("posterior", "sure of a value")}},
                {
                    "mark": {"type": "point", "size": 90},
                    "transform": [{"filter": "datum.planned"}],
                    "encoding": {"y": share_axis("posterior", "sure of a value")},
                },
            ],
        },
        legend=(Key("sure of a value", ACCENT, (1, 0), "circle"), Key("promised at most", THIRD, (6, 3))),
        note=f"For the most frequent value the promise is about: {share_text(share)} of the records have it. "
        "The point is the retention that was checked.",
    )


def _retention_axis() -> dict[str, Any]:
    return {
        "field": "retention",
        "type": "quantitative",
        "title": "retention: values that are kept as they are",
        "axis": {"format": "~%", "tickCount": 5},
        "scale": {"domain": [0, 1]},
    }


def _ordinal(field: str, title: str) -> dict[str, Any]:
    return {"field": field, "type": "ordinal", "title": title}
