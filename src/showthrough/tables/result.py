"""The audit of one area: its findings and verdicts, and all its claims as columns and as sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.export import Tabular
from showthrough.release import Layout, Release
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.claims import KINDS, Claim, Finding, Kind, Verdict, World, exactly, world_of
from showthrough.tables.proof import Proof
from showthrough.tables.search.questions import REFUTED, REJECTED, UNDECIDED, VERIFIED, Answers, Candidates
from showthrough.tables.search.system import System
from showthrough.tables.stored import CLAIM_COLUMNS, FINDING_COLUMNS
from showthrough.text import html_summary

__all__ = [
    "Audit",
    "ClaimTable",
]

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute


@dataclass(frozen=True, eq=False)
class Audit(Tabular):
    """Everything decided about one area.

    Attributes
    ----------
    release
        What was audited.
    claim_table
        All claims as columns; :attr:`verdicts` has them one by one.
    n_types
        How many record types the rules and the cells published as 0 leave possible.
    n_records
        The number of records; None where it does not follow from the release.
    unique
        Whether exactly one dataset agrees with the release; None where that is undecided.
    left_out
        Attributes that occur in no table and no rule, so that nothing follows about them.
    extra
        Verdicts on absences and impossible counts, where they were asked for.
    findings
        What shows through, the most telling first.
    work
        How much of each kind of work was done.
    """

    release: Release
    claim_table: ClaimTable
    n_types: int
    n_records: int | None
    unique: bool | None
    left_out: tuple[str, ...] = ()
    extra: tuple[Verdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    work: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def area(self) -> str:
        """The area's name."""
        return self.release.area

    @property
    def schema(self) -> Schema:
        """The schema of the records."""
        return self.release.schema

    def __repr__(self) -> str:
        return f"<{self._title()}>"

    def _title(self) -> str:
        kinds: tuple[Kind, ...] = ("verified", "refuted", "undecided")
        counted = ", ".join(f"{self.n_of(kind):,} claims {kind}" for kind in kinds)
        name = f"Audit of {self.area}" if self.area else "Audit"
        return f"{name}: {len(self.findings):,} findings; {counted}"

    def _repr_html_(self) -> str:
        """What was found, for notebooks."""
        shown = [[one.sentence(self.schema)] for one in self.findings[:10]]
        more = len(self.findings) - len(shown)
        note = f"… and {more:,} more in .findings" if more else ""
        return html_summary(self._title(), [["what shows through"], *shown], note=note)

    @property
    def n_worlds(self) -> int:
        """How many different datasets were kept as evidence."""
        return len(self.claim_table.pool)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """A verdict on every claim, by number of columns and then by selection."""
        made = [self.claim_table.verdict(at) for at in range(len(self.claim_table.candidates))]
        return tuple(sorted((*made, *self.extra), key=_order))

    def of_kind(self, kind: Kind) -> Iterator[Verdict]:
        """The verdicts of one kind."""
        return (verdict for verdict in self.verdicts if verdict.kind == kind)

    def n_of(self, kind: Kind) -> int:
        """How many verdicts are of one kind."""
        states = [state for state, name in KINDS.items() if name == kind]
        counted = int(np.isin(self.claim_table.state, states).sum())
        return counted + sum(1 for verdict in self.extra if verdict.kind == kind)

    @cached_property
    def claims(self) -> pa.Table:
        """One row per verified or undecided claim."""
        return self.table()

    def to_arrow(self) -> pa.Table:
        """The verified and undecided claims, one row each; :meth:`findings_table` has the findings."""
        return self.claims

    def table(self, *, refuted: bool = False) -> pa.Table:
        """The claims as an Arrow table, with the refuted ones on request."""
        claims = self.claim_table
        chosen = np.flatnonzero((claims.state != REFUTED) | refuted)
        table = claims.wording.table(chosen, self.area)
        if self.extra:
            rows = [_extra_row(v, self.area, self.schema) for v in self.extra]
            columns = zip(*rows, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, CLAIM_COLUMNS, strict=True)]
            table = pa.concat_tables([table, pa.Table.from_arrays(arrays, schema=CLAIM_COLUMNS)])
        by_k_and_text = pc.sort_indices(
            table, sort_keys=[(name, "ascending") for name in ("k", "selection", "multiplicity")]
        )
        return table.take(by_k_and_text).combine_chunks()

    def findings_table(self) -> pa.Table:
        """The findings as an Arrow table."""
        rows = [
            {
                "area": self.area,
                "kind": one.kind,
                "multiplicity": one.multiplicity,
                "k": one.k,
                "knows": one.knows.to_json(),
                "learns": one.learns.to_json(),
                "other_ways": f"[{', '.join(way.to_json() for way in one.other_ways)}]",
                "n_claims": one.n_claims,
                "n_tables": one.n_tables,
                "sentence": one.sentence(self.schema),
            }
            for one in self.findings
        ]
        return pa.Table.from_pylist(rows, FINDING_COLUMNS)


