"""Areas and their parts: read whole or area by area, from published counts or from microdata.

*Counts* of areas and of their parts are in one file. Two columns name the area and the part. Rows without a
part are about the area. A part is called ``area/part``, so that parts of different areas can have the same
name. *Microdata* are records of the parts: the tables of both are counted over them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import InputError, ReleaseError, closest
from showthrough.formats.records_file import SLASH, RecordStream
from showthrough.frames import Source
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Layout, Release
from showthrough.releases import Releases
from showthrough.scratch import private_scratch
from showthrough.tables.linked.nest import Nest
from showthrough.tables.run.inputs import Area, Nested

if TYPE_CHECKING:
    from showthrough.formats.design import Design

__all__ = [
    "NestedAreas",
    "NestedLayout",
    "Nests",
    "RecordNests",
    "read_nests",
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


def _before_slash(name: str) -> str:
    """The area of a part that is called by both.

    >>> _before_slash("12/101")
    '12'
    """
    return name.partition(SLASH)[0]


@dataclass(frozen=True, eq=False)
class RecordNests(NestedAreas):
    """Records of parts, read one area after the other.

    Parameters
    ----------
    stream
        The records by part; the parts of an area stand together when they are sorted by name.
    nested
        The tables, and for what they are published.
    whole_of
        The area that a part is in, given the part's name.
    """

    stream: RecordStream
    nested: NestedLayout
    whole_of: Callable[[str], str] = _before_slash

    @property
    def n_areas(self) -> int:
        """How many parts there are."""
        return self.stream.n_areas

    def inputs(self, scratch: Path) -> Iterator[Nested]:
        """The areas, with their tables counted."""
        for whole, parts in groupby(self.stream.areas(scratch), key=lambda part: self.whole_of(part[0])):
            yield self.nested.of_records(whole, list(parts))


@dataclass(frozen=True, eq=False)
class Nests(NestedAreas):
    """Areas and their parts in memory, sorted by name.

    Parameters
    ----------
    layout
        The tables of all of them.
    nests
        The areas, each with its parts.
    """

    layout: Layout
    nests: tuple[Nest, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parts, in order."""
        return tuple(name for nest in self.nests for name in nest.names)

    @property
    def n_areas(self) -> int:
        """How many parts there are."""
        return len(self.names)

    def inputs(self, scratch: Path) -> Iterator[Nested]:  # noqa: ARG002  (there is nothing to sort)
        """The areas for a run."""
        for nest in self.nests:
            yield Nested(nest.whole, tuple(Area(part) for part in nest.parts))


def read_nests(source: object, design: Design) -> Nests:
    """Read the published values of areas and of their parts from a file or a data frame.

    Parameters
    ----------
    source
        A path, an Arrow table, or a pandas or polars data frame.
    design
        The tables, and the two columns that name the area and the part.

    Returns
    -------
    Nests
        The areas, each with its parts.

    Raises
    ------
    ReleaseError
        If a value or a name does not fit the design; the message names file, row and column.
    """
    from showthrough.formats.counts_file import read_counts

    opened = Source.of(source, error=ReleaseError)
    within, inside = _columns(design, opened)
    with opened.locating():
        table = opened.table()
        above, wholes = _texts(table, within)
        below, parts = _texts(table, inside)
        _check_named(above, wholes, opened.name, within)
        pairs = _names(above, wholes, below, parts, opened.name, inside)
    said: list[str] = [pairs[pair] for pair in zip(above, below, strict=True)]
    names = pa.chunked_array([pa.array(said, pa.string())])
    table = table.drop_columns([within, inside]).append_column(inside, names)
    try:
        releases = read_counts(table, replace(design, area=inside, within=None), by=inside)
    except ReleaseError as error:
        raise error.at(file=opened.name) from None
    return _nests(releases, design.layout, {pairs[pair]: pair for pair in pairs}, wholes, parts, opened.name)


def _columns(design: Design, opened: Source) -> tuple[str, str]:
    if design.within is None or design.area is None:
        raise ReleaseError("the release does not name two columns for the area", file=design.file)
    for name in (design.within, design.area):
        if name not in opened.names:
            remedy = f"name the columns that hold the area and the part; {closest(name, opened.names)}"
            raise ReleaseError("no such column", file=opened.name, column=name, remedy=remedy)
    return design.within, design.area


def _texts(table: pa.Table, column: str) -> tuple[list[int], list[str]]:
    from showthrough.formats.counts_file import named_codes

    codes, texts = named_codes(table[column])
    return codes.tolist(), texts


def _check_named(codes: list[int], names: list[str], file: str | None, column: str) -> None:
    for row, code in enumerate(codes if "" in names else ()):
        if not names[code]:
            raise ReleaseError(
                "a row has no area",
                file=file,
                row=row + 1,
                column=column,
                remedy="fill the column: only the part may be left empty, in rows about the whole area",
            )


def _names(
    above: list[int], wholes: list[str], below: list[int], parts: list[str], file: str | None, column: str
) -> dict[tuple[int, int], str]:
    """The name of each pair of an area and a part; no two pairs have the same."""
    found: dict[tuple[int, int], str] = {}
    taken: dict[str, tuple[int, int]] = {}
    for row, pair in enumerate(zip(above, below, strict=True)):
        if pair in found:
            continue
        whole, part = wholes[pair[0]], parts[pair[1]]
        name = f"{whole}{SLASH}{part}" if part else whole
        if name in taken:
            raise ReleaseError(
                "two areas would have the same name",
                file=file,
                row=row + 1,
                column=column,
                found=name,
                remedy=f"rename one of them: a part is called by its area, {SLASH!r}, and its own name",
            )
        found[pair], taken[name] = name, pair
    return found


def _nests(
    releases: Releases,
    layout: Layout,
    pair_of: dict[str, tuple[int, int]],
    wholes: list[str],
    parts: list[str],
    file: str | None,
) -> Nests:
    """The releases of parts, put together by area; an area without rows has no counts of its own."""
    inside: dict[str, list[Release]] = {}
    above: dict[str, Release] = {}
    for release in releases:
        whole, part = pair_of[release.area]
        if parts[part]:
            inside.setdefault(wholes[whole], []).append(release)
        else:
            above[wholes[whole]] = release
    for name in sorted(above.keys() - inside.keys()):
        raise ReleaseError(
            "an area has no parts",
            file=file,
            found=name,
            remedy="add rows about its parts, or audit areas without parts by themselves: area = one column",
        )
    free = np.zeros(len(layout.names), np.int64), np.full(len(layout.names), UNBOUNDED, np.int64)
    found = [
        Nest(above.get(name) or Release(releases.layout, *free, name), tuple(mine))
        for name, mine in sorted(inside.items())
    ]
    return Nests(releases.layout, tuple(found))
