"""The page of a protected release: claims before and after, what was changed, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from showthrough.errors import RunError
from showthrough.files import read_json
from showthrough.folders import MANIFEST
from showthrough.formats.safe_release import read_comparison, read_notes, read_plans
from showthrough.report.charts import ACCENT, PALE, Chart, areas, class_axis, count_axis, encoding
from showthrough.report.page import Page, Section, Sheet, figures_page
from showthrough.tables.protect.classical import Outcome
from showthrough.tables.protect.summary import PlanSummary, headline

__all__ = [
    "before_and_after",
    "protect_page",
]

#: Moves, and hidden claims, that are listed.
MOST_LISTED = 300


def protect_page(folder: Path) -> Page:
    """The page of a protected release."""
    plans, rules = read_plans(folder)
    comparison = read_comparison(folder)
    n_audited = sum(plan.plans_audited for plan in plans)
    return figures_page(
        "Protected release",
        headline(plans),
        [
            Section(
                "Before and after",
                "Claims that follow from the planned tables, and from those that are safe to publish.",
                before_and_after(comparison),
                [_hidden(comparison)],
            ),
            Section(
                "What was changed",
                f"{n_audited:,} plans were audited. Without any one of these changes something "
                f"{' '.join(['forbidden would follow.', *read_notes(folder)])}",
                (),
                [_moves(plans)],
            ),
            *_classical(rules),
        ],
        manifest=read_json(folder / MANIFEST, error=RunError),
        facts=list(_facts(plans)),
        warning="For the publisher alone: this page shows which claims were hidden, and so what is true.",
    )


def _facts(plans: Sequence[PlanSummary]) -> Iterator[tuple[str, str]]:
    counts = [one for plan in plans for one in plan.claims]
    yield f"{sum(one.forbidden_before for one in counts):,}", "forbidden claims before"
    yield f"{sum(one.forbidden_after for one in counts):,}", "forbidden claims after"
    if out := sum(one.already_out for one in counts):
        yield f"{out:,}", "forbidden, and out already with the earlier tables"
    if others := sum(one.steps_and_intervals_before for one in counts):
        yield f"{others:,}", "forbidden group disclosures and intervals before, none after"
    yield f"{sum(one.allowed_but_lost for one in counts):,}", "other claims lost with them"
    yield f"{sum(len(plan.steps) for plan in plans):,}", "changes to the tables"


def before_and_after(comparison: pa.Table) -> list[Chart]:
    """Claims that follow, by number of columns: those that are forbidden, and those that are not."""
    charts = [
        _follow_chart(comparison.filter(pc.field("forbidden")), "claims-forbidden", "Forbidden claims"),
        _follow_chart(comparison.filter(~pc.field("forbidden")), "claims-allowed", "Other claims"),
    ]
    return [chart for chart in charts if chart.rows]


def _follow_chart(claims: pa.Table, name: str, title: str) -> Chart:
    counts = {when: _by_columns(claims, when) for when in ("before", "after")}
    ks = sorted({*counts["before"], *counts["after"]})
    shown = tuple({"when": when, "k": k, "claims": counts[when][k]} for when in counts for k in ks)
    legend = areas({"before": PALE, "after": ACCENT})
    before, after = (sum(counts[when].values()) for when in counts)
    return Chart(
        name,
        title,
        f"{title}: {before:,} follow before, {after:,} after.",
        shown,
        {"when": "", "k": "columns k", "claims": "claims"},
        {
            "mark": "bar",
            "encoding": {
                "x": class_axis("k", "columns the claim is about"),
                "xOffset": {"field": "when", "sort": ["before", "after"]},
                "y": count_axis(
                    "claims", "claims that follow", max((row["claims"] for row in shown), default=0)
                ),
                **encoding("when", legend),
            },
        },
        legend=legend,
    )


def _by_columns(claims: pa.Table, when: str) -> Counter[int]:
    """How many claims of k columns follow, by k."""
    return Counter(claims.filter(pc.field(when) == "verified")["k"].to_numpy().tolist())


def _hidden(comparison: pa.Table) -> Sheet:
    followed, follow = pc.field("before") == "verified", pc.field("after") == "verified"
    gone = comparison.filter(pc.field("forbidden") & followed & ~follow)
    names = ("area", "k", "sentence")
    rows = sorted(zip(*(gone[name].to_pylist() for name in names), strict=True), key=lambda row: -row[1])
    shown = [[area or "–", sentence] for area, _, sentence in rows[:MOST_LISTED]]
    return Sheet(
        "What can no longer be proved", ("area", "claim"), shown, _more(len(rows), "comparison.parquet")
    )


def _moves(plans: Sequence[PlanSummary]) -> Sheet:
    listed = [(plan, step) for plan in plans for step in plan.steps]
    rows = [
        [_where(plan), str(step.move), f"{float(step.cost):g}", (step.reasons or ("–",))[0]]
        for plan, step in listed[:MOST_LISTED]
    ]
    heads = ("area", "change", "cost", "what would follow without it")
    return Sheet("", heads, rows, _more(len(listed), "moves.json"))


def _where(plan: PlanSummary) -> str:
    return (plan.where or "–") if len(plan.areas) == 1 else f"{len(plan.areas):,} areas"


def _classical(rules: Sequence[Outcome]) -> Iterator[Section]:
    if rules:
        heads = ("rule", "cells withheld", "cells rounded", "forbidden claims that still follow", "undecided")
        rows = [
            [rule.rule, *(f"{n:,}" for n in (rule.withheld, rule.rounded, rule.forbidden, rule.undecided))]
            for rule in rules
        ]
        text = "What they would have withheld, and what would still follow."
        yield Section("Classical rules", text, (), [Sheet("", heads, rows)])


def _more(total: int, file: str) -> str:
    return f"… and {total - MOST_LISTED:,} more, in {file}." if total > MOST_LISTED else ""
