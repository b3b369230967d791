"""The command ``report``, and the page that other commands write beside their results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from showthrough.cli.app import CLOSER, app
from showthrough.cli.options import OUTPUT, Overwrite, ReadOptions
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError

if TYPE_CHECKING:
    from showthrough.tables.coverage import Background

__all__ = [
    "page_maker",
    "report",
]

HELP = """Examples:

  showthrough report run/
  showthrough report run/ --html page.html
  showthrough report blocks/ --homes homes.parquet"""


@app.command(group=CLOSER, help_epilogue=HELP)
def report(
    run: Annotated[Path, Parameter(help="The folder that a command wrote.")],
    *,
    html: Annotated[
        Path | None, Parameter(group=OUTPUT, help="The file to write (default: report.html in the folder).")
    ] = None,
    homes: Annotated[
        Path | None,
        Parameter(
            help="Census blocks: homes of their tracts and states, to show how surprising the findings are."
        ),
    ] = None,
    by: Annotated[str, Parameter(help="The column of homes that names the block.")] = "block",
    overwrite: Overwrite = False,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Write a result as one HTML page that works without a network."""
    from showthrough.files import check_new
    from showthrough.report.page import check_installed
    from showthrough.report.write import write_report

    terminal = options.terminal()
    check_installed()
    if html is not None:
        check_new(html, overwrite=overwrite)
    background = None
    if homes is not None:
        with terminal.step("reading homes"):
            background = _census_background(run, homes, by, terminal)
    with terminal.step("writing the page"):
        written = write_report(run, html, background=background)
    if terminal.as_json:
        terminal.json({"folder": str(run), "report": str(written), "bytes": written.stat().st_size})
    terminal.say(f"Wrote {written}: open it in a browser, it needs no network.")
    return 0


def page_maker(
    out: Path, terminal: Terminal, *, wanted: bool, background: Background | None = None
) -> Callable[[Path], object] | None:
    """What writes the page of a result into its draft folder; None, with a note, if it cannot.

    ``out`` is where the result will be.
    """
    if not wanted:
        return None
    from showthrough.folders import REPORT
    from showthrough.report.page import INSTALL, check_installed, write_page
    from showthrough.report.write import page_of

    try:
        check_installed()
    except InputError:
        terminal.note(f"for a page to look at: {INSTALL}, then showthrough report {out}")
        return None

    def make(draft: Path) -> None:
        with terminal.step("writing the page"):
            write_page(page_of(draft, background=background), draft / REPORT)

    return make


def _census_background(folder: Path, homes: Path, by: str, terminal: Terminal) -> Background:
    """Homes as records of the blocks of a run, with their tracts and states as references."""
    from showthrough.census.figures import read_run_homes

    found = read_run_homes(folder, homes, by=by)
    if found.n_left_out:
        terminal.note(f"{homes}: left out {found.n_left_out:,} homes that break a rule of the schema")
    return found.background
