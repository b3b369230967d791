"""Work on objects instead of numbered items, on any engine: what machines need and find passes through files.

An engine hands out numbers. Here each number stands for something that is kept in a private folder which all
machines share: the thing, as it is handed to whoever works on it, and later what was found.
"""

from __future__ import annotations

import os
import pickle
import secrets
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from showthrough.engine.engine import Engine, LocalEngine, in_order
from showthrough.errors import ShowthroughError
from showthrough.scratch import private_scratch, shared_place

__all__ = [
    "in_order_on",
    "scratch_place",
    "shared_scratch",
]

Item = TypeVar("Item")
Found = TypeVar("Found")


def in_order_on(
    engine: Engine, work: Callable[[Item], Found], items: Iterable[Item]
) -> Generator[Found, None, None]:
    """What ``work`` returns for each item, in the order of the items, wherever the engine has it done.

    Items are taken as there is room for them. What ``work`` raises on purpose is raised when it is the
    item's turn, so that of several errors it is always the same.

    >>> list(in_order_on(LocalEngine(), abs, [3, -2]))
    [3, 2]
    """
    if isinstance(engine, LocalEngine):
        yield from in_order(work, items, workers=engine.workers)
        return
    with shared_scratch(engine) as folder:
        yield from _Handed.prepare(work, folder).results(engine, items)


@contextmanager
def shared_scratch(engine: object, place: str | os.PathLike[str] | None = None) -> Generator[Path]:
    """A private folder for what the machines of an engine exchange, gone afterwards."""
    with private_scratch(scratch_place(engine, place)) as folder:
        yield folder


def scratch_place(
    engine: object, place: str | os.PathLike[str] | None = None
) -> str | os.PathLike[str] | None:
    """Where an engine has its temporary files: in ``place``, or where it says itself.

    A cluster needs one of these, or SHOWTHROUGH_SCRATCH.
    """
    session: Any = getattr(engine, "session", None)
    master = "local" if session is None else str(session.sparkContext.master)
    return shared_place(master, place or getattr(engine, "scratch", None))


@dataclass(eq=False)
class _Handed:
    """Work whose items and results lie in a folder, numbered."""

    folder: Path
    n_items: int = field(default=0, init=False)

    @classmethod
    def prepare(cls, work: Callable[[Any], Any], folder: Path) -> _Handed:
        """Leave the work itself in the folder: it may be large, and every machine needs it once."""
        _write(folder / "work", work)
        return cls(folder)

    def __call__(self, number: int) -> int:
        """Work on an item, and leave what was found; an error on purpose is a result as well."""
        work = _known_work(str(self.folder))
        try:
            found = work(_read(self.folder / f"{number}.item")), None
        except ShowthroughError as error:
            found = None, error
        _write(self.folder / f"{number}.found", found)
        return number

    def results(self, engine: Engine, items: Iterable[Any]) -> Iterator[Any]:
        """What was found, each when it is its turn."""
        early, turn = set[int](), 0
        for number, done in engine.run(self, self._numbered(items)):
            if done != number:
                raise ShowthroughError(f"the engine mixed up items: {number} was handed out, {done} was done")
            early.add(number)
            while turn in early:
                early.remove(turn)
                yield self._take(turn)
                turn += 1
        if turn != self.n_items:
            raise ShowthroughError(
                f"{self.n_items:,} items were handed out, but {turn:,} came back; run the same command again"
            )

    def _numbered(self, items: Iterable[Any]) -> Iterator[int]:
        for item in items:
            number, self.n_items = self.n_items, self.n_items + 1
            _write(self.folder / f"{number}.item", item)
            yield number

    def _take(self, number: int) -> Any:
        path = self.folder / f"{number}.found"
        found, error = _read(path)
        for one in (path, path.with_suffix(".item")):
            one.unlink(missing_ok=True)
        if error is not None:
            raise error
        return found


def _write(path: Path, content: object) -> None:
    """Several may write the same at once: each writes a draft of its own, and one of them stays."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.draft")
    draft.write_bytes(pickle.dumps(content, pickle.HIGHEST_PROTOCOL))
    draft.replace(path)


def _read(path: Path) -> Any:
    return pickle.loads(path.read_bytes())  # noqa: S301  (in a folder that only this user can write to)


@lru_cache(maxsize=1)
def _known_work(folder: str) -> Callable[[Any], Any]:
    return _read(Path(folder, "work"))
