"""From rows to keys: which values the columns have, and each row as whole numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.engine.keys import Column, KeyCodec, Keys, sorted_keys
from showthrough.frames import Chunk, Source

__all__ = [
    "UNKNOWN",
    "FoundValues",
    "coded",
    "found_values",
    "pack_rows",
]

pc: Any = pyarrow.compute

#: The word of a row with a value that its column does not have.
UNKNOWN = np.uint64(np.iinfo(np.uint64).max)


class FoundValues:
    """The different values of columns, gathered chunk by chunk.

    >>> found = FoundValues(["a"])
    >>> found.see(pa.table({"a": ["y", None, "x", "y"]}))
    >>> found.column("a").values.to_pylist(), found.missing["a"], found.records
    ([None, 'x', 'y'], 1, 4)
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.records = 0
        self.missing = dict.fromkeys(names, 0)
        self._known: dict[str, Any] = {}
        self._new: dict[str, list[Any]] = {name: [] for name in names}

    def see(self, table: pa.Table) -> None:
        """Take in some rows."""
        self.records += table.num_rows
        for name, new in self._new.items():
            column: Any = table[name]
            self.missing[name] += column.null_count
            new += [_different(chunk) for chunk in column.chunks]
            # Merged when there is as much new as old, so that the work stays in proportion.
            if sum(map(len, new)) > max(2**16, len(self._known.get(name, ()))):
                self._merge(name)

    def know(self, name: str, values: Any, *, missing: int = 0) -> None:
        """Take in values of a column that are known to occur."""
        self._new[name] += values.chunks
        self.missing[name] += missing

    def add(self, other: FoundValues) -> None:
        """Take in what was found elsewhere."""
        self.records += other.records
        for name, new in self._new.items():
            self.missing[name] += other.missing[name]
            if other.records:
                new.append(other._merge(name))

    def _merge(self, name: str) -> Any:
        if new := self._new[name]:
            known = [self._known[name]] if name in self._known else []
            self._known[name] = pc.unique(pa.chunked_array([*known, *new]))
            self._new[name] = []
        return self._known[name]

    def number(self, name: str) -> int:
        """How many different values a column has."""
        return len(self._merge(name))

    def column(self, name: str) -> Column:
        """A column with its values in order."""
        return Column(name, sorted_keys(self._merge(name)))


def _different(chunk: Any) -> Any:
    """The different values of some rows, not in a dictionary."""
    if not pa.types.is_dictionary(chunk.type):
        return chunk.unique()
    entries = chunk.dictionary
    if len(entries) > len(chunk):
        indices = chunk.indices.unique().drop_null()
    else:  # marking the entries that occur is faster than hashing rows
        occurs = np.zeros(len(entries) + 1, bool)
        rows = chunk.indices.fill_null(len(entries)) if chunk.null_count else chunk.indices
        occurs[rows.to_numpy(zero_copy_only=False)] = True
        indices = pa.array(np.flatnonzero(occurs[:-1]))
    values = entries.take(indices)
    return pa.concat_arrays([values, pa.nulls(1, values.type)]) if chunk.null_count else values


def pack_rows(table: pa.Table, codec: KeyCodec) -> Keys:
    """Each row's key; all bits are set where a value is none of its column's."""
    keys = np.zeros((table.num_rows, codec.n_words), np.uint64)
    for column, place in zip(codec.columns, codec.places, strict=True):
        word, at = keys[:, place.word], 0
        for chunk in table[column.name].chunks:
            word[at : at + len(chunk)] |= _shifted(chunk, column.values, place.shift)
            at += len(chunk)
    if codec.n_words > 1:  # an unknown value has set all bits of one word only
        keys[(keys == UNKNOWN).any(axis=1)] = UNKNOWN
    return keys


def _shifted(chunk: Any, values: pa.Array, shift: int) -> NDArray[np.uint64]:
    """Each row's position among the values (which may be missing) in its place; all bits for none of them."""
    if not pa.types.is_dictionary(chunk.type):
        return _place(_positions(chunk, values), shift)
    # What is looked up are the few entries of the dictionary; the last one stands for a missing value.
    entries = pa.concat_arrays([chunk.dictionary, pa.nulls(1, chunk.dictionary.type)])
    placed = _place(_positions(entries, values), shift)
    indices = chunk.indices.fill_null(len(chunk.dictionary)) if chunk.null_count else chunk.indices
    return placed[indices.to_numpy(zero_copy_only=False)]


def _place(positions: NDArray[np.int64], shift: int) -> NDArray[np.uint64]:
    return np.where(positions < 0, UNKNOWN, positions.astype(np.uint64) << np.uint64(shift))


def _positions(found: Any, values: pa.Array) -> NDArray[np.int64]:
    """Each entry's position among the values; −1 for none of them."""
    if _is_range(values) and pa.types.is_signed_integer(found.type):
        first = values[0].as_py()
        numbers = found.fill_null(first - 1).to_numpy(zero_copy_only=False).astype(np.int64) - first
        return np.where((numbers >= 0) & (numbers < len(values)), numbers, -1)
    at = pc.index_in(found, value_set=values)
    return at.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _is_range(values: pa.Array) -> bool:
    """Whether these are whole numbers without a gap, such as the numbers of buckets."""
    if not len(values) or values.null_count or not pa.types.is_signed_integer(values.type):
        return False
    first, last = values[0].as_py(), values[-1].as_py()
    # Within these limits differences fit into 64 bits, and one less than the first into every type.
    return last - first + 1 == len(values) and first >= 1 and last < 2**62


def coded(chunks: Iterable[Chunk], codec: KeyCodec, *, threads: int) -> Iterator[Keys]:
    """The keys of all rows, chunk by chunk, by this many threads."""
    with ThreadPoolExecutor(threads, thread_name_prefix="showthrough") as pool:
        waiting, left = deque[Future[Keys]](), iter(chunks)
        try:
            while True:
                for chunk in islice(left, threads + 1 - len(waiting)):
                    waiting.append(pool.submit(pack_rows, chunk.table, codec))
                if not waiting:
                    return
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def found_values(source: Source, names: Sequence[str]) -> FoundValues:
    """The different values of some columns of a source."""
    found = FoundValues(names)
    for chunk in source.chunks(names):
        found.see(chunk.table)
    return found
