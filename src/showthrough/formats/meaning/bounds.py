"""The values of printed tables as bounds: what marks mean, and how counts are rounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import ReleaseError
from showthrough.formats.meaning.additivity import find_base
from showthrough.formats.meaning.understood import Corrections, MarkMeaning
from showthrough.formats.printed.table import PrintedTable
from showthrough.formats.printed.values import PrintedValues, printed_place, read_printed
from showthrough.notation import Notation, Rounding, parse_value, parse_values
from showthrough.release import UNBOUNDED
from showthrough.text import several

__all__ = [
    "ReadTable",
    "find_marks",
    "open_marks",
    "read_values",
]

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A printed table with its name in the release and its values read."""

    table: PrintedTable
    name: str
    values: PrintedValues
    rounding: Rounding | None
    low: Whole
    high: Whole


def read_values(tables: Sequence[PrintedTable], given: Corrections) -> tuple[list[ReadTable], list[str]]:
    """The values of all tables, and what is to be asked about rounding."""
    _check_marks(given.mark)
    if given.missing:
        _check_meaning(given.missing, "what is missing", file="--missing")
    values = [read_printed(table, marks=given.mark, thousands=given.thousands) for table in tables]
    names, read, asked = _table_names(tables), list[ReadTable](), list[str]()
    rounded = [_rounding(one, given, name) for one, name in zip(values, names, strict=True)]
    found = {rounding.base for rounding, _ in rounded if rounding is not None}
    for table, one, name, (rounding, question) in zip(tables, values, names, rounded, strict=True):
        for base in found if len(found) == 1 and given.rounding is None else ():
            rounding = rounding or (Rounding(base, "random") if _fits(one, base) else None)
        asked += [question] if question else []
        unknown = dict.fromkeys(one.marks, (0, UNBOUNDED))
        declared = {mark: parse_value(text, Notation()) for mark, text in given.mark.items()}
        notation = Notation({**unknown, **declared}, rounding)
        rows = np.array(table.rows, np.int64) if table.rows else None
        place = printed_place(table, 0)
        low, high = parse_values(
            pa.array(one.texts, pa.string()),
            notation,
            file=place["file"],
            name=table.measure or None,
            rows=rows,
        )
        read.append(ReadTable(table, name, one, rounding, low, high))
    return read, asked


def _check_marks(marks: Mapping[str, str]) -> None:
    for mark, meaning in marks.items():
        _check_meaning(meaning, f"the meaning of the mark {mark!r}", file="--mark")


def _check_meaning(text: str, what: str, *, file: str) -> None:
    try:
        parse_value(text, Notation())
    except ReleaseError:
        raise ReleaseError(
            f"{what} cannot be read",
            file=file,
            found=text,
            remedy='write an interval such as "1-4", a number, or "unknown"',
        ) from None


def _counts(values: PrintedValues) -> Whole:
    shown = [int(text) for text in values.texts if text.isascii() and text.isdigit() and len(text) < 18]
    return np.array(shown, np.int64)


def _fits(values: PrintedValues, base: int) -> bool:
    counts = _counts(values)
    return bool(len(counts) and (counts % base == 0).all())


def _rounding(values: PrintedValues, given: Corrections, name: str) -> tuple[Rounding | None, str]:
    """How a table's counts are rounded, as declared or as they look; and what to ask about it.

    Whoever takes rounded counts for exact ones proves what is false. So what looks rounded is taken as
    rounded, in the way that says least: up or down, by less than the base.
    """
    if given.rounding is not None:
        return (given.rounding if given.rounding.base > 1 else None), ""
    base, sure = find_base(_counts(values))
    if base == 1:
        return None, ""
    if not sure:
        text = f"all counts of table {name} are multiples of {base}: if they are rounded, declare it"
        return None, f"{text} (--rounding {base}), since claims proved from rounded counts may be false"
    return Rounding(base, "random"), (
        f"all counts of table {name} are multiples of {base}, so they are taken as rounded up or down to "
        f"multiples of {base}; if you know how they are rounded, more can be found: --rounding "
        f"{base}:conventional (or nearest, down, up); if they are exact: --rounding 1"
    )


def find_marks(read: Sequence[ReadTable], given: Corrections) -> tuple[MarkMeaning, ...]:
    found = Counter[str]()
    for one in read:
        found.update(one.values.marks)
    return tuple(
        MarkMeaning(text, number, given.mark.get(text, "unknown"), text in given.mark)
        for text, number in sorted(found.items())
        if text or text in given.mark
    )


def open_marks(marks: Sequence[MarkMeaning]) -> Iterator[str]:
    for mark in marks:
        if not mark.declared:
            yield (
                f"the mark {mark.text!r} ({several(mark.number, 'cell')}) is taken as any count from 0; "
                f'if its meaning is published, readers know more than that: --mark "{mark.text}=1-4"'
            )


def _table_names(tables: Sequence[PrintedTable]) -> list[str]:
    """Names that no two tables share."""
    first = [" ".join(table.name.split()) or f"table {at}" for at, table in enumerate(tables, 1)]
    taken, names = set[str](), list[str]()
    for name in first:
        free = (f"{name} ({number})" for number in range(2, len(first) + 2))
        names.append(
            name if name not in taken else next(other for other in free if other not in {*first, *taken})
        )
        taken.add(names[-1])
    return names
