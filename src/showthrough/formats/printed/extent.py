"""How large the sheets of a workbook are, found before a library makes room for all their cells.

A file of a few bytes may have a cell in the last corner of a sheet, or one that is repeated a million times.
Libraries reserve memory for everything up to it, and a process that cannot have it is ended.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from showthrough.errors import ReleaseError
from showthrough.files import current_limits

__all__ = [
    "check_extent",
]

#: Cells up to the last one that is filled, beyond which a sheet is refused.
MOST_PLACES = 8_000_000

_CELL = re.compile(rb"<(?:\w+:)?c\b([^>]*?)(?<!/)>")
_PLACE = re.compile(rb"\br\s*=\s*[\"']\s*([A-Za-z]*)([0-9]*)")
_ROW = re.compile(rb"<(?:\w+:)?row\b[^>]*?\br\s*=\s*[\"']\s*([0-9]+)[^>]*?(?<!/)>")
_REPEATED_ROWS, _REPEATED_COLUMNS = "number-rows-repeated", "number-columns-repeated"


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
