"""The figures of a run against counting claim by claim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import showthrough as st
from showthrough.census.figures import census_summary
from showthrough.release import Layout, make_table
from showthrough.tables import coverage as evaluation
from showthrough.tables.coverage import Coverage, box, evaluate, packed
from showthrough.tables.run.batch import Area
from showthrough.tables.run.folder import run_audit
from showthrough.tables.run.read import AuditRun

SCHEMA = st.Schema.of({"a": ["x", "y", "z"], "b": ["0", "1"], "c": ["p", "q", "r"]})
LAYOUT = Layout(SCHEMA, tuple(make_table(SCHEMA, text) for text in ("a*b", "b*c", "a*c")))


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng = np.random.default_rng(3)
    n = 120
    columns = {a.name: [a.values[v] for v in rng.integers(0, len(a.values), n)] for a in SCHEMA.attributes}
    block = [f"{at % 2}{at % 4}{at % 20:02d}" for at in rng.integers(0, 20, n)]
    return pa.table(
        {"state": [b[0] for b in block], "tract": [b[:2] for b in block], "block": block, **columns}
    )


@pytest.fixture(scope="module")
def run(people: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    records = st.Records.from_arrow(people, SCHEMA, by="block")
    some = list(records.by_area())[:12]
    areas = (Area(LAYOUT.tabulate(inside, area=name), inside) for name, inside in some)
    return run_audit(areas, LAYOUT, tmp_path_factory.mktemp("runs") / "run")


def hidden_claims(run: AuditRun) -> list[dict[str, object]]:
    rows = run.table("claims").to_pylist()
    return [row for row in rows if row["verdict"] == "verified" and not row["direct"]]


def by_hand(run: AuditRun, people: pa.Table) -> dict[tuple[str, int], tuple[int, int]]:
    """(kind, k) → records covered and areas with a claim."""
    covered: dict[tuple[str, int], set[int]] = {}
    areas: dict[tuple[str, int], set[object]] = {}
    rows = people.to_pylist()
    for claim in hidden_claims(run):
        selection = st.Selection.from_json(str(claim["selection"]))
        hit = {i for i, row in enumerate(rows) if row["block"] == claim["area"] and selection.matches(row)}
        assert len(hit) == claim["multiplicity"]
        for kind in ("all", "singletons") if claim["multiplicity"] == 1 else ("all",):
            covered.setdefault((kind, len(selection)), set()).update(hit)
            areas.setdefault((kind, len(selection)), set()).add(claim["area"])
    return {key: (len(covered[key]), len(areas[key])) for key in covered}


def figures(summary: Coverage) -> dict[tuple[str, int], tuple[int, int]]:
    pairs = zip(summary.covered.to_pylist(), summary.areas.to_pylist(), strict=True)
    found = {(c["kind"], c["k"]): (c["records"], a["areas"]) for c, a in pairs}
    return {key: value for key, value in found.items() if value != (0, 0)}


def test_figures_are_those_counted_by_hand(run: AuditRun, people: pa.Table) -> None:
    summary = census_summary(run.folder, people)
    expected = by_hand(run, people)
    assert len(expected) >= 4
    assert figures(summary) == expected
    assert all(row["exact"] for row in summary.covered.to_pylist())
    sizes = run.table("areas")["records"].to_pylist()
    assert (summary.n_areas, summary.n_records) == (12, sum(sizes))
    row = next(r for r in summary.covered.to_pylist() if (r["kind"], r["k"]) == ("all", 3))
    assert row["per_area"] == pytest.approx(row["records"] / 12)
    assert row["share"] == pytest.approx(row["records"] / sum(sizes))


def test_without_records_the_figures_are_lower_bounds(run: AuditRun, people: pa.Table) -> None:
    exact, least = figures(census_summary(run.folder, people)), figures(evaluate(run.folder))
    assert exact.keys() == least.keys()
    for key, (records, areas) in exact.items():
        assert 0 < least[key][0] <= records
        assert least[key][1] == areas
    assert not any(row["exact"] for row in evaluate(run.folder).covered.to_pylist())
    assert evaluate(run.folder).baselines.num_rows == 0


def test_baselines_by_tract_and_state(run: AuditRun, people: pa.Table) -> None:
    summary = census_summary(run.folder, people)
    rows = {(r["reference"], r["kind"], r["k"]): r for r in summary.baselines.to_pylist()}
    claims = hidden_claims(run)
    sizes = dict(zip(*(run.table("areas")[c].to_pylist() for c in ("area", "records")), strict=True))
    records = st.Records.from_arrow(people, SCHEMA, by="tract")
    tracts = dict(records.by_area())
    expected = []
    for claim in claims:
        if claim["k"] == 3:
            tract, n, m = (
                tracts[str(claim["area"])[:2]],
                sizes[claim["area"]],
                int(str(claim["multiplicity"])),
            )
            p = tract.count(st.Selection.from_json(str(claim["selection"]))) / len(tract)
            ways = np.prod([(n - i) / (i + 1) for i in range(m)])
            expected.append(ways * p**m * (1 - p) ** (n - m))
    row = rows["tract", "all", 3]
    assert row["n"] == len(expected)
    assert row["median"] == pytest.approx(np.median(expected))
    assert row["max"] == pytest.approx(max(expected))
    assert {name for name, _, _ in rows} == {"tract", "state"}


def test_packed_claims_exclude_each_other() -> None:
    free = -1
    codes = np.array([[0, 0], [0, 1], [1, free], [free, 2]], np.int16)
    # The third claim has most; the first two exclude it and each other, the fourth might overlap it.
    assert packed(codes, np.array([1, 1, 3, 1])) == 5
    assert packed(np.array([[0, free], [free, 0]], np.int16), np.array([2, 2])) == 2


def test_packed_is_never_more_than_any_dataset_has() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        data = rng.integers(0, 3, (10, 4))
        claims = []
        for _ in range(12):
            row = np.where(rng.random(4) < 0.5, data[rng.integers(10)], -1)
            if (row >= 0).sum() == 2:
                claims.append(row)
        if claims:
            codes = np.unique(np.array(claims, np.int16), axis=0)
            hits = ((data[None, :, :] == codes[:, None, :]) | (codes[:, None, :] < 0)).all(axis=2)
            assert packed(codes, hits.sum(axis=1)) <= hits.any(axis=0).sum()


def test_box_of_a_single_value_and_of_equal_values() -> None:
    assert box(np.array([0.5]))["outliers"] == 0
    flat = box(np.array([0.1] * 9 + [0.9]))
    assert (flat["whisker_high"], flat["outliers"], flat["max"]) == (0.1, 1, 0.9)


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(st.RunError, match="not a finished run"):
        census_summary(tmp_path)


@pytest.mark.parametrize("rows", [1, 7, 40])
def test_some_areas_at_a_time_give_the_same(
    run: AuditRun, people: pa.Table, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches that end within an area, and portions of one or several areas."""
    whole = census_summary(run.folder, people), evaluate(run.folder)
    monkeypatch.setattr(evaluation, "_PORTION", rows)
    read = AuditRun.batches
    monkeypatch.setattr(AuditRun, "batches", lambda self, *args, **_: read(self, *args, rows=rows))
    parts = census_summary(run.folder, people), evaluate(run.folder)
    for one, other in zip(whole, parts, strict=True):
        assert (one.n_areas, one.n_records) == (other.n_areas, other.n_records)
        for name in ("covered", "areas", "baselines"):
            assert getattr(one, name).equals(getattr(other, name))
