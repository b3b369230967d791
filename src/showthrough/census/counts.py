"""Published census counts of many areas: read from one or several files, and written as one wide file."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.census.tables_2020 import census_layout, check_additivity
from showthrough.census.variables import CensusFile, open_census_file
from showthrough.engine.pieces import checked_rows
from showthrough.engine.rows import Places, count_areas, rows_in_order, unpack_cells
from showthrough.errors import InputError, ReleaseError, check_each, check_type
from showthrough.export import Tabular
from showthrough.frames import Source, is_path
from showthrough.frames.stream import writing_tables
from showthrough.release import UNBOUNDED, Layout, Release
from showthrough.releases import Releases
from showthrough.text import several

__all__ = [
    "CensusCounts",
    "CensusStream",
    "PublishedBlock",
    "open_census",
    "read_census",
    "write_census",
]

Whole = NDArray[np.int64]

#: A row of a file: its area, its number over all files, packed cells, and what is wrong with it.
Row = tuple[str, int, bytes | None, str | None]

#: Areas written at a time.
_BATCH = 2_000


@dataclass(frozen=True, eq=False, repr=False)
class CensusCounts(Tabular):
    """Published census counts, as :func:`read_census` gives them.

    Parameters
    ----------
    releases
        The releases by area.
    ignored
        The columns that belong to no table of the layout.
    """

    releases: Releases
    ignored: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_type(self.releases, Releases, name="releases", remedy="read them with read_census")
        check_each(self.ignored, str, name="ignored", remedy="list the names of columns")

    def __repr__(self) -> str:
        left_out = f", {several(len(self.ignored), 'column')} left out" if self.ignored else ""
        return f"CensusCounts: {several(len(self.releases), 'area')}{left_out}"

    def to_arrow(self) -> pa.Table:
        """The published cells, one row each."""
        return self.releases.to_arrow()


@dataclass(frozen=True, eq=False)
class PublishedBlock:
    """One area: its release, as far as it can be read, and what is wrong with it."""

    area: str
    release: Release | None
    problem: InputError | None = None


@dataclass(frozen=True, eq=False)
class CensusStream:
    """Published counts of many areas, in several files that may each be of any size.

    ``starts`` are the numbers of the files' first rows; ``ascending`` tells which files are sorted by
    area. Responses of the API are held in memory, of other files only some rows at a time.
    """

    files: tuple[CensusFile, ...]
    layout: Layout
    starts: tuple[int, ...]
    ascending: tuple[bool, ...]
    n_areas: int
    n_rows: int
    tolerant: bool
    check: Callable[[Release], None] = check_additivity

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that belong to no table of the layout."""
        return tuple(dict.fromkeys(name for file in self.files for name in file.ignored))

    def areas(self, scratch: Path) -> Iterator[tuple[str, Release | InputError]]:
        """Each area's release, or why it cannot be used."""
        for one in self.counted(scratch):
            if one.problem is not None:
                yield one.area, one.problem
            elif one.release is not None:
                yield one.area, one.release

    def counted(self, scratch: Path) -> Iterator[PublishedBlock]:
        """Every area, sorted by name; its totals and subtotals are checked on the way."""
        return self._counted(self.by_area(scratch))

    @property
    def pieces(self) -> list[Source]:
        """The files in pieces, if these are several, and if their rows are numbered as Parquet has them."""
        known = [file.source.n_rows() for file in self.files]
        if None in known or [*accumulate(map(int, filter(None, known)))] != [*self.starts[1:], self.n_rows]:
            return []
        pieces = [piece for file in self.files for piece in file.source.pieces()]
        return pieces if len(pieces) > 1 else []

    def rows(self, number: int, piece: Source) -> Iterator[pa.RecordBatch]:
        """The rows of a piece, numbered over all files."""
        pieces = [(at, file) for at, file in enumerate(self.files) for _ in file.source.pieces()]
        at, file = pieces[number]
        part, n_rows = replace(file, source=piece), 0
        for batch in part.rows(self.starts[at] + piece.parts[0].before, tolerant=self.tolerant):
            n_rows += batch.num_rows
            yield batch
        checked_rows(piece, n_rows)

    def counted_rows(self, rows: Iterator[pa.RecordBatch]) -> Iterator[PublishedBlock]:
        """The areas of rows that are in order."""
        return self._counted((area, list(mine)) for area, mine in groupby(_flat(rows), key=itemgetter(0)))

    def _counted(self, areas: Iterable[tuple[str, list[Row]]]) -> Iterator[PublishedBlock]:
        for area, rows in areas:
            try:
                release = self._release(area, rows)
            except ReleaseError as error:
                if not self.tolerant:
                    raise
                yield PublishedBlock(area, None, error)
                continue
            try:
                self.check(release)
                yield PublishedBlock(area, release)
            except ReleaseError as error:
                yield PublishedBlock(area, release, self._placed(error, rows))

    def by_area(self, scratch: Path) -> Iterator[tuple[str, list[Row]]]:
        """Each area's rows, over all files."""
        sorted_files = [
            _flat(rows_in_order(file.rows(start, tolerant=self.tolerant), ascending=ordered, scratch=scratch))
            for file, start, ordered in zip(self.files, self.starts, self.ascending, strict=True)
        ]
        merged = heapq.merge(*sorted_files, key=itemgetter(0, 1))
        return ((area, list(rows)) for area, rows in groupby(merged, key=itemgetter(0)))

    def cells(self, area: str, rows: Sequence[Row]) -> Whole:
        """The area's cells with lower and upper bounds; each cell once."""
        seen, files = set[int](), set[int]()
        parts: list[Whole] = [np.zeros((3, 0), np.int64)]
        for _, number, data, why in rows:
            if data is None:
                raise ReleaseError(str(why))
            file, row = self.place(number)
            if self._file(number) in files:
                raise ReleaseError("an area has two rows", file=file, row=row, found=area, remedy="keep one")
            part = unpack_cells(data)
            twice = min(seen.intersection(part[0].tolist()), default=None)
            if twice is not None:
                raise ReleaseError(
                    f"a value of area {area} is given twice",
                    file=file,
                    column=self.layout.names[twice][1],
                    remedy="give each table of a block in one file only",
                )
            files.add(self._file(number))
            seen.update(part[0].tolist())
            parts.append(part)
        return np.concatenate(parts, axis=1)

    def place(self, number: int) -> tuple[str | None, int]:
        """The file of a row and its number in it, from 1."""
        at = self._file(number)
        return self.files[at].file, number - self.starts[at] + 1

    def _file(self, number: int) -> int:
        return int(np.searchsorted(self.starts, number, side="right")) - 1

    def _release(self, area: str, rows: Sequence[Row]) -> Release:
        cells, lows, highs = self.cells(area, rows)
        low = np.zeros(len(self.layout.names), np.int64)
        high = np.full(len(low), UNBOUNDED, np.int64)
        low[cells], high[cells] = lows, highs
        return Release(self.layout, low, high, area)

    def _placed(self, error: ReleaseError, rows: Sequence[Row]) -> InputError:
        """The error with the file and the row of the cell that it is about."""
        for _, number, _, _ in rows:
            if error.column in self.files[self._file(number)].cells:
                file, row = self.place(number)
                return error.at(file=file, row=row)
        return error


