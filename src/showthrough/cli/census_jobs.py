"""The commands about census blocks that do more than one call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.table import Table as Grid

from showthrough.census.counts import write_census
from showthrough.census.homes_file import read_homes
from showthrough.census.simulate import write_households
from showthrough.census.tables_2020 import CensusTable, census_catalogue, census_labels
from showthrough.cli.census_subject import Blocks, Choice
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, RecordsError, closest
from showthrough.files import check_new, write_text
from showthrough.release import Release, Table
from showthrough.scratch import private_scratch
from showthrough.tables.coverage import Coverage, census_summary, evaluate
from showthrough.tables.run.batch import Area, Broken
from showthrough.tables.run.verify import open_run

__all__ = [
    "list_tables",
    "show_table",
    "simulate_homes",
    "summarise_blocks",
    "write_block_counts",
]

#: Homes covered by claims of 5 to 10 columns in the paper's 50 blocks, one of median size per state.
PAPER_BLOCKS, PAPER_HOMES = 50, 486
PAPER: Mapping[str, Mapping[int, int]] = {
    "singletons": dict(zip(range(5, 11), (166, 148, 109, 61, 19, 2), strict=True)),
    "all": dict(zip(range(5, 11), (431, 379, 274, 179, 30, 2), strict=True)),
}

TITLES = {"singletons": "Claims about exactly one home", "all": "All claims"}


def simulate_homes(
    out: Path, terminal: Terminal, *, blocks: int, seed: int, children: bool, overwrite: bool = False
) -> int:
    """Write homes that look like the nation's, some tracts at a time."""
    check_new(out, overwrite=overwrite)
    if out.suffix.lower() != ".parquet":
        raise InputError(
            "homes are written as Parquet", file=str(out), found=out.suffix, remedy="end it in .parquet"
        )
    with terminal.step("simulating"):
        n_homes = write_households(out, blocks, seed=seed, children=children)
    if terminal.as_json:
        terminal.json({"file": str(out), "homes": n_homes, "blocks": blocks, "seed": seed})
    terminal.say(f"Wrote {_several(n_homes, 'home')} in {_several(blocks, 'block')} to {out}.")
    return 0


def list_tables(terminal: Terminal) -> int:
    """All block tables; iterations on the line of the table they repeat."""
    tables = census_catalogue()
    n_cells = sum(table.n_cells for table in tables)
    if terminal.as_json:
        terminal.json({"tables": [_described(table) for table in tables], "cells": n_cells})
    grid = _grid(("table", "counts", "iterated", "cells", "title"), left={0, 1, 2, 4})
    for table in tables:
        if not table.householders:
            letters = [t.name[-1] for t in tables if t.householders and t.name[:-1] == table.name]
            spread = f"{letters[0]} to {letters[-1]}" if letters else ""
            grid.add_row(table.name, table.universe, spread, str(table.n_cells), table.title)
    _print(grid, terminal)
    terminal.say()
    terminal.say(
        f"{len(tables)} tables with {n_cells} cells in all. Iterated tables are published again, with a "
        "letter, for householders of one race or ethnicity. The cells: showthrough census tables P16."
    )
    return 0


def show_table(name: str, choice: Choice, terminal: Terminal) -> int:
    """The cells of one table: code, label, and which homes they count."""
    layout = choice.layout()
    by_name = {table.name: table for table in layout.tables}
    if name.upper() not in by_name:
        raise InputError("there is no such block table", found=name, remedy=closest(name.upper(), by_name))
    table = by_name[name.upper()]
    entry = next(one for one in census_catalogue() if one.name == table.name)
    cells = list(_cells(table))
    if terminal.as_json:
        terminal.json({**_described(entry), "cells": cells})
    whom = f", {entry.householders}" if entry.householders else ""
    terminal.say(f"{entry.name}: {entry.title}{whom} ({entry.universe})", style="bold")
    for cell in cells:
        terminal.say(f"{cell['cell']}  {cell['label']}", indent=2, hang=10)
        terminal.say(str(cell["where"]) or "all homes", indent=12, hang=2)
    return 0


def _cells(table: Table) -> Iterator[dict[str, str]]:
    labels = census_labels()
    for cell in table.cells:
        yield {"cell": cell.name, "label": labels[cell.name], "where": str(cell.selection)}


def _described(table: CensusTable) -> dict[str, Any]:
    return {
        "table": table.name,
        "title": table.title,
        "counts": table.universe,
        "householders": table.householders or "all",
        "iterated": bool(table.householders),
        "cells": table.n_cells,
    }


def write_block_counts(blocks: Blocks, out: Path, terminal: Terminal, *, overwrite: bool = False) -> int:
    """The cells that would be published about homes, one row per block."""
    check_new(out, overwrite=overwrite)
    for note in blocks.notes:
        terminal.note(note)
    with terminal.step("counting"):
        n_blocks, n_cells = write_census(_countable(blocks), out), len(blocks.layout.names)
    if terminal.as_json:
        terminal.json({"file": str(out), "blocks": n_blocks, "cells": n_cells})
    terminal.say(f"Wrote {n_cells} cells of {_several(n_blocks, 'block')} to {out}.")
    return 0


def _countable(blocks: Blocks) -> Iterator[Release]:
    with private_scratch() as scratch:
        for block in blocks.stream(scratch):
            if isinstance(block, Broken):
                raise RecordsError(block.why)
            if isinstance(block, Area):
                yield block.release
            else:
                yield blocks.layout.tabulate(block.records, area=block.area)


