"""What a run over census blocks proves, beside published figures: for homes, and for people.

*Homes.* The paper is Liu et al., *Generate-then-Verify*: 50 blocks of median size, one per state, 2010. Its
tables 2 and 3 count the homes covered by verified claims of k columns; its figures 2 and 3 show the
blocks with such claims, and how likely the claims are in a block drawn at random.

*People.* The Census Bureau's reconstruction of 2010: for 70 % of the inhabited blocks, with 97 million
people in them, the tables of blocks and tracts leave exactly one dataset in 38 ages; over all blocks at
most 20.1 % of the records can differ between two datasets (Abowd and others, 2023 and 2025).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute

from showthrough.census.blocks import Homes, check_homes, numbered_within, read_checked_homes, read_homes
from showthrough.census.places import DIGITS
from showthrough.engine.engine import Engine, LocalEngine
from showthrough.engine.handed import in_order_on
from showthrough.engine.pieces import checked_rows, cluster_of, each_piece, pieces_of
from showthrough.errors import RecordsError, RunError
from showthrough.frames import Source
from showthrough.schema import Schema
from showthrough.tables.coverage import Background, Coverage, evaluate, evaluate_nearby
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.totals import RunTotals
from showthrough.tables.stored import texts

__all__ = [
    "PAPER_BLOCKS",
    "PAPER_COVERED",
    "PAPER_HOMES",
    "CensusSummary",
    "PeopleFigures",
    "ProvedPeople",
    "RunHomes",
    "census_summary",
    "is_about_people",
    "read_run_homes",
    "summarise_people",
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

#: Arrow's stubs do not know that fields are compared.
pc: Any = pyarrow.compute

#: What the Bureau printed for 2010: the share of blocks with one dataset, the people in them and in all, and
#: the largest share of records in which two datasets can differ.
BUREAU_UNIQUE, BUREAU_PEOPLE, BUREAU_NATION, BUREAU_DIFFER = 0.70, 97_000_000, 308_745_538, 0.201


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


@dataclass(frozen=True)
class ProvedPeople:
    """What is proved completely: areas that only one dataset agrees with, the people in them, and people.

    ``n_whole`` are the people whose every column is proved; None if the run left out such claims.
    """

    n_unique: int = 0
    n_in_unique: int = 0
    n_whole: int | None = 0

    def and_(self, other: ProvedPeople) -> ProvedPeople:
        """The same of two groups of areas."""
        known = self.n_whole is not None and other.n_whole is not None
        return ProvedPeople(
            self.n_unique + other.n_unique,
            self.n_in_unique + other.n_in_unique,
            (self.n_whole or 0) + (other.n_whole or 0) if known else None,
        )

    def to_plain(self) -> dict[str, object]:
        """As ``census summary --json`` prints it."""
        return {
            "unique_areas": self.n_unique,
            "people_in_unique_areas": self.n_in_unique,
            "people_proved_in_every_column": self.n_whole,
        }


@dataclass(frozen=True)
class PeopleFigures:
    """Figures of a run over people.

    Attributes
    ----------
    n_areas, n_decided
        How many areas there are, and of how many every claim was decided.
    n_people
        The people in areas whose number of people is proved.
    settled
        What is proved completely by all tables.
    alone
        Of blocks in tracts: at least so much of it is proved by the tables of the blocks alone. None in
        other runs.
    totals
        What the run adds up to, with how different two datasets can be if that was asked for.
    """

    n_areas: int
    n_decided: int
    n_people: int
    settled: ProvedPeople
    alone: ProvedPeople | None
    totals: RunTotals

    def to_plain(self) -> dict[str, object]:
        """As ``census summary --json`` prints it, with the Bureau's figures beside."""
        totals = self.totals
        return {
            "areas": self.n_areas,
            "areas_decided": self.n_decided,
            "people": self.n_people,
            **self.settled.to_plain(),
            "by_block_tables_alone": None if self.alone is None else self.alone.to_plain(),
            "variability": {
                "areas": totals.areas_compared,
                "people": totals.records_compared,
                "differ_low": totals.differ_low,
                "differ_high": totals.differ_high,
            }
            if totals.areas_compared
            else None,
            "bureau": {
                "unique_blocks": BUREAU_UNIQUE,
                "people_in_unique_blocks": BUREAU_PEOPLE,
                "people": BUREAU_NATION,
                "largest_share_that_differs": BUREAU_DIFFER,
            },
        }


