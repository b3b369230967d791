"""Arguments of the public functions: numbers that are none are named, once and before any work."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError, RecordsError, check_type

__all__ = [
    "as_floats",
    "check_number",
    "check_progress",
    "check_whole",
]


def as_floats(
    values: object, name: str = "the values", *, remedy: str = "give a list or a matrix of numbers"
) -> NDArray[np.float64]:
    """The values as floats, if they are numbers.

    >>> as_floats(["tall"], "the true values")
    Traceback (most recent call last):
    showthrough.errors.RecordsError: the true values are not numbers (found "['tall']"); give a list or ...
    """
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise RecordsError(f"{name} are not numbers", found=f"{values!r}"[:60], remedy=remedy) from None


def check_number(value: object, name: str) -> None:
    """Raise an InputError unless the value is a number.

    >>> check_number("5", "the share")
    Traceback (most recent call last):
    showthrough.errors.InputError: the share must be a number, not str (found "'5'")
    """
    if not isinstance(value, Real):
        raise InputError(f"{name} must be a number, not {type(value).__name__}", found=f"{value!r}"[:60])


def check_whole(value: object, name: str) -> None:
    """Raise an InputError unless the value is a whole number.

    >>> check_whole(2.5, "the number of draws")
    Traceback (most recent call last):
    showthrough.errors.InputError: the number of draws must be a whole number, not float (found '2.5')
    """
    if not isinstance(value, Integral):
        raise InputError(
            f"{name} must be a whole number, not {type(value).__name__}", found=f"{value!r}"[:60]
        )


def check_progress(progress: object) -> None:
    """Raise an InputError unless progress is a function or None."""
    if progress is not None:
        check_type(progress, Callable, name="progress", remedy="give a function of one number, or None")  # pyright: ignore[reportArgumentType]
