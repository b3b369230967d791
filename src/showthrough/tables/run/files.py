"""Where the tables of a run lie: each in one file, or where there is much in them in several.

A run beyond a certain size has for every table a folder of files with the same columns: ``claims/`` in
place of ``claims.parquet``, with ``part-00000.parquet`` and so on. The parts with the same number are about
the same areas in all tables, so that a part is read, and checked, by itself. Whoever reads a run asks here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from showthrough.errors import RunError
from showthrough.tables.stored import DAMAGED, PLACES, SOMETIMES

__all__ = [
    "RunFiles",
    "place_of_part",
]

_PART = re.compile(r"part-([0-9]{5,})\.parquet")

_EVERYWHERE = PLACES | SOMETIMES


def place_of_part(name: str, number: int) -> str:
    """Where a part of a table is, from the folder of its run.

    >>> place_of_part("claims", 3), place_of_part("proofs", 0)
    ('claims/part-00003.parquet', 'proofs/proofs/part-00000.parquet')
    """
    return f"{_EVERYWHERE[name].removesuffix('.parquet')}/part-{number:05d}.parquet"


@dataclass(frozen=True)
class RunFiles:
    """The Parquet files of a run's tables.

    Parameters
    ----------
    folder
        The folder of the run.
    part
        The number of the only part that is wanted; by default all are.
    """

    folder: Path
    part: int | None = None

    def places(self, name: str) -> tuple[str, ...]:
        """The files of a table in order, from the folder; none if it is one that not every run has."""
        place = _EVERYWHERE[name]
        parts = self._parts(name) if self.part is None else self._one(name, self.part)
        alone = (self.folder / place).is_file()
        if parts and alone:
            raise RunError(
                "the table is here twice: as one file, and in parts",
                file=str(self.folder / place),
                remedy=DAMAGED,
            )
        if parts:
            return parts
        return (place,) if alone or name not in SOMETIMES else ()

    def paths(self, name: str) -> tuple[Path, ...]:
        """The same as paths."""
        return tuple(self.folder / place for place in self.places(name))

    @cached_property
    def every_place(self) -> tuple[str, ...]:
        """The files of all tables."""
        return tuple(place for name in _EVERYWHERE for place in self.places(name))

    @cached_property
    def n_parts(self) -> int:
        """How many parts every table has; 0 if each is one file."""
        whole = RunFiles(self.folder)
        numbers = {name: len(whole._parts(name)) for name in _EVERYWHERE}
        for name, number in numbers.items():
            if number != numbers["areas"] and (number or name in PLACES):
                raise RunError(
                    f"the table has {number} parts, that of the areas has {numbers['areas']}",
                    file=str(self.folder / _EVERYWHERE[name]),
                    remedy=DAMAGED,
                )
        return numbers["areas"]

    @property
    def in_parts(self) -> bool:
        """Whether tables are several files each, or these are a part of such."""
        return self.part is not None or (self.folder / place_of_part("areas", 0)).is_file()

    @property
    def problem(self) -> str:
        """What is wrong with where the tables are; empty if nothing is."""
        try:
            _ = self.n_parts, self.every_place
        except RunError as error:
            return str(error)
        return ""

    def _one(self, name: str, number: int) -> tuple[str, ...]:
        """A part of a table, if the table has it."""
        place = place_of_part(name, number)
        return (place,) if name in PLACES or (self.folder / place).is_file() else ()

    def _parts(self, name: str) -> tuple[str, ...]:
        """The parts of a table, by their numbers, of which none may be missing."""
        inside = (self.folder / place_of_part(name, 0)).parent
        found = [match for path in inside.glob("part-*.parquet") if (match := _PART.fullmatch(path.name))]
        parts = tuple(place_of_part(name, number) for number in range(len(found)))
        missing = [place for place in parts if not (self.folder / place).is_file()]
        if missing:
            raise RunError(
                "a part of the table is missing", file=str(self.folder / missing[0]), remedy=DAMAGED
            )
        return parts
