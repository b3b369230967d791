"""How charts look, said once: the colours of the page, its type, and little else."""

from __future__ import annotations

from typing import Any

__all__ = ["ACCENT", "COLOURS", "INK", "LINE", "PALE", "SOFT", "THIRD", "config"]

# The page's style sheet finds these colours in the pictures and exchanges them in the dark.
ACCENT, THIRD, PALE = "#a8321b", "#2f6f73", "#b9b0a2"
INK, SOFT, LINE = "#1c1a17", "#5d574e", "#e3ded4"

#: What several series are drawn in, the most important first.
COLOURS = (ACCENT, THIRD, PALE, "#8a6d1f", "#6b5b95", "#4f7a3a", "#9b4a6f", "#3d5a80")

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def config() -> dict[str, Any]:
    """The theme, as Vega-Lite takes it."""
    axis = {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelPadding": 6,
        "labelLimit": 160,
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
