"""What census tables make likely: priors fitted to homes or people, and probabilities under them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from showthrough.cli.census import BlockTableOptions, By, Counts, Homes, census
from showthrough.cli.likely import LikelyOptions, PriorOptions, fit_to, likely_subject
from showthrough.cli.options import INPUT, OUTPUT
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
