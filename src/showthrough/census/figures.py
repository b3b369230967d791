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
import pyarrow.compute as pc

from showthrough.census.homes_file import Homes, check_homes, numbered_within, read_checked_homes, read_homes
from showthrough.census.places import DIGITS
from showthrough.engine.engine import Engine
from showthrough.engine.pieces import checked_rows, cluster_of, each_piece, pieces_of
from showthrough.errors import RecordsError
from showthrough.frames import Source
from showthrough.schema import Schema
from showthrough.tables.coverage import Background, Coverage, evaluate, evaluate_nearby
from showthrough.tables.run.read import AuditRun
from showthrough.tables.stored import texts

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
    read part by part, wherever an ``engine`` has room. Where that is a cluster and homes are in several
    pieces, whoever reads a part reads the homes of its states.
    """
    if homes is None:
        return CensusSummary(evaluate(folder, engine=engine))
    source = Source.of(homes)
    if engine is not None and cluster_of(engine) is not None and pieces_of(source):
        return _summarise_by_states(AuditRun.open(folder), source, by=by, engine=engine)
    found = read_run_homes(folder, homes, by=by)
    return CensusSummary(census_summary(folder, found.table, engine=engine), found.n_left_out)


def _summarise_by_states(run: AuditRun, homes: Source, *, by: str, engine: Engine) -> CensusSummary:
    """The figures of a run, whose parts are summarised each with the homes of its states."""
    schema = run.layout.schema
    check_homes(homes, schema, by=by)
    reader = _HomesReader(schema, by, numbered_within(homes, by=by))
    looked = each_piece(homes, reader.look, engine)
    if not any(states for _, states in looked):
        raise homes.no_records()
    pieces = zip(pieces_of(homes), (states for _, states in looked), strict=True)
    nearby = _HomesNearby(reader, tuple(pieces), homes.name)
    coverage = evaluate_nearby(run, nearby, tuple(_PLACES), engine=engine)
    return CensusSummary(coverage, sum(n_left_out for n_left_out, _ in looked))


@dataclass(frozen=True, eq=False)
class _HomesReader:
    """How homes are read from a piece of a source; ``numbered`` are columns that name a block together."""

    schema: Schema
    by: str
    numbered: Mapping[str, int] | None

    def table(self, piece: Source) -> pa.Table:
        """The homes that break no rule, with their tracts and states."""
        return self._read(piece).table(places=tuple(_PLACES))

    def _read(self, piece: Source) -> Homes:
        found = read_checked_homes(piece, self.schema, by=self.by, numbered=self.numbered)
        checked_rows(piece, len(found.records))
        return found

    def look(self, piece: Source) -> tuple[int, frozenset[str]]:
        """How many homes break a rule, and in which states the others are."""
        found = self._read(piece)
        table = found.table(places=tuple(_PLACES))
        return len(found.records) - table.num_rows, frozenset(texts(table["state"].unique()))


@dataclass(frozen=True, eq=False)
class _HomesNearby:
    """The homes of the states that the areas of a part are in, from pieces of which the states are known."""

    reader: _HomesReader
    pieces: tuple[tuple[Source, frozenset[str]], ...]
    file: str | None

    def __call__(self, run: AuditRun) -> Background:
        """The homes, with their tracts and states as what blocks might have been drawn from."""
        states = {
            area[: DIGITS["state"]] for part in run.batches("areas", ["area"]) for area in texts(part["area"])
        }
        tables = [self.reader.table(piece) for piece, mine in self.pieces if mine & states]
        wanted = pa.array(sorted(states), pa.string())
        chosen = [table.filter(pc.is_in(table["state"], value_set=wanted)) for table in tables]
        if not chosen:
            chosen = [self.reader.table(self.pieces[0][0]).slice(0, 0)]
        homes = pa.concat_tables(chosen)
        _check_known(run, homes, file=self.file, by=self.reader.by)
        return Background.of_places(homes, self.reader.schema, _PLACES)


def read_run_homes(folder: str | Path, homes: str | PathLike[str], *, by: str = "block") -> RunHomes:
    """The homes that a run was about, and others of their tracts and states, from a file."""
    run = AuditRun.open(folder)
    read = read_homes(homes, run.layout.schema, by=by)
    table = read.table(places=tuple(_PLACES))
    _check_known(run, table, file=str(homes), by=by)
    return RunHomes(table, run.layout.schema, len(read.records) - table.num_rows)


def _check_known(run: AuditRun, homes: pa.Table, *, file: str | None, by: str) -> None:
    """Raise if a block with proved claims has no homes."""
    known = set(homes["block"].to_pylist())
    for part in run.batches("areas", ["area", "verified"]):
        for row in part.to_pylist():
            if row["verified"] and row["area"] not in known:
                raise RecordsError(
                    "a block of the run has no homes in this file",
                    file=file,
                    column=by,
                    found=row["area"],
                    remedy="give the homes that were audited",
                )


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
