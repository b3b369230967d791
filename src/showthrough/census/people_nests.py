"""People in blocks and tracts: the tables of both, linked, from microdata or from published counts.

Tables for tracts tell 103 ages apart, those for blocks 38. In 38 ages the tables of tracts are added up over
the years of each age. For claims about 38 ages that is exact: blocks publish no other years, and tables PCT12
and PCT12A to O together count every year by sex, race group and origin. So whoever the blocks have of an age,
by sex, race group and origin, can be given the tract's years. With some of these tables alone that may fail,
and such tracts are not linked in 38 ages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from showthrough.census.counts import CensusStream, PublishedBlock
from showthrough.census.people import AGE_BINS, Ages, age_range, person_schema
from showthrough.census.people_tables import Census, people_layout
from showthrough.census.places import DIGITS, is_block
from showthrough.census.variables import open_census_file
from showthrough.engine.rows import count_areas
from showthrough.errors import RecordsError, ReleaseError
from showthrough.formats.nested import NestedAreas, NestedLayout
from showthrough.release import UNBOUNDED, Cell, Layout, Release, Table
from showthrough.selection import Selection
from showthrough.tables.run.inputs import Area, Nested

__all__ = [
    "LinkedTables",
    "PublishedTracts",
    "has_both",
    "tract_of",
]

#: How many digits the codes of tracts have.
TRACT = DIGITS["tract"]

#: How the names of tables begin that are published for tracts only.
_OF_TRACTS = "PCT"

#: All such tables; and those about groups of people that nobody is in two of, and their total.
_ALL_OF_TRACTS = frozenset(("PCT12", *(f"PCT12{letter}" for letter in "ABCDEFGHIJKLMNO")))
_APART = frozenset(("PCT12", *(f"PCT12{letter}" for letter in "ABCDEFG")))


@dataclass(frozen=True)
class LinkedTables:
    """Person tables of blocks and of their tracts, in 38 ages or in 103."""

    census: Census = "2010"
    ages: Ages = "bins"

    def layout(self) -> Layout:
        """The tables of both."""
        return self._added_up.layout

    @property
    def published(self) -> Layout:
        """The tables as they are published."""
        return people_layout(census=self.census, place="tract")

    @property
    def nested(self) -> NestedLayout:
        """Which of them are published for tracts only; those of blocks add up to the others of tracts."""
        layout = self.layout()
        return NestedLayout.of_tables(layout, [t.name.startswith(_OF_TRACTS) for t in layout.tables])

    def added_up(self, release: Release) -> Release:
        """Published counts as the counts of these tables."""
        into, layout = self._added_up.into, self.layout()
        low, high = np.zeros(len(layout.names), np.int64), np.zeros(len(layout.names), np.int64)
        np.add.at(low, into, release.low)
        np.add.at(high, into, np.where(release.high < UNBOUNDED, release.high, 0))
        high[into[release.high >= UNBOUNDED]] = UNBOUNDED
        return Release(layout, low, high, release.area)

    def open_years(self, tract: Release) -> Iterator[str]:
        """Why a tract's tables of single years cannot be added up, if that is so: some are missing."""
        if self.ages == "years":
            return
        ends, names = np.cumsum([0, *(len(table.cells) for table in tract.layout.tables)]), set[str]()
        exact = tract.low == tract.high
        for at, table in enumerate(tract.layout.tables):
            mine = slice(int(ends[at]), int(ends[at + 1]))
            if table.name.startswith(_OF_TRACTS) and (tract.high[mine] < UNBOUNDED).any():
                names.add(table.name if exact[mine].all() else "?")
        if not (names <= _APART or names >= _ALL_OF_TRACTS):
            yield (
                f"{tract.area}: of the tables PCT12 and PCT12A to O only some are given, or not all of "
                "their cells, so that 38 ages are not enough: give all of them, or add --ages years"
            )

    @property
    def _added_up(self) -> _AddedUp:
        return _added_up(self.census, self.ages)


@dataclass(frozen=True, eq=False)
class _AddedUp:
    """A layout, and for each published cell the cell that it is part of."""

    layout: Layout
    into: NDArray[np.int64]


@lru_cache(maxsize=4)
def _added_up(census: Census, ages: Ages) -> _AddedUp:
    published = people_layout(census=census, place="tract")
    if ages == "years":
        return _AddedUp(published, np.arange(len(published.names)))
    of_blocks = people_layout(census=census)
    tables: list[Table] = list(of_blocks.tables)
    into = [np.arange(len(of_blocks.names))]
    n_cells = len(of_blocks.names)
    for table in published.tables:
        if table.name.startswith(_OF_TRACTS):
            groups = _by_age(table)
            tables.append(Table(table.name, tuple(map(_sum, groups)), table.publisher, table.label))
            into.append(n_cells + np.repeat(np.arange(len(groups)), [len(group) for group in groups]))
            n_cells += len(groups)
    return _AddedUp(Layout(person_schema(), tuple(tables)), np.concatenate(into))


