"""Compiled loops where Numba is installed, the same loops in plain Python where it is not.

Both take their random numbers from arrays that NumPy fills, use no function whose last digit could
differ, and so give the same results.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
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
    keep_what_fits(found)
    return found


def keep_what_fits(function: Any) -> None:
    """Let a function use what was compiled before only if all sources are the same and it can be read.

    What was compiled contains the functions that it calls in other modules. Numba looks at the file of
    the function alone, and fails if it cannot read what another version kept.
    """
    kept: Any = function._cache
    file: Any = getattr(kept, "_cache_file", None)
    if not hasattr(file, "_source_stamp"):  # kept in a way that is not known here
        kept.disable()
        return
    file._source_stamp = (file._source_stamp, _sources())
    load: Callable[..., Any] = kept.load_overload

    def load_if_readable(*asked: Any) -> Any:
        try:
            return load(*asked)
        except _UNREADABLE:
            with contextlib.suppress(OSError):
                kept.flush()
            return None

    kept.load_overload = load_if_readable


@cache
def _sources() -> str:
    """A hash of all modules whose functions call each other."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
