"""Blocks to audit: the census tables, over homes or as published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from showthrough.audit.batch import Area, Broken
from showthrough.audit.part import Input, Planned
from showthrough.cli.subject import Subject
from showthrough.datasets.census import Cells, Renter, census_layout, check_additivity
from showthrough.errors import InputError, ReleaseError
from showthrough.io.areas import open_records
from showthrough.io.census import read_census
from showthrough.io.homes import check_homes, numbered_in_tracts, read_homes
from showthrough.io.releases import Releases
from showthrough.release import Layout, Release

__all__ = ["Blocks", "Choice", "read_blocks"]


@dataclass(frozen=True)
class Choice:
    """Which columns, rules and cells: the options of :func:`census_layout`."""

    cells: Cells = "all"
    renter: Renter = "published"
    children: bool = False
    edits: bool = False

    def layout(self, cells: Cells | None = None) -> Layout:
        """The census columns and tables, with these cells or others."""
        return census_layout(
            children=self.children, edits=self.edits, cells=cells or self.cells, renter=self.renter
        )


@dataclass(frozen=True, eq=False)
class Blocks(Subject):
    """Blocks of homes, or their published counts over all cells of the tables.

    Homes are counted and then forgotten, so that an audit sees what a reader of the tables sees
    and finds the same; with ``use_homes`` its search starts from them. ``broken`` maps blocks that
    cannot be audited to the reason.
    """

    use_homes: bool = False
    broken: Mapping[str, str] = field(default_factory=dict[str, str])

    def stream(self, scratch: Path) -> Iterator[Input]:
        """The blocks in order; totals of published counts are checked on the way."""
        for found in super().stream(scratch):
            if isinstance(found, Broken):
                yield found
            elif isinstance(found, Planned):
                planned = Area(self.layout.tabulate(found.records, area=found.area))
                yield found if self.use_homes else planned
            elif isinstance(self.source, Releases):
                yield self._published(found.release)
            elif found.release.area in self.broken:
                yield Broken(found.release.area, self.broken[found.release.area])
            else:
                yield found if self.use_homes else Area(found.release)

    def _published(self, release: Release) -> Area:
        """The cells asked for of a release of all cells."""
        try:
            check_additivity(release)
            problem = ""
        except ReleaseError as error:
            problem = f"{error.problem}; {error.remedy}"
        names = {cell: at for at, (_, cell) in enumerate(release.layout.names)}
        chosen = np.array([names[cell] for _, cell in self.layout.names], np.int64)
        low, high = release.low[chosen], release.high[chosen]
        return Area(Release(self.layout, low, high, release.area), problem=problem)


def read_blocks(
    homes: Path | None,
    *,
    counts: Sequence[Path] = (),
    choice: Choice,
    by: str = "block",
    use_homes: bool = False,
    keep_going: bool = False,
) -> Blocks:
    """The blocks in a file of homes, or in files of published counts.

    With ``keep_going`` homes outside the schema cost their block only.
    """
    if (homes is None) == (not counts):
        raise InputError(
            "homes and --counts are both given" if counts else "there is nothing to audit",
            file=None if homes is None else str(homes),
            remedy="name a file of homes, or published counts with --counts",
        )
    layout = choice.layout()
    if homes is None:
        read = read_census(list(counts), choice.layout("all"))
        notes = _left_out(", ".join(map(str, counts)), read.ignored)
        return Blocks(layout, read.releases, tuple(counts), notes=tuple(notes))
    notes = tuple(_left_out(str(homes), check_homes(homes, layout.schema, by=by)))
    if numbered_in_tracts(homes, by=by):
        held = read_homes(homes, layout.schema, by=by)
        return Blocks(layout, held.records, (homes,), notes=notes, use_homes=use_homes, broken=held.broken())
    stream = open_records(homes, layout.schema, by=by, columns=None, tolerant=keep_going)
    return Blocks(layout, stream, (homes,), notes=notes, use_homes=use_homes)


def _left_out(file: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        few = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        more = " (--children takes the column children in)" if "children" in names else ""
        yield f"{file}: in no table, and so left out: {few}{more}"
