"""The census commands about people, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import showthrough as st
from command import Run, runner
from showthrough.cli import main

PEOPLE = [
    {"block": "b", "sex": "male", "age": 41, "white": "yes", "black": "no"},
    {"block": "b", "sex": "female", "age": 7, "white": "yes", "black": "yes"},
    {"block": "c", "sex": "female", "age": 85, "white": "no", "black": "yes"},
]
OTHERS = dict.fromkeys(("native", "asian", "pacific", "other", "hispanic"), "no")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People, and a run over them, made once."""
    folder = tmp_path_factory.mktemp("people")
    pq.write_table(pa.Table.from_pylist([{**one, **OTHERS} for one in PEOPLE]), folder / "people.parquet")
    arguments = [str(folder / "people.parquet"), "--people", "--out", str(folder / "run")]
    assert main(["census", "audit", *arguments, "--quiet", "--no-report"]) == 1
    return folder


@pytest.fixture
def run(made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in the folder of the people."""
    monkeypatch.chdir(made)
    return runner(capsys)


def test_tables(run: Run) -> None:
    listed = json.loads(run("census", "tables", "--people", "--json").out)
    assert (len(listed["tables"]), listed["cells"]) == (16, 702)
    more = json.loads(run("census", "tables", "--people", "--year", "2020", "--json").out)
    assert more["cells"] == 1509
    one = json.loads(run("census", "tables", "p6", "--people", "--json").out)
    assert one["cells"][0] == {
        "cell": "P006001",
        "label": "Total races tallied",
        "where": " + ".join(
            f"{race}=yes" for race in ("white", "black", "native", "asian", "pacific", "other")
        ),
    }
    assert "16 tables with 702 cells" in run("census", "tables", "--people").out


def test_counts_give_the_same_claims(run: Run, made: Path) -> None:
    ran = run("census", "write-counts", "people.parquet", "--people", "--out", "counts.csv", "--overwrite")
    assert "Wrote 702 cells of 2 blocks" in ran.out
    arguments = ("--people", "--counts", "counts.csv", "--out", "again", "--no-report", "--overwrite")
    assert run("census", "audit", *arguments).code == 1
    claims = [
        {
            (row["area"], row["selection"], row["multiplicity"])
            for row in table.to_pylist()
            if row["verdict"] == "verified"
        }
        for table in (st.AuditRun.open(made / name).table("claims") for name in ("run", "again"))
    ]
    assert claims[0] == claims[1]


def test_summary(run: Run) -> None:
    found = json.loads(run("census", "summary", "run", "--json").out)
    assert (found["people"], found["unique_areas"], found["people_proved_in_every_column"]) == (3, 2, 3)
    assert "people proved in every column" in run("census", "summary", "run").out


def test_simulated(run: Run, made: Path) -> None:
    ran = run(
        "simulate",
        "--people",
        "--blocks",
        "2",
        "--seed",
        "2",
        "--out",
        "more.parquet",
        "--json",
        "--overwrite",
    )
    assert json.loads(ran.out)["people"] == pq.read_table(made / "more.parquet").num_rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("census", "tables", "--year", "2020"), "--year, --place and --ages are about people"),
        (("census", "tables", "--place", "tract"), "--year, --place and --ages are about people"),
        (("census", "tables", "--people", "--children"), "are about homes"),
        (("census", "tables", "--people", "--cells", "bottom"), "are about homes"),
        (("census", "tables", "P99", "--people"), "no such person table"),
        (
            ("simulate", "--people", "--children", "--blocks", "1", "--seed", "1", "--out", "x.parquet"),
            "about homes",
        ),
        (
            ("simulate", "--people", "--blocks", "1", "--seed", "1", "--out", "x.csv"),
            "people are written as Parquet",
        ),
        (("census", "summary", "run", "--homes", "people.parquet"), "for runs about homes"),
        (
            ("census", "protect", "people.parquet", "--people", "--forbid", "singletons", "--out", "safe"),
            "is a sum",
        ),
        (("census", "audit", "people.parquet", "--people", "--place", "tract", "--out", "x"), "column tract"),
    ],
)
def test_refused(run: Run, arguments: tuple[str, ...], message: str) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())
