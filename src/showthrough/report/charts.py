"""A chart: a picture for every width, its numbers, and a sentence that says what it shows."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from showthrough.plain import plain
from showthrough.report.series import Key
from showthrough.report.theme import config

__all__ = ["Chart", "csv_text", "draw"]

#: Widths of the plot in a wide window and on a phone, without the axis and its labels.
WIDE, NARROW = 420, 265

#: Letters of a text within a picture; the page around it has the whole.
LONGEST = 60

Row = Mapping[str, Any]


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

    def specification(self, width: int = WIDE) -> dict[str, Any]:
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
        keys = ", ".join(f"{key.drawing()} {_escaped(key.name)}" for key in self.legend)
        text = f"<p><strong>{_escaped(self.title)}</strong><br>{_escaped(self.says)}<br>{keys}</p>"
        return f"<div>{text}{self.pictures()['wide']}</div>"

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
        value = plain(value)
        return f"'{value}" if value.startswith(("=", "+", "-", "@")) else value
    return value


def _drawn(content: Any) -> Any:
    """Text as it may stand in a picture: visible, and short; what is cut keeps its identity.

    >>> _drawn({"title": "a\\n"}), len(_drawn("x" * 10_000))
    ({'title': 'a\\\\u000a'}, 58)
    """
    if isinstance(content, str):
        text = plain(content)
        if len(text) <= LONGEST:
            return text
        return f"{text[: LONGEST - 7]}…{hashlib.sha256(text.encode()).hexdigest()[:4]}"
    if isinstance(content, Mapping):
        return {name: _drawn(value) for name, value in content.items()}
    return [_drawn(value) for value in content] if isinstance(content, list | tuple) else content


def _escaped(text: str) -> str:
    return html.escape(plain(text))


def _number(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
