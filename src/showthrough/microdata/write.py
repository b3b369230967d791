"""Write the rows of a publication in an order that reveals nothing, read them back, and count again.

Every row draws the number of a chunk, all equally likely, and each chunk is shuffled. That is a uniformly
random order of all rows (sort them by a random number: its first digits are the chunk). So no more than a
block and a chunk are ever in memory, and chunks can be made anywhere: what goes where follows from the
seed and the number of the block.

Rows wait for their chunk in files, as keys; a file holds one piece of one block, sorted by chunk.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.engine.backend import Batch, CountingBackend, Tally
from showthrough.engine.keys import Column, KeyCodec, Keys
from showthrough.errors import ShowthroughError
from showthrough.frames import Source
from showthrough.frames.columns import check_texts
from showthrough.microdata.groups import Block
from showthrough.microdata.plan import ORDER, SCATTER, Plan, generator

__all__ = [
    "Checksum",
    "FileFormat",
    "Shuffle",
    "check_written",
    "chunks_of_files",
    "n_chunks",
    "rows_to_table",
    "write_rows",
    "write_table",
]

FileFormat = Literal["parquet", "csv"]

#: Chunks in a row group, so that it has about a million rows.
CHUNKS_PER_GROUP = 4

#: Row groups made ahead of the one that is written.
AHEAD = 3


def write_rows(
    plan: Plan,
    tally: Tally,
    *,
    backend: CountingBackend,
    seed: int,
    scratch: Path,
    target: Path,
    progress: Callable[[int], None] | None = None,
) -> Checksum:
    """Draw, shuffle and write all rows; ``target`` ends in ``.parquet`` or ``.csv``.

    Very many rows make ``target`` a folder of files. Where these begin depends on the number of rows only:
    the bytes do not depend on who writes them.
    """
    shuffle = Shuffle(scratch, plan.codec, n_chunks(plan.records), seed)
    place = _RowStore(scratch, plan, shuffle, target, backend.is_shared, tuple(chunks_of_files(plan.records)))
    done = Checksum()
    for number, _ in backend.run(place.draw, place.pending(plan.blocks(tally))):
        done += place.checksum(number)
    if len(place.files) == 1:
        _write_file(shuffle, place.files[0], (target, target.suffix), progress)
        return done
    target.mkdir()
    place.drafts.mkdir()
    for _, number in backend.run(place.write_part, range(len(place.files))):
        if progress:
            progress(number)
    gone = place.drafts.rename(place.drafts.with_name(f"{place.drafts.name}-gone"))
    shutil.rmtree(gone, ignore_errors=True)  # of attempts that another was faster than
    return done


def write_table(target: Path, codec: KeyCodec, batches: Iterable[Keys]) -> Checksum:
    """Write rows as they come; what :func:`check_written` is to find."""
    done = Checksum()
    with _writer(target, target.suffix, codec, as_numbers=True) as write:
        for keys in batches:
            write(keys)
            done += Checksum.of(keys, np.ones(len(keys), np.int64))
    return done


def check_written(
    target: Path, codec: KeyCodec, expected: Checksum, *, backend: CountingBackend, scratch: Path
) -> None:
    """Read the rows back and count them again; an error if they are not what was drawn."""
    if target.suffix == ".csv":
        codec = as_texts(codec)
    found = Checksum()
    for keys, counts in backend.recount(Source.of(target), codec, scratch=scratch):
        found += Checksum.of(keys, counts)
    if found != expected:
        raise ShowthroughError(
            f"the written rows differ from those that were drawn ({found.records:,} records were found, "
            f"{expected.records:,} drawn); nothing was published: check the disk and try again"
        )


def as_texts(codec: KeyCodec) -> KeyCodec:
    """The same columns with values as they are written in a CSV file; missing is an empty field."""

    def written(column: Column) -> Column:
        known: list[str | None] = [text or None for text in check_texts(column.values, column.name)]
        return Column(column.name, pa.array(known, pa.string()))

    return KeyCodec(
        tuple(written(column) for column in codec.public),
        tuple(written(column) for column in codec.sensitive),
        codec.codes,
    )


@dataclass(frozen=True, eq=False)
class _RowStore:
    """Where blocks become rows, a few blocks at a time so that there are not too many pieces."""

    scratch: Path
    plan: Plan
    shuffle: Shuffle
    target: Path
    is_shared: bool
    #: The chunks of each file.
    files: tuple[range, ...]
    held: dict[int, list[Block]] = field(default_factory=dict[int, list[Block]])

    @property
    def folder(self) -> Path:
        """What all machines that work on it must share."""
        return self.scratch

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
        draft = self.scratch / f"{number}.sum.{token_hex(8)}.draft"
        draft.write_text(json.dumps([done.records, done.mixed]))
        draft.replace(self.scratch / f"{number}.sum")
        return done.records

    def checksum(self, number: int) -> Checksum:
        """What was drawn from a bundle."""
        return Checksum(*json.loads((self.scratch / f"{number}.sum").read_text()))

    @property
    def drafts(self) -> Path:
        """Where parts are written before they are complete: beside the rows, so that none is left among them.

        It is there while parts are written. A slow attempt finds it no more.
        """
        return self.target.with_name(f".{self.target.name}-drafts")

    def write_part(self, number: int) -> int:
        """Write one of several files; several attempts at once do not meet."""
        draft = self.drafts / f"part-{number:05}.{token_hex(8)}.draft"
        rows = _write_file(self.shuffle, self.files[number], (draft, self.target.suffix))
        draft.replace(self.target / f"part-{number:05}{self.target.suffix}")
        return rows


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


def _write_file(
    shuffle: Shuffle,
    chunks: range,
    target: tuple[Path, str],
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write some chunks to a file, given with its ending; row groups are made by a thread. How many rows."""
    pieces, n_rows = shuffle.pieces(), 0
    groups = (chunks[at : at + CHUNKS_PER_GROUP] for at in range(0, len(chunks), CHUNKS_PER_GROUP))

    def make(some: range) -> Rows:
        return np.concatenate([shuffle.gather(pieces, chunk) for chunk in some])

    with (
        ThreadPoolExecutor(1, thread_name_prefix="showthrough") as pool,
        _writer(*target, shuffle.codec) as write,
    ):
        waiting: list[Future[Rows]] = [pool.submit(make, some) for some in islice(groups, AHEAD)]
        while waiting:
            rows = waiting.pop(0).result()
            waiting.extend(pool.submit(make, some) for some in islice(groups, 1))
            write(rows)
            n_rows += len(rows)
            if progress:
                progress(len(rows))
    return n_rows


