"""The command that checks a whole run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from showthrough.cli.app import CLOSER, app
from showthrough.cli.options import INPUT, ReadOptions, Workers, cores
from showthrough.text import several

__all__ = [
    "verify",
]

HELP = """Examples:

  showthrough verify run/
  showthrough verify run/ --input people.csv
  showthrough verify run/ --json

Exit codes: 0 everything that was checked holds, 1 something does not,
2 bad input."""

#: Problems that are listed at most.
MOST_PROBLEMS = 20


@app.command(group=CLOSER, help_epilogue=HELP)
def verify(
    run: Annotated[Path, Parameter(help="A run folder.")],
    *,
    input: Annotated[  # noqa: A002  (the option's name)
        tuple[Path, ...],
        Parameter(group=INPUT, help="A file that the run read, to compare with its hash. Repeatable."),
    ] = (),
    no_page: Annotated[bool, Parameter(help="Do not make the page again to compare it.")] = False,
    workers: Workers = None,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Check a run again: files, proofs, datasets, findings, sentences, figures and the page."""
    from showthrough.report.verify import verify as verify_run

    terminal = options.terminal()
    with terminal.step("checking"), terminal.progress("checking", None) as progress:
        done = verify_run(run, workers=workers or cores(), progress=progress, page=not no_page, inputs=input)
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
