"""How a published value is written, and which counts it leaves possible."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from showthrough.errors import InputError, ReleaseError, check_type, closest, shorten
from showthrough.frames import distinct
from showthrough.noise_law import UNKNOWN, NoiseLaw
from showthrough.perturbation import Perturbation
from showthrough.release import UNBOUNDED

__all__ = [
    "Notation",
    "Rounding",
    "noisy_values",
    "parse_value",
    "parse_values",
]

METHODS = ("conventional", "nearest", "random", "down", "up")
LARGEST_BASE = 10**9

_COUNT = re.compile(r"([0-9]+)(?:\.0{0,2}|\.0{4,})?")
_NEGATIVE = re.compile(r"[-−]([0-9]+)(?:\.0{0,2})?")
_INTERVAL = re.compile(r"([0-9]+)\s*(?:-|–|\.\.)\s*([0-9]+)")
_ONE_END = re.compile(r"(<=|>=|<|>|≤|≥)\s*([0-9]+)")
_AND_MORE = re.compile(r"([0-9]+)\s*\+")


@dataclass(frozen=True)
class Rounding:
    """Counts published as multiples of a base.

    Parameters
    ----------
    base
        Published values are multiples of this number.
    method
        ``conventional`` rounds half up, ``nearest`` half either way, ``random`` to the multiple
        below or above, ``down`` and ``up`` always that way; multiples of the base stay as they are.

    Raises
    ------
    ReleaseError
        If the base is not a positive whole number or the method is unknown.

    Examples
    --------
    >>> Rounding(5).bounds(10), Rounding(3, "random").bounds(0)
    ((8, 12), (0, 2))
    """

    base: int
    method: str = "conventional"

    def __post_init__(self) -> None:
        check_type(self.base, int, name="base", remedy="write Rounding(5)")
        if not 1 <= self.base <= LARGEST_BASE:
            raise ReleaseError(
                "impossible rounding base",
                found=str(self.base) if abs(self.base) < 10**20 else "a number of over 20 digits",
                remedy=f"use a whole number from 1 to {LARGEST_BASE:,}",
            )
        if self.method not in METHODS:
            raise ReleaseError(
                "unknown rounding method", found=self.method, remedy=closest(self.method, METHODS)
            )

    @property
    def reach(self) -> tuple[int, int]:
        """How far the count may lie below and above the published value."""
        half, base = self.base // 2, self.base
        return {
            "conventional": (half, base - half - 1),
            "nearest": (half, half),
            "random": (base - 1, base - 1),
            "down": (0, base - 1),
            "up": (base - 1, 0),
        }[self.method]

    def bounds(self, value: int) -> tuple[int, int]:
        """The smallest and the largest count that may be published as this value."""
        if value % self.base:
            raise ReleaseError(
                f"not a multiple of the rounding base {self.base}",
                found=str(value),
                remedy="correct the value or the base, or switch rounding off for this table "
                "(rounding = false)",
            )
        below, above = self.reach
        return max(0, value - below), min(UNBOUNDED, value + above)

    def value(self, low: int, high: int) -> int | None:
        """The published value that stands for exactly this interval; None if there is none.

        >>> Rounding(5).value(8, 12), Rounding(5).value(8, 9)
        (10, None)
        """
        nearest = (low + self.reach[0]) // self.base * self.base
        found = (one for one in (0, nearest) if self.bounds(one) == (low, high))
        return next(found, None)


@dataclass(frozen=True)
class Notation:
    """How the values of a table are written.

    Parameters
    ----------
    suppressed
        Mark of a suppressed cell → the interval it stands for.
    rounding
        How counts are rounded, if they are.
    noise
        The noise that counts are published with, if they are.

    Raises
    ------
    ReleaseError
        If counts have both noise and rounding.
    """

    suppressed: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    rounding: Rounding | None = None
    noise: Perturbation | None = None

    def __post_init__(self) -> None:
        if self.rounding is not None and self.noise is not None:
            most = min(UNBOUNDED, max(self.noise.reach) + max(self.rounding.reach))
            raise ReleaseError(
                "noise and rounding together cannot be read",
                found=f"rounding to multiples of {self.rounding.base:,} and noise",
                remedy="leave out rounding and declare as noise how far both together can change a count: "
                f"noise = {{ at_most = {most} }}",
            )

    @property
    def law(self) -> NoiseLaw | None:
        """How likely each count is published as a value, where that is declared."""
        return self.noise if isinstance(self.noise, NoiseLaw) else None

    def bounds(self, count: int) -> tuple[int, int]:
        """The smallest and the largest count that may be published as this number."""
        method = self.rounding or self.noise
        return (count, count) if method is None else method.bounds(count)


def parse_value(text: str | int | None, notation: Notation) -> tuple[int, int]:
    """The smallest and the largest count that a published value leaves possible.

    Parameters
    ----------
    text
        The value as published: ``12``, ``1-4``, ``<5``, ``100+``, ``unknown``, or a declared mark.
    notation
        What marks mean, and how counts are rounded or perturbed.

    Returns
    -------
    tuple of int
        The bounds.

    Raises
    ------
    ReleaseError
        If the value cannot be read.

    Examples
    --------
    >>> plain = Notation({"*": (1, 4)})
    >>> [parse_value(text, plain) for text in ("12", "1-4", "<5", "*")]
    [(12, 12), (1, 4), (0, 4), (1, 4)]
    """
    check_type(notation, Notation, name="notation", remedy="write Notation(), or Notation({'*': (1, 4)})")
    written = "" if text is None else str(text)
    stripped = written.strip()
    for symbol in (written, stripped):
        if symbol in notation.suppressed:
            return notation.suppressed[symbol]
    if match := _COUNT.fullmatch(stripped):
        return notation.bounds(_number(match[1]))
    if notation.law is not None and notation.law.signed and (match := _NEGATIVE.fullmatch(stripped)):
        return notation.bounds(-_number(match[1]))
    return _interval(stripped)


def _interval(text: str) -> tuple[int, int]:
    """An interval, which says what it means without regard to rounding and noise."""
    low, high = 0, UNBOUNDED
    if match := _INTERVAL.fullmatch(text):
        low, high = _number(match[1]), _number(match[2])
    elif match := _AND_MORE.fullmatch(text):
        low = _number(match[1])
    elif match := _ONE_END.fullmatch(text):
        end = _number(match[2])
        low = {">": end + 1, ">=": end, "≥": end}.get(match[1], 0)
        high = {"<": end - 1, "<=": end, "≤": end}.get(match[1], UNBOUNDED)
    elif text != "unknown":
        raise _not_a_value(text)
    if low > high:
        raise ReleaseError(
            "no count lies in this interval",
            found=text,
            remedy="counts start at 0 and the lower end comes first",
        )
    return low, high


def _number(digits: str) -> int:
    significant = digits.lstrip("0") or "0"
    if len(significant) > 19 or int(significant) >= UNBOUNDED:
        raise ReleaseError("a count is too large", found=digits, remedy="counts must be below 2^62")
    return int(significant)


def _not_a_value(text: str) -> ReleaseError:
    if not text:
        return ReleaseError(
            "a value is empty",
            found="",
            remedy="declare in the release file what an empty value means: "
            '[suppressed] "" = "unknown" (or an interval such as "1-4")',
        )
    if re.fullmatch(r"[-−]\s*[0-9.]+", text):
        return ReleaseError(
            "negative count",
            found=text,
            remedy="counts start at 0; declare marks for suppressed values in the release file: "
            f'[suppressed] "{shorten(text)}" = "unknown"',
        )
    if re.fullmatch(r"[0-9]+\.000", text):
        return ReleaseError(
            "the point may separate thousands or decimals",
            found=text,
            remedy=f"write {text.replace('.', '')} or {text[:-4]}",
        )
    if re.fullmatch(r"[0-9]*\.[0-9]+", text):
        return ReleaseError(
            "a count is not a whole number",
            found=text,
            remedy="publish whole counts, or an interval such as 12-13",
        )
    return ReleaseError(
        "not a number",
        found=text,
        remedy="write a whole number or an interval (1-4, <5, 100+), or declare the mark in the "
        f'release file: [suppressed] "{shorten(text)}" = "unknown"',
    )


def parse_values(
    column: pa.ChunkedArray | pa.Array,
    notation: Notation,
    *,
    file: str | None = None,
    name: str | None = None,
    rows: NDArray[np.integer] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The bounds of every value in a column; each distinct text is parsed once.

    Parameters
    ----------
    column
        The values as published.
    notation
        What marks mean, and how counts are rounded or perturbed.
    file, name
        The file and the column, for messages.
    rows
        The row number of each value, for messages; counted from 1 if not given.

    Returns
    -------
    tuple of arrays
        The lower and the upper bounds.

    Raises
    ------
    ReleaseError
        If a value cannot be read; the message names its row.

    Examples
    --------
    >>> [ends.tolist() for ends in parse_values(pa.array(["3", "<5"]), Notation())]
    [[3, 0], [3, 4]]
    """
    check_type(column, (pa.ChunkedArray, pa.Array), name="column", remedy="give a column of an Arrow table")
    check_type(notation, Notation, name="notation", remedy="write Notation(), or Notation({'*': (1, 4)})")
    codes, texts = distinct(column)
    low, high, wrong = _parse_distinct(texts, notation)
    if wrong:
        first = int(np.argmax(np.isin(codes, list(wrong))))
        row = first + 1 if rows is None else int(rows[first])
        raise wrong[int(codes[first])].at(file=file, row=row, column=name)
    return low[codes], high[codes]


