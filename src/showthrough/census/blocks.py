"""Census blocks to audit or to protect: homes by block, or published counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.census.counts import CensusStream, PublishedBlock, open_census
from showthrough.census.homes_file import check_homes, numbered_within
from showthrough.census.people_file import with_ages
from showthrough.census.people_nests import LinkedTables, PublishedTracts, tract_of
from showthrough.census.people_sums import check_people
from showthrough.census.people_tables import Census, Place, people_layout
from showthrough.census.tables_2020 import Cells, Renter, census_layout, check_additivity
from showthrough.errors import InputError
from showthrough.formats.nested_records import RecordNests
from showthrough.formats.planned import left_out_note
from showthrough.formats.records_file import RecordStream, open_records
from showthrough.formats.subject import Subject
from showthrough.frames import Content, Source
from showthrough.release import Layout, Release
from showthrough.tables.run.batch import Area, Broken, Input

__all__ = [
    "BlockTables",
    "Blocks",
    "CensusTables",
    "LinkedTables",
    "PeopleTables",
    "read_blocks",
]


@dataclass(frozen=True)
class BlockTables:
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


@dataclass(frozen=True)
class PeopleTables:
    """Which tables about people: the options of :func:`people_layout`."""

    census: Census = "2010"
    place: Place = "block"

    def layout(self, cells: Cells | None = None) -> Layout:
        """The person columns and tables; there is no choice of cells."""
        if cells not in (None, "all"):
            raise InputError("tables about people have all cells", found=cells, remedy="leave out --cells")
        return people_layout(census=self.census, place=self.place)


#: Which tables a subject is about.
CensusTables = BlockTables | PeopleTables | LinkedTables


@dataclass(frozen=True, eq=False)
class Blocks(Subject):
    """Blocks of homes or of people, or their published counts.

    Homes are the dataset that the search starts from. What can be proved is what the tables prove,
    so homes and their counts give the same claims.
    """

    def stream(self, scratch: Path) -> Iterator[Input]:
        """The blocks in order; of published counts the chosen cells."""
        if isinstance(self.source, CensusStream):
            yield from map(self._published, self.source.counted(scratch))
        else:
            yield from super().stream(scratch)

    def from_rows(self, rows: Iterator[pa.RecordBatch]) -> Iterator[Input]:
        """The blocks of rows that are in order."""
        if isinstance(self.source, CensusStream):
            return map(self._published, self.source.counted_rows(rows))
        return super().from_rows(rows)

    def _published(self, found: PublishedBlock) -> Area | Broken:
        problem = "" if found.problem is None else str(found.problem)
        if found.release is None:
            return Broken(found.area, problem)
        low, high = found.release.low[self._chosen], found.release.high[self._chosen]
        return Area(Release(self.layout, low, high, found.area), problem=problem)

    @cached_property
    def _chosen(self) -> NDArray[np.int64]:
        """The positions of the chosen cells among all cells, which are read to check totals."""
        read = self.source.layout if isinstance(self.source, CensusStream) else self.layout
        position = {cell: at for at, (_, cell) in enumerate(read.names)}
        return np.array([position[cell] for _, cell in self.layout.names], np.int64)


def read_blocks(
    homes: Path | None = None,
    *,
    counts: Sequence[Path] = (),
    tables: CensusTables | None = None,
    by: str | None = None,
    keep_going: bool = False,
    engine: object = None,
) -> Blocks:
    """The blocks in a file of homes, or in files of published counts; those of people, or tracts, likewise.

    With :class:`LinkedTables`, blocks of people are parts of their tracts, whose tables are used too.
    With ``keep_going``, homes outside the schema and values that are not counts only make their
    own block unusable. Where ``engine`` is a cluster, its tasks look through large files of homes.
    """
    if homes is not None and counts:
        raise InputError("both homes and --counts are given", file=str(homes), remedy="give one of the two")
    tables = tables or BlockTables()
    if homes is not None:
        place = tables.place if isinstance(tables, PeopleTables) else "block"
        found = _from_homes(homes, tables.layout(), by or place, keep_going, engine)
        if isinstance(tables, LinkedTables) and isinstance(found.source, RecordStream):
            return replace(found, source=RecordNests(found.source, tables.nested, tract_of))
        return found
    if not counts:
        raise InputError(
            "no homes and no counts given",
            remedy="name a file of homes, or published counts with --counts",
        )
    check = check_additivity if isinstance(tables, BlockTables) else check_people
    read = tables.published if isinstance(tables, LinkedTables) else tables.layout("all")
    published = open_census(counts, read, tolerant=keep_going, check=check)
    notes = _left_out(", ".join(map(str, counts)), published.ignored)
    files = tuple(Content(path, str(path), InputError) for path in counts)
    source = PublishedTracts(published, tables) if isinstance(tables, LinkedTables) else published
    return Blocks(tables.layout(), source, files, notes=tuple(notes))


def _from_homes(homes: Path, layout: Layout, by: str, keep_going: bool, engine: object) -> Blocks:
    opened = Source.of(homes)
    notes = tuple(_left_out(str(homes), check_homes(opened, layout.schema, by=by)))
    if layout.schema.record == "person":
        opened = with_ages(opened, layout.schema)
    joined = numbered_within(opened, by=by)
    stream = open_records(
        opened,
        layout.schema,
        by=by,
        columns=None,
        tolerant=keep_going,
        joined=joined,
        records=True,
        engine=engine,
    )
    return Blocks(layout, stream, opened.contents, notes=notes)


def _left_out(file: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        more = " (use --children to include the column children)" if "children" in names else ""
        yield left_out_note(file, names) + more