def is_about_people(folder: str | Path) -> bool:
    """Whether a run is about people, and not about homes."""
    return AuditRun.open(folder).layout.schema.record == "person"


def summarise_people(folder: str | Path, *, engine: Engine | None = None) -> PeopleFigures:
    """The figures of a run over people; one in several parts is read part by part, on an engine."""
    run = AuditRun.open(folder)
    if run.layout.schema.record != "person":
        raise RunError("the run is not about people", file=str(folder), remedy="give one that --people made")
    total = _PartFigures()
    for part in in_order_on(engine or LocalEngine(), _PartFigures.of, run.parts):
        total = total.and_(part)
    nested = total.alone if run.is_nested and total.settled.n_whole is not None else None
    return PeopleFigures(total.n_areas, total.n_decided, total.n_people, total.settled, nested, run.summary)


@dataclass(frozen=True)
class _PartFigures:
    """The figures of some areas of a run."""

    n_areas: int = 0
    n_decided: int = 0
    n_people: int = 0
    settled: ProvedPeople = ProvedPeople()
    alone: ProvedPeople = ProvedPeople()

    @classmethod
    def of(cls, run: AuditRun) -> _PartFigures:
        """Those of a part."""
        columns = ["area", "status", "records", "unique"]
        areas = [row for part in run.batches("areas", columns) for row in part.to_pylist()]
        unique = [row for row in areas if row["unique"]]
        whole = _whole(run)
        in_unique = sum(row["records"] or 0 for row in unique)
        n_whole = None if whole is None else sum(every for every, _ in whole.values())
        return cls(
            len(areas),
            sum(row["status"] == "decided" for row in areas),
            sum(row["records"] or 0 for row in areas),
            ProvedPeople(len(unique), in_unique, n_whole),
            _alone(areas, whole or {}),
        )

    def and_(self, other: _PartFigures) -> _PartFigures:
        """Those of two parts."""
        return _PartFigures(
            self.n_areas + other.n_areas,
            self.n_decided + other.n_decided,
            self.n_people + other.n_people,
            self.settled.and_(other.settled),
            self.alone.and_(other.alone),
        )


def _alone(areas: Sequence[Mapping[str, Any]], whole: Mapping[str, tuple[int, int]]) -> ProvedPeople:
    """What the proofs settle that need no table of a tract."""
    alone = {row["area"]: whole.get(row["area"], (0, 0))[1] for row in areas}
    unique = [row["records"] for row in areas if row["unique"] and alone[row["area"]] == row["records"]]
    return ProvedPeople(len(unique), sum(unique), sum(alone.values()))


def _whole(run: AuditRun) -> dict[str, tuple[int, int]] | None:
    """Per area the people that verified claims about all columns count: no two of these are about one person.

    First all, then those whose proofs need no table of a larger area. None if the run left such claims out.
    """
    n_columns, scope = len(run.layout.schema.names), run.manifest["parameters"]["scope"]
    most = scope["max_columns"]
    if (most is not None and most < n_columns) or scope["multiplicity"] is not None:
        return None
    found: dict[str, tuple[int, int]] = {}
    for part in run.batches("claims", ["area", "k", "multiplicity", "verdict", "evidence"]):
        proved = (pc.field("k") == n_columns) & (pc.field("verdict") == "verified")
        for row in part.filter(proved).to_pylist():
            every, alone = found.get(row["area"], (0, 0))
            n = row["multiplicity"]
            found[row["area"]] = every + n, alone + (n if row["evidence"] != "nested" else 0)
    return found
