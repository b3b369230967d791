"""Cases at the edge: gaps where types were taken out, rules that imply together, fewer columns."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import showthrough as st
from brute_force import legal_types, matches
from needs import SLOW
from showthrough.release import Cell, Layout, Release, Table, make_table
from showthrough.schema import Rule, Schema
from showthrough.selection import Selection
from showthrough.tables import group_findings
from showthrough.tables.audit import Scope
from showthrough.tables.headline import exit_code, open_areas, verdict_rows
from showthrough.tables.proof import Checker, Leaf
from showthrough.tables.run.batch import Area, Settings
from showthrough.tables.search import decider
from showthrough.tables.search.implied import Closures, Margins
from showthrough.tables.search.prove import Rows
from showthrough.tables.search.shorten import Shortener
from showthrough.tables.search.system import Lemma
from strategies import random_case, random_schema, random_selection, random_table


def overlapping_pairs() -> Release:
    """Cells that leave two datasets: one record v1, or one v2 and one v3."""
    rule = Rule(Selection.of(c0=["v0", "v2", "v3"]), Selection.of(c1="a"), both_ways=True)
    schema = Schema.of({"c0": ["v0", "v1", "v2", "v3"], "c1": ["a", "b"]}, rules=[rule])
    sets = (["v1", "v2"], ["v0", "v1", "v2"], ["v1", "v3"])
    cells = tuple(Cell(f"cell {at}", Selection.of(c0=values)) for at, values in enumerate(sets))
    return Release.of(schema, {Table("table", cells): [1, 1, 1]})


def test_a_gap_is_proved_for_types_that_were_taken_out_too() -> None:
    """Nobody is v0, but v0 has c1 = a, as the claim whose gap is shown."""
    release = overlapping_pairs()
    (gap,) = (v for v in st.audit(release, gaps=True).verdicts if v.kind == "impossible")
    assert (str(gap.claim.selection), gap.claim.multiplicity) == ("c1=a", 1)
    assert gap.proof is not None
    Checker(release.schema, release).check(gap.proof)


def test_a_rejected_proof_is_never_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It becomes undecided, the folder holds, and the run says that something is wrong."""
    monkeypatch.setattr(Lemma, "with_row", lambda lemma: lemma)  # as it was when gaps were wrong
    release = overlapping_pairs()
    settings = Settings(Scope(gaps=True))
    run = st.run_audit([Area(release)], release.layout, tmp_path / "run", settings=settings)
    assert st.verify(run.folder).holds
    assert (run.summary.impossible, run.summary.undecided) == (0, 1)
    assert any("please report" in why for _, why, _ in verdict_rows(run))
    assert exit_code(run) == 3


