"""The command ``report``: the page of a result that a command wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from showthrough.cli.app import CLOSER, app
from showthrough.cli.options import OUTPUT, Overwrite, ReadOptions
from showthrough.text import several

if TYPE_CHECKING:
    from showthrough.cli.terminal import Terminal
    from showthrough.tables.coverage import Background

__all__ = [
    "report",
]

HELP = """Examples:

  showthrough report run/
  showthrough report run/ --html page.html
  showthrough report run/ --area "Block 1004"
  showthrough report blocks/ --homes homes.parquet"""


@app.command(group=CLOSER, help_epilogue=HELP)
def report(
    run: Annotated[Path, Parameter(help="The folder that a command wrote.")],
    *,
    html: Annotated[
        Path | None,
        Parameter(
            group=OUTPUT,
            help="The file to write (default: report.html in the folder; with --area, a file named after "
            "the area in the current folder).",
        ),
    ] = None,
    homes: Annotated[
        Path | None,
        Parameter(
            help="For census blocks: the homes of their tracts and states, to show how surprising the "
            "findings are."
        ),
    ] = None,
    by: Annotated[str, Parameter(help="The column of homes that names the block.")] = "block",
    area: Annotated[
        str | None,
        Parameter(help="Write a page about this area of an audit alone, with all its proofs."),
    ] = None,
    overwrite: Overwrite = False,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Write a result as one HTML page that works offline."""
    from showthrough.files import check_new
    from showthrough.report.page import check_installed
    from showthrough.report.write import area_file, write_report

    terminal = options.terminal()
    check_installed()
    target = html if html is not None or area is None else area_file(area)
    if target is not None:
        check_new(target, overwrite=overwrite)
    background = None
    if homes is not None:
        with terminal.step("reading homes"):
            background = _census_background(run, homes, by, terminal)
    with terminal.step("writing the page"):
        written = write_report(run, target, background=background, area=area)
    if terminal.as_json:
        terminal.json({"folder": str(run), "report": str(written), "bytes": written.stat().st_size})
    terminal.say(f"Wrote {written}: open it in a browser, it needs no network.")
    return 0


def _census_background(folder: Path, homes: Path, by: str, terminal: Terminal) -> Background:
    """Homes as records of the blocks of a run, with their tracts and states as references."""
    from showthrough.census.figures import read_run_homes

    found = read_run_homes(folder, homes, by=by)
    if found.n_left_out:
        terminal.note(
            f"{homes}: left out {several(found.n_left_out, 'home')} that break a rule of the schema"
        )
    return found.background
