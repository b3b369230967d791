"""The evidence for a finding: arithmetic on cells, the claims it is made of, and what does not follow.

A finding says that whoever knows G learns C. It rests on two counts that are the same, that of G
and that of G with C. Both are proved; here the proofs are put into words, with all other claims
about the same records. Where the run has kept datasets that refute claims, the nearest claims that
do *not* follow are shown with what two datasets say about them; of the datasets themselves only
counts are kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.release import Layout, Release
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.claims import count_word, exactly
from showthrough.tables.drawing import Drawing, draw_proof
from showthrough.tables.explain import explain_proof
from showthrough.tables.grounds import Grounds
from showthrough.tables.proof import PART, Proof
from showthrough.tables.run.read import AuditRun, StoredFinding, iter_areas
from showthrough.tables.stored import CodedClaims, code_claims, texts

if TYPE_CHECKING:
    from showthrough.tables.linked.nest import Nest

__all__ = [
    "AreaEvidence",
    "Evidence",
    "Neighbour",
    "ProofStep",
    "collect_evidence",
]

#: What is shown of one finding at most; the run folder has the rest.
MOST_CLAIMS, MOST_LINES, MOST_NEIGHBOURS = 250, 80, 3

#: The most telling findings whose proofs are drawn; those of the others are arithmetic.
MOST_DRAWN = 500

_TABLES: dict[str, Sequence[str]] = {
    "claims": ("selection", "multiplicity", "verdict", "evidence", "direct"),
    "proofs": ("proof", "claims"),
    "counts": ("low", "high"),
}


@dataclass(frozen=True)
class ProofStep:
    """Something proved: in words, and the numbers of its proof and its drawing within the area.

    ``proof`` is None if it was not found, ``drawing`` if the proof is too long to be drawn.
    """

    says: str
    proof: int | None
    drawing: int | None = None


@dataclass(frozen=True)
class Neighbour:
    """A similar claim that does not follow, with its count in two datasets that agree.

    ``values`` are the counts of the finding's records by value of the one attribute that the claim
    adds, in the first and in the second dataset.
    """

    says: str
    counts: tuple[int, int]
    attribute: str = ""
    values: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True)
class Evidence:
    """The evidence for one finding. ``claims`` are (positions in ``terms``, evidence, proof)."""

    steps: tuple[ProofStep, ...]
    ways: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    claims: tuple[tuple[tuple[int, ...], str, int | None], ...] = ()
    neighbours: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, eq=False)
class AreaEvidence:
    """All evidence about one area: its findings by position, and the evidence for each.

    ``words`` are its proofs as arithmetic, ``drawings`` those that are drawn.
    """

    release: Release
    positions: Sequence[int]
    evidence: Sequence[Evidence]
    words: Sequence[list[str]]
    drawings: Sequence[Drawing]

    def tables_shown(self) -> Iterator[tuple[int, int]]:
        """For every finding all of whose steps are drawn: how many tables are shown."""
        for at, one in zip(self.positions, self.evidence, strict=True):
            numbers = [step.drawing for step in one.steps if step.drawing is not None]
            if len(numbers) == len(one.steps):
                yield at, len({table for number in numbers for table in self.drawings[number].tables})


def collect_evidence(
    run: AuditRun, findings: Sequence[StoredFinding], chosen: Iterable[int] | None = None
) -> Iterator[AreaEvidence]:
    """Area by area the evidence for all findings, or for those at the chosen positions."""
    of: dict[str, list[int]] = {}
    for at in range(len(findings)) if chosen is None else chosen:
        of.setdefault(findings[at].area, []).append(at)
    tables = dict(_TABLES)
    if next(run.batches("witnesses", ["area"], rows=1), None) is not None:
        tables["witnesses"] = ("selection", "first", "second")
    nests = _nests_of(run, of) if run.is_nested else {}
    for area, rows in iter_areas(run, tables, set(of)):
        known = _Area(area, run.layout, rows, nest=nests.get(area))
        evidence = list[Evidence]()
        for at in of[area]:
            known.drawing = at < MOST_DRAWN
            evidence.append(known.evidence(findings[at]))
        yield AreaEvidence(known.release, of[area], evidence, known.words, known.drawings)


def _nests_of(run: AuditRun, areas: Collection[str]) -> dict[str, Nest]:
    from showthrough.tables.run.nests import nests_of

    return nests_of(run.all_areas, areas)


@dataclass
class _Area:
    """One area's claims and proofs, to be asked about findings."""

    name: str
    layout: Layout
    tables: Mapping[str, pa.Table]
    words: list[list[str]] = field(default_factory=list[list[str]])
    drawings: list[Drawing] = field(default_factory=list[Drawing])
    drawing: bool = True
    nest: Nest | None = None

    @property
    def schema(self) -> Schema:
        return self.layout.schema

    @cached_property
    def release(self) -> Release:
        row = self.tables["counts"].to_pylist()[0]
        return Release(self.layout, np.array(row["low"]), np.array(row["high"]), self.name)

    @cached_property
    def claims(self) -> pa.Table:
        """The verified claims."""
        table = self.tables["claims"]
        return table.filter(pa.array([verdict == "verified" for verdict in table["verdict"].to_pylist()]))

    @cached_property
    def coded(self) -> CodedClaims:
        return code_claims(self.claims["selection"], self.schema)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        return self.claims["multiplicity"].to_numpy()

    @cached_property
    def selections(self) -> list[str]:
        return texts(self.claims["selection"])

    @cached_property
    def how(self) -> list[str]:
        """What settled each verified claim."""
        pairs = zip(self.claims["evidence"].to_pylist(), self.claims["direct"].to_pylist(), strict=True)
        return ["stated" if direct else str(evidence) for evidence, direct in pairs]

    @cached_property
    def _proofs(self) -> list[Proof]:
        return [Proof.from_json(text) for text in texts(self.tables["proofs"]["proof"])]

    @cached_property
    def _proof_of(self) -> dict[tuple[str, int, bool], int]:
        """(selection, multiplicity, whether both ends are proved) → number of the proof."""
        found: dict[tuple[str, int, bool], int] = {}
        for at, claims in enumerate(self.tables["proofs"]["claims"].to_pylist()):
            proof = self._proofs[at]
            exact = proof.at_least is not None and proof.at_most is not None
            own = Selection(tuple(term for term in proof.selection if term[0] != PART))
            for text in claims or [own.to_json()]:
                found.setdefault((text, proof.multiplicity, exact), at)
        return found

    @cached_property
    def _shown(self) -> dict[int, int]:
        return {}

    @cached_property
    def _grounds(self) -> Grounds:
        return Grounds(self.release)

    @cached_property
    def _drawn(self) -> dict[tuple[int, str], int | None]:
        return {}

    def step(self, says: str, selection: Selection, count: int, *, exact: bool = True) -> ProofStep:
        """What is said of a selection, with the proof, in words and drawn."""
        text = selection.to_json()
        at = self._proof_of.get((text, count, exact))
        if at is None:
            return ProofStep(says, None)
        if self.drawing and (at, text) not in self._drawn and PART not in self._proofs[at].over:
            about = replace(self._proofs[at], selection=selection.terms)
            drawing = draw_proof(about, self.release, self._grounds)
            self._drawn[at, text] = None if drawing is None else len(self.drawings)
            self.drawings += [] if drawing is None else [drawing]
        return ProofStep(says, self.proof(text, count, exact=exact), self._drawn.get((at, text)))

    def proof(self, selection: str, count: int, *, exact: bool = True) -> int | None:
        """The number among ``words`` of the proof about a selection, as JSON; put into words if need be."""
        at = self._proof_of.get((selection, count, exact))
        if at is None:
            return None
        if at not in self._shown:
            lines = self._explained(self._proofs[at])
            left = len(lines) - MOST_LINES
            more = [f"… and {left:,} more lines"] if left > 0 else []
            self._shown[at] = len(self.words)
            self.words.append([*lines[:MOST_LINES], *more])
        return self._shown[at]

    def _explained(self, proof: Proof) -> list[str]:
        """A proof as arithmetic; one by the tables of the larger area names whose cells these are."""
        if PART in proof.over and self.nest is not None:
            from showthrough.tables.linked.explain import explain_nested

            return explain_nested(proof, self.nest)
        return explain_proof(proof, self.release)

    def evidence(self, finding: StoredFinding) -> Evidence:
        """Everything behind one finding."""
        knows, learns, count = finding.knows, finding.learns, finding.multiplicity
        ways = tuple(dict.fromkeys(map(self.schema.describe, finding.other_ways)))
        if finding.kind == "group of unknown size":
            return Evidence(tuple(self._group_steps(knows, learns)), ways)
        both = knows & learns
        top = self._top(both, count)
        steps = tuple(self._steps(knows, both, count))
        if top is None:
            return Evidence(steps, ways)
        terms, claims = self._members(top, count)
        return Evidence(steps, ways, terms, claims, tuple(self._neighbours(top, both)))

    def _steps(self, knows: Selection, both: Selection, count: int) -> Iterator[ProofStep]:
        """What is known has a count, and so has what is known with what is learnt: the same."""
        for selection in (knows, both) if knows.terms else (both,):
            says = exactly(self.schema, count, self.schema.describe(selection), "verified")
            yield self.step(says, selection, count)

    def _group_steps(self, knows: Selection, learns: Selection) -> Iterator[ProofStep]:
        """Somebody is as known, and nobody is so and has another value."""
        record, known = self.schema.record, self.schema.describe(knows)
        yield self.step(f"For at least {count_word(1)} {record}, {known}.", knows, 1, exact=False)
        for name, values in learns.terms:
            others = [v for v in self.schema[name].values if v not in values]
            said = self.schema.describe(Selection.of({name: values}))
            selection = Selection.of({**dict(knows.terms), name: others})
            yield self.step(f"For all of them, {said}.", selection, 0, exact=False)

    def _top(self, both: Selection, count: int) -> NDArray[np.int16] | None:
        """The codes of the largest verified claim about the same records."""
        codes = self._code(both)
        holds = (self.counts == count) & _within(codes, self.coded.codes)
        if not holds.any():
            return None
        sizes = np.where(holds, (self.coded.codes >= 0).sum(axis=1), -1)
        return self.coded.codes[int(np.argmax(sizes))]

    def _code(self, selection: Selection) -> NDArray[np.int16]:
        codes = np.full(len(self.schema.attributes), -1, np.int16)
        for name, values in selection.terms:
            codes[self.schema.index[name]] = self.schema[name].code(values[0])
        return codes

    def _members(
        self, top: NDArray[np.int16], count: int
    ) -> tuple[tuple[str, ...], tuple[tuple[tuple[int, ...], str, int | None], ...]]:
        """All claims about the records of the largest one: as many records, and fewer values."""
        inside = ((self.coded.codes < 0) | (self.coded.codes == top)).all(axis=1)
        rows = np.flatnonzero(inside & (self.counts == count))
        columns = np.flatnonzero(top >= 0).tolist()
        attributes = [self.schema.attributes[c] for c in columns]
        terms = tuple(f"{a.name}={a.values[int(top[c])]}" for a, c in zip(attributes, columns, strict=True))
        claims = tuple(
            (
                tuple(at for at, c in enumerate(columns) if self.coded.codes[row, c] >= 0),
                self.how[row],
                self.proof(self.selections[row], count),
            )
            for row in rows[:MOST_CLAIMS].tolist()
        )
        return terms, claims

    @cached_property
    def _witnesses(self) -> tuple[pa.Table, NDArray[np.int16], NDArray[np.int64]]:
        """Refuted claims: as stored, coded, and of how many columns each."""
        table = self.tables["witnesses"]
        codes = code_claims(table["selection"], self.schema).codes
        return table, codes, (codes >= 0).sum(axis=1)

    def _neighbours(self, top: NDArray[np.int16], both: Selection) -> Iterator[Neighbour]:
        """Refuted claims that add one value to the finding, or take some away from it."""
        if "witnesses" not in self.tables or not self.tables["witnesses"].num_rows:
            return
        table, codes, sizes = self._witnesses
        more = np.flatnonzero((sizes == (top >= 0).sum() + 1) & _within(top, codes))
        inside = np.flatnonzero(((codes < 0) | (codes == top)).all(axis=1))
        fewer = inside[np.argsort(-sizes[inside], kind="stable")]
        for row in [*more[:MOST_NEIGHBOURS].tolist(), *fewer[: MOST_NEIGHBOURS - 1].tolist()]:
            yield self._neighbour(table.slice(row, 1).to_pylist()[0], both)

    def _neighbour(self, row: Mapping[str, Any], both: Selection) -> Neighbour:
        selection = Selection.from_json(row["selection"])
        worlds = [
            [
                (record, int(n))
                for record, n in json.loads(row[side])
                if record.get(PART, self.name) == self.name
            ]
            for side in ("first", "second")
        ]
        first, second = (_count(world, selection) for world in worlds)
        says = exactly(self.schema, first, self.schema.describe(selection), "refuted")
        added = [name for name in selection.attributes if name not in both]
        inside = all(name in selection for name in both.attributes)
        if len(added) != 1 or not inside:
            return Neighbour(says, (first, second))
        attribute = self.schema[added[0]]
        one, other = (_spread(world, both, attribute.name) for world in worlds)
        spread = ((value, one[value], other[value]) for value in attribute.values)
        rows = tuple((attribute.labels.get(v, v), a, b) for v, a, b in spread if a or b)
        return Neighbour(says, (first, second), attribute.label or attribute.name, rows)


def _within(codes: NDArray[np.int16], others: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Which of the others have all values of the first."""
    return ((codes < 0) | (others == codes)).all(axis=1)


def _count(world: Iterable[tuple[Mapping[str, str], int]], selection: Selection) -> int:
    return sum(n for record, n in world if selection.matches(record))


def _spread(world: Iterable[tuple[Mapping[str, str], int]], selection: Selection, name: str) -> Counter[str]:
    """How many of the selected records have each value of an attribute."""
    found = Counter[str]()
    for record, n in world:
        if selection.matches(record):
            found[record[name]] += n
    return found
