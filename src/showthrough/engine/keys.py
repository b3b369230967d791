"""A row of categories as one or a few whole numbers.

Counting, drawing and shuffling work on these numbers ("keys") instead of on texts. Keys sort as the
rows they stand for: by the first column, then the second, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

__all__ = [
    "Column",
    "KeyCodec",
    "KeyField",
    "Keys",
    "sorted_keys",
]

#: One row for each record or cell, one column for each word.
Keys = NDArray[np.uint64]

#: Bits used of a word; the sign bit stays free, since not every engine has unsigned numbers.
WORD = 63

pc: Any = pyarrow.compute


@dataclass(frozen=True, eq=False)
class Column:
    """A column's name and its different values in ascending order, a missing value first."""

    name: str
    values: pa.Array

    @property
    def bits(self) -> int:
        """How many bits a position among the values takes."""
        return max(0, len(self.values) - 1).bit_length()

    @property
    def has_missing(self) -> bool:
        """Whether missing is one of the values."""
        return self.values.null_count > 0


@dataclass(frozen=True)
class KeyField:
    """Where in a key a column is: which word, how far from its right end, how wide."""

    word: int
    shift: int
    bits: int


@dataclass(frozen=True, eq=False)
class KeyCodec:
    """How records of public and sensitive columns are packed into keys.

    The sensitive columns are at the right end of the last word. ``codes`` lists what that end holds
    for each sensitive value, in ascending order: with several sensitive columns not every combination
    is a value.

    >>> sex, ill = Column("sex", pa.array(["f", "m"])), Column("ill", pa.array(["no", "so-so", "yes"]))
    >>> codec = KeyCodec((sex,), (ill,), np.arange(3))
    >>> keys = codec.pack([np.array([1, 0]), np.array([2, 1])])
    >>> keys[:, 0].tolist(), codec.unpack(keys, 0).tolist()
    ([6, 1], [1, 0])
    """

    public: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    codes: NDArray[np.integer[Any]]

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, the public ones first."""
        return self.public + self.sensitive

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(column.name for column in self.columns)

    @property
    def n_values(self) -> int:
        """How many sensitive values there are."""
        return len(self.codes)

    @cached_property
    def places(self) -> tuple[KeyField, ...]:
        """The place of each column."""
        last = sum(column.bits for column in self.sensitive)
        units = [[column.bits] for column in self.public] + [[c.bits for c in self.sensitive]]
        words, used = [0], 0
        for unit in units:
            if used + sum(unit) > WORD:
                words.append(0)
                used = 0
            used += sum(unit)
            words[-1] += len(unit)
        places, at, widths = list[KeyField](), 0, [bits for unit in units for bits in unit]
        for word, number in enumerate(words):
            left = sum(widths[at : at + number])
            for bits in widths[at : at + number]:
                left -= bits
                places.append(KeyField(word, left, bits))
            at += number
        if last > WORD:
            raise OverflowError("the sensitive columns have too many values")
        return tuple(places)

    @property
    def n_words(self) -> int:
        """How many words a key has."""
        return self.places[-1].word + 1

    @property
    def width(self) -> int:
        """How many bits of the last word the sensitive columns take."""
        return sum(column.bits for column in self.sensitive)

    @property
    def n_bits(self) -> int:
        """How many bits a key takes, all words together."""
        return sum(column.bits for column in self.columns)

    @property
    def is_short(self) -> bool:
        """Whether a key fits into 32 bits."""
        return self.n_words == 1 and self.n_bits <= 32

    def pack(self, codes: Sequence[NDArray[np.integer[Any]]]) -> Keys:
        """Keys from each column's positions."""
        keys = np.zeros((len(codes[0]) if codes else 0, self.n_words), np.uint64)
        for place, code in zip(self.places, codes, strict=True):
            keys[:, place.word] |= code.astype(np.uint64) << np.uint64(place.shift)
        return keys

    def unpack(self, keys: NDArray[np.integer[Any]], column: int) -> NDArray[np.integer[Any]]:
        """One column's positions."""
        place = self.places[column]
        kind = keys.dtype.type
        return (keys[:, place.word] >> kind(place.shift)) & kind((1 << place.bits) - 1)

    def split(self, keys: Keys) -> tuple[Keys, NDArray[np.int64]]:
        """The public part of keys, and which sensitive value each has (−1 for none of them)."""
        mask = np.uint64((1 << self.width) - 1)
        public = keys.copy()
        public[:, -1] &= ~mask
        code = (keys[:, -1] & mask).astype(np.int64)
        at = np.minimum(np.searchsorted(self.codes, code), len(self.codes) - 1)
        return public, np.where(self.codes[at] == code, at, -1)

    def join(self, public: Keys, value: NDArray[np.integer[Any]]) -> Keys:
        """The inverse of :meth:`split`."""
        keys = public.copy()
        keys[:, -1] |= np.asarray(self.codes)[value].astype(np.uint64)
        return keys

    @cached_property
    def domain(self) -> pa.Table:
        """The sensitive values, one row each."""
        keys = np.zeros((self.n_values, self.n_words), np.uint64)
        keys[:, -1] = np.asarray(self.codes).astype(np.uint64)
        first = len(self.public)
        return pa.table(
            {
                column.name: column.values.take(self.unpack(keys, first + at))
                for at, column in enumerate(self.sensitive)
            }
        )

    def table(self, keys: NDArray[np.integer[Any]], columns: Sequence[int] | None = None) -> pa.Table:
        """The rows that keys stand for, as plain columns."""
        kept = range(len(self.columns)) if columns is None else columns
        if not kept:  # a table without columns would forget how many rows it has
            return pa.table({"": pa.nulls(len(keys))}).select([])
        arrays = [self.columns[at].values.take(self.unpack(keys, at)) for at in kept]
        return pa.Table.from_arrays(arrays, names=[self.columns[at].name for at in kept])


def sorted_keys(values: Any) -> pa.Array:
    """Different values in the order every engine is to use: a missing one first, texts by their bytes.

    >>> sorted_keys(pa.array(["b", None, "B"])).to_pylist()
    [None, 'B', 'b']
    """
    return values.take(pc.array_sort_indices(values, null_placement="at_start"))
