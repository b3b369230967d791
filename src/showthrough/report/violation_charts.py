"""Charts of violations: how many groups and records violate a promise, and how large such groups are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.report.charts import Chart
from showthrough.report.series import areas, encoding
from showthrough.report.shares import share_axis, share_text
from showthrough.report.theme import ACCENT, COLOURS, THIRD

__all__ = ["KEPT", "diversity_charts", "rates_chart", "sizes_chart"]

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

VIOLATES, KEPT = "violates the promise", "keeps the promise"


def rates_chart(
    records: Whole, violated: Mapping[str, Flags], *, what: str = "groups", name: str = "violations"
) -> Chart:
    """v_g and v_r, the shares of groups and of records, as bars."""
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
    first = f"By {bound}, {share_text(of_groups)}" if len(shares) > 1 else share_text(of_groups)
    return Chart(
        name,
        f"How many {what} and records violate it",
        f"{first} of the {what} violate the promise, and {share_text(of_records)} of the records are in "
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
    """Records by the size of their group, and by what was found about it; the last verdict is good."""
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
                "x": {
                    "field": "size",
                    "type": "ordinal",
                    "sort": classes,
                    "title": f"records of the {what}",
                },
                "y": {"field": "records", "type": "quantitative", "title": "records", "stack": True},
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
    >>> charts[0].says
    '50 % of the buckets violate the promise, and 40 % of the records are in them.'
    """
    verdict = np.where(violated, VIOLATES, KEPT)
    one = what.removesuffix("s")
    rates = [rates_chart(records, {"largest share": violated}, what=what, name="diversity")]
    return [
        *(rates if violated.any() else []),
        sizes_chart(records, verdict, (VIOLATES, KEPT), what=one, name="diversity-sizes"),
    ]
