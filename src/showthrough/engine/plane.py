"""The seam for data larger than memory: something that counts records, and runs the work on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from showthrough.engine.keys import Keys, Layout
from showthrough.engine.protocol import Work
from showthrough.engine.source import Source
from showthrough.errors import RecordsError

__all__ = ["Batch", "Plane", "Tally", "check_missing", "check_tally"]

#: Keys, and how many records have each.
Batch = tuple[Keys, NDArray[np.int64]]

#: A public column with more values than this tells people apart one by one.
MOST_VALUES = 2**24


@dataclass(frozen=True, eq=False)
class Tally:
    """How many records there are of each kind: a GROUP BY over all columns.

    ``cells`` starts a new pass over the kinds, each with its number of records, in ascending order.
    """

    layout: Layout
    records: int
    cells: Callable[[], Iterator[Batch]]


class Plane(Protocol):
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

    def recount(self, source: Source, layout: Layout, *, scratch: Path) -> Iterator[Batch]:
        """Count records whose columns and values are known, in any order.

        Records with another value than these are counted under no key: their numbers come with keys
        whose bits are all set.
        """
        ...

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        """As :meth:`showthrough.engine.protocol.Engine.run`."""
        ...


def check_missing(missing: int, column: str, *, file: str | None) -> None:
    """Raise if a sensitive value is missing."""
    if missing:
        raise RecordsError(
            f"the sensitive value is missing in {missing:,} records",
            file=file,
            column=column,
            remedy='leave these records out, or fill in a value of its own such as "unknown"',
        )


def check_tally(tally: Tally, *, file: str | None) -> Tally:
    """Raise if there are no records, or a column names people rather than describes them."""
    if not tally.records:
        raise RecordsError("there are no records", file=file, remedy="one row per record is needed")
    for column in tally.layout.columns:
        if len(column.values) > MOST_VALUES:
            raise RecordsError(
                f"the column has over {MOST_VALUES:,} values, so it names people one by one",
                file=file,
                column=column.name,
                remedy="leave it out of the public columns, or make its values coarser",
            )
    return tally
