"""Areas and their parts from microdata: the tables of both are counted over the records of the parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from showthrough.formats.nested_areas import NestedAreas, NestedLayout
from showthrough.formats.records_file import SLASH, RecordStream
from showthrough.tables.run.inputs import Nested

__all__ = [
    "RecordNests",
]


def _before_slash(name: str) -> str:
    """The area of a part that is called by both.

    >>> _before_slash("12/101")
    '12'
    """
    return name.partition(SLASH)[0]


@dataclass(frozen=True, eq=False)
class RecordNests(NestedAreas):
    """Records of parts, read one area after the other.

    Parameters
    ----------
    stream
        The records by part; the parts of an area stand together when they are sorted by name.
    nested
        The tables, and for what they are published.
    whole_of
        The area that a part is in, given the part's name.
    """

    stream: RecordStream
    nested: NestedLayout
    whole_of: Callable[[str], str] = _before_slash

    @property
    def n_areas(self) -> int:
        """How many parts there are."""
        return self.stream.n_areas

    def inputs(self, scratch: Path) -> Iterator[Nested]:
        """The areas, with their tables counted."""
        for whole, parts in groupby(self.stream.areas(scratch), key=lambda part: self.whole_of(part[0])):
            yield self.nested.of_records(whole, list(parts))
