"""A dataset as a witness lists it, and how many of its records match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .tree import Terms

__all__ = [
    "World",
]


class World:
    """Different records, and how often each of them occurs.

    A set of records is a whole number: bit 0 stands for the first record, and so on. How often they
    occur is kept the same way, bit by bit: ``planes[2]`` has the records whose number has the bit 2².

    Parameters
    ----------
    rows
        Records, each with how often it occurs: never less than 0 times.

    Examples
    --------
    >>> world = World([({"sex": "f", "age": "old"}, 5), ({"sex": "m", "age": "old"}, 2)])
    >>> world.count((("sex", ("f",)),)), world.count((("age", ("old", "young")),)), world.count(())
    (5, 7, 7)
    """

    def __init__(self, rows: Sequence[tuple[Mapping[str, str], int]]) -> None:
        self._having: dict[tuple[str, str], int] = {}
        self._planes: list[int] = []
        for at, (record, times) in enumerate(rows):
            for pair in record.items():
                self._having[pair] = self._having.get(pair, 0) | 1 << at
            self._planes += [0] * (times.bit_length() - len(self._planes))
            for bit in range(times.bit_length()):
                self._planes[bit] |= (times >> bit & 1) << at

    def count(self, terms: Terms) -> int:
        """How many records match."""
        found = -1  # every bit
        for name, values in terms:
            either = 0
            for value in values:
                either |= self._having.get((name, value), 0)
            found &= either
        return sum((found & plane).bit_count() << bit for bit, plane in enumerate(self._planes))
