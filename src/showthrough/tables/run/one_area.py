"""One area of a finished run, read as a run by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.errors import RunError, closest
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.totals import RunTotals, add_up
from showthrough.tables.stored import WHOLES

__all__ = [
    "AreaOfRun",
    "area_of_run",
]

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute

#: Names among which one that somebody may have meant is looked for.
_MOST_NAMES = 100_000


@dataclass(frozen=True)
class AreaOfRun(AuditRun):
    """A finished run as if this were its only area: its tables have the area's rows alone.

    Parameters
    ----------
    folder
        The folder of the run.
    area
        The name of the area.
    inside
        The names of the areas in it, if it is a larger area: then the tables have the rows of these.
    """

    area: str = ""
    inside: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[AuditRun, ...]:
        """This area alone, wherever its rows are."""
        return (self,)

    @cached_property
    def summary(self) -> RunTotals:
        """The totals of the area."""
        return add_up(self, without_findings=self.without_findings)

    @property
    def came_after(self) -> bool:
        """Never: what is new is said of the whole run."""
        return False

    @property
    def all_areas(self) -> AuditRun:
        """The run with all its areas."""
        return AuditRun(self.folder)

    def batches(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        *,
        rows: int = 2**14,
        near: Sequence[str] | None = None,
    ) -> Iterator[pa.Table]:
        """The area's rows of a table."""
        read = columns if columns is None or "area" in columns else [*columns, "area"]
        names = [self.area] if name == WHOLES or not self.inside else sorted(self.inside)
        for part in super().batches(name, read, rows=rows, near=names if near is None else near):
            mine = part.filter(pc.is_in(part["area"], pa.array(names, pa.string())))
            if mine.num_rows:
                yield mine if columns is None else mine.select(list(columns))

    def rows_at(self, name: str, places: NDArray[np.int64]) -> pa.Table:
        """Those of the area's rows of a table that are at these places."""
        return self.table(name).take(pa.array(places, pa.int64()))


def area_of_run(run: AuditRun, area: str) -> AreaOfRun:
    """One area of a run, or a larger one with its parts; an error that names the nearest if there is none."""
    found = AreaOfRun(run.folder, area)
    for whole in found.batches(WHOLES):
        return AreaOfRun(run.folder, area, tuple(whole["parts"][0].as_py() or ()))
    if next(found.batches("areas", ["area"]), None) is None:
        names = (str(one) for part in run.batches("areas", ["area"]) for one in part["area"].to_pylist())
        raise RunError(
            "the run has no such area",
            file=str(run.folder),
            found=area,
            remedy=closest(area, list(islice(names, _MOST_NAMES))),
        )
    return found
