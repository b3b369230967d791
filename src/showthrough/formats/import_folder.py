"""The folder that importing writes: schema.toml, release.toml and counts.csv, with comments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from showthrough.errors import RunError
from showthrough.files import read_json, write_json, write_text
from showthrough.folders import Description, PageMaker, read_result, result_folder
from showthrough.formats.design import read_design
from showthrough.formats.meaning.categories import Meaning
from showthrough.formats.meaning.shapes import Printing, read_shapes, write_shapes
from showthrough.formats.meaning.understood import MarkMeaning, Understood, UnderstoodTable
from showthrough.formats.release_file import table_to_toml
from showthrough.formats.schema_file import schema_to_toml
from showthrough.formats.toml import key, list_of, quoted
from showthrough.frames.stream import writing_tables
from showthrough.notation import Rounding
from showthrough.selection import Selection
from showthrough.text import escape_control, several

__all__ = [
    "KIND",
    "Preview",
    "Story",
    "find_printing",
    "is_import",
    "read_printing",
    "read_story",
    "write_import",
]

KIND = "import"

#: The file with what was understood, from which the page is made.
STORY = "understood.json"

#: Rows and columns of a table that the page shows.
MOST_ROWS, MOST_COLUMNS = 40, 14


@dataclass(frozen=True)
class Preview:
    """A table as it was understood, in one area.

    Parameters
    ----------
    name, title, area
        The table, its title as printed, and the area.
    head, rows
        Its heads, and its rows, each with the labels first.
    n_left_out
        How many rows and columns are not shown.
    """

    name: str
    title: str
    area: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    n_left_out: int = 0


@dataclass(frozen=True)
class Story:
    """What was understood of printed tables, in words and small tables.

    Parameters
    ----------
    areas, cells, values
        How many there are.
    tables, marks
        Small tables with a row of heads each.
    notes, questions, conflicts
        What was decided, what is to be decided, and what contradicts.
    previews
        The tables as understood.
    """

    areas: int
    cells: int
    values: int
    tables: tuple[tuple[str, ...], ...]
    marks: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    questions: tuple[str, ...]
    conflicts: tuple[str, ...]
    previews: tuple[Preview, ...]

    @classmethod
    def of(cls, found: Understood) -> Story:
        """The story of a release."""
        area, values = _first_area(found)
        return cls(
            len(found.releases),
            len(found.design.layout.names),
            found.counts.num_rows,
            tuple(found.rows()),
            tuple(mark_rows(found.marks)),
            found.notes,
            found.questions,
            found.conflicts,
            tuple(_preview(table, area, values) for table in found.tables),
        )

    @property
    def headline(self) -> str:
        """What was read, in a sentence."""
        tables = several(len(self.tables) - 1, "table")
        return f"{tables} about {several(self.areas, 'area')}: {several(self.values, 'value')}."


def mark_rows(marks: Sequence[MarkMeaning]) -> Iterator[tuple[str, ...]]:
    """The marks as a small table with a row of heads; nothing if there are none."""
    if marks:
        yield "mark", "cells", "taken as", "because"
    for mark in marks:
        shown = "any count (unknown)" if mark.meaning == "unknown" else mark.meaning
        yield (
            mark.text or "(empty)",
            f"{mark.number:,}",
            shown,
            "declared" if mark.declared else "not declared",
        )


def write_import(
    path: str | Path,
    found: Understood,
    what: Description,
    *,
    overwrite: bool = False,
    page: PageMaker | None = None,
) -> None:
    """Write a release and what was understood into a folder, all of it or nothing."""
    schema = found.design.layout.schema
    with result_folder(path, what, overwrite=overwrite, page=page) as draft:
        write_text(draft.path / "schema.toml", _schema_head() + schema_to_toml(schema))
        write_text(draft.path / "release.toml", release_text(found, files=list(what.inputs)))
        with writing_tables(draft.path / "counts.csv", what="counts") as write:
            write(found.counts)
        write_json(draft.path / STORY, asdict(Story.of(found)))
        write_shapes(found.shapes, draft.path)


def is_import(folder: Path) -> bool:
    """Whether a folder was written by an import."""
    return folder.is_dir() and (read_result(folder) or {}).get("kind") == KIND


def read_story(folder: Path) -> Story:
    """What was understood, from the folder of an import."""
    plain: dict[str, Any] = read_json(folder / STORY, error=RunError)
    return Story(
        plain["areas"],
        plain["cells"],
        plain["values"],
        _rows(plain["tables"]),
        _rows(plain["marks"]),
        tuple(plain["notes"]),
        tuple(plain["questions"]),
        tuple(plain["conflicts"]),
        tuple(
            Preview(
                one["name"],
                one["title"],
                one["area"],
                tuple(one["head"]),
                _rows(one["rows"]),
                one["n_left_out"],
            )
            for one in plain["previews"]
        ),
    )


def read_printing(folder: Path) -> Printing | None:
    """How the tables of an import are printed, with what its files say today; None if they are others now."""
    shapes, design = read_shapes(folder), read_design(folder / "release.toml")
    tables = {table.name: {cell.name for cell in table.cells} for table in design.layout.tables}
    known = all(shape.name in tables and tables[shape.name] >= set(shape.cells) for shape in shapes)
    if not shapes or not known:
        return None
    return Printing(shapes, dict(zip(tables, design.notations, strict=True)))


def find_printing(data: Path | None, releases: Sequence[Path]) -> Printing | None:
    """How the tables of an import are printed, given its folder or its release file; None for other input."""
    file = data if data is not None else releases[0] if len(releases) == 1 else None
    if file is None or (data is not None and releases):
        return None
    folder = file.parent if file.name == "release.toml" else file
    return read_printing(folder) if is_import(folder) else None


def _rows(plain: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(row) for row in plain)


def _schema_head() -> str:
    return (
        "# What can be said about a record, as import understood it from the tables.\n"
        "# Add rules that everybody knows (docs: write a schema), and phrases for sentences.\n\n"
    )


def release_text(found: Understood, *, files: Sequence[str] = ()) -> str:
    """The release file: which tables there are, and what their values mean."""
    roundings = {table.rounding for table in found.tables}
    shared = roundings.pop() if len(roundings) == 1 else None
    parts = [
        _comments(found, files),
        _head(found, shared),
        _suppressed(found.marks),
        *(
            f"{_comment(_shape(one))}{table_to_toml(table, one.rounding if one.rounding != shared else None)}"
            for one, table in zip(found.tables, found.design.layout.tables, strict=True)
        ),
    ]
    return "\n".join(part for part in parts if part)


def _comments(found: Understood, files: Sequence[str]) -> str:
    lines = [f"Made by showthrough import from {', '.join(files)}."] if files else []
    lines += ["Correct it here, or run import again with other options; then audit this file.", ""]
    lines += [*found.notes, *(f"CONTRADICTION: {text}" for text in found.conflicts)]
    return "".join(map(_comment, lines))


def _comment(text: str) -> str:
    return f"# {escape_control(text)}".rstrip() + "\n"


def _head(found: Understood, rounding: Rounding | None) -> str:
    lines = ['schema = "schema.toml"', 'counts = "counts.csv"']
    if found.design.area:
        lines.append(f"area = {quoted(found.design.area)}")
    if found.questions:
        lines.append("# What is to be decided. audit repeats it: delete a line once it is settled.")
        lines += ["notes = [", *(f"  {quoted(text)}," for text in found.questions), "]"]
    if rounding is not None:
        lines.append(f"rounding = {{ base = {rounding.base}, method = {quoted(rounding.method)} }}")
    return "\n".join(lines) + "\n"


def _suppressed(marks: Sequence[MarkMeaning]) -> str:
    if not marks:
        return ""
    lines = ['# What marks mean: "unknown" is any count, "1-4" an interval, "0" a count.', "[suppressed]"]
    lines += [
        f"{key(mark.text)} = {quoted(mark.meaning)}  # {several(mark.number, 'cell')}" for mark in marks
    ]
    return "\n".join(lines) + "\n"


def _shape(table: UnderstoodTable) -> str:
    shown = [f"{name} {list_of([one.text for one in known])}" for name, known in table.dimensions.items()]
    return f"{table.name}: {' × '.join(shown)}"


def _first_area(found: Understood) -> tuple[str, dict[tuple[str, str], str]]:
    """The first area, and what is published about it: table and cell → value."""
    rows: dict[str, list[Any]] = {name: found.counts[name].to_pylist() for name in found.counts.column_names}
    areas = rows.get("area") or [""] * found.counts.num_rows
    area = min(areas, default="")
    entries = zip(areas, rows["table"], rows["cell"], rows["value"], strict=True)
    return area, {(table, cell): value for one, table, cell, value in entries if one == area}


def _preview(table: UnderstoodTable, area: str, values: Mapping[tuple[str, str], str]) -> Preview:
    """A table of one area, its last dimension across."""
    names = list(table.dimensions)
    across = table.dimensions[names[-1]] if names else ()
    down = list(itertools.product(*(table.dimensions[name] for name in names[:-1])))
    rows = [
        (
            *(one.text for one in labels),
            *(
                values.get((table.name, _cell(dict(zip(names, (*labels, head), strict=True)))), "")
                for head in across[:MOST_COLUMNS]
            ),
        )
        for labels in down[:MOST_ROWS]
    ]
    head = (*names[:-1], *(one.text for one in across[:MOST_COLUMNS]))
    n_left_out = max(0, len(down) - MOST_ROWS) + max(0, len(across) - MOST_COLUMNS)
    return Preview(table.name, table.title, area, head, tuple(rows), n_left_out)


def _cell(categories: Mapping[str, Meaning]) -> str:
    named = {name: one.text for name, one in categories.items() if not one.is_total}
    return str(Selection.of(named)) or "total"
