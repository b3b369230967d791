"""An attack on noisy numbers as a page: the shapes, and how many people are given away."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.attack.histogram import Histogram
from showthrough.attack.pairs import NOISY, Shape
from showthrough.errors import shorten
from showthrough.report.attack_charts import density_chart, exposure_chart
from showthrough.report.charts import Chart
from showthrough.report.ellipse_chart import ellipse_chart
from showthrough.report.page import Page
from showthrough.report.sections import Section, Sheet, figures_page

__all__ = ["attack_page"]

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
        shapes = {name: Shape(one["mean"], one["covariance"]) for name, one in pair["shapes"].items()}
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
