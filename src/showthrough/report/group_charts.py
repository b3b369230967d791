"""Charts of checked groups: how many violate a promise, and which sizes are safe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.report.charts import (
    ACCENT,
    COLOURS,
    INK,
    LOG,
    NO_LINE,
    SOFT,
    THIRD,
    TIGHT,
    Chart,
    Key,
    Row,
    Spec,
    areas,
    class_axis,
    count_axis,
    encoding,
    number_axis,
    share_axis,
)
from showthrough.text import percent

__all__ = [
    "MOST_POINTS",
    "diversity_charts",
    "group_charts",
    "rates_chart",
    "sizes_chart",
]

VIOLATES, KEPT = "violates the promise", "keeps the promise"
Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Groups that are drawn as points.
MOST_POINTS = 2_000
#: Of these, those furthest over their limit, whatever the others are.
WORST = 100
#: Points of a curve.
STEPS = 61
#: Sizes that are tried for a point of the curve: more could not be seen.
PRECISION = 500
#: A frequency axis is logarithmic where the largest is this many times the smallest.
WIDE_RANGE = 20

PAPER, EXACT = "the paper's bound", "exact tails"
OVER, TAILS = "violates by both bounds", "violates by exact tails"
S_G, EXACT_LIMIT = "s_g, the paper's limit", "limit by exact tails"

GROUP_KEYS = (
    Key(OVER, ACCENT, NO_LINE, "circle"),
    Key(TAILS, COLOURS[3], NO_LINE, "triangle-up"),
    Key(KEPT, THIRD, NO_LINE, "square"),
)
LIMIT_KEYS = (Key(S_G, INK, (1, 0)), Key(EXACT_LIMIT, SOFT, (6, 3)))


def group_charts(
    table: pa.Table, promise: ReconstructionPrivacy, *, retention: float, n_values: int, where: str = ""
) -> list[Chart]:
    """Charts of a table of checked groups, as :meth:`CheckedGroups.to_arrow` makes it and files keep it.

    ``where`` says where the groups are that are not drawn, if there are too many.

    >>> from showthrough.microdata.check_published import CheckedGroups
    >>> from showthrough.microdata.groups import Groups
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6, 6], [500, 300]])
    >>> promise = ReconstructionPrivacy(0.3, 0.3)
    >>> table = CheckedGroups.of(groups, promise, retention=0.5).to_arrow()
    >>> [chart.name for chart in group_charts(table, promise, retention=0.5, n_values=2)]
    ['violations', 'groups', 'sizes']
    """
    records, sampled, frequency, limit, _, over, exact = (np.asarray(column) for column in table.columns[-7:])
    verdict = np.where(over, OVER, np.where(exact, TAILS, KEPT))
    points, drawn = _points(sampled, frequency, limit, verdict)
    left = len(table) - drawn
    note = f" {left:,} of {len(table):,} groups are not drawn{where}." if left else ""
    rates = [rates_chart(records, {PAPER: over, EXACT: exact})]
    return [
        *(rates if (over | exact).any() else []),
        _limits(points, verdict, promise, (retention, n_values), note),
        sizes_chart(records, verdict, (OVER, TAILS, KEPT)),
    ]


def _points(
    size: Whole, frequency: Floats, limit: Floats, verdict: NDArray[Any]
) -> tuple[Sequence[Row], int]:
    """Groups as points, those that lie on each other as one; and how many groups that are.

    Of too many points the worst are kept, and others at even steps.
    """
    _, first, number = np.unique(
        np.column_stack([frequency, size]), axis=0, return_index=True, return_counts=True
    )
    order = np.arange(len(first))
    if len(first) > MOST_POINTS:
        worst = np.argsort(-size[first] / limit[first], kind="stable")[:WORST]
        rest = order[~np.isin(order, worst)]
        steps = np.rint(np.linspace(0, len(rest) - 1, MOST_POINTS - len(worst))).astype(np.int64)
        order = np.sort(np.concatenate([worst, rest[steps]]))
    rows = [
        {
            "what": str(verdict[first[at]]),
            "frequency": float(frequency[first[at]]),
            "size": int(size[first[at]]),
            "groups": int(number[at]),
        }
        for at in order
    ]
    return rows, int(number[order].sum())


def _limits(
    points: Sequence[Row],
    verdict: NDArray[Any],
    promise: ReconstructionPrivacy,
    known: tuple[float, int],
    more: str,
) -> Chart:
    """Each group's size against its largest frequency, with the largest sizes that are safe."""
    over = int((verdict == OVER).sum())
    frequency = np.array([row["frequency"] for row in points])
    rows = (*points, *_curves(frequency, promise, *known))
    drawn = [key for key in LIMIT_KEYS if any(row["what"] == key.name for row in rows)]
    return Chart(
        "groups",
        "Groups and the sizes that are safe",
        f"{over:,} of {len(verdict):,} groups are larger than s_g, the largest size that the paper's bound "
        "allows for the share of their most frequent value.",
        rows,
        {
            "what": "what",
            "frequency": "largest frequency",
            "size": "records, or limit",
            "groups": "groups there",
        },
        {
            "encoding": {"x": _frequency_axis(frequency), "y": _size_axis([row["size"] for row in rows])},
            "layer": [
                {
                    "mark": {"type": "point", "opacity": 0.65, "size": 30},
                    "transform": [_only(GROUP_KEYS)],
                    "encoding": _apart(GROUP_KEYS, "color", "shape"),
                },
                {
                    "mark": {"type": "line", "strokeWidth": 2},
                    "transform": [_only(LIMIT_KEYS)],
                    "encoding": _apart(LIMIT_KEYS, "color", "strokeDash"),
                },
            ],
            "resolve": {"scale": {"color": "independent"}},
        },
        height=280,
        legend=(*(key for key in GROUP_KEYS if (verdict == key.name).any()), *drawn),
        note="Groups above the solid line certainly violate the promise. Below it, and even below the dashed "
        f"line, they may violate it: exact tails jump from count to count.{more}",
    )


