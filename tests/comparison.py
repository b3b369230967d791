"""The engine's answer to one case next to the answer by exhaustion.

Used by ``test_soundness.py`` and, on many more cases, by ``benchmarks/soundness.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import brute_force
import showthrough as st
from brute_force import attributes_in_use, matches
from showthrough.release import Published, Release
from showthrough.tables.proof import Checker
from strategies import Case, equal_pairs, random_case, with_true_table

Rows = tuple[tuple[Mapping[str, str], int], ...]


@dataclass
class Tally:
    """What was compared, and every difference found, as text that names the case."""

    cases: int = 0
    verified: int = 0
    refuted: int = 0
    false: int = 0
    missed: int = 0
    undecided: int = 0
    proofs: int = 0
    worlds: int = 0
    findings: int = 0
    gaps: int = 0
    absences: int = 0
    problems: list[str] = field(default_factory=list)

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{name: value + getattr(other, name) for name, value in vars(self).items()})


def compare_seed(seed: int) -> Tally:
    """Every second case is audited with the truth at hand, the others from the counts alone.

    Random cases hardly ever have gaps, so every tenth is one with a count that can only be even.
    """
    case = with_true_table(equal_pairs(2 + seed // 10 % 3), seed) if seed % 10 == 9 else random_case(seed)
    return compare(case, with_truth=seed % 2 == 0, name=f"seed {seed}")


def compare(case: Case, *, with_truth: bool, name: str = "case") -> Tally:
    """Audit the case with everything on and hold all that it says against brute force."""
    audit = st.audit(case.release, truth=case.records if with_truth else None, absent=True, gaps=True)
    in_use = set(attributes_in_use(case.release))
    absent = {
        (s, 0) for s in brute_force.absent_minimal(case.worlds, case.schema) if in_use >= {*s.attributes}
    }
    true = brute_force.verified_claims(case.worlds, case.schema) | absent
    found = verified_claims(audit)
    tally = Tally(cases=1, verified=len(found), false=len(found - true), missed=len(true - found))
    tally.absences = len(absent)
    tally.problems += [f"{name}: false: {s} x{m}" for s, m in sorted(found - true, key=str)]
    tally.problems += [f"{name}: missed: {s} x{m}" for s, m in sorted(true - found, key=str)]
    check_gaps(case, audit, tally, name)
    check_verdicts(case, audit, tally, name)
    check_findings(case, audit, tally, name)
    if audit.unique is not brute_force.is_unique(case.worlds):
        tally.problems.append(f"{name}: unique is {audit.unique}, datasets: {len(case.worlds)}")
    return tally


def check_gaps(case: Case, audit: st.Audit, tally: Tally, name: str) -> None:
    """The counts that the audit calls impossible are those that no dataset has."""
    said = {(v.claim.selection, v.claim.multiplicity) for v in audit.verdicts if v.kind == "impossible"}
    in_use = set(attributes_in_use(case.release))
    asked = [s for s in brute_force.selections(case.schema) if in_use >= {*s.attributes}]
    true = {(s, m) for s in asked for m in gaps(case, s)}
    tally.gaps += len(said)
    tally.false += len(said - true)
    tally.missed += len(true - said)
    tally.problems += [f"{name}: false gap: {s} x{m}" for s, m in sorted(said - true, key=str)]
    tally.problems += [f"{name}: missed gap: {s} x{m}" for s, m in sorted(true - said, key=str)]


def gaps(case: Case, selection: st.Selection) -> set[int]:
    """The counts strictly between the smallest and the largest that no dataset has."""
    least, most = brute_force.count_range(case.worlds, selection)
    if most is None:
        return set()
    return set(range(least, most)) - brute_force.possible_counts(case.worlds, selection, up_to=most)


def check_findings(case: Case, audit: st.Audit, tally: Tally, name: str) -> None:
    """What a finding says holds in every dataset, is not in the rules, and its own proofs hold."""
    checker = Checker(case.schema, case.release)
    legal = brute_force.legal_types(case.schema)
    for finding in audit.findings:
        tally.findings += 1
        where = f"{name}: {finding.sentence(case.schema)}"
        both = finding.knows & finding.learns
        if finding.knows.terms:
            having = [record for record in legal if matches(finding.knows, record)]
            told = [n for n in finding.learns.attributes if len({record[n] for record in having}) == 1]
            tally.problems += [f"{where} the rules alone say {n}" for n in told]
        if finding.kind == "group of unknown size":
            holds = _always_shared(case, finding)
        else:
            exact = (finding.multiplicity,) * 2
            known = finding.knows if finding.knows.terms else both
            holds = all(brute_force.count_range(case.worlds, s) == exact for s in (known, both))
        if not holds:
            tally.false += 1
            tally.problems.append(f"{where} is false")
        for proof in finding.proofs:
            tally.proofs += 1
            try:
                checker.check(proof)
            except st.ProofError as error:
                tally.problems.append(f"{where} proof rejected: {error}")


def _always_shared(case: Case, finding: st.Finding) -> bool:
    """Whether in every dataset somebody is as known, and everybody so is as learnt."""
    least, _ = brute_force.count_range(case.worlds, finding.knows)
    others = [
        finding.knows & st.Selection.of({name: [v for v in case.schema[name].values if v not in values]})
        for name, values in finding.learns.terms
    ]
    nobody = all(brute_force.count_range(case.worlds, one) == (0, 0) for one in others)
    return least >= finding.multiplicity == 1 and nobody


def verified_claims(audit: st.Audit) -> set[tuple[st.Selection, int]]:
    """What the audit calls certain, as (selection, m)."""
    verdicts = [verdict for verdict in audit.verdicts if verdict.kind == "verified"]
    return {(verdict.claim.selection, verdict.claim.multiplicity) for verdict in verdicts}


def check_verdicts(case: Case, audit: st.Audit, tally: Tally, name: str) -> None:
    """Check each verdict's evidence."""
    checker = Checker(case.schema, case.release)
    for verdict in audit.verdicts:
        where = f"{name}: {verdict.claim.selection} x{verdict.claim.multiplicity}"
        if verdict.kind == "undecided":
            tally.undecided += 1
            tally.problems.append(f"{where}: undecided")
        elif verdict.kind == "refuted":
            tally.refuted += 1
            tally.worlds += 2
            tally.problems += [f"{where}: {p}" for p in refutation_problems(case, checker, verdict)]
        else:
            tally.proofs += 1
            tally.problems += [f"{where}: {p}" for p in proof_problems(case, checker, verdict)]


