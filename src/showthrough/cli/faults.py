"""What went wrong, as one line and an exit code."""

from __future__ import annotations

import errno
import re
from pathlib import Path

from cyclopts import CycloptsError

from showthrough import __version__
from showthrough.errors import InputError, ShowthroughError, Undecided, nearest

__all__ = [
    "FAULT",
    "explain",
]

#: The exit code of a fault in showthrough itself, as in sysexits.h.
FAULT = 70

#: Longer names are those of no file: asking for them is an error of its own.
MOST_OF_A_PATH = 255

#: What can be wrong with the machine rather than with us, even if no file is named.
SURROUNDINGS = {
    errno.ENOSPC,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EDQUOT,
    errno.EMFILE,
    errno.ENFILE,
}

#: Errors of libraries by name, so that nothing is imported to tell them apart.
NO_MEMORY = {"pyarrow.lib.ArrowMemoryError", "duckdb.OutOfMemoryException"}
NO_FILE = {"duckdb.IOException"}


def explain(error: Exception) -> tuple[str, int]:
    """The line that a user reads and the exit code.

    >>> explain(InputError("no such table", file="release.toml"))
    ('release.toml: no such table', 2)
    >>> explain(KeyError("low"))[1]
    70
    """
    if isinstance(error, Undecided):
        return f"undecided: {error}", 3
    if isinstance(error, InputError):
        return f"{error}{_meant_file(error)}", 2
    if isinstance(error, ShowthroughError):
        return str(error), 2
    if isinstance(error, CycloptsError):
        return _about_the_call(error), 2
    if _is_about_memory(error):
        return (
            f"not enough memory ({_gist(error)}); use fewer --workers or fewer columns, "
            "or a machine with more memory"
        ), 2
    if isinstance(error, OSError) and (error.filename or error.errno in SURROUNDINGS):
        named = f"{error.filename}: " if error.filename else ""
        return f"{named}{error.strerror or error}", 2
    if _names(error) & NO_FILE:
        return _gist(error), 2
    return (
        f"this is a fault in showthrough: {type(error).__name__}: {_gist(error)}; please report it with the "
        f"command and the version, {__version__}; --verbose shows the traceback"
    ), FAULT


def _is_about_memory(error: Exception) -> bool:
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, MemoryError) or bool(_names(error) & NO_MEMORY)


def _names(error: Exception) -> set[str]:
    """The error's classes; DuckDB's are in a module whose name has changed."""
    return {
        f"{re.sub(r'^_?duckdb.*', 'duckdb', kind.__module__)}.{kind.__name__}" for kind in type(error).__mro__
    }


def _gist(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _about_the_call(error: CycloptsError) -> str:
    # An unfinished list of commands says less than the help does.
    text = re.sub(r" Available commands: [^.]*(\.\.\.)$", "", " ".join(str(error).split())).rstrip(".")
    command = " ".join(["showthrough", *(error.command_chain or ())])
    return f"{text[:1].lower()}{text[1:]}{'' if text.endswith('?') else ';'} see {command} --help"


def _meant_file(error: InputError) -> str:
    """The file or folder that somebody who names one that is not there may have meant."""
    named = Path(error.file or "--")
    if error.found is not None or error.column is not None or str(named).startswith("-"):
        return ""  # it is about something in the file, or no file at all
    if len(str(named)) > MOST_OF_A_PATH or named.exists() or not named.parent.is_dir():
        return ""
    near = nearest(named.name, (there.name for there in named.parent.iterdir()))
    return "" if near is None else f"; did you mean {str(named.with_name(near))!r}?"
