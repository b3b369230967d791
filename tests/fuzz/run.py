"""Many inputs of one kind: made, checked, counted; what fails is made as small as possible."""

from __future__ import annotations

import re
import resource
import signal
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.dice import Dice
from fuzz.kind import Fault, Kind

__all__ = ["Failure", "Tally", "check_one", "fuzz", "make_input", "smallest"]

#: What one small input may add to the memory of the process.
MOST_MEMORY = 2**29

#: Checks that making an input smaller may take.
_PATIENCE = 400


class Hang(Exception):
    """An input took too long."""


@dataclass(frozen=True)
class Failure:
    """An input that something went wrong with, and where."""

    kind: str
    number: int
    data: bytes
    signature: str
    trace: str


@dataclass
class Tally:
    """What came of many inputs."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    #: Inputs that something went wrong with.
    failed: int = 0
    seconds: float = 0.0
    #: The first words of messages, without what was found.
    messages: set[str] = field(default_factory=set[str])
    failures: list[Failure] = field(default_factory=list[Failure])

    def add(self, words: str | None) -> None:
        """Count an input that nothing was wrong with."""
        if words is None:
            self.accepted += 1
        else:
            self.refused += 1
            self.messages.add(gist(words))


def gist(words: str) -> str:
    """A message without names, numbers and values."""
    text = words.partition(" (found ")[0].partition("; ")[0].rpartition(": ")[2]
    return re.sub(r"\(.*|['\"].*['\"]|[0-9]|\\.*", "", text)[:40]


def make_input(kind: Kind, seed: int, number: int) -> bytes:
    """The input with this number: the same for the same seed."""
    return kind.make(Dice(seed, zlib.crc32(kind.name.encode()), number))


def check_one(kind: Kind, data: bytes, folder: Path) -> str | None:
    """Check one input, within its time and memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with _within(kind.seconds):
        words = kind.check(data, folder)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if grown > MOST_MEMORY:
        raise Fault(f"it took {grown:,} bytes of memory")
    return words


def fuzz(
    kind: Kind,
    number: int,
    *,
    seed: int,
    folder: Path,
    first: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> Tally:
    """Check inputs one after the other; each place where one fails is noted once."""
    tally, seen, start = Tally(), set[str](), time.perf_counter()
    for at in range(first, first + number):
        data = make_input(kind, seed, at)
        tally.inputs += 1
        try:
            tally.add(check_one(kind, data, folder))
        except Exception as problem:  # noqa: BLE001
            tally.failed += 1
            signature = signed(problem)
            if signature not in seen:
                seen.add(signature)
                tally.failures.append(Failure(kind.name, at, data, signature, traceback.format_exc()))
        if stop():
            break
    tally.seconds = time.perf_counter() - start
    return tally


def signed(problem: BaseException) -> str:
    """What went wrong and where, so that the same fault is told once."""
    frames = traceback.extract_tb(problem.__traceback__)
    ours = [frame for frame in frames if "showthrough" in frame.filename or "fuzz" in frame.filename]
    place = f"{Path(ours[-1].filename).name}, {ours[-1].name}" if ours else "?"
    return f"{type(problem).__name__} at {place}"


def smallest(kind: Kind, failure: Failure, folder: Path) -> bytes:
    """A smaller input with the same fault: lines are taken out, then bytes (delta debugging)."""
    left = [_PATIENCE]

    def fails(data: bytes) -> bool:
        left[0] -= 1
        try:
            check_one(kind, data, folder)
        except Exception as problem:  # noqa: BLE001
            return signed(problem) == failure.signature
        return False

    data = failure.data
    if not fails(data):
        return data
    for pieces in (lambda one: one.splitlines(keepends=True), lambda one: [bytes([byte]) for byte in one]):
        data = _without(pieces(data), fails, left)
    return data


def _without(pieces: list[bytes], fails: Callable[[bytes], bool], left: list[int]) -> bytes:
    size = len(pieces) // 2
    while size and left[0] > 0:
        at = 0
        while at < len(pieces) and left[0] > 0:
            fewer = pieces[:at] + pieces[at + size :]
            if fails(b"".join(fewer)):
                pieces = fewer
            else:
                at += size
        size //= 2
    return b"".join(pieces)


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hang(f"not done after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
