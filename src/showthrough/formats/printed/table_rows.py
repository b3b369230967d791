"""The labels of rows of a printed table: several columns, codes beside names, indentation and headings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from showthrough.formats.printed.axes import Path, containing_rows, lift_last_total
from showthrough.formats.printed.grid import TextGrid, is_rate, is_value
from showthrough.formats.printed.regions import Region
from showthrough.formats.printed.table_columns import RegionColumns, label_names
from showthrough.frames.marks import is_total_label

__all__ = [
    "Labels",
    "read_labels",
]

_CODE = re.compile(r"(?=.*\d)[\w.:/-]{1,20}|[A-Z]{1,3}")


@dataclass(frozen=True)
class Labels:
    """The labels of the rows of a region.

    Parameters
    ----------
    rows
        The rows with values, from 0.
    paths
        Of each row: headings, and the labels of the first column with what contains them.
    others
        The labels of the other columns with labels.
    names
        Of the first column and of the others.
    codes
        Of each of these columns: the code that stands beside a label.
    """

    rows: tuple[int, ...]
    paths: tuple[Path, ...]
    others: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    codes: tuple[dict[str, str], ...]


def read_labels(grid: TextGrid, region: Region, columns: RegionColumns) -> Labels:
    """The labels of every row with values."""
    rows, headings = _rows_and_headings(grid, region, columns)
    names = dict(zip(columns.labels, label_names(grid, region, columns), strict=True))
    held, codes = _without_codes(grid, rows, columns.labels, names)
    steps = _steps(grid, rows, held)
    first, others = held[:steps], held[steps:]
    paths = _stepped(grid, rows, first) if steps > 1 else _indented(grid, rows, headings, first[0], others)
    filled = tuple(
        tuple(_filled(grid, rows, column, held[at:])) for at, column in enumerate(held) if at >= steps
    )
    name = next((names[column] for column in first if names[column]), "")
    kept = (name, *(names[column] for column in others))
    return Labels(
        tuple(rows), tuple(paths), filled, kept, tuple(codes.get(c, {}) for c in (first[-1], *others))
    )


def _rows_and_headings(grid: TextGrid, region: Region, columns: RegionColumns) -> tuple[list[int], list[int]]:
    """Rows with values, and headings; a label whose values are all empty is a row among rows, too."""
    rows = [row for row in region.body if not is_rate(_last_label(grid, row, columns))]
    headings = sorted(region.headings)
    first, at = columns.labels[0], columns.labels[0]
    flat = [row for row in headings if grid.text(row, first)]
    if not flat:
        return rows, headings
    before = [row for row in rows if row < flat[0]]
    opens = not before or all(is_total_label(grid.text(row, at)) for row in before)
    indents = {row: _indent(grid.raw(row, at)) for row in (*rows, *flat)}
    order, kept = sorted(rows), set(headings)
    for row in flat:
        place = bisect_right(order, row)
        after = order[place] if place < len(order) else None
        deeper = after is not None and indents[after] > indents[row]
        led = after is not None and not grid.text(after, first)  # the label is for rows without one
        if not (opens or deeper or led):
            kept.remove(row)
            rows.append(row)
    return sorted(rows), sorted(kept)


def _last_label(grid: TextGrid, row: int, columns: RegionColumns) -> str:
    """The innermost label of a row."""
    return next((text for at in reversed(columns.labels) if (text := grid.text(row, at))), "")


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _without_codes(
    grid: TextGrid, rows: Sequence[int], labels: Sequence[int], names: dict[int, str]
) -> tuple[list[int], dict[int, dict[str, str]]]:
    """The columns of labels, but for codes that stand beside names; and these codes."""
    held = list(labels)
    codes: dict[int, dict[str, str]] = {}
    for left, right in pairwise(labels):
        if left not in held or right not in held:
            continue
        pairs = {(grid.text(row, left), grid.text(row, right)) for row in rows}
        one = {pair[0] for pair in pairs}
        two = {pair[1] for pair in pairs}
        said = names[left] == f"{names[right]} code".strip()
        if "" in one or "" in two or not len(pairs) == len(one) == len(two) > 1 - said:
            continue
        if said or all(_CODE.fullmatch(text) for text in one):
            held.remove(left)
            codes[right] = {second: first for first, second in pairs}
        elif all(_CODE.fullmatch(text) for text in two) and "code" in names[right].casefold():
            held.remove(right)
            codes[left] = dict(pairs)
    return held, codes


def _steps(grid: TextGrid, rows: Sequence[int], held: Sequence[int]) -> int:
    """How many of the first columns are steps of one classification: each row has one label in them."""
    for n in range(len(held), 1, -1):
        filled = [[column for column in held[:n] if grid.text(row, column)] for row in rows]
        if all(len(columns) == 1 for columns in filled) and len({columns[0] for columns in filled}) == n:
            return n
    return 1


def _stepped(grid: TextGrid, rows: Sequence[int], columns: Sequence[int]) -> list[Path]:
    """Paths by the column that a row's label stands in."""
    level = [next(at for at, column in enumerate(columns) if grid.text(row, column)) for row in rows]
    labels = [grid.text(row, columns[at]) for row, at in zip(rows, level, strict=True)]
    return _paths(labels, containing_rows(level))


