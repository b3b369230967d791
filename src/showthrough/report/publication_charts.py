"""Charts of a publication: what can be estimated from it, how many values are kept, how large buckets are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from showthrough.errors import shorten
from showthrough.publish.publication import Publication
from showthrough.publish.reading import PublishedFile
from showthrough.publish.violations import DiversityCheck
from showthrough.report.charts import Chart
from showthrough.report.group_charts import NO_LINE
from showthrough.report.series import Key
from showthrough.report.shares import share_axis, share_text
from showthrough.report.theme import ACCENT, SOFT

__all__ = ["buckets_chart", "distribution_chart", "retention_charts"]

#: Sensitive values that are drawn.
MOST_VALUES = 25


def distribution_chart(publication: Publication) -> Chart:
    """About how many records have each value, the most frequent first, with 95 % error bars."""
    said = publication.manifest
    named = shorten(", ".join(said.sensitive))
    table = publication.distribution()
    value, error, low, high = (np.asarray(column) for column in table.columns[-4:])
    order = np.argsort(-value, kind="stable")[:MOST_VALUES]
    rows = tuple(
        {
            "value": ", ".join(said.domain[at]),
            "records": float(value[at]),
            "error": float(error[at]),
            "low": float(low[at]),
            "high": float(high[at]),
        }
        for at in order.tolist()
    )
    more = len(said.domain) - len(rows)
    note = f"The {len(rows)} largest of {len(said.domain):,} estimates, which tend to be too large for that."
    between = f", between {rows[0]['low']:,.0f} and {rows[0]['high']:,.0f} (95 % sure)"
    largest = f"{'about ' if rows[0]['error'] else ''}{rows[0]['records']:,.0f} records"
    return Chart(
        "distribution",
        f"Records by {named}",
        f"The most frequent value has {largest}{between if rows[0]['error'] else ''}.",
        rows,
        {
            "value": named,
            "records": "records, about",
            "error": "standard error",
            "low": "from",
            "high": "to",
        },
        {
            "encoding": {
                "y": {
                    "field": "value",
                    "type": "nominal",
                    "sort": None,
                    "title": None,
                    "axis": {"labelLimit": 110, "labelOverlap": False, "grid": True},
                }
            },
            "layer": [
                {
                    "mark": {"type": "rule", "color": SOFT, "strokeWidth": 2},
                    "encoding": {"x": _records("low"), "x2": {"field": "high"}},
                },
                {"mark": {"type": "point", "size": 60}, "encoding": {"x": _records("records")}},
            ],
        },
        height=max(110, 24 * len(rows)),
        legend=(Key("estimate", ACCENT, NO_LINE, "circle"), Key("95 % sure", SOFT, (1, 0))),
        note=note if more else "",
    )


def _records(field: str) -> dict[str, Any]:
    return {
        "field": field,
        "type": "quantitative",
        "title": "records, estimated",
        "axis": {"tickCount": 5, "format": ",.0f"},
        "scale": {"zero": True},
    }


def retention_charts(publication: Publication) -> Iterator[Chart]:
    """How often values are kept, by sub-table, where there are several."""
    said = publication.manifest
    if len(said.tables) < 2:
        return
    label = str(said.label)
    counted = PublishedFile(publication.data, (label,)).count([label], {})
    number = dict(
        zip(counted.column(0).cast(pa.int64()).to_pylist(), counted.column(1).to_pylist(), strict=True)
    )
    rows: tuple[dict[str, Any], ...] = tuple(
        {
            "table": at,
            "retention": table.retention,
            "values": len(table.values),
            "records": number.get(at, 0),
        }
        for at, table in enumerate(said.tables, 1)
    )
    most = max(rows, key=lambda row: row["retention"])
    least = min(rows, key=lambda row: row["retention"])
    yield Chart(
        "retention",
        "How often values are kept, by sub-table",
        f"From {share_text(least['retention'])} in sub-table {least['table']} to "
        f"{share_text(most['retention'])} in sub-table {most['table']}.",
        rows,
        {"table": "sub-table", "retention": "retention", "values": "values", "records": "records"},
        {
            "mark": "bar",
            "encoding": {
                "x": {"field": "table", "type": "ordinal", "title": "sub-table"},
                "y": share_axis("retention", "share of values that are kept", most["retention"]),
            },
        },
    )


def buckets_chart(found: DiversityCheck) -> Chart:
    """How many buckets of an anatomy there are of each size."""
    sizes, number = np.unique(found.sizes, return_counts=True)
    rows = tuple({"size": int(s), "buckets": int(n)} for s, n in zip(sizes, number, strict=True))
    share = float((found.largest / found.sizes).max())
    broken = int(found.violated.sum())
    says = "all keep the promise" if not broken else f"{broken:,} break the promise"
    return Chart(
        "buckets",
        "Buckets by size",
        f"Of {len(found.sizes):,} buckets {says}; no value has more than {share_text(share)} of one.",
        rows,
        {"size": "records of the bucket", "buckets": "buckets"},
        {
            "mark": "bar",
            "encoding": {
                "x": {"field": "size", "type": "ordinal", "title": "records of the bucket"},
                "y": {
                    "field": "buckets",
                    "type": "quantitative",
                    "title": "buckets",
                    "axis": {"format": ",.0f", "tickMinStep": 1},
                },
            },
        },
    )
