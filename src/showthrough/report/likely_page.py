"""The page of what is likely: statements with their odds, how often such statements come true, and limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pyarrow.parquet as pq

from showthrough.files import read_json
from showthrough.formats.prior_file import read_prior
from showthrough.report.charts import SOFT, Chart, Key, number_axis, points, share_axis
from showthrough.report.page import Page, Section, Sheet, figures_page
from showthrough.tables.likely.calibration import HIGH, Calibration, Curve, Measure
from showthrough.tables.likely.prior import Prior
from showthrough.tables.likely.run import AREAS, SUMMARY, LikelySummary, StoredStatement, most_telling
from showthrough.text import percent

__all__ = [
    "likely_page",
    "reliability_chart",
]

#: Statements and areas on the page.
MOST_STATEMENTS, MOST_AREAS = 40, 40

#: The kinds of statements, in the order in which they are shown.
TITLES: tuple[tuple[Literal["claim", "finding"], str], ...] = (
    ("finding", "About a person of whom a reader knows something"),
    ("claim", "About how many there are"),
)

#: The colour of what is likely; nothing proved is drawn in it.
LIKELY = "#6b5b95"

NOT = (
    f"A likely statement may be wrong: of a hundred that say {percent(HIGH)}, about ten are, if the prior "
    "fits this place.",
    "The interval beside a probability is the error of drawing datasets at random. It does not cover an "
    "error of the prior, which is the larger risk: people here may differ from those that it was fitted to.",
    "What the tables prove is not on this page. An audit lists it, with proofs.",
    "showthrough protect removes what can be proved. It does not make likely statements unlikely.",
)


def likely_page(folder: Path) -> Page:
    """The page of a folder that ``showthrough likely`` wrote."""
    summary = LikelySummary.from_plain(read_json(folder / SUMMARY))
    prior = read_prior(folder / "prior.json")
    first, *more = summary.caveats()
    page = figures_page(
        "What is likely, not proved",
        summary.headline(),
        list(_sections(folder, prior, summary)),
        manifest=read_json(folder / "run.json"),
        facts=[
            (f"{summary.telling:,}", f"statements lifted to {percent(HIGH)} or more"),
            (f"{summary.nearly_sure:,}", f"of them to {percent(0.99)} or more"),
            (f"{summary.people:,.0f}", f"of {summary.records:,} records that they concern"),
            (f"{summary.beyond:,.0f}", "of these about which no finding is certain"),
            (f"{summary.areas:,}", "areas"),
        ],
        standfirst=[first],
        warning=" ".join(more),
    )
    return replace(page, template="likely.html")


def _sections(folder: Path, prior: Prior, summary: LikelySummary) -> Iterator[Section]:
    told = [(title, most_telling(folder, kind, MOST_STATEMENTS)) for kind, title in TITLES]
    yield Section(
        "What readers may bet on",
        f"Without the tables these statements are guesses, right at most {percent(0.5)} of the time. With "
        f"the tables, under the prior “{prior.name}” ({prior.standing}), each is right with the probability "
        "beside it. Those that the tables moved most come first."
        if any(rows for _, rows in told)
        else f"No statement reaches {percent(HIGH)} that was at most {percent(0.5)} without the tables.",
        tables=[_statements(title, rows) for title, rows in told if rows],
    )
    yield Section("How often this comes true", _earned(prior), *_reliability(prior))
    if summary.by_columns:
        yield Section(
            "Beside what is certain",
            "Certain statements follow from the tables, and an audit proves them. Only those that "
            "came up in the search for likely statements are counted here. Likely statements may be "
            "wrong.",
            tables=[_by_columns(summary)],
        )
    yield Section("Area by area", tables=[_areas(folder)])
    yield Section("What this page does not say", tables=[Sheet("", ("",), [[line] for line in NOT])])


def _statements(title: str, told: list[StoredStatement]) -> Sheet:
    rows = [
        [
            ("nearly sure, " if one.q >= 0.99 else "") + f"likely: {percent(one.q, 1)}",
            one.area,
            _stated(one),
            percent(one.baseline, 1),
            _error(one),
        ]
        for one in told
    ]
    more = " All such statements are in likely.parquet." if len(told) == MOST_STATEMENTS else ""
    head = ("with the tables", "area", "statement", "without the tables", "sampling error")
    return Sheet(title, head, rows, _SAMPLING + more)


#: What the last column means.
_SAMPLING = (
    "Sampling error: many datasets agree with the tables. Where all of them could be listed, there is none; "
    "otherwise some were drawn at random, and others would give a probability in the range."
)


def _stated(one: StoredStatement) -> str:
    """What is stated; how likely it is, and under which prior, stands beside it and above."""
    text = one.sentence.removeprefix("Likely, not proved: ")
    text = text.rpartition(f", with probability {percent(one.q, 1)} under the prior ")[0] or text
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def _error(one: StoredStatement) -> str:
    if one.ess is None:
        return "none"
    return f"{percent(one.low, 1)} to {percent(one.high, 1)}"


def _earned(prior: Prior) -> str:
    calibration = prior.calibration
    if calibration is None:
        return (
            f"Not measured. The prior “{prior.name}” is not calibrated here; give records of other areas "
            "with --calibrate to find out how often what it says comes true."
        )
    claims, findings = calibration.claims.corrected, calibration.findings.corrected
    return (
        f"This was tried on {calibration.n_areas:,} areas whose records are known "
        f"({calibration.where or 'not named'}): statements were made from their tables alone, and compared "
        "with the truth. What was learnt from some areas corrected what is said about the others. "
        f"Of statements about a number (claims) said at {percent(HIGH)} or more, {_rate(claims)}; of those "
        f"about a person (findings), {_rate(findings)}."
    )


def _rate(measure: Measure) -> str:
    if not measure.n_high:
        return "there were none"
    return f"{percent(measure.true_high, 1)} were true ({percent(measure.said_high, 1)} were promised)"


def _reliability(prior: Prior) -> tuple[list[Chart], list[Sheet]]:
    calibration = prior.calibration
    if calibration is None:
        return [], []
    charts = [
        reliability_chart(calibration.claims, "claims"),
        reliability_chart(calibration.findings, "findings"),
    ]
    return charts, [_figures(calibration), _groups(calibration)]


def reliability_chart(curve: Curve, what: str) -> Chart:
    """What was said against how often it was true; on the diagonal both agree."""
    rows = tuple(
        {
            "said": step.said,
            "true": step.true,
            "n": step.n,
            "range": f"{percent(step.low)} to {percent(step.high)}",
        }
        for step in curve.corrected.steps
    )
    axes = {
        "x": number_axis("said", "stated probability", scale={"domain": [0, 1]}, format="~%"),
        "y": share_axis("true", "how often it was true"),
    }
    line, dots = Key("stated = true", SOFT, (4, 4)), Key(f"likely {what}", LIKELY, (0, 30), "circle")
    off = curve.corrected.ece
    return Chart(
        f"reliability-{what}",
        f"Stated probabilities of {what}, and how often they were true",
        f"On average, the stated probability is {percent(off, 1)} away from how often the statements "
        "are true.",
        rows,
        {"range": "said", "said": "mean said", "true": "true", "n": "statements"},
        {
            "layer": [
                {
                    "data": {"values": [{"said": 0, "true": 0}, {"said": 1, "true": 1}]},
                    "mark": {"type": "line", "color": SOFT, "strokeDash": [4, 4]},
                    "encoding": axes,
                },
                points(rows, axes, dots, size=70),
            ]
        },
        legend=(line, dots),
    )


def _figures(calibration: Calibration) -> Sheet:
    rows = [
        [
            f"{what}, {when}",
            f"{one.n:,}",
            f"{one.brier:.3f}",
            f"{one.log_loss:.3f}",
            f"{one.ece:.3f}",
            percent(one.n_high / max(one.n, 1), 1),
            f"{percent(one.said_high, 1)} / {percent(one.true_high, 1)}" if one.n_high else "–",
        ]
        for what, curve in (("claims", calibration.claims), ("findings", calibration.findings))
        for when, one in (("as the prior says", curve.raw), ("corrected", curve.corrected))
    ]
    head = (
        "",
        "statements",
        "Brier score",
        "log loss",
        "calibration error",
        "share at 90\xa0% or more",
        "stated / true there",
    )
    note = (
        "Brier score: the mean squared distance between what was said and what was true (1 or 0); always "
        f"saying {percent(0.5)} scores 0.25, and less is better. Log loss: similar, with a heavier penalty "
        "for being sure and wrong. Calibration error: how far what is said is from how often it is true, on "
        "average. Corrected: by what was learnt from other areas."
    )
    return Sheet("Figures for statisticians", head, rows, note)


def _groups(calibration: Calibration) -> Sheet:
    rows = [
        [
            what,
            name,
            f"{one.n:,}",
            f"{one.brier:.3f}",
            f"{one.ece:.3f}",
            percent(one.true_high, 1) if one.n_high else "–",
        ]
        for what, curve in (("claims", calibration.claims), ("findings", calibration.findings))
        for name, one in curve.groups
    ]
    head = (
        "",
        "areas or statements of",
        "statements",
        "Brier score",
        "calibration error",
        "true at 90\xa0% or more",
    )
    return Sheet("By size of area and number of columns", head, rows)


def _by_columns(summary: LikelySummary) -> Sheet:
    """Certain and likely statements by their number of columns."""
    rows = [[f"{one.columns}", f"{one.certain:,}", f"{one.likely:,}"] for one in summary.by_columns]
    head = (
        "columns",
        "certain",
        f"likely: {percent(HIGH)} or more, at most {percent(0.5)} without the tables",
    )
    return Sheet("", head, rows)


def _areas(folder: Path) -> Sheet:
    table = pq.read_table(folder / AREAS)
    rows = sorted(table.to_pylist(), key=lambda one: (-one["telling"], one["area"]))
    shown = [
        [
            one["area"] or "(the area)",
            "not known" if one["records"] is None else f"{one['records']:,}",
            f"{one['telling']:,}",
            f"{one['people']:,.1f}",
            f"{one['withheld']:,}",
            one["problem"] or ("all datasets listed" if one["listed"] else "datasets drawn at random"),
        ]
        for one in rows[:MOST_AREAS]
    ]
    note = f"{len(rows) - MOST_AREAS:,} more areas are in areas.parquet." if len(rows) > MOST_AREAS else ""
    head = ("area", "records", "likely statements", "records they are about", "withheld", "how")
    return Sheet("", head, shown, note)
