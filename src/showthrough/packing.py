"""Which selections records match, as bits packed into 64-bit words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from showthrough.schema import Schema
from showthrough.selection import Selection

__all__ = [
    "match_words",
    "narrowed",
    "pack",
    "pack_selections",
    "unpack",
]


def pack_selections(selections: Sequence[Selection], schema: Schema) -> tuple[NDArray[np.uint64], ...]:
    """Per attribute, value × words: bit i is set if selection i allows the value."""
    allowed = [np.ones((len(a.values), len(selections)), bool) for a in schema.attributes]
    for at, selection in enumerate(selections):
        for attribute, codes in schema.encode(selection).items():
            allowed[attribute][:, at] = False
            allowed[attribute][list(codes), at] = True
    return tuple(pack(matrix) for matrix in allowed)


def pack(rows: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Boolean rows as 64-bit words."""
    n_words = max(1, -(-rows.shape[1] // 64))
    padded = np.zeros((len(rows), n_words * 64), bool)
    padded[:, : rows.shape[1]] = rows
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def unpack(words: NDArray[np.uint64], size: int) -> NDArray[np.uint8]:
    """The inverse of :func:`pack`: rows of 0 and 1."""
    return np.unpackbits(words.view(np.uint8), axis=1, count=size, bitorder="little")


def match_words(bits: Sequence[NDArray[np.uint64]], codes: NDArray[np.integer]) -> NDArray[np.uint64]:
    """For each coded record the packed set of selections it matches."""
    words = bits[0][codes[:, 0]]
    for at in range(1, len(bits)):
        words &= bits[at][codes[:, at]]
    return words


def narrowed(rows: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Counts as bytes, where they are small enough to be added and subtracted a few times."""
    return rows.astype(np.uint8) if rows.max(initial=0) <= 127 else rows  # pyright: ignore[reportReturnType]
