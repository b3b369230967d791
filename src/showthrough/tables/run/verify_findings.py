"""The findings of an area, compared with those that follow from its proved claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from showthrough.errors import ProofError
from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.claims import Finding
from showthrough.tables.explain import count_tables
from showthrough.tables.findings import MOST_COUNTED, order_of
from showthrough.tables.grounds import Grounds, Resting
from showthrough.tables.proof import PART, Proof
from showthrough.tables.run.derive import Derived, Linked
from showthrough.tables.run.read import StoredFinding
from showthrough.tables.run.stored_claims import StoredClaims
from showthrough.tables.run.stored_proofs import StoredProofs
from showthrough.tables.stored import MALFORMED

__all__ = [
    "check_findings",
]

UNKNOWN_SIZE = "group of unknown size"


def check_findings(
    rows: Sequence[dict[str, Any]],
    claims: StoredClaims,
    proofs: StoredProofs,
    release: Release,
    largest: int,
) -> Iterator[str]:
    """What is wrong with the findings of an area: each must follow, none may be missing."""
    check = _Check(claims, proofs, release, Linked(claims, release, largest))
    stored = list[StoredFinding]()
    for row in rows:
        try:
            stored.append(one := StoredFinding.of(row))
        except MALFORMED:
            yield f"a finding cannot be read: {row['sentence']}"
            return
        ways = f"[{', '.join(way.to_json() for way in one.other_ways)}]"
        if (one.knows.to_json(), one.learns.to_json(), ways) != (
            row["knows"],
            row["learns"],
            row["other_ways"],
        ):
            yield f"a finding is not written as findings are: {row['sentence']}"
    if "undecided" not in claims.verdict:
        for at in list(check.linked.torn())[:1]:
            yield f"a claim is missing: one that lies between {claims.selections[at]} and a larger one"
    yield from check.compare(stored)


@dataclass(frozen=True)
class _Check:
    claims: StoredClaims
    proofs: StoredProofs
    release: Release
    linked: Linked

    def compare(self, stored: Sequence[StoredFinding]) -> Iterator[str]:
        """Stored findings against those that are derived: the same ones, in the same order."""
        derived = {_name(made.finding): made for made in self.linked.findings(wide=False)}
        expected, missing = list[Derived](), dict(derived)
        for row in stored:
            try:
                if row.kind == UNKNOWN_SIZE:
                    made = self._group(row)
                elif missing.pop(_name(row), None) is not None:
                    made = derived[_name(row)]
                else:
                    made = self._wide(row)
            except ProofError as error:
                yield f"{error}: {row.sentence}"
                continue
            made = self._with_proofs(made)
            expected.append(made)
            for column in self._differences(row, made.finding):
                yield f"{column} is wrong in a finding: {row.sentence}"
        for made in missing.values():
            yield f"a finding is missing: {made.finding.sentence(self.release.schema)}"
        order = [order_of(made.finding) for made in expected]
        if any(one >= other for one, other in pairwise(order)):
            yield "findings.parquet: rows out of order, or twice"
        elif len(expected) == len(stored) and not missing:
            yield from self._tables_rested_on(stored, expected)

    def _differences(self, row: StoredFinding, made: Finding) -> Iterator[str]:
        """The columns in which a stored finding differs from what it should be."""
        for column in ("kind", "multiplicity", "k", "other_ways", "n_claims", "n_tables_added"):
            if getattr(row, column) != getattr(made, column):
                yield column
        if row.sentence != self.claims.vocabulary.sentence(made):
            yield "the sentence"

    def _with_proofs(self, made: Derived) -> Derived:
        """The finding with what its proofs use."""
        proofs = made.finding.proofs or [proof for _, proof in self._shown(made)]
        cells = {cell for proof in proofs for cell in proof.cells}
        tables = count_tables(self.release.layout, cells)
        return Derived(replace(made.finding, n_tables_added=tables, n_cells=len(cells)), made.shown)

    def _shown(self, made: Derived) -> Iterator[tuple[int, Proof]]:
        """The claims whose proofs people are shown, each with what proves it and others."""
        claims, m = self.claims, made.finding.multiplicity
        for at in made.shown:
            if proof := self.proofs.of.get((claims.selections[at], m, "verified")):
                yield at, proof

    def _own(self, at: int, proof: Proof) -> Proof:
        """The proof as that of this claim alone."""
        return replace(proof, selection=self.claims.vocabulary.terms(self.claims.selections[at]))

    def _tables_rested_on(
        self, stored: Sequence[StoredFinding], expected: Sequence[Derived]
    ) -> Iterator[str]:
        """n_tables, which is counted for the first findings about a known number of records."""
        sized = [at for at, made in enumerate(expected) if made.finding.kind != UNKNOWN_SIZE]
        bare = {at: replace(expected[at].finding, n_cells=0) for at in sized}
        counted = sorted(sized, key=lambda at: order_of(bare[at]))[:MOST_COUNTED]
        grounds, resting = Grounds(self.release), dict[int, Resting]()
        tables: list[int | None] = [None] * len(stored)
        for place in counted:
            shown = dict(self._shown(expected[place]))
            if any(PART in proof.over for proof in shown.values()):
                continue
            mine = {at: grounds.tables(self._own(at, proof)) for at, proof in shown.items()}
            resting |= mine
            whole = Resting()
            for one in mine.values():
                whole |= one
            tables[place] = whole.n_tables
        for row, n_tables in zip(stored, tables, strict=True):
            if row.n_tables != n_tables:
                yield f"n_tables is wrong in a finding: {row.sentence}"
        for at, n_tables in enumerate(self.claims.stated["n_tables"]):
            if n_tables != (resting[at].n_tables if at in resting else None):
                yield f"n_tables is wrong for {self.claims.selections[at]}"

    def _group(self, row: StoredFinding) -> Derived:
        """A finding about a group of unknown size: somebody is in it, and nobody without what is learnt."""
        if not (row.knows.terms and row.learns.terms) or {*row.knows.attributes} & {*row.learns.attributes}:
            raise ProofError("a finding says nothing")
        if row.knows.to_json() in self._sized or not self.linked.tells(_plain(row.knows), _plain(row.learns)):
            raise ProofError("a finding says nothing new")
        schema = self.release.schema
        found = [self._end(row.knows, 1, "at least")]
        for name, values in row.learns.terms:
            others = tuple(value for value in schema[name].values if value not in values)
            if not others:
                raise ProofError("a finding says nothing")
            found.append(self._end(Selection.of({**dict(row.knows.terms), name: others}), 0, "at most"))
        return Derived(Finding(UNKNOWN_SIZE, 1, row.knows, row.learns, proofs=tuple(found)), ())

    @cached_property
    def _sized(self) -> set[str]:
        """The selections whose counts are known."""
        return {self.claims.selections[at] for at in self.linked.chosen.tolist()}

    def _end(self, selection: Selection, m: int, end: str) -> Proof:
        proof = self.proofs.end(selection.to_json(), m, end)
        if proof is None:
            raise ProofError(f"no proof of {end} {m} of {selection.to_json()} for a finding")
        return proof

    def _wide(self, row: StoredFinding) -> Derived:
        """A finding of claims with as many columns as the audit allowed: it must follow from two of them."""
        claims, m = self.claims, row.multiplicity
        if not self.linked.limited:
            raise ProofError("a finding does not follow")
        proved = {claims.selections[at]: at for at in self.linked.chosen.tolist()}
        shown = [row.knows, row.knows & row.learns] if row.knows.terms else [row.learns]
        for selection in (*shown, *row.other_ways):
            at = proved.get(selection.to_json())
            if at is None or claims.multiplicity[at] != m or not self.linked.wide(at):
                raise ProofError("a finding does not follow")
        first = proved[shown[0].to_json()]
        if row.knows.terms:
            follows = self.linked.tells(claims.terms(first), _plain(row.learns))
        else:
            follows = not claims.direct[first] and not self.linked.is_margin(first)
        if not follows or not 1 <= row.n_claims <= int((claims.multiplicity == m).sum()):
            raise ProofError("a finding does not follow")
        kind = "singleton" if m == 1 else "group"
        finding = Finding(kind, m, row.knows, row.learns, row.other_ways, row.n_claims)
        return Derived(finding, tuple(proved[one.to_json()] for one in shown))


def _name(finding: Finding | StoredFinding) -> str:
    return f"{finding.knows.to_json()} {finding.learns.to_json()}"


def _plain(selection: Selection) -> dict[str, str]:
    return {name: values[0] for name, values in selection.terms if len(values) == 1}