def _paths(labels: Sequence[str], parents: Sequence[int]) -> list[Path]:
    paths: list[Path] = []
    for label, parent in zip(labels, parents, strict=True):
        paths.append((*paths[parent], label) if parent >= 0 else (label,))
    return paths


def _indented(
    grid: TextGrid, rows: Sequence[int], headings: Sequence[int], column: int, others: Sequence[int]
) -> list[Path]:
    """Paths by indentation and headings; a row without a label has the one above it."""
    every = sorted([*rows, *headings])
    known = set(headings)
    heads = [row in known for row in every]
    texts = [grid.raw(row, column) for row in every]
    for at, row in enumerate(every):
        if heads[at] and not texts[at].strip():  # it stands over the values
            texts[at] = next(text for text in grid.rows[row] if text.strip())
    indents = [_indent(text) for text in texts]
    if all(is_value(text.strip()) for text in texts if _indent(text)):  # numbers that are aligned
        indents = [0] * len(texts)
    levels: list[int] = []
    used: set[int] = set()  # headings that rows without a label take theirs from
    label_at = -1
    for at, row in enumerate(every):
        if not texts[at].strip() and label_at >= 0 and any(grid.text(row, other) for other in others):
            texts[at], indents[at] = texts[label_at], indents[label_at]
            used |= {label_at} if heads[label_at] else set()
        if not texts[at].strip():
            raise grid.error(
                "a row of values has no label",
                row=row,
                column=column,
                found=", ".join(text for text in grid.rows[row] if text.strip())[:200],
                remedy="label it (as a total, if it is one)",
            )
        label_at = at
        levels.append(_level(at, indents, levels, heads))
    kept = [at for at in range(len(every)) if at not in used]
    parents = containing_rows([levels[at] for at in kept])
    paths = _paths([texts[at].strip() for at in kept], parents)
    return lift_last_total([path for at, path in zip(kept, paths, strict=True) if not heads[at]])


def _level(at: int, indents: Sequence[int], levels: Sequence[int], heads: Sequence[bool]) -> int:
    """How deep a row or a heading stands.

    A heading contains the rows that are indented more; if the next one is not, all up to the next heading.
    A heading right under a heading is contained in it.
    """
    if not heads[at]:
        return 10 * indents[at] + 9
    after = next((other for other in range(at + 1, len(heads)) if not heads[other]), at)
    if indents[after] > indents[at]:
        return 10 * indents[at] + 9
    follows = at > 0 and heads[at - 1] and levels[at - 1] // 10 == indents[at]
    return min(levels[at - 1] + 1, 10 * indents[at] + 8) if follows else 10 * indents[at]


def _filled(grid: TextGrid, rows: Sequence[int], column: int, after: Sequence[int]) -> list[str]:
    """The labels of a column; an empty one is as above if a column further right has a label."""
    labels: list[str] = []
    for row in rows:
        text = grid.text(row, column)
        if not text and labels and any(grid.text(row, later) for later in after[1:]):
            text = labels[-1]
        labels.append(text)
    return labels