def noisy_values(column: pa.ChunkedArray | pa.Array, notation: Notation) -> NDArray[np.int64]:
    """The values of a noisy column as they were published; UNKNOWN where one is a mark or an interval.

    >>> noisy_values(pa.array(["3", "-2", "<5"]), Notation()).tolist()[:2]
    [3, -2]
    """
    codes, texts = distinct(column)
    values = [_noisy_value(text, notation) for text in texts.to_pylist()]
    return np.array(values, np.int64)[codes] if values else np.zeros(len(codes), np.int64)


def _noisy_value(text: str | None, notation: Notation) -> int:
    stripped = (text or "").strip()
    if text in notation.suppressed or stripped in notation.suppressed:
        return UNKNOWN
    if match := _COUNT.fullmatch(stripped):
        return _number(match[1])
    match = _NEGATIVE.fullmatch(stripped)
    return UNKNOWN if match is None else -_number(match[1])


def _parse_distinct(
    texts: pa.Array, notation: Notation
) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[int, InputError]]:
    """Bounds of each text, and the errors by position: whole numbers in one go, others singly."""
    marks = pa.array(list(notation.suppressed), pa.string())
    plain = pc.and_(pc.match_substring_regex(texts, "^[0-9]{1,18}$"), pc.invert(pc.is_in(texts, marks)))
    counts = pc.if_else(plain, texts, pa.scalar(None, pa.string())).cast(pa.int64())
    low = pc.fill_null(counts, -1).to_numpy(zero_copy_only=False).copy()
    high = low.copy()
    whole = low >= 0
    if notation.rounding is not None:
        below, above = notation.rounding.reach
        whole &= low % notation.rounding.base == 0
        low, high = np.maximum(0, low - below), high + above
    if notation.noise is not None:
        whole[:] = False
    wrong: dict[int, InputError] = {}
    for at in np.flatnonzero(~whole).tolist():
        try:
            low[at], high[at] = parse_value(texts[at].as_py(), notation)
        except InputError as error:
            wrong[at] = error
    return low, high, wrong
