"""Blocks to audit: the census tables, over homes or as published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from showthrough.census.counts import CensusStream, Counted, open_census
from showthrough.census.counts_file import PARTS
from showthrough.census.homes_file import check_homes, numbered_in_tracts
from showthrough.census.tables_2020 import Cells, Renter, census_layout
from showthrough.errors import InputError
from showthrough.formats.area_stream import open_records
from showthrough.formats.subject import Subject
from showthrough.frames import Content, Source
from showthrough.release import Layout, Release
from showthrough.tables.run.batch import Area, Broken, Input

__all__ = [
    "Blocks",
    "Choice",
    "read_blocks",
]


@dataclass(frozen=True)
class Choice:
    """Which columns, rules and cells: the options of :func:`census_layout`."""

    cells: Cells = "all"
    renter: Renter = "published"
    children: bool = False
    edits: bool = False

    def layout(self, cells: Cells | None = None) -> Layout:
        """The census columns and tables, with these cells or others."""
        return census_layout(
            children=self.children, edits=self.edits, cells=cells or self.cells, renter=self.renter
        )


@dataclass(frozen=True, eq=False)
class Blocks(Subject):
    """Blocks of homes, or their published counts.

    Homes are the dataset that the search starts from. What can be proved is what the tables prove,
    so the claims are those that their counts alone give.
    """

    def stream(self, scratch: Path) -> Iterator[Input]:
        """The blocks in order; of published counts the cells asked for."""
        if isinstance(self.source, CensusStream):
            yield from map(self._published, self.source.counted(scratch))
        else:
            yield from super().stream(scratch)

    def _published(self, found: Counted) -> Area | Broken:
        problem = "" if found.problem is None else str(found.problem)
        if found.release is None:
            return Broken(found.area, problem)
        low, high = found.release.low[self._chosen], found.release.high[self._chosen]
        return Area(Release(self.layout, low, high, found.area), problem=problem)

    @cached_property
    def _chosen(self) -> NDArray[np.int64]:
        """Where the cells asked for are among all cells, which are read for the sake of totals."""
        read = self.source.layout if isinstance(self.source, CensusStream) else self.layout
        position = {cell: at for at, (_, cell) in enumerate(read.names)}
        return np.array([position[cell] for _, cell in self.layout.names], np.int64)


def read_blocks(
    homes: Path | None,
    *,
    counts: Sequence[Path] = (),
    choice: Choice,
    by: str = "block",
    keep_going: bool = False,
) -> Blocks:
    """The blocks in a file of homes, or in files of published counts.

    With ``keep_going`` homes outside the schema, and values that are no counts, cost their block
    only.
    """
    if (homes is None) == (not counts):
        raise InputError(
            "homes and --counts are both given" if counts else "there is nothing to audit",
            file=None if homes is None else str(homes),
            remedy="name a file of homes, or published counts with --counts",
        )
    layout = choice.layout()
    if homes is None:
        published = open_census(counts, choice.layout("all"), tolerant=keep_going)
        notes = _left_out(", ".join(map(str, counts)), published.ignored)
        files = tuple(Content(path, str(path), InputError) for path in counts)
        return Blocks(layout, published, files, notes=tuple(notes))
    opened = Source.of(homes)
    notes = tuple(_left_out(str(homes), check_homes(opened, layout.schema, by=by)))
    joined = PARTS if numbered_in_tracts(opened, by=by) else None
    stream = open_records(opened, layout.schema, by=by, columns=None, tolerant=keep_going, joined=joined)
    return Blocks(layout, stream, opened.contents, notes=notes)


def _left_out(file: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        few = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        more = " (--children takes the column children in)" if "children" in names else ""
        yield f"{file}: in no table, and so left out: {few}{more}"
