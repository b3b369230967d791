"""Foreign text, safe to show: on a terminal, in a page, in a notebook."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["html_summary", "plain"]

# Control characters, marks that turn the direction of text, line separators, and halves of
# characters: nothing foreign may move the cursor, change colours or reorder a line.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    r"""Foreign text with everything that could steer a terminal or turn a line around made visible.

    >>> plain("a\x1b[31mb\n")
    'a\\u001b[31mb\\u000a'
    """
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def html_summary(title: str, rows: Sequence[Sequence[object]], *, note: str = "") -> str:
    """A title, a table whose first row holds the heads, and a note, as HTML for a notebook.

    >>> html_summary("<b>", [["k"], [1]])
    '<div><p><strong>&lt;b&gt;</strong></p><table><tr><th>k</th></tr><tr><td>1</td></tr></table></div>'
    """
    lines = [
        "".join(f"<{tag}>{_escaped(cell)}</{tag}>" for cell in row)
        for at, row in enumerate(rows)
        for tag in ["td" if at else "th"]
    ]
    table = "".join(f"<tr>{line}</tr>" for line in lines)
    after = f"<p>{_escaped(note)}</p>" if note else ""
    return f"<div><p><strong>{_escaped(title)}</strong></p><table>{table}</table>{after}</div>"


def _escaped(value: object) -> str:
    import html  # for notebooks only: it takes a while to load

    return html.escape(plain(str(value)))
