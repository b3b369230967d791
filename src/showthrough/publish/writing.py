"""Writes a publication's rows, reads them back, and counts again."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
from scipy.sparse import csr_array

from showthrough.engine.keys import Column, Layout
from showthrough.engine.plane import Plane, Tally
from showthrough.errors import ShowthroughError
from showthrough.frames import Source
from showthrough.publish.blocks import Block
from showthrough.publish.expand import PIECE, Checksum, Rows, Shuffle, n_chunks, rows_to_table
from showthrough.publish.method import Plan
from showthrough.publish.text import check_texts

__all__ = ["FileFormat", "check_written", "write_rows"]

FileFormat = Literal["parquet", "csv"]

#: Chunks in a row group, so that it has about a million rows.
CHUNKS_PER_GROUP = 4

#: Row groups made ahead of the one that is written.
AHEAD = 3


def write_rows(
    plan: Plan,
    tally: Tally,
    *,
    plane: Plane,
    seed: int,
    scratch: Path,
    target: Path,
    progress: Callable[[int], None] | None = None,
) -> Checksum:
    """Draw, shuffle and write all rows; ``target`` ends in ``.parquet`` or ``.csv``.

    Where work runs on several machines, ``target`` becomes a folder with a file from each task.
    """
    shuffle = Shuffle(scratch, plan.layout, n_chunks(plan.records), seed)
    place = _Workplace(scratch, plan, shuffle, target, plane.is_shared)
    done = Checksum()
    for number, _ in plane.run(place.draw, place.pending(plan.blocks(tally))):
        done += place.checksum(number)
    if plane.is_shared:
        target.mkdir()
        for _, number in plane.run(place.write_part, range(shuffle.n_chunks)):
            if progress:
                progress(number)
    else:
        _write_file(shuffle, target, progress)
    return done


def check_written(target: Path, layout: Layout, expected: Checksum, *, plane: Plane, scratch: Path) -> None:
    """Read the rows back and count them again; an error if they are not what was drawn."""
    if target.suffix == ".csv":
        layout = as_texts(layout)
    found = Checksum()
    for keys, counts in plane.recount(Source.of(target), layout, scratch=scratch):
        found += Checksum.of(keys, counts)
    if found != expected:
        raise ShowthroughError(
            f"the written rows are not those that were drawn ({found.records:,} records were found, "
            f"{expected.records:,} drawn); nothing was published: check the disk and try again"
        )


def as_texts(layout: Layout) -> Layout:
    """The same columns with values as they are written in a CSV file; missing is an empty field."""

    def written(column: Column) -> Column:
        known: list[str | None] = [text or None for text in check_texts(column.values, column.name)]
        return Column(column.name, pa.array(known, pa.string()))

    return Layout(
        tuple(written(column) for column in layout.public),
        tuple(written(column) for column in layout.sensitive),
        layout.codes,
    )


@dataclass(frozen=True, eq=False)
class _Workplace:
    """Where blocks become rows, a few blocks at a time so that there are not too many pieces."""

    scratch: Path
    plan: Plan
    shuffle: Shuffle
    target: Path
    is_shared: bool
    held: dict[int, list[Block]] = field(default_factory=dict[int, list[Block]])

    def pending(self, blocks: Iterable[Block]) -> Iterator[int]:
        """Numbers of bundles of blocks; each can be fetched once it is named."""
        bundle, rows, number = list[Block](), 0, 0
        for block in blocks:
            bundle.append(block)
            rows += len(block.public) if block.counts is None else int(block.counts.sum())
            if rows >= PIECE:
                self._hold(number, bundle)
                yield number
                bundle, rows, number = [], 0, number + 1
        if bundle:
            self._hold(number, bundle)
            yield number

    def _hold(self, number: int, bundle: list[Block]) -> None:
        if self.is_shared:
            _store_blocks(self.scratch / f"{number}.blocks", bundle)
        else:
            self.held[number] = bundle

    def draw(self, number: int) -> int:
        """Draw a bundle's blocks and scatter their rows."""
        blocks = _load_blocks(self.scratch / f"{number}.blocks") if self.is_shared else self.held.pop(number)
        drawn = [self.plan.draw(block) for block in blocks]
        keys, counts = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
        done = self.shuffle.scatter(number, (keys, counts))
        draft = self.scratch / f"{number}.sum.draft"
        draft.write_text(json.dumps([done.records, done.mixed]))
        draft.replace(self.scratch / f"{number}.sum")
        return done.records

    def checksum(self, number: int) -> Checksum:
        """What was drawn from a bundle."""
        return Checksum(*json.loads((self.scratch / f"{number}.sum").read_text()))

    def write_part(self, chunk: int) -> int:
        """Write one chunk as a file of its own."""
        rows = self.shuffle.gather(self.shuffle.pieces(), chunk)
        draft = self.target / f".part-{chunk:05}.draft"
        with _writer(draft, self.target.suffix, self.shuffle.layout) as write:
            write(rows)
        draft.replace(self.target / f"part-{chunk:05}{self.target.suffix}")
        return len(rows)


