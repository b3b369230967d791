"""A process that is killed, played in this one: from some moment on nothing reaches the disk any more.

Every call that changes a file or a folder counts: opening for writing, writing to a lock, flushing,
renaming, removing, making folders, changing permissions. At the n-th of them, and at all that follow
(nobody tidies up after a kill), an exception is raised that no code catches on purpose.
"""

from __future__ import annotations

import builtins
import io
import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

#: Calls that change what is at a path.
CHANGING = ("rename", "replace", "remove", "unlink", "mkdir", "rmdir", "chmod", "truncate")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

#: Moments tried of long work: all of them, or one of so many.
STEP = 1 if os.environ.get("SHOWTHROUGH_SLOW") == "1" else 19


class Killed(BaseException):
    """The process is no more."""


class _Clock:
    """Counts what is done below a folder, and ends everything in time."""

    def __init__(self) -> None:
        self.root, self.left, self.ticks = "", 0, 0

    def tick(self) -> None:
        if self.root:
            self.ticks += 1
            if self.ticks >= self.left:
                raise Killed

    def is_below(self, path: object) -> bool:
        """Whether something is the path of a place that counts."""
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        return isinstance(path, str | os.PathLike) and Path(path).absolute().is_relative_to(self.root)


_CLOCK = _Clock()


@contextmanager
def killed_at(moment: int, root: Path) -> Generator[Callable[[], bool]]:
    """Kill whatever runs within at this moment; the function tells whether it was."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("fsync", "write"):
            patched.setattr(os, name, _ticking(getattr(os, name), root))
        for name in CHANGING:
            patched.setattr(os, name, _changing(getattr(os, name)))
        patched.setattr(os, "open", _opening(os.open))
        for module in (builtins, io):
            patched.setattr(module, "open", _opening(io.open))
        _CLOCK.root, _CLOCK.left, _CLOCK.ticks = str(root), moment, 0
        try:
            yield lambda: _CLOCK.ticks >= moment
        except Killed:
            pass
        finally:
            _CLOCK.root = ""


def _place_of(handle: int) -> Path:
    """Where something is that is open."""
    return Path(f"/proc/self/fd/{handle}").readlink()


def _ticking(call: Callable[..., Any], root: Path) -> Callable[..., Any]:
    def counted(handle: int, *arguments: Any) -> Any:
        if _place_of(handle).is_relative_to(root):
            _CLOCK.tick()
        return call(handle, *arguments)

    return counted


def _changing(call: Callable[..., Any]) -> Callable[..., Any]:
    def counted(path: Any, *arguments: Any, **more: Any) -> Any:
        folder = more.get("dir_fd")
        if _CLOCK.is_below(path if folder is None else _place_of(folder)):
            _CLOCK.tick()
        return call(path, *arguments, **more)

    return counted


def _opening(call: Callable[..., Any]) -> Callable[..., Any]:
    def counted(path: Any, mode: int | str = "r", *arguments: Any, **more: Any) -> Any:
        writes = mode & WRITING if isinstance(mode, int) else set(mode) & set("wax+")
        if writes and _CLOCK.is_below(path):
            _CLOCK.tick()
        return call(path, mode, *arguments, **more)

    return counted


def every_moment(work: Callable[[], object], root: Path, *, first: int = 1, step: int = 1) -> Iterator[int]:
    """Kill some work at its first moment, at its second, and so on, until it comes to its end.

    The work is started anew after whatever is done between.
    """
    moment = first
    while True:
        with killed_at(moment, root) as was:
            work()
        if not was():
            return
        yield moment
        moment += step


def n_moments(work: Callable[[], object], root: Path) -> int:
    """How many moments there are."""
    with killed_at(sys.maxsize, root):
        work()
    return _CLOCK.ticks
