"""Parts of a page that is made of charts and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from showthrough.report.charts import Chart
from showthrough.report.page import Page
from showthrough.report.provenance import provenance

__all__ = ["Section", "Sheet", "figures_page"]


@dataclass(frozen=True)
class Sheet:
    """A table with a row of heads."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True, eq=False)
class Section:
    """A heading, a sentence or two, charts, and tables."""

    title: str
    lede: str = ""
    charts: Sequence[Chart] = ()
    tables: Sequence[Sheet] = ()


def figures_page(
    kind: str,
    headline: str,
    sections: Sequence[Section],
    *,
    manifest: Mapping[str, Any],
    facts: Sequence[tuple[str, str]] = (),
    standfirst: Sequence[str] = (),
    warning: str = "",
    described: str = "run.json",
) -> Page:
    """A page of sections in the common frame; ``described`` is the file that describes its folder."""
    content = {
        "title": kind,
        "kind": kind,
        "headline": headline,
        "facts": facts,
        "stressed": False,
        "standfirst": standfirst,
        "warning": warning,
        "sections": sections,
        "provenance": provenance(manifest),
    }
    return Page("figures.html", content, described=described)