def _flat(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def open_census(
    sources: Sequence[object],
    layout: Layout,
    *,
    tolerant: bool,
    check: Callable[[Release], None] = check_additivity,
) -> CensusStream:
    """Published census counts from one or several files, read area by area.

    If ``tolerant``, a value that cannot be read only makes its own area unusable; otherwise it is an
    error at once. ``check`` raises for counts that do not add up.
    """
    if not sources:
        raise ReleaseError("no files given", remedy="name at least one file")
    paths = [Path(source).resolve() for source in sources if is_path(source)]
    for at, path in enumerate(paths):
        if path in paths[:at]:
            raise ReleaseError("a file is given twice", file=str(path.name), remedy="name it once")
    files = tuple(open_census_file(source, layout) for source in sources)
    looked = [_look(file, tolerant=tolerant) for file in files]
    *starts, n_rows = accumulate((places.n_rows for places in looked), initial=0)
    ascending = tuple(places.ascending for places in looked)
    in_one = len(files) == 1 and ascending[0]
    names = chain.from_iterable(file.areas() for file in files)
    n_areas = looked[0].n_runs if in_one else count_areas(names)
    return CensusStream(files, layout, tuple(starts), ascending, n_areas, n_rows, tolerant, check)


def _look(file: CensusFile, *, tolerant: bool) -> Places:
    """How areas are ordered in a file; raises for bad rows unless tolerant."""
    places = Places()
    found = file.areas() if tolerant else (batch["area"] for batch in file.rows(0, tolerant=False))
    for areas in found:
        places.see(areas)
    return places


def read_census(sources: object, layout: Layout | None = None) -> CensusCounts:
    """Read published census counts from one or several files, or from tables in memory.

    Files are responses of the Census API (JSON), downloads from data.census.gov (CSV), or wide files
    with one row per block (CSV, Parquet, Arrow). Cells without a column or without a value are not
    published. Annotations (``P16_001NA``) are skipped.

    Parameters
    ----------
    sources
        One file or table, or a list of them: with different tables of the same blocks, or with
        different blocks.
    layout
        The tables to read. The default has the column ``children``, without which table H15 of
        published data can contradict the others.

    Returns
    -------
    CensusCounts
        The releases by block, and the columns of other tables, which were left out.

    Raises
    ------
    ReleaseError
        If a file cannot be read, a value is not a count, a block or a cell is given twice, or a
        known table has no such variable.

    Examples
    --------
    >>> table = pa.table({"block": ["010010201001000"], "H1_001N": [12]})
    >>> counts = read_census(table)
    >>> counts
    CensusCounts: 1 area
    >>> int(counts.releases["010010201001000"].low.max())
    12
    """
    check_type(layout, (Layout, NoneType), name="layout", remedy="use census_layout(children=True)")
    layout = layout or census_layout(children=True)
    listed: Sequence[object] = sources if isinstance(sources, list | tuple) else (sources,)
    stream = open_census(listed, layout, tolerant=False)
    with TemporaryDirectory() as scratch:
        found = [(area, stream.cells(area, rows)) for area, rows in stream.by_area(Path(scratch))]
    cells, low, high = np.concatenate([part for _, part in found], axis=1)
    sizes = [part.shape[1] for _, part in found]
    codes = np.repeat(np.arange(len(found)), sizes)
    areas = [area for area, _ in found]
    releases = Releases.arrange(layout, areas, codes=codes, cells=cells, low=low, high=high)
    return CensusCounts(releases, stream.ignored)


def write_census(
    releases: Iterable[Release], path: str | os.PathLike[str], *, place: Literal["block", "tract"] = "block"
) -> int:
    """Write counts as a wide file: ``block``, then a column per cell.

    Parameters
    ----------
    releases
        The releases, all with one layout; they are written some at a time. Cells that are not
        published stay empty.
    path
        A ``.csv`` or ``.parquet`` file.
    place
        What the areas are, which is the name of the first column.

    Returns
    -------
    int
        The number of areas.

    Raises
    ------
    ReleaseError
        If a cell is an interval, which this format cannot hold, or the file cannot be written.
    """
    check_type(releases, Iterable, name="releases", remedy="list releases: [release]")
    check_type(path, (str, os.PathLike), name="path", remedy="give the path of the file to write")
    parts = [releases] if isinstance(releases, Releases) else _parts(releases)
    n_areas = 0
    with writing_tables(path, what="counts", error=ReleaseError) as write:
        for part in parts:
            _check_exact(part, path)
            cells = [(cell, pa.int64()) for _, cell in part.layout.names]
            schema = pa.schema([(place, pa.string()), *cells])
            for start in range(0, len(part), _BATCH):
                write(_wide(part, range(start, min(start + _BATCH, len(part))), schema))
            n_areas += len(part)
    return n_areas


def _parts(releases: Iterable[Release]) -> Iterator[Releases]:
    waiting = iter(releases)
    while batch := list(islice(waiting, _BATCH)):
        check_each(batch, Release, name="releases", remedy="list releases: [release]")
        yield Releases.of(batch)


def _check_exact(releases: Releases, path: str | os.PathLike[str]) -> None:
    if ((releases.low != releases.high) & ((releases.low > 0) | (releases.high < UNBOUNDED))).any():
        raise ReleaseError("a wide file cannot hold intervals", file=str(path), remedy="use write_counts")


def _wide(releases: Releases, which: range, schema: pa.Schema) -> pa.Table:
    counts = np.full((len(which), len(schema) - 1), -1, np.int64)
    first, last = int(releases.starts[which.start]), int(releases.starts[which.stop])
    row = np.repeat(np.arange(len(which)), np.diff(releases.starts[which.start : which.stop + 1]))
    exact = releases.low[first:last] == releases.high[first:last]
    counts[row[exact], releases.cells[first:last][exact]] = releases.low[first:last][exact]
    columns = [pa.array(column, mask=column < 0) for column in counts.T]
    names = pa.array(list(releases.areas[which.start : which.stop]), pa.string())
    return pa.Table.from_arrays([names, *columns], schema=schema)
