"""Areas that the tasks of a cluster read, sort and list themselves, so that no process reads them all.

The rows of all areas lie sorted in a few files (:mod:`showthrough.engine.spark_rows`), each with a list of
its areas beside it: how many rows each has, its weight, and a digest. The process that runs the whole reads
these lists only. It cuts them into the batches that it would make of the areas themselves, and hands out
where the rows of each are. Whoever decides a batch reads these rows, and compares their digest.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.engine.rows import groups
from showthrough.engine.spark import SparkEngine
from showthrough.engine.spark_rows import sort_rows, sorted_file
from showthrough.errors import RunError
from showthrough.frames import Source
from showthrough.release import Layout
from showthrough.tables.run.agenda import grouped, weight
from showthrough.tables.run.batch_input import (
    DIGEST_BYTES,
    digest_area,
    digest_input,
    join_digests,
    write_pointer,
)
from showthrough.tables.run.inputs import Area, Broken, Input, Nested, ready

__all__ = [
    "AreaRows",
    "SortedBatch",
    "read_pointer",
    "sort_areas",
]

#: What is listed of each area.
LISTED = pa.schema([("rows", pa.int64()), ("weight", pa.float64()), ("digest", pa.binary(DIGEST_BYTES))])

#: How the file is called from which machines learn how rows become areas.
_READER = "reader"

Batches = Iterator[pa.RecordBatch]


class AreaRows(Protocol):
    """Areas whose rows are in pieces of a source, in any order; it can be pickled."""

    @property
    def pieces(self) -> Sequence[Source]:
        """The pieces."""
        ...

    @property
    def n_rows(self) -> int:
        """How many rows there are in all pieces."""
        ...

    @property
    def n_areas(self) -> int:
        """How many areas there are."""
        ...

    def rows(self, number: int, piece: Source) -> Batches:
        """The rows of a piece with its number, on their way to their areas."""
        ...

    def from_rows(self, rows: Batches) -> Iterator[Input]:
        """The areas of rows that are sorted by area."""
        ...


class Span(NamedTuple):
    """Rows of a file of sorted rows."""

    file: int
    start: int
    end: int


class _Listed(NamedTuple):
    """An area in the list of a file: which rows it has there, its weight, and its digest."""

    file: int
    start: int
    end: int
    weight: float
    digest: bytes


def sort_areas(
    areas: AreaRows, layout: Layout, cluster: SparkEngine, scratch: Path, *, size: int
) -> Iterator[SortedBatch]:
    """Have the rows of areas sorted in a folder that all machines share; the batches, in order."""
    folder = scratch / f"sorted-{token_hex(8)}"  # a name that no process has known before
    folder.mkdir()
    with (folder / _READER).open("wb") as stream:
        pickle.dump(areas, stream)
    look = partial(_list_areas, layout=layout)
    files = sort_rows(cluster, areas.pieces, areas.rows, folder, look, n_rows=areas.n_rows)
    n_listed = sum(pq.read_metadata(_list_of(sorted_file(folder, file))).num_rows for file in files)
    if n_listed != areas.n_areas:
        raise RunError(
            f"the input has {areas.n_areas:,} areas, but {n_listed:,} were sorted",
            file=str(folder),
            remedy="run the same command again; if this happens again, please report it",
        )
    listed = chain.from_iterable(_read_list(folder, file) for file in files)
    for mine, heavy in grouped(listed, lambda area: area.weight, size):
        yield SortedBatch.of(folder, mine, heavy)


def _list_areas(path: Path, layout: Layout) -> int:
    """List the areas of a file of sorted rows in a file beside it; the number of rows that were read."""
    reader, listed = _reader(str(path.parent)), list[dict[str, Any]]()
    with pq.ParquetFile(path) as file:
        for _, mine in groups(file.iter_batches()):
            (area,) = reader.from_rows(iter(mine.to_batches()))
            listed.append(
                {"rows": mine.num_rows, "weight": weight(area), "digest": digest_area(area, layout)}
            )
    draft = path.with_name(f"draft-list-{token_hex(8)}")
    pq.write_table(pa.Table.from_pylist(listed, LISTED), draft)
    draft.replace(_list_of(path))
    return sum(row["rows"] for row in listed)


def _list_of(path: Path) -> Path:
    return path.with_name(path.name.replace("rows-", "areas-"))


def _read_list(folder: Path, file: int) -> Iterator[_Listed]:
    """The areas of a file, in order."""
    start = 0
    for batch in pq.ParquetFile(_list_of(sorted_file(folder, file))).iter_batches():
        for rows, mine, digest in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield _Listed(file, start, start + rows, mine, digest)
            start += rows


@dataclass(frozen=True, eq=False)
class SortedBatch:
    """Areas that are decided together, by where their rows are."""

    folder: str
    spans: tuple[Span, ...]
    digest: str
    heavy: float = 0.0

    @classmethod
    def of(cls, folder: Path, areas: Sequence[_Listed], heavy: float) -> SortedBatch:
        """Areas that follow each other, perhaps from one file to the next."""
        spans = dict[int, Span]()
        for area in areas:
            begun = spans.get(area.file)
            spans[area.file] = Span(area.file, area.start if begun is None else begun.start, area.end)
        return cls(folder.name, tuple(spans.values()), join_digests(area.digest for area in areas), heavy)

    def content(self, layout: Layout) -> str:  # noqa: ARG002  (which the digests of areas went by)
        """A digest of the areas."""
        return self.digest

    def write(self, path: Path, layout: Layout) -> str:  # noqa: ARG002
        """Write down where the rows are; the digest of the areas."""
        write_pointer(path, self.digest, json.dumps([self.folder, *self.spans]))
        return self.digest


def read_pointer(
    folder: str, pointer: str, layout: Layout, *, content: str
) -> tuple[str, list[Area | Broken | Nested]]:
    """The areas of a batch in the working folder of a run, and their digest, which must be the known one."""
    name, *spans = json.loads(pointer)
    place = Path(folder, "scratch", name)
    rows = chain.from_iterable(_read_rows(place, Span(*span)) for span in spans)
    areas = list(_reader(str(place)).from_rows(rows))
    if digest_input(areas, layout) != content:
        raise RunError(
            "the sorted rows of a batch are not those that were listed",
            file=str(place),
            remedy="every machine must see the same files; run the same command again",
        )
    return content, [ready(area, layout) for area in areas]


def _read_rows(folder: Path, span: Span) -> Batches:
    """Some rows of a file, from the row groups that they are in."""
    with pq.ParquetFile(sorted_file(folder, span.file)) as file:
        before = 0
        for group in range(file.metadata.num_row_groups):
            here, before = before, before + file.metadata.row_group(group).num_rows
            if here < span.end and before > span.start:
                first, end = max(0, span.start - here), min(before, span.end) - here
                yield from file.read_row_group(group).slice(first, end - first).to_batches()


@lru_cache(maxsize=2)
def _reader(folder: str) -> AreaRows:
    """How rows become areas; read once by each process."""
    return pickle.loads(Path(folder, _READER).read_bytes())  # noqa: S301  (in a folder of our own)
