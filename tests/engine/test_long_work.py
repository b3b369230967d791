"""All long work on an engine: the same results as on this machine, byte for byte."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.parquet as pq
import pytest

import crowd
import showthrough as st
import small_run
from elsewhere import Elsewhere
from showthrough.census.figures import summarise_people
from showthrough.cli import main
from showthrough.engine.duck import DuckBackend
from showthrough.tables.coverage import Background, evaluate
from showthrough.tables.protect.areas import protect_areas
from showthrough.tables.protect.policy import Policy
from showthrough.tables.run import verify as verifying
from showthrough.tables.run.files import place_of_part
from showthrough.tables.run.read import AuditRun
from tables.test_parts import cut


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long") / "run"
    small_run.run(folder)
    return folder


@pytest.fixture(autouse=True)
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "_PORTION", 1)
    monkeypatch.setattr(verifying, "_FAR", 1)


def test_paths_are_those_of_this_machine(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the current folder of others is: runs, parts of runs, and publications."""
    cut(AuditRun(run), tmp_path / "several", 4)
    people = crowd.people(60).select(["town", "ill"])
    st.publish(people, tmp_path / "public", sensitive="ill", retention=0.5, seed=2**90)
    monkeypatch.chdir(tmp_path)
    for folder in (os.path.relpath(run), "several"):
        assert st.verify(folder, engine=Elsewhere()).holds
        assert evaluate(folder, engine=Elsewhere()).n_areas == small_run.N_AREAS
    assert st.count("public", engine=Counting()).value == 60


def test_a_run_is_verified_elsewhere(run: Path) -> None:
    engine, told = Elsewhere(), list[int]()
    found = st.verify(run, engine=engine, progress=told.append)
    assert found.holds
    assert found == st.verify(run)
    assert engine.done == [0, *range(small_run.N_AREAS)]  # the hashes of files come first
    assert small_run.N_AREAS == sum(told) == found.areas


def test_a_run_in_parts_is_read_where_it_is_verified(run: Path, tmp_path: Path) -> None:
    """Part by part, and a damaged part does not keep others from being checked."""
    several, engine = cut(AuditRun(run), tmp_path / "run", 4), Elsewhere()
    assert st.verify(several, engine=engine) == st.verify(several) == st.verify(run)
    assert engine.done == [0, 1, 0, 1, 2]  # the hashes of files come first
    (tmp_path / "run" / place_of_part("claims", 1)).write_bytes(b"PAR1")
    damaged = st.verify(several, engine=Elsewhere(), page=False)
    assert damaged.areas == 7
    assert any(place_of_part("claims", 1) in problem for problem in damaged.problems)


def test_what_does_not_hold_is_found_elsewhere(run: Path, tmp_path: Path) -> None:
    """The same problems, in the same order."""
    shutil.copytree(run, tmp_path / "run")
    path = tmp_path / "run" / "claims.parquet"
    table = pq.read_table(path)
    at = table.column_names.index("multiplicity")
    numbers = [(number or 0) + 1 for number in table["multiplicity"].to_pylist()]
    pq.write_table(table.set_column(at, "multiplicity", [numbers]).cast(table.schema), path)
    found = st.verify(tmp_path / "run", engine=Elsewhere(), page=False)
    assert len(found.problems) > small_run.N_AREAS
    assert found == st.verify(tmp_path / "run", page=False)


def test_areas_are_protected_elsewhere() -> None:
    """The same plans, and of errors the first in the order of the areas."""
    areas, policy, engine = list(small_run.areas()), Policy.of("singletons", moves="drop"), Elsewhere()
    here, there = (protect_areas(areas[:2], policy, effort=0.01, engine=one) for one in (None, engine))
    assert engine.done == [0, 1]
    assert [plan.to_plain() for plan in there.plans] == [plan.to_plain() for plan in here.plans]
    for one, other in zip(there.results, here.results, strict=True):
        assert one.comparison.equals(other.comparison)
        assert one.intervals.equals(other.intervals)
        assert one.worlds == other.worlds
        assert [list(r.low) for r in one.releases] == [list(r.low) for r in other.releases]
    with pytest.raises(st.Contradiction, match="block 11"):
        protect_areas(areas[-1:], policy, engine=Elsewhere())


class Counting(DuckBackend):
    """What counts records here, but for published rows, which are counted piece by piece elsewhere."""

    @property
    def engine(self) -> Elsewhere:
        return ELSEWHERE


ELSEWHERE = Elsewhere()


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_rows_are_counted_elsewhere(file_format: Literal["parquet", "csv"], tmp_path: Path) -> None:
    """Parquet files in row groups, text files one by one; the same estimates to the last digit."""
    people, out = crowd.people(400).select(["town", "ill"]), tmp_path / "public"
    data = st.publish(people, out, sensitive="ill", retention=0.5, seed=2**90, file_format=file_format).data
    if file_format == "parquet":
        pq.write_table(pq.read_table(data), data, row_group_size=50)
    here, there = st.Publication.open(out), st.Publication.open(out, engine=Counting())
    ELSEWHERE.done.clear()
    for where in ("", "town=Aldea", "town=Aldea,ill=flu"):
        assert there.count(where).to_plain(0.9) == here.count(where).to_plain(0.9)
    assert len(ELSEWHERE.done) == 4 * (8 if file_format == "parquet" else 1)
    assert there.distribution("town").equals(here.distribution("town"))
    checked = [st.check(one, "rho=0.3:0.6") for one in (here, there)]
    assert checked[0].to_plain() == checked[1].to_plain()


