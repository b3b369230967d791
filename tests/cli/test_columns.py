"""Columns as they come, on the command line: what is public, what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

from command import Run, runner
from crowd import people


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a folder with people that have a number and an income each."""
    monkeypatch.chdir(tmp_path)
    chance, table = np.random.default_rng(4), people(400)
    table = table.append_column("number", pa.array(np.arange(400)))
    table = table.append_column("income", pa.array(np.rint(chance.lognormal(10, 0.7, 400)).astype(int)))
    arrow_csv.write_csv(table, "people.csv")
    arrow_csv.write_csv(people(15), "few.csv")
    return runner(capsys)


BASE = ("people.csv", "--sensitive", "ill")


@pytest.mark.parametrize(
    "command",
    [
        ("publish", "--retention", "0.3", "--out", "public"),
        ("check", "--rho", "0.3:0.6"),
        ("compare", "--methods", "uniform", "--retention", "0.3"),
    ],
)
def test_an_identifier_stops_every_command(run: Run, command: tuple[str, ...]) -> None:
    ran = run(command[0], *BASE, *command[1:])
    assert ran.code == 2
    assert "people.csv, column number, income: " in ran.err
    assert "--drop number,income" in ran.err
    assert "Traceback" not in ran.err
    assert not Path("public").exists()
    ran = run(command[0], *BASE, *command[1:], "--drop", "number", "--drop", "income")
    assert ran.code in (0, 1), ran.err


def test_naming_is_consent(run: Run) -> None:
    ran = run("publish", *BASE, "--retention", "0.3", "--public", "age,number", "--out", "public")
    assert ran.code == 0, ran.err
    assert json.loads(Path("public/publication.json").read_text())["public"] == ["age", "number"]
    ran = run("publish", *BASE, "--retention", "0.3", "--public", "age", "--public", "job", "--out", "other")
    assert ran.code == 0, ran.err
    assert json.loads(Path("other/publication.json").read_text())["public"] == ["age", "job"]


def test_a_tiny_table_comes_with_a_note(run: Run) -> None:
    arrow_csv.write_csv(people(15).append_column("number", pa.array(range(15))), "few.csv")
    ran = run("publish", "few.csv", "--sensitive", "ill", "--retention", "0.3", "--out", "public")
    assert ran.code == 0, ran.err
    assert "note: number has 15 different values in 15 records" in ran.err


def test_columns_that_are_not_there(run: Run) -> None:
    ran = run("publish", *BASE, "--retention", "0.3", "--drop", "nimber", "--out", "public")
    assert ran.code == 2
    assert "people.csv, column nimber: no such column; did you mean 'number'?" in ran.err


def test_bins_on_the_command_line(run: Run) -> None:
    ran = run(
        "publish", *BASE, "--retention", "0.3", "--out", "public", "--drop", "number",
        "--bin", "income=quantiles:4", "--bin", "age=0,15,30",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "age: put into bins that end at 0, 15, 30." in ran.out
    said = json.loads(Path("public/publication.json").read_text())
    assert said["bins"]["age"] == {"ends": [0, 15, 30], "whole": True}
    assert len(said["bins"]["income"]["ends"]) == 3
    ran = run("count", "public", "--where", "age=15–29", "--json")
    expected = sum(age is not None and 15 <= age < 30 for age in people(400)["age"].to_pylist())
    assert json.loads(ran.out)["value"] == expected
    for command in (("check", "--rho", "0.3:0.6"), ("compare", "--methods", "uniform", "--retention", "0.3")):
        ran = run(command[0], *BASE, *command[1:], "--drop", "number", "--bin", "income=20000")
        assert ran.code in (0, 1), ran.err


def test_a_sensitive_column_in_quantiles_is_rounded_and_said(run: Run) -> None:
    ran = run(
        "publish", "people.csv", "--sensitive", "income", "--drop", "number", "--retention", "0.4",
        "--bin", "income=quantiles:4", "--out", "public",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "rounded to 2 digits" in ran.err


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("income", "--bin: cannot read these bins (found 'income')"),
        ("income=wide", "--bin: cannot read these bins (found 'wide')"),
        ("incom=10", "people.csv, column incom: there is no such public or sensitive column"),
        ("job=10", "people.csv, row 1, column job: not a number"),
    ],
)
def test_bins_that_cannot_be(run: Run, rule: str, why: str) -> None:
    ran = run("publish", *BASE, "--retention", "0.3", "--drop", "number", "--bin", rule, "--out", "public")
    assert ran.code == 2
    assert why in ran.err
    assert not Path("public").exists()