def test_a_rejected_claim_is_undecided_with_all_that_rests_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that adds 1 to every multiplier proves nothing."""

    def wrong(rows: Rows, numerators: NDArray[np.int64], denominator: int, floor: int) -> Leaf | None:
        return right(rows, numerators + 1, denominator, floor)

    def all_wrong(rows: Rows, multipliers: NDArray[np.int64]) -> Any:
        return right_of_many(rows, multipliers + 1)

    right, right_of_many = decider.lifted_leaf, decider.equal_leaves
    schema = Schema.of({"sex": ["f", "m"], "job": ["nurse", "clerk"], "ill": ["no", "yes"]})
    rows = [("f", "nurse", "yes"), *[("m", "clerk", "no")] * 2]
    people = st.Records.of([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
    layout = Layout(schema, (make_table(schema, "sex*job"), make_table(schema, "job*ill")))
    release = layout.tabulate(people)
    expected = st.audit(release, truth=people)
    for name in ("_find", "_few_cells", "_by_both"):
        monkeypatch.setattr(Shortener, name, lambda *_, **__: None)  # which would find right ones instead
    for module in (decider, group_findings):
        monkeypatch.setattr(module, "lifted_leaf", wrong)
    monkeypatch.setattr(decider, "equal_leaves", all_wrong)
    audit = st.audit(release, truth=people)
    by_claim = {verdict.claim: verdict for verdict in audit.verdicts}
    rejected = {claim for claim, verdict in by_claim.items() if verdict.evidence == "rejected"}
    assert all(by_claim[claim].kind == "undecided" for claim in rejected)
    # What may be left needs no search: a cell says so.
    proved = {verdict.claim: verdict.direct for verdict in expected.of_kind("verified")}
    assert rejected >= {claim for claim, direct in proved.items() if not direct}
    assert len(rejected) > 5
    for verdict in audit.of_kind("verified"):
        assert verdict.direct
        assert verdict.proof is not None
        Checker(schema, release).check(verdict.proof)
    joint = {finding.knows & finding.learns for finding in audit.findings}
    assert not joint & {claim.selection for claim in rejected}
    assert len(audit.findings) < len(expected.findings)
    assert audit.unique is None


def test_a_rejected_short_proof_leaves_the_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(shortener: Shortener, numerators: NDArray[np.int64], *others: Any) -> Leaf | None:
        made.append(found := right(shortener, numerators, *others))
        return None if found is None else replace(found, total=found.total + 1)

    right, made = Shortener._leaf, list[Leaf | None]()
    for seed in range(40 if SLOW else 12):
        case = random_case(seed)
        expected = st.audit(case.release, truth=case.records)
        monkeypatch.setattr(Shortener, "_leaf", wrong)
        found = st.audit(case.release, truth=case.records)
        monkeypatch.setattr(Shortener, "_leaf", right)
        said = [{one.sentence(case.schema) for one in audit.findings} for audit in (found, expected)]
        assert said[0] == said[1]
        for verdict in found.of_kind("verified"):
            assert verdict.proof is not None
            Checker(case.schema, case.release).check(verdict.proof)
    assert any(made)


def test_bounds_that_the_checker_rejects_are_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(_: Checker, proof: object) -> None:
        raise st.ProofError(f"no: {proof}")

    release = overlapping_pairs()
    monkeypatch.setattr(Checker, "check", reject)
    with pytest.raises(st.Undecided, match="please report this"):
        st.bounds(release, "c1=a")


def test_a_rejected_dataset_is_never_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def reject(_: Checker, records: object) -> None:
        raise st.ProofError(f"no: {records}")

    release = overlapping_pairs()
    monkeypatch.setattr(Checker, "check_world", reject)
    run = st.run_audit([Area(release)], release.layout, tmp_path / "run", settings=Settings(refuted=True))
    assert run.table("witnesses").num_rows == 0
    assert run.summary.areas_failed == 1
    assert any("please report this" in text for text in open_areas(run))


def both_imply_p() -> Schema:
    """Everybody has b = p, but no single rule says so."""
    rules = [Rule(Selection.of(a=value), Selection.of(b="p")) for value in ("x", "y")]
    return Schema.of({"a": ["x", "y"], "b": ["p", "q"], "c": ["1", "2"]}, rules=rules)


@pytest.mark.parametrize("tables", [["a"], ["c"], ["total"], ["a", "c"], ["a*c"], ["a", "c", "a*c"]], ids=str)
def test_what_rules_imply_together_is_no_finding(tables: list[str]) -> None:
    schema = both_imply_p()
    people = st.Records.of([{"a": a, "b": "p", "c": c} for a, c in ("x1", "y2", "y2")], schema)
    found = st.audit(st.tabulate(people, tables), truth=people)
    for finding in found.findings:
        assert "b" not in finding.knows
        assert "b" not in finding.learns


def test_a_cell_says_what_is_the_same_by_the_rules() -> None:
    schema = both_imply_p()
    people = st.Records.of([{"a": a, "b": "p", "c": c} for a, c in ("x1", "y2", "y2")], schema)
    found = st.audit(st.tabulate(people, ["total", "c"]), truth=people)
    stated = {str(v.claim.selection) for v in found.of_kind("verified") if v.direct}
    assert stated == {"b=p", "c=1", "c=2", "b=p,c=1", "b=p,c=2"}


@pytest.mark.parametrize("seed", range(60))
def test_closures_are_what_the_allowed_records_have(seed: int) -> None:
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    closures, types = Closures(schema), legal_types(schema)
    for _ in range(10):
        selection = random_selection(rng, schema, 3)
        left = [record for record in types if matches(selection, record)]
        closed = closures.of(selection)
        if not left or not schema.rules:
            assert (closed is None) == (not left)
            continue
        assert closed is not None
        for attribute, bits in zip(schema.attributes, closed, strict=True):
            some = {value for code, value in enumerate(attribute.values) if bits >> code & 1}
            assert some == {record[attribute.name] for record in left}
        assert closures.n_records(closed) == len(left)


@pytest.mark.parametrize("seed", range(60))
def test_margins_are_sums_of_cells(seed: int) -> None:
    """A selection has a margin in a table where each record that matches lies in one cell within it."""
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    layout = Layout(schema, (random_table(rng, schema, "table"), make_table(schema, "total", name="total")))
    margins, types = Margins(layout), legal_types(schema)
    for selection in [random_selection(rng, schema, 2) for _ in range(10)]:
        mine = [record for record in types if matches(selection, record)]
        expected: list[list[int]] = []
        start = 0
        for table in layout.tables if mine else ():
            inside = [
                start + at
                for at, cell in enumerate(table.cells)
                if (held := [r for r in types if matches(cell.selection, r)])
                and all(matches(selection, record) for record in held)
            ]
            start += len(table.cells)
            times = [sum(matches(layout.selections[at], record) for at in inside) for record in mine]
            if inside and set(times) == {1}:
                expected.append(inside)
        assert [list(cells) for cells in margins.of(selection)] == expected


@pytest.mark.parametrize("seed", range(0, 120, 2 if SLOW else 6))
def test_fewer_columns_never_mean_more_findings(seed: int) -> None:
    case = random_case(seed)
    counts = [
        len(st.audit(case.release, truth=case.records, max_columns=most).findings)
        for most in range(2, len(case.schema.names) + 1)
    ]
    assert all(few <= many for few, many in itertools.pairwise(counts)), counts


def test_one_person_known_by_many_columns_is_one_finding() -> None:
    """Two columns never link all that is known of the one record; asked about it, they do."""
    columns = ["a", "b", "c", "d"]
    schema = Schema.of({name: ["0", "1"] for name in columns})
    people = st.Records.of([dict.fromkeys(columns, "1"), *[dict.fromkeys(columns, "0")] * 4], schema)
    release = st.tabulate(people, ["a*b", "b*c", "c*d"])
    counts = [len(st.audit(release, truth=people, max_columns=most).findings) for most in (2, 3, 4)]
    assert counts == [2, 2, 2]


def test_a_limit_on_columns_loses_no_finding_to_a_column_that_tells_nothing() -> None:
    """Everybody lives in the one town there is: a claim with it must not hide one that tells the sex."""
    schema = Schema.of({"age": ["young", "old"], "sex": ["f", "m"], "town": ["here"]})
    release = st.Release.of(schema, {"age*sex": [3, 1, 0, 1]})
    for most in (2, 3):
        told = {(str(f.knows), str(f.learns)) for f in st.audit(release, max_columns=most).findings}
        assert ("age=old", "sex=m") in told, most


def test_a_total_of_zero_about_no_attribute_leaves_nobody(tmp_path: Path) -> None:
    schema = Schema.of({"sex": ["f", "m"]})
    release = Release.of(schema, {Table("total", (Cell("all", Selection()),)): [0]})
    assert Checker(schema, release).n_types(()) == Checker(schema, release).n_types(("sex",)) == 0
    audit = st.audit(release)
    assert (audit.n_records, audit.unique) == (0, True)
    run = st.run_audit([Area(release)], release.layout, tmp_path / "run")
    assert st.verify(run.folder).holds
    one = Release.of(schema, {Table("total", (Cell("all", Selection()),)): [1]})
    assert Checker(schema, one).n_types(()) == 1
