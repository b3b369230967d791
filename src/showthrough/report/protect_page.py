"""A protected release as a page: before and after, what was done, and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from showthrough.formats.safe_release import headline
from showthrough.report.charts import ACCENT, PALE, Chart, areas, encoding
from showthrough.report.page import Page, Section, Sheet, figures_page

__all__ = [
    "before_and_after",
    "protect_page",
]

#: Moves, and hidden claims, that are listed.
MOST_LISTED = 300


def protect_page(folder: Path) -> Page:
    """The page of a protected release."""
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    moves = json.loads((folder / "moves.json").read_text("utf-8"))
    claims = pq.read_table(folder / "comparison.parquet")
    plans = moves["plans"]
    counted = [row for plan in plans for row in plan["claims"]]
    total = {name: sum(row[name] for row in counted) for name in counted[0] if name != "area"}
    rows = claims.select(["area", "k", "forbidden", "before", "after", "sentence"]).to_pylist()
    return figures_page(
        "Protected release",
        headline(plans),
        [
            Section(
                "Before and after",
                "Claims that follow from the tables as planned, and from those that are safe to publish.",
                before_and_after(rows),
                [_hidden(rows)],
            ),
            Section("What was done", _done(plans), (), [_moves(plans)]),
            *_classical(moves.get("classical") or ()),
        ],
        manifest=manifest,
        facts=_facts(plans, total),
        warning="For the publisher alone: this page tells which claims were hidden, and so what is true.",
    )


def _facts(plans: Sequence[Mapping[str, Any]], total: Mapping[str, int]) -> list[tuple[str, str]]:
    return [
        (f"{total['forbidden_before']:,}", "forbidden claims before"),
        (f"{total['forbidden_after']:,}", "forbidden claims after"),
        *_others(total),
        (f"{total['allowed_but_lost']:,}", "other claims lost with them"),
        (f"{sum(len(plan['moves']) for plan in plans):,}", "changes to the tables"),
    ]


def _others(total: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    if n := total["steps_and_intervals_before"]:
        yield f"{n:,}", "forbidden steps and intervals before, none after"


def before_and_after(rows: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """Claims that follow, by number of columns: those that are forbidden, and those that are not."""
    return [
        chart
        for forbidden in (True, False)
        if (chart := _counted([row for row in rows if row["forbidden"] is forbidden], forbidden)).rows
    ]


def _counted(rows: Sequence[Mapping[str, Any]], forbidden: bool) -> Chart:
    counts = {
        name: Counter(row["k"] for row in rows if row[name] == "verified") for name in ("before", "after")
    }
    ks = sorted({*counts["before"], *counts["after"]})
    shown = tuple({"when": name, "k": k, "claims": counts[name][k]} for name in counts for k in ks)
    legend = areas({"before": PALE, "after": ACCENT})
    before, after = (sum(counts[name].values()) for name in counts)
    what = "forbidden" if forbidden else "not forbidden"
    return Chart(
        f"claims-{'forbidden' if forbidden else 'allowed'}",
        "Forbidden claims" if forbidden else "Claims that nobody forbids",
        f"{before:,} {what} claims follow before, {after:,} after.",
        shown,
        {"when": "", "k": "columns k", "claims": "claims"},
        {
            "mark": "bar",
            "encoding": {
                "x": {"field": "k", "type": "ordinal", "title": "columns the claim is about"},
                "xOffset": {"field": "when", "sort": ["before", "after"]},
                "y": {"field": "claims", "type": "quantitative", "title": "claims that follow"},
                **encoding("when", legend),
            },
        },
        legend=legend,
    )


def _hidden(rows: Sequence[Mapping[str, Any]]) -> Sheet:
    gone = [
        row for row in rows if row["forbidden"] and row["before"] == "verified" and row["after"] != "verified"
    ]
    gone.sort(key=lambda row: -row["k"])
    shown = [[row["area"] or "–", row["sentence"]] for row in gone[:MOST_LISTED]]
    return Sheet(
        "What can no longer be proved", ("area", "claim"), shown, _more(len(gone), "comparison.parquet")
    )


def _done(plans: Sequence[Mapping[str, Any]]) -> str:
    audited = sum(plan["plans_audited"] for plan in plans)
    return f"{audited:,} plans were audited. Without each of these changes something forbidden would follow."


def _moves(plans: Sequence[Mapping[str, Any]]) -> Sheet:
    listed = [(plan, move) for plan in plans for move in plan["moves"]]
    rows = [
        [_where(plan), _words(move), f"{move['cost']:g}", (move["reasons"] or ["–"])[0]]
        for plan, move in listed[:MOST_LISTED]
    ]
    return Sheet("", ("area", "change", "cost", "or else"), rows, _more(len(listed), "moves.json"))


def _where(plan: Mapping[str, Any]) -> str:
    return (plan["areas"][0] or "–") if len(plan["areas"]) == 1 else f"{len(plan['areas']):,} areas"


def _words(move: Mapping[str, Any]) -> str:
    match move["move"]:
        case "suppress":
            return f"withhold {move['cell']} of {move['table']}"
        case "round":
            return f"round {move['table']} to multiples of {move['base']}"
        case "merge":
            return f"merge values of {move['attribute']} in {move['table']}"
        case "drop":
            return f"leave out {move['table']}"
        case other:
            return f"{other} {move.get('table', '')}"


def _classical(rules: Sequence[Mapping[str, Any]]) -> Iterator[Section]:
    if rules:
        head = ("rule", "cells withheld", "cells rounded", "forbidden claims that still follow", "undecided")
        names = ("rule", "withheld", "rounded", "forbidden", "undecided")
        rows = [[f"{one[n]:,}" if isinstance(one[n], int) else str(one[n]) for n in names] for one in rules]
        yield Section(
            "Classical rules", "What they would have cost, and still given away.", (), [Sheet("", head, rows)]
        )


def _more(total: int, file: str) -> str:
    return f"… and {total - MOST_LISTED:,} more, in {file}." if total > MOST_LISTED else ""
