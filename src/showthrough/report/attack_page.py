"""An attack on noisy numbers as a page: the shapes, and how many people are given away."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import RunError
from showthrough.report.charts import Chart
from showthrough.report.page import Page
from showthrough.report.sections import Section, Sheet, figures_page
from showthrough.report.series import encoding, lines
from showthrough.report.theme import PALE, SOFT

__all__ = ["attack_page", "density_chart", "exposure_chart"]

#: Points of a rebuilt density that are drawn; neighbouring bins are joined.
MOST_POINTS = 80

#: The two yardsticks beside the attacks.
YARDSTICKS = ("direct", "ideal")


def attack_page(folder: Path) -> Page:
    """The page of a finished attack."""
    try:
        summary = json.loads((folder / "summary.json").read_text("utf-8"))
        manifest = json.loads((folder / "run.json").read_text("utf-8"))
        densities = pq.read_table(folder / "densities.parquet")
    except (OSError, ValueError, pa.ArrowException) as error:
        raise RunError("the attack cannot be read", file=str(folder), found=str(error)) from None
    sections = [_section(column, densities) for column in summary["columns"]]
    headline, standfirst = _headline(summary)
    return figures_page(
        "Attack on noisy numbers",
        headline,
        [*sections, *_errors(summary)],
        manifest=manifest,
        facts=_facts(summary),
        standfirst=[standfirst],
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
    charts = [density_chart(column, mine)]
    if column["exposure"]:
        charts.append(exposure_chart(column["column"], column["exposure"]))
    return Section(
        f"Column {column['column']}",
        f"Noise {column['noise']}. The attacker knows the noisy values and the law of the noise.",
        charts,
        [_methods(column), *_exposed(column)],
    )


def density_chart(column: Mapping[str, Any], densities: pa.Table) -> Chart:
    """True, noisy and rebuilt values of one column as densities."""
    rows = [*_histogram(column), *_rebuilt(densities)]
    names = list(dict.fromkeys(str(row["values"]) for row in rows))
    legend = lines(names, colours={"true": SOFT, "noisy": PALE}, points=False)
    true = "the true one" if "true" in names else "what the noise had hidden"
    return Chart(
        f"densities-{column['column']}",
        "What the noise hides, and what comes back",
        f"The distribution of {column['column']} as published, and as rebuilt from it: close to {true}.",
        tuple(rows),
        {"values": "values", "at": "at", "density": "density"},
        {
            "mark": {"type": "line", "interpolate": "monotone"},
            "encoding": {
                "x": {
                    "field": "at",
                    "type": "quantitative",
                    "title": column["column"],
                    "axis": {"tickCount": 5},
                },
                "y": {
                    "field": "density",
                    "type": "quantitative",
                    "title": "density",
                    "axis": {"tickCount": 4},
                },
                **encoding("values", legend),
            },
        },
        legend=legend,
    )


def _histogram(column: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    found = column.get("histogram") or {"edges": []}
    edges = np.array(found["edges"], float)
    for name in ("noisy", "true"):
        counts = np.array(found.get(name, ()), float)
        if not counts.sum():
            continue
        density = counts / counts.sum() / np.diff(edges)
        for at, value in zip((edges[:-1] + edges[1:]) / 2, density, strict=True):
            yield {"values": name, "at": float(f"{at:.5g}"), "density": float(f"{value:.4g}")}


def _rebuilt(densities: pa.Table) -> Iterator[dict[str, Any]]:
    methods = densities["method"].to_pylist()
    for method in dict.fromkeys(methods):
        mine = densities.filter(pa.array([name == method for name in methods]))
        low, high = mine["low"].to_numpy(), mine["high"].to_numpy()
        step = -(-len(low) // MOST_POINTS)
        starts = np.arange(0, len(low), step)
        stops = np.minimum(starts + step, len(low)) - 1
        mass = np.add.reduceat(mine["mass"].to_numpy(), starts)
        for a, b, m in zip(low[starts], high[stops], mass, strict=True):
            yield {
                "values": f"rebuilt ({method})",
                "at": float(f"{(a + b) / 2:.5g}"),
                "density": float(f"{m / (b - a):.4g}"),
            }


def exposure_chart(column: str, rows: Sequence[Mapping[str, Any]]) -> Chart:
    """How many people each method discloses, by privacy interval."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    attacks = [method for method in methods if method not in YARDSTICKS]
    yardsticks = [name for name in YARDSTICKS if name in methods]
    legend = lines([*attacks, *yardsticks], colours=dict(zip(YARDSTICKS, (PALE, SOFT), strict=True)))
    order = list(dict.fromkeys(row["privacy"] for row in rows))
    top = max(row["high"] for row in rows)
    strongest = max((row for row in rows if row["method"] in attacks), key=lambda row: row["share"])
    return Chart(
        f"exposure-{column}",
        "How many people are given away",
        f"At most {_percent(strongest['share'])}, by {strongest['method']} at {strongest['privacy']}.",
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
                "x": {"field": "privacy", "type": "ordinal", "sort": order, "title": "privacy interval"},
                **encoding("method", legend),
            },
            "layer": [
                {
                    "mark": {"type": "rule", "opacity": 0.6},
                    "encoding": {"y": _share("low", top), "y2": {"field": "high"}},
                },
                {"mark": {"type": "line", "point": True}, "encoding": {"y": _share("share", top)}},
            ],
        },
        legend=legend,
        note="Direct: the noisy value itself. Ideal: the attack of one who knows the true distribution.",
    )


def _share(field: str, top: float) -> dict[str, Any]:
    return {
        "field": field,
        "type": "quantitative",
        "axis": {"format": ".0%", "title": "share of the people"},
        "scale": {"domain": [0, top], "nice": True},
    }


def _methods(column: Mapping[str, Any]) -> Sheet:
    rows = list[list[str]]()
    for name, found in column["methods"].items():
        ends = found["interval"]
        interval = "everybody's own" if ends is None else f"{ends[0]:.5g} to {ends[1]:.5g}"
        loss = found["information_loss"]
        rows.append([name, interval, f"{found['mean_length']:.4g}", "–" if loss is None else _percent(loss)])
    return Sheet("The attacks", ("method", "interval", "mean length", "information loss"), rows)


def _exposed(column: Mapping[str, Any]) -> Iterator[Sheet]:
    if not column["exposure"]:
        return
    methods = list(dict.fromkeys(row["method"] for row in column["exposure"]))
    shares = {(row["privacy"], row["method"]): row["share"] for row in column["exposure"]}
    rows = [[p, *(_percent(shares[p, method]) for method in methods)] for p in column["strongest"]]
    yield Sheet("People disclosed", ("privacy interval", *methods), rows)


def _errors(summary: Mapping[str, Any]) -> Iterator[Section]:
    if "errors" in summary:
        rows = [[n, f"{e['absolute']:.4g}", f"{e['relative']:.4g}"] for n, e in summary["errors"].items()]
        table = Sheet("", ("method", "absolute error", "relative error"), rows)
        yield Section("All columns together", "How far rebuilt records are from the true ones.", (), [table])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
