"""What an audit says: claims with verdicts, worlds, bounds, and the whole of it for one area."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.records import Records
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.proof import Proof
from showthrough.tables.search.answers import REFUTED, UNDECIDED, VERIFIED
from showthrough.tables.search.system import System
from showthrough.text import html_summary

__all__ = [
    "KINDS",
    "Bounds",
    "Claim",
    "Finding",
    "Kind",
    "Verdict",
    "World",
    "count_word",
    "exactly",
    "world_of",
]

Kind = Literal["verified", "refuted", "undecided", "impossible"]

#: What a question's state makes of its claim.
KINDS: dict[int, Kind] = {VERIFIED: "verified", REFUTED: "refuted", UNDECIDED: "undecided"}

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
        return exactly(schema, self.multiplicity, schema.describe(self.selection), kind)


def exactly(schema: Schema, count: int, clauses: str, kind: Kind) -> str:
    """A sentence that says (or denies) that for exactly so many records the clauses hold."""
    if count == 0:
        text = f"for no {schema.record}, {clauses}"
    else:
        text = f"for exactly {count_word(count)} {schema.noun(count)}, {clauses}"
    if kind == "verified":
        return f"{text[0].upper()}{text[1:]}."
    start = {
        "undecided": "Not decided: whether",
        "refuted": "Does not follow: that",
        "impossible": "It cannot be that",
    }
    return f"{start[kind]} {text}."


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

    def _repr_html_(self) -> str:
        """The first records, for notebooks."""
        rows = [[*record.values(), times] for record, times in self.rows()]
        note = f"… and {len(rows) - 20:,} more in .rows()" if len(rows) > 20 else ""
        head = [*self.schema.names, "times"]
        return html_summary(f"A dataset of {len(self):,} records", [head, *rows[:20]], note=note)

    def rows(self) -> tuple[tuple[dict[str, str], int], ...]:
        """Each distinct record with how often it occurs."""
        distinct, times = np.unique(self.codes, axis=0, return_counts=True)
        return tuple(
            (
                {a.name: a.values[int(c)] for a, c in zip(self.schema.attributes, row, strict=True)},
                int(count),
            )
            for row, count in zip(distinct, times, strict=True)
        )

    def to_json(self) -> str:
        """The distinct records with how often they occur, as one line of JSON."""
        return json.dumps(self.rows(), ensure_ascii=False, separators=(",", ":"))

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

    def _repr_html_(self) -> str:
        """The interval, for notebooks."""
        high = "any number" if self.high is None else f"{self.high:,}"
        told = f"exactly {self.low:,}" if self.low == self.high else f"between {self.low:,} and {high}"
        worlds = (("at least", self.low, self.low_world), ("at most", high, self.high_world))
        rows = [[end, number, "no" if world is None else "yes"] for end, number, world in worlds]
        title = f"{self.selection or 'All records'}: {told}"
        return html_summary(title, [["proved", "records", "a dataset has so many"], *rows])


@dataclass(frozen=True)
class Finding:
    """What shows through about some records.

    ``knows`` is the shortest description that suffices and ``learns`` what follows from it;
    ``other_ways`` are the other minimal descriptions. ``multiplicity`` is the number of records, or
    the least number for a ``group of unknown size``. Where ``knows`` is empty nothing must be known
    beforehand: exactly so many records are as ``learns`` says, though no cell says so.
    """

    kind: Literal["singleton", "group", "group of unknown size"]
    multiplicity: int
    knows: Selection
    learns: Selection
    other_ways: tuple[Selection, ...] = ()
    n_claims: int = 1
    n_tables: int = 0
    proofs: tuple[Proof, ...] = field(default=(), repr=False)

    @property
    def k(self) -> int:
        """How many columns are known in the end."""
        return len(self.knows) + len(self.learns)

    def sentence(self, schema: Schema) -> str:
        """In words."""
        learns = schema.describe(self.learns)
        if not self.knows.terms:
            many = f"exactly {count_word(self.multiplicity)} {schema.noun(self.multiplicity)}"
            return f"Though no table says so: for {many}, {learns}."
        if self.kind == "group of unknown size":
            least = count_word(self.multiplicity)
            many = f"at least {least} such {schema.noun(self.multiplicity)}"
        else:
            many = f"exactly {count_word(self.multiplicity)} such {schema.noun(self.multiplicity)}"
        return f"Whoever knows that {schema.describe(self.knows)} learns that {learns} ({many})."
