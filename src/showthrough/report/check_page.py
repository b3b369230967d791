"""The page of a check: which groups violate a promise, and how sure a reader becomes of a value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.microdata.check_summary import (
    BeliefSummary,
    CheckSummary,
    DiversitySummary,
    GroupsSummary,
    SubTableBelief,
    SubTablesSummary,
    read_summary,
)
from showthrough.microdata.people import PeopleSummary
from showthrough.microdata.promises import RhoPrivacy, posterior
from showthrough.report.charts import ACCENT, NO_LINE, SOFT, THIRD, Chart, Key, Spec, share_axis
from showthrough.report.group_charts import diversity_charts, group_charts
from showthrough.report.page import Page, Section, Sheet, figures_page
from showthrough.text import percent

__all__ = [
    "check_charts",
    "check_page",
    "retention_curve",
    "tables_chart",
]

PRIVATE = "For the publisher only: this page shows the true frequencies of values within groups of records."

#: Points of a curve.
STEPS = 61


def check_page(folder: Path) -> Page:
    """The page of a finished check."""
    found = json.loads((folder / "checks.json").read_text("utf-8"))
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    checks = [read_summary(plain) for plain in found["checks"]]
    return figures_page(
        "Check of a publication" if found["published"] else "Check of records before they are published",
        checks[0].headline,
        [_section(summary, folder) for summary in checks],
        manifest=manifest,
        facts=_numbers(checks[0]),
        standfirst=[summary.headline for summary in checks[1:]],
        warning=PRIVATE if not found["published"] or any(map(_knows_truth, checks)) else "",
    )


def _knows_truth(found: CheckSummary) -> bool:
    people = found.people if isinstance(found, BeliefSummary | SubTablesSummary) else None
    return people is not None and people.exact


def _numbers(found: CheckSummary) -> list[tuple[str, str]]:
    match found:
        case BeliefSummary() | SubTablesSummary() if found.people is not None:
            return _people(found.people, found.promise)
        case GroupsSummary():
            return [
                (f"{found.records:,}", "records"),
                (f"{found.groups:,}", "personal groups (same public values)"),
                (f"{found.exact.groups:,}", "groups that violate it, by exact tails"),
                (f"{found.chernoff.groups:,}", "groups that violate it, by the paper's bound"),
                (f"{found.retention:.4g}", "retention"),
            ]
        case SubTablesSummary():
            return [
                (f"{len(found.tables):,}", "sub-tables" if len(found.tables) > 1 else "table"),
                (percent(max(row.posterior for row in found.tables), 1), "largest posterior, about"),
                (percent(found.promise.posterior), "promised at most"),
            ]
        case BeliefSummary():
            return [
                (f"{found.retention:.4g}", "retention"),
                (f"{found.largest_retention:.4g}", "retention that is safe for any records"),
                (f"{found.protected_values:,}", "protected values"),
            ]
        case DiversitySummary():
            return [
                (f"{found.records:,}", "records"),
                (f"{found.number:,}", found.unit),
                (f"{found.violating:,}", f"{found.unit} that violate it"),
            ]


def _people(found: PeopleSummary, promise: RhoPrivacy) -> list[tuple[str, str]]:
    """What leads the page: people, and how sure readers become of their values."""
    exposed = f"{found.exposed:,}"
    if found.exposed_most > found.exposed:
        exposed += f" to {found.exposed_most:,}"
    sure = percent(found.posterior, 1)
    return [
        (f"{found.people:,}", "people"),
        (exposed, "in groups in which readers who see the public values become too sure"),
        *([(sure if found.exact else f"over {sure}", "largest posterior")] if found.posterior else []),
        (percent(promise.posterior), "promised at most"),
        (f"{found.groups:,}", "groups (same public values)"),
    ]


def _section(found: CheckSummary, folder: Path) -> Section:
    lede = " ".join((found.promised, *found.notes))
    if isinstance(found, GroupsSummary):
        charts = check_charts(
            found, pq.read_table(folder / "groups.parquet"), where="; all are in groups.parquet"
        )
        return Section("Reconstruction privacy", lede, charts, [*_worst(found), *_merged(found)])
    if isinstance(found, DiversitySummary):
        return Section("Diversity", lede, check_charts(found, pq.read_table(folder / "diversity.parquet")))
    sheets = _exposed(found.people) if found.people else []
    return Section("How sure a reader becomes", lede, check_charts(found, None), sheets)


def check_charts(found: CheckSummary, table: pa.Table | None, *, where: str = "") -> list[Chart]:
    """The charts of a check; ``table`` holds its groups or buckets, ``where`` says where all of them are."""
    match found:
        case GroupsSummary() if table is not None:
            return group_charts(
                table, found.promise, retention=found.retention, n_values=found.n_values, where=where
            )
        case DiversitySummary() if table is not None:
            records, _, violated = (np.asarray(column) for column in table.columns[-3:])
            return diversity_charts(records, violated, what=found.unit)
        case SubTablesSummary():
            return [tables_chart(found.tables, found.promise)]
        case BeliefSummary() if found.protected_values:
            return [retention_curve(found)]
        case _:
            return []


def _exposed(found: PeopleSummary) -> list[Sheet]:
    if not found.worst:
        return []
    head, *rows = found.worst_rows()
    note = "The largest groups come first where readers become equally sure; groups of fewer than 10 last."
    if not found.exact:
        note = "Shares are estimated, with their standard errors; posteriors are surely exceeded."
    return [Sheet("The worst groups, by how sure a reader becomes", head, rows, note)]


def _worst(found: GroupsSummary) -> list[Sheet]:
    if not found.worst:
        return []
    head, *rows = found.worst_rows()
    note = "s_g is the largest size that the paper's bound allows. All groups are in groups.parquet."
    return [Sheet("The worst groups", head, rows, note)]


def _merged(found: GroupsSummary) -> list[Sheet]:
    if not found.merged:
        return []
    rows = [[name, f"{before:,}", f"{after:,}"] for name, (before, after) in found.merged.items()]
    note = "A χ² test finds no difference between the sensitive values of records with merged values."
    return [Sheet("Public values that were merged", ("column", "values", "after merging"), rows, note)]


def tables_chart(rows: Sequence[SubTableBelief], promise: RhoPrivacy) -> Chart:
    """How sure a reader becomes in each sub-table, with the uncertainty of the estimate."""
    shown = tuple(
        {"table": at, "promised": promise.posterior, **asdict(row)} for at, row in enumerate(rows, 1)
    )
    most = max(shown, key=lambda row: row["posterior"])
    where = "" if len(shown) == 1 else f" (sub-table {most['table']})"
    return Chart(
        "posterior",
        "How sure a reader becomes without looking at the public values",
        f"About {percent(most['posterior'], 1)} sure of a protected value{where}; at most "
        f"{percent(promise.posterior)} is promised.",
        shown,
        {
            "table": "sub-table",
            "retention": "retention",
            "n_values": "values",
            "posterior": "posterior, about",
            "low": "from",
            "high": "to",
            "promised": "promised at most",
        },
        {
            "layer": [
                {
                    "mark": {"type": "rule", "color": THIRD, "strokeDash": [6, 3], "strokeWidth": 2},
                    "encoding": {"y": {**share_axis("promised", "posterior of a value"), "aggregate": "max"}},
                },
                {
                    "mark": {"type": "rule", "color": SOFT, "strokeWidth": 2},
                    "encoding": {
                        "x": _ordinal("table", "sub-table"),
                        "y": share_axis("low", "posterior of a value"),
                        "y2": {"field": "high"},
                    },
                },
                {
                    "mark": {"type": "point", "size": 60},
                    "encoding": {
                        "x": _ordinal("table", "sub-table"),
                        "y": share_axis("posterior", "posterior of a value"),
                    },
                },
            ]
        },
        legend=(Key("estimated", ACCENT, NO_LINE, "circle"), Key("promised at most", THIRD, (6, 3))),
        note="Lines extend over four standard errors of what can be estimated from the publication.",
    )


def retention_curve(found: BeliefSummary) -> Chart:
    """How sure a reader would become of the most frequent protected value, by retention."""
    promise, kept = found.promise, found.retention
    at = np.unique(np.append(np.linspace(0, 1, STEPS), kept))
    share = np.full((len(at), 1), found.largest_share)
    sure = posterior(share, at[:, None], n_values=found.n_values)[:, 0]
    rows = tuple(
        {"retention": float(p), "posterior": float(s), "planned": bool(p == kept)}
        for p, s in zip(at, sure, strict=True)
    )
    line = {"datum": promise.posterior}
    return Chart(
        "posterior",
        "How sure a reader becomes without looking at the public values, by retention",
        f"At a retention of {kept:.4g} such a reader becomes {percent(found.posterior, 1)} sure of a value; "
        f"at most {percent(promise.posterior)} is promised.",
        rows,
        {"retention": "retention", "posterior": "posterior of a value", "planned": "as planned"},
        {
            "encoding": {"x": _retention_axis()},
            "layer": [
                {
                    "data": {"values": [{}]},
                    "mark": {"type": "rule", "color": THIRD, "strokeDash": [6, 3], "strokeWidth": 2},
                    "encoding": {"x": {"datum": 0}, "x2": {"datum": 1}, "y": line},
                },
                {"mark": "line", "encoding": {"y": share_axis("posterior", "posterior of a value")}},
                {
                    "mark": {"type": "point", "size": 90},
                    "transform": [{"filter": "datum.planned"}],
                    "encoding": {"y": share_axis("posterior", "posterior of a value")},
                },
            ],
        },
        legend=(Key("posterior", ACCENT, (1, 0), "circle"), Key("promised at most", THIRD, (6, 3))),
        note=f"For the most frequent protected value, which {percent(found.largest_share, 1)} of the records "
        "have. The point is the retention that was checked.",
    )


def _retention_axis() -> Spec:
    return {
        "field": "retention",
        "type": "quantitative",
        "title": "retention: share of values that are kept",
        "axis": {"format": "~%", "tickCount": 5},
        "scale": {"domain": [0, 1]},
    }


def _ordinal(field: str, title: str) -> Spec:
    return {"field": field, "type": "ordinal", "title": title}
