"""Where tables stand in a grid of cells: titles, header rows, rows of values, headings and footnotes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from showthrough.formats.printed.grid import TextGrid, is_value, may_be_label

__all__ = [
    "Region",
    "find_regions",
]

Kind = Literal["blank", "lone", "words", "marks", "values"]


@dataclass
class Region:
    """One table's place in a grid; all rows are numbered from 0.

    Parameters
    ----------
    header
        The rows that name columns.
    body
        The rows of values.
    headings
        Rows between them with a label and no value.
    title, notes
        The texts above and below.
    """

    header: list[int]
    body: list[int] = field(default_factory=list[int])
    headings: list[int] = field(default_factory=list[int])
    title: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])


def find_regions(grid: TextGrid) -> list[Region]:
    """The tables of a grid, from top to bottom.

    >>> rows = [["Table 1"], [], ["Area", "m", "f"], ["a", "1", "2"], ["Source: office"]]
    >>> [(found.title, found.header, found.body, found.notes) for found in find_regions(TextGrid(rows, "s"))]
    [(['Table 1'], [2], [3], ['Source: office'])]
    """
    walk = _Walk(grid)
    for row in range(len(grid.rows)):
        walk.step(row)
    walk.close(len(grid.rows))
    return [region for region in walk.regions if region.body]


class _Walk:
    """Row by row: what belongs to the table that is open, and what opens another."""

    def __init__(self, grid: TextGrid) -> None:
        self.grid = grid
        self.regions: list[Region] = []
        self.open: Region | None = None
        self.lone: list[int] = []  # rows with one text, of which it is not known yet what they are
        self.gap: int = -1  # the last blank row

    def step(self, row: int) -> None:
        """Look at the next row."""
        filled = _filled(self.grid, row)
        kind = _kind(self.grid, row, filled)
        if kind == "blank":
            self.gap = row
        elif kind == "lone":
            self.lone.append(row)
        elif kind == "words" or (kind == "marks" and self._may_be_labels(row)):
            self._words(row, filled)
        else:
            self._values(row)

    def _may_be_labels(self, row: int) -> bool:
        """Whether texts such as N or <15 are headers, because no value was seen and columns need names."""
        region = self.open
        if region is None:
            return True
        return not region.body and not (
            self.grid.text(row, 0) and _tells_apart(self.grid, region.header, row)
        )

    def _words(self, row: int, filled: Sequence[int]) -> None:
        region = self.open
        if region is None:
            self._start(row)
        elif region.body and self._repeats_header(region, row):
            return
        elif not region.body and self.gap > region.header[-1]:  # a list of words, and no header
            titles = [_joined(self.grid, head) for head in region.header]
            self.regions.remove(region)
            self.open = None
            self._start(row)
            self.regions[-1].title[:0] = [*region.title, *titles]
        elif not region.body and self._repeats_one_mark(region, row, filled):
            region.body.append(row)
        elif not region.body:
            region.header += [*self._take_lone(), row]
        elif not self._reaches_values(region, filled):
            region.headings += [*self._take_lone(), row]
        elif self._is_apart(region):
            self._start(row)
        else:  # a row of marks that we do not know
            region.headings += self._take_lone()
            region.body.append(row)

    def _repeats_header(self, region: Region, row: int) -> bool:
        """Whether a row of words says the header once more, as at the top of a printed page."""
        known = [self.grid.text(region.header[-1], column) for column in range(len(self.grid.rows[row]))]
        same = known == [text.strip() for text in self.grid.rows[row]]
        return same and self.gap < region.body[-1] and not self.lone

    def _repeats_one_mark(self, region: Region, row: int, filled: Sequence[int]) -> bool:
        """Whether the same word stands in all columns of a row with a label: it names none of them."""
        words = {self.grid.text(row, column) for column in filled if column}
        named = {self.grid.text(region.header[-1], column) for column in filled if column}
        return not self.lone and filled[0] == 0 and len(filled) > 2 and len(words) == 1 < len(named)

    def _values(self, row: int) -> None:
        region = self.open
        if region is None:
            above = [lone for lone in self.lone if lone > self.gap and self._stands_right(lone)]
            if above or _can_head(self.grid, row):
                self._start(row if not above else None, above)
                region = self.open
                if above and region is not None:
                    self._first(region, row)
            return
        if not region.body:
            self._first(region, row)
        elif self._is_apart(region) and self._heads_anew(region, row):
            self._start(row)
        else:
            region.headings += self._take_lone()
            region.body.append(row)

    def _first(self, region: Region, row: int) -> None:
        """The first row of numbers under a header: the first values, or years that name columns."""
        if _counts_columns(self.grid, row):
            return
        if not _tells_apart(self.grid, region.header, row) and _can_head(self.grid, row):
            region.header += [*self._take_lone(), row]
            return
        names = [lone for lone in self.lone if self._names_rows(region, lone)]
        region.header += names
        region.headings += [lone for lone in self._take_lone() if lone not in names]
        region.body.append(row)

    def _names_rows(self, region: Region, lone: int) -> bool:
        """Whether a lone text names the rows, because each header row's corner names that row."""
        corners = [self.grid.text(row, 0) for row in region.header]
        alone = bool(self.grid.text(lone, 0)) and lone == region.header[-1] + 1
        return alone and len(corners) > 1 and all(corners)

    def _start(self, row: int | None, above: Sequence[int] = ()) -> None:
        held = [lone for lone in self.lone if lone not in above]
        right = [lone for lone in held if lone > self.gap and self._stands_right(lone)]
        header: list[int] = sorted([*above, *right])
        if row is not None:
            header.append(row)
        start = header[0]
        titles = [lone for lone in held if lone not in right]
        if self.open is not None and self.open.body:
            blank = max((at for at in range(start) if not _filled(self.grid, at)), default=-1)
            first = titles[-1] if titles and titles[-1] < blank else blank
            self.lone = [lone for lone in titles if lone < first]
            titles = [lone for lone in titles if lone >= first]
            self.close(start)
        self.open = Region(header, title=[_joined(self.grid, lone) for lone in titles])
        self.regions.append(self.open)
        self.lone = []

    def close(self, end: int) -> None:
        """No more rows for the table that is open; texts after it are its footnotes."""
        if self.open is not None:
            tail = [lone for lone in self.lone if lone < end]
            after = [row for row in self.open.headings if row > max(self.open.body, default=-1)]
            self.open.headings = [row for row in self.open.headings if row not in after]
            self.open.notes += [_joined(self.grid, row) for row in sorted([*after, *tail])]
        self.lone = []

    def _take_lone(self) -> list[int]:
        taken, self.lone = self.lone, []
        return taken

    def _is_apart(self, region: Region) -> bool:
        """Whether a blank row or a lone text separates what comes from the table that is open."""
        return self.gap > region.body[-1] or any(lone > region.body[-1] for lone in self.lone)

    def _heads_anew(self, region: Region, row: int) -> bool:
        """Whether a row of numbers heads another table: years, or the same corner as the header before."""
        corner, before = self.grid.text(row, 0), self.grid.text(region.header[-1], 0)
        return _can_head(self.grid, row) and (corner == before or not corner)

    def _reaches_values(self, region: Region, filled: Sequence[int]) -> bool:
        values = {
            column
            for row in region.body[-50:]
            for column in _filled(self.grid, row)
            if column and is_value(self.grid.text(row, column))
        }
        return not values.isdisjoint(filled)

    def _stands_right(self, row: int) -> bool:
        """Whether a lone text stands over columns, not over everything."""
        column = _filled(self.grid, row)[0]
        return column > 0


