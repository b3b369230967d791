"""A finished run folder: its tables, totals, manifest and layout, read when they are asked for."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache, partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.errors import RunError, check_type, closest
from showthrough.export import Tabular
from showthrough.files import read_json
from showthrough.folders import MANIFEST
from showthrough.release import Layout
from showthrough.selection import Selection
from showthrough.tables.run.exact_counts import differ, may_differ
from showthrough.tables.run.files import RunFiles
from showthrough.tables.run.row_groups import GroupsAt, groups_near
from showthrough.tables.run.totals import RunTotals, add_up
from showthrough.tables.stored import (
    DAMAGED,
    TABLES,
    VARIABILITY,
    WHOLES,
    read_layout,
    read_rows,
)
from showthrough.text import html_summary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame as SparkFrame
    from pyspark.sql import SparkSession

__all__ = [
    "NOTES",
    "SUMMARY",
    "AreaReader",
    "AuditRun",
    "PartOfRun",
    "StoredFinding",
    "iter_areas",
]

SUMMARY = "summary.json"

#: The file of a run that says which of its tables were out before.
AFTER = "after.json"

#: The file that says how the input was read, and what was taken for granted in doing so.
NOTES = "notes.json"

#: Rows of a table read together; the counts of an area are thousands of numbers.
_ROWS = 2**10

#: So many times as many where few areas are wanted, and most rows are left out at once.
_MORE = 8

#: Selections of findings that are remembered: many areas have the same ones.
_REMEMBERED = 2**13

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute


@dataclass(frozen=True)
class AuditRun(Tabular):
    """A finished run folder.

    Parameters
    ----------
    folder
        The folder that :func:`run_audit` or the command ``audit`` wrote. :meth:`open` also checks
        that it holds a finished run.
    """

    folder: Path

    def __post_init__(self) -> None:
        check_type(self.folder, (str, PathLike), name="folder", remedy="give the path of a run folder")
        object.__setattr__(self, "folder", Path(self.folder))

    def __reduce__(self) -> tuple[Any, ...]:
        # On another machine its files are read there, whatever folder is current.
        rest = (getattr(self, entry.name) for entry in fields(self)[1:])
        return type(self), (self.folder.absolute(), *rest)

    @classmethod
    def open(cls, folder: str | Path) -> AuditRun:
        """The finished run in a folder; a :class:`RunError` if there is none."""
        run = cls(folder)  # pyright: ignore[reportArgumentType]  (made a path there)
        _ = run.manifest, run.layout  # both are checked when they are read
        return run

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What run.json says: parameters, inputs, versions, and the files with their hashes."""
        path = self.folder / MANIFEST
        if not path.is_file():
            raise RunError(
                "not a finished run: there is no run.json",
                file=str(self.folder),
                remedy="give the folder that was written with --out; "
                "the same command resumes an interrupted run",
            )
        found = read_json(path, error=RunError, remedy=DAMAGED)
        if "kind" in found:
            raise RunError(
                "not the folder of an audit",
                file=str(self.folder),
                found=str(found["kind"]),
                remedy="give a folder that audit wrote",
            )
        for name in ("parameters", "inputs", "versions", "outputs"):
            part = found.get(name)
            if not isinstance(part, dict) or not (name == "parameters" or _are_texts(part.values())):
                raise RunError("an entry is missing", file=str(path), column=name, remedy=DAMAGED)
        return found

    @cached_property
    def files(self) -> RunFiles:
        """Where its tables are: one file each, or several."""
        return RunFiles(self.folder)

    @property
    def parts(self) -> tuple[AuditRun, ...]:
        """The run part by part, each about some of its areas; the run itself if tables are one file each."""
        return tuple(PartOfRun(self.folder, at) for at in range(self.files.n_parts)) or (self,)

    @cached_property
    def layout(self) -> Layout:
        """The schema and the tables that were audited."""
        return read_layout(self.folder / "release.json")

    @cached_property
    def summary(self) -> RunTotals:
        """The totals in summary.json."""
        path = self.folder / SUMMARY
        return RunTotals.from_plain(read_json(path, error=RunError, remedy=DAMAGED), file=str(path))

    @property
    def without_findings(self) -> bool:
        """Whether claims were not combined into findings, because that was not requested."""
        return self.manifest["parameters"].get("findings") is False

    @property
    def noise(self) -> str:
        """The laws of the counts' noise, of which only the bounds are kept; empty if there are none."""
        return str(self.manifest["parameters"].get("noise", ""))

    @property
    def all_areas(self) -> AuditRun:
        """The run with all its areas: this one, unless it is one area of another."""
        return self

    @property
    def came_after(self) -> bool:
        """Whether some of its tables were published before, so that it lists which findings are new."""
        return (self.folder / AFTER).is_file()

    @property
    def is_nested(self) -> bool:
        """Whether the areas are parts of larger ones, whose tables were audited with theirs."""
        return bool(self.files.places(WHOLES))

    @property
    def has_variability(self) -> bool:
        """Whether it records in how many records two datasets can differ."""
        return bool(self.files.places(VARIABILITY))

    @cached_property
    def has_intervals(self) -> bool:
        """Whether some cell of some area has no published count, or an interval."""
        if not any(map(may_differ, self.files.paths("counts"))):
            return False
        return any(map(differ, self.batches("counts", ["low", "high"])))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """How the input was read, and what was taken for granted in doing so."""
        path = self.folder / NOTES
        if not path.exists():
            return ()
        found = read_json(path, error=RunError, remedy=DAMAGED).get("notes")
        if not isinstance(found, list) or not _are_texts(found):
            raise RunError("the notes are not a list of texts", file=str(path), remedy=DAMAGED)
        return tuple(found)

    def table(self, name: str) -> pa.Table:
        """One of its tables, such as claims, areas, findings, proofs, counts or wholes."""
        return pa.concat_tables([_columns_of(name).empty_table(), *self.batches(name)])

    def batches(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        *,
        rows: int = 2**14,
        near: Sequence[str] | None = None,
    ) -> Iterator[pa.Table]:
        """The same table some rows at a time, for runs that do not fit in memory.

        ``near`` names areas, in order: rows far from theirs may be left out, which saves reading them.
        """
        columns_there = _columns_of(name)
        groups = None if near is None else partial(groups_near, near)
        found = (
            read_rows(path, columns_there, columns, rows=rows, groups=groups)
            for path in self.files.paths(name)
        )
        return chain.from_iterable(found)

    def rows_at(self, name: str, places: NDArray[np.int64]) -> pa.Table:
        """The rows of a table at these places, in order; row groups without any are not read."""
        found, first = [_columns_of(name).empty_table()], 0
        for path in self.files.paths(name):
            groups = GroupsAt(places, first)
            found += map(groups.taken, read_rows(path, TABLES[name], groups=groups))
            first = groups.end
        return pa.concat_tables(found)

    def to_arrow(self) -> pa.Table:
        """The findings, one row each; :meth:`table` has the other tables."""
        return self.table("findings")

    def to_spark(self, session: SparkSession, name: str = "findings") -> SparkFrame:
        """One of its tables as a DataFrame of a Spark session, whose tasks read the files of the run."""
        from showthrough.engine.spark_frames import files_to_spark

        columns = _columns_of(name)
        return files_to_spark(self.files.paths(name), columns, session)

    def _repr_html_(self) -> str:
        """The totals and the first findings, for notebooks."""
        first = next(self.batches("findings", ["area", "sentence"], rows=10), None)
        rows = [] if first is None else [list(row.values()) for row in first.to_pylist()]
        title = self.summary.headline(self.layout.schema)
        return html_summary(title, [["area", "what shows through"], *rows], note=f"All of it: {self.folder}")


