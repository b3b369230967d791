"""The command report, and the pages that other commands leave behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from report.runs import PEOPLE
from showthrough.cli import main
from showthrough.report import page as pages


@pytest.fixture
def people(tmp_path: Path) -> list[str]:
    """The audit of a small file, to be completed by options."""
    (tmp_path / "people.csv").write_text(PEOPLE, "utf-8")
    tables = ["--tables", "age*sex", "--tables", "sex*job"]
    return ["audit", str(tmp_path / "people.csv"), *tables, "--by", "town", "--out", str(tmp_path / "run")]


def test_an_audit_leaves_a_page_and_names_it(
    people: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(people) == 1
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "2 of 2 areas give away something" in page
    assert "report.html" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "run")]) == 0


def test_a_run_with_a_page_is_replaced_as_a_whole(people: list[str], tmp_path: Path) -> None:
    main(people)
    first = (tmp_path / "run" / "report.html").read_bytes()
    assert main([*people, "--overwrite", "--max-columns", "2"]) == 1
    assert (tmp_path / "run" / "report.html").read_bytes() != first
    assert main([*people, "--overwrite", "--no-report"]) == 1
    assert not (tmp_path / "run" / "report.html").exists()


def test_a_page_anywhere_on_request(
    people: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*people, "--no-report"])
    capsys.readouterr()
    assert main(["report", str(tmp_path / "run"), "--html", str(tmp_path / "page.html"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes"] == (tmp_path / "page.html").stat().st_size
    assert main(["report", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "report.html").read_bytes() == (tmp_path / "page.html").read_bytes()


def test_without_the_extra_one_line_says_how_to_get_it(
    people: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages, "find_spec", dict.get.__get__({}))
    assert main(people) == 1
    told = capsys.readouterr()
    assert "pip install 'showthrough[report]'" in told.err
    assert "report.html" not in told.out
    assert not (tmp_path / "run" / "report.html").exists()
    assert main(["report", str(tmp_path / "run")]) == 2
    assert "pip install 'showthrough[report]'" in capsys.readouterr().err


def test_a_folder_without_a_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert "not a finished run" in capsys.readouterr().err


def test_the_demo_ends_with_five_sentences_and_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--areas", "6", "--out", str(tmp_path / "demo")]) == 0
    *_, sentences, last = capsys.readouterr().out.strip().split("\n\n")
    assert sentences.startswith("The most telling of them:")
    assert sentences.count("\n  - ") == 5
    assert last == f"Now open {tmp_path / 'demo' / 'report.html'} in a browser."
    page = (tmp_path / "demo" / "report.html").read_text("utf-8")
    assert "How likely by chance: county" in page


def test_census_pages_have_baselines_of_tract_and_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    homes, run = str(tmp_path / "homes.parquet"), str(tmp_path / "run")
    assert main(["simulate", "--blocks", "3", "--seed", "11", "--out", homes]) == 0
    assert main(["census", "audit", homes, "--out", run, "--max-columns", "3"]) == 1
    assert "How likely by chance" not in (tmp_path / "run" / "report.html").read_text("utf-8")
    assert main(["report", run, "--homes", homes]) == 0
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "How likely by chance: tract" in page
    assert "How likely by chance: state" in page
    other = str(tmp_path / "other.parquet")
    main(["simulate", "--blocks", "1", "--seed", "12", "--out", other])
    capsys.readouterr()
    assert main(["report", run, "--homes", other]) == 2
    assert "has no homes in this file" in capsys.readouterr().err
