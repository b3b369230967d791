"""Scratch files: private, never beside a result, and gone even if their owner is killed."""

from __future__ import annotations

import os
import platform
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from showthrough.errors import InputError, RunError
from showthrough.locks import try_lock

__all__ = [
    "SCRATCH",
    "private_scratch",
    "shared_place",
]

#: Where scratch files go, if not to the system's temporary folder.
SCRATCH = "SHOWTHROUGH_SCRATCH"

#: With less room than this in bytes, a failure is for want of room.
ROOM = 2**20


@contextmanager
def private_scratch(place: str | os.PathLike[str] | None = None) -> Generator[Path]:
    """A folder that only this user can read, gone afterwards; if its owner is killed, with the next call.

    It lies in ``place``, or where SHOWTHROUGH_SCRATCH says, or in the system's temporary folder.

    >>> with private_scratch() as scratch:
    ...     oct(scratch.stat().st_mode & 0o777)
    '0o700'
    >>> scratch.exists()
    False
    """
    base = Path(place or os.environ.get(SCRATCH) or tempfile.gettempdir()).absolute()
    try:
        _remove_scratch(base)
        folder, handle = _make_scratch(base)
    except OSError as problem:
        raise _unwritten(base, problem.strerror or str(problem)) from None
    try:
        yield folder / "files"
    except OSError:
        if shutil.disk_usage(folder).free < ROOM:
            raise _unwritten(base, "no space left on device") from None
        raise
    finally:
        _remove(folder, handle)


def shared_place(master: str, place: str | os.PathLike[str] | None = None) -> str | os.PathLike[str] | None:
    """Where the machines of a Spark master have their scratch files; an error if they need to be told.

    >>> shared_place("spark://host:7077", "/shared/tmp")
    '/shared/tmp'
    """
    if not master.startswith("local") and not (place or os.environ.get(SCRATCH)):
        raise InputError(
            "the machines of the cluster need a shared folder for temporary files",
            found=master,
            remedy=f"give one that nobody else can read, with --scratch or {SCRATCH}",
        )
    return place


def _unwritten(base: Path, why: str) -> RunError:
    return RunError(
        f"scratch files cannot be written: {why}",
        file=str(base),
        remedy=f"set {SCRATCH} to a folder you can write to, on a disk with enough space",
    )


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _make_scratch(base: Path) -> tuple[Path, int]:
    """A new folder, and its owner's lock on it."""
    while True:
        folder = base / f"showthrough-{_user()}-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        with suppress(FileNotFoundError):  # removed at once, by somebody who took it for an old one
            handle = _owner(folder)
            if handle is not None:
                try:
                    (folder / "files").mkdir(mode=0o700)
                except BaseException:
                    os.close(handle)
                    raise
                return folder, handle


def _owner(folder: Path) -> int | None:
    """Become the owner of a scratch folder; None if it has one."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(folder / "owner", flags, 0o600)
    try:
        written = os.read(handle, 200).decode("ascii", "replace").split()
        left = {"pid": int(written[0]), "host": written[1]} if len(written) == 2 else {}
        if try_lock(handle, left):
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, f"{os.getpid()} {platform.node() or '-'}\n".encode())
            if os.path.lexists(folder / "owner"):
                return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _remove_scratch(base: Path) -> None:
    """Remove scratch folders whose owners are no more."""
    for folder in base.glob(f"showthrough-{_user()}-*"):
        if not re.fullmatch(r"showthrough-[0-9]+-[0-9a-f]{16}", folder.name):
            continue
        with suppress(OSError, ValueError):
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != _user():
                continue
            handle = _owner(folder)
            if handle is not None:
                _remove(folder, handle)


def _remove(folder: Path, handle: int) -> None:
    try:
        with suppress(OSError):  # whoever still works for this call finds no folder to write to
            (folder / "files").rename(folder / "gone")
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)
