"""Re-checking a run area by area: nothing may be missing, nothing may be left over."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import showthrough as st
import small_run
from needs import SLOW
from showthrough.schema import Rule
from showthrough.selection import Selection
from showthrough.tables.run import read as reading
from showthrough.tables.run import verify


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, made once."""
    folder = tmp_path_factory.mktemp("made") / "run"
    small_run.run(folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, read a few rows at a time, so that areas lie across batches."""
    monkeypatch.setattr(reading, "_ROWS", 3)
    return shutil.copytree(made, tmp_path / "run")


def change(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path)


def test_everything_is_checked(folder: Path) -> None:
    done = st.verify(folder)
    run = st.AuditRun(folder)
    verified = run.table("claims").filter(pc.field("verdict") == "verified")
    assert done.holds
    assert done.areas == small_run.N_AREAS
    assert done.claims == verified.num_rows > 100
    assert done.proofs == run.table("proofs").num_rows > 50


def test_claims_without_their_proofs(folder: Path) -> None:
    path = folder / "proofs" / "proofs.parquet"
    change(path, pq.read_table(path).filter(pc.field("area") != "block 03"))
    problems = st.verify(folder).problems
    assert problems[0] == "proofs/proofs.parquet: changed since the run"
    assert {problem.partition(": ")[0] for problem in problems[1:]} == {"area block 03"}
    assert len(problems) > 2


def test_rows_about_an_area_that_is_not_there(folder: Path) -> None:
    path = folder / "claims.parquet"
    claims = pq.read_table(path)
    stray = claims.slice(0, 1).set_column(0, "area", pa.array(["block 99"]))
    change(path, pa.concat_tables([claims, stray]))
    assert st.verify(folder).problems == [
        "claims.parquet: changed since the run",
        "claims: unexpected rows about area block 99",
        "summary.json: figures differ from those of the tables",
    ]


def test_areas_in_another_order(folder: Path) -> None:
    path = folder / "claims.parquet"
    claims = pq.read_table(path)
    first = pc.field("area") == "block 01"
    change(path, pa.concat_tables([claims.filter(~first), claims.filter(first)]))
    assert "claims: unexpected rows about area block 01" in st.verify(folder).problems


def test_a_table_that_cannot_be_read(folder: Path) -> None:
    (folder / "claims.parquet").write_bytes(b"PAR1, but not for long")
    problems = st.verify(folder).problems
    assert problems[0] == "claims.parquet: changed since the run"
    assert "claims.parquet: the file cannot be read: " in problems[-1]


def test_several_processes_find_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_PORTION", 40)
    path = folder / "proofs" / "proofs.parquet"
    proofs = pq.read_table(path)
    torn = [text.replace('"total":', '"total":1') for text in proofs["proof"].to_pylist()]
    change(path, proofs.set_column(1, "proof", pa.array(torn)))
    seen: list[int] = []
    alone, together = st.verify(folder), st.verify(folder, workers=2, progress=seen.append)
    assert len(alone.problems) > 20
    assert together == alone
    assert sum(seen) == small_run.N_AREAS
    assert len(seen) > 2


def any_release(draw: random.Random, layout: st.Layout, area: str) -> st.Release:
    """Counts of a few records that keep the rules, some of them suppressed or rounded."""
    schema, rows = layout.schema, list[list[int]]()
    for _ in range(draw.randint(0, 60)):
        row = [draw.randrange(len(attribute.values)) for attribute in schema.attributes]
        record = {a.name: a.values[code] for a, code in zip(schema.attributes, row, strict=True)}
        if len(rows) < 6 and all(
            rule.then.matches(record) for rule in schema.rules if rule.when.matches(record)
        ):
            rows.append(row)
    codes = np.array(rows, np.uint8).reshape(-1, len(schema.attributes))
    release = layout.tabulate(st.Records(schema, codes), area=area)
    low, high = release.low.copy(), release.high.copy()
    step = draw.choice((1, 1, 3, 5))
    for cell in range(len(low)):
        if draw.random() < 0.5:
            low[cell] = low[cell] // step * step
            high[cell] = low[cell] + step - 1
    return st.Release(layout, low, high, area)


@pytest.mark.parametrize("seed", range(300 if SLOW else 8))
def test_runs_of_any_shape_hold(tmp_path: Path, seed: int) -> None:
    """Whatever is audited, with whatever settings, nothing that was written is called wrong."""
    draw = random.Random(seed)  # noqa: S311
    values = {
        f"a{at}": [f"v{code}" for code in range(draw.randint(1, 3))] for at in range(draw.randint(1, 4))
    }
    rules = list[Rule]()
    if len(values) > 2 and draw.random() < 0.5:
        one, other = draw.sample(sorted(values), 2)
        then = Selection.of({other: draw.choice(values[other])})
        rules = [Rule(Selection.of({one: draw.choice(values[one])}), then)]
    schema = st.Schema.of(values, rules=rules)
    some = {"*".join(sorted(draw.sample(sorted(values), draw.randint(1, len(values))))) for _ in range(3)}
    layout = st.Layout(schema, tuple(st.make_table(schema, formula) for formula in sorted(some)))
    scope = st.Scope(
        min_columns=draw.choice((1, 1, 2)),
        max_columns=draw.choice((None, None, 2, 3)),
        multiplicity=draw.choice((None, None, (1, 2))),
        absent=draw.random() < 0.3,
        gaps=draw.random() < 0.3,
    )
    settings = st.Settings(
        scope=scope, effort=draw.choice((1.0, 0.01)), refuted=draw.random() < 0.6, keep_going=True
    )
    areas = [any_release(draw, layout, f"area {at}") for at in range(2)]
    run = st.run_audit(areas, layout, tmp_path / "run", settings=settings)
    assert st.verify(run).problems == []
