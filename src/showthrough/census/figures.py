"""What a run over census blocks covers, beside the figures of the paper.

The paper is Liu et al., *Generate-then-Verify*: 50 blocks of median size, one per state, 2010. Its
tables 2 and 3 count the homes covered by verified claims of k columns; its figures 2 and 3 show the
blocks with such claims, and how likely the claims are in a block drawn at random.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import pyarrow as pa

from showthrough.census.homes_file import read_homes
from showthrough.engine.engine import Engine
from showthrough.errors import RecordsError
from showthrough.schema import Schema
from showthrough.tables.coverage import Background, Coverage, evaluate
from showthrough.tables.run.read import AuditRun

__all__ = [
    "PAPER_BLOCKS",
    "PAPER_COVERED",
    "PAPER_HOMES",
    "CensusSummary",
    "RunHomes",
    "census_summary",
    "read_run_homes",
    "summarise_run",
]

#: Homes covered by claims of 5 to 10 columns in the paper's blocks.
PAPER_BLOCKS, PAPER_HOMES = 50, 486
PAPER_COVERED: Mapping[str, Mapping[int, int]] = {
    "singletons": dict(zip(range(5, 11), (166, 148, 109, 61, 19, 2), strict=True)),
    "all": dict(zip(range(5, 11), (431, 379, 274, 179, 30, 2), strict=True)),
}

#: The places that blocks might have been drawn from.
_PLACES = {"tract": "tract", "state": "state"}


@dataclass(frozen=True, eq=False)
class CensusSummary:
    """The coverage of a run over blocks. ``n_left_out`` homes were not used: they break a rule."""

    coverage: Coverage
    n_left_out: int = 0

    def to_plain(self) -> dict[str, object]:
        """As ``census summary --json`` prints it, with the paper's figures beside."""
        return {
            "blocks": self.coverage.n_areas,
            "homes": self.coverage.n_records,
            "covered": self.coverage.covered.to_pylist(),
            "blocks_with_claims": self.coverage.areas.to_pylist(),
            "baselines": self.coverage.baselines.to_pylist(),
            "paper": {
                "blocks": PAPER_BLOCKS,
                "homes": PAPER_HOMES,
                "covered": {kind: {str(k): n for k, n in row.items()} for kind, row in PAPER_COVERED.items()},
            },
        }


@dataclass(frozen=True, eq=False)
class RunHomes:
    """The homes of a run's blocks, with tract and state; ``n_left_out`` others break a rule."""

    table: pa.Table
    schema: Schema
    n_left_out: int

    @property
    def background(self) -> Background:
        """The homes, with their tracts and states as what blocks might have been drawn from."""
        return Background.of_places(self.table, self.schema, _PLACES)


def summarise_run(
    folder: str | Path,
    homes: str | PathLike[str] | None = None,
    *,
    by: str = "block",
    engine: Engine | None = None,
) -> CensusSummary:
    """The figures of a run over blocks; ``homes`` is a file with the homes of their tracts.

    Without homes, the homes covered are lower bounds and there are no baselines. A run in several parts is
    read part by part, wherever an ``engine`` has room.
    """
    if homes is None:
        return CensusSummary(evaluate(folder, engine=engine))
    found = read_run_homes(folder, homes, by=by)
    return CensusSummary(census_summary(folder, found.table, engine=engine), found.n_left_out)


def read_run_homes(folder: str | Path, homes: str | PathLike[str], *, by: str = "block") -> RunHomes:
    """The homes that a run was about, and others of their tracts and states, from a file."""
    run = AuditRun.open(folder)
    read = read_homes(homes, run.layout.schema, by=by)
    table = read.table(places=tuple(_PLACES))
    known = set(table["block"].to_pylist())
    for part in run.batches("areas", ["area", "verified"]):
        for row in part.to_pylist():
            if row["verified"] and row["area"] not in known:
                raise RecordsError(
                    "a block of the run has no homes in this file",
                    file=str(homes),
                    column=by,
                    found=row["area"],
                    remedy="give the homes that were audited",
                )
    return RunHomes(table, run.layout.schema, len(read.records) - table.num_rows)


def census_summary(
    folder: str | Path,
    homes: pa.Table | None = None,
    *,
    places: Mapping[str, str] = _PLACES,
    block: str = "block",
    engine: Engine | None = None,
) -> Coverage:
    """The figures of a run over blocks, with tracts and states as references.

    ``homes`` are the records of all blocks of the tracts and states concerned, with the columns of
    the schema, ``block``, and those that ``places`` maps reference names to. Without homes, the
    records covered are lower bounds and there are no baselines.
    """
    if homes is None:
        return evaluate(folder, engine=engine)
    known = Background.of_places(homes, AuditRun.open(folder).layout.schema, places, block=block)
    return evaluate(folder, known.records, references=known.references, engine=engine)
