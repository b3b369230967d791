"""The header of a printed table: which columns hold labels, values and flags, and what names the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from showthrough.formats.printed.axes import Path, lift_last_total
from showthrough.formats.printed.grid import TextGrid, is_number, is_rate, is_value, split_marker
from showthrough.formats.printed.regions import Region
from showthrough.frames.marks import is_count_name

__all__ = [
    "RegionColumns",
    "clean_labels",
    "column_paths",
    "find_columns",
    "label_names",
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
