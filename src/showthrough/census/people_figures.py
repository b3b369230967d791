"""What a run over people proves, beside the figures that the Census Bureau printed.

The Bureau's reconstruction of 2010: for 70 % of the inhabited blocks, with 97 million people in them, the
tables of blocks and tracts leave exactly one dataset in 38 ages; over all blocks at most 20.1 % of the
records can differ between two datasets (Abowd and others, 2023 and 2025).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute

from showthrough.engine.engine import Engine, LocalEngine
from showthrough.engine.handed import in_order_on
from showthrough.errors import RunError
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.totals import RunTotals

__all__ = [
    "PeopleFigures",
    "ProvedPeople",
    "is_about_people",
    "summarise_people",
]

#: Arrow's stubs do not know that fields are compared.
pc: Any = pyarrow.compute

#: What the Bureau printed for 2010: the share of blocks with one dataset, the people in them and in all, and
#: the largest share of records in which two datasets can differ.
BUREAU_UNIQUE, BUREAU_PEOPLE, BUREAU_NATION, BUREAU_DIFFER = 0.70, 97_000_000, 308_745_538, 0.201


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
