"""Compiled loops where Numba is installed, the same loops in plain Python where it is not.

Both take their random numbers from arrays that NumPy fills, use no function whose last digit could
differ, and so give the same results.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pickle import UnpicklingError
from typing import Any, TypeVar

__all__ = [
    "COMPILED",
    "compiled",
]

Function = TypeVar("Function", bound=Callable[..., Any])

#: Whether loops are compiled.
COMPILED = find_spec("numba") is not None


#: What reading what another version kept may end in.
_UNREADABLE = (AttributeError, ImportError, LookupError, TypeError, ValueError, EOFError, UnpicklingError)


def compiled(function: Function) -> Function:
    """The function, compiled when it is first called; what was compiled is kept where that is possible."""
    if not COMPILED:
        return function
    numba: Any = import_module("numba")
    try:
        found = numba.njit(cache=True)(function)
    except RuntimeError:  # no place to keep it
        return numba.njit(function)
    forget_unreadable(found)
    return found


def forget_unreadable(function: Any) -> None:
    """Forget what was compiled if it cannot be read: by another version, for arguments of other types."""
    kept: Any = getattr(function, "_cache", None)
    if kept is None or not hasattr(kept, "_cache_file"):
        return
    try:
        kept._cache_file.load_index()
    except _UNREADABLE:
        with contextlib.suppress(OSError):
            kept.flush()
