"""Which cell and which area a row or column of a counts file is about."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import ReleaseError
from showthrough.frames import distinct
from showthrough.release import Layout

__all__ = ["AMBIGUOUS", "UNKNOWN", "area_codes", "cell_names", "first_duplicate", "named_codes"]

#: Stands for a name that several cells have.
AMBIGUOUS = -1

#: Stands for a name that no cell has.
UNKNOWN = -2


def cell_names(layout: Layout) -> dict[str, int]:
    """What a cell may be called → its position: its name, and ``table:cell``.

    A name that means several cells is :data:`AMBIGUOUS`.

    >>> from showthrough.release import make_table
    >>> from showthrough.schema import Schema
    >>> schema = Schema.of({"sex": ["f", "m"]})
    >>> tables = make_table(schema, "sex", totals=True), make_table(schema, "total")
    >>> cell_names(Layout(schema, tables))  # doctest: +NORMALIZE_WHITESPACE
    {'sex=f': 0, 'sex=m': 1, 'total': -1,
     'sex:sex=f': 0, 'sex:sex=m': 1, 'sex:total': 2, 'total:total': 3}
    """
    known: dict[str, int] = {}
    for at, (_, cell) in enumerate(layout.names):
        known[cell] = AMBIGUOUS if cell in known else at
    for at, (table, cell) in enumerate(layout.names):
        full = f"{table}:{cell}"
        known[full] = at if known.get(full, at) == at else AMBIGUOUS
    return known


def named_codes(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], list[str]]:
    """Each row's position among the distinct names, and these; a missing name is empty.

    >>> codes, names = named_codes(pa.chunked_array([["a", None, "a"]]))
    >>> codes.tolist(), names
    ([0, 1, 0], ['a', ''])
    """
    codes, texts = distinct(column)
    return codes, [str(text or "") for text in texts.to_pylist()]


def area_codes(table: pa.Table, area: str | None, *, file: str | None) -> tuple[list[str], NDArray[np.int64]]:
    """The areas' names, and each row's position among them; one unnamed area without a column."""
    if area is None:
        return [""], np.zeros(table.num_rows, np.int64)
    codes, names = named_codes(table[area])
    empty = np.array([not name for name in names], bool)
    if empty.any():
        raise ReleaseError(
            "a row has no area",
            file=file,
            row=int(np.argmax(empty[codes])) + 1,
            column=area,
            remedy="fill the column, or leave it out where there is one area",
        )
    return names, codes


def first_duplicate(keys: NDArray[np.int64]) -> int | None:
    """The position of the first key that occurred before.

    >>> first_duplicate(np.array([4, 2, 3, 2, 4])), first_duplicate(np.array([1, 2]))
    (3, None)
    """
    order = np.argsort(keys, kind="stable")
    again = order[1:][keys[order][1:] == keys[order][:-1]]
    return int(again.min()) if len(again) else None
