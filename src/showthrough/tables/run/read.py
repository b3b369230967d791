"""A finished run folder: its tables, totals, manifest and layout, read when they are asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute

from showthrough.errors import RunError, check_type, closest
from showthrough.export import Tabular
from showthrough.files import read_json
from showthrough.folders import MANIFEST
from showthrough.release import Layout
from showthrough.selection import Selection
from showthrough.tables.parquet import PLACES, TABLES
from showthrough.tables.run.stored import DAMAGED, read_layout, read_rows
from showthrough.tables.run.totals import SUMMARY, RunTotals, read_totals
from showthrough.text import html_summary

__all__ = [
    "AreaReader",
    "AuditRun",
    "StoredFinding",
    "iter_areas",
]

#: Rows of a table read together; the counts of an area are thousands of numbers.
_ROWS = 2**10

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
    def layout(self) -> Layout:
        """The schema and the tables that were audited."""
        return read_layout(self.folder / "release.json")

    @cached_property
    def summary(self) -> RunTotals:
        """The totals in summary.json."""
        return read_totals(self.folder / SUMMARY)

    def table(self, name: str) -> pa.Table:
        """One of its tables: claims, areas, findings, proofs, witnesses, counts or timing."""
        return pa.concat_tables([_columns_of(name).empty_table(), *self.batches(name)])

    def batches(
        self, name: str, columns: Sequence[str] | None = None, *, rows: int = 2**14
    ) -> Iterator[pa.Table]:
        """The same table some rows at a time, for runs that do not fit in memory."""
        return read_rows(self.folder / PLACES[name], _columns_of(name), columns, rows=rows)

    def to_arrow(self) -> pa.Table:
        """The findings, one row each; :meth:`table` has the other tables."""
        return self.table("findings")

    def _repr_html_(self) -> str:
        """The totals and the first findings, for notebooks."""
        first = next(self.batches("findings", ["area", "sentence"], rows=10), None)
        rows = [] if first is None else [list(row.values()) for row in first.to_pylist()]
        title = self.summary.headline(self.layout.schema)
        return html_summary(title, [["area", "what shows through"], *rows], note=f"All of it: {self.folder}")


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
    n_tables: int
    sentence: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> StoredFinding:
        """From a row of findings.parquet."""
        parsed: dict[str, Any] = {name: Selection.from_json(row[name]) for name in ("knows", "learns")}
        parsed["other_ways"] = tuple(Selection.of(way) for way in json.loads(row["other_ways"]))
        return cls(**{**row, **parsed})


class AreaReader:
    """A table of a run, read area by area; never more in memory than one area and some rows.

    The areas stand in one order in all tables, and an area's rows stand together.
    """

    def __init__(self, run: AuditRun, name: str, columns: Sequence[str] | None = None) -> None:
        chosen = list(TABLES[name].names) if columns is None else ["area", *columns]
        self._batches = run.batches(name, chosen, rows=_ROWS)
        self._none = TABLES[name].empty_table().select(chosen)
        self._held = self._none

    def next_area(self) -> str | None:
        """The area of the next rows; None at the end."""
        while not self._held.num_rows:
            found = next(self._batches, None)
            if found is None:
                return None
            self._held = found
        return str(self._held["area"][0])

    def take(self, area: str) -> pa.Table:
        """The next rows, as far as they are about this area."""
        mine = [self._none]
        while self.next_area() == area:
            other = pc.index(pc.not_equal(self._held["area"], pa.scalar(area)), pa.scalar(True)).as_py()
            stop = self._held.num_rows if other < 0 else other
            mine.append(self._held.slice(0, stop))
            self._held = self._held.slice(stop)
        return pa.concat_tables(mine)


def iter_areas(
    run: AuditRun, tables: Mapping[str, Sequence[str]], wanted: set[str]
) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """For each wanted area its rows of some tables (name → columns besides the area).

    The areas stand in one order in all tables, and an area's rows stand together.
    """
    readers = {name: AreaReader(run, name, columns) for name, columns in tables.items()}
    left = set(wanted)
    for part in run.batches("areas", ["area"]):
        for area in map(str, part["area"].to_pylist()):
            rows = {name: reader.take(area) for name, reader in readers.items()}
            if area in left:
                yield area, rows
                left.discard(area)
            if not left:
                return
