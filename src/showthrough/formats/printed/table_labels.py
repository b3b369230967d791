"""The labels of a printed table: what names its rows and columns, and which columns hold values or flags.

Rows may have several columns of labels, codes beside names, indentation and headings.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from showthrough.formats.printed.axes import Path, containing_rows, lift_last_total
from showthrough.formats.printed.grid import TextGrid, is_number, is_rate, is_value, split_marker
from showthrough.formats.printed.regions import Region
from showthrough.frames.marks import is_count_name, is_total_label

__all__ = [
    "Labels",
    "RegionColumns",
    "clean_labels",
    "column_paths",
    "find_columns",
    "label_names",
    "read_labels",
]

#: Headers of columns with numbers that are labels, in small letters.
_LABELS = frozenset(
    [
        *("year", "age", "code", "id", "fips", "geoid", "month", "quarter", "period", "time", "time_period"),
        *("jahr", "alter", "schlüssel", "code_ags", "ags", "année", "annee", "âge", "ano", "año", "edad"),
        *("postcode", "zip", "date", "week", "ref_date", "dguid", "nuts", "lau"),
    ]
)

#: Headers of columns with remarks, in small letters.
_REMARKS = frozenset(["note", "notes", "footnote", "footnotes", "comment", "comments", "remarks"])

#: Headers of columns with flags, in small letters.
_FLAGS = frozenset(["flag", "flags", "status", "symbol", "obs_flag", "obs_status", "conf_status"])

_CODE = re.compile(r"(?=.*\d)[\w.:/-]{1,20}|[A-Z]{1,3}")


@dataclass(frozen=True)
class RegionColumns:
    """What the columns of a region hold.

    Parameters
    ----------
    labels
        The columns with labels of rows.
    values
        The columns with values.
    flags
        The column with the flags of a column of values, where there is one.
    left_out
        Columns with remarks, or with percentages and other figures that count nobody.
    """

    labels: tuple[int, ...]
    values: tuple[int, ...]
    flags: dict[int, int]
    left_out: tuple[int, ...]


def find_columns(grid: TextGrid, region: Region, *, n_labels: int = 0) -> RegionColumns:
    """What each column of a region holds; at least this many hold labels."""
    width = max((len(grid.rows[row]) for row in (*region.header, *region.body)), default=0)
    texts = {column: [grid.text(row, column) for row in region.body] for column in range(width)}
    heads = {column: [grid.text(row, column) for row in region.header] for column in range(width)}
    used = [column for column in range(width) if any(texts[column]) or any(heads[column])]
    n = 1
    while n < len(used) and (n < n_labels or _holds_labels(texts[used[n]], heads[used[n]])):
        n += 1
    if _is_long([texts[column] for column in used[n:]], [heads[column] for column in used]):
        n = len(used) - 1
    if n == len(used):  # nothing but words: the last columns hold marks that we do not know
        n = max(1, n_labels)
    values: list[int] = []
    flags: dict[int, int] = {}
    left_out: list[int] = []
    for column in used[n:]:
        role = _role(texts[column], heads[column])
        if role == "flags" and values and values[-1] == column - 1:
            flags[column - 1] = column
        elif role == "remarks" or any(map(is_rate, heads[column])):
            left_out.append(column)
        elif role == "words":
            later = [
                other for other in used if other > column and _role(texts[other], heads[other]) == "values"
            ]
            if later:
                raise grid.error(
                    "a column of words stands between columns of values",
                    row=region.body[0],
                    column=column,
                    found=texts[column][0],
                    remedy="put tables below each other, with a blank row between them",
                )
            left_out.append(column)
        elif any(heads[column]) or any(texts[column]):
            values.append(column)
    return RegionColumns(tuple(used[:n]), tuple(values), flags, tuple(left_out))


def _is_long(texts: Sequence[Sequence[str]], heads: Sequence[Sequence[str]]) -> bool:
    """Whether the last column holds all counts, and the others labels, even if these are numbers."""
    names = [next((text for text in reversed(head) if text), "") for head in heads]
    if len(texts) < 2 or not is_count_name(names[-1]) or any(map(is_count_name, names[:-1])):
        return False
    few = [2 * len(set(column)) <= len(column) or len(set(column)) == 1 for column in texts[:-1]]
    return all(few) and not any("%" in name for name in names)


def _holds_labels(texts: Sequence[str], heads: Sequence[str]) -> bool:
    """Whether a column beside labels holds labels too: mostly words, or numbers under such a header."""
    filled = [text for text in texts if text]
    words = [text for text in filled if not is_value(text)]
    head = next((text.casefold() for text in reversed(heads) if text), "")
    named = "_".join(head.split()) in _LABELS or head.endswith((" code", " codes", "_code", "schlüssel"))
    marks = any(map(is_number, filled)) and 2 * len(set(words)) <= len(words)  # the same words among numbers
    return (2 * len(words) > len(filled) and not marks) or (bool(filled) and named)


def _role(texts: Sequence[str], heads: Sequence[str]) -> str:
    filled = [text for text in texts if text]
    words = [text for text in filled if not any(char.isdigit() for char in text)]
    head = next((text.casefold() for text in reversed(heads) if text), "")
    if head in _REMARKS:
        return "remarks"
    short = len(words) == len(filled) and all(len(text) <= 12 for text in filled)
    if short and (head in _FLAGS or (not head and filled)):
        return "flags"
    labels = {text for text in filled if not is_value(text)}
    return "words" if len(labels) > 1 and not any(map(is_value, filled)) else "values"


def column_paths(grid: TextGrid, region: Region, columns: RegionColumns) -> tuple[list[Path], list[str]]:
    """The labels over every column of values, and the names of the levels."""
    names = [""] * len(region.header)
    rows = [_filled_row(grid, row, columns, last=row == region.header[-1]) for row in region.header]
    labelled = [at for at, row in enumerate(rows) if any(row)]
    last = columns.labels[-1]
    names_row = region.header[-1]
    for at in labelled:
        corner = grid.text(region.header[at], last)
        if region.header[at] != names_row and corner and corner != _row_name(grid, region, last):
            names[at] = split_marker(corner)[0]
    _, _, across = grid.text(names_row, last).partition("\\")
    if across.strip() and labelled:
        names[labelled[-1]] = across.strip()
    paths = [tuple(rows[at][k] for at in labelled) for k in range(len(columns.values))]
    if not any(top in region.header for top, *_ in grid.merged or ()):  # nothing says how far labels reach
        paths = lift_last_total(paths)
    return paths, [names[at] for at in labelled]


def _filled_row(grid: TextGrid, row: int, columns: RegionColumns, *, last: bool) -> list[str]:
    """A header row's labels; merged cells, or else empty ones, have the label to their left."""
    merged = [found for found in grid.merged or () if found[0] <= row <= found[2] and found[1] < found[3]]
    texts: list[str] = []
    for column in columns.values:
        text = grid.text(row, column)
        over = [found for found in merged if found[0] == row and found[1] <= column <= found[3]]
        if over:
            text = grid.text(row, over[0][1])
        elif not text and not last and not merged and texts:
            text = texts[-1]
        texts.append(text)
    return texts


def _row_name(grid: TextGrid, region: Region, column: int) -> str:
    texts = [grid.text(row, column) for row in reversed(region.header)]
    return next((text for text in texts if text), "")


def label_names(grid: TextGrid, region: Region, columns: RegionColumns) -> list[str]:
    """The names of the columns with labels."""
    found = [_row_name(grid, region, column) for column in columns.labels]
    return [split_marker(name.partition("\\")[0].strip())[0] for name in found]


def clean_labels(labels: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Labels without markers of footnotes, and what was taken off; labels that differ stay different.

    >>> clean_labels(["Total (1)", "m"])
    ({'Total (1)': 'Total', 'm': 'm'}, ["the marker (1) after 'Total' was read as that of a footnote"])
    """
    known = dict.fromkeys(labels)
    split = {label: split_marker(label) for label in known}
    if len({bare for bare, _ in split.values()}) < len(known):
        return {label: label for label in known}, []
    remarks = [
        f"the marker {marker} after {bare!r} was read as that of a footnote"
        for bare, marker in split.values()
        if marker
    ]
    return {label: bare for label, (bare, _) in split.items()}, remarks


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
