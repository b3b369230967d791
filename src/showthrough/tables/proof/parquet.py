"""Reads the tables of a run folder from Parquet files, with nothing but NumPy and the standard library.

It reads what those tables consist of, and says so where a file has something else: columns of texts or
of 64-bit whole numbers, or lists of them, in which no value is missing. Pages are read one after the
other, so that memory does not depend on the size of a file.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .failure import Unreadable
from .pages import ColumnShape, read_dictionary, read_page, read_values
from .thrift import Fields, read_struct

__all__ = [
    "NUMBER",
    "NUMBERS",
    "TEXT",
    "TEXTS",
    "read_footer",
    "read_lists",
    "read_rows",
]

#: What a column may hold.
TEXT, NUMBER, TEXTS, NUMBERS = "texts", "whole numbers", "lists of texts", "lists of whole numbers"

#: The largest description of a file.
LARGEST_FOOTER = 2**28

MAGIC = b"PAR1"
INT64, BYTE_ARRAY = 2, 6
OPTIONAL, REPEATED = 1, 2
#: What a column may say its type means, by the older and by the newer way to say it; None: nothing.
MEANINGS = {BYTE_ARRAY: ((0,), (1,)), INT64: ((None, 18), (None, 10))}

#: What Python's own functions raise when what they are given is malformed.
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, OverflowError, zlib.error)


def read_rows(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a file, each with the values of these columns, in this order.

    Parameters
    ----------
    path
        The file.
    columns
        The columns to read, and what each of them must hold.

    Raises
    ------
    Unreadable
        If there is something else in the file, or it is damaged.
    """
    try:
        with path.open("rb") as file:
            footer = read_footer(file)
            found = [_column(footer[2], name, kind) for name, kind in columns.items()]
            if footer[3] != sum(group[3] for group in footer[4]):
                raise ValueError("it has more or fewer rows than it says")
            for group in footer[4]:
                parts = [_column_rows(file, group, at, shape) for at, shape in found]
                yield from zip(*parts, strict=True)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from None
    except MALFORMED as error:
        raise Unreadable(f"{path}: the file cannot be read: {error}") from None


def read_footer(file: BinaryIO) -> Fields:
    """What the file says about itself, at its end."""
    size = file.seek(0, 2)
    file.seek(0)
    begin = file.read(4)
    file.seek(max(0, size - 8))
    length, end = int.from_bytes(file.read(4), "little"), file.read(4)
    if size < 12 or begin != MAGIC or end != MAGIC or length > min(size - 12, LARGEST_FOOTER):
        raise ValueError("it is no Parquet file, or it was cut off")
    file.seek(size - 8 - length)
    footer, used = read_struct(file.read(length), 0)
    if used != length:
        raise ValueError("its description does not end where it says")
    return footer


def _column(schema: Sequence[Fields], name: str, kind: str) -> tuple[int, ColumnShape]:
    """The number of a column among those that have values, and what is in it."""
    found = [(at, way) for at, way in enumerate(_ways(schema)) if way[0][4] == name.encode()]
    if len(found) != 1:
        raise ValueError(f"there are {len(found)} columns {name!r}, not 1")
    number, way = found[0]
    shape = _shape(way)
    if (
        shape is None
        or kind
        != {(0, 0): NUMBER, (1, 0): TEXT, (0, 1): NUMBERS, (1, 1): TEXTS}[shape.is_text, shape.is_list]
    ):
        raise ValueError(f"column {name!r} does not hold {kind}")
    return number, shape


def _ways(schema: Sequence[Fields]) -> list[list[Fields]]:
    """For every column that has values, the elements of the schema that lead to it."""
    found: list[list[Fields]] = []
    above: list[Fields] = []
    to_come: list[int] = []
    for element in schema[1:]:
        while to_come and not to_come[-1]:
            above.pop()
            to_come.pop()
        if to_come:
            to_come[-1] -= 1
        if element.get(5):
            above.append(element)
            to_come.append(element[5])
        else:
            found.append([*above, element])
    return found


def _shape(way: Sequence[Fields]) -> ColumnShape | None:
    """What such a column holds; None if it is nothing that is read here."""
    leaf = way[-1]
    older, newer = leaf.get(6), next(iter(leaf.get(10, {})), None)
    meanings = MEANINGS.get(leaf[1])
    if meanings is None or older not in meanings[0] or newer not in meanings[1]:
        return None
    repeated = [element.get(3) == REPEATED for element in way]
    optional = [element.get(3) == OPTIONAL for element in way]
    if repeated not in ([False], [False, True, False]):
        return None
    is_list = len(way) == 3
    return ColumnShape(leaf[1] == BYTE_ARRAY, is_list, sum(optional) + is_list, int(optional[0]))


def _column_rows(file: BinaryIO, group: Fields, at: int, shape: ColumnShape) -> Iterator[Any]:
    """The values of one column in a group of rows, as many as the group has rows."""
    pages = _pages(file, group[1][at][3], shape)
    n_rows = 0
    for row in read_lists(pages, shape) if shape.is_list else _flat(pages, shape):
        n_rows += 1
        yield row
    if n_rows != group[3]:
        raise ValueError(f"a column has {n_rows:,} rows, not {group[3]:,}")


def _pages(file: BinaryIO, said: Fields, shape: ColumnShape) -> Iterator[tuple[Any, Any, list[Any]]]:
    """What the pages of a column hold; see :func:`read_values`."""
    at = said.get(11) or said[9]  # the dictionary, if there is one, comes first
    end, left = at + said[7], said[5]
    dictionary: list[Any] | None = None
    while at < end:
        page, at = read_page(file, at, end, said[4])
        if page.is_dictionary:
            dictionary = read_dictionary(page, shape)
            continue
        goes_on, levels, values = read_values(page, shape, dictionary)
        left -= len(levels)
        yield goes_on, levels, values
    if left:
        raise ValueError("a column has more or fewer values than it says")


def _flat(pages: Iterator[tuple[Any, Any, list[Any]]], shape: ColumnShape) -> Iterator[Any]:
    """One value in each row."""
    for _, levels, values in pages:
        if (levels != shape.most).any():
            raise ValueError("a value is missing")
        yield from values


def read_lists(pages: Iterator[tuple[Any, Any, list[Any]]], shape: ColumnShape) -> Iterator[list[Any]]:
    """A list of values in each row; a list may go on in the next page."""
    last: list[Any] | None = None
    for goes_on, levels, values in pages:
        full = levels == shape.most
        if not (full | (levels == shape.empty)).all():
            raise ValueError("a value is missing")
        if goes_on[~full].any() or goes_on[1:][~full[:-1]].any():
            raise ValueError("a list without values has some")
        begins = np.flatnonzero(goes_on == 0)
        cuts = np.append(np.cumsum(full) - full, len(values))[np.append(begins, len(full))].tolist()
        if cuts[0]:  # values before the first list that begins here
            if not last:
                raise ValueError("a list goes on that has not begun")
            last += values[: cuts[0]]
        for begin, end in pairwise(cuts):
            if last is not None:
                yield last
            last = values[begin:end]
    if last is not None:
        yield last
