"""Files: checked before they are read, replaced as a whole when they are written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from showthrough.errors import InputError

__all__ = ["check_file", "replacing", "write_text"]


def check_file(path: str | os.PathLike[str], *, error: type[InputError] = InputError) -> Path:
    """The path, if it names a file that can be read.

    >>> check_file("nowhere.csv")
    Traceback (most recent call last):
        ...
    showthrough.errors.InputError: nowhere.csv: there is no such file; check the name and the folder
    """
    checked, name = Path(path), str(path)
    try:
        if checked.is_dir():
            raise error("this is a folder, not a file", file=name, remedy="name a file in it")
        if not checked.exists():
            raise error("there is no such file", file=name, remedy="check the name and the folder")
        with checked.open("rb"):
            return checked
    except OSError as problem:
        raise unreadable(name, problem, error=error) from None


def unreadable(file: str, problem: Exception, *, error: type[InputError] = InputError) -> InputError:
    """The error for a file the system does not let us read."""
    reason = getattr(problem, "strerror", None) or str(problem)
    return error(
        f"the file cannot be read: {reason}",
        file=file,
        remedy="check that it is complete and that you may read it",
    )


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path]:
    """A path to write to that becomes ``path`` once all went well; until then ``path`` stays."""
    target = Path(path)
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        yield draft
        draft.replace(target)
    except (OSError, UnicodeEncodeError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(
            f"the file cannot be written: {reason}",
            file=str(target),
            remedy="check that the folder exists and that you may write to it"
            if isinstance(problem, OSError)
            else "remove the characters that are no valid text",
        ) from None
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file as UTF-8, all of it or nothing."""
    with replacing(path) as draft:
        draft.write_bytes(text.encode())
