"""Census blocks to audit or to protect: homes by block, people by block, or published counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from showthrough.census.additivity import check_people
from showthrough.census.counts import CensusStream, PublishedBlock, open_census
from showthrough.census.people import with_ages
from showthrough.census.people_nests import LinkedTables, PublishedTracts, tract_of
from showthrough.census.people_tables import Census, Place, people_layout
from showthrough.census.places import DIGITS, PARTS, TRACT_PARTS, is_block, join_parts, numbered_in_parts
from showthrough.census.tables_2020 import Cells, Renter, census_layout, check_additivity
from showthrough.errors import InputError, RecordsError, closest
from showthrough.formats.nested import RecordNests
from showthrough.formats.planned import left_out_note
from showthrough.formats.records_file import RecordStream, open_records
from showthrough.formats.subject import Subject
from showthrough.frames import Content, Source, iter_tables
from showthrough.records import Records, area_labels, as_text, code_dtype, encode_column
from showthrough.release import Layout, Release
from showthrough.schema import Schema
from showthrough.tables.run.batch import Area, Broken, Input

__all__ = [
    "BlockTables",
    "Blocks",
    "CensusTables",
    "Homes",
    "LinkedTables",
    "PeopleTables",
    "check_homes",
    "numbered_within",
    "read_blocks",
    "read_checked_homes",
    "read_homes",
]


@dataclass(frozen=True, eq=False)
class Homes:
    """Homes by block, whose rules are still to be checked."""

    records: Records
    file: str | None

    def table(self, *, places: Sequence[str] = ()) -> pa.Table:
        """The homes that break no rule, with ``block`` and the larger places it lies in."""
        kept = np.ones(len(self.records), bool)
        for box in self.records.schema.forbidden:
            kept &= ~self.records.matching(box)
        blocks = [] if self.records.areas is None else self.records.areas[kept].tolist()
        short = next((block for block in blocks if not is_block(block)), None)
        if places and short is not None:
            raise RecordsError(
                "not a block code of 15 digits, so the tract and the state are not known",
                file=self.file,
                column="block",
                found=short,
                remedy="block codes consist of state (2 digits), county (3), tract (6) and block (4)",
            )
        columns: dict[str, Any] = {"block": pa.array(blocks, pa.string())}
        for place in places:
            columns[place] = pc.utf8_slice_codeunits(columns["block"], 0, DIGITS[place])
        homes = Records(self.records.schema, self.records.codes[kept]).to_arrow()
        columns |= {name: homes[name] for name in homes.column_names}
        return pa.table(columns)


def read_homes(source: object, schema: Schema, *, by: str = "block") -> Homes:
    """All homes of a file with the columns of a census schema and the block in ``by``.

    Blocks may also be numbered within tracts: then ``state``, ``county``, ``tract`` and ``block``
    together are the code of the block.
    """
    opened = Source.of(source)
    check_homes(opened, schema, by=by)
    return read_checked_homes(opened, schema, by=by, numbered=numbered_within(opened, by=by))


def read_checked_homes(
    opened: Source, schema: Schema, *, by: str, numbered: Mapping[str, int] | None
) -> Homes:
    """The homes of a source, or of a piece of one, whose columns are known to be there.

    ``numbered`` are the columns that name a block together, as :func:`numbered_within` finds them.
    """
    file = opened.name
    places = [name for name in (*PARTS, by) if name in opened.names]
    table = opened.table(list(dict.fromkeys((*schema.names, *places))))
    codes = np.empty((table.num_rows, len(schema.attributes)), code_dtype(schema))
    with opened.locating():
        for at, attribute in enumerate(schema.attributes):
            codes[:, at] = encode_column(table[attribute.name], attribute, file=file)
        blocks: Any = table[by]
        if numbered:
            blocks = join_parts(as_text(table[part]) for part in numbered)
        return Homes(Records(schema, codes, area_labels(blocks, by, file=file)), file)


def check_homes(source: object, schema: Schema, *, by: str = "block") -> tuple[str, ...]:
    """The columns that are not used; an error if one of the needed ones is missing."""
    opened = Source.of(source)
    names, file = opened.names, opened.name
    for name in (*schema.names, by):
        if name not in names:
            remedy = closest(name, names)
            if name == "children":
                remedy = "remove --children, or add the column"
            elif name == by == "block":
                remedy += "; --by names another column"
            raise RecordsError("no such column", file=file, column=name, remedy=remedy)
    return tuple(name for name in names if name not in {*schema.names, *PARTS, by})


def numbered_within(source: object, *, by: str = "block") -> Mapping[str, int] | None:
    """The columns, and their widths, that together name a block or a tract; None if one does.

    Blocks may have numbers of up to four digits beside columns for tract, county and state, and tracts
    numbers of up to six digits beside columns for county and state.
    """
    opened = Source.of(source)
    parts = {"block": PARTS, "tract": TRACT_PARTS}.get(by)
    if parts is None or not set(parts) <= set(opened.names):
        return None
    tables = (chunk.table for chunk in iter_tables(opened, list(parts), error=RecordsError))
    return parts if numbered_in_parts(tables, parts) else None


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
