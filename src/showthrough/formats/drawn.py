"""Tables before and after protecting, drawn as printed: what the page of a protected release shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from showthrough.errors import RunError
from showthrough.files import read_json, write_json
from showthrough.formats.hand_back import HandedBack
from showthrough.formats.printed.print_grid import PrintedGrid, draw_grid
from showthrough.formats.printed.table import PrintedTable

__all__ = [
    "BeforeAndAfter",
    "DrawnGrid",
    "read_drawn",
    "write_drawn",
]

#: The file with the drawn tables, for the publisher alone.
DRAWN = "before-and-after.json"

#: Tables, and rows and columns of each, that are drawn.
MOST_TABLES, MOST_ROWS, MOST_COLUMNS = 30, 48, 16

#: A text with how many columns it spans, and a text with what was done to it.
Head = tuple[str, int]
Value = tuple[str, str]


@dataclass(frozen=True)
class DrawnGrid:
    """A table as printed.

    Parameters
    ----------
    head
        The rows of headers: texts, and how many columns each spans.
    rows
        The rows: texts, and what was done to each; the labels come first.
    labels
        How many columns hold labels.
    n_left_out
        How many rows and columns are not drawn.
    """

    head: tuple[tuple[Head, ...], ...]
    rows: tuple[tuple[Value, ...], ...]
    labels: int
    n_left_out: int = 0

    @classmethod
    def of(cls, table: PrintedTable, states: Sequence[str]) -> DrawnGrid:
        """A table, with what was done to each of its cells."""
        grid = draw_grid(table)
        marks = draw_grid(replace(table, values=list(states), flags=()))
        first, body = grid.header
        last = body + len(np.unique(table.codes[:, : grid.dimensions], axis=0))
        width = grid.labels + MOST_COLUMNS
        rows = [
            tuple(
                (text, "" if at < grid.labels else mark)
                for at, (text, mark) in enumerate(zip(row[:width], done[:width], strict=True))
            )
            for row, done in zip(grid.rows[body:last], marks.rows[body:last], strict=True)
        ]
        n_columns = max((len(row) for row in grid.rows[body:last]), default=0) - grid.labels
        left_out = max(0, len(rows) - MOST_ROWS) + max(0, n_columns - MOST_COLUMNS)
        head = [_spans(grid, at, width) for at in range(first, body)]
        return cls(tuple(head), tuple(rows[:MOST_ROWS]), grid.labels, left_out)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> DrawnGrid:
        """Read what JSON has."""
        head = tuple(tuple((str(text), int(span)) for text, span in row) for row in plain["head"])
        rows = tuple(tuple((str(text), str(state)) for text, state in row) for row in plain["rows"])
        return cls(head, rows, int(plain["labels"]), int(plain["n_left_out"]))


@dataclass(frozen=True)
class BeforeAndAfter:
    """A table before and after.

    Parameters
    ----------
    name, title
        What it is called in the release, and its title as printed.
    before, after
        The two, as printed.
    mark
        What suppressed cells show.
    """

    name: str
    title: str
    before: DrawnGrid
    after: DrawnGrid
    mark: str

    @classmethod
    def of(cls, one: HandedBack) -> BeforeAndAfter:
        """A table that is handed back."""
        before = DrawnGrid.of(one.before, one.changed)
        mark = " ".join(part for part in one.mark if part)
        return cls(one.after.name, one.before.title, before, DrawnGrid.of(one.after, one.states), mark)

    def note(self) -> str:
        """What the marked cells of the table after are."""
        states = {state for row in self.after.rows for _, state in row if state}
        if not states:
            return "Nothing was changed in this table." if self.is_same else ""
        shown = [f"suppressed ({self.mark})" if state == "suppressed" else state for state in sorted(states)]
        return f"Framed: {', '.join(shown)}."

    @property
    def is_same(self) -> bool:
        """Whether nothing was changed."""
        return not any(state for one in (self.before, self.after) for row in one.rows for _, state in row)


def write_drawn(tables: Sequence[HandedBack], folder: Path) -> None:
    """Draw tables into a folder; those that changed come first, and no more than a page can show."""
    ordered = sorted(tables, key=lambda one: not any(one.states))
    drawn = [asdict(BeforeAndAfter.of(one)) for one in ordered[:MOST_TABLES]]
    write_json(folder / DRAWN, {"tables": drawn, "n_left_out": len(ordered) - len(drawn)})


def read_drawn(folder: Path) -> tuple[list[BeforeAndAfter], int]:
    """The drawn tables of a folder, and how many are not drawn; none if it has no such file."""
    if not (folder / DRAWN).exists():
        return [], 0
    plain = read_json(folder / DRAWN, error=RunError)
    try:
        made = [
            BeforeAndAfter(
                str(one["name"]),
                str(one["title"]),
                DrawnGrid.from_plain(one["before"]),
                DrawnGrid.from_plain(one["after"]),
                str(one["mark"]),
            )
            for one in plain["tables"]
        ]
        return made, int(plain["n_left_out"])
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(
            "the drawn tables cannot be read", file=str(folder / DRAWN), found=str(error)
        ) from None


def _spans(grid: PrintedGrid, at: int, width: int) -> tuple[Head, ...]:
    """A row of headers; cells that are one in print are one here."""
    wide = {(row, left): right - left + 1 for row, left, _, right in grid.merged}
    row = [*grid.rows[at], *[""] * (max(map(len, grid.rows)) - len(grid.rows[at]))][:width]
    found, column = list[Head](), 0
    while column < len(row):
        span = min(wide.get((at, column), 1), width - column)
        found.append((row[column].strip(), span))
        column += span
    return tuple(found)
