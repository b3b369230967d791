"""The command that computes suppressed cells from what is published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from showthrough.cli.app import CLOSER, app
from showthrough.cli.options import INPUT, OUTPUT, SCOPE, Effort, Overwrite, ReadOptions, Seed
from showthrough.cli.tables import TableOptions, print_notes
from showthrough.cli.terminal import Terminal

if TYPE_CHECKING:
    from showthrough.tables.recover import Recovery

__all__ = [
    "recover",
]

HELP = """Every number has a proof, which is printed as arithmetic on published cells.
Exit codes: 1 some cells can be computed, 3 for some cells this is undecided.

Examples:

  showthrough recover release/release.toml
  showthrough recover tables.xlsx --out recovered.html
  showthrough recover run/ --area North --json"""

#: Cells and areas that are listed.
MOST_CELLS, MOST_AREAS = 20, 10


@app.command(group=CLOSER, help_epilogue=HELP)
def recover(
    data: Annotated[
        Path | None, Parameter(group=INPUT, help="A run folder, release.toml, or published tables.")
    ] = None,
    *,
    source: TableOptions = TableOptions(),
    area: Annotated[str | None, Parameter(group=SCOPE, help="Only this area.")] = None,
    out: Annotated[
        Path | None, Parameter(group=OUTPUT, help="The page to write: each table with what was recovered.")
    ] = None,
    effort: Effort = 1.0,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Compute suppressed cells where they follow from what is published."""
    from showthrough.files import check_new
    from showthrough.tables.recover import exit_code
    from showthrough.tables.recover import recover as find

    terminal = options.terminal()
    with terminal.step("reading"):
        subject = source.read(data)
    if out is not None:
        check_new(out, overwrite=overwrite)
    print_notes(subject, terminal)
    found: list[Recovery] = []
    total = 1 if area is not None else subject.n_areas
    with terminal.step("recovering"), terminal.progress("recovering", total) as progress:
        for one in subject.areas(area):
            found.append(find(one.release, effort=effort, seed=seed))
            progress(1)
    if out is not None:
        _write(found, out, terminal, inputs=subject.inputs(), parameters={"effort": effort, "seed": seed})
    if terminal.as_json:
        terminal.json([row for one in found for row in one.to_plain()])
    _print(found, terminal)
    if out is not None:
        terminal.say()
        terminal.say(f"Written to {out}")
    return exit_code(found)


def _write(
    found: list[Recovery],
    out: Path,
    terminal: Terminal,
    *,
    inputs: Mapping[str, str],
    parameters: Mapping[str, float],
) -> None:
    from showthrough.report.page import write_page
    from showthrough.report.recovered import recover_page

    with terminal.step("writing the page"):
        write_page(recover_page(found, inputs=inputs, parameters=parameters), out)


def _print(found: list[Recovery], terminal: Terminal) -> None:
    from showthrough.tables.recover import area_rows, given_away, most_exposed, sentence

    terminal.say(sentence(found), style="bold")
    if whole := given_away(found):
        terminal.say(whole)
    exposed = most_exposed(found)
    if len(exposed) > 1:
        terminal.say()
        rows = area_rows(found)
        terminal.table(rows[: MOST_AREAS + 1])
        if len(rows) > MOST_AREAS + 1:
            terminal.say(f"… and {len(rows) - MOST_AREAS - 1:,} more areas (--json lists all)")
    _print_cells(exposed, terminal)
    if any(not one.whole for one in found):
        terminal.say()
        terminal.say(
            "Too many record types are possible to consider all tables together: each table was "
            "examined only with the tables about its own attributes, so narrower intervals may "
            "follow."
        )


def _print_cells(found: list[Recovery], terminal: Terminal) -> None:
    from showthrough.tables.recover import interval

    chosen = [(one, cell) for one in found for cell in one.cells if cell.outcome in ("exact", "close")]
    chosen.sort(key=lambda pair: pair[1].outcome != "exact")
    if chosen:
        terminal.say()
    for one, cell in chosen[:MOST_CELLS]:
        where = f"{one.release.area}: " if one.release.area else ""
        name = f"{cell.published.name} of {cell.published.table}"
        terminal.line(f"{where}{name}: {interval(cell.low, cell.high)}")
        for line in cell.arithmetic(one.release):
            terminal.line(line, indent=2)
    if len(chosen) > MOST_CELLS:
        terminal.say(f"… and {len(chosen) - MOST_CELLS:,} more cells (--json lists all)")
    if chosen:
        terminal.say()
        terminal.say("[…] is a published cell.")
