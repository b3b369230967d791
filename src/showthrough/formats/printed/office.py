"""Tables of counts in any format that offices publish: one way in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from showthrough.errors import InputError, ReleaseError
from showthrough.files import open_file
from showthrough.formats.printed.acro import acro_files, is_acro, read_acro
from showthrough.formats.printed.table import PrintedTable
from showthrough.frames import Source, is_path
from showthrough.frames.counts_as_people import published_counts
from showthrough.frames.marks import plain_name

__all__ = [
    "SPREADSHEETS",
    "is_printed",
    "open_printed",
    "printed_files",
]

#: Files that only hold printed tables.
SPREADSHEETS = (".xlsx", ".xls", ".xlsb", ".xlsm", ".ods")
DELIMITED = (".csv", ".tsv", ".csv.gz", ".tsv.gz")

#: Rows that show whether a table is tidy.
ROWS = 2_000


def is_printed(path: Path) -> bool:
    """Whether a file holds published tables, and not records."""
    if path.suffix.lower() in (*SPREADSHEETS, ".json", ".px", ".xml"):
        return True
    try:
        opened = Source.of(path)
        counts = published_counts(opened) is not None
        if not counts and path.name.lower().endswith(DELIMITED):
            next(opened.chunks(rows=2000), None)
    except InputError:  # titles above the table, or rows of different lengths: no records in any case
        return _can_be_opened(path)
    return counts


def _can_be_opened(path: Path) -> bool:
    try:
        return any(len(table.values) > 3 for table in open_printed(path))
    except InputError:
        return False


def open_printed(source: object, *, count: str | None = None) -> list[PrintedTable]:
    """Read the tables of a file or a data frame, whatever its format is.

    ``count`` names the column with the counts of a tidy table.

    Raises
    ------
    ReleaseError
        If the file cannot be read, or is in a format that is not known.
    """
    if not is_path(source):
        return _of_frame(source, count)
    return [
        table if table.format else replace(table, format="csv") for table in _of_file(Path(source), count)
    ]


def _of_file(path: Path, count: str | None) -> list[PrintedTable]:
    """The tables of a file; those of a format other than CSV say which."""
    ending = path.name.lower()
    if ending.endswith(SPREADSHEETS):
        from showthrough.formats.printed.excel import read_excel

        return [replace(table, format="xlsx") for table in read_excel(path)]
    if ending.endswith(".json"):
        return _of_json(path)
    if ending.endswith((".px", ".xml")):
        raise ReleaseError(
            "this format is not read",
            file=str(path),
            found=path.suffix,
            remedy="download the table as JSON-stat, SDMX-CSV, Excel or CSV",
        )
    if ending.endswith(DELIMITED):
        return _of_delimited(path, count)
    from showthrough.formats.printed.tidy_counts import read_tidy

    return read_tidy(path, count=count)


def _of_frame(frame: object, count: str | None) -> list[PrintedTable]:
    from showthrough.formats.printed.tidy_counts import read_tidy

    if _is_pivoted(frame) and count is None:
        from showthrough.formats.printed.frame import read_frame

        return read_frame(frame)
    return read_tidy(frame, count=count)


def _is_pivoted(frame: Any) -> bool:
    """Whether a data frame is a cross-table: it has labels of rows, or several columns of numbers."""
    if type(frame).__module__.partition(".")[0] == "pandas":
        levels = getattr(getattr(frame, "columns", None), "nlevels", 1)
        if type(frame.index).__name__ != "RangeIndex" or levels > 1:
            return True
    try:
        opened = Source.of(frame, error=ReleaseError)
        return not _looks_tidy(opened)
    except InputError:
        return True


def _of_json(path: Path) -> list[PrintedTable]:
    with open_file(path, error=ReleaseError) as raw:
        start = raw.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"["):
        raise ReleaseError(
            "this looks like an answer of the Census API",
            file=str(path),
            remedy="read it with: showthrough census audit",
        )
    if is_acro(start):
        return read_acro(path)
    from showthrough.formats.printed.jsonstat import read_jsonstat

    return [replace(table, format="jsonstat") for table in read_jsonstat(path)]


def printed_files(path: Path) -> list[Path]:
    """The files that are read with a file: itself, and for a record of ACRO those that it names."""
    if path.suffix.lower() != ".json":
        return [path]
    with open_file(path, error=ReleaseError) as raw:
        start = raw.read(4096)
    return acro_files(path) if is_acro(start.lstrip(b"\xef\xbb\xbf \t\r\n")) else [path]


def _of_delimited(path: Path, count: str | None) -> list[PrintedTable]:
    from showthrough.formats.printed.tidy_counts import read_tidy

    if count is not None:
        return read_tidy(path, count=count)
    try:
        opened = Source.of(path, error=ReleaseError)
        names, tidy = set(opened.names), _looks_tidy(opened)
    except ReleaseError:  # titles above the table, or several rows of heads
        opened, names, tidy = path, set[str](), False
    plain = {plain_name(name) for name in names}
    if "obsvalue" in plain and plain & {"dataflow", "structure", "structureid"}:
        from showthrough.formats.printed.sdmx import read_sdmx

        return [replace(table, format="sdmx") for table in read_sdmx(path)]
    if {"cell", "value"} <= names:
        raise ReleaseError(
            "this is the counts file of a release",
            file=str(path),
            remedy="give the release file that describes it: release.toml",
        )
    if tidy:
        return read_tidy(opened)
    from showthrough.formats.printed.cross_table import read_cross_tables

    return read_cross_tables(path)


def _looks_tidy(opened: Source) -> bool:
    from showthrough.formats.printed.tidy_counts import is_tidy, texts_by_column

    rows = next(opened.chunks(rows=ROWS), None)
    if rows is None:
        raise opened.no_records()
    return is_tidy(texts_by_column(rows.table.slice(0, ROWS)))
