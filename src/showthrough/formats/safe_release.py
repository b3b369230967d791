"""A folder with safe releases: what is published, and beside it what was done and what is lost.

``release.toml`` and ``counts.csv`` are for publication. The other files say which claims were
hidden, and so what is true: they are for the publisher alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.files import write_json
from showthrough.folders import Description, Page, result_folder
from showthrough.formats.release_file import write_release
from showthrough.notation import Rounding
from showthrough.release import UNBOUNDED, Layout, Release, Table
from showthrough.releases import write_counts
from showthrough.tables.protect.moves import Move
from showthrough.tables.protect.protection import COMPARISON_COLUMNS, Protection, SafeArea

__all__ = [
    "KIND",
    "PRIVATE",
    "Brief",
    "brief",
    "common_layout",
    "headline",
    "write_protected",
]

KIND = "protected release"

PRIVATE = (
    "Publish release.toml and counts.csv only: the other files tell which claims were hidden, "
    "and with that what is true."
)

WORLD_COLUMNS = pa.schema([("world", pa.int64()), ("area", pa.string()), ("records", pa.string())])


@dataclass(frozen=True, eq=False)
class Brief:
    """A protection without its audits: what is written of it.

    ``comparison`` has for every forbidden claim that is hidden now the numbers (from 0) of two of
    the ``worlds`` that disagree on it.
    """

    content: dict[str, Any]
    releases: tuple[Release, ...]
    comparison: pa.Table
    worlds: tuple[tuple[str, str], ...]

    @property
    def status(self) -> str:
        """Whether it is safe, impossible or undecided."""
        return self.content["status"]


def brief(found: Protection) -> Brief:
    """What is written of a protection."""
    worlds: dict[tuple[str, str], int] = {}
    tables = [_compared(area, worlds) for area in found.areas]
    content = {
        "areas": [area.area for area in found.areas],
        "status": found.status,
        "cost": number(found.cost),
        "lower_bound": number(found.lower_bound),
        "optimal": found.optimal,
        "plans_audited": found.rounds,
        "moves": [
            {**move_content(step.move), "cost": number(step.cost), "reasons": list(step.reasons)}
            for step in found.steps
        ],
        "remains": list(found.remains),
        "claims": [_counted(area, table) for area, table in zip(found.areas, tables, strict=True)],
    }
    releases = tuple(area.release for area in found.areas)
    return Brief(content, releases, pa.concat_tables(tables), tuple(worlds))


def headline(plans: Sequence[Mapping[str, Any]]) -> str:
    """What a safe release hides and what that costs, in a sentence; ``plans`` as in moves.json."""
    claims = [row for plan in plans for row in plan["claims"]]
    hidden = sum(row["forbidden_before"] for row in claims)
    others = sum(row["steps_and_intervals_before"] for row in claims)
    if not hidden and not others:
        return "Safe as planned: nothing forbidden follows, and nothing was changed."
    parts = [f"{hidden:,} forbidden {'claim' if hidden == 1 else 'claims'}"] if hidden else []
    parts += [f"{others:,} forbidden steps and intervals"] if others else []
    verb = "follows" if hidden + others == 1 else "follow"
    cost, lower = (sum(plan[name] for plan in plans) for name in ("cost", "lower_bound"))
    sure = "no safe plan costs less" if cost == lower else f"no safe plan costs less than {lower:g}"
    return f"Safe: {' and '.join(parts)} no longer {verb}, at a cost of {cost:g}; {sure}."


def number(cost: Fraction) -> int | float:
    """A cost as JSON has it."""
    return int(cost) if cost.denominator == 1 else float(cost)


def move_content(move: Move) -> dict[str, Any]:
    """A move with its kind.

    >>> from showthrough.tables.protect.moves import Suppress
    >>> move_content(Suppress("sex", "sex=f"))
    {'move': 'suppress', 'table': 'sex', 'cell': 'sex=f'}
    """
    return {"move": type(move).__name__.lower(), **asdict(move)}


def _counted(area: SafeArea, table: pa.Table) -> dict[str, Any]:
    forbidden = np.asarray(table["forbidden"].to_pylist(), bool)
    before = np.asarray([text == "verified" for text in table["before"].to_pylist()], bool)
    after = np.asarray([text == "verified" for text in table["after"].to_pylist()], bool)
    return {
        "area": area.area,
        "followed_before": int(before.sum()),
        "follow_after": int((before & after).sum()),
        "forbidden_before": int((before & forbidden).sum()),
        "forbidden_after": int((after & forbidden).sum()),
        "steps_and_intervals_before": area.found.n_forbidden - int((before & forbidden).sum()),
        "allowed_but_lost": int((before & ~after & ~forbidden).sum()),
    }


def _compared(area: SafeArea, worlds: dict[tuple[str, str], int]) -> pa.Table:
    """The comparison of an area, with two datasets for each claim that was hidden."""
    pairs: dict[str, tuple[int, int]] = {}
    for selection, _ in area.hidden():
        made = [(area.area, world.to_json()) for world in area.disagreement(selection)]
        first, second = (worlds.setdefault(one, len(worlds)) for one in made)
        pairs[selection.to_json()] = first, second
    named = [str(text) for text in area.comparison["selection"].to_pylist()]
    table = area.comparison
    for at, name in enumerate(("first_world", "second_world")):
        numbers = [pairs[text][at] if text in pairs else None for text in named]
        table = table.append_column(name, pa.array(numbers, pa.int64()))
    return table


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


def write_protected(
    path: str | Path,
    briefs: Sequence[Brief],
    what: Description,
    *,
    rules: Iterable[Mapping[str, Any]] = (),
    overwrite: bool = False,
    page: Page | None = None,
) -> None:
    """Write safe releases of all areas into a folder, all of it or nothing.

    ``rules`` is what classical rules would have cost and given away; ``page`` makes the folder's page.
    """
    releases = common_layout([release for one in briefs for release in one.releases])
    rounding = _rounded_everywhere(briefs)
    with result_folder(path, what, overwrite=overwrite, page=page) as draft:
        folder = draft.path
        write_release(releases[0].layout, folder / "release.toml", counts="counts.csv", rounding=rounding)
        ordered = sorted(releases, key=lambda release: release.area)
        write_counts(ordered, folder / "counts.csv", rounding=rounding)
        moves = {"note": PRIVATE, "plans": [one.content for one in briefs], "classical": list(rules)}
        write_json(folder / "moves.json", moves)
        pq.write_table(_comparison(briefs), folder / "comparison.parquet", compression="zstd")
        pq.write_table(_worlds(briefs), folder / "worlds.parquet", compression="zstd")


def _rounded_everywhere(briefs: Sequence[Brief]) -> dict[str, Rounding]:
    """Tables rounded to the same base in all areas; elsewhere rounded counts are shown as intervals."""
    found = [
        {move["table"]: move["base"] for move in one.content["moves"] if move["move"] == "round"}
        for one in briefs
    ]
    return {
        table: Rounding(base)
        for table, base in found[0].items()
        if all(other.get(table) == base for other in found)
    }


def _comparison(briefs: Sequence[Brief]) -> pa.Table:
    """All comparisons; worlds are numbered through."""
    start, tables = 0, list[pa.Table]()
    for one in briefs:
        table = one.comparison
        for name in ("first_world", "second_world"):
            moved = [None if n is None else n + start for n in table[name].to_pylist()]
            at = table.column_names.index(name)
            table = table.set_column(at, name, pa.array(moved, pa.int64()))
        tables.append(table)
        start += len(one.worlds)
    schema = COMPARISON_COLUMNS.append(pa.field("first_world", pa.int64()))
    return pa.concat_tables(tables).cast(schema.append(pa.field("second_world", pa.int64())))


def _worlds(briefs: Sequence[Brief]) -> pa.Table:
    listed = [pair for one in briefs for pair in one.worlds]
    rows = [{"world": at, "area": area, "records": text} for at, (area, text) in enumerate(listed)]
    return pa.Table.from_pylist(rows, WORLD_COLUMNS)
