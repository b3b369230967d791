"""Promises for people on the command line: publish, check and compare, and their pages."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adult_like import adult_like
from command import Run, runner
from showthrough.report.write import page_of

BASE = ("people.parquet", "--sensitive", "rich")
RHO = ("--rho", "0.3:0.6")
GIVEN = ("--given", "public", "--out", "x")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a folder that holds records."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(adult_like(20_000), "people.parquet")
    return runner(capsys)


def test_publishing_says_to_whom_and_for_how_many_it_does_not_hold(run: Run) -> None:
    ran = run("publish", *BASE, *RHO, "--seed", str(2**80), "--out", "public")
    assert "Promise: no reader becomes more than 60 % sure of a single value that at most 30 %" in ran.text
    assert "For the publisher only, because it follows from the true values:" in ran.text
    assert (
        "people are in groups with the same public values in which a reader becomes more than 60 % sure"
        in ran.text
    )
    assert "With --given public, this is avoided." in ran.text
    # What follows from the true values is in no published file.
    exposed = json.loads(run("check", *BASE, *RHO, "--retention", "0.5555", "--json").out)
    number = exposed["checks"][0]["people"]["exposed"]
    assert f"{number:,} of 20,000 people" in ran.text
    for file in ("publication.json", "report.html"):
        text = Path("public", file).read_text("utf-8")
        assert f"{number:,}" not in text
        assert f'"{number}"' not in text


def test_the_exit_code_follows_the_people(run: Run) -> None:
    """Old: "The promise holds for any records: the retention is small enough", exit code 0."""
    run("publish", *BASE, *RHO, "--seed", str(2**80), "--out", "public")
    outside = run("check", "public", *RHO, "--json", "--out", "checked")
    assert outside.code == 1
    found = outside.json["checks"][0]
    assert found["verdict"] == "violated"
    assert 0 < found["people"]["exposed"] <= found["people"]["exposed_most"]
    assert found["tables"][0]["high"] <= 0.6 * (1 + 1e-9)
    page = page_of(Path("checked"))
    assert "people are in groups with the same public values" in str(page.content["headline"])
    truth = run("check", "public", *RHO, "--truth", "people.parquet", "--json", "--out", "known")
    assert truth.code == 1
    assert found["people"]["exposed"] <= truth.json["checks"][0]["people"]["exposed"]
    assert "For the publisher only" in Path("known/report.html").read_text("utf-8")
    assert "For the publisher only" not in Path("checked/report.html").read_text("utf-8")
    assert len(json.loads(Path("known/run.json").read_text("utf-8"))["inputs"]) == 3
    records = run("check", *BASE, *RHO, "--retention", str(5 / 9), "--json")
    assert records.code == 1
    assert records.json["checks"][0]["holds"] is False
    assert records.json["checks"][0]["posterior"] <= 0.6
    assert records.json["checks"][0]["people"]["worst"] == truth.json["checks"][0]["people"]["worst"]


def test_given_public_is_kept_and_its_price_is_shown(run: Run) -> None:
    ran = run("publish", *BASE, *RHO, "--given", "public", "--out", "public")
    assert "Promise: no reader who sees the public values becomes more than 60 % sure" in ran.text
    assert "the promise is kept" in ran.text
    assert json.loads(Path("public/publication.json").read_text("utf-8"))["given"] == "public"
    assert "no reader who sees the public values" in Path("public/report.html").read_text("utf-8")
    assert run("check", "public", *RHO).code == 3
    assert run("check", "public", *RHO, "--truth", "people.parquet").code == 0
    assert (
        "given public"
        in run(
            "compare",
            *BASE,
            *RHO,
            "--methods",
            "uniform",
            "--given",
            "public",
            "--runs",
            "2",
            "--queries",
            "20",
        ).text
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("publish", *BASE, "--retention", "0.5", *GIVEN), "only the method uniform"),
        (("publish", *BASE, "--rho", "0.58:0.6", *GIVEN), "too close to the posterior"),
        (("check", *BASE, *RHO, "--truth", "people.parquet"), "only a publication is compared with"),
        (("check", "public", *RHO, "--truth", "other.parquet"), "not the records of the publication"),
        (("check", "public", *RHO, "--truth", "nothing.parquet"), "nothing.parquet"),
    ],
)
def test_bad_input(run: Run, arguments: tuple[str, ...], said: str) -> None:
    pq.write_table(adult_like(20_000, seed=9), "other.parquet")
    if arguments[1] == "public":
        run("publish", *BASE, *RHO, "--no-report", "--out", "public")
    ran = run(*arguments)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not Path("x").exists()


def test_older_checks_still_have_a_page(run: Run) -> None:
    run("check", *BASE, *RHO, "--retention", "0.5", "--out", "checked")
    content = json.loads(Path("checked/checks.json").read_text("utf-8"))
    for found in content["checks"]:
        del found["people"]
    Path("checked/checks.json").write_text(json.dumps(content), "utf-8")
    assert "the promise is" in str(page_of(Path("checked")).content["headline"])


def test_hostile_values_in_the_worst_groups(run: Run) -> None:
    odd = "<script>alert(1)</script>"
    people = pa.table({"a": [odd] * 40 + ["b"] * 200, "s": [odd] * 30 + ["n"] * 210})
    pq.write_table(people, "odd.parquet")
    run("check", "odd.parquet", "--sensitive", "s", *RHO, "--retention", "0.5", "--out", "checked")
    text = Path("checked/report.html").read_text("utf-8")
    assert "&lt;script&gt;alert(1)" in text
    assert odd not in text
