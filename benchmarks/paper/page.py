"""One page with every figure: charts of our numbers beside the printed ones, and what came of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.paper.figure import Curve, Figure

from showthrough.report.charts import NO_LINE, Chart, Key, encoding, lines, number_axis
from showthrough.report.page import Page, Section, Sheet, figures_page, write_page

#: The papers by number.
PAPERS = {
    "000": "Liu, Xiao, Thaker, Smith, Wu: Generate-then-Verify",
    "001": "Wang, Han, Fu, Wong, Yu: Reconstruction Privacy",
    "002": "Guo, Wu, Li: Deriving Private Information from Perturbed Data Using IQR Based Approach",
    "003": "Chaytor, Wang: Small Domain Randomization",
}

#: The verdicts, as facts at the top of the page.
COUNTED = {
    "reproduced": "reproduced",
    "in part": "reproduced in part",
    "not reproduced": "not reproduced",
    "comparison": "compared, without a claim of the papers",
}

PRINTED = "printed"


def figures_written(figures: Sequence[Figure], settings: Mapping[str, Any], path: Path) -> Path:
    """Write the page of all figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_page(papers_page(figures, settings), path)


def papers_page(figures: Sequence[Figure], settings: Mapping[str, Any]) -> Page:
    """The page: a table of all figures, then each of them."""
    tallied = {name: sum(figure.verdict == name for figure in figures) for name in COUNTED}
    manifest = {
        "parameters": dict(settings),
        "versions": {name: metadata.version(name) for name in ("showthrough", "numpy", "scipy")},
    }
    return figures_page(
        "The figures of the papers",
        f"Of {len(figures)} figures and tables, {tallied['reproduced']} are reproduced, "
        f"{tallied['in part']} in part, {tallied['not reproduced']} not.",
        [_overview(figures), *(_section(figure) for figure in figures)],
        manifest=manifest,
        facts=[(str(number), COUNTED[name]) for name, number in tallied.items()],
        standfirst=[
            "Lines are what comes out here, with the standard deviation over draws; crosses are the numbers "
            "that the papers print. Data of theirs that are not public are replaced as each section says."
        ],
    )


def _overview(figures: Sequence[Figure]) -> Section:
    rows = [(figure.name, figure.title, figure.verdict, figure.why) for figure in figures]
    named = "; ".join(f"{number}: {title}" for number, title in PAPERS.items())
    return Section(
        "What came of each figure",
        f"{named}.",
        tables=[Sheet("", ("figure", "what it shows", "here", "why"), rows)],
    )


def _section(figure: Figure) -> Section:
    said = [(one.text, one.found, "yes" if one.holds else "no") for one in figure.said]
    heads, *rows = figure.table() or [[]]
    tables = [Sheet("Numbers", heads, rows, "Here, ± the standard deviation over draws, (printed).")]
    if said:
        tables.insert(0, Sheet("What the paper says", ("the paper", "here", "the same"), said))
    lede = " ".join(filter(None, (f"{figure.verdict.capitalize()}.", figure.why, *figure.notes, figure.data)))
    return Section(f"{figure.name}: {figure.title}", lede, charts=charts(figure), tables=tables)


def charts(figure: Figure) -> list[Chart]:
    """The charts of a figure: one for all series at the same places."""
    groups = dict[tuple[str, ...], list[Curve]]()
    for curve in figure.curves:
        groups.setdefault(curve.at, []).append(curve)
    return [
        _chart(figure, number, curves) for number, curves in enumerate(groups.values()) if len(curves[0].at)
    ]


def _chart(figure: Figure, number: int, curves: Sequence[Curve]) -> Chart:
    rows = [row for curve in curves for row in _rows(figure, curve)]
    legend = _legend(curves)
    marks = encoding("series", legend)
    title = f"{figure.y}, in percent" if figure.unit else figure.y
    scale = {"type": "log", "nice": False} if figure.log else {"zero": False}
    y = number_axis("value", title, scale=scale)
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "line", "point": True, "clip": True}, "encoding": {"y": y, **marks}},
    ]
    if any(curve.spread for curve in curves):
        ends = {"y": number_axis("low", title, scale=scale), "y2": {"field": "high"}}
        layers.insert(
            0,
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "opacity": 0.5},
                "encoding": {**ends, "color": marks["color"]},
            },
        )
    return Chart(
        f"{figure.name}-{number}".lower().replace(" ", "-"),
        figure.title,
        f"{len(curves)} series of {len(curves[0].at)} numbers, by {figure.x}.",
        tuple(rows),
        {"series": "series", "at": figure.x, "value": title, "low": "from", "high": "to"},
        {"encoding": {"x": _x_axis(figure, curves[0])}, "layer": layers},
        legend=legend,
    )


def _x_axis(figure: Figure, curve: Curve) -> dict[str, Any]:
    if figure.numeric:
        return number_axis("at", figure.x, scale={"zero": False, "nice": False})
    axis = {"title": figure.x, "labelLimit": 90}
    return {"field": "at", "type": "ordinal", "sort": list(curve.at), "axis": axis}


def _rows(figure: Figure, curve: Curve) -> list[dict[str, Any]]:
    """The numbers of a series, and those printed; logarithms want positive ones."""
    scale = 100.0 if figure.unit == "%" else 1.0
    rows = list[dict[str, Any]]()
    for at, place in enumerate(curve.at):
        where: Any = float(place.replace(",", "")) if figure.numeric else place
        value = _rounded(scale * curve.mean[at])
        value = None if figure.log and not (value or 0) > 0 else value
        row = {"series": curve.name, "at": where, "value": value}
        if curve.spread is not None:
            off = scale * curve.spread[at]
            low = scale * curve.mean[at] - off
            row |= {"low": _rounded(max(low, 1e-9) if figure.log else low), "high": _rounded(low + 2 * off)}
        rows.append(row)
        given = None if curve.printed is None else curve.printed[at]
        if given is not None:
            rows.append({"series": f"{curve.name}, {PRINTED}", "at": where, "value": scale * given})
    return rows


def _rounded(number: float) -> float | None:
    return float(f"{number:.5g}") if number == number else None


def _legend(curves: Sequence[Curve]) -> tuple[Key, ...]:
    """Lines for our numbers; the print in the same colour, without a line."""
    ours = lines([curve.name for curve in curves])
    keys = list[Key]()
    for key, curve in zip(ours, curves, strict=True):
        keys.append(key)
        if curve.printed is not None:
            keys.append(Key(f"{curve.name}, {PRINTED}", key.colour, NO_LINE, "cross"))
    return tuple(keys)
