"""The folders of attacks and advice: made when all is known, with a summary and a page."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from showthrough.cli.options import Writing
from showthrough.cli.report_jobs import add_report
from showthrough.cli.terminal import Terminal
from showthrough.io.folder import make_folder
from showthrough.report.writing import FILE

__all__ = ["PAGE", "add_page", "result_folder", "say_written", "write_summary"]

#: What the page of a folder is called, and what it is.
PAGE = (FILE, "all of it as a page, for any browser")


@contextmanager
def result_folder(out: Path | None, *, kind: str, overwrite: bool) -> Generator[Path | None]:
    """A folder to write to, refused at once where it cannot be; None where none was asked for."""
    if out is None:
        yield None
        return
    with make_folder(out, kind=kind, overwrite=overwrite) as folder:
        yield folder


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """All figures, for machines."""
    text = json.dumps(summary, indent=1, ensure_ascii=False) + "\n"
    (folder / "summary.json").write_text(text, "utf-8")


def add_page(out: Path | None, how: Writing, terminal: Terminal) -> dict[str, str | None]:
    """Write the page of a folder, and say in figures where both are."""
    page = add_report(out, terminal) if out is not None and how.report else None
    return {
        "folder": None if out is None else str(out),
        "report": None if out is None or page is None else str(out / page),
    }


def say_written(out: Path | None, files: Sequence[tuple[str, str]], terminal: Terminal) -> None:
    """The files of a folder, those that are there."""
    if out is None:
        return
    terminal.say()
    terminal.say(f"Written to {out}/:")
    for name, what in files:
        if (out / name).exists():
            terminal.line(f"{name:18} {what}", indent=2)
