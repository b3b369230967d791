"""The audit of one area: its findings and verdicts, and all its claims as columns and as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.export import Tabular
from showthrough.release import Release
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.claims import KINDS, Claim, Finding, Kind, Variability, Verdict, World, world_of
from showthrough.tables.explain import count_tables, label_of
from showthrough.tables.grounds import Resting
from showthrough.tables.proof import Checker, Node, Proof, Terms
from showthrough.tables.search.questions import REFUTED, REJECTED, UNDECIDED, VERIFIED, Answers, Candidates
from showthrough.tables.search.shorten import cells_of
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.stored import CLAIM_COLUMNS, FINDING_COLUMNS
from showthrough.tables.wording import Wording
from showthrough.text import html_summary, several

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
        How many record types the rules and the cells published as 0 leave possible; None where they are
        too many to be listed.
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
    without_findings
        Whether findings were not requested, so that an empty list means nothing.
    variability
        In how many records two datasets can differ, where that was asked for and is known.
    """

    release: Release
    claim_table: ClaimTable
    n_types: int | None
    n_records: int | None
    unique: bool | None
    left_out: tuple[str, ...] = ()
    extra: tuple[Verdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    work: dict[str, int] = field(default_factory=dict[str, int])
    without_findings: bool = False
    variability: Variability | None = None

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
        counted = ", ".join(f"{several(self.n_of(kind), 'claim')} {kind}" for kind in kinds)
        name = f"Audit of {self.area}" if self.area else "Audit"
        found = "findings not asked for" if self.without_findings else several(len(self.findings), "finding")
        return f"{name}: {found}; {counted}"

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
        chosen = claims.wording.in_order(np.flatnonzero((claims.state != REFUTED) | refuted))
        table = claims.wording.table(chosen, self.area)
        if not self.extra:
            return table
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
                "n_tables_added": one.n_tables_added,
                "n_tables": one.n_tables,
                "sentence": one.sentence(self.schema),
            }
            for one in self.findings
        ]
        return pa.Table.from_pylist(rows, FINDING_COLUMNS)


