r"""Cells of text in rows, as a sheet or a CSV file has them, and what single cells can be.

A cell is a value if it is a number, a mark in place of one (``c``, ``..``, ``[low]``), or a bound (``<5``);
flags and markers of footnotes may follow (``123 p``, ``45 [note 2]``). Everything else is words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from showthrough.errors import ReleaseError
from showthrough.frames.marks import is_total_label, may_be_count_name

__all__ = [
    "Merged",
    "TextGrid",
    "column_name",
    "decimal_text",
    "guarded",
    "in_thousands",
    "is_measure",
    "is_number",
    "is_rate",
    "is_value",
    "may_be_label",
    "settled",
    "split_flag",
    "split_marker",
    "unguarded",
    "whole",
]

#: First and last row and column of a merged range, from 0.
Merged = tuple[int, int, int, int]

#: No value with its flag is longer.
LONGEST = 80


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
_SPACES = " \t\u00a0\u2007\u2009\u202f"
_DIGITS = rf"\d{{1,3}}(?:[,.'’{_SPACES}]\d{{3}})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?|[.,]\d+"
_NUMBER = re.compile(rf"[-+−–]?(?:{_DIGITS})\s*%?")
_BOUND = re.compile(rf"(?:[<>≤≥]=?|[≤≥])\s*(?:{_DIGITS})|\d+\+")

#: Flags are those of Eurostat, or stand in brackets, raised, or as signs.
_FLAGGED = re.compile(
    r"(?P<value>.*?\S)(?:"
    rf"\s*(?P<flag>[{_SUPERSCRIPT}]+|[*†‡§#]+|\[[^\[\]]{{1,40}}\]|\((?:\d{{1,2}}|[A-Za-z]{{1,2}}|note \d+)\))"
    r"|\s+(?P<short>[bcdefnprsuz]{1,3}|\d{1,2}\)))",
)

#: What stands in place of a number, in small letters.
_MARKS = _words(
    """c x z k s d n u w .. ... .... . … - – — −− : * ** *** # / // • ~ † ‡ § n/a na n.a. n.a n.d. nd null
    nan conf conf. confidential suppressed supp supp. withheld secret masked redacted not_available
    hidden"""
)
_BRACKETED = re.compile(r"\[[^\[\]]{1,40}\]|\([A-Za-z]\)")

_RATE_WORDS = (
    "shares?|median|mean|average|rates?|ratio|anteil|durchschnitt|mittelwert|moyenne"
    "|changes?|difference|veränderung|évolution|variation"
)
_RATE = re.compile(
    r".*[%‰]\)?"
    r"|(?:row |column |col |total )?(?:per ?cents?|percentages?|pct|prozent|pourcentages?|porcentajes?)"
    rf"|(?:per ?cent|percentage|{_RATE_WORDS}) .*|{_RATE_WORDS}|.* (?:rate|ratio|median|change)"
)
_THOUSAND = r"1[ ,.\u00a0]?000"
_UNITS = "thousands|millions|hundreds|tausend|mio|tsd|milliers|miles|mille"
_THOUSANDS = re.compile(
    rf"\b(?:in|en) (?:{_UNITS})\b|\((?:in )?(?:{_UNITS}|'?000s?|{_THOUSAND})\)"
    rf"|\bin {_THOUSAND}(?:[ ,.\u00a0]?000)?\b(?![ ,.]?\d)|'000s?\b"
    r"|\bthousands of (?:persons|people|households)\b"
)

_MARKER = re.compile(
    rf"\s*(?:[{_SUPERSCRIPT}]+|[*†‡§]+|\[(?:note |notes |r |footnote )?[\w, ]{{1,12}}\]"
    r"|\((?:\d{1,2}|note \d+)\))\s*$|\s+\d{1,2}\)\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TextGrid:
    """Cells of text in rows.

    Parameters
    ----------
    rows
        The texts, spaces in front of them included; rows may be short.
    name
        Of the sheet or the file.
    merged
        The merged ranges; None if the format has none.
    file, sheet
        For messages.
    lines
        The number of each row in the file; empty if rows are numbered from 1.
    """

    rows: Sequence[Sequence[str]]
    name: str
    merged: Sequence[Merged] | None = None
    file: str = ""
    sheet: str = ""
    lines: Sequence[int] = ()

    def text(self, row: int, column: int) -> str:
        """The text of a cell without spaces around it; empty outside."""
        return self.raw(row, column).strip()

    def raw(self, row: int, column: int) -> str:
        """The text of a cell with the spaces in front of it."""
        cells = self.rows[row]
        return cells[column] if column < len(cells) else ""

    def line(self, row: int) -> int:
        """The number of a row in the file."""
        return self.lines[row] if self.lines else row + 1

    def error(
        self, problem: str, *, row: int, column: int | None = None, found: str | None = None, remedy: str
    ) -> ReleaseError:
        """An error about a cell; sheets and columns are named as spreadsheets name them."""
        where = f"{self.file}, sheet {self.sheet}" if self.sheet else self.file
        return ReleaseError(
            problem,
            file=where or None,
            row=self.line(row),
            column=None if column is None else column_name(column),
            found=found,
            remedy=remedy,
        )


def column_name(column: int) -> str:
    """A column's name in spreadsheets.

    >>> [column_name(at) for at in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    name, rest = "", column + 1
    while rest:
        rest, digit = divmod(rest - 1, 26)
        name = chr(ord("A") + digit) + name
    return name


def decimal_text(value: float) -> str:
    """A decimal number as text that does not look like thousands which a point sets apart.

    >>> [decimal_text(value) for value in (5.0, 1.234, 12.5)]
    ['5', '1.2340', '12.5']
    """
    if value.is_integer() and abs(value) < 10**15:
        return str(int(value))
    text = repr(value)
    return f"{text}0" if re.fullmatch(r"-?\d{1,3}\.\d{3}", text) else text


def split_flag(text: str) -> tuple[str, str]:
    """A value, and the flag or the marker of a footnote that follows it.

    >>> [split_flag(text) for text in ("45 [note 2]", "123ᵃ", ": c", "1,234 p", "c", "[low]", "16+")]
    [('45', '[note 2]'), ('123', 'ᵃ'), (':', 'c'), ('1,234', 'p'), ('c', ''), ('[low]', ''), ('16+', '')]
    """
    found = None if len(text) > LONGEST or _is_plain(text) else _FLAGGED.fullmatch(text)
    if found is None or not _is_plain(found["value"]):
        return text, ""
    return found["value"], found["flag"] or found["short"]


def _is_plain(text: str) -> bool:
    return is_number(text) or text.casefold() in _MARKS or bool(_BOUND.fullmatch(text)) or _is_bracketed(text)


def _is_bracketed(text: str) -> bool:
    return _BRACKETED.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Whether a text is a number as people write it.

    >>> [is_number(text) for text in ("1,234", "1 234", "12.5 %", "-3", "1-4", "c")]
    [True, True, True, True, False, False]
    """
    return len(text) <= LONGEST and _NUMBER.fullmatch(text) is not None


def is_value(text: str) -> bool:
    """Whether a text can stand in a cell of counts.

    >>> [is_value(text) for text in ("5", "<5", "[c]", "12 p", "0-4", "Total", "")]
    [True, True, True, True, False, False, False]
    """
    return bool(text) and _is_plain(split_flag(text)[0])


def may_be_label(text: str) -> bool:
    """Whether a value may be a label as well: a letter, or an age such as ``<15`` or ``65+``.

    >>> [may_be_label(text) for text in ("N", "<15", "65+", "..", "12", "[c]")]
    [True, True, True, False, False, False]
    """
    return text.isalpha() or _BOUND.fullmatch(text) is not None


def settled(value: str, flag: str) -> tuple[str, str]:
    """A value and its flag; a bound that stands in the flag of a missing value is its value.

    >>> settled("", "<5"), settled("", "c"), settled("7", "p")
    (('<5', ''), ('', 'c'), ('7', 'p'))
    """
    return (flag, "") if not value and _BOUND.fullmatch(flag) else (value, flag)


def whole(text: str) -> int | None:
    """A count as people write it; None for anything else.

    >>> whole("1,234"), whole("1 234"), whole("12.5"), whole("c")
    (1234, 1234, None, None)
    """
    value = split_flag(text)[0]
    bare = re.sub(rf"[,.'’{_SPACES}](?=\d{{3}}(?:\D|$))", "", value)
    return int(bare) if bare.isascii() and bare.isdigit() and len(bare) < 18 else None


def split_marker(label: str) -> tuple[str, str]:
    """A label, and the marker of a footnote at its end.

    >>> [split_marker(label) for label in ("Total (1)", "Males [note 2]", "Insgesamt 1)", "0-4", "Other²")]
    [('Total', '(1)'), ('Males', '[note 2]'), ('Insgesamt', '1)'), ('0-4', ''), ('Other', '²')]
    """
    found = _MARKER.search(label)
    if found is None or not label[: found.start()].strip():
        return label, ""
    return label[: found.start()].strip(), found[0].strip()


def is_measure(label: str) -> bool:
    """Whether a label says what is counted, and so names no category.

    >>> [is_measure(label) for label in ("Count", "Number of persons", "Males", "Total")]
    [True, True, False, False]
    """
    return may_be_count_name(label) and not is_total_label(label)


def is_rate(label: str) -> bool:
    """Whether a label heads percentages, means or rates, which count nobody.

    >>> [is_rate(label) for label in ("%", "Share (%)", "Median age", "Rate per 1,000", "Percy", "Male")]
    [True, True, True, True, False, False]
    """
    return _RATE.fullmatch(label.casefold().strip()) is not None


def in_thousands(text: str) -> bool:
    """Whether a title or a header says that values are not counts but thousands or more.

    >>> [in_thousands(text) for text in ("Persons (thousands)", "Bevölkerung in 1 000", "Thousand Oaks")]
    [True, True, False]
    """
    return _THOUSANDS.search(text.casefold()) is not None


def guarded(text: str) -> str:
    """A text for a CSV file that no spreadsheet takes for a formula; numbers and marks stay.

    >>> [guarded(text) for text in ("=1+1", "@me", "-", "-5", "+", "a=b")]
    ["'=1+1", "'@me", '-', '-5', "'+", 'a=b']
    """
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") and not is_value(text) else text


def unguarded(text: str) -> str:
    """The text before it was guarded.

    >>> [unguarded(text) for text in ("'=1+1", "'tis")]
    ['=1+1', "'tis"]
    """
    return text[1:] if text[:1] == "'" and text[1:2] in ("=", "+", "-", "@", "\t", "\r") else text
