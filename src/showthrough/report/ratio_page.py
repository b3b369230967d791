"""The ratio attack on a file as a page: which groups noisy answers give away, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import shorten
from showthrough.report.charts import Chart
from showthrough.report.page import Page
from showthrough.report.ratio_charts import leak_chart, readings_chart
from showthrough.report.sections import Section, Sheet, figures_page

__all__ = ["ratio_page"]

#: Groups that are drawn.
MOST_POINTS = 2_000

WHY = (
    "The noise on an answer is as large for 10 people as for 10,000. Beside a large group it vanishes, and "
    "with it from the share of one answer in another. Each answer still hides whether any one person is in "
    "the data; it does not hide what holds for people like them."
)


def ratio_page(folder: Path) -> Page:
    """The page of a finished ratio attack on groups."""
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    names = summary["names"]
    wanted = ("size", "confidence", "reading", "leaks")
    table = pq.read_table(folder / "groups.parquet", columns=[names[name] for name in wanted])
    charts = _charts(summary, table.rename_columns(list(wanted)))
    worst = _worst(summary)
    leaking = summary["leaking_groups"]
    return figures_page(
        "Ratio attack on noisy answers",
        f"{leaking:,} of {summary['groups']:,} groups give a share away, with "
        f"{summary['leaking_records']:,} of {summary['records']:,} people in them."
        if leaking
        else f"None of {summary['groups']:,} groups gives a share away.",
        [
            Section(f"Why noise on answers {'does not' if leaking else 'may'} hide a share", WHY, charts),
            Section("Groups", _lede(summary), tables=[worst]),
            Section("By size", tables=[_by_size(summary)]),
        ],
        manifest=manifest,
        facts=_facts(summary),
        standfirst=[_example(summary)],
        warning="Made with the true counts: this page is for the publisher alone.",
    )


def _example(summary: Mapping[str, Any]) -> str:
    """The most telling group in a sentence."""
    first = summary["worst"][0]
    sure = f"{100 * summary['level']:g} %"
    return (
        f"{'For example' if first['leaks'] else 'The nearest to it'}: of {first['size']:,} people with "
        f"{_who(first)}, {_percent(first['confidence'])} have "
        f"{shorten(summary['sensitive'])} {shorten(first['value'])}; of all people, "
        f"{_percent(first['overall'])} do. Whoever divides two answers with noise {summary['noise']} reads "
        f"between {_percent(first['low'])} and {_percent(first['high'])} with {sure} probability."
    )


def _who(row: Mapping[str, Any]) -> str:
    """The public values of a group."""
    texts = [f"{shorten(name, 30)} {_value(value)}" for name, value in row["public"].items()]
    return ", ".join(texts[:8]) + (" …" if len(texts) > 8 else "") if texts else "nothing known about them"


def _value(value: str | None) -> str:
    return "missing" if value is None else shorten(value, 40)


def _facts(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = [
        (f"{summary['leaking_groups']:,}", f"of {summary['groups']:,} groups leak"),
        (_percent(summary["leaking_records"] / summary["records"]), "of the people are in them"),
        (f"{summary['largest_group']:,}", "people in the largest group"),
        (f"{summary['safe_epsilon']:.3g}", "ε below which no group leaks (Laplace noise)"),
    ]
    if summary["epsilon"] is not None:
        facts[2] = (f"{summary['epsilon']:g}", "ε of both answers together")
    return facts


def _charts(summary: Mapping[str, Any], table: pa.Table) -> list[Chart]:
    errors = summary["errors"]
    readings = readings_chart(
        _thinned(table), errors["curve"], least_size=errors["least_size"], level=summary["level"]
    )
    rows = summary["by_noise"]
    field = "epsilon" if "epsilon" in rows[0] else "sd"
    now = {row["noise"]: row[field] for row in rows}[summary["noise"]]
    return [readings, leak_chart(rows, now=now)]


def _thinned(table: pa.Table) -> list[dict[str, Any]]:
    """Groups evenly along their sizes; those that gave no answer are left out."""
    known = table.filter(table["reading"].is_valid()).sort_by([("size", "descending")])
    n = known.num_rows
    at = np.unique(np.linspace(0, max(n - 1, 0), min(n, MOST_POINTS)).round().astype(np.int64))
    rows = known.take(pa.array(at, pa.int64())).to_pylist() if n else []
    return [
        {
            "size": row["size"],
            "share": row["confidence"],
            "reading": row["reading"],
            "error": abs(row["reading"] - row["confidence"]),
            "leaks": row["leaks"],
        }
        for row in rows
    ]


def _lede(summary: Mapping[str, Any]) -> str:
    rule = f"A group leaks where the noise's scale is at most {100 * summary['rule']:g} % of its size."
    if not summary["leaking_groups"]:
        return f"{rule} None does; these are the largest groups, which come nearest to it."
    shown, total = len(summary["worst"]), summary["leaking_groups"]
    if shown < total:
        return f"{rule} The {shown} most telling of {total:,} that leak; all are in groups.parquet."
    return f"{rule} All that leak, the most telling first."


def _worst(summary: Mapping[str, Any]) -> Sheet:
    public = [shorten(name, 30) for name in summary["public"]]
    rows = [
        [
            *(_value(value) for value in row["public"].values()),
            shorten(row["value"], 40),
            f"{row['size']:,}",
            _percent(row["confidence"]),
            f"{_percent(row['low'])}\u00a0to\u00a0{_percent(row['high'])}",
            _percent(row["overall"]),
        ]
        for row in summary["worst"]
    ]
    read = f"{100 * summary['level']:g} % of readings"
    head = [*public, shorten(summary["sensitive"], 30), "people", "true share", read, "of all people"]
    return Sheet("Whoever has these values", head, rows)


def _by_size(summary: Mapping[str, Any]) -> Sheet:
    rows = [
        [
            f"{row['from']:,} to {row['to']:,}",
            f"{row['groups']:,}",
            f"{row['leaking_groups']:,}",
            f"{row['records']:,}",
            f"{row['leaking_records']:,}",
        ]
        for row in summary["by_size"]
    ]
    return Sheet("", ("people in the group", "groups", "that leak", "people", "in groups that leak"), rows)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"