@dataclass(frozen=True, eq=False)
class ClaimTable:
    """Claims as columns. ``question[i]`` indexes ``answers``; −1 fell to ``witness[i]`` before."""

    system: System
    pool: Sequence[NDArray[np.int64]]
    candidates: Candidates
    question: NDArray[np.int64]
    witness: NDArray[np.int64]
    answers: Answers
    direct: NDArray[np.bool_]
    n_tables: NDArray[np.int64]

    @cached_property
    def state(self) -> NDArray[np.int8]:
        """Per claim: verified, refuted or undecided."""
        asked = np.append(self.answers.state, np.int8(REFUTED))
        return asked[self.question]

    @cached_property
    def codes(self) -> NDArray[np.uint16]:
        """Per claim the codes of a type that has its values."""
        return self.system.universe.codes[self.candidates.type]

    @cached_property
    def k(self) -> NDArray[np.int64]:
        """Per claim the number of its columns."""
        return np.bitwise_count(self.candidates.subset).astype(np.int64)

    def columns_of(self, at: int) -> list[int]:
        """The columns a claim is about."""
        subset = int(self.candidates.subset[at])
        return [c for c in range(len(self.system.universe.frame.names)) if subset >> c & 1]

    def terms(self, at: int) -> dict[str, str]:
        """A claim's attributes and values."""
        codes = self.codes[at]
        return {self._columns[c][0]: self._columns[c][1][int(codes[c])] for c in self.columns_of(at)}

    @cached_property
    def _columns(self) -> list[tuple[str, tuple[str, ...]]]:
        """The name and the values of every column."""
        frame = self.system.universe.frame
        return [(name, frame.layout.schema[name].values) for name in frame.names]

    def selection(self, at: int) -> Selection:
        """The records that a claim is about."""
        return Selection.of(self.terms(at))

    def claim(self, at: int) -> Claim:
        """One claim."""
        return Claim(self.selection(at), int(self.candidates.count[at]))

    def evidence(self, at: int) -> str:
        """What settled a claim."""
        question = int(self.question[at])
        stage = "worlds" if question < 0 else self.answers.stage[question]
        if self.state[at] == UNDECIDED:
            return stage if stage in ("solver only", REJECTED) else "effort"
        return stage

    def proof(self, at: int) -> Proof | None:
        """The proof of a claim (of one end, if it is undecided); None if there is none."""
        question = int(self.question[at])
        if question < 0 or self.state[at] == REFUTED:
            return None
        made = Proof(
            self.selection(at).terms,
            int(self.candidates.count[at]),
            at_least=self.answers.at_least[question],
            at_most=self.answers.at_most[question],
            over=self.system.universe.frame.names,
        )
        return made if made.nodes else None

    @cached_property
    def wording(self) -> Wording:
        """Claims as JSON and as sentences."""
        return Wording(self)

    def verdict(self, at: int) -> Verdict:
        """Everything about one claim."""
        state, claim, question = self.state[at], self.claim(at), int(self.question[at])
        proof = self.proof(at)
        m = claim.multiplicity
        return Verdict(
            claim,
            KINDS[int(state)],
            self.evidence(at),
            direct=bool(self.direct[at]),
            n_tables=int(self.n_tables[question]) if state == VERIFIED else 0,
            proof=proof,
            worlds=self.disagreeing(at) if state == REFUTED else None,
            low=m if proof is not None and proof.at_least is not None else 0,
            high=m if proof is not None and proof.at_most is not None else None,
        )

    def disagreeing(self, at: int) -> tuple[World, World]:
        """Two worlds that disagree on a refuted claim.

        The first world of the pool may be the true data, so another one with the claimed count is
        preferred where there is one.
        """
        question = int(self.question[at])
        number = int(self.witness[at] if question < 0 else self.answers.witness[question])
        mask = self.system.mask(self.selection(at).terms)
        m = int(self.candidates.count[at])
        pool = self.pool
        other = self._with_count(mask, (pool[number],), m, equal=False)
        same = self._with_count(mask, (*pool[1:50], pool[0]), m, equal=True)
        return world_of(self.system, same), world_of(self.system, other)

    def _with_count(
        self, mask: NDArray[np.bool_], worlds: Sequence[NDArray[np.int64]], m: int, *, equal: bool
    ) -> NDArray[np.int64]:
        """A world in which the mask has (or has not) m records, moved within classes if need be."""
        for world in worlds:
            for side in (None, False, True):
                moved = world if side is None else self._moved(world, mask, side)
                if (int(mask[moved].sum()) == m) is equal:
                    return moved
        raise AssertionError("the world kept as a witness is none")

    def _moved(self, world: NDArray[np.int64], mask: NDArray[np.bool_], inside: bool) -> NDArray[np.int64]:
        """The world with every record in or out of the mask where its class allows it."""
        moved = world.copy()
        for at, type_ in enumerate(world):
            members = self.system.members(int(self.system.group[type_]))
            wanted = members[mask[members] == inside]
            if len(wanted):
                moved[at] = wanted[0]
        return np.sort(moved)


