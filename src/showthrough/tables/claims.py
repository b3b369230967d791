"""The nouns of an audit: claims and their verdicts, worlds, bounds, findings and variability."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from numbers import Integral
from types import NoneType
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import InputError, check_type
from showthrough.export import Tabular
from showthrough.records import Records
from showthrough.release import Release
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.explain import explain_proof
from showthrough.tables.proof import Proof
from showthrough.tables.search.questions import REFUTED, UNDECIDED, VERIFIED
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.text import escape_html, html_summary

if TYPE_CHECKING:
    from showthrough.tables.proof.differ import Difference

__all__ = [
    "KINDS",
    "Bounds",
    "Claim",
    "Finding",
    "Kind",
    "Variability",
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
    """The claim that exactly ``multiplicity`` records match the selection.

    Parameters
    ----------
    selection
        The records that the claim is about.
    multiplicity
        How many there are.
    """

    selection: Selection
    multiplicity: int

    def __post_init__(self) -> None:
        check_type(self.selection, Selection, name="selection", remedy="write Selection.of('age=old')")
        check_type(self.multiplicity, Integral, name="multiplicity")

    def sentence(self, schema: Schema, kind: Kind = "verified") -> str:
        """The claim, or what is known of it, in words.

        >>> schema = Schema.of({"size": ["1", "2"], "tenure": ["owned", "rented"]}, record="home")
        >>> Claim(Selection.of(size="1", tenure="rented"), 1).sentence(schema)
        'For exactly one home, size is 1 and tenure is rented.'
        """
        return exactly(schema, self.multiplicity, schema.describe(self.selection), kind)


def exactly(schema: Schema, count: int, clauses: str, kind: Kind) -> str:
    """The sentence that the clauses hold for exactly ``count`` records, or what is known of that."""
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


#: Records of a dataset that get a row each; more are kept as counts.
MOST_ROWS = 1_000_000

#: Records that are listed on request.
MOST_LISTED = 100_000_000


@dataclass(frozen=True, eq=False)
class World(Tabular):
    """One dataset that agrees with the release.

    Attributes that occur in no table and no rule have their first value: any would do.

    Parameters
    ----------
    schema
        The schema of the release.
    codes
        One row per record, one column per attribute: the position of each value in the schema.
    times
        How often each row occurs, where there are too many records for a row each.
    """

    schema: Schema
    codes: NDArray[np.integer]
    times: NDArray[np.integer] | None = None

    def __post_init__(self) -> None:
        check_type(self.schema, Schema, name="schema", remedy="a release has one: release.schema")
        check_type(self.codes, np.ndarray, name="codes", remedy="worlds makes them")
        check_type(self.times, (np.ndarray, NoneType), name="times", remedy="worlds makes them")

    def __len__(self) -> int:
        return len(self.codes) if self.times is None else int(self.times.sum())

    def __repr__(self) -> str:
        columns = ", ".join(self.schema.names[:6]) + (", …" if len(self.schema.names) > 6 else "")
        return f"<World of {len(self):,} {self.schema.noun(len(self))}: {columns}>"

    def _repr_html_(self) -> str:
        """The first records, for notebooks."""
        rows = [[*record.values(), times] for record, times in self.rows()]
        note = f"… and {len(rows) - 20:,} more in .rows()" if len(rows) > 20 else ""
        head = [*self.schema.names, "times"]
        return html_summary(f"A dataset of {len(self):,} records", [head, *rows[:20]], note=note)

    def rows(self) -> tuple[tuple[dict[str, str], int], ...]:
        """Each distinct record with how often it occurs."""
        distinct, times = self._distinct()
        return tuple(
            (
                {a.name: a.values[int(c)] for a, c in zip(self.schema.attributes, row, strict=True)},
                int(count),
            )
            for row, count in zip(distinct, times, strict=True)
        )

    def _distinct(self) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """The distinct rows, and how often each occurs."""
        if self.times is None:
            return np.unique(self.codes, axis=0, return_counts=True)
        distinct, number = np.unique(self.codes, axis=0, return_inverse=True)
        times = np.zeros(len(distinct), np.int64)
        np.add.at(times, number.ravel(), self.times)
        return distinct, times

    def to_json(self) -> str:
        """The distinct records with how often they occur, as one line of JSON."""
        return json.dumps(self.rows(), ensure_ascii=False, separators=(",", ":"))

    def records(self) -> Records:
        """The world as records."""
        if self.times is None:
            return Records(self.schema, self.codes)
        if len(self) > MOST_LISTED:
            raise InputError(
                f"a dataset of {len(self):,} records is too large for a list of them",
                remedy="its different records, with how often each occurs, are in .rows()",
            )
        return Records(self.schema, np.repeat(self.codes, self.times, axis=0))

    def count(self, selection: Selection) -> int:
        """How many of its records match."""
        matching = Records(self.schema, self.codes).matching(selection)
        return int(matching.sum() if self.times is None else self.times[matching].sum())

    def to_arrow(self) -> pa.Table:
        """One row per record, one string column per attribute."""
        return self.records().to_arrow()


def world_of(system: System, world: TypeCounts | NDArray[np.int64]) -> World:
    """Types as a dataset; attributes nothing is known about get their first value."""
    made = TypeCounts.of(world)
    few = len(made) <= MOST_ROWS
    types = made.records() if few else made.types
    frame = system.universe.frame
    schema = frame.layout.schema
    codes = np.zeros((len(types), len(schema.attributes)), np.uint16)
    codes[:, list(frame.over)] = system.universe.codes[types]
    return World(schema, codes, None if few else made.times)


@dataclass(frozen=True)
class Verdict:
    """What became of a claim, and why.

    Attributes
    ----------
    claim
        What was asked.
    kind
        verified, refuted, undecided or impossible.
    evidence
        What settled it: a label of :data:`showthrough.tables.explain.EVIDENCE` for a proof, ``worlds``
        for a refuted claim; for an undecided one ``solver only`` (a solver finds no counterexample,
        but there is no proof) or ``effort``.
    direct
        Whether one exact cell states it, given only the rules.
    n_tables_added
        How many tables have cells that the proof adds or subtracts.
    n_tables
        How many tables the proof rests on, with those whose cells published as 0 exclude record types;
        None where that was not counted.
    proof
        The proof of a verified or impossible claim, or of one end of an undecided one.
    worlds
        For a refuted claim two datasets that disagree on it.
    low, high
        The best proved bounds on the count; ``high`` is None where there is none.
    """

    claim: Claim
    kind: Kind
    evidence: str
    direct: bool = False
    n_tables_added: int = 0
    n_tables: int | None = None
    proof: Proof | None = field(default=None, repr=False)
    worlds: tuple[World, World] | None = field(default=None, repr=False)
    low: int = 0
    high: int | None = None


@dataclass(frozen=True)
class Bounds:
    """How many records match a selection: proved ends, and worlds that attain them.

    Attributes
    ----------
    selection
        Which records are counted.
    low, high
        The proved ends; ``high`` is None if nothing published limits the count.
    low_proof, high_proof
        Their proofs.
    low_world, high_world
        Datasets that attain the ends; None where none was found, so that the end is proved but may
        not be attained.
    release
        What the proofs are about, for notebooks; None where that was left out.
    """

    selection: Selection
    low: int
    high: int | None
    low_proof: Proof
    high_proof: Proof | None
    low_world: World | None
    high_world: World | None
    release: Release | None = field(default=None, repr=False, compare=False)

    @property
    def tight(self) -> bool:
        """Whether both ends are attained: the interval cannot be narrower."""
        return self.low_world is not None and (self.high is None or self.high_world is not None)

    def sentence(self, schema: Schema) -> str:
        """The interval in words, and whether its ends are attained."""
        low, high = self.low, self.high
        if high is None:
            text = f"at least {low:,} {schema.noun(low)}; nothing published limits the number"
            attained = f"a dataset with {low:,} exists"
        elif low == high:
            text, attained = f"exactly {low:,} {schema.noun(low)}", "such a dataset exists"
        else:
            text = f"between {low:,} and {high:,} {schema.records}"
            attained = "datasets with both numbers exist"
        if not self.tight and low == high:
            attained = "proved for every dataset with these counts, but no such dataset was found"
        elif not self.tight:
            attained = (
                "proved, but perhaps not the narrowest interval: no dataset was found for at least one end"
            )
        return f"{text} ({attained})"

    def arithmetic(self, release: Release) -> list[str]:
        """Both proofs as arithmetic on the cells of the release; one equation where they are one sum."""
        return [line for proof in self._proofs() for line in explain_proof(proof, release)]

    def to_plain(self, release: Release) -> dict[str, object]:
        """As ``bounds --json`` prints it."""
        proofs = [proof for proof in (self.low_proof, self.high_proof) if proof is not None]
        return {
            "low": self.low,
            "high": self.high,
            "exact": self.tight,
            "low_attained": self.low_world is not None,
            "high_attained": self.high_world is not None,
            "arithmetic": self.arithmetic(release),
            "proofs": [json.loads(proof.to_json()) for proof in proofs],
        }

    def __repr__(self) -> str:
        return f"<Bounds of {self.selection or 'all records'}: {self._interval()}>"

    def _interval(self) -> str:
        if self.low == self.high:
            return f"exactly {self.low:,}"
        return f"at least {self.low:,}" if self.high is None else f"{self.low:,} to {self.high:,}"

    def _repr_html_(self) -> str:
        """The interval, and how it is proved, for notebooks."""
        high = "unlimited" if self.high is None else f"{self.high:,}"
        ends = (("at least", self.low, self.low_world), ("at most", high, self.high_world))
        rows = [[end, number, "no" if world is None else "yes"] for end, number, world in ends]
        title = f"{self.selection or 'All records'}: {self._interval()}"
        table = html_summary(title, [["proved", "records", "attained by a dataset"], *rows])
        return table + "".join(self._drawn())

    def _drawn(self) -> Iterator[str]:
        """The proofs as drawings; as arithmetic where they are too long for that."""
        from showthrough.tables.drawing import draw_proof
        from showthrough.tables.drawn_html import drawing_html

        release = self.release
        if release is None:
            return
        for proof in self._proofs():
            drawing = draw_proof(proof, release)
            if drawing is not None:
                yield drawing_html(drawing, release, inline=True)
            else:
                yield f"<pre>{escape_html(chr(10).join(explain_proof(proof, release)))}</pre>"

    def _proofs(self) -> list[Proof]:
        """Both proofs, as one where the interval is a single number."""
        if self.high_proof is None:
            return [self.low_proof]
        if self.low == self.high:
            return [replace(self.low_proof, at_most=self.high_proof.at_most)]
        return [self.low_proof, self.high_proof]


@dataclass(frozen=True)
class Finding:
    """What shows through about some records.

    Attributes
    ----------
    kind
        About one record (``singleton``), about several (``group``), or about a ``group of unknown
        size``.
    multiplicity
        The number of records; for a group of unknown size the least number.
    knows
        The shortest description that suffices. Where it is empty, nothing must be known beforehand:
        exactly ``multiplicity`` records are as ``learns`` says, though no cell states it.
    learns
        What follows from it.
    other_ways
        The other minimal descriptions.
    n_claims
        How many verified claims are about these records.
    n_tables_added, n_cells
        How many tables and cells the proofs of what is known and of what is learnt add or subtract.
    n_tables
        How many tables these proofs rest on, with those whose cells published as 0 exclude record types;
        None where that was not counted.
    proofs
        The proofs of a group of unknown size.
    """

    kind: Literal["singleton", "group", "group of unknown size"]
    multiplicity: int
    knows: Selection
    learns: Selection
    other_ways: tuple[Selection, ...] = ()
    n_claims: int = 1
    n_tables_added: int = 0
    n_tables: int | None = None
    proofs: tuple[Proof, ...] = field(default=(), repr=False)
    n_cells: int = 0

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


@dataclass(frozen=True, eq=False)
class Variability:
    """In how many records two datasets that agree with a release can differ.

    Attributes
    ----------
    low
        Two datasets differ in this many records.
    worlds
        Two datasets that do. Those of a part of an area have its records alone.
    proof
        No two differ in more records than this proves. If that is 0, only one dataset agrees.
    """

    low: int
    worlds: tuple[World, World] = field(repr=False)
    proof: Difference = field(repr=False)

    @property
    def high(self) -> int:
        """No two datasets differ in more records."""
        return self.proof.most

    @property
    def records(self) -> int:
        """How many records there are, in every dataset."""
        return self.proof.records

    @property
    def share(self) -> tuple[float, float]:
        """Both ends as shares of the records; 0 where there are none."""
        n = max(1, self.records)
        return self.low / n, self.high / n
