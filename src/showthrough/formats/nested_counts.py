"""Published counts of areas and of their parts, from one file.

Two columns name the area and the part. Rows without a part are about the area. A part is called
``area/part``, so that parts of different areas can have the same name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from showthrough.errors import ReleaseError, closest
from showthrough.formats.counts_file import named_codes, read_counts
from showthrough.formats.design import Design
from showthrough.formats.nested_areas import NestedAreas
from showthrough.formats.records_file import SLASH
from showthrough.frames import Source
from showthrough.release import UNBOUNDED, Layout, Release
from showthrough.releases import Releases
from showthrough.tables.linked.nest import Nest
from showthrough.tables.run.inputs import Area, Nested

__all__ = [
    "Nests",
    "read_nests",
]


@dataclass(frozen=True, eq=False)
class Nests(NestedAreas):
    """Areas and their parts in memory, sorted by name.

    Parameters
    ----------
    layout
        The tables of all of them.
    nests
        The areas, each with its parts.
    """

    layout: Layout
    nests: tuple[Nest, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parts, in order."""
        return tuple(name for nest in self.nests for name in nest.names)

    @property
    def n_areas(self) -> int:
        """How many parts there are."""
        return len(self.names)

    def inputs(self, scratch: Path) -> Iterator[Nested]:  # noqa: ARG002  (there is nothing to sort)
        """The areas for a run."""
        for nest in self.nests:
            yield Nested(nest.whole, tuple(Area(part) for part in nest.parts))


def read_nests(source: object, design: Design) -> Nests:
    """Read the published values of areas and of their parts from a file or a data frame.

    Parameters
    ----------
    source
        A path, an Arrow table, or a pandas or polars data frame.
    design
        The tables, and the two columns that name the area and the part.

    Returns
    -------
    Nests
        The areas, each with its parts.

    Raises
    ------
    ReleaseError
        If a value or a name does not fit the design; the message names file, row and column.
    """
    opened = Source.of(source, error=ReleaseError)
    within, inside = _columns(design, opened)
    with opened.locating():
        table = opened.table()
        above, wholes = _texts(table, within)
        below, parts = _texts(table, inside)
        _check_named(above, wholes, opened.name, within)
        pairs = _names(above, wholes, below, parts, opened.name, inside)
    said: list[str] = [pairs[pair] for pair in zip(above, below, strict=True)]
    names = pa.chunked_array([pa.array(said, pa.string())])
    table = table.drop_columns([within, inside]).append_column(inside, names)
    try:
        releases = read_counts(table, replace(design, area=inside, within=None), by=inside)
    except ReleaseError as error:
        raise error.at(file=opened.name) from None
    return _nests(releases, design.layout, {pairs[pair]: pair for pair in pairs}, wholes, parts, opened.name)


def _columns(design: Design, opened: Source) -> tuple[str, str]:
    if design.within is None or design.area is None:
        raise ReleaseError("the release does not name two columns for the area", file=design.file)
    for name in (design.within, design.area):
        if name not in opened.names:
            remedy = f"name the columns that hold the area and the part; {closest(name, opened.names)}"
            raise ReleaseError("no such column", file=opened.name, column=name, remedy=remedy)
    return design.within, design.area


def _texts(table: pa.Table, column: str) -> tuple[list[int], list[str]]:
    codes, texts = named_codes(table[column])
    return codes.tolist(), texts


def _check_named(codes: list[int], names: list[str], file: str | None, column: str) -> None:
    for row, code in enumerate(codes if "" in names else ()):
        if not names[code]:
            raise ReleaseError(
                "a row has no area",
                file=file,
                row=row + 1,
                column=column,
                remedy="fill the column: only the part may be left empty, in rows about the whole area",
            )


def _names(
    above: list[int], wholes: list[str], below: list[int], parts: list[str], file: str | None, column: str
) -> dict[tuple[int, int], str]:
    """The name of each pair of an area and a part; no two pairs have the same."""
    found: dict[tuple[int, int], str] = {}
    taken: dict[str, tuple[int, int]] = {}
    for row, pair in enumerate(zip(above, below, strict=True)):
        if pair in found:
            continue
        whole, part = wholes[pair[0]], parts[pair[1]]
        name = f"{whole}{SLASH}{part}" if part else whole
        if name in taken:
            raise ReleaseError(
                "two areas would have the same name",
                file=file,
                row=row + 1,
                column=column,
                found=name,
                remedy=f"rename one of them: a part is called by its area, {SLASH!r}, and its own name",
            )
        found[pair], taken[name] = name, pair
    return found


def _nests(
    releases: Releases,
    layout: Layout,
    pair_of: dict[str, tuple[int, int]],
    wholes: list[str],
    parts: list[str],
    file: str | None,
) -> Nests:
    """The releases of parts, put together by area; an area without rows has no counts of its own."""
    inside: dict[str, list[Release]] = {}
    above: dict[str, Release] = {}
    for release in releases:
        whole, part = pair_of[release.area]
        if parts[part]:
            inside.setdefault(wholes[whole], []).append(release)
        else:
            above[wholes[whole]] = release
    for name in sorted(above.keys() - inside.keys()):
        raise ReleaseError(
            "an area has no parts",
            file=file,
            found=name,
            remedy="add rows about its parts, or audit areas without parts by themselves: area = one column",
        )
    free = np.zeros(len(layout.names), np.int64), np.full(len(layout.names), UNBOUNDED, np.int64)
    found = [
        Nest(above.get(name) or Release(releases.layout, *free, name), tuple(mine))
        for name, mine in sorted(inside.items())
    ]
    return Nests(releases.layout, tuple(found))