@dataclass(frozen=True, eq=False)
class ClaimTable:
    """Claims as columns. ``question[i]`` indexes ``answers``; −1 fell to ``witness[i]`` before.

    ``short`` has both ends of the claims that have a shorter proof than their question, ``resting`` the
    tables that the proofs of some claims rest on.
    """

    system: System
    pool: Sequence[TypeCounts]
    candidates: Candidates
    question: NDArray[np.int64]
    witness: NDArray[np.int64]
    answers: Answers
    direct: NDArray[np.bool_]
    short: dict[int, tuple[Node, Node]] = field(default_factory=dict[int, "tuple[Node, Node]"])
    resting: dict[int, Resting] = field(default_factory=dict[int, Resting])

    @cached_property
    def state(self) -> NDArray[np.int8]:
        """Per claim: verified, refuted or undecided."""
        asked = np.append(self.answers.state, np.int8(REFUTED))
        return asked[self.question]

    def forget_states(self) -> None:
        """Look at the answers again, some of which were undone."""
        self.__dict__.pop("state", None)

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
        subset, codes = int(self.candidates.subset[at]), self.codes[at].tolist()
        return {
            name: values[codes[column]]
            for column, (name, values) in enumerate(self._columns)
            if subset >> column & 1
        }

    def sorted_terms(self, at: int) -> Terms:
        """A claim's attributes and values as a selection has them."""
        return tuple((name, (value,)) for name, value in sorted(self.terms(at).items()))

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
        if self.state[at] == VERIFIED:
            return self._of_proof(at)[0]
        stage = "worlds" if question < 0 else self.answers.stage[question]
        if self.state[at] == UNDECIDED:
            return stage if stage in ("solver only", REJECTED) else "effort"
        return stage

    def proof(self, at: int) -> Proof | None:
        """The proof of a claim (of one end, if it is undecided); None if there is none."""
        question = int(self.question[at])
        if question < 0 or self.state[at] == REFUTED:
            return None
        low, high = self.ends(at)
        over = self.system.universe.frame.names
        made = Proof(self.sorted_terms(at), int(self.candidates.count[at]), low, high, over=over)
        return made if made.nodes else None

    def ends(self, at: int) -> tuple[Node | None, Node | None]:
        """What proves the two ends of a claim that was asked about."""
        question = int(self.question[at])
        return self.short.get(at) or (self.answers.at_least[question], self.answers.at_most[question])

    def evidence_and_tables(self, which: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str], list[int]]:
        """What settled each of some claims, and how many tables its proof multiplies cells of.

        Per claim a number, and by that number the two.
        """
        state, proof = self.state[which].astype(np.int64), self._proof_numbers()[which]
        key = (proof + 1) * 8 + state * 2 + self.direct[which]
        _, first, of = np.unique(key, return_index=True, return_inverse=True)
        found = [
            self._of_proof(at) if verified else (self.evidence(at), 0)
            for at, verified in zip(which[first].tolist(), (state[first] == VERIFIED).tolist(), strict=True)
        ]
        return of.ravel(), [evidence for evidence, _ in found], [n for _, n in found]

    def _proof_numbers(self) -> NDArray[np.int64]:
        """Per claim a number that it shares with all claims that have the same proof or question."""
        found, shared, of_pair = self.question.copy(), dict[tuple[int, int], int](), dict[int, int]()
        numbers = list[int]()
        for ends in self.short.values():
            number = of_pair.get(id(ends))
            if number is None:  # the same two ends may be in different pairs
                number = shared.setdefault((id(ends[0]), id(ends[1])), len(self.answers.state) + len(shared))
                of_pair[id(ends)] = number
            numbers.append(number)
        found[list(self.short)] = numbers
        return found

    def tables_added(self, at: int) -> int:
        """How many tables the proof of a verified claim multiplies cells of."""
        return self._of_proof(at)[1] if self.state[at] == VERIFIED else 0

    def tables_rested_on(self, at: int) -> int | None:
        """How many tables the proof of a claim rests on, zeros included; None if they were not counted."""
        return self.resting[at].n_tables if at in self.resting else None

    def _of_proof(self, at: int) -> tuple[str, int]:
        """The label of a verified claim's proof, and how many tables it multiplies cells of."""
        ends, direct = self.ends(at), bool(self.direct[at])
        key = id(ends[0]), id(ends[1]), direct
        if key not in self._labels:
            layout = self.system.release.layout
            label = label_of(ends, layout, direct=direct)
            self._labels[key] = label, count_tables(layout, cells_of(*ends)), ends
        return self._labels[key][:2]

    @cached_property
    def _labels(self) -> dict[tuple[int, int, bool], tuple[str, int, object]]:
        """By proof; the proofs are kept too, so that their numbers are not given to others."""
        return {}

    def by_proof(self) -> Iterator[NDArray[np.int64]]:
        """The verified claims, those with the same proof together, those with few columns first."""
        verified = np.flatnonzero(self.state == VERIFIED)
        order = verified[np.lexsort((self.k[verified], self.question[verified]))]
        if not len(order):
            return iter(())
        _, first, of = np.unique(self._proof_numbers()[order], return_index=True, return_inverse=True)
        group = first[of]  # the position of the first claim with the same proof
        together = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.diff(group[together])) + 1
        return iter(np.split(order[together], starts))

    @cached_property
    def wording(self) -> Wording:
        """Claims as JSON and as sentences."""
        return Wording(self)

    def verdict(self, at: int) -> Verdict:
        """Everything about one claim."""
        state, claim = self.state[at], self.claim(at)
        proof = self.proof(at)
        m = claim.multiplicity
        return Verdict(
            claim,
            KINDS[int(state)],
            self.evidence(at),
            direct=bool(self.direct[at]),
            n_tables_added=self.tables_added(at),
            n_tables=self.tables_rested_on(at),
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

    def world_checker(self) -> Checker:
        """What every dataset that refutes a claim must pass before it is written."""
        release = self.system.release
        return Checker(release.schema, release)

    def _with_count(
        self,
        mask: NDArray[np.bool_],
        worlds: Sequence[TypeCounts | NDArray[np.int64]],
        m: int,
        *,
        equal: bool,
    ) -> TypeCounts:
        """A world in which the mask has (or has not) m records, moved within classes if need be."""
        for world in map(TypeCounts.of, worlds):
            for side in (None, False, True):
                moved = world if side is None else self._moved(world, mask, side)
                if (int(moved.times[mask[moved.types]].sum()) == m) is equal:
                    return moved
        raise AssertionError("the world kept as a witness is none")

    def _moved(self, world: TypeCounts, mask: NDArray[np.bool_], inside: bool) -> TypeCounts:
        """The world with every record in or out of the mask where its class allows it."""
        moved = world.types.copy()
        for at, type_ in enumerate(world.types):
            members = self.system.members(int(self.system.group[type_]))
            wanted = members[mask[members] == inside]
            if len(wanted):
                moved[at] = wanted[0]
        return TypeCounts.of_counts(moved, world.times)


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
        verdict.n_tables_added,
        verdict.n_tables,
        claim.sentence(schema, verdict.kind),
    )


def _order(verdict: Verdict) -> tuple[int, str, int]:
    claim = verdict.claim
    return len(claim.selection), claim.selection.to_json(), claim.multiplicity