@contextmanager
def _writer(
    path: Path, ending: str, codec: KeyCodec, *, as_numbers: bool = False
) -> Generator[Callable[[Rows], None]]:
    """A function that writes rows to a file; ``as_numbers`` leaves numbers in a CSV file without quotes."""
    if ending == ".csv":
        texts = codec if as_numbers else as_texts(codec)
        schema = texts.table(np.zeros((0, codec.n_words), np.uint64)).schema
        with arrow_csv.CSVWriter(path, schema) as file:
            yield lambda rows: file.write_table(texts.table(rows))
        return
    schema = rows_to_table(np.zeros((0, codec.n_words), np.uint64), codec).schema
    with pq.ParquetWriter(path, schema, compression="snappy", store_schema=False) as file:
        yield lambda rows: file.write_table(rows_to_table(rows, codec))


#: Rows of a chunk, about: few enough that a shuffle stays in the processor's cache.
CHUNK = 2**18

#: Up to this many rows are written to one file; more to several, with so many rows each, about.
ONE_FILE, FILE_ROWS = 2**26, 2**24

#: Rows scattered at a time.
PIECE = 2**20

#: Numbers of chunks fit into 16 bits, because that is what NumPy sorts fastest.
MOST_CHUNKS = 2**16

#: Columns with more values than this are written as plain values: a dictionary would be in every part.
DICTIONARY = 2**15

Rows = NDArray[np.unsignedinteger[Any]]


