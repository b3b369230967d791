"""Files of protected tables: in the format in which they came, or in others."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from showthrough.errors import ReleaseError
from showthrough.formats.hand_back import HandedBack, hand_back
from showthrough.formats.meaning.shapes import Printing, shapes_of_layout
from showthrough.formats.printed.print_grid import write_cross_csv, write_tidy
from showthrough.formats.printed.table import PrintedTable
from showthrough.release import Layout
from showthrough.tables.protect.areas import ProtectedAreas

__all__ = [
    "FORMATS",
    "handed_back",
    "write_back",
]

#: Formats in which tables are handed back, and how the names of such files end.
FORMATS = {"xlsx": ".xlsx", "csv": ".csv", "jsonstat": ".json", "sdmx": ".csv"}

#: Areas of tables that are only looked at.
MOST_AREAS = 6

#: The mark whose meaning SDMX has a flag for.
CONFIDENTIAL = ("c", "")


def handed_back(
    layout: Layout,
    printing: Printing | None,
    found: ProtectedAreas,
    *,
    earlier: Collection[str] = (),
    every: bool = False,
) -> tuple[list[HandedBack], list[str]]:
    """The tables of a plan as printed, before and after, and what their publisher should know.

    Where it is not known how they are printed they get a plain shape; then some areas will do to look at,
    unless ``every`` one is asked for.
    """
    if printing is not None:
        return hand_back(printing.shapes, printing.notations, found)
    plans = sorted(found.plans, key=lambda plan: not plan.steps)
    areas = [area for plan in plans for area in plan.areas]
    chosen = sorted(areas if every else areas[:MOST_AREAS])
    new = Layout(layout.schema, tuple(table for table in layout.tables if table.name not in earlier))
    return hand_back(shapes_of_layout(new, chosen), {}, found)


def write_back(tables: Sequence[HandedBack], folder: Path, formats: Sequence[str] = ()) -> list[str]:
    """Write tables into a folder, and say what could not be written as asked.

    Tables of one file are in one file again. Without ``formats`` each is written in the format in which it
    came.
    """
    notes, taken = list[str](), set[str]()
    by_file: dict[str, list[HandedBack]] = {}
    for one in tables:
        by_file.setdefault(one.before.file, []).append(one)
    for file, mine in by_file.items():
        asked = formats or tuple(dict.fromkeys(one.format for one in mine if one.format))
        for form in dict.fromkeys(asked):
            folder.mkdir(exist_ok=True)
            stem = _free(f"{_stem(file)}{'-sdmx' if form == 'sdmx' and 'csv' in asked else ''}", form, taken)
            notes += _write(mine, folder, stem, form, taken)
    return notes


def _stem(file: str) -> str:
    """What a file is called without its ending."""
    plain = re.sub(r"[^\w .()+-]", "_", Path(file).name).strip(" .")
    return plain.partition(".")[0] or "tables"


def _free(stem: str, form: str, taken: set[str]) -> str:
    """A name that no other file has."""
    name, at = stem, 1
    while f"{name}{FORMATS[form]}".casefold() in taken:
        at += 1
        name = f"{stem}-{at}"
    taken.add(f"{name}{FORMATS[form]}".casefold())
    return name


def _write(tables: Sequence[HandedBack], folder: Path, stem: str, form: str, taken: set[str]) -> list[str]:
    found = [_for_format(one, form) for one in tables]
    try:
        _writer(form, found)(found, folder / f"{stem}{FORMATS[form]}")
    except ReleaseError as error:
        if form == "csv" and len(found) > 1:
            names = [_free(f"{stem}-{at}", form, taken) for at in range(1, len(found) + 1)]
            return [
                note
                for one, name in zip(tables, names, strict=True)
                for note in _write([one], folder, name, form, taken)
            ]
        if form not in ("xlsx", "csv"):
            raise
        other = _free(stem, "jsonstat", taken)
        _writer("jsonstat", found)(found, folder / f"{other}{FORMATS['jsonstat']}")
        return [f"the tables of {stem} are handed back as JSON-stat: {error.problem}"]
    return []


def _writer(form: str, tables: Sequence[PrintedTable]) -> Callable[[Sequence[PrintedTable], Path], None]:
    if form == "xlsx":
        from showthrough.formats.printed.excel import write_excel

        return write_excel
    if form == "jsonstat":
        from showthrough.formats.printed.jsonstat import write_jsonstat

        return write_jsonstat
    if form == "sdmx":
        from showthrough.formats.printed.sdmx import write_sdmx

        return write_sdmx
    tidy = len(tables) == 1 and not tables[0].across and not tables[0].title and not tables[0].notes
    return write_tidy if tidy else write_cross_csv


def _for_format(one: HandedBack, form: str) -> PrintedTable:
    """The table as a format has it: its sheet's own name, and SDMX's own mark for what is confidential."""
    table = one.after
    if form == "xlsx" and table.sheet and not table.name.endswith(")"):
        table = replace(table, name=table.sheet)
    if form != "sdmx" or one.format == "sdmx":
        return table
    pairs = list(_marked(table, one))
    return replace(table, values=[value for value, _ in pairs], flags=[flag for _, flag in pairs])


def _marked(table: PrintedTable, one: HandedBack) -> Iterator[tuple[str, str]]:
    flags = table.flags or [""] * len(table.values)
    for pair in zip(table.values, flags, strict=True):
        yield CONFIDENTIAL if pair == one.mark else pair