def _by_age(table: Table) -> list[list[Cell]]:
    """The cells of a table one after the other, those together whose ages are one of 38."""
    return [list(cells) for _, cells in groupby(table.cells, key=_terms)]


def _terms(cell: Cell) -> tuple[tuple[int, Selection], ...]:
    """What a cell counts, in 38 ages."""
    return tuple((weight, _in_bins(selection)) for weight, selection in cell.terms)


def _in_bins(selection: Selection) -> Selection:
    if "age" not in selection:
        return selection
    plain = dict(selection.terms)
    (year,) = plain["age"]
    return Selection.of({**plain, "age": _bin_of(year)})


@lru_cache(maxsize=256)
def _bin_of(year: str) -> str:
    """The one of 38 ages that one of 103 lies in."""
    first, last = age_range(year)
    return next(age for age in AGE_BINS if age_range(age)[0] <= first and last <= age_range(age)[1])


def _sum(cells: Sequence[Cell]) -> Cell:
    """Cells of single years as the cell of an age, named after the first and the last of them."""
    name = cells[0].name if len(cells) == 1 else f"{cells[0].name} to {cells[-1].name}"
    return Cell.of_terms(name, _terms(cells[0]))


def tract_of(block: str) -> str:
    """The tract that a block lies in.

    >>> tract_of("010010201001000")
    '01001020100'
    """
    if not is_block(block):
        raise RecordsError(
            "not a block code of 15 digits, so the tract is not known",
            column="block",
            found=block,
            remedy="block codes consist of state (2 digits), county (3), tract (6) and block (4)",
        )
    return block[:TRACT]


def has_both(counts: Iterable[Path], census: Census) -> bool:
    """Whether files of published counts are about blocks and about tracts."""
    layout, found = people_layout(census=census, place="tract"), set[int]()
    for path in counts:
        for areas in open_census_file(path, layout).areas():
            found.update(len(str(code)) for code in areas.to_pylist())
    return {TRACT, DIGITS["block"]} <= found


def _longer(areas: Any, digits: int) -> Any:
    """Which codes are longer."""
    return pc.greater(pc.utf8_length(areas), pa.scalar(digits, pa.int32()))


@dataclass(frozen=True, eq=False)
class PublishedTracts(NestedAreas):
    """Published counts of tracts and of their blocks, read one tract after the other."""

    stream: CensusStream
    tables: LinkedTables

    @property
    def n_areas(self) -> int:
        """How many blocks there are."""
        found = (areas for file in self.stream.files for areas in file.areas())
        return count_areas(areas.filter(_longer(areas, TRACT)) for areas in found)

    def inputs(self, scratch: Path) -> Iterator[Nested]:
        """The tracts; a tract's code is the beginning of those of its blocks."""
        for tract, places in groupby(self.stream.counted(scratch), key=_tract):
            found = list(places)
            blocks = [one for one in found if len(one.area) > TRACT]
            whole = next((one for one in found if len(one.area) == TRACT), None)
            if blocks:
                yield self._nested(tract, whole, blocks)
            elif whole is None or whole.release is None or (whole.release.low > 0).any():
                raise ReleaseError(
                    "a tract has people, but no counts of its blocks are given",
                    found=tract,
                    remedy="give the counts of its blocks, or leave it out",
                )

    def _nested(self, tract: str, whole: PublishedBlock | None, blocks: Sequence[PublishedBlock]) -> Nested:
        nothing = self.tables.nested.nothing
        problems = [f"{one.area}: {one.problem}" for one in (whole, *blocks) if one and one.problem]
        if whole is None or whole.release is None:
            above = nothing(tract)
        else:
            above = self.tables.added_up(whole.release)
        parts = [
            nothing(one.area) if one.release is None else self.tables.added_up(one.release) for one in blocks
        ]
        problems += [*self.tables.open_years(above), *_differences(above, parts)]
        return Nested(above, tuple(Area(part, problem=problems[0] if problems else "") for part in parts))


def _tract(place: PublishedBlock) -> str:
    code = place.area
    if not (code.isdigit() and len(code) in (TRACT, DIGITS["block"])):
        raise ReleaseError(
            "neither the code of a tract nor that of a block",
            found=code,
            remedy="tracts have 11 digits, blocks 15: give files of these, or use --place",
        )
    return code[:TRACT]


def _differences(whole: Release, parts: Sequence[Release]) -> Iterator[str]:
    """Counts that a tract and all its blocks publish, and that do not add up."""
    low = np.stack([part.low for part in parts]).sum(axis=0)
    exact = np.all([part.low == part.high for part in parts], axis=0) & (whole.low == whole.high)
    for at in np.flatnonzero(exact & (low != whole.low)).tolist():
        table, cell = whole.layout.names[at]
        yield (
            f"{whole.area}: cell {cell} of table {table} is {whole.low[at]:,}, but its blocks add up to "
            f"{int(low[at]):,}: a block is missing, or the tables are not of the same people"
        )