def summarise_blocks(
    folder: Path,
    terminal: Terminal,
    *,
    homes: Path | None,
    by: str,
    out: Path | None,
    overwrite: bool = False,
) -> int:
    """The paper's tables 2 and 3 and the data of its figures 2 and 3, for a run."""
    if out is not None:
        check_new(out, overwrite=overwrite)
    with terminal.step("summarising"):
        summary = _summary(folder, homes, by, terminal)
    content = _summary_content(summary)
    if out is not None:
        write_text(out, json.dumps(content, indent=1) + "\n")
    if terminal.as_json:
        terminal.json(content)
    _say_summary(summary, terminal)
    if out is not None:
        terminal.say()
        terminal.say(f"Written to {out}")
    return 0


def _summary(folder: Path, homes: Path | None, by: str, terminal: Terminal) -> Coverage:
    run, _, layout = open_run(folder)
    if homes is None:
        terminal.note("without --homes, homes covered are lower bounds and there are no baselines")
        return evaluate(folder)
    read = read_homes(homes, layout.schema, by=by)
    table = read.table(places=("tract", "state"))
    known = set(table["block"].to_pylist())
    audited = pq.read_table(run.folder / "areas.parquet", columns=["area", "verified"]).to_pylist()
    for row in audited:
        if row["verified"] and row["area"] not in known:
            raise RecordsError(
                "a block of the run has no homes in this file",
                file=str(homes),
                column=by,
                found=row["area"],
                remedy="name the homes that were audited",
            )
    left = len(read.records) - table.num_rows
    if left:
        breaks = "breaks" if left == 1 else "break"
        terminal.note(f"{homes}: left out {_several(left, 'home')} that {breaks} a rule of the schema")
    return census_summary(folder, table)


def _summary_content(summary: Coverage) -> dict[str, Any]:
    return {
        "blocks": summary.n_areas,
        "homes": summary.n_records,
        "covered": summary.covered.to_pylist(),
        "blocks_with_claims": summary.areas.to_pylist(),
        "baselines": summary.baselines.to_pylist(),
        "paper": {
            "blocks": PAPER_BLOCKS,
            "homes": PAPER_HOMES,
            "covered": {kind: {str(k): n for k, n in row.items()} for kind, row in PAPER.items()},
        },
    }


def _say_summary(summary: Coverage, terminal: Terminal) -> None:
    terminal.say(
        f"{_several(summary.n_records, 'home')} in {_several(summary.n_areas, 'block')}. Verified claims "
        "of k columns that no published cell states:",
        style="bold",
    )
    for kind, title in TITLES.items():
        terminal.say()
        terminal.say(title)
        terminal.table(_coverage(summary, kind), indent=0, gap=2)
    terminal.say()
    exact = all(row["exact"] for row in summary.covered.to_pylist())
    terminal.say(
        f"{'' if exact else 'Homes covered are lower bounds that hold in every dataset. '}"
        f"Paper: Liu et al., Generate-then-Verify, tables 2 and 3: {PAPER_HOMES} homes in "
        f"{PAPER_BLOCKS} blocks of median size, one per state, 2010."
    )
    if summary.baselines.num_rows:
        terminal.say()
        terminal.say(
            "How likely each claim would be in a block drawn at random from its tract or state, "
            "quartiles over claims:",
            style="bold",
        )
    for kind, title in TITLES.items() if summary.baselines.num_rows else ():
        terminal.say()
        terminal.say(title)
        terminal.table(_baselines(summary, kind), indent=0, gap=2)


def _coverage(summary: Coverage, kind: str) -> list[tuple[str, ...]]:
    """One row per k: homes covered, per block, as a share, the paper's, and blocks with a claim."""
    lines = [("k", "homes", "per block", "share", "paper's share", "blocks with one", "share")]
    pairs = zip(summary.covered.to_pylist(), summary.areas.to_pylist(), strict=True)
    for covered, blocks in pairs:
        if covered["kind"] != kind:
            continue
        paper = PAPER[kind].get(covered["k"])
        row = (
            str(covered["k"]),
            f"{covered['records']:,}",
            f"{covered['per_area']:.2f}",
            _percent(covered["share"]),
            "" if paper is None else _percent(paper / PAPER_HOMES),
            f"{blocks['areas']:,}",
            _percent(blocks["share"]),
        )
        lines.append(row)
    return lines


def _baselines(summary: Coverage, kind: str) -> list[tuple[str, ...]]:
    rows = {(r["reference"], r["kind"], r["k"]): r for r in summary.baselines.to_pylist()}
    lines: list[tuple[str, ...]] = [("k", "claims", "tract: ¼", "½", "¾", "max", "state: ¼", "½", "¾", "max")]
    for k in sorted({k for _, one, k in rows if one == kind}):
        tract, state = (rows.get((name, kind, k)) for name in ("tract", "state"))
        if tract is None or state is None:
            continue
        cells = [_small(row[q]) for row in (tract, state) for q in ("q1", "median", "q3", "max")]
        lines.append((str(k), f"{tract['n']:,}", *cells))
    return lines


def _grid(heads: Sequence[str], *, left: set[int]) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for at, head in enumerate(heads):
        grid.add_column(head, justify="left" if at in left else "right", no_wrap=at != max(left))
    return grid


def _print(grid: Grid, terminal: Terminal) -> None:
    with terminal.out.capture() as shown:
        terminal.out.print(grid)
    for line in shown.get().splitlines():
        terminal.line(line.rstrip())


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _small(value: float) -> str:
    """A probability in percent, as short as it may be."""
    if value >= 0.01 or value == 0:
        return f"{100 * value:.0f} %"
    return f"{100 * value:.1f} %" if value >= 0.0005 else "<.05 %"


def _several(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
