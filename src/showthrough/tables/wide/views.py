"""Which attributes to look at together, where all of them have too many record types."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.wide.area import WideArea

__all__ = [
    "Views",
    "grown_views",
]

#: Combinations of values of a view, the second time that claims are looked at, and the last time.
SIZES = (400, 4_000)

#: Views in a row that prove nothing, after which no more are tried, and views of one size in all.
IDLE, MOST = 12, 120

Subsets = tuple[NDArray[np.int64], NDArray[np.int64]]


def grown_views(
    area: WideArea, columns: tuple[int, ...], wanted: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Sets of attributes around some of a part, each with more combinations of values than the last."""
    views, seen = Views(area, columns), set[tuple[int, ...]]()
    bits = sum(1 << columns.index(at) for at in wanted)
    for size in (1, *SIZES):
        over = views.attributes(views.grown(bits, min(size, area.effort.types)))
        if over and over not in seen:
            seen.add(over)
            yield over


class Views:
    """Proposes sets of attributes: first those of single tables, then those around open claims.

    Parameters
    ----------
    area
        What is published.
    columns
        The attributes of the part; bits of sets of columns count from the first of them.
    """

    def __init__(self, area: WideArea, columns: tuple[int, ...]) -> None:
        self.area, self.columns = area, columns
        self.done = 0
        self._idle = self._of_size = 0
        self._level = 0
        self._tables = self._maximal()
        self._tried: list[set[int]] = [set() for _ in SIZES]

    def _maximal(self) -> list[int]:
        """The sets of columns that cells or rules name, without those within others."""
        edges = {self._bits(np.flatnonzero(edge).tolist()) for edge in self.area.ties.edges}
        alone = {self._bits(np.flatnonzero(row).tolist()) for row in np.unique(self.area.ties.needs, axis=0)}
        every = sorted((edges | alone) - {0}, key=lambda bits: (-bits.bit_count(), bits))
        kept = list[int]()
        for bits in every:
            if not any(bits & ~other == 0 for other in kept):
                kept.append(bits)
        return kept[::-1]

    def _bits(self, attributes: list[int]) -> int:
        """Attributes as bits; 0 if they are of other parts."""
        if not set(attributes) <= set(self.columns):
            return 0
        return sum(1 << self.columns.index(at) for at in attributes)

    def note(self, proved: int) -> None:
        """How many claims the last view proved."""
        self.done += 1
        self._of_size += 1
        self._idle = 0 if proved else self._idle + 1

    def next(self, open_: Subsets) -> tuple[int, ...] | None:
        """The next view for open claims: sets of columns, and how many have each; None if that was all."""
        subsets, sizes = open_
        while (table := self._next_table()) is not None:
            if (subsets & ~np.int64(table) == 0).any():
                self._idle = self._of_size = 0
                return self.attributes(table)
        while self._level < len(SIZES):
            view = self._around(subsets, sizes)
            if view is not None:
                return self.attributes(view)
            self._level += 1
            self._idle = self._of_size = 0
        return None

    def next_table(self) -> tuple[int, ...] | None:
        """The attributes of the next table; None if that was the last one."""
        table = self._next_table()
        return None if table is None else self.attributes(table)

    def _next_table(self) -> int | None:
        return self._tables.pop() if self._tables else None

    def _around(self, subsets: NDArray[np.int64], sizes: NDArray[np.int64]) -> int | None:
        """The columns around those with the most open claims that were not looked at in this size."""
        tried, most = self._tried[self._level], MOST * max(1, self.area.effort.nodes // 300)
        if self._idle >= IDLE or self._of_size >= most:
            return None
        for at in np.lexsort((subsets, -sizes)).tolist():
            bits = int(subsets[at])
            if bits in tried:
                continue
            view = self.grown(bits, min(SIZES[self._level], self.area.effort.types))
            tried |= {int(one) for one in subsets.tolist() if not int(one) & ~view}
            return view
        return None

    def grown(self, bits: int, most: int) -> int:
        """Columns with the tables about them, those first that add least to what is there."""
        edges, view = self._edges, bits
        while True:
            touching = [edge for edge in edges if edge & view and edge & ~view]
            wider = [view | edge for edge in touching if self._size(view | edge) <= most]
            if not wider:
                return view
            shared = {one: sum(edge & ~one == 0 for edge in edges) for one in set(wider)}
            view = min(wider, key=lambda one: (self._size(one), -shared[one], one))

    @cached_property
    def _edges(self) -> list[int]:
        return [self._bits(np.flatnonzero(edge).tolist()) for edge in self.area.ties.edges]

    def _size(self, bits: int) -> int:
        schema = self.area.release.schema
        chosen = [at for place, at in enumerate(self.columns) if bits >> place & 1]
        return prod(len(schema.attributes[at].values) for at in chosen)

    def attributes(self, bits: int) -> tuple[int, ...]:
        """Columns as attributes, with those that the number of records is read from."""
        mine = tuple(at for place, at in enumerate(self.columns) if bits >> place & 1)
        return (*mine, *self.area.borrowed(mine))
