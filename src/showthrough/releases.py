"""The releases of many areas over one layout, and the tidy file they are written to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import InputError, ReleaseError, check_each, check_type, closest
from showthrough.export import Tabular
from showthrough.frames.stream import writing_tables
from showthrough.noise_law import UNKNOWN, NoiseLaw, NoisyCounts
from showthrough.notation import Rounding
from showthrough.perturbation import Perturbation
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Layout, Published, Release, Table, as_table

__all__ = [
    "Releases",
    "combine_releases",
    "tabulate",
    "write_counts",
]

#: Rows handed to the writer at a time.
BATCH = 100_000

Whole = NDArray[np.int64]

#: How a table's counts were changed before they were published.
Method = Rounding | Perturbation


@dataclass(frozen=True, eq=False)
class Releases(Tabular):
    """What is published about each of several areas; iteration gives releases, areas sorted.

    Only published cells are kept: those of area i are the entries ``starts[i]`` to
    ``starts[i + 1]`` of ``cells`` (positions in the layout), ``low`` and ``high``, and of ``values`` as
    they were published where noise has laws: the laws, and for each cell of the layout its law.

    Examples
    --------
    >>> from showthrough import Records, Schema, tabulate
    >>> schema = Schema.of({"sex": ["f", "m"]})
    >>> people = Records(schema, np.array([[0], [1], [1]]), np.array(["North", "South", "South"], object))
    >>> releases = tabulate(people, "sex")
    >>> releases
    Releases about 2 areas (North, South): 2 cells in 1 table (sex)
    >>> releases["South"]
    Release about South: 2 cells in 1 table (sex); 2 exact
    """

    layout: Layout
    areas: tuple[str, ...]
    starts: Whole
    cells: Whole
    low: Whole
    high: Whole
    values: Whole | None = None
    laws: tuple[tuple[NoiseLaw, ...], Whole] = ((), np.zeros(0, np.int64))

    @classmethod
    def arrange(
        cls,
        layout: Layout,
        areas: Sequence[str],
        *,
        codes: Whole,
        cells: Whole,
        low: Whole,
        high: Whole,
        values: Whole | None = None,
        laws: tuple[tuple[NoiseLaw, ...], Whole] = ((), np.zeros(0, np.int64)),
    ) -> Releases:
        """From entries in any order, each with the position of its area in ``areas``."""
        ranked = sorted(range(len(areas)), key=areas.__getitem__)
        rank = np.empty(len(areas), np.int64)
        rank[ranked] = np.arange(len(areas))
        codes = rank[codes]
        order = np.argsort(codes * len(layout.names) + cells, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(areas) + 1))
        names = tuple(areas[at] for at in ranked)
        noisy = None if values is None else values[order]
        return cls(layout, names, starts, cells[order], low[order], high[order], noisy, laws)

    @classmethod
    def of(cls, releases: Iterable[Release]) -> Releases:
        """From the releases of different areas over one layout."""
        listed = list(releases)
        if not listed or any(not _same(release.layout, listed[0].layout) for release in listed):
            raise ReleaseError(
                "the releases have different layouts",
                remedy="make every release from the same layout",
            )
        layout, size = listed[0].layout, len(listed[0].low)
        areas = [release.area for release in listed]
        if len(set(areas)) < len(areas):
            twice = next(area for area in areas if areas.count(area) > 1)
            raise ReleaseError("an area occurs twice", found=twice, remedy="merge its releases")
        return cls.arrange(
            layout,
            areas,
            codes=np.repeat(np.arange(len(listed)), size),
            cells=np.tile(np.arange(size), len(listed)),
            low=np.concatenate([release.low for release in listed]),
            high=np.concatenate([release.high for release in listed]),
        )

    def __len__(self) -> int:
        return len(self.areas)

    def __repr__(self) -> str:
        listed = ", ".join(self.areas[:6]) + (", …" if len(self.areas) > 6 else "")
        counted = repr(self.layout).removeprefix("Layout: ")
        return f"Releases about {len(self):,} area{'' if len(self) == 1 else 's'} ({listed}): {counted}"

    def to_arrow(self) -> pa.Table:
        """The rows of every area's release, with its name in the column ``area``."""
        tables = [
            release.to_arrow().add_column(0, "area", pa.array([release.area] * len(release.low), pa.string()))
            for release in self
        ]
        return pa.concat_tables(tables)

    def __iter__(self) -> Iterator[Release]:
        return (self._release(at) for at in range(len(self.areas)))

    def __getitem__(self, area: str) -> Release:
        if area not in self._positions:
            raise ReleaseError("unknown area", found=area, remedy=closest(area, self.areas))
        return self._release(self._positions[area])

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {area: at for at, area in enumerate(self.areas)}

    def _release(self, at: int) -> Release:
        mine = slice(int(self.starts[at]), int(self.starts[at + 1]))
        low = np.zeros(len(self.layout.names), np.int64)
        high = np.full(len(low), UNBOUNDED, np.int64)
        low[self.cells[mine]] = self.low[mine]
        high[self.cells[mine]] = self.high[mine]
        if self.values is None:
            return Release(self.layout, low, high, self.areas[at])
        values = np.full(len(low), UNKNOWN, np.int64)
        values[self.cells[mine]] = self.values[mine]
        return Release(self.layout, low, high, self.areas[at], NoisyCounts(values, *self.laws))


