"""Groups in blocks: what is held in memory, drawn and handed on at a time.

A block has a fixed number of groups, in ascending order, and chance is drawn block by block. So what
is drawn depends on the data and the seed only, not on where the rows stood or who did the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.engine.keys import Keys, Layout
from showthrough.engine.plane import Batch, Tally

__all__ = ["Block", "block_size", "cut", "iter_blocks"]

#: Cells (groups times sensitive values) in a block.
CELLS = 2**18


@dataclass(frozen=True, eq=False)
class Block:
    """Some groups: their public keys, and the counts of sensitive values in them."""

    number: int
    public: Keys
    #: A ``scipy.sparse.csr_array`` of int64.
    counts: Any
    #: What a method has decided about these groups beforehand.
    more: NDArray[np.int64] | None = None


def block_size(n_values: int) -> int:
    """How many groups a block has."""
    return max(1, CELLS // max(1, n_values))


def cut(counts: Any) -> Iterator[tuple[int, Any]]:
    """The rows of a matrix of counts, block by block, numbered."""
    size = block_size(counts.shape[1])
    for number, first in enumerate(range(0, counts.shape[0], size)):
        yield number, counts[first : first + size]


def iter_blocks(tally: Tally) -> Iterator[Block]:
    """All groups of a tally, block by block."""
    yield from gather_blocks(tally.cells(), tally.layout)


def gather_blocks(batches: Iterable[Batch], layout: Layout) -> Iterator[Block]:
    """Blocks from cells in ascending order."""
    size, number = block_size(layout.n_values), 0
    left: list[tuple[Keys, NDArray[np.int64], NDArray[np.int64]]] = []
    n_groups = 0
    for keys, counts in batches:
        public, value = layout.split(keys)
        left.append((public, value, counts))
        n_groups += 1 + int((public[1:] != public[:-1]).any(axis=1).sum())
        if n_groups <= size + len(left):  # a group may be cut in two at the end of a batch
            continue
        ready = _joined(left)
        starts = _starts(ready[0])
        # The last group may go on in the next batch.
        n_full = (len(starts) - 1) // size
        for at in range(n_full):
            first, end = starts[at * size], starts[(at + 1) * size]
            yield _block(number, [part[first:end] for part in ready], layout)
            number += 1
        rest = starts[n_full * size]
        left, n_groups = [tuple(part[rest:] for part in ready)], len(starts) - n_full * size  # pyright: ignore[reportAssignmentType]
    if left:
        ready = _joined(left)
        starts = np.append(_starts(ready[0]), len(ready[0]))
        for at in range(0, len(starts) - 1, size):
            first, end = starts[at], starts[min(at + size, len(starts) - 1)]
            yield _block(number, [part[first:end] for part in ready], layout)
            number += 1


def _joined(parts: list[tuple[Any, ...]]) -> list[Any]:
    return [np.concatenate(of) for of in zip(*parts, strict=True)]


def _starts(public: Keys) -> NDArray[np.int64]:
    """Where a group begins."""
    new = (public[1:] != public[:-1]).any(axis=1)
    return np.concatenate([[0], np.flatnonzero(new) + 1]) if len(public) else np.zeros(0, np.int64)


def _block(number: int, cells: list[Any], layout: Layout) -> Block:
    public, value, count = cells
    starts = _starts(public)
    ends = np.append(starts, len(public))
    counts = csr_array((count, value, ends), shape=(len(starts), layout.n_values))
    return Block(number, public[starts], counts)
