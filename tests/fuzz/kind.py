"""One kind of input: how it is made, and what must be true of every single one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.dice import Dice
from showthrough import files
from showthrough.errors import ShowthroughError
from showthrough.text import escape_control

__all__ = ["Fault", "Kind", "Outcome", "attempt", "limited", "patched"]

#: The longest message that somebody will read.
LONGEST = 4_300


class Fault(AssertionError):
    """Something that must never happen did."""


@dataclass(frozen=True)
class Kind:
    """``check`` returns None for an accepted input, or the message it was refused with; it raises
    :class:`Fault` (or anything else, which is a fault too) for what must not happen.

    ``share`` says how many inputs of this kind there are among others.
    """

    name: str
    make: Callable[[Dice], bytes]
    check: Callable[[bytes, Path], str | None]
    share: float
    #: The longest that one input may take, on a busy machine.
    seconds: float = 20


@dataclass(frozen=True)
class Outcome:
    """What came of an attempt to read something."""

    value: Any = None
    error: ShowthroughError | None = None

    @property
    def words(self) -> str | None:
        """What was said; None if all went well."""
        return None if self.error is None else str(self.error)

    @property
    def row(self) -> int:
        """The row that the error is about, 0 for none."""
        return getattr(self.error, "row", None) or 0


def attempt(call: Callable[[], Any], *, file: Path | None = None) -> Outcome:
    """Do something; a refusal must be one line that names the file."""
    try:
        return Outcome(call())
    except ShowthroughError as error:
        check_words(str(error), file)
        return Outcome(error=error)


def check_words(words: str, file: Path | None) -> None:
    """Raise if a message is not one line on a terminal, names no file, or is endless."""
    if len(escape_control(words).splitlines()) != 1:
        raise Fault(f"a message is not one line: {words!r}")
    if file is not None and str(file) not in words:
        raise Fault(f"a message does not name the file: {words!r}")
    if len(words) > LONGEST:
        raise Fault(f"a message has {len(words)} characters")


@contextmanager
def limited(limits: files.Limits) -> Iterator[None]:
    """Read within other limits, so that small inputs reach them."""
    token = files._LIMITS.set(limits)
    try:
        yield
    finally:
        files._LIMITS.reset(token)


@contextmanager
def patched(*changes: tuple[object, str, object]) -> Iterator[None]:
    """Other values for names of modules."""
    before = [(module, name, getattr(module, name)) for module, name, _ in changes]
    for module, name, value in changes:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
