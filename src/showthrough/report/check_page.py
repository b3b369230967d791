"""A check of promises as a page: which groups are read off too well, and how sure a reader becomes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from showthrough.publish.promise import RhoPrivacy
from showthrough.publish.reconstruction import ReconstructionPrivacy
from showthrough.report.belief_charts import retention_curve, tables_chart
from showthrough.report.group_charts import group_charts
from showthrough.report.page import Page
from showthrough.report.sections import Section, Sheet, figures_page
from showthrough.report.shares import percent, share_text
from showthrough.report.violation_charts import diversity_charts

__all__ = ["check_page"]

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
