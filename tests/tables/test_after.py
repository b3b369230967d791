"""New tables after those that are out: what is new is new, what was out was out, and neither is hidden."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.brute_force import Worlds, all_worlds, count_range, selections
from tests.tampering import rewrite_hashes

import showthrough as st
from showthrough.errors import InputError, RunError, SchemaError
from showthrough.folders import MANIFEST
from showthrough.hierarchy import Hierarchy
from showthrough.tables.after import (
    COLUMNS,
    NEW_FINDINGS,
    STATUSES,
    deriving,
    new_findings,
    read_after,
)
from showthrough.tables.earlier import EarlierRun, Following, open_earlier, unite_schemas
from showthrough.tables.headline import telling_new
from showthrough.tables.protect.change import Change
from showthrough.tables.protect.policy import Policy
from showthrough.tables.protect.protect import protect
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.read import AFTER, AuditRun, StoredFinding
from showthrough.tables.run.verify import verify_tables

SCHEMA = st.Schema.of({"sex": ["f", "m"], "age": ["old", "young"], "ill": ["no", "yes"]})
FIRST, SECOND = ("sex*age", "ill"), ("age*ill",)
N_AREAS = 7


def layout_of(*formulas: str) -> st.Layout:
    return st.Layout(SCHEMA, tuple(st.make_table(SCHEMA, formula) for formula in formulas))


def people(number: int) -> st.Records:
    rng = np.random.default_rng(number)
    return st.Records(SCHEMA, rng.integers(0, 2, (2 + number % 4, 3)).astype(np.uint8))


def areas(layout: st.Layout, *, start: int = 0) -> Iterator[st.Area]:
    for number in range(start, N_AREAS):
        records = people(number)
        yield st.Area(layout.tabulate(records, area=f"block {number:02d}"), records)


def audit_after(
    folder: Path, own: st.Layout, *earlier: Path, settings: Settings | None = None, start: int = 0
) -> AuditRun:
    """A run about new tables after others."""
    opened, _ = open_earlier(earlier)
    following, settings = Following.of(own, opened), settings or Settings()
    return st.run_audit(
        lambda _: following.areas(areas(own, start=start)),
        following.layout,
        folder,
        settings=settings,
        inputs=following.inputs(),
        derive=deriving(following, settings),
    )


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    layout = layout_of(*FIRST)
    return st.run_audit(areas(layout), layout, tmp_path_factory.mktemp("first") / "first")


@pytest.fixture(scope="module")
def second(first: AuditRun, tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    return audit_after(tmp_path_factory.mktemp("second") / "second", layout_of(*SECOND), first.folder)


def rows(run: AuditRun) -> list[tuple[StoredFinding, str, list[str]]]:
    """Every finding with its status and the new cells that are named."""
    said = pq.read_table(run.folder / NEW_FINDINGS).to_pylist()
    found = [StoredFinding.of(row) for row in run.table("findings").to_pylist()]
    return [(one, row["status"], row["because"]) for one, row in zip(found, said, strict=True)]


def follows(worlds: Worlds, finding: StoredFinding) -> bool:
    """Whether all of a finding holds in every dataset."""
    both = finding.knows & finding.learns
    if finding.kind == "group of unknown size":
        least, _ = count_range(worlds, finding.knows)
        others = [
            st.Selection.of(
                {**dict(finding.knows.terms), name: [v for v in SCHEMA[name].values if v not in told]}
            )
            for name, told in finding.learns.terms
        ]
        return least > 0 and all(count_range(worlds, one) == (0, 0) for one in others)
    m = finding.multiplicity
    asked = [one for one in (finding.knows, both, *finding.other_ways) if one.terms]
    return all(count_range(worlds, one) == (m, m) for one in asked)


def test_new_is_what_the_earlier_tables_do_not_prove(second: AuditRun) -> None:
    earlier = {area.release.area: all_worlds(area.release) for area in areas(layout_of(*FIRST))}
    seen = set[str]()
    for finding, status, because in rows(second):
        seen.add(status)
        assert follows(earlier[finding.area], finding) == (status == "already out"), finding
        assert bool(because) == (status == "new")
        assert all(cell.endswith(" of table age*ill") for cell in because)
    assert seen == {"new", "already out"}


def test_the_cells_that_are_named_make_it_follow(second: AuditRun) -> None:
    """With the earlier tables and the named cells alone it follows."""
    whole = layout_of(*FIRST, *SECOND)
    for finding, status, because in rows(second):
        if status != "new":
            continue
        release = whole.tabulate(people(int(finding.area[-2:])))
        low, high = release.low.copy(), release.high.copy()
        for at, (table, cell) in enumerate(whole.names):
            if table in SECOND and f"{cell} of table {table}" not in because:
                low[at], high[at] = 0, 8
        assert follows(all_worlds(st.Release(whole, low, high)), finding), finding


def test_totals_and_sentences(second: AuditRun) -> None:
    totals = read_after(second)
    assert totals is not None
    assert totals.earlier == ("first",)
    assert sum(totals.findings.values()) == second.summary.findings
    found = list(new_findings(second))
    assert totals.new == len(found)
    assert sorted(telling_new(second, 1_000), key=str) == sorted(found, key=str)
    assert telling_new(second, 1) == telling_new(second, 1_000)[:1]
    assert f"{totals.new:,} findings are added" in totals.headline()


def test_earlier_tables_are_marked(second: AuditRun) -> None:
    assert [table.publisher for table in second.layout.tables] == ["earlier: first", "earlier: first", ""]
    assert read_after(AuditRun(second.folder)) is not None


def test_another_scope_audits_the_earlier_tables_again(second: AuditRun, tmp_path: Path) -> None:
    """Findings that no earlier run lists, and that follow from its tables, are not new."""
    few = Settings(st.Scope(max_columns=1))
    narrow = layout_of(*FIRST)
    st.run_audit(areas(narrow), narrow, tmp_path / "narrow", settings=few)
    after = audit_after(tmp_path / "after", layout_of(*SECOND), tmp_path / "narrow")
    statuses = {status for _, status, _ in rows(after)}
    assert "already derivable" in statuses
    assert [s == "new" for _, s, _ in rows(after)] == [s == "new" for _, s, _ in rows(second)]


def test_two_earlier_runs_together(tmp_path: Path) -> None:
    """What follows from both together, though from neither alone, was already out."""
    folders = list[Path]()
    for name, formula in (("one", "sex*age"), ("two", "age*ill")):
        layout = layout_of(formula)
        folders.append(st.run_audit(areas(layout), layout, tmp_path / name).folder)
    run = audit_after(tmp_path / "three", layout_of("sex"), *folders)
    both = layout_of("sex*age", "age*ill")
    worlds = {area.release.area: all_worlds(area.release) for area in areas(both)}
    assert rows(run)
    for finding, status, _ in rows(run):
        assert follows(worlds[finding.area], finding) == status.startswith("already")


def test_names_that_clash_and_runs_that_hold_others(
    first: AuditRun, second: AuditRun, tmp_path: Path
) -> None:
    run = audit_after(tmp_path / "third", layout_of("sex*age"), first.folder, second.folder)
    assert [table.name for table in run.layout.tables] == ["sex*age (earlier)", "ill", "age*ill", "sex*age"]
    assert open_earlier([first.folder, second.folder])[1] == [
        f"{first.folder}: its tables are in {second.folder} already"
    ]
    assert {status for _, status, _ in rows(run)} == {"already out"}


def test_areas_of_one_side_only(first: AuditRun, tmp_path: Path) -> None:
    run = audit_after(tmp_path / "some", layout_of(*SECOND), first.folder, start=N_AREAS - 2)
    totals = read_after(run)
    assert totals is not None
    assert (totals.areas, totals.areas_new, totals.areas_earlier) == (N_AREAS, 0, N_AREAS - 2)
    assert any("have no new tables" in line for line in totals.lines())
    mine = {finding.area for finding, status, _ in rows(run) if status == "new"}
    assert mine <= {f"block {number:02d}" for number in (N_AREAS - 2, N_AREAS - 1)}


def test_records_with_other_counts_are_refused(first: AuditRun) -> None:
    following = Following.of(layout_of(*SECOND), [EarlierRun.open(first.folder)])
    wrong = st.Area(layout_of(*SECOND).tabulate(people(1), area="block 00"), people(1))
    with pytest.raises(InputError, match="do not have the counts of an earlier release"):
        list(following.areas([wrong]))
    assert "block 00" in str(next(iter(following.areas([wrong], keep_going=True))))


def test_areas_named_by_one_side_only_are_refused(first: AuditRun) -> None:
    following = Following.of(layout_of(*SECOND), [EarlierRun.open(first.folder)])
    with pytest.raises(InputError, match="names areas and another does not"):
        list(following.areas([st.Area(layout_of(*SECOND).tabulate(people(1)))]))


# --- schemas ------------------------------------------------------------------------------------


def test_schemas_are_united() -> None:
    one = st.Schema.of({"sex": ["f", "m"], "age": ["old", "young"]}, rules=[st.Rule("sex=f", "age=old")])
    other = st.Schema.of({"age": ["young", "old"], "job": ["yes", "no"]})
    both = unite_schemas(one, other)
    assert (both.names, both.rules) == (("sex", "age", "job"), one.rules)
    assert unite_schemas(one, one) == one


def test_values_that_differ_are_refused_unless_they_were_inferred() -> None:
    few, many = st.Schema.of({"sex": ["f", "m"]}), st.Schema.of({"sex": ["f", "m", "x"]})
    with pytest.raises(SchemaError, match="only the earlier ones have this one"):
        unite_schemas(few, many)
    assert unite_schemas(few, many, inferred=True) == many
    with pytest.raises(SchemaError, match="only the new tables have this one"):
        unite_schemas(many, few, inferred=True)


def test_the_deeper_hierarchy_is_kept() -> None:
    deep = Hierarchy.of("place", ["region", "district", "town"], {"t": "d", "u": "e", "d": "r", "e": "r"})
    flat = Hierarchy.of("place", ["region", "district"], {"d": "r", "e": "r"})
    odd = Hierarchy.of("place", ["region", "district"], {"d": "r", "e": "s"})
    schemas = [
        st.Schema.of({"sex": ["f", "m"], **more}, hierarchies=[one])
        for one, more in ((deep, {"town": ["t", "u"]}), (flat, {"district": ["d", "e"]}))
    ]
    assert unite_schemas(schemas[1], schemas[0]).hierarchies == (deep,)
    other = st.Schema.of({"district": ["d", "e"]}, hierarchies=[odd])
    with pytest.raises(SchemaError):
        unite_schemas(schemas[0], other)


# --- verifying ----------------------------------------------------------------------------------


def test_a_run_after_others_holds(second: AuditRun) -> None:
    done = verify_tables(second)
    assert done.problems == []
    assert any("earlier tables alone" in text for text in done.not_covered)


def changed_rows(folder: Path, where: str, **new: object) -> None:
    """Change the first row with a status."""
    table = pq.read_table(folder / NEW_FINDINGS).to_pylist()
    next(row for row in table if row["status"] == where).update(new)
    pq.write_table(pa.Table.from_pylist(table, COLUMNS), folder / NEW_FINDINGS)


def changed_json(folder: Path, **new: object) -> None:
    plain = json.loads((folder / AFTER).read_text("utf-8"))
    (folder / AFTER).write_text(json.dumps({**plain, **new}), "utf-8")


TAMPERED: dict[str, Callable[[Path], object]] = {
    "a new finding is called old": lambda f: changed_rows(f, "new", status="already out", because=[]),
    "another status": lambda f: changed_rows(f, "new", status="harmless"),
    "an earlier cell": lambda f: changed_rows(f, "new", because=["age=old,sex=f of table sex*age"]),
    "another sentence": lambda f: changed_rows(f, "new", sentence="Nothing."),
    "cells for what was out": lambda f: changed_rows(
        f, "already out", because=["age=old,ill=no of table age*ill"]
    ),
    "no rows": lambda f: pq.write_table(COLUMNS.empty_table(), f / NEW_FINDINGS),
    "fewer findings": lambda f: changed_json(f, findings=dict.fromkeys(STATUSES, 0)),
    "other areas": lambda f: changed_json(f, areas=3),
    "no earlier run": lambda f: changed_json(f, earlier=[]),
    "another run": lambda f: changed_json(
        f, earlier=[{"name": "first", "run": "0" * 64, "tables": ["sex*age", "ill"], "holds": []}]
    ),
    "one more entry": lambda f: changed_json(f, more=1),
    "no list": lambda f: changed_json(f, earlier="first"),
    "one file only": lambda f: (f / AFTER).unlink(),
}


@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED.keys())
def test_tampering_is_noticed(second: AuditRun, tmp_path: Path, change: Callable[[Path], object]) -> None:
    folder = tmp_path / "run"
    shutil.copytree(second.folder, folder)
    change(folder)
    rewrite_hashes(folder)
    assert verify_tables(AuditRun.open(folder)).problems


# --- protecting ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(4, 10))
def test_protected_tables_add_nothing_forbidden(number: int) -> None:
    whole = layout_of(*FIRST, *SECOND)
    release = whole.tabulate(people(number))
    policy = Policy.of("singletons", change=Change(earlier=FIRST))
    found = protect(release, policy, truth=people(number))
    assert found.status == "safe"
    (area,) = found.areas
    n = sum(len(table.cells) for table in whole.tables[: len(FIRST)])
    assert [t.name for t in area.release.tables[: len(FIRST)]] == list(FIRST)
    assert (area.release.low[:n] == release.low[:n]).all()
    alone = all_worlds(st.Release(layout_of(*FIRST), release.low[:n], release.high[:n]))
    now = all_worlds(area.release)
    for selection in selections(SCHEMA):
        if count_range(now, selection) == (1, 1):
            assert count_range(alone, selection) == (1, 1), selection
    out = sum(count_range(alone, one) == (1, 1) for one in selections(SCHEMA) if _is_claim(one))
    assert area.judge.settled.n_forbidden == out


def _is_claim(selection: st.Selection) -> bool:
    return bool(selection.terms) and all(len(values) == 1 for _, values in selection.terms)


def test_without_earlier_tables_nothing_is_settled() -> None:
    release = layout_of(*FIRST).tabulate(people(5))
    found = protect(release, Policy.of("singletons"), truth=people(5))
    assert all(area.judge.settled.n_forbidden == 0 for area in found.areas)


def test_damaged_earlier_runs_are_refused(first: AuditRun, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a finished run"):
        EarlierRun.open(tmp_path)
    folder = tmp_path / "odd"
    shutil.copytree(first.folder, folder)
    counts = first.table("counts")
    pq.write_table(counts.take(list(range(len(counts)))[::-1]), folder / "counts.parquet")
    with pytest.raises(RunError, match="not sorted"):
        list(EarlierRun.open(folder).releases())
    assert (folder / MANIFEST).is_file()
