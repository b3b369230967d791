"""What a proof rests on: enough for it, nothing that it does not need, and the label says what it is."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

import showthrough as st
from showthrough.errors import ProofError
from showthrough.release import UNBOUNDED, Layout, Release, make_table
from showthrough.schema import Schema
from showthrough.tables import type_sets as module
from showthrough.tables.claims import Kind
from showthrough.tables.explain import EVIDENCE, count_tables, label_of
from showthrough.tables.findings import MOST_COUNTED
from showthrough.tables.grounds import Grounds, Resting
from showthrough.tables.proof import Branch, Checker, Leaf, Node, Proof
from showthrough.tables.type_sets import shapes_of
from strategies import Case, random_case

SEEDS = range(77_000_000, 77_000_012)

KINDS: tuple[Kind, ...] = ("verified", "impossible")


@cache
def audited(seed: int) -> tuple[Case, st.Audit]:
    case = random_case(seed)
    return case, st.audit(case.release, truth=case.records, absent=True, gaps=True)


def proofs_of(seed: int) -> list[Proof]:
    """Some proofs of an audit, each about a selection that it is stored with."""
    _, audit = audited(seed)
    found = [one.proof for kind in KINDS for one in audit.of_kind(kind) if one.proof is not None]
    found += [proof for finding in audit.findings for proof in finding.proofs]
    return list(dict.fromkeys(found))[::3][:12]


def with_zeros(release: Release, kept: set[int]) -> Release:
    """The release without the cells published as 0, except for some."""
    high = release.high.copy()
    high[[at for at, end in enumerate(high) if end == 0 and at not in kept]] = UNBOUNDED
    return Release(release.layout, release.low, high)


def holds(proof: Proof, schema: Schema, release: Release) -> bool:
    try:
        Checker(schema, release).check(proof)
    except ProofError:
        return False
    return True


@pytest.mark.parametrize("most", [module.MOST_PRODUCT, 8])
def test_it_rests_on_what_is_named_and_on_nothing_less(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """The checker accepts it with these zeros alone, and rejects it without one of them, nearly always."""
    monkeypatch.setattr(module, "MOST_PRODUCT", most)
    shapes_of.cache_clear()
    some, needed, tried = 0, 0, 0
    for seed in SEEDS if most > 8 else SEEDS[:4]:
        case, _ = audited(seed)
        release, grounds = case.release, Grounds(case.release)
        starts = [table.name for table in release.tables for _ in table.cells]
        for proof in proofs_of(seed):
            found, tables = grounds.exclusions(proof), grounds.tables(proof)
            assert found.complete
            assert holds(proof, release.schema, with_zeros(release, {*found.zeros}))
            assert all(release.high[at] == 0 for at in found.zeros)
            for at in found.zeros[:4]:
                tried += 1
                needed += not holds(proof, release.schema, with_zeros(release, {*found.zeros} - {at}))
            names = {release.tables[at].name for at in tables.added | tables.zeros}
            assert {starts[at] for at in (*found.zeros, *proof.cells)} <= names
            assert tables.n_tables_added == count_tables(release.layout, proof.cells)
            assert bool(tables.zeros) == bool(found.zeros)
            some += bool(found.zeros)
    assert some > 3
    assert needed > 0.95 * tried


def test_it_rests_on_the_rules_that_are_named() -> None:
    some = 0
    for seed in SEEDS:
        case, _ = audited(seed)
        schema, grounds = case.release.schema, Grounds(case.release)
        for proof in proofs_of(seed) if schema.rules else ():
            found = grounds.exclusions(proof)
            if not found.whole:
                continue
            fewer = replace(schema, rules=tuple(schema.rules[at] for at in found.rules))
            assert holds(proof, fewer, with_zeros(case.release, {*found.zeros}))
            some += bool(found.rules)
    assert some > 2


def test_where_types_are_too_many_it_may_rest_on_every_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PRODUCT", 1)
    monkeypatch.setattr(module, "MOST_TYPES", 0)
    schema = Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    release = Release.of(schema, {"sex": [3, 2], "sex*ill": [None, 0, None, None]})
    proof = st.bounds(release, "sex=f,ill=no").low_proof
    grounds = Grounds(release)
    assert not grounds.exclusions(proof).complete
    assert grounds.tables(proof) == Resting(frozenset({0}), frozenset({1}))


def test_every_label_is_that_of_the_stored_proof() -> None:
    seen = set[str]()
    for seed in SEEDS:
        case, audit = audited(seed)
        layout, grounds = case.release.layout, Grounds(case.release)
        for verdict in (one for kind in KINDS for one in audit.of_kind(kind)):
            assert verdict.proof is not None
            label = label_of(verdict.proof.nodes, layout, direct=verdict.direct)
            assert verdict.evidence == label in EVIDENCE
            assert verdict.n_tables_added == count_tables(layout, verdict.proof.cells)
            assert verdict.n_tables in (None, grounds.tables(verdict.proof).n_tables)
            assert not verdict.direct or not verdict.claim.multiplicity or label == "cell"
            seen.add(label)
        sized = [finding for finding in audit.findings if finding.kind != "group of unknown size"]
        assert sum(one.n_tables is not None for one in sized) == min(len(sized), MOST_COUNTED)
        assert all((one.n_tables or 99) >= one.n_tables_added for one in sized)
    assert {"cell", "cell and zeros", "table", "tables", "zeros"} <= seen


def leaf(*cells: tuple[int, int]) -> Leaf:
    return Leaf(cells, (), 1, 0)


@pytest.mark.parametrize(
    ("nodes", "label"),
    [
        ((leaf(), leaf()), "zeros"),
        ((leaf((1, 1)), leaf((1, -1))), "cell and zeros"),
        ((leaf((1, 1)), None), "cell and zeros"),
        ((leaf((1, 1), (2, 1)), leaf((1, -1))), "table"),
        ((leaf((0, 1)), leaf((1, -1))), "tables"),
        ((Branch((), 0, leaf(), leaf()), leaf((1, 1))), "cases"),
    ],
)
def test_what_kind_of_proof_it_is(nodes: tuple[Node | None, ...], label: str) -> None:
    schema = Schema.of({"sex": ["f", "m"]})
    layout = Layout(schema, (make_table(schema, "total"), make_table(schema, "sex")))
    assert label_of(nodes, layout, direct=False) == label


def test_a_cell_that_states_it_is_one_cell() -> None:
    schema = Schema.of({"sex": ["f", "m"]})
    layout = Layout(schema, (make_table(schema, "sex"),))
    assert label_of([leaf((1, 1))], layout, direct=True) == "cell"
