"""The subject of a command: areas with their releases, read whole or when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from showthrough.errors import InputError, RecordsError, closest
from showthrough.frames import Content, Source, digests
from showthrough.records import Records
from showthrough.release import Layout, Release
from showthrough.releases import Releases
from showthrough.scratch import private_scratch
from showthrough.tables.run.batch import Area, Broken, Input, Nested, Planned

if TYPE_CHECKING:
    from showthrough.formats.meaning.shapes import Printing
    from showthrough.formats.nested import NestedAreas

__all__ = [
    "AreaStream",
    "RowStream",
    "Subject",
    "SubjectRows",
]


class AreaStream(Protocol):
    """Areas that are read when they are asked for, sorted by name."""

    @property
    def n_areas(self) -> int:
        """How many there are."""
        ...

    def areas(self, scratch: Path) -> Iterator[tuple[str, Records | Release | InputError]]:
        """Each area's name with its records or its release, or why these cannot be used.

        What does not fit in memory while it is sorted goes to the folder ``scratch``.
        """
        ...


class RowStream(AreaStream, Protocol):
    """Areas whose rows are in pieces of a source, which the tasks of a cluster can read."""

    @property
    def pieces(self) -> Sequence[Source]:
        """The pieces; none if the source is not to be split."""
        ...

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        ...

    def rows(self, number: int, piece: Source) -> Iterator[pa.RecordBatch]:
        """The rows of a piece, given its number."""
        ...


@dataclass(frozen=True, eq=False)
class SubjectRows:
    """The rows of a subject's areas, for machines that read and sort them (:func:`run_audit`)."""

    subject: Subject
    stream: RowStream

    @property
    def pieces(self) -> Sequence[Source]:
        """The pieces that the rows are in."""
        return self.stream.pieces

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.stream.n_rows

    @property
    def n_areas(self) -> int:
        """How many areas there are."""
        return self.stream.n_areas

    def rows(self, number: int, piece: Source) -> Iterator[pa.RecordBatch]:
        """The rows of a piece, given its number."""
        return self.stream.rows(number, piece)

    def from_rows(self, rows: Iterator[pa.RecordBatch]) -> Iterator[Input]:
        """The areas of rows that are in order."""
        return self.subject.from_rows(rows)


@dataclass(frozen=True, eq=False)
class Subject:
    """Releases of some areas: read from counts, or to be tabulated over records.

    ``inferred`` says that the schema was inferred from the data; ``notes`` say how the files were
    read; ``lacks_totals`` says that tables are planned without some of their totals; ``printing``
    says how published tables are printed. Where the source is a stream, areas are read when they are
    asked for.
    """

    layout: Layout
    source: Records | Releases | AreaStream
    files: tuple[Content, ...] = ()
    inferred: bool = False
    notes: tuple[str, ...] = ()
    lacks_totals: bool = False
    printing: Printing | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The areas' names (of nested areas, the parts'), sorted; one empty name if the area has none."""
        if self.nests is not None:
            return self.nests.names
        if not isinstance(self.source, Records | Releases):
            with TemporaryDirectory() as scratch:
                return tuple(name for name, _ in self.source.areas(Path(scratch)))
        if isinstance(self.source, Releases):
            return self.source.areas
        if self.source.areas is None:
            return ("",)
        return tuple(str(name) for name in np.unique(self.source.areas.astype(str)))

    @property
    def n_areas(self) -> int:
        """How many areas there are."""
        if not isinstance(self.source, Records | Releases):
            return self.source.n_areas
        return len(self.names)

    @property
    def nests(self) -> NestedAreas | None:
        """Areas and their parts, if the areas are nested."""
        if isinstance(self.source, Records | Releases):
            return None
        from showthrough.formats.nested import NestedAreas

        return self.source if isinstance(self.source, NestedAreas) else None

    def stream(self, scratch: Path) -> Iterator[Input]:
        """The areas in order for a run, which counts tables where they are yet to be counted."""
        if self.nests is not None:
            yield from self.nests.inputs(scratch)
            return
        if isinstance(self.source, Records | Releases):
            yield from self.areas()
            return
        yield from _inputs(self.source.areas(scratch))

    def __call__(self, scratch: Path) -> Iterator[Input]:
        """The areas in order, as :func:`run_audit` asks for them."""
        return self.stream(scratch)

    def in_pieces(self) -> SubjectRows | None:
        """The areas for machines that read them; None if they are not in pieces of a large source."""
        stream: Any = self.source
        return SubjectRows(self, stream) if getattr(stream, "pieces", None) else None

    def from_rows(self, rows: Iterator[pa.RecordBatch]) -> Iterator[Input]:
        """The areas of rows that are in order, where the source has them in pieces."""
        from showthrough.formats.records_file import RecordStream

        if not isinstance(self.source, RecordStream):
            raise AssertionError("only records are read by rows")
        return _inputs(self.source.from_rows(rows))

    def areas(self, only: str | None = None) -> Iterator[Area]:
        """The areas in order, each made when it is asked for; or one of them."""
        if self.nests is not None:
            self.nests.refuse()
        if only is not None and only not in self.names:
            raise InputError("unknown area", found=only, remedy=closest(only, self.names))
        if not isinstance(self.source, Records | Releases):
            yield from (area for area in self._streamed() if only in (None, area.release.area))
            return
        if isinstance(self.source, Releases):
            chosen = self.source if only is None else [self.source[only]]
            yield from (Area(release) for release in chosen)
            return
        for name, records in self.source.by_area():
            if only in (None, name):
                yield Area(self.layout.tabulate(records, area=name), records)

    def _streamed(self) -> Iterator[Area]:
        """The areas of a stream with their tables counted; an error at the first unusable one."""
        with private_scratch() as scratch:
            for found in self.stream(scratch):
                if isinstance(found, Planned):
                    yield Area(self.layout.tabulate(found.records, area=found.area), found.records)
                elif isinstance(found, Nested):
                    raise AssertionError("nested areas are refused before")
                elif isinstance(found, Broken) or found.problem:
                    raise RecordsError(found.why if isinstance(found, Broken) else found.problem)
                else:
                    yield found

    @property
    def noise(self) -> str:
        """The laws of the counts' noise, in short; empty where none is declared."""
        if not isinstance(self.source, Releases) or self.source.values is None:
            return ""
        return ", ".join(dict.fromkeys(law.text for law in self.source.laws[0]))

    def inputs(self) -> dict[str, str]:
        """The files' names with their hashes."""
        return digests(self.files)


def _inputs(found: Iterable[tuple[str, Records | Release | InputError]]) -> Iterator[Input]:
    """What a stream yields, as a run takes it."""
    for name, area in found:
        if isinstance(area, Records):
            yield Planned(name, area)
        elif isinstance(area, Release):
            yield Area(area)
        else:
            yield Broken(name, str(area))
