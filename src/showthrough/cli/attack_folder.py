"""The folders of attacks and advice: made when all is known, with a summary and a page."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from showthrough.cli.options import Writing
from showthrough.cli.report_jobs import page_maker
from showthrough.cli.terminal import Terminal
from showthrough.files import write_json
from showthrough.folders import REPORT, Description, Draft, result_folder
from showthrough.frames import Source
from showthrough.locks import hold

__all__ = [
    "PAGE",
    "hashes",
    "held",
    "maybe_folder",
    "places",
    "say_written",
    "write_summary",
]

#: What the page of a folder is called, and what it is.
PAGE = (REPORT, "all of it as a page, for any browser")


def held(out: Path | None) -> AbstractContextManager[object]:
    """The lock of a folder, if one is to be written, until all is said."""
    return nullcontext() if out is None else hold(out)


@contextmanager
def maybe_folder(
    out: Path | None, what: Callable[[], Description], how: Writing, terminal: Terminal
) -> Generator[Draft | None]:
    """A folder to write to, refused at once where it cannot be; None where none was asked for."""
    if out is None:
        yield None
        return
    page = page_maker(out, terminal, wanted=how.report)
    with result_folder(out, what(), overwrite=how.overwrite, page=page) as draft:
        yield draft


def hashes(*sources: Source | None) -> dict[str, str]:
    """The files that were read, with their hashes."""
    read = [content for source in sources if source is not None for content in source.contents]
    return {str(content.path): content.digest() for content in read}


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """All figures, for machines."""
    write_json(folder / "summary.json", summary)


def places(out: Path | None) -> dict[str, str | None]:
    """Where a folder and its page are, in figures."""
    page = None if out is None or not (out / REPORT).exists() else str(out / REPORT)
    return {"folder": None if out is None else str(out), "report": page}


def say_written(out: Path | None, files: Sequence[tuple[str, str]], terminal: Terminal) -> None:
    """The files of a folder, those that are there."""
    if out is None:
        return
    terminal.say()
    terminal.say(f"Written to {out}/:")
    for name, what in files:
        if (out / name).exists():
            terminal.line(f"{name:18} {what}", indent=2)