def test_rows_that_a_machine_does_not_see_are_missed(tmp_path: Path) -> None:
    """The number of rows is known beforehand, and compared with what was read."""
    people, out = crowd.people(400).select(["town", "ill"]), tmp_path / "public"
    st.publish(people, out, sensitive="ill", retention=0.5, seed=2**90)
    there = st.Publication.open(out, engine=Counting())
    pq.write_table(pq.read_table(there.data).slice(1), there.data)
    with pytest.raises(st.ShowthroughError, match="there are 400 rows, but 399 were read"):
        there.count("town=Aldea")


def test_methods_are_compared_elsewhere() -> None:
    people, engine = crowd.people(400).select(["town", "ill"]), Counting()
    how: dict[str, Any] = {"sensitive": "ill", "retention": 0.5, "runs": 2, "promise": "diversity=2"}
    here = st.compare(people, "uniform,anatomy", **how)
    ELSEWHERE.done.clear()
    there = st.compare(people, "uniform,anatomy", **how, engine=engine)
    assert ELSEWHERE.done == [0, 1]
    assert there.to_plain() == here.to_plain()
    assert there.answers.equals(here.answers)


def test_a_run_is_summarised_part_by_part(run: Path, tmp_path: Path) -> None:
    """The same figures, with records and references or without, from one file or from parts of it."""
    several, engine = cut(AuditRun(run), tmp_path / "run", 4), Elsewhere()
    areas = [area for area in small_run.areas() if area.truth is not None]
    codes = np.concatenate([area.truth.codes for area in areas if area.truth is not None])
    names = np.repeat([area.release.area for area in areas], 5)
    records = st.Records(small_run.SCHEMA, codes, areas=names[::-1].astype(object))  # of other areas, that is
    for known in (Background(), Background.whole(records, "county")):
        here = evaluate(AuditRun(run), known.records, references=known.references)
        there = evaluate(several, known.records, references=_kept(known), engine=engine)
        assert here.n_areas == small_run.N_AREAS
        for one, other in zip(vars(here).values(), vars(there).values(), strict=True):
            assert one == other if isinstance(one, int) else one.equals(other)
    assert engine.done == [0, 1, 2] * 2


def _kept(known: Background) -> dict[str, Any]:
    """References whose functions can be handed over."""
    return {name: (reference, _nowhere) for name, (reference, _) in known.references.items()}


def _nowhere(_area: str) -> str:
    return ""


def test_people_are_summarised_part_by_part(run: Path, tmp_path: Path) -> None:
    whole, engine = Path(shutil.copytree(run, tmp_path / "whole")), Elsewhere()
    said = json.loads((whole / "release.json").read_text())
    said["record"] = "person"
    (whole / "release.json").write_text(json.dumps(said))
    several = cut(AuditRun(whole), tmp_path / "run", 4)
    here, there = summarise_people(whole), summarise_people(several.folder, engine=engine)
    assert replace(there, totals=here.totals) == here
    assert engine.done == [0, 1, 2]
    assert here.n_areas == small_run.N_AREAS
    assert here.settled.n_whole


@pytest.fixture(scope="module")
def files(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands read: a run, records, and a publication of them."""
    folder = tmp_path_factory.mktemp("files")
    shutil.copytree(run, folder / "run")
    people = crowd.people(400).select(["town", "ill"])
    pq.write_table(people, folder / "people.parquet")
    pq.write_table(people.slice(0, 12), folder / "few.parquet")
    st.publish(people, folder / "public", sensitive="ill", retention=0.5, seed=2**90)
    return folder


@pytest.mark.parametrize(
    ("command", "elsewhere"),
    [
        ("verify run --no-page", True),
        ("count public --by town", True),
        ("count public --where ill=flu --json", True),
        ("check public --rho 0.3:0.6", False),
        (
            "check people.parquet --sensitive ill --rho 0.3:0.6 --retention 0.2",
            False,
        ),  # counted by the backend
        (
            "compare people.parquet --sensitive ill --methods uniform --retention 0.5 --runs 1 --queries 20",
            True,
        ),
        (
            "protect few.parquet --tables ill --by town --forbid singletons --moves drop --no-report --out",
            True,
        ),
    ],
)
def test_commands_on_an_engine(
    command: str,
    elsewhere: bool,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They print the same and end alike, wherever the work was done."""

    @contextmanager
    def opened(name: str, **_more: Any) -> Iterator[Elsewhere | Counting]:
        assert name == "spark://host:7077"
        yield Counting() if "backend" in name_of else ELSEWHERE

    name_of = "engine" if command.split()[0] in ("verify", "protect") else "backend"
    monkeypatch.chdir(files)
    out = [["safe1"], ["safe2"]] if command.endswith("--out") else [[], []]
    codes = [main([*command.split(), *out[0]])]
    here = capsys.readouterr()
    monkeypatch.setattr(f"showthrough.engine.{name_of}.open_{name_of}", opened)
    ELSEWHERE.done.clear()
    codes.append(main([*command.split(), *out[1], "--engine", "spark://host:7077"]))
    assert capsys.readouterr().out.replace("safe2", "safe1") == here.out
    assert codes[0] == codes[1] != 2
    assert bool(ELSEWHERE.done) == elsewhere
    if out[0]:
        assert small_run.contents(Path("safe1")) == small_run.contents(Path("safe2"))


def test_one_plan_for_all_areas_is_searched_for_here(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    protect = "protect few.parquet --tables ill --by town --forbid singletons --same --out same"
    assert main([*protect.split(), "--engine", "local[2]"]) == 2
    assert "leave out --engine, or --same" in capsys.readouterr().err
    assert not Path("same").exists()
