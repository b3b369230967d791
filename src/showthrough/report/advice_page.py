"""The page of advice on noise: how many people each amount leaves disclosed, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from showthrough.errors import shorten
from showthrough.files import read_json
from showthrough.numbers.advice_summary import LIMITS, AdviceSummary
from showthrough.report.attack_page import PEOPLE, YARDSTICK_NOTE, yardstick_lines
from showthrough.report.charts import (
    ACCENT,
    INK,
    NO_LINE,
    PALE,
    SOFT,
    Chart,
    Key,
    Row,
    encoding,
    number_axis,
    points,
    rule,
    share_axis,
)
from showthrough.report.page import Page, Section, Sheet, figures_page
from showthrough.text import percent

__all__ = [
    "advice_charts",
    "advice_page",
]

Rows = Sequence[Row]

#: Noise on a scale of powers of two.
SCALE = number_axis(
    "scale",
    "noise, in standard deviations of the data",
    scale={"type": "log", "base": 2, "nice": False},
    format=".3~g",
    tickCount=5,
)


def advice_page(folder: Path) -> Page:
    """The page of finished advice."""
    summary = AdviceSummary.from_plain(read_json(folder / "summary.json"))
    rows = pq.read_table(folder / "scales.parquet").to_pylist()
    trial, utility = summary.trial, summary.utility
    return figures_page(
        "Advice on noise",
        f"Noise {trial.scale:.3g} times as wide as the data is enough to leave at most "
        f"{percent(summary.share)} of {summary.people:,} people disclosed.",
        [
            Section(
                "How noise hides people",
                _method(summary),
                advice_charts(rows, share=summary.share, scale=trial.scale),
            ),
            Section(
                "What is lost",
                "What the noisy values are still good for, in the worst column. If that is too "
                "little, publish something other than individual values.",
                tables=[Sheet("", ("what remains of the data", ""), utility.words())],
            ),
            Section("Everything that was tried", tables=[_tried(rows)]),
        ],
        manifest=read_json(folder / "run.json"),
        facts=[
            (f"{trial.scale:.3g}", "times the data's standard deviation"),
            (percent(trial.disclosed, 1), f"disclosed; {percent(summary.share)} is allowed"),
            (f"{utility.correlation:.2f}", "correlation of published with true values"),
            (f"× {utility.error_factor:.2f}", "standard error of a mean"),
            (
                percent(summary.confirmation.chance, 1),
                f"of draws at most disclose more ({percent(summary.confirmation.confidence)} confidence)",
            ),
        ],
        standfirst=[summary.verdict, summary.how_often, summary.less],
        warning=" ".join(text for text in (summary.alike, summary.relapse) if text),
    )


def _method(summary: AdviceSummary) -> str:
    draws = summary.trials[0].draws
    times = "once" if draws == 1 else f"{draws} times"
    return (
        f"Each amount was tried out: noise was drawn {times}, every attack was run, and the strongest one in "
        f"the worst column and draw counts. {summary.how_often} {LIMITS}"
    )


def advice_charts(rows: Rows, *, share: float, scale: float) -> list[Chart]:
    """The share disclosed against the noise: by the strongest attack with its interval, and by each.

    ``rows`` are those of :func:`showthrough.numbers.tryout.trials_table`.
    """
    curve = [row for row in rows if row["role"] == "curve"]
    line = sorted(curve or [row for row in rows if row["role"] == "search"], key=lambda row: row["scale"])
    return [_strongest(line, rows, share, scale), _by_method(line, scale)]


def _strongest(line: Rows, rows: Rows, share: float, scale: float) -> Chart:
    confirmed = [row for row in rows if row["role"] == "confirmation" and row["scale"] == scale]
    tried = [row for row in rows if row["role"] != "curve" and row not in confirmed]
    near = [row for row in tried if line[0]["scale"] <= row["scale"] <= line[-1]["scale"]]
    top = max(row["high"] for row in [*line, *near, *confirmed, {"high": share}])
    axes = {"x": SCALE, "y": share_axis("share", PEOPLE, top)}
    advised = Key("advised", INK, (2, 2), "diamond")
    searched = Key("tried in the search", PALE, NO_LINE, "circle")
    here, there = confirmed or near, line[0]
    disclosed = here[-1]["share"]
    return Chart(
        "advice",
        "People disclosed, by amount of noise",
        f"{percent(there['share'], 1)} at {there['scale']:.2g} times the data's standard deviation, "
        f"{percent(disclosed, 1)} at {scale:.2g} times, which is advised.",
        tuple(
            {**row, "column": shorten(row["column"])}
            for row in sorted([*line, *tried, *confirmed], key=lambda row: (row["scale"], row["role"]))
        ),
        {
            "scale": "noise / sd of the data",
            "noise": "noise",
            "role": "tried for",
            "share": "share disclosed",
            "low": "from",
            "high": "to",
            "method": "method",
            "column": "column",
        },
        {
            "layer": [
                {
                    "data": {"values": list(line)},
                    "mark": {"type": "area", "color": ACCENT, "opacity": 0.18},
                    "encoding": {
                        "x": SCALE,
                        "y": share_axis("low", PEOPLE, top),
                        "y2": {"field": "high"},
                    },
                },
                rule("y", axes["y"], share, SOFT, (4, 4)),
                rule("x", SCALE, scale, INK),
                points(near, axes, searched, size=50),
                {
                    "data": {"values": list(line)},
                    "mark": {"type": "line", "color": ACCENT},
                    "encoding": axes,
                },
                points(confirmed, axes, advised, size=50),
            ]
        },
        legend=(
            Key(f"share disclosed, with its {percent(0.95)} interval", ACCENT, (1, 0)),
            Key(f"allowed: {percent(share)}", SOFT, (4, 4)),
            advised,
            searched,
        ),
    )


def _by_method(line: Rows, scale: float) -> Chart:
    names = [name.removeprefix("by ") for name in line[0] if name.startswith("by ")]
    rows: list[Row] = [
        {"method": name, "scale": row["scale"], "noise": row["noise"], "share": row[f"by {name}"]}
        for name in names
        for row in line
        if row[f"by {name}"] is not None
    ]
    legend = yardstick_lines(names)
    top = max(row["share"] for row in rows) or 1.0
    return Chart(
        "advice-methods",
        "By attack",
        "How many people each attack places inside their privacy interval, in its worst column and draw.",
        tuple(rows),
        {"method": "method", "scale": "noise / sd of the data", "noise": "noise", "share": "share"},
        {
            "layer": [
                rule("x", SCALE, scale, INK),
                {
                    "mark": {"type": "line", "point": True},
                    "encoding": {
                        "x": SCALE,
                        "y": share_axis("share", PEOPLE, top),
                        **encoding("method", legend),
                    },
                },
            ]
        },
        legend=legend,
        note=f"{YARDSTICK_NOTE} An attack that is wrong more often than it claims is drawn, but does not "
        "count.",
    )


def _tried(rows: Rows) -> Sheet:
    shown = [
        (
            f"{row['scale']:.4g}",
            row["role"],
            percent(row["share"], 1, fixed=True),
            f"{percent(row['low'], 1, fixed=True)}\u00a0to\u00a0{percent(row['high'], 1, fixed=True)}",
            row["method"],
            shorten(row["column"], 40),
            row["noise"],
        )
        for row in sorted(rows, key=lambda row: (row["scale"], row["role"]))
    ]
    head = ("noise / sd", "tried for", "disclosed", "interval", "by", "column", "noise")
    return Sheet("", head, shown)
