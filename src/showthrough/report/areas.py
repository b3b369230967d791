"""A run's tables, area by area, so that no more than one area is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute

from showthrough.audit.baseline import texts
from showthrough.audit.batch import TABLES
from showthrough.audit.run import AuditRun

__all__ = ["iter_areas"]

#: Rows of a table read together; the counts of an area are thousands of numbers.
_ROWS = 2**11

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute


def iter_areas(
    run: AuditRun, tables: Mapping[str, Sequence[str]], wanted: set[str]
) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """For each wanted area its rows of some tables (name → columns besides the area).

    The areas stand in one order in all tables, and an area's rows stand together.
    """
    readers = {name: _Reader(run, name, columns) for name, columns in tables.items()}
    left = set(wanted)
    for part in run.batches("areas", ["area"]):
        for area in texts(part["area"]):
            rows = {name: reader.take(area) for name, reader in readers.items()}
            if area in left:
                yield area, rows
                left.discard(area)
            if not left:
                return


class _Reader:
    """One table on its way through the areas."""

    def __init__(self, run: AuditRun, name: str, columns: Sequence[str]) -> None:
        chosen = ["area", *columns]
        self._batches = run.batches(name, chosen, rows=_ROWS)
        self._none = TABLES[name].empty_table().select(chosen)
        self._held = self._none

    def take(self, area: str) -> pa.Table:
        """The next rows, as far as they are about this area."""
        mine = [self._none]
        while self._fill() and self._held["area"][0].as_py() == area:
            other = pc.index(pc.not_equal(self._held["area"], pa.scalar(area)), pa.scalar(True)).as_py()
            stop = self._held.num_rows if other < 0 else other
            mine.append(self._held.slice(0, stop))
            self._held = self._held.slice(stop)
        return pa.concat_tables(mine)

    def _fill(self) -> bool:
        while not self._held.num_rows:
            found = next(self._batches, None)
            if found is None:
                return False
            self._held = found
        return True
