"""The command that checks a whole run again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from showthrough.cli.app import CLOSER, app
from showthrough.cli.options import INPUT, EngineOptions, ReadOptions, Workers, cores
from showthrough.text import several

if TYPE_CHECKING:
    from showthrough.tables.coverage import Background

__all__ = [
    "verify",
]

HELP = """Examples:

  showthrough verify run/
  showthrough verify run/ --input people.csv
  showthrough verify run/ --json
  showthrough verify ledger/
  showthrough verify run/ --engine spark://host:7077 --scratch /shared/tmp

Exit codes: 0 everything that was checked holds, 1 something does not,
2 bad input."""

#: Problems that are listed at most.
MOST_PROBLEMS = 20


@app.command(group=CLOSER, help_epilogue=HELP)
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
