"""The commands about results for census blocks: ``summary``, ``prior`` and ``likely``.

A summary has the figures of a run over homes or people beside published ones. Priors are fitted to homes or
people, and probabilities hold under them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from showthrough.cli.census import BlockTableOptions, By, Counts, Homes, census
from showthrough.cli.likely import LikelyOptions, PriorOptions, fit_to, likely_subject
from showthrough.cli.options import INPUT, OUTPUT, EngineOptions, Overwrite, ReadOptions
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError
from showthrough.text import percent, several

if TYPE_CHECKING:
    from showthrough.census.figures import CensusSummary, PeopleFigures
    from showthrough.engine.engine import Engine
    from showthrough.records import Records
    from showthrough.release import Release
    from showthrough.tables.coverage import Coverage

__all__ = [
    "likely",
    "prior",
    "summary",
]

SUMMARY_HELP = """Examples:

  showthrough census summary run/
  showthrough census summary run/ --homes homes.parquet --out summary.json"""

#: The line of what needs no tables of tracts.
BY_BLOCKS = "… by tables of blocks alone"

#: The claims that a summary is about, by the names of its tables.
KINDS = {"singletons": "Claims about exactly one home", "all": "All claims"}

LIKELY_HELP = """Examples:

  showthrough census prior elsewhere.parquet --out prior.json
  showthrough census likely homes.parquet --prior prior.json \\
      --calibrate known.parquet --out likely/
  showthrough census likely people.parquet --people --prior prior.json \\
      --out likely/"""


@census.command(help_epilogue=SUMMARY_HELP)
def summary(
    run: Annotated[Path, Parameter(help="A run folder.")],
    *,
    homes: Annotated[
        Path | None, Parameter(group=INPUT, help="The homes audited, with all blocks of their tracts.")
    ] = None,
    by: By = None,
    out: Annotated[Path | None, Parameter(group=OUTPUT, help="A .json file to write as well.")] = None,
    overwrite: Overwrite = False,
    where: EngineOptions = EngineOptions(),
    options: ReadOptions = ReadOptions(),
) -> int:
    """Show how many homes the claims cover, and how surprising that is, beside the paper's figures.

    For a run about people: how many are proved in every column, and how many areas are fully determined.
    """
    from showthrough.census.figures import is_about_people, summarise_run
    from showthrough.files import check_new, write_text

    terminal = options.terminal()
    if out is not None:
        check_new(out, overwrite=overwrite)
    if is_about_people(run):
        if homes is not None:
            raise InputError("--homes is for runs about homes", file=str(run), remedy="leave it out")
        with where.open(terminal) as engine:
            return _summarise_people(run, out, terminal, engine)
    if homes is None:
        terminal.note("without --homes, homes covered are lower bounds and there are no baselines")
    with where.open(terminal) as engine, terminal.step("summarising"):
        found = summarise_run(run, homes, by=by or "block", engine=engine)
    if found.n_left_out:
        breaks = "breaks" if found.n_left_out == 1 else "break"
        terminal.note(
            f"{homes}: left out {several(found.n_left_out, 'home')} that {breaks} a rule of the schema"
        )
    content = found.to_plain()
    if out is not None:
        write_text(out, json.dumps(content, indent=1) + "\n")
    if terminal.as_json:
        terminal.json(content)
    _print_summary(found, terminal)
    if out is not None:
        terminal.say()
        terminal.say(f"Written to {out}")
    return 0


def _summarise_people(run: Path, out: Path | None, terminal: Terminal, engine: Engine) -> int:
    """Print the figures of a run over people."""
    from showthrough.census.figures import summarise_people
    from showthrough.files import write_text

    with terminal.step("summarising"):
        found = summarise_people(run, engine=engine)
    content = found.to_plain()
    if out is not None:
        write_text(out, json.dumps(content, indent=1) + "\n")
    if terminal.as_json:
        terminal.json(content)
    terminal.say(f"{found.n_people:,} people in {several(found.n_areas, 'area')}.", style="bold")
    terminal.table(_people_rows(found), indent=0, gap=2)
    if found.alone is not None:
        terminal.say()
        terminal.say(
            "What the tables of blocks prove alone is a lower bound: a claim whose proof uses tables "
            "of the tract may have another proof that does not."
        )
    if found.settled.n_whole is None:
        terminal.say()
        terminal.say(
            "The run left out claims about all columns: run the audit without --max-columns and "
            "--multiplicity."
        )
    if found.n_decided < found.n_areas:
        terminal.say()
        terminal.say(f"Not everything was decided in {several(found.n_areas - found.n_decided, 'area')}.")
    if out is not None:
        terminal.say()
        terminal.say(f"Written to {out}")
    return 0


def _people_rows(found: PeopleFigures) -> list[tuple[str, ...]]:
    """The figures of a run over people, beside the Bureau's."""
    settled, alone, totals = found.settled, found.alone, found.totals
    rows = [
        ("", "here", "share", "Census Bureau, 2010"),
        (
            "areas that only one dataset agrees with",
            *_share(settled.n_unique, found.n_areas),
            "70\xa0% of blocks",
        ),
    ]
    rows += [] if alone is None else [(BY_BLOCKS, *_share(alone.n_unique, found.n_areas), "")]
    rows.append(("people in them", *_share(settled.n_in_unique, found.n_people), "97 million of 309"))
    rows += [] if alone is None else [(BY_BLOCKS, *_share(alone.n_in_unique, found.n_people), "")]
    rows.append(("people proved in every column", *_share(settled.n_whole, found.n_people), ""))
    rows += [] if alone is None else [(BY_BLOCKS, *_share(alone.n_whole, found.n_people), "")]
    if totals.areas_compared:
        n = totals.records_compared
        rows.append(("people who differ between two datasets, found", *_share(totals.differ_low, n), ""))
        bureau = "at most 20.1\xa0%"
        rows.append(("… at most, proved", *_share(totals.differ_high, n), bureau))
    else:
        rows.append(("people who can differ between two datasets", *_share(None, 0), "at most 20.1\xa0%"))
    return rows


