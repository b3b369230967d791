"""The commands about finished results: ``report``, ``verify`` and ``export``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from showthrough.cli.app import CLOSER, app
from showthrough.cli.options import INPUT, OUTPUT, EngineOptions, Overwrite, ReadOptions, Workers, cores
from showthrough.text import several

if TYPE_CHECKING:
    from showthrough.cli.terminal import Terminal
    from showthrough.tables.coverage import Background

__all__ = [
    "export",
    "report",
    "verify",
]

REPORT_HELP = """Examples:

  showthrough report run/
  showthrough report run/ --html page.html
  showthrough report run/ --area "Block 1004"
  showthrough report blocks/ --homes homes.parquet"""

VERIFY_HELP = """Examples:

  showthrough verify run/
  showthrough verify run/ --input people.csv
  showthrough verify run/ --json
  showthrough verify ledger/
  showthrough verify run/ --engine spark://host:7077 --scratch /shared/tmp

Exit codes: 0 everything that was checked holds, 1 something does not,
2 bad input."""

#: Problems that are listed at most.
MOST_PROBLEMS = 20

EXPORT_HELP = """Examples:

  showthrough export run/ --vipr certificates/
  showthrough export run/ --vipr certificates/ --area "block 01"
  showthrough export run/ --vipr certificates/ --all"""


@app.command(group=CLOSER, help_epilogue=REPORT_HELP)
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


@app.command(group=CLOSER, help_epilogue=VERIFY_HELP)
def verify(
    run: Annotated[Path, Parameter(help="A run folder, or a ledger.")],
    *,
    input: Annotated[  # noqa: A002  (the option's name)
        tuple[Path, ...],
        Parameter(group=INPUT, help="A file that the run read, to compare with its hash. Repeatable."),
    ] = (),
    no_page: Annotated[bool, Parameter(help="Do not make the page again to compare it.")] = False,
    workers: Workers = None,
    where: EngineOptions = EngineOptions(),
    options: ReadOptions = ReadOptions(),
) -> int:
    """Check a run again: files, proofs, datasets, findings, sentences, figures and the page."""
    from showthrough.formats.ledger import is_ledger
    from showthrough.report.verify import verify as verify_run
    from showthrough.report.verify import verify_ledger

    terminal = options.terminal()
    with (
        where.open(terminal, workers=workers or cores()) as engine,
        terminal.step("checking"),
        terminal.progress("checking", None) as progress,
    ):
        if is_ledger(run):
            done = verify_ledger(run, engine=engine, progress=progress, page=not no_page)
        else:
            done = verify_run(
                run,
                engine=engine,
                progress=progress,
                page=not no_page,
                inputs=input,
                background=None if no_page else _county(run),
            )
    if terminal.as_json:
        terminal.json({"folder": str(run), **done.to_plain()})
    terminal.say(done.sentence())
    if done.holds:
        terminal.say("Everything that was checked holds.", style="bold green")
    else:
        terminal.say(f"{several(len(done.problems), 'problem')}:", style="bold red")
    for problem in done.problems[:MOST_PROBLEMS]:
        terminal.line(problem, indent=2)
    if len(done.problems) > MOST_PROBLEMS:
        terminal.say(f"… and {len(done.problems) - MOST_PROBLEMS:,} more", indent=2)
    terminal.say("Not covered:")
    for what in done.not_covered:
        terminal.say(f"- {what}", indent=2, hang=2)
    return 0 if done.holds else 1


def _county(folder: Path) -> Background | None:
    """What the page of a demonstration was made with: the county, simulated again."""
    from showthrough.cli.demo import DEMO
    from showthrough.folders import read_result

    inputs = (read_result(folder) or {}).get("inputs")
    said = inputs.get(DEMO) if isinstance(inputs, dict) else None
    found = re.fullmatch(r"(\d{1,6}) areas, seed (\d{1,9})", said) if isinstance(said, str) else None
    if found is None:
        return None
    from showthrough.census.county import simulate_county
    from showthrough.tables.coverage import Background

    return Background.whole(simulate_county(int(found[1]), seed=int(found[2])), "county")


@app.command(group=CLOSER, help_epilogue=EXPORT_HELP)
def export(
    run: Annotated[Path, Parameter(help="A run folder.")],
    *,
    vipr: Annotated[Path, Parameter(group=OUTPUT, help="The folder to write certificates to.")],
    area: Annotated[
        tuple[str, ...] | None, Parameter(help="Only this area. Repeatable.", consume_multiple=False)
    ] = None,
    all_claims: Annotated[
        bool,
        Parameter(name="--all", help="Proofs of all verified claims, not only of those behind findings."),
    ] = False,
    overwrite: Annotated[
        bool, Parameter(group=OUTPUT, help="Replace what this command wrote before.")
    ] = False,
    workers: Workers = None,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Write proofs in the VIPR format, which independent programs can check."""
    from showthrough.formats.vipr.vipr_folder import INDEX, ROWS, export_vipr

    terminal = options.terminal()
    with terminal.step("exporting"), terminal.progress("exporting", None) as progress:
        done = export_vipr(
            run,
            vipr,
            areas=area,
            everything=all_claims,
            overwrite=overwrite,
            workers=workers or cores(),
            progress=progress,
        )
    if terminal.as_json:
        terminal.json(done.to_plain())
    kilobytes = f"{(done.size + 999) // 1000:,} kB in all, the largest {(done.largest + 999) // 1000:,} kB"
    where = "" if done.areas == 1 else f" in {several(done.areas, 'area')}"
    if done.files:
        proved = f"{several(done.claims, 'statement')} about counts{where}"
        terminal.say(f"{several(done.files, 'certificate')} for {proved}: {kilobytes}.")
    else:
        terminal.say("There is nothing to export: no finding rests on a proof.")
    terminal.files(
        vipr, {"*/*.vipr": "the certificates", INDEX: "what each of them proves", ROWS: "what their rows are"}
    )
    return 0
