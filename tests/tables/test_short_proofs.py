"""Short proofs: few cells, small multipliers, always accepted, and never longer than those of ``bounds``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

import showthrough as st
from needs import SLOW
from showthrough.release import Layout, Release, make_table
from showthrough.schema import Schema
from showthrough.tables.proof import Checker, Leaf, Proof, Terms
from showthrough.tables.recheck import Recheck
from showthrough.tables.result import ClaimTable
from showthrough.tables.search.shorten import cells_of, n_cells, shorter
from strategies import random_case, random_selection

SEEDS = range(50_000_000, 50_000_080 if SLOW else 50_000_020)


@cache
def audited(seed: int) -> st.Audit:
    """The audit of a random case."""
    case = random_case(seed)
    return st.audit(case.release, truth=case.records)


@pytest.fixture
def rejected(monkeypatch: pytest.MonkeyPatch) -> list[Proof]:
    """Every proof that the checker rejects before anybody sees it."""
    found: list[Proof] = []
    all_proved, one_accepted = Recheck.proves, Recheck.accepts

    def proves(recheck: Recheck, proof: Proof, claims: ClaimTable, group: NDArray[np.int64]) -> bool:
        holds = all_proved(recheck, proof, claims, group)
        found.extend([] if holds else [proof])
        return holds

    def accepts(recheck: Recheck, proof: Proof) -> bool:
        holds = one_accepted(recheck, proof)
        found.extend([] if holds else [proof])
        return holds

    monkeypatch.setattr(Recheck, "proves", proves)
    monkeypatch.setattr(Recheck, "accepts", accepts)
    return found


def test_no_proof_is_found_that_is_rejected(rejected: list[Proof]) -> None:
    n_short = 0
    for seed in SEEDS:
        case = random_case(seed)
        audit = st.audit(case.release, truth=case.records, absent=True, gaps=True)
        n_short += len(audit.claim_table.short)
    assert rejected == []
    assert n_short > len(SEEDS) // 2


def test_what_is_shown_is_no_longer_than_bounds() -> None:
    some = 0
    for seed in SEEDS:
        case, audit = random_case(seed), audited(seed)
        proofs = {verdict.claim.selection: verdict.proof for verdict in audit.of_kind("verified")}
        for finding in audit.findings:
            if finding.kind == "group of unknown size":
                continue
            for selection in {finding.knows, finding.knows & finding.learns} - {st.Selection()}:
                bounds = st.bounds(case.release, selection)
                mine, low, high = proofs[selection], bounds.low_proof, bounds.high_proof
                assert mine is not None
                assert high is not None
                assert len(mine.cells) <= len({*low.cells, *high.cells}), f"seed {seed}: {selection}"
                some += 1
    assert some > len(SEEDS) * 5 // 8


def test_the_figures_of_a_finding_are_those_of_its_proofs() -> None:
    for seed in SEEDS:
        case, audit = random_case(seed), audited(seed)
        proofs = {verdict.claim.selection: verdict.proof for verdict in audit.of_kind("verified")}
        for finding in audit.findings:
            shown = finding.proofs or [
                proof
                for selection in (finding.knows, finding.knows & finding.learns)
                if selection.terms and (proof := proofs[selection]) is not None
            ]
            cells = {cell for proof in shown for cell in proof.cells}
            assert finding.n_cells == len(cells)
            assert finding.n_tables_added == len({case.release.layout.names[cell][0] for cell in cells})


def difference() -> Release:
    """Two tables from whose difference one record follows, and many more that say nothing new."""
    schema = Schema.of({"sex": ["f", "m"], "age": ["1", "2", "3"], "ill": ["no", "yes"]})
    people = [{"sex": "f", "age": "1", "ill": "yes"}, *[{"sex": "m", "age": "1", "ill": "yes"}] * 2]
    people += [{"sex": s, "age": a, "ill": i} for s in "fm" for a in "23" for i in ("no", "yes")] * 2
    tables = tuple(make_table(schema, formula) for formula in ("age*ill", "sex*age", "sex*ill", "total"))
    return Layout(schema, tables).tabulate(st.Records.of(people, schema))


def test_a_difference_is_two_cells() -> None:
    release = difference()
    found = st.bounds(release, "age=1,ill=no")
    assert (found.low, found.high) == (0, 0)
    assert found.high_proof is not None
    assert found.high_proof.cells == ()  # a cell published as zero says it
    found = st.bounds(release, "sex=f|m,age=1")
    assert (found.low, found.high) == (3, 3)
    assert len({*found.low_proof.cells, *(found.high_proof.cells if found.high_proof else ())}) == 1


def test_the_same_proofs_every_time() -> None:
    for seed in SEEDS[: len(SEEDS) // 4]:
        case = random_case(seed)
        rng = np.random.default_rng(seed)
        for selection in [random_selection(rng, case.schema, 3) for _ in range(3)]:
            first, second = (st.bounds(case.release, selection).to_plain(case.release) for _ in range(2))
            assert first == second
        audits = [st.audit(case.release, truth=case.records) for _ in range(2)]
        first, second = ([v.proof for v in audit.of_kind("verified")] for audit in audits)
        assert first == second


def leaf(*cells: tuple[int, int], denominator: int = 1) -> Leaf:
    return Leaf(cells, (), denominator, 0)


def test_fewer_cells_are_shorter() -> None:
    one, two, twice = leaf((1, 1)), leaf((1, 1), (2, 1)), leaf((1, 2))
    assert shorter((two,), (one,)) == (one,)
    assert shorter((one,), (two,)) == (one,)
    assert shorter((one,), (twice,)) == (one,)
    assert shorter((two,), (None,)) == (two,)
    assert (n_cells(two, one, None), cells_of(two, twice)) == (2, {1, 2})


@pytest.mark.parametrize("seed", range(30 if SLOW else 6))
def test_all_at_once_is_the_same_as_one_by_one(seed: int) -> None:
    """The checker accepts a proof for several selections exactly if it accepts it for each."""
    case, rng = random_case(seed), np.random.default_rng(seed)
    checker = Checker(case.schema, case.release)
    audit = st.audit(case.release, truth=case.records)
    for verdict in list(audit.of_kind("verified"))[:10]:
        proof = verdict.proof
        assert proof is not None
        others = [random_selection(rng, case.schema, 2) for _ in range(2)]
        others = [one.terms for one in others if {*one.attributes} <= {*proof.over}]
        for selections in ([proof.selection] * 2, [proof.selection, *others]):
            assert accepts_all(checker, proof, selections) == all(
                accepts_all(checker, proof, [one]) for one in selections
            )


def accepts_all(checker: Checker, proof: Proof, selections: Sequence[Terms]) -> bool:
    try:
        checker.check_all(proof, selections)
    except st.ProofError:
        return False
    return True
