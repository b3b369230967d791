"""Excel and OpenDocument files: sheets as grids of cells, and tables as sheets.

Reading is done by python-calamine and writing by XlsxWriter, both of the extra ``office``.

How large the sheets are is found before a library makes room for all their cells. A file of a few bytes may
have a cell in the last corner of a sheet, or one that is repeated a million times. Libraries reserve memory
for everything up to it, and a process that cannot have it is ended.
"""

from __future__ import annotations

import datetime
import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from showthrough.errors import ReleaseError
from showthrough.files import current_limits, open_file, replacing, unreadable
from showthrough.formats.printed.cross_table import check_size, read_grid
from showthrough.formats.printed.grid import TextGrid, decimal_text, is_value
from showthrough.formats.printed.print_grid import PrintedGrid, print_grid
from showthrough.formats.printed.table import PrintedTable, check_printed

__all__ = [
    "ENDINGS",
    "check_extent",
    "read_excel",
    "write_excel",
]

#: How the names of such files end.
ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")

#: Files written are always of this date, so that the same tables are the same bytes.
_DATE = datetime.datetime(2000, 1, 1)

#: Numbers with more digits are written as text, because spreadsheets would round them.
_DIGITS = 15

#: The longest text of a cell, the longest name of a sheet, and what such a name must not contain.
_LONGEST, _LONGEST_NAME, _NO_NAME = 32_767, 31, re.compile(r"[\[\]:*?/\\\x00-\x1f]")

#: Cells up to the last one that is filled, beyond which a sheet is refused.
MOST_PLACES = 8_000_000

_CELL = re.compile(rb"<(?:\w+:)?c\b([^>]*?)(?<!/)>")
_PLACE = re.compile(rb"\br\s*=\s*[\"']\s*([A-Za-z]*)([0-9]*)")
_ROW = re.compile(rb"<(?:\w+:)?row\b[^>]*?\br\s*=\s*[\"']\s*([0-9]+)[^>]*?(?<!/)>")
_REPEATED_ROWS, _REPEATED_COLUMNS = "number-rows-repeated", "number-columns-repeated"


def read_excel(path: str | os.PathLike[str]) -> list[PrintedTable]:
    """Read the tables of a workbook.

    Titles, footnotes, headers of several levels, labels in several columns, indentation by spaces, headings
    between rows and several tables in a sheet are understood. Hidden sheets, rows and columns are read as
    well: whoever has the file can show them. Sheets without a table are left out, and a remark says so.

    Parameters
    ----------
    path
        An Excel file (.xlsx, .xlsm, .xlsb, .xls) or an OpenDocument file (.ods).

    Returns
    -------
    list of PrintedTable
        In the order of the sheets, and from top to bottom.

    Raises
    ------
    ReleaseError
        If the file is damaged or too large, if there is no table, or one that can be read in several
        ways. The message names the sheet, the row and the column.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from showthrough.formats.printed.table import Category, Dimension
    >>> sexes = Dimension("sex", (Category("m"), Category("f")))
    >>> areas = Dimension("area", (Category("North"), Category("South")))
    >>> table = PrintedTable("T1", (areas, sexes), np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32),
    ...                      ["3", "c", "12", "7"])
    >>> with TemporaryDirectory() as folder:
    ...     write_excel([table], f"{folder}/tables.xlsx")
    ...     [again] = read_excel(f"{folder}/tables.xlsx")
    >>> [dimension.name for dimension in again.dimensions], again.values
    (['area', 'sex'], ('3', 'c', '12', '7'))
    """
    name = os.fspath(path)
    tables: list[PrintedTable] = []
    skipped: list[str] = []
    for grid in _grids(path, name):
        found = read_grid(grid)
        tables += found
        if not found:
            skipped.append(grid.sheet)
    if not tables:
        raise ReleaseError(
            "no table was found",
            file=name,
            found=f"sheets {', '.join(skipped)}" if skipped else "no sheet",
            remedy="a table has a row of headers above rows that begin with a label and go on with counts",
        )
    remarks = tuple(f"sheet {sheet} has no table and was left out" for sheet in skipped)
    first, *others = tables
    return [replace(first, remarks=(*remarks, *first.remarks)), *others]


