"""The few parts of Thrift's compact protocol in which Parquet files describe themselves.

A structure is read as a dictionary from the numbers of its fields to their values. What is malformed
raises ValueError, whatever the bytes are.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "Fields",
    "read_struct",
    "varint",
]

#: What a structure holds.
Fields = dict[int, Any]

#: How deep structures may be nested; those of Parquet are nested five deep.
DEEPEST = 16

TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, STRUCT = 1, 2, 3, 7, 8, 9, 12
INTEGERS = (4, 5, 6)


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number from its groups of seven bits, lowest first, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("it ends within a number")
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number does not end")


def read_struct(data: bytes, at: int, depth: int = 0) -> tuple[Fields, int]:
    """A structure, and where it ends."""
    fields: Fields = {}
    field = 0
    while True:
        head, at = _byte(data, at)
        if not head:
            return fields, at
        if head >> 4:
            field += head >> 4
        else:
            field, at = _integer(data, at)
        if field in fields:
            raise ValueError(f"field {field} occurs twice")
        if head & 15 in (TRUE, FALSE):  # the value is in the type
            fields[field] = head & 15 == TRUE
        else:
            fields[field], at = _value(data, at, head & 15, depth)


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in INTEGERS:
        return _integer(data, at)
    if kind == BINARY:
        size, at = varint(data, at)
        return _bytes(data, at, size)
    if depth > DEEPEST:
        raise ValueError("structures are nested too deep")
    if kind == LIST:
        return _list(data, at, depth + 1)
    if kind == STRUCT:
        return read_struct(data, at, depth + 1)
    if kind in (BYTE, TRUE, FALSE):
        return _byte(data, at)
    if kind == DOUBLE:
        return _bytes(data, at, 8)
    raise ValueError(f"a value of type {kind}, which Parquet does not use")


def _list(data: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    head, at = _byte(data, at)
    size = head >> 4
    if size == 15:
        size, at = varint(data, at)
    if size > len(data) - at:  # every entry takes a byte
        raise ValueError("a list is longer than the data")
    found: list[Any] = []
    for _ in range(size):
        value, at = _value(data, at, head & 15, depth)
        found.append(value)
    return found, at


def _integer(data: bytes, at: int) -> tuple[int, int]:
    """A number with a sign: 0, −1, 1, −2 and so on."""
    value, at = varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _byte(data: bytes, at: int) -> tuple[int, int]:
    if at >= len(data):
        raise ValueError("it ends within a structure")
    return data[at], at + 1


def _bytes(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    if size > len(data) - at:
        raise ValueError("it ends within a value")
    return data[at : at + size], at + size