@overload
def tabulate(
    records: Records, *tables: str | Table | Iterable[str | Table], area: str = "", pool: Literal[True]
) -> Release: ...
@overload
def tabulate(
    records: Records, *tables: str | Table | Iterable[str | Table], area: str = "", pool: bool = False
) -> Release | Releases: ...
def tabulate(
    records: Records, *tables: str | Table | Iterable[str | Table], area: str = "", pool: bool = False
) -> Release | Releases:
    """Count tables over records: the release that publishes these tables exactly.

    Parameters
    ----------
    records
        The records to count.
    tables
        Formulas such as ``"age*sex"``, tables, or lists of them.
    area
        The name of the area, for records that do not name areas themselves.
    pool
        Count records of several areas together, as one release.

    Returns
    -------
    Release or Releases
        One release; for records of several areas one per area, unless they are pooled.

    Raises
    ------
    InputError
        If an argument has the wrong type, or a formula names an unknown attribute.

    Examples
    --------
    >>> from showthrough import Records, Schema
    >>> schema = Schema.of({"sex": ["f", "m"], "age": ["young", "old"]})
    >>> records = Records.of([{"sex": "f", "age": "old"}, {"sex": "m", "age": "old"}], schema)
    >>> [(cell.name, cell.low) for cell in tabulate(records, "sex", "age").cells]
    [('sex=f', 1), ('sex=m', 1), ('age=young', 0), ('age=old', 2)]
    """
    check_type(records, Records, name="records", remedy="read them with read_records, or use Records.of")
    layout = Layout(records.schema, tuple(as_table(records.schema, one) for one in _flat(tables)))
    if records.areas is None or pool:
        return layout.tabulate(records, area=area)
    if area:
        raise InputError(
            "the records name their areas themselves",
            found=area,
            remedy="leave area out, or count them together with pool=True",
        )
    return Releases.of(layout.tabulate(inside, area=name) for name, inside in records.by_area())


def _flat(tables: Iterable[str | Table | Iterable[str | Table]]) -> Iterator[str | Table]:
    for given in tables:
        if isinstance(given, str | Table):
            yield given
        else:
            check_type(given, Iterable, name="table", remedy="give a formula such as 'age*sex', or a Table")
            yield from given


def combine_releases(several: Sequence[Releases]) -> Releases:
    """Combine several publishers' releases about the same areas into one.

    Parameters
    ----------
    several
        The releases; an area may be in some of them only.

    Returns
    -------
    Releases
        All tables of each area.

    Raises
    ------
    ReleaseError
        If none are given, their schemas differ, two tables have the same name, or only some of them
        name areas.
    """
    check_each(several, Releases, name="releases", remedy="read them with read_release")
    named = [releases.areas != ("",) for releases in several]
    if any(named) and not all(named):
        raise ReleaseError(
            "one release names areas and another does not",
            remedy='name the area column of both (area = "…" in the release file, or --by)',
        )
    layout = combine_layouts([releases.layout for releases in several])
    areas = sorted({area for releases in several for area in releases.areas})
    position = {area: at for at, area in enumerate(areas)}
    offsets = np.cumsum([0, *(len(releases.layout.names) for releases in several)])
    codes = [
        np.repeat([position[area] for area in releases.areas], np.diff(releases.starts))
        for releases in several
    ]
    return Releases.arrange(
        layout,
        areas,
        codes=np.concatenate(codes),
        cells=np.concatenate([r.cells + at for r, at in zip(several, offsets, strict=False)]),
        low=np.concatenate([releases.low for releases in several]),
        high=np.concatenate([releases.high for releases in several]),
        values=_values_of(several),
        laws=_laws_of(several),
    )


