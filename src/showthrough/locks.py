"""Locks: one writer at a time, and what a writer that was killed had done.

A lock is a hidden file beside what it protects. The system frees it when its owner ends, however
that happens; the file of an owner that was killed stays, and tells the next one what was finished.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from showthrough.errors import RunError

__all__ = [
    "INSIDE",
    "Lock",
    "hold",
    "is_alive",
    "short_name",
    "try_lock",
]

try:
    import fcntl
except ImportError:  # where there is none, owners are known by their process numbers
    fcntl = None

#: The lock of a folder whose parent may not be written to.
INSIDE = ".lock"

#: Bytes of what an owner writes down, in one piece, so that a kill leaves all of it or none.
RECORD = 1024

#: The longest part of a name that other names are made of.
LONGEST = 180

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@dataclass
class Lock:
    """The right to write to ``target``, held by this process.

    ``left`` is what the last owner wrote down, if it was killed: which plan it had finished.
    """

    target: Path
    path: Path
    handle: int
    owner: int = field(default_factory=os.getpid)
    left: dict[str, Any] = field(default_factory=dict[str, Any])
    #: Whether what was left concerns this owner, who then has the last word on it.
    mine: bool = False

    def finished(self, plan: str | None) -> bool:
        """Whether the same plan was finished here by an owner that was killed before its end."""
        if plan is None or self.left.get("plan") != plan or not self._is_there():
            return False
        self.mine = True
        return True

    def note(self, plan: str | None, *, file: str, digest: str) -> None:
        """Write down that a plan is finished as soon as ``file`` of the target has this digest."""
        self.left, self.mine = {"plan": plan, "file": file, "digest": digest}, True
        self.record()

    def record(self) -> None:
        """Write down who holds the lock, and what was finished."""
        about = {"pid": self.owner, "host": platform.node(), "started": time.strftime("%Y-%m-%d %H:%M:%S")}
        text = json.dumps({**about, **self.left}).encode().ljust(RECORD) + b"\n"
        os.lseek(self.handle, 0, os.SEEK_SET)
        os.write(self.handle, text)
        os.fsync(self.handle)

    def release(self, *, interrupted: bool = False) -> None:
        """Let others write. The file goes too, unless the same command has yet to come to its end."""
        keeps = interrupted if self.mine else self._is_there()
        try:
            if not keeps and fcntl is not None:
                self.path.unlink(missing_ok=True)
        except OSError:
            pass
        finally:
            os.close(self.handle)
        if not keeps and fcntl is None:  # there, what is open cannot be removed
            with suppress(OSError):
                self.path.unlink()

    def _is_there(self) -> bool:
        """Whether the target still is what was finished."""
        try:
            content = (self.target / str(self.left["file"])).read_bytes()
            return hashlib.sha256(content).hexdigest() == self.left["digest"]
        except (KeyError, OSError):
            return False


_HELD: ContextVar[tuple[Lock, ...]] = ContextVar("showthrough_locks", default=())


@contextmanager
def hold(path: str | os.PathLike[str]) -> Generator[Lock]:
    """Be the only one who writes to a folder; whoever holds it may hold it again.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place, hold(f"{place}/run") as lock, hold(f"{place}/run") as again:
    ...     lock is again
    True
    """
    target = Path(os.path.realpath(path))
    _check_name(target, os.fspath(path))
    held = _HELD.get()
    for lock in held:
        if lock.target == target and lock.owner == os.getpid():
            yield lock
            return
    try:
        made = _make_parents(target.parent)
        lock = _take(target, os.fspath(path))
    except OSError as problem:
        raise RunError(
            f"cannot write here: {problem.strerror or problem}",
            file=os.fspath(path),
            remedy="choose a folder you can write to, on a disk with enough space",
        ) from None
    token, interrupted = _HELD.set((*held, lock)), False
    try:
        yield lock
    except KeyboardInterrupt:
        interrupted = True
        raise
    finally:
        _HELD.reset(token)
        lock.release(interrupted=interrupted)
        for folder in made:
            with suppress(OSError):  # unless something was written there
                folder.rmdir()


def _check_name(target: Path, shown: str) -> None:
    """Libraries that write tables take names as UTF-8 only."""
    try:
        str(target).encode()
    except UnicodeEncodeError:
        raise RunError(
            "cannot write here: the path is not valid UTF-8",
            file=shown,
            found=str(target),
            remedy="choose a folder whose whole path is",
        ) from None


def _make_parents(folder: Path) -> list[Path]:
    """Make a folder with its parents; those that were not there, innermost first."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _take(target: Path, shown: str) -> Lock:
    path, flags = _path(target), os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    while True:
        handle = os.open(path, flags, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
            left = _read(handle)
            if not try_lock(handle, left):
                raise _refused(left, shown)
            if _is_at(handle, path):  # else its last owner removed it just now
                lock = Lock(target, path, handle, left=_finished(_read(handle)))
                try:
                    lock.record()
                except OSError:
                    if not lock.left:
                        path.unlink()
                    raise
                return lock
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _path(target: Path) -> Path:
    inside = target.is_dir() and os.access(target, os.W_OK) and not os.access(target.parent, os.W_OK)
    return target / INSIDE if inside else target.with_name(f".{short_name(target)}.lock")


def short_name(target: Path) -> str:
    """The name of a path, or what stands for it if longer names could not be made of it.

    >>> short_name(Path("a/run")), len(short_name(Path("x" * 255)))
    ('run', 57)
    """
    if not target.name:
        raise RunError("a folder cannot be made here", file=str(target), remedy="choose another")
    encoded = os.fsencode(target.name)
    if len(encoded) <= LONGEST:
        return target.name
    return f"{target.name[:40]}-{hashlib.sha256(encoded).hexdigest()[:16]}"


def try_lock(handle: int, left: dict[str, Any] | None = None) -> bool:
    """Lock an open file unless another process has; True if that worked.

    Where the system has no locks, an owner is one who wrote itself down and is alive.
    """
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            if problem.errno not in NO_LOCKS:
                return False
        else:
            return True
    owner = left or {}
    pid = owner.get("pid")
    return not (
        isinstance(pid, int) and pid != os.getpid() and owner.get("host") == platform.node() and is_alive(pid)
    )


def is_alive(pid: int) -> bool:
    """Whether there is a process of this number on this machine."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # somebody else's
        return True
    return True


def _is_at(handle: int, path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    own = os.fstat(handle)
    return (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino)


def _read(handle: int) -> dict[str, Any]:
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        content = json.loads(os.read(handle, 2 * RECORD))
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _finished(left: dict[str, Any]) -> dict[str, Any]:
    return {name: left[name] for name in ("plan", "file", "digest") if name in left}


def _refused(left: dict[str, Any], shown: str) -> RunError:
    pid, host = left.get("pid"), left.get("host")
    where = f" on {host}" if host != platform.node() else ""
    who = f" (pid {pid}{where})" if isinstance(pid, int) else ""
    return RunError(
        f"another showthrough process{who} is writing to this folder",
        file=shown,
        remedy="wait until it is done, or choose another folder",
    )
