"""Published tables as releases, from files of any format or from data frames."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from showthrough.errors import ReleaseError, check_type
from showthrough.formats.meaning.bounds import open_marks
from showthrough.formats.meaning.understand import understand
from showthrough.formats.meaning.understood import Corrections, Understood
from showthrough.formats.printed.office import open_printed
from showthrough.formats.printed.table import PrintedTable
from showthrough.frames import is_path
from showthrough.notation import Rounding

__all__ = [
    "read_decided",
    "read_tables",
    "read_understood",
]


def read_tables(
    source: object,
    *,
    area: str | Sequence[str] = (),
    total: str | Sequence[str] = (),
    marks: Mapping[str, str] | None = None,
    count: str | None = None,
    drop: str | Sequence[str] = (),
    only: str | Sequence[str] = (),
    sheet: str | Sequence[str] = (),
    rest: str | Sequence[str] = (),
    same: str | Sequence[str] = (),
    complete: bool = False,
    rounding: Rounding | None = None,
    missing: str = "",
    thousands: str = "",
    record: str = "record",
) -> Understood:
    """Read published tables of counts, and make a release of them.

    Parameters
    ----------
    source
        A file (Excel, CSV, JSON-stat, SDMX-CSV, Parquet), a data frame, or a list of these. All tables
        are about the same records: dimensions of the same name are the same attribute.
    area
        The columns that name the area, ``"none"`` if none does; by default those whose name says so.
    total
        Labels of totals, beside the usual ones.
    marks
        Mark → what it means: ``{"c": "1-4"}``. Other marks stand for any count.
    count
        The column that holds the counts, where that is not clear.
    drop
        Columns to leave out; their total is taken, if they have one.
    only
        What to take, as selections: ``"unit=persons"``.
    sheet
        The sheets or tables to take.
    rest
        Columns whose categories do not add up to their total because some are left out.
    same
        Columns that are one attribute though tables have different categories: all of these exclude each
        other.
    complete
        Categories leave nobody out, and all tables count the same records: then nothing is asked about it.
    rounding
        How counts are rounded; ``Rounding(1)`` if they are not, though they look so.
    missing
        What combinations are that a table leaves out, such as ``"0"``; by default not published.
    thousands
        What stands between thousands, where that is not clear.
    record
        What is counted, in the singular.

    Returns
    -------
    Understood
        The release of every area, as ``releases``, and what was understood: ``tables``, ``marks``,
        ``notes``, ``questions`` and ``conflicts``.

    Raises
    ------
    ReleaseError
        If a file cannot be read, or a value is no count; the message names file, row and column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"sex": ["f", "m", "Total"], "count": ["3", "c", "7"]})
    >>> found = read_tables(table, marks={"c": "1-4"})
    >>> found
    Understood: 1 table about 1 area, 3 values
    >>> [f"{cell.name}: {cell.value()}" for cell in found.releases[""].cells]
    ['sex=f: 3', 'sex=m: 1-4', 'total: 7']
    >>> read_tables(table).questions[-1][:46]
    "the mark 'c' (1 cell) is taken as any count fr"
    """
    check_type(marks, (Mapping, type(None)), name="marks", remedy="write {'c': '1-4'}")
    corrections = Corrections(
        area=_listed(area),
        total=_listed(total),
        mark=marks or {},
        drop=_listed(drop),
        only=_listed(only),
        sheet=_listed(sheet),
        rest=_listed(rest),
        same=_listed(same),
        complete=complete,
        rounding=rounding,
        missing=missing,
        thousands=thousands,
        record=record,
    )
    return read_understood(source if isinstance(source, list | tuple) else [source], corrections, count=count)


def read_understood(
    sources: Iterable[object], corrections: Corrections | None = None, *, count: str | None = None
) -> Understood:
    """The release of several files or data frames together."""
    every = list(sources)
    found = [table for source in every for table in _named(open_printed(source, count=count), source, every)]
    return understand(found, corrections)


def read_decided(path: Path, *, by: str | None = None, protected: bool = False) -> Understood:
    """The release of a file in which nothing contradicts and nothing is to be decided.

    Marks without a declared meaning stand for any count. What follows then follows in any case, and a note
    says that readers may know more; but what is to be ``protected`` is protected from what they know.
    """
    found = read_understood([path], Corrections(area=(by,) if by else ()))
    marks = () if protected else tuple(open_marks(found.marks))
    unclear = "something is to be decided before these tables can be audited"
    problems = [f"the tables contradict themselves: {text}" for text in found.conflicts]
    problems += [f"{unclear}: {text}" for text in found.questions if text not in marks]
    if not problems:
        return replace(found, notes=(*found.notes, *(f"{text} (showthrough import)" for text in marks)))
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    raise ReleaseError(
        f"{problems[0]}{more}",
        file=str(path),
        remedy=f"import them first: showthrough import {shlex.quote(str(path))} --out DIR",
    )


def _named(tables: list[PrintedTable], source: object, every: Sequence[object]) -> list[PrintedTable]:
    """The tables; where several files have several tables each, with the file in their names."""
    if not is_path(source) or len(every) < 2 or len(tables) < 2:
        return tables
    stem = Path(os.fspath(source)).stem
    return [replace(table, name=f"{stem} {table.name}") for table in tables]


def _listed(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