def test_ordered_values(run: Run) -> None:
    base = (
        "publish",
        "people.csv",
        "--sensitive",
        "income",
        "--drop",
        "number",
        "--bin",
        "income=quantiles:8",
    )
    ran = run(*base, "--rho", "0.2:0.5", "--method", "ordinal", "--out", "public")
    assert ran.code == 0, ran.err
    assert "A record shows its own value with probability" in ran.out
    ran = run("count", "public", "--mean", "--where", "job=cook")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("The mean of income is about ")
    assert run("count", "public", "--mean", "--by", "age").code == 2
    ran = run("check", "public", "--rho", "0.2:0.5")
    assert ran.code == 3
    ran = run(
        "compare", "people.csv", "--sensitive", "income", "--drop", "number", "--bin", "income=quantiles:8",
        "--methods", "uniform,ordinal", "--rho", "0.2:0.5", "--runs", "2",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "ordinal" in ran.out


def test_orders_that_are_given(run: Run) -> None:
    base = ("publish", *BASE, "--drop", "number,income", "--rho", "0.3:0.6", "--out", "public")
    ran = run(*base, "--method", "ordinal")
    assert ran.code == 2
    assert "list all values in ascending order with --order" in ran.err
    ran = run(*base, "--method", "ordinal", "--order", "none,cold,flu,gout")
    assert ran.code == 0, ran.err
    ran = run(*base[:-1], "other", "--order", "none,cold,flu,gout")
    assert ran.code == 2
    assert "an order is for the method ordinal" in ran.err


def test_two_publications(run: Run) -> None:
    base = (*BASE, "--drop", "number,income", "--rho", "0.3:0.6")
    for folder in ("one", "two"):
        assert run("publish", *base, "--out", folder).code == 0
    ran = run("check", "one", "two", "--rho", "0.3:0.6")
    assert ran.code == 3, ran.err
    assert "up to 84\xa0% sure" in ran.out
    said = json.loads(run("check", "one", "two", "--rho", "0.3:0.6", "--json").out)
    assert said["exit_code"] == 3
    assert said["checks"][0]["joint_amplification"] == pytest.approx(3.5**2)
    for wrong in (
        ("check", "one", "one", "--rho", "0.3:0.6"),
        ("check", "one", "people.csv", "--rho", "0.3:0.6"),
        ("check", "one", "two", "--diversity", "3"),
        ("check", "one", "two", "--rho", "0.3:0.6", "--out", "checked"),
        ("check", "one", "two", "--rho", "0.3:0.6", "--sensitive", "ill"),
    ):
        ran = run(*wrong)
        assert ran.code == 2, ran.out
        assert "Traceback" not in ran.err


def test_weights(run: Run) -> None:
    table = people(400).append_column("weight", pa.array([1, 3] * 200))
    arrow_csv.write_csv(table, "weighted.csv")
    base = ("weighted.csv", "--sensitive", "ill")
    assert run("publish", *base, "--retention", "0.4", "--out", "public").code == 0
    ran = run("count", "public", "--weight", "weight")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines() == ["Weighted by weight:", "Exactly 800 records."]
    assert json.loads(run("count", "public", "--weight", "weight", "--json").out)["value"] == 800
    ran = run("count", "public", "--weight", "weight", "--by", "job")
    assert ran.code == 0, ran.err
    assert run("check", *base, "--rho", "0.3:0.6", "--retention", "0.2", "--weight", "weight").code in (0, 1)
    for wrong in (
        ("count", "public", "--weight", "wait"),
        ("count", "public", "--weight", "weight", "--consistent"),
        ("check", "public", "--rho", "0.3:0.6", "--weight", "weight"),
        ("check", *base, "--rho", "0.3:0.6", "--weight", "town"),
    ):
        ran = run(*wrong)
        assert ran.code == 2, ran.out
        assert "Traceback" not in ran.err


def test_a_promise_for_each_column(run: Run) -> None:
    base = ("publish", "people.csv", "--sensitive", "ill", "--sensitive", "job", "--drop", "number,income")
    ran = run(*base, "--rho", "ill=0.2:0.5", "--rho", "job=0.45:0.7", "--out", "public")
    assert ran.code == 0, ran.err
    assert "ill: a record keeps its value with probability" in ran.out
    assert "who sees all sensitive columns, but no public ones, up to" in ran.err
    assert Path("public/report.html").exists()
    assert run("count", "public", "--where", "ill=flu,job=cook").code == 0
    assert run("check", "public", "--rho", "0.2:0.5").code == 3
    for wrong in (
        (*base, "--rho", "ill=0.2:0.5", "--rho", "0.45:0.7", "--out", "other"),
        (*base, "--rho", "0.2:0.5", "--rho", "0.45:0.7", "--out", "other"),
        (*base, "--rho", "ill=0.2:0.5", "--rho", "job=0.45:0.7", "--retention", "0.3", "--out", "other"),
        (*base, "--rho", "ill=0.2:0.5", "--out", "other"),
        (*base, "--rho", "ill=0.2:0.5", "--rho", "job=x", "--out", "other"),
        ("check", "public", "--rho", "ill=0.2:0.5"),
    ):
        ran = run(*wrong)
        assert ran.code == 2, ran.out
        assert "--rho" in ran.err
        assert "Traceback" not in ran.err
    assert not Path("other").exists()
