"""Run a command and turn whatever happens into one line and an exit code.

What a command needs, and what explains an error, is imported once interruptions are listened for.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from showthrough.cli.interrupts import Interrupts

if TYPE_CHECKING:
    from cyclopts import App

__all__ = [
    "explain",
    "main",
]

#: The exit code if nobody reads the output to its end, as if by the signal for that.
UNREAD = 141

#: The exit code of a fault in showthrough itself, as in sysexits.h.
FAULT = 70

#: Longer names cannot be those of files: to ask for them is an error of its own.
MOST_OF_A_PATH = 255

#: System errors with which the machine is at fault, even if no file is named.
MACHINE = {
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

#: What to do after an interruption. Audits keep what is finished; other commands write their result
#: as a whole or not at all, and those that only read need no advice.
RESUMES = "; the same command resumes"
AGAIN = "; run the command again"
_AFTERWARDS = {
    **dict.fromkeys(("audit", "demo"), RESUMES),
    **dict.fromkeys(
        ("advise", "attack", "compare", "import", "perturb", "protect", "publish", "simulate"), AGAIN
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    The exit code is 0, 1, 2 or 3, or 70 for a fault in showthrough; 130 when interrupted, 143 when
    terminated, 141 when nobody reads the output.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    interrupts = Interrupts(_afterwards(given))
    try:
        interrupts.listen()
        return _run(given, interrupts)
    except KeyboardInterrupt:
        return interrupts.conclude(lambda text: _complain(given, text))
    finally:
        interrupts.stop(last=arguments is None)


def _afterwards(given: Sequence[str]) -> str:
    """What to do after an interruption of a command, or of one of a group such as ``census``.

    >>> _afterwards(["census", "audit"])
    '; the same command resumes'
    """
    return next((_AFTERWARDS[name] for name in given[:2] if name in _AFTERWARDS), "")


def _run(given: list[str], interrupts: Interrupts) -> int:
    try:
        from showthrough.cli.app import load

        app = load(given)
        with _limits(given):
            if any("://" in text for text in given):
                from showthrough.cli.at_stores import run_with_copies

                return run_with_copies(given, partial(_called, app))
            return _called(app, given)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except Exception as error:
        if interrupts.came or type(error).__name__ == "ArrowCancelled":
            raise KeyboardInterrupt from error  # some libraries turn it into an error of their own
        return _failed(given, error)


def _called(app: App, given: list[str]) -> int:
    return app(given, exit_on_error=False, print_error=False) or 0


def _limits(given: list[str]) -> AbstractContextManager[None]:
    """The limits on what input may ask of this machine, lifted on request."""
    if "--no-limits" not in given:
        return nullcontext()
    from showthrough.files import lifted_limits

    return lifted_limits()


def _failed(given: list[str], error: Exception) -> int:
    text, code = explain(error, given)
    if code == FAULT and "--verbose" in given:
        _trace(error)
    _complain(given, text)
    return code


def _trace(error: Exception) -> None:
    import traceback

    from showthrough.cli.terminal import Terminal

    terminal = Terminal(verbose=True)
    for line in "".join(traceback.format_exception(error)).splitlines():
        terminal.detail(line)


def _complain(given: list[str], text: str) -> None:
    from showthrough.cli.terminal import Terminal

    Terminal(as_json="--json" in given).error(text)


def explain(error: Exception, given: Sequence[str] = ()) -> tuple[str, int]:
    """The line that a user reads and the exit code; ``given`` is what was called.

    >>> from showthrough import InputError
    >>> explain(InputError("no such table", file="release.toml"))
    ('release.toml: no such table', 2)
    >>> explain(KeyError("low"))[1]
    70
    """
    from cyclopts import CycloptsError

    from showthrough import __version__
    from showthrough.cli.calls import CallError, about_the_call, instead
    from showthrough.errors import InputError, ShowthroughError, Undecided

    if isinstance(error, Undecided):
        return f"undecided: {error}", 3
    if isinstance(error, InputError):
        if isinstance(error, CallError):
            return f"{error}{instead(error, given)}", 2
        inside = error.found is not None or error.column is not None  # about something in the file
        return f"{error}{'' if inside else _meant_file(error.file)}", 2
    if isinstance(error, ShowthroughError):
        return str(error), 2
    if isinstance(error, CycloptsError):
        return about_the_call(error), 2
    if _is_about_memory(error):
        return (
            f"not enough memory ({_gist(error)}); use fewer --workers or fewer columns, "
            "or a machine with more memory"
        ), 2
    if isinstance(error, OSError) and (error.filename or error.errno in MACHINE):
        named = f"{error.filename}: " if error.filename else ""
        return f"{named}{error.strerror or error}", 2
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        return f"a name is not valid UTF-8: {error.object[:MOST_OF_A_PATH]}; rename the file or folder", 2
    if _class_names(error) & NO_FILE:
        return _gist(error), 2
    return (
        f"this is a fault in showthrough: {type(error).__name__}: {_gist(error)}; please report it with the "
        f"command and the version, {__version__}; --verbose shows the traceback"
    ), FAULT


def _is_about_memory(error: Exception) -> bool:
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, MemoryError) or bool(_class_names(error) & NO_MEMORY)


def _class_names(error: Exception) -> set[str]:
    """The error's classes; DuckDB's are in a module whose name has changed."""
    return {
        f"{re.sub(r'^_?duckdb.*', 'duckdb', kind.__module__)}.{kind.__name__}" for kind in type(error).__mro__
    }


def _gist(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _meant_file(file: str | None) -> str:
    """A suggestion for the name of a file or folder that does not exist."""
    from showthrough.errors import nearest

    if not file or file.startswith("-") or len(file) > MOST_OF_A_PATH:
        return ""
    named = Path(file)
    if named.exists() or not named.parent.is_dir():
        return ""
    near = nearest(named.name, (there.name for there in named.parent.iterdir()))
    return "" if near is None else f"; did you mean {str(named.with_name(near))!r}?"
