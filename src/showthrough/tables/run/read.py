"""A run's tables, area by area, so that no more than one area is in memory.

A run's tables, area by area, so that no more than one area is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute

from showthrough.tables.run.batch import TABLES
from showthrough.tables.run.folder import AuditRun
from showthrough.tables.surprise import texts

__all__ = [
    "AreaReader",
    "iter_areas",
]

#: Rows of a table read together; the counts of an area are thousands of numbers.
_ROWS = 2**10

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute


class AreaReader:
    """A table of a run on its way through the areas; never more in memory than one area and some rows.

    The areas stand in one order in all tables, and an area's rows stand together.
    """

    def __init__(self, run: AuditRun, name: str, columns: Sequence[str] | None = None) -> None:
        chosen = list(TABLES[name].names) if columns is None else ["area", *columns]
        self._batches = run.batches(name, chosen, rows=_ROWS)
        self._none = TABLES[name].empty_table().select(chosen)
        self._held = self._none

    def next_area(self) -> str | None:
        """The area of the next rows; None at the end."""
        while not self._held.num_rows:
            found = next(self._batches, None)
            if found is None:
                return None
            self._held = found
        return str(self._held["area"][0])

    def take(self, area: str) -> pa.Table:
        """The next rows, as far as they are about this area."""
        mine = [self._none]
        while self.next_area() == area:
            other = pc.index(pc.not_equal(self._held["area"], pa.scalar(area)), pa.scalar(True)).as_py()
            stop = self._held.num_rows if other < 0 else other
            mine.append(self._held.slice(0, stop))
            self._held = self._held.slice(stop)
        return pa.concat_tables(mine)


def iter_areas(
    run: AuditRun, tables: Mapping[str, Sequence[str]], wanted: set[str]
) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """For each wanted area its rows of some tables (name → columns besides the area).

    The areas stand in one order in all tables, and an area's rows stand together.
    """
    readers = {name: AreaReader(run, name, columns) for name, columns in tables.items()}
    left = set(wanted)
    for part in run.batches("areas", ["area"]):
        for area in texts(part["area"]):
            rows = {name: reader.take(area) for name, reader in readers.items()}
            if area in left:
                yield area, rows
                left.discard(area)
            if not left:
                return
