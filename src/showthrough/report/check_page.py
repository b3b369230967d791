"""A check of promises as a page: which groups are read off too well, and how sure a reader becomes.

Charts of (ρ1, ρ2)-privacy: how sure a reader becomes of a value, and how many values are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from showthrough.microdata.promises import RhoPrivacy, posterior
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.report.charts import ACCENT, SOFT, THIRD, Chart, Key
from showthrough.report.group_charts import NO_LINE, diversity_charts, group_charts
from showthrough.report.page import Page, Section, Sheet, figures_page
from showthrough.text import percent, share_axis, share_text

__all__ = [
    "check_page",
    "retention_curve",
    "tables_chart",
]

Facts = Mapping[str, Any]

PRIVATE = "For the publisher alone: this page holds the true frequencies of values within groups of records."

VERDICTS = {
    "holds": "The promise holds, whatever the records are: the retention is small enough.",
    "violated": "The promise is broken, even if estimated frequencies are off by four standard errors.",
    "undecided": "The publication does not contradict the promise, and does not show that it holds.",
}


def check_page(folder: Path) -> Page:
    """The page of a finished check."""
    found = json.loads((folder / "checks.json").read_text("utf-8"))
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    checks: list[Facts] = found["checks"]
    sections = [_section(facts, folder) for facts in checks]
    said = [_says(facts) for facts in checks]
    facts = _numbers(checks[0])
    return figures_page(
        "Check of a publication" if found["published"] else "Check of records before they are published",
        said[0],
        sections,
        manifest=manifest,
        facts=facts,
        standfirst=said[1:],
        warning="" if found["published"] else PRIVATE,
    )


def _says(facts: Facts) -> str:
    """One check in a sentence."""
    match facts["promise"]["kind"]:
        case "reconstruction":
            return _says_groups(facts)
        case "rho" if "tables" in facts:
            return VERDICTS[facts["verdict"]]
        case "rho":
            return _says_belief(facts)
        case _:
            return _says_diversity(facts)


def _says_groups(facts: Facts) -> str:
    exact, paper = facts["exact"], facts["chernoff"]
    if not exact["groups"] and not paper["groups"]:
        return "No group of equal people can be read off too well."
    found = f"{share_text(paper['group_rate'])}, with {share_text(paper['record_rate'])}"
    return (
        f"{share_text(exact['group_rate'])} of the groups, with {share_text(exact['record_rate'])} of the "
        f"records, can be read off too well; the paper's bound finds {found if paper['groups'] else 'none'}."
    )


def _says_belief(facts: Facts) -> str:
    if not facts["protected_values"]:
        return "No value is rare enough for the promise to protect it."
    kept = "as promised" if facts["holds"] else "more than promised"
    return f"A reader becomes {share_text(facts['posterior'])} sure of a rare value: {kept}."


def _says_diversity(facts: Facts) -> str:
    what, l = _what(facts), facts["promise"]["l"]  # noqa: E741 - the name the literature knows it by
    if facts["holds"]:
        return f"In all {facts[what]:,} {what} no value has more than 1/{l} of the records."
    return (
        f"In {share_text(facts['group_rate'])} of the {what}, with {share_text(facts['record_rate'])} of the "
        f"records, one value has more than 1/{l} of them."
    )


def _what(facts: Facts) -> str:
    return "groups" if "groups" in facts else "buckets"


def _numbers(facts: Facts) -> list[tuple[str, str]]:
    match facts["promise"]["kind"]:
        case "reconstruction":
            return [
                (f"{facts['records']:,}", "records"),
                (f"{facts['groups']:,}", "groups of equal public values"),
                (f"{facts['exact']['groups']:,}", "groups that violate it, by exact tails"),
                (f"{facts['chernoff']['groups']:,}", "groups that violate it, by the paper's bound"),
                (f"{facts['retention']:.4g}", "retention"),
            ]
        case "rho" if "tables" in facts:
            number = len(facts["tables"])
            return [
                (f"{number:,}", "sub-tables" if number > 1 else "table"),
                (share_text(max(row["posterior"] for row in facts["tables"])), "sure of a value, about"),
                (percent(facts["promise"]["posterior"]), "promised at most"),
            ]
        case "rho":
            return [
                (f"{facts['retention']:.4g}", "retention"),
                (f"{facts['largest_retention']:.4g}", "retention that is safe for any records"),
                (f"{facts['protected_values']:,}", "values the promise is about"),
            ]
        case _:
            return [
                (f"{facts['records']:,}", "records"),
                (f"{facts[_what(facts)]:,}", _what(facts)),
                (f"{facts['violating']:,}", f"{_what(facts)} that violate it"),
            ]


def _section(facts: Facts, folder: Path) -> Section:
    match facts["promise"]["kind"]:
        case "reconstruction":
            return _groups(facts, folder)
        case "rho":
            return _belief(facts)
        case _:
            return _diversity(facts, folder)


def _groups(facts: Facts, folder: Path) -> Section:
    promise = ReconstructionPrivacy(facts["promise"]["error"], facts["promise"]["chance"])
    table = pq.read_table(folder / "groups.parquet")
    given = {"retention": facts["retention"], "n_values": facts["n_values"]}
    estimated = "" if facts["method"] is None else " Frequencies are estimated from the publication."
    return Section(
        "Reconstruction privacy",
        f"The promise: whoever estimates a frequency from a group of equal people is off by more than "
        f"{percent(promise.error)} of it with a chance of at least {percent(promise.chance)}. v_g is the "
        "share of groups that violate it, v_r the share of records in them. Exact tails say what is the "
        f"case; the paper's bound proves violations and misses others.{estimated}",
        group_charts(table, promise, **given, where=", but all are in groups.parquet"),
        [*([_worst(facts)] if facts["worst"] else []), *_merged(facts)],
    )


def _worst(facts: Facts) -> Sheet:
    sampled = facts["sampled"] != facts["records"]
    head = ("group", "records", *(("sampled",) if sampled else ()), "largest share", "s_g", "exact limit")
    rows = [
        [
            ", ".join(f"{name}={value}" for name, value in row["group"].items()) or "everybody",
            f"{row['records']:,}",
            *([f"{row['sampled']:,}"] if sampled else []),
            f"{row['frequency']:.3f}",
            f"{row['limit']:,.1f}",
            f"{row['exact_limit']:,}",
        ]
        for row in facts["worst"]
    ]
    return Sheet("The worst groups", head, rows, "All groups are in groups.parquet.")


def _merged(facts: Facts) -> list[Sheet]:
    if not facts["merged"]:
        return []
    rows = [[name, f"{before:,}", f"{after:,}"] for name, (before, after) in facts["merged"].items()]
    note = "A χ² test does not tell merged values apart by their sensitive values."
    return [Sheet("Public values that tell the same", ("column", "values", "after merging"), rows, note)]


def _belief(facts: Facts) -> Section:
    promise = RhoPrivacy(facts["promise"]["prior"], facts["promise"]["posterior"])
    charts = [tables_chart(facts["tables"], promise)] if "tables" in facts else []
    if not charts and facts["protected_values"]:
        charts = [retention_curve(facts, promise)]
    lede = (
        f"The promise: nobody becomes more than {percent(promise.posterior)} sure of a value that at most "
        f"{percent(promise.prior)} of the records have."
    )
    if facts.get("verdict") == "undecided":
        lede += " Whether it holds depends on frequencies that can only be estimated from outside."
    return Section("How sure a reader becomes", lede, charts)


def _diversity(facts: Facts, folder: Path) -> Section:
    what, l = _what(facts), facts["promise"]["l"]  # noqa: E741 - the name the literature knows it by
    table = pq.read_table(folder / "diversity.parquet")
    records, _, violated = (np.asarray(column) for column in table.columns[-3:])
    lede = f"The promise: no value has more than 1/{l} of one of the {what}."
    if "left_out_by_anatomy" in facts:
        lede += (
            f" An anatomy cannot be made of fewer than {l} values."
            if facts["n_values"] < l
            else f" An anatomy would leave out {facts['left_out_by_anatomy']:,} records."
        )
    return Section("Diversity", lede, diversity_charts(records, violated, what=what))


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
