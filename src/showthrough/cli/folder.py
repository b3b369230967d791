"""The folders that commands write: locked, with a summary and a page, complete or not at all."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from showthrough.cli.options import WriteOptions
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError
from showthrough.folders import REPORT, Description, Draft, PageMaker, result_folder
from showthrough.locks import hold

if TYPE_CHECKING:
    from showthrough.frames import Source
    from showthrough.tables.coverage import Background

__all__ = [
    "input_hashes",
    "locked",
    "maybe_folder",
    "page_maker",
    "places",
    "print_files",
]


def locked(out: Path | None) -> AbstractContextManager[object]:
    """The lock of a folder, if one is to be written, until everything is printed."""
    return nullcontext() if out is None else hold(out)


@contextmanager
def maybe_folder(
    out: Path | None, describe: Callable[[], Description], how: WriteOptions, terminal: Terminal
) -> Generator[Draft | None]:
    """A folder to write to, refused at once if it cannot be written; None if none was asked for."""
    if out is None:
        yield None
        return
    page = page_maker(out, terminal, wanted=how.report)
    with result_folder(out, describe(), overwrite=how.overwrite, page=page) as draft:
        yield draft


def page_maker(
    out: Path, terminal: Terminal, *, wanted: bool, background: Background | None = None
) -> PageMaker | None:
    """What writes the page of a result into its draft folder; None, with a note, if it cannot.

    ``out`` is where the result will be.
    """
    if not wanted:
        return None
    from showthrough.report.page import INSTALL, check_installed, write_page
    from showthrough.report.write import page_of

    try:
        check_installed()
    except InputError:
        terminal.note(f"to get a page: {INSTALL}, then showthrough report {out}")
        return None

    def make(draft: Path) -> None:
        with terminal.step("writing the page"):
            write_page(page_of(draft, background=background), draft / REPORT)

    return make


def input_hashes(*sources: Source | None) -> dict[str, str]:
    """The files that were read, with their hashes."""
    contents = [content for source in sources if source is not None for content in source.contents]
    return {str(content.path): content.digest() for content in contents}


def places(out: Path | None) -> dict[str, str | None]:
    """Where a folder and its page are, for JSON."""
    page = None if out is None or not (out / REPORT).exists() else str(out / REPORT)
    return {"folder": None if out is None else str(out), "report": page}


def print_files(out: Path | None, files: Mapping[str, str], terminal: Terminal) -> None:
    """List the files of a folder, those that exist."""
    if out is None:
        return
    every = {REPORT: "everything on one page, for any browser", **files}
    there = {_as_it_is(out, name): content for name, content in every.items()}
    terminal.files(out, {name: content for name, content in there.items() if (out / name).exists()})


def _as_it_is(out: Path, name: str) -> str:
    """The name of a table: a file, or the folder of its parts."""
    parts = f"{name.removesuffix('.parquet')}/"
    return parts if (out / parts).is_dir() and not (out / name).exists() else name
