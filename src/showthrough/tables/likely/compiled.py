"""Compiled loops where Numba is installed, the same loops in plain Python where it is not.

Both take their random numbers from arrays that NumPy fills, use no function whose last digit could
differ, and so give the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

__all__ = [
    "COMPILED",
    "compiled",
]

Function = TypeVar("Function", bound=Callable[..., Any])

#: Whether loops are compiled.
COMPILED = find_spec("numba") is not None


def compiled(function: Function) -> Function:
    """The function, compiled when it is first called; what was compiled is kept where that is possible."""
    if not COMPILED:
        return function
    numba: Any = import_module("numba")
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # no place to keep it
        return numba.njit(function)
