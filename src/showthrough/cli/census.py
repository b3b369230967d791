"""The commands about census blocks: ``simulate``, and ``census`` with commands of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Group, Parameter

from showthrough.cli.app import BLOCKS, app
from showthrough.cli.options import (
    INPUT,
    OUTPUT,
    SCOPE,
    AuditOptions,
    Overwrite,
    Positive,
    PrintOptions,
    ReadOptions,
    RunFolder,
)
from showthrough.cli.protect import protect_subject
from showthrough.cli.protect_options import ProtectOptions
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError
from showthrough.text import several

if TYPE_CHECKING:
    from showthrough.census.blocks import BlockTables, CensusTables, LinkedTables, PeopleTables

__all__ = [
    "census",
    "list_tables",
    "simulate",
]

EXAMPLES = """Examples:

  showthrough simulate --blocks 100 --seed 1 --out homes.parquet
  showthrough census audit homes.parquet --out run/
  showthrough census audit --counts P16.csv --counts H13.json --out run/
  showthrough census summary run/ --homes homes.parquet"""

SIMULATE_HELP = """Examples:

  showthrough simulate --blocks 100 --seed 1 --out homes.parquet
  showthrough simulate --blocks 100 --seed 1 --children --out homes.parquet
  showthrough simulate --blocks 100 --seed 1 --people --out people.parquet"""

TABLES_HELP = """Examples:

  showthrough census tables
  showthrough census tables P16
  showthrough census tables H14 --cells bottom"""

AUDIT_HELP = """Examples:

  showthrough census audit people.parquet --people --out run/
  showthrough census audit people.parquet --people --place both --out run/
  showthrough census audit --people --year 2020 --counts P12.json --out run/
  showthrough census audit --people --counts blocks.csv --counts tracts.csv \\
      --out run/

  showthrough census audit homes.parquet --out run/
  showthrough census audit homes.parquet --multiplicity 1 --min-columns 5 \\
      --out run/
  showthrough census audit --counts P16.csv --counts H13.json --children \\
      --out run/"""

COUNTS_HELP = """Examples:

  showthrough census write-counts homes.parquet --out counts.parquet
  showthrough census write-counts homes.parquet --by block --out counts.csv"""

PROTECT_HELP = """Examples:

  showthrough census protect homes.parquet --area 010010000010001 \\
      --forbid "singletons,k>=5" --out safe/
  showthrough census protect homes.parquet --policy policy.toml --same \\
      --out safe/"""

#: As :mod:`showthrough.census.tables_2020` knows them, which takes a while to load.
Cells = Literal["all", "bottom", "621"]
Renter = Literal["published", "paper"]
Year = Literal["2010", "2020"]
Place = Literal["block", "tract", "both"]
Ages = Literal["bins", "years"]

census = App(
    name="census",
    help="Audit census tables about homes in blocks (2020) or about people (2010, 2020).",
    help_epilogue=EXAMPLES,
    group=BLOCKS,
    group_commands=Group("Commands", sort_key=1),
)
app.command(census)


@Parameter(name="*", group=INPUT)
@dataclass(frozen=True)
class BlockTableOptions:
    """Which columns and cells."""

    cells: Annotated[
        Cells, Parameter(help="All cells (the default), those without parts, or the paper's 621.")
    ] = "all"
    renter: Annotated[
        Renter,
        Parameter(
            help="Count homes occupied without rent as rented (published, the default), or not (paper)."
        ),
    ] = "published"
    children: Annotated[
        bool, Parameter(help="Add the column children, which table H15 is about. Published counts need it.")
    ] = False
    edits: Annotated[
        bool, Parameter(help="Add rules that hold only because the Census Bureau edits its files.")
    ] = False
    people: Annotated[bool, Parameter(negative="", help="Tables about people instead of homes.")] = False
    year: Annotated[Year, Parameter(help="With --people: the tables of 2010 (the default) or of 2020.")] = (
        "2010"
    )
    place: Annotated[
        Place | None,
        Parameter(
            help="With --people: tables for blocks, with 38 ages (the default); for tracts, with 103; or "
            "for both, linked (the default where counts of both are given)."
        ),
    ] = None
    ages: Annotated[
        Ages | None,
        Parameter(help="With --place both: 38 ages (bins, the default), or 103 (years)."),
    ] = None

    def tables(self, counts: Sequence[Path] = ()) -> BlockTables | PeopleTables | LinkedTables:
        """The options as the library takes them; counts of blocks and of tracts are linked."""
        from showthrough.census.blocks import BlockTables, LinkedTables, PeopleTables
        from showthrough.census.people_nests import has_both

        if not self.people:
            if self.year != "2010" or self.place is not None or self.ages is not None:
                raise InputError("--year, --place and --ages are about people", remedy="add --people")
            return BlockTables(self.cells, self.renter, self.children, self.edits)
        if (self.cells, self.renter, self.children, self.edits) != ("all", "published", False, False):
            raise InputError(
                "--cells, --renter, --children and --edits are about homes", remedy="leave them out"
            )
        place = self.place or ("both" if counts and has_both(counts, self.year) else "block")
        if place == "both":
            return LinkedTables(self.year, self.ages or "bins")
        if self.ages is not None:
            raise InputError(
                "--ages is for blocks and tracts together",
                found=f"--ages {self.ages}",
                remedy="add --place both: blocks alone have 38 ages, tracts alone 103",
            )
        return PeopleTables(self.year, place)

    @property
    def one_place(self) -> Literal["block", "tract"]:
        """What the tables are about, for commands that take one of the two."""
        if self.place == "both":
            raise InputError(
                "this command takes blocks or tracts, not both",
                found="--place both",
                remedy="use --place block, and then --place tract",
            )
        return self.place or "block"


Homes = Annotated[
    Path | None, Parameter(group=INPUT, help="Microdata: one row per home, or with --people per person.")
]
Counts = Annotated[
    tuple[Path, ...],
    Parameter(
        group=INPUT,
        help="Published counts instead of homes: from the API (.json), from data.census.gov (.csv), or "
        "wide (.csv, .parquet). Repeatable.",
    ),
]
By = Annotated[
    str | None,
    Parameter(
        group=INPUT, help="The column that names the block (default: block) or the tract (default: tract)."
    ),
]


@app.command(group=BLOCKS, help_epilogue=SIMULATE_HELP)
def simulate(
    *,
    blocks: Annotated[Positive, Parameter(help="Number of blocks.")],
    seed: Annotated[int, Parameter(help="Seed of the simulation.")],
    out: Annotated[Path, Parameter(help="The .parquet file to write.")],
    children: Annotated[bool, Parameter(help="Add the eleventh column, children.")] = False,
    people: Annotated[
        bool, Parameter(negative="", help="Simulate people in households instead of homes.")
    ] = False,
    overwrite: Overwrite = False,
    options: PrintOptions = PrintOptions(),
) -> int:
    """Simulate homes, or people, in census blocks, with realistic national figures."""
    from showthrough.census.people_simulator import write_people
    from showthrough.census.simulator import write_households
    from showthrough.files import check_new

    terminal = options.terminal()
    what = "people" if people else "homes"
    check_new(out, overwrite=overwrite)
    if out.suffix.lower() != ".parquet":
        raise InputError(
            f"{what} are written as Parquet",
            file=str(out),
            found=out.suffix,
            remedy="use the extension .parquet",
        )
    if people and children:
        raise InputError("--children is about homes", remedy="leave out --children, or --people")
    with terminal.step("simulating"):
        if people:
            n_made = write_people(out, blocks, seed=seed)
        else:
            n_made = write_households(out, blocks, seed=seed, children=children)
    if terminal.as_json:
        terminal.json({"file": str(out), what: n_made, "blocks": blocks, "seed": seed})
    made = f"{n_made:,} people" if people else several(n_made, "home")
    terminal.say(f"Wrote {made} in {several(blocks, 'block')} to {out}.")
    return 0


@census.command(help_epilogue=TABLES_HELP)
def tables(
    table: Annotated[str | None, Parameter(help="A table whose cells to list: P16.")] = None,
    *,
    which: BlockTableOptions = BlockTableOptions(),
    options: PrintOptions = PrintOptions(),
) -> int:
    """List the tables published for every block, or the cells of one."""
    terminal = options.terminal()
    chosen = which.tables()
    if table is None and not which.people:
        list_tables(terminal)
    elif table is None:
        _list_people_tables(chosen, terminal)
    else:
        _list_cells(table, chosen, terminal)
    return 0


def _list_people_tables(chosen: CensusTables, terminal: Terminal) -> None:
    """Print all tables about people."""
    layout = chosen.layout()
    entries = [(table.name, table.label, len(table.cells)) for table in layout.tables]
    n_cells = len(layout.names)
    if terminal.as_json:
        listed = [{"table": name, "title": title, "cells": size} for name, title, size in entries]
        terminal.json({"tables": listed, "cells": n_cells})
    rows = [("table", "title", "cells"), *((name, title, str(size)) for name, title, size in entries)]
    terminal.table(rows, indent=0, gap=2)
    terminal.say()
    terminal.say(f"{len(entries)} tables with {n_cells:,} cells in all.")


def list_tables(terminal: Terminal) -> None:
    """Print all block tables; iterations on the line of the table that they repeat."""
    from showthrough.census.tables_2020 import census_catalogue

    entries = census_catalogue()
    n_cells = sum(table.n_cells for table in entries)
    if terminal.as_json:
        terminal.json({"tables": [table.to_plain() for table in entries], "cells": n_cells})
    rows = [("table", "counts", "iterated", "title", "cells")]
    for table in entries:
        if not table.householders:
            letters = [t.name[-1] for t in entries if t.householders and t.name[:-1] == table.name]
            iterated = f"{letters[0]} to {letters[-1]}" if letters else ""
            rows.append((table.name, table.universe, iterated, table.title, str(table.n_cells)))
    terminal.table(rows, indent=0, gap=2)
    terminal.say()
    terminal.say(
        f"{len(entries)} tables with {n_cells} cells in all. Iterated tables are published again, with a "
        "letter, for householders of one race or ethnicity. To list cells: showthrough census tables P16."
    )


def _list_cells(name: str, chosen: CensusTables, terminal: Terminal) -> None:
    """Print the cells of one table: variable, label, and which homes or people they count."""
    from showthrough.census.blocks import BlockTables, PeopleTables
    from showthrough.census.people_tables import people_cells
    from showthrough.census.tables_2020 import census_cells

    if not isinstance(chosen, BlockTables):
        place = chosen.place if isinstance(chosen, PeopleTables) else "tract"
        title, counted = people_cells(name, chosen.census, place)
        if terminal.as_json:
            terminal.json(
                {"table": name.upper(), "title": title, "cells": [asdict(cell) for cell in counted]}
            )
        terminal.say(f"{name.upper()}: {title}", style="bold")
        for cell in counted:
            terminal.say(f"{cell.cell}  {cell.label}", indent=2, hang=10)
            terminal.say(cell.where or "everybody", indent=12, hang=2)
        return
    table, cells = census_cells(name, chosen.layout())
    if terminal.as_json:
        terminal.json({**table.to_plain(), "cells": [asdict(cell) for cell in cells]})
    whom = f", {table.householders}" if table.householders else ""
    terminal.say(f"{table.name}: {table.title}{whom} ({table.universe})", style="bold")
    for cell in cells:
        terminal.say(f"{cell.cell}  {cell.label}", indent=2, hang=10)
        terminal.say(cell.where or "all homes", indent=12, hang=2)


@census.command(help_epilogue=AUDIT_HELP)
def audit(
    homes: Homes = None,
    *,
    counts: Counts = (),
    which: BlockTableOptions = BlockTableOptions(),
    by: By = None,
    out: RunFolder,
    how: AuditOptions = AuditOptions(),
    keep_going: Annotated[
        bool,
        Parameter(
            group=SCOPE,
            negative="--no-keep-going",
            help="Report blocks that cannot be audited, and continue (the default).",
        ),
    ] = True,
) -> int:
    """Decide which claims about homes, or people, follow from the tables."""
    from showthrough.census.blocks import read_blocks
    from showthrough.cli.audit import audit_subject

    settings = how.settings(keep_going=keep_going)
    with how.cluster() as cluster:
        with how.terminal().step("reading"):
            chosen = which.tables(counts)
            blocks = read_blocks(
                homes, counts=counts, tables=chosen, by=by, keep_going=keep_going, engine=cluster
            )
        return audit_subject(blocks, out, how, settings=settings)


@census.command(help_epilogue=COUNTS_HELP)
def write_counts(
    homes: Annotated[
        Path, Parameter(group=INPUT, help="Microdata: one row per home, or with --people per person.")
    ],
    *,
    which: BlockTableOptions = BlockTableOptions(),
    by: By = None,
    out: Annotated[Path, Parameter(group=OUTPUT, help="The .parquet or .csv file to write.")],
    overwrite: Overwrite = False,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Count the cells that would be published, one row per block."""
    from showthrough.census.blocks import read_blocks
    from showthrough.census.counts import write_census
    from showthrough.files import check_new

    terminal, place = options.terminal(), which.one_place
    with terminal.step("reading"):
        blocks = read_blocks(homes, tables=which.tables(), by=by)
    check_new(out, overwrite=overwrite)
    for note in blocks.notes:
        terminal.note(note)
    with terminal.step("counting"):
        n_blocks = write_census((block.release for block in blocks.areas()), out, place=place)
    n_cells = len(blocks.layout.names)
    if terminal.as_json:
        terminal.json({"file": str(out), f"{place}s": n_blocks, "cells": n_cells})
    terminal.say(f"Wrote {n_cells:,} cells of {several(n_blocks, place)} to {out}.")
    return 0


@census.command(help_epilogue=PROTECT_HELP)
def protect(
    homes: Homes = None,
    *,
    counts: Counts = (),
    which: BlockTableOptions = BlockTableOptions(),
    by: By = None,
    area: Annotated[str | None, Parameter(group=SCOPE, help="Only this block.")] = None,
    how: ProtectOptions,
) -> int:
    """Withhold as little of the block tables as possible so that nothing forbidden follows."""
    from showthrough.census.blocks import read_blocks

    terminal = how.terminal()
    with terminal.step("reading"):
        blocks = read_blocks(homes, counts=counts, tables=which.tables(), by=by)
    return protect_subject(blocks, how, terminal, only=area)


import_module("showthrough.cli.census_results")  # adds commands of its own to census