def _curves(frequency: Floats, promise: ReconstructionPrivacy, retention: float, n_values: int) -> list[Row]:
    low, high = _ends(frequency)
    if not 0 < low <= high:
        raise ValueError("a frequency is not above 0")
    at = np.geomspace(low, high, STEPS)
    tails = promise.tails(retention=retention, n_values=n_values)
    curves = {
        S_G: tails.chernoff_size(promise.chance, at),
        EXACT_LIMIT: tails.exact_size(promise.chance, at, most=PRECISION),
    }
    return [
        {"what": name, "frequency": float(f"{f:.5g}"), "size": float(f"{s:.5g}"), "groups": None}
        for name, sizes in curves.items()
        for f, s in zip(at, sizes, strict=True)
        if s > 0
    ]


def _ends(frequency: Floats) -> tuple[float, float]:
    """The frequencies a curve goes over: those of the groups, and somewhat more."""
    return max(1e-9, float(frequency.min()) * 0.9), min(1.0, float(frequency.max()) * 1.1)


def _frequency_axis(frequency: Floats) -> Spec:
    low, high = _ends(frequency)
    kind = "log" if high > WIDE_RANGE * low else "linear"
    return number_axis(
        "frequency",
        "share of the group's most frequent value",
        scale={"type": kind, "domain": [low, high], **TIGHT},
        format="~%",
        tickCount=5,
    )


def _size_axis(sizes: Sequence[float]) -> Spec:
    top = 10.0 ** np.ceil(np.log10(max(sizes)))
    return number_axis(
        "size",
        "records that were perturbed",
        scale={**LOG, "domain": [min(1.0, *sizes), top]},
        format="~s",
        values=[10.0**power for power in range(round(np.log10(top)) + 1)],
    )


def _only(keys: Sequence[Key]) -> Spec:
    return {"filter": {"field": "what", "oneOf": [key.name for key in keys]}}


def _apart(keys: Sequence[Key], *channels: str) -> Spec:
    given = encoding("what", keys)
    return {name: given[name] for name in channels}