def _store_blocks(path: Path, blocks: list[Block]) -> None:
    arrays: dict[str, Any] = {"numbers": np.array([block.number for block in blocks])}
    for at, block in enumerate(blocks):
        arrays[f"public_{at}"] = block.public
        if block.counts is not None:
            for name in ("shape", "data", "indices", "indptr"):
                arrays[f"{name}_{at}"] = np.asarray(getattr(block.counts, name))
        if block.more is not None:
            arrays[f"more_{at}"] = block.more
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _load_blocks(path: Path) -> list[Block]:
    blocks = list[Block]()
    with np.load(path, allow_pickle=False) as stored:
        for at, number in enumerate(stored["numbers"].tolist()):
            counts = None
            if f"data_{at}" in stored:
                parts = tuple(stored[f"{name}_{at}"] for name in ("data", "indices", "indptr"))
                counts = csr_array(parts, shape=tuple(stored[f"shape_{at}"].tolist()))
            more = stored.get(f"more_{at}", None)
            blocks.append(Block(number, stored[f"public_{at}"], counts, more))
    return blocks


def _write_file(shuffle: Shuffle, target: Path, progress: Callable[[int], None] | None) -> None:
    """Write one file, row groups made by threads and written in order."""
    pieces, total = shuffle.pieces(), shuffle.n_chunks
    groups = (range(at, min(at + CHUNKS_PER_GROUP, total)) for at in range(0, total, CHUNKS_PER_GROUP))

    def make(chunks: range) -> Rows:
        return np.concatenate([shuffle.gather(pieces, chunk) for chunk in chunks])

    with (
        ThreadPoolExecutor(1, thread_name_prefix="showthrough") as pool,
        _writer(target, target.suffix, shuffle.layout) as write,
    ):
        waiting: list[Future[Rows]] = [pool.submit(make, chunks) for chunks in islice(groups, AHEAD)]
        while waiting:
            rows = waiting.pop(0).result()
            waiting.extend(pool.submit(make, chunks) for chunks in islice(groups, 1))
            write(rows)
            if progress:
                progress(len(rows))


@contextmanager
def _writer(path: Path, ending: str, layout: Layout) -> Generator[Callable[[Rows], None]]:
    """A function that writes rows to a file."""
    if ending == ".csv":
        texts = as_texts(layout)
        schema = pa.schema([(name, pa.string()) for name in layout.names])
        with arrow_csv.CSVWriter(path, schema) as file:
            yield lambda rows: file.write_table(texts.table(rows))
        return
    schema = rows_to_table(np.zeros((0, layout.n_words), np.uint64), layout).schema
    with pq.ParquetWriter(path, schema, compression="snappy", store_schema=False) as file:
        yield lambda rows: file.write_table(rows_to_table(rows, layout))
