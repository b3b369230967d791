"""Progress messages while one area takes a long time."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = [
    "telling",
    "told",
]


def _silent(text: str) -> None:
    """Say nothing."""


_TELL: ContextVar[Callable[[str], None]] = ContextVar("tell", default=_silent)


def told() -> Callable[[str], None]:
    """Who is told."""
    return _TELL.get()


@contextmanager
def telling(progress: object, what: str) -> Generator[None]:
    """Let a progress bar say what is being done, after what it says anyway; nothing if it cannot.

    >>> class Bar:
    ...     def tell(self, text: str) -> None:
    ...         print(text)
    >>> with telling(Bar(), "auditing"):
    ...     told()("12 claims open")
    auditing: 12 claims open
    """
    tell = getattr(progress, "tell", None)
    mark = _TELL.set(_silent if tell is None else lambda text: tell(f"{what}: {text}"))
    try:
        yield
    finally:
        _TELL.reset(mark)
