"""The commands about census blocks: simulate, and ``census`` with its own commands.

What they do is imported when they run, so that other commands start fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Group, Parameter

from showthrough.cli.app import BLOCKS, app
from showthrough.cli.options import (
    INPUT,
    OUTPUT,
    SCOPE,
    Auditing,
    How,
    Overwrite,
    Positive,
    Read,
    Reading,
    RunFolder,
    Telling,
    Told,
)
from showthrough.cli.protecting import Safely

if TYPE_CHECKING:
    from showthrough.cli.census_subject import Choice


__all__ = [
    "census",
    "simulate",
]

EXAMPLES = """Examples:

  showthrough simulate --blocks 100 --seed 1 --out homes.parquet
  showthrough census audit homes.parquet --out run/
  showthrough census audit --counts P16.csv --counts H13.json --out run/
  showthrough census summary run/ --homes homes.parquet"""

SIMULATE_HELP = """Examples:

  showthrough simulate --blocks 100 --seed 1 --out homes.parquet
  showthrough simulate --blocks 100 --seed 1 --children --out homes.parquet"""

TABLES_HELP = """Examples:

  showthrough census tables
  showthrough census tables P16
  showthrough census tables H14 --cells bottom"""

AUDIT_HELP = """Examples:

  showthrough census audit homes.parquet --out run/
  showthrough census audit homes.parquet --multiplicity 1 --min-columns 5 --out run/
  showthrough census audit --counts P16.csv --counts H13.json --children --out run/"""

COUNTS_HELP = """Examples:

  showthrough census write-counts homes.parquet --out counts.parquet
  showthrough census write-counts homes.parquet --by block --out counts.csv"""

SUMMARY_HELP = """Examples:

  showthrough census summary run/
  showthrough census summary run/ --homes homes.parquet --out summary.json"""

PROTECT_HELP = """Examples:

  showthrough census protect homes.parquet --area 010010000010001 \\
      --forbid "singletons,k>=5" --out safe/
  showthrough census protect homes.parquet --policy policy.toml --same --out safe/"""

#: As :mod:`showthrough.census.tables_2020` knows them, which takes a while to load.
Cells = Literal["all", "bottom", "621"]
Renter = Literal["published", "paper"]

census = App(
    name="census",
    help="Audit the block tables of the 2020 Census: 79 tables about households and homes.",
    help_epilogue=EXAMPLES,
    group=BLOCKS,
    group_commands=Group("Commands", sort_key=1),
)
app.command(census)


@Parameter(name="*", group=INPUT)
@dataclass(frozen=True)
class Selected:
    """Which columns and cells."""

    cells: Annotated[
        Cells, Parameter(help="All cells (the default), those without parts, or the paper's 621.")
    ] = "all"
    renter: Annotated[
        Renter,
        Parameter(help="Renters with those who pay no rent, as published (the default), or without."),
    ] = "published"
    children: Annotated[
        bool, Parameter(help="An eleventh column, which table H15 is about. Real counts need it.")
    ] = False
    edits: Annotated[bool, Parameter(help="Also rules that only the Bureau's editing enforces.")] = False

    def choice(self) -> Choice:
        """The options as the library takes them."""
        from showthrough.cli.census_subject import Choice

        return Choice(self.cells, self.renter, self.children, self.edits)


Which = Annotated[Selected | None, Parameter(name="*")]
By = Annotated[str, Parameter(group=INPUT, help="The column of homes that names the block.")]


@app.command(group=BLOCKS, help_epilogue=SIMULATE_HELP)
def simulate(
    *,
    blocks: Annotated[Positive, Parameter(help="How many blocks.")],
    seed: Annotated[int, Parameter(help="Seed of the simulation.")],
    out: Annotated[Path, Parameter(help="The .parquet file to write.")],
    children: Annotated[bool, Parameter(help="With the eleventh column, children.")] = False,
    overwrite: Overwrite = False,
    told: Told = None,
) -> int:
    """Simulate homes in census blocks, with national figures like the real ones."""
    from showthrough.cli.census_jobs import simulate_homes

    terminal = (told or Telling()).terminal()
    return simulate_homes(out, terminal, blocks=blocks, seed=seed, children=children, overwrite=overwrite)


@census.command(help_epilogue=TABLES_HELP)
def tables(
    table: Annotated[str | None, Parameter(help="A table, to see its cells: P16.")] = None,
    *,
    which: Which = None,
    told: Told = None,
) -> int:
    """List the tables published for every block, or the cells of one."""
    from showthrough.cli.census_jobs import list_tables, show_table

    if table is None:
        return list_tables((told or Telling()).terminal())
    return show_table(table, (which or Selected()).choice(), (told or Telling()).terminal())


@census.command(help_epilogue=AUDIT_HELP)
def audit(
    homes: Annotated[Path | None, Parameter(group=INPUT, help="Microdata: one row per home.")] = None,
    *,
    counts: Annotated[
        tuple[Path, ...],
        Parameter(
            group=INPUT,
            help="Published counts instead: of the API (.json), of data.census.gov (.csv), or wide "
            "(.csv, .parquet). Repeatable.",
        ),
    ] = (),
    which: Which = None,
    by: By = "block",
    out: RunFolder,
    how: How = None,
    keep_going: Annotated[
        bool,
        Parameter(
            group=SCOPE,
            negative="--no-keep-going",
            help="Note blocks that cannot be audited, and go on (the default).",
        ),
    ] = True,
) -> int:
    """Decide every claim about single homes that the block tables could prove."""
    from showthrough.cli.audit_jobs import audit_subject
    from showthrough.cli.census_subject import read_blocks

    how = how or Auditing()
    settings = how.settings(keep_going=keep_going)
    choice = (which or Selected()).choice()
    with how.terminal().step("reading"):
        blocks = read_blocks(homes, counts=counts, choice=choice, by=by, keep_going=keep_going)
    return audit_subject(blocks, out, how, settings=settings)


@census.command(help_epilogue=COUNTS_HELP)
def write_counts(
    homes: Annotated[Path, Parameter(group=INPUT, help="Microdata: one row per home.")],
    *,
    which: Which = None,
    by: By = "block",
    out: Annotated[Path, Parameter(group=OUTPUT, help="The .parquet or .csv file to write.")],
    overwrite: Overwrite = False,
    told: Read = None,
) -> int:
    """Count the cells that would be published, one row per block."""
    from showthrough.cli.census_jobs import write_block_counts
    from showthrough.cli.census_subject import read_blocks

    terminal = (told or Reading()).terminal()
    with terminal.step("reading"):
        blocks = read_blocks(homes, choice=(which or Selected()).choice(), by=by)
    return write_block_counts(blocks, out, terminal, overwrite=overwrite)


@census.command(help_epilogue=SUMMARY_HELP)
def summary(
    run: Annotated[Path, Parameter(help="A run folder.")],
    *,
    homes: Annotated[
        Path | None, Parameter(group=INPUT, help="The homes audited, with all blocks of their tracts.")
    ] = None,
    by: By = "block",
    out: Annotated[Path | None, Parameter(group=OUTPUT, help="A .json file to write as well.")] = None,
    overwrite: Overwrite = False,
    told: Read = None,
) -> int:
    """Show how many homes are covered, where, and how surprising it is, beside the paper's figures."""
    from showthrough.cli.census_jobs import summarise_blocks

    terminal = (told or Reading()).terminal()
    return summarise_blocks(run, terminal, homes=homes, by=by, out=out, overwrite=overwrite)


@census.command(help_epilogue=PROTECT_HELP)
def protect(
    homes: Annotated[Path | None, Parameter(group=INPUT, help="Microdata: one row per home.")] = None,
    *,
    counts: Annotated[
        tuple[Path, ...], Parameter(group=INPUT, help="Published counts instead. Repeatable.")
    ] = (),
    which: Which = None,
    by: By = "block",
    area: Annotated[str | None, Parameter(group=SCOPE, help="Only this block.")] = None,
    how: Safely,
) -> int:
    """Withhold as little of the block tables as possible so that nothing forbidden follows."""
    from showthrough.cli.census_subject import read_blocks
    from showthrough.cli.protect_jobs import protect_subject

    terminal = how.terminal()
    with terminal.step("reading"):
        blocks = read_blocks(homes, counts=counts, choice=(which or Selected()).choice(), by=by)
    return protect_subject(blocks, how, terminal, only=area)
