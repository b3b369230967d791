"""The page of an import: each table as it was understood, to be compared with the original."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from showthrough.errors import RunError
from showthrough.files import read_json
from showthrough.folders import MANIFEST
from showthrough.formats.import_folder import Preview, Story, read_story
from showthrough.report.page import Page, Section, Sheet, figures_page

__all__ = [
    "import_page",
]


def import_page(folder: Path) -> Page:
    """The page of an import."""
    story = read_story(folder)
    return figures_page(
        "Imported tables",
        story.headline,
        list(_sections(story)),
        manifest=read_json(folder / MANIFEST, error=RunError),
        facts=[
            (f"{len(story.tables) - 1:,}", "tables"),
            (f"{story.areas:,}", "areas"),
            (f"{story.cells:,}", "cells in each area"),
            (f"{story.values:,}", "values"),
        ],
        standfirst=["Compare the tables below with the originals before you rely on an audit of them."],
    )


def _sections(story: Story) -> Iterator[Section]:
    sheets = [Sheet("Tables", story.tables[0], story.tables[1:])]
    if story.marks:
        sheets.append(Sheet("Marks", story.marks[0], story.marks[1:]))
    yield Section("What was understood", "", (), sheets)
    for title, lede, lines in (
        ("To be decided", "Answer these with the options named, or in release.toml.", story.questions),
        ("Contradictions", "No records can have all these counts. An audit stops there.", story.conflicts),
        ("What was decided", "Options that decide otherwise are named.", story.notes),
    ):
        if lines:
            yield Section(title, lede, (), [Sheet("", ("",), [[line] for line in lines])])
    yield Section("The tables", "As they will be audited.", (), [_sheet(one) for one in story.previews])


def _sheet(preview: Preview) -> Sheet:
    where = f", {preview.area}" if preview.area else ""
    note = f"{preview.n_left_out:,} more rows or columns are in counts.csv." if preview.n_left_out else ""
    return Sheet(f"{preview.title or preview.name}{where}", preview.head, preview.rows, note)
