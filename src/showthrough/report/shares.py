"""Shares as people read them: in sentences, and on axes."""

from __future__ import annotations

from typing import Any

__all__ = ["percent", "share_axis", "share_text"]


def percent(share: float) -> str:
    """A given share, such as a promised one, in percent.

    >>> percent(0.3), percent(1 / 13)
    ('30 %', '7.692 %')
    """
    return f"{100 * share:.4g} %"


def share_text(share: float) -> str:
    """A measured share in percent; 0 and 100 only where it is that.

    >>> [share_text(share) for share in (0, 0.0002, 0.25, 0.1234, 0.9998, 1)]
    ['0 %', 'under 0.1 %', '25 %', '12.3 %', 'over 99.9 %', '100 %']
    """
    if 0 < share < 0.0005:
        return "under 0.1 %"
    if 0.9995 <= share < 1:
        return "over 99.9 %"
    return f"{f'{100 * share:.1f}'.removesuffix('.0')} %"


def share_axis(field: str, title: str, top: float = 1.0) -> dict[str, Any]:
    """A field with shares from 0 on, as an axis in percent."""
    return {
        "field": field,
        "type": "quantitative",
        "axis": {"format": "~%", "title": title},
        "scale": {"domain": [0, top], "nice": True},
    }
