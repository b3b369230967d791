"""The command that makes a page of a folder of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from showthrough.cli.app import CLOSER, app
from showthrough.cli.options import OUTPUT, Overwrite, Read, Reading

__all__ = [
    "report",
]

HELP = """Examples:

  showthrough report run/
  showthrough report run/ --html page.html
  showthrough report blocks/ --homes homes.parquet"""


@app.command(group=CLOSER, help_epilogue=HELP)
def report(
    run: Annotated[Path, Parameter(help="A run folder.")],
    *,
    html: Annotated[
        Path | None, Parameter(group=OUTPUT, help="The file to write (default: report.html in the folder).")
    ] = None,
    homes: Annotated[
        Path | None,
        Parameter(
            help="Census blocks: the homes of their tracts and states, to say how surprising findings are."
        ),
    ] = None,
    by: Annotated[str, Parameter(help="The column of homes that names the block.")] = "block",
    overwrite: Overwrite = False,
    told: Read = None,
) -> int:
    """Write a result as one HTML page that works without a network."""
    from showthrough.cli.report_jobs import make_report

    terminal = (told or Reading()).terminal()
    return make_report(run, terminal, html=html, homes=homes, by=by, overwrite=overwrite)
