"""A chart: a picture for every width, its numbers, its legend, and a sentence about what it shows.

Series differ in colour and, for readers who do not see it, in dashes and points. All charts share one
theme: the colours of the page, its type, and little else.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from showthrough.text import escape_control, escape_html

__all__ = [
    "COLOURS",
    "Chart",
    "Key",
    "Row",
    "Spec",
    "areas",
    "class_axis",
    "config",
    "count_axis",
    "csv_text",
    "draw",
    "encoding",
    "lines",
    "number_axis",
    "points",
    "row_height",
    "rule",
    "share_axis",
    "wrapped_labels",
]

#: Widths of the plot in a wide window and on a phone, without the axis and its labels.
WIDE, NARROW = 420, 265

#: Letters of a text within a picture; the page around it has the whole.
LONGEST = 60

#: The numbers of a chart, row by row, and parts of a Vega-Lite specification, which is plain JSON.
Row = Mapping[str, Any]
Spec = dict[str, Any]

# The page's style sheet finds these colours in the pictures and exchanges them in the dark.
ACCENT, THIRD, PALE = "#a8321b", "#2f6f73", "#b9b0a2"
INK, SOFT, LINE = "#1c1a17", "#5d574e", "#e3ded4"

#: What several series are drawn in, the most important first.
COLOURS = (ACCENT, THIRD, PALE, "#8a6d1f", "#6b5b95", "#4f7a3a", "#9b4a6f", "#3d5a80")

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

#: A scale for numbers of very different sizes.
LOG: Spec = {"type": "log", "nice": False}

#: Letters of a line of a label that is wrapped, and how high such a line is.
LETTERS, LINE_HEIGHT = 18, 13

#: Steps of an axis with whole numbers, at most.
MOST_TICKS = 5

#: A scale that ends where the numbers do.
TIGHT: Spec = {"zero": False, "nice": False}

#: A line of nothing but a gap, for the keys of points.
NO_LINE = (0, 30)

DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (12, 3), (4, 4))

#: Points as Vega names them, and drawn within a square of 10.
SHAPES = {
    "circle": "M5 1.5a3.5 3.5 0 1 0 .01 0z",
    "square": "M2 2h6v6h-6z",
    "triangle-up": "M5 1.2l4 7h-8z",
    "diamond": "M5 .8l4 4.2l-4 4.2l-4-4.2z",
    "cross": "M3.6 1h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6v-2.8h2.6z",
    "triangle-down": "M5 8.8l4-7h-8z",
}


@dataclass(frozen=True, eq=False)
class Chart:
    """What a chart shows, as a Vega-Lite specification without size, data and theme.

    ``rows`` are its numbers, the same that its table and its download hold; ``columns`` names those
    a reader is shown, in order, with their titles. ``says`` is the picture in words, and ``legend``
    names the series with what they are drawn in.
    """

    name: str
    title: str
    says: str
    rows: tuple[Row, ...]
    columns: Mapping[str, str]
    spec: Mapping[str, Any]
    height: int = 220
    note: str = ""
    legend: Sequence[Key] = ()

    @property
    def key(self) -> str:
        """The name in letters that are harmless everywhere; different names have different keys."""
        tame = re.sub(r"[^a-z0-9]+", "-", self.name.lower())[:40].strip("-")
        return tame if tame == self.name else f"{tame}-{hashlib.sha256(self.name.encode()).hexdigest()[:8]}"

    def specification(self, width: int = WIDE) -> Spec:
        """The whole Vega-Lite specification, for whoever wants to draw it."""
        return {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "config": config(),
            "data": {"values": [_drawn(row) for row in self.rows]},
            "width": width,
            "height": self.height,
            "autosize": {"type": "pad"},
            **_drawn(self.spec),
        }

    def plot(self) -> Any:
        """The chart as an Altair object, for notebooks."""
        import altair

        return altair.Chart.from_dict(self.specification())

    def _repr_html_(self) -> str:
        """The picture with its title, for notebooks."""
        keys = ", ".join(f"{key.drawing()} {escape_html(key.name)}" for key in self.legend)
        text = f"<p><strong>{escape_html(self.title)}</strong><br>{escape_html(self.says)}<br>{keys}</p>"
        picture = f'<div role="img" aria-label="{escape_html(self.label)}">{self.pictures()["wide"]}</div>'
        return f"<div>{text}{picture}</div>"

    @property
    def label(self) -> str:
        """What the picture is called for those who do not see it."""
        return f"{self.title}. {self.says}"

    def pictures(self) -> dict[str, str]:
        """The drawings for wide and for narrow windows, as SVG."""
        sizes = {"wide": WIDE, "narrow": NARROW}
        return {
            name: draw(json.dumps(self.specification(width)), f"{self.key}-{name}")
            for name, width in sizes.items()
        }

    def table(self) -> list[list[str]]:
        """The numbers as text, with a row of titles."""
        return [
            list(self.columns.values()),
            *([_number(row.get(c)) for c in self.columns] for row in self.rows),
        ]

    def csv(self) -> str:
        """The numbers as they are, as CSV."""
        return csv_text([list(self.columns), *([row.get(c) for c in self.columns] for row in self.rows)])

    def download(self) -> str:
        """The numbers as an address that needs no network."""
        return f"data:text/csv;charset=utf-8;base64,{base64.b64encode(self.csv().encode()).decode()}"


@dataclass(frozen=True)
class Key:
    """A series as the legend shows it: an area of a colour, or a line with dashes and points."""

    name: str
    colour: str
    dash: tuple[int, ...] = ()
    shape: str = ""

    def drawing(self) -> str:
        """The sample beside the name, as SVG."""
        colour = escape_html(self.colour)
        if not self.dash:
            return (
                '<svg class="key" width="12" height="12" aria-hidden="true">'
                f'<rect width="12" height="12" rx="2" fill="{colour}"/></svg>'
            )
        dash = " ".join(str(length) for length in self.dash)
        path = SHAPES.get(self.shape, "")
        point = f'<path transform="translate(10 1)" d="{path}" fill="{colour}"/>'
        return (
            '<svg class="key" width="30" height="12" aria-hidden="true">'
            f'<path d="M0 6h30" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
            f"{point if path else ''}</svg>"
        )


def areas(colours: Mapping[str, str]) -> tuple[Key, ...]:
    """Keys of bars and areas: names with their colours."""
    return tuple(Key(name, colour) for name, colour in colours.items())


def lines(
    names: Iterable[str], *, colours: Mapping[str, str] | None = None, points: bool = True
) -> tuple[Key, ...]:
    """Keys of lines, different in colour, dashes and points as long as there are enough of each.

    >>> [key.shape for key in lines(["uniform", "sampled"])]
    ['circle', 'square']
    """
    given, shapes = dict(colours or {}), list(SHAPES)
    free = [colour for colour in COLOURS if colour != PALE and colour not in given.values()] or [PALE]
    made, taken = list[Key](), 0
    for at, name in enumerate(dict.fromkeys(names)):
        colour = given.get(name)
        if colour is None:
            colour, taken = free[taken % len(free)], taken + 1
        shape = shapes[at % len(shapes)] if points else ""
        made.append(Key(name, colour, DASHES[at % len(DASHES)], shape))
    return tuple(made)


def encoding(field: str, keys: Iterable[Key]) -> Spec:
    """The channels of a Vega-Lite encoding that tell the series in ``field`` apart."""
    every = tuple(keys)
    names = [key.name for key in every]

    def channel(values: Iterable[Any]) -> Spec:
        return {"field": field, "type": "nominal", "scale": {"domain": names, "range": list(values)}}

    found = {"color": channel(key.colour for key in every)}
    if all(key.dash for key in every):
        found["strokeDash"] = channel(list(key.dash) for key in every)
    if all(key.shape for key in every):
        found["shape"] = channel(key.shape for key in every)
    return found


def class_axis(field: str, title: str, *, sort: Any = None) -> Spec:
    """A field with classes as an axis, in alphabetical order unless another one is given."""
    return {"field": field, "type": "ordinal", "title": title, **({"sort": sort} if sort else {})}


def number_axis(field: str, title: str, *, scale: Spec | None = None, **shown: Any) -> Spec:
    """A field with numbers as an axis; ``shown`` says how: ``format``, ``tickCount``, ``values``.

    >>> number_axis("size", "people", scale=LOG, format="~s")["axis"]
    {'title': 'people', 'format': '~s'}
    """
    made = {"field": field, "type": "quantitative", "axis": {"title": title, **shown}}
    return made if scale is None else made | {"scale": scale}


def count_axis(field: str, title: str, top: float) -> Spec:
    """A field with numbers of things as an axis from 0 to ``top`` or more, with whole numbers only.

    >>> axis = count_axis("claims", "claims", 7)
    >>> axis["axis"]["values"], axis["scale"]["domain"], count_axis("claims", "claims", 1)["axis"]["values"]
    ([0, 2, 4, 6, 8], [0, 8], [0, 1])
    """
    wanted = max(1, math.ceil(top))
    steps = (factor * 10**power for power in range(300) for factor in (1, 2, 5))
    step = next(step for step in steps if -(-wanted // step) <= MOST_TICKS)
    values = list(range(0, step * -(-wanted // step) + 1, step))
    return number_axis(field, title, scale={"domain": [0, values[-1]]}, values=values, format=",d")


def row_height(labels: Iterable[str], least: int = 24) -> int:
    """How high each row of a chart is whose labels are wrapped.

    >>> row_height(["none", "asthma"]), row_height(["Diseases of the circulatory system"])
    (24, 32)
    """
    lines = max((len(textwrap.wrap(_drawn(label), LETTERS)) for label in labels), default=1)
    return max(least, LINE_HEIGHT * lines + 6)


def wrapped_labels() -> Spec:
    """What an axis needs to break long labels between words instead of cutting them."""
    pattern = rf"(\\S{{{LETTERS},}}|.{{1,{LETTERS}}})(?:\\s+|$)"
    text = f"split(trim(replace(datum.label, regexp('{pattern}', 'g'), '$1\\n')), '\\n')"
    return {"labelExpr": text, "labelLimit": 0, "labelOverlap": False, "labelLineHeight": LINE_HEIGHT}


def share_axis(field: str, title: str, top: float = 1.0) -> Spec:
    """A field with shares from 0 on, as an axis in percent."""
    return number_axis(field, title, scale={"domain": [0, top], "nice": True}, format="~%")


def rule(channel: str, axis: Spec, at: float, colour: str, dash: Sequence[int] = (2, 2)) -> Spec:
    """A layer: a line across the picture where the axis has this value."""
    return {
        "data": {"values": [{axis["field"]: at}]},
        "mark": {"type": "rule", "color": colour, "strokeDash": list(dash), "strokeWidth": 1.5},
        "encoding": {channel: axis},
    }


def points(rows: Iterable[Row], axes: Mapping[str, Spec], key: Key, **mark: Any) -> Spec:
    """A layer: points drawn as a key of the legend says; ``mark`` adds ``size`` and ``opacity``."""
    return {
        "data": {"values": [dict(row) for row in rows]},
        "mark": {"type": "point", "filled": True, "color": key.colour, "shape": key.shape, **mark},
        "encoding": dict(axes),
    }


@lru_cache(maxsize=256)
def draw(specification: str, name: str) -> str:
    """A Vega-Lite specification as SVG that may stand in a page beside others."""
    import vl_convert  # half a second, and only pages need it

    svg = vl_convert.vegalite_to_svg(json.loads(specification))
    svg = re.sub(r"\s(?:role|aria-[a-z]+|style|version|xmlns:xlink)=\"[^\"]*\"", "", svg)
    svg = _renamed(svg, name)
    return re.sub(r'^<svg [^>]*?width="(\d+)" height="(\d+)"', _frame, svg, count=1)


def _renamed(svg: str, name: str) -> str:
    """Names of its own for the parts of a chart: Vega numbers them through all charts it ever drew."""
    parts = {part: at for at, part in enumerate(dict.fromkeys(re.findall(r'\bid="([^"]*)"', svg)))}
    return re.sub(
        r'(\bid="|url\(#|href="#)([^")]*)',
        lambda found: f"{found[1]}{name}-{parts.get(found[2], found[2])}",
        svg,
    )


def _frame(found: re.Match[str]) -> str:
    return f'<svg aria-hidden="true" focusable="false" width="{found[1]}" height="{found[2]}"'


def csv_text(rows: Sequence[Sequence[Any]]) -> str:
    """Rows as CSV; text that a spreadsheet would take for a formula gets a quote before it.

    >>> csv_text([["k", "share"], ["=1", 0.5]])
    "k,share\\r\\n'=1,0.5\\r\\n"
    """
    text = io.StringIO()
    csv.writer(text).writerows([[_harmless(value) for value in row] for row in rows])
    return text.getvalue()


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        value = value if value.isprintable() else escape_control(value)
        return f"'{value}" if value.startswith(("=", "+", "-", "@")) else value
    return value


def config() -> Spec:
    """The theme, as Vega-Lite takes it."""
    axis = {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelPadding": 6,
        "labelLimit": 180,
        "gridColor": LINE,
        "domainColor": SOFT,
        "tickColor": SOFT,
        "ticks": False,
        "labelOverlap": True,
    }
    return {
        "aria": False,
        "background": "transparent",
        "font": FONT,
        "padding": 4,
        "view": {"stroke": None},
        "axis": axis,
        "axisX": {"grid": False, "labelAngle": 0},
        "axisY": {"domain": False, "tickCount": 5},
        "legend": {"disable": True},  # the page writes its own, which wraps and grows with the text
        "range": {"category": list(COLOURS)},
        "bar": {"color": ACCENT, "cornerRadiusEnd": 2},
        "line": {"color": ACCENT, "strokeWidth": 2.25},
        "point": {"color": ACCENT, "filled": True, "size": 36},
        "rule": {"color": SOFT},
        "tick": {"color": INK},
    }


def _drawn(content: Any) -> Any:
    """Text as it may stand in a picture: visible, and short; what is cut keeps its identity.

    >>> _drawn({"title": "a\\n"}), len(_drawn("x" * 10_000))
    ({'title': 'a\\\\u000a'}, 58)
    """
    if isinstance(content, str):
        text = content if content.isprintable() else escape_control(content)
        if len(text) <= LONGEST:
            return text
        return f"{text[: LONGEST - 7]}…{hashlib.sha256(text.encode()).hexdigest()[:4]}"
    if isinstance(content, Mapping):
        return {name: value if name == "labelExpr" else _drawn(value) for name, value in content.items()}
    return [_drawn(value) for value in content] if isinstance(content, list | tuple) else content


def _number(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