def rates_chart(
    records: Whole, violated: Mapping[str, Flags], *, what: str = "groups", name: str = "violations"
) -> Chart:
    """v_g and v_r, the shares of groups and of records that violate a promise, as bars."""
    if not records.sum():
        raise ValueError("there are no records")
    shares = {
        by: (float(flags.mean()), float(records[flags].sum() / records.sum()))
        for by, flags in violated.items()
    }
    rows = tuple(
        {"by": by, "share_of": of, "share": share}
        for by, pair in shares.items()
        for of, share in zip((what, "records"), pair, strict=True)
    )
    legend = areas(dict(zip(shares, (ACCENT, COLOURS[3]), strict=False)))
    bound, (of_groups, of_records) = list(shares.items())[-1]
    first = f"By {bound}, {percent(of_groups, 1)}" if len(shares) > 1 else percent(of_groups, 1)
    return Chart(
        name,
        f"Shares of {what} and records that violate the promise",
        f"{first} of the {what} violate the promise, and {percent(of_records, 1)} of the records are in "
        "them.",
        rows,
        {"by": "by", "share_of": "share of", "share": "share that violates it"},
        {
            "mark": "bar",
            "encoding": {
                "x": {"field": "share_of", "type": "nominal", "sort": [what, "records"], "title": "share of"},
                "xOffset": {"field": "by", "sort": list(shares)},
                "y": share_axis("share", "share that violates it"),
                **encoding("by", legend),
            },
        },
        legend=legend if len(shares) > 1 else (),
    )


def sizes_chart(
    records: Whole,
    verdict: NDArray[Any],
    verdicts: Sequence[str],
    *,
    what: str = "group",
    name: str = "sizes",
) -> Chart:
    """Records by the size of their group and by its verdict; the last verdict is the good one."""
    edges = _classes(int(records.max(initial=1)))
    of = np.searchsorted(edges, records, side="right") - 1
    classes = [_class_name(edges, at) for at in range(len(edges))]
    shown = [one for one in verdicts if (verdict == one).any()]
    rows = tuple(
        {
            "size": classes[at],
            "what": one,
            "order": verdicts.index(one),
            "groups": int(mine.sum()),
            "records": int(records[mine].sum()),
        }
        for at in range(len(edges))
        for one in shown
        for mine in [(of == at) & (verdict == one)]
    )
    broken = int(records[verdict != verdicts[-1]].sum())
    most = float(np.bincount(of, records, len(edges)).max())
    colours = dict(zip(verdicts, (*(ACCENT, COLOURS[3])[: len(verdicts) - 1], THIRD), strict=True))
    legend = areas({one: colours[one] for one in shown})
    return Chart(
        name,
        f"Records by the size of their {what}",
        f"{broken:,} of {int(records.sum()):,} records are in a {what} that violates the promise.",
        rows,
        {"size": f"records of the {what}", "what": "what", "groups": f"{what}s", "records": "records"},
        {
            "mark": {"type": "bar", "cornerRadiusEnd": 0},
            "encoding": {
                "x": class_axis("size", f"records of the {what}", sort=classes),
                "y": count_axis("records", "records", most) | {"stack": True},
                "order": {"field": "order", "type": "quantitative"},
                **encoding("what", legend),
            },
        },
        legend=legend,
    )


def _classes(largest: int) -> list[int]:
    """Where classes of sizes begin: 1, 2, 5, 10, 20, … or, where these are too many, powers of ten.

    >>> _classes(60), _classes(30_000)
    ([1, 2, 5, 10, 20, 50], [1, 10, 100, 1000, 10000])
    """
    fine = [step * 10**power for power in range(19) for step in (1, 2, 5) if step * 10**power <= largest]
    return fine if len(fine) <= 9 else [10**power for power in range(19) if 10**power <= largest]


def _class_name(edges: Sequence[int], at: int) -> str:
    if at + 1 == len(edges):
        return f"{_short(edges[at])}+"
    return str(edges[at]) if edges[at + 1] == edges[at] + 1 else f"{_short(edges[at])}–{_end(edges[at + 1])}"


def _short(number: int) -> str:
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number // size}{unit}"
    return str(number)


def _end(number: int) -> str:
    """The last size before ``number``; of thousands, ``number`` itself."""
    return str(number - 1) if number <= 1000 else _short(number)


def diversity_charts(records: Whole, violated: Flags, *, what: str) -> list[Chart]:
    """The shares of groups or buckets with a value that is too frequent, and how large these are.

    >>> charts = diversity_charts(np.array([4, 6]), np.array([True, False]), what="buckets")
    >>> charts[0].says.replace("\xa0", " ")
    '50 % of the buckets violate the promise, and 40 % of the records are in them.'
    """
    verdict = np.where(violated, VIOLATES, KEPT)
    one = what.removesuffix("s")
    rates = [rates_chart(records, {"largest share": violated}, what=what, name="diversity")]
    return [
        *(rates if violated.any() else []),
        sizes_chart(records, verdict, (VIOLATES, KEPT), what=one, name="diversity-sizes"),
    ]
