"""Areas and their parts, as a subject: read whole, or area by area; and what is published for which."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError, closest
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Layout, Release
from showthrough.scratch import private_scratch
from showthrough.tables.linked.nest import Nest
from showthrough.tables.run.inputs import Area, Nested

__all__ = [
    "NestedAreas",
    "NestedLayout",
]


class NestedAreas(ABC):
    """Areas and their parts, sorted by name."""

    @property
    @abstractmethod
    def n_areas(self) -> int:
        """How many parts there are."""

    @abstractmethod
    def inputs(self, scratch: Path) -> Iterator[Nested]:
        """The areas for a run, one after the other; what does not fit in memory goes to the folder."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parts, in order."""
        with private_scratch() as scratch:
            return tuple(part.release.area for area in self.inputs(scratch) for part in area.parts)

    def areas(self, scratch: Path) -> Iterator[tuple[str, Release]]:  # noqa: ARG002  (they are refused)
        """Parts are not areas of their own."""
        self.refuse()
        yield from ()

    def refuse(self) -> NoReturn:
        """Raise: what would be said of a part alone may not hold."""
        with private_scratch() as scratch:
            first = next(self.inputs(scratch), None)
        raise InputError(
            "this command does not take nested areas: what it would say of a part alone may not hold",
            found=None if first is None else first.whole.area,
            remedy="audit takes them, and so do bounds and worlds",
        )

    def of_parts(self, only: str | None = None) -> Iterator[tuple[Nest, str]]:
        """Every part with the area that it is in; or one of them."""
        if only is not None and only not in self.names:
            raise InputError("unknown area", found=only, remedy=closest(only, self.names))
        with private_scratch() as scratch:
            for area in self.inputs(scratch):
                for part in area.parts:
                    if part.problem:
                        raise InputError(part.problem)
                nest = Nest(area.whole, tuple(part.release for part in area.parts))
                yield from ((nest, name) for name in nest.names if only in (None, name))


@dataclass(frozen=True, eq=False)
class NestedLayout:
    """Tables, and which of their cells are published for areas (``above``), and for parts (``below``)."""

    layout: Layout
    above: NDArray[np.bool_]
    below: NDArray[np.bool_]

    @classmethod
    def of_tables(cls, layout: Layout, above: Sequence[bool]) -> NestedLayout:
        """Some tables are published for areas only; the others for parts, which those of areas add up."""
        sizes = [len(table.cells) for table in layout.tables]
        only = np.repeat(np.array(above, bool), sizes)
        return cls(layout, only, ~only)

    def of_records(self, whole: str, parts: Sequence[tuple[str, Records | InputError]]) -> Nested:
        """An area whose tables are counted over the records of its parts.

        If the records of one part cannot be used, neither can those of the area.
        """
        total = np.zeros(len(self.layout.names), np.int64)
        found: list[Area] = []
        for name, records in parts:
            if isinstance(records, InputError):
                found.append(Area(self.nothing(name), problem=f"{name}: {records}"))
                continue
            counts = self.layout.count(records.codes)
            total += counts
            found.append(Area(self.shown(name, counts, self.below), records))
        return Nested(self.shown(whole, total, self.above), tuple(found))

    def shown(self, area: str, counts: NDArray[np.int64], cells: NDArray[np.bool_]) -> Release:
        """A release of an area that has the counts of some cells."""
        return Release(self.layout, np.where(cells, counts, 0), np.where(cells, counts, UNBOUNDED), area)

    def nothing(self, area: str) -> Release:
        """A release of an area about which nothing is published."""
        cells = np.zeros(len(self.layout.names), np.int64)
        return self.shown(area, cells, cells > 0)