def _values_of(several: Sequence[Releases]) -> Whole | None:
    """The published values of noisy cells, one release after the other."""
    if all(one.values is None for one in several):
        return None
    return np.concatenate([one.low if one.values is None else one.values for one in several])


def _laws_of(several: Sequence[Releases]) -> tuple[tuple[NoiseLaw, ...], Whole]:
    """All laws, and the law of each cell of all layouts."""
    laws: list[NoiseLaw] = []
    of: list[Whole] = []
    for one in several:
        own = one.laws[1] if one.values is not None else np.full(len(one.layout.names), -1, np.int64)
        of.append(np.where(own >= 0, own + len(laws), -1))
        laws += one.laws[0]
    return tuple(laws), np.concatenate(of)


def _same(layout: Layout, other: Layout) -> bool:
    return layout is other or (layout.schema, layout.tables) == (other.schema, other.tables)


def combine_layouts(layouts: Sequence[Layout]) -> Layout:
    """The tables of several layouts over one schema, as one layout."""
    if not layouts:
        raise ReleaseError("no releases to combine", remedy="name at least one release")
    if any(layout.schema != layouts[0].schema for layout in layouts):
        raise ReleaseError(
            "releases over different schemas cannot be combined",
            remedy="use the same schema file for both",
        )
    return Layout(layouts[0].schema, tuple(t for layout in layouts for t in layout.tables))


def write_counts(
    releases: Release | Iterable[Release],
    path: str | os.PathLike[str],
    *,
    rounding: Mapping[str, Rounding] | None = None,
    noise: Mapping[str, Perturbation] | None = None,
) -> None:
    """Write releases as a tidy CSV or Parquet file that reads back to the same bounds.

    Every cell gets a row: a count, an interval, or ``unknown``. The column ``area`` is left out if
    there is a single unnamed area.

    Parameters
    ----------
    releases
        A release, or the releases of several areas.
    path
        The file to write; an existing file is replaced.
    rounding
        Table → how its counts are rounded: values are then written as multiples of the base.
    noise
        Table → the noise that its counts are published with: values are then written as published.

    Raises
    ------
    ReleaseError
        If there is nothing to write, an area among several has no name, or the extension of the
        file is unsupported.
    """
    releases = [releases] if isinstance(releases, Release) else releases
    check_type(releases, Iterable, name="releases", remedy="give a Release or Releases")
    listed = iter(releases)
    first = next(listed, None)
    with writing_tables(path, what="counts", error=ReleaseError) as write:
        if first is not None:
            methods = {**(noise or {}), **(rounding or {})}
            for batch in _batches(first, listed, _tidy(first), methods, file=str(path)):
                write(batch)


def _tidy(first: Release) -> pa.Schema:
    names = ["area", "table", "cell", "value"] if first.area else ["table", "cell", "value"]
    return pa.schema([(name, pa.string()) for name in names])


def _batches(
    first: Release,
    others: Iterator[Release],
    schema: pa.Schema,
    methods: Mapping[str, Method],
    *,
    file: str,
) -> Iterator[pa.Table]:
    pending, n_rows = [_rows(first, schema, methods)], len(first.low)
    for release in others:
        if not (first.area and release.area):
            raise ReleaseError(
                "one of several areas has no name",
                file=file,
                remedy="name every area",
            )
        if n_rows >= BATCH:
            yield pa.concat_tables(pending)
            pending, n_rows = [], 0
        pending.append(_rows(release, schema, methods))
        n_rows += len(release.low)
    yield pa.concat_tables(pending)


def _rows(release: Release, schema: pa.Schema, methods: Mapping[str, Method]) -> pa.Table:
    tables, cells = zip(*release.layout.names, strict=True) if release.layout.names else ((), ())
    exact = (release.low == release.high).tolist()
    values = [
        _written(release.cells[at], methods[table])
        if table in methods
        else (str(low) if single else release.cells[at].value())
        for at, (table, low, single) in enumerate(zip(tables, release.low.tolist(), exact, strict=True))
    ]
    columns = {"table": tables, "cell": cells, "value": values}
    if "area" in schema.names:
        columns["area"] = [release.area] * len(values)
    return pa.table({name: pa.array(columns[name], pa.string()) for name in schema.names})


def _written(cell: Published, method: Method) -> str:
    """A value of a rounded or noisy table; intervals mean themselves there too."""
    value = method.value(cell.low, cell.high)
    if value is not None:
        return str(value)
    return f"{cell.low}-{cell.high}" if cell.low == cell.high else cell.value()