def _share(count: int | None, of: int) -> tuple[str, str]:
    if count is None:
        return "not asked", ""
    return f"{count:,}", percent(count / of, 1) if of else ""


def _print_summary(found: CensusSummary, terminal: Terminal) -> None:
    """Print the figures of a run over homes."""
    from showthrough.census.figures import PAPER_BLOCKS, PAPER_HOMES

    coverage = found.coverage
    terminal.say(
        f"{several(coverage.n_records, 'home')} in {several(coverage.n_areas, 'block')}. Verified claims "
        "of k columns that no published cell states:",
        style="bold",
    )
    for kind, title in KINDS.items():
        terminal.say()
        terminal.say(title)
        terminal.table(_covered_rows(coverage, kind), indent=0, gap=2)
    terminal.say()
    exact = all(row["exact"] for row in coverage.covered.to_pylist())
    terminal.say(
        f"{'' if exact else 'Homes covered are lower bounds that hold in every dataset. '}"
        f"Paper: Liu et al., Generate-then-Verify, tables 2 and 3: {PAPER_HOMES} homes in "
        f"{PAPER_BLOCKS} blocks of median size, one per state, 2010."
    )
    if not coverage.baselines.num_rows:
        return
    terminal.say()
    terminal.say(
        "How likely each claim would be in a block drawn at random from its tract or state, "
        "quartiles over claims:",
        style="bold",
    )
    for kind, title in KINDS.items():
        terminal.say()
        terminal.say(title)
        terminal.table(_baseline_rows(coverage, kind), indent=0, gap=2)


