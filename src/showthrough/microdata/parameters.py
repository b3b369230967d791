"""Parameters of promises: parsed from text, and checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from showthrough.errors import InputError, RecordsError

__all__ = [
    "check_domain",
    "check_retention",
    "parse_pair",
]


def check_retention(retention: ArrayLike, *, whole: bool = False) -> None:
    """Raise unless retentions are between 0 and 1; ``whole`` also accepts 1, which publishes raw data."""
    values = np.asarray(retention, np.float64)
    fine = (values > 0) & ((values <= 1) if whole else (values < 1))
    if not fine.all():
        raise InputError(
            "a retention must be between 0 and 1",
            found=str(values[~fine].flat[0]),
            remedy="for example 0.5 to keep half of the values",
        )


def check_domain(n_values: int) -> int:
    """Raise unless there are at least two sensitive values."""
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
