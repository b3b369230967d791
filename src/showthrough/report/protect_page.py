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
from showthrough.formats.drawn import read_drawn
from showthrough.formats.safe_release import (
    Disagreement,
    read_comparison,
    read_disagreements,
    read_intervals,
    read_notes,
    read_plans,
)
from showthrough.report.charts import PALE, THIRD, Chart, areas, class_axis, count_axis, encoding
from showthrough.report.page import Page, Section, Sheet, figures_page
from showthrough.tables.protect.classical import Outcome
from showthrough.tables.protect.intervals import narrowest
from showthrough.tables.protect.summary import PlanSummary, headline, what_is_special, what_was_done
from showthrough.tables.recover import interval
from showthrough.text import several

__all__ = [
    "before_and_after",
    "protect_page",
]

#: Moves, and hidden claims, that are listed.
MOST_LISTED = 300

#: Hidden claims whose two datasets are shown.
MOST_DATASETS = 3


def protect_page(folder: Path) -> Page:
    """The page of a protected release."""
    plans, rules = read_plans(folder)
    comparison = read_comparison(folder)
    return figures_page(
        "Protected release",
        headline(plans),
        [
            _done(plans, read_notes(folder)),
            *_tables(folder),
            Section(
                "What can no longer be proved",
                "Claims that follow from the planned tables, and from those that are safe to publish. A "
                "claim on which two datasets with the published counts disagree cannot be proved.",
                before_and_after(comparison),
                list(_hidden(folder)),
            ),
            *_known(read_intervals(folder)),
            *_classical(rules),
        ],
        manifest=read_json(folder / MANIFEST, error=RunError),
        facts=list(_facts(plans)),
        warning="For the publisher only: this page shows which claims were hidden, and so what is true.",
    )


def _done(plans: Sequence[PlanSummary], notes: Sequence[str]) -> Section:
    """What was done, and why."""
    lines = [*what_was_done(plans), *what_is_special(plans), *notes]
    if any(plan.steps for plan in plans):
        lines.append(f"Audited: {several(sum(plan.plans_audited for plan in plans), 'plan')}.")
        if all(plan.optimal and all(step.cost and not step.ordered for step in plan.steps) for plan in plans):
            by_solver = any(plan.bound_kind == "solver" for plan in plans)
            word = " (reported by a solver, not proved)" if by_solver else ""
            lines.append(f"Without any one of these changes, something forbidden would follow{word}.")
    return Section("What was done", " ".join(lines), (), [_moves(plans)] if lines else [])


def _tables(folder: Path) -> Iterator[Section]:
    """The tables before and after, as printed."""
    drawn, n_left_out = read_drawn(folder)
    if drawn:
        more = f" {several(n_left_out, 'more table')} not drawn." if n_left_out else ""
        lede = f"The tables as planned, and as they are safe to publish.{more}"
        yield Section("Before and after", lede, pairs=drawn)


def _facts(plans: Sequence[PlanSummary]) -> Iterator[tuple[str, str]]:
    counts = [one for plan in plans for one in plan.claims]
    decided = not all(one.counts_before for one in counts) or not counts
    if decided:
        yield f"{sum(one.forbidden_before for one in counts):,}", "forbidden claims before"
        yield f"{sum(one.forbidden_after for one in counts):,}", "forbidden claims after"
    if out := sum(one.already_out for one in counts):
        yield f"{out:,}", "forbidden, and already out with the earlier tables"
    if cells := sum(one.counts_before for one in counts):
        yield f"{cells:,}", "protected cells whose counts followed before, none after"
    if others := sum(one.steps_and_intervals_before for one in counts):
        yield f"{others:,}", "forbidden group disclosures and intervals before, none after"
    if decided:
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
    legend = areas({"before": PALE, "after": THIRD})
    before, after = (sum(counts[when].values()) for when in counts)
    most = max((counts[when][k] for when in counts for k in ks), default=0)
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
                "y": count_axis("claims", "claims that follow", most),
                **encoding("when", legend),
            },
        },
        legend=legend,
    )


def _by_columns(claims: pa.Table, when: str) -> Counter[int]:
    """How many claims of k columns follow, by k."""
    return Counter(claims.filter(pc.field(when) == "verified")["k"].to_numpy().tolist())


def _hidden(folder: Path) -> Iterator[Sheet]:
    """The claims that can no longer be proved, and for some the two datasets that show it."""
    found, total = read_disagreements(folder, most=MOST_LISTED)
    rows = [[one.area or "–", one.sentence, f"{one.before:,}", _either(one)] for one in found]
    heads = ("area", "claim", "was proved to be", "may now be")
    yield Sheet("", heads, rows, _more(total, "comparison.parquet"))
    for one in found[:MOST_DATASETS]:
        heads = (*one.names, "in one dataset", "in the other")
        rows = [[*values, f"{first:,}", f"{second:,}"] for values, first, second in one.rows]
        left_out = several(one.n_left_out, "more record")
        more = f" {left_out} whose numbers differ are not listed." if one.n_left_out else ""
        where = f"{one.area}: " if one.area else ""
        note = f"All other records are equally frequent in both, and both have every published count.{more}"
        yield Sheet(f"Two datasets disagree on this: {where}{one.sentence}", heads, rows, note)


def _either(one: Disagreement) -> str:
    return " or ".join(f"{count:,}" for count in sorted(one.counts))


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


def _known(intervals: pa.Table) -> Iterator[Section]:
    """What readers can still know about the cells without a count."""
    if not intervals.num_rows:
        return
    rows = [
        [
            str(row["area"] or "–"),
            str(row["cell"]),
            str(row["table"]),
            "–" if row["count"] is None else f"{row['count']:,}",
            interval(row["low"], row["high"]),
            "yes" if row["low_attained"] and row["high_attained"] else "not known",
        ]
        for row in intervals.slice(0, MOST_LISTED).to_pylist()
    ]
    heads = ("area", "cell", "table", "planned count", "what follows", "datasets attain both ends")
    sheet = Sheet("", heads, rows, _more(intervals.num_rows, "intervals.parquet"))
    yield Section("What readers can still know", narrowest(intervals), (), [sheet])


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
