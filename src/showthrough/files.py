"""Single files: checked before they are read, replaced as a whole when they are written.

Everything that opens a file by name comes through here, so that a pipe is refused and not waited
for, a damaged file is an error that names it, and nothing half-written is left behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from showthrough.errors import InputError, RunError, check_type
from showthrough.locks import is_alive, short_name, try_lock

__all__ = [
    "Limits",
    "NotWritten",
    "check_file",
    "check_new",
    "current_limits",
    "file_digest",
    "flush_file",
    "flush_folder",
    "lifted_limits",
    "open_file",
    "read_json",
    "remove_stale",
    "replacing",
    "unreadable",
    "usual_mode",
    "write_json",
    "write_text",
]

#: It can be read only by setting it.
_UMASK = threading.Lock()


class NotWritten(InputError):
    """A file cannot be written where it should be."""

    @property
    def reason(self) -> str:
        """Why not."""
        return self.problem.partition(": ")[2]


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
    """The path, if it names a regular file that can be read.

    >>> check_file("nowhere.csv")
    Traceback (most recent call last):
        ...
    showthrough.errors.InputError: nowhere.csv: no such file; check the name and the folder
    """
    open_file(path, error=error).close()
    return Path(path)


def open_file(path: str | os.PathLike[str], *, error: type[InputError] = InputError) -> BinaryIO:
    """Open a regular file for reading; anything else is refused, not waited for."""
    check_type(path, (str, os.PathLike), name="path", remedy="give the path of a file")
    name = os.fspath(path)
    try:
        mode = Path(path).stat().st_mode  # not opened yet: opening a pipe would wait for its other end
        if stat.S_ISDIR(mode):
            raise error("this is a folder, not a file", file=name, remedy="name a file in it")
        if not stat.S_ISREG(mode):
            raise error(
                "not a regular file",
                file=name,
                found=_kind(mode),
                remedy="write the data to a file first, then name that file",
            )
        return Path(path).open("rb")
    except (FileNotFoundError, NotADirectoryError, ValueError):  # no name holds a null character
        raise error("no such file", file=name, remedy="check the name and the folder") from None
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
        remedy="check that it is complete and that you have permission to read it",
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
            "the file is damaged: it does not hold a JSON object",
            file=name,
            found=type(plain).__name__,
            remedy=remedy,
        )
    return plain


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path]:
    """A path to write to that becomes ``path`` once all went well; until then ``path`` stays.

    What is written can be read by its owner only until it is complete.
    """
    check_type(path, (str, os.PathLike), name="path", remedy="give the path of the file to write")
    target = Path(os.path.realpath(path))
    try:
        mode = _mode(target, os.fspath(path))
        remove_stale(target)
        draft = target.with_name(f".{short_name(target)}.{os.getpid()}.{secrets.token_hex(8)}.draft")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            try_lock(handle)
            yield draft
            flush_file(draft)
            draft.chmod(mode)
            draft.replace(target)
            flush_folder(target.parent)
        finally:
            os.close(handle)
            draft.unlink(missing_ok=True)
    except BrokenPipeError:
        raise
    except (OSError, UnicodeEncodeError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise NotWritten(
            f"the file cannot be written: {reason}",
            file=os.fspath(path),
            remedy="check that the folder exists, that you can write to it, and that the disk is not full"
            if isinstance(problem, OSError)
            else "remove the characters that are not valid text",
        ) from None


def _mode(target: Path, shown: str) -> int:
    """The permissions of a file to be written: of the one that it replaces, or the usual ones."""
    try:
        found = target.lstat().st_mode
    except FileNotFoundError:
        return usual_mode(0o666)
    if stat.S_ISDIR(found):
        raise InputError("this is a folder, not a file", file=shown, remedy="name a file")
    if not stat.S_ISREG(found):  # replaced, the device would be gone for everybody
        raise InputError("not a regular file", file=shown, found=_kind(found), remedy="name another file")
    return stat.S_IMODE(found)


def usual_mode(mode: int) -> int:
    """Permissions without those that the user denies to new files."""
    with _UMASK:
        mask = os.umask(0o077)
        os.umask(mask)
    return mode & ~mask


def remove_stale(target: Path) -> None:
    """Remove what processes that are no more left beside a file they meant to replace."""
    form = re.compile(rf"\.{re.escape(short_name(target))}\.([0-9]{{1,10}})\.[0-9a-f]{{16}}\.draft")
    for path in target.parent.iterdir():
        found = form.fullmatch(path.name)
        if found is None or is_alive(int(found[1])):
            continue
        with suppress(OSError):
            handle = os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0))
            try:
                if try_lock(handle):  # else it belongs to a process of another machine
                    path.unlink(missing_ok=True)
            finally:
                os.close(handle)


def check_new(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise if there is a file already that was not asked to be replaced."""
    if not overwrite and os.path.lexists(path):
        raise RunError(
            "the file already exists",
            file=os.fspath(path),
            remedy="choose another name or add --overwrite",
        )


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file as UTF-8, all of it or nothing."""
    with replacing(path) as draft:
        draft.write_bytes(text.encode())


def write_json(path: str | os.PathLike[str], content: object) -> None:
    """Write a JSON file that people can read, all of it or nothing.

    Names of files need not be valid text. What is not becomes an escape, from which the same name is read.
    """
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    with replacing(path) as draft:
        draft.write_bytes(text.encode("utf-8", "backslashreplace"))


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


def flush_file(path: Path) -> None:
    """Have the content of a file survive a power cut."""
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())
