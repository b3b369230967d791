"""The command ``export``: the proofs of a run, for programs that others wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from showthrough.cli.app import CLOSER, app
from showthrough.cli.options import OUTPUT, ReadOptions, Workers, cores
from showthrough.text import several

__all__ = [
    "export",
]

HELP = """Examples:

  showthrough export run/ --vipr certificates/
  showthrough export run/ --vipr certificates/ --area "block 01"
  showthrough export run/ --vipr certificates/ --all"""


@app.command(group=CLOSER, help_epilogue=HELP)
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
