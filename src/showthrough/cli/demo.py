"""The demonstration: a simulated county, audited and checked."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from showthrough.cli.app import AUDIT, app
from showthrough.cli.audit import print_findings, print_open, print_run_files, print_verdicts
from showthrough.cli.folder import page_maker, places
from showthrough.cli.options import Positive, PrintOptions, Workers, cores
from showthrough.cli.terminal import Terminal
from showthrough.errors import ProofError
from showthrough.text import several

if TYPE_CHECKING:
    from showthrough.records import Records
    from showthrough.release import Layout

__all__ = [
    "DEMO",
    "demo",
]

DEMO_HELP = """Examples:

  showthrough demo
  showthrough demo --areas 200 --out county/"""

#: The input that a demonstration names, by which it is recognised.
DEMO = "simulated county"


@app.command(group=AUDIT, help_epilogue=DEMO_HELP)
def demo(
    *,
    out: Annotated[Path, Parameter(help="The run folder to write.")] = Path("showthrough-demo"),
    areas: Annotated[Positive, Parameter(help="Number of blocks (default: 40).")] = 40,
    seed: Annotated[int, Parameter(help="Seed of the simulation (default: 7).")] = 7,
    workers: Workers = None,
    options: PrintOptions = PrintOptions(),
) -> int:
    """Simulate a small county, audit the tables planned for it, and check the proofs."""
    from showthrough.census.county import COUNTY_SCHEMA, COUNTY_TABLES, simulate_county
    from showthrough.locks import hold
    from showthrough.release import Layout, make_table

    terminal = options.terminal()
    layout = Layout(COUNTY_SCHEMA, tuple(make_table(COUNTY_SCHEMA, formula) for formula in COUNTY_TABLES))
    with hold(out):
        with terminal.step("simulating"):
            county = simulate_county(areas, seed=seed)
        terminal.say(
            f"A simulated county: {several(len(county), 'household')} in {several(areas, 'block')}, "
            f"{len(COUNTY_SCHEMA.names)} columns. The statistics office plans {len(layout.tables)} tables "
            f"of counts for every block, {len(layout.names)} cells in all. What would they give away?"
        )
        terminal.say()
        _audit_county(county, layout, out, terminal, areas=areas, seed=seed, workers=workers or cores())
    return 0


def _audit_county(
    county: Records, layout: Layout, out: Path, terminal: Terminal, *, areas: int, seed: int, workers: int
) -> None:
    """Audit and verify a simulated county, and print what was found."""
    from showthrough.folders import REPORT, read_result
    from showthrough.formats.subject import Subject
    from showthrough.tables.coverage import Background
    from showthrough.tables.run.folder import BATCH, run_audit
    from showthrough.tables.run.verify import verify_tables

    before = (read_result(out) or {}).get("inputs")
    make_page = page_maker(out, terminal, wanted=True, background=Background.whole(county, "county"))
    with terminal.step("auditing"), terminal.progress("auditing", areas) as progress:
        run = run_audit(
            Subject(layout, county).areas(),
            layout,
            out,
            workers=workers if areas > BATCH else 1,
            inputs={DEMO: f"{several(areas, 'area')}, seed {seed}"},
            extra_files=_county_files(county, layout),
            progress=progress,
            overwrite=isinstance(before, dict) and DEMO in before,
            page=make_page,
        )
    with terminal.step("checking"), terminal.progress("checking", areas) as progress:
        checked = verify_tables(run, progress=progress)
    if not checked.holds:
        raise ProofError(f"the run failed its check: {checked.problems[0]}")
    if terminal.as_json:
        terminal.json({**run.summary.to_plain(), "checked": checked.proofs, **places(out), "exit_code": 0})
    print_verdicts(run, layout.schema, terminal)
    print_open(run, terminal)
    terminal.say()
    terminal.say(
        f"The checker, which shares no code with the search, checked all {checked.proofs:,} proofs "
        f"of {checked.claims:,} claims again: all hold."
    )
    print_run_files(out, terminal)
    print_findings(run, terminal)
    if make_page is not None:
        terminal.say()
        terminal.line(f"Now open {out / REPORT} in a browser.")


def _county_files(county: Records, layout: Layout) -> dict[str, str]:
    """The simulated data and the tables, to play with."""
    import pyarrow.csv as arrow_csv

    from showthrough.formats.release_file import design_to_toml
    from showthrough.formats.schema_file import schema_to_toml

    text = io.BytesIO()
    arrow_csv.write_csv(county.to_arrow(), text)
    return {
        "schema.toml": schema_to_toml(layout.schema),
        "release.toml": design_to_toml(layout),
        "households.csv": text.getvalue().decode(),
    }