def proof_problems(case: Case, checker: Checker, verdict: st.Verdict) -> list[str]:
    """What is wrong with a proof: it must be about this claim, of the right kind, and hold."""
    proof = verdict.proof
    if proof is None:
        return ["no proof"]
    problems: list[str] = []
    stated = case.schema.check_selection(st.Selection(proof.selection))
    if stated != case.schema.check_selection(verdict.claim.selection):
        problems.append(f"the proof is about {stated}")
    if proof.multiplicity != verdict.claim.multiplicity:
        problems.append(f"the proof is about {proof.multiplicity} records")
    needed = (proof.never,) if verdict.kind == "impossible" else (proof.at_least, proof.at_most)
    if None in needed:
        problems.append("the proof has not all the parts it needs")
    try:
        checker.check(proof)
        st.check_proof(st.Proof.from_json(proof.to_json()), case.schema, case.release)
    except st.ProofError as error:
        problems.append(f"proof rejected: {error}")
    return problems


def refutation_problems(case: Case, checker: Checker, verdict: st.Verdict) -> list[str]:
    """What is wrong with a refutation: both datasets must agree with all but each other."""
    if verdict.worlds is None or len(verdict.worlds) != 2:
        return ["no two datasets"]
    problems: list[str] = []
    for world in verdict.worlds:
        try:
            checker.check_world(world.rows())
        except st.ProofError as error:
            problems.append(f"dataset rejected: {error}")
        problems += world_problems(case.release, world.rows())
    counts = {count_in(world.rows(), verdict.claim.selection) for world in verdict.worlds}
    if len(counts) != 2:
        problems.append(f"both datasets have {counts} such records")
    return problems


def _counted(rows: Rows, cell: Published) -> int:
    """A cell's count, by plain counting."""
    return sum(weight * count_in(rows, selection) for weight, selection in cell.terms)


def world_problems(release: Release, rows: Rows) -> list[str]:
    """The cells and rules a dataset breaks, by plain counting."""
    problems = [
        f"{count} records in cell {cell.name} of {cell.table}, published {cell.value()}"
        for cell in release.cells
        if not cell.low <= (count := _counted(rows, cell)) <= cell.high
    ]
    for record, times in rows:
        problems += [
            f"unknown value of {attribute.name} in {record}"
            for attribute in release.schema.attributes
            if record.get(attribute.name, attribute.values[0]) not in attribute.values
        ]
        for rule in release.schema.rules:
            when, then = matches(rule.when, record), matches(rule.then, record)
            if (when and not then) or (rule.both_ways and then and not when):
                problems.append(f"{record} breaks {rule}")
        if times < 1:
            problems.append(f"{record} occurs {times} times")
    return problems


def count_in(rows: Rows, selection: st.Selection) -> int:
    """How many records of a dataset match, by plain counting."""
    return sum(times for record, times in rows if matches(selection, record))
