"""From counts back to rows, in an order that tells nothing.

Every row draws the number of a chunk, all alike, and each chunk is shuffled. That is a uniformly
random order of all rows (sort them by a random number: its first digits are the chunk). So no more
than a block and a chunk are ever in memory, and chunks can be made anywhere: what goes where follows
from the seed and the block's number.

Rows wait for their chunk in files, as keys; a file holds one piece of one block, sorted by chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.engine.keys import Keys, Layout
from showthrough.engine.plane import Batch
from showthrough.publish.draws import ORDER, SCATTER, generator

__all__ = ["Checksum", "Shuffle", "n_chunks", "rows_to_table"]

#: Rows of a chunk, about: few enough that a shuffle stays in the processor's cache.
CHUNK = 2**18

#: Rows scattered at a time.
PIECE = 2**22

#: Numbers of chunks fit into 16 bits, because that is what NumPy sorts fastest.
MOST_CHUNKS = 2**16

#: Columns with more values than this are written as plain values: a dictionary would be in every part.
DICTIONARY = 2**15

Rows = NDArray[np.unsignedinteger[Any]]


def n_chunks(records: int) -> int:
    """How many chunks so many records are scattered over.

    >>> n_chunks(10_000_000), n_chunks(10**12)
    (39, 65536)
    """
    return max(1, min(MOST_CHUNKS, -(-records // CHUNK)))


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
    layout: Layout
    n_chunks: int
    seed: int

    @property
    def dtype(self) -> type[np.unsignedinteger[Any]]:
        """How keys are stored."""
        return np.uint32 if self.layout.is_short else np.uint64

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
            draft = self.folder / f"{name}{ending}.draft"
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


def rows_to_table(rows: Rows, layout: Layout) -> pa.Table:
    """Rows as the columns of a publication; texts as dictionaries, which are fast to write."""
    arrays = list[pa.Array]()
    for at, column in enumerate(layout.columns):
        codes, values = layout.unpack(rows, at), column.values
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
    return pa.Table.from_arrays(arrays, names=list(layout.names))
