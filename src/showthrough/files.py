"""Single files: checked before they are read, replaced as a whole when they are written.

Everything that opens a file by name comes through here, so that a pipe is refused and not waited
for, a damaged file is an error that names it, and nothing half-written is left behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from showthrough.errors import InputError

__all__ = [
    "Limits",
    "check_file",
    "current_limits",
    "file_digest",
    "flush_folder",
    "lifted_limits",
    "read_json",
    "replacing",
    "unreadable",
    "write_json",
    "write_text",
]


@dataclass(frozen=True)
class Limits:
    """How much a single input may ask of this machine before it is refused.

    ``cell`` is the longest value in bytes. A compressed file may unpack to ``unpacked`` bytes, or to
    ``ratio`` times its own size if that is more.
    """

    cell: int | None = 2**20
    unpacked: int | None = 2**28
    ratio: int = 200

    def most_unpacked(self, packed: int) -> int | None:
        """How many bytes a compressed file of this size may unpack to; None for any number.

        >>> Limits().most_unpacked(2_000_000), Limits(unpacked=None).most_unpacked(1)
        (400000000, None)
        """
        return None if self.unpacked is None else max(self.unpacked, self.ratio * packed)


_LIMITS: ContextVar[Limits | None] = ContextVar("showthrough_limits", default=None)


def current_limits() -> Limits:
    """The limits in force: the usual ones, unless they were lifted."""
    return _LIMITS.get() or Limits()


@contextmanager
def lifted_limits() -> Generator[None]:
    """Read inputs of any size for a while.

    >>> with lifted_limits():
    ...     current_limits().cell is None
    True
    >>> current_limits().cell
    1048576
    """
    token = _LIMITS.set(Limits(cell=None, unpacked=None))
    try:
        yield
    finally:
        _LIMITS.reset(token)


def check_file(path: str | os.PathLike[str], *, error: type[InputError] = InputError) -> Path:
    """The path, if it names an ordinary file that can be read.

    >>> check_file("nowhere.csv")
    Traceback (most recent call last):
        ...
    showthrough.errors.InputError: nowhere.csv: there is no such file; check the name and the folder
    """
    checked, name = Path(path), os.fspath(path)
    try:
        mode = checked.stat().st_mode  # not opened yet: opening a pipe would wait for its other end
        if stat.S_ISDIR(mode):
            raise error("this is a folder, not a file", file=name, remedy="name a file in it")
        if not stat.S_ISREG(mode):
            raise error(
                "this is not an ordinary file",
                file=name,
                found=_kind(mode),
                remedy="write the data to a file first, then name that file",
            )
        with checked.open("rb"):
            return checked
    except (FileNotFoundError, NotADirectoryError, ValueError):  # no name holds a null character
        raise error("there is no such file", file=name, remedy="check the name and the folder") from None
    except OSError as problem:
        raise unreadable(name, problem, error=error) from None


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "a special file")


def unreadable(file: str, problem: Exception, *, error: type[InputError] = InputError) -> InputError:
    """The error for a file that cannot be read."""
    reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    return error(
        f"the file cannot be read: {reason}",
        file=file,
        remedy="check that it is complete and that you may read it",
    )


def file_digest(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_json(
    path: str | os.PathLike[str],
    *,
    error: type[InputError] = InputError,
    remedy: str = "ask for the original, or make it again",
    most: int | None = None,
) -> dict[str, Any]:
    """The object in a JSON file; anything else in it is an error that names the file.

    ``most`` is the largest size in bytes.
    """
    name = os.fspath(path)
    checked = check_file(path, error=error)
    try:
        if most is not None and checked.stat().st_size > most:
            raise error("the file is too large", file=name, found=f"{checked.stat().st_size:,} bytes")
        plain: object = json.loads(checked.read_text("utf-8"))
    except RecursionError:
        raise error("the file is damaged: it is nested too deeply", file=name, remedy=remedy) from None
    except (OSError, ValueError) as problem:
        gist = " ".join(str(problem).split())
        raise error(
            "the file is damaged: it is not valid JSON", file=name, found=gist, remedy=remedy
        ) from None
    if not isinstance(plain, dict):
        raise error(
            "the file is damaged: it holds no JSON object",
            file=name,
            found=type(plain).__name__,
            remedy=remedy,
        )
    return plain


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path]:
    """A path to write to that becomes ``path`` once all went well; until then ``path`` stays."""
    target = Path(path)
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        yield draft
        _flush(draft)
        draft.replace(target)
        flush_folder(target.parent)
    except (OSError, UnicodeEncodeError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(
            f"the file cannot be written: {reason}",
            file=str(target),
            remedy="check that the folder exists, that you may write to it and that it has room"
            if isinstance(problem, OSError)
            else "remove the characters that are no valid text",
        ) from None
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file as UTF-8, all of it or nothing."""
    with replacing(path) as draft:
        draft.write_bytes(text.encode())


def write_json(path: str | os.PathLike[str], content: object) -> None:
    """Write a JSON file that people can read, all of it or nothing."""
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def flush_folder(folder: Path) -> None:
    """Have the names in a folder survive a power cut, where the system can do that."""
    try:
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def _flush(path: Path) -> None:
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())
