"""Printed values as a counts file writes them: whole numbers without separators, intervals, and marks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from showthrough.errors import ReleaseError, shorten
from showthrough.formats.printed.grid import column_name
from showthrough.formats.printed.table import PrintedTable

__all__ = [
    "PrintedValues",
    "printed_place",
    "read_printed",
]

_PLAIN = re.compile(r"[0-9]+(?:\.0{0,2})?")
_SPACES = "   ' ’\u2007\u2009"
_GROUPED = {
    ",": re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.0+)?"),
    ".": re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+"),
    " ": re.compile(rf"[1-9][0-9]{{0,2}}(?:[{_SPACES}][0-9]{{3}})+"),
}
_DECIMAL = re.compile(r"-?[0-9]*[.,][0-9]+(?:[eE][-+]?[0-9]+)?|.*[0-9]\s*%|-?[0-9]+[eE][-+]?[0-9]+")
_NEGATIVE = re.compile(r"[-−–]\s*[0-9][0-9.,\s]*")
_INTERVAL = re.compile(r"[0-9]+\s*(?:-|–|\.\.)\s*[0-9]+|(?:<=|>=|<|>|≤|≥)\s*[0-9]+|[0-9]+\s*\+|unknown")
_WORDS = (
    (re.compile(r"(?:under|fewer than|less than|below)\s+([0-9]+)", re.IGNORECASE), "<{}"),
    (re.compile(r"([0-9]+)\s+(?:or|and)\s+(?:more|over)", re.IGNORECASE), "{}+"),
    (re.compile(r"([0-9]+)\s+to\s+([0-9]+)", re.IGNORECASE), "{}-{}"),
)

#: No mark is longer, and no table has more of them.
LONGEST, MOST_MARKS = 40, 30


class Place(TypedDict):
    """Where a value stands, as errors take it."""

    file: str | None
    row: int | None
    column: str | None


@dataclass(frozen=True)
class PrintedValues:
    """The values of a table as a counts file writes them.

    Parameters
    ----------
    texts
        One for each cell of the table.
    marks
        The marks among them, with how often they occur.
    flags
        Flags beside numbers, which change nothing, with how often they occur.
    """

    texts: tuple[str, ...]
    marks: Mapping[str, int]
    flags: Mapping[str, int]


def read_printed(
    table: PrintedTable, *, marks: Mapping[str, str] | None = None, thousands: str = ""
) -> PrintedValues:
    """The values of a printed table.

    ``marks`` are declared marks, ``thousands`` is the character between thousands where that is not
    clear from the values.

    Raises
    ------
    ReleaseError
        If a value is no count: decimals, negative numbers, or numbers that can be read in two ways.
    """
    known = marks or {}
    grouping = _declared(thousands) or _grouping(table, known)
    texts, found, flags = list[str](), Counter[str](), Counter[str]()
    flagged = table.flags or ("",) * len(table.values)
    for at, (value, flag) in enumerate(zip(table.values, flagged, strict=True)):
        text = _as_number(value, grouping, known)
        if text is None:
            text = _as_mark(table, at, value, flag, grouping)
            found[text] += 1
        elif flag:
            flags[flag] += 1
        texts.append(text)
    if len(found) > MOST_MARKS:
        first = next(at for at, text in enumerate(texts) if text in found)
        problem = f"there are {len(found):,} different marks in the place of counts"
        raise _refused(table, first, problem, "name the column with the counts: --count COLUMN")
    return PrintedValues(tuple(texts), dict(found), dict(flags))


def _declared(thousands: str) -> str:
    """What stands between thousands, as declared; spaces of all kinds and apostrophes are one."""
    if thousands and thousands in _SPACES:
        return " "
    if thousands and thousands not in _GROUPED:
        raise ReleaseError(
            "not a thousands separator",
            file="--thousands",
            found=thousands,
            remedy='write one of "," "." and " "',
        )
    return thousands


def _as_number(value: str, grouping: str, marks: Mapping[str, str]) -> str | None:
    """A whole number without separators, or an interval; None for anything else."""
    if value in marks:
        return None
    if _PLAIN.fullmatch(value):
        return value.partition(".")[0]
    if grouping and _GROUPED[grouping].fullmatch(value):
        return re.sub(rf"[{grouping}{_SPACES}]", "", value.partition(".")[0] if grouping == "," else value)
    if _INTERVAL.fullmatch(value):
        return value
    for form, made in _WORDS:
        if match := form.fullmatch(value):
            return made.format(*match.groups())
    return None


def _as_mark(table: PrintedTable, at: int, value: str, flag: str, grouping: str) -> str:
    if _NEGATIVE.fullmatch(value) and any(digit.isdigit() for digit in value):
        raise _refused(table, at, "negative number", 'declare it as a mark if it is one: --mark "-9=unknown"')
    if _DECIMAL.fullmatch(value):
        ambiguous = not grouping and _GROUPED["."].fullmatch(value) is not None
        if ambiguous:
            raise _refused(
                table,
                at,
                "this can be read as a decimal number or with a point between thousands",
                'say which: --thousands "." if it is a count; decimals are not counts',
            )
        raise _refused(
            table,
            at,
            "not a count: a decimal number or a percentage",
            'import the counts only: leave out other rows or columns with --only "COLUMN=VALUE", or the '
            "sheet with --sheet; means and rates cannot be audited",
        )
    text = " ".join(f"{value} {flag}".split())
    if len(text) > LONGEST or re.search(r"[0-9]{3}", text):
        raise _refused(
            table, at, "neither a count nor a mark", f"declare it: --mark {shorten(text)!r}=unknown"
        )
    return text


def _grouping(table: PrintedTable, marks: Mapping[str, str]) -> str:
    """What stands between thousands, decided from all values together; empty if nothing does."""
    values = [value for value in table.values if value not in marks]
    found = [name for name, form in _GROUPED.items() if any(form.fullmatch(value) for value in values)]
    if "." in found and not any(value.count(".") > 1 for value in values if _GROUPED["."].fullmatch(value)):
        found.remove(".")  # "1.234" alone may be a decimal number
    if "," in found and any(re.fullmatch(r"[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})", value) for value in values):
        found.remove(",")
    if len(found) > 1:
        first = next(at for at, value in enumerate(table.values) if _GROUPED[found[1]].fullmatch(value))
        raise _refused(
            table,
            first,
            "thousands are separated in two ways",
            "write numbers in one way, or without separators",
        )
    return found[0] if found else ""


def _refused(table: PrintedTable, at: int, problem: str, remedy: str) -> ReleaseError:
    place = printed_place(table, at)
    return ReleaseError(problem, found=table.values[at], remedy=remedy, **place)


def printed_place(table: PrintedTable, at: int) -> Place:
    """Where a value stands, as errors name it."""
    file = f"{table.file}, sheet {table.sheet}" if table.sheet else table.file or table.name
    row = table.rows[at] if table.rows else None
    column = table.measure or (column_name(table.columns[at] - 1) if table.columns else None)
    return {"file": file or None, "row": row, "column": column}
