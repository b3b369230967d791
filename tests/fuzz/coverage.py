"""Inputs guided by the lines of the readers that they reach, without any library for it."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
import traceback
import zlib
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import showthrough.census
import showthrough.formats
import showthrough.frames
from fuzz.dice import Dice
from fuzz.kind import Kind
from fuzz.mutate import change_bytes
from fuzz.run import Failure, Tally, check_one, make_input, signed

__all__ = ["Lines", "guided", "modules"]

#: How many inputs of a kind others are made from at first.
_FIRST = 30


def modules() -> list[ModuleType]:
    """The modules of the readers."""
    return [
        importlib.import_module(f"{room.__name__}.{found.name}")
        for room in (showthrough.frames, showthrough.formats, showthrough.census)
        for found in pkgutil.iter_modules(room.__path__)
    ]


class Lines:
    """The lines of the readers that were ever reached."""

    def __init__(self) -> None:
        self._files = {module.__file__ for module in modules()}
        self.seen: set[tuple[CodeType, int]] = set()

    def reached(self, call: Callable[[], Any]) -> int:
        """How many new lines a call reaches."""
        before, outer = len(self.seen), sys.gettrace()
        sys.settrace(self._enter)
        try:
            call()
        finally:
            sys.settrace(outer)
        return len(self.seen) - before

    def _enter(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:  # noqa: ARG002
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        if event == "line":
            self.seen.add((frame.f_code, frame.f_lineno))
        return self._line


def guided(
    kind: Kind, number: int, *, seed: int, folder: Path, stop: Callable[[], bool] = lambda: False
) -> Tally:
    """As :func:`fuzz.run.fuzz`, but inputs that reach new lines are kept, and changed further."""
    tally, lines, seen, start = Tally(), Lines(), set[str](), time.perf_counter()
    kept = [make_input(kind, seed, at) for at in range(_FIRST)]
    for at in range(number):
        dice = Dice(seed, zlib.crc32(kind.name.encode()), at, 1)
        data = make_input(kind, seed, at) if at < _FIRST or dice.one_in(3) else dice.of(kept)
        for _ in range(dice.of((0, 1, 1, 2, 4)) if at >= _FIRST else 0):
            data = change_bytes(data, dice)
        tally.inputs += 1
        try:
            if lines.reached(lambda data=data: tally.add(check_one(kind, data, folder))):
                kept.append(data)
        except Exception as problem:  # noqa: BLE001
            tally.failed += 1
            if signed(problem) not in seen:
                seen.add(signed(problem))
                tally.failures.append(Failure(kind.name, -1, data, signed(problem), traceback.format_exc()))
        if stop():
            break
    tally.seconds = time.perf_counter() - start
    return tally
