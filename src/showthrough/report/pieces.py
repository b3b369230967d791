"""The evidence for findings on its way into a page: packed in pieces of some areas each, or as HTML.

Pieces are unpacked by ``assets/findings.js``, which draws what they hold.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from showthrough.release import Layout
from showthrough.report.evidence import AreaEvidence, Evidence
from showthrough.report.page import pack, safe_text
from showthrough.tables.drawing import DrawnStep
from showthrough.tables.drawn_html import corner, drawing_html
from showthrough.tables.explain import EVIDENCE
from showthrough.tables.shape import TableOutline, shape_of

__all__ = [
    "Pieces",
    "plain_shapes",
    "static_drawing",
]

#: Of all packed evidence together, and of one unpacked piece.
MOST_BYTES, PIECE = 12 * 2**20, 2**20


@dataclass
class Pieces:
    """Evidence on its way into pieces of some areas each. ``where`` is (piece, place) per finding."""

    n_findings: int
    packed: dict[str, str] = field(default_factory=dict[str, str])
    where: list[tuple[int, int]] = field(init=False)
    _open: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _size: int = 0
    _total: int = 0

    def __post_init__(self) -> None:
        self.where = [(-1, 0)] * self.n_findings

    def add(self, found: AreaEvidence) -> None:
        """One area's findings."""
        if self._total > MOST_BYTES:
            return
        area: dict[str, Any] = {
            "proofs": found.words,
            "findings": [_plain(one) for one in found.evidence],
            "values": [cell.value() for cell in found.release.cells] if found.drawings else [],
            "drawn": [[_plain_step(step) for step in one.steps] for one in found.drawings],
        }
        for number, at in enumerate(found.positions):
            self.where[at] = (len(self.packed), len(self._open) << 16 | number)
        self._open.append(area)
        self._size += len(json.dumps(area, ensure_ascii=False))
        if self._size > PIECE:
            self.close()

    def close(self) -> None:
        """Pack what is open."""
        if self._open:
            block = pack(self._open)
            self.packed[f"piece-{len(self.packed)}"] = block
            self._total += len(block)
            self._open, self._size = [], 0


def _plain(one: Evidence) -> dict[str, Any]:
    kinds = list(EVIDENCE)
    return {
        "steps": [[step.says, step.proof, step.drawing] for step in one.steps],
        "ways": one.ways,
        "terms": one.terms,
        "claims": [[terms, kinds.index(how), proof] for terms, how, proof in one.claims],
        "near": [[n.says, n.counts, n.attribute, n.values] for n in one.neighbours],
    }


def _plain_step(step: DrawnStep) -> list[Any]:
    """A step of a drawing as ``findings.js`` reads it."""
    tables = [
        [one.table, one.rows, one.columns, [[mark.cell, mark.sign, mark.times] for mark in one.marks]]
        for one in step.tables
    ]
    total = ", ".join(text for text in (step.sum, step.therefore) if text)
    return [step.heading, tables, total, step.because, step.given, [_plain_step(one) for one in step.cases]]


def plain_shapes(layout: Layout) -> list[Any]:
    """The shapes of all tables, as ``findings.js`` reads them."""
    return [_plain_shape(shape_of(layout, number)) for number in range(len(layout.tables))]


def _plain_shape(shape: TableOutline) -> list[Any]:
    rows = [[row.group, row.head or "count", row.cells] for row in shape.rows]
    return [shape.name, shape.label, corner(shape), shape.columns, rows]


def static_drawing(area: AreaEvidence, number: int | None) -> str | None:
    """A drawing as HTML for readers without scripts."""
    return None if number is None else drawing_html(area.drawings[number], area.release, escape=safe_text)
