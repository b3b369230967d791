"""What census tables make likely: priors fitted to homes or people, and probabilities under them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from showthrough.cli.census import BlockTableOptions, By, Counts, Homes, census
from showthrough.cli.likely import LikelyOptions, likely_subject
from showthrough.cli.options import INPUT, OUTPUT, SCOPE, Overwrite, ReadOptions, Seed
from showthrough.errors import InputError

if TYPE_CHECKING:
    from showthrough.records import Records
    from showthrough.release import Release

__all__ = [
    "likely",
    "prior",
]

HELP = """Examples:

  showthrough census prior elsewhere.parquet --out prior.json
  showthrough census likely homes.parquet --prior prior.json \\
      --calibrate known.parquet --out likely/
  showthrough census likely people.parquet --people --prior prior.json \\
      --out likely/"""


@census.command(help_epilogue=HELP)
def prior(
    homes: Annotated[
        Path, Parameter(group=INPUT, help="Microdata: one row per home, or with --people per person.")
    ],
    *,
    which: BlockTableOptions = BlockTableOptions(),
    by: By = None,
    out: Annotated[Path, Parameter(group=OUTPUT, help="The .json file to write.")],
    model: Annotated[
        Literal["bayes-nets", "latent-classes", "independent", "uniform"],
        Parameter(group=SCOPE, help="What to fit (default: bayes-nets)."),
    ] = "bayes-nets",
    name: Annotated[
        str | None, Parameter(group=SCOPE, help="What to call it (default: the file's name).")
    ] = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Fit a prior to homes or people of other blocks, for census likely."""
    import numpy as np

    from showthrough.census.blocks import read_blocks
    from showthrough.files import check_new
    from showthrough.formats.prior_file import write_prior
    from showthrough.records import Records
    from showthrough.tables.likely.fit import fit_prior

    terminal = options.terminal()
    check_new(out, overwrite=overwrite)
    with terminal.step("reading"):
        blocks = read_blocks(homes, tables=which.tables(), by=by)
        codes = [area.truth.codes for area in blocks.areas() if area.truth is not None]
        records = Records(blocks.layout.schema, np.concatenate(codes))
    with terminal.step("fitting"):
        found = fit_prior(records, model=model, name=name or homes.name, seed=seed)
    write_prior(found, out)
    if terminal.as_json:
        terminal.json({"file": str(out), "name": found.name, "description": found.description})
    terminal.say(f"Prior “{found.name}”: {found.description}.", style="bold")
    terminal.say(f"Written to {out}")
    return 0


@census.command(help_epilogue=HELP)
def likely(
    homes: Homes = None,
    *,
    counts: Counts = (),
    which: BlockTableOptions = BlockTableOptions(),
    by: By = None,
    out: Annotated[Path, Parameter(group=OUTPUT, help="The folder to write.")],
    how: LikelyOptions,
) -> int:
    """Say what census tables about homes, or people, make likely without proving it."""
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