def n_chunks(records: int) -> int:
    """How many chunks this many records are scattered over.

    >>> n_chunks(10_000_000), n_chunks(10**12)
    (39, 65536)
    """
    return max(1, min(MOST_CHUNKS, -(-records // CHUNK)))


def chunks_of_files(records: int) -> Iterator[range]:
    """The chunks of each file that so many records are written to.

    >>> list(chunks_of_files(10_000_000)), len(list(chunks_of_files(10**9)))
    ([range(0, 39)], 60)
    """
    total = n_chunks(records)
    each = total if records <= ONE_FILE else max(1, FILE_ROWS * total // records)
    return (range(at, min(at + each, total)) for at in range(0, total, each))


@dataclass(frozen=True)
class Checksum:
    """What many keys and their numbers add up to: equal counts give equal sums.

    Other counts give the same sum with a chance of about 2⁻⁶⁴.

    >>> key, other = np.array([[7]], np.uint64), np.array([[8]], np.uint64)
    >>> Checksum.of(key, np.array([2])) == Checksum.of(key, np.array([1])) + Checksum.of(key, np.array([1]))
    True
    >>> Checksum.of(key, np.array([2])) == Checksum.of(other, np.array([2]))
    False
    """

    records: int = 0
    mixed: int = 0

    @classmethod
    def of(cls, keys: Keys, counts: NDArray[np.int64]) -> Checksum:
        """Of some keys and their numbers."""
        total = np.zeros(len(keys), np.uint64)
        for at in range(keys.shape[1]):
            total = _mix(total + keys[:, at] + np.uint64(at))
        return cls(int(counts.sum()), int((total * counts.astype(np.uint64)).sum(dtype=np.uint64)))

    def __add__(self, other: Checksum) -> Checksum:
        return Checksum(self.records + other.records, (self.mixed + other.mixed) % 2**64)


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijection that spreads every bit over all others (the finaliser of SplitMix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class Shuffle:
    """Scatters blocks of counted keys into a folder, and gathers chunks of shuffled rows from it."""

    folder: Path
    codec: KeyCodec
    n_chunks: int
    seed: int

    @property
    def dtype(self) -> type[np.unsignedinteger[Any]]:
        """How keys are stored."""
        return np.uint32 if self.codec.is_short else np.uint64

    def scatter(self, number: int, batch: Batch) -> Checksum:
        """Store a block's rows; doing it again stores the same."""
        keys, counts = batch
        stored = keys.astype(self.dtype)
        chance = generator(self.seed, SCATTER, number)
        for piece, rows in enumerate(_pieces(stored, counts)):
            chunk = chance.integers(self.n_chunks, size=len(rows), dtype=np.uint16, endpoint=False)
            order = np.argsort(chunk, kind="stable")
            ends = np.cumsum(np.bincount(chunk, minlength=self.n_chunks))
            self._store(f"{number}-{piece}", rows[order], np.concatenate([[0], ends]))
        return Checksum.of(keys, counts)

    def _store(self, name: str, rows: Rows, ends: NDArray[np.int64]) -> None:
        for ending, array in ((".rows.npy", rows), (".ends.npy", ends)):
            draft = self.folder / f"{name}{ending}.{token_hex(8)}.draft"
            with draft.open("wb") as file:
                np.save(file, array, allow_pickle=False)
            draft.replace(self.folder / f"{name}{ending}")

    def pieces(self) -> list[tuple[Rows, NDArray[np.int64]]]:
        """All stored rows, left on disk, and where each chunk begins among them."""
        names = sorted(
            (path.name.removesuffix(".ends.npy") for path in self.folder.glob("*.ends.npy")),
            key=lambda name: tuple(int(part) for part in name.split("-")),
        )
        return [
            (
                np.load(self.folder / f"{name}.rows.npy", mmap_mode="r", allow_pickle=False),
                np.load(self.folder / f"{name}.ends.npy", allow_pickle=False),
            )
            for name in names
        ]

    def gather(self, pieces: list[tuple[Rows, NDArray[np.int64]]], chunk: int) -> Rows:
        """The rows of one chunk, shuffled."""
        rows = np.concatenate([stored[ends[chunk] : ends[chunk + 1]] for stored, ends in pieces])
        chance = generator(self.seed, ORDER, chunk)
        if rows.shape[1] > 1:
            return rows[chance.permutation(len(rows))]
        flat = rows[:, 0]
        chance.shuffle(flat)
        return flat[:, None]


def _pieces(keys: Rows, counts: NDArray[np.int64]) -> Iterator[Rows]:
    """The rows that counts stand for, some million at a time; a count may be cut in two."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for first in range(0, total, PIECE):
        last = min(first + PIECE, total)
        low, high = np.searchsorted(ends, first, side="right"), np.searchsorted(ends, last, side="left") + 1
        upper = np.minimum(ends[low:high], last)
        lower = np.maximum(ends[low:high] - counts[low:high], first)
        yield np.repeat(keys[low:high], upper - lower, axis=0)


def rows_to_table(rows: Rows, codec: KeyCodec) -> pa.Table:
    """Rows as the columns of a publication; texts as dictionaries, which are fast to write."""
    arrays = list[pa.Array]()
    for at, column in enumerate(codec.columns):
        codes, values = codec.unpack(rows, at), column.values
        if not pa.types.is_string(values.type) or len(values) > DICTIONARY:
            arrays.append(values.take(codes))
            continue
        small = codes.astype(np.int8 if len(values) < 2**7 else np.int32)
        if column.has_missing:
            # A missing value is no entry of a dictionary but the lack of one.
            indices: Any = pa.array(small - 1, mask=small == 0)
            values = values.slice(1)
        else:
            indices = pa.array(small)
        arrays.append(pa.DictionaryArray.from_arrays(indices, values, safe=False))
    return pa.Table.from_arrays(arrays, names=list(codec.names))
