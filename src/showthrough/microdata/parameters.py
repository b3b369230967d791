"""Parameters of promises: parsed from text, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError, RecordsError, check_each, check_type

__all__ = [
    "as_counts",
    "as_names",
    "check_domain",
    "check_retention",
    "parse_pair",
]


def as_counts(tables: ArrayLike) -> NDArray[np.int64]:
    """Counts of records as a matrix; a single row if they are plain numbers.

    >>> as_counts([3, 1]).shape
    (1, 2)
    """
    try:
        return np.atleast_2d(np.asarray(tables, np.int64))
    except (TypeError, ValueError):
        raise InputError(
            f"tables must be Groups or rows of counts, not {type(tables).__name__}",
            remedy="write [[3, 1], [0, 2]]",
        ) from None


def as_names(columns: str | Sequence[str], *, name: str) -> list[str]:
    """One or several names of columns, as a list.

    >>> as_names("ill", name="sensitive")
    ['ill']
    """
    if isinstance(columns, str):
        return [columns]
    check_each(columns, str, name=name, remedy="give the name of a column, or a list of names")
    return list(columns)


def check_retention(retention: ArrayLike, *, whole: bool = False) -> None:
    """Raise unless retentions are between 0 and 1; ``whole`` also accepts 1, which publishes raw data."""
    try:
        values = np.asarray(retention, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"a retention must be a number between 0 and 1, not {type(retention).__name__}",
            remedy="for example 0.5 to keep half of the values",
        ) from None
    fine = (values > 0) & ((values <= 1) if whole else (values < 1))
    if not fine.all():
        raise InputError(
            "a retention must be between 0 and 1",
            found=str(values[~fine].flat[0]),
            remedy="for example 0.5 to keep half of the values",
        )


def check_domain(n_values: int) -> int:
    """Raise unless there are at least two sensitive values."""
    check_type(n_values, Integral, name="the number of sensitive values")
    if n_values < 2:
        raise RecordsError(
            "the sensitive column needs at least two values",
            found=str(n_values),
            remedy="a single value cannot be hidden among others",
        )
    return n_values


def parse_pair(text: str, what: str, *, example: str) -> tuple[float, float]:
    """Two numbers separated by a colon; each may be a fraction.

    >>> parse_pair("0.1:1/4", "a prior and a posterior", example="0.1:0.5")
    (0.1, 0.25)
    """
    check_type(text, str, name="a promise", remedy=f"for example {example}")
    try:
        first, second = (_parse_number(part) for part in text.split(":"))
    except (ValueError, ZeroDivisionError):
        raise InputError(
            f"expected {what}, separated by a colon", found=text, remedy=f"for example {example}"
        ) from None
    return first, second


def _parse_number(text: str) -> float:
    above, slash, below = text.partition("/")
    return float(above) / (float(below) if slash else 1.0)
