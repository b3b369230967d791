"""What a publication states about itself: all a reader needs to invert it, and nothing more.

There is no seed in it, no original count, no allotment, no hash or name of the input, no time.
With partitioning, however, the values of sub-tables and their retentions follow from the totals of the
sensitive values. Sizes are random, but for sub-tables whose values are in no others: together these hold
exactly the records with their values. The promise, which is about a person's value, holds for readers who
know the shares in the sub-tables; if it says so, even for readers who know all totals.

The number of records that were left out is stated, because no count could be believed without it. Of an
anatomy that cut only one value it tells the total of that value, as the second table tells all others.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from showthrough.errors import InputError
from showthrough.files import read_json, write_text
from showthrough.frames.bins import Bins
from showthrough.microdata.plan import SubTable
from showthrough.microdata.promises import LDiversity, Promise, RhoPrivacy
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy

__all__ = [
    "DATA",
    "KIND",
    "MANIFEST",
    "MOST_COMBINED",
    "MOST_ORDERED",
    "SENSITIVE",
    "Manifest",
    "read_manifest",
    "write_manifest",
]

MANIFEST = "publication.json"

#: What the manifest calls its folder.
KIND = "showthrough publication"

#: The file of the rows, and of the second table of an anatomy, by format.
DATA = {"parquet": "data.parquet", "csv": "data.csv"}
SENSITIVE = {"parquet": "sensitive.parquet", "csv": "sensitive.csv"}

#: The most values of an ordinal publication, and of several columns that were perturbed each for itself.
MOST_ORDERED = 300
MOST_COMBINED = 20_000

#: The largest size of a manifest, in bytes.
LARGEST = 2**30


class TableEntry(BaseModel):
    """A sub-table: its retention, and the positions of its values in the domain."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    retention: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
    values: Annotated[tuple[int, ...], Field(min_length=1)]
    #: Of ordinal perturbation: how fast the chance to show a value falls with its distance, and how far.
    decay: Annotated[float, Field(gt=0, le=1e6)] | None = None
    floor: Annotated[float, Field(ge=0, lt=1)] | None = None
    #: Of several columns that were perturbed each for itself: the retention of each.
    retentions: tuple[Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)], ...] | None = None


