"""A run's tables, area by area, so that no more than one area is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from showthrough.audit.baseline import texts
from showthrough.audit.reading import AreaReader
from showthrough.audit.run import AuditRun

__all__ = ["iter_areas"]


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
