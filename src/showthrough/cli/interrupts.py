"""Interruptions: the first ends a command in good order, the second at once.

Python runs a signal's handler between two steps of the main thread, which may be busy, or already
tidying up after the first signal. So a thread listens too: it ends the process at the second.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = [
    "Interrupts",
]

#: What a shell expects of a process that ended by a signal.
_CODES = {int(signal.SIGINT): 130, int(signal.SIGTERM): 143}
_WORDS = {int(signal.SIGINT): "interrupted", int(signal.SIGTERM): "terminated"}

#: Notes to the thread, which are no signals: to stop, and that an interruption got lost.
_STOP, _LOST = 0, 255

#: Seconds until a lost interruption is tried again, and that the last words may take.
_PAUSE, _PATIENCE = 0.02, 1.0


class Interrupts:
    """SIGINT and SIGTERM while a command runs. ``advice`` is added to the message about them."""

    def __init__(self, advice: str = "") -> None:
        self.advice = advice
        self.first: int | None = None
        self._telling, self._told = threading.Lock(), threading.Event()
        self._ending = threading.Lock()
        self._handlers: dict[int, Any] = {}
        self._ends: tuple[int, int] | None = None

    @property
    def came(self) -> bool:
        """Whether there was one."""
        return self.first is not None

    def listen(self) -> None:
        """From now on the first signal raises KeyboardInterrupt. Signals that are ignored stay so."""
        if threading.current_thread() is not threading.main_thread():
            return
        heard = [number for number in _CODES if signal.getsignal(number) is not signal.SIG_IGN]
        self._ends = listening, writing = os.pipe()
        os.set_blocking(writing, False)
        self._wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        threading.Thread(target=self._watch, args=(listening,), daemon=True).start()
        for number in heard:
            self._handlers[number] = signal.signal(number, self._raise)

    def stop(self, *, last: bool) -> None:
        """Stop listening; ``last``, the process is about to end and is not to be disturbed."""
        with self._ending:  # from now on no lost interruption comes again
            ends, self._ends = self._ends, None
        if ends is None:
            return
        for number, before in self._handlers.items():
            quiet = last and number == signal.SIGINT
            signal.signal(number, signal.SIG_IGN if quiet else before)
        signal.set_wakeup_fd(self._wakeup)
        sys.unraisablehook = self._hook
        os.write(ends[1], bytes([_STOP]))
        os.close(ends[1])

    def conclude(self, error: Callable[[str], None]) -> int:
        """The last words, and the exit code."""
        if self._telling.acquire(blocking=False):
            error(f"{_WORDS[self._number]}{self.advice}")
        self._told.set()
        return _CODES[self._number]

    @property
    def _number(self) -> int:
        return int(signal.SIGINT) if self.first is None else self.first

    def _raise(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.first is None:
            self.first = number
            raise KeyboardInterrupt

    def _unraisable(self, problem: Any) -> None:
        """An interruption in a place that cannot pass errors on would be printed, and forgotten."""
        if isinstance(problem.exc_value, KeyboardInterrupt) and self._ends is not None:
            os.write(self._ends[1], bytes([_LOST]))
        else:
            self._hook(problem)

    def _watch(self, listening: int) -> None:
        n_signals = 0
        while _STOP not in (heard := os.read(listening, 64)) and heard:
            n_signals += sum(number in self._handlers for number in heard)
            if n_signals > 1:
                self._leave()
            if _LOST in heard:
                n_signals = self._repeat(n_signals)
        os.close(listening)

    def _repeat(self, n_signals: int) -> int:
        """Interrupt once more, unless the command has ended meanwhile or is saying its last words."""
        time.sleep(_PAUSE)
        with self._ending:
            if self._ends is None or self._telling.locked():
                return n_signals
            number, self.first = self._number, None
            os.kill(os.getpid(), number)
            return 0

    def _leave(self) -> None:
        """End the process at once; workers go with it."""
        if self._telling.acquire(blocking=False):
            shown = "\r\x1b[2K\x1b[?25h" if os.isatty(2) else ""  # a bar may be there, and no cursor
            os.write(2, f"{shown}error: {_WORDS[self._number]}{self.advice}\n".encode())
        else:
            self._told.wait(_PATIENCE)
        os._exit(_CODES[self._number])