class Wording:
    """Claims as JSON and as sentences, put together column by column."""

    def __init__(self, claims: ClaimTable) -> None:
        self.claims = claims
        frame = claims.system.universe.frame
        self.schema = frame.layout.schema
        attributes = [self.schema[name] for name in frame.names]
        self._json = [pa.array([f"{_json(a.name)}: {_json(v)}" for v in a.values]) for a in attributes]
        self._phrases = [pa.array([a.phrase(v) for v in a.values]) for a in attributes]
        columns = range(len(attributes))
        self._by_name = sorted(columns, key=lambda c: attributes[c].name)
        self._by_schema = sorted(columns, key=lambda c: self.schema.index[attributes[c].name])
        self._implied = _implications(frame.layout, tuple(attributes[c].name for c in self._by_schema))

    def selections(self, which: NDArray[np.int64]) -> pa.Array:
        """Claims' selections as JSON, keys sorted."""
        parts = self._fragments(which, self._json, self._by_name)
        joined = pc.binary_join_element_wise(*parts, ", ", null_handling="skip")
        return pc.binary_join_element_wise("{", joined, "}", "")

    def table(self, which: NDArray[np.int64], area: str) -> pa.Table:
        """The claims table for these claims."""
        claims = self.claims
        if not len(which):
            return CLAIM_COLUMNS.empty_table()
        state = claims.state[which]
        n_tables = np.append(claims.n_tables, 0)[claims.question[which]]
        return pa.Table.from_arrays(
            [
                pa.repeat(pa.scalar(area, pa.string()), len(which)),
                self.selections(which),
                pa.array(claims.k[which], pa.int32()),
                pa.array(claims.candidates.count[which], pa.int64()),
                pa.array([KINDS[int(s)] for s in state], pa.string()),
                pa.array([claims.evidence(int(at)) for at in which], pa.string()),
                pa.array(claims.direct[which], pa.bool_()),
                pa.array(np.where(state == VERIFIED, n_tables, 0), pa.int32()),
                self._sentences(which),
            ],
            schema=CLAIM_COLUMNS,
        )

    def _sentences(self, which: NDArray[np.int64]) -> pa.Array:
        """ "For exactly one home, a, b and c." """
        claims = self.claims
        said = self._said(which)
        parts = [
            pc.if_else(pa.array(mine), part, None)
            for mine, part in zip(said, self._fragments(which, self._phrases, self._by_schema), strict=True)
        ]
        last = len(parts) - 1 - said[::-1].argmax(axis=0)
        before = [pc.if_else(pa.array(last != at), part, None) for at, part in enumerate(parts)]
        single = pa.array(said.sum(axis=0) == 1)
        before[0] = pc.if_else(single, "", before[0])  # Arrow loses rows that are null throughout
        rest = pc.binary_join_element_wise(*before, ", ", null_handling="skip")
        final = pc.coalesce(*[pc.if_else(pa.array(last == at), p, None) for at, p in enumerate(parts)])
        both = pc.binary_join_element_wise(rest, final, " and ")
        clauses = pc.if_else(single, final, both)
        keys = list(zip(claims.candidates.count[which].tolist(), claims.state[which].tolist(), strict=True))
        frames = {key: exactly(self.schema, key[0], "\0", KINDS[key[1]]).split("\0") for key in set(keys)}
        start = pa.array([frames[key][0] for key in keys], pa.string())
        end = pa.array([frames[key][1] for key in keys], pa.string())
        return pc.binary_join_element_wise(start, clauses, end, "")

    def _said(self, which: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Column (in the schema's order) × claim: is its value said, or implied by another one?"""
        subset = self.claims.candidates.subset[which].astype(np.int64)
        types, of = np.unique(self.claims.candidates.type[which], return_inverse=True)
        codes = self.claims.system.universe.codes[types]
        implying = np.zeros((len(self._by_schema), len(types)), np.int64)  # the columns, as bits
        for (one, other), implied in self._implied.items():
            c, d = self._by_schema[one], self._by_schema[other]
            implying[other] |= implied[codes[:, c], codes[:, d]].astype(np.int64) << c
        return np.array(
            [
                (subset >> c & 1 != 0) & (subset & implying[at][of] == 0)
                for at, c in enumerate(self._by_schema)
            ]
        )

    def _fragments(
        self, which: NDArray[np.int64], texts: Sequence[pa.Array], order: Sequence[int]
    ) -> list[pa.Array]:
        """Per column the text of each claim's value, null where the claim has no such column."""
        subset, codes = self.claims.candidates.subset[which], self.claims.codes[which]
        return [
            pc.take(texts[c], pa.array(codes[:, c].astype(np.int64), mask=(subset >> c & 1) == 0))
            for c in order
        ]


@lru_cache(maxsize=16)
def _implications(layout: Layout, names: tuple[str, ...]) -> dict[tuple[int, int], NDArray[np.bool_]]:
    """For pairs of columns value × value: where the first has made the second superfluous.

    Of two that imply each other the first is kept, as :meth:`Schema.describe` does.
    """
    schema, found = layout.schema, dict[tuple[int, int], NDArray[np.bool_]]()
    if not schema.rules and all(len(attribute.values) > 1 for attribute in schema.attributes):
        return found
    for one, name in enumerate(names):
        for other, second in enumerate(names):
            pairs = [
                [
                    one != other and _implied(schema, name, v, second, w, first=one < other)
                    for w in schema[second].values
                ]
                for v in schema[name].values
            ]
            if np.any(pairs):
                found[one, other] = np.array(pairs)
    return found


def _implied(schema: Schema, name: str, value: str, other: str, second: str, *, first: bool) -> bool:
    one, two = frozenset({value}), frozenset({second})
    return schema.implies(name, one, other, two) and (first or not schema.implies(other, two, name, one))


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _extra_row(verdict: Verdict, area: str, schema: Schema) -> tuple[object, ...]:
    claim = verdict.claim
    return (
        area,
        claim.selection.to_json(),
        len(claim.selection),
        claim.multiplicity,
        verdict.kind,
        verdict.evidence,
        verdict.direct,
        verdict.n_tables,
        claim.sentence(schema, verdict.kind),
    )


def _order(verdict: Verdict) -> tuple[int, str, int]:
    claim = verdict.claim
    return len(claim.selection), claim.selection.to_json(), claim.multiplicity