def _covered_rows(coverage: Coverage, kind: str) -> list[tuple[str, ...]]:
    """One row per k: homes covered, per block, as a share, the paper's, and blocks with a claim."""
    from showthrough.census.figures import PAPER_COVERED, PAPER_HOMES

    rows: list[tuple[str, ...]] = [
        ("k", "homes", "per block", "share", "paper's share", "blocks with one", "share")
    ]
    for covered, blocks in zip(coverage.covered.to_pylist(), coverage.areas.to_pylist(), strict=True):
        if covered["kind"] != kind:
            continue
        paper = PAPER_COVERED[kind].get(covered["k"])
        row = (
            str(covered["k"]),
            f"{covered['records']:,}",
            f"{covered['per_area']:.2f}",
            percent(covered["share"], 1),
            "" if paper is None else percent(paper / PAPER_HOMES, 1),
            f"{blocks['areas']:,}",
            percent(blocks["share"], 1),
        )
        rows.append(row)
    return rows


def _baseline_rows(coverage: Coverage, kind: str) -> list[tuple[str, ...]]:
    """One row per k: quartiles of the claims' probabilities, for the tract and for the state."""
    found = {(r["reference"], r["kind"], r["k"]): r for r in coverage.baselines.to_pylist()}
    rows: list[tuple[str, ...]] = [("k", "claims", "tract: ¼", "½", "¾", "max", "state: ¼", "½", "¾", "max")]
    for k in sorted({k for _, one, k in found if one == kind}):
        tract, state = (found.get((name, kind, k)) for name in ("tract", "state"))
        if tract is None or state is None:
            continue
        cells = [_probability(row[q]) for row in (tract, state) for q in ("q1", "median", "q3", "max")]
        rows.append((str(k), f"{tract['n']:,}", *cells))
    return rows


def _probability(value: float) -> str:
    """A probability in percent, short enough for a column."""
    if value == 0 or value >= 0.01:
        return f"{100 * value:.0f}\xa0%"
    return f"{100 * value:.1f}\xa0%" if value >= 0.0005 else "<.05\xa0%"


@census.command(help_epilogue=LIKELY_HELP)
def prior(
    homes: Annotated[
        Path, Parameter(group=INPUT, help="Microdata: one row per home, or with --people per person.")
    ],
    *,
    which: BlockTableOptions = BlockTableOptions(),
    by: By = None,
    out: Annotated[Path, Parameter(group=OUTPUT, help="The .json file to write.")],
    how: PriorOptions = PriorOptions(),
) -> int:
    """Fit a prior to homes or people of other blocks, for census likely."""

    def read() -> Records:
        import numpy as np

        from showthrough.census.blocks import read_blocks
        from showthrough.records import Records

        blocks = read_blocks(homes, tables=which.tables(), by=by)
        codes = [area.truth.codes for area in blocks.areas() if area.truth is not None]
        return Records(blocks.layout.schema, np.concatenate(codes))

    return fit_to(homes, read, out, how)


@census.command(help_epilogue=LIKELY_HELP)
def likely(
    homes: Homes = None,
    *,
    counts: Counts = (),
    which: BlockTableOptions = BlockTableOptions(),
    by: By = None,
    out: Annotated[Path, Parameter(group=OUTPUT, help="The folder to write.")],
    how: LikelyOptions,
) -> int:
    """Estimate what census tables about homes, or people, make likely without proving it."""
    from showthrough.census.blocks import read_blocks

    with how.terminal().step("reading"):
        tables = which.tables(counts)
        blocks = read_blocks(homes, counts=counts, tables=tables, by=by)

    def known(file: Path) -> Iterator[tuple[Release, Records]]:
        """Blocks whose homes or people are known."""
        found = read_blocks(file, tables=tables, by=how.calibrate_by or by)
        for area in found.areas():
            if area.truth is None:
                raise InputError("--calibrate needs homes or people, not counts", file=str(file))
            yield area.release, area.truth

    return likely_subject(blocks, out, how, known)