@dataclass(frozen=True)
class PartOfRun(AuditRun):
    """One part of a run whose tables are several files each: some of its areas, with all their rows.

    Parameters
    ----------
    folder
        The folder of the run.
    part
        The number of the part.
    """

    part: int = 0

    @cached_property
    def files(self) -> RunFiles:
        """The files of this part."""
        return RunFiles(self.folder, self.part)

    @property
    def parts(self) -> tuple[AuditRun, ...]:
        """This part alone."""
        return (self,)

    @property
    def all_areas(self) -> AuditRun:
        """The run with all its areas."""
        return AuditRun(self.folder)

    @cached_property
    def summary(self) -> RunTotals:
        """What the tables of this part add up to."""
        return add_up(self, without_findings=self.without_findings)


def _columns_of(name: str) -> pa.Schema:
    check_type(name, str, name="name", remedy="give the name of a table, such as claims")
    if name not in TABLES:
        raise RunError("a run has no such table", found=name, remedy=closest(name, TABLES))
    return TABLES[name]


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


@dataclass(frozen=True)
class StoredFinding:
    """A finding as a run keeps it, with its area and its sentence."""

    area: str
    kind: str
    multiplicity: int
    k: int
    knows: Selection
    learns: Selection
    other_ways: tuple[Selection, ...]
    n_claims: int
    n_tables_added: int
    n_tables: int | None
    sentence: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> StoredFinding:
        """From a row of findings.parquet."""
        parsed: dict[str, Any] = {name: _selection(row[name]) for name in ("knows", "learns")}
        parsed["other_ways"] = _selections(row["other_ways"])
        return cls(**{**row, **parsed})