class BinsEntry(BaseModel):
    """The bins of a column of numbers: where they end, and whether the numbers are whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ends: Annotated[tuple[Annotated[float, Field(allow_inf_nan=False)], ...], Field(min_length=1)]
    whole: bool

    @property
    def bins(self) -> Bins:
        """The bins with their names."""
        return Bins.of(self.ends, whole=self.whole)


class Manifest(BaseModel):
    """The content of ``publication.json``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["showthrough publication"] = KIND
    version: Literal[1] = 1
    method: Literal["uniform", "partitioned", "ordinal", "product", "sampled", "anatomy"]
    format: Literal["parquet", "csv"]
    records: Annotated[int, Field(ge=1)]
    public: tuple[str, ...]
    sensitive: Annotated[tuple[str, ...], Field(min_length=1)]
    #: Every sensitive value as text, one entry for each sensitive column.
    domain: Annotated[tuple[tuple[str, ...], ...], Field(min_length=1)]
    tables: tuple[TableEntry, ...]
    #: The column that states which sub-table (1, 2, …) or which bucket a row belongs to.
    label: str | None = None
    #: The column that states how many copies of each trial were published.
    copies: str | None = None
    #: How the trials of a sampled publication came about: drawn with replacement, whatever the frequencies
    #: are (independent), or by bands of frequencies, or as printed in the paper. Older folders: by bands.
    trials: Literal["independent", "banded", "printed"] | None = None
    #: How many trials independent ones are together, and how many trials of one single group would give a
    #: share over all records as precisely.
    drawn: Annotated[int, Field(ge=1)] | None = None
    effective: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    #: How many records were left out; older folders of an anatomy do not state it.
    suppressed: Annotated[int, Field(ge=0)] | None = None
    #: For merged public attributes, each label's original values.
    merged: dict[str, dict[str, tuple[str, ...]]] = Field(default_factory=dict)
    #: What readers are given besides the sensitive value in a promise about all records: the public values.
    given: Literal["public"] | None = None
    promise: dict[str, str | bool | float | tuple[tuple[str, ...], ...]] | None = None
    bound: Literal["chernoff", "exact"] | None = None
    band: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = None
    #: With several columns that were perturbed each for itself, what is promised about each.
    promises: dict[str, dict[str, str | float]] | None = None
    #: For columns of numbers that were put into bins, where these end.
    bins: dict[str, BinsEntry] | None = None
    #: Every other file of the folder with its SHA-256; of rows in several files each.
    files: dict[str, Annotated[str, Field(pattern="^[0-9a-f]{64}$")]] | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Manifest:
        names = [*self.public, *self.sensitive, *filter(None, (self.label, self.copies))]
        if len(set(names)) < len(names):
            raise ValueError("a column is named twice")
        if any(len(row) != len(self.sensitive) for row in self.domain):
            raise ValueError("a value of the domain does not have one entry for each sensitive column")
        if len(set(self.domain)) < len(self.domain):
            raise ValueError("a value of the domain is listed twice")
        for table in self.tables:
            if len(set(table.values)) < len(table.values):
                raise ValueError("a value of a sub-table is listed twice")
            if not all(0 <= value < len(self.domain) for value in table.values):
                raise ValueError("a sub-table has a value that is not in the domain")
        if bool(self.tables) == (self.method == "anatomy"):
            raise ValueError("an anatomy has no retention, every other publication has one")
        if (len(self.tables) > 1 or self.method == "anatomy") and self.label is None:
            raise ValueError("the column of sub-tables or buckets is not named")
        if not set(self.merged) <= set(self.public):
            raise ValueError("values of a column that is not public are merged")
        self._check_product()
        ordered = [table for table in self.tables if table.decay is not None and table.floor is not None]
        if len(ordered) != (self.method == "ordinal") or (ordered and len(self.tables) > 1):
            raise ValueError("the one table of an ordinal publication, and no other, has a decay and a floor")
        if any(not len(table.values) == len(self.domain) <= MOST_ORDERED for table in ordered):
            raise ValueError("the table of an ordinal publication does not have all values, or has too many")
        if not set(self.bins or ()) <= {*self.public, *self.sensitive}:
            raise ValueError("a column has bins but is not published")
        return self

    def _check_product(self) -> None:
        several = [table.retentions for table in self.tables if table.retentions is not None]
        if len(several) != (self.method == "product") or (several and len(self.tables) > 1):
            raise ValueError("the one table of a product of columns, and no other, has a retention for each")
        if several:
            columns = [dict.fromkeys(row[at] for row in self.domain) for at in range(len(self.sensitive))]
            if len(self.domain) > MOST_COMBINED:
                raise ValueError("there are too many combinations of sensitive values")
            if len(several[0]) != len(columns) or self.domain != tuple(product(*columns)):
                raise ValueError("the domain of a product of columns does not have all combinations")

    @property
    def own_promise(self) -> Promise | None:
        """The promise that was made, or None; a damaged one is a LookupError, TypeError or ValueError."""
        given: dict[str, Any] = dict(self.promise or {})
        match given.get("kind"):
            case "RhoPrivacy":
                sets = given.get("sets", 1)
                return RhoPrivacy(
                    float(given["prior"]),
                    float(given["posterior"]),
                    known_totals=given.get("known_totals", False),
                    sets=int(sets) if isinstance(sets, float) else sets,
                )
            case "ReconstructionPrivacy":
                return ReconstructionPrivacy(float(given["error"]), float(given["chance"]))
            case "LDiversity":
                return LDiversity(int(given["l"]))
            case _:
                return None

    @property
    def sub_tables(self) -> tuple[SubTable, ...]:
        """The sub-tables to invert."""
        return tuple(
            SubTable(table.retention, table.values, table.decay, table.floor, table.retentions)
            for table in self.tables
        )


def write_manifest(path: Path, manifest: Manifest) -> None:
    """As JSON that people can read, one line for each entry."""
    plain = manifest.model_dump(mode="json", exclude_none=True)
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in plain.items()]
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def read_manifest(path: Path) -> Manifest:
    """Read and check a manifest; an error names the first thing that is wrong."""
    if not path.exists():
        raise InputError(
            "this is not a publication",
            file=str(path.parent),
            remedy=f"name a folder that holds {MANIFEST}",
        )
    try:
        return Manifest.model_validate(
            read_json(path, remedy="ask the publisher for the original", most=LARGEST)
        )
    except ValidationError as problem:
        first = problem.errors()[0]
        raise InputError(
            f"the manifest is damaged: {first['msg']}",
            file=str(path),
            column=".".join(str(part) for part in first["loc"]) or None,
            remedy="ask the publisher for the original",
        ) from None
