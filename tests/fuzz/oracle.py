"""What a file means, found out without any of the code under test.

Delimited text is read one byte at a time by the rules at the head of ``frames/delimited.py``;
compressed files are unpacked by zlib alone; published values are read by hand.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Meant", "Refused", "bounds", "number", "read_delimited", "unpack"]

_QUOTE, _NEWLINE, _RETURN = 0x22, 0x0A, 0x0D


class Refused(Exception):
    """The file must be refused, because of this row (0 for what is before the rows)."""

    def __init__(self, why: str, row: int = 0) -> None:
        super().__init__(why)
        self.row = row


@dataclass(frozen=True)
class Meant:
    """What a delimited file says: a list of texts for each column, None where one is missing."""

    names: tuple[str, ...]
    columns: tuple[tuple[str | None, ...], ...]

    @property
    def n_rows(self) -> int:
        return len(self.columns[0])


def read_delimited(data: bytes, separator: str, *, longest: int | None) -> Meant:
    """The table in a delimited file; :class:`Refused` if it is none."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Refused("UTF-16")
    at = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    while at < len(data) and data[at] in (_NEWLINE, _RETURN):
        at += 1
    if at == len(data):
        raise Refused("empty")
    header, at = _record(data, at, ord(separator), longest, 0)
    names = _names(header)
    width, shown = len(names), len(names) - (not names[-1])
    columns: list[list[str | None]] = [[] for _ in range(shown)]
    for row, fields in enumerate(_rows(data, at, ord(separator), longest, width), 1):
        if len(fields) != width:
            raise Refused("ragged", row)
        for column, field in zip(columns, fields, strict=False):
            try:
                column.append(field.decode() or None)
            except UnicodeDecodeError:
                raise Refused("not UTF-8", row) from None
        if any(fields[shown:]):
            raise Refused("a value under no name", row)
    if not columns[0]:
        raise Refused("no rows")
    return Meant(tuple(names[:shown]), tuple(map(tuple, columns)))


def _names(header: list[bytes]) -> list[str]:
    try:
        names = [field.decode() for field in header]
    except UnicodeDecodeError:
        raise Refused("header not UTF-8") from None
    if not all(names[:-1]) or not names[0] or len(set(names)) < len(names):
        raise Refused("names")
    return names


def _rows(data: bytes, at: int, separator: int, longest: int | None, width: int) -> Iterator[list[bytes]]:
    row = 0
    while at < len(data):
        if width > 1 and data[at] in (_NEWLINE, _RETURN):
            at += 1
            continue
        row += 1
        fields, at = _record(data, at, separator, longest, row)
        yield fields


def _record(data: bytes, at: int, separator: int, longest: int | None, row: int) -> tuple[list[bytes], int]:
    """One record, character by character, and where the next one begins."""
    fields: list[bytes] = []
    while True:
        field, length, at = _field(data, at, separator, row)
        if longest is not None and length > longest:
            raise Refused("too long", row)
        fields.append(field)
        if at == len(data):
            return fields, at
        mark, at = data[at], at + 1
        if mark == separator:
            continue
        if mark == _RETURN and data[at : at + 1] == b"\n":
            at += 1
        return fields, at


def _field(data: bytes, at: int, separator: int, row: int) -> tuple[bytes, int, int]:
    """A field, how many bytes it is written with, and where it ends."""
    ends, field = (separator, _NEWLINE, _RETURN), bytearray()
    if data[at : at + 1] != b'"':
        while at < len(data) and data[at] not in ends:
            if data[at] == _QUOTE:
                raise Refused("a quote inside", row)
            field.append(data[at])
            at += 1
        return bytes(field), len(field), at
    start = at = at + 1
    while True:
        if at == len(data):
            raise Refused("a quote is never closed", row)
        if data[at] == _QUOTE:
            if data[at + 1 : at + 2] != b'"':
                break
            at += 1
        field.append(data[at])
        at += 1
    length, at = at - start, at + 1
    if at < len(data) and data[at] not in ends:
        raise Refused("a quote inside", row)
    return bytes(field), length, at


def unpack(data: bytes, *, most: int) -> bytes:
    """The content of a .gz file: members one after the other, then nothing but zeros."""
    found = b""
    while True:
        member = zlib.decompressobj(wbits=31)
        try:
            found += member.decompress(data, most + 1 - len(found))
        except zlib.error:
            raise Refused("damaged") from None
        if len(found) > most:
            raise Refused("a bomb")
        if not member.eof:
            raise Refused("cut off")
        data = member.unused_data.lstrip(b"\x00")
        if not data:
            return found


def number(text: str) -> float | None:
    """A decimal number as people and programs write it; None if it is none."""
    stripped = text.strip()
    body = stripped[1:] if stripped[:1] in ("+", "-") else stripped
    mantissa, mark, exponent = body.replace("E", "e", 1).partition("e")
    if mark:
        digits = exponent[1:] if exponent[:1] in ("+", "-") else exponent
        if not _is_digits(digits):
            return None
    whole, _, fraction = mantissa.partition(".")
    if not _is_digits(whole + fraction):
        return None
    return float(stripped)


def _is_digits(text: str) -> bool:
    return bool(text) and all(mark in "0123456789" for mark in text)


#: No count is as large as this.
UNBOUNDED = 2**62

_SPACE = " \t\n\r\x0b\x0c"


def bounds(text: str | None) -> tuple[int, int] | None:
    """The counts that a published value leaves possible, without marks; None for what is no value."""
    text = (text or "").strip()
    if text == "unknown":
        return 0, UNBOUNDED
    whole, point, fraction = text.partition(".")
    if _is_digits(whole) and not fraction.strip("0") and fraction.strip("0") == "":
        return _pair(whole, whole) if not point or set(fraction) <= {"0"} else None
    if text[-1:] == "+":
        return _pair(text[:-1].rstrip(), None)
    for sign, low, high in (("<=", 0, 0), (">=", 0, 0), ("≤", 0, 0), ("≥", 0, 0), ("<", 0, -1), (">", 1, 0)):
        if text.startswith(sign):
            end = _count(text[len(sign) :].lstrip())
            if end is None:
                return None
            found = (0, end + high) if sign in ("<", "<=", "≤") else (end + low, UNBOUNDED)
            return found if found[0] <= found[1] else None
    for sign in ("–", "..", "-"):
        low, found, high = text.partition(sign)
        if found:
            return _pair(low.rstrip(), high.lstrip())
    return None


def _pair(low: str, high: str | None) -> tuple[int, int] | None:
    first, last = _count(low), UNBOUNDED if high is None else _count(high)
    return None if first is None or last is None or first > last else (first, last)


def _count(text: str) -> int | None:
    if not _is_digits(text) or len(text.lstrip("0")) > 19 or int(text.lstrip("0") or "0") >= UNBOUNDED:
        return None
    return int(text.lstrip("0") or "0")
