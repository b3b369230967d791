"""The folder that protecting writes: what to publish, and beside it what was done and what is lost.

``release.toml`` and ``counts.csv`` are for publication. The other files show which claims were
hidden, and so what is true: they are for the publisher alone.

For each hidden claim the folder has two datasets with all published counts that disagree on it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from showthrough.errors import ReleaseError, RunError
from showthrough.files import read_json, unreadable, write_json
from showthrough.folders import Description, PageMaker, result_folder
from showthrough.formats.drawn import write_drawn
from showthrough.formats.hand_back import HandedBack
from showthrough.formats.release_file import write_release
from showthrough.formats.write_back import write_back
from showthrough.notation import Rounding
from showthrough.release import UNBOUNDED, Layout, Release, Table
from showthrough.releases import write_counts
from showthrough.selection import Selection
from showthrough.tables.protect.areas import WORLD_NUMBERS, PlanResult, ProtectedAreas
from showthrough.tables.protect.classical import Outcome
from showthrough.tables.protect.intervals import INTERVAL_COLUMNS
from showthrough.tables.protect.moves import Round
from showthrough.tables.protect.protection import COMPARISON_COLUMNS
from showthrough.tables.protect.summary import PlanSummary
from showthrough.tables.stored import read_rows

__all__ = [
    "KIND",
    "Disagreement",
    "common_layout",
    "private_note",
    "read_comparison",
    "read_disagreements",
    "read_intervals",
    "read_notes",
    "read_plans",
    "write_protected",
]

KIND = "protected release"

PRIVATE = (
    "Publish only release.toml and counts.csv: the other files reveal which claims were hidden, "
    "and so what is true."
)

#: The folder with the tables as an office prints them, and what is said if there is one.
PRINTED = "tables"
PRIVATE_BUT_TABLES = PRIVATE.replace("release.toml and counts.csv", "tables/, release.toml and counts.csv")

#: The file with what follows about cells without a count.
INTERVALS = "intervals.parquet"

WORLD_COLUMNS = pa.schema([("world", pa.int64()), ("area", pa.string()), ("records", pa.string())])

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute

#: A record's values with how often it occurs.
Counted = dict[tuple[tuple[str, str], ...], int]


def write_protected(
    path: str | Path,
    found: ProtectedAreas,
    what: Description,
    *,
    notes: Sequence[str] = (),
    earlier: Collection[str] = (),
    handed: Sequence[HandedBack] = (),
    formats: Sequence[str] | None = None,
    overwrite: bool = False,
    page: PageMaker | None = None,
) -> list[str]:
    """Write the safe releases of all areas into a folder, all of it or nothing.

    ``notes`` are for the publisher; tables that are out ``earlier`` are not written again; tables that are
    ``handed`` back are drawn, and written in some ``formats``, or in those in which they came if none is
    named (not at all with None); ``page`` makes the folder's page. What could not be written as asked is
    returned.
    """
    every = [release for result in found.results for release in result.releases]
    releases = common_layout([_without(release, earlier) for release in every] if earlier else every)
    rounding = _rounded_everywhere(found.plans)
    with result_folder(path, what, overwrite=overwrite, page=page) as draft:
        folder = draft.path
        write_release(releases[0].layout, folder / "release.toml", counts="counts.csv", rounding=rounding)
        ordered = sorted(releases, key=lambda release: release.area)
        write_counts(ordered, folder / "counts.csv", rounding=rounding)
        said = [] if formats is None else write_back(handed, folder / PRINTED, formats)
        write_drawn(handed, folder)
        moves = {
            "note": private_note(folder),
            "plans": [plan.to_plain() for plan in found.plans],
            "classical": [asdict(rule) for rule in found.rules],
            "notes": [*notes, *said],
        }
        write_json(folder / "moves.json", moves)
        pq.write_table(_comparison(found.results), folder / "comparison.parquet", compression="zstd")
        pq.write_table(_worlds(found.results), folder / "worlds.parquet", compression="zstd")
        pq.write_table(found.intervals, folder / INTERVALS, compression="zstd")
    return said


def _without(release: Release, tables: Collection[str]) -> Release:
    """A release without some tables."""
    keep = np.array([table not in tables for table, _ in release.layout.names], bool)
    kept = tuple(table for table in release.tables if table.name not in tables)
    if not kept:
        raise ReleaseError(
            "no new table is left to publish: all of them would have to be dropped",
            found=release.area or None,
            remedy="plan other tables, or allow more moves: --moves suppress,round:5,merge,drop",
        )
    return Release(Layout(release.schema, kept), release.low[keep], release.high[keep], release.area)


def private_note(folder: Path) -> str:
    """What may be published of a folder."""
    return PRIVATE_BUT_TABLES if (folder / PRINTED).is_dir() else PRIVATE


def read_plans(folder: Path) -> tuple[list[PlanSummary], list[Outcome]]:
    """The plans of a folder, and the classical rules that they were compared with."""
    moves = read_json(folder / "moves.json", error=RunError)
    plans = [PlanSummary.from_plain(plan) for plan in moves["plans"]]
    return plans, [Outcome(**rule) for rule in moves.get("classical") or ()]


def read_notes(folder: Path) -> list[str]:
    """The notes of a folder for its publisher, as sentences."""
    notes = read_json(folder / "moves.json", error=RunError).get("notes") or ()
    return [f"{note[:1].upper()}{note[1:]}." for note in notes if isinstance(note, str)]


def read_comparison(folder: Path) -> pa.Table:
    """The claims of a folder before and after."""
    parts = read_rows(folder / "comparison.parquet", COMPARISON_COLUMNS)
    return pa.concat_tables([COMPARISON_COLUMNS.empty_table(), *parts])


def read_intervals(folder: Path) -> pa.Table:
    """What follows about the cells of a folder without a count; folders of earlier versions say nothing."""
    if not (folder / INTERVALS).is_file():
        return INTERVAL_COLUMNS.empty_table()
    return pa.concat_tables(
        [
            INTERVAL_COLUMNS.empty_table(),
            *read_rows(folder / INTERVALS, INTERVAL_COLUMNS, gaps=("count", "high")),
        ]
    )


def common_layout(releases: Sequence[Release]) -> list[Release]:
    """The same releases over one layout; tables an area does not publish have no values there.

    Where areas publish a table in different forms, each form is a table of its own.
    """
    forms: dict[str, dict[Table, None]] = {}
    for release in releases:
        for table in release.tables:
            forms.setdefault(table.name, {}).setdefault(table)
    if all(release.layout.tables == releases[0].layout.tables for release in releases):
        return list(releases)
    names, tables = set(forms), list[Table]()
    renamed: dict[Table, str] = {}
    for name, several in forms.items():
        for at, table in enumerate(several):
            shown = name
            while at and shown in names:
                shown = f"{name} ({at + 1})" if shown == name else f"{shown}'"
            names.add(shown)
            renamed[table] = shown
            tables.append(Table(shown, table.cells, table.publisher, table.label))
    layout = Layout(releases[0].schema, tuple(tables))
    return [_placed(release, layout, renamed) for release in releases]


def _placed(release: Release, layout: Layout, renamed: Mapping[Table, str]) -> Release:
    low = np.zeros(len(layout.names), np.int64)
    high = np.full(len(layout.names), UNBOUNDED, np.int64)
    position = {pair: at for at, pair in enumerate(layout.names)}
    own = [(renamed[table], cell.name) for table in release.tables for cell in table.cells]
    places = [position[pair] for pair in own]
    low[places], high[places] = release.low, release.high
    return Release(layout, low, high, release.area)


def _rounded_everywhere(plans: Sequence[PlanSummary]) -> dict[str, Rounding]:
    """Tables rounded to the same base in all areas; elsewhere rounded counts are shown as intervals."""
    found = [
        {step.move.table: step.move.rounding for step in plan.steps if isinstance(step.move, Round)}
        for plan in plans
    ]
    return {
        table: rounding
        for table, rounding in found[0].items()
        if all(other.get(table) == rounding for other in found)
    }


def _comparison(results: Sequence[PlanResult]) -> pa.Table:
    """All comparisons; worlds are numbered through."""
    start, tables = 0, list[pa.Table]()
    for result in results:
        table = result.comparison
        for name in WORLD_NUMBERS:
            moved = [None if n is None else n + start for n in table[name].to_pylist()]
            at = table.column_names.index(name)
            table = table.set_column(at, name, pa.array(moved, pa.int64()))
        tables.append(table)
        start += len(result.worlds)
    numbers = [pa.field(name, pa.int64()) for name in WORLD_NUMBERS]
    return pa.concat_tables(tables).cast(pa.schema([*COMPARISON_COLUMNS, *numbers]))


def _worlds(results: Sequence[PlanResult]) -> pa.Table:
    listed = [world for result in results for world in result.worlds]
    rows = [{"world": at, "area": area, "records": text} for at, (area, text) in enumerate(listed)]
    return pa.Table.from_pylist(rows, WORLD_COLUMNS)


@dataclass(frozen=True)
class Disagreement:
    """A claim that followed before, and two datasets that disagree on it and agree with what is published.

    Parameters
    ----------
    area, sentence, k
        The claim, and the number of its columns.
    before
        How many records it was proved to be.
    counts
        How many they are in the two datasets.
    names, rows
        The attributes, and the records whose numbers differ between the two, those of the claim first: their
        values, and how often they occur in each.
    n_left_out
        How many such records are not listed.
    """

    area: str
    sentence: str
    k: int
    before: int
    counts: tuple[int, int]
    names: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], int, int], ...]
    n_left_out: int = 0


def read_disagreements(folder: Path, *, most: int, most_rows: int = 12) -> tuple[list[Disagreement], int]:
    """The forbidden claims of a folder that can no longer be proved, those of most columns first.

    Also returns how many there are.
    """
    held = _compared(folder / "comparison.parquet")
    followed, follow = pc.field("before") == "verified", pc.field("after") == "verified"
    gone = held.filter(pc.field("forbidden") & followed & ~follow)
    hidden = gone.take(pc.sort_indices(gone, sort_keys=[("k", "descending")]))
    shown = hidden.filter(pc.field(WORLD_NUMBERS[0]).is_valid()).slice(0, most).to_pylist()
    wanted = {row[name] for row in shown for name in WORLD_NUMBERS}
    worlds = dict(_read_worlds(folder, wanted))
    missing = sorted(wanted - worlds.keys())
    if missing:
        raise RunError("a dataset is missing", file=str(folder / "worlds.parquet"), found=str(missing[0]))
    first, second = ([worlds[row[name]] for row in shown] for name in WORLD_NUMBERS)
    found = [_disagreement(*three, most_rows) for three in zip(shown, first, second, strict=True)]
    return found, gone.num_rows


def _compared(path: Path) -> pa.Table:
    """All claims before and after, with the numbers of two datasets for those that are hidden."""
    held = pa.concat_tables([COMPARISON_COLUMNS.empty_table(), *read_rows(path, COMPARISON_COLUMNS)])
    try:
        numbers = pq.read_table(path, columns=list(WORLD_NUMBERS))
        for name in WORLD_NUMBERS:
            held = held.append_column(name, numbers[name].cast(pa.int64()))
    except (OSError, KeyError, pa.ArrowException) as problem:
        raise unreadable(str(path), problem, error=RunError) from None
    return held


def _read_worlds(folder: Path, wanted: set[int]) -> Iterator[tuple[int, Counted]]:
    for part in read_rows(folder / "worlds.parquet", WORLD_COLUMNS):
        for row in part.to_pylist():
            if row["world"] in wanted:
                try:
                    pairs = json.loads(row["records"])
                    counted = {tuple(record.items()): int(times) for record, times in pairs}
                except (ValueError, TypeError, AttributeError) as error:
                    file = str(folder / "worlds.parquet")
                    raise RunError("a dataset cannot be read", file=file, found=str(error)) from None
                yield row["world"], counted


def _disagreement(row: dict[str, Any], first: Counted, second: Counted, most_rows: int) -> Disagreement:
    selection = Selection.from_json(row["selection"])
    both = list(dict.fromkeys([*first, *second]))
    matching = {record for record in both if selection.matches(dict(record))}
    counts = [sum(one.get(record, 0) for record in matching) for one in (first, second)]
    differ = [record for record in both if first.get(record, 0) != second.get(record, 0)]
    differ.sort(key=lambda record: record not in matching)
    names = tuple(name for name, _ in both[0]) if both else ()
    return Disagreement(
        row["area"],
        row["sentence"],
        row["k"],
        row["multiplicity"],
        (counts[0], counts[1]),
        names,
        tuple(_row(record, first, second) for record in differ[:most_rows]),
        max(0, len(differ) - most_rows),
    )


def _row(
    record: Sequence[tuple[str, str]], first: Counted, second: Counted
) -> tuple[tuple[str, ...], int, int]:
    key = tuple(record)
    return tuple(value for _, value in record), first.get(key, 0), second.get(key, 0)
