"""Values as people write them, so that a selection can name them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from showthrough.errors import RecordsError

__all__ = ["check_texts", "text", "texts"]


def text(value: object) -> str:
    """One value as text: 3 for 3.0, true for True, nothing for a missing value.

    >>> [text(value) for value in (3.0, 2.5, True, None, "x")]
    ['3', '2.5', 'true', '', 'x']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def texts(values: pa.Array | pa.ChunkedArray) -> list[str]:
    """Each value as text."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        plain: Iterable[Any] = values.to_pylist()
        return ["" if value is None else str(value) for value in plain]
    return [text(value) for value in values.to_pylist()]


def check_texts(values: pa.Array | pa.ChunkedArray, column: str, *, file: str | None = None) -> list[str]:
    """Each value as text, if that tells all of them apart."""
    found = texts(values)
    if len(set(found)) < len(found):
        raise RecordsError(
            "two values of the column are written alike",
            file=file,
            column=column,
            found=next(one for one in found if found.count(one) > 1),
            remedy="fill missing values, or give empty texts another value",
        )
    return found
