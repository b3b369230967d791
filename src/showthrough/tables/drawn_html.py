"""Drawings of proofs as HTML: with classes for a page, or with styles of its own for a notebook.

``assets/findings.js`` of the report draws the same for findings that a page unpacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from showthrough.release import Release
from showthrough.tables.drawing import Drawing, DrawnStep, DrawnTable, UsedCell
from showthrough.tables.shape import GAP, TableOutline, shape_of
from showthrough.text import escape_html

__all__ = [
    "corner",
    "drawing_html",
]

#: What each sign is called in class names.
_CLASSES = {"+": "plus", "−": "minus", "✕": "never"}

#: Styles for where there is no style sheet. Signs say what the colours say; both fit light and dark.
_STYLES = {
    "step": "margin:.75em 0",
    "tables": "display:flex;flex-wrap:wrap;gap:1em 2em;align-items:flex-start;margin:.5em 0",
    "drawn": "margin:0;max-width:100%;overflow-x:auto",
    "caption": "font-size:.85em;font-weight:600;margin-bottom:.25em",
    "grid": "border-collapse:collapse;font-variant-numeric:tabular-nums",
    "grid list": "border-collapse:collapse;font-variant-numeric:tabular-nums",
    "head": "font-weight:normal;font-size:.85em;text-align:left;padding:.2em .6em;max-width:24em",
    "cell": "text-align:right;padding:.2em .6em;border:1px solid rgba(128,128,128,.35);opacity:.75",
    "plus": "text-align:right;padding:.2em .6em;border:2px solid #2f6f73;font-weight:600",
    "minus": "text-align:right;padding:.2em .6em;border:2px dashed #a8321b;font-weight:600",
    "never": "text-align:right;padding:.2em .6em;border:2px dotted #8a8378",
    "total": "font-weight:600;margin:.25em 0",
    "given": "margin:.25em 0 0;padding-left:1.25em;font-size:.9em",
}


def drawing_html(
    drawing: Drawing,
    release: Release,
    *,
    inline: bool = False,
    escape: Callable[[object], str] = escape_html,
) -> str:
    """A drawing as HTML: with classes, or with styles ``inline``; ``escape`` makes text of anything.

    >>> import showthrough as st
    >>> from showthrough.tables.drawing import draw_proof
    >>> schema = st.Schema.of({"sex": ["f", "m"]})
    >>> release = st.Release.of(schema, {"total": [3], "sex": [1, None]})
    >>> drawing = draw_proof(st.bounds(release, "sex=m").low_proof, release)
    >>> "3 − 1 = 2, so at least 2 records." in drawing_html(drawing, release)
    True
    """
    made = _Html(release, _STYLES if inline else {}, escape)
    return "".join(made.step(step) for step in drawing.steps)


class _Html:
    """HTML with classes, or with styles for these."""

    def __init__(self, release: Release, styles: Mapping[str, str], escape: Callable[[object], str]) -> None:
        self.release = release
        self.styles = styles
        self.escape = escape

    def step(self, step: DrawnStep) -> str:
        """One step and its cases."""
        added = [one for one in step.tables if one.added]
        parts = [self._p("heading", step.heading), self._tables(added)]
        total = ", ".join(text for text in (step.sum, step.therefore) if text)
        if not step.cases:
            parts.append(self._p("total", total))
        parts.append(self._p("because", step.because))
        parts.append(self._tables([one for one in step.tables if not one.added]))
        if step.given:
            items = "".join(f"<li>{self.escape(text)}</li>" for text in step.given)
            parts.append(f"<ul{self._kind('given')}>{items}</ul>")
        parts += [self.step(case) for case in step.cases]
        if step.cases:
            parts.append(self._p("total", total))
        return f"<div{self._kind('step')}>{''.join(parts)}</div>"

    def _tables(self, drawn: Sequence[DrawnTable]) -> str:
        tables = "".join(self.table(one) for one in drawn)
        return f"<div{self._kind('tables')}>{tables}</div>" if tables else ""

    def table(self, drawn: DrawnTable) -> str:
        """One table with its marks."""
        shape = shape_of(self.release.layout, drawn.table)
        marks = {mark.cell: mark for mark in drawn.marks}
        name = f"Table {shape.name}"
        label = f" <small>{self.escape(shape.label)}</small>" if shape.label else ""
        caption = f"<figcaption{self._kind('caption')}>{self.escape(name)}{label}</figcaption>"
        rows = "".join(self._rows(shape, drawn, marks))
        kind = self._kind("grid" if len(shape.columns) > 1 else "grid list")
        table = f"<table{kind}>{self._head(shape, drawn)}<tbody>{rows}</tbody></table>"
        scroll = f'tabindex="0" role="group" aria-label="{self.escape(name)}"'
        return f'<figure{self._kind("drawn")}>{caption}<div class="scroll" {scroll}>{table}</div></figure>'

    def _head(self, shape: TableOutline, drawn: DrawnTable) -> str:
        first = f"<td{self._kind('head')}>{self.escape(corner(shape))}</td>"
        heads = "".join(
            f'<th scope="col"{self._kind("head")}>{"…" if at == GAP else self.escape(shape.columns[at])}</th>'
            for at in drawn.columns
        )
        return f"<thead><tr>{first}{heads}</tr></thead>"

    def _rows(self, shape: TableOutline, drawn: DrawnTable, marks: Mapping[int, UsedCell]) -> list[str]:
        made, group = list[str](), ""
        for at in drawn.rows:
            if at == GAP:
                made.append(f"<tr><td{self._kind('head')}>⋮</td></tr>")
                continue
            row = shape.rows[at]
            if row.group and row.group != group:
                across = len(drawn.columns) + 1
                span = f'scope="rowgroup" colspan="{across}"{self._kind("head")}'
                made.append(f"<tr><th {span}>{self.escape(row.group)}</th></tr>")
            group = row.group
            head = f'<th scope="row"{self._kind("head")}>{self.escape(row.head or "count")}</th>'
            cells = (self._cell(GAP if c == GAP else row.cells[c], marks) for c in drawn.columns)
            made.append(f"<tr>{head}{''.join(cells)}</tr>")
        return made

    def _cell(self, at: int, marks: Mapping[int, UsedCell]) -> str:
        if at == GAP:
            return "<td></td>"
        mark, value = marks.get(at), self.escape(self.release.cells[at].value())
        if mark is None:
            return f"<td{self._kind('cell')}>{value}</td>"
        times = f"{mark.times:,} × " if mark.times > 1 else ""
        return f"<td{self._kind(_CLASSES[mark.sign])}><b>{mark.sign}</b> {times}{value}</td>"

    def _p(self, kind: str, text: str) -> str:
        return f"<p{self._kind(kind)}>{self.escape(text)}</p>" if text else ""

    def _kind(self, name: str) -> str:
        if not self.styles:
            return f' class="{name}"'
        return f' style="{self.styles[name]}"' if name in self.styles else ""


def corner(shape: TableOutline) -> str:
    """What rows and columns are values of."""
    if shape.down and shape.across:
        return f"{shape.down}\u00a0↓ {shape.across}\u00a0→"
    return shape.down or shape.across