def _grids(path: str | os.PathLike[str], name: str) -> Iterable[TextGrid]:
    calamine = _need("python_calamine", name)
    with open_file(path, error=ReleaseError) as stream:
        try:
            held = stream.read()
        except OSError as problem:
            raise unreadable(name, problem, error=ReleaseError) from None
    check_extent(held, name)
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(held))
        for at, sheet in enumerate(book.sheets_metadata):
            if str(sheet.typ).endswith("WorkSheet"):
                yield _grid(book.get_sheet_by_index(at), sheet.name, name)
    except calamine.PasswordError:
        raise ReleaseError(
            "the file is protected by a password", file=name, remedy="save it without a password"
        ) from None
    except (calamine.CalamineError, ValueError, OSError, OverflowError) as problem:
        raise _damaged(name, problem) from None
    except BaseException as problem:
        if (
            type(problem).__name__ != "PanicException"
        ):  # which is how the library fails on what it did not expect
            raise
        raise _damaged(name, problem) from None


def _damaged(name: str, problem: BaseException) -> ReleaseError:
    return ReleaseError(
        "the file is damaged or not a spreadsheet",
        file=name,
        found=" ".join(str(problem).split()),
        remedy="open it in a spreadsheet program and save it again",
    )


def _need(module: str, file: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ReleaseError(
            f"Excel files need {module}, which is not installed",
            file=file,
            remedy="pip install 'showthrough[office]', or save the sheets as CSV files",
        ) from None


def _grid(sheet: Any, sheet_name: str, file: str) -> TextGrid:
    """A sheet's cells as texts."""
    rows = [_trimmed([_text(value) for value in row]) for row in sheet.to_python(skip_empty_area=False)]
    while rows and not rows[-1]:
        rows.pop()
    found = sheet.merged_cell_ranges
    merged = None if found is None else [(a, b, c, d) for (a, b), (c, d) in found]
    grid = TextGrid(rows, sheet_name, merged or None, file, sheet_name)
    check_size(grid)
    return grid


def _trimmed(texts: list[str]) -> list[str]:
    while texts and not texts[-1].strip():
        texts.pop()
    return texts


def _text(value: object) -> str:
    """A cell's value as text.

    >>> [_text(value) for value in (5.0, 12.5, True, "x ")]
    ['5', '12.5', 'TRUE', 'x ']
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return decimal_text(value)
    return str(value).replace("\r\n", "\n").replace("\n", " ")


def write_excel(tables: Sequence[PrintedTable], path: str | os.PathLike[str]) -> None:
    """Write tables as sheets of an Excel file, from which the same tables are read.

    Labels and marks are written as text, never as formulas. The same tables make the same bytes.

    Parameters
    ----------
    tables
        At least one.
    path
        The .xlsx file.

    Raises
    ------
    ReleaseError
        If labels of a table would be read as values.
    """
    check_printed(tables, path)
    writer = _need("xlsxwriter", os.fspath(path))
    laid = [(table, print_grid(table)) for table in tables]
    for table, grid in laid:
        if any(len(text) > _LONGEST for row in grid.rows for text in row):
            raise ReleaseError(
                f"table {table.name} has a text of more than {_LONGEST:,} characters",
                file=os.fspath(path),
                remedy="shorten it: a cell of a spreadsheet cannot hold it",
            )
    with replacing(path) as draft:
        book = writer.Workbook(draft, {"strings_to_formulas": False, "strings_to_urls": False})
        book.set_properties({"created": _DATE})
        names: set[str] = set()
        for table, grid in laid:
            _write_sheet(book, book.add_worksheet(_sheet_name(table, names)), grid)
        book.close()


def _sheet_name(table: PrintedTable, taken: set[str]) -> str:
    """A name that spreadsheets accept and no other sheet has."""
    name = _NO_NAME.sub(" ", table.name).strip(" '") or "Table"
    if name.casefold() == "history":  # which Excel keeps for itself
        name = "History table"
    short, at = name[:_LONGEST_NAME].strip(" '"), 1
    while short.casefold() in taken:
        at += 1
        short = f"{name[: _LONGEST_NAME - len(str(at)) - 1]} {at}"
    taken.add(short.casefold())
    return short


def _write_sheet(book: Any, sheet: Any, grid: PrintedGrid) -> None:
    bold = book.add_format({"bold": True})
    head = book.add_format({"bold": True, "align": "center", "bottom": 1})
    right = book.add_format({"align": "right"})
    first, body = grid.header
    end = next((at for at in range(body, len(grid.rows)) if not grid.rows[at]), len(grid.rows))
    for at, row in enumerate(grid.rows):
        for column, text in enumerate(row):
            in_values = body <= at < end and column >= grid.labels
            if in_values and _is_plain_number(text):
                sheet.write_number(at, column, int(text))
            elif text:
                form = right if in_values else head if first <= at < body else bold if at < first else None
                sheet.write_string(at, column, text, form)
    for row, left, _, last in grid.merged:
        sheet.merge_range(row, left, row, last, "", head)
        sheet.write_string(row, left, grid.rows[row][left], head)
    sheet.set_column(0, max(0, grid.labels - 1), 24)
    sheet.freeze_panes(body, grid.labels)


def _is_plain_number(text: str) -> bool:
    return is_value(text) and re.fullmatch(rf"0|[1-9][0-9]{{0,{_DIGITS - 1}}}", text) is not None


def check_extent(held: bytes, name: str) -> None:
    """Raise if a workbook unpacks to far more than its size, or a sheet has far too many cells."""
    most = current_limits().most_unpacked(len(held))
    if most is None or not held.startswith(b"PK"):
        return
    try:
        with zipfile.ZipFile(io.BytesIO(held)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > most:
                raise ReleaseError(
                    f"the file unpacks to more than {most:,} bytes",
                    file=name,
                    found=f"{size:,} bytes",
                    remedy="unpack and inspect it first, or read it anyway with --no-limits",
                )
            for part, (height, width) in _extents(archive):
                if height * width > MOST_PLACES:
                    raise ReleaseError(
                        f"{part} has more than {MOST_PLACES:,} cells up to the last one that is filled",
                        file=name,
                        found=f"{height:,} rows and {width:,} columns",
                        remedy="delete the cells far outside the table, or read it anyway with --no-limits",
                    )
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, OSError, ParseError):
        return  # whoever reads it says what is wrong


def _extents(archive: zipfile.ZipFile) -> Iterator[tuple[str, tuple[int, int]]]:
    """The last filled row and column of every sheet."""
    for part in archive.namelist():
        if re.search(r"worksheets/[^/]*\.xml$", part):
            yield part, _of_xml(archive.read(part))
        elif re.search(r"worksheets/[^/]*\.bin$", part):
            yield part, _of_binary(archive.read(part))
        elif part == "content.xml":
            with archive.open(part) as stream:
                for extent in _of_open_document(stream):
                    yield part, extent


def _of_xml(content: bytes) -> tuple[int, int]:
    """Of a sheet of an .xlsx file.

    >>> _of_xml(b'<c r="B7"><v>1</v></c><c r="AA2" s="1"/><c r="C3"><v>2</v></c>')
    (7, 3)
    """
    rows, columns, unnamed = {0}, {0}, 0
    for found in _CELL.finditer(content):
        place = _PLACE.search(found[1])
        if place is None or not place[2]:
            unnamed += 1  # it stands after the one before it
            continue
        rows.add(int(place[2][:12]))
        columns.add(_column(place[1][:12]))
    if unnamed:
        rows |= {int(found[1][:12]) for found in _ROW.finditer(content)}
    return max(rows), max(columns) + unnamed


def _column(name: bytes) -> int:
    number = 0
    for letter in name.upper():
        number = 26 * number + letter - 64
    return number


def _of_binary(content: bytes) -> tuple[int, int]:
    """Of a sheet of an .xlsb file: records with a kind, a size and bytes; rows are 0, cells 1 to 11."""
    at, height, width = 0, 0, 0
    while at < len(content):
        kind, at = _number(content, at, 2)
        size, at = _number(content, at, 4)
        if kind <= 11 and size >= 4:
            place = int.from_bytes(content[at : at + 4], "little") + 1
            height, width = (max(height, place), width) if kind == 0 else (height, max(width, place))
        at += size
    return height, width


def _number(content: bytes, at: int, longest: int) -> tuple[int, int]:
    """A number in groups of seven bits, and where it ends."""
    value = 0
    for step in range(longest):
        byte = content[at + step] if at + step < len(content) else 0
        value |= (byte & 0x7F) << (7 * step)
        if not byte & 0x80:
            return value, at + step + 1
    return value, at + longest


def _of_open_document(stream: IO[bytes]) -> Iterator[tuple[int, int]]:
    """Of the sheets of an .ods file, in which rows and cells may be repeated."""
    parser = XMLPullParser(("end",))
    height = last = width = 0
    while piece := stream.read(2**16):
        parser.feed(piece)
        for event in parser.read_events():
            element: Any = event[-1]
            tag = element.tag.rpartition("}")[2]
            if tag == "table-row":
                filled = _filled(element)
                height += _repeated(element, _REPEATED_ROWS)
                last, width = (height, max(width, filled)) if filled else (last, width)
                element.clear()
            elif tag == "table":
                yield last, width
                height = last = width = 0
                element.clear()


def _filled(row: Element) -> int:
    """The last filled cell of a row."""
    at = last = 0
    for cell in row:
        at += _repeated(cell, _REPEATED_COLUMNS)
        if len(cell) or any(key.rpartition("}")[2] == "value-type" for key in cell.attrib):
            last = at
    return last


def _repeated(element: Element, name: str) -> int:
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name and value.isascii() and value.isdigit():
            return int(value[:12])
    return 1