def _filled(grid: TextGrid, row: int) -> list[int]:
    return [column for column, text in enumerate(grid.rows[row]) if text and not text.isspace()]


def _joined(grid: TextGrid, row: int) -> str:
    return " ".join(grid.text(row, column) for column in _filled(grid, row))


def _kind(grid: TextGrid, row: int, filled: Sequence[int]) -> Kind:
    if not filled:
        return "blank"
    if len(filled) == 1 or (len(filled) == 2 and grid.text(row, filled[0]).endswith(":")):
        return "values" if filled[0] and is_value(grid.text(row, filled[0])) else "lone"
    texts = [grid.text(row, column) for column in filled[1:]]
    if any(is_value(text) and not may_be_label(text) for text in texts):
        return "values"
    first = next((at for at, text in enumerate(texts) if is_value(text)), len(texts))
    return "words" if any(not is_value(text) for text in texts[first:]) or first == len(texts) else "marks"


def _can_head(grid: TextGrid, row: int) -> bool:
    """Whether numbers may name columns: years, or whole numbers that grow, as ages do."""
    numbers = [grid.text(row, column) for column in _filled(grid, row) if column]
    numbers = [text for text in numbers if is_value(text)]
    if not numbers or not all(text.isascii() and text.isdigit() for text in numbers):
        return False
    if all(len(text) == 4 and "1800" <= text <= "2199" for text in numbers):
        return len(numbers) > 1 or not grid.text(row, 0)
    whole = [int(text) for text in numbers]
    return len(whole) > 2 and all(after == before + 1 for before, after in pairwise(whole))


def _counts_columns(grid: TextGrid, row: int) -> bool:
    """Whether a row under the header only numbers the columns: 1, 2, 3 …"""
    texts = [grid.text(row, column) for column in _filled(grid, row)]
    after = next((grid.text(other, 0) for other in range(row + 1, len(grid.rows)) if grid.rows[other]), "")
    counts = [str(at + 1) for at in range(len(texts))]
    return len(texts) > 2 and texts in (counts, [f"({text})" for text in counts]) and not is_value(after)


def _tells_apart(grid: TextGrid, header: Sequence[int], row: int) -> bool:
    """Whether the header rows give every column of numbers another name."""
    columns = [column for column in _filled(grid, row) if column and is_value(grid.text(row, column))]
    paths: list[tuple[str, ...]] = []
    for column in columns:
        path: list[str] = []
        for head in header:
            text = grid.text(head, column)
            left = column
            while not text and left > 1 and head != header[-1]:
                left -= 1
                text = grid.text(head, left)
            path.append(text)
        paths.append(tuple(path))
    return len(set(paths)) == len(paths) and all(any(path) for path in paths)
