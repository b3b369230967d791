"""The seam for data larger than memory: something that counts records, and runs the work on them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from showthrough.engine.coding import FoundValues
from showthrough.engine.engine import Engine, LocalEngine, Work, open_engine
from showthrough.engine.keys import KeyCodec, Keys
from showthrough.errors import InputError, RecordsError, ShowthroughError, closest
from showthrough.frames import Source

__all__ = [
    "Batch",
    "CountingBackend",
    "CountingPlace",
    "Tally",
    "backend_of",
    "check_tally",
    "choose_columns",
    "make_codec",
    "open_backend",
    "with_codes",
]

#: Keys, and how many records have each.
Batch = tuple[Keys, NDArray[np.int64]]

#: A public column with more values than this tells people apart one by one.
MOST_VALUES = 2**24


@dataclass(frozen=True, eq=False)
class Tally:
    """How many records there are of each kind: a GROUP BY over all columns.

    ``cells`` starts a new pass over the kinds, each with its number of records, in ascending order.
    """

    codec: KeyCodec
    records: int
    cells: Callable[[], Iterator[Batch]]


class CountingBackend(Protocol):
    """Counts records and runs work, on one machine or on many."""

    @property
    def is_shared(self) -> bool:
        """Whether work runs on several machines, so that each leaves its rows in a file of its own."""
        ...

    def tally(
        self, source: Source, *, public: Sequence[str] | None, sensitive: Sequence[str], scratch: Path
    ) -> AbstractContextManager[Tally]:
        """Count the records; what does not fit into memory goes to the folder ``scratch``."""
        ...

    def recount(self, source: Source, codec: KeyCodec, *, scratch: Path) -> Iterator[Batch]:
        """Count records whose columns and values are known, in any order; a key may come more than once.

        Records with another value than these are counted under no key: their numbers come with keys
        whose bits are all set.
        """
        ...

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        """As :meth:`showthrough.engine.engine.Engine.run`."""
        ...


#: Where records are counted: an engine, or what counts on one; none stands for this machine.
CountingPlace = Engine | CountingBackend | None


def backend_of(engine: CountingPlace) -> CountingBackend:
    """What counts records on an engine.

    >>> backend_of(LocalEngine(2))
    DuckBackend(memory='1GB', threads=2)
    """
    known: Any = engine
    if hasattr(known, "is_shared"):
        return known
    if engine is None or isinstance(engine, LocalEngine):
        from showthrough.engine.duck import DuckBackend

        return DuckBackend(threads=None if engine is None else engine.workers)
    if not hasattr(engine, "session"):
        raise InputError(
            f"engine must be an engine, not {type(engine).__name__}", remedy="use SparkEngine(session)"
        )
    from showthrough.engine.spark_backend import SparkBackend

    return SparkBackend(known)


def choose_columns(
    names: Sequence[str], *, public: Sequence[str] | None, sensitive: Sequence[str], file: str | None
) -> tuple[list[str], list[str]]:
    """The public and the sensitive columns, of those there are; all others are public by default.

    >>> choose_columns(["sex", "age", "ill"], public=None, sensitive=["ill"], file=None)
    (['sex', 'age'], ['ill'])
    """
    if not sensitive:
        raise InputError("no sensitive column given", remedy=closest("", names))
    chosen = list(public) if public is not None else [name for name in names if name not in set(sensitive)]
    wanted = [*chosen, *sensitive]
    for name in wanted:
        if name not in names:
            raise RecordsError("no such column", file=file, column=name, remedy=closest(name, names))
    if len(set(wanted)) < len(wanted):
        twice = next(name for name in wanted if wanted.count(name) > 1)
        raise InputError(
            "a column is named twice", column=twice, remedy="a column is either public or sensitive"
        )
    return chosen, list(sensitive)


def make_codec(
    found: FoundValues, public: Sequence[str], sensitive: Sequence[str], *, file: str | None
) -> KeyCodec:
    """How records with these values are packed into keys; an error if they are no categories."""
    if not found.records:
        raise RecordsError("there are no records", file=file, remedy="the file needs one row per record")
    for name in sensitive:
        if found.missing[name]:
            raise RecordsError(
                f"the sensitive value is missing in {found.missing[name]:,} records",
                file=file,
                column=name,
                remedy='leave these records out, or fill in a separate value such as "unknown"',
            )
    for name in (*public, *sensitive):
        if found.number(name) > MOST_VALUES:
            raise RecordsError(
                f"the column has over {MOST_VALUES:,} values, so it identifies single records",
                file=file,
                column=name,
                remedy="leave it out of the public columns, or group its values",
            )
    hidden = tuple(found.column(name) for name in sensitive)
    codes = np.arange(len(hidden[0].values))
    return KeyCodec(tuple(found.column(name) for name in public), hidden, codes)


def with_codes(codec: KeyCodec, cells: Iterator[Batch]) -> KeyCodec:
    """The codec with just the combinations of sensitive values that occur."""
    mask, found = np.uint64((1 << codec.width) - 1), np.zeros(0, np.uint64)
    for keys, _ in cells:
        found = np.union1d(found, keys[:, -1] & mask)
    return KeyCodec(codec.public, codec.sensitive, found.astype(np.int64))


def check_tally(tally: Tally, *, records: int, file: str | None) -> Tally:
    """Raise unless as many records were counted as were read."""
    if tally.records != records:
        raise ShowthroughError(
            f"{file or 'the data'}: {records:,} records were read, but {tally.records:,} were counted; "
            "nothing was written: check the disk, and that the data do not change while they are read"
        )
    return tally


@contextmanager
def open_backend(
    name: str = "local",
    *,
    threads: int | None = None,
    memory: str = "1GB",
    notice: Callable[[str], None] | None = None,
    scratch: str | PathLike[str] | None = None,
) -> Generator[CountingBackend]:
    """``local`` with this many threads, or a Spark master such as ``spark://host:7077``.

    ``memory`` is what counting may take on this machine before it goes to disk; ``notice`` is called with
    a sentence when a cluster lets this program wait. Its machines share the folder ``scratch``.

    >>> with open_backend(threads=2) as backend:
    ...     backend
    DuckBackend(memory='1GB', threads=2)
    """
    if name == "local":
        from showthrough.engine.duck import DuckBackend

        yield DuckBackend(memory, threads)
        return
    with open_engine(name, workers=1, notice=notice, scratch=scratch) as engine:
        yield backend_of(engine)
