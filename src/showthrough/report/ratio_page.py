"""The page of a ratio attack on groups: which shares leak, how wrong readings are, and what noise hides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import shorten
from showthrough.files import read_json
from showthrough.numbers.leaks_summary import ErrorCurve, GroupReading, LeaksSummary, NoiseLeaks
from showthrough.report.charts import (
    ACCENT,
    INK,
    LOG,
    NO_LINE,
    PALE,
    SOFT,
    THIRD,
    TIGHT,
    Chart,
    Key,
    Row,
    Spec,
    encoding,
    lines,
    number_axis,
    points,
    rule,
    share_axis,
)
from showthrough.report.page import Page, Section, Sheet, figures_page
from showthrough.text import percent

__all__ = [
    "leak_chart",
    "ratio_page",
    "reading_chart",
    "readings_chart",
]

#: Groups that are drawn.
MOST_POINTS = 2_000

WHY = (
    "The noise on an answer is as large for 10 people as for 10,000. Beside a large group it vanishes, and "
    "so it does from the ratio of two answers. Each answer still hides whether any one person is in the "
    "data; it does not hide what holds for people like them."
)


def ratio_page(folder: Path) -> Page:
    """The page of a finished ratio attack on groups."""
    summary = LeaksSummary.from_plain(read_json(folder / "summary.json"))
    wanted = ("size", "confidence", "reading", "leaks")
    table = pq.read_table(folder / "groups.parquet", columns=[summary.names[name] for name in wanted])
    leaking = summary.leaking_groups
    return figures_page(
        "Ratio attack on noisy answers",
        f"{leaking:,} of {summary.groups:,} groups leak a share, with {summary.leaking_records:,} of "
        f"{summary.records:,} people in them."
        if leaking
        else f"None of {summary.groups:,} groups leaks a share.",
        [
            Section(
                f"Why noise on answers {'does not' if leaking else 'may'} hide a share",
                WHY,
                _charts(summary, table.rename_columns(list(wanted))),
            ),
            Section("Groups", _lede(summary), tables=[_worst(summary)]),
            Section("By size", tables=[_by_size(summary)]),
        ],
        manifest=read_json(folder / "run.json"),
        facts=_facts(summary),
        standfirst=[_example(summary)],
        warning="Made with the true counts: this page is for the publisher only.",
    )


def _example(summary: LeaksSummary) -> str:
    """The most revealing group in a sentence."""
    first = summary.worst[0]
    return (
        f"{'For example' if first.leaks else 'The nearest to leaking'}: of {first.size:,} people with "
        f"{_who(first)}, {percent(first.confidence, 1)} have {shorten(summary.sensitive)} "
        f"{shorten(first.value)}; of all people, {percent(first.overall, 1)} do. Whoever divides two answers "
        f"with noise {summary.noise} reads between {percent(first.low, 1)} and {percent(first.high, 1)} with "
        f"{percent(summary.level)} probability."
    )


def _who(row: GroupReading) -> str:
    """The public values of a group."""
    texts = [f"{shorten(name, 30)} {_value(value)}" for name, value in row.public.items()]
    return ", ".join(texts[:8]) + (" …" if len(texts) > 8 else "") if texts else "nothing known about them"


def _value(value: str | None) -> str:
    return "missing" if value is None else shorten(value, 40)


def _facts(summary: LeaksSummary) -> list[tuple[str, str]]:
    facts = [
        (f"{summary.leaking_groups:,}", f"of {summary.groups:,} groups leak"),
        (percent(summary.leaking_records / summary.records, 1), "of the people are in them"),
        (f"{summary.largest_group:,}", "people in the largest group"),
        (f"{summary.safe_epsilon:.3g}", "ε below which no group leaks (Laplace noise)"),
    ]
    if summary.epsilon is not None:
        facts[2] = (f"{summary.epsilon:g}", "ε of both answers together")
    return facts


def _charts(summary: LeaksSummary, table: pa.Table) -> list[Chart]:
    (now,) = [row for row in summary.by_noise if row.noise == summary.noise][-1:]
    return [
        readings_chart(_thinned(table), summary.errors, level=summary.level),
        leak_chart(summary.by_noise, now=now),
    ]


def _thinned(table: pa.Table) -> list[Row]:
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


def _lede(summary: LeaksSummary) -> str:
    shown, total = len(summary.worst), summary.leaking_groups
    if not total:
        return f"{summary.rule_text} None does; these are the largest groups, which come nearest to it."
    if shown < total:
        return (
            f"{summary.rule_text} These are the {shown} most revealing of {total:,} that leak; all are in "
            "groups.parquet."
        )
    return f"{summary.rule_text} These are all that leak, the most revealing first."


def _worst(summary: LeaksSummary) -> Sheet:
    rows = [
        [
            *(_value(value) for value in row.public.values()),
            shorten(row.value, 40),
            f"{row.size:,}",
            percent(row.confidence, 1, fixed=True),
            f"{percent(row.low, 1, fixed=True)}\u00a0to\u00a0{percent(row.high, 1, fixed=True)}",
            percent(row.overall, 1, fixed=True),
        ]
        for row in summary.worst
    ]
    public = [shorten(name, 30) for name in summary.public]
    read = f"{percent(summary.level)} of readings"
    head = [*public, shorten(summary.sensitive, 30), "people", "true share", read, "of all people"]
    return Sheet("Whoever has these values", head, rows)


def _by_size(summary: LeaksSummary) -> Sheet:
    counted = ("groups", "leaking_groups", "records", "leaking_records")
    rows = [
        [f"{row['from']:,} to {row['to']:,}", *(f"{row[name]:,}" for name in counted)]
        for row in summary.by_size
    ]
    return Sheet("", ("people in the group", "groups", "that leak", "people", "in groups that leak"), rows)


Rows = Sequence[Row]

#: Errors beyond these are drawn at the edge.
LEAST, MOST = 1e-3, 1.0


def readings_chart(groups: Rows, theory: ErrorCurve, *, level: float) -> Chart:
    """Groups by size and by how far one drawn reading is off, beside what theory says.

    ``groups`` have ``size``, ``share``, ``reading``, ``error`` and ``leaks``.
    """
    large = [row for row in groups if row["leaks"]]
    small = [row for row in groups if not row["leaks"]]
    half, most = "half of all readings err less", f"{percent(level)} err less"
    theoretical = [(half, point.size, point.median) for point in theory.curve]
    theoretical += [(most, point.size, point.most) for point in theory.curve]
    drawn = [
        {"size": size, "error": error, "which": which}
        for which, size, error in theoretical
        if error is not None and error <= MOST
    ]
    curves = (Key(half, INK, (1, 0)), Key(most, THIRD, (6, 3)))
    keys = {
        Key("a group that leaks", ACCENT, NO_LINE, "circle"): large,
        Key("a group that does not", PALE, NO_LINE, "square"): small,
    }
    limit = Key(f"size {theory.least_size:,.0f}: the rule of 1/20", SOFT, (2, 2))
    axes = {"x": _size_axis(), "y": _error_axis()}
    layer = [
        *(points(_shown(rows), axes, key, size=20, opacity=0.5) for key, rows in reversed(keys.items())),
        rule("x", axes["x"], theory.least_size, SOFT),
        {
            "data": {"values": drawn},
            "mark": {"type": "line"},
            "encoding": {**axes, **encoding("which", curves)},
        },
    ]
    return Chart(
        "readings",
        "The larger the group, the better the reading",
        _says(large, small),
        tuple(groups),
        {
            "size": "people",
            "share": "true share",
            "reading": "read from noisy answers",
            "error": "error",
            "leaks": "leaks",
        },
        {"layer": [part for part in layer if part["data"]["values"]]},
        height=280,
        legend=(*(key for key, rows in keys.items() if rows), *curves, limit),
        note="Noise was drawn once for each group. Errors of more than 100 points are drawn at the top.",
    )


def _says(large: Rows, small: Rows) -> str:
    parts = list[str]()
    for rows, what in ((large, "groups that leak"), (small, "groups that do not")):
        errors = sorted(row["error"] for row in rows)
        if errors:
            middle = 100 * errors[len(errors) // 2]
            parts.append(f"{f'{middle:.2g}' if middle < 99.5 else 'over 100'} points for {what}")
    return f"The median error of the share read: {', '.join(parts)}." if parts else "Nothing can be read."


def _size_axis() -> Spec:
    return number_axis("size", "people in the group", scale=LOG, format="~s", tickCount=4)


def _error_axis() -> Spec:
    scale = {"type": "log", "domain": [LEAST, MOST], "clamp": True}
    return number_axis(
        "error", "error of the share read", scale=scale, format="~%", values=[0.001, 0.01, 0.1, 1]
    )


def _shown(rows: Rows) -> list[dict[str, float]]:
    return [{"size": row["size"], "error": max(row["error"], LEAST)} for row in rows]


def leak_chart(rows: Sequence[NoiseLeaks], *, now: NoiseLeaks) -> Chart:
    """The share of groups and of people given away, by ε or by the standard deviation of the noise."""
    by_epsilon = now.epsilon is not None
    field = "epsilon" if by_epsilon else "sd"
    title = "ε of both answers together" if by_epsilon else "standard deviation of the noise"
    name = "ε" if by_epsilon else "a standard deviation of"
    shown = [
        {field: _amount(row), "noise": row.noise, "groups": row.groups, "people": row.people} for row in rows
    ]
    legend = lines(["people", "groups"], points=False)
    drawn = [{field: row[field], "share": row[key.name], "of": key.name} for key in legend for row in shown]
    ticks = _ticks([_amount(row) for row in rows])
    x = number_axis(field, title, scale=LOG, format="~g", values=ticks)
    return Chart(
        "leaks-by-noise",
        "How much noise hides the shares",
        f"At {name} {_amount(now):.3g}, {percent(now.groups, 1)} of the groups and "
        f"{percent(now.people, 1)} of the people are given away.",
        tuple(shown),
        {field: title, "noise": "noise", "groups": "groups that leak", "people": "people in them"},
        {
            "layer": [
                rule("x", x, _amount(now), INK),
                {
                    "data": {"values": drawn},
                    "mark": {"type": "line", "interpolate": "step-after"},
                    "encoding": {
                        "x": x,
                        "y": share_axis("share", "share given away"),
                        **encoding("of", legend),
                    },
                },
            ]
        },
        height=280,
        legend=(*legend, Key("the noise attacked here", INK, (2, 2))),
    )


def _amount(row: NoiseLeaks) -> float:
    """The ε, or the standard deviation, of an amount of noise."""
    return row.epsilon if row.epsilon is not None else row.sd or 0.0


def _ticks(values: Sequence[float]) -> list[float]:
    """Round numbers along a logarithmic axis.

    >>> _ticks([0.03, 2.0])
    [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    """
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    inside = [tick for tick in every if low <= tick <= high]
    if len(inside) > 7:
        return [tick for tick in inside if f"{tick:e}".startswith("1.0")]
    if len(inside) > 2:
        return inside
    return [float(f"{low * (high / low) ** part:.2g}") for part in (0.1, 0.5, 0.9)]


def reading_chart(rows: Rows, *, share: float, ends: tuple[float, float], level: float) -> Chart:
    """How likely each reading of one share is: ``rows`` have ``at`` and ``density``."""
    x = number_axis("at", "share read from two noisy answers", scale=TIGHT, format="~%", tickCount=5)
    truth = Key("the true share", INK, (6, 3))
    most = Key(f"{percent(level)} of readings between", SOFT, (2, 2))
    return Chart(
        "reading",
        "What an attacker reads",
        f"The true share is {percent(share, 1)}; {percent(level)} of readings lie between "
        f"{percent(ends[0], 1)} and {percent(ends[1], 1)}.",
        tuple(rows),
        {"at": "share read", "density": "density"},
        {
            "layer": [
                {
                    "mark": {"type": "area", "color": ACCENT, "opacity": 0.18, "line": {"color": ACCENT}},
                    "encoding": {
                        "x": x,
                        "y": number_axis("density", "density", tickCount=4, format="~g"),
                    },
                },
                rule("x", x, share, truth.colour, truth.dash),
                *(rule("x", x, end, most.colour, most.dash) for end in ends),
            ]
        },
        legend=(Key("readings", ACCENT, (1, 0)), truth, most),
    )