@lru_cache(_REMEMBERED)
def _selection(text: str) -> Selection:
    return Selection.from_json(text)


@lru_cache(_REMEMBERED)
def _selections(text: str) -> tuple[Selection, ...]:
    return tuple(Selection.of(one) for one in json.loads(text))


class AreaReader:
    """A table of a run, read area by area; never more in memory than one area and some rows.

    The areas stand in one order in all tables, and an area's rows stand together. Of other areas than
    ``only`` nothing is kept.
    """

    def __init__(
        self, run: AuditRun, name: str, columns: Sequence[str] | None = None, *, only: pa.Array | None = None
    ) -> None:
        chosen = list(TABLES[name].names) if columns is None else ["area", *columns]
        near = None if only is None else list(map(str, only.to_pylist()))
        rows = _ROWS if only is None else _ROWS * _MORE
        found = (_only(part, only) for part in run.batches(name, chosen, rows=rows, near=near))
        self._start(found, TABLES[name].empty_table().select(chosen))

    @classmethod
    def over(cls, table: pa.Table) -> AreaReader:
        """A reader of rows that are in memory."""
        reader = cls.__new__(cls)
        reader._start(iter([table]), table.slice(0, 0))
        return reader

    def _start(self, batches: Iterator[pa.Table], none: pa.Table) -> None:
        #: No rows.
        self.none = none
        self._batches = batches
        self._hold(none)

    def _hold(self, rows: pa.Table) -> None:
        """Take rows that were read, and see where each area's end."""
        runs = pc.run_end_encode(rows["area"].combine_chunks())
        self._rows, self._at, self._first = rows, 0, 0
        self._names: list[str] = list(map(str, runs.values.to_pylist()))
        self._ends: list[int] = runs.run_ends.to_pylist()

    @property
    def held(self) -> pa.Table:
        """The rows that were read and not taken yet."""
        return self._rows.slice(self._first)

    def next_area(self) -> str | None:
        """The area of the next rows; None at the end."""
        while self._at == len(self._names):
            found = next(self._batches, None)
            if found is None:
                return None
            self._hold(found)
        return self._names[self._at]

    def take(self, area: str) -> pa.Table:
        """The next rows, as far as they are about this area."""
        return self.take_all((area,))

    def take_all(self, areas: Collection[str]) -> pa.Table:
        """The next rows, as far as they are about some of these areas."""
        mine = list[pa.Table]()
        while self.next_area() in areas:
            end = self._at
            while end < len(self._names) and self._names[end] in areas:
                end += 1
            mine.append(self._taken(end))
        return self._together(mine)

    def take_next(self, n: int) -> pa.Table:
        """The rows of the next areas, this many or all that are left."""
        mine, area = list[pa.Table](), None
        while n > 0 and (area := self.next_area()) is not None:
            end = min(self._at + n, len(self._names))
            n -= end - self._at
            area = self._names[end - 1]
            mine.append(self._taken(end))
            if self.next_area() == area:  # it goes on in the rows that are read next
                mine.append(self.take(area))
        return self._together(mine)

    def _taken(self, end: int) -> pa.Table:
        """The held rows of the areas up to a place."""
        first, stop = self._first, self._ends[end - 1]
        self._at, self._first = end, stop
        return self._rows.slice(first, stop - first)

    def _together(self, tables: list[pa.Table]) -> pa.Table:
        return tables[0] if len(tables) == 1 else pa.concat_tables([self.none, *tables])


def iter_areas(
    run: AuditRun, tables: Mapping[str, Sequence[str]], wanted: set[str]
) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """For each wanted area its rows of some tables (name → columns besides the area).

    The areas stand in one order in all tables, and an area's rows stand together.
    """
    names = pa.array(sorted(wanted), pa.string())
    readers = {name: AreaReader(run, name, columns, only=names) for name, columns in tables.items()}
    n_left = len(wanted)
    for part in run.batches("areas", ["area"]):
        for area in map(str, _only(part, names)["area"].to_pylist()):
            yield area, {name: reader.take(area) for name, reader in readers.items()}
            n_left -= 1
        if n_left <= 0:
            return


def _only(part: pa.Table, areas: pa.Array | None) -> pa.Table:
    """The rows about these areas."""
    return part if areas is None else part.filter(pc.is_in(part["area"], value_set=areas))
