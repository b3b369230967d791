"""What a run over people proves, beside the figures that the Census Bureau printed.

The Bureau's reconstruction of 2010: for 70 % of the inhabited blocks, with 97 million people in them, the
tables of blocks and tracts leave exactly one dataset in 38 ages; over all blocks at most 20.1 % of the
records can differ between two datasets (Abowd and others, 2023 and 2025).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from showthrough.errors import RunError
from showthrough.tables.run.read import AuditRun

__all__ = [
    "PeopleFigures",
    "is_about_people",
    "summarise_people",
]

#: What the Bureau printed for 2010: the share of blocks with one dataset, and the people in them.
BUREAU_UNIQUE, BUREAU_PEOPLE, BUREAU_NATION = 0.70, 97_000_000, 308_745_538


@dataclass(frozen=True)
class PeopleFigures:
    """Figures of a run over people.

    Attributes
    ----------
    n_areas, n_decided
        How many areas there are, and of how many every claim was decided.
    n_people
        The people in areas whose number of people is proved.
    n_unique, n_in_unique
        The areas that one dataset alone agrees with, and the people in them.
    n_whole
        The people whose every column is proved; None if the run left out claims about all columns.
    """

    n_areas: int
    n_decided: int
    n_people: int
    n_unique: int
    n_in_unique: int
    n_whole: int | None

    def to_plain(self) -> dict[str, object]:
        """As ``census summary --json`` prints it, with the Bureau's figures beside."""
        return {
            "areas": self.n_areas,
            "areas_decided": self.n_decided,
            "people": self.n_people,
            "unique_areas": self.n_unique,
            "people_in_unique_areas": self.n_in_unique,
            "people_proved_in_every_column": self.n_whole,
            "bureau": {
                "unique_blocks": BUREAU_UNIQUE,
                "people_in_unique_blocks": BUREAU_PEOPLE,
                "people": BUREAU_NATION,
            },
        }


def is_about_people(folder: str | Path) -> bool:
    """Whether a run is about people, and not about homes."""
    return AuditRun.open(folder).layout.schema.record == "person"


def summarise_people(folder: str | Path) -> PeopleFigures:
    """The figures of a run over people."""
    run = AuditRun.open(folder)
    if run.layout.schema.record != "person":
        raise RunError("the run is not about people", file=str(folder), remedy="give one that --people made")
    areas = run.table("areas").select(["status", "records", "unique"]).to_pylist()
    unique = [row for row in areas if row["unique"]]
    return PeopleFigures(
        len(areas),
        sum(row["status"] == "decided" for row in areas),
        sum(row["records"] or 0 for row in areas),
        len(unique),
        sum(row["records"] or 0 for row in unique),
        _whole(run),
    )


def _whole(run: AuditRun) -> int | None:
    """The people that verified claims about all columns count: no two of these are about one person."""
    n_columns, scope = len(run.layout.schema.names), run.manifest["parameters"]["scope"]
    most = scope["max_columns"]
    if (most is not None and most < n_columns) or scope["multiplicity"] is not None:
        return None
    total = 0
    for part in run.batches("claims", ["k", "multiplicity", "verdict"]):
        rows = part.to_pylist()
        total += sum(r["multiplicity"] for r in rows if r["k"] == n_columns and r["verdict"] == "verified")
    return total
