"""What an audit says: claims with verdicts, worlds, bounds, and the whole of it for one area."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.audit.proof import Proof
from showthrough.audit.system import System
from showthrough.records import Records
from showthrough.release import Release
from showthrough.schema import Schema, Selection

__all__ = [
    "CLAIM_COLUMNS",
    "Audit",
    "Bounds",
    "Claim",
    "Kind",
    "Verdict",
    "World",
    "count_word",
    "world_of",
]

Kind = Literal["verified", "refuted", "undecided", "impossible"]

CLAIM_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("selection", pa.string()),
        ("k", pa.int32()),
        ("multiplicity", pa.int64()),
        ("verdict", pa.string()),
        ("evidence", pa.string()),
        ("direct", pa.bool_()),
        ("n_tables", pa.int32()),
        ("sentence", pa.string()),
    ]
)

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Claim:
    """Exactly ``multiplicity`` records match the selection."""

    selection: Selection
    multiplicity: int

    def sentence(self, schema: Schema, kind: Kind = "verified") -> str:
        """The claim, or what is known of it, in words.

        >>> schema = Schema.of({"size": ["1", "2"], "tenure": ["owned", "rented"]}, record="home")
        >>> Claim(Selection.of(size="1", tenure="rented"), 1).sentence(schema)
        'For exactly one home, size is 1 and tenure is rented.'
        """
        clauses = schema.describe(self.selection)
        number = count_word(self.multiplicity)
        if self.multiplicity == 0:
            text = f"for no {schema.record}, {clauses}"
        else:
            text = f"for exactly {number} {schema.noun(self.multiplicity)}, {clauses}"
        if kind == "undecided":
            return f"Not decided: whether {text}."
        if kind == "refuted":
            return f"Does not follow: that {text}."
        if kind == "impossible":
            return f"It cannot be that {text}."
        return f"{text[0].upper()}{text[1:]}."


def count_word(count: int) -> str:
    """Small counts in words."""
    return _WORDS[count] if count < len(_WORDS) else f"{count:,}"


@dataclass(frozen=True, eq=False)
class World:
    """One dataset that agrees with the release.

    Attributes that occur in no table and no rule have their first value: any would do.
    """

    schema: Schema
    codes: NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self) -> tuple[tuple[dict[str, str], int], ...]:
        """Each distinct record with how often it occurs."""
        distinct, times = np.unique(self.codes, axis=0, return_counts=True)
        return tuple(
            (
                {
                    a.name: a.values[int(c)]
                    for a, c in zip(self.schema.attributes, row, strict=True)
                },
                int(count),
            )
            for row, count in zip(distinct, times, strict=True)
        )

    def records(self) -> Records:
        """The world as records."""
        return Records(self.schema, self.codes)

    def count(self, selection: Selection) -> int:
        """How many of its records match."""
        return self.records().count(selection)

    def to_arrow(self) -> pa.Table:
        """One row per record, one string column per attribute."""
        return self.records().to_arrow()


def world_of(system: System, types: NDArray[np.int64]) -> World:
    """Types as a dataset; attributes nothing is known about get their first value."""
    frame = system.universe.frame
    schema = frame.layout.schema
    codes = np.zeros((len(types), len(schema.attributes)), np.uint16)
    codes[:, list(frame.over)] = system.universe.codes[types]
    return World(schema, codes)


@dataclass(frozen=True)
class Verdict:
    """What became of a claim, and why.

    ``evidence`` says what settled it: ``cell`` (one published cell), ``algebra``, ``linear`` or
    ``branching`` proofs, ``worlds``; for an undecided claim ``solver only`` (a solver sees no
    counterexample, but there is no proof) or ``effort``. ``low`` and ``high`` are the best proved
    bounds on the count.
    """

    claim: Claim
    kind: Kind
    evidence: str
    direct: bool = False
    n_tables: int = 0
    proof: Proof | None = None
    worlds: tuple[World, World] | None = None
    low: int = 0
    high: int | None = None


@dataclass(frozen=True)
class Bounds:
    """How many records match a selection: proved ends, and worlds that attain them.

    ``high`` is None if nothing published limits the count. An end without a world is proved but
    perhaps not attained.
    """

    selection: Selection
    low: int
    high: int | None
    low_proof: Proof
    high_proof: Proof | None
    low_world: World | None
    high_world: World | None

    @property
    def exact(self) -> bool:
        """Whether both ends are attained: the interval cannot be narrower."""
        return self.low_world is not None and (self.high is None or self.high_world is not None)


@dataclass(frozen=True, eq=False)
class Audit:
    """Everything decided about one area.

    ``n_records`` is None where the number of records does not follow from the release. ``unique``
    says whether exactly one dataset agrees (None: not decided). ``left_out`` names attributes that
    occur in no table and no rule, so that nothing can follow about them.
    """

    release: Release
    verdicts: tuple[Verdict, ...]
    n_records: int | None
    n_types: int
    n_worlds: int
    unique: bool | None
    left_out: tuple[str, ...] = ()
    work: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def area(self) -> str:
        """The area's name."""
        return self.release.area

    @property
    def schema(self) -> Schema:
        """The schema of the records."""
        return self.release.schema

    def of_kind(self, kind: Kind) -> Iterator[Verdict]:
        """The verdicts of one kind."""
        return (verdict for verdict in self.verdicts if verdict.kind == kind)

    def n_of(self, kind: Kind) -> int:
        """How many verdicts are of one kind."""
        return sum(1 for _ in self.of_kind(kind))

    @cached_property
    def claims(self) -> pa.Table:
        """One row per verified or undecided claim (and whatever else was asked for)."""
        return self.table()

    def table(self, *, refuted: bool = False) -> pa.Table:
        """The claims as an Arrow table, with the refuted ones on request."""
        kept = [v for v in self.verdicts if refuted or v.kind != "refuted"]
        rows = [
            {
                "area": self.area,
                "selection": v.claim.selection.to_json(),
                "k": len(v.claim.selection),
                "multiplicity": v.claim.multiplicity,
                "verdict": v.kind,
                "evidence": v.evidence,
                "direct": v.direct,
                "n_tables": v.n_tables,
                "sentence": v.claim.sentence(self.schema, v.kind),
            }
            for v in kept
        ]
        return pa.Table.from_pylist(rows, CLAIM_COLUMNS)
