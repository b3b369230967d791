"""What a worker process runs: a script of its own, which needs nothing but the standard library.

It is started as ``python -P worker.py PARENT TIED``. On its standard input it gets the module search
path, the work and then items; for each item it writes an answer to its standard output.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import IO, Any

__all__ = [
    "pack",
    "receive",
    "send",
]

_SIZE = struct.Struct("<Q")

#: From the headers of Linux: the signal to send when the parent dies.
_PR_SET_PDEATHSIG = 1

#: Seconds between looks at the parent, where the system does not tell of its death.
_PAUSE = 0.25


def pack(message: object) -> bytes:
    """A message as bytes."""
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


def send(stream: IO[bytes], packed: bytes) -> None:
    """Write a packed message."""
    stream.write(_SIZE.pack(len(packed)))
    stream.write(packed)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """The next message, still packed; the end of the stream is an EOFError."""
    return _exactly(stream, _SIZE.unpack(_exactly(stream, _SIZE.size))[0])


def _exactly(stream: IO[bytes], size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found


def _settle(parent: int, *, tied: bool) -> None:
    """A worker does not outlive its parent, also if that dies at this very moment.

    Linux kills the worker when the thread that started it ends: it is ``tied`` if that is the
    parent's main thread.
    """
    if tied and sys.platform == "linux":
        with suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if sys.platform != "win32":
        if os.getppid() != parent:
            os._exit(1)
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PAUSE)
    os._exit(1)


def _answer(work: bytes, item: bytes) -> bytes:
    """What was found; or else what went wrong, and where."""
    try:
        return pack((_unpacked(work)(pickle.loads(item)), None, ""))  # noqa: S301  (from the parent)
    except Exception as error:  # noqa: BLE001  (raised again in the parent)
        return pack((None, _portable(error), traceback.format_exc()))


@lru_cache(maxsize=1)
def _unpacked(work: bytes) -> Callable[[Any], object]:
    return pickle.loads(work)  # noqa: S301  (from the parent)


def _portable(error: Exception) -> Exception:
    try:
        pickle.loads(pack(error))  # noqa: S301  (our own)
    except Exception:  # noqa: BLE001  (an error may hold anything)
        return RuntimeError(" ".join(traceback.format_exception_only(error)).strip())
    return error


def _main(parent: int, *, tied: bool) -> None:
    _settle(parent, tied=tied)
    given, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # whatever is printed here is no answer
    try:
        sys.path[:] = pickle.loads(receive(given))  # noqa: S301  (from the parent)
        work = receive(given)
        while True:
            send(told, _answer(work, receive(given)))
    except (EOFError, OSError):  # the parent has closed the line, or is gone
        os._exit(0)


if __name__ == "__main__":
    _main(int(sys.argv[1]), tied=sys.argv[2] == "tied")
