"""A finished run folder: its tables, totals, manifest and layout, read when they are asked for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
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
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.stored import DAMAGED, PLACES, TABLES, WHOLES, WHOLES_FILE, read_layout, read_rows
from showthrough.text import html_summary, several

__all__ = [
    "NOTES",
    "SUMMARY",
    "AreaReader",
    "AuditRun",
    "RunTotals",
    "StoredFinding",
    "add_up",
    "iter_areas",
]

SUMMARY = "summary.json"

#: The file of a run that says which of its tables were out before.
AFTER = "after.json"

#: The file that says how the input was read, and what was taken for granted in doing so.
NOTES = "notes.json"

#: The columns of areas.parquet that are added up as they are.
_SUMS = (
    "records",
    "verified",
    "refuted",
    "undecided",
    "impossible",
    "direct",
    "findings",
    "singletons",
)

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
        path = self.folder / SUMMARY
        return RunTotals.from_plain(read_json(path, error=RunError, remedy=DAMAGED), file=str(path))

    @property
    def without_findings(self) -> bool:
        """Whether claims were not put together to findings, because nobody asked for them."""
        return self.manifest["parameters"].get("findings") is False

    @property
    def came_after(self) -> bool:
        """Whether some of its tables were out before, so that it says which findings are new."""
        return (self.folder / AFTER).is_file()

    @property
    def is_nested(self) -> bool:
        """Whether the areas are parts of larger ones, whose tables were audited with theirs."""
        return (self.folder / WHOLES_FILE).is_file()

    @cached_property
    def has_intervals(self) -> bool:
        """Whether some cell of some area has no published count, or an interval."""
        return any(_differ(part) for part in self.batches("counts", ["low", "high"]))

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
        """One of its tables: claims, areas, findings, proofs, witnesses, counts, wholes or timing."""
        return pa.concat_tables([_columns_of(name).empty_table(), *self.batches(name)])

    def batches(
        self, name: str, columns: Sequence[str] | None = None, *, rows: int = 2**14
    ) -> Iterator[pa.Table]:
        """The same table some rows at a time, for runs that do not fit in memory."""
        columns_there = _columns_of(name)
        if name == WHOLES and not self.is_nested:
            return iter(())
        place = WHOLES_FILE if name == WHOLES else PLACES[name]
        return read_rows(self.folder / place, columns_there, columns, rows=rows)

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


def _differ(part: pa.Table) -> bool:
    low, high = (pc.list_flatten(part[name].combine_chunks()) for name in ("low", "high"))
    return bool(pc.any(pc.not_equal(low, high)).as_py())


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


@dataclass(frozen=True)
class RunTotals:
    """What the tables of a run add up to.

    ``direct`` claims are stated by one cell, given only the rules; the ``hidden`` ones are verified
    claims that are not. ``areas_unique`` counts the areas that exactly one dataset agrees with.
    ``without_findings`` says that findings were not asked for, so that 0 of them means nothing.
    """

    areas: int = 0
    areas_failed: int = 0
    areas_with_findings: int = 0
    areas_unique: int = 0
    records: int = 0
    verified: int = 0
    refuted: int = 0
    undecided: int = 0
    impossible: int = 0
    direct: int = 0
    findings: int = 0
    singletons: int = 0
    verified_by_evidence: Mapping[str, int] = field(default_factory=dict[str, int])
    hidden_by_columns: Mapping[str, int] = field(default_factory=dict[str, int])
    hidden_singletons_by_columns: Mapping[str, int] = field(default_factory=dict[str, int])
    findings_by_kind: Mapping[str, int] = field(default_factory=dict[str, int])
    without_findings: bool = False

    @property
    def hidden(self) -> int:
        """Verified claims that no cell states."""
        return sum(self.hidden_by_columns.values())

    def headline(self, schema: Schema) -> str:
        """The result of the run in one sentence.

        >>> schema = Schema.of({"sex": ["f", "m"]}, record="child")
        >>> print(RunTotals(areas=12, areas_with_findings=5, findings=9, singletons=7).headline(schema))
        5 of 12 areas give away something about single records: 9 findings, 7 of them about exactly one child.
        """
        if self.without_findings:
            return self._claims_alone()
        if not self.findings:
            where = "" if self.areas == 1 else f" in any of {self.areas:,} areas"
            verb = "is" if self.undecided == 1 else "are"
            but = f", but {several(self.undecided, 'claim')} {verb} undecided" if self.undecided else ""
            return f"Nothing shows through{where} beyond what the cells state{but}."
        who = "These tables give"
        if self.areas > 1:
            verb = "gives" if self.areas_with_findings == 1 else "give"
            who = f"{self.areas_with_findings:,} of {self.areas:,} areas {verb}"
        single = f"about exactly one {schema.record}"
        if self.findings == 1:
            single = single if self.singletons else f"not {single}"
        else:
            single = f"{f'{self.singletons:,}' if self.singletons else 'none'} of them {single}"
        return f"{who} away something about single records: {several(self.findings, 'finding')}, {single}."

    def _claims_alone(self) -> str:
        """What is proved, where claims were not put together to findings."""
        where = "" if self.areas == 1 else f" in {self.areas:,} areas"
        stated = f"{several(self.hidden, 'claim')} that no cell states {'is' if self.hidden == 1 else 'are'}"
        verb = "is" if self.undecided == 1 else "are"
        but = f", and {several(self.undecided, 'claim')} {verb} undecided" if self.undecided else ""
        return f"Findings were not asked for; {stated} proved{where}{but}."

    def to_plain(self) -> dict[str, Any]:
        """As summary.json has it."""
        plain = asdict(self)
        if not self.without_findings:
            del plain["without_findings"]  # as summaries have always been
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, object], *, file: str | None = None) -> RunTotals:
        """The inverse of :meth:`to_plain`; entries it does not know are left out."""
        numbers = [entry for entry in fields(cls) if entry.name != "without_findings"]
        without = plain.get("without_findings", False)
        if not isinstance(without, bool):
            raise RunError("an entry is invalid", file=file, column="without_findings", remedy=DAMAGED)
        for entry in numbers:
            value = plain.get(entry.name)
            counts = isinstance(value, dict) and all(map(_is_count, value.values()))
            if not (_is_count(value) if entry.type == "int" else counts):
                problem = "a number is missing" if entry.type == "int" else "numbers are missing"
                raise RunError(problem, file=file, column=entry.name, remedy=DAMAGED)
        known: dict[str, Any] = {entry.name: plain[entry.name] for entry in numbers}
        return cls(**known, without_findings=without)


def add_up(run: AuditRun, *, without_findings: bool = False) -> RunTotals:
    """What the tables of a run add up to, without holding them in memory."""
    evidence, hidden, singletons, kinds = (Counter[Any]() for _ in range(4))
    columns = ["verdict", "evidence", "direct", "k", "multiplicity"]
    for batch in run.batches("claims", columns):
        verified = batch.filter(pc.field("verdict") == "verified")
        unstated = verified.filter(~pc.field("direct"))
        _count(evidence, verified["evidence"])
        _count(hidden, unstated["k"])
        _count(singletons, unstated.filter(pc.field("multiplicity") == 1)["k"])
    for batch in run.batches("findings", ["kind"]):
        _count(kinds, batch["kind"])
    return RunTotals(
        **_area_totals(run),
        verified_by_evidence=_sorted(evidence),
        hidden_by_columns=_sorted(hidden),
        hidden_singletons_by_columns=_sorted(singletons),
        findings_by_kind=_sorted(kinds),
        without_findings=without_findings,
    )


def _area_totals(run: AuditRun) -> dict[str, int]:
    total = Counter[str](
        dict.fromkeys(("areas", "areas_failed", "areas_with_findings", "areas_unique", *_SUMS), 0)
    )
    for batch in run.batches("areas", ["status", "unique", *_SUMS]):
        decided = pc.field("status").isin(("decided", "partly decided"))
        total["areas"] += batch.num_rows
        total["areas_failed"] += batch.filter(~decided).num_rows
        total["areas_with_findings"] += batch.filter(pc.field("findings") > 0).num_rows
        total["areas_unique"] += int(pc.sum(batch["unique"]).as_py() or 0)
        for name in _SUMS:
            total[name] += int(pc.sum(batch[name]).as_py() or 0)
    return dict(total)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _count(into: Counter[Any], column: pa.ChunkedArray) -> None:
    counted: Any = pc.value_counts(column)
    for entry in counted.to_pylist():
        into[entry["values"]] += entry["counts"]


def _sorted(counted: Counter[Any]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(counted.items())}
